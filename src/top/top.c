/* SPDX-License-Identifier: MIT */
/*
 * top.c - the intervals of `waymark top` (see top.h).
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "top/intervals.h"
#include "top/screen.h"
#include "top/top.h"

struct wmk_top {
	struct wmk_top_options options;
	struct wmk_analysis *analysis;
	struct wmk_screen *screen;     /* NULL: batch */
	int wake, timer;
	uint64_t begun;                /* begin of the interval, on the monotonic clock */
	uint64_t n;                    /* intervals */
	bool is_over;
};

/* (if standard input is a regular file, epoll_ctl() fails; then no keys are read) */
static void wait_for(const struct wmk_top *top, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	if (fd >= 0)
		epoll_ctl(top->wake, EPOLL_CTL_ADD, fd, &event);
}

static int open_wake(struct wmk_top *top)
{
	const struct timespec delay = { .tv_sec = (time_t)(top->options.delay_ns / 1000000000),
					.tv_nsec = (long)(top->options.delay_ns % 1000000000) };
	const struct itimerspec timer = { .it_value = delay, .it_interval = delay };

	top->wake = epoll_create1(EPOLL_CLOEXEC);
	top->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (top->wake < 0 || top->timer < 0 || timerfd_settime(top->timer, 0, &timer, NULL) < 0)
		return wmk_error(-errno, "cannot wait for the end of an interval");
	wait_for(top, top->timer);
	wait_for(top, top->options.wake);
	if (top->screen)
		wait_for(top, STDIN_FILENO);
	return 0;
}

static int tick(void *data)
{
	const int over = wmk_top_tick(data);

	return over > 0 ? wmk_error(-ECANCELED, "ended") : over;
}

int wmk_top_open(const struct wmk_top_options *options, struct wmk_top **top)
{
	struct wmk_top *made = calloc(1, sizeof(*made));
	int err;

	if (!made)
		return wmk_error(-ENOMEM, "no memory for `top`");
	made->options = *options;
	made->wake = made->timer = -1;
	made->begun = wmk_clock_monotonic();
	err = wmk_analysis_create(wmk_top_modules, &made->analysis);
	if (err >= 0 && !options->is_batch)
		err = wmk_screen_open(options->source, options->sort, &made->screen);
	if (err >= 0)
		err = open_wake(made);
	if (err < 0) {
		wmk_top_close(made);
		return err;
	}
	wmk_analysis_set_tick(made->analysis, tick, made);
	wmk_analysis_leave_out(made->analysis, options->own);
	*top = made;
	return 0;
}

void wmk_top_close(struct wmk_top *top)
{
	if (!top)
		return;
	wmk_screen_close(top->screen);
	if (top->wake >= 0)
		close(top->wake);
	if (top->timer >= 0)
		close(top->timer);
	wmk_analysis_free(top->analysis);
	free(top);
}

struct wmk_analysis *wmk_top_analysis(struct wmk_top *top)
{
	return top->analysis;
}

int wmk_top_wake(const struct wmk_top *top)
{
	return top->wake;
}

/* ── output ──────────────────────────────────────────────────────────────────────────────────────────── */

/* Print one object per line. Line ends in texts are escaped, so each line end separates members of the object. */
static int print_json(const struct wmk_result *shown)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	if (memory)
		wmk_result_json(shown, memory);
	if (!memory || fclose(memory) != 0) {
		free(text);
		return wmk_error(-ENOMEM, "no memory for the tables");
	}
	for (char *c = text; c < text + size - 1; c++)
		*c = *c == '\n' ? ' ' : *c;
	fwrite(text, 1, size, stdout);
	free(text);
	return 0;
}

static int print(struct wmk_top *top, struct wmk_result *shown)
{
	int err = wmk_result_sort(shown, top->options.sort);

	if (err >= 0 && top->options.json) {
		err = print_json(shown);
	} else if (err >= 0) {
		if (top->n)
			fputc('\n', stdout);
		wmk_result_print(shown, top->options.limit, false, stdout);
	}
	if (err >= 0 && fflush(stdout) != 0)
		err = wmk_error(-errno, "cannot write the tables");
	return err;
}

/* Take over `shown`. */
static int show(struct wmk_top *top, struct wmk_result *shown)
{
	int err = 0;

	if (top->screen) {
		wmk_screen_show(top->screen, shown);
	} else {
		err = print(top, shown);
		wmk_result_free(shown);
	}
	top->n++;
	top->is_over |= top->options.count && top->n >= top->options.count;
	return err;
}

int wmk_top_tick(struct wmk_top *top)
{
	const uint64_t now = wmk_clock_monotonic(), elapsed = now - top->begun;
	struct wmk_result shown;
	uint64_t expired;
	int err = 0;

	if (top->screen && !wmk_screen_keys(top->screen))
		top->is_over = true;
	if (!top->is_over && read(top->timer, &expired, sizeof(expired)) == (ssize_t)sizeof(expired)) {
		top->begun = now;
		err = wmk_top_interval(top->analysis, (int64_t)elapsed, top->options.own, &shown);
		if (err >= 0)
			err = show(top, &shown);
		else
			wmk_result_free(&shown);
	}
	return err < 0 ? err : top->is_over;
}

int wmk_top_finish(struct wmk_top *top)
{
	struct pollfd fds[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
				 { .fd = top->options.wake, .events = POLLIN } };
	const struct wmk_result *last = wmk_analysis_result(top->analysis);
	struct wmk_result shown;
	int err = 0;

	if (!top->is_over && last->records) {
		err = wmk_top_convert(last, top->options.own, &shown);
		if (err >= 0)
			err = show(top, &shown);
		else
			wmk_result_free(&shown);
	}
	if (err < 0 || top->is_over || !top->screen)
		return err;
	wmk_screen_ended(top->screen);
	while (wmk_screen_keys(top->screen) && !fds[1].revents && !(fds[0].revents & (POLLHUP | POLLERR)))
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
	return 0;
}
