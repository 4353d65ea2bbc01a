/* SPDX-License-Identifier: MIT */
/*
 * syslog.c - parse lines of system logs: RFC 3164 as syslog daemons write it, with each date format of rsyslog and
 * journalctl, and RFC 5424.
 *
 *     <38>Nov 22 08:05:42 host sshd[731]: Accepted publickey for alice
 *     2026-11-22T08:05:42.123456+01:00 host sshd[731]: ...             rsyslog; journalctl -o short-iso
 *     Sun 2026-11-22 08:05:42 UTC host sshd[731]: ...                  journalctl -o short-full
 *     [   12.345678] host sshd[731]: ...                               journalctl -o short-monotonic
 *     1795336891.123456 host sshd[731]: ...                            journalctl -o short-unix
 *     <165>1 2026-11-22T08:05:42.003Z host app 731 ID47 [a@1 b="c"] message
 */
#include "import/log_line.h"

static bool take_time(struct wmk_import_text *text, struct wmk_import_timestamp *stamp)
{
	struct wmk_import_text rest = *text;

	if (wmk_import_take(&rest, "[")) {
		wmk_import_skip_blanks(&rest);
		if (!wmk_import_take_seconds(&rest, stamp) || !wmk_import_take(&rest, "]"))
			return false;
	} else if (wmk_import_take_seconds(&rest, stamp)) {
		stamp->since = WMK_IMPORT_EPOCH;
	} else if (!wmk_import_take_bsd(&rest, stamp)) {
		if (wmk_import_take_weekday(&rest) && !wmk_import_take(&rest, " "))
			return false;
		if (!wmk_import_take_iso(&rest, stamp))
			return false;
	}
	/* A blank must follow the time in the line. */
	if (rest.len && rest.at[0] != ' ')
		return false;
	*text = rest;
	return true;
}

/* Parse "tag:" or "tag[pid]:" at the start of the message; *text becomes the rest of the message. False: no tag. */
static bool take_tag(struct wmk_import_text *text, struct wmk_import_text *tag, struct wmk_import_text *pid)
{
	struct wmk_import_text rest = *text;
	size_t n = 0;

	while (n < rest.len && rest.at[n] != ':' && rest.at[n] != '[' && rest.at[n] != ' ')
		n++;
#ifndef WMK_PLANTED_BUG_IMPORT_SYSLOG           /* the fuzzer must find this */
	if (n == rest.len)
		return false;
#endif
	if (!n || rest.at[n] == ' ')
		return false;
	*tag = wmk_import_head(rest, n);
	pid->len = 0;
	if (rest.at[n] == '[') {
		wmk_import_drop(&rest, n + 1);
		for (n = 0; n < rest.len && rest.at[n] != ']' && rest.at[n] != ' '; n++)
			;
		if (n == rest.len || rest.at[n] != ']')
			return false;
		*pid = wmk_import_head(rest, n);
		n++;
	}
	wmk_import_drop(&rest, n);
	if (!wmk_import_take(&rest, ":") || (rest.len && rest.at[0] != ' '))
		return false;
	wmk_import_take(&rest, " ");
	*text = rest;
	return true;
}

/*
 * Add the sender. If the pid is a number, the record gets the pid, and the tag becomes the name of the process. Any
 * other text in place of the pid becomes the field `procid`.
 */
static void add_sender(struct wmk_import_line *out, struct wmk_import_text tag, struct wmk_import_text pid)
{
	struct wmk_import_text rest = pid;
	int64_t number;

	wmk_import_add_text(out, "tag", tag);
	if (!pid.len)
		return;
	if (wmk_import_take_number(&rest, INT32_MAX, &number) && !rest.len) {
		out->has_pid = true;
		out->pid = (int32_t)number;
		out->comm = tag;
	} else {
		wmk_import_add_text(out, "procid", pid);
	}
}

