/* SPDX-License-Identifier: MIT */
/*
 * test_filter.c - filters of kernel events: the text for the kernel and the rest for the consumer. For random
 * expressions and records, both together must decide as the whole filter does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kernel/t/filter_rig.h"

enum { SWITCH, OPENAT, EXIT, BLOCK, SHAPES };

static struct wmk_filter_expr *parse(const char *text)
{
	struct wmk_filter_expr *expr = NULL;
	char message[1024];

	if (wmk_filter_parse(text, &expr) < 0)
		fail_msg("%s: %s", text, wmk_error_text(message, sizeof(message)));
	return expr;
}

/* ── the table ───────────────────────────────────────────────────────────────────────────────────────── */

#define NEVER "(never)"

static const struct {
	unsigned event;
	const char *expression;
	const char *kernel;              /* NULL: no filter, every record */
	bool rest;
} table[] = {
	/* names */
	{ SWITCH, "prev_tid == 1", "prev_pid == 1", false },
	{ SWITCH, "prev_tid != 1", "prev_pid != 1", false },
	{ SWITCH, "1 == prev_tid", "prev_pid == 1", false },
	{ SWITCH, "5 < prev_tid", "prev_pid >= 6", false },
	{ SWITCH, "prev_pid == 1", NEVER, false },
	{ SWITCH, "!(prev_pid == 1)", NEVER, false },
	{ SWITCH, "!(prev_pid == 1 && prev_tid == 1)", NULL, false },
	{ SWITCH, "exists(prev_tid)", NULL, false },
	{ SWITCH, "!exists(prev_pid)", NULL, false },
	{ SWITCH, "$event == \"sched_*\" && prev_tid > 3", "prev_pid >= 4", false },
	{ SWITCH, "$event == \"irq*\" || prev_tid > 3", "prev_pid >= 4", false },
	{ BLOCK, "tid == 7", "common_pid == 7", false },
	/* contexts */
	{ SWITCH, "$ctx.tid == 1", "common_pid == 1", false },
	{ SWITCH, "$ctx.cpu_id >= 2", "CPU >= 2", false },
	{ SWITCH, "$ctx.cpu_id & 2", NULL, true },
	{ SWITCH, "$ctx.procname == \"bash\"", "COMM == \"bash\"", false },
	{ SHAPES, "$ctx.procname == \"bash\"", NULL, true },
	{ SWITCH, "$ctx.prio < 100", NULL, true },
	{ SWITCH, "$ctx.prio < 100 && prev_tid == 1", "prev_pid == 1", true },
	/* numbers: priorities in the trace are 100 less */
	{ SWITCH, "next_prio == 20", "next_prio == 120", false },
	{ SWITCH, "next_prio >= 0", "next_prio >= 100 || next_prio <= -2147483549", false },
	{ SWITCH, "next_prio < 0", "next_prio >= -2147483548 && next_prio <= 99", false },
	{ SWITCH, "next_prio & 4", NULL, true },
	{ SWITCH, "prev_state", "prev_state != 0", false },
	{ SWITCH, "!prev_state", "prev_state == 0", false },
	{ SWITCH, "prev_state & 0x3 && prev_tid", "prev_state & 3 && prev_pid != 0", false },
	{ SWITCH, "(prev_state & 3) == 0", "!(prev_state & 3)", false },
	{ SWITCH, "prev_state < 9223372036854775808", NULL, false },
	{ SWITCH, "prev_tid in [0, 3, 4]", "prev_pid == 0 || prev_pid == 3 || prev_pid == 4", false },
	{ SWITCH, "prev_tid > 4294967296", NEVER, false },
	{ SWITCH, "prev_tid + 1 == 2", NULL, true },
	{ SWITCH, "prev_tid == 1.0", NULL, true },
	{ SWITCH, "prev_tid == next_tid", NULL, true },
	{ BLOCK, "tiny == 300", NEVER, false },
	{ BLOCK, "tiny != 300", NULL, false },
	{ BLOCK, "stiny == -1", "stiny == -1", false },
	{ BLOCK, "stiny & 0x80", "stiny & -128", false },
	{ BLOCK, "uhalf == -1", NEVER, false },
	{ BLOCK, "sector > 9223372036854775808", "sector >= 9223372036854775809", false },
	{ BLOCK, "sector > -1", NULL, false },
	{ BLOCK, "rwbs & 1", NULL, true },
	/* arguments of system calls: 32 bits in a word with an arbitrary upper half */
	{ OPENAT, "dfd == 5", "!(dfd & 4294967290) && dfd & 1 && dfd & 4", false },
	{ OPENAT, "fd < 4", "!(fd & 4294967292)", false },
	{ OPENAT, "dfd >= 0", "!(dfd & 2147483648)", false },
	{ OPENAT, "fd < 1000001", NULL, true },
	{ OPENAT, "flags & 0100", "flags & 64", false },
	{ OPENAT, "flags & -1", NULL, true },
	{ OPENAT, "count > 4096", "count >= 4097", false },
	{ OPENAT, "filename == 0", NULL, true },
	{ EXIT, "ret < 0", "ret <= -1", false },
	/* labels */
	{ SHAPES, "state == \"RUN*\"", "state == 3 || state == 4", false },
	{ SHAPES, "state != \"LOST\"", "state != -1", false },
	{ SHAPES, "mask > 5", "mask >= 6 || mask <= -1", false },
	/* texts */
	{ SWITCH, "next_comm == \"bash\"", "next_comm == \"bash\"", false },
	{ SWITCH, "next_comm != \"bash\"", "next_comm != \"bash\"", false },
	{ SWITCH, "next_comm == \"kworker/*\"", "next_comm ~ \"\\kworker\\/*\"", false },
	{ SWITCH, "next_comm == \"*7\"", "next_comm ~ \"*\\7\"", false },
	{ SWITCH, "next_comm != \"a*[?!b\\*\"", "!(next_comm ~ \"\\a*\\[\\?\\!b\\*\")", false },
	{ SWITCH, "next_comm == \"*\"", NULL, false },
	{ SWITCH, "next_comm == \"\"", NULL, true },
	{ SWITCH, "next_comm == \"a name of too many letters\"", NEVER, false },
	{ SWITCH, "next_comm == \"it's\"", NULL, true },
	{ SWITCH, "next_comm == \"\\\"\"", NULL, true },
	{ SWITCH, "next_comm < \"b\"", NULL, true },
	{ SWITCH, "next_comm == prev_comm", NULL, true },
	{ BLOCK, "disk == \"sda\"", "disk == \"sda\"", false },
	{ BLOCK, "disk == \"sd*\"", "disk ~ \"sd*\"", false },
	{ BLOCK, "disk == \"*d*\"", "disk ~ \"*d*\"", true },
	{ BLOCK, "disk == \"*d\"", NULL, true },
	{ BLOCK, "disk == \"s*a\"", NULL, true },
	{ BLOCK, "disk == \"8*\"", NULL, true },
	{ BLOCK, "cmd == \"ls\"", "cmd == \"ls\"", true },
	{ BLOCK, "cmd != \"ls\"", NULL, true },
	{ SHAPES, "label == \"a*\"", "label ~ \"a*\"", true },
	{ SHAPES, "pair[1] == 3", NULL, true },
	{ SHAPES, "longs[7] == 3 || !exists(longs[7])", NULL, true },
	{ SHAPES, "pair[2] == 3", NULL, true },
	/* conditions without a translation are dropped if that accepts more records */
	{ SWITCH, "(prev_tid == 1 && prev_comm == next_comm) || next_tid == 2", "prev_pid == 1 || next_pid == 2",
	  true },
	{ SWITCH, "prev_tid == 1 || prev_comm == next_comm", NULL, true },
	{ SWITCH, "!(prev_tid == 1 && prev_comm == next_comm)", NULL, true },
	{ SWITCH, "(prev_tid == 1 || prev_tid == 2) && !(next_tid == 3 || next_tid > 9)",
	  "(prev_pid == 1 || prev_pid == 2) && !(next_pid == 3 || next_pid >= 10)", false },
	{ SWITCH, "0 || prev_tid == 1", "prev_pid == 1", false },
	{ SWITCH, "1", NULL, false },
	{ SWITCH, "0", NEVER, false },
};

