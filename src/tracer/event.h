/* SPDX-License-Identifier: MIT */
/*
 * event.h - the events of this process, and their names. All functions need the lock; the recording path reads some
 * members without the lock.
 */
#ifndef WMK_TRACER_EVENT_H
#define WMK_TRACER_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include <waymark/detail/abi.h>

#include "schema/schema.h"
#include "tracer/compiler.h"

/* Operations by which the recording path converts words and references to fragments of a record. */
enum wmk_op_kind {
	WMK_OP_RUN,        /* `bytes` of scalars, staged in `words` whole words */
	WMK_OP_ZERO,       /* one byte 0: field `msg` of a text event, which the application does not stage */
	WMK_OP_STRING,     /* a ref, NUL-terminated */
	WMK_OP_STRING_MAX, /* as STRING, but at most `bytes` are read: "%.5s" */
	WMK_OP_STRING_ARG, /* as STRING, limited by the int `bytes` before the following words: "%.*s" */
	WMK_OP_TEXT,       /* a ref with a length, recorded as a string */
	WMK_OP_BLOB,       /* a ref: u32 length, bytes */
	WMK_OP_SEQ,        /* a ref: u32 count of elements of `bytes` each, elements */
	WMK_OP_ARRAY,      /* a ref: `bytes` bytes, no length */
};

struct wmk_op {
	uint8_t kind;
	uint8_t reserved;
	uint16_t words;
	uint32_t bytes;
};

/* A field that the application passes by reference. */
struct wmk_event_ref {
	uint16_t op;                    /* index of the operation that records it */
	uint16_t words;                 /* words that are staged before it */
};

struct waymark_recorder;

/*
 * An event stands for all descriptors with the same provider, name and fields. An event is never freed: a library that
 * is loaded again uses its old event, and a recording thread may keep a pointer to the event for an unlimited time.
 */
struct wmk_event {
	uint16_t n_ops;
	bool plain;                     /* one run, or no field */
	/*
	 * the operation of the only reference, if the event consists of at most one run and then this reference; else
	 * WMK_OP_RUN
	 */
	uint8_t tail;
	uint32_t run_bytes;             /* of the first run; 0 if there is no run */
	uint32_t tail_bytes;            /* `bytes` of the tail's operation */
	uint8_t tail_shift;             /* sequence: log2 of the element size */
	struct wmk_op *ops;             /* n_ops of them */
	uint16_t n_refs;
	uint32_t n_words;               /* number of words that the application stages */
	struct wmk_event_ref *refs;     /* n_refs of them */
	uint32_t text_refs;             /* bit i: refs[i] is a text without a limit from a format */

	struct waymark_recorder *chain;         /* the value of `chain` in every descriptor */
	struct wmk_event_class *class;
	struct wmk_name *name;
	struct wmk_event *next_of_name;
	uint32_t number;                        /* index in wmk_tracer.events, and its number in messages */
	struct waymark_desc **descs;
	uint32_t n_descs, cap_descs;
	const struct waymark_site **sites;
	uint32_t n_sites, cap_sites;
	uint32_t life;                          /* number of times that its last descriptor was removed */
	uint32_t n_probes;                      /* probes in its chain */
	struct waymark_field *probe_fields;     /* fields for probes; created when the first probe is connected */
	bool patched;                           /* its sites are enabled */
	/* registered by the helper thread, usually the only thread that records it */
	bool is_helpers;
	bool dirty;                             /* is in wmk_tracer.dirty ... */
	struct wmk_event *next_dirty;           /* ... and the next event of that list */
	const char *untraceable;                /* why its sites cannot be patched; NULL: they can ... */
	uint32_t untraceable_serial;            /* ... and its serial number among such events, from 1 */
};

/*
 * All events with the same provider:name. The sites of wm_enabled() are enabled if at least one event of the name is
 * enabled.
 */
struct wmk_name {
	struct wmk_name *next;          /* in the hash bucket */
	uint64_t hash;
	char *provider, *name;
	struct wmk_event *events;
	const struct waymark_site **guards;
	uint32_t n_guards, cap_guards;
};

/*
 * Return the event of `desc`, and create the event if necessary. Returns NULL if the descriptor is invalid or no memory
 * is available; the cause chain has the reason.
 */
struct wmk_event *wmk_event_get(struct waymark_desc *desc);
struct wmk_name *wmk_name_get(const char *provider, const char *name, bool make);
int wmk_event_add_desc(struct wmk_event *event, struct waymark_desc *desc);
int wmk_event_add_site(struct wmk_event *event, const struct waymark_site *site);
int wmk_name_add_guard(struct wmk_name *name, const struct waymark_site *site);
/*
 * Remove a descriptor. The removal of the last descriptor also removes all recorders of the event. The event itself
 * stays, because the library may be loaded again.
 */
void wmk_event_drop_desc(struct wmk_event *event, struct waymark_desc *desc);

static inline bool wmk_event_is_loaded(const struct wmk_event *event)
{
	return event->n_descs != 0;
}

#endif
