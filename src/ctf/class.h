/* SPDX-License-Identifier: MIT */
/*
 * class.h - the metadata of a trace as data: clocks, environment, stream classes, event classes and their types. Two
 * parsers create struct wmk_ctf_class: one parser for TSDL (CTF 1.8), and one parser for the JSON of CTF 2. The
 * compiler of decode programs (ctf/decode.h) and the writers of metadata read struct wmk_ctf_class.
 *
 *     metadata file ──wmk_ctf_metadata_text()──► text ──wmk_ctf_metadata_parse()──► struct wmk_ctf_class
 *     (plain, or in packets of either byte order)
 *
 *     layout of a stream and the class that defines each part:
 *     packet header │ packet context │ event header │ common context │ context │ payload │ event header │ ...
 *     trace         │ stream class                                   │ event class
 *
 * A class is immutable after its creation; freeing the class also frees all parts of the class. Names are stored as in
 * the metadata: names from TSDL keep the '_' that producers put before the name of a field (wmk_ctf_shown_name()).
 *
 * Metadata is not trusted: sizes, counts and depths have limits (below). An error message contains the file, the line,
 * the column and the expected value. An error message about a value in JSON contains the line of the fragment, and the
 * path to the value instead of a column. Errors are -errno with a cause chain: -EPROTO for malformed metadata, -ENOTSUP
 * for valid metadata that is not supported (a version, an extension), -ENOMEM. Any thread may use a finished object;
 * only one thread at a time may create it.
 */
#ifndef WMK_CTF_CLASS_H
#define WMK_CTF_CLASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/schema.h"

#define WMK_CTF_METADATA_MAX (256u << 20) /* bytes of text */
#define WMK_CTF_TYPE_DEPTH 128u           /* levels of nested types */
#define WMK_CTF_WIDTH_MAX 4096u           /* bits of a number */
#define WMK_CTF_CLOCKS_MAX 1024u
#define WMK_CTF_STREAMS_MAX 65536u        /* stream classes */
#define WMK_CTF_EVENTS_MAX (1u << 20)     /* event classes of all streams */
#define WMK_CTF_WARNINGS_MAX 32u          /* kinds of warnings; the last kind counts all further warnings */

struct wmk_ctf_clock_class {
	const char *name;          /* or "" */
	const char *uuid;          /* as text, or NULL; CTF 2: its uid */
	const char *description;   /* or NULL */
	uint64_t freq;             /* Hz, not 0 */
	uint64_t precision;        /* cycles */
	int64_t offset_s;          /* value of the clock's origin: seconds, plus ... */
	uint64_t offset;           /* ... cycles, below freq */
	/* true: the origin is 1970-01-01 00:00 UTC; false: only clocks with one uuid have the same origin */
	bool absolute;
	/* CTF 2: namespace, accuracy, precision, origin, attributes as JSON (see below), or NULL */
	const char *more;
};

/* One entry of the environment. `text` NULL: a number. */
struct wmk_ctf_env_entry {
	const char *name, *text;
	int64_t number;
	bool is_unsigned;          /* `number` is an uint64_t */
};

/*
 * A violation of the specification that the parsers accept, with its first position in the metadata and the number of
 * its occurrences.
 */
struct wmk_ctf_warning {
	const char *words;
	uint32_t line, column, count;
};

struct wmk_ctf_stream_class;

/*
 * Root types, such as `context` and `payload`, are structures (WMK_TYPE_STRUCT), or NULL if the metadata has no such
 * part. `more` contains the properties that are needed only to write the metadata again. `more` is a JSON object or
 * NULL. If the metadata is CTF 2, `more` contains the properties unchanged. If the metadata is CTF 1.8, `more` contains
 * attributes with the unknown entries of the metadata (tsdl_unknown.h).
 */
struct wmk_ctf_event_class {
	const struct wmk_ctf_stream_class *stream;
	uint64_t id;
	const char *name;          /* or NULL */
	const char *emf_uri;       /* or NULL */
	int32_t level;             /* enum waymark_level, the same as LTTng's; -1: none */
	const struct wmk_type *context, *payload;
	const char *more;          /* namespace, uid, and the attributes that have no member above */
	uint32_t line, column;     /* in the metadata; 0: unknown. CTF 2: the line of the fragment */
};

struct wmk_ctf_stream_class {
	uint64_t id;
	const char *name;          /* or NULL */
	const struct wmk_ctf_clock_class *clock; /* or NULL: the records have no times */
	const struct wmk_type *packet_context, *event_header, *event_context;
	const struct wmk_ctf_event_class *const *events; /* by id, ascending */
	uint32_t n_events;
	const char *more;          /* namespace, uid, attributes */
	uint32_t line, column;     /* as above */
};

struct wmk_ctf_class {
	unsigned major, minor;     /* 1.8, or 2.0 */
	uint8_t order;             /* enum wmk_byte_order, LITTLE or BIG: the native byte order in TSDL */
	bool has_uuid;
	bool has_other_types;      /* CTF 1.8: a block has a type for a part that such blocks do not have; ignored */
	uint8_t uuid[16];
	const char *trace_name;    /* CTF 2, or NULL */
	const char *more;          /* namespace, uid, attributes */
	const char *preamble_more; /* attributes */
	uint32_t line, column;     /* as above, of the trace block or trace class */
	const struct wmk_type *packet_header;
	const struct wmk_ctf_env_entry *env;
	uint32_t n_env;
	const struct wmk_ctf_clock_class *clocks;
	uint32_t n_clocks;
	const struct wmk_ctf_stream_class *const *streams; /* by id, ascending */
	uint32_t n_streams;
	const struct wmk_ctf_warning *warnings; /* each text once */
	uint32_t n_warnings;
};

/*
 * Extract the text of a metadata file, which is plain text or text in packets (magic 0x75D11D57 in either byte order).
 * `cut` is set if the last packet is incomplete; in that case the text ends before the last packet. The caller frees
 * *text, which has a NUL after its *len bytes of text. -EPROTO: a packet has contradictory sizes or another uuid than
 * the first. -ENOTSUP: compressed or encrypted.
 */
int wmk_ctf_metadata_text(const void *bytes, size_t size, char **text, size_t *len, bool *cut);

/*
 * Parse metadata. `name` is the name of the file in error messages. A text that begins with a record separator (0x1e)
 * is JSON of CTF 2; any other text is TSDL. With `partial`, the end of the text may be missing, as in a trace that is
 * being written. If the end of the text is missing, the function returns 1, and the class contains all declarations
 * that are complete. If the function returns 1, the cause chain contains the place where the text ends.
 */
int wmk_ctf_metadata_parse(const char *text, size_t len, const char *name, bool partial, struct wmk_ctf_class **class);
void wmk_ctf_class_free(struct wmk_ctf_class *class);

/* Find a class by its id; NULL: no such class. */
const struct wmk_ctf_stream_class *wmk_ctf_stream_class_of(const struct wmk_ctf_class *class, uint64_t id);
const struct wmk_ctf_event_class *wmk_ctf_event_class_of(const struct wmk_ctf_stream_class *stream, uint64_t id);

/* Shorten a path for messages to "..." and the last bytes of the path, without cutting a character. Returns `text`. */
#define WMK_CTF_SHORT 64
const char *wmk_ctf_short_name(char text[WMK_CTF_SHORT], const char *name);
/* Return the name of a field as shown to users: a name from TSDL is shown without its leading '_'. */
const char *wmk_ctf_shown_name(const struct wmk_ctf_class *class, const char *name);

#endif
