/* SPDX-License-Identifier: MIT */
/*
 * fake_sessiond.h - a minimal session daemon for tests: one ring set for all applications, a thread that serves them,
 * messages that a test sends, and a reader that converts records to text.
 */
#ifndef WMK_TRACER_T_CONTROLLER_H
#define WMK_TRACER_T_CONTROLLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <waymark/ring.h>

#include "schema/schema.h"
#include "wire/wire.h"

struct fake_sessiond;

struct fake_sessiond_options {
	const char *prefix;         /* prefix of the enabled events, matched with provider:name; NULL: all */
	uint8_t contexts[8];
	unsigned n_contexts;
	uint32_t field_limit;
	uint32_t subbuf_size, n_subbufs;
	bool silent;                /* accepts connections, and never answers ... */
	bool first_only;            /* ... except the first one */
	bool notifies;              /* with a notify FIFO and hints */
	bool persist;               /* sends the flag PERSIST */
	bool private_rings;         /* marks the rings as private to a process (all applications still get the same) */
	bool wants_errors;          /* the test counts errors of applications: they are not printed */
};

struct fake_sessiond *fake_sessiond_start(const char *dir, const struct fake_sessiond_options *options);
/* End the thread and close the sockets. The ring set stays until fake_sessiond_free(). */
void fake_sessiond_stop(struct fake_sessiond *c);
void fake_sessiond_free(struct fake_sessiond *c);
/*
 * Simulate a crash: close the sockets, leave the files in the directory. fake_sessiond_restart() starts a new one with
 * the same rings.
 */
void fake_sessiond_crash(struct fake_sessiond *c);
void fake_sessiond_restart(struct fake_sessiond *c);
/* Number of ring sets that applications have sent by RINGS so far; each was checked. */
unsigned fake_sessiond_rings_received(struct fake_sessiond *c);
/* Send no channel to applications that register from now on. */
void fake_sessiond_forget_channel(struct fake_sessiond *c);
/* Request a state dump from all applications. */
void fake_sessiond_statedump(struct fake_sessiond *c);
/* Number of applications that have connected so far; and of those that are connected. */
unsigned fake_sessiond_apps(struct fake_sessiond *c);
unsigned fake_sessiond_connected(struct fake_sessiond *c);
/* Send messages to all applications, and wait for the answer to a SYNC. False: no answer within 10 s. */
bool fake_sessiond_disable_all(struct fake_sessiond *c);
bool fake_sessiond_enable_all(struct fake_sessiond *c);
/* Remove the channel; create it again with the same rings. */
bool fake_sessiond_channel_remove(struct fake_sessiond *c);
bool fake_sessiond_channel_add(struct fake_sessiond *c);
/* Move every event to another channel and back, `times` times. Both channels have the same rings. */
bool fake_sessiond_move(struct fake_sessiond *c, unsigned times);
/*
 * Enable every event with each of these filters in turn (NULL: none); the last one stays. A field that the event does
 * not have has no value.
 */
bool fake_sessiond_filter(struct fake_sessiond *c, const char *const *texts, unsigned n);
/* The same for the event of this name, with these bytes as its filter, valid or not. */
bool fake_sessiond_filter_bytes(struct fake_sessiond *c, const char *event, const void *bytes, size_t len);
/* Number of ERROR messages so far; *last (may be NULL): errno of the last one. */
unsigned fake_sessiond_errors(struct fake_sessiond *c, int *last);
bool fake_sessiond_sync(struct fake_sessiond *c);
/* Wait until `n` applications are registered (DONE was sent), at most 10 s. */
bool fake_sessiond_wait_done(struct fake_sessiond *c, unsigned n);

/* One record as text: "provider:name a=1 b="x" c=[1,2]"; context fields before it, in braces. `ring` as in ring.h. */
typedef void (*fake_sessiond_record_fn)(void *data, uint32_t ring, uint64_t ts, const char *text);
/*
 * Read all records that earlier calls have not read. Returns their number; *lost and *cut (may be NULL) from the rings.
 * -1: a record could not be decoded, or a ring not be read.
 */
long fake_sessiond_read(struct fake_sessiond *c, fake_sessiond_record_fn fn, void *data, uint64_t *lost, uint64_t *cut);
struct waymark_ring_set *fake_sessiond_set(struct fake_sessiond *c);

#endif
