/* SPDX-License-Identifier: MIT */
/*
 * test_language.c - semantics of the filter language. Arithmetic, precedence and comparisons are compared with the C
 * compiler that compiles this file: the same text is a filter and a C expression. Tables cover what C does not have:
 * texts, lists, absent values, signed compared with unsigned.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/array.h"
#include "base/error.h"
#include "filter/t/rig.h"

static struct rig rig;

/* 1, 0, or negative if it does not compile. The program that is encoded and decoded must give the same result. */
static int run(const char *text, enum wmk_filter_strictness strictness)
{
	struct wmk_filter_expr *expr;
	struct wmk_filter_program *program, *again;
	struct wmk_filter_values values;
	uint8_t *bytes;
	int err = wmk_filter_parse(text, &expr);

	if (err < 0)
		return err;
	err = wmk_filter_compile((const struct wmk_filter_expr *const *)&expr, 1, rig_lookup, NULL, strictness,
				 &program);
	wmk_filter_expr_free(expr);
	if (err < 0)
		return err;
	rig_fill(&rig, program, &values);
	err = wmk_filter_run(program, &values);
	long n = wmk_filter_encode(program, &bytes);

	assert_true(n > 0);
	assert_int_equal(wmk_filter_decode(bytes, (size_t)n, &again), 0);
	rig_fill(&rig, again, &values);
	assert_int_equal(wmk_filter_run(again, &values), err);
	free(bytes);
	wmk_filter_program_free(program);
	wmk_filter_program_free(again);
	return err;
}

static void expect(const char *text, bool wanted)
{
	char message[1024];
	int got = run(text, WMK_FILTER_STRICT);

	if (got < 0)
		fail_msg("%s: %s", text, wmk_error_text(message, sizeof(message)));
	if (got != wanted)
		fail_msg("%s: %s", text, got ? "selected, expected not selected" : "not selected, expected selected");
}

