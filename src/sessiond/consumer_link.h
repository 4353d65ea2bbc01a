/* SPDX-License-Identifier: MIT */
/*
 * consumer_link.h - the link of the session daemon to waymark-consumerd, which drains rings into trace directories.
 *
 *     session daemon ── wmk_consumer_link_*() ── consumer.sock ──► waymark-consumerd ──► trace directories
 *      any thread            │
 *                            └─ link thread: receives answers; when the consumer crashes, starts another one and sends
 *                               it all traces and rings (the link keeps their descriptors and parameters). The new
 *                               consumer continues at the end of the trace files.
 *
 *     wmk_consumer_link_open(&options, ms, &link);                  connect, or start a consumer
 *     wmk_consumer_link_list(link, ms, adopt, data);                adopt what an earlier session daemon added
 *     wmk_consumer_link_trace_add(link, &trace, -1, ms);            the consumer creates the directory
 *     wmk_consumer_link_metadata(link, trace, text, len, false, 0);
 *     wmk_consumer_link_rings_add(link, &rings, waymark_ring_set_fd(set), ms);
 *     ... applications record; after a crash of one: wmk_consumer_link_wake(link, trace) ...
 *     wmk_consumer_link_stop(link, trace, 0, ms, &arena, &report);         `waymark stop`; recording may resume
 *     wmk_consumer_link_trace_remove(link, trace, ms, &arena, &report);    `waymark destroy`
 *     wmk_consumer_link_close(link);                                the consumer exits when it holds nothing
 *
 * Any thread may call any function at any time, except open and close. No function blocks longer than its `ms`
 * (milliseconds). When `ms` has passed, a function returns -ETIMEDOUT. After a timeout, the link still performs the
 * request if possible. For example, the link may add a trace later, also to a new consumer. While the consumer is being
 * replaced, requests wait for the new consumer. Requests for different traces do not wait for each other. A repeated
 * request does no harm: see wire/consumerd.h.
 *
 * Errors are -errno with a cause chain, which includes the text of the consumer's errors. -ECONNABORTED: the link has
 * ended (see on_end).
 */
#ifndef WMK_SESSIOND_CONSUMER_LINK_H
#define WMK_SESSIOND_CONSUMER_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/consumerd.h"

struct wmk_consumer_link;

struct wmk_consumer_link_options {
	size_t size;                 /* sizeof(struct wmk_consumer_link_options) */
	const char *rundir;          /* exists, and belongs to us; copied */
	const char *program;         /* path of waymark-consumerd; copied */
	bool kernel;                 /* the consumer of kernel channels */
	uint64_t keep_free;          /* bytes to keep free on each disk; 0: default of the consumer */
	bool keep;                   /* records that cannot be written at the end stay in the rings */
	/*
	 * Callbacks, all optional, in the link thread. The callbacks must not block, and must not call functions of the
	 * link.
	 * on_change, pid 0: the consumer has crashed or cannot be started; `words` has the reason.
	 * on_change, other pids: a new consumer holds everything that the earlier one had.
	 * on_full: the traces below `path` have reached their limit. The consumer writes nothing more to the traces
	 * below `path`, and new records stay in the rings.
	 * on_end: the link has ended, because another session daemon has taken the consumer over; `words` has the
	 * reason.
	 */
	void (*on_change)(void *data, pid_t pid, const char *words);
	void (*on_full)(void *data, const char *path);
	/* on_requested: a program requests a snapshot of the session with the traces below `path`. */
	void (*on_requested)(void *data, const char *path);
	/* on_restarted: the counter of the clock of a trace below `path` has gone back. */
	void (*on_restarted)(void *data, const char *path);
	/*
	 * on_stale: a metadata file below this path is shorter than the text that was written: replace the whole file.
	 */
	void (*on_stale)(void *data, const char *path);
	/* on_due: the open chunk of a session has reached the size of its schedule (wmk_port_chunk_is_due()). */
	void (*on_due)(void *data);
	void (*on_end)(void *data, int err, const char *words);
	void *data;
};

/*
 * Connects to the consumer that runs in rundir, or starts `program`. Waits at most `ms` until the consumer is ready.
 * The caller owns *link.
 */
int wmk_consumer_link_open(const struct wmk_consumer_link_options *options, int ms, struct wmk_consumer_link **link);
/* Closes the connection and frees the link. The consumer keeps running. No other call may be in progress. */
void wmk_consumer_link_close(struct wmk_consumer_link *link);
/* The consumer writes everything, ends all streams and exits. The link then ends. */
int wmk_consumer_link_shutdown(struct wmk_consumer_link *link, int ms);
/* The pid of the consumer; 0: none at present. */
pid_t wmk_consumer_link_pid(struct wmk_consumer_link *link);
/*
 * If an earlier request has timed out and is not answered yet, the functions that add a trace or rings do not wait. So
 * a consumer that hangs delays a caller only once.
 *
 * `fd`: the budget page of a trace, or -1; borrowed and duplicated. trace->mode says whether the consumer
 * creates or opens the trace. Everything in `trace` is copied. -EEXIST: the number is in use, or the directory is in
 * use.
 * If an add fails, the link does not keep the trace. -ETIMEDOUT is an exception: then remove the trace.
 */
int wmk_consumer_link_trace_add(struct wmk_consumer_link *link, const struct wmk_consumerd_trace *trace, int fd,
				int ms);
/*
 * Removes the trace and all its rings. `report`, `arena` (both may be NULL): final counts, in memory of the caller's
 * arena.
 */
