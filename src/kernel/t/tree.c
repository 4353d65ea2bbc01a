/* SPDX-License-Identifier: MIT */
/*
 * tree.c - a made-up /proc and /sys (see tree.h).
 */
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "kernel/proc/procfs.h"
#include "store/t/testdir.h"

void tree_make(struct tree *tree)
{
	testdir_make(tree->dir);
}

void tree_remove(struct tree *tree)
{
	testdir_remove(tree->dir);
}

/* Create the directories above the last component. */
static void full_path(const struct tree *tree, const char *path, char full[1024])
{
	const size_t root = strlen(tree->dir) + 1;

	snprintf(full, 1024, "%s/%s", tree->dir, path);
	for (char *slash = strchr(full + root, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(full, 0755) < 0 && errno != EEXIST)
			fail_msg("cannot create %s", full);
		*slash = '/';
	}
}

void tree_dir(const struct tree *tree, const char *path)
{
	char full[1024];

	full_path(tree, path, full);
	if (mkdir(full, 0755) < 0 && errno != EEXIST)
		fail_msg("cannot create %s", full);
}

void tree_put_bytes(const struct tree *tree, const char *path, const void *bytes, size_t len)
{
	char full[1024];
	FILE *file;

	full_path(tree, path, full);
	file = fopen(full, "w");
	if (!file || fwrite(bytes, 1, len, file) != len || fclose(file) != 0)
		fail_msg("cannot write %s", full);
}

void tree_put(const struct tree *tree, const char *path, const char *text)
{
	tree_put_bytes(tree, path, text, strlen(text));
}

void tree_link(const struct tree *tree, const char *path, const char *target)
{
	char full[1024];

	full_path(tree, path, full);
	unlink(full);
	if (symlink(target, full) < 0)
		fail_msg("cannot link %s", full);
}

void tree_task(const struct tree *tree, const char *base, const struct tree_task *task)
{
	char path[512], text[2048];

	snprintf(path, sizeof(path), "%s/stat", base);
	snprintf(text, sizeof(text),
		 "%d (%s) %c %d 1 1 0 -1 %u 1 2 3 4 5 6 7 8 %d 0 %u 0 99 4096 1 18446744073709551615 1 2 3 4 5 0 0 0 0 "
		 "0 0 0 17 %u 0 0 0 0 0\n",
		 task->tid, task->name, task->state, task->ppid, task->flags, task->prio, task->n_threads, task->cpu);
	tree_put(tree, path, text);
	snprintf(path, sizeof(path), "%s/status", base);
	snprintf(text, sizeof(text), "Name:\tx\nTgid:\t%d\nUid:\t%u\t0\t0\t0\n"
		 "Gid:\t%u\t0\t0\t0\nGroups:\t1 2 3 \nNStgid:\t%s\nNSpid:\t%s\n", task->pid, task->uid,
		 task->uid + 1, task->tgids, task->ids);
	tree_put(tree, path, text);
	for (unsigned kind = 0; task->inum && kind < WMK_KNS_KINDS; kind++) {
		snprintf(path, sizeof(path), "%s/ns/%s", base, wmk_kns_names[kind]);
		snprintf(text, sizeof(text), "%s:[%u]", wmk_kns_names[kind], task->inum + kind);
		tree_link(tree, path, text);
	}
}
