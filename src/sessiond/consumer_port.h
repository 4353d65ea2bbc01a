/* SPDX-License-Identifier: MIT */
/*
 * consumer_port.h - where the traces of sessions go: the consumer daemon (consumer_link.h) makes their directories,
 * writes their metadata and drains their rings.
 *
 *     wmk_tracing ──wmk_consumer_port_ops──► wmk_consumer_port ──link──► waymark-consumerd
 *
 * The consumer daemon is started when the first trace is opened, or at once when one runs already. When the session
 * daemon goes and recording goes on (wmk_consumer_port_leave()), everything stays with the consumer; the next session
 * daemon takes it over (state_file.h).
 */
#ifndef WMK_SESSIOND_CONSUMER_PORT_H
#define WMK_SESSIOND_CONSUMER_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sessiond/consumer_link.h"
#include "session/tracing.h"

struct wmk_consumer_port;

struct wmk_consumer_port_options {
	size_t size;                     /* sizeof(struct wmk_consumer_port_options) */
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

extern const struct wmk_consumer_port_ops wmk_consumer_port_ops;       /* its `data` is a struct wmk_consumer_port */

int wmk_consumer_port_open(const struct wmk_consumer_port_options *options, struct wmk_consumer_port **outlet);
/* From here on what is closed is let go, not ended: the consumer goes on. */
void wmk_consumer_port_leave(struct wmk_consumer_port *outlet);
/* The consumer writes all and exits. */
int wmk_consumer_port_shutdown(struct wmk_consumer_port *outlet);
void wmk_consumer_port_close(struct wmk_consumer_port *outlet);

/* ── taking over what a session daemon before this one left ──────────────────────────────────────────── */

/* Does a consumer run, as far as can be told without starting one? */
bool wmk_consumer_port_has_consumer(const struct wmk_consumer_port *outlet);
/*
 * Ask the consumer what it holds (it is started if none runs); when it cannot be reached, it is asked before it is
 * given anything. Traces and rings that are opened as `restored` are found there, by the UUID of the trace and the
 * number of the stream class. What it does not hold is given to it, and it goes on where the files end.
 */
int wmk_consumer_port_take_over(struct wmk_consumer_port *outlet);
/*
 * The descriptor of rings that the consumer holds, the outlet's; -ENOENT: it does not, though it holds others;
 * -ENODATA: it holds nothing at all, so it may be another than the one that had them.
 */
int wmk_consumer_port_held(const struct wmk_consumer_port *outlet, const uint8_t trace_uuid[16], uint32_t stream_id);
/* As wmk_rings_gone: rings of that trace that the consumer has written and let go. -ENOENT: it has no such counts. */
int wmk_consumer_port_gone(const struct wmk_consumer_port *outlet, const uint8_t trace_uuid[16], const char *channel,
		    struct wmk_counts *counts);
/* What nobody opened again is ended, the rest forgotten here. */
void wmk_consumer_port_taken_over(struct wmk_consumer_port *outlet);

#endif
