/* SPDX-License-Identifier: MIT */
/*
 * dmesg.c - parse lines of the kernel's log, as dmesg prints them and as a serial line shows them.
 *
 *     [    1.234567] text                                              plain
 *     <6>[    1.234567] text                                           -r
 *     kern  :info  : [    1.234567] text                               -x
 *     [    1.234567 <    0.000012>] text                               -d
 *     [    1.234567][  T123] text                                      printed by a thread
 *     [    1.234567] [   C1] text                                      printed by an interrupt on a CPU
 *     [Sun Nov 22 08:05:42 2026] text                                  -T
 *     [Nov22 08:05] text             [  +0.000012] text                -e: a minute, then steps relative to it
 *     2026-11-22T08:05:42,123456+00:00 text                            --time-format iso
 */
#include "import/log_line.h"

/* Parse "kern  :info  : ". */
static bool take_levels(struct wmk_import_text *text, int64_t *priority)
{
	struct wmk_import_text rest = *text;
	int found[2];

	for (unsigned i = 0; i < 2; i++) {
		size_t n = 0;

		while (n < rest.len && (wmk_import_is_letter(rest.at[n]) || wmk_import_is_digit(rest.at[n])))
			n++;
		found[i] = i ? wmk_import_severity(wmk_import_head(rest, n))
			     : wmk_import_facility(wmk_import_head(rest, n));
		if (!n || found[i] < 0)
			return false;
		wmk_import_drop(&rest, n);
		wmk_import_skip_blanks(&rest);
		if (!wmk_import_take(&rest, ":"))
			return false;
	}
	wmk_import_skip_blanks(&rest);
	*priority = found[0] * 8 + found[1];
	*text = rest;
	return true;
}

/* Parse "Nov22 08:05". */
static bool take_minute(struct wmk_import_text *text, struct wmk_import_timestamp *stamp)
{
	struct wmk_import_timestamp found = { .since = WMK_IMPORT_DATE, .is_local = true };
	struct wmk_import_text rest = *text;
	int64_t day, hour, minute;

	if (!wmk_import_take_month(&rest, &found.month))
		return false;
	wmk_import_skip_blanks(&rest);
	if (!wmk_import_take_number(&rest, 31, &day) || wmk_import_days(2000, found.month, (unsigned)day) < 0 ||
	    !wmk_import_take(&rest, " ") || !wmk_import_take_number(&rest, 23, &hour) || !wmk_import_take(&rest, ":") ||
	    !wmk_import_take_number(&rest, 59, &minute))
		return false;
	found.day = (uint8_t)day;
	found.seconds = hour * 3600 + minute * 60;
	*text = rest;
	*stamp = found;
	return true;
}

/*
 * Skip " <    0.000012>", the time since the previous line. The number is negative if the previous line has a later
 * time: "<   -0.000007>".
 */
static void skip_delta(struct wmk_import_text *text)
{
	struct wmk_import_text rest = *text;
	struct wmk_import_timestamp delta;

	wmk_import_skip_blanks(&rest);
	if (!wmk_import_take(&rest, "<"))
		return;
	wmk_import_skip_blanks(&rest);
	wmk_import_take(&rest, "-");
	if (wmk_import_take_seconds(&rest, &delta) && wmk_import_take(&rest, ">"))
		*text = rest;
}

/* Parse a time relative to the previous line, such as "+0.000012" or "-0.000007". */
static bool take_step(struct wmk_import_text *text, struct wmk_import_timestamp *stamp)
{
	struct wmk_import_text rest = *text;
	const bool is_back = wmk_import_take(&rest, "-");

	if ((!is_back && !wmk_import_take(&rest, "+")) || !wmk_import_take_seconds(&rest, stamp))
		return false;
	*text = rest;
	stamp->since = WMK_IMPORT_STEP;
	if (is_back) {
		stamp->seconds = -stamp->seconds - (stamp->ns > 0);
#ifndef WMK_PLANTED_BUG_IMPORT_DMESG            /* the fuzzer must find this */
		if (stamp->ns)
#endif
			stamp->ns = 1000000000 - stamp->ns;
	}
	return true;
}

static bool take_time(struct wmk_import_text *text, struct wmk_import_timestamp *stamp)
{
	struct wmk_import_text rest = *text;

	if (wmk_import_take_iso(text, stamp))
		return true;
	if (!wmk_import_take(&rest, "["))
		return false;
	wmk_import_skip_blanks(&rest);
	if (wmk_import_take_seconds(&rest, stamp))
		skip_delta(&rest);
	else if (!take_step(&rest, stamp) && !wmk_import_take_ctime(&rest, stamp) && !take_minute(&rest, stamp))
		return false;
	if (!wmk_import_take(&rest, "]"))
		return false;
	*text = rest;
	return true;
}

/* Parse a thread "[  T123]" or a CPU "[   C1]", directly after the time or after a blank. */
static void take_caller(struct wmk_import_text *text, struct wmk_import_line *out)
{
	struct wmk_import_text rest = *text;
	bool is_thread;
	int64_t number;

	wmk_import_take(&rest, " ");
	if (!wmk_import_take(&rest, "["))
		return;
	wmk_import_skip_blanks(&rest);
	is_thread = wmk_import_take(&rest, "T");
	if ((!is_thread && !wmk_import_take(&rest, "C")) || !wmk_import_take_number(&rest, INT32_MAX, &number) ||
	    !wmk_import_take(&rest, "]"))
		return;
	*(is_thread ? &out->has_tid : &out->has_cpu) = true;
	*(is_thread ? &out->tid : &out->cpu) = (int32_t)number;
	*text = rest;
}

void wmk_import_dmesg_line(struct wmk_import_text line, struct wmk_import_line *out)
{
	struct wmk_import_text text = line;
	int64_t priority = -1;

	wmk_import_line_begin(out, "dmesg", "message");
	if (!wmk_import_trimmed(line).len) {
		out->what = WMK_IMPORT_BLANK;
		return;
	}
	if (!wmk_import_take_priority(&text, &priority))
		take_levels(&text, &priority);
	if (!take_time(&text, &out->stamp))
		return;
	take_caller(&text, out);
	wmk_import_take(&text, " ");
	if (priority >= 0)
		wmk_import_add_priority(out, priority);
	wmk_import_add_text(out, "message", text);
	out->what = WMK_IMPORT_RECORD;
}
