/* SPDX-License-Identifier: MIT */
/*
 * ctf.h - read traces in Common Trace Format 1.8 and 2, whoever wrote them (libwaymark-ctf).
 *
 *     const struct waymark_ctf_record *record;
 *     struct waymark_ctf_value value;
 *     struct waymark_ctf *ctf;
 *
 *     waymark_ctf_open(NULL, "trace", &ctf);
 *     while (waymark_ctf_next(ctf, &record) > 0)
 *             if (strcmp(waymark_ctf_event_name(record), "shop:order") == 0 && waymark_ctf_field(record, "id", &value) == 0)
 *                     printf("%lld %lld\n", (long long)waymark_ctf_time(record), (long long)value.number);
 *     waymark_ctf_close(ctf);
 *
 * Records come in the order of their times, from all traces that were opened together. What is damaged is left out and
 * told to a function of the caller's; the rest comes. Memory is some 64 KiB for each stream file, however large the
 * files are.
 *
 * Functions return 0 or more, or a negative errno; why is then told by waymark_ctf_error_text(), for each thread by
 * itself. Nothing here prints, exits or keeps global state but that text. A handle, and all that comes from it, is used
 * by one thread at a time; different handles by different threads. No function may be called from a signal handler.
 * Nothing in a trace is trusted.
 *
 * Structures that the caller fills begin with their size, sizeof(the structure), and what is left zero has a default.
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
struct waymark_ctf_record;           /* an event record; valid until the handle's next call */
struct waymark_ctf_accessor;         /* a field, to be had of many records */

/* ── errors: why a call failed ───────────────────────────────────────────────────────────────────────────── */

/*
 * Why the calling thread's latest failed call failed, in one line, cut to `size` bytes; "" when nothing failed. Returns
 * `buf`.
 */
const char *waymark_ctf_error_text(char *buf, size_t size);

/* ── reading: open traces, take records, go to a time ────────────────────────────────────────────────────── */

/* What waymark_ctf_open() is told. */
struct waymark_ctf_options {
	size_t size;
	/*
	 * Something in a trace is damaged: `words` say what, with file and byte, or line and column. Called from
	 * waymark_ctf_open(), waymark_ctf_add() and waymark_ctf_next(); must call nothing of that handle. NULL: nobody
	 * is told.
	 */
	void (*damage)(void *data, const char *words);
	/*
	 * So many records (UINT64_MAX: nobody knows how many) were lost while `stream` was recorded, at about this
	 * time, ns since 1970.
	 */
	void (*lost)(void *data, const char *stream, uint64_t records, int64_t time);
	void *data;                  /* for both */
};

/*
 * Open all traces at and below `path`: directories with a file `metadata`. Options NULL: all defaults. *ctf is the
 * caller's, waymark_ctf_close() frees it. -ENOENT: there is none; -EINVAL: none of them can be read; -EMFILE: more
 * stream files than the process may open.
 */
int waymark_ctf_open(const struct waymark_ctf_options *options, const char *path, struct waymark_ctf **ctf);
/*
 * The same for one more path; only before the first waymark_ctf_next(), else -EBUSY. After an error the handle is as it
 * was.
 */
int waymark_ctf_add(struct waymark_ctf *ctf, const char *path);
/* NULL is allowed. */
void waymark_ctf_close(struct waymark_ctf *ctf);
/* 1: *record is the next one; 0: there are no more. -ENOMEM. */
int waymark_ctf_next(struct waymark_ctf *ctf, const struct waymark_ctf_record **record);
/*
 * The next record is the first one at `time` (ns since 1970) or later; backwards, too. Packets before it are passed
 * over, by the index where there is one.
 */
int waymark_ctf_seek(struct waymark_ctf *ctf, int64_t time);

/*
 * Only records for which `expression` is true come: waymark-filter(7), the language of `waymark view --filter`. NULL:
 * all; a second one takes the place of the first. Before the first waymark_ctf_next(), or after waymark_ctf_seek() and
 * before the next one, else -EBUSY. -EINVAL: a mistake in it, with its column, or a name that is nowhere in the traces,
 * with those near it. After an error nothing has changed.
 */
int waymark_ctf_filter(struct waymark_ctf *ctf, const char *expression);

/* ── records: what every record has ──────────────────────────────────────────────────────────────────────── */

