/* SPDX-License-Identifier: MIT */
/*
 * schema.h - ONE description of field types and event classes. The site's descriptor becomes it, the application
 * sends it when it registers, the CTF writer prints it, and the CTF reader will build it.
 *
 *     struct waymark_desc ──wmk_event_from_desc()──► struct wmk_event_class ──wmk_event_encode()──► bytes on the wire
 *                                                     ▲                                                │
 *                                                     └───────────────wmk_event_decode()◄──────────────┘
 *
 * An event class is one allocation with everything in it (wmk_event_class_free() is free()); immutable once built; no
 * locks.
 */
#ifndef WMK_SCHEMA_SCHEMA_H
#define WMK_SCHEMA_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <waymark/detail/abi.h>

enum wmk_type_kind {
	WMK_TYPE_INT, WMK_TYPE_FLOAT, WMK_TYPE_BOOL, WMK_TYPE_STRING, WMK_TYPE_ENUM, WMK_TYPE_FLAGS,
	WMK_TYPE_ARRAY,      /* `count` times `elem` */
	WMK_TYPE_SEQUENCE,   /* a u32 count, then so many `elem` */
	WMK_TYPE_BLOB,       /* a u32 length, then so many bytes, of media type `media` */
	WMK_TYPE_STRUCT, WMK_TYPE_OPTIONAL,
};

enum wmk_byte_order { WMK_ORDER_NATIVE = 0, WMK_ORDER_LITTLE = 1, WMK_ORDER_BIG = 2 };

struct wmk_label {
	const char *name;
	int64_t from, to;
};

struct wmk_field;

struct wmk_type {
	uint8_t kind;           /* enum wmk_type_kind */
	uint8_t width; /* bits: INT, FLOAT, BOOL, ENUM, FLAGS: 8, 16, 32, 64 (other widths are for the reader) */
	uint8_t is_signed;
	uint8_t order;          /* enum wmk_byte_order */
	uint8_t base;           /* 2, 8, 10, 16 */
	uint8_t is_text;        /* ARRAY or SEQUENCE of 8-bit INT that holds UTF-8 text */
	uint32_t count;         /* ARRAY: elements; ENUM, FLAGS: labels; STRUCT: members */
	const struct wmk_type *elem;     /* ARRAY, SEQUENCE, OPTIONAL */
	const struct wmk_label *labels;  /* ENUM, FLAGS */
	const struct wmk_field *members; /* STRUCT */
	const char *media;      /* BLOB, or NULL */
};

struct wmk_field {
	const char *name;       /* as the user wrote it; metadata prefixes '_' */
	const char *unit;       /* or NULL */
	struct wmk_type type;
};

struct wmk_event_class {
	const char *provider, *name;   /* the event is provider:name */
	const char *file, *function;   /* or NULL */
	const char *format;            /* MARKER, TEXT: the format string; else NULL */
	uint32_t line;
	uint8_t kind;                  /* enum waymark_kind */
	uint8_t level;                 /* enum waymark_level */
	uint16_t n_fields;
	const struct wmk_field *fields;
};

#define WMK_NAME_MAX 255           /* bytes of a provider's, event's, field's or label's name */
#define WMK_TEXT_MAX 8191           /* bytes of a file, function, format */
#define WMK_LABELS_MAX 4096
#define WMK_EVENT_MAX (256u * 1024)/* bytes of an encoded event class */

/*
 * Build the class that a descriptor declares: names fields by the rule of instrumentation.md, makes repeated names
 * unique (_2, _3), parses a marker's or text's format string. *event is malloc'd. -EINVAL with a cause chain for what
 * cannot be.
 */
int wmk_event_from_desc(const struct waymark_desc *desc, struct wmk_event_class **event);
/*
 * Bytes to send; returns the length, or -ENOSPC when `size` is too small (call with 0 to ask: returns -ENOSPC and
 * sets *need).
 */
long wmk_event_encode(const struct wmk_event_class *event, void *buf, size_t size, size_t *need);
/* Bounded, trusts nothing. *event is malloc'd. -EPROTO with a cause chain. */
int wmk_event_decode(const void *buf, size_t size, struct wmk_event_class **event);
/* Same provider, name, fields (types, names, labels): one event. Level and location do not matter. */
bool wmk_event_same(const struct wmk_event_class *a, const struct wmk_event_class *b);
uint64_t wmk_event_hash(const struct wmk_event_class *event);
void wmk_event_class_free(struct wmk_event_class *event);
/* "emerg" .. "debug"; NULL for an unknown level. */
const char *wmk_level_name(unsigned level);

#endif
