/* SPDX-License-Identifier: MIT */
/*
 * print.h - format records as text, one line each, in one of two styles.
 *
 * WMK_PRINT_COLUMNS: aligned columns
 *
 *     +0.000 123 456  [1]  shop/5698  shop:order_paid   id=1 customer="ann" amount=66.9
 *     └since the────┘ └CPU └thread──┘ └event────────┘   └contexts, payload────────────┘
 *      first record
 *
 * A column without any value is omitted. The output holds lines back until a screenful of lines can be aligned: see
 * wmk_print_end(). The thread of a record comes from the context fields vpid or pid, vtid or tid, and procname, or
 * otherwise from the environment of the trace. With `all`, the output also contains the records of state dumps. With
 * `all`, each line also contains the packet context, after the fields. The output does not show the lengths of arrays.
 *
 * WMK_PRINT_BABELTRACE: like babeltrace2 2.0 (its component sink.text.pretty, without colours)
 *
 *     [22:13:20.000000022] (+0.000000001) host:proc:(42) sched:switch: { cpu_id = 3 }, { next = 7, comm = "worker" }
 *     └time of the clock─┘ └since the───┘└─ of env ───┘ └─ event ──┘  └ of packet ─┘  └─ contexts, payload ────────┘
 *                           previous line, of any stream
 *
 *     struct wmk_print              options, the time of the previous record: one for each output
 *       └ struct wmk_print_trace    a trace: a stream class is prepared with its first stream, an event class with its
 *           │                       first record
 *           └ struct wmk_print_stream   a data stream: its packet's context, formatted once for each packet
 *
 *     wmk_print_packet()  for each packet of a stream, before its first record
 *     wmk_print_record()  in the order of the lines
 *     fwrite(out.text, 1, out.len, file), out.len = 0     at any time
 *
 * Some text is the same for all records of an event class: names, separators, braces, quotes and labels of fields.
 * struct wmk_print formats this text once, as one piece for each operation of the decode program (ctf/decode.h). For
 * each record, only the values are formatted, in one walk over the bytes of the record.
 *
 * A line contains the packet context, the common context, the specific context and the payload, in this order, without
 * headers. A line omits fields with a role, as in babeltrace2. In the packet context, the fields with a role are sizes,
 * times, and counts of losses and of packets. A line also omits integers that are values of a clock, unless they are a
 * length or a selector. If a line omits all members of a structure, it also omits the structure. A structure that never
 * had
 * a member is shown as { }.
 *
 * Intended differences from babeltrace2:
 *   - control characters in names (events, fields, env, traces, files) are escaped as in strings, so that a record is
 *     always one line;
 *   - a time before the clock's origin is always seconds with a sign; babeltrace2 later omits the sign;
 *   - a number as hostname and a text as vpid in the environment are shown.
 * babeltrace2 2.0 cannot read CTF 2. Values of CTF 2 are shown as follows: booleans true and false, flags as 0x1F,
 * absent values <none>, bytes { 0f a0 }. Texts in UTF-16 and UTF-32 are converted to UTF-8.
 *
 * Text is a sequence of bytes: bytes of a string beyond ASCII are copied unchanged. Names and strings come from the
 * trace and are not trusted. A line has at most `max` bytes (member of struct wmk_print_text).
 *
 * Errors are -errno with a cause chain: -ENOMEM, -E2BIG if a line is too long, and the errors of ctf/decode.h. After an
 * error, `out` is unchanged. After an error, the time to which the next delta refers is unchanged. Only one thread at a
 * time may use a struct wmk_print and its traces; different structures are independent. The time zone is the time zone
 * of the process, as in localtime_r().
 */
#ifndef WMK_READ_PRINT_H
#define WMK_READ_PRINT_H

#include "ctf/decode.h"

struct wmk_print;
struct wmk_print_trace;
struct wmk_print_stream;

enum wmk_print_clock {
	WMK_PRINT_TIME,        /* 22:13:20.000000022, of the local time zone */
	WMK_PRINT_SECONDS,     /* 1700000000.000000022; `date` and `gmt` have no effect */
	WMK_PRINT_CYCLES,      /* 00000000000000000022: the clock value of the stream */
	WMK_PRINT_RELATIVE,    /* +0.001 234 567: since the origin, see wmk_print_origin(); only in columns */
};

