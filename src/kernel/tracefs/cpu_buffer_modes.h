/* SPDX-License-Identifier: MIT */
/*
 * cpu_buffer_modes.h - what cpu_buffer.c (opening, counts, giving out), cpu_buffer_mmap.c (pages in a mapping) and
 * cpu_buffer_splice.c (pages that are copied out) share.
 *
 * A mode's next() fills buffer->part: 1; 0: nothing new; -errno.
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
	bool held;                         /* `part` was given and not released */
	struct wmk_kpart part;

	/* MAP */
	const struct wmk_kmap_meta *meta;
	size_t meta_bytes;
	const uint8_t *pages;
	size_t pages_bytes;
	unsigned long get_reader;          /* the request's number */
	uint32_t n_pages, id;              /* how many there are; which is the reader's */
	uint32_t given, taken;             /* of its data: released; the kernel counts as read */
	bool again;

	/* SPLICE, READ */
	uint8_t *copy;                     /* a page */
	int pipe[2];
	size_t piped;                      /* pages that are in the pipe */
	/* of the latest copy: its last time, and what the kernel will lack of that if it goes on there */
	uint64_t end_ts, behind;
};

int wmk_kcpu_map_open(struct wmk_kcpu *buffer);
int wmk_kcpu_map_next(struct wmk_kcpu *buffer, bool flush);
/* All that counts as read of the page that is the reader's now. */
void wmk_kcpu_map_again(const struct wmk_kcpu *buffer, struct wmk_kpart *part);
int wmk_kcpu_map_emptied(struct wmk_kcpu *buffer);
void wmk_kcpu_map_close(struct wmk_kcpu *buffer);

int wmk_kcpu_copy_open(struct wmk_kcpu *buffer);
int wmk_kcpu_splice_next(struct wmk_kcpu *buffer, bool flush);
int wmk_kcpu_read_next(struct wmk_kcpu *buffer, bool flush);
/* What was copied from it before it was emptied. */
int wmk_kcpu_copy_emptied(struct wmk_kcpu *buffer);
void wmk_kcpu_copy_close(struct wmk_kcpu *buffer);

/* The text of per_cpu/cpuN/stats. -EPROTO: a count is missing, or is none. */
int wmk_kcpu_stats_parse(const char *text, size_t len, struct wmk_kcpu_stats *stats);

#endif
