/* SPDX-License-Identifier: MIT */
/*
 * work.h - a work item: a request that the thread of a trace carries out.
 *
 *     server's thread ──wmk_consumer_queue_work()──► trace's thread: wmk_server_work_run()
 *                     ◄──────── server->done ◄────── wmk_server_work_finish()
 *
 * The server's thread makes and frees it. The trace's thread carries work items out in the order in which they were
 * made. It has references to what it needs.
 */
#ifndef WMK_CONSUMER_WORK_H
#define WMK_CONSUMER_WORK_H

#include "consumer/server_state.h"

struct wmk_server_work {
	struct wmk_server_work *next;
	struct wmk_server_trace *trace;
	uint16_t type;                   /* enum wmk_consumerd_type */
	uint32_t request;
	uint64_t connection;             /* which sent the request; 0: none */
	uint64_t target;                 /* rings, 0: all of the trace */
	struct wmk_server_rings **rings; /* those that it is about */
	unsigned n_rings;
	struct wmk_list events;          /* of the kernel, to be added; in `arena` */
	struct wmk_list calls;           /* system calls by BPF (wire/consumerd.h); in `arena` */
	struct wmk_list syscall_pids;
	bool syscalls_narrowed;
	uint64_t syscall_ring_bytes;
	struct wmk_consumerd_metadata metadata;  /* METADATA; in `arena` */
	uint64_t statedump;              /* of a kernel channel: the number of one that is wanted; 0: none */
	struct wmk_arena arena;
	/* Results. */
	struct wmk_consumer_stats *stats;        /* of each of the rings, or NULL */
	int err;
	char words[512];
};

/* In the trace's thread: the first err < 0 counts; its cause chain is kept. */
void wmk_server_work_error(struct wmk_server_work *work, int err);
/* In the trace's thread: it is done, with the cause chain of err < 0; the server's thread answers. */
void wmk_server_work_finish(struct wmk_server_work *work, int err);

#endif
