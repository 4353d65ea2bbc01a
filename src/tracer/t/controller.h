/* SPDX-License-Identifier: MIT */
/*
 * controller.h - the other end of the wire, as small as a test needs it: one ring set for all, a thread that serves
 * applications, commands that a test sends by hand, and a reader that turns records into text.
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
	const char *prefix;         /* events whose provider:name begins so are enabled; NULL: all */
	uint8_t contexts[8];
	unsigned n_contexts;
	uint32_t field_limit;
	uint32_t subbuf_size, n_subbufs;
	bool silent;                /* accept, and never answer ... */
	bool first_only;            /* ... but the first one */
	bool notifies;              /* has a notify FIFO and hints */
	bool persist;               /* says PERSIST */
	bool private_rings;         /* says that the rings are one process's (they are all the same) */
	bool wants_errors;          /* the test counts what applications complain of: it is not told to anybody else */
};

struct controller *controller_start(const char *dir, const struct controller_options *options);
/* Ends the thread, closes sockets. Sets stay until controller_free(). */
void controller_stop(struct controller *c);
void controller_free(struct controller *c);
/*
 * As if it had been killed: sockets close, and the names in its directory stay. Then another one in its place, same
 * rings.
 */
void controller_kill(struct controller *c);
void controller_again(struct controller *c);
/* Ring sets that applications have handed back so far, each the right one. */
unsigned controller_rings_back(struct controller *c);
/* From now on it has no channel for those who register. */
void controller_forget_channel(struct controller *c);
/* Ask all for a dump of the loaded objects. */
void controller_statedump(struct controller *c);
/* Applications that have said hello so far; those that are connected. */
unsigned controller_apps(struct controller *c);
unsigned controller_connected(struct controller *c);
/* Commands to all applications; each waits for the answer to a SYNC. False: no answer within 10 s. */
bool controller_disable_all(struct controller *c);
bool controller_enable_all(struct controller *c);
/* The channel goes, and comes again (with the same rings). */
bool controller_channel_gone(struct controller *c);
bool controller_channel_again(struct controller *c);
/* Every event from one channel to another, so many times to and fro. Both have the same rings. */
bool controller_move(struct controller *c, unsigned times);
/*
 * Every event with each of these filters in turn (NULL: none); the last one stays. A name that an event has not has no
 * value.
 */
bool controller_filter(struct controller *c, const char *const *texts, unsigned n);
/* The same for the one event of that name, and of a filter these bytes, whatever they are. */
bool controller_filter_bytes(struct controller *c, const char *event, const void *bytes, size_t len);
/* Errors that applications have answered with so far; *last (may be NULL): what the last one was, an errno. */
unsigned controller_errors(struct controller *c, int *last);
bool controller_sync(struct controller *c);
/* Wait until `n` applications are registered ("done" sent), at most 10 s. */
bool controller_wait_done(struct controller *c, unsigned n);

/* One record, as text: "provider:name a=1 b="x" c=[1,2]"; contexts first, in braces. `ring` as in ring.h. */
typedef void (*controller_record_fn)(void *data, uint32_t ring, uint64_t ts, const char *text);
/*
 * All that the rings hold and an earlier call has not read. Returns records read; *lost (may be NULL) as the rings say,
 * *cut likewise. -1: a record could not be decoded, or a ring not be read.
 */
long controller_read(struct controller *c, controller_record_fn fn, void *data, uint64_t *lost, uint64_t *cut);
struct waymark_ring_set *controller_set(struct controller *c);

#endif
