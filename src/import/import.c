/* SPDX-License-Identifier: MIT */
/*
 * import.c - convert the lines of files to the records of a trace (see import.h).
 *
 * The import holds the latest record back until it has read the next line, which may be a stack frame of the record.
 * After the import has read the next line, it moves the held record to the window. The record of an open system call
 * stays in the window until the system call ends.
 */
#include "import/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "import/line_reader.h"
#include "import/open_syscalls.h"
#include "import/trace_writer.h"
#include "import/log_time.h"

#define FRAMES_MAX 1024u
#define FRAMES_BYTES ((size_t)1 << 20)

struct format {
	const char *name;
	wmk_import_parser *parse;
};

static const struct format formats[] = {
	{ "syslog", wmk_import_syslog_line },
	{ "dmesg", wmk_import_dmesg_line },
	{ "perf", wmk_import_perf_line },
	{ "strace", wmk_import_strace_line },
};
#define N_FORMATS (WMK_ARRAY_LEN(formats))

#define TELL_EACH 65536u                   /* bytes between two calls of options.progress */

struct wmk_import {
	struct wmk_import_options options;
	const struct format *format;
	struct wmk_import_trace *trace;
	bool has_begun;                          /* the head of the metadata is written */
	struct wmk_import_log_time when;
	struct wmk_import_classes classes;
	struct wmk_import_window window;
	struct wmk_import_open_syscalls opens;
	struct wmk_import_record *held;          /* the latest record, not in the window yet; or NULL */
	/* the record to which the next frame belongs: `held`, a record in the window, or NULL */
	struct wmk_import_record *framed;
	struct wmk_import_bytes frames, joined;
	struct wmk_import_bytes begun;           /* the first part of a line that was split */
	uint32_t n_frames;
	uint64_t number;                         /* number of records */
	uint64_t bytes, reported;                    /* bytes read of all files; at the last call of options.progress */
	const char *file;
	uint64_t line_number;
	struct wmk_import_line line;             /* the current line */
	struct wmk_import_done done;
};

/* ── from the window to the trace ────────────────────────────────────────────────────────────────────── */

static int begin_trace(struct wmk_import *import)
{
	const bool is_assumed = import->when.assumed & WMK_IMPORT_ASSUMED_ORIGIN;

	if (import->has_begun)
		return 0;
	import->has_begun = true;
	return wmk_import_trace_begin(import->trace, !is_assumed ? "real time"
						     : import->when.is_real
							     ? "real time; some times count from an unknown origin"
							     : "nanoseconds since an unknown origin");
}

static int write_first(struct wmk_import *import)
{
	struct wmk_import_record *record = wmk_import_window_take(&import->window);
	int err = begin_trace(import);

	if (record->open)
		wmk_import_open_remove(&import->opens, record->open);
	if (record == import->framed)
		import->framed = NULL;
	if (err == 0)
		err = wmk_import_trace_write(import->trace, record, &import->done.late);
	wmk_import_record_free(record);
	return err;
}

static int add(struct wmk_import *import, struct wmk_import_record *record)
{
	int err = 0;

	while (err == 0 && wmk_import_window_full(&import->window))
		err = write_first(import);
	if (err == 0)
		err = wmk_import_window_add(&import->window, record);
	if (err < 0)
		wmk_import_record_free(record);
	return err;
}

/* ── from lines to the window ────────────────────────────────────────────────────────────────────────── */

/* Make a record of the current line. -E2BIG, without a cause chain: too many event classes. */
static int make_record(struct wmk_import *import, int64_t ns, struct wmk_import_record **made, size_t *second_at)
{
	struct wmk_import_bytes bytes = { .at = NULL };
	struct wmk_import_class *class;
	struct wmk_import_record *record;
	int err = wmk_import_class_of(&import->classes, &import->line, false, &class);

	if (err < 0)
		return err;
	record = calloc(1, sizeof(*record));
	wmk_import_encode(&import->line, &bytes, second_at);
	if (!record || bytes.failed) {
		free(record);
		free(bytes.at);
		return wmk_error(-ENOMEM, "no memory for a record");
	}
	*record = (struct wmk_import_record){
		.ns = ns, .number = import->number++, .class = class, .payload = bytes.at, .len = bytes.len
	};
	*made = record;
	return 0;
}

