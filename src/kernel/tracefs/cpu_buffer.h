/* SPDX-License-Identifier: MIT */
/*
 * cpu_buffer.h - the buffer of one CPU in one tracefs instance: pages out of it, and its counts.
 *
 *     wmk_kcpu_open(instance_fd, cpu, mode, &buffer)     per_cpu/cpuN/trace_pipe_raw: mapped where the kernel allows it (Linux 6.10),
 *                                                        else splice, else read
 *     wmk_kcpu_next(buffer, flush, &part)                what is new: a page, or in a mapping the part of it that came since the last time
 *     wmk_kpart_open(buffer, &part, &page)               its records, see page.h
 *     wmk_kcpu_release(buffer)                           it is written down: the kernel may have it back
 *     wmk_kcpu_stats(buffer, &stats)                     exact counts
 *
 * A mapped page stays where it is until all of it was released and something newer is asked for, also when this process
 * dies: who opens the buffer anew gets that page once more from its begin (`again`), so nothing that was read but not
 * written is lost. Who writes down with what he writes the page's begin time and the last part's `until` knows where to
 * go on in it. Spliced and read pages are gone with the process.
 *
 * Losses: a page tells how many records were overwritten before its first one (wmk_kpage.lost; a page that is filled to
 * its last byte tells only that). Records that were not taken because the buffer was full (not overwrite), or nested
 * too deep, are told by no page: the counts have them. What was recorded is what was read + overrun + dropped +
 * commit_overrun, exactly, once nobody records and the buffer is empty.
 *
 * One thread at a time per buffer, and one buffer per CPU of an instance: others are refused. -errno with a cause
 * chain.
 */
#ifndef WMK_KERNEL_CPU_BUFFER_H
#define WMK_KERNEL_CPU_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/tracefs/page.h"

struct wmk_kcpu;

enum wmk_kcpu_mode { WMK_KCPU_BEST, WMK_KCPU_MAP, WMK_KCPU_SPLICE, WMK_KCPU_READ };

/* Counts of records since the buffer was made or emptied. */
struct wmk_kcpu_stats {
	uint64_t entries;          /* in the buffer now */
	uint64_t bytes;            /* in the buffer now: of them, as they lie there */
	uint64_t overrun;          /* overwrite mode: the oldest, replaced by new ones */
	uint64_t dropped;          /* not overwrite: there was no room */
	uint64_t commit_overrun;   /* nested too deep in a full buffer */
	/* taken out, by whomever. MAP: also what is not given yet of the page that is being filled */
	uint64_t read;
};

/* What is new. */
struct wmk_kpart {
	const void *bytes;         /* of the whole page, header included */
	size_t size;
	/*
	 * new is the data from `from` up to `until`, see wmk_kpage_part(); from > 0: the page was given before up to
	 * there
	 */
	uint32_t from, until;
	/* an earlier reader had at least the begin of it already; only for the first one after opening */
	bool again;
};

/*
 * `instance`: descriptor of the instance's directory. -ENOENT: no such CPU; -ENODEV: it has no buffer, as it was not
 * online since the instance was made; -EBUSY: somebody reads it otherwise; -ENOTSUP: not in this mode.
 * The size of the instance's pages cannot be changed while it is open, nor in MAP mode the size of its buffer.
 */
int wmk_kcpu_open(int instance, unsigned cpu, enum wmk_kcpu_mode mode, struct wmk_kcpu **buffer);
enum wmk_kcpu_mode wmk_kcpu_mode(const struct wmk_kcpu *buffer);       /* which it became */
const struct wmk_kpage_layout *wmk_kcpu_layout(const struct wmk_kcpu *buffer);
/*
 * 1: *part is filled, and valid until the release; 0: none now; -errno; -EPROTO: a page that cannot be: it is skipped.
 * Without a release in between it is the same part again. flush: also of a page that the kernel is still filling. Until
 * it says 0, what it has is not all told by wmk_kcpu_fd(). Never blocks.
 */
int wmk_kcpu_next(struct wmk_kcpu *buffer, bool flush, struct wmk_kpart *part);
void wmk_kcpu_release(struct wmk_kcpu *buffer);
/*
 * 1: *part is what an earlier reader may have had of the page that is the reader's now, all of which counts as read; it
 * will be given once more. 0: there is none. Before the first wmk_kcpu_next(), and nothing is to be released.
 */
int wmk_kcpu_again(const struct wmk_kcpu *buffer, struct wmk_kpart *part);
/* Throw away what is in it; all its counts begin at zero. */
int wmk_kcpu_empty(struct wmk_kcpu *buffer, int instance);
/* The records of a part. As wmk_kpage_open() and wmk_kpage_part(). */
int wmk_kpart_open(const struct wmk_kcpu *buffer, const struct wmk_kpart *part, struct wmk_kpage *page);
int wmk_kcpu_stats(struct wmk_kcpu *buffer, struct wmk_kcpu_stats *stats);
/*
 * For poll(): readable when the instance's buffer_percent of the buffer is filled (0: when anything is in it that was
 * not taken out).
 */
int wmk_kcpu_fd(const struct wmk_kcpu *buffer);
void wmk_kcpu_close(struct wmk_kcpu *buffer);

#endif
