/* SPDX-License-Identifier: MIT */
/*
 * tsdl_scalar.c - integers, floating point numbers, strings, enumerations in TSDL (CTF 1.8.3, sections 4.1 and 7.3).
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "ctf/tsdl_unknown.h"
#include "ctf/tsdl_type.h"
#include "ctf/wide_number.h"

int wmk_tsdl_number(struct wmk_tsdl *in, int64_t *value, bool *is_unsigned)
{
	bool minus = false;
	int got;

	while ((got = wmk_tsdl_take(in, '-')) > 0)
		minus = !minus;
	if (got == 0)
		got = wmk_tsdl_take(in, '+');
	if (got < 0)
		return got;
	if (in->token.kind != WMK_TSDL_NUMBER)
		return wmk_tsdl_wrong(in, "a number");
	if (minus && in->token.number > (uint64_t)INT64_MAX + 1)
		return wmk_tsdl_error(in, -EPROTO, "-%" PRIu64 " has more than 64 bits", in->token.number);
	*value = (int64_t)(minus ? 0 - in->token.number : in->token.number);
	*is_unsigned = !minus;
	return wmk_tsdl_next(in);
}

int wmk_tsdl_alignment(struct wmk_tsdl *in, uint32_t *align)
{
	struct wmk_tsdl_token token = in->token;
	bool is_unsigned;
	int64_t value;
	int err = wmk_tsdl_number(in, &value, &is_unsigned);

	if (err < 0)
		return err;
	if (value > 0 && value <= 1 << 30 && !(value & (value - 1))) {
		*align = (uint32_t)value;
		return 0;
	}
	in->token = token;
	return wmk_tsdl_error(in, -EPROTO, "an alignment is a power of two, not %" PRId64, value);
}

/* ── attributes ──────────────────────────────────────────────────────────────────────────────────────── */

/* A value that is one word, or a number, or a string. */
struct word {
	struct wmk_tsdl_token token;
	const char *text;          /* "" for a number */
	int64_t number;
};

static int word_of(struct wmk_tsdl *in, struct word *word)
{
	bool is_unsigned;

	*word = (struct word){ .token = in->token, .text = "" };
	if (in->token.kind != WMK_TSDL_IDENT && in->token.kind != WMK_TSDL_STRING)
		return wmk_tsdl_number(in, &word->number, &is_unsigned);
	word->text = wmk_tsdl_word(in);
	return word->text ? wmk_tsdl_next(in) : -ENOMEM;
}

static bool is_one_of(const struct word *word, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(word->text, *words) == 0)
			return true;
	return false;
}

static int wrong_word(struct wmk_tsdl *in, const struct word *word, const char *what)
{
	in->token = word->token;
	return wmk_tsdl_wrong(in, what);
}

static int truth(struct wmk_tsdl *in, uint8_t *is)
{
	struct word word;
	int err = word_of(in, &word);

	if (err < 0)
		return err;
	if (is_one_of(&word, (const char *const[]){ "true", "TRUE", NULL }) || (!*word.text && word.number == 1))
		*is = 1;
	else if (is_one_of(&word, (const char *const[]){ "false", "FALSE", NULL }) || (!*word.text && word.number == 0))
		*is = 0;
	else if (!*word.text)
		return (*is = 1), wmk_tsdl_warn(in, &word.token, "a number that is neither 0 nor 1 is taken as true");
	else
		return wrong_word(in, &word, "'true' or 'false'");
	return 0;
}

static int order(struct wmk_tsdl *in, uint8_t *is)
{
	struct word word;
	int err = word_of(in, &word);

	if (err < 0)
		return err;
	if (is_one_of(&word, (const char *const[]){ "be", "network", NULL }))
		*is = WMK_ORDER_BIG;
	else if (strcmp(word.text, "le") == 0)
		*is = WMK_ORDER_LITTLE;
	else if (strcmp(word.text, "native") == 0)
		*is = in->to->class.order;
	else
		return wrong_word(in, &word, "'le', 'be', 'network' or 'native'");
	return 0;
}

