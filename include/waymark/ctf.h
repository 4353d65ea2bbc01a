/* SPDX-License-Identifier: MIT */
/*
 * ctf.h - read traces in Common Trace Format 1.8 and 2, of any tracer (libwaymark-ctf).
 *
 *     const struct waymark_ctf_record *record;
 *     struct waymark_ctf_value value;
 *     struct waymark_ctf *ctf;
 *
 *     waymark_ctf_open(NULL, "trace", &ctf);
 *     while (waymark_ctf_next(ctf, &record) > 0)
 *             if (strcmp(waymark_ctf_event_name(record), "shop:order") == 0 &&
 *                 waymark_ctf_field(record, "id", &value) == 0)
 *                     printf("%lld %lld\n", (long long)waymark_ctf_time(record), (long long)value.number);
 *     waymark_ctf_close(ctf);
 *
 * Records are returned in the order of their times, from all traces that were opened together. Damage is reported to a
 * callback, and all undamaged records are returned. Memory use is about 64 KiB for each stream file of any size.
 *
 * Functions return 0 or more, or a negative errno. After an error, waymark_ctf_error_text() returns the reason; each
 * thread has its own error text. The library does not print, exit or keep other global state. Only one thread at a time
 * may use a handle and the objects that the handle returns; different threads may use different handles. No function
 * may be called from a signal handler. The library does not trust the content of a trace.
 *
 * A structure that the caller fills begins with the member `size`, which the caller sets to sizeof(the structure). The
 * value 0 of a member selects the default.
 */
#ifndef WAYMARK_CTF_H
#define WAYMARK_CTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct waymark_ctf;                  /* traces that are read together */
struct waymark_ctf_record;           /* an event record; valid until the next call with the handle */
struct waymark_ctf_accessor;         /* access to one field of many records */

/* ── errors: why a call failed ───────────────────────────────────────────────────────────────────────────── */

/*
 * Store the reason of the latest failed call of this thread in `buf`: one line, cut to `size` bytes; "" if no call
 * failed. Returns `buf`.
 */
const char *waymark_ctf_error_text(char *buf, size_t size);

/* ── reading: open traces, read records, seek to a time ──────────────────────────────────────────────────── */

/* Options of waymark_ctf_open(). */
struct waymark_ctf_options {
	size_t size;
	/*
	 * Called when a trace is damaged; `message` names the file and the byte offset, or the file, line and column.
	 * The callback runs inside waymark_ctf_open(), waymark_ctf_add() and waymark_ctf_next(), and must not use the
	 * handle of that call. NULL: no report.
	 */
	void (*damage)(void *data, const char *message);
	/*
	 * Called when records of `stream` are lost; `records` is their number (UINT64_MAX: unknown), `time` the
	 * approximate time in ns since 1970.
	 */
	void (*lost)(void *data, const char *stream, uint64_t records, int64_t time);
	void *data;                  /* passed to both functions */
};

/*
 * Open all traces at and below `path`: directories with a file `metadata`. Options NULL: all defaults. The caller owns
 * *ctf; waymark_ctf_close() frees it. Returns 0; -ENOENT: no trace found; -EINVAL: no trace can be read; -EMFILE: more
 * stream files than the process may open.
 */
int waymark_ctf_open(const struct waymark_ctf_options *options, const char *path, struct waymark_ctf **ctf);
/*
 * Open the traces at and below one more path, as waymark_ctf_open() does. After the first waymark_ctf_next(),
 * waymark_ctf_add() returns -EBUSY. An error does not change the handle.
 */
int waymark_ctf_add(struct waymark_ctf *ctf, const char *path);
/* Free the handle. NULL is allowed. */
void waymark_ctf_close(struct waymark_ctf *ctf);
/* Returns 1 and the next record in *record; 0 at the end; -ENOMEM. */
int waymark_ctf_next(struct waymark_ctf *ctf, const struct waymark_ctf_record **record);
/*
 * Seek, forwards or backwards: the next record is the first one at `time` (ns since 1970) or later. The library skips
 * packets before `time`, by the index if there is one. If CLOCK_REALTIME was set during the recording, `time` refers to
 * a continuous time scale that equals CLOCK_REALTIME after the last such step.
 */
int waymark_ctf_seek(struct waymark_ctf *ctf, int64_t time);

/*
 * Return only records for which `expression` is true. waymark-filter(7) describes the language, which `waymark view
 * --filter` also uses. NULL: all records. A second filter replaces the first. Set a filter before the first
 * waymark_ctf_next(), or between waymark_ctf_seek() and the next waymark_ctf_next(); at another time the function
 * returns -EBUSY. -EINVAL: an error in the expression, with its column, or a name that no trace has, with similar
 * names. An error does not change the handle.
 */
int waymark_ctf_filter(struct waymark_ctf *ctf, const char *expression);

/* ── records: properties of every record ──────────────────────────────────────────────────────────────────────── */