int wmk_consumer_link_trace_remove(struct wmk_consumer_link *link, uint64_t trace, int ms, struct wmk_arena *arena,
				   struct wmk_consumerd_report *report);
/*
 * Append to the metadata of the trace, or (`replace`) replace the metadata. 0: the link has accepted the text. The link
 * sends the text, also to the next consumer, until the text is written. When the link has accepted the text, the
 * application may write records that need the text. With `ms`, the function waits until the text is written.
 *
 * The length of the metadata is known if the trace was added as WMK_CONSUMERD_TRACE_NEW, or after a replacement. While
 * the length is unknown, appended text is dropped; the replacement must include this text. -ENOENT: no such trace.
 */
int wmk_consumer_link_metadata(struct wmk_consumer_link *link, uint64_t trace, const char *text, size_t len,
			       bool replace, int ms);
/* Replace the metadata of the chunk before the open one, while its rotation is not finished. Does not wait. */
int wmk_consumer_link_metadata_before(struct wmk_consumer_link *link, uint64_t trace, const char *text, size_t len);
/*
 * `fd`: of the ring set; borrowed and duplicated. rings->resume: an earlier consumer has read the set. The link sets
 * this flag itself after it has started a new consumer. -ENOENT: no such trace; -EEXIST; -EINVAL, -EPERM, ...: not a
 * ring set.
 */
int wmk_consumer_link_rings_add(struct wmk_consumer_link *link, const struct wmk_consumerd_rings *rings, int fd,
				int ms);
/*
 * Writes all committed records, ends the streams with the final counts, and releases the ring set. Records that cannot
 * be written are lost.
 */
int wmk_consumer_link_rings_remove(struct wmk_consumer_link *link, uint64_t trace, uint64_t rings, int ms,
				   struct wmk_arena *arena, struct wmk_consumerd_report *report);

/* In the functions below, `rings` 0 stands for all rings of the trace. */

/*
 * Writes the current counts and all records that are committed now. Rings that are written only at stop are included.
 * The rings stay, and later records are drained as before. -ENOSPC etc.: writing failed, and the records stay in the
 * rings. The function fills in *report even if writing failed.
 */
int wmk_consumer_link_stop(struct wmk_consumer_link *link, uint64_t trace, uint64_t rings, int ms,
			   struct wmk_arena *arena, struct wmk_consumerd_report *report);
/*
 * Writes the current counts and all records that are committed now, without a report. Rings that are written only at
 * stop are skipped.
 */
int wmk_consumer_link_flush(struct wmk_consumer_link *link, uint64_t trace, uint64_t rings, int ms);
/* Gives back the memory of rings that had no record for idle_ns. */
int wmk_consumer_link_reclaim(struct wmk_consumer_link *link, const struct wmk_consumerd_reclaim *reclaim, int ms);
/*
 * Cut all rings of the trace. The caller requests the rotation within a second, and the rotation closes the chunk at
 * the positions of the cuts.
 */
int wmk_consumer_link_cut(struct wmk_consumer_link *link, uint64_t trace, int ms);
/*
 * Close a chunk of the trace, and open the next chunk. With `ms` 0, the function does not wait; if necessary, the next
 * consumer daemon performs the request. A replacement of the metadata after this call belongs to the next chunk.
 */
int wmk_consumer_link_rotate(struct wmk_consumer_link *link, const struct wmk_consumerd_rotation *rotation, int ms);
/* Drops all records so far, in files and rings; all counts restart at zero. The metadata stays. */
int wmk_consumer_link_clear(struct wmk_consumer_link *link, uint64_t trace, int ms);
/*
 * OUTPUT_CHECK, LIST_LEFT, REMOVE_LEFT (wire/consumerd.h). `left`: the reply to LIST_LEFT, in the memory of `arena`;
 * else NULL.
 */
int wmk_consumer_link_output(struct wmk_consumer_link *link, uint16_t type, const struct wmk_consumerd_output *output,
			     int ms, struct wmk_arena *arena, struct wmk_consumerd_left *left);
/* The state of each sender of the consumer daemon, in the memory of `arena`. */
int wmk_consumer_link_senders(struct wmk_consumer_link *link, int ms, struct wmk_arena *arena,
			      struct wmk_consumerd_senders *senders);
/* The current counts, per channel. */
int wmk_consumer_link_stats(struct wmk_consumer_link *link, uint64_t trace, uint64_t rings, int ms,
			    struct wmk_arena *arena, struct wmk_consumerd_report *report);
/*
 * Drain at once, because an application has crashed: it may have been killed between its last record and the wake-up of
 * the consumer. trace 0: all traces. Queued: never blocks.
 */
void wmk_consumer_link_wake(struct wmk_consumer_link *link, uint64_t trace);

/*
 * Lists everything that the consumer holds. The calling thread calls `held` for each trace, then for each of its ring
 * sets. For a trace, rings->rings is 0, and fd is its budget page, or -1. For a ring set, fd is for
 * waymark_ring_set_open_reader(). The callback closes fd; strings are valid within the call. Returns 0, the first
 * non-zero value that `held` returned, or -errno. The link adopts all listed traces and ring sets, and sends them to
 * the next consumer, too.
 */
typedef int wmk_consumer_link_held(void *data, const struct wmk_consumerd_trace *trace,
				   const struct wmk_consumerd_rings *rings, int fd);
int wmk_consumer_link_list(struct wmk_consumer_link *link, int ms, wmk_consumer_link_held *held, void *data);

#endif