static void filter_is_split_into_tracefs_filter_and_program(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct wmk_filter_expr *expr = parse(table[i].expression);
		struct rig_filters made;
		char message[1024];

		if (rig_make(rig_of(table[i].event), (const struct wmk_filter_expr *const *)&expr, 1, &made) < 0)
			fail_msg("%s: %s", table[i].expression, wmk_error_text(message, sizeof(message)));
		const char *is = made.parts.never  ? NEVER
				 : made.parts.text ? made.parts.text
						   : "",
			   *wanted = table[i].kernel ? table[i].kernel : "";

		if (strcmp(is, wanted) != 0 || (made.parts.program != NULL) != table[i].rest)
			fail_msg("%s: text for the kernel: %s, expected: %s; program: %s", table[i].expression, is,
				 wanted, made.parts.program ? "yes" : "no");
		assert_false(made.parts.never && (made.parts.text || made.parts.program));
		rig_filters_free(&made);
		wmk_filter_expr_free(expr);
	}
}

static void condition_in_the_tracefs_filter_is_omitted_from_the_program(void **state)
{
	struct wmk_filter_expr *expr =
		parse("prev_tid == 1 && prev_comm == next_comm && next_tid == 2 && prev_tid % 2 == 1");
	struct wmk_filter_program *program;
	struct rig_filters made;

	(void)state;
	assert_int_equal(rig_make(rig_of(SWITCH), (const struct wmk_filter_expr *const *)&expr, 1, &made), 0);
	assert_string_equal(made.parts.text, "prev_pid == 1 && next_pid == 2");
	assert_int_equal(wmk_filter_decode(made.parts.program, made.parts.len, &program), 0);
	/* inputs: two comms, prev_tid */
	assert_int_equal(program->n_inputs, 3);
	wmk_filter_program_free(program);
	assert_true(made.parts.len < made.whole.len);
	rig_filters_free(&made);
	wmk_filter_expr_free(expr);
}

