/* SPDX-License-Identifier: MIT */
/*
 * perf.c - parse the output of `perf script`, with its default fields or with more fields:
 *
 *     comm  tid [cpu] seconds.usecs: [period] event: text of the event
 *                 address symbol+0x1 (object)              stack frames on lines of their own, innermost first
 *
 * If only one number follows the command name, this number is the tid; "pid/tid" contains both numbers. Times are in
 * seconds since boot, from the clock that perf uses.
 */
#include <string.h>

#include "import/log_line.h"

/* Cut off and return the last word of a text. The caller has removed blanks from the end of the text. */
static struct wmk_import_text take_last_word(struct wmk_import_text *text)
{
	size_t n;

	for (n = text->len; n && text->at[n - 1] != ' ' && text->at[n - 1] != '\t'; n--)
		;
	const struct wmk_import_text word = { text->at + n, text->len - n };

	text->len = n;
	return word;
}

/* Parse a CPU number such as "[003]" at the end of the text. */
static void take_cpu(struct wmk_import_text *text, struct wmk_import_line *out)
{
	struct wmk_import_text before = *text, word = take_last_word(&before);
	int64_t cpu;

	if (!wmk_import_take(&word, "[") || !wmk_import_take_number(&word, 1 << 20, &cpu) ||
	    !wmk_import_text_is(word, "]"))
		return;
	out->has_cpu = true;
	out->cpu = (int32_t)cpu;
	*text = wmk_import_trimmed(before);
}

/* Parse the command name, the pid, the tid and the CPU, which precede the time. */
static bool parse_who(struct wmk_import_text text, struct wmk_import_line *out)
{
	struct wmk_import_text before, word;
	int32_t first;

	out->has_pid = out->has_cpu = false;
	text = wmk_import_trimmed(text);
	take_cpu(&text, out);
	before = text;
	word = take_last_word(&before);
	if (!wmk_import_take_id(&word, &first))
		return false;
	out->has_tid = true;
	out->tid = first;
	if (wmk_import_take(&word, "/")) {
		out->has_pid = true;
		out->pid = first;
		if (!wmk_import_take_id(&word, &out->tid))
			return false;
	}
	if (word.len)
		return false;
	wmk_import_skip_blanks(&before);
	before = wmk_import_trimmed(before);
	out->comm = before;
	if (!before.len)
		out->comm.at = NULL;
	return true;
}

/*
 * Parse the modifiers of a counter that follow a ':', as in "cycles:ppp". No tracepoint has a name that consists only
 * of modifiers.
 */
static bool is_modifier(struct wmk_import_text name)
{
	size_t i;

	for (i = 0; i < name.len; i++)
		if (!memchr("ukhGHpPSDIWeb", name.at[i], 13))
			return false;
	return name.len <= 8;
}

/* "sched:sched_switch:" gives provider and name; "cycles:u:" and other events belong to the provider "perf". */
static bool take_event(struct wmk_import_text *text, struct wmk_import_line *out)
{
	struct wmk_import_text word = wmk_import_take_word(text), name = word;
	long colon;

	if (word.len > 1 && word.at[word.len - 1] == ':') {
		name.len--;
		colon = wmk_import_find(name, ":");
		wmk_import_drop(&name, colon < 0 ? 0 : (size_t)colon + 1);
		if (colon > 0 && name.len && !is_modifier(name)) {
			out->provider = wmk_import_head(word, (size_t)colon);
		} else {
			name = wmk_import_head(word, word.len - 1);
		}
	} else if (wmk_import_take(&word, "PERF_RECORD_")) {
		/* "PERF_RECORD_EXIT(1:1):(2:2)", "PERF_RECORD_COMM exec: sh:1/1" */
		for (name.len = 0; name.at + name.len < text->at && wmk_import_is_letter(name.at[name.len]); name.len++)
			;
		*text = (struct wmk_import_text){ name.at + name.len,
						  (size_t)(text->at + text->len - name.at) - name.len };
	} else {
		return false;
	}
	out->name = wmk_import_head(name, WMK_IMPORT_NAME);
	out->provider = wmk_import_head(out->provider, WMK_IMPORT_NAME);
	return true;
}

/* Parse "address symbol (object)", which perf prints on the same line if the sample has no call chain. */
static bool add_place(struct wmk_import_text text, struct wmk_import_line *out)
{
	uint64_t address;

	if (!wmk_import_take_hex(&text, &address) || !wmk_import_take(&text, " ") || !wmk_import_ends(text, ")"))
		return false;
	wmk_import_add_number(out, "ip", WMK_IMPORT_HEX, (int64_t)address);
	wmk_import_add_text(out, "symbol", text);
	return true;
}

/* Parse the text after the time, which has the form "[period] event: text". */
static bool parse_event(struct wmk_import_text text, struct wmk_import_line *out)
{
	struct wmk_import_text rest;
	int64_t period = -1;

	wmk_import_skip_blanks(&text);
	rest = text;
	if (wmk_import_take_number(&rest, INT64_MAX / 4, &period) && rest.len && rest.at[0] == ' ') {
		wmk_import_skip_blanks(&rest);
		text = rest;
	} else {
		period = -1;
	}
	if (!take_event(&text, out))
		return false;
	if (period >= 0)
		wmk_import_add_number(out, "period", WMK_IMPORT_INT, period);
	wmk_import_skip_blanks(&text);
	if (wmk_import_text_is(wmk_import_head(out->name, 12), "PERF_RECORD_"))
		wmk_import_add_text(out, "text", text);
	else if (text.len && (period < 0 || !add_place(text, out)))
		wmk_import_perf_fields(text, out);
	return true;
}

/*
 * Find the time: the first word with the form of a time that follows a valid command name and tid, and precedes a valid
 * event. (comm can be any text.)
 */
static bool parse_record(struct wmk_import_text text, struct wmk_import_line *out)
{
	struct wmk_import_text rest = text, word;

	while (rest.len) {
		wmk_import_skip_blanks(&rest);
		word = rest;
		if (wmk_import_take_seconds(&word, &out->stamp) && wmk_import_take(&word, ":") && word.len &&
		    word.at[0] == ' ' && parse_who(wmk_import_head(text, (size_t)(rest.at - text.at)), out) &&
		    parse_event(word, out))
			return true;
		wmk_import_take_word(&rest);
	}
	return false;
}

void wmk_import_perf_line(struct wmk_import_text line, struct wmk_import_line *out)
{
	struct wmk_import_text text = wmk_import_trimmed(line);
	size_t n;

	wmk_import_line_begin(out, "perf", "");
	if (!text.len) {
		out->what = WMK_IMPORT_BLANK;
		return;
	}
	if (parse_record(text, out)) {
		out->what = WMK_IMPORT_RECORD;
		return;
	}
	wmk_import_line_begin(out, "perf", "");
	if (text.at[0] != '\t' && text.at[0] != ' ')
		return;
	wmk_import_skip_blanks(&text);
	n = wmk_import_hex_digits(text);
	if ((n && n < text.len && text.at[n] == ' ') || wmk_import_ends(text, " (inlined)")) {
		wmk_import_add_text(out, "callchain", text);
		out->what = WMK_IMPORT_FRAME;
	}
}
