/* SPDX-License-Identifier: MIT */
/*
 * tree.h - for tests: a made-up /proc and /sys.
 */
#ifndef WMK_KERNEL_T_TREE_H
#define WMK_KERNEL_T_TREE_H

#include <stddef.h>
#include <stdint.h>

struct tree {
	char dir[256];             /* its root */
};

void tree_make(struct tree *tree);
void tree_remove(struct tree *tree);
/* Create `path` below the tree, with all directories before it. */
void tree_dir(const struct tree *tree, const char *path);
void tree_put(const struct tree *tree, const char *path, const char *text);
void tree_put_bytes(const struct tree *tree, const char *path, const void *bytes, size_t len);
void tree_link(const struct tree *tree, const char *path, const char *target);

/*
 * Create the files of a task at <base>: stat; status with `ids` ("1000\t1000") as its numbers in nested namespaces; ns
 * links with the numbers `inum` + kind.
 */
struct tree_task {
	int tid, pid, ppid;
	const char *name, *ids, *tgids;
	char state;
	unsigned flags, n_threads, cpu, uid;
	int prio;
	uint32_t inum;
};
void tree_task(const struct tree *tree, const char *base, const struct tree_task *task);

#endif