/* Parse a word of the header that RFC 5424 defines; "-" represents an empty word. */
static bool take_word(struct wmk_import_text *text, struct wmk_import_text *word)
{
	if (!wmk_import_take(text, " "))
		return false;
	*word = wmk_import_take_word(text);
	if (wmk_import_text_is(*word, "-"))
		word->len = 0;
	else if (!word->len)
		return false;
	return true;
}

/*
 * Parse [id name="value" ...][id ...]. In values, a backslash escapes a quote, a backslash or a bracket. "-": no data.
 */
static bool take_structured(struct wmk_import_text *text, struct wmk_import_text *data)
{
	bool in_element = false, in_value = false;
	size_t n = 0;

	if (!wmk_import_take(text, " "))
		return false;
	*data = wmk_import_head(*text, 0);
	if (wmk_import_take(text, "-"))
		return !text->len || text->at[0] == ' ';
	for (; n < text->len && (in_element || text->at[n] == '['); n++) {
		const char c = text->at[n];

		if (in_value && c == '\\')
			n++;
		else if (in_element && c == '"')
			in_value = !in_value;
		else if (!in_value && c == '[')
			in_element = true;
		else if (!in_value && c == ']')
			in_element = false;
	}
	if (!n || in_element || n > text->len || (n < text->len && text->at[n] != ' '))
		return false;
	*data = wmk_import_head(*text, n);
	wmk_import_drop(text, n);
	return true;
}

/* Parse the text after "<PRI>1 ". */
static bool parse_5424(struct wmk_import_text text, int64_t priority, struct wmk_import_line *out)
{
	struct wmk_import_text host, app, pid, id, data;

	if (!wmk_import_take(&text, "-") && !wmk_import_take_iso(&text, &out->stamp))
		return false;
	if (!take_word(&text, &host) || !take_word(&text, &app) || !take_word(&text, &pid) || !take_word(&text, &id) ||
	    !take_structured(&text, &data))
		return false;
	wmk_import_take(&text, " ");
	wmk_import_take(&text, "\xef\xbb\xbf");
	wmk_import_add_text(out, "host", host);
	add_sender(out, app, pid);
	wmk_import_add_priority(out, priority);
	if (id.len)
		wmk_import_add_text(out, "msgid", id);
	if (data.len)
		wmk_import_add_text(out, "structured", data);
	wmk_import_add_text(out, "message", text);
	return true;
}

static bool parse_3164(struct wmk_import_text text, int64_t priority, struct wmk_import_line *out)
{
	struct wmk_import_text host, tag, pid = { text.at, 0 }, word;

	if (!take_time(&text, &out->stamp))
		return false;
	wmk_import_skip_blanks(&text);
	/* Programs that write to /dev/log omit the name of the host. */
	word = text;
	host = wmk_import_head(text, 0);
	if (!take_tag(&word, &tag, &pid)) {
		host = wmk_import_take_word(&text);
		wmk_import_skip_blanks(&text);
		word = text;
		if (!take_tag(&word, &tag, &pid)) {
			tag = wmk_import_head(text, 0);
			pid.len = 0;
		}
	}
	wmk_import_add_text(out, "host", host);
	add_sender(out, tag, pid);
	if (priority >= 0)
		wmk_import_add_priority(out, priority);
	wmk_import_add_text(out, "message", word);
	return true;
}

void wmk_import_syslog_line(struct wmk_import_text line, struct wmk_import_line *out)
{
	struct wmk_import_text text = line;
	int64_t priority = -1;
	bool is_known;

	wmk_import_line_begin(out, "syslog", "message");
	if (!wmk_import_trimmed(line).len) {
		out->what = WMK_IMPORT_BLANK;
		return;
	}
	wmk_import_take(&text, "\xef\xbb\xbf");
	if (wmk_import_take_priority(&text, &priority) && wmk_import_take(&text, "1 "))
		is_known = parse_5424(text, priority, out);
	else
		is_known = parse_3164(text, priority, out);
	out->what = is_known ? WMK_IMPORT_RECORD : WMK_IMPORT_UNKNOWN;
}
