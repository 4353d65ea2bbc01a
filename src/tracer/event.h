/* SPDX-License-Identifier: MIT */
/*
 * event.h - the events of this process, and their names. All with the lock held, but for what the recording path reads.
 */
#ifndef WMK_TRACER_EVENT_H
#define WMK_TRACER_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include <waymark/detail/abi.h>

#include "schema/schema.h"
#include "tracer/compiler.h"

/* How the recording path turns (words, refs) into fragments. */
enum wmk_op_kind {
	WMK_OP_RUN,        /* `bytes` of scalars, staged in `words` whole words */
	WMK_OP_ZERO,       /* one byte 0: field `msg` of a text event, which the program does not stage */
	WMK_OP_STRING,     /* a ref, NUL-terminated */
	WMK_OP_STRING_MAX, /* the same, of which at most `bytes` are read: "%.5s" */
	WMK_OP_STRING_ARG, /* the same, bounded by the int that stands `bytes` before the words that follow: "%.*s" */
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

/* What the program passes by reference. */
struct wmk_event_ref {
	uint16_t op;                    /* that records it */
	uint16_t words;                 /* staged before it */
};

struct waymark_recorder;

/*
 * An event: all descriptors with one provider, name and fields. Never freed: a library that is loaded again finds its
 * event here, and a recording thread may hold a pointer to it for any time.
 */
struct wmk_event {
	uint16_t n_ops;
	bool plain;                     /* one run, or no field at all */
	/* WMK_OP_...: at most one run, and this reference at its end; else WMK_OP_RUN */
	uint8_t tail;
	uint32_t run_bytes;             /* of the first run, 0 if it does not exist */
	uint32_t tail_bytes;            /* `bytes` of the tail's op */
	uint8_t tail_shift;             /* of a sequence: its elements' size as a power of two */
	struct wmk_op *ops;             /* n_ops of them */
	uint16_t n_refs;
	uint32_t n_words;               /* that the program stages */
	struct wmk_event_ref *refs;     /* n_refs of them */
	uint32_t text_refs;             /* bit i: refs[i] is a text that no format bounds */

	struct waymark_recorder *chain;         /* what every descriptor's chain points to */
	struct wmk_event_class *class;
	struct wmk_name *name;
	struct wmk_event *next_of_name;
	uint32_t number;                        /* its index in wmk_tracer.events, and on the wire */
	struct waymark_desc **descs;
	uint32_t n_descs, cap_descs;
	const struct waymark_site **sites;
	uint32_t n_sites, cap_sites;
	uint32_t life;                          /* counts how often its last descriptor was removed */
	uint32_t n_probes;                      /* in its chain */
	struct waymark_field *probe_fields;     /* what probes get; made when the first is connected */
	bool patched;                           /* sites are on */
	bool is_helpers;                        /* registered by the helper thread, which records it alone, as a rule */
	bool dirty;                             /* is in wmk_tracer.dirty ... */
	struct wmk_event *next_dirty;           /* ... followed by this one */
	const char *untraceable;                /* why its sites cannot be patched, or NULL ... */
	uint32_t untraceable_serial;            /* ... and its rank among the events of which that is true, from 1 on */
};

/* All events of one provider:name. Sites that only ask whether it is enabled (wm_enabled) follow all of them. */
struct wmk_name {
	struct wmk_name *next;          /* in the hash bucket */
	uint64_t hash;
	char *provider, *name;
	struct wmk_event *events;
	const struct waymark_site **guards;
	uint32_t n_guards, cap_guards;
};

/*
 * The event that `desc` declares, made if needed; NULL: the descriptor is refused, with words in the cause chain.
 */
struct wmk_event *wmk_event_get(struct waymark_desc *desc);
struct wmk_name *wmk_name_get(const char *provider, const char *name, bool make);
int wmk_event_add_desc(struct wmk_event *event, struct waymark_desc *desc);
int wmk_event_add_site(struct wmk_event *event, const struct waymark_site *site);
int wmk_name_add_guard(struct wmk_name *name, const struct waymark_site *site);
/* With the last descriptor, all recorders are removed. The event stays, for a library that is loaded again. */
void wmk_event_drop_desc(struct wmk_event *event, struct waymark_desc *desc);

static inline bool wmk_event_is_loaded(const struct wmk_event *event)
{
	return event->n_descs != 0;
}

#endif
