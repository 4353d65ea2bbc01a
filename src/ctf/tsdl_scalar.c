/* SPDX-License-Identifier: MIT */
/*
 * tsdl_scalar.c - parse integers, floating point numbers, strings and enumerations of TSDL (CTF 1.8.3, sections 4.1 and
 * 7.3).
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "ctf/tsdl_unknown.h"
#include "ctf/tsdl_type.h"
#include "ctf/wide_number.h"

int64_t wmk_tsdl_number(struct wmk_tsdl *in, bool *is_unsigned)
{
	bool minus = false;
	uint64_t number;

	while (wmk_tsdl_take(in, '-'))
		minus = !minus;
	wmk_tsdl_take(in, '+');
	number = in->token.number;
	if (in->token.kind != WMK_TSDL_NUMBER)
		wmk_tsdl_wrong(in, NULL, "a number");
	else if (minus && number > (uint64_t)INT64_MAX + 1)
		wmk_tsdl_error(in, NULL, -EPROTO, "-%" PRIu64 " has more than 64 bits", number);
	wmk_tsdl_next(in);
	*is_unsigned = !minus;
	return (int64_t)(minus ? 0 - number : number);
}

void wmk_tsdl_alignment(struct wmk_tsdl *in, uint32_t *align)
{
	const struct wmk_tsdl_token token = in->token;
	bool is_unsigned;
	const int64_t value = wmk_tsdl_number(in, &is_unsigned);

	if (value > 0 && value <= 1 << 30 && !(value & (value - 1)))
		*align = (uint32_t)value;
	else
		wmk_tsdl_error(in, &token, -EPROTO, "an alignment must be a power of two, not %" PRId64, value);
}

/* ── attributes ──────────────────────────────────────────────────────────────────────────────────────── */

/* The value of a property: a word, a number or a string. */
struct property_value {
	struct wmk_tsdl_token token;
	const char *text;          /* "" for a number */
	int64_t number;
};

static struct property_value take_word(struct wmk_tsdl *in)
{
	struct property_value word = { .token = in->token, .text = "" };
	bool is_unsigned;

	if (in->token.kind == WMK_TSDL_IDENT || in->token.kind == WMK_TSDL_STRING)
		word.text = wmk_tsdl_take_text(in);
	else
		word.number = wmk_tsdl_number(in, &is_unsigned);
	return word;
}

static bool is_one_of(const struct property_value *word, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(word->text, *words) == 0)
			return true;
	return false;
}

static void truth(struct wmk_tsdl *in, uint8_t *is)
{
	const struct property_value word = take_word(in);

	const bool is_true = is_one_of(&word, (const char *const[]){ "true", "TRUE", NULL }) ||
			     (!*word.text && word.number == 1);
	const bool is_false = is_one_of(&word, (const char *const[]){ "false", "FALSE", NULL }) ||
			      (!*word.text && word.number == 0);

	*is = !is_false;
	if (!is_true && !is_false && *word.text)
		wmk_tsdl_wrong(in, &word.token, "'true' or 'false'");
	else if (!is_true && !is_false)
		wmk_tsdl_warn(in, &word.token, "a number other than 0 and 1 is read as true");
}

static void order(struct wmk_tsdl *in, uint8_t *is)
{
	const struct property_value word = take_word(in);

	if (is_one_of(&word, (const char *const[]){ "be", "network", NULL }))
		*is = WMK_ORDER_BIG;
	else if (strcmp(word.text, "le") == 0)
		*is = WMK_ORDER_LITTLE;
	else if (strcmp(word.text, "native") == 0)
		*is = in->to->class.order;
	else
		wmk_tsdl_wrong(in, &word.token, "'le', 'be', 'network' or 'native'");
}

static void base(struct wmk_tsdl *in, uint8_t *is)
{
	const struct property_value word = take_word(in);

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
		wmk_tsdl_wrong(in, &word.token, "a base: 2, 8, 10, 16, or a word for one of them");
}

static bool is_encoding(const struct property_value *word, uint8_t *is_text)
{
	const bool is = is_one_of(word, (const char *const[]){ "UTF8", "utf8", "UTF-8", "utf-8", "ASCII", "ascii",
							       NULL });

	if (is_text)
		*is_text = is;
	return is || is_one_of(word, (const char *const[]){ "none", "NONE", NULL });
}

