/* SPDX-License-Identifier: MIT */
/*
 * filter_test.c - single tests of the kernel's filter language (see filter_tracefs.h). The kernel evaluates them as
 * follows:
 *
 *     name OP number     the kernel truncates the number to the field's width before the comparison: it must fit
 *     name & number      true if they have a bit in common
 *     name == "text"     array: compared up to its end; no character is special, and a quote cannot be written
 *     name ~ "glob"      A star at the end of a pattern selects texts with this prefix. Stars at both ends select texts
 *     with this substring; the kernel searches the substring after the NUL of an array, too. With [ ? or \ in
 *                        it: a glob up to the NUL, where \ escapes the next character. A pattern that begins with "!"
 *                        or a digit has another meaning.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/event/filter_tracefs.h"

#define BLOCKS_MAX 4u                /* maximum number of blocks that make up an interval */
#define STRING_MAX 200u              /* the kernel accepts texts of less than 256 bytes */

static struct wmk_kterm test(bool exact, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Formats a test. If memory is exhausted, the condition counts as not translatable. */
static struct wmk_kterm test(bool exact, const char *format, ...)
{
	struct wmk_kterm term = { .kind = WMK_KTERM_TEST, .exact = exact };
	va_list args;

	va_start(args, format);
	const int n = vasprintf(&term.text, format, args);

	va_end(args);
	return n < 0 ? wmk_kterm_unknown() : term;
}

static struct wmk_kterm equals(struct wmk_kterm term, const struct wmk_koperand *operand)
{
	if (term.kind == WMK_KTERM_TEST)
		term.equal = (unsigned)strlen(operand->name) + 1;
	return term;
}

/* ── numbers ─────────────────────────────────────────────────────────────────────────────────────────── */

static wmk_kwide least(unsigned width, bool is_signed)
{
	return is_signed ? -((wmk_kwide)1 << (width - 1)) : 0;
}

static wmk_kwide most(unsigned width, bool is_signed)
{
	return is_signed ? ((wmk_kwide)1 << (width - 1)) - 1 : ((wmk_kwide)1 << width) - 1;
}

/* Formats a number in the form in which the kernel parses numbers for this operand. The number fits the operand. */
static const char *number(const struct wmk_koperand *operand, wmk_kwide value, char text[24])
{
	if (operand->is_signed)
		snprintf(text, 24, "%" PRId64, (int64_t)value);
	else
		snprintf(text, 24, "%" PRIu64, (uint64_t)value);
	return text;
}

/* Tests that the kernel's number is in the interval `low` to `high`. */
static struct wmk_kterm in_order(const struct wmk_koperand *operand, wmk_kwide low, wmk_kwide high)
{
	const bool from_least = low == least(operand->width, operand->is_signed),
		   to_most = high == most(operand->width, operand->is_signed);
	char a[24], b[24];

	number(operand, low, a);
	number(operand, high, b);
	if (from_least && to_most)
		return wmk_kterm_constant(true);
	if (low == high)
		return equals(test(true, "%s == %s", operand->name, a), operand);
	if (from_least)
		return test(true, "%s <= %s", operand->name, b);
	if (to_most)
		return test(true, "%s >= %s", operand->name, a);
	return wmk_kterm_and(test(true, "%s >= %s", operand->name, a), test(true, "%s <= %s", operand->name, b));
}

/* Tests that the number and `value` have equal bits in `mask`; other bits are arbitrary. */
static struct wmk_kterm has_bits(const struct wmk_koperand *operand, uint64_t mask, uint64_t value)
{
	struct wmk_kterm term = wmk_kterm_constant(true);

	if (mask & ~value)
		term = wmk_kterm_not(wmk_kterm_bits(operand, mask & ~value));
	for (uint64_t left = mask & value; left; left &= left - 1)
		term = wmk_kterm_and(term, wmk_kterm_bits(operand, left & -left));
	return term;
}

/*
 * Tests that the low `bits` bits of the kernel's number, as an unsigned number, are in the interval `low` to `high`.
 * The interval is divided into blocks of numbers that have equal upper bits.
 */
static struct wmk_kterm in_blocks(const struct wmk_koperand *operand, unsigned bits, wmk_kwide low, wmk_kwide high)
{
	const uint64_t all = ((uint64_t)1 << bits) - 1;
	struct wmk_kterm term = wmk_kterm_constant(false);
	unsigned n = 0;

	while (low <= high) {
		uint64_t size = 1;

		while (((uint64_t)low & (2 * size - 1)) == 0 && low + (wmk_kwide)(2 * size) - 1 <= high)
			size *= 2;
		if (++n > BLOCKS_MAX) {
			wmk_kterm_free(&term);
			return wmk_kterm_unknown();
		}
		term = wmk_kterm_or(term, has_bits(operand, all & ~(size - 1), (uint64_t)low));
		low += (wmk_kwide)size;
	}
	return term;
}

struct wmk_kterm wmk_kterm_between(const struct wmk_koperand *operand, wmk_kwide low, wmk_kwide high)
{
	const unsigned width = operand->type->width;
	const wmk_kwide first = least(width, operand->type->is_signed), last = most(width, operand->type->is_signed);

	low = low < first ? first : low;
	high = high > last ? last : high;
	if (low > high)
		return wmk_kterm_constant(false);
	if (low == first && high == last)
		return wmk_kterm_constant(true);
	if (!operand->width || operand->width < width)
		return wmk_kterm_unknown();
	/*
	 * Convert the interval to the numbers that the kernel uses. An interval that wraps around in the kernel's
	 * numbers becomes two intervals.
	 */
	const bool narrow = operand->width > width, is_signed = !narrow && operand->is_signed;
	const wmk_kwide round = (wmk_kwide)1 << width, begin = least(width, is_signed), end = most(width, is_signed),
			count = high - low;
	wmk_kwide from = low - operand->add;

	from = from < begin ? from + round : from > end ? from - round : from;
	if (narrow && !operand->has_bits)
		return wmk_kterm_unknown();
	struct wmk_kterm (*make)(const struct wmk_koperand *, wmk_kwide, wmk_kwide) = in_order;

	if (from + count <= end)
		return narrow ? in_blocks(operand, width, from, from + count) : make(operand, from, from + count);
	if (narrow)
		return wmk_kterm_or(in_blocks(operand, width, from, end),
				    in_blocks(operand, width, begin, from + count - round));
	return wmk_kterm_or(make(operand, from, end), make(operand, begin, from + count - round));
}

struct wmk_kterm wmk_kterm_bits(const struct wmk_koperand *operand, uint64_t mask)
{
	char text[24];

	if (operand->width < 64)
		mask &= ((uint64_t)1 << operand->width) - 1;
	if (!operand->width || !operand->has_bits || operand->add)
		return wmk_kterm_unknown();
	if (!mask)
		return wmk_kterm_constant(false);
	const bool is_negative = operand->is_signed && mask >> (operand->width - 1);

	return test(true, "%s & %s", operand->name,
		    number(operand, (wmk_kwide)mask - (is_negative ? (wmk_kwide)1 << operand->width : 0), text));
}

/* ── texts ───────────────────────────────────────────────────────────────────────────────────────────── */

/* A parsed pattern of a filter expression. */
struct pattern {
	char plain[STRING_MAX + 1];      /* without stars and escapes */
	char glob[2 * STRING_MAX + 2];   /* for the kernel: each character that is no letter is escaped */
	size_t n;                        /* length of `plain` */
	unsigned stars;
	bool at_begin, at_end;           /* the pattern begins or ends with a star */
};

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Parses a pattern. Returns false if the kernel's filter language cannot express the pattern. */
static bool take_apart(const struct wmk_node *node, struct pattern *parsed)
{
	size_t n_glob = 0;

	*parsed = (struct pattern){ .n = 0 };
	if (node->text_len > STRING_MAX / 2)
		return false;
	for (uint32_t i = 0; i < node->text_len; i++) {
		char c = node->text[i];

		if (c == '*') {
			parsed->stars++;
			parsed->at_begin |= i == 0;
			parsed->at_end |= i + 1 == node->text_len;
			parsed->glob[n_glob++] = c;
			continue;
		}
		if (c == '\\')
			c = node->text[++i];
		if (c < ' ' || c > '~' || strchr("\\\"'", c))
			return false;
		/*
		 * The first character is always escaped, so that the kernel parses a glob that does not begin with a
		 * digit.
		 */
		if (!parsed->n || !is_word(c))
			parsed->glob[n_glob++] = '\\';
		parsed->glob[n_glob++] = c;
		parsed->plain[parsed->n++] = c;
	}
	return true;
}

/* Uses the kernel's patterns "x*", "*x" and "*x*": the kernel applies them also to texts without a NUL at the end. */
static struct wmk_kterm by_shortcut(const struct wmk_koperand *operand, const struct pattern *parsed)
{
	if (!is_word(parsed->plain[0]) || strpbrk(parsed->plain, "[?"))
		return wmk_kterm_unknown();
	if (parsed->stars == 1 && parsed->at_end)
		return test(!operand->is_far, "%s ~ \"%s*\"", operand->name, parsed->plain);
	if (parsed->stars == 2 && parsed->at_begin && parsed->at_end)
		return test(false, "%s ~ \"*%s*\"", operand->name, parsed->plain);
	return wmk_kterm_unknown();
}

struct wmk_kterm wmk_kterm_matches(const struct wmk_koperand *operand, const struct wmk_node *node)
{
	struct pattern parsed;

	if (node->text_len && node->text_len == strspn(node->text, "*"))
		return wmk_kterm_constant(true);
	if ((!operand->text_size && !operand->is_far) || !take_apart(node, &parsed) || !parsed.n)
		return wmk_kterm_unknown();
	if (operand->text_size && parsed.n > operand->text_size)
		return wmk_kterm_constant(false);
	if (parsed.stars)
		return operand->has_end ? test(true, "%s ~ \"%s\"", operand->name, parsed.glob)
					: by_shortcut(operand, &parsed);
	/*
	 * Outside of the fixed part, the kernel compares a text without a NUL only up to the length of the text. For an
	 * empty text, the kernel compares bytes that do not belong to the text. The test of a text outside of the fixed
	 * part is therefore not exact.
	 */
	if (operand->is_far)
		return test(false, "%s == \"%s\"", operand->name, parsed.plain);
	return equals(test(true, "%s == \"%s\"", operand->name, parsed.plain), operand);
}
