/* SPDX-License-Identifier: MIT */
/*
 * line_buffer.c - formats numbers, quoted texts and flags (see line_buffer.h).
 */
#include "strace/line_buffer.h"

static const char digits_of[] = "0123456789abcdef";

/* Writes digits so that the last digit precedes `end`; returns the position of the first digit. */
static char *digits(char *end, uint64_t number, unsigned base)
{
	do {
		*--end = digits_of[number % base];
		number /= base;
	} while (number);
	return end;
}

static char *decimal(char *end, uint64_t number)
{
	do {
		*--end = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	return end;
}

void wmk_kline_unsigned(struct wmk_kline *line, uint64_t number)
{
	char room[24], *end = room + sizeof(room), *begin = decimal(end, number);

	wmk_kline_bytes(line, begin, (size_t)(end - begin));
}

void wmk_kline_signed(struct wmk_kline *line, int64_t number)
{
	if (number < 0)
		wmk_kline_char(line, '-');
	wmk_kline_unsigned(line, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

void wmk_kline_wide(struct wmk_kline *line, uint64_t number, unsigned width, char fill)
{
	char room[64], *end = room + sizeof(room), *begin = decimal(end, number);

	while (begin > room && (size_t)(end - begin) < width)
		*--begin = fill;
	wmk_kline_bytes(line, begin, (size_t)(end - begin));
}

void wmk_kline_hex(struct wmk_kline *line, uint64_t number)
{
	char room[24], *end = room + sizeof(room), *begin;

	if (!number) {
		wmk_kline_char(line, '0');
		return;
	}
	begin = digits(end, number, 16);
	*--begin = 'x';
	*--begin = '0';
	wmk_kline_bytes(line, begin, (size_t)(end - begin));
}

void wmk_kline_pointer(struct wmk_kline *line, uint64_t number)
{
	if (number)
		wmk_kline_hex(line, number);
	else
		wmk_kline_bytes(line, "NULL", 4);
}

void wmk_kline_octal(struct wmk_kline *line, uint64_t number, unsigned n_digits)
{
	char room[32], *end = room + sizeof(room), *begin = digits(end, number, 8);

	while (begin > room + 1 && (size_t)(end - begin) < n_digits)
		*--begin = '0';
	if (*begin != '0')
		*--begin = '0';
	wmk_kline_bytes(line, begin, (size_t)(end - begin));
}

void wmk_kline_seconds(struct wmk_kline *line, uint64_t ns, unsigned n_digits)
{
	uint64_t part = ns % 1000000000;

	for (unsigned i = n_digits; i < 9; i++)
		part /= 10;
	wmk_kline_unsigned(line, ns / 1000000000);
	if (n_digits) {
		wmk_kline_char(line, '.');
		wmk_kline_wide(line, part, n_digits, '0');
	}
}

/*
 * Escapes one byte. `next`: the following byte. If the byte `next` is an octal digit, the escape has three digits, so
 * that `next` does not become part of the escape. Returns the number of bytes that were written to `to`.
 */
static size_t escape(char to[4], uint8_t byte, int next)
{
	static const char letters[] = "tnvfr";
	char *end = to;

	*end++ = '\\';
	if (byte >= '\t' && byte <= '\r') {
		*end++ = letters[byte - '\t'];
	} else if (byte == '"' || byte == '\\') {
		*end++ = (char)byte;
	} else {
		const bool is_long = next >= '0' && next <= '7';

		if (is_long || byte > 077)
			*end++ = (char)('0' + (byte >> 6));
		if (is_long || byte > 07)
			*end++ = (char)('0' + (byte >> 3 & 7));
		*end++ = (char)('0' + (byte & 7));
	}
	return (size_t)(end - to);
}

static bool is_plain(uint8_t byte)
{
	return byte >= ' ' && byte < 127 && byte != '"' && byte != '\\';
}

void wmk_kline_quoted(struct wmk_kline *line, const uint8_t *bytes, size_t n, bool is_hex)
{
	size_t i = 0;

	wmk_kline_char(line, '"');
	while (i < n) {
		size_t plain = i;
		char room[4];

		while (!is_hex && plain < n && is_plain(bytes[plain]))
			plain++;
		if (plain > i) {
			wmk_kline_bytes(line, (const char *)bytes + i, plain - i);
		} else if (is_hex) {
			room[0] = '\\';
			room[1] = 'x';
			room[2] = digits_of[bytes[i] >> 4];
			room[3] = digits_of[bytes[i] & 15];
			wmk_kline_bytes(line, room, 4);
			plain++;
		} else {
			wmk_kline_bytes(line, room, escape(room, bytes[i], i + 1 < n ? bytes[i + 1] : 0));
			plain++;
		}
		i = plain;
	}
	wmk_kline_char(line, '"');
}

void wmk_kline_pad(struct wmk_kline *line, size_t begin, unsigned column)
{
	static const char spaces[] = "                                                                ";

	while (line->len - begin < column && !line->is_cut) {
		const size_t n = column - (line->len - begin);

		wmk_kline_bytes(line, spaces, n < sizeof(spaces) - 1 ? n : sizeof(spaces) - 1);
	}
}

/* ── names ───────────────────────────────────────────────────────────────────────────────────────────── */

const char *wmk_kname_of(const struct wmk_kname *names, uint64_t value)
{
	for (; names->name; names++)
		if (names->value == value)
			return names->name;
	return NULL;
}

static void put_unknown(struct wmk_kline *line, uint64_t value, const char *unknown)
{
	wmk_kline_hex(line, value);
	if (unknown) {
		wmk_kline_put(line, " /* ");
		wmk_kline_put(line, unknown);
		wmk_kline_put(line, "??? */");
	}
}

void wmk_kline_name(struct wmk_kline *line, const struct wmk_kname *names, uint64_t value, const char *unknown)
{
	const char *name = wmk_kname_of(names, value);

	if (name)
		wmk_kline_put(line, name);
	else
		put_unknown(line, value, unknown);
}

void wmk_kline_flags(struct wmk_kline *line, const struct wmk_kname *names, uint64_t value, const char *unknown)
{
	const char *zero = wmk_kname_of(names, 0);
	uint64_t left = value;

	if (!value) {
		wmk_kline_put(line, zero ? zero : "0");
		return;
	}
	for (; names->name && left; names++)
		if (names->value && (left & names->value) == names->value) {
			if (left != value)
				wmk_kline_char(line, '|');
			wmk_kline_put(line, names->name);
			left &= ~names->value;
		}
	if (left == value)
		put_unknown(line, left, unknown);
	else if (left) {
		wmk_kline_char(line, '|');
		wmk_kline_hex(line, left);
	}
}
