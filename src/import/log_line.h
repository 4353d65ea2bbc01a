/* SPDX-License-Identifier: MIT */
/*
 * log_line.h - a parsed line of a log. Internal to src/import.
 *
 *     bytes ──parser of the format──► struct wmk_import_line ──encode.c──► a record's bytes
 *                                       └─ stamp ──log_time.c──► nanoseconds
 *
 * Parsers keep no state and allocate no memory; the texts that they return are parts of the line, or static texts. A
 * line may contain any bytes, even NUL; parsers do not read beyond the end of the line. If a parser cannot parse a
 * line, the line gets the kind WMK_IMPORT_UNKNOWN.
 */
#ifndef WMK_IMPORT_LOG_LINE_H
#define WMK_IMPORT_LOG_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/schema.h"

struct wmk_import_text {
	const char *at;
	size_t len;
};

/* ── times ───────────────────────────────────────────────────────────────────────────────────────────── */

/* Specifies the origin from which the time of a line counts. */
enum wmk_import_since {
	WMK_IMPORT_NO_TIME,   /* the line has no time */
	WMK_IMPORT_EPOCH,     /* seconds since 1970; `is_local`: local time, counted as if it were UTC */
	WMK_IMPORT_ORIGIN,    /* seconds since an origin that the log does not contain: boot */
	WMK_IMPORT_STEP,      /* seconds since the previous line */
	WMK_IMPORT_DAY,       /* seconds of a day, local time; the log does not contain the day */
	WMK_IMPORT_DATE,      /* seconds of the day `month`, `day`, local time; the log does not contain the year */
};

struct wmk_import_timestamp {
	uint8_t since;         /* enum wmk_import_since */
	bool is_local;
	uint8_t month, day;    /* from 1 */
	int64_t seconds;       /* absolute value below 2^36 */
	uint32_t ns;           /* below 10^9 */
};

/*
 * Each function from wmk_import_take_iso() to wmk_import_take_weekday() parses a time, or a part of a time, at the
 * start of the text, and removes the parsed part from the text. A function that finds no time returns false and changes
 * neither the text nor the result.
 */
/* 2026-11-22T08:05:42.5+01:00, ... 08:05:42 UTC, ... */
bool wmk_import_take_iso(struct wmk_import_text *text, struct wmk_import_timestamp *stamp);
bool wmk_import_take_bsd(struct wmk_import_text *text, struct wmk_import_timestamp *stamp);    /* Nov 22 08:05:42.5 */
/* Sun Nov 22 08:05:42 2026 */
bool wmk_import_take_ctime(struct wmk_import_text *text, struct wmk_import_timestamp *stamp);
/* 08:05:42.5: time of a day */
bool wmk_import_take_clock(struct wmk_import_text *text, struct wmk_import_timestamp *stamp);
/* 12.345: since an origin; with a '.' and at least one decimal */
bool wmk_import_take_seconds(struct wmk_import_text *text, struct wmk_import_timestamp *stamp);
bool wmk_import_take_month(struct wmk_import_text *text, uint8_t *month);                  /* Nov */
bool wmk_import_take_weekday(struct wmk_import_text *text);                                /* Sun */
/*
 * Return the number of days from 1970 to a date; -1 if the date does not exist or is outside 1970 to 2261. Month and
 * day count from 1.
 */
int64_t wmk_import_days(int64_t year, unsigned month, unsigned day);

/* ── lines ───────────────────────────────────────────────────────────────────────────────────────────── */

enum wmk_import_kind {
	WMK_IMPORT_INT,        /* int64 */
	WMK_IMPORT_HEX,        /* uint64, shown in base 16 */
	WMK_IMPORT_TEXT,
	WMK_IMPORT_FACILITY,   /* syslog's: an enumeration */
	WMK_IMPORT_SEVERITY,
	WMK_IMPORT_FRAMES,     /* a sequence of texts; not used by parsers: frames are lines of their own */
};

struct wmk_import_value {
	struct wmk_import_text name;
	uint8_t kind;          /* enum wmk_import_kind */
	int64_t number;        /* HEX: the same bits */
	struct wmk_import_text text;
};

#define WMK_IMPORT_VALUES 64u
#define WMK_IMPORT_NAME 200u       /* bytes of a name of an event or a field */

enum wmk_import_what {
	WMK_IMPORT_UNKNOWN,
	WMK_IMPORT_BLANK,      /* an empty line */
	WMK_IMPORT_RECORD,
	WMK_IMPORT_ENDS,       /* a record that also ends its thread */
	/*
	 * a record at the end of another line. `rest` is the first part of the other line, and the next line is its
	 * second part
	 */
	WMK_IMPORT_SPLITS,
	WMK_IMPORT_OPENS,      /* a system call that has not returned: values name, args */
	WMK_IMPORT_RESUMES,    /* the return of such a system call: values name, args, and the result */
	WMK_IMPORT_FRAME,      /* a stack frame of the previous record: values[0] */
};

