/* SPDX-License-Identifier: MIT */
/*
 * cost_cpu_buffer.c - measures the processor time of reading in each mode and page size: full pages, taken only or also
 * walked; a query without new records; a flush of one record. It is no test: nothing passes or fails by time.
 *
 *     cost-kernel-cpu                                 prints a table
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "counted.h"

#define CALLS 300000u
#define LOOKS 20000u

static const char *const mode_names[] = { "best", "map", "splice", "read" };

static double cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

struct sums {
	uint64_t records, bytes, parts;
	double ns;
};

static struct sums read_all(struct wmk_kcpu *buffer, bool flush, bool walks)
{
	struct sums sums = { .ns = -cpu_ns() };
	struct wmk_krecord record;
	struct wmk_kpage page;
	struct wmk_kpart part;

	while (wmk_kcpu_next(buffer, flush, &part) == 1) {
		if (walks) {
			wmk_kpart_open(buffer, &part, &page);
			while (wmk_kpage_next(&page, &record) == 1)
				sums.records++;
		}
		sums.bytes += part.until - part.from;
		sums.parts++;
		wmk_kcpu_release(buffer);
	}
	sums.ns += cpu_ns();
	return sums;
}

static double each_flush(struct wmk_kcpu *buffer)
{
	double ns = 0;

	for (unsigned i = 0; i < LOOKS; i++) {
		struct sums one;

		syscall(SYS_getppid);
		one = read_all(buffer, true, true);
		ns += one.ns;
	}
	return ns / LOOKS;
}

static double each_look(struct wmk_kcpu *buffer)
{
	struct wmk_kpart part;
	double ns = -cpu_ns();

	for (unsigned i = 0; i < LOOKS; i++)
		wmk_kcpu_next(buffer, false, &part);
	return (ns + cpu_ns()) / LOOKS;
}

static int one(enum wmk_kcpu_mode mode, unsigned page_kb)
{
	struct instance made;
	struct wmk_kcpu *buffer;
	struct writers w;
	struct sums sums[2];
	const pid_t self = getpid();
	double look, flush;
	char text[32];

	instance_make(&made);
	snprintf(text, sizeof(text), "%u", page_kb);
	instance_set(&made, "buffer_subbuf_size_kb", text);
	instance_set(&made, "buffer_size_kb", "40000");
	for (unsigned walks = 0; walks < 2; walks++) {
		writers_start(&w, &made, CALLS);
		if (wmk_kcpu_open(made.dir, w.cpu[0], mode, &buffer) < 0) {
			writers_go(&w);
			writers_stop(&w);
			instance_remove(&made);
			return 1;
		}
		writers_go(&w);
		writers_stop(&w);
		sums[walks] = read_all(buffer, false, walks);
		read_all(buffer, true, false);
		if (walks == 0)
			wmk_kcpu_close(buffer);
	}
	look = each_look(buffer);
	instance_record(&made, &self, 1);
	flush = each_flush(buffer);
	wmk_kcpu_close(buffer);
	instance_remove(&made);
	printf("%-6s %4u KiB: taken %6.1f us/MB (%5.2f us/page), walked %5.2f ns/record (%u bytes of each); nothing "
	       "new %5.0f ns, one record flushed %6.0f ns\n",
	       mode_names[mode], page_kb, sums[0].ns / 1e3 / ((double)sums[0].bytes / 1e6),
	       sums[0].ns / 1e3 / (double)sums[0].parts, sums[1].ns / (double)sums[1].records,
	       (unsigned)(sums[1].bytes / sums[1].records), look, flush);
	return 0;
}

int main(void)
{
	static const unsigned pages_kb[] = { 4, 16, 64 };
	const char *missing = instance_missing();

	if (missing) {
		printf("%s: not measured\n", missing);
		return 77;
	}
	instances_sweep();
	for (enum wmk_kcpu_mode mode = WMK_KCPU_MAP; mode <= WMK_KCPU_READ; mode++)
		for (unsigned i = 0; i < sizeof(pages_kb) / sizeof(*pages_kb); i++)
			if (one(mode, pages_kb[i]) != 0)
				printf("%s %u KiB: not available\n", mode_names[mode], pages_kb[i]);
	instances_sweep();
	return 0;
}
