/* SPDX-License-Identifier: MIT */
/*
 * stacks.h - the stacks of threads and their times, for flame graphs. The open spans and system calls of a thread are
 * its stack.
 *
 *     records ──wmk_read_stacks_record()──► position of each thread in a tree ──► nanoseconds of each node
 *
 * All stacks form one tree, and each thread has a position in the tree. When a span or system call begins, the thread
 * moves to a child node. When a span or system call ends, the thread moves to the parent of the innermost node with the
 * name of the span. The time between two records of a thread is added to the node that is the position of the thread.
 * The root of a stack is the name that the thread has when the stack begins.
 *
 * When records are lost, the stacks are unknown: no thread has a position, and end events without a begin event are
 * ignored. Stacks that are still open at the end of the trace end at the last record. One thread.
 */
#ifndef WMK_READ_STACKS_H
#define WMK_READ_STACKS_H

#include "ctf/class.h"
#include "read/hash_table.h"
#include "read/print.h"
#include "read/thread_id.h"

struct wmk_read_stack_name {
	uint32_t number;
	char *text;                    /* "syscall:NAME", or a name without ';' and control characters */
};

struct wmk_read_stack_node {
	uint32_t parent;               /* number of the parent, which is smaller; 0: a root */
	uint32_t name;                 /* index of wmk_read_stacks.names */
	uint32_t depth;
	uint64_t ns;                   /* without the times of deeper stacks */
};

struct wmk_read_stacks {
	struct wmk_read_stack_name **names;
	struct wmk_read_stack_node *nodes; /* nodes[0] is unused */
	uint32_t n_names, cap_names, n_nodes, cap_nodes;
	/* Internal to stacks.c. */
	void *by_name;
	struct wmk_read_table children, threads;
	uint64_t epoch;                /* number of losses */
};

/*
 * The maximum number of frames in a stack, beyond which frames are not stored. The time of a deeper span is added to
 * the enclosing stack that has the maximum number of frames.
 */
#define WMK_READ_STACK_MAX 4096u

void wmk_read_stacks_begin(struct wmk_read_stacks *stacks);
/* Return whether the event begins or ends a span or a system call. */
bool wmk_read_stacks_uses(const struct wmk_ctf_event_class *class);
/*
 * Update the position of the record's thread; wmk_read_stacks_uses() must be true for the event of the record. -ENOMEM
 * with a cause chain.
 */
int wmk_read_stacks_record(struct wmk_read_stacks *stacks, const struct wmk_ctf_event_class *class,
			   const struct wmk_read_thread_id *who, int64_t ns);
void wmk_read_stacks_lost(struct wmk_read_stacks *stacks);
/* End the open stacks. */
void wmk_read_stacks_end(struct wmk_read_stacks *stacks, int64_t ns);
/*
 * Add `ns` to the stack of the frames `frames`, which are ordered from the root to the innermost frame. Frames after
 * WMK_READ_STACK_MAX are cut. -ENOMEM.
 */
int wmk_read_stacks_add(struct wmk_read_stacks *stacks, const char *const *frames, uint32_t n, uint64_t ns);
/*
 * Append a line "FRAME;FRAME NUMBER" for each stack with a time; flamegraph.pl and speedscope read this format.
 * -ENOMEM.
 */
int wmk_read_stacks_put(const struct wmk_read_stacks *stacks, struct wmk_print_text *out);
void wmk_read_stacks_free(struct wmk_read_stacks *stacks);

#endif