static void encoding(struct wmk_tsdl *in, uint8_t *is_text)
{
	const struct property_value word = take_word(in);

	if (!is_encoding(&word, is_text))
		wmk_tsdl_wrong(in, &word.token, "'UTF8', 'ASCII' or 'none'");
}

/* Parse the value clock.NAME.value of the property `map`; the parser ignores other values. */
static void map(struct wmk_tsdl *in, const char **clock)
{
	const struct wmk_tsdl_token token = in->token;
	const bool is_clock = wmk_tsdl_is_word(in, "clock") || token.kind != WMK_TSDL_IDENT;
	const char *path = token.kind == WMK_TSDL_STRING ? wmk_tsdl_take_text(in) : wmk_tsdl_path(in),
		   *last = strrchr(path, '.');
	struct wmk_ctf_map *at;

	if (token.kind == WMK_TSDL_STRING || !is_clock) {
		wmk_tsdl_warn(in, &token, "a map other than clock.NAME.value: ignored");
		return;
	}
	if (strncmp(path, "clock.", 6) != 0 || !last || last < path + 6 || strcmp(last, ".value") != 0) {
		wmk_tsdl_wrong(in, &token, "clock.NAME.value");
		return;
	}
	*clock = wmk_ctf_copy_text(in->to, path + 6, (size_t)(last - path) - 6);
	at = wmk_ctf_list_add(in->to, &in->to->maps, sizeof(*at), WMK_CTF_EVENTS_MAX);
	if (at)
		*at = (struct wmk_ctf_map){ .clock = *clock, .line = token.line, .column = token.column };
}

/* Parse a number of bits from 1 to `max`. */
static int64_t bits(struct wmk_tsdl *in, int64_t max, const char *of)
{
	const struct wmk_tsdl_token token = in->token;
	bool is_unsigned;
	const int64_t value = wmk_tsdl_number(in, &is_unsigned);

	if (!is_unsigned || value < 1 || value > max)
		wmk_tsdl_error(in, &token, -EPROTO, "%s must have 1 to %" PRId64 " bits, not %" PRId64, of, max, value);
	return value;
}

/* Parse the value of a property. Returns false and takes no token if the type has no such property. */
typedef bool (*attribute)(struct wmk_tsdl *in, const char *name, struct wmk_type *type, void *more);

/* Skip the value of a property that does not exist for the type. */
static void pass_over(struct wmk_tsdl *in, const struct wmk_tsdl_token *at, const char *name)
{
	if (in->token.kind == WMK_TSDL_IDENT)
		wmk_tsdl_path(in);
	else
		take_word(in);
	wmk_tsdl_warn(in, at, "unknown property '%.40s' of this type: ignored", name);
}

/* Parse `name = value;`. */
static void read_attribute(struct wmk_tsdl *in, attribute take, struct wmk_type *type, void *more)
{
	const struct wmk_tsdl_token token = in->token;
	const char *name;
	bool is_known;

	if (token.kind != WMK_TSDL_IDENT)
		wmk_tsdl_wrong(in, NULL, "a property of the type, or '}'");
	name = wmk_tsdl_path(in);
	if (wmk_tsdl_find(in, WMK_TSDL_PROPERTY, name))
		wmk_tsdl_warn(in, &token, "duplicate property '%.40s' of a type: the last one counts", name);
	else
		wmk_tsdl_declare(in, &token, WMK_TSDL_PROPERTY, name, type);
	wmk_tsdl_expect(in, '=', "after a property's name");
	if (in->to->err < 0)
		return;
	is_known = take(in, name, type, more);
	if (in->to->err < 0)
		wmk_error_add(in->to->err, "property '%.40s' of a type", name);
	else if (!is_known)
		pass_over(in, &token, name);
	wmk_tsdl_expect(in, ';', "after a property");
}

/* Parse `{ name = value; ... }`, in a scope of its own to detect duplicate properties. */
static void attributes(struct wmk_tsdl *in, attribute take, struct wmk_type *type, void *more)
{
	wmk_tsdl_enter(in);
	wmk_tsdl_expect(in, '{', "before the properties of a type");
	while (wmk_tsdl_before(in, '}'))
		read_attribute(in, take, type, more);
	wmk_tsdl_leave(in);
}

/* ── the types ───────────────────────────────────────────────────────────────────────────────────────── */