static int base(struct wmk_tsdl *in, uint8_t *is)
{
	struct word word;
	int err = word_of(in, &word);

	if (err < 0)
		return err;
	if (is_one_of(&word, (const char *const[]){ "decimal", "dec", "d", "i", "u", NULL }) || word.number == 10)
		*is = 10;
	else if (is_one_of(&word, (const char *const[]){ "hexadecimal", "hex", "x", "X", "p", NULL }) ||
		 word.number == 16)
		*is = 16;
	else if (is_one_of(&word, (const char *const[]){ "octal", "oct", "o", NULL }) || word.number == 8)
		*is = 8;
	else if (is_one_of(&word, (const char *const[]){ "binary", "b", NULL }) || word.number == 2)
		*is = 2;
	else
		return wrong_word(in, &word, "a base: 2, 8, 10, 16, or a word for one of them");
	return 0;
}

static bool is_encoding(const struct word *word, uint8_t *is_text)
{
	const bool is = is_one_of(word, (const char *const[]){ "UTF8", "utf8", "UTF-8", "utf-8", "ASCII", "ascii",
							       NULL });

	if (is_text)
		*is_text = is;
	return is || is_one_of(word, (const char *const[]){ "none", "NONE", NULL });
}

static int encoding(struct wmk_tsdl *in, uint8_t *is_text)
{
	struct word word;
	int err = word_of(in, &word);

	if (err < 0)
		return err;
	return is_encoding(&word, is_text) ? 0 : wrong_word(in, &word, "'UTF8', 'ASCII' or 'none'");
}

/* clock.NAME.value; of other things nothing is known. */
static int map(struct wmk_tsdl *in, const char **clock)
{
	struct wmk_tsdl_token token = in->token;
	const char *path, *last;
	int err;

	if (token.kind == WMK_TSDL_STRING || (token.kind == WMK_TSDL_IDENT && !wmk_tsdl_is_word(in, "clock"))) {
		err = token.kind == WMK_TSDL_STRING ? wmk_tsdl_next(in) : wmk_tsdl_path(in, &path);
		return err < 0 ? err : wmk_tsdl_warn(in, &token, "a map that is no clock.NAME.value is ignored");
	}
	err = wmk_tsdl_path(in, &path);
	if (err < 0)
		return err;
	last = strrchr(path, '.');
	if (strncmp(path, "clock.", 6) != 0 || !last || last < path + 6 || strcmp(last, ".value") != 0) {
		in->token = token;
		return wmk_tsdl_wrong(in, "clock.NAME.value");
	}
	*clock = wmk_scratch_text(&in->to->scratch, path + 6, (size_t)(last - path) - 6);
	struct wmk_ctf_map *at =
		*clock ? wmk_ctf_list_add(in->to, &in->to->maps, sizeof(*at), WMK_CTF_EVENTS_MAX) : NULL;

	if (!at)
		return -ENOMEM;
	*at = (struct wmk_ctf_map){ .clock = *clock, .line = token.line, .column = token.column };
	return 0;
}

/* Unsigned, from 1 to `max`. */
static int bits(struct wmk_tsdl *in, int64_t max, const char *of, int64_t *value)
{
	struct wmk_tsdl_token token = in->token;
	bool is_unsigned;
	int err = wmk_tsdl_number(in, value, &is_unsigned);

	if (err < 0 || (is_unsigned && *value >= 1 && *value <= max))
		return err;
	in->token = token;
	return wmk_tsdl_error(in, -EPROTO, "%s has 1 to %" PRId64 " bits, not %" PRId64, of, max, *value);
}

typedef int (*attribute)(struct wmk_tsdl *in, const char *name, struct wmk_type *type, void *more);

/* The value of a property that this type does not have. */
static int pass_over(struct wmk_tsdl *in, const struct wmk_tsdl_token *at, const char *name)
{
	struct word word;
	const char *path;
	int err = in->token.kind == WMK_TSDL_IDENT ? wmk_tsdl_path(in, &path) : word_of(in, &word);

	return err < 0 ? err : wmk_tsdl_warn(in, at, "the property '%.40s' is unknown in this type, and is ignored",
					     name);
}

