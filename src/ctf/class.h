/* SPDX-License-Identifier: MIT */
/*
 * class.h - what a trace's metadata declares, as data: clocks, environment, stream classes, event classes, and the
 * types of all that a stream consists of. Made by two parsers, one for TSDL (CTF 1.8), one for CTF 2's JSON; read by
 * the compiler of decode programs (ctf/decode.h) and by whatever writes metadata again.
 *
 *     metadata file ──wmk_ctf_metadata_text()──► text ──wmk_ctf_metadata_parse()──► struct wmk_ctf_class
 *     (plain, or in packets of either byte order)
 *
 *     of a stream:  packet header │ packet context │ event header │ common context │ context │ payload │ event header │ ...
 *                   of the trace  │    of its stream class                         │  of its event class
 *
 * A class is immutable once made, and everything in it is freed with it. Names are as the metadata has them: in TSDL
 * the '_' that producers put before a field's name is still there, see wmk_ctf_shown_name().
 *
 * Nothing in metadata is trusted: sizes, counts and depths have limits (below); an error says file, line, column and
 * what was expected (of a value in JSON that is not as it should be: its fragment's line, and the way to it).
 * Errors are -errno with a cause chain: -EPROTO for what is no metadata, -ENOTSUP for what is valid and not understood
 * (a version, an extension), -ENOMEM. Any thread; one thread at a time for one object while it is made.
 */
#ifndef WMK_CTF_CLASS_H
#define WMK_CTF_CLASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/schema.h"

#define WMK_CTF_METADATA_MAX (256u << 20) /* bytes of text */
#define WMK_CTF_TYPE_DEPTH 128u           /* types within types */
#define WMK_CTF_WIDTH_MAX 4096u           /* bits of a number */
#define WMK_CTF_CLOCKS_MAX 1024u
#define WMK_CTF_STREAMS_MAX 65536u        /* stream classes, ... */
#define WMK_CTF_EVENTS_MAX (1u << 20)     /* ... and event classes of them all */
#define WMK_CTF_WARNINGS_MAX 32u          /* kinds of them; the last one counts all others */

struct wmk_ctf_clock_class {
	const char *name;          /* or "" */
	const char *uuid;          /* as text, or NULL; CTF 2: its uid */
	const char *description;   /* or NULL */
	uint64_t freq;             /* Hz, not 0 */
	uint64_t precision;        /* cycles */
	int64_t offset_s;          /* the origin, seconds and ... */
	uint64_t offset;           /* ... cycles, below freq, after which the clock was 0 */
	/* the origin is 1970-01-01 00:00 UTC; else it is the same for clocks of the same uuid */
	bool absolute;
	/* of CTF 2: namespace, accuracy, precision, origin, attributes (see below), or NULL */
	const char *more;
};

/* One entry of the environment. `text` NULL: a number. */
struct wmk_ctf_env_entry {
	const char *name, *text;
	int64_t number;
	bool is_unsigned;          /* `number` is an uint64_t */
};

/* What the metadata says against the specification and is read all the same: where it was first, and how often. */
struct wmk_ctf_warning {
	const char *words;
	uint32_t line, column, count;
};

struct wmk_ctf_stream_class;

/*
 * Roots are structures (WMK_TYPE_STRUCT), or NULL where there is none. `more` is what nobody needs who reads the
 * streams, to be said again: a JSON object with the properties as they stood in CTF 2, or attributes that hold what
 * stood in CTF 1.8 (tsdl_unknown.h); or NULL.
 */
struct wmk_ctf_event_class {
	const struct wmk_ctf_stream_class *stream;
	uint64_t id;
	const char *name;          /* or NULL */
	const char *emf_uri;       /* or NULL */
	int32_t level;             /* enum waymark_level, as LTTng's; -1: none */
	const struct wmk_type *context, *payload;
	const char *more;          /* namespace, uid, attributes without those of above */
	uint32_t line, column;     /* in the metadata; 0: not known. CTF 2: the line of its fragment */
};

struct wmk_ctf_stream_class {
	uint64_t id;
	const char *name;          /* or NULL */
	const struct wmk_ctf_clock_class *clock; /* or NULL: its records have no times */
	const struct wmk_type *packet_context, *event_header, *event_context;
	const struct wmk_ctf_event_class *const *events; /* by id, ascending */
	uint32_t n_events;
	const char *more;          /* namespace, uid, attributes */
	uint32_t line, column;     /* likewise */
};

struct wmk_ctf_class {
	unsigned major, minor;     /* 1.8, or 2.0 */
	uint8_t order;             /* enum wmk_byte_order, LITTLE or BIG: TSDL's native one */
	bool has_uuid;
	bool has_other_types;      /* CTF 1.8: types of parts that a block does not have, which are passed over */
	uint8_t uuid[16];
	const char *trace_name;    /* CTF 2, or NULL */
	const char *more;          /* namespace, uid, attributes */
	const char *preamble_more; /* attributes */
	uint32_t line, column;     /* likewise, of the trace block, or class */
	const struct wmk_type *packet_header;
	const struct wmk_ctf_env_entry *env;
	uint32_t n_env;
	const struct wmk_ctf_clock_class *clocks;
	uint32_t n_clocks;
	const struct wmk_ctf_stream_class *const *streams; /* by id, ascending */
	uint32_t n_streams;
	const struct wmk_ctf_warning *warnings; /* no two of the same words */
	uint32_t n_warnings;
};

/*
 * The text of a metadata file's bytes: as it is, or out of its packets (magic 0x75D11D57 in either byte order). `cut`
 * tells whether the last packet is not whole; what is before it is in the text. *text is malloc'd, with a NUL behind
 * its *len bytes. -EPROTO: a packet lies about its sizes, or has another uuid than the first; -ENOTSUP: it is
 * compressed or encrypted.
 */
int wmk_ctf_metadata_text(const void *bytes, size_t size, char **text, size_t *len, bool *cut);

/*
 * Parse. `name` is for errors: the file's. A text that begins with a record separator (0x1e) is CTF 2's JSON, all else
 * is TSDL. With `partial`, a text whose end is missing (a trace that is being written) gives all that is whole before
 * it: then 1 is returned, and the cause chain tells where it ends.
 */
int wmk_ctf_metadata_parse(const char *text, size_t len, const char *name, bool partial, struct wmk_ctf_class **class);
void wmk_ctf_class_free(struct wmk_ctf_class *class);

/* By id; NULL where there is none. */
const struct wmk_ctf_stream_class *wmk_ctf_stream_class_of(const struct wmk_ctf_class *class, uint64_t id);
const struct wmk_ctf_event_class *wmk_ctf_event_class_of(const struct wmk_ctf_stream_class *stream, uint64_t id);

/* A path for messages: its last bytes behind "...", where it is long; no character is cut. Returns `text`. */
#define WMK_CTF_SHORT 64
const char *wmk_ctf_short_name(char text[WMK_CTF_SHORT], const char *name);
/* A field's name for people: TSDL's without the '_' in front. */
const char *wmk_ctf_shown_name(const struct wmk_ctf_class *class, const char *name);

#endif
