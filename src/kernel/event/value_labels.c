/* SPDX-License-Identifier: MIT */
/*
 * value_labels.c - parses labels of values in `print fmt` (see value_labels.h): a scanner of C tokens and an evaluator
 * of constant expressions.
 */
#include "kernel/event/value_labels.h"

#include <string.h>

#include "base/array.h"
#include "base/scan.h"

#define EXPR_DEPTH 64

static bool take(struct wmk_scan *in, const char *token)
{
	wmk_scan_space(in);
	return wmk_scan_take(in, token);
}

/* Skips the rest of a quoted text, including the closing quote. *inside: the content with its escapes. */
static bool skip_text(struct wmk_scan *in, struct wmk_scan *inside)
{
	inside->at = in->at;
	for (; in->at < in->end; in->at++) {
		if (*in->at == '\\' && in->at + 1 < in->end) {
			in->at++;
		} else if (*in->at == '"') {
			inside->end = in->at++;
			return true;
		}
	}
	return false;
}

static struct wmk_scan take_word(struct wmk_scan *in)
{
	struct wmk_scan word = { in->at, in->at };

#ifdef WMK_PLANTED_BUG_KERNEL_FORMAT
	while (wmk_scan_is_word(*in->at))          /* the fuzzer must find this */
		in->at++;
#else
	while (in->at < in->end && wmk_scan_is_word(*in->at))
		in->at++;
#endif
	word.end = in->at;
	return word;
}

/* ── constants ───────────────────────────────────────────────────────────────────────────────────────── */

/* Evaluates an expression in 64 bits, like a preprocessor. Returns false if the expression is not constant. */
static bool expr(struct wmk_scan *in, unsigned least, unsigned depth, uint64_t *value);

static bool number(struct wmk_scan *in, uint64_t *value)
{
	const unsigned base = wmk_scan_take(in, "0x") || wmk_scan_take(in, "0X") ? 16
			      : in->at < in->end && *in->at == '0'		? 8
										: 10;

	if (!wmk_scan_number(in, base, UINT64_MAX, value))
		return false;
	while (in->at < in->end && strchr("uUlL", *in->at))
		in->at++;
	return in->at == in->end || !wmk_scan_is_word(*in->at);
}

/*
 * Consumes a cast: `(unsigned long)`, `( gfp_t)`. The last word must be a known type, because an enumerator in
 * parentheses has the same form as a cast.
 */
static bool take_cast(struct wmk_scan *in)
{
	static const char *const types[] = { "char", "short", "int",   "long",  "unsigned", "signed", "bool",
					     "u8",   "u16",   "u32",   "u64",   "s8",       "s16",    "s32",
					     "s64",  "__u8",  "__u16", "__u32", "__u64",    "__s32",  "__s64" };
	const char *begin = in->at;
	struct wmk_scan word = { begin, begin };
	bool is_type = false;

	wmk_scan_space(in);
	while (in->at < in->end && wmk_scan_is_word(*in->at) && !wmk_scan_is_digit(*in->at)) {
		word = take_word(in);
		wmk_scan_space(in);
	}
	if (word.end - word.at > 2 && memcmp(word.end - 2, "_t", 2) == 0)
		is_type = true;
	for (size_t i = 0; i < WMK_ARRAY_LEN(types); i++)
		is_type = is_type || wmk_scan_is(&word, types[i]);
	if (is_type && take(in, ")"))
		return true;
	in->at = begin;
	return false;
}

static bool unary(struct wmk_scan *in, unsigned depth, uint64_t *value)
{
	if (depth > EXPR_DEPTH)
		return false;
	if (take(in, "-") || take(in, "~") || take(in, "+")) {
		const char sign = in->at[-1];

		if (!unary(in, depth + 1, value))
			return false;
		*value = sign == '-' ? 0 - *value : sign == '~' ? ~*value : *value;
		return true;
	}
	if (!take(in, "("))
		return number(in, value);
	if (take_cast(in))
		return unary(in, depth + 1, value);
	return expr(in, 0, depth + 1, value) && take(in, ")");
}

struct operator {
	const char *token;
	unsigned rank;
};

static const struct operator *take_operator(struct wmk_scan *in, unsigned least)
{
	static const struct operator all[] = { { "<<", 4 }, { ">>", 4 }, { "|", 1 }, { "^", 2 }, { "&", 3 },
					       { "+", 5 },  { "-", 5 },  { "*", 6 }, { "/", 6 }, { "%", 6 } };

	for (size_t i = 0; i < WMK_ARRAY_LEN(all); i++)
		if (all[i].rank >= least && take(in, all[i].token))
			return &all[i];
	return NULL;
}

static bool apply(const char *token, uint64_t *left, uint64_t right)
{
	switch (token[0]) {
	case '<': *left = right < 64 ? *left << right : 0; return right < 64;
	case '>': *left = right < 64 ? *left >> right : 0; return right < 64;
	case '|': *left |= right; return true;
	case '^': *left ^= right; return true;
	case '&': *left &= right; return true;
	case '+': *left += right; return true;
	case '-': *left -= right; return true;
	case '*': *left *= right; return true;
	default:
		if (!right)
			return false;
		*left = token[0] == '/' ? *left / right : *left % right;
		return true;
	}
}

