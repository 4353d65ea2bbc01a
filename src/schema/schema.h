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

/* For names that may be NULL. */
static inline const char *wmk_or_empty(const char *name)
{
	return name ? name : "";
}

enum wmk_type_kind {
	WMK_TYPE_INT, WMK_TYPE_FLOAT, WMK_TYPE_BOOL, WMK_TYPE_STRING, WMK_TYPE_ENUM, WMK_TYPE_FLAGS,
	WMK_TYPE_ARRAY,      /* `count` times `elem` */
	WMK_TYPE_SEQUENCE,   /* a u32 count, then so many `elem` */
	WMK_TYPE_BLOB,       /* a u32 length, then so many bytes, of media type `media` */
	WMK_TYPE_STRUCT, WMK_TYPE_OPTIONAL,
	WMK_TYPE_VARIANT,    /* one of `members`, by a value elsewhere; only in what is read */
};

enum wmk_byte_order { WMK_ORDER_NATIVE = 0, WMK_ORDER_LITTLE = 1, WMK_ORDER_BIG = 2 };

struct wmk_label {
	const char *name;
	int64_t from, to;
};

struct wmk_field;

/* Where a value stands that a type depends on (a length, a selector): only in what is read. */
enum wmk_scope {
	WMK_SCOPE_NEAR,      /* looked for from where the type stands, outwards: in TSDL a name without a scope */
	WMK_SCOPE_PACKET_HEADER, WMK_SCOPE_PACKET_CONTEXT, WMK_SCOPE_EVENT_HEADER, WMK_SCOPE_COMMON_CONTEXT,
	WMK_SCOPE_CONTEXT, WMK_SCOPE_PAYLOAD,
	WMK_SCOPES
};

struct wmk_ref {
	uint8_t scope;       /* enum wmk_scope */
	/* names of the way there, the outermost first; NULL among them: out of the structure that was come to */
	uint8_t n;
	const char *const *names;
	uint32_t line, column; /* in the metadata; 0: not known */
};

/* What a value means to whoever reads a stream. */
enum wmk_role {
	WMK_ROLE_NONE, WMK_ROLE_MAGIC, WMK_ROLE_UUID, WMK_ROLE_STREAM_CLASS, WMK_ROLE_STREAM, WMK_ROLE_PACKET_SIZE,
	WMK_ROLE_CONTENT_SIZE, WMK_ROLE_BEGIN, WMK_ROLE_END, WMK_ROLE_LOST, WMK_ROLE_SEQUENCE, WMK_ROLE_CPU,
	WMK_ROLE_EVENT_CLASS, WMK_ROLE_TIME,
	WMK_ROLES
};
_Static_assert(WMK_ROLES <= 16, "a set of roles has 16 bits");

/* A value may have several: a set has a bit for each. That of WMK_ROLE_NONE is empty. */
#define WMK_ROLE_BIT(role) ((uint16_t)(1u << (role) & ~1u))

enum wmk_encoding {
	WMK_ENCODING_UTF8,
	WMK_ENCODING_UTF16LE,
	WMK_ENCODING_UTF16BE,
	WMK_ENCODING_UTF32LE,
	WMK_ENCODING_UTF32BE
};

struct wmk_type {
	uint8_t kind;           /* enum wmk_type_kind */
	/* bits: INT, FLOAT, BOOL, ENUM, FLAGS: 8, 16, 32, 64 (other widths are for the reader) */
	uint16_t width;
	uint8_t is_signed;
	uint8_t order;          /* enum wmk_byte_order */
	uint8_t base;           /* 2, 8, 10, 16 */
	uint8_t is_text;        /* ARRAY or SEQUENCE of 8-bit INT that holds UTF-8 text */
	uint32_t count;         /* ARRAY: elements; ENUM, FLAGS: labels; STRUCT: members */
	const struct wmk_type *elem;     /* ARRAY, SEQUENCE, OPTIONAL */
	const struct wmk_label *labels;  /* ENUM, FLAGS */
	const struct wmk_field *members; /* STRUCT */
	const char *media;      /* BLOB, or NULL */

	/*
	 * Below: how it lies in a stream that is read. 0 in what a program declares: bytes, packed, lengths before what
	 * they count.
	 */
	uint16_t roles;         /* WMK_ROLE_BIT() of each */
	uint8_t encoding;       /* STRING, and where is_text: enum wmk_encoding */
	uint8_t is_variable;    /* INT, ENUM: LEB128, of no fixed width */
	uint8_t is_extended;    /* FLOAT: x87's, in the 80 least significant bits */
	uint8_t is_bits;        /* INT: bits that stand for no number, so that nothing can refer to it as one */
	uint8_t is_reversed;    /* numbers: the first bit in the stream is the other end's than `order` says */
	uint32_t align;         /* bits, a power of two; 0: 8 */
	const char *clock;      /* INT: it is a value of the clock of this name; else NULL */
	/* SEQUENCE, BLOB (NULL: `count` bytes): its length; VARIANT, OPTIONAL: what selects */
	const struct wmk_ref *ref;
	/* VARIANT, OPTIONAL: which values of the selector select which member; 0: a label of that name; not 0 */
	uint32_t n_ranges;
	const struct wmk_label *ranges; /* name: the member's; NULL in an OPTIONAL */
	const char *attributes; /* what CTF 2's metadata says of it beside, a JSON object, or NULL */
	const char *field_attributes;    /* likewise of the member or the option whose type it is */
};

struct wmk_field {
	const char *name;       /* as the user wrote it; metadata prefixes '_' */
	const char *unit;       /* or NULL */
	struct wmk_type type;
};

struct wmk_event_class {
	/* the event is provider:name; of the kernel's ones, whose provider is "", it is the name */
	const char *provider, *name;
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
/* Same provider, name, fields (types, names, labels), mark and format: one event. Level and location do not matter. */
bool wmk_event_same(const struct wmk_event_class *a, const struct wmk_event_class *b);
/* Of that. Who does not know the key does not know which events have the same one. */
uint64_t wmk_event_hash(const struct wmk_event_class *event, const uint64_t key[2]);
void wmk_event_class_free(struct wmk_event_class *event);
#define WMK_FULL_NAME (2 * WMK_NAME_MAX + 2)
/* The event's whole name. Returns `name`. */
const char *wmk_event_full_name(const struct wmk_event_class *event, char name[WMK_FULL_NAME]);
/* "emerg" .. "debug"; NULL for an unknown level. */
const char *wmk_level_name(unsigned level);

/* Kinds (enum waymark_kind): has it an event class (a guard has none); is there a format from which its fields are; */
bool wmk_kind_has_class(unsigned kind);
bool wmk_kind_has_format(unsigned kind);
/*
 * ... how it is marked in metadata, as model.emf.uri, so that spans and counters are drawn: NULL is not; and back:
 * WAYMARK_KIND_EVENT is no mark;
 */
const char *wmk_kind_uri(unsigned kind);
unsigned wmk_kind_of_uri(const char *uri);
/*
 * model.emf.uri of an event class: that of its kind, or "waymark:message:" and its format, percent-encoded; NULL: none.
 * Back: false if the URI has no format, or an invalid one.
 */
#define WMK_MESSAGE_URI (3 * WMK_TEXT_MAX + 32)
const char *wmk_message_uri(const struct wmk_event_class *event, char uri[WMK_MESSAGE_URI]);
bool wmk_message_format(const char *uri, char format[WMK_TEXT_MAX + 1]);
/* ... and how much of the event's name is what its begin and its end share: bytes. */
size_t wmk_kind_name_len(unsigned kind, const char *name);

#endif
