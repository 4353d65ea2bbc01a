/* SPDX-License-Identifier: MIT */
/* message.c - print values by a format of printf (see message.h). */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "read/message.h"
#include "read/print_state.h"

#define WIDEST 1024                /* maximum of a width or a precision, in characters */
#define NUMBER_ROOM 512u           /* room for a number without width and precision: DBL_MAX in "%f" has 309 digits */

/* One conversion of the format. */
struct conversion {
	char flags[8];
	int width, precision;      /* -1: none */
	int halves;                /* number of 'h' in the length modifier */
	char letter;
};

struct message_maker {
	struct wmk_ctf_walk *walk;
	struct wmk_print_words words;
};

/* Read the next value. Returns false at the end of the values, or on damage. */
static bool next_value(struct message_maker *m, struct wmk_ctf_item *item)
{
	return wmk_ctf_next(m->walk, item) && !item->is_end && item->op->code < WMK_CTF_STRUCT && !item->is_wide;
}

static bool is_integer(const struct wmk_ctf_item *item)
{
	return item->op->code == WMK_CTF_INT || item->op->code == WMK_CTF_BOOL;
}

static int limited(int64_t n)
{
	return n > WIDEST ? WIDEST : n < -WIDEST ? -WIDEST : (int)n;
}

/*
 * Read decimal digits, or read a '*', which takes the next value of the payload. Without either, *n is unchanged.
 * False: '*' has no integer value.
 */
static bool take_number(struct message_maker *m, const char **at, int *n)
{
	struct wmk_ctf_item item;
	int64_t value = 0;

	if (**at == '*') {
		(*at)++;
		if (!next_value(m, &item) || !is_integer(&item))
			return false;
		*n = limited(item.value.i);
		return true;
	}
	if (**at < '0' || **at > '9')
		return true;
	for (; **at >= '0' && **at <= '9'; (*at)++)
		value = limited(value * 10 + (**at - '0'));
	*n = (int)value;
	return true;
}

/* Parse a conversion after its '%'. */
static bool take_conversion(struct message_maker *m, const char **at, struct conversion *c)
{
	size_t n = 0;

	*c = (struct conversion){ .width = -1, .precision = -1 };
	for (; **at && strchr("-+ #0'I", **at); (*at)++)
		if (**at != '\'' && **at != 'I' && !strchr(c->flags, **at))
			c->flags[n++] = **at;
	if (!take_number(m, at, &c->width))
		return false;
	if (c->width < -1) {
		c->width = -c->width;
		if (!strchr(c->flags, '-'))
			c->flags[n] = '-';
	}
	if (**at == '.') {
		(*at)++;
		c->precision = 0;
		if (!take_number(m, at, &c->precision))
			return false;
	}
	for (; **at && strchr("hlqLjzt", **at); (*at)++)
		c->halves += **at == 'h';
	c->letter = **at;
	*at += c->letter != '\0';
	return c->letter != '\0';
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
/* `value` must have the type that `length` and `letter_` declare, so each caller allows only letters of one type. */
#define ADD_NUMBER(m, c, length, letter_, value) do { \
	char spec_[24], text_[NUMBER_ROOM + 2 * WIDEST]; \
	\
	snprintf(spec_, sizeof(spec_), "%%%s*.*" length "%c", (c)->flags, letter_); \
	wmk_print_add_bytes(&(m)->words, text_, (size_t)snprintf(text_, sizeof(text_), spec_, \
		(c)->width < 0 ? 0 : (c)->width, (c)->precision, value)); \
} while (0)

static void add_integer(struct message_maker *m, const struct conversion *c, uint64_t value)
{
	if (c->letter == 'd' || c->letter == 'i') {
		const int64_t n = c->halves >= 2 ? (int8_t)value : c->halves ? (int16_t)value : (int64_t)value;

		ADD_NUMBER(m, c, "ll", c->letter, (long long)n);
		return;
	}
	value &= c->halves >= 2 ? 0xff : c->halves ? 0xffff : UINT64_MAX;
	ADD_NUMBER(m, c, "ll", c->letter, (unsigned long long)value);
}

static void add_real(struct message_maker *m, const struct conversion *c, double value)
{
	ADD_NUMBER(m, c, "", c->letter, value);
}
#pragma GCC diagnostic pop