/* `{ name = value; ... }` */
static int read_attributes(struct wmk_tsdl *in, attribute take, struct wmk_type *type, void *more)
{
	int err = wmk_tsdl_expect(in, '{', "before the properties of a type"), got = 0;

	while (err >= 0 && (got = wmk_tsdl_take(in, '}')) == 0) {
		const char *name;

		if (in->token.kind != WMK_TSDL_IDENT)
			return wmk_tsdl_wrong(in, "a property of the type, or '}'");
		struct wmk_tsdl_token token = in->token;

		err = wmk_tsdl_path(in, &name);
		if (err >= 0 && wmk_tsdl_find(in, WMK_TSDL_PROPERTY, name))
			err = wmk_tsdl_warn(in, &token, "a second property '%.40s' of a type: the last one counts",
					    name);
		else if (err >= 0)
			err = wmk_tsdl_declare(in, &token, WMK_TSDL_PROPERTY, name, type);
		if (err >= 0)
			err = wmk_tsdl_expect(in, '=', "behind a property's name");
		if (err >= 0) {
			err = take(in, name, type, more);
			if (err < 0)
				return wmk_error_add(err, "the property '%.40s' of a type", name);
		}
		if (err == 0)
			err = pass_over(in, &token, name);
		if (err >= 0)
			err = wmk_tsdl_expect(in, ';', "behind a property");
	}
	return err < 0 ? err : got < 0 ? got : 0;
}

/* In a scope of its own, in which a property is to be once. */
static int attributes(struct wmk_tsdl *in, attribute take, struct wmk_type *type, void *more)
{
	int err = wmk_tsdl_enter(in);

	if (err < 0)
		return err;
	err = read_attributes(in, take, type, more);
	wmk_tsdl_leave(in);
	return err;
}

/* ── the types ───────────────────────────────────────────────────────────────────────────────────────── */

/* 1: taken; 0: there is no such property. */
static int integer_attribute(struct wmk_tsdl *in, const char *name, struct wmk_type *type, void *more)
{
	int64_t value = 0;
	int err;

	(void)more;
	if (strcmp(name, "size") == 0) {
		err = bits(in, WMK_CTF_WIDTH_MAX, "an integer", &value);
		type->width = (uint16_t)value;
	} else if (strcmp(name, "align") == 0) {
		err = wmk_tsdl_alignment(in, &type->align);
	} else if (strcmp(name, "signed") == 0) {
		err = truth(in, &type->is_signed);
	} else if (strcmp(name, "byte_order") == 0) {
		err = order(in, &type->order);
	} else if (strcmp(name, "base") == 0) {
		err = base(in, &type->base);
	} else if (strcmp(name, "encoding") == 0) {
		err = encoding(in, &type->is_text);
	} else if (strcmp(name, "map") == 0) {
		err = map(in, &type->clock);
	} else {
		return 0;
	}
	return err < 0 ? err : 1;
}

int wmk_tsdl_integer(struct wmk_tsdl *in, struct wmk_type *type)
{
	const struct wmk_tsdl_token at = in->word;
	int err;

	*type = (struct wmk_type){ .kind = WMK_TYPE_INT, .order = in->to->class.order, .base = 10 };
	err = attributes(in, integer_attribute, type, NULL);
	if (err < 0)
		return err;
	if (!type->width)
		return wmk_tsdl_error_at(in, &at, "an integer without a size");
	if (!type->align)
		type->align = type->width % 8 ? 1 : 8;
	return 0;
}

struct digits {
	int64_t exponent, mantissa;
};

