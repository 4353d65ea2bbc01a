/* SPDX-License-Identifier: MIT */
/*
 * print_state.h - what a print knows between records (see print.h). Internal to src/read.
 *
 *     print_prepare.c   classes ─► for each operation the text before its value, and how the value is shown
 *     print_labels.c    the labels of an enumeration, to be found by a value
 *     print_time.c      clock values ─► "[22:13:20.000000022] (+0.000000001) "
 *     print.c           the records
 *     print_notice.c     options in words, lost records, text that grows
 */
#ifndef WMK_READ_PRINT_STATE_H
#define WMK_READ_PRINT_STATE_H

#include "read/hash_table.h"
#include "read/value_format.h"
#include "read/print.h"

/* ── text that grows ─────────────────────────────────────────────────────────────────────────────────── */

/*
 * A line is made from out->len on, and `out` does not know yet how far it is: `used` bytes of the text. Room for `need`
 * bytes more: the place behind them, wherever the text is now; NULL with a cause chain.
 */
char *wmk_print_grow(struct wmk_print_text *out, size_t used, size_t need);

static inline char *wmk_print_begin(struct wmk_print_text *out, size_t need)
{
	if (__builtin_expect(out->text && out->cap - out->len >= need, 1))
		return out->text + out->len;
	return wmk_print_grow(out, out->len, need);
}

/* The same behind `p`. */
static inline char *wmk_print_room(struct wmk_print_text *out, char *p, size_t need)
{
	const size_t used = (size_t)(p - out->text);

	if (__builtin_expect(out->cap - used >= need, 1))
		return p;
	return wmk_print_grow(out, used, need);
}

/* The latest error, for who was given NULL. */
int wmk_print_error(void);

/*
 * For what is put together seldom: text behind out->len. The first error stays, and what comes after it does nothing.
 */
struct wmk_print_words {
	struct wmk_print_text *out;
	int err;
};

void wmk_print_add(struct wmk_print_words *words, const char *s);
void wmk_print_add_bytes(struct wmk_print_words *words, const char *s, size_t len);
/* A name: see wmk_print_name(). */
void wmk_print_add_name(struct wmk_print_words *words, const char *name);
/* With quotes and escapes. */
void wmk_print_add_quoted(struct wmk_print_words *words, const char *s);
void wmk_print_add_number(struct wmk_print_words *words, int64_t number);
void wmk_print_add_unsigned(struct wmk_print_words *words, uint64_t number);

#define WMK_PRINT_BOLD "\033[1m"
#define WMK_PRINT_TEAL "\033[36m"
#define WMK_PRINT_PLAIN "\033[0m"

/* ── time ────────────────────────────────────────────────────────────────────────────────────────────── */

/* A clock, for nanoseconds since its origin: with the roundings of babeltrace2, whose times have them. */
struct wmk_print_scale {
	bool is_there;             /* else: the stream has no times */
	bool is_ns, overflows;
	double freq;
	int64_t base;              /* ns */
};

void wmk_print_scale_make(struct wmk_print_scale *scale, const struct wmk_ctf_clock_class *clock);
/* False: it does not fit into 64 bits. */
bool wmk_print_scale_ns(const struct wmk_print_scale *scale, uint64_t value, int64_t *ns);

#define WMK_PRINT_NONE UINT64_MAX

struct wmk_print_last {
	uint64_t time, delta;      /* ns or cycles, as shown; WMK_PRINT_NONE */
};

#define WMK_PRINT_STAMP 160u       /* bytes that a time and a delta may have, with all around them */

struct wmk_print {
	struct wmk_print_options options;
	struct wmk_print_last last;
	int64_t second;            /* ns of the second whose text is below: ... */
	unsigned second_len;
	char second_text[48];      /* ... "2023-11-14 22:13:20." */
	struct {
		char text[16];
		unsigned len;
	} before, between, after;  /* "[", "] (+", ") " */
};

/* The texts around times. */
void wmk_print_timestamp_prepare(struct wmk_print *print);
/* A record's time and delta, with all around them; it is the last one then. */
char *wmk_print_timestamp(struct wmk_print *print, char *p, const struct wmk_print_scale *scale, uint64_t value);
/* A time alone. */
char *wmk_print_wall(struct wmk_print *print, char *p, const struct wmk_print_scale *scale, uint64_t value);

