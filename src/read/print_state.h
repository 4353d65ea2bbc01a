/* SPDX-License-Identifier: MIT */
/*
 * print_state.h - the state of a print between records (see print.h). Internal to src/read.
 *
 *     print_prepare.c   classes ─► the text before the value of each operation, and the form of the value
 *     print_labels.c    the labels of an enumeration, found by a value
 *     print_time.c      clock values ─► "[22:13:20.000000022] (+0.000000001) "
 *     print.c           the records
 *     print_columns.c   rows that are aligned in columns
 *     print_notice.c    names of options, lost records, growing text
 */
#ifndef WMK_READ_PRINT_STATE_H
#define WMK_READ_PRINT_STATE_H

#include "read/clock_points.h"
#include "read/hash_table.h"
#include "read/value_format.h"
#include "read/print.h"

/* ── growing text ────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Make room for `need` more bytes of an incomplete line. The line begins at out->len; the printer increases out->len
 * only after the line is complete. `used` is the number of bytes of the text that are in use. Returns the position
 * after the `used` bytes; the function may have moved the text in memory. NULL with a cause chain.
 */
char *wmk_print_grow(struct wmk_print_text *out, size_t used, size_t need);

static inline char *wmk_print_begin(struct wmk_print_text *out, size_t need)
{
	if (__builtin_expect(out->text && out->cap - out->len >= need, 1))
		return out->text + out->len;
	return wmk_print_grow(out, out->len, need);
}

/* Make room for `need` more bytes after position `p`. Returns as the function above. */
static inline char *wmk_print_room(struct wmk_print_text *out, char *p, size_t need)
{
	const size_t used = (size_t)(p - out->text);

	if (__builtin_expect(out->cap - used >= need, 1))
		return p;
	return wmk_print_grow(out, used, need);
}

/* Return the error number of the last failure of a function that makes room for text. */
int wmk_print_error(void);

/*
 * Functions with a struct wmk_print_words append texts that are formatted rarely to `out`. After the first error,
 * further calls of these functions have no effect.
 */
struct wmk_print_words {
	struct wmk_print_text *out;
	int err;
};

void wmk_print_add(struct wmk_print_words *words, const char *s);
void wmk_print_add_bytes(struct wmk_print_words *words, const char *s, size_t len);
/* A name: see wmk_print_name(). */
void wmk_print_add_name(struct wmk_print_words *words, const char *name);
/* Add a text with quotes and escapes. */
void wmk_print_add_quoted(struct wmk_print_words *words, const char *s);
void wmk_print_add_number(struct wmk_print_words *words, int64_t number);
void wmk_print_add_unsigned(struct wmk_print_words *words, uint64_t number);

#define WMK_PRINT_BOLD "\033[1m"
#define WMK_PRINT_TEAL "\033[36m"
#define WMK_PRINT_PLAIN "\033[0m"

/* ── time ────────────────────────────────────────────────────────────────────────────────────────────── */

/* Converts a clock's values to ns since the origin of the clock, with the rounding of babeltrace2. */
struct wmk_print_scale {
	bool is_there;             /* false: the stream has no times */
	bool is_ns, overflows;
	double freq;
	int64_t base;              /* ns */
	const struct wmk_read_clock_points *points; /* NULL: none */
};

void wmk_print_scale_make(struct wmk_print_scale *scale, const struct wmk_ctf_clock_class *clock);
/* Returns false if the result does not fit into 64 bits. */
bool wmk_print_scale_ns(const struct wmk_print_scale *scale, uint64_t value, int64_t *ns);
/* Do the same as wmk_print_scale_ns(), but for steady time, which has no steps of real time. */
bool wmk_print_scale_steady(const struct wmk_print_scale *scale, uint64_t value, int64_t *ns);

#define WMK_PRINT_NONE UINT64_MAX

struct wmk_print_last {
	uint64_t time, delta;      /* ns or cycles, as shown; WMK_PRINT_NONE */
};

#define WMK_PRINT_STAMP 160u       /* maximum bytes of a time and a delta, with the text around them */

/* ── columns ─────────────────────────────────────────────────────────────────────────────────────────── */

#define WMK_PRINT_ROWS 48u         /* rows that are aligned together: about a screenful */

enum wmk_print_cell_name {
	WMK_PRINT_CELL_MARK, WMK_PRINT_CELL_TIME, WMK_PRINT_CELL_CPU, WMK_PRINT_CELL_HOST, WMK_PRINT_CELL_THREAD,
	WMK_PRINT_CELL_EVENT, WMK_PRINT_CELL_FIELDS, WMK_PRINT_CELLS,
};

struct wmk_print_cell {
	size_t at, len;            /* in the text of the block, in bytes */
	uint32_t width;            /* on a screen; unused for fields */
};

