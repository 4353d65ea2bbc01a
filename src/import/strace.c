/* SPDX-License-Identifier: MIT */
/*
 * strace.c - parse the output of strace, of one thread or several (-f), with any option for times (-t, -tt, -ttt, -r,
 * -T).
 *
 *     [pid   123] 08:41:31.579970 read(3, "a) = b", 10) = 6 <0.000012>
 *     123         1795336891.446057 ...                              with -o
 *     123 1795336891.446057 wait4(-1,  <unfinished ...>
 *     123 1795336891.561861 <... wait4 resumed>NULL, 0, NULL) = ? ERESTARTSYS (To be restarted) <0.105311>
 *     123 1795336891.561877 --- SIGCHLD {si_signo=SIGCHLD, ...} ---
 *     123 1795336891.562202 +++ exited with 0 +++
 *     123 1795336891.909234 clone(child_stack=NULL, flags=SIGCHLDstrace: Process 25948 attached
 *                                                                    a message inside a line, without -o
 *      > /usr/lib/libc.so.6(_exit+0x29) [0xd4409]                    -k: stack frames
 */
#include "import/log_line.h"

/* A smaller number is a pid or the time since the previous line; a larger number is the time in seconds since 1970. */
#define EPOCH_LEAST 100000000

static void skip_comm(struct wmk_import_text *text, struct wmk_import_line *out)
{
	struct wmk_import_text rest = *text;
	long end;

	if (!wmk_import_take(&rest, "<"))
		return;
	end = wmk_import_find(wmk_import_head(rest, 64), ">");
	if (end < 0)
		return;
	if (end > 0)
		out->comm = wmk_import_head(rest, (size_t)end);
	wmk_import_drop(&rest, (size_t)end + 1);
	*text = rest;
}

/* Parse a thread such as "[pid 123] " or "123 "; the option -Y adds the command name, "123<comm> ". */
static void take_thread(struct wmk_import_text *text, struct wmk_import_line *out)
{
	struct wmk_import_text rest = *text;
	const bool in_brackets = wmk_import_take(&rest, "[pid ");
	int64_t number;

	if (in_brackets)
		wmk_import_skip_blanks(&rest);
	if (!wmk_import_take_number(&rest, EPOCH_LEAST - 1, &number))
		return;
	skip_comm(&rest, out);
	if ((in_brackets && !wmk_import_take(&rest, "]")) || !rest.len || rest.at[0] != ' ') {
		out->comm = (struct wmk_import_text){ NULL, 0 };
		return;
	}
	wmk_import_skip_blanks(&rest);
	out->has_tid = true;
	out->tid = (int32_t)number;
	*text = rest;
}

static void take_time(struct wmk_import_text *text, struct wmk_import_line *out)
{
	struct wmk_import_text rest = *text;
	struct wmk_import_timestamp found = { .since = WMK_IMPORT_NO_TIME };

	wmk_import_skip_blanks(&rest);
	if (wmk_import_take_seconds(&rest, &found)) {
		found.since = found.seconds < EPOCH_LEAST ? WMK_IMPORT_STEP : WMK_IMPORT_EPOCH;
	} else if (!wmk_import_take_clock(&rest, &found)) {
		if (!wmk_import_take_number(&rest, (int64_t)1 << 35, &found.seconds) || found.seconds < EPOCH_LEAST)
			return;
		found.since = WMK_IMPORT_EPOCH;
	}
	if (!rest.len || rest.at[0] != ' ')
		return;
	out->stamp = found;
	wmk_import_skip_blanks(&rest);
	*text = rest;
	/* option -r together with another time option: "(+     0.000040)" */
	if (wmk_import_take(&rest, "(+")) {
		wmk_import_skip_blanks(&rest);
		if (wmk_import_take_seconds(&rest, &found) && wmk_import_take(&rest, ")")) {
			wmk_import_skip_blanks(&rest);
			*text = rest;
		}
	}
}

/* Skip a number in brackets, which is an address (option -i) or the number of a system call (option -n). */
static bool skip_address(struct wmk_import_text *text)
{
	struct wmk_import_text rest = *text;
	long end;

	if (!wmk_import_take(&rest, "["))
		return false;
	end = wmk_import_find(wmk_import_head(rest, 20), "] ");
	if (end < 0)
		return false;
	wmk_import_drop(&rest, (size_t)end + 2);
	*text = rest;
	return true;
}

/* Parse the duration of a system call at the end, such as " <0.000260>", as nanoseconds; -1: no duration. */
static int64_t take_duration(struct wmk_import_text *text)
{
	struct wmk_import_text number = *text;
	struct wmk_import_timestamp found;
	size_t n = text->len;

	if (!wmk_import_ends(*text, ">"))
		return -1;
	while (n > 1 && text->at[n - 1] != '<' && text->len - n < 32)
		n--;
	if (n < 2 || text->at[n - 1] != '<' || text->at[n - 2] != ' ')
		return -1;
	wmk_import_drop(&number, n);
	if (!wmk_import_take_seconds(&number, &found) || !wmk_import_text_is(number, ">") ||
	    found.seconds > INT64_MAX / 2000000000)
		return -1;
	text->len = n - 2;
	*text = wmk_import_trimmed(*text);
	return found.seconds * 1000000000 + found.ns;
}

