/* SPDX-License-Identifier: MIT */
/*
 * print_time.c - format times and deltas (see print.h). The text of a second (local time, date) is formatted once, and
 * each record in that second adds its nanoseconds.
 */
#include <stdio.h>
#include <time.h>

#include "read/print_state.h"

#define NS 1000000000
#define UNKNOWN "??:??:" "??.?????????"

/*
 * Clock values are converted to ns in floating point, as in babeltrace2; the conversion is exact for a clock that
 * counts ns.
 */
static bool cycles_ns(double freq, bool is_ns, uint64_t cycles, int64_t *ns)
{
	double value;

	if (is_ns) {
		*ns = (int64_t)cycles;
		return cycles < INT64_MAX;
	}
	value = 1e9 * (double)cycles / freq;
	if (value >= 0x1p63)
		return false;
	*ns = (int64_t)value;
	return true;
}

void wmk_print_scale_make(struct wmk_print_scale *scale, const struct wmk_ctf_clock_class *clock)
{
	int64_t rest;

	*scale = (struct wmk_print_scale){ .is_there = clock != NULL };
	if (!clock)
		return;
	scale->freq = (double)clock->freq;
	scale->is_ns = clock->freq == NS;
	/* The upper bound of offset_s leaves one second for `rest`, so that `base` cannot overflow. */
	if (clock->offset_s <= INT64_MIN / NS - 1 || clock->offset_s >= INT64_MAX / NS - 1 || !clock->freq ||
	    !cycles_ns(scale->freq, scale->is_ns, clock->offset, &rest) || rest < 0 || rest > NS) {
		scale->overflows = true;
		return;
	}
	scale->base = clock->offset_s * NS + rest;
}

static bool corrected_ns(const struct wmk_read_clock_points *points, uint64_t value, bool with_steps, int64_t *ns)
{
	struct wmk_read_clock_line line;

	wmk_read_clock_line_find(points, value, &line);
	*ns = wmk_read_clock_line_ns(&line, value);
	return *ns != INT64_MAX && *ns != INT64_MIN &&
	       !__builtin_add_overflow(*ns, with_steps ? line.steps : 0, ns);
}

bool wmk_print_scale_ns(const struct wmk_print_scale *scale, uint64_t value, int64_t *ns)
{
	int64_t since;

	if (scale->points)
		return corrected_ns(scale->points, value, true, ns);
	if (scale->overflows || !cycles_ns(scale->freq, scale->is_ns, value, &since))
		return false;
	return !__builtin_add_overflow(scale->base, since, ns);
}

bool wmk_print_scale_steady(const struct wmk_print_scale *scale, uint64_t value, int64_t *ns)
{
	return scale->points ? corrected_ns(scale->points, value, false, ns) : wmk_print_scale_ns(scale, value, ns);
}

/* The buffer has 16 bytes, so that each copy of the text has a constant size. */
static void put_around(char text[16], unsigned *len, const char *s)
{
	memset(text, 0, 16);
	*len = (unsigned)snprintf(text, 16, "%s", s);
}

void wmk_print_timestamp_prepare(struct wmk_print *print)
{
	const bool names = print->options.names & WMK_PRINT_NAME_HEADER;

	print->last = (struct wmk_print_last){ WMK_PRINT_NONE, WMK_PRINT_NONE };
	print->second = INT64_MIN;
	put_around(print->before.text, &print->before.len, names ? "timestamp = " : "[");
	if (print->options.no_delta)
		put_around(print->between.text, &print->between.len, names ? "" : "] ");
	else
		put_around(print->between.text, &print->between.len, names ? ", delta = +" : "] (+");
	put_around(print->after.text, &print->after.len, names || print->options.no_delta ? "" : ") ");
}

static inline char *copy(char *p, const char *s)
{
	const size_t len = strlen(s);

	memcpy(p, s, len);
	return p + len;
}

/*
 * Format the time of a second, followed by '.'. The text contains the seconds since 1970 if local time is not
 * available, or if the user requests seconds.
 */
static void make_second(struct wmk_print *print, int64_t second)
{
	const struct wmk_print_options *options = &print->options;
	const time_t seconds = (time_t)(second / NS);
	const bool want_seconds = options->clock == WMK_PRINT_SECONDS;
	char date[24] = "";
	struct tm tm;
	int len;

	if (want_seconds || !(options->gmt ? gmtime_r(&seconds, &tm) : localtime_r(&seconds, &tm))) {
		len = snprintf(print->second_text, sizeof(print->second_text), "%lld.", (long long)seconds);
	} else {
		if (options->date && !strftime(date, sizeof(date), "%Y-%m-%d ", &tm))
			date[0] = '\0';
		len = snprintf(print->second_text, sizeof(print->second_text), "%s%02d:%02d:%02d.", date, tm.tm_hour,
			       tm.tm_min, tm.tm_sec);
	}
	print->second = second;
	print->second_len = (unsigned)len;
}