/* ── labels ──────────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_print_label {
	uint64_t from, to;         /* moved so that unsigned order is the type's */
	uint32_t rank;             /* of its name: which of the names was first */
	uint32_t len;
	const char *text;          /* with quotes */
};

struct wmk_print_labels {
	uint64_t move;             /* value ^ move is as from and to */
	uint32_t n;
	bool overlap;              /* a value may have several: few `labels` are by rank then; else they are by value */
	/*
	 * Where they overlap and are many: as a tree (see print_labels.c), the greatest `to` of each label and what is
	 * below
	 *  it; room for those that fit.
	 */
	uint64_t *reach;
	const struct wmk_print_label **fits;
	char *text;
	struct wmk_print_label labels[];
};

/* Those of `type`, an ENUM; made when they are not there. The table has each enumeration once. */
int wmk_print_labels_of(struct wmk_read_table *table, const struct wmk_type *type, bool is_signed,
			const struct wmk_print_labels **labels);
void wmk_print_labels_free(struct wmk_read_table *table);
/* "A", "B" or <unknown>, in `out` behind `p`. NULL with a cause chain. */
char *wmk_print_labels_put(const struct wmk_print_labels *labels, struct wmk_print_text *out, char *p, uint64_t value);

/* ── classes ─────────────────────────────────────────────────────────────────────────────────────────── */

enum wmk_print_form {
	WMK_PRINT_HIDDEN,
	WMK_PRINT_UNSIGNED,
	WMK_PRINT_SIGNED,
	WMK_PRINT_HEX,
	WMK_PRINT_OCTAL,
	WMK_PRINT_BINARY,
	WMK_PRINT_WIDE, /* it may have more than 64 bits */
	WMK_PRINT_REAL,
	WMK_PRINT_BOOL,
	WMK_PRINT_ENUM,
	WMK_PRINT_STRING,
	WMK_PRINT_CHARACTERS /* of another encoding */,
	WMK_PRINT_BLOB,
	WMK_PRINT_STRUCT,
	WMK_PRINT_ARRAY,
	WMK_PRINT_VARIANT,
	WMK_PRINT_OPTIONAL,
};

/* bytes of `text` that can be read, whatever its length: the usual one is copied in two loads */
#define WMK_PRINT_PIECE 32u

/* How an operation's value is shown. */
struct wmk_print_op {
	const char *text;          /* what stands before the value: ", name = 0x" */
	uint32_t len;
	uint8_t form;              /* enum wmk_print_form */
	uint8_t number;            /* ENUM, WIDE: the form of its value, were it not wide */
	uint8_t width;             /* BINARY: digits; CHARACTERS: enum wmk_encoding */
	bool is_element;           /* of an array: its index stands before it */
	uint64_t mask;             /* HEX, OCTAL: the bits that are shown */
	const struct wmk_print_labels *labels;
};

/* A structure of the stream: a context, or a payload. */
struct wmk_print_scope {
	const struct wmk_ctf_program *program; /* NULL: nothing of it is shown */
	struct wmk_print_op *ops;  /* as the program's */
	char *text;
	bool names, color;
};

struct wmk_print_event {
	struct wmk_print_text head; /* "host:proc:(42) name: " */
	struct wmk_print_scope context, payload;
};

struct wmk_print_class {
	const struct wmk_ctf_stream_decoder *decoder; /* NULL: not prepared yet */
	struct wmk_print_scale scale;
	struct wmk_print_scope packet_context, event_context;
	struct wmk_print_event **events; /* as the decoder's; NULL: no record came yet */
};

struct wmk_print_trace {
	struct wmk_print *print;
	const struct wmk_ctf_decoder *decoder;
	char *name;                /* or NULL */
	struct wmk_print_class *classes; /* as the decoder's streams */
	struct wmk_read_table labels; /* fields may share one that is long */
};

struct wmk_print_stream {
	struct wmk_print_trace *trace;
	struct wmk_print_class *class;
	struct wmk_print_text packet; /* the packet's context */
	struct wmk_print_text message; /* of the latest record */
};

int wmk_print_class_make(struct wmk_print_trace *trace, const struct wmk_ctf_stream_decoder *decoder,
			 struct wmk_print_class *class);
void wmk_print_class_free(struct wmk_print_class *class);
int wmk_print_event_make(struct wmk_print_trace *trace, const struct wmk_print_class *class,
			 const struct wmk_ctf_event_decoder *decoder, struct wmk_print_event **event);

#endif