static void refuse(const char *text, const char *words)
{
	char message[1024];

	if (run(text, WMK_FILTER_STRICT) >= 0)
		fail_msg("%s: no error", text);
	if (!strstr(wmk_error_text(message, sizeof(message)), words))
		fail_msg("%s: '%s' does not contain '%s'", text, message, words);
	wmk_error_clear();
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wparentheses"
#ifdef __clang__
#pragma GCC diagnostic ignored "-Wbitwise-op-parentheses"
#pragma GCC diagnostic ignored "-Wlogical-op-parentheses"
#pragma GCC diagnostic ignored "-Wshift-op-parentheses"
#pragma GCC diagnostic ignored "-Wlogical-not-parentheses"
#else
#pragma GCC diagnostic ignored "-Wbool-operation"
#pragma GCC diagnostic ignored "-Wbool-compare"
#pragma GCC diagnostic ignored "-Wlogical-not-parentheses"
#endif
#pragma GCC diagnostic ignored "-Wfloat-equal"

#define SAME(expression) expect(#expression, (expression) != 0)

static void filter_operators_give_the_results_of_c(void **state)
{
	static const int64_t numbers[] = { 0, 1, -1, 2, 3, 7, -8, 100, INT32_MAX, INT32_MIN };

	(void)state;
	for (size_t i = 0; i < WMK_ARRAY_LEN(numbers); i++)
		for (size_t j = 0; j < WMK_ARRAY_LEN(numbers); j++) {
			const int64_t s = rig.s = numbers[i], t = rig.t = numbers[j];
			const uint64_t u = rig.u = (uint64_t)numbers[j] & INT64_MAX;
			const double d = rig.d = (double)numbers[i] / 4;

			SAME(s + t * 2 == 7);
			SAME(s - t - 1 < 3);
			SAME(s < t == t > s);
			SAME(s < t != (t < 1));
			SAME(s & t == 1);
			SAME((s & t) == 1);
			SAME(s | t ^ s & 3);
			SAME(s ^ t | 4);
			SAME((s & 255) << 2 + 1 > t);
			SAME((s & 255) + 1 << 2 > t);
			SAME(s >> 1 == t);
			SAME(!s == t);
			SAME(!(s == t));
			SAME(~s & 1 ? t : s - 1);
			SAME(s ? t ? 0 : 1 : t);
			SAME(s && t || s == t);
			SAME(s || t && s > t);
			SAME((s || t) && s > t);
			SAME(!(s && t) + 1 > 1);
			SAME(-s < +t);
			SAME(- -s == s);
			SAME(s <= t);
			SAME(s >= t);
			SAME(s % 3 + t / 3 == 1);
			SAME(0x10 > s);
			SAME(010 == s);
			SAME(s == -8 || t == 'd');
			SAME(u > 3);
			SAME(3 >= u);
			SAME(u / 3 * 3 == u);
			SAME(u - 1 > u);
			SAME(u >> 2 == 25);
			SAME(d > s);
			SAME(d * 4 == s);
			SAME(d + 0.5 < t);
			SAME(t <= d / 2);
			SAME(d ? s : t);
			SAME(!d);
			SAME(-d == 2.);
			SAME(1e2 == t);
			SAME(.25 == d || 25e-2 == -d);
			SAME((s > 1) + (t > 1) == 2);
			SAME(((((s)))));
		}
}

#pragma GCC diagnostic pop

static void filter_compares_signed_and_unsigned_integers_by_value(void **state)
{
	(void)state;
	rig.s = -1;
	rig.u = UINT64_MAX;
	/* compared by value, not by bits */
	expect("s == u", false);
	expect("s != u", true);
	expect("s < u", true);
	expect("u < s", false);
	expect("s >= u", false);
	expect("u >= s", true);
	expect("u == 18446744073709551615", true);
	expect("u > 9223372036854775807", true);
	expect("u == -1", false);
	expect("-1 < u", true);
	expect("u > -1", true);
	expect("s == -1", true);
	expect("s in [18446744073709551615]", false);
	expect("u in [0xffffffffffffffff]", true);
	rig.s = INT64_MIN;
	expect("s == -9223372036854775808", true);
	expect("s < -9223372036854775807", true);
	expect("s / -1 == s", true);
	expect("s % -1 == 0", true);
	expect("s - 1 > 0", true);
	expect("-(9223372036854775808) > 0 && -(10000000000000000000) == 8446744073709551616", true);
	rig.s = 5;
	rig.u = 5;
	expect("s == u && u == s && s <= u && u >= s && !(s < u) && !(u > s)", true);
	expect("s << 63 < 0", true);
	expect("u << 63 > 0", true);
	expect("0b101 == s", true);
	expect("'\\n' == 10 && '\\x41' == 65 && '\\101' == 65 && '\\\\' == 92", true);
	rig.s = 1000;
	expect("s in [-1, 1000, 3]", true);
	expect("s in [1, 2]", false);
	expect("!(s in [1, 2]) && s + 1 in [1001]", true);
	expect("s in [999.5, 1000.0]", true);
	rig.d = NAN;
	expect("d == d", false);
	expect("d != d", true);
	expect("d < 1 || d > 1 || d <= 1 || d >= 1", false);
	expect("!(d < 1) && !(1 < d) && !(d >= 1) && !(1 >= d)", true);
}

static void filter_patterns_with_wildcards_match_texts(void **state)
{
	static const struct {
		const char *name, *pattern;
		bool same;
	} cases[] = {
		{ "", "", true },
		{ "", "*", true },
		{ "", "a", false },
		{ "a", "", false },
		{ "abc", "abc", true },
		{ "abc", "ab", false },
		{ "abc", "abcd", false },
		{ "abc", "a*", true },
		{ "abc", "*c", true },
		{ "abc", "a*c", true },
		{ "abc", "*b*", true },
		{ "abc", "*d*", false },
		{ "abc", "****", true },
		{ "aab", "*ab", true },
		{ "abab", "*ab", true },
		{ "ababc", "*ab", false },
		{ "mississippi", "m*iss*ip*i", true },
		{ "a*b", "a\\*b", true },
		{ "axb", "a\\*b", false },
		{ "a\\b", "a\\\\b", true },
		{ "a\\b", "a*b", true },
		{ "*", "\\*", true },
		{ "x", "\\*", false },
		{ "a\nb", "a\\nb", true },
		{ "caf\xc3\xa9", "caf\xc3\xa9", true },
		{ "a\"b", "a\\\"b", true },
		{ "AB", "\\x41\\102", true },
		{ "?", "?", true },
		{ "a", "?", false },
		{ "*", "\\x2a", true },
		{ "y", "\\x2a", false },
		{ "\\", "\\x5c", true },
	};
	char filter[128];

	(void)state;
	rig.other = "";
	for (size_t i = 0; i < WMK_ARRAY_LEN(cases); i++) {
		rig.name = rig.other = cases[i].name;
		snprintf(filter, sizeof(filter), "name == \"%s\"", cases[i].pattern);
		expect(filter, cases[i].same);
		snprintf(filter, sizeof(filter), "\"%s\" != name", cases[i].pattern);
		expect(filter, !cases[i].same);
		snprintf(filter, sizeof(filter), "other in [\"no\", \"%s\"]", cases[i].pattern);
		expect(filter, cases[i].same);
		snprintf(filter, sizeof(filter), "!(other == \"%s\")", cases[i].pattern);
		expect(filter, !cases[i].same);
	}
	rig.name = "bob";
	rig.other = "boc";
	expect("name < other && other > name && name <= other && !(name >= other) && name != other", true);
	expect("name == other", false);
	expect("name < \"c\" && name > \"b\" && \"bo\" < name && name <= \"bob\" && name >= \"bob\" && !(name < "
	       "\"bob\")",
	       true);
	expect("name > \"bo\\*\"", true);
	rig.other = "bob";
	expect("name == other && name <= other && !(name < other)", true);
	expect("$event == \"shop:*\" && $event != \"x\" && $event in [\"a\", \"*paid\"] && $event < \"t\" && \"a\" <= "
	       "$event",
	       true);
	expect("$event == \"shop\"", false);
	expect("$event > name && name < $event", true);
	expect("$event == $event", true);
}

static void filter_compares_enumerations_with_their_labels(void **state)
{
	(void)state;
	rig.state = 1;
	expect("state == \"RUNNING\" && \"RUNNING\" == state && state != \"IDLE\" && state in [\"IDLE\", \"RUN*\"] && "
	       "state == 1",
	       true);
	rig.state = 5;
	expect("state == \"WAITING\" && !(state == \"WALKING\") && state == \"WA*\" && state in [7, 5]", true);
	expect("state != \"WA*\" || state in [\"IDLE\", 4]", false);
	expect("state in [\"IDLE\", 4, \"NONE\", 5]", true);
	rig.state = 10;
	expect("state == \"*\"", false);
	rig.state = -1;
	expect("state == \"NONE\"", true);
	refuse("state == \"RUNING\"", "did you mean: RUNNING?");
	refuse("state == \"X*\"", "column 10");
	refuse("state < \"IDLE\"", "a number with a text");
	assert_int_equal(run("state == \"RUNING\"", WMK_FILTER_LAX), 0);
	assert_int_equal(run("state != \"RUNING\"", WMK_FILTER_LAX), 1);
}

static void filter_condition_on_an_absent_value_is_false(void **state)
{
	(void)state;
	rig.s = 1;
	rig.list[0] = 10;
	rig.list[1] = 20;
	expect("list[0] == 10 && list[1] == 20", true);
	expect("list[2] == 0 || list[2] != 0 || !(list[2] == 0) || list[2]", false);
	expect("!list[2] || -list[2] < 1 || list[2] + 1 || (list[2] ? 1 : 1)", false);
	expect("exists(list[1]) && !exists(list[2]) && !exists(nothing) && exists(s) && exists(box) && "
	       "exists($ctx.vpid) && !exists($ctx.none)",
	       true);
	expect("exists(name) + exists(nothing) == 1", true);
	/* an absent value is false for the nearest && or ||; the result of that has a value again */
	expect("!(list[2] == 0 && s)", true);
	expect("!(list[2] == 0 || s == 2)", true);
	expect("(list[2] == 0 || s == 1) + 1 == 2", true);
	expect("!(list[2] == 0)", false);
	expect("s ? 1 : list[2]", true);
	expect("s == 2 ? 1 : list[2]", false);
	expect("s / 0 == 1 || s % 0 == 1 || s << 64 || s >> -1 || s << s - 2", false);
	expect("s / 0 == s / 0 || s == 1", true);
	expect("!(s / 0)", false);
	expect("1 / (s - 1) || 1", true);
	expect("opt == 0 || opt != 0", false);
	expect("exists(opt) ? opt : 7", true);
	/* an unknown name is an error, unless exists() tests it or compilation is lax */
	refuse("nothing == 1", "column 1, 'nothing': the event has no such field");
	refuse("s == 1 && $ctx.none == 1", "column 11, '$ctx.none': there is no such context");
	expect("exists(nothing) && nothing == 1", false);
	expect("exists(nothing) ? nothing : s", true);
	expect("!exists(nothing) || nothing + s in [1, 2]", true);
	assert_int_equal(run("nothing == 1", WMK_FILTER_LAX), 0);
	assert_int_equal(run("!(nothing == 1)", WMK_FILTER_LAX), 0);
	assert_int_equal(run("nothing == 1 || s == 1", WMK_FILTER_LAX), 1);
	assert_int_equal(run("nothing == \"a*\" || nothing in [1] || nothing << 1 || 1 << nothing || ~nothing || "
			     "nothing ? 1 : 0",
			     WMK_FILTER_LAX),
			 0);
	assert_int_equal(run("!(nothing && 1)", WMK_FILTER_LAX), 1);
	/* an operand of a wrong type is absent, too */
	rig.name = "a";
	assert_int_equal(run("name == 1 || !(name == 1) || s == \"a\" || name + 1 || !name || -name || d % 2 || s << d "
			     "|| name",
			     WMK_FILTER_LAX),
			 0);
	assert_int_equal(run("box == 1 || !box || name in [1] || s in [\"a\"] || state < \"IDLE\"", WMK_FILTER_LAX), 0);
	assert_int_equal(run("!(s in [\"a\"]) || !(name in [1, 2])", WMK_FILTER_LAX), 0);
	assert_int_equal(run("name in [1, \"a\"] && s in [\"a\", 1] && (s ? 1 : name)", WMK_FILTER_LAX), 1);
	assert_int_equal(run("name == 1", WMK_FILTER_TYPES), -EINVAL);
	assert_int_equal(run("nothing == 1", WMK_FILTER_TYPES), 0);
}

static void filter_resolves_nested_context_and_keyword_field_names(void **state)
{
	(void)state;
	rig.t = 3;
	rig.box_in = 4;
	rig.vpid = 77;
	expect("in == 3 && exists == 3 && in in [3] && exists(exists) && exists (in)", true);
	expect("box.in == 4 && box . in == 4 && $ctx.vpid == 77", true);
	expect("\tin\n==\r3", true);
	refuse("box == 1", "the operand is a structure");
	refuse("box", "the operand is a structure");
}

static void filter_syntax_errors_report_their_column(void **state)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{ "", "empty" },
		{ "  ", "empty" },
		{ "s =", "column 3" },
		{ "s = 1", "use == to compare" },
		{ "s ==", "column 5: expected a field" },
		{ "s == )", "column 6" },
		{ "(s == 1", "expected ')', found the end of the filter" },
		{ "s == 1)", "column 7: expected an operator" },
		{ "s s", "column 3: expected an operator" },
		{ "1 2", "column 3" },
		{ "s # 1", "column 3: unexpected character '#'" },
		{ "s == \"a", "column 6: unterminated text" },
		{ "name == \"\\q\"", "column 10" },
		{ "'ab' == s", "column 1" },
		{ "'' == s", "column 1" },
		{ "s == '", "column 6" },
		{ "s == 0x", "column 6: '0x'" },
		{ "s == 08", "column 6" },
		{ "s == 12a", "'12a' is not a number" },
		{ "s == 0b2", "column 6" },
		{ "s == 18446744073709551616", "column 6: the number is above" },
		{ "s == -9223372036854775809", "below -9223372036854775808" },
		{ "$foo == 1", "unknown name '$foo'" },
		{ "$ctx == 1", "'.' and the name of a context" },
		{ "$ == 1", "column 1" },
		{ "s in 1", "column 6: expected '['" },
		{ "s in []", "column 7" },
		{ "s in [1", "the end of the filter" },
		{ "s in [1 2]", "column 9" },
		{ "s in [t]", "a list may contain only numbers and texts" },
		{ "s in [1 + 1]", "column 9" },
		{ "s in [t, 3]", "column 7" },
		{ "s in [t, u]", "column 7" },
		{ "s in [3, exists(t), exists(t)]", "column 17" },
		{ "s in [(1)]", "a list may contain only" },
		{ "s in [\"a\"]", "a number with a text" },
		{ "name in [1]", "a number with a text" },
		{ "exists(1)", "column 8: expected the name of a field" },
		{ "exists(s", "')'" },
		{ "list[s]", "the number of an element" },
		{ "list[-1]", "the number of an element" },
		{ "list[1", "expected ']'" },
		{ "s.", "the name of a member" },
		{ "s.1", "column 2" },
		{ "name", "a text can only be compared" },
		{ "name + 1", "a text can only be compared" },
		{ "!name", "column 2, 'name'" },
		{ "name && s", "column 1, 'name'" },
		{ "s ? name : s", "column 5, 'name'" },
		{ "d % 2", "column 1, 'd': the operator needs a whole number" },
		{ "s & 1.5", "column 5, '1.5'" },
		{ "~d", "whole number" },
		{ "s << d", "whole number" },
		{ "name == 1", "a number with a text" },
		{ "name < \"a*\"", "only be compared with ==" },
		{ "\"a\" == \"a\"", "both sides are literal texts" },
		{ "\"a\"", "a text can only be compared" },
		{ "s ? 1", "expected ':'" },
		{ "s ? : 1", "column 5" },
		{ "s == \x80", "column 6" },
		{ "s == \x01", "column 6" },
		{ "s @ 1", "column 3" },
		{ "a.b.c.d.e.f.g.h.i == 1", "at most 8" },
	};

	(void)state;
	for (size_t i = 0; i < WMK_ARRAY_LEN(cases); i++)
		refuse(cases[i].text, cases[i].words);
}

