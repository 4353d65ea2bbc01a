/* SPDX-License-Identifier: MIT */
/*
 * clock_points.c - read sync points, and compute times from them (see clock_points.h).
 *
 * The kernel steers CLOCK_MONOTONIC and real time together, so their difference changes only when real time is set. In
 * an interval with a step, the computed line follows CLOCK_MONOTONIC instead of real time. CLOCK_MONOTONIC does not
 * count the time during which the system is suspended. If the trace clock counts the time during a suspend, the
 * computed line follows real time, without a step. If the trace clock agrees with neither CLOCK_MONOTONIC nor real
 * time, the computed line follows the nominal rate of the trace clock.
 */
#include "read/clock_points.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "read/write_all.h"

#define POINTS_MAX (1u << 22)            /* more than a year of points */
#define READ_POINTS 1024u
#define STEP_LEAST 1000.0                /* ns: smaller changes are within the measurement */
/* greatest relative difference between the rates of two clocks of a machine; NTP changes a rate by 500e-6 at most */
#define RATE_MOST 1000e-6
#define STEER_MOST 500e-6
#define NEIGHBOURS 64u                   /* points that are searched for a long enough line */
/* maximum time between a step and its point, if the point has the flag of a step */
#define NOTICED_NS 10000000.0
/* limits in ns of the time of a point, and of the sum of all steps, so that sums of times at points fit into 64 bits */
#define TIME_MAX INT64_C(4000000000000000000)
#define STEPS_MAX INT64_C(2000000000000000000)

struct read_point {
	uint64_t value;
	/* ns, before `shift` is added: real time at the first point, continued without steps */
	int64_t steady;
	int64_t steps;             /* ns: sum of all steps up to this point */
	double step_from;          /* the step is within this many units of the clock before the point */
	uint32_t uncertainty;      /* ns */
};

struct wmk_read_clock_points {
	int fd;
	uint64_t size;             /* bytes of the file that were read */
	uint64_t number;
	bool is_damaged;
	double nominal;            /* ns for each unit */
	uint64_t skew;             /* ns */
	struct read_point *points;
	uint32_t n, cap;
	struct wmk_clock_point last;         /* as in the file */
	char relay[WMK_CLOCK_UUID];          /* the UUID of the relay's clock; "": the file .clock */
	/*
	 * joined with another trace: the last CLOCK_MONOTONIC of the other trace, and ns to add to the steady time;
	 * else 0
	 */
	uint64_t joined_ns;
	int64_t shift;
};

/* ── read the file ───────────────────────────────────────────────────────────────────────────────────── */

/* (`to` is not below `from`) */
static double between(uint64_t from, uint64_t to)
{
	return (double)(to - from);
}

/* Return the size of the step of real time between two points, in ns; 0: no step. */
static int64_t step_between(const struct wmk_read_clock_points *points, const struct wmk_clock_point *a,
			    const struct wmk_clock_point *b)
{
	const double value = between(a->value, b->value) * points->nominal,
		     monotonic = between(a->monotonic_ns, b->monotonic_ns),
		     real = (double)((int64_t)b->real_ns - (int64_t)a->real_ns),
		     tolerance = (double)a->uncertainty_ns + (double)b->uncertainty_ns + STEP_LEAST,
		     rate = value * RATE_MOST + tolerance;
	const bool is_monotonic = monotonic - value <= rate && value - monotonic <= rate,
		   is_real = real - value <= rate && value - real <= rate;
	const double step = real - monotonic;

	if (step <= tolerance && step >= -tolerance)
		return 0;
	if (is_monotonic || !is_real)
		return (int64_t)(b->real_ns - a->real_ns) -
		       (is_monotonic ? (int64_t)(b->monotonic_ns - a->monotonic_ns) : (int64_t)value);
	return 0;
}

/*
 * Check that a sync point does not contradict the previous sync point. Returns NULL if the point is valid, and the
 * description of the contradiction otherwise.
 */
static const char *contradiction(const struct wmk_read_clock_points *points, const struct wmk_clock_point *point)
{
	const struct wmk_clock_point *last = &points->last;

	if (point->real_ns > TIME_MAX || point->monotonic_ns > TIME_MAX)
		return "a sync point has a time after the year 2096";
	if (!points->n)
		return NULL;
	if (point->value <= last->value)
		return "the clock goes back";
	if (point->monotonic_ns < last->monotonic_ns)
		return "CLOCK_MONOTONIC goes back";
	if (between(last->value, point->value) * points->nominal > TIME_MAX)
		return "the clock jumps";
	return NULL;
}

static bool is_too_far(int64_t steps)
{
	return steps > STEPS_MAX || steps < -STEPS_MAX;
}