/*
 * Nanoseconds since 1970, or since the trace's own origin where its clock is not set by a calendar; 0 where there is no
 * clock.
 */
int64_t waymark_ctf_time(const struct waymark_ctf_record *record);
/* "provider:name"; "" for an event without a name. Valid until waymark_ctf_close(). */
const char *waymark_ctf_event_name(const struct waymark_ctf_record *record);
/* The log level, as syslog and LTTng number them (0 to 14); -1: it has none. */
int waymark_ctf_event_level(const struct waymark_ctf_record *record);
/* The path of the trace's directory. Valid until waymark_ctf_close(). */
const char *waymark_ctf_trace_path(const struct waymark_ctf_record *record);
/* The name of the stream's file in it. Valid until waymark_ctf_close(). */
const char *waymark_ctf_stream_name(const struct waymark_ctf_record *record);

/* ── fields: the values of a record ──────────────────────────────────────────────────────────────────────── */

enum waymark_ctf_kind {
	WAYMARK_CTF_UNSIGNED, WAYMARK_CTF_SIGNED, WAYMARK_CTF_REAL, WAYMARK_CTF_BOOL,
	/* a string, or characters of an array: `text`, `length` bytes, as they are in the trace */
	WAYMARK_CTF_TEXT,
	WAYMARK_CTF_BYTES,               /* the same, and no text */
	/* These are followed by what is in them, and an end; see waymark_ctf_walk_next(). */
	WAYMARK_CTF_STRUCT, WAYMARK_CTF_ARRAY, WAYMARK_CTF_VARIANT, WAYMARK_CTF_OPTIONAL,
	WAYMARK_CTF_END,
};

/*
 * `text` is valid as long as the record. Of an integer that 64 bits cannot tell, `number` is the nearest that they can,
 * and `text` its decimal digits, with a sign (NULL without memory); of other integers `text` is NULL.
 */
struct waymark_ctf_value {
	enum waymark_ctf_kind kind;
	/* of the field; NULL: an element of an array. Valid until waymark_ctf_close() */
	const char *name;
	/* SIGNED, BOOL; UNSIGNED, as (uint64_t)number; ARRAY: how many elements; OPTIONAL: whether there is a value */
	int64_t number;
	double real;
	const char *text;
	size_t length;
	/* an enumeration's word for the number, or NULL. Valid until waymark_ctf_close() */
	const char *label;
};

/*
 * A value by its name: looked for in the payload, the event's context, the stream's, and the packet's, in this order.
 * "a.b" is `b` in the structure `a`, "a[3]" an element. -ENOENT: the record has none; -EISDIR: it is a structure, an
 * array or the like, and *value tells which.
 */
int waymark_ctf_field(const struct waymark_ctf_record *record, const char *name, struct waymark_ctf_value *value);

/*
 * A field that is asked for in record after record: where it is, is found out once for each event class, not by its
 * name in each record. *accessor is for the records of this handle, and the caller's until waymark_ctf_accessor_free(),
 * before or after waymark_ctf_close(). -EINVAL: this cannot be a field's name.
 */
int waymark_ctf_accessor_create(struct waymark_ctf *ctf, const char *name, struct waymark_ctf_accessor **accessor);
/* As waymark_ctf_field() of that name; and -ENOMEM, and -EINVAL for a record of another handle. */
int waymark_ctf_accessor_get(struct waymark_ctf_accessor *accessor, const struct waymark_ctf_record *record,
			     struct waymark_ctf_value *value);
/* NULL is allowed. */
void waymark_ctf_accessor_free(struct waymark_ctf_accessor *accessor);

/* Where values come from. */
enum waymark_ctf_scope {
	WAYMARK_CTF_PACKET,
	WAYMARK_CTF_STREAM_CONTEXT,
	WAYMARK_CTF_EVENT_CONTEXT,
	WAYMARK_CTF_PAYLOAD
};

/*
 * All values of a scope, in the order in which they were written, the outermost structure first: begin, then call
 * waymark_ctf_walk_next() until it returns 0.
 */
void waymark_ctf_walk_begin(const struct waymark_ctf_record *record, enum waymark_ctf_scope scope);
/* 1: *value is the next one; 0: that was all. */
int waymark_ctf_walk_next(const struct waymark_ctf_record *record, struct waymark_ctf_value *value);

#ifdef __cplusplus
}
#endif

#endif