struct wmk_print_row {
	struct wmk_print_cell cells[WMK_PRINT_CELLS];
};

/*
 * The thread of the current record, if the record's context fields identify the thread. `name` points to `len` bytes in
 * the packet.
 */
struct wmk_print_thread {
	const char *name;
	size_t len;
	int64_t pid, tid;
	bool has_pid, has_tid;
};

struct wmk_print_columns {
	struct wmk_print_text text; /* the cells of the rows */
	struct wmk_print_row rows[WMK_PRINT_ROWS];
	unsigned n_rows;
	uint32_t width[WMK_PRINT_CELLS];
	struct wmk_print_thread thread;
	struct wmk_print_text host; /* of the first trace; the hosts are shown if another trace has a different one */
	unsigned n_hosts;
	const struct wmk_print_text *mark; /* of the next row; NULL: none */
	bool has_origin;
	int64_t origin;            /* ns; relative times count from this time */
	uint64_t n_shown, n_hidden;
};

struct wmk_print {
	struct wmk_print_options options;
	const struct wmk_print_text *suffix; /* wmk_print_set_suffix() */
	struct wmk_print_columns columns;
	struct wmk_print_last last;
	int64_t second;            /* begin, in ns, of the second to which this text belongs: ... */
	unsigned second_len;
	char second_text[48];      /* ... "2023-11-14 22:13:20." */
	struct {
		char text[16];
		unsigned len;
	} before, between, after;  /* "[", "] (+", ") " */
};

/* Prepare the texts around times. */
void wmk_print_timestamp_prepare(struct wmk_print *print);
/*
 * Print the time and the delta of a record, with the surrounding text. The next delta is relative to the time of this
 * record.
 */
char *wmk_print_timestamp(struct wmk_print *print, char *p, const struct wmk_print_scale *scale, uint64_t value);
/* Print only a time. */
char *wmk_print_wall(struct wmk_print *print, char *p, const struct wmk_print_scale *scale, uint64_t value);

/* ── labels ──────────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_print_label {
	uint64_t from, to;         /* mapped so that their unsigned order is the order of the values */
	uint32_t rank;             /* position, in the type, of the first label with this name: the order of output */
	uint32_t len;
	const char *text;          /* with quotes */
};

struct wmk_print_labels {
	bool is_plain;             /* of WMK_PRINT_COLUMNS: A, A|B; the number if there is no label */
	uint64_t move;             /* value ^ move is comparable with from and to */
	uint32_t n;
	/* whether ranges overlap. A few overlapping `labels` are sorted by rank; all others are sorted by value */
	bool overlap;
	/*
	 * For many labels that overlap. Overlapping labels form a tree (see print_labels.c). The member `reach` of a
	 * label is the greatest `to` of the label and of all labels below it in the tree. The array `fits` has room for
	 * all labels that match a value.
	 */
	uint64_t *reach;
	const struct wmk_print_label **fits;
	char *text;
	struct wmk_print_label labels[];
};

/*
 * Get the labels of `type`, which is an ENUM, and add the labels to the table if they are new. The table contains each
 * enumeration only once.
 */
int wmk_print_labels_of(struct wmk_read_table *table, const struct wmk_type *type, bool is_signed, bool is_plain,
			const struct wmk_print_labels **labels);
void wmk_print_labels_free(struct wmk_read_table *table);
/* Print the labels of `value`, such as "A", "B", or <unknown>, to `out` at `p`. NULL with a cause chain. */
char *wmk_print_labels_put(const struct wmk_print_labels *labels, struct wmk_print_text *out, char *p, uint64_t value);

/* ── classes ─────────────────────────────────────────────────────────────────────────────────────────── */

enum wmk_print_form {
	WMK_PRINT_HIDDEN,
	WMK_PRINT_TAKEN,           /* shown in the column of threads; `number` is an enum wmk_print_taken */
	WMK_PRINT_UNSIGNED,
	WMK_PRINT_SIGNED,
	WMK_PRINT_HEX,
	WMK_PRINT_OCTAL,
	WMK_PRINT_BINARY,
	WMK_PRINT_WIDE, /* it can have more than 64 bits */
	WMK_PRINT_REAL,
	WMK_PRINT_BOOL,
	WMK_PRINT_ENUM,
	WMK_PRINT_STRING,
	WMK_PRINT_CHARACTERS /* not UTF-8 */,
	WMK_PRINT_BLOB,
	WMK_PRINT_STRUCT,
	WMK_PRINT_ARRAY,
	WMK_PRINT_VARIANT,
	WMK_PRINT_OPTIONAL,
	/* of WMK_PRINT_COLUMNS: */
	WMK_PRINT_LABEL,           /* an enumeration: A */
	WMK_PRINT_GROUP,           /* a structure: {a=1, b=2} */
	WMK_PRINT_LIST,            /* an array: [1, 2] */
	WMK_PRINT_BARE,            /* a container without braces */
	WMK_PRINT_MAYBE,           /* an optional without braces */
};

