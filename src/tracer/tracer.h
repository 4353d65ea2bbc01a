/* SPDX-License-Identifier: MIT */
/*
 * tracer.h - the state of libwaymark in a process.
 *
 *     threads of the program                  control (one lock, lock.h)                     session daemon
 *     ──────────────────────                  ──────────────────────────                     ──────────────
 *     constructor ──► module.c  modules ──► event.c  events, names ──► conn.c  EVENT ─────────►
 *     waymark_record ◄── recorder.c  chains of recorders ◄──────────── conn.c ◄──── CHANNEL, ENABLE
 *        record.c, record_chain.c    patch.c  code of the sites          helper_thread.c runs conn.c
 *
 * The recording path consists of enter.S, record.c, record_chain.c, context.c, filter_run.c, tls_owner.c and
 * wmk_probe_call() of probe.c. The recording path takes no lock and allocates nothing. A recording thread may still
 * read recorders, events and ring sets that were removed. The memory of such objects is type-stable: the memory is
 * reused only for the same kind of object, and is never unmapped.
 */
#ifndef WMK_TRACER_TRACER_H
#define WMK_TRACER_TRACER_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/compiler.h"

/* Endpoints of session daemons: the endpoint of root, and the endpoint of the user (endpoint.h). */
#define WMK_ENDPOINTS 2u
/* Maximum size of a socket path in bytes. */
#define WMK_ENDPOINT_PATH_MAX 108

struct waymark_module;
struct wmk_name;
struct wmk_event;
struct wmk_channel;

/*
 * Protected by the lock. The environment is read only once, at the first use of the library (init.c), because the
 * application may change its environment at any time and in any thread.
 */
struct wmk_tracer {
	bool disabled;          /* WAYMARK_DISABLE=1 */
	bool secure;            /* AT_SECURE: the environment is ignored */
	bool allow_blocking;    /* WAYMARK_ALLOW_BLOCKING: a record may wait for room if its channel allows that */
	bool has_rundir;        /* WAYMARK_RUNDIR was set ... */
	/* ... to this; a longer path is cut, but still too long for an endpoint */
	char rundir[WMK_ENDPOINT_PATH_MAX];
	int64_t register_ms;    /* WAYMARK_REGISTER_TIMEOUT */
	struct waymark_module *modules; /* registered, newest first */
	struct wmk_name **names;        /* hash table of n_buckets */
	uint32_t n_buckets, n_names;
	struct wmk_event **events;
	uint32_t n_events, cap_events;
	struct wmk_channel *channels;
	struct wmk_event *dirty;        /* events to patch (patch.h) */
	/*
	 * number of registrations so far; the number of a batch of announcements is this value at the time of sending
	 */
	uint32_t changes;
	uint32_t n_untraceable; /* events with sites that cannot be patched */
	uint32_t n_probes;      /* connected probes; if there are any, modules are scanned when they register */
};
extern struct wmk_tracer wmk_tracer WMK_HIDDEN;

#endif
