/* SPDX-License-Identifier: MIT */
/*
 * print.h - records as text, one line each, as babeltrace2 2.0 prints them (its component sink.text.pretty, without
 * colours).
 *
 *     [22:13:20.000000022] (+0.000000001) host:proc:(42) sched:switch: { cpu_id = 3 }, { vpid = -2 }, { next = 7, comm = "worker" }
 *     └time of the clock─┘ └since the one┘└─ of env ───┘ └─ event ──┘  └ of packet ─┘  └─ contexts ┘  └─ payload ───────────────┘
 *                            before, of any stream
 *
 *     struct wmk_print              options, the time of the record before: one for each output
 *       └ struct wmk_print_trace    a trace: a stream class is prepared when its first stream comes, an event class when its first record comes
 *           └ struct wmk_print_stream   a data stream: its packet's context, made text once for each packet
 *
 *     wmk_print_packet()  for each packet of a stream, before its first record
 *     wmk_print_record()  in the order of the lines
 *     fwrite(out.text, 1, out.len, file), out.len = 0     when the caller likes
 *
 * All that is the same for each record of an event class - names, separators, braces, quotes, labels - is put together
 * once, as one piece of text before each operation of its decode program (ctf/decode.h); a record costs its values, and
 * one walk over its bytes.
 *
 * What is shown are the packet's context, the common and the specific context and the payload, in this order; headers
 * are not. Not shown in them, as in babeltrace2: what has told its meaning already (in a packet's context: sizes,
 * times, counts of what was lost and of packets), and integers that are values of a clock - unless a length or a
 * selector; then what has nothing left in it. A structure that never had a member is shown: { }.
 *
 * On purpose not as babeltrace2:
 *   - control characters in names (events, fields, env, traces, files) are escaped as they are in strings: a line is always one line;
 *   - a time before the clock's origin is always seconds with a sign; babeltrace2 does so once and then leaves the sign out;
 *   - an environment whose hostname is a number, or vpid a text: shown as it is.
 * What babeltrace2 2.0 cannot read, CTF 2, is shown thus: booleans true and false, flags as 0x1F, what is not there
 * <none>, bytes { 0f a0 }; texts in UTF-16 and UTF-32 become UTF-8.
 *
 * Text is bytes: what a string has beyond ASCII is given as it is. Names and strings come from whoever wrote the trace
 * and are believed in nothing; a line has at most `max` bytes (of struct wmk_print_text).
 *
 * Errors are -errno with a cause chain: -ENOMEM; -E2BIG, a line is too long; those of ctf/decode.h. `out` is then as it
 * was before, and so is what the next record's delta is counted from. A print and all that hangs on it are one thread's
 * at a time; prints do not know each other. The time zone is the process's, as localtime_r() finds it.
 */
#ifndef WMK_READ_PRINT_H
#define WMK_READ_PRINT_H

#include "ctf/decode.h"

struct wmk_print;
struct wmk_print_trace;
struct wmk_print_stream;

enum wmk_print_clock {
	WMK_PRINT_TIME,        /* 22:13:20.000000022, of the local time zone */
	WMK_PRINT_SECONDS,     /* 1700000000.000000022; `date` and `gmt` say nothing */
	WMK_PRINT_CYCLES,      /* 00000000000000000022: the clock's value as it is in the stream */
};

/* Names that are shown: */
#define WMK_PRINT_NAME_PAYLOAD 1u  /* of fields, in the payload: { a = 1 }; else { 1 } */
#define WMK_PRINT_NAME_CONTEXT 2u  /* the same in contexts */
#define WMK_PRINT_NAME_HEADER 4u   /* of what stands before the first '{': timestamp = ..., name = ... */
#define WMK_PRINT_NAME_SCOPE 8u    /* of contexts and payload: event.fields = { */
#define WMK_PRINT_NAMES_DEFAULT (WMK_PRINT_NAME_PAYLOAD | WMK_PRINT_NAME_CONTEXT)
#define WMK_PRINT_NAMES_ALL 15u

/* What is shown between the time and the event's name: */
#define WMK_PRINT_FIELD_TRACE 1u     /* the trace's name */
#define WMK_PRINT_FIELD_HOSTNAME 2u  /* of the environment, this and the three below */
#define WMK_PRINT_FIELD_DOMAIN 4u
#define WMK_PRINT_FIELD_PROCNAME 8u
#define WMK_PRINT_FIELD_VPID 16u
#define WMK_PRINT_FIELD_LEVEL 32u    /* of the event class, this and the one below */
#define WMK_PRINT_FIELD_EMF 64u
#define WMK_PRINT_FIELDS_DEFAULT (WMK_PRINT_FIELD_HOSTNAME | WMK_PRINT_FIELD_PROCNAME | WMK_PRINT_FIELD_VPID)
#define WMK_PRINT_FIELDS_ALL 127u

