/* SPDX-License-Identifier: MIT */
/*
 * filter_rig.h - for test_filter.c and fuzz_filter.c: events with all kinds of fields; an evaluator of the kernel's
 * filter language, as documented (Documentation/trace/events.rst) and as the kernel treats operands; and the
 * comparison. Records that the kernel's text and the program accept must be those that a program without the kernel's
 * help accepts.
 *
 * The evaluator knows only what the filters here contain. Anything else, or a text that the kernel would reject, ends
 * the test.
 */
#ifndef WMK_KERNEL_T_FILTER_RIG_H
#define WMK_KERNEL_T_FILTER_RIG_H

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ctf/writer.h"
#include "kernel/event/kernel_event.h"
#include "kernel/event/filter_split.h"
#include "kernel/t/read_file.h"

#define RIG_RECORD 160u

__extension__ typedef __int128 rig_wide;

struct rig {
	struct wmk_kformat *format;
	struct wmk_kevent *event;
};

/* A record, its thread and its CPU. */
struct rig_moment {
	uint8_t record[RIG_RECORD];
	size_t len;
	char comm[16];
	unsigned cpu;
};

static inline void rig_must(bool so, const char *what, const char *text)
{
	if (so)
		return;
	fprintf(stderr, "%s: %s\n", what, text);
	abort();
}

#define RIG_NUMBER(type, name, at, size, is_signed) \
	"\tfield:" type " " name ";\toffset:" at ";\tsize:" size ";\tsigned:" is_signed ";\n"

/*
 * system, text; fields at the limits: signs, widths, renamed, with an offset, labels, texts in and outside of the fixed
 * part.
 */
static const struct { const char *system, *text;
} rig_events[] = {
	{ "sched",
	  "name: sched_switch\nID: 1\nformat:\n" COMMON RIG_NUMBER("char", "prev_comm[16]", "8", "16", "0")
		  RIG_NUMBER("pid_t", "prev_pid", "24", "4", "1") RIG_NUMBER("int", "prev_prio", "28", "4", "1")
			  RIG_NUMBER("long", "prev_state", "32", "8", "1")
				  RIG_NUMBER("char", "next_comm[16]", "40", "16", "0")
					  RIG_NUMBER("pid_t", "next_pid", "56", "4", "1")
						  RIG_NUMBER("int", "next_prio", "60", "4", "1") },
	{ "syscalls",
	  "name: sys_enter_openat\nID: 2\nformat:\n" COMMON RIG_NUMBER("int", "__syscall_nr", "8", "4", "1")
		  RIG_NUMBER("int", "dfd", "16", "8", "0") RIG_NUMBER("const char *", "filename", "24", "8", "0")
			  RIG_NUMBER("int", "flags", "32", "8", "0") RIG_NUMBER("umode_t", "mode", "40", "8", "0")
				  RIG_NUMBER("unsigned int", "fd", "48", "8", "0")
					  RIG_NUMBER("size_t", "count", "56", "8", "0") },
	{ "syscalls", "name: sys_exit_openat\nID: 3\nformat:\n" COMMON RIG_NUMBER("int", "__syscall_nr", "8", "4", "1")
			      RIG_NUMBER("long", "ret", "16", "8", "1") },
	{ "block", "name: block_rq_issue\nID: 4\nformat:\n" COMMON RIG_NUMBER("u8", "tiny", "8", "1", "0")
			   RIG_NUMBER("s16", "half", "10", "2", "1") RIG_NUMBER("u16", "uhalf", "12", "2", "0")
				   RIG_NUMBER("u32", "word", "16", "4", "0") RIG_NUMBER("u64", "sector", "24", "8", "0")
					   RIG_NUMBER("char", "rwbs[10]", "32", "10", "0") RIG_NUMBER("char", "disk[6]",
												      "42", "6", "0")
						   RIG_NUMBER("s8", "stiny", "48", "1", "1")
							   RIG_NUMBER("__data_loc char[]", "cmd", "52", "4", "0") },
	{ "irq",
	  "name: shapes\nID: 5\nformat:\n" COMMON RIG_NUMBER("int", "state", "8", "4", "1") RIG_NUMBER(
		  "__data_loc char[]", "name", "12", "4", "0") RIG_NUMBER("unsigned long", "flags", "16", "8", "0")
		  RIG_NUMBER("__rel_loc char[]", "label", "24", "4", "0") RIG_NUMBER("int", "COMM", "28", "4", "1")
			  RIG_NUMBER("s16", "pair[2]", "32", "4", "1") RIG_NUMBER("__data_loc u64[]", "longs", "36",
										  "4", "0")
				  RIG_NUMBER("long", "mask", "40", "8",
					     "1") "print fmt: \"x\", __print_symbolic(REC->state, { -1, \"LOST\" }, { "
						  "3, \"RUN\" }, { 4, \"RUNNING\" }, { 9, \"IDLE\" }), "
						  "__print_flags(REC->mask, \"|\", { 1, \"A\" }, { 2, \"B\" })\n" },
};