static bool integer_attribute(struct wmk_tsdl *in, const char *name, struct wmk_type *type, void *more)
{
	(void)more;
	if (strcmp(name, "size") == 0)
		type->width = (uint16_t)bits(in, WMK_CTF_WIDTH_MAX, "an integer");
	else if (strcmp(name, "align") == 0)
		wmk_tsdl_alignment(in, &type->align);
	else if (strcmp(name, "signed") == 0)
		truth(in, &type->is_signed);
	else if (strcmp(name, "byte_order") == 0)
		order(in, &type->order);
	else if (strcmp(name, "base") == 0)
		base(in, &type->base);
	else if (strcmp(name, "encoding") == 0)
		encoding(in, &type->is_text);
	else if (strcmp(name, "map") == 0)
		map(in, &type->clock);
	else
		return false;
	return true;
}

void wmk_tsdl_integer(struct wmk_tsdl *in, struct wmk_type *type)
{
	const struct wmk_tsdl_token at = in->word;

	*type = (struct wmk_type){ .kind = WMK_TYPE_INT, .order = in->to->class.order, .base = 10 };
	attributes(in, integer_attribute, type, NULL);
	if (!type->width)
		wmk_tsdl_error(in, &at, -EPROTO, "the integer has no size");
	if (!type->align)
		type->align = type->width % 8 ? 1 : 8;
}

struct digits {
	int64_t exponent, mantissa;
};

static bool float_attribute(struct wmk_tsdl *in, const char *name, struct wmk_type *type, void *more)
{
	struct digits *digits = more;

	if (strcmp(name, "exp_dig") == 0)
		digits->exponent = bits(in, 64, "an exponent");
	else if (strcmp(name, "mant_dig") == 0)
		digits->mantissa = bits(in, WMK_CTF_WIDTH_MAX, "a mantissa");
	else if (strcmp(name, "align") == 0)
		wmk_tsdl_alignment(in, &type->align);
	else if (strcmp(name, "byte_order") == 0)
		order(in, &type->order);
	else
		return false;
	return true;
}

void wmk_tsdl_float(struct wmk_tsdl *in, struct wmk_type *type)
{
	const struct wmk_tsdl_token at = in->word;
	struct digits digits = { 0, 0 };

	*type = (struct wmk_type){ .kind = WMK_TYPE_FLOAT, .order = in->to->class.order };
	attributes(in, float_attribute, type, &digits);
	/* mant_dig counts the implicit first bit of the mantissa; exp_dig does not count the sign */
	type->width = (uint16_t)(digits.exponent + digits.mantissa);
	type->is_extended = wmk_ctf_is_long_double(type->width, (uint64_t)digits.mantissa);
	type->attributes = type->is_extended ? WMK_TSDL_UNKNOWN_OF_LONG_DOUBLE : NULL;
	if (type->is_extended ? type->order != WMK_ORDER_LITTLE : !digits.exponent ||
	    wmk_ctf_exponent_bits(type->width) != digits.exponent)
		wmk_tsdl_error(in, &at, -ENOTSUP,
			       "unsupported floating point number of exp_dig %" PRId64 ", mant_dig %" PRId64
			       " (supported: formats of IEEE 754, and x87 in little-endian)",
			       digits.exponent, digits.mantissa);
	if (!type->align)
		type->align = 8;
}

/* (the encoding does not change the end of a string) */
static bool string_attribute(struct wmk_tsdl *in, const char *name, struct wmk_type *type, void *more)
{
	struct property_value word;

	(void)more;
	(void)type;
	if (strcmp(name, "encoding") != 0)
		return false;
	if (in->token.kind != WMK_TSDL_IDENT && in->token.kind != WMK_TSDL_STRING)
		wmk_tsdl_wrong(in, NULL, "an encoding");
	word = take_word(in);
	if (!is_encoding(&word, NULL))
		wmk_tsdl_warn(in, &word.token, "unknown encoding '%.40s' of a string: read as UTF-8",
			      word.text);
	return true;
}

void wmk_tsdl_string(struct wmk_tsdl *in, struct wmk_type *type)
{
	*type = (struct wmk_type){ .kind = WMK_TYPE_STRING, .align = 8 };
	if (wmk_tsdl_is(in, '{'))
		attributes(in, string_attribute, type, NULL);
}

/* ── enumerations ────────────────────────────────────────────────────────────────────────────────────── */

