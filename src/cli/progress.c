/* SPDX-License-Identifier: MIT */
/*
 * progress.c - print the progress of a long operation (see progress.h).
 */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/progress.h"

#define FIRST_NS UINT64_C(1000000000)
#define EACH_NS UINT64_C(200000000)

void wmk_progress_begin(struct wmk_progress *progress, uint64_t now, bool is_on_screen)
{
	*progress = (struct wmk_progress){ .next_ns = isatty(2) && !is_on_screen ? now + FIRST_NS : 0 };
}

size_t wmk_progress_line(struct wmk_progress *progress, uint64_t now, uint64_t done, uint64_t total, uint64_t records,
			 char *buf, size_t size)
{
	if (!progress->next_ns || now < progress->next_ns)
		return 0;
	progress->next_ns = now + EACH_NS;
	progress->shown = true;
	if (!total)
		return (size_t)snprintf(buf, size, "%" PRIu64 " MB, %" PRIu64 " records", done / 1000000, records);
	return (size_t)snprintf(buf, size, "%3u %% of %" PRIu64 " MB, %" PRIu64 " records",
				done < total && total >= 100 ? (unsigned)(done / (total / 100)) : 100, total / 1000000,
				records);
}

void wmk_progress_tell(void *data, uint64_t bytes, uint64_t total, uint64_t records)
{
	struct wmk_progress *progress = data;
	char line[120];

	if (progress->next_ns &&
	    wmk_progress_line(progress, wmk_clock_monotonic(), bytes, total, records, line, sizeof(line)))
		fprintf(stderr, "\r%s\033[K", line);
}

void wmk_progress_end(struct wmk_progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
	progress->shown = false;
}
