/* SPDX-License-Identifier: MIT */
/*
 * controller.h - a minimal session daemon for tests: one ring set for all applications, a thread that serves them,
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

struct controller;

struct controller_options {
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

struct controller *controller_start(const char *dir, const struct controller_options *options);
/* End the thread and close the sockets. The ring set stays until controller_free(). */
void controller_stop(struct controller *c);
void controller_free(struct controller *c);
/*
 * Simulate a crash: close the sockets, leave the files in the directory. controller_again() starts a new one with the
 * same rings.
 */
void controller_kill(struct controller *c);
void controller_again(struct controller *c);
/* Number of ring sets that applications have sent by RINGS so far; each was checked. */
unsigned controller_rings_back(struct controller *c);
/* Send no channel to applications that register from now on. */
void controller_forget_channel(struct controller *c);
/* Request a state dump from all applications. */
void controller_statedump(struct controller *c);
/* Number of applications that have connected so far; and of those that are connected. */
unsigned controller_apps(struct controller *c);
unsigned controller_connected(struct controller *c);
/* Send messages to all applications, and wait for the answer to a SYNC. False: no answer within 10 s. */
bool controller_disable_all(struct controller *c);
bool controller_enable_all(struct controller *c);
/* Remove the channel; create it again with the same rings. */
bool controller_channel_gone(struct controller *c);
bool controller_channel_again(struct controller *c);
/* Move every event to another channel and back, `times` times. Both channels have the same rings. */
bool controller_move(struct controller *c, unsigned times);
/*
 * Enable every event with each of these filters in turn (NULL: none); the last one stays. A field that the event does
 * not have has no value.
 */
bool controller_filter(struct controller *c, const char *const *texts, unsigned n);
/* The same for the event of this name, with these bytes as its filter, valid or not. */
bool controller_filter_bytes(struct controller *c, const char *event, const void *bytes, size_t len);
/* Number of ERROR messages so far; *last (may be NULL): errno of the last one. */
unsigned controller_errors(struct controller *c, int *last);
bool controller_sync(struct controller *c);
/* Wait until `n` applications are registered (DONE was sent), at most 10 s. */
bool controller_wait_done(struct controller *c, unsigned n);

/* One record as text: "provider:name a=1 b="x" c=[1,2]"; context fields before it, in braces. `ring` as in ring.h. */
typedef void (*controller_record_fn)(void *data, uint32_t ring, uint64_t ts, const char *text);
/*
 * Read all records that earlier calls have not read. Returns their number; *lost and *cut (may be NULL) from the rings.
 * -1: a record could not be decoded, or a ring not be read.
 */
long controller_read(struct controller *c, controller_record_fn fn, void *data, uint64_t *lost, uint64_t *cut);
struct waymark_ring_set *controller_set(struct controller *c);

#endif
