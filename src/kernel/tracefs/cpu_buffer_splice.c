/* SPDX-License-Identifier: MIT */
/*
 * cpu_buffer_splice.c - pages copied out of a CPU's buffer. splice() moves many whole pages into a pipe without a copy.
 * This process then reads the pages from the pipe one by one. splice() skips the page that the writer is on, unless a
 * reader has read the beginning of this page. read() copies the available part of the oldest page. The copy has the
 * form of a page with its own begin time.
 *
 * read() cannot be limited to full pages. If the buffer has more bytes than fit into one page, the writer has left the
 * oldest page.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "kernel/tracefs/cpu_buffer_modes.h"

#define PIPE_PAGES 16u                 /* default capacity of a pipe: one page of any size in each buffer */

/*
 * Corrects the begin time of a copy that continues within the page of the previous copy. The kernel computes the begin
 * time of such a copy without the time deltas of discarded events. The begin time of the copy can therefore precede the
 * last record of the previous copy. A begin time before the last record of the previous copy identifies a copy that
 * continues within the page, because no other copy has such a begin time.
 */
static void mend_time(struct wmk_kcpu *buffer, struct wmk_kpage *page)
{
	page->discarded = 0;
	if (buffer->behind && page->begin_ts == buffer->end_ts - buffer->behind) {
		page->begin_ts = page->ts = buffer->end_ts;
		page->discarded = buffer->behind;
		memcpy(buffer->copy, &page->begin_ts, sizeof(page->begin_ts));
	}
	buffer->behind = 0;
}

/*
 * Store the end time of a copy if the next copy may continue within the same page. If the page is damaged, the kernel
 * does not continue in the page.
 */
static void note_time(struct wmk_kcpu *buffer, struct wmk_kpage page)
{
	struct wmk_krecord record;
	int got;

	while ((got = wmk_kpage_next(&page, &record)) == 1)
		;
	if (got < 0) {
		wmk_error_clear();
		return;
	}
	buffer->end_ts = page.ts;
	buffer->behind = page.discarded;
}

/*
 * Return the page in buffer->copy as a part. is_whole: the copy ends where the page ends. -EPROTO: invalid page. 0:
 * empty page.
 */
static int give(struct wmk_kcpu *buffer, bool is_whole)
{
	struct wmk_kpage page;
	const int err = wmk_kpage_open(&buffer->layout, buffer->copy, buffer->layout.page_size, &page);

	if (err < 0)
		return wmk_error_add(err, "cannot decode a page of CPU %u", buffer->cpu);
	mend_time(buffer, &page);
	if (!is_whole && page.len + WMK_KPAGE_EVENT_MIN <= buffer->layout.page_size - buffer->layout.data_at)
		note_time(buffer, page);
	buffer->part = (struct wmk_kpart){ .bytes = buffer->copy, .size = buffer->layout.page_size, .until = page.len };
	return page.len > 0;
}

static int read_page(struct wmk_kcpu *buffer)
{
	const ssize_t n = read(buffer->fd, buffer->copy, buffer->layout.page_size);

	if (n == 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return 0;
	if (n < 0)
		return wmk_error(-errno, "cannot read per_cpu/cpu%u/trace_pipe_raw", buffer->cpu);
	if ((size_t)n != buffer->layout.page_size)
		return wmk_error(-EIO, "per_cpu/cpu%u/trace_pipe_raw returned %zd bytes, expected a page of %u",
				 buffer->cpu, n, buffer->layout.page_size);
	return give(buffer, false);
}

/* Splice pages into the empty pipe. */
static int fill_pipe(struct wmk_kcpu *buffer)
{
	const size_t size = buffer->layout.page_size;
	const ssize_t n =
		splice(buffer->fd, NULL, buffer->pipe[1], NULL, PIPE_PAGES * size, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);

	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return wmk_error(-errno, "cannot splice per_cpu/cpu%u/trace_pipe_raw", buffer->cpu);
	if (n > 0 && (size_t)n % size)
		return wmk_error(-EIO, "per_cpu/cpu%u/trace_pipe_raw returned %zd bytes, expected pages of %zu",
				 buffer->cpu, n, size);
	buffer->piped = n > 0 ? (size_t)n / size : 0;
	return 0;
}

static int copy_from_pipe(struct wmk_kcpu *buffer)
{
	for (size_t got = 0; got < buffer->layout.page_size;) {
		const ssize_t n = read(buffer->pipe[0], buffer->copy + got, buffer->layout.page_size - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return wmk_error(n < 0 ? -errno : -EIO, "cannot read pages of CPU %u from their pipe",
					 buffer->cpu);
		got += (size_t)n;
	}
	buffer->piped--;
	return 0;
}

static int page_from_pipe(struct wmk_kcpu *buffer)
{
	const int err = copy_from_pipe(buffer);

	return err < 0 ? err : give(buffer, true);
}

int wmk_kcpu_copy_emptied(struct wmk_kcpu *buffer)
{
	int err = 0;

	buffer->behind = 0;
	while (buffer->piped && err == 0)
		err = copy_from_pipe(buffer);
	return err;
}

int wmk_kcpu_splice_next(struct wmk_kcpu *buffer, bool flush)
{
	int got;

	do {
		if (buffer->piped == 0) {
			const int err = fill_pipe(buffer);

			if (err < 0)
				return err;
		}
		if (buffer->piped == 0)
			return flush ? read_page(buffer) : 0;
		got = page_from_pipe(buffer);
	} while (got == 0);
	return got;
}

int wmk_kcpu_read_next(struct wmk_kcpu *buffer, bool flush)
{
	struct wmk_kcpu_stats stats;
	int err;

	if (!flush) {
		err = wmk_kcpu_stats(buffer, &stats);
		if (err < 0 || stats.bytes <= buffer->layout.page_size - buffer->layout.data_at)
			return err;
	}
	return read_page(buffer);
}

int wmk_kcpu_copy_open(struct wmk_kcpu *buffer)
{
	buffer->copy = malloc(buffer->layout.page_size);
	if (!buffer->copy)
		return wmk_error(-ENOMEM, "no memory for a page of CPU %u", buffer->cpu);
	if (buffer->mode == WMK_KCPU_SPLICE && pipe2(buffer->pipe, O_CLOEXEC | O_NONBLOCK) < 0) {
		const int err = wmk_error(-errno, "cannot make a pipe for the pages of CPU %u", buffer->cpu);

		wmk_kcpu_copy_close(buffer);
		return err;
	}
	return 0;
}

void wmk_kcpu_copy_close(struct wmk_kcpu *buffer)
{
	free(buffer->copy);
	buffer->copy = NULL;
	for (unsigned i = 0; i < 2; i++) {
		if (buffer->pipe[i] >= 0)
			close(buffer->pipe[i]);
		buffer->pipe[i] = -1;
	}
}