/* Parse a bound of 64 bits. For a type of more than 64 bits, a bound that does not fit 64 bits is an error. */
static int64_t label_end(struct wmk_tsdl *in, const struct wmk_type *type)
{
	const struct wmk_tsdl_token at = in->token;
	bool is_unsigned;
	const int64_t number = wmk_tsdl_number(in, &is_unsigned);

	if (type->width > 64 && (type->is_signed ? is_unsigned && number < 0 : !is_unsigned))
		wmk_tsdl_error(in, &at, -ENOTSUP, "the value of the label does not fit 64 bits");
	return number;
}

/*
 * Parse `= from`, `= from ... to`, or nothing. Without a range, the value of the label is one more than the end of the
 * previous label.
 */
static void label_range(struct wmk_tsdl *in, const struct wmk_type *type, struct wmk_label *label, int64_t next)
{
	const bool is_given = wmk_tsdl_take(in, '=');

	label->from = is_given ? label_end(in, type) : next;
	label->to = is_given && wmk_tsdl_take(in, 'E') ? label_end(in, type) : label->from;
}

static bool runs_back(const struct wmk_type *type, const struct wmk_label *label)
{
	return type->is_signed ? label->from > label->to : (uint64_t)label->from > (uint64_t)label->to;
}

/* Parse `label [range]`; `next` is the value of a label without a range. */
static void read_label(struct wmk_tsdl *in, const struct wmk_type *type, struct wmk_label *label, int64_t next)
{
	const struct wmk_tsdl_token token = in->token;

	if (token.kind != WMK_TSDL_IDENT && token.kind != WMK_TSDL_STRING) {
		wmk_tsdl_wrong(in, NULL, "a label, or '}'");
		return;
	}
	label->name = wmk_tsdl_take_text(in);
	label_range(in, type, label, next);
	if (runs_back(type, label)) {
		const int64_t from = label->to;

		label->to = label->from;
		label->from = from;
		wmk_tsdl_warn(in, &token, "the range of label '%.40s' is reversed", label->name);
	}
	if (!wmk_tsdl_take(in, ',') && !wmk_tsdl_is(in, '}'))
		wmk_tsdl_wrong(in, NULL, "',' or '}' after a label");
}

static void labels(struct wmk_tsdl *in, struct wmk_type *type)
{
	struct wmk_ctf_list list = { NULL, 0, 0 };
	struct wmk_label *label;
	int64_t next = 0;

	while (wmk_tsdl_before(in, '}') &&
	       (label = wmk_ctf_list_add(in->to, &list, sizeof(*label), WMK_CTF_EVENTS_MAX))) {
		read_label(in, type, label, next);
		next = (int64_t)((uint64_t)label->to + 1);
	}
	type->labels = list.items;
	type->count = list.n;
}

/* Parse `[NAME] [: integer] { ... }`, or `NAME` alone, which must be declared. */
void wmk_tsdl_enum(struct wmk_tsdl *in, struct wmk_type *type)
{
	const struct wmk_tsdl_token token = in->token;
	const char *tag = token.kind == WMK_TSDL_IDENT ? wmk_tsdl_take_text(in) : NULL, *words;
	const struct wmk_type *known = wmk_tsdl_find(in, WMK_TSDL_ALIAS, "int");
	struct wmk_tsdl_token base;
	bool has_base;

	if (tag && !wmk_tsdl_is(in, ':') && !wmk_tsdl_is(in, '{')) {
		wmk_tsdl_known_tag(in, WMK_TSDL_ENUM_TAG, "enum", tag, &token, type);
		return;
	}
	has_base = wmk_tsdl_take(in, ':');
	base = in->token;
	if (has_base)
		wmk_tsdl_specifier(in, type, &words);
	else if (known)
		*type = *known;
	else
		wmk_tsdl_error(in, NULL, -EPROTO,
			       "the enumeration has no integer type, and the type 'int' is not declared");
	if (type->kind != WMK_TYPE_INT)
		wmk_tsdl_error(in, &base, -EPROTO, "the type of an enumeration must be an integer");
	wmk_tsdl_expect(in, '{', "before the labels of an enumeration");
	type->kind = WMK_TYPE_ENUM;
	type->is_text = 0;
	labels(in, type);
	if (tag)
		wmk_tsdl_declare(in, &token, WMK_TSDL_ENUM_TAG, tag, type);
}
