/* SPDX-License-Identifier: MIT */
/*
 * lex.c - split a filter's text into tokens. Numbers and texts have C's syntax, without suffixes.
 */
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "filter/syntax_tree.h"

static bool begins_name(char c)
{
	return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool in_name(char c)
{
	return begins_name(c) || (c >= '0' && c <= '9');
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

static int take_name(struct wmk_filter_expr *expr, const char *begin, struct wmk_token *token)
{
	size_t len = 0;
	char *name;

	while (in_name(begin[len]))
		len++;
	name = wmk_filter_alloc(expr, len + 1);
	if (!name)
		return -ENOMEM;
	memcpy(name, begin, len);
	token->text = name;
	token->len = token->text_len = (uint32_t)len;
	return 0;
}

#define DIGITS "0123456789"

/* Return the length of an exponent such as e-10; 0 if the text has no exponent. */
static size_t exponent(const char *at)
{
	const size_t sign = (*at == 'e' || *at == 'E') && (at[1] == '+' || at[1] == '-');
	const size_t digits = *at == 'e' || *at == 'E' ? strspn(at + 1 + sign, DIGITS) : 0;

	return digits ? 1 + sign + digits : 0;
}

/*
 * A fraction or an exponent makes a number a double. The check precedes strtod(), because strtod() also accepts "0x1p3"
 * and "inf".
 */
static bool is_fraction(const char *begin)
{
	const char *at = begin + strspn(begin, DIGITS);

	return *at == '.' || exponent(at);
}

/* strtod_l() uses the "C" locale: the decimal point is '.' in every locale of the process. */
static int take_fraction(const char *begin, struct wmk_token *token)
{
	size_t len = strspn(begin, DIGITS);
	char copy[128];
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);

	if (begin[len] == '.')
		len += 1 + strspn(begin + len + 1, DIGITS);
	len += exponent(begin + len);
	if (len >= sizeof(copy) || !c) {
		if (c)
			freelocale(c);
		return wmk_errorx(c ? -EINVAL : -ENOMEM, "column %u: the number has more than %zu digits",
				  token->column, sizeof(copy) - 1);
	}
	memcpy(copy, begin, len);
	copy[len] = '\0';
	token->real = strtod_l(copy, NULL, c);
	freelocale(c);
	token->kind = WMK_TOKEN_DOUBLE;
	token->len = (uint32_t)len;
	return 0;
}

static int take_number(const char *begin, struct wmk_token *token)
{
	unsigned base = 10;
	const char *at = begin;
	int first;

	if (is_fraction(begin))
		return take_fraction(begin, token);
	if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
		base = 16;
	else if (at[0] == '0' && (at[1] == 'b' || at[1] == 'B'))
		base = 2;
	else if (at[0] == '0')
		base = 8;
	if (base == 16 || base == 2)
		at += 2;
	first = digit_of(*at);
	for (; digit_of(*at) < (int)base; at++)
		if (__builtin_mul_overflow(token->number, (uint64_t)base, &token->number) ||
		    __builtin_add_overflow(token->number, (uint64_t)digit_of(*at), &token->number))
			return wmk_errorx(-EINVAL, "column %u: the number is above 18446744073709551615",
					  token->column);
	if (first >= (int)base || in_name(*at))
		return wmk_errorx(
			-EINVAL, "column %u: '%.*s' is not a number", token->column,
			(int)strspn(begin, DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"), begin);
	token->kind = WMK_TOKEN_NUMBER;
	token->is_unsigned = token->number > INT64_MAX;
	token->len = (uint32_t)(at - begin);
	return 0;
}

/*
 * Decode an escape sequence and advance *at past the sequence. *at begins at the character after the backslash. -1: not
 * an escape sequence of C.
 */
static int escaped(const char **at)
{
	static const char names[] = "abefnrtv\\\"'?*", values[] = "\a\b\033\f\n\r\t\v\\\"'?*";
	const char *found = **at ? strchr(names, **at) : NULL;
	int value = 0;

	if (found) {
		++*at;
		return (unsigned char)values[found - names];
	}
	if (**at == 'x' && digit_of((*at)[1]) < 16) {
		++*at;
		for (int i = 0; i < 2 && digit_of(**at) < 16; i++)
			value = value * 16 + digit_of(*(*at)++);
		return value;
	}
	if (**at < '0' || **at > '7')
		return -1;
	for (int i = 0; i < 3 && **at >= '0' && **at <= '7'; i++)
		value = value * 8 + digit_of(*(*at)++);
	return value & 255;
}

static int take_text(struct wmk_filter_expr *expr, const char *begin, struct wmk_token *token)
{
	/*
	 * The pattern is never longer than its source: an escape sequence of two or more characters becomes at most two
	 * characters.
	 */
#ifdef WMK_PLANTED_BUG_FILTER_TEXT              /* a planted bug that the fuzzer must find */
	char *to = wmk_filter_alloc(expr, strcspn(begin + 1, "\""));
#else
	char *to = wmk_filter_alloc(expr, strlen(begin));
#endif
	const char *at = begin + 1;
	int c;

	if (!to)
		return -ENOMEM;
	token->kind = WMK_TOKEN_TEXT;
	token->text = to;
	while (*at && *at != '"') {
		if (*at == '*') {
			token->has_star = true;
			*to++ = *at++;
			continue;
		}
		c = (unsigned char)*at++;
		if (c == '\\') {
			c = escaped(&at);
			if (c < 0)
				return wmk_errorx(-EINVAL,
						  "column %u: unknown escape sequence in a text",
						  token->column + (uint32_t)(at - begin) - 1);
		}
		if (c == '*' || c == '\\')
			*to++ = '\\';
		*to++ = (char)c;
	}
	if (!*at)
		return wmk_errorx(-EINVAL, "column %u: unterminated text: the closing '\"' is missing",
				  token->column);
	token->text_len = (uint32_t)(to - token->text);
	token->len = (uint32_t)(at + 1 - begin);
	return 0;
}

static int take_character(const char *begin, struct wmk_token *token)
{
	const char *at = begin + 1;
	int c = (unsigned char)*at;

	if (c && c != '\'') {
		at++;
		if (c == '\\')
			c = escaped(&at);
	}
	if (c <= 0 || *at != '\'' || at == begin + 1)
		return wmk_errorx(-EINVAL, "column %u: expected one character and a closing '", token->column);
	token->kind = WMK_TOKEN_NUMBER;
	token->number = (uint64_t)(int64_t)(signed char)c;
	token->len = (uint32_t)(at + 1 - begin);
	return 0;
}

int wmk_filter_lex(struct wmk_filter_expr *expr, uint32_t *at, struct wmk_token *token)
{
	static const char two[][3] = { "||", "&&", "==", "!=", "<=", ">=", "<<", ">>" };
	const char *begin;
	int err = 0;

	*at += (uint32_t)strspn(expr->text + *at, " \t\n\r\f\v");
	begin = expr->text + *at;
	*token = (struct wmk_token){ .kind = WMK_TOKEN_OP, .column = *at + 1, .len = 1 };
	if (!*begin) {
		token->kind = WMK_TOKEN_END;
		token->len = 0;
	} else if (begins_name(*begin)) {
		token->kind = WMK_TOKEN_NAME;
		err = take_name(expr, begin, token);
	} else if (*begin == '$' && begins_name(begin[1])) {
		token->kind = WMK_TOKEN_DOLLAR;
		err = take_name(expr, begin + 1, token);
		token->len++;
	} else if ((*begin >= '0' && *begin <= '9') || (*begin == '.' && begin[1] >= '0' && begin[1] <= '9')) {
		err = take_number(begin, token);
	} else if (*begin == '"') {
		err = take_text(expr, begin, token);
	} else if (*begin == '\'') {
		err = take_character(begin, token);
	} else if (!strchr("|&=!<>+-*/%^~?:()[].,", *begin)) {
		return wmk_errorx(-EINVAL, "column %u: unexpected character '%.1s'", token->column,
				  (*begin & 0x80) || *begin < ' ' ? "?" : begin);
	}
	for (size_t i = 0; token->kind == WMK_TOKEN_OP && i < WMK_ARRAY_LEN(two); i++)
		if (!strncmp(begin, two[i], 2))
			token->len = 2;
	*at += token->len;
	return err == -ENOMEM ? wmk_error(err, "no memory for a filter") : err;
}
