/* SPDX-License-Identifier: MIT */
/*
 * perf_fields.c - split the text of a tracepoint into fields. The kernel prints three formats:
 *
 *     prev_comm=sh prev_pid=12 prev_state=S ==> next_comm=tmux: server next_pid=0
 *                                                            key=value, separated by blanks; values may contain blanks
 *     dfd: 0xffffff9c, filename: 0x7ffd, flags: 0x00000000   system calls
 *     NR 16 (f, 2400, 0, 7fda, 1, 0)                         other text: one field, `text`
 */
#include <string.h>

#include "import/log_line.h"

#define KEY_MAX 64u

/*
 * Return the length of a key at the start of the text, if `mark` follows the key. A key consists of letters, digits and
 * '_'. 0: no key.
 */
static size_t key_len(struct wmk_import_text text, const char *mark)
{
	const size_t mark_len = strlen(mark);
	size_t n = 0;

	while (n < text.len && n < KEY_MAX &&
	       (wmk_import_is_letter(text.at[n]) || (n && wmk_import_is_digit(text.at[n]))))
		n++;
#ifndef WMK_PLANTED_BUG_IMPORT_PERF             /* the fuzzer must find this */
	if (n + mark_len > text.len)
		return 0;
#endif
	if (!n || memcmp(text.at + n, mark, mark_len) != 0)
		return 0;
	/* "a == b" is a comparison in the text, not a key. */
	return n + mark_len < text.len && mark[0] == '=' && text.at[n + mark_len] == '=' ? 0 : n;
}

/*
 * Return the length of the value at the start of `text`. The value ends at the first `between` that precedes a key, or
 * at the end of the text.
 */
static size_t value_len(struct wmk_import_text text, const char *mark, const char *between)
{
	const size_t step = strlen(between);

	for (size_t n = 0; n + step < text.len; n++) {
		const struct wmk_import_text next = { text.at + n + step, text.len - n - step };

		if (memcmp(text.at + n, between, step) == 0 && key_len(next, mark))
			return n;
	}
	return text.len;
}

/*
 * The values of the keys in this list are names, even if a value has the form of a number. (System calls print names as
 * addresses.)
 */
static bool is_name(struct wmk_import_text key, const char *mark)
{
	return mark[0] == '=' && (wmk_import_ends(key, "comm") || wmk_import_ends(key, "name"));
}

static bool as_number(struct wmk_import_text text, struct wmk_import_value *value)
{
	const bool is_negative = wmk_import_take(&text, "-");
	uint64_t bits;

	value->kind = WMK_IMPORT_INT;
	if (!is_negative && wmk_import_take(&text, "0x")) {
		if (!wmk_import_take_hex(&text, &bits) || text.len)
			return false;
		value->kind = WMK_IMPORT_HEX;
		value->number = (int64_t)bits;
		return true;
	}
	if (!wmk_import_take_number(&text, INT64_MAX / 4, &value->number) || text.len)
		return false;
	if (is_negative)
		value->number = -value->number;
	return true;
}

static void add(struct wmk_import_line *out, struct wmk_import_text key, const char *mark, struct wmk_import_text text)
{
	struct wmk_import_value value = { .name = key };

	text = wmk_import_trimmed(text);
	if (wmk_import_ends(text, " ==>"))
		text.len -= 4;
	if (wmk_import_ends(text, " [ns]"))
		text.len -= 5;
	if (is_name(key, mark) || !as_number(text, &value)) {
		value.kind = WMK_IMPORT_TEXT;
		value.text = text;
	}
	wmk_import_add_value(out, &value);
}

static bool parse(struct wmk_import_text text, const char *mark, const char *between, struct wmk_import_line *out)
{
	size_t n = key_len(text, mark);

	if (!n)
		return false;
	while (n) {
		const struct wmk_import_text key = wmk_import_head(text, n);

		wmk_import_drop(&text, n + strlen(mark));
		/* If the list of values is almost full, its last value holds the rest of the text. */
		n = out->n + 1 == WMK_IMPORT_VALUES ? text.len : value_len(text, mark, between);
		add(out, key, mark, wmk_import_head(text, n));
		wmk_import_drop(&text, n + strlen(between));
		n = key_len(text, mark);
	}
	return true;
}

void wmk_import_perf_fields(struct wmk_import_text text, struct wmk_import_line *out)
{
	if (!parse(text, "=", " ", out) && !parse(text, ": ", ", ", out))
		wmk_import_add_text(out, "text", text);
}