/* Append the collected stack frames to their record. */
static int add_frames(struct wmk_import *import)
{
	struct wmk_import_record *record = import->framed;
	struct wmk_import_bytes bytes = { .at = NULL };
	struct wmk_import_class *class;
	int err;

	if (!record || !import->n_frames)
		return 0;
	err = wmk_import_class_framed(&import->classes, record->class, &class);
	if (err < 0)
		return err;
	wmk_import_put(&bytes, record->payload, record->len);
	wmk_import_put(&bytes, &import->n_frames, sizeof(import->n_frames));
	wmk_import_put(&bytes, import->frames.at, import->frames.len);
	if (bytes.failed || import->frames.failed) {
		free(bytes.at);
		return wmk_error(-ENOMEM, "no memory for a record");
	}
	record->class = class;
	if (record != import->held) {
		wmk_import_window_replace(&import->window, record, bytes.at, bytes.len);
		return 0;
	}
	free(record->payload);
	record->payload = bytes.at;
	record->len = bytes.len;
	return 0;
}

/* Add an unparsed line, with the latest time that the import has converted. */
static int add_unknown(struct wmk_import *import, struct wmk_import_text text)
{
	struct wmk_import_record *record;
	int err;

	wmk_import_line_begin(&import->line, import->format->name, "line");
	wmk_import_add_text(&import->line, "text", text);
	err = make_record(import, import->when.before_ns, &record, NULL);
	if (err < 0)
		return err;
	import->done.unknown++;
	if (import->options.unknown)
		import->options.unknown(import->options.data, import->file, import->line_number, text.at, text.len);
	return add(import, record);
}

/* Finish the held record after all of its stack frames have been read. */
static int finish_record(struct wmk_import *import)
{
	struct wmk_import_record *held = import->held;
	int err = add_frames(import);

	import->framed = import->held = NULL;
	import->n_frames = 0;
	import->frames.len = 0;
	if (err == -E2BIG)
		err = 0;         /* (when add_frame() added the first frame, it checked that the class exists) */
	if (err == 0 && held)
		return add(import, held);
	wmk_import_record_free(held);
	return err;
}

static int add_frame(struct wmk_import *import, struct wmk_import_text text)
{
	const struct wmk_import_text frame = import->line.values[0].text;
	struct wmk_import_class *class;
	int err = import->framed ? wmk_import_class_framed(&import->classes, import->framed->class, &class) : -E2BIG;

	if (err == 0 && import->n_frames < FRAMES_MAX && import->frames.len + 3 * frame.len < FRAMES_BYTES) {
		wmk_import_put_text(&import->frames, frame);
		import->n_frames++;
		return 0;
	}
	if (err < 0 && err != -E2BIG)
		return err;
	err = finish_record(import);
	return err < 0 ? err : add_unknown(import, text);
}

/*
 * Add the record of a system call that begins. If the thread of a new system call already has an open system call, the
 * log lacks the end of the earlier system call.
 */
static int add_open(struct wmk_import *import, int64_t ns)
{
	struct wmk_import_open_syscall *before =
		wmk_import_open_find(&import->opens, wmk_import_open_thread(&import->line));
	struct wmk_import_record *record;
	size_t args_at = 0;
	int err = make_record(import, ns, &record, &args_at);

	if (err < 0)
		return err;
	if (before)
		wmk_import_open_remove(&import->opens, before);
	/*
	 * Add the record to the window before its system call is added to the list of open system calls. A full window
	 * writes out its earliest record. If the earliest record belongs to an open system call, the import also
	 * removes that open system call.
	 */
	err = add(import, record);
	return err < 0 ? err : wmk_import_open_add(&import->opens, &import->line, record, args_at);
}

/*
 * Replace the record of an open system call by a record of the complete system call. The new record has the time at
 * which the system call began, and the arguments of both lines.
 */