/* Parse a return value in decimal or hexadecimal form. */
static bool take_value(struct wmk_import_text *text, int64_t *value)
{
	struct wmk_import_text rest = *text;
	const bool is_negative = wmk_import_take(&rest, "-");
	uint64_t bits;

	if (!is_negative && wmk_import_take(&rest, "0x")) {
		if (!wmk_import_take_hex(&rest, &bits))
			return false;
		*value = (int64_t)bits;
	} else {
		if (!wmk_import_take_number(&rest, INT64_MAX / 4, value))
			return false;
		if (is_negative)
			*value = -*value;
	}
	if (rest.len && rest.at[0] != ' ' && rest.at[0] != '<')
		return false;
	*text = rest;
	return true;
}

/* Parse the text after "= ": value, name of the error, further text and duration. */
static void add_result(struct wmk_import_text text, struct wmk_import_line *out)
{
	int64_t value, duration;
	size_t n = 0;

	text = wmk_import_trimmed(text);
	duration = take_duration(&text);
	if (take_value(&text, &value))
		wmk_import_add_number(out, "ret", WMK_IMPORT_INT, value);
	else
		wmk_import_take(&text, "?");
	wmk_import_skip_blanks(&text);
	while (n < text.len && ((text.at[n] >= 'A' && text.at[n] <= 'Z') || (n && wmk_import_is_digit(text.at[n]))))
		n++;
	if (n > 1 && text.at[0] == 'E' && (n == text.len || text.at[n] == ' ')) {
		wmk_import_add_text(out, "error", wmk_import_head(text, n));
		wmk_import_drop(&text, n);
		wmk_import_skip_blanks(&text);
	}
	if (text.len)
		wmk_import_add_text(out, "more", text);
	if (duration >= 0)
		wmk_import_add_number(out, "duration_ns", WMK_IMPORT_INT, duration);
}

/*
 * Find the end of the arguments: the last ")" outside of quotes that precedes "= ". -1: none. *result: offset after
 * this "= ".
 */
static long find_result(struct wmk_import_text text, size_t *result)
{
	bool in_quotes = false;
	long found = -1;

	for (size_t n = 0; n < text.len; n++) {
		size_t next = n + 1;

		if (text.at[n] == '\\')
			n++;
		else if (text.at[n] == '"')
			in_quotes = !in_quotes;
#ifndef WMK_PLANTED_BUG_IMPORT_STRACE           /* the fuzzer must find this */
		if (n == text.len)
			break;
#endif
		if (in_quotes || text.at[n] != ')' || next != n + 1)
			continue;
		while (next < text.len && text.at[next] == ' ')
			next++;
		if (next > n + 1 && next + 1 < text.len && text.at[next] == '=' && text.at[next + 1] == ' ') {
			found = (long)n;
			*result = next + 2;
		}
	}
	return found;
}

/*
 * Parse the text after the "(" of a system call, or after the word "resumed>". Returns false if the end of the text
 * does not have the form of a system call.
 */
static bool add_call(struct wmk_import_text text, struct wmk_import_line *out)
{
	static const char *const cut[] = { "<unfinished ...>", "<detached ...>" };
	struct wmk_import_text args;
	size_t result = 0;
	long end = find_result(text, &result);

	if (end < 0) {
		/* The log has the return of this system call on a later line, or lacks the return. */
		for (unsigned i = 0; i < 2; i++) {
			args = wmk_import_trimmed(text);
			if (!wmk_import_ends(args, cut[i]))
				continue;
			args.len -= i ? 14 : 16;
			wmk_import_add_text(out, "args", wmk_import_trimmed(args));
			if (out->what == WMK_IMPORT_RECORD) {
				out->what = i ? WMK_IMPORT_RECORD : WMK_IMPORT_OPENS;
				out->name = wmk_import_text_of("unfinished");
			}
			return true;
		}
		return false;
	}
	args = wmk_import_head(text, (size_t)end);
	if (wmk_import_ends(args, cut[0]))
		args.len -= 16;
	wmk_import_add_text(out, "args", wmk_import_trimmed(args));
	wmk_import_drop(&text, result);
	add_result(text, out);
	return true;
}