static int float_attribute(struct wmk_tsdl *in, const char *name, struct wmk_type *type, void *more)
{
	struct digits *digits = more;
	int err;

	if (strcmp(name, "exp_dig") == 0)
		err = bits(in, 64, "an exponent", &digits->exponent);
	else if (strcmp(name, "mant_dig") == 0)
		err = bits(in, WMK_CTF_WIDTH_MAX, "a mantissa", &digits->mantissa);
	else if (strcmp(name, "align") == 0)
		err = wmk_tsdl_alignment(in, &type->align);
	else if (strcmp(name, "byte_order") == 0)
		err = order(in, &type->order);
	else
		return 0;
	return err < 0 ? err : 1;
}

int wmk_tsdl_float(struct wmk_tsdl *in, struct wmk_type *type)
{
	const struct wmk_tsdl_token at = in->word;
	struct digits digits = { 0, 0 };
	int err;

	*type = (struct wmk_type){ .kind = WMK_TYPE_FLOAT, .order = in->to->class.order };
	err = attributes(in, float_attribute, type, &digits);
	if (err < 0)
		return err;
	/*
	 * IEEE 754's binary formats; the mantissa counts the bit that is not there, the exponent's digits not the sign.
	 */
	type->width = (uint16_t)(digits.exponent + digits.mantissa);
	type->is_extended = wmk_ctf_is_long_double(type->width, (uint64_t)digits.mantissa);
	type->attributes = type->is_extended ? WMK_TSDL_UNKNOWN_OF_LONG_DOUBLE : NULL;
	if (type->is_extended ? type->order != WMK_ORDER_LITTLE : !digits.exponent ||
	    wmk_ctf_exponent_bits(type->width) != digits.exponent) {
		in->token = at;
		return wmk_tsdl_error(in, -ENOTSUP,
				      "floating point of exp_dig %" PRId64 ", mant_dig %" PRId64
				      ": IEEE 754's is understood, and x87's, which is little-endian",
				      digits.exponent, digits.mantissa);
	}
	if (!type->align)
		type->align = 8;
	return 0;
}

/* (a string of another encoding has other bytes, and ends by the same one) */
static int string_attribute(struct wmk_tsdl *in, const char *name, struct wmk_type *type, void *more)
{
	const struct wmk_tsdl_token at = in->token;
	struct word word;
	int err;

	(void)more;
	(void)type;
	if (strcmp(name, "encoding") != 0)
		return 0;
	if (at.kind != WMK_TSDL_IDENT && at.kind != WMK_TSDL_STRING)
		return wmk_tsdl_wrong(in, "an encoding");
	err = word_of(in, &word);
	if (err >= 0 && !is_encoding(&word, NULL))
		err = wmk_tsdl_warn(in, &at, "the encoding '%.40s' of a string is unknown: UTF-8 is assumed",
				    word.text);
	return err < 0 ? err : 1;
}

int wmk_tsdl_string(struct wmk_tsdl *in, struct wmk_type *type)
{
	*type = (struct wmk_type){ .kind = WMK_TYPE_STRING, .align = 8 };
	return wmk_tsdl_is(in, '{') ? attributes(in, string_attribute, type, NULL) : 0;
}

/* ── enumerations ────────────────────────────────────────────────────────────────────────────────────── */

/* One end. It has 64 bits: what they cannot tell is not wrapped around where the numbers have more. */
static int label_end(struct wmk_tsdl *in, const struct wmk_type *type, int64_t *number)
{
	const struct wmk_tsdl_token at = in->token;
	bool is_unsigned;
	int err = wmk_tsdl_number(in, number, &is_unsigned);

	if (err >= 0 && type->width > 64 && (type->is_signed ? is_unsigned && *number < 0 : !is_unsigned)) {
		in->token = at;
		return wmk_tsdl_error(in, -ENOTSUP, "a label of a number beyond those of 64 bits");
	}
	return err;
}

/* `= from`, `= from ... to`, or nothing: one more than the label before. */
static int label_range(struct wmk_tsdl *in, const struct wmk_type *type, struct wmk_label *label, int64_t next)
{
	int got = wmk_tsdl_take(in, '='), err;

	label->from = label->to = next;
	if (got <= 0)
		return got;
	err = label_end(in, type, &label->from);
	if (err < 0)
		return err;
	label->to = label->from;
	got = wmk_tsdl_take(in, 'E');
	return got <= 0 ? got : label_end(in, type, &label->to);
}