struct wmk_import_line {
	uint8_t what;          /* enum wmk_import_what */
	bool has_pid, has_tid, has_cpu;
	int32_t pid, tid, cpu;
	struct wmk_import_text comm;      /* `at` NULL: unknown */
	struct wmk_import_timestamp stamp;
	struct wmk_import_text provider, name;  /* of the event */
	struct wmk_import_text rest;      /* WMK_IMPORT_SPLITS */
	unsigned n;
	struct wmk_import_value values[WMK_IMPORT_VALUES];
};

/* Parse `line`, which contains no newline. The function sets all members of *out, except values[n] and later values. */
typedef void wmk_import_parser(struct wmk_import_text line, struct wmk_import_line *out);

wmk_import_parser wmk_import_syslog_line, wmk_import_dmesg_line, wmk_import_perf_line, wmk_import_strace_line;

/*
 * Split the text of a tracepoint into fields, "key=value key=value" or "key: value, key: value"; any other text becomes
 * one field `text` (perf_fields.c).
 */
void wmk_import_perf_fields(struct wmk_import_text text, struct wmk_import_line *out);

/* ── pieces of text (line_cursor.c) ─────────────────────────────────────────────────────────────────────────── */

/* Reset a line; the name of its event becomes provider:name. */
void wmk_import_line_begin(struct wmk_import_line *line, const char *provider, const char *name);
/* Append a value; the function drops values beyond WMK_IMPORT_VALUES. */
void wmk_import_add_text(struct wmk_import_line *line, const char *name, struct wmk_import_text text);
void wmk_import_add_number(struct wmk_import_line *line, const char *name, enum wmk_import_kind kind, int64_t number);
void wmk_import_add_value(struct wmk_import_line *line, const struct wmk_import_value *value);

struct wmk_import_text wmk_import_text_of(const char *words);
bool wmk_import_text_is(struct wmk_import_text text, const char *words);
/* Return the first `len` bytes of a text, or the whole text if it is shorter. */
struct wmk_import_text wmk_import_head(struct wmk_import_text text, size_t len);
/* Return the text without blanks (' ', tab, CR) at its end. */
struct wmk_import_text wmk_import_trimmed(struct wmk_import_text text);
/* Return the offset of the first occurrence of `words`, or -1 if the text does not contain `words`. */
long wmk_import_find(struct wmk_import_text text, const char *words);
bool wmk_import_ends(struct wmk_import_text text, const char *words);

void wmk_import_drop(struct wmk_import_text *text, size_t len);
void wmk_import_skip_blanks(struct wmk_import_text *text);
/* Remove `words` from the start of the text; return false if the text does not start with `words`. */
bool wmk_import_take(struct wmk_import_text *text, const char *words);
/* Remove and return the text before the next blank, which may be empty. */
struct wmk_import_text wmk_import_take_word(struct wmk_import_text *text);
/*
 * Parse and remove decimal digits with a value of at most `max` (below 2^62). Returns false and removes nothing if the
 * text starts with no digit, or if the value is larger.
 */
bool wmk_import_take_number(struct wmk_import_text *text, int64_t max, int64_t *number);
/*
 * Parse and remove decimal digits after an optional '-'; the limits are the same as in wmk_import_take_number(). The
 * absolute value is at most INT32_MAX.
 */
bool wmk_import_take_id(struct wmk_import_text *text, int32_t *id);
/* Return the number of lower-case hexadecimal digits at the start of the text. */
size_t wmk_import_hex_digits(struct wmk_import_text text);
/*
 * Parse and remove lower-case hexadecimal digits. Returns false and removes nothing if the text starts with no digit,
 * or with more than 16 digits.
 */
bool wmk_import_take_hex(struct wmk_import_text *text, uint64_t *bits);
/*
 * Parse the decimals after '.' or ',' as nanoseconds; the function ignores digits after the ninth. If the text begins
 * with neither '.' nor ',', the function returns true and sets *ns to 0.
 */
bool wmk_import_take_fraction(struct wmk_import_text *text, uint32_t *ns);

static inline bool wmk_import_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool wmk_import_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/*
 * syslog_levels.c: the number of a facility or severity of syslog, by the name that dmesg and journalctl print. -1:
 * unknown name.
 */
#define WMK_IMPORT_FACILITIES 24u
#define WMK_IMPORT_SEVERITIES 8u
extern const struct wmk_label wmk_import_facilities[WMK_IMPORT_FACILITIES],
	wmk_import_severities[WMK_IMPORT_SEVERITIES];
int wmk_import_facility(struct wmk_import_text name);
int wmk_import_severity(struct wmk_import_text name);
/*
 * Parse a priority such as "<34>", which combines facility and severity in one number. Returns false and removes
 * nothing if the text is not a priority.
 */
bool wmk_import_take_priority(struct wmk_import_text *text, int64_t *priority);
void wmk_import_add_priority(struct wmk_import_line *line, int64_t priority);

#endif
