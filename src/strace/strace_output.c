/* SPDX-License-Identifier: MIT */
/*
 * strace_output.c - writes lines to the output file, and prints the beginning of each line (see strace.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "kernel/proc/namespaces.h"
#include "strace/strace.h"

#define OUT_BYTES (512u << 10)
#define OUT_FULL (128u << 10)    /* with more buffered bytes, the buffer is written before the next line */

void wmk_strace_lines_flush(struct wmk_strace_lines *lines)
{
	const char *at = lines->out.text;
	size_t left = lines->out.len;

	while (left && !lines->err) {
		const ssize_t n = write(lines->fd, at, left);

		if (n < 0 && errno != EINTR && errno != EAGAIN) {
			lines->err = wmk_error(-errno, "cannot write%s%.240s", lines->args->output ? " to " : "",
					       lines->args->output ? lines->args->output : "");
			lines->args->messages->error();
		} else if (n < 0 && errno == EAGAIN) {
			/* the traced program may have made the shared terminal non-blocking */
			poll(&(struct pollfd){ .fd = lines->fd, .events = POLLOUT }, 1, -1);
		} else if (n > 0) {
			at += n;
			left -= (size_t)n;
		}
	}
	lines->open_column += lines->out.len - lines->begin;
	lines->begin = lines->out.len = 0;
	lines->out.is_cut = false;
}

static void put_clock(struct wmk_strace_lines *lines, uint64_t mono)
{
	const int64_t wall = (int64_t)mono + lines->wall;
	const time_t seconds = (time_t)(wall / 1000000000);
	const uint64_t micros = (uint64_t)(wall % 1000000000) / 1000;
	struct tm tm = { .tm_sec = 0 };
	char text[32];

	if (lines->args->times >= 3) {
		wmk_kline_unsigned(&lines->out, (uint64_t)seconds);
	} else {
		localtime_r(&seconds, &tm);
		wmk_kline_bytes(&lines->out, text, strftime(text, sizeof(text), "%H:%M:%S", &tm));
	}
	if (lines->args->times >= 2) {
		wmk_kline_char(&lines->out, '.');
		wmk_kline_wide(&lines->out, micros, 6, '0');
	}
	wmk_kline_char(&lines->out, ' ');
}

void wmk_strace_lines_begin(struct wmk_strace_lines *lines, uint32_t tid, uint64_t mono)
{
	const struct wmk_strace_args *args = lines->args;

	if (lines->out.len > OUT_FULL)
		wmk_strace_lines_flush(lines);
	lines->begin = lines->out.len;
	lines->open_column = 0;
	if (args->follow && args->output) {
		wmk_kline_unsigned(&lines->out, tid);
		wmk_kline_pad(&lines->out, lines->begin, 5);
		wmk_kline_char(&lines->out, ' ');
	} else if (args->follow && lines->n_threads > 1) {
		wmk_kline_bytes(&lines->out, "[pid ", 5);
		wmk_kline_wide(&lines->out, tid, 5, ' ');
		wmk_kline_bytes(&lines->out, "] ", 2);
	}
	if (args->is_relative) {
		/* (a record can arrive late) */
		const uint64_t passed = lines->last && mono > lines->last ? mono - lines->last : 0;

		lines->last = mono;
		wmk_kline_wide(&lines->out, passed / 1000000000, 6, ' ');
		wmk_kline_char(&lines->out, '.');
		wmk_kline_wide(&lines->out, passed % 1000000000 / 1000, 6, '0');
		wmk_kline_char(&lines->out, ' ');
	}
	if (args->times)
		put_clock(lines, mono);
}

static int open_output(const struct wmk_strace_args *args, int *fd)
{
	if (!args->output) {
		*fd = args->json ? STDOUT_FILENO : STDERR_FILENO;
		return 0;
	}
	*fd = open(args->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	return *fd < 0 ? wmk_error(-errno, "cannot write to %.240s", args->output) : 0;
}

int wmk_strace_lines_open(const struct wmk_strace_args *args, const struct wmk_strace_prints *prints,
			  struct wmk_strace_source *source, struct wmk_strace_lines *lines)
{
	struct timespec wall;
	int err;

	*lines = (struct wmk_strace_lines){ .args = args, .prints = prints, .source = source, .fd = -1 };
	lines->out.text = malloc(OUT_BYTES);
	lines->out.room = lines->out.text ? OUT_BYTES : 0;
	for (unsigned abi = 0; args->is_summary && abi < WMK_SYSCALLS_ABIS; abi++)
		lines->counts[abi] = calloc(WMK_SYSCALLS_NUMBERS, sizeof(*lines->counts[abi]));
	if (!lines->out.text || !wmk_strace_threads_grow(lines) ||
	    (args->is_summary && (!lines->counts[0] || !lines->counts[1])))
		err = wmk_error(-ENOMEM, "cannot print system calls: no memory");
	else
		err = open_output(args, &lines->fd);
	if (err < 0) {
		wmk_strace_lines_close(lines);
		return err;
	}
	clock_gettime(CLOCK_REALTIME, &wall);
	lines->wall = (int64_t)wall.tv_sec * 1000000000 + wall.tv_nsec - (int64_t)wmk_kspaces_monotonic();
	return 0;
}

void wmk_strace_lines_close(struct wmk_strace_lines *lines)
{
	for (size_t i = 0; i < lines->n_slots; i++)
		if (lines->threads[i].is_used)
			free(lines->threads[i].bytes);
	free(lines->threads);
	free(lines->out.text);
	free(lines->counts[0]);
	free(lines->counts[1]);
	if (lines->args->output && lines->fd >= 0)
		close(lines->fd);
}
