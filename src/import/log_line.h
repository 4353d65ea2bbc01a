/* SPDX-License-Identifier: MIT */
/*
 * log_line.h - a line of another program's log, taken apart. Internal to src/import.
 *
 *     bytes ──parser of the format──► struct wmk_import_line ──encode.c──► a record's bytes
 *                                       └─ stamp ──log_time.c──► nanoseconds
 *
 * Parsers are pure: they keep nothing, allocate nothing, and what they make points into the line (or is static). A line
 * may hold any bytes, NUL too; nothing is read behind its end. What a parser does not know, it leaves alone:
 * WMK_IMPORT_UNKNOWN.
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

/* From when a line's time counts. */
enum wmk_import_since {
	WMK_IMPORT_NO_TIME,   /* the line has none */
	WMK_IMPORT_EPOCH,     /* seconds since 1970; `is_local`: as if the local time were UTC's */
	WMK_IMPORT_ORIGIN,    /* seconds since something that the log does not tell: the machine's start */
	WMK_IMPORT_STEP,      /* seconds since the line before */
	WMK_IMPORT_DAY,       /* seconds of a day, local time, that the log does not tell */
	WMK_IMPORT_DATE,      /* seconds of the day `month`, `day`, local time, of a year that the log does not tell */
};

struct wmk_import_timestamp {
	uint8_t since;         /* enum wmk_import_since */
	bool is_local;
	uint8_t month, day;    /* from 1 */
	int64_t seconds;       /* below 2^36 in amount */
	uint32_t ns;           /* below 10^9 */
};

/* These take a time from the front of the text, or leave both as they are and return false. */
/* 2026-11-22T08:05:42.5+01:00, ... 08:05:42 UTC, ... */
bool wmk_import_take_iso(struct wmk_import_text *text, struct wmk_import_timestamp *stamp);
bool wmk_import_take_bsd(struct wmk_import_text *text, struct wmk_import_timestamp *stamp);    /* Nov 22 08:05:42.5 */
/* Sun Nov 22 08:05:42 2026 */
bool wmk_import_take_ctime(struct wmk_import_text *text, struct wmk_import_timestamp *stamp);
/* 08:05:42.5: of a day */
bool wmk_import_take_clock(struct wmk_import_text *text, struct wmk_import_timestamp *stamp);
/* 12.345: since an origin; a decimal at least */
bool wmk_import_take_seconds(struct wmk_import_text *text, struct wmk_import_timestamp *stamp);
bool wmk_import_take_month(struct wmk_import_text *text, uint8_t *month);                  /* Nov */
bool wmk_import_take_weekday(struct wmk_import_text *text);                                /* Sun */
/* Days since 1970 of a date that exists; -1: it does not, or is before. Month and day from 1. */
int64_t wmk_import_days(int64_t year, unsigned month, unsigned day);

/* ── lines ───────────────────────────────────────────────────────────────────────────────────────────── */

enum wmk_import_kind {
	WMK_IMPORT_INT,        /* int64 */
	WMK_IMPORT_HEX,        /* uint64, shown in base 16 */
	WMK_IMPORT_TEXT,
	WMK_IMPORT_FACILITY,   /* syslog's: an enumeration */
	WMK_IMPORT_SEVERITY,
	WMK_IMPORT_FRAMES,     /* texts: a sequence; parsers make none, they come line by line */
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
	WMK_IMPORT_BLANK,      /* says nothing */
	WMK_IMPORT_RECORD,
	WMK_IMPORT_ENDS,       /* a record, and its thread is no more */
	WMK_IMPORT_SPLITS,     /* a record, which splits another line: `rest` is its begin, the next line its end */
	WMK_IMPORT_OPENS,      /* a call that goes on: values name, args */
	WMK_IMPORT_RESUMES,    /* its end: values name, args, and what came out */
	WMK_IMPORT_FRAME,      /* of the record before: values[0] */
};