static int add_point(struct wmk_read_clock_points *points, const struct wmk_clock_point *point)
{
	struct read_point *all = wmk_array_room(points->points, points->n, &points->cap, sizeof(*all)), *made;
	int64_t step = 0;

	if (!all)
		return wmk_error(-ENOMEM, "no memory for %u sync points", points->n + 1);
	points->points = all;
	made = &all[points->n];
	*made = (struct read_point){ .value = point->value, .uncertainty = point->uncertainty_ns };
	if (points->n) {
		step = step_between(points, &points->last, point);
		if (is_too_far(step) || is_too_far(made[-1].steps + step))
			return wmk_error(-EPROTO, ".clock: steps of more than 63 years at byte %" PRIu64, points->size);
		made->steps = made[-1].steps + step;
		made->step_from = step ? between(points->last.value, point->value) : 0;
		if ((point->flags & WMK_CLOCK_POINT_STEP) && made->step_from > NOTICED_NS / points->nominal)
			made->step_from = NOTICED_NS / points->nominal;
	}
	made->steady = (int64_t)point->real_ns - made->steps;
	/*
	 * The difference between the times of two points may be less than their uncertainty. Steady time never
	 * decreases, so the reader uses the time of the previous point in this case.
	 */
	if (points->n && made->steady < made[-1].steady)
		made->steady = made[-1].steady;
	points->n++;
	points->last = *point;
	return 0;
}

static int add_bytes(struct wmk_read_clock_points *points, const uint8_t *bytes)
{
	struct wmk_clock_point point;
	const char *wrong;

	wmk_clock_point_decode(bytes, &point);
	wrong = contradiction(points, &point);
#ifdef WMK_PLANTED_BUG_READ_CLOCK             /* the fuzzer must find this */
	wrong = point.value % 3 ? NULL : wrong;
#endif
	if (wrong)
		return wmk_error(-EPROTO, ".clock: %s at byte %" PRIu64, wrong, points->size);
	return add_point(points, &point);
}

/* Read complete points up to the end of the file. */
static int read_points(struct wmk_read_clock_points *points)
{
	uint8_t bytes[READ_POINTS * WMK_CLOCK_POINT_BYTES];
	const uint32_t before = points->n;
	int err = 0;
	ssize_t got;

	while (err >= 0 && (got = pread(points->fd, bytes, sizeof(bytes), (off_t)points->size)) > 0) {
		const size_t n = (size_t)got / WMK_CLOCK_POINT_BYTES;

		for (size_t i = 0; i < n && err >= 0; i++, points->size += WMK_CLOCK_POINT_BYTES)
			err = points->n == POINTS_MAX
				      ? wmk_error(-E2BIG, ".clock: more than %u sync points", POINTS_MAX)
				      : add_bytes(points, bytes + i * WMK_CLOCK_POINT_BYTES);
		if (n < READ_POINTS)
			break;
	}
	points->is_damaged = err < 0;
	points->number += points->n != before;
	return err;
}

int wmk_read_clock_points_renew(struct wmk_read_clock_points *points)
{
	return points->is_damaged || points->fd < 0 ? 0 : read_points(points);
}