/* One of several filters suffices: the kernel gets the translatable part of each, the program all of each. */
static void record_passes_if_one_of_several_kernel_filters_matches(void **state)
{
	struct wmk_filter_expr *exprs[] = { parse("prev_tid == 1"), parse("next_tid == 2 && prev_comm == next_comm"),
					    parse("prev_tid % 2 == 0") };
	const struct wmk_filter_expr *const *const given = (const struct wmk_filter_expr *const *)exprs;
	struct wmk_filter_program *program;
	struct rig_filters made;

	(void)state;
	assert_int_equal(rig_make(rig_of(SWITCH), given, 2, &made), 0);
	assert_string_equal(made.parts.text, "prev_pid == 1 || next_pid == 2");
	assert_int_equal(wmk_filter_decode(made.parts.program, made.parts.len, &program), 0);
	assert_int_equal(program->n_inputs, 4);
	wmk_filter_program_free(program);
	rig_filters_free(&made);
	assert_int_equal(rig_make(rig_of(SWITCH), given, 3, &made), 0);
	assert_null(made.parts.text);
	assert_non_null(made.parts.program);
	rig_filters_free(&made);
	for (unsigned i = 0; i < 3; i++)
		wmk_filter_expr_free(exprs[i]);
}

static void filter_longer_than_a_page_is_evaluated_by_the_program(void **state)
{
	char text[4096] = "prev_tid == 2147480000";
	struct wmk_filter_expr *expr;
	struct rig_filters made;
	struct rig_moment moment = { .comm = "x" };

	(void)state;
	for (unsigned i = 1; i < 120; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "||prev_tid==%u", 2147480000 + i);
	expr = parse(text);
	assert_int_equal(rig_make(rig_of(SWITCH), (const struct wmk_filter_expr *const *)&expr, 1, &made), 0);
	assert_true(made.parts.text && strlen(made.parts.text) <= WMK_KFILTER_TEXT_MAX);
	rig_filters_free(&made);
	wmk_filter_expr_free(expr);
	snprintf(text, sizeof(text), "dfd==-100");
	for (unsigned i = 1; i < 12; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "||dfd==-%u", 100 + i);
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "||dfd==7");
	expr = parse(text);
	assert_int_equal(rig_make(rig_of(OPENAT), (const struct wmk_filter_expr *const *)&expr, 1, &made), 0);
	assert_null(made.parts.text);
	assert_non_null(made.parts.program);
	rig_tame(rig_of(OPENAT), &moment);
	assert_false(rig_agree(&made, &moment, text));
	moment.record[16] = 7;
	assert_true(rig_agree(&made, &moment, text));
	rig_filters_free(&made);
	wmk_filter_expr_free(expr);
}