#define RIG_EVENTS (sizeof(rig_events) / sizeof(rig_events[0]))

static struct rig rigs[RIG_EVENTS];
static const uint8_t rig_contexts[] = { WMK_CONTEXT_PRIO, WMK_CONTEXT_PROCNAME };

static inline const struct rig *rig_of(unsigned i)
{
	char message[1024];

	if (!rigs[i].event)
		rig_must(wmk_kformat_parse(rig_events[i].system, rig_events[i].text, strlen(rig_events[i].text),
					   &rigs[i].format) == 0 &&
				 wmk_kevent_make(rigs[i].format, &rigs[i].event) == 0,
			 "an event of the rig", wmk_error_text(message, sizeof(message)));
	return &rigs[i];
}

static inline void rigs_free(void)
{
	for (unsigned i = 0; i < RIG_EVENTS; i++) {
		free(rigs[i].format);
		wmk_kevent_free(rigs[i].event);
		rigs[i] = (struct rig){ NULL, NULL };
	}
}

/*
 * Turns arbitrary bytes into a possible kernel record: names of threads end within their arrays, texts lie within the
 * record.
 */
static inline void rig_tame(const struct rig *rig, struct rig_moment *moment)
{
	static const uint32_t places[] = { 96, 100, 112, 128 };
	unsigned n = 0;

	moment->len = RIG_RECORD;
	moment->comm[15] = '\0';
	moment->cpu %= 8;
	for (uint32_t i = rig->format->n_common; i < rig->format->n_common + rig->format->n_fields; i++) {
		const struct wmk_kfield *field = &rig->format->fields[i];
		const bool relative = field->shape == WMK_KSHAPE_RELATIVE;

		if (field->is_text && strstr(field->name, "comm"))
			moment->record[field->offset + field->size - 1] = '\0';
		if (!relative && field->shape != WMK_KSHAPE_DYNAMIC)
			continue;
		const uint32_t at = places[n++ % 4], len = moment->record[field->offset] % 17;
		const uint32_t word = (at - (relative ? field->offset + 4 : 0)) | len << 16;

		memcpy(moment->record + field->offset, &word, sizeof(word));
	}
}

/* ── the kernel's filter language ────────────────────────────────────────────────────────────────────── */

struct rig_kernel {
	const struct rig *rig;
	const struct rig_moment *moment;
	const char *text, *at;
};

static inline void rig_skip(struct rig_kernel *k)
{
	k->at += strspn(k->at, " ");
}

static inline bool rig_takes(struct rig_kernel *k, const char *word)
{
	rig_skip(k);
	if (strncmp(k->at, word, strlen(word)) != 0)
		return false;
	k->at += strlen(word);
	return true;
}

/* Matches a glob with * ? and \. The text ends at a NUL, even outside of its field. */
static inline bool rig_glob(const char *p, const char *s)
{
	if (*p == '*') {
		for (;; s++) {
			if (rig_glob(p + 1, s))
				return true;
			if (!*s)
				return false;
		}
	}
	rig_must(*p != '[', "a glob with a set", p);
	const bool any = *p == '?';

	p += *p == '\\';
	if (!*p || !*s)
		return !*p && !*s;
	return (any || *p == *s) && rig_glob(p + 1, s + 1);
}

static inline bool rig_holds(const char *s, size_t len, const char *what)
{
	const size_t n = strlen(what);

	for (size_t i = 0; i + n <= len; i++)
		if (memcmp(s + i, what, n) == 0)
			return true;
	return false;
}

/* `len`: size of the field; bytes after it are readable. */
static inline bool rig_text_is(const char *op, const char *s, size_t len, const char *pattern)
{
	const size_t n = strlen(pattern);
	char inner[256];

	if (op[0] != '~')
		return len ? strncmp(s, pattern, len) == 0 : strcmp(s, pattern) == 0;
	rig_must(n && !isdigit((unsigned char)pattern[0]) && pattern[0] != '!', "no valid glob", pattern);
	/* stars only at the ends, and no other special character */
	const size_t from = pattern[0] == '*', until = n - (n > 1 && pattern[n - 1] == '*');

	snprintf(inner, sizeof(inner), "%.*s", (int)(until - from), pattern + from);
	if (strpbrk(inner, "*[?\\"))
		return rig_glob(pattern, s);
	rig_must(!from || until < n, "a star only at the beginning: the end of an array is not that of its text",
		 pattern);
	if (from)
		return len ? rig_holds(s, len, inner) : strstr(s, inner) != NULL;
	rig_must(until < n, "a glob without a star", pattern);
	return (!len || len >= strlen(inner)) && strncmp(s, inner, strlen(inner)) == 0;
}

