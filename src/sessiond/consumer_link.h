/* SPDX-License-Identifier: MIT */
/*
 * consumer_link.h - the session daemon's link to waymark-consumerd, which empties rings into trace directories.
 *
 *     session daemon ── wmk_consumer_link_*() ── consumer.sock ──► waymark-consumerd ──► trace directories
 *      any thread            │
 *                            └─ a thread of the link's: hears answers; when the consumer dies, starts another, gives it again all that
 *                               there was (descriptors and parameters are kept here), and it goes on where the trace files end
 *
 *     wmk_consumer_link_open(&options, &link);                      connects, or starts one
 *     wmk_consumer_link_list(link, ms, adopt, data);                what a session daemon before us left there
 *     wmk_consumer_link_trace_add(link, &trace, -1, ms);            the consumer makes the directory
 *     wmk_consumer_link_metadata(link, trace, text, len, false, 0);
 *     wmk_consumer_link_rings_add(link, &rings, waymark_ring_set_fd(set), ms);
 *     ... programs record; one dies: wmk_consumer_link_poke(link, trace) ...
 *     wmk_consumer_link_stop(link, trace, 0, ms, &arena, &report);         `waymark stop`; records may come again later: `waymark start`
 *     wmk_consumer_link_trace_remove(link, trace, ms, &arena, &report);    `waymark destroy`
 *     wmk_consumer_link_close(link);                                the consumer goes on; it ends by itself when it holds nothing
 *
 * Any thread may call any function at any time, but open and close. None blocks longer than its `ms` (milliseconds):
 * then it returns -ETIMEDOUT, and what was asked for is still done when that is possible (what was to be added is
 * added, to a new consumer too; what was to be removed is removed). While the consumer is being replaced, requests wait
 * for the new one. Requests over different traces do not wait for each other. A request that the caller has to repeat
 * does no harm: see wire/consumerd.h.
 *
 * Errors are -errno with a cause chain; those of the consumer with its words. -ECONNABORTED: the link is at its end
 * (see on_end).
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
	const char *rundir;          /* there, and ours; copied */
	const char *program;         /* path of waymark-consumerd; copied */
	bool kernel;                 /* the one for kernel channels */
	uint64_t keep_free;          /* bytes of a disk that stay free; 0: as the consumer has it */
	bool keep;                   /* what cannot be written at the end stays in the rings */
	/*
	 * Optional, from the link's thread, which must not be kept: nothing in them may call the link.
	 * on_change: the consumer has died, or still cannot be started (pid 0, `words` say how), or is there again (its
	 * pid), all that it had is back.
	 * on_full: what is below a trace's path has the bytes that it may have; nothing more is written there, and what
	 * comes stays in the rings. on_end: there will be no consumer any more: another session daemon took it over;
	 * `words` say so.
	 */
	void (*on_change)(void *data, pid_t pid, const char *words);
	void (*on_full)(void *data, const char *path);
	/* on_stale: a metadata file below this path is shorter than what was written: all must be replaced. */
	void (*on_stale)(void *data, const char *path);
	void (*on_end)(void *data, int err, const char *words);
	void *data;
};

/*
 * Connects to the one that runs in rundir, else starts `program`; ready when this returns, `ms` at most. *link is the
 * caller's.
 */
int wmk_consumer_link_open(const struct wmk_consumer_link_options *options, int ms, struct wmk_consumer_link **link);
/* Closes the connection, frees everything. The consumer goes on. No other call may be under way. */
void wmk_consumer_link_close(struct wmk_consumer_link *link);
/* The consumer writes everything, ends all streams and exits. The link is at its end then. */
int wmk_consumer_link_shutdown(struct wmk_consumer_link *link, int ms);
/* Of the consumer that runs; 0: none at the moment. */
pid_t wmk_consumer_link_pid(struct wmk_consumer_link *link);

/*
 * The two that add do not wait at all while an earlier request is not answered for which somebody waited in vain: a
 * consumer that hangs costs one such time, not one for each.
 *
 * `fd`: the budget page of a trace with max_size, or -1; stays the caller's, a copy is kept. trace->mode says what the
 * consumer finds or makes at the trace's place. -EEXIST: the number is another trace's, or
 * the place is taken. All that is in `trace` is copied. A failed add leaves nothing behind, except on -ETIMEDOUT:
 * remove it then.
 */