static char *repeated(const char *before, const char *piece, unsigned n, const char *behind)
{
	char *text = malloc(strlen(before) + n * strlen(piece) + strlen(behind) + 1), *to = stpcpy(text, before);

	for (unsigned i = 0; i < n; i++)
		to = stpcpy(to, piece);
	strcpy(to, behind);
	return text;
}

static void filters_beyond_each_limit_are_refused(void **state)
{
	static const struct {
		const char *before, *piece, *behind, *words;
		unsigned fits, too_many;
	} cases[] = {
		{ "", "(", "1", "nested", 0, 100 },
		{ "", "!", "s", "nested", 63, 65 },
		{ "s", " || s", "", "in a row", 200, 300 },
		{ "1", "&&1", "", "in a row", 200, 300 },
		{ "s == 1 ", "  ", "", "more than 4096", 1000, 3000 },
		{ "name in [\"0123456789\"", ",\"0123456789\"", "]", "", 250, 0 },
	};

	(void)state;
	for (size_t i = 0; i < WMK_ARRAY_LEN(cases); i++) {
		char *fits = repeated(cases[i].before, cases[i].piece, cases[i].fits, cases[i].behind);

		if (run(fits, WMK_FILTER_STRICT) < 0)
			fail_msg("%s: %s", fits, wmk_error_get(0));
		free(fits);
		if (cases[i].too_many) {
			char *more = repeated(cases[i].before, cases[i].piece, cases[i].too_many, cases[i].behind);

			refuse(more, cases[i].words);
			free(more);
		}
	}
	/* each field takes a register, and so does each left operand while the right one is evaluated */
	char fields[512] = "0";

	for (unsigned i = 0; i < 31; i++)
		snprintf(fields + strlen(fields), sizeof(fields) - strlen(fields), "+list[%u]", i);
	for (unsigned n = 10; n <= 12; n += 2) {
		char *deep = repeated(fields, " + (s+1 | s+1 ^ s+1 & ", n, "s"),
		     *whole = repeated(deep, ")", n, " == 0");

		if (n == 12)
			refuse(whole, "nested too deeply");
		else
			expect(whole, false);
		free(deep);
		free(whole);
	}
	char text[512] = "0";

	for (unsigned i = 0; i < 33; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "+list[%u]", i);
	refuse(text, "more than 32 fields");
}