/*
 * Return the time of the record in ns since 1970, or since the origin of the trace if the trace clock is not set to
 * wall time; 0 if the trace has no clock. The library corrects this time by the sync points of the trace. If real time
 * was set back between two records, the later record may have the earlier time.
 */
int64_t waymark_ctf_time(const struct waymark_ctf_record *record);
/* Return "provider:name"; "" for an event without a name. Valid until waymark_ctf_close(). */
const char *waymark_ctf_event_name(const struct waymark_ctf_record *record);
/* Return the log level, numbered as in syslog and LTTng (0 to 14); -1: none. */
int waymark_ctf_event_level(const struct waymark_ctf_record *record);
/* Return the path of the directory of the trace. Valid until waymark_ctf_close(). */
const char *waymark_ctf_trace_path(const struct waymark_ctf_record *record);
/* Return the name of the stream file in the directory of the trace. Valid until waymark_ctf_close(). */
const char *waymark_ctf_stream_name(const struct waymark_ctf_record *record);

/* ── fields: the values of a record ──────────────────────────────────────────────────────────────────────── */

enum waymark_ctf_kind {
	WAYMARK_CTF_UNSIGNED, WAYMARK_CTF_SIGNED, WAYMARK_CTF_REAL, WAYMARK_CTF_BOOL,
	/* a string, or an array of characters: `text`, `length` bytes, unchanged from the trace */
	WAYMARK_CTF_TEXT,
	WAYMARK_CTF_BYTES,               /* `length` bytes that are not text */
	/*
	 * STRUCT, ARRAY, VARIANT, OPTIONAL: waymark_ctf_walk_next() then returns the members of the value, and an END.
	 */
	WAYMARK_CTF_STRUCT, WAYMARK_CTF_ARRAY, WAYMARK_CTF_VARIANT, WAYMARK_CTF_OPTIONAL,
	WAYMARK_CTF_END,
};

/*
 * `text` is valid as long as the record is valid. If an integer does not fit into 64 bits, `number` is the nearest
 * value that fits, and `text` has its decimal digits with a sign (NULL if memory is short). If an integer fits into 64
 * bits, `text` is NULL.
 */
struct waymark_ctf_value {
	enum waymark_ctf_kind kind;
	/*
	 * of the field; NULL: an element of an array, the content of an OPTIONAL, the structure of a scope, or an END.
	 * Valid until waymark_ctf_close()
	 */
	const char *name;
	/*
	 * SIGNED, BOOL: the value; UNSIGNED: the value, as (uint64_t)number; ARRAY: number of elements; OPTIONAL: 1
	 * with a value, 0 without
	 */
	int64_t number;
	double real;
	const char *text;
	size_t length;
	/* the label of an enumeration value, or NULL. Valid until waymark_ctf_close() */
	const char *label;
};

/*
 * Find a value by its name: in the payload, the event context, the stream context and the packet, in this order. "a.b"
 * is `b` in the structure `a`, "a[3]" an element. Returns 0; -ENOENT: the record has no such value; -EISDIR: the value
 * is a structure, an array or another value with members, and value->kind is its kind.
 */
int waymark_ctf_field(const struct waymark_ctf_record *record, const char *name, struct waymark_ctf_value *value);

/*
 * Create an accessor of a field. The accessor finds the position of the field once for each event class, instead of by
 * name in each record. *accessor is for records of this handle. The caller owns the accessor until
 * waymark_ctf_accessor_free(), which may come before or after waymark_ctf_close(). -EINVAL: not a valid name of a
 * field.
 */
int waymark_ctf_accessor_create(struct waymark_ctf *ctf, const char *name, struct waymark_ctf_accessor **accessor);
/*
 * Read the field of the accessor, with the same results as waymark_ctf_field(). The function also returns -ENOMEM, and
 * -EINVAL for a record of another handle.
 */
int waymark_ctf_accessor_get(struct waymark_ctf_accessor *accessor, const struct waymark_ctf_record *record,
			     struct waymark_ctf_value *value);
/* Free the accessor. NULL is allowed. */
void waymark_ctf_accessor_free(struct waymark_ctf_accessor *accessor);

/* The parts of a record that contain values. */
enum waymark_ctf_scope {
	WAYMARK_CTF_PACKET,
	WAYMARK_CTF_STREAM_CONTEXT,
	WAYMARK_CTF_EVENT_CONTEXT,
	WAYMARK_CTF_PAYLOAD
};

/*
 * Begin to read all values of a scope, in the order of the trace, the outermost structure first. After
 * waymark_ctf_walk_begin(), call waymark_ctf_walk_next() until the result is 0.
 */
void waymark_ctf_walk_begin(const struct waymark_ctf_record *record, enum waymark_ctf_scope scope);
/* Returns 1 and the next value in *value; 0 at the end. */
int waymark_ctf_walk_next(const struct waymark_ctf_record *record, struct waymark_ctf_value *value);

#ifdef __cplusplus
}
#endif

#endif