static bool runs_back(const struct wmk_type *type, const struct wmk_label *label)
{
	return type->is_signed ? label->from > label->to : (uint64_t)label->from > (uint64_t)label->to;
}

static int labels(struct wmk_tsdl *in, struct wmk_type *type)
{
	struct wmk_ctf_list list = { NULL, 0, 0 };
	int64_t next = 0;
	int got;

	while ((got = wmk_tsdl_take(in, '}')) == 0) {
		struct wmk_label *label = wmk_ctf_list_add(in->to, &list, sizeof(*label), WMK_CTF_EVENTS_MAX);

		if (!label)
			return -ENOMEM;
		if (in->token.kind != WMK_TSDL_IDENT && in->token.kind != WMK_TSDL_STRING)
			return wmk_tsdl_wrong(in, "a label, or '}'");
		struct wmk_tsdl_token token = in->token;

		label->name = wmk_tsdl_word(in);
		int err = label->name ? wmk_tsdl_next(in) : -ENOMEM;

		if (err >= 0)
			err = label_range(in, type, label, next);
		if (err < 0)
			return err;
		if (runs_back(type, label)) {
			const int64_t from = label->to;

			label->to = label->from;
			label->from = from;
			if (wmk_tsdl_warn(in, &token, "the range of label '%.40s' ends before it begins",
					  label->name) < 0)
				return -ENOMEM;
		}
		next = (int64_t)((uint64_t)label->to + 1);
		got = wmk_tsdl_take(in, ',');
		if (got < 0)
			return got;
		if (got == 0 && !wmk_tsdl_is(in, '}'))
			return wmk_tsdl_wrong(in, "',' or '}' behind a label");
	}
	type->labels = list.items;
	type->count = list.n;
	return got < 0 ? got : 0;
}

/* `[NAME] [: integer] { ... }`, or `NAME` alone for one that is declared. */
int wmk_tsdl_enum(struct wmk_tsdl *in, struct wmk_type *type)
{
	const char *tag = NULL, *words;
	const struct wmk_type *known;
	const struct wmk_tsdl_token token = in->token;
	struct wmk_tsdl_token base;
	int err, got;

	if (in->token.kind == WMK_TSDL_IDENT) {
		tag = wmk_tsdl_word(in);
		known = tag ? wmk_tsdl_find(in, WMK_TSDL_ENUM_TAG, tag) : NULL;
		err = tag ? wmk_tsdl_next(in) : -ENOMEM;
		if (err < 0)
			return err;
		if (!wmk_tsdl_is(in, ':') && !wmk_tsdl_is(in, '{')) {
			in->token = known ? in->token : token;
			*type = known ? *known : (struct wmk_type){ 0 };
			return known ? 0 : wmk_tsdl_error(in, -EPROTO, "there is no 'enum %.60s'", tag);
		}
	}
	got = wmk_tsdl_take(in, ':');
	base = in->token;
	if (got > 0) {
		err = wmk_tsdl_specifier(in, type, &words);
	} else {
		known = wmk_tsdl_find(in, WMK_TSDL_ALIAS, "int");
		if (got == 0 && !known)
			return wmk_tsdl_error(in, -EPROTO,
					      "an enumeration without an integer type, and there is no type 'int'");
		err = got;
		if (known)
			*type = *known;
	}
	if (err >= 0 && type->kind != WMK_TYPE_INT)
		return wmk_tsdl_error_at(in, &base, "an enumeration of something that is no integer");
	if (err >= 0)
		err = wmk_tsdl_expect(in, '{', "before the labels of an enumeration");
	if (err < 0)
		return err;
	type->kind = WMK_TYPE_ENUM;
	type->is_text = 0;
	err = labels(in, type);
	return err < 0 || !tag ? err : wmk_tsdl_declare(in, &token, WMK_TSDL_ENUM_TAG, tag, type);
}