static int complete(struct wmk_import *import, struct wmk_import_open_syscall *open, int64_t ns)
{
	struct wmk_import_record *record = open->record;
	struct wmk_import_line *line = &import->line;
	struct wmk_import_bytes bytes = { .at = NULL };
	struct wmk_import_class *class;
	const char *args = (const char *)record->payload + open->args_at;
	int err;

	if (!line->has_tid && open->thread >= 0) {
		line->has_tid = true;
		line->tid = (int32_t)open->thread;
	}
	import->joined.len = 0;
	wmk_import_put(&import->joined, args, strlen(args));
	if (import->joined.len && line->values[1].text.len && args[strlen(args) - 1] == ',' &&
	    line->values[1].text.at[0] != ' ')
		wmk_import_put(&import->joined, " ", 1);
	wmk_import_put(&import->joined, line->values[1].text.at, line->values[1].text.len);
	line->name = wmk_import_text_of("call");
	line->values[1].text = (struct wmk_import_text){ import->joined.len ? (const char *)import->joined.at : "",
							 import->joined.len };
	if (!wmk_import_text_is(line->values[line->n - 1].name, "duration_ns") && ns >= record->ns)
		wmk_import_add_number(line, "duration_ns", WMK_IMPORT_INT, ns - record->ns);
	err = wmk_import_class_of(&import->classes, line, false, &class);
	if (err < 0)
		return err;
	wmk_import_encode(line, &bytes, NULL);
	if (bytes.failed || import->joined.failed) {
		free(bytes.at);
		return wmk_error(-ENOMEM, "no memory for a record");
	}
	wmk_import_open_remove(&import->opens, open);
	record->class = class;
	wmk_import_window_replace(&import->window, record, bytes.at, bytes.len);
	import->framed = record;
	return 0;
}

static int add_known(struct wmk_import *import, int64_t ns)
{
	struct wmk_import_open_syscall *open =
		import->line.what == WMK_IMPORT_RESUMES ? wmk_import_open_resumed(&import->opens, &import->line) : NULL;
	int err;

	if (import->line.what == WMK_IMPORT_OPENS)
		return add_open(import, ns);
	if (open)
		return complete(import, open, ns);
	open = import->line.what == WMK_IMPORT_ENDS
		       ? wmk_import_open_find(&import->opens, wmk_import_open_thread(&import->line))
		       : NULL;
	if (open)
		wmk_import_open_remove(&import->opens, open);
	err = make_record(import, ns, &import->held, NULL);
	if (err == 0)
		import->framed = import->held;
	return err;
}

/* True if the current line is a message of strace itself. */
static bool is_note(const struct wmk_import *import)
{
	return wmk_import_text_is(import->line.name, "note");
}

/* Add the first part of a split line, which is pending, as an unparsed line. */
static int drop_begun(struct wmk_import *import)
{
	const struct wmk_import_text text = { (const char *)import->begun.at, import->begun.len };
	int err;

	if (!text.len)
		return 0;
	import->begun.len = 0;
	err = finish_record(import);
	return err < 0 ? err : add_unknown(import, text);
}

/*
 * Parse a line. If the first part of a split line is pending and the import cannot parse *text alone, the import parses
 * the joined line. On return, *text is the parsed text.
 */
static int parse(struct wmk_import *import, struct wmk_import_text *text)
{
	int err;

	import->format->parse(*text, &import->line);
	/* (another message of strace may stand between the two parts) */
	if (!import->begun.len || (import->line.what == WMK_IMPORT_RECORD && is_note(import)))
		return 0;
	if ((import->line.what == WMK_IMPORT_UNKNOWN || import->line.what == WMK_IMPORT_SPLITS) &&
	    import->begun.len + text->len <= WMK_IMPORT_LINE_MAX) {
		wmk_import_put(&import->begun, text->at, text->len);
		if (import->begun.failed)
			return wmk_error(-ENOMEM, "no memory for a line");
		*text = (struct wmk_import_text){ (const char *)import->begun.at, import->begun.len };
		import->begun.len = 0;
	} else {
		err = drop_begun(import);
		if (err < 0)
			return err;
	}
	import->format->parse(*text, &import->line);
	return 0;
}

static int add_line(struct wmk_import *import, struct wmk_import_text text, bool is_continued)
{
	struct wmk_import_text rest;
	bool splits;
	int64_t ns;
	int err;

	if (is_continued) {
		err = drop_begun(import);
		err = err < 0 ? err : finish_record(import);
		return err < 0 ? err : add_unknown(import, text);
	}
	import->line_number++;
	err = parse(import, &text);
	if (err < 0)
		return err;
	if (import->line.what == WMK_IMPORT_FRAME)
		return add_frame(import, text);
	err = finish_record(import);
	if (err < 0 || import->line.what == WMK_IMPORT_BLANK)
		return err;
	/* (messages of strace never have a time) */
	if (import->line.what != WMK_IMPORT_UNKNOWN && import->line.stamp.since == WMK_IMPORT_NO_TIME &&
	    !is_note(import))
		import->when.assumed |= WMK_IMPORT_ASSUMED_ORDER;
	splits = import->line.what == WMK_IMPORT_SPLITS;
	rest = import->line.rest;
	/* An unparsed line keeps its own time if the import could parse the time. */
	if (!wmk_import_log_time_ns(&import->when, &import->line.stamp, &ns) || import->line.what == WMK_IMPORT_UNKNOWN)
		return add_unknown(import, text);
	err = add_known(import, ns);
	if (err == -E2BIG)
		return add_unknown(import, text);
	if (err < 0 || !splits)
		return err;
	if (rest.at == (const char *)import->begun.at)
		import->begun.len = rest.len;
	else
		wmk_import_put(&import->begun, rest.at, rest.len);
	return import->begun.failed ? wmk_error(-ENOMEM, "no memory for a line") : 0;
}