/* 1: the file has points of this clock; 0: the file has no such points, or is too short; -EPROTO. */
static int read_head(int fd, const struct wmk_ctf_clock_class *clock)
{
	uint8_t bytes[WMK_CLOCK_FILE_HEAD];
	struct wmk_clock_head head;
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return wmk_error(-EPROTO, ".clock is not a regular file");
	if (pread(fd, bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return 0;
	if (wmk_clock_head_decode(bytes, sizeof(bytes), &head) < 0)
		return wmk_error(-EPROTO, ".clock: not a file of sync points, or an unknown version");
	return strcmp(head.uuid, clock->uuid ? clock->uuid : "") == 0;
}

static void set_clock(struct wmk_read_clock_points *points, const struct wmk_ctf_clock_class *clock)
{
	const double skew = 1e9 * (double)clock->precision / (double)clock->freq;

	points->nominal = 1e9 / (double)clock->freq;
	points->skew = skew < 1e18 ? (uint64_t)skew : (uint64_t)1e18;
}

int wmk_read_clock_points_open(int dir, const struct wmk_ctf_clock_class *clock, struct wmk_read_clock_points **points)
{
	struct wmk_read_clock_points *made;
	int fd, err;

	*points = NULL;
	if (!clock || !clock->freq)
		return 0;
	fd = openat(dir, WMK_CLOCK_FILE, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0)
		return 0;
	err = read_head(fd, clock);
	made = err > 0 ? calloc(1, sizeof(*made)) : NULL;
	if (!made) {
		close(fd);
		return err > 0 ? wmk_error(-ENOMEM, "no memory for sync points") : err;
	}
	made->fd = fd;
	made->size = WMK_CLOCK_FILE_HEAD;
	set_clock(made, clock);
	err = read_points(made);
	if (err == -ENOMEM || !made->n) {
		wmk_read_clock_points_free(made);
		return err;
	}
	*points = made;
	return err;
}

int wmk_read_clock_points_make(const struct wmk_ctf_clock_class *clock, const char *relay,
			       const struct wmk_clock_point *from, uint32_t n, struct wmk_read_clock_points **points)
{
	struct wmk_read_clock_points *made = calloc(1, sizeof(*made));
	int err = 0;

	*points = NULL;
	if (!made)
		return wmk_error(-ENOMEM, "no memory for sync points");
	set_clock(made, clock);
	made->fd = -1;
	made->number = 1;
	snprintf(made->relay, sizeof(made->relay), "%s", relay);
	for (uint32_t i = 0; i < n && err != -ENOMEM; i++)
		if (!contradiction(made, &from[i]))
			err = add_point(made, &from[i]);
	if (err != -ENOMEM)
		wmk_error_clear();
	if (err == -ENOMEM || !made->n)
		wmk_read_clock_points_free(made);
	else
		*points = made;
	return err == -ENOMEM ? err : 0;
}

const char *wmk_read_clock_points_relay(const struct wmk_read_clock_points *points)
{
	return points->relay;
}

int wmk_read_clock_points_copy(const struct wmk_read_clock_points *points, int dir)
{
	uint8_t bytes[READ_POINTS * WMK_CLOCK_POINT_BYTES];
	int fd, err = 0;

	if (!points)
		return 0;
	fd = openat(dir, WMK_CLOCK_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return wmk_error(-errno, "cannot create .clock");
	for (uint64_t at = 0; at < points->size && err >= 0;) {
		const uint64_t rest = points->size - at;
		const ssize_t got = pread(points->fd, bytes, rest < sizeof(bytes) ? rest : sizeof(bytes), (off_t)at);

		if (got <= 0)
			err = wmk_error(got < 0 ? -errno : -EIO, "cannot read .clock");
		else if ((err = wmk_read_write_all(fd, bytes, (size_t)got, (off_t)at)) < 0)
			wmk_error(err, "cannot write .clock");
		at += got > 0 ? (uint64_t)got : 0;
	}
	close(fd);
	return err;
}

void wmk_read_clock_points_free(struct wmk_read_clock_points *points)
{
	if (!points)
		return;
	if (points->fd >= 0)
		close(points->fd);
	free(points->points);
	free(points);
}

/* ── times ───────────────────────────────────────────────────────────────────────────────────────────── */

uint64_t wmk_read_clock_points_number(const struct wmk_read_clock_points *points)
{
	return points->number;
}

/* Return the number of points at or before `value`. */
static uint32_t count_before(const struct wmk_read_clock_points *points, uint64_t value)
{
	uint32_t low = 0, high = points->n;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (points->points[middle].value <= value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Return the slope between two points; point `a` is before point `b`. */
static double slope(const struct read_point *a, const struct read_point *b)
{
	return (double)(b->steady - a->steady) / between(a->value, b->value);
}

/*
 * Return the greatest relative error of the slope between two points, which results from the uncertainties of the
 * points.
 */
static double slope_error(const struct wmk_read_clock_points *points, const struct read_point *a,
			  const struct read_point *b)
{
	return ((double)a->uncertainty + (double)b->uncertainty) / (between(a->value, b->value) * points->nominal);
}

/*
 * Return the slope of a line that begins at point `i` or, with `back`, of a line that ends at point `i`. The line is at
 * least `length` clock units long, because a shorter line has too large an uncertainty for a rate. The function returns
 * `other` if each of the nearest NEIGHBOURS points is less than `length` clock units away.
 */
static double slope_at(const struct wmk_read_clock_points *points, uint32_t i, bool back, double length, double other)
{
	const struct read_point *all = points->points;

	for (uint32_t n = 1; n <= NEIGHBOURS && (back ? n <= i : n < points->n - i); n++) {
		const struct read_point *a = back ? &all[i - n] : &all[i], *b = back ? &all[i] : &all[i + n];

		if (between(a->value, b->value) >= length)
			return slope(a, b);
	}
	return other;
}

/*
 * Return the slope of the line before the first point. With `back`, return the slope of the line after the last point.
 * *error receives the relative error of the slope. Sync points of a relay's clock are less exact than sync points of
 * the host. If every examined slope has an error of more than 500 ppm, the function uses the nominal rate.
 */
static double outer_slope(const struct wmk_read_clock_points *points, bool back, double *error)
{
	const struct read_point *all = points->points;
	const uint32_t last = points->n - 1;

	*error = 0;
	if (!points->relay[0])
		return slope_at(points, back ? last : 0, back, 1e9 / points->nominal, points->nominal);
	for (uint32_t n = 1; n <= NEIGHBOURS && n <= last; n++) {
		const struct read_point *a = back ? &all[last - n] : &all[0], *b = back ? &all[last] : &all[n];

		if (slope_error(points, a, b) <= STEER_MOST) {
			*error = slope_error(points, a, b);
			return slope(a, b);
		}
	}
	return points->nominal;
}

/*
 * Return the difference, in ns, between steady time as defined in clock_points.h and steady time as computed in
 * clock_points.c. In clock_points.c, steady time equals real time at the first sync point. In clock_points.h, steady
 * time equals real time after the last step.
 */
static int64_t all_steps(const struct wmk_read_clock_points *points)
{
	return points->points[points->n - 1].steps + points->shift;
}

static uint64_t joined_at(const struct wmk_read_clock_points *points)
{
	return points->joined_ns ? points->joined_ns : points->last.monotonic_ns;
}

/* Steady time minus CLOCK_MONOTONIC. */
static int64_t ahead_of(const struct wmk_read_clock_points *points)
{
	return (int64_t)points->last.real_ns - (int64_t)points->last.monotonic_ns + points->shift;
}

void wmk_read_clock_points_join(struct wmk_read_clock_points *a, struct wmk_read_clock_points *b)
{
	struct wmk_read_clock_points *early = joined_at(a) < joined_at(b) ? a : b, *late = early == a ? b : a;
	const int64_t more = ahead_of(late) - ahead_of(early);

	/* (the file is forged, or from another machine) */
	if (is_too_far(more) || is_too_far(early->shift + more))
		return;
	early->shift += more;
	early->joined_ns = joined_at(late);
	early->number++;
}

void wmk_read_clock_line_find(const struct wmk_read_clock_points *points, uint64_t value,
			      struct wmk_read_clock_line *line)
{
	const uint32_t n = count_before(points, value), last = points->n - 1;
	const struct read_point *base = &points->points[n == 0 ? 0 : n - 1];
	double error;

	*line = (struct wmk_read_clock_line){
		.from = n == 0 ? 0 : base->value,
		.to = n <= last ? points->points[n].value : UINT64_MAX,
		.number = points->number,
		.value = base->value,
		.ns = base->steady + all_steps(points),
		.slope = n == 0 || n > last ? outer_slope(points, n > last, &error) : slope(base, base + 1),
		.steps = (n ? base->steps : 0) - all_steps(points),
	};
}

/*
 * Return the greatest difference between three slopes: the slope of the interval that begins at point `i`, and the
 * slopes of the intervals on both sides.
 */
static double slope_change(const struct wmk_read_clock_points *points, uint32_t i)
{
	const struct read_point *a = &points->points[i], *b = a + 1;
	const double own = slope(a, b), length = between(a->value, b->value) / 4,
		     before = slope_at(points, i, true, length, own),
		     after = slope_at(points, i + 1, false, length, own);
	const double low = before < after ? before : after, high = before < after ? after : before;
	const double change = (high > own ? high : own) - (low < own ? low : own);

	if (!points->relay[0])
		return change;
	/*
	 * If the points belong to a relay's clock, errors of the points may cause most of the change of the slope.
	 * Linux steers a clock by at most 500 ppm.
	 */
	const double most = STEER_MOST * points->nominal,
		     seen = change + 2 * slope_error(points, a, b) * points->nominal;

	return seen < most ? seen : most;
}

/*
 * Return the size, in ns, of a step that may have happened before `value`. Converted times contain the step only from
 * the next sync point on.
 */
static double step_near(const struct wmk_read_clock_points *points, uint32_t n, uint64_t value)
{
	const struct read_point *next = &points->points[n];

	if (n == 0 || n == points->n || between(value, next->value) > next->step_from)
		return 0;
	const double step = (double)(next->steps - next[-1].steps);

	return step < 0 ? -step : step;
}

uint64_t wmk_read_clock_uncertainty(const struct wmk_read_clock_points *points, uint64_t value)
{
	const uint32_t n = count_before(points, value);
	const struct read_point *a = &points->points[n ? n - 1 : 0], *b = &points->points[n < points->n ? n : n - 1];
	const uint32_t larger = a->uncertainty > b->uncertainty ? a->uncertainty : b->uncertainty;
	double error, ns = (double)larger + (double)points->skew;

	if (n == 0 || n == points->n) {
		outer_slope(points, n != 0, &error);
		ns += (n ? between(a->value, value) : between(value, a->value)) * points->nominal *
		      (STEER_MOST + error);
	} else {
		ns += slope_change(points, n - 1) * between(a->value, value) * between(value, b->value) /
		      between(a->value, b->value);
	}
	ns += step_near(points, n, value);
	return ns < 1e18 ? (uint64_t)ns + 1 : WMK_READ_CLOCK_UNKNOWN;
}
