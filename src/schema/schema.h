/* SPDX-License-Identifier: MIT */
/*
 * schema.h - the data model of field types and event classes.
 *
 * The application builds an event class from the descriptor of the site and sends the class when it registers. The CTF
 * writer writes the event class as metadata, and the CTF reader builds an event class from metadata.
 *
 *     struct waymark_desc ──wmk_event_from_desc()──► struct wmk_event_class ──wmk_event_encode()──► bytes on the wire
 *                                                     ▲                                                │
 *                                                     └───────────────wmk_event_decode()◄──────────────┘
 *
 * An event class and all objects to which it refers are one allocation (wmk_event_class_free() calls free()). An event
 * class does not change after it is built, so it needs no locks.
 */
#ifndef WMK_SCHEMA_SCHEMA_H
#define WMK_SCHEMA_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <waymark/detail/abi.h>

/* Return `name`, or "" for NULL. */
static inline const char *wmk_or_empty(const char *name)
{
	return name ? name : "";
}

enum wmk_type_kind {
	WMK_TYPE_INT, WMK_TYPE_FLOAT, WMK_TYPE_BOOL, WMK_TYPE_STRING, WMK_TYPE_ENUM, WMK_TYPE_FLAGS,
	WMK_TYPE_ARRAY,      /* `count` times `elem` */
	WMK_TYPE_SEQUENCE,   /* a u32 count, then `count` times `elem` */
	WMK_TYPE_BLOB,       /* a u32 length, then that many bytes of media type `media` */
	WMK_TYPE_STRUCT, WMK_TYPE_OPTIONAL,
	WMK_TYPE_VARIANT,    /* another value selects one of `members`; only in traces that are read */
};

enum wmk_byte_order { WMK_ORDER_NATIVE = 0, WMK_ORDER_LITTLE = 1, WMK_ORDER_BIG = 2 };

struct wmk_label {
	const char *name;
	int64_t from, to;
};

struct wmk_field;

/*
 * The scope of a value on which a type depends (a length, a selector); only types of traces that are read have such
 * values.
 */
enum wmk_scope {
	/* search the structure of the type, then the structures around it: a TSDL name without a scope */
	WMK_SCOPE_NEAR,
	WMK_SCOPE_PACKET_HEADER, WMK_SCOPE_PACKET_CONTEXT, WMK_SCOPE_EVENT_HEADER, WMK_SCOPE_COMMON_CONTEXT,
	WMK_SCOPE_CONTEXT, WMK_SCOPE_PAYLOAD,
	WMK_SCOPES
};

struct wmk_ref {
	uint8_t scope;       /* enum wmk_scope */
	/* path to the value, outermost name first; each NULL leads to the next enclosing structure */
	uint8_t n;
	const char *const *names;
	uint32_t line, column; /* in the metadata; 0: unknown */
};

/* The meaning that a value has for the reader of a stream. */
enum wmk_role {
	WMK_ROLE_NONE, WMK_ROLE_MAGIC, WMK_ROLE_UUID, WMK_ROLE_STREAM_CLASS, WMK_ROLE_STREAM, WMK_ROLE_PACKET_SIZE,
	WMK_ROLE_CONTENT_SIZE, WMK_ROLE_BEGIN, WMK_ROLE_END, WMK_ROLE_LOST, WMK_ROLE_SEQUENCE, WMK_ROLE_CPU,
	WMK_ROLE_EVENT_CLASS, WMK_ROLE_TIME,
	WMK_ROLES
};
_Static_assert(WMK_ROLES <= 16, "a set of roles must fit into 16 bits");

/* The roles of a value as a set of bits, because a value may have several roles. WMK_ROLE_NONE is the empty set. */
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
	/* bits: 8, 16, 32, 64 for INT, FLOAT, BOOL, ENUM, FLAGS (other widths only in traces that are read) */
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
	 * The members below describe the layout of a value in a stream that is read. In event classes of applications,
	 * `roles` and all later members are 0: values consist of whole bytes without padding, and each length precedes
	 * its content.
	 */
	uint16_t roles;         /* WMK_ROLE_BIT() of each */
	uint8_t encoding;       /* STRING, and if is_text: enum wmk_encoding */
	uint8_t is_variable;    /* INT, ENUM: LEB128 of variable width */
	uint8_t is_extended;    /* FLOAT: x87 extended precision, in the 80 least significant bits */
	uint8_t is_bits;        /* INT: bits that are not a number; no type can depend on them */
	/* numbers: the bits are in the reverse of the sequence that `order` implies */
	uint8_t is_reversed;
	uint32_t align;         /* bits, a power of two; 0: 8 */
	const char *clock;      /* INT: the value is a time of the clock with this name; NULL: no time */
	/* SEQUENCE, BLOB: the length (NULL: `count` bytes); VARIANT, OPTIONAL: the selector */
	const struct wmk_ref *ref;
	/*
	 * For VARIANT and OPTIONAL: the values of the selector that select a member. If n_ranges is 0 in a VARIANT, the
	 * label of the selector's value selects the member. If n_ranges is 0 in an OPTIONAL, any selector value except
	 * 0 selects the content.
	 */
	uint32_t n_ranges;
	const struct wmk_label *ranges; /* name: that of the member; NULL in an OPTIONAL */
	const char *attributes; /* attributes in CTF 2 metadata as a JSON object, or NULL */
	const char *field_attributes;    /* attributes of the member or option that has this type */
};