int wmk_consumer_link_trace_add(struct wmk_consumer_link *link, const struct wmk_consumerd_trace *trace, int fd,
				int ms);
/*
 * Removes all rings of it and forgets it. `report`, `arena` may be NULL: final counts, memory of the arena's (the
 * caller's).
 */
int wmk_consumer_link_trace_remove(struct wmk_consumer_link *link, uint64_t trace, int ms, struct wmk_arena *arena,
				   struct wmk_consumerd_report *report);
/*
 * Append to the metadata of the trace, or (`replace`) this in its place. 0: it is accepted: sent, and repeated to the
 * next consumer until it is written. Records that need it may follow. With `ms` it is waited for until it is written.
 * Text that is appended to a trace that was not added as WMK_CONSUMERD_TRACE_NEW and not replaced yet is dropped: what
 * replaces it must have that, too. -ENOENT: no such trace.
 */
int wmk_consumer_link_metadata(struct wmk_consumer_link *link, uint64_t trace, const char *text, size_t len,
			       bool replace, int ms);
/*
 * `fd`: of the ring set; stays the caller's, a copy is kept. rings->resume is for sets that were read before, by a
 * consumer that is not there any more; the link itself sets it when it starts another consumer. -ENOENT: no such trace;
 * -EEXIST; -EINVAL, -EPERM, ...: no ring set.
 */
int wmk_consumer_link_rings_add(struct wmk_consumer_link *link, const struct wmk_consumerd_rings *rings, int fd,
				int ms);
/*
 * Everything that was committed is written, streams are ended with the final lost counts, the set is let go. What
 * cannot be written is lost.
 */
int wmk_consumer_link_rings_remove(struct wmk_consumer_link *link, uint64_t trace, uint64_t rings, int ms,
				   struct wmk_arena *arena, struct wmk_consumerd_report *report);

/* rings 0: all of the trace, in the following. */

/*
 * Everything that has been committed by now is written, with the lost counts as they are now; also what was to be
 * written at stop only. The rings stay: what comes later is consumed as before. -ENOSPC etc.: it could not, and stays
 * in the rings (the report is filled too).
 */
int wmk_consumer_link_stop(struct wmk_consumer_link *link, uint64_t trace, uint64_t rings, int ms,
			   struct wmk_arena *arena, struct wmk_consumerd_report *report);
/* The same without counts, and not for rings that are written at stop only. */
int wmk_consumer_link_flush(struct wmk_consumer_link *link, uint64_t trace, uint64_t rings, int ms);
/* Drop what was recorded up to now, in files and rings; all counts begin at zero. The metadata stays. */
int wmk_consumer_link_clear(struct wmk_consumer_link *link, uint64_t trace, int ms);
/* Counts as they are now, channel by channel. */
int wmk_consumer_link_stats(struct wmk_consumer_link *link, uint64_t trace, uint64_t rings, int ms,
			    struct wmk_arena *arena, struct wmk_consumerd_report *report);
/*
 * An application has died: it may have been killed between its last record and the wake of the consumer. trace 0: all.
 * Queued, not waited for: never blocks.
 */
void wmk_consumer_link_poke(struct wmk_consumer_link *link, uint64_t trace);

/*
 * Everything that the consumer holds: `held` is called for each trace (rings->rings 0; fd: its budget page, or -1),
 * then for each of its rings (fd: of the set; waymark_ring_set_open_reader() maps it). Each fd is the callback's to
 * close. From the calling thread;
 * strings are valid within the call only. Returns 0, or the first value other than 0 that `held` returned, or -errno.
 * The link adopts all of it: it is given to the next consumer too.
 */
typedef int wmk_consumer_link_held(void *data, const struct wmk_consumerd_trace *trace,
				   const struct wmk_consumerd_rings *rings, int fd);
int wmk_consumer_link_list(struct wmk_consumer_link *link, int ms, wmk_consumer_link_held *held, void *data);

#endif
