/* SPDX-License-Identifier: MIT */
/*
 * outlet.h - where the traces of sessions go: the consumer daemon (consumerd.h) makes their directories, writes their
 * metadata and drains their rings.
 *
 *     wmk_tracing ──wmk_outlet_ops──► wmk_outlet ──link──► waymark-consumerd
 *
 * The consumer daemon is started when the first trace is opened, or at once when one runs already. When the session
 * daemon goes and recording goes on (wmk_outlet_leave()), everything stays with the consumer; the next session daemon
 * takes it over (state.h).
 */
#ifndef WMK_SESSION_OUTLET_H
#define WMK_SESSION_OUTLET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/consumerd.h"
#include "session/tracing.h"

struct wmk_outlet;

struct wmk_outlet_options {
	size_t size;                     /* sizeof(struct wmk_outlet_options) */
	const char *rundir;
	const char *program;             /* path of waymark-consumerd */
	uint64_t keep_free;              /* of each disk (wmk_consumer_link_options) */
	/* what cannot be written at the end stays in the rings, which are files (likewise) */
	bool keep;
	/*
	 * Optional: the consumer died, is there again, or will not come back: words for people. Must not call the
	 * outlet.
	 */
	void (*on_change)(void *data, const char *words);
	/*
	 * Optional: the session whose directory this is has written what it may (wmk_trace_info.max_size). From a
	 * thread that must not be kept.
	 */
	void (*on_full)(void *data, const char *path);
	/*
	 * Optional: the metadata of the session with this directory must be replaced. From a thread that must not
	 * block.
	 */
	void (*on_stale)(void *data, const char *path);
	void *data;
};

extern const struct wmk_outlet_ops wmk_outlet_ops;       /* its `data` is a struct wmk_outlet */

int wmk_outlet_open(const struct wmk_outlet_options *options, struct wmk_outlet **outlet);
/* From here on what is closed is let go, not ended: the consumer goes on. */
void wmk_outlet_leave(struct wmk_outlet *outlet);
/* The consumer writes all and exits. */
int wmk_outlet_shutdown(struct wmk_outlet *outlet);
void wmk_outlet_close(struct wmk_outlet *outlet);

/* ── taking over what a session daemon before this one left ──────────────────────────────────────────── */

/* Does a consumer run, as far as can be told without starting one? */
bool wmk_outlet_has_consumer(const struct wmk_outlet *outlet);
/*
 * Ask the consumer what it holds (it is started if none runs); when it cannot be reached, it is asked before it is
 * given anything. Traces and rings that are opened as `restored` are found there, by the UUID of the trace and the
 * number of the stream class. What it does not hold is given to it, and it goes on where the files end.
 */
int wmk_outlet_take_over(struct wmk_outlet *outlet);
/*
 * The descriptor of rings that the consumer holds, the outlet's; -ENOENT: it does not, though it holds others;
 * -ENODATA: it holds nothing at all, so it may be another than the one that had them.
 */
int wmk_outlet_held(const struct wmk_outlet *outlet, const uint8_t trace_uuid[16], uint32_t stream_id);
/* As wmk_rings_gone: rings of that trace that the consumer has written and let go. -ENOENT: it has no such counts. */
int wmk_outlet_gone(const struct wmk_outlet *outlet, const uint8_t trace_uuid[16], const char *channel,
		    struct wmk_counts *counts);
/* What nobody opened again is ended, the rest forgotten here. */
void wmk_outlet_taken_over(struct wmk_outlet *outlet);

#endif