/* Names that are shown: */
#define WMK_PRINT_NAME_PAYLOAD 1u  /* of fields in the payload: { a = 1 }; else { 1 } */
#define WMK_PRINT_NAME_CONTEXT 2u  /* of fields in contexts */
#define WMK_PRINT_NAME_HEADER 4u   /* of the parts before the first '{': timestamp = ..., name = ... */
#define WMK_PRINT_NAME_SCOPE 8u    /* of contexts and payload: event.fields = { */
#define WMK_PRINT_NAMES_DEFAULT (WMK_PRINT_NAME_PAYLOAD | WMK_PRINT_NAME_CONTEXT)
#define WMK_PRINT_NAMES_ALL 15u

/* Fields that are shown between the time and the event's name: */
#define WMK_PRINT_FIELD_TRACE 1u     /* the trace's name */
#define WMK_PRINT_FIELD_HOSTNAME 2u  /* of the environment, as the next three */
#define WMK_PRINT_FIELD_DOMAIN 4u
#define WMK_PRINT_FIELD_PROCNAME 8u
#define WMK_PRINT_FIELD_VPID 16u
#define WMK_PRINT_FIELD_LEVEL 32u    /* of the event class, as the next one */
#define WMK_PRINT_FIELD_EMF 64u
#define WMK_PRINT_FIELDS_DEFAULT (WMK_PRINT_FIELD_HOSTNAME | WMK_PRINT_FIELD_PROCNAME | WMK_PRINT_FIELD_VPID)
#define WMK_PRINT_FIELDS_ALL 127u

enum wmk_print_style { WMK_PRINT_BABELTRACE, WMK_PRINT_COLUMNS };

struct wmk_print_options {
	uint8_t style;             /* enum wmk_print_style; in columns, no_delta, names and fields have no effect */
	bool all;                  /* in columns: state dumps and packets */
	uint8_t clock;             /* enum wmk_print_clock */
	bool date;                 /* 2023-11-14 before the time */
	bool gmt;                  /* UTC instead of the local time zone */
	bool no_delta;
	bool color;                /* highlight names of events and fields by sequences of ECMA-48 */
	uint8_t names, fields;     /* WMK_PRINT_NAME_..., WMK_PRINT_FIELD_... */
};

#define WMK_PRINT_OPTIONS { .names = WMK_PRINT_NAMES_DEFAULT, .fields = WMK_PRINT_FIELDS_DEFAULT }

/*
 * Parse the value of babeltrace2's option --names or --fields, which is "all", "none", or a list of the parts to show,
 * separated by commas. The parts of --names are payload (args, arg), context (ctx), header and scope. The parts of
 * --fields are trace, trace:hostname, trace:domain, trace:procname, trace:vpid, loglevel and emf. -EINVAL with a cause
 * chain. Any thread.
 */
int wmk_print_names(const char *words, uint8_t *names);
int wmk_print_fields(const char *words, uint8_t *fields);

struct wmk_read_clock_points;      /* clock_points.h */

#define WMK_PRINT_LINE_MAX (256u << 20)

/*
 * A growing text, which the caller initializes with zeros. The caller may read the text and may reduce `len` at any
 * time.
 */
struct wmk_print_text {
	char *text;
	size_t len, cap;
	size_t max;                /* bytes of a line, at most; 0: WMK_PRINT_LINE_MAX */
};

void wmk_print_text_free(struct wmk_print_text *text);

/* `options` NULL: the defaults. */
int wmk_print_create(const struct wmk_print_options *options, struct wmk_print **print);
/* Free the traces first. NULL: no effect. */
void wmk_print_free(struct wmk_print *print);

/*
 * Append the text `suffix` to each line; NULL: no suffix. The caller may change the text of the suffix between records.
 */
void wmk_print_set_suffix(struct wmk_print *print, const struct wmk_print_text *suffix);