static void refused(const char *text, const uint8_t *contexts, unsigned n, const char *words)
{
	struct wmk_filter_expr *expr = parse(text);
	const struct rig *rig = rig_of(SWITCH);
	const struct wmk_kfilter_event event = {
		.format = rig->format, .class = rig->event->class, .contexts = contexts, .n_contexts = n
	};
	struct wmk_kfilter_made made;
	char message[1024];
	int err = wmk_kfilter_make(&event, (const struct wmk_filter_expr *const *)&expr, 1, &made);

	if (words) {
		assert_int_equal(err, -EINVAL);
		assert_non_null(strstr(wmk_error_text(message, sizeof(message)), words));
		wmk_error_clear();
	} else {
		assert_int_equal(err, 0);
		wmk_kfilter_made_free(&made);
	}
	wmk_filter_expr_free(expr);
}

/* Contexts that neither the kernel nor the channel has; the error names their column. */
static void unrecorded_contexts_are_refused_with_their_column(void **state)
{
	static const uint8_t prio[] = { WMK_CONTEXT_PRIO };

	(void)state;
	refused("prev_tid == 1 && $ctx.prio == 3", NULL, 0,
		"column 18, '$ctx.prio': the channel does not record this context");
	refused("prev_tid == 1 && $ctx.prio == 3", prio, 1, NULL);
	refused("$ctx.procname == \"sh\"", NULL, 0, NULL);
	refused("$ctx.procname == prev_comm", NULL, 0, "column 1, '$ctx.procname'");
	refused("$ctx.tid % 2 == 0 && $ctx.cpu_id % 2 == 0", NULL, 0, NULL);
}

/* ── programs from other sources ─────────────────────────────────────────────────────────────────────── */

static int open_of(unsigned event, const struct wmk_filter_input *input)
{
	static const struct wmk_filter_insn insns[] = { { .op = WMK_FILTER_RETURN, .value = { .u = 1 } } };
	const struct wmk_filter_program program = { .n_inputs = 1, .n_insns = 1, .inputs = input, .insns = insns };
	struct wmk_kfilter *filter;
	uint8_t *bytes;
	const long n = wmk_filter_encode(&program, &bytes);

	assert_true(n > 0);
	const int err = wmk_kfilter_open(rig_of(event)->event->class, rig_contexts, 2, bytes, (size_t)n, &filter);

	free(bytes);
	if (err == 0)
		wmk_kfilter_close(filter);
	wmk_error_clear();
	return err;
}

