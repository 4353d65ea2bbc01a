/* SPDX-License-Identifier: MIT */
/*
 * line_cursor.c - take pieces from the front of a line. No function reads beyond the end of a text.
 */
#include <string.h>

#include "import/log_line.h"

void wmk_import_line_begin(struct wmk_import_line *line, const char *provider, const char *name)
{
	memset(line, 0, offsetof(struct wmk_import_line, values));
	line->provider = wmk_import_text_of(provider);
	line->name = wmk_import_text_of(name);
}

void wmk_import_add_value(struct wmk_import_line *line, const struct wmk_import_value *value)
{
	if (line->n < WMK_IMPORT_VALUES)
		line->values[line->n++] = *value;
}

void wmk_import_add_text(struct wmk_import_line *line, const char *name, struct wmk_import_text text)
{
	const struct wmk_import_value value = { .name = wmk_import_text_of(name),
						.kind = WMK_IMPORT_TEXT,
						.text = text };

	wmk_import_add_value(line, &value);
}

void wmk_import_add_number(struct wmk_import_line *line, const char *name, enum wmk_import_kind kind, int64_t number)
{
	const struct wmk_import_value value = { .name = wmk_import_text_of(name), .kind = kind, .number = number };

	wmk_import_add_value(line, &value);
}

struct wmk_import_text wmk_import_text_of(const char *words)
{
	return (struct wmk_import_text){ words, strlen(words) };
}

bool wmk_import_text_is(struct wmk_import_text text, const char *words)
{
	return text.len == strlen(words) && memcmp(text.at, words, text.len) == 0;
}

struct wmk_import_text wmk_import_head(struct wmk_import_text text, size_t len)
{
	return (struct wmk_import_text){ text.at, len < text.len ? len : text.len };
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

struct wmk_import_text wmk_import_trimmed(struct wmk_import_text text)
{
	while (text.len && is_blank(text.at[text.len - 1]))
		text.len--;
	return text;
}

long wmk_import_find(struct wmk_import_text text, const char *words)
{
	const char *found = text.len ? memmem(text.at, text.len, words, strlen(words)) : NULL;

	return found ? found - text.at : -1;
}

bool wmk_import_ends(struct wmk_import_text text, const char *words)
{
	const size_t len = strlen(words);

	return text.len >= len && memcmp(text.at + text.len - len, words, len) == 0;
}

void wmk_import_drop(struct wmk_import_text *text, size_t len)
{
	if (len > text->len)
		len = text->len;
	text->at += len;
	text->len -= len;
}

void wmk_import_skip_blanks(struct wmk_import_text *text)
{
	while (text->len && is_blank(text->at[0]))
		wmk_import_drop(text, 1);
}

bool wmk_import_take(struct wmk_import_text *text, const char *words)
{
	const size_t len = strlen(words);

	if (text->len < len || memcmp(text->at, words, len) != 0)
		return false;
	wmk_import_drop(text, len);
	return true;
}

struct wmk_import_text wmk_import_take_word(struct wmk_import_text *text)
{
	struct wmk_import_text word = { text->at, 0 };

	while (word.len < text->len && !is_blank(text->at[word.len]))
		word.len++;
	wmk_import_drop(text, word.len);
	return word;
}

bool wmk_import_take_number(struct wmk_import_text *text, int64_t max, int64_t *number)
{
	int64_t value = 0;
	size_t i;

	for (i = 0; i < text->len && wmk_import_is_digit(text->at[i]); i++) {
		const int digit = text->at[i] - '0';

		if (value > max / 10 || value * 10 + digit > max)
			return false;
		value = value * 10 + digit;
	}
	if (!i)
		return false;
	wmk_import_drop(text, i);
	*number = value;
	return true;
}

size_t wmk_import_hex_digits(struct wmk_import_text text)
{
	size_t n = 0;

	while (n < text.len && (wmk_import_is_digit(text.at[n]) || (text.at[n] >= 'a' && text.at[n] <= 'f')))
		n++;
	return n;
}

bool wmk_import_take_hex(struct wmk_import_text *text, uint64_t *bits)
{
	const size_t n = wmk_import_hex_digits(*text);

	if (!n || n > 16)
		return false;
	*bits = 0;
	for (size_t i = 0; i < n; i++) {
		const char c = text->at[i];

		*bits = *bits << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	wmk_import_drop(text, n);
	return true;
}

bool wmk_import_take_id(struct wmk_import_text *text, int32_t *id)
{
	struct wmk_import_text rest = *text;
	const bool is_negative = wmk_import_take(&rest, "-");
	int64_t number;

	if (!wmk_import_take_number(&rest, INT32_MAX, &number))
		return false;
	*id = (int32_t)(is_negative ? -number : number);
	*text = rest;
	return true;
}

bool wmk_import_take_fraction(struct wmk_import_text *text, uint32_t *ns)
{
	uint32_t value = 0, digits = 0;
	size_t i;

	*ns = 0;
	if (!text->len || (text->at[0] != '.' && text->at[0] != ','))
		return true;
	for (i = 1; i < text->len && wmk_import_is_digit(text->at[i]); i++) {
		if (digits == 9)
			continue;
		value = value * 10 + (uint32_t)(text->at[i] - '0');
		digits++;
	}
	if (!digits)
		return false;
	for (; digits < 9; digits++)
		value *= 10;
	wmk_import_drop(text, i);
	*ns = value;
	return true;
}
