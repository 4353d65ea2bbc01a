/* SPDX-License-Identifier: MIT */
/*
 * format.c - parse printf formats (see format.h). The parser rejects an unknown conversion with an error message, even
 * if the compiler accepts the conversion. A wrong width of one argument would shift all later fields.
 */
#include "schema/format.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <string.h>

struct format_parser {
	const char *at;
	const char *text;        /* beginning of the text before the current conversion */
	struct wmk_format_arg *args;
	unsigned n, max;
};

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Use the last word of [from, to) as the field's name, unless the word begins with a digit. */
static void name_find(const char *from, const char *to, struct wmk_format_arg *arg)
{
	while (to > from && !is_word(to[-1]))
		to--;
	const char *end = to;
	while (to > from && is_word(to[-1]))
		to--;
	if (to < end && !(*to >= '0' && *to <= '9')) {
		arg->name = to;
		arg->name_len = (size_t)(end - to);
	}
}

static struct wmk_format_arg *arg_add(struct format_parser *p, const char *percent, enum wmk_format_class class,
				      const char *suffix)
{
#ifdef WMK_PLANTED_BUG
	if (p->n > p->max)       /* a planted bug that the fuzzer must find */
#else
	if (p->n == p->max)
#endif
		return NULL;
	struct wmk_format_arg *arg = &p->args[p->n++];
	*arg = (struct wmk_format_arg){ .class = (uint8_t)class, .base = 10, .max = UINT32_MAX, .suffix = suffix };
	name_find(p->text, percent, arg);
	return arg;
}

/*
 * Parse a number, or a '*', which adds an argument. Returns the number (at most UINT32_MAX - 1), -1 if there is no
 * number, -2 for '*', or -3 if the argument of '*' exceeds the limit.
 */
static int64_t number(struct format_parser *p, const char *percent, const char *suffix)
{
	int64_t v = -1;

	if (*p->at == '*') {
		p->at++;
		struct wmk_format_arg *arg = arg_add(p, percent, WMK_FORMAT_INT, suffix);
		if (!arg)
			return -3;
		arg->is_signed = true;
		return -2;
	}
	for (; *p->at >= '0' && *p->at <= '9'; p->at++) {
		v = (v < 0 ? 0 : v * 10) + (*p->at - '0');
		if (v >= (int64_t)UINT32_MAX)
			v = (int64_t)UINT32_MAX - 1;
	}
	return v;
}

static int conversion_arg(struct format_parser *p, const char *percent, char c, int64_t precision)
{
	static const struct {
		char c;
		uint8_t class, base;
		bool is_signed;
	} table[] = {
		{ 'd', WMK_FORMAT_INT, 10, true },
		{ 'i', WMK_FORMAT_INT, 10, true },
		{ 'u', WMK_FORMAT_INT, 10, false },
		{ 'o', WMK_FORMAT_INT, 8, false },
		{ 'x', WMK_FORMAT_INT, 16, false },
		{ 'X', WMK_FORMAT_INT, 16, false },
		{ 'c', WMK_FORMAT_INT, 10, true },
		{ 'C', WMK_FORMAT_INT, 10, false },
		{ 'p', WMK_FORMAT_POINTER, 16, false },
		{ 's', WMK_FORMAT_STRING, 0, false },
		{ 'S', WMK_FORMAT_POINTER, 16, false },
		{ 'a', WMK_FORMAT_FLOAT, 10, true },
		{ 'A', WMK_FORMAT_FLOAT, 10, true },
		{ 'e', WMK_FORMAT_FLOAT, 10, true },
		{ 'E', WMK_FORMAT_FLOAT, 10, true },
		{ 'f', WMK_FORMAT_FLOAT, 10, true },
		{ 'F', WMK_FORMAT_FLOAT, 10, true },
		{ 'g', WMK_FORMAT_FLOAT, 10, true },
		{ 'G', WMK_FORMAT_FLOAT, 10, true },
	};
	unsigned i = 0;

	while (i < WMK_ARRAY_LEN(table) && table[i].c != c)
		i++;
	if (i == WMK_ARRAY_LEN(table))
		return wmk_error(-EINVAL,
				 c ? "format '%.60s': the conversion at column %td cannot be recorded"
				   : "format '%.60s': the conversion at column %td is incomplete",
				 p->text, percent - p->text + 1);
	struct wmk_format_arg *arg = arg_add(p, percent, table[i].class, "");
	if (!arg)
		return -E2BIG;
	arg->base = table[i].base;
	arg->is_signed = table[i].is_signed;
	if (c == 's') {
		arg->max_is_arg = precision == -2;
		arg->max = precision >= 0 ? (uint32_t)precision : UINT32_MAX;
	}
	return 0;
}

/* Parse one conversion; p->at is the position after the '%'. */
static int conversion(struct format_parser *p, const char *percent)
{
	int64_t precision = -1;
	bool wide = false;

	p->at += strspn(p->at, "-+ #0'I");
	int64_t width = number(p, percent, "_width");
	if (width >= 0 && *p->at == '$')
		return wmk_error(-EINVAL, "format '%.60s': positional arguments cannot be recorded", p->text);
	if (*p->at == '.') {
		p->at++;
		precision = number(p, percent, "_precision");
		precision = precision == -1 ? 0 : precision;
	}
	if (width == -3 || precision == -3)
		return -E2BIG;
	for (; *p->at && strchr("hlqLjzt", *p->at); p->at++)
		wide = wide || *p->at == 'l';
	char c = *p->at;
	if (c == 's' && wide)
		c = 'S';
	if (c)
		p->at++;
	return c == '%' || c == 'm' ? 0 : conversion_arg(p, percent, c, precision);
}

int wmk_format_parse(const char *format, struct wmk_format_arg *args, unsigned max)
{
	struct format_parser p = { format, format, args, 0, max };
	const char *percent;

	while ((percent = strchr(p.at, '%')) != NULL) {
		unsigned before = p.n;

		p.at = percent + 1;
		int err = conversion(&p, percent);
		if (err == -E2BIG)
			return wmk_error(-EINVAL, "format '%.60s': more than %u arguments", format, max);
		if (err < 0)
			return err;
		if (p.n != before || p.at[-1] != '%')
			p.text = p.at;
	}
	return (int)p.n;
}
