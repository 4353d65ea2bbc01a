/* SPDX-License-Identifier: MIT */
/*
 * test_filter_table.c - compare filters in the form of comparisons and tables with the interpreter: random expressions
 * and random programs, each with random records. The random numbers are the same in each run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/error.h"
#include "tracer/context.h"
#include "tracer/filter_table.h"
#include "tracer/plan.h"

#define RECORDS 60u /* for each program */

/* Context fields need the interpreter, and no filter of this test has one. */
const struct wmk_context_desc *wmk_context_get(unsigned number)
{
	(void)number;
	return NULL;
}

/* ── random numbers ──────────────────────────────────────────────────────────────────────────────────── */

static uint64_t random_state;

static unsigned random_below(unsigned n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (unsigned)(random_state >> 32) % n;
}

/* Numbers near the bounds of all sizes, and small ones. */
static uint64_t random_number(void)
{
	static const uint64_t near[] = { 0, 0, 0, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0xffffffff, INT64_MAX,
					 (uint64_t)INT8_MIN, (uint64_t)INT16_MIN, (uint64_t)INT32_MIN,
					 0x123456789abcdef0 };

	return near[random_below(sizeof(near) / sizeof(near[0]))] + random_below(7) - 3;
}

/* ── an event with numbers of all sizes at odd offsets, and texts ──────────────────────────────────────── */