struct wmk_import_line {
	uint8_t what;          /* enum wmk_import_what */
	bool has_pid, has_tid, has_cpu;
	int32_t pid, tid, cpu;
	struct wmk_import_text comm;      /* no `at`: not known */
	struct wmk_import_timestamp stamp;
	struct wmk_import_text provider, name;  /* of the event */
	struct wmk_import_text rest;      /* WMK_IMPORT_SPLITS */
	unsigned n;
	struct wmk_import_value values[WMK_IMPORT_VALUES];
};

/* `line` without its newline. All of *out is set, but values from n on. */
typedef void wmk_import_parser(struct wmk_import_text line, struct wmk_import_line *out);

wmk_import_parser wmk_import_syslog_line, wmk_import_dmesg_line, wmk_import_perf_line, wmk_import_strace_line;

/*
 * perf_fields.c: what a tracepoint prints, as values: "key=value key=value", "key: value, key: value"; else one,
 * `text`.
 */
void wmk_import_perf_fields(struct wmk_import_text text, struct wmk_import_line *out);

/* ── pieces of text (line_cursor.c) ─────────────────────────────────────────────────────────────────────────── */

/* Everything is as nothing were there, and the event is provider:name. */
void wmk_import_line_begin(struct wmk_import_line *line, const char *provider, const char *name);
/* One more value; more than there is room for are left out. */
void wmk_import_add_text(struct wmk_import_line *line, const char *name, struct wmk_import_text text);
void wmk_import_add_number(struct wmk_import_line *line, const char *name, enum wmk_import_kind kind, int64_t number);
void wmk_import_add_value(struct wmk_import_line *line, const struct wmk_import_value *value);

struct wmk_import_text wmk_import_text_of(const char *words);
bool wmk_import_text_is(struct wmk_import_text text, const char *words);
/* The first `len` bytes, or all. */
struct wmk_import_text wmk_import_head(struct wmk_import_text text, size_t len);
/* Without blanks (' ', tab, CR) at its end. */
struct wmk_import_text wmk_import_trimmed(struct wmk_import_text text);
/* Where `words` first stands; -1: nowhere. */
long wmk_import_find(struct wmk_import_text text, const char *words);
bool wmk_import_ends(struct wmk_import_text text, const char *words);

void wmk_import_drop(struct wmk_import_text *text, size_t len);
void wmk_import_skip_blanks(struct wmk_import_text *text);
/* Take what is in front, if it is that. */
bool wmk_import_take(struct wmk_import_text *text, const char *words);
/* Everything up to the next blank, which stays; may be empty. */
struct wmk_import_text wmk_import_take_word(struct wmk_import_text *text);
/* Decimal digits, at most `max` (below 2^62) in value. False, and nothing taken: none, or more. */
bool wmk_import_take_number(struct wmk_import_text *text, int64_t max, int64_t *number);
/* The same with a sign that may be there; all 32 bits. */
bool wmk_import_take_id(struct wmk_import_text *text, int32_t *id);
/* A number behind a '.' or ',': nanoseconds; digits past the ninth are dropped. True also where there is none: 0. */
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
 * syslog_levels.c: syslog's facilities and severities, by the names that dmesg and journalctl print. -1: none of that
 * name.
 */
#define WMK_IMPORT_FACILITIES 24u
#define WMK_IMPORT_SEVERITIES 8u
extern const struct wmk_label wmk_import_facilities[WMK_IMPORT_FACILITIES],
	wmk_import_severities[WMK_IMPORT_SEVERITIES];
int wmk_import_facility(struct wmk_import_text name);
int wmk_import_severity(struct wmk_import_text name);
/* "<34>": facility and severity as values. False: there is none, and nothing is taken. */
bool wmk_import_take_priority(struct wmk_import_text *text, int64_t *priority);
void wmk_import_add_priority(struct wmk_import_line *line, int64_t priority);

#endif
