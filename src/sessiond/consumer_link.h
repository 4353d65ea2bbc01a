/* SPDX-License-Identifier: MIT */
/*
 * consumer_link.h - the link of the session daemon to waymark-consumerd, which drains rings into trace directories.
 *
 *     session daemon ── wmk_consumer_link_*() ── consumer.sock ──► waymark-consumerd ──► trace directories any thread  
 *              │ └─ link thread: receives answers; when the consumer crashes, starts another one and sends it all
 *     traces and rings (the link keeps their descriptors and parameters). The new consumer continues at the end of the
 *     existing trace files.
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
 * Any thread may call any function at any time, except the functions that open and close the link. No function blocks
 * longer than `ms` milliseconds. After `ms` milliseconds, a function returns -ETIMEDOUT. After a timeout, the link
 * still performs the request if possible. For example, the link may add a trace after a timeout, even to a new consumer
 * daemon. While the consumer is being replaced, requests wait for the new consumer. Requests for different traces do
 * not wait for each other. Requests can be repeated without harm (see wire/consumerd.h).
 *
 * Errors are -errno with a cause chain, which includes the error messages of the consumer daemon. -ECONNABORTED: the
 * link has ended (see on_end).
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
	 * All callbacks are optional, and are called in the link thread. The callbacks must not block, and must not
	 * call any wmk_consumer_link function. on_change, pid 0: the consumer has crashed or cannot be started; `words`
	 * has the reason. on_change, other pids: a new consumer holds everything that the earlier one had. on_full: the
	 * traces below `path` have reached their limit. The consumer daemon stops writing to the traces below `path`,
	 * and new records stay in the rings.
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
 * The function connects to the consumer daemon that runs in rundir, or else starts `program`. The function waits at
 * most `ms` milliseconds until the consumer daemon is ready. The caller owns *link.
 */
int wmk_consumer_link_open(const struct wmk_consumer_link_options *options, int ms, struct wmk_consumer_link **link);
/*
 * Closes the connection and frees the link. The consumer keeps running. No other call on the link may be in progress.
 */
void wmk_consumer_link_close(struct wmk_consumer_link *link);
/* The consumer daemon writes all records, ends all streams, and exits. The link then ends. */
int wmk_consumer_link_shutdown(struct wmk_consumer_link *link, int ms);
/* Return the pid of the consumer daemon, or 0 if none runs at present. */
pid_t wmk_consumer_link_pid(struct wmk_consumer_link *link);
/*
 * If an earlier request has timed out and is not answered yet, the functions that add a trace or rings do not wait. A
 * consumer daemon that hangs therefore delays a caller only once.
 *
 * `fd` is the budget page of a trace, or -1. The caller keeps `fd`; the link duplicates it. trace->mode says whether
 * the consumer creates or opens the trace. Everything in `trace` is copied. -EEXIST: the number is in use, or the
 * directory is in use. If the request to add a trace fails, the link does not keep the trace. -ETIMEDOUT is an
 * exception: then remove the trace.
 */
int wmk_consumer_link_trace_add(struct wmk_consumer_link *link, const struct wmk_consumerd_trace *trace, int fd,
				int ms);
/*
 * Removes the trace and all rings of the trace. `report` receives the final counts, in the memory of `arena`; both may
 * be NULL.
 */
int wmk_consumer_link_trace_remove(struct wmk_consumer_link *link, uint64_t trace, int ms, struct wmk_arena *arena,
				   struct wmk_consumerd_report *report);
/*
 * Append text to the metadata of the trace or, if `replace` is true, replace the metadata. 0: the link has accepted the
 * text. The link sends the text until it is written, if necessary also to the next consumer daemon. After the link has
 * accepted the text, the application may write records that need the text. If `ms` is not 0, the function waits until
 * the text is written.
 *
 * The length of the metadata is known if the trace was added as WMK_CONSUMERD_TRACE_NEW, or after the metadata was
 * replaced. While the length is unknown, appended text is dropped, and the later replacement must include this text.
 * -ENOENT: no such trace.
 */
int wmk_consumer_link_metadata(struct wmk_consumer_link *link, uint64_t trace, const char *text, size_t len,
			       bool replace, int ms);
/* While a rotation is not finished, replace the metadata of the chunk that precedes the open chunk. Does not wait. */
int wmk_consumer_link_metadata_before(struct wmk_consumer_link *link, uint64_t trace, const char *text, size_t len);
/*
 * `fd` is the descriptor of the ring set. The caller keeps `fd`; the link duplicates it. rings->resume: an earlier
 * consumer has read the set. The link itself sets rings->resume after it has started a new consumer daemon. -ENOENT: no
 * such trace; -EEXIST; -EINVAL, -EPERM, ...: not a ring set.
 */