static inline bool rig_compare(const char *op, rig_wide a, rig_wide b)
{
	if (strcmp(op, "==") == 0)
		return a == b;
	if (strcmp(op, "!=") == 0)
		return a != b;
	if (strcmp(op, "<=") == 0)
		return a <= b;
	return strcmp(op, ">=") == 0 ? a >= b : strcmp(op, "<") == 0 ? a < b : a > b;
}

static inline bool rig_number_is(struct rig_kernel *k, const char *op, const uint8_t *bytes, unsigned size,
				 bool is_signed, bool bits)
{
	rig_wide value, wanted;
	uint64_t raw = 0;
	char *end;

	rig_skip(k);
	rig_must(isdigit((unsigned char)*k->at) || *k->at == '-', "no number", k->at);
	rig_must(is_signed || *k->at != '-', "an unsigned number has a sign", k->at);
	errno = 0;
	wanted = is_signed ? (rig_wide)strtoll(k->at, &end, 10) : (rig_wide)strtoull(k->at, &end, 10);
	rig_must(!errno, "a number that is too large", k->at);
	k->at = end;
	memcpy(&raw, bytes, size);
	const unsigned shift = 64 - 8 * size;

	value = is_signed ? (rig_wide)((int64_t)(raw << shift) >> shift) : (rig_wide)raw;
	/* the kernel truncates a number that does not fit: the filters contain none */
	const uint64_t cut = (uint64_t)wanted << shift;

	rig_must(wanted == (is_signed ? (rig_wide)((int64_t)cut >> shift) : (rig_wide)(cut >> shift)),
		 "a number that does not fit", k->at);
	if (strcmp(op, "&") == 0) {
		rig_must(bits, "& of an operand without bits", k->text);
		return (raw & (uint64_t)wanted & (UINT64_MAX >> shift)) != 0;
	}
	return rig_compare(op, value, wanted);
}

static inline bool rig_string_is(struct rig_kernel *k, const char *op, const char *s, size_t len)
{
	char pattern[256];
	bool is;

	rig_must(rig_takes(k, "\""), "no text", k->at);
	const char *end = strchr(k->at, '"');

	rig_must(end && end - k->at < 256 && end != k->at, "unterminated text", k->at);
	snprintf(pattern, sizeof(pattern), "%.*s", (int)(end - k->at), k->at);
	k->at = end + 1;
	rig_must(strcmp(op, "==") == 0 || strcmp(op, "!=") == 0 || strcmp(op, "~") == 0,
		 "invalid operator for texts", op);
	is = rig_text_is(op, s, len, pattern);
	return is != (op[0] == '!');
}

static inline bool rig_test(struct rig_kernel *k)
{
	static const char *const ops[] = { "==", "!=", "~", "<=", "<", ">=", ">", "&" };
	const struct wmk_kformat *format = k->rig->format;
	const char *name = (rig_skip(k), k->at), *op = NULL;
	const size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
	const uint8_t *record = k->moment->record;

	k->at += len;
	for (unsigned i = 0; i < 8 && !op; i++)
		op = rig_takes(k, ops[i]) ? ops[i] : NULL;
	rig_must(len && op, "no test", name);
	for (uint32_t i = 0; i < format->n_common + format->n_fields; i++) {
		const struct wmk_kfield *field = &format->fields[i];
		uint32_t word;

		if (strlen(field->name) != len || memcmp(field->name, name, len) != 0)
			continue;
		memcpy(&word, record + field->offset, 4);
		if (field->shape == WMK_KSHAPE_ARRAY && field->is_text)
			return rig_string_is(k, op, (const char *)record + field->offset, field->size);
		if (field->shape == WMK_KSHAPE_DYNAMIC || field->shape == WMK_KSHAPE_RELATIVE)
			return rig_string_is(k, op,
					     (const char *)record + (word & 0xffff) +
						     (field->shape == WMK_KSHAPE_RELATIVE ? field->offset + 4 : 0),
					     word >> 16);
		rig_must(field->shape == WMK_KSHAPE_NUMBER && !strstr(field->type, "char *"),
			 "a field that cannot be compared", name);
		return rig_number_is(k, op, record + field->offset, field->size, field->is_signed, true);
	}
	if (len == 4 && memcmp(name, "COMM", 4) == 0)
		return rig_string_is(k, op, k->moment->comm, 16);
	rig_must(len == 3 && memcmp(name, "CPU", 3) == 0, "no such field", name);
	return rig_number_is(k, op, (const uint8_t *)&k->moment->cpu, 4, true, false);
}