/*
 * `decoder` and its class must exist as long as the trace. `name` is the name of the trace for WMK_PRINT_FIELD_TRACE
 * and wmk_print_lost(), or NULL. babeltrace2 uses the hostname, '/', and the path below the given path. `host` is the
 * host of the trace for WMK_PRINT_COLUMNS, or NULL.
 */
int wmk_print_trace_add(struct wmk_print *print, const struct wmk_ctf_decoder *decoder, const char *name,
			const char *host, struct wmk_print_trace **trace);
/*
 * Correct the shown times by these sync points; NULL: no correction. The sync points must exist as long as the trace.
 * The caller must call this function before it adds the first stream.
 */
void wmk_print_trace_points(struct wmk_print_trace *trace, const struct wmk_read_clock_points *points);
/* Free its streams first. NULL: no effect. */
void wmk_print_trace_free(struct wmk_print_trace *trace);

/* `decoder` is the decoder of a stream class of the trace. */
int wmk_print_stream_add(struct wmk_print_trace *trace, const struct wmk_ctf_stream_decoder *decoder,
			 struct wmk_print_stream **stream);
void wmk_print_stream_free(struct wmk_print_stream *stream);

/*
 * In the style with columns, print `mark` before the time of each line, until the next call of this function. `mark`
 * may be empty, and must exist until the last line with this mark has been formatted.
 */
void wmk_print_mark(struct wmk_print *print, const struct wmk_print_text *mark);
/*
 * In the style with columns, set the time, in ns, to which relative times refer. The default is the time of the first
 * record.
 */
void wmk_print_origin(struct wmk_print *print, int64_t ns);
/*
 * In the style with columns, append the lines that are held back. The caller must call this function before any other
 * output, before a wait, and at the end.
 */
int wmk_print_end(struct wmk_print *print, struct wmk_print_text *out);
/*
 * In the style with columns, return the number of records that are not shown because they belong to a state dump; 0 if
 * any record was shown.
 */
uint64_t wmk_print_hidden(const struct wmk_print *print);

/* The values in the trailer of a packet that Waymark wrote (ctf/writer.h). */
struct wmk_print_trailer {
	bool is_there;
	uint64_t ring_position;
	uint32_t fields_cut;
};

/*
 * Start a packet of the stream. `walk` has passed the packet header and is at the packet context; this function moves
 * the walk past the context. The function keeps the text of the context for the records of the packet. The output style
 * with columns shows `trailer`; NULL: no trailer.
 */
int wmk_print_packet(struct wmk_print_stream *stream, struct wmk_ctf_walk *walk,
		     const struct wmk_print_trailer *trailer);

/*
 * Append the record to `out`, as one line with a newline. `record` is a result of wmk_ctf_record() with the stream's
 * decoder; `in` contains the bytes of the record. The caller may print the same record again, as another line.
 */
int wmk_print_record(struct wmk_print_stream *stream, const struct wmk_ctf_bytes *in, struct wmk_ctf_record *record,
		     struct wmk_print_text *out);

#define WMK_PRINT_LOST_UNKNOWN UINT64_MAX

/* Lost records or packets. */
struct wmk_print_loss {
	bool is_packets;
	uint64_t count;            /* WMK_PRINT_LOST_UNKNOWN: unknown, possibly none */
	bool has_times;
	/*
	 * clock values: from the end of the previous packet to the end of the packet that reports lost records, or to
	 * the begin of the packet that reports lost packets
	 */
	uint64_t begin, end;
	const char *stream_name;   /* the stream's file; NULL: unknown */
	int64_t stream_id;         /* negative: none */
};

/*
 * Append a warning as one line with a newline. The style with columns prints:
 *
 *     3 records were lost between +0.000 000 029 and +0.000 000 031: stream "..."
 *
 * The other style prints the warning that babeltrace2 prints on its standard error:
 *
 *     WARNING: Tracer discarded 3 events between [22:13:20.000000029] and [...] in trace "..." (UUID: ...) within
 *     stream "..." (stream ...).
 */
int wmk_print_lost(struct wmk_print_stream *stream, const struct wmk_print_loss *loss, struct wmk_print_text *out);

#endif