struct wmk_print_options {
	uint8_t clock;             /* enum wmk_print_clock */
	bool date;                 /* 2023-11-14 before the time */
	bool gmt;                  /* not the local time zone */
	bool no_delta;
	bool color;                /* names of events and fields stand out, by the sequences of ECMA-48 */
	uint8_t names, fields;     /* WMK_PRINT_NAME_..., WMK_PRINT_FIELD_... */
};

#define WMK_PRINT_OPTIONS { .names = WMK_PRINT_NAMES_DEFAULT, .fields = WMK_PRINT_FIELDS_DEFAULT }

/*
 * The words of babeltrace2's --names and --fields, with commas between: what is named is shown and nothing else; "all",
 * "none". Names: payload (args, arg), context (ctx), header, scope. Fields: trace, trace:hostname, trace:domain,
 * trace:procname, trace:vpid, loglevel, emf. -EINVAL with words. Any thread.
 */
int wmk_print_names(const char *words, uint8_t *names);
int wmk_print_fields(const char *words, uint8_t *fields);

#define WMK_PRINT_LINE_MAX (256u << 20)

/* Text that grows. All 0 is an empty one. The caller reads it, and makes `len` less when it likes. */
struct wmk_print_text {
	char *text;
	size_t len, cap;
	size_t max;                /* bytes of a line, at most; 0: WMK_PRINT_LINE_MAX */
};

void wmk_print_text_free(struct wmk_print_text *text);

/* NULL: the default options. */
int wmk_print_create(const struct wmk_print_options *options, struct wmk_print **print);
/* After its traces. NULL: nothing. */
void wmk_print_free(struct wmk_print *print);

/*
 * `decoder` and its class must live as long as the trace. `name`: the trace's, for WMK_PRINT_FIELD_TRACE and
 * wmk_print_lost(), or NULL; babeltrace2 makes it of the hostname, '/', and the path below what it was given.
 */
int wmk_print_trace_add(struct wmk_print *print, const struct wmk_ctf_decoder *decoder, const char *name,
			struct wmk_print_trace **trace);
/* After its streams. NULL: nothing. */
void wmk_print_trace_free(struct wmk_print_trace *trace);

/* `decoder`: one of the trace's stream classes. */
int wmk_print_stream_add(struct wmk_print_trace *trace, const struct wmk_ctf_stream_decoder *decoder,
			 struct wmk_print_stream **stream);
void wmk_print_stream_free(struct wmk_print_stream *stream);

/*
 * A packet of the stream begins. `walk` has gone through the packet header and stands before the packet's context;
 * behind it afterwards. The text of the context is kept for the packet's records.
 */
int wmk_print_packet(struct wmk_print_stream *stream, struct wmk_ctf_walk *walk);

/*
 * One line, with its '\n', behind what `out` has. `record` is what wmk_ctf_record() made of the stream's decoder, `in`
 * where its bytes are:
 * its walk goes on through contexts and payload, and may do so again for another line.
 */
int wmk_print_record(struct wmk_print_stream *stream, const struct wmk_ctf_bytes *in, struct wmk_ctf_record *record,
		     struct wmk_print_text *out);

#define WMK_PRINT_LOST_UNKNOWN UINT64_MAX

/* What is not there: records, or whole packets. */
struct wmk_print_loss {
	bool is_packets;
	uint64_t count;            /* WMK_PRINT_LOST_UNKNOWN: not known, nor whether it is any at all */
	bool has_times;
	/*
	 * clock values: the end of the packet before it; the end of the packet that tells it, of packets its beginning
	 */
	uint64_t begin, end;
	const char *stream_name;   /* the stream's file; NULL: not known */
	int64_t stream_id;         /* below 0: it has none */
};

/*
 * The warning that babeltrace2 gives (on its standard error), a line with its '\n':
 *     WARNING: Tracer discarded 3 events between [22:13:20.000000029] and [...] in trace "..." (UUID: ...) within stream "..." (stream ...).
 */
int wmk_print_lost(struct wmk_print_stream *stream, const struct wmk_print_loss *loss, struct wmk_print_text *out);

#endif