static inline bool rig_or(struct rig_kernel *k);

static inline bool rig_unary(struct rig_kernel *k)
{
	bool is;

	if (rig_takes(k, "!"))
		return !rig_unary(k);
	if (!rig_takes(k, "("))
		return rig_test(k);
	is = rig_or(k);
	rig_must(rig_takes(k, ")"), "no )", k->at);
	return is;
}

static inline bool rig_and(struct rig_kernel *k)
{
	bool is = rig_unary(k);

	while (rig_takes(k, "&&"))
		is &= rig_unary(k);
	return is;
}

static inline bool rig_or(struct rig_kernel *k)
{
	bool is = rig_and(k);

	while (rig_takes(k, "||"))
		is |= rig_and(k);
	return is;
}

static inline bool rig_kernel_wants(const struct rig *rig, const struct rig_moment *moment, const char *text)
{
	struct rig_kernel k = { rig, moment, text, text };
	bool is;

	if (!text)
		return true;
	rig_must(strlen(text) < 4000, "too long for the kernel", text);
	is = rig_or(&k);
	rig_skip(&k);
	rig_must(!*k.at, "text after the filter", k.at);
	return is;
}

/* ── both ────────────────────────────────────────────────────────────────────────────────────────────── */

static inline bool rig_program_wants(const struct rig *rig, const struct rig_moment *moment,
				     const struct wmk_kfilter_made *made)
{
	struct wmk_kcommon common;
	uint8_t payload[1024], contexts[20];
	struct wmk_kfilter_record record = {
		.cpu = moment->cpu, .contexts = contexts, .contexts_len = sizeof(contexts), .payload = payload
	};
	struct wmk_kfilter *filter;
	const int32_t prio = 120;
	bool wanted;

	if (!made->program)
		return true;
	wmk_kcommon_read(moment->record, &common);
	record.tid = common.tid;
	memcpy(contexts, &prio, 4);
	memcpy(contexts + 4, moment->comm, 16);
	const long n = wmk_kevent_copy(rig->event, moment->record, moment->len, payload, sizeof(payload));

	rig_must(n >= 0, "invalid record", rig->event->kernel_name);
	record.payload_len = (size_t)n;
	/* an allocation of the exact size: sanitizers detect reads after it */
	uint8_t *bytes = malloc((size_t)n + !n);

	memcpy(bytes, payload, (size_t)n);
	record.payload = bytes;
	rig_must(wmk_kfilter_open(rig->event->class, rig_contexts, 2, made->program, made->len, &filter) == 0,
		 "invalid program", "");
	wanted = wmk_kfilter_wants(filter, &record);
	wmk_kfilter_close(filter);
	free(bytes);
	return wanted;
}

/* Filters of one event: split in two parts, and whole in one program. */
struct rig_filters {
	const struct rig *rig;
	struct wmk_kfilter_made parts, whole;
};

static inline int rig_make(const struct rig *rig, const struct wmk_filter_expr *const *exprs, unsigned n,
			   struct rig_filters *made)
{
	struct wmk_kfilter_event event = {
		.format = rig->format, .class = rig->event->class, .contexts = rig_contexts, .n_contexts = 2
	};
	int err = wmk_kfilter_make(&event, exprs, n, &made->parts);

	made->rig = rig;
	if (err < 0)
		return err;
	event.format = NULL;
	err = wmk_kfilter_make(&event, exprs, n, &made->whole);
	if (err < 0)
		wmk_kfilter_made_free(&made->parts);
	return err;
}

static inline void rig_filters_free(struct rig_filters *made)
{
	wmk_kfilter_made_free(&made->parts);
	wmk_kfilter_made_free(&made->whole);
}

/* Returns whether the record is wanted. Ends the test if the parts together decide differently than the whole. */
static inline bool rig_agree(const struct rig_filters *made, const struct rig_moment *moment, const char *expression)
{
	const bool wanted = !made->whole.never && rig_program_wants(made->rig, moment, &made->whole);
	const bool kernel = !made->parts.never && rig_kernel_wants(made->rig, moment, made->parts.text);
	const bool both = kernel && rig_program_wants(made->rig, moment, &made->parts);

	rig_must(!made->whole.text, "unexpected text for the kernel", expression);
	if (wanted && !kernel)
		fprintf(stderr, "the kernel's: %s\n", made->parts.text ? made->parts.text : "never");
	rig_must(kernel || !wanted, "the kernel rejects a wanted record", expression);
	rig_must(both == wanted, "both together decide differently", expression);
	return wanted;
}

#endif
