/* SPDX-License-Identifier: MIT */
/*
 * work.h - a work item: a request that the thread of a trace carries out.
 *
 *     server's thread ──wmk_consumer_queue_work()──► trace's thread: wmk_server_work_run()
 *                     ◄──────── server->done ◄────── wmk_server_work_finish()
 *
 * The server's thread creates and frees work items. The trace's thread carries out the work items of the trace in
 * order. A work item holds references to the rings that it uses.
 */
#ifndef WMK_CONSUMER_WORK_H
#define WMK_CONSUMER_WORK_H

#include "consumer/server_state.h"

struct wmk_server_work {
	struct wmk_server_work *next;
	struct wmk_server_trace *trace;
	uint16_t type;                   /* enum wmk_consumerd_type */
	uint32_t request;
	uint64_t connection;             /* number of the connection that sent the request; 0: none */
	uint64_t target;                 /* number of the rings object; 0: all rings of the trace */
	struct wmk_server_rings **rings; /* the rings that match `target` */
	unsigned n_rings;
	struct wmk_list events;          /* kernel events to add; in `arena` */
	struct wmk_list calls;           /* system calls that BPF records (wire/consumerd.h); in `arena` */
	struct wmk_list syscall_pids;
	bool syscalls_narrowed;
	uint64_t syscall_ring_bytes;
	struct wmk_consumerd_metadata metadata;  /* METADATA; in `arena` */
	struct wmk_consumerd_rotation rotation;  /* ROTATE; in `arena` */
	uint64_t idle_ns;                /* RECLAIM */
	/*
	 * RINGS_ADD of a copy of a kernel channel: the copied rings, and their trace, of which this item also counts as
	 * a work item; NULL: the channel does not exist
	 */
	struct wmk_server_rings *copied;
	struct wmk_server_trace *copied_trace;
	uint64_t statedump;              /* of a kernel channel: number of the requested dump; 0: none */
	struct wmk_arena arena;
	/* Results. */
	struct wmk_consumer_stats *stats;        /* statistics of each of the rings, or NULL */
	int err;
	char words[512];
};

/* Record a result: the first negative `err` is kept, with its cause chain. The trace's thread. */
void wmk_server_work_error(struct wmk_server_work *work, int err);
/*
 * Record the last result, and pass the work item to the server's thread, which replies to the request. The trace's
 * thread.
 */
void wmk_server_work_finish(struct wmk_server_work *work, int err);

#endif