static char *put_ns(struct wmk_print *print, char *p, int64_t ns)
{
	/* Unsigned: any difference fits. */
	uint64_t rest = (uint64_t)ns - (uint64_t)print->second;

	if (__builtin_expect(ns < 0, 0)) {
		const uint64_t size = -(uint64_t)ns;

		*p++ = '-';
		p = wmk_print_u64(p, size / NS);
		*p++ = '.';
		return wmk_print_nine(p, (uint32_t)(size % NS));
	}
	if (__builtin_expect(rest >= NS, 0)) {
		rest = (uint64_t)(ns % NS);
		make_second(print, ns - (int64_t)rest);
	}
	memcpy(p, print->second_text, sizeof(print->second_text));
	return wmk_print_nine(p + print->second_len, (uint32_t)rest);
}

/* Print three digits with leading zeros, after a space. */
static inline char *put_three(char *p, uint64_t value)
{
	*p++ = ' ';
	*p++ = (char)('0' + value / 100);
	memcpy(p, wmk_print_pairs + 2 * (value % 100), 2);
	return p + 2;
}

/* "+0.001 234 567": seconds since the origin, the digits in groups. */
static char *put_relative(struct wmk_print *print, char *p, int64_t ns)
{
	struct wmk_print_columns *columns = &print->columns;
	uint64_t since, rest;

	if (!columns->has_origin) {
		columns->origin = ns;
		columns->has_origin = true;
	}
	since = (uint64_t)ns - (uint64_t)columns->origin;
	*p++ = ns < columns->origin ? '-' : '+';
	if (ns < columns->origin)
		since = -since;
	p = wmk_print_u64(p, since / NS);
	rest = since % NS;
	p = put_three(p, rest / 1000000);
	p[-4] = '.';
	p = put_three(p, rest / 1000 % 1000);
	return put_three(p, rest % 1000);
}

char *wmk_print_wall(struct wmk_print *print, char *p, const struct wmk_print_scale *scale, uint64_t value)
{
	const bool is_relative = print->options.clock == WMK_PRINT_RELATIVE;
	int64_t ns;

	if (!(is_relative ? wmk_print_scale_steady : wmk_print_scale_ns)(scale, value, &ns))
		return copy(p, UNKNOWN);
	return is_relative ? put_relative(print, p, ns) : put_ns(print, p, ns);
}

/*
 * The first record has no delta. WMK_PRINT_NONE represents a missing delta; babeltrace2 uses the greatest number for
 * this purpose.
 */
static void go_on(struct wmk_print_last *last, uint64_t time)
{
	if (last->time != WMK_PRINT_NONE)
		last->delta = time - last->time;
	last->time = time;
}

char *wmk_print_timestamp(struct wmk_print *print, char *p, const struct wmk_print_scale *scale, uint64_t value)
{
	const bool cycles = print->options.clock == WMK_PRINT_CYCLES;
	struct wmk_print_last *last = &print->last;
	int64_t ns;

	memcpy(p, print->before.text, sizeof(print->before.text));
	p += print->before.len;
	if (cycles) {
		go_on(last, value);
		p = wmk_print_wide_u64(p, value, 20);
	} else if (__builtin_expect(wmk_print_scale_ns(scale, value, &ns), 1)) {
		go_on(last, (uint64_t)ns);
		p = put_ns(print, p, ns);
	} else {
		p = copy(p, UNKNOWN);
	}
	memcpy(p, print->between.text, sizeof(print->between.text));
	p += print->between.len;
	if (print->options.no_delta)
		return p;
	if (last->delta == WMK_PRINT_NONE) {
		p = copy(p, cycles ? "?????" "???????" : "?.?????????");
	} else if (cycles) {
		p = wmk_print_wide_u64(p, last->delta, 12);
	} else {
		/*
		 * If real time was set back between the two records, the difference is negative. In the text before the
		 * delta, the last character is '+'.
		 */
		const bool is_back = scale->points && last->delta > INT64_MAX;
		const uint64_t delta = is_back ? 0 - last->delta : last->delta;

		p[-1] = is_back ? '-' : p[-1];
		p = wmk_print_u64(p, delta / NS);
		*p++ = '.';
		p = wmk_print_nine(p, (uint32_t)(delta % NS));
	}
	memcpy(p, print->after.text, sizeof(print->after.text));
	return p + print->after.len;
}