static bool expr(struct wmk_scan *in, unsigned least, unsigned depth, uint64_t *value)
{
	const struct operator *op;
	uint64_t right;

	if (!unary(in, depth, value))
		return false;
	while ((op = take_operator(in, least)) != NULL)
		if (!expr(in, op->rank + 1, depth + 1, &right) || !apply(op->token, value, right))
			return false;
	return true;
}

/* ── labels ──────────────────────────────────────────────────────────────────────────────────────────── */

/* Converts a value to a number of the field's width. Returns false if the field cannot hold the value. */
static bool fit(const struct wmk_kfield *field, uint64_t value, int64_t *fitted)
{
	const unsigned width = field->size * 8;
	const uint64_t mask = width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1, high = mask & ~(mask >> 1);

	if (value > mask && value < (uint64_t)0 - high)
		return false;
	value &= mask;
	*fitted = (int64_t)(field->is_signed && !field->is_flags && value & high ? value | ~mask : value);
	return true;
}

static const char *put_name(struct wmk_klabels *room, const struct wmk_scan *inside)
{
	const char *name = room->text;
	char *to = room->text;

	if ((size_t)(room->text_end - room->text) <= (size_t)(inside->end - inside->at))
		return NULL;
	for (const char *at = inside->at; at < inside->end && to - name < WMK_NAME_MAX; at++) {
		if (*at == '\\' && at + 1 < inside->end)
			at++;
		if (*at)
			*to++ = *at;
	}
	*to++ = '\0';
	if (!*name)
		return NULL;
	room->text = to;
	return name;
}

static void put(struct wmk_kfield *field, uint64_t value, const struct wmk_scan *inside, struct wmk_klabels *room)
{
	int64_t fitted;

	if (field->n_labels == WMK_KFORMAT_LABELS || room->next == room->end || !fit(field, value, &fitted))
		return;
	/* A field of flags keeps only labels of single bits; a label of several bits adds no information. */
	if (field->is_flags && (!fitted || (uint64_t)fitted & ((uint64_t)fitted - 1)))
		return;
	for (uint32_t i = 0; i < field->n_labels; i++)
		if (field->labels[i].from == fitted)
			return;
	const char *name = put_name(room, inside);

	if (!name)
		return;
	if (!field->n_labels)
		field->labels = room->next;
	*room->next++ = (struct wmk_label){ name, fitted, fitted };
	field->n_labels++;
}

/* Skips the text up to and including the '}' that matches the previous '{'. */
static bool skip_braces(struct wmk_scan *in)
{
	struct wmk_scan inside;

	for (unsigned depth = 1; in->at < in->end;) {
		const char c = *in->at++;

		if (c == '"' && !skip_text(in, &inside))
			return false;
		depth += c == '{';
		depth -= c == '}';
		if (!depth)
			return true;
	}
	return false;
}

/* Parses `{ value, "name" }, ...` up to the end of the macro's arguments. */
static void take_labels(struct wmk_scan *in, struct wmk_kfield *field, struct wmk_klabels *room)
{
	struct wmk_scan inside;
	uint64_t value;

	while (take(in, "{")) {
		struct wmk_scan label = *in;

		if (expr(&label, 0, 0, &value) && take(&label, ",") && take(&label, "\"") &&
		    skip_text(&label, &inside) && take(&label, "}"))
			put(field, value, &inside, room);
		if (!skip_braces(in) || !take(in, ","))
			return;
	}
}

static void take_call(struct wmk_scan *in, bool is_flags, struct wmk_kfield *fields, uint32_t n,
		      struct wmk_klabels *room)
{
	struct wmk_scan word, delimiter;

	if (!take(in, "(") || !take(in, "REC->"))
		return;
	word = take_word(in);
	if (!take(in, ",") || (is_flags && (!take(in, "\"") || !skip_text(in, &delimiter) || !take(in, ","))))
		return;
	for (uint32_t i = 0; i < n; i++)
		if (fields[i].shape == WMK_KSHAPE_NUMBER && !fields[i].n_labels && wmk_scan_is(&word, fields[i].name)) {
			fields[i].is_flags = is_flags;
			take_labels(in, &fields[i], room);
			return;
		}
}

void wmk_klabels_find(const char *print, size_t len, struct wmk_kfield *fields, uint32_t n, struct wmk_klabels *room)
{
	struct wmk_scan in = { print, print + len }, word;

	while (in.at < in.end) {
		if (*in.at == '"') {
			in.at++;
			if (!skip_text(&in, &word))
				return;
		} else if (!wmk_scan_is_word(*in.at)) {
			in.at++;
		} else {
			word = take_word(&in);
			if (wmk_scan_is(&word, "__print_symbolic") || wmk_scan_is(&word, "__print_flags"))
				take_call(&in, wmk_scan_is(&word, "__print_flags"), fields, n, room);
		}
	}
}