static bool parse_call(struct wmk_import_text text, struct wmk_import_line *out)
{
	size_t n = 0;
	long end;

	out->what = WMK_IMPORT_RECORD;
	out->name = wmk_import_text_of("call");
	if (wmk_import_take(&text, "<... ")) {
		out->what = WMK_IMPORT_RESUMES;
		out->name = wmk_import_text_of("resumed");
		end = wmk_import_find(wmk_import_head(text, WMK_IMPORT_NAME), " resumed>");
		if (end <= 0)
			return false;
		wmk_import_add_text(out, "name", wmk_import_head(text, (size_t)end));
		wmk_import_drop(&text, (size_t)end + 9);
		return add_call(text, out);
	}
	while (n < text.len && n < WMK_IMPORT_NAME &&
	       (wmk_import_is_letter(text.at[n]) || wmk_import_is_digit(text.at[n])))
		n++;
	if (!n || n == text.len || text.at[n] != '(')
		return false;
	wmk_import_add_text(out, "name", wmk_import_head(text, n));
	wmk_import_drop(&text, n + 1);
	return add_call(text, out);
}

/* Reduce the text to the part between "--- " and " ---", or between "+++ " and " +++". */
static bool inside(struct wmk_import_text *text, const char *begin, const char *end)
{
	struct wmk_import_text rest = wmk_import_trimmed(*text);

	if (!wmk_import_take(&rest, begin) || !wmk_import_ends(rest, end))
		return false;
	rest.len -= 4;
	*text = rest;
	return true;
}

static void add_exit(struct wmk_import_text text, struct wmk_import_line *out)
{
	const struct wmk_import_text all = text;
	int64_t status;

	out->what = WMK_IMPORT_ENDS;
	out->name = wmk_import_text_of("exit");
	if (wmk_import_take(&text, "exited with ") && wmk_import_take_number(&text, INT32_MAX, &status) && !text.len)
		wmk_import_add_number(out, "status", WMK_IMPORT_INT, status);
	else if (wmk_import_take(&text, "killed by "))
		wmk_import_add_text(out, "signal", wmk_import_take_word(&text));
	wmk_import_add_text(out, "text", all);
}

static void add_signal(struct wmk_import_text text, struct wmk_import_line *out)
{
	const bool is_stop = wmk_import_take(&text, "stopped by ");

	out->name = wmk_import_text_of("signal");
	wmk_import_add_text(out, "name", wmk_import_take_word(&text));
	wmk_import_skip_blanks(&text);
	wmk_import_add_text(out, "info", is_stop ? wmk_import_text_of("stopped") : text);
}

/* Parse a message of strace itself: "strace: Process 12 attached". */
static bool parse_note(struct wmk_import_text text, struct wmk_import_line *out)
{
	struct wmk_import_text rest = text;
	int64_t number;

	if (!wmk_import_take(&rest, "strace: ") &&
	    !(wmk_import_take(&rest, "Process ") && wmk_import_take_number(&rest, INT32_MAX, &number) &&
	      wmk_import_take(&rest, " ")))
		return false;
	out->what = WMK_IMPORT_RECORD;
	out->name = wmk_import_text_of("note");
	wmk_import_add_text(out, "message", wmk_import_trimmed(text));
	return true;
}

/* Parse a message of strace itself that follows other text in the line. */
static bool parse_split(struct wmk_import_text line, struct wmk_import_line *out)
{
	static const char words[] = "strace: Process ";
	struct wmk_import_text text = wmk_import_trimmed(line), note = text;
	int64_t number;
	long at;

	if (!wmk_import_ends(text, " attached"))
		return false;
	/*
	 * The message "strace: Process NUMBER attached" is short, so the last 64 bytes of the line contain the message.
	 */
	if (text.len > 64)
		wmk_import_drop(&note, text.len - 64);
	at = wmk_import_find(note, words);
	if (at < 0)
		return false;
	wmk_import_drop(&note, (size_t)at);
	text = note;
	wmk_import_drop(&text, sizeof(words) - 1);
	if (!wmk_import_take_number(&text, INT32_MAX, &number) || !wmk_import_text_is(text, " attached"))
		return false;
	out->what = WMK_IMPORT_SPLITS;
	out->name = wmk_import_text_of("note");
	out->has_tid = false;
	out->comm = (struct wmk_import_text){ NULL, 0 };
	out->n = 0;
	wmk_import_add_text(out, "message", note);
	out->rest = wmk_import_head(line, (size_t)(note.at - line.at));
	return true;
}

void wmk_import_strace_line(struct wmk_import_text line, struct wmk_import_line *out)
{
	struct wmk_import_text text = line;

	wmk_import_line_begin(out, "strace", "call");
	if (!wmk_import_trimmed(line).len) {
		out->what = WMK_IMPORT_BLANK;
		return;
	}
	if (wmk_import_take(&text, " > ")) {
		out->what = WMK_IMPORT_FRAME;
		wmk_import_add_text(out, "callchain", wmk_import_trimmed(text));
		return;
	}
	take_thread(&text, out);
	take_time(&text, out);
	if (skip_address(&text))
		skip_address(&text);
	out->what = WMK_IMPORT_RECORD;
	if (inside(&text, "+++ ", " +++")) {
		add_exit(text, out);
	} else if (inside(&text, "--- ", " ---")) {
		add_signal(text, out);
	} else if (!parse_note(text, out) && !parse_call(text, out) && !parse_split(line, out)) {
		out->what = WMK_IMPORT_UNKNOWN;
	}
}