#define FIELD(field_name, field_type) \
	{ .type = WAYMARK_T_##field_type, .name = #field_name, .flags = WAYMARK_F_NAMED }
static const struct waymark_field fields[] = {
	FIELD(u8, U8),     FIELD(s64, S64),  FIELD(s8, S8),     FIELD(u16, U16), FIELD(s32, S32),
	FIELD(c8, U8),     FIELD(u64, U64),  FIELD(u32, U32),   FIELD(s16, S16), FIELD(open, STRING),
	FIELD(flag, BOOL), FIELD(last, S32), FIELD(text, TEXT),
};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static struct wmk_event event;
static struct waymark_recorder recorder = { .gen = 3, .event = &event };

struct table_sample {
	uint64_t *words; /* exactly the words that the event stages */
	struct waymark_ref refs[2];
};

static int set_up(void **state)
{
	static const struct waymark_desc desc = {
		.size = sizeof(desc), .version = WAYMARK_ABI_VERSION, .kind = WAYMARK_KIND_EVENT, .provider = "t",
		.name = "all", .n_fields = FIELDS, .fields = fields,
	};

	(void)state;
	return wmk_event_from_desc(&desc, &event.class) < 0 || wmk_plan_make(&event, &desc) < 0;
}

static int tear_down(void **state)
{
	(void)state;
	wmk_event_class_free(event.class);
	free(event.ops);
	free(event.refs);
	return 0;
}

/* Fill the words with random values. */
static void sample_numbers(struct table_sample *sample)
{
	unsigned at = 0;

	for (unsigned i = 0; i < FIELDS; i++) {
		const unsigned bytes = wmk_scalar_bytes(fields[i].type);
		const uint64_t value = fields[i].type == WAYMARK_T_BOOL ? random_below(2) : random_number();

		if (bytes)
			memcpy((char *)sample->words + at, &value, bytes);
		at = bytes ? at + bytes : (at + 7) & ~7u;
	}
	assert_int_equal((at + 7) / 8, event.n_words);
}

/* A text in memory of its exact size, with a NUL if `ends_with_nul`. */
static struct waymark_ref sample_text(bool ends_with_nul)
{
	static const char letters[] = { 'a', 'a', 'b', '*', '\\', '(' };
	const unsigned len = random_below(6);
	char *text;

	if (!random_below(8))
		return (struct waymark_ref){ .base = NULL, .len = SIZE_MAX };
	text = malloc(len + ends_with_nul + !(len + ends_with_nul));
	assert_non_null(text);
	for (unsigned i = 0; i < len; i++)
		text[i] = letters[random_below(sizeof(letters))];
	if (ends_with_nul)
		text[len] = 0;
	else if (len && !random_below(8))
		text[random_below(len)] = 0;
	return (struct waymark_ref){ .base = text, .len = ends_with_nul && random_below(2) ? SIZE_MAX : len };
}

static void sample_make(struct table_sample *sample)
{
	sample->words = calloc(event.n_words, 8);
	assert_non_null(sample->words);
	sample_numbers(sample);
	sample->refs[0] = sample_text(true);
	sample->refs[1] = sample_text(false);
}

static void sample_free(struct table_sample *sample)
{
	free(sample->words);
	free((void *)(uintptr_t)sample->refs[0].base);
	free((void *)(uintptr_t)sample->refs[1].base);
}

/* ── random expressions ──────────────────────────────────────────────────────────────────────────────── */

struct writer {
	char text[WMK_FILTER_TEXT_MAX];
	size_t len;
};

static void __attribute__((format(printf, 2, 3))) put(struct writer *w, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	w->len += (size_t)vsnprintf(w->text + w->len, sizeof(w->text) - w->len, format, args);
	va_end(args);
	assert_true(w->len < sizeof(w->text));
}

static void put_constant(struct writer *w)
{
	const uint64_t value = random_number();

	if (random_below(2))
		put(w, "%llu", (unsigned long long)value);
	else
		put(w, "%lld", (long long)value);
}

static void put_number(struct writer *w, const char *field)
{
	static const char *const operators[] = { "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>" };

	if (random_below(4)) {
		put(w, "%s", field);
		return;
	}
	put(w, "(%s %s ", field, operators[random_below(10)]);
	if (random_below(3))
		put(w, "%u)", random_below(9));
	else
		put_constant(w), put(w, ")");
}

static void put_text(struct writer *w)
{
	static const char *const patterns[] = { "",       "*",   "a*",  "a",  "ab",    "aa*",  "aab*", "b",
						"(null)", "(n*", "a*b", "*a", "\\\\*", "a\\*", "**" };

	put(w, "%s %s \"%s\"", random_below(2) ? "open" : "text",
	    random_below(3) ? "==" : "!=", patterns[random_below(15)]);
}

static void put_comparison(struct writer *w, const char *field)
{
	static const char *const operators[] = { "==", "!=", "<", "<=", ">", ">=" };

	if (!random_below(6)) {
		put_text(w);
		return;
	}
	put_number(w, field);
	if (random_below(4)) {
		put(w, " %s ", operators[random_below(6)]);
		put_constant(w);
		return;
	}
	put(w, " in [");
	for (unsigned n = 1 + random_below(4); n; n--) {
		put_constant(w);
		put(w, n > 1 ? ", " : "]");
	}
}

/* Often comparisons of one field, so that they are merged. */
static void put_condition(struct writer *w, const char *field, unsigned depth)
{
	const struct waymark_field *any = &fields[random_below(FIELDS)];
	const char *other = field;

	if (!random_below(3) && wmk_scalar_bytes(any->type))
		other = any->name;
	if (!depth || !random_below(3)) {
		put_comparison(w, other);
		return;
	}
	put(w, random_below(4) ? "(" : "!(");
	put_condition(w, other, depth - 1);
	put(w, random_below(2) ? " && " : " || ");
	put_condition(w, other, depth - 1);
	put(w, ")");
}

static void look_up(void *data, const struct wmk_filter_name *name, struct wmk_filter_found *found)
{
	(void)data;
	for (uint32_t i = 0; i < event.class->n_fields && name->scope == WMK_FILTER_FIELD && name->n_steps == 1; i++)
		if (!strcmp(event.class->fields[i].name, name->steps[0].name))
			found->input = (struct wmk_filter_input){
				.type = (uint8_t)wmk_filter_type_of(&event.class->fields[i].type),
				.scope = WMK_FILTER_FIELD, .number = (uint16_t)i,
			};
}

/* Returns NULL for a literal out of range, or an invalid comparison. */
static struct wmk_filter_program *random_expression(struct writer *w)
{
	struct wmk_filter_program *program = NULL;
	struct wmk_filter_expr *expr;

	w->len = 0;
	put_condition(w, fields[random_below(9)].name, 1 + random_below(3));
	if (wmk_filter_parse(w->text, &expr) < 0) {
		wmk_error_clear();
		return NULL;
	}
	if (wmk_filter_compile((const struct wmk_filter_expr *const *)&expr, 1, look_up, NULL, WMK_FILTER_LAX,
			       &program) < 0) {
		wmk_error_clear();
		program = NULL;
	}
	wmk_filter_expr_free(expr);
	return program;
}

/* ── random programs ─────────────────────────────────────────────────────────────────────────────────── */

static const struct wmk_filter_input inputs[] = {
	{ WMK_FILTER_SIGNED, WMK_FILTER_FIELD, 0, 0 }, { WMK_FILTER_SIGNED, WMK_FILTER_FIELD, 1, 0 },
	{ WMK_FILTER_SIGNED, WMK_FILTER_FIELD, 4, 0 }, { WMK_FILTER_UNSIGNED, WMK_FILTER_FIELD, 6, 0 },
	{ WMK_FILTER_TEXT, WMK_FILTER_FIELD, 9, 0 },   { WMK_FILTER_TEXT, WMK_FILTER_FIELD, 12, 0 },
};
#define INPUTS (sizeof(inputs) / sizeof(inputs[0]))
#define NUMBERS 4u

/* Forward jumps, comparisons, some operations on some registers, unreachable code; RETURN is the last instruction. */
static void random_insn(struct wmk_filter_insn *insn, uint32_t i, uint32_t n)
{
	const unsigned kind = random_below(10);

	*insn = (struct wmk_filter_insn){ .op = WMK_FILTER_RETURN, .value.u = random_below(2) };
	if (i + 2 >= n || kind == 0)
		return;
	insn->to = i + 1 + random_below(n - i - 1);
	insn->b = WMK_FILTER_IMMEDIATE;
	insn->value.u = random_number();
	insn->a = (uint8_t)(random_below(4) ? random_below(NUMBERS) : INPUTS + random_below(2));
	if (kind == 1) {
		insn->op = WMK_FILTER_JUMP;
	} else if (kind == 2) {
		insn->op = (uint8_t)(WMK_FILTER_JMATCH + random_below(2));
		insn->a = (uint8_t)(NUMBERS + random_below(2));
		insn->value.text.at = random_below(6);
		insn->value.text.len = random_below(7 - insn->value.text.at);
	} else if (kind == 3) {
		insn->op = (uint8_t)(WMK_FILTER_ADD + random_below(WMK_FILTER_SHR_U - WMK_FILTER_ADD + 1));
		insn->dst = (uint8_t)(INPUTS + random_below(2));
		insn->value.u = random_below(2) ? random_below(8) : insn->value.u;
	} else {
		insn->op = (uint8_t)(WMK_FILTER_JEQ + random_below(WMK_FILTER_JNLE_U - WMK_FILTER_JEQ + 1));
	}
}

/* Returns NULL if the program is invalid. */
static struct wmk_filter_program *random_program(void)
{
	struct wmk_filter_insn insns[12];
	const struct wmk_filter_program program = { .n_inputs = INPUTS,
						    .n_insns = 2 + random_below(11),
						    .pool_bytes = 6,
						    .inputs = inputs,
						    .insns = insns,
						    .pool = "ab*a\0*" };
	struct wmk_filter_program *copy = NULL;
	uint8_t *bytes;

	for (uint32_t i = 0; i < program.n_insns; i++)
		random_insn(&insns[i], i, program.n_insns);
	const long len = wmk_filter_encode(&program, &bytes);

	assert_true(len > 0);
	if (wmk_filter_decode(bytes, (size_t)len, &copy) < 0) {
		wmk_error_clear();
		copy = NULL;
	}
	free(bytes);
	return copy;
}

/* ── the comparison ──────────────────────────────────────────────────────────────────────────────────── */

/* Number of programs, and of each form. */
static struct {
	unsigned programs, one, short_table, table, result, text, wanted, refused;
} counts;

static void count(const struct wmk_filter_block *block, uint32_t end)
{
	counts.programs++;
	counts.one += end && end < WMK_FILTER_QUICK_SHORT_TABLE;
	counts.short_table += end == WMK_FILTER_QUICK_SHORT_TABLE;
	counts.table += end == WMK_FILTER_QUICK_TABLE;
	for (uint32_t i = 0; i < block->n_branches; i++) {
		counts.result += WMK_BRANCH_KIND(block->branches[i].what) == WMK_BRANCH_RESULT;
		counts.text += WMK_BRANCH_KIND(block->branches[i].what) >= WMK_BRANCH_TEXT;
	}
}

static void print_counts(void)
{
	print_message("%u programs: %u one comparison, %u short tables, %u tables\n", counts.programs, counts.one,
		      counts.short_table, counts.table);
	print_message("branches: %u results, %u texts; %u wanted, %u refused\n", counts.result, counts.text,
		      counts.wanted, counts.refused);
}

/* Set the filter of the recorder as wmk_recorder_add() does. */
static void set_filter(struct wmk_filter_block *block)
{
	struct wmk_filter_quick quick;

	wmk_filter_quicken(block, &quick);
	recorder.filter = block;
	recorder.quick_low = quick.low;
	recorder.quick_mask = quick.mask;
	recorder.quick_count = quick.count;
	recorder.quick_end = quick.end;
}

static void compare(const struct wmk_filter_block *block, const char *what)
{
	struct table_sample sample;

	sample_make(&sample);
	const int wanted = wmk_filter_accepts(&recorder, 3, block, &event, sample.words, sample.refs, NULL);
	const int is = wmk_filter_any_accepts(&recorder, 3, block, &event, sample.words, sample.refs, NULL);

	counts.wanted += wanted == 1;
	counts.refused += wanted == 0;
	if (is != wanted)
		fail_msg("program %u: %d, not %d: %s", counts.programs, is, wanted, what);
	if (block->n_branches)
		assert_int_equal(wmk_filter_table_run(block, &event, sample.words, sample.refs, false), wanted);
	if (block->n_branches && block->is_short)
		assert_int_equal(wmk_filter_table_run(block, &event, sample.words, sample.refs, true), wanted);
	sample_free(&sample);
}

static void compare_program(struct wmk_filter_program *program, const char *what)
{
	struct wmk_filter_block *block = NULL, *copy;
	uint8_t *bytes;
	const long len = wmk_filter_encode(program, &bytes);

	assert_true(len > 0);
	assert_int_equal(wmk_filter_bind(&event, bytes, (size_t)len, &block), 0);
	free(bytes);
	set_filter(block);
	count(block, recorder.quick_end);
	for (unsigned i = 0; i < RECORDS; i++)
		compare(block, what);
	copy = wmk_filter_block_copy(block);
	assert_non_null(copy);
	wmk_filter_block_free(block);
	set_filter(copy);
	compare(copy, what);
	wmk_filter_block_free(copy);
	wmk_filter_program_free(program);
}

static void table_lookup_of_filter_expressions_equals_the_interpreter(void **state)
{
	struct writer w;

	(void)state;
	random_state = 88172645463325252u;
	memset(&counts, 0, sizeof(counts));
	for (unsigned i = 0; i < 3000; i++) {
		struct wmk_filter_program *program = random_expression(&w);

		if (program)
			compare_program(program, w.text);
	}
	print_counts();
	assert_true(counts.programs > 2000 && counts.one > 300 && counts.short_table > 100 && counts.table > 300);
	assert_true(counts.one + counts.short_table + counts.table > counts.programs / 2);
	assert_true(counts.result > 300 && counts.text > 300 && counts.wanted > 10000 && counts.refused > 10000);
}

static void table_lookup_of_filter_programs_equals_the_interpreter(void **state)
{
	(void)state;
	random_state = 1181783497276652981u;
	memset(&counts, 0, sizeof(counts));
	for (unsigned i = 0; i < 20000; i++) {
		struct wmk_filter_program *program = random_program();

		if (program)
			compare_program(program, "random instructions");
	}
	print_counts();
	assert_true(counts.programs > 2000 && counts.one > 300 && counts.short_table > 100 && counts.table > 300);
	assert_true(counts.one + counts.short_table + counts.table > counts.programs / 2);
	assert_true(counts.result > 100 && counts.text > 300 && counts.wanted > 10000 && counts.refused > 10000);
}

/* ── single cases ────────────────────────────────────────────────────────────────────────────────────── */

static uint32_t form_of(const char *text, uint32_t *n_branches)
{
	struct wmk_filter_program *program;
	struct wmk_filter_expr *expr;
	struct wmk_filter_block *block;
	uint8_t *bytes;

	assert_int_equal(wmk_filter_parse(text, &expr), 0);
	assert_int_equal(wmk_filter_compile((const struct wmk_filter_expr *const *)&expr, 1, look_up, NULL,
					    WMK_FILTER_LAX, &program),
			 0);
	const long len = wmk_filter_encode(program, &bytes);

	assert_true(len > 0);
	assert_int_equal(wmk_filter_bind(&event, bytes, (size_t)len, &block), 0);
	set_filter(block);
	*n_branches = block->n_branches;
	wmk_filter_block_free(block);
	wmk_filter_program_free(program);
	wmk_filter_expr_free(expr);
	free(bytes);
	return recorder.quick_end >= WMK_FILTER_QUICK_SHORT_TABLE ? recorder.quick_end : recorder.quick_end != 0;
}

static void filters_are_compiled_to_their_cheapest_form(void **state)
{
	enum { INTERPRETER, ONE, SHORT = WMK_FILTER_QUICK_SHORT_TABLE, TABLE = WMK_FILTER_QUICK_TABLE };
	static const struct {
		const char *text;
		uint32_t form, n_branches;
	} rows[] = {
		{ "s32 == 3", ONE, 1 },
		{ "s32 == 3 || s32 == 5 || s32 == 4", ONE, 1 },
		{ "s32 >= 3 && s32 < 90", ONE, 1 },
		{ "s32 != 3", ONE, 1 },
		{ "s8 > 5 && s8 < 3", ONE, 1 },
		{ "u8 < 300", SHORT, 1 },   /* always */
		{ "nothing == 1", ONE, 1 }, /* never */
		{ "s32 == 3 || s32 == 90 || s32 == 1000", SHORT, 3 },
		{ "s32 in [3, 90, 91, 89, 1000]", SHORT, 3 },
		{ "s32 == 3 && u64 > 7", SHORT, 2 },
		{ "open == \"a*\"", TABLE, 1 },
		{ "open == \"a\" || text != \"b\"", TABLE, 2 },
		{ "s32 % 3 == 1 || (u8 & 7) in [2, 5]", TABLE, 3 },
		{ "s32 % 3 == 1 && s32 % 5 == 2", TABLE, 2 },
		{ "open == \"a*b\"", INTERPRETER, 0 },
		{ "open < \"a\"", INTERPRETER, 0 },
		{ "s32 == u8", INTERPRETER, 0 },
		{ "s32 * s32 == 4", INTERPRETER, 0 },
		{ "s32 / 0 == 4", INTERPRETER, 0 },
		{ "s32 * 0.5 > 2", INTERPRETER, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t n;
		const uint32_t form = form_of(rows[i].text, &n);

		if (form != rows[i].form || n != rows[i].n_branches)
			fail_msg("%s: form %#x with %u branches, not %#x with %u", rows[i].text, form, n, rows[i].form,
				 rows[i].n_branches);
	}
}

/* 64 branches are the limit; with one more, the interpreter runs the program. */
static void interpreter_runs_filters_above_64_branches(void **state)
{
	struct writer w = { .len = 0 };
	uint32_t n;

	(void)state;
	put(&w, "s32 in [0");
	for (unsigned i = 1; i < 64; i++)
		put(&w, ", %u", 2 * i);
	put(&w, "]");
	assert_int_equal(form_of(w.text, &n), WMK_FILTER_QUICK_SHORT_TABLE);
	assert_int_equal(n, 64);
	w.len--;
	put(&w, ", 1000]");
	assert_int_equal(form_of(w.text, &n), 0);
}

/*
 * A branch for an event with more words or other references is evaluated with this event: nothing past its words is
 * read.
 */
static void filter_branch_of_another_event_reads_no_invalid_memory(void **state)
{
	struct wmk_event other = event;
	struct table_sample sample;
	uint32_t n;

	(void)state;
	sample_make(&sample);
	assert_int_equal(form_of("last == 3 && u64 > 7", &n), WMK_FILTER_QUICK_SHORT_TABLE);
	other.n_words = 1;
	assert_int_equal(wmk_filter_table_run(recorder.filter, &other, sample.words, sample.refs, true), -ESTALE);
	assert_int_equal(wmk_filter_any_accepts(&recorder, 3, recorder.filter, &other, sample.words, sample.refs, NULL),
			 -ESTALE);
	other.n_words = 0;
	assert_int_equal(wmk_filter_table_run(recorder.filter, &other, NULL, NULL, false), -ESTALE);
	assert_int_equal(form_of("text == \"a\"", &n), WMK_FILTER_QUICK_TABLE);
	other.text_refs = 1;
	assert_int_equal(wmk_filter_table_run(recorder.filter, &other, sample.words, sample.refs, false), -ESTALE);
	recorder.gen = 5;
	assert_int_equal(wmk_filter_any_accepts(&recorder, 3, recorder.filter, &event, sample.words, sample.refs, NULL),
			 -ESTALE);
	recorder.gen = 3;
	sample_free(&sample);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_lookup_of_filter_expressions_equals_the_interpreter),
		cmocka_unit_test(table_lookup_of_filter_programs_equals_the_interpreter),
		cmocka_unit_test(filters_are_compiled_to_their_cheapest_form),
		cmocka_unit_test(interpreter_runs_filters_above_64_branches),
		cmocka_unit_test(filter_branch_of_another_event_reads_no_invalid_memory),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