struct wmk_field {
	const char *name;       /* as the user wrote it; metadata prefixes '_' */
	const char *unit;       /* or NULL */
	struct wmk_type type;
};

struct wmk_event_class {
	/* the full name is provider:name; kernel events have provider "", and their full name is `name` */
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
 * Build the event class that a descriptor declares. The function names fields by the rule of docs/instrument.md, makes
 * repeated names unique (_2, _3), and parses the format string of a marker or text. *event is malloc'd. Returns 0,
 * -ENOMEM, or -EINVAL with a cause chain.
 */
int wmk_event_from_desc(const struct waymark_desc *desc, struct wmk_event_class **event);
/*
 * Encode an event class for a message. Returns the length of the encoding, -ENOSPC if `size` is too small, or -E2BIG if
 * the length is above WMK_EVENT_MAX. In each case, the function stores the length in *need (`need` may be NULL). To
 * query the length, the caller passes the size 0.
 */
long wmk_event_encode(const struct wmk_event_class *event, void *buf, size_t size, size_t *need);
/*
 * Decode the encoding of an event class, which is not trusted, and check the class. *event is malloc'd. Returns 0,
 * -ENOMEM, or -EPROTO with a cause chain.
 */
int wmk_event_decode(const void *buf, size_t size, struct wmk_event_class **event);
/*
 * True if the provider, name, fields (types, names, labels), mark and format string of both classes are equal. Ignores
 * level and location.
 */
bool wmk_event_same(const struct wmk_event_class *a, const struct wmk_event_class *b);
/*
 * Compute a hash of the properties that wmk_event_same() compares. Collisions of the hash are unpredictable without the
 * key.
 */
uint64_t wmk_event_hash(const struct wmk_event_class *event, const uint64_t key[2]);
void wmk_event_class_free(struct wmk_event_class *event);
#define WMK_FULL_NAME (2 * WMK_NAME_MAX + 2)
/* Write the full name of the event to `name` and return `name`. */
const char *wmk_event_full_name(const struct wmk_event_class *event, char name[WMK_FULL_NAME]);
/* Return the name of a level, "emerg" to "debug"; NULL for an unknown level. */
const char *wmk_level_name(unsigned level);

/* True if events of a kind (enum waymark_kind) have an event class: all kinds except guards. */
bool wmk_kind_has_class(unsigned kind);
/* True if the fields of events of this kind come from a format string. */
bool wmk_kind_has_format(unsigned kind);
/*
 * Return the URI (model.emf.uri) that marks events of this kind in the metadata, for viewers of spans. NULL: the kind
 * has none.
 */
const char *wmk_kind_uri(unsigned kind);
/* Return the kind that a URI marks, or WAYMARK_KIND_EVENT if the URI is not such a mark. */
unsigned wmk_kind_of_uri(const char *uri);
/*
 * Return model.emf.uri of an event class. If the class has a format string, the URI consists of "waymark:message:" and
 * the percent-encoded format string. If the class has no format string, the URI is the mark of the kind; NULL: the kind
 * has no mark. wmk_message_format() decodes the format. The function returns false if the URI contains no format string
 * or an invalid format string.
 */
#define WMK_MESSAGE_URI (3 * WMK_TEXT_MAX + 32)
const char *wmk_message_uri(const struct wmk_event_class *event, char uri[WMK_MESSAGE_URI]);
bool wmk_message_format(const char *uri, char format[WMK_TEXT_MAX + 1]);
/*
 * Return the length of the event's name without the suffix _begin or _end, which the events at the ends of a span have.
 */
size_t wmk_kind_name_len(unsigned kind, const char *name);

#endif