enum wmk_print_taken {
	WMK_PRINT_TAKEN_PID = 1, WMK_PRINT_TAKEN_VPID, WMK_PRINT_TAKEN_TID, WMK_PRINT_TAKEN_VTID, WMK_PRINT_TAKEN_NAME,
};

/* minimum number of readable bytes at `text`: short texts are copied with a constant size, by two loads */
#define WMK_PRINT_PIECE 32u

/* Describes how the value of an operation is printed. */
struct wmk_print_op {
	const char *text;          /* the text before the value: ", name = 0x" */
	uint32_t len;
	uint8_t form;              /* enum wmk_print_form */
	uint8_t number;            /* ENUM, WIDE: the form of a value that is not wide */
	uint8_t width;             /* BINARY: digits; CHARACTERS: enum wmk_encoding */
	bool is_element;           /* of an array: its index precedes it */
	uint64_t mask;             /* HEX, OCTAL: the bits that are shown */
	const struct wmk_print_labels *labels;
};

/* A structure of the stream: a context or a payload. */
struct wmk_print_scope {
	const struct wmk_ctf_program *program; /* NULL: nothing is shown */
	struct wmk_print_op *ops;  /* in the order of the program's operations */
	char *text;
	bool names, color;
	bool is_compact;           /* of WMK_PRINT_COLUMNS */
	struct wmk_print_thread *thread; /* gets values of WMK_PRINT_TAKEN */
};

struct wmk_print_event {
	struct wmk_print_text head; /* "host:proc:(42) name: " */
	struct wmk_print_scope context, payload;
	uint32_t width;            /* of the name, on a screen */
	bool is_hidden;
};

struct wmk_print_class {
	const struct wmk_ctf_stream_decoder *decoder; /* NULL: not prepared yet */
	struct wmk_print_scale scale;
	struct wmk_print_scope packet_context, event_context;
	struct wmk_print_event **events; /* in the order of the decoder's events; NULL: no record yet */
};

struct wmk_print_trace {
	struct wmk_print *print;
	const struct wmk_ctf_decoder *decoder;
	char *name;                /* or NULL */
	const struct wmk_read_clock_points *points; /* NULL: none */
	struct wmk_print_class *classes; /* in the order of the decoder's streams */
	struct wmk_read_table labels; /* several fields can share a large enumeration */
	struct wmk_print_text host, process; /* for columns */
	uint32_t host_width;
};

struct wmk_print_stream {
	struct wmk_print_trace *trace;
	struct wmk_print_class *class;
	struct wmk_print_text packet; /* the packet's context */
	struct wmk_print_text message; /* of the latest record */
	struct wmk_print_text cpu;    /* for columns: of the packet */
};

int wmk_print_class_make(struct wmk_print_trace *trace, const struct wmk_ctf_stream_decoder *decoder,
			 struct wmk_print_class *class);
void wmk_print_class_free(struct wmk_print_class *class);
int wmk_print_event_make(struct wmk_print_trace *trace, const struct wmk_print_class *class,
			 const struct wmk_ctf_event_decoder *decoder, struct wmk_print_event **event);
/* Find the last environment entry with this name, as other readers do; NULL: no such entry. */
const struct wmk_ctf_env_entry *wmk_print_env(const struct wmk_ctf_class *class, const char *name);

/* ── rows (print_columns.c) ──────────────────────────────────────────────────────────────────────────── */

char *wmk_print_row_begin(struct wmk_print_stream *stream, uint64_t time);
int wmk_print_row_end(struct wmk_print_stream *stream, const struct wmk_print_event *event, char *p,
		      struct wmk_print_text *out);
/* Return the number of screen columns that `len` bytes of text take. */
uint32_t wmk_print_width(const char *s, size_t len);
/* Return the part of the thread column that shows a member of a context: an enum wmk_print_taken, or 0 for no part. */
unsigned wmk_print_taken(const struct wmk_ctf_program *program, const struct wmk_ctf_op *op);
void wmk_print_take(struct wmk_print_thread *thread, unsigned which, const struct wmk_ctf_item *item);
int wmk_print_cpu(struct wmk_print_stream *stream, struct wmk_ctf_walk *walk);
int wmk_print_trace_columns(struct wmk_print_trace *trace, const char *name);
bool wmk_print_is_statedump(const char *event);
void wmk_print_columns_free(struct wmk_print_columns *columns);

#endif