int wmk_consumer_link_rings_add(struct wmk_consumer_link *link, const struct wmk_consumerd_rings *rings, int fd,
				int ms);
/*
 * The consumer daemon writes all committed records, ends the streams with the final counts, and releases the ring set.
 * Records that cannot be written are lost.
 */
int wmk_consumer_link_rings_remove(struct wmk_consumer_link *link, uint64_t trace, uint64_t rings, int ms,
				   struct wmk_arena *arena, struct wmk_consumerd_report *report);

/* In the functions below, a `rings` argument of 0 selects all rings of the trace. */

/*
 * The consumer daemon writes the current counts and all records that are committed now. The consumer daemon also writes
 * rings that it otherwise writes only at a stop. The rings stay in use, and later records are drained as before.
 * -ENOSPC etc.: writing failed, and the records stay in the rings. The function fills *report even if writing has
 * failed.
 */
int wmk_consumer_link_stop(struct wmk_consumer_link *link, uint64_t trace, uint64_t rings, int ms,
			   struct wmk_arena *arena, struct wmk_consumerd_report *report);
/*
 * Like a stop, but without a report: the consumer daemon writes the current counts and all records that are committed
 * now. Rings that are written only at a stop are skipped.
 */
int wmk_consumer_link_flush(struct wmk_consumer_link *link, uint64_t trace, uint64_t rings, int ms);
/* The consumer daemon releases the memory of rings that had no record for idle_ns. */
int wmk_consumer_link_reclaim(struct wmk_consumer_link *link, const struct wmk_consumerd_reclaim *reclaim, int ms);
/*
 * Cut all rings of the trace (see "cut" in docs/glossary.md). The caller must request the rotation within one second,
 * and this rotation closes the chunk at the positions of the cuts.
 */
int wmk_consumer_link_cut(struct wmk_consumer_link *link, uint64_t trace, int ms);
/*
 * Close the current chunk of the trace, and open the next chunk. If `ms` is 0, the function does not wait, and if
 * necessary the next consumer daemon performs the request. If the metadata is replaced after this call, the new
 * metadata belongs to the next chunk.
 */
int wmk_consumer_link_rotate(struct wmk_consumer_link *link, const struct wmk_consumerd_rotation *rotation, int ms);
/*
 * The consumer daemon drops all records so far, in files and in rings, and sets all counts to zero. The metadata stays.
 */
int wmk_consumer_link_clear(struct wmk_consumer_link *link, uint64_t trace, int ms);
/*
 * These functions send OUTPUT_CHECK, LIST_LEFT and REMOVE_LEFT (wire/consumerd.h). `left` receives the reply to
 * LIST_LEFT, in the memory of `arena`; for other requests it is NULL.
 */
int wmk_consumer_link_output(struct wmk_consumer_link *link, uint16_t type, const struct wmk_consumerd_output *output,
			     int ms, struct wmk_arena *arena, struct wmk_consumerd_left *left);
/* Get the state of each sender of the consumer daemon, in the memory of `arena`. */
int wmk_consumer_link_senders(struct wmk_consumer_link *link, int ms, struct wmk_arena *arena,
			      struct wmk_consumerd_senders *senders);
/* The current counts, per channel. */
int wmk_consumer_link_stats(struct wmk_consumer_link *link, uint64_t trace, uint64_t rings, int ms,
			    struct wmk_arena *arena, struct wmk_consumerd_report *report);
/*
 * Call this after a crash of an application, to drain its rings at once. The application may have been killed between
 * its last record and the wake-up of the consumer daemon. trace 0: all traces. Queued: never blocks.
 */
void wmk_consumer_link_wake(struct wmk_consumer_link *link, uint64_t trace);

/*
 * Lists all traces and ring sets that the consumer daemon holds. The calling thread calls `held` for each trace, and
 * then for each ring set of this trace. For a trace, rings->rings is 0, and fd is the trace's budget page, or -1. For a
 * ring set, fd can be passed to waymark_ring_set_open_reader(). The callback must close fd; strings are valid only
 * during the call. Returns 0, or the first non-zero value that `held` returned, or -errno. The link adopts all listed
 * traces and ring sets, so it also sends them to the next consumer daemon.
 */
typedef int wmk_consumer_link_held(void *data, const struct wmk_consumerd_trace *trace,
				   const struct wmk_consumerd_rings *rings, int fd);
int wmk_consumer_link_list(struct wmk_consumer_link *link, int ms, wmk_consumer_link_held *held, void *data);

#endif