/* ── the whole ───────────────────────────────────────────────────────────────────────────────────────── */

static const struct format *find_format(const char *name)
{
	for (size_t i = 0; i < N_FORMATS; i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	return NULL;
}

int wmk_import_begin(const char *path, const char *format, const struct wmk_import_options *options,
		     struct wmk_import **result)
{
	const struct format *found = find_format(format);
	struct wmk_import_class *line;
	struct wmk_import *import;
	int err;

	if (!found)
		return wmk_error(-EINVAL, "unknown log format '%.40s' (known: syslog, dmesg, perf, strace)", format);
	import = calloc(1, sizeof(*import));
	if (!import)
		return wmk_error(-ENOMEM, "no memory to read logs");
	import->options = *options;
	import->format = found;
	wmk_import_log_time_begin(&import->when, options);
	/*
	 * Create the class for unparsed lines before all other classes. So the class for unparsed lines exists even if
	 * the log file needs more classes than the limit.
	 */
	wmk_import_line_begin(&import->line, found->name, "line");
	wmk_import_add_text(&import->line, "text", wmk_import_text_of(""));
	err = wmk_import_class_of(&import->classes, &import->line, false, &line);
	if (err == 0)
		err = wmk_import_trace_create(path, found->name, &import->trace);
	if (err < 0) {
		wmk_import_classes_free(&import->classes);
		free(import);
		return err;
	}
	*result = import;
	return 0;
}

/* Write out all records of a file, because the next file may have earlier times. */
static int flush(struct wmk_import *import)
{
	int err = drop_begun(import);

	if (err == 0)
		err = finish_record(import);
	while (err == 0 && import->window.n)
		err = write_first(import);
	return err;
}

int wmk_import_file(struct wmk_import *import, FILE *in, const char *name, int64_t near_ns)
{
	struct wmk_import_lines lines = { .in = in };
	struct wmk_import_text text;
	bool is_continued;
	int err;

	import->file = name;
	import->line_number = 0;
	wmk_import_log_time_of_file(&import->when, near_ns);
	while ((err = wmk_import_lines_next(&lines, &text, &is_continued)) > 0) {
		err = add_line(import, text, is_continued);
		if (err < 0)
			break;
		import->bytes += text.len + !is_continued;
		if (import->options.progress && import->bytes >= import->reported + TELL_EACH) {
			import->reported = import->bytes;
			import->options.progress(import->options.data, import->bytes, import->number);
		}
	}
	free(lines.buf);
	if (err == 0)
		err = flush(import);
	return err < 0 ? wmk_error_add(err, "cannot convert \"%.240s\"", name) : 0;
}

int wmk_import_end(struct wmk_import *import, struct wmk_import_done *done)
{
	struct wmk_import_record *record;
	int err = flush(import), closed;

	if (err == 0)
		err = begin_trace(import);
	closed = wmk_import_trace_close(import->trace, &import->done.records);
	import->done.assumed = import->when.assumed;
	if (done)
		*done = import->done;
	/* Records remain in the window only after an error. */
	while ((record = wmk_import_window_take(&import->window)) != NULL) {
		if (record->open)
			wmk_import_open_remove(&import->opens, record->open);
		wmk_import_record_free(record);
	}
	wmk_import_window_free(&import->window);
	wmk_import_classes_free(&import->classes);
	free(import->frames.at);
	free(import->joined.at);
	free(import->begun.at);
	free(import);
	return err < 0 ? err : closed;
}

bool wmk_import_date(const char *text, int64_t *ns)
{
	const struct wmk_import_options none = { .year = 0 };
	struct wmk_import_text rest = wmk_import_text_of(text);
	struct wmk_import_timestamp stamp;
	struct wmk_import_log_time when;

	if (!wmk_import_take_iso(&rest, &stamp) || rest.len)
		return false;
	wmk_import_log_time_begin(&when, &none);
	return wmk_import_log_time_ns(&when, &stamp, ns);
}