static void programs_with_inputs_that_the_event_lacks_are_refused(void **state)
{
	static const struct { unsigned event; struct wmk_filter_input input; int err; } inputs[] = {
		{ SWITCH, { WMK_FILTER_SIGNED, WMK_FILTER_FIELD, 1, 0 }, 0 },
		{ SWITCH, { WMK_FILTER_SIGNED, WMK_FILTER_FIELD, 7, 0 }, -EPROTO },
		{ SWITCH, { WMK_FILTER_SIGNED, WMK_FILTER_FIELD, 65535, 0 }, -EPROTO },
		{ SWITCH, { WMK_FILTER_TEXT, WMK_FILTER_FIELD, 1, 0 }, -EPROTO },
		{ SWITCH, { WMK_FILTER_SIGNED, WMK_FILTER_FIELD, 0, 0 }, -EPROTO },
		{ SWITCH, { WMK_FILTER_TEXT, WMK_FILTER_FIELD, 0, 0 }, 0 },
		{ SWITCH, { WMK_FILTER_DOUBLE, WMK_FILTER_FIELD, 1, 0 }, -EPROTO },
		{ SWITCH, { WMK_FILTER_SIGNED, WMK_FILTER_CONTEXT, WMK_CONTEXT_PRIO, 0 }, 0 },
		{ SWITCH, { WMK_FILTER_SIGNED, WMK_FILTER_CONTEXT, WMK_CONTEXT_PPID, 0 }, -EPROTO },
		{ SWITCH, { WMK_FILTER_SIGNED, WMK_FILTER_CONTEXT, 999, 0 }, -EPROTO },
		{ SWITCH, { WMK_FILTER_SIGNED, WMK_FILTER_CONTEXT, WMK_CONTEXT_TID, 0 }, 0 },
		{ SHAPES, { WMK_FILTER_SIGNED, WMK_FILTER_FIELD, 5, 1 }, 0 },
		{ SHAPES, { WMK_FILTER_SIGNED, WMK_FILTER_FIELD, 5, UINT32_MAX }, 0 },
		{ SHAPES, { WMK_FILTER_UNSIGNED, WMK_FILTER_FIELD, 6, UINT32_MAX }, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++)
		if (open_of(inputs[i].event, &inputs[i].input) != inputs[i].err)
			fail_msg("input %zu is %s", i, inputs[i].err ? "accepted" : "rejected");
}

/* ── random filters ──────────────────────────────────────────────────────────────────────────────────── */

static uint64_t seed;

static uint32_t chance(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % below;
}

static int64_t some_number(void)
{
	static const int64_t edges[] = { 0,
					 1,
					 -1,
					 2,
					 3,
					 4,
					 7,
					 100,
					 -100,
					 127,
					 128,
					 -128,
					 255,
					 256,
					 32767,
					 -32768,
					 65535,
					 INT32_MAX,
					 INT32_MIN,
					 UINT32_MAX,
					 INT32_MIN + 100,
					 INT64_MAX,
					 INT64_MIN + 1,
					 (int64_t)1 << 32,
					 120,
					 20 };

	/* (the largest number plus 1 wraps around to the smallest) */
	return chance(4) ? (int64_t)((uint64_t)edges[chance(sizeof(edges) / sizeof(edges[0]))] + chance(3) - 1)
			 : (int64_t)chance(20);
}

static const char *some_text(void)
{
	static const char *const texts[] = {
		"a",      "ab",  "abc", "b", "ba", "a*", "*b", "*b*", "a*b", "*", "*a*b", "\\\\*", "aaaaaaaaaaaaaaaa",
		"aaaaaa", "!a*", "7*",  "7", "",   "bb*"
	};

	return texts[chance(sizeof(texts) / sizeof(texts[0]))];
}

static const char *some_name(unsigned event)
{
	static const char *const others[] = { "$ctx.tid", "$ctx.cpu_id", "$ctx.procname", "$ctx.prio",
					      "nothing",  "$event",      "pair[0]",       "longs[1]" };
	const struct wmk_event_class *class = rig_of(event)->event->class;

	return chance(4) ? class->fields[chance(class->n_fields)].name : others[chance(8)];
}

static size_t put(char *text, size_t size, size_t at, const char *format, ...) __attribute__((format(printf, 4, 5)));
static size_t put(char *text, size_t size, size_t at, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	const int n = vsnprintf(text + at, size - at, format, args);

	va_end(args);
	return at + (size_t)n < size ? at + (size_t)n : size - 1;
}

static size_t some_expression(unsigned event, unsigned depth, char *text, size_t size, size_t at)
{
	static const char *const ops[] = { "==", "!=", "<", "<=", ">", ">=" };

	switch (depth ? chance(9) : 3 + chance(6)) {
	case 0:
		return put(text, size, some_expression(event, depth - 1, text, size, put(text, size, at, "!(")), ")");
	case 1: case 2:
		at = some_expression(event, depth - 1, text, size, put(text, size, at, "("));
		at = some_expression(event, depth - 1, text, size, put(text, size, at, chance(2) ? " && " : " || "));
		return put(text, size, at, ")");
	case 3: case 4:
		return put(text, size, at, "%s %s %lld", some_name(event), ops[chance(6)], (long long)some_number());
	case 5:
		return put(text, size, at, "%s %s \"%s\"", some_name(event), ops[chance(8) ? chance(2) : chance(6)],
			   some_text());
	case 6:
		return put(text, size, at, "(%s & %lld)%s", some_name(event), (long long)some_number(),
			   chance(2) ? "" : " == 0");
	case 7:
		return put(text, size, at, "%s in [%lld, %lld, \"%s\"]", some_name(event), (long long)some_number(),
			   (long long)some_number(), some_text());
	default:
		return chance(3) ? put(text, size, at, "%s", some_name(event))
				 : put(text, size, at, "exists(%s)", some_name(event));
	}
}

static void some_record(const struct rig *rig, struct rig_moment *moment)
{
	for (size_t i = 0; i < RIG_RECORD; i++)
		moment->record[i] = "\0\0\0ab7!\\*"[chance(9)];
	for (uint32_t i = 3; i < rig->format->n_common + rig->format->n_fields; i++) {
		const struct wmk_kfield *field = &rig->format->fields[i];
		const int64_t value = some_number();

		if (field->shape == WMK_KSHAPE_NUMBER)
			memcpy(moment->record + field->offset, &value, field->size);
		if (field->shape == WMK_KSHAPE_DYNAMIC || field->shape == WMK_KSHAPE_RELATIVE)
			moment->record[field->offset] = (uint8_t)chance(17);
	}
	for (size_t i = 0; i < sizeof(moment->comm); i++)
		moment->comm[i] = "\0ab7!\\*"[chance(7)];
	moment->cpu = chance(8);
	rig_tame(rig, moment);
}

static void split_filter_selects_the_same_records_as_the_whole_filter(void **state)
{
	const char *rounds = getenv("WMK_ROUNDS_PERCENT");
	const unsigned n = 400u * (rounds && atoi(rounds) > 0 ? (unsigned)atoi(rounds) : 100);
	unsigned wanted = 0, records = 0, with_text = 0, with_program = 0;

	(void)state;
	for (unsigned i = 0; i < n; i++) {
		const unsigned event = i % RIG_EVENTS, several = 1 + (chance(4) == 0);
		struct wmk_filter_expr *exprs[2] = { NULL, NULL };
		struct rig_filters made;
		char text[4096];
		int err = 0;

		seed = i;
		for (unsigned k = 0; k < several && err == 0; k++) {
			some_expression(event, 3, text, sizeof(text), 0);
			err = wmk_filter_parse(text, &exprs[k]);
		}
		if (err == 0)
			err = rig_make(rig_of(event), (const struct wmk_filter_expr *const *)exprs, several, &made);
		/* (-EINVAL: a * in a text that is compared by <) */
		assert_true(err == 0 || err == -EINVAL);
		wmk_error_clear();
		for (unsigned r = 0; r < 40 && err == 0; r++) {
			struct rig_moment moment;

			some_record(rig_of(event), &moment);
			wanted += rig_agree(&made, &moment, text);
			records++;
		}
		if (err == 0) {
			with_text += made.parts.text != NULL;
			with_program += made.parts.program != NULL;
			rig_filters_free(&made);
		}
		wmk_filter_expr_free(exprs[0]);
		wmk_filter_expr_free(exprs[1]);
	}
	/* each outcome occurs often */
	assert_true(records > n * 20 && wanted > records / 10 && wanted < records - records / 10);
	assert_true(with_text > n / 10 && with_program > n / 10);
}

static int done(void **state)
{
	(void)state;
	rigs_free();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filter_is_split_into_tracefs_filter_and_program),
		cmocka_unit_test(condition_in_the_tracefs_filter_is_omitted_from_the_program),
		cmocka_unit_test(record_passes_if_one_of_several_kernel_filters_matches),
		cmocka_unit_test(filter_longer_than_a_page_is_evaluated_by_the_program),
		cmocka_unit_test(unrecorded_contexts_are_refused_with_their_column),
		cmocka_unit_test(programs_with_inputs_that_the_event_lacks_are_refused),
		cmocka_unit_test(split_filter_selects_the_same_records_as_the_whole_filter),
	};

	return cmocka_run_group_tests(tests, NULL, done);
}