/* One of several expressions that selects the record is enough. */
static void record_is_selected_if_one_of_several_filters_matches(void **state)
{
	static const char *const texts[] = { "s == 1", "list[2] == 1", "t == 2" };
	struct wmk_filter_expr *exprs[3];
	struct wmk_filter_program *program;
	struct wmk_filter_values values;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(wmk_filter_parse(texts[i], &exprs[i]), 0);
	assert_int_equal(wmk_filter_compile((const struct wmk_filter_expr *const *)exprs, 3, rig_lookup, NULL,
					    WMK_FILTER_STRICT, &program),
			 0);
	for (int s = 0; s < 2; s++)
		for (int t = 1; t < 3; t++) {
			rig.s = s;
			rig.t = t;
			rig_fill(&rig, program, &values);
			assert_int_equal(wmk_filter_run(program, &values), s == 1 || t == 2);
		}
	wmk_filter_program_free(program);
	assert_int_equal(wmk_filter_compile(NULL, 0, rig_lookup, NULL, WMK_FILTER_STRICT, &program), 0);
	assert_false(wmk_filter_run(program, &values));
	wmk_filter_program_free(program);
	for (unsigned i = 0; i < 3; i++)
		wmk_filter_expr_free(exprs[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filter_operators_give_the_results_of_c),
		cmocka_unit_test(filter_compares_signed_and_unsigned_integers_by_value),
		cmocka_unit_test(filter_patterns_with_wildcards_match_texts),
		cmocka_unit_test(filter_compares_enumerations_with_their_labels),
		cmocka_unit_test(filter_condition_on_an_absent_value_is_false),
		cmocka_unit_test(filter_resolves_nested_context_and_keyword_field_names),
		cmocka_unit_test(filter_syntax_errors_report_their_column),
		cmocka_unit_test(filters_beyond_each_limit_are_refused),
		cmocka_unit_test(record_is_selected_if_one_of_several_filters_matches),
	};

	rig.name = rig.other = "";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
