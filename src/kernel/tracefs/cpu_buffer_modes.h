/* SPDX-License-Identifier: MIT */
/*
 * cpu_buffer_modes.h - shared by cpu_buffer.c (open, counts, parts), cpu_buffer_mmap.c (mapped pages) and
 * cpu_buffer_splice.c (copied pages).
 *
 * The next() function of a mode fills buffer->part and returns 1; 0: nothing new; -errno.
 */
#ifndef WMK_KERNEL_CPU_BUFFER_MODES_H
#define WMK_KERNEL_CPU_BUFFER_MODES_H

#include "kernel/tracefs/cpu_buffer.h"

struct wmk_kmap_meta;

struct wmk_kcpu {
	enum wmk_kcpu_mode mode;
	unsigned cpu;
	int fd, stats_fd;
	struct wmk_kpage_layout layout;
	bool held;                         /* `part` was returned and not released */
	struct wmk_kpart part;

	/* MAP */
	const struct wmk_kmap_meta *meta;
	size_t meta_bytes;
	const uint8_t *pages;
	size_t pages_bytes;
	unsigned long get_reader;          /* number of the ioctl */
	uint32_t n_pages, id;              /* number of pages; index of the reader page */
	/* bytes of the reader page's data: released; counted as read by the kernel */
	uint32_t given, taken;
	bool again;

	/* SPLICE, READ */
	uint8_t *copy;                     /* a page */
	int pipe[2];
	size_t piped;                      /* pages in the pipe */
	/*
	 * time of the last record in the latest copy; how much too early the next copy begins if the kernel continues
	 * in the same page
	 */
	uint64_t end_ts, behind;
};

int wmk_kcpu_map_open(struct wmk_kcpu *buffer);
int wmk_kcpu_map_next(struct wmk_kcpu *buffer, bool flush);
/* Implements wmk_kcpu_again(): returns all data of the reader page that counts as read. */
void wmk_kcpu_map_again(const struct wmk_kcpu *buffer, struct wmk_kpart *part);
int wmk_kcpu_map_emptied(struct wmk_kcpu *buffer);
void wmk_kcpu_map_close(struct wmk_kcpu *buffer);

int wmk_kcpu_copy_open(struct wmk_kcpu *buffer);
int wmk_kcpu_splice_next(struct wmk_kcpu *buffer, bool flush);
int wmk_kcpu_read_next(struct wmk_kcpu *buffer, bool flush);
/* Drop the pages that were copied before the buffer was emptied. */
int wmk_kcpu_copy_emptied(struct wmk_kcpu *buffer);
void wmk_kcpu_copy_close(struct wmk_kcpu *buffer);

/* Parse the text of per_cpu/cpuN/stats. -EPROTO: a count is missing or not a number. */
int wmk_kcpu_stats_parse(const char *text, size_t len, struct wmk_kcpu_stats *stats);

#endif