static void add_padded(struct message_maker *m, const struct conversion *c, const char *s, size_t len)
{
	static const char blanks[] = "                ";
	size_t pad = c->width > 0 && (size_t)c->width > len ? (size_t)c->width - len : 0;
	const bool is_left = strchr(c->flags, '-') != NULL;

	if (is_left)
		wmk_print_add_bytes(&m->words, s, len);
	while (pad) {
		const size_t n = pad < sizeof(blanks) - 1 ? pad : sizeof(blanks) - 1;

		wmk_print_add_bytes(&m->words, blanks, n);
		pad -= n;
	}
	if (!is_left)
		wmk_print_add_bytes(&m->words, s, len);
}

static void add_pointer(struct message_maker *m, const struct conversion *c, uint64_t value)
{
	char text[24];

	if (value)
		snprintf(text, sizeof(text), "0x%llx", (unsigned long long)value);
	else
		strcpy(text, "(nil)");
	add_padded(m, c, text, strlen(text));
}

/* Returns false if the value does not have the type of the conversion. */
static bool add_value(struct message_maker *m, const struct conversion *c, const struct wmk_ctf_item *item)
{
	const bool is_text = (item->op->code == WMK_CTF_STRING || item->op->code == WMK_CTF_TEXT) &&
			     item->op->type->encoding == WMK_ENCODING_UTF8;
	const size_t most = c->precision >= 0 ? (size_t)c->precision : SIZE_MAX;
	const size_t len = !is_text ? 0 : item->len < most ? item->len : most;
	char character[8];
	size_t n;

	switch (c->letter) {
	case 'd': case 'i': case 'u': case 'o': case 'x': case 'X':
		if (is_integer(item))
			add_integer(m, c, item->value.u);
		return is_integer(item);
	case 'c':
		character[0] = (char)item->value.u;
		if (is_integer(item))
			add_padded(m, c, character, 1);
		return is_integer(item);
	case 'C':
		n = (size_t)(wmk_print_utf8(character, (uint32_t)item->value.u) - character);
		if (is_integer(item))
			add_padded(m, c, character, n);
		return is_integer(item);
	case 's': case 'S': case 'p':
		if (is_text && c->letter == 's')
			add_padded(m, c, item->text, len);
		else if (is_integer(item))
			add_pointer(m, c, item->value.u);
		return is_integer(item) || (is_text && c->letter == 's');
	default:
		if (item->op->code == WMK_CTF_FLOAT && strchr("aAeEfFgG", c->letter))
			add_real(m, c, item->value.f);
		return item->op->code == WMK_CTF_FLOAT && strchr("aAeEfFgG", c->letter);
	}
}

/* Returns false if the values do not match the format string. */
static bool add_all(struct message_maker *m, const char *format)
{
	struct wmk_ctf_item item;
	struct conversion c;
	const char *percent;

	while ((percent = strchr(format, '%')) != NULL && m->words.err >= 0) {
		wmk_print_add_bytes(&m->words, format, (size_t)(percent - format));
		format = percent + 1;
		if (!take_conversion(m, &format, &c))
			return false;
		/* Traces do not record errno, so the message contains "%m" unchanged. */
		if (c.letter == '%' || c.letter == 'm')
			wmk_print_add_bytes(&m->words, c.letter == 'm' ? "%m" : "%", c.letter == 'm' ? 2 : 1);
		else if (!next_value(m, &item) || !add_value(m, &c, &item))
			return false;
	}
	wmk_print_add_bytes(&m->words, format, strlen(format));
	return true;
}

int wmk_read_message(const struct wmk_ctf_bytes *in, struct wmk_ctf_record *record, struct wmk_print_text *message)
{
	const struct wmk_ctf_program *program = &record->event->payload;
	struct message_maker m = { .walk = &record->walk, .words = { message, 0 } };
	char format[WMK_TEXT_MAX + 1];
	struct wmk_ctf_item item;
	bool fits = true;

	message->len = 0;
	if (!wmk_message_format(record->event->class->emf_uri, format))
		return 0;
	record->walk.in = *in;
	record->walk.err = 0;
	record->walk.at = record->payload_at;
	if (program->n_ops) {
		wmk_ctf_walk_enter(m.walk, program);
		fits = wmk_ctf_next(m.walk, &item);
		/* In an event of the kind TEXT, the field `msg` precedes the values. */
		if (fits && program->n_ops > 1 && program->ops[1].code == WMK_CTF_ENUM)
			fits = wmk_ctf_next(m.walk, &item);
	}
	fits = fits && add_all(&m, format);
	return m.words.err < 0 ? m.words.err : fits && record->walk.err >= 0;
}
