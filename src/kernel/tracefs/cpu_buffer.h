/* SPDX-License-Identifier: MIT */
/*
 * cpu_buffer.h - read the ring buffer of one CPU in one tracefs instance, and its counts.
 *
 *     wmk_kcpu_open(instance_fd, cpu, mode, &buffer)     per_cpu/cpuN/trace_pipe_raw: mapped if the kernel allows it
 *                                                        (Linux 6.10), else splice, else read
 *     wmk_kcpu_next(buffer, flush, &part)                what is new: a page, or in a mapping the new part of a page
 *     wmk_kpart_open(buffer, &part, &page)               its records, see page.h
 *     wmk_kcpu_release(buffer)                           the part is written; the kernel may reuse it
 *     wmk_kcpu_stats(buffer, &stats)                     exact counts
 *
 * A mapped page keeps its content until the whole page was released and a newer page is requested, even if this process
 * crashes. The next process that opens the buffer gets the page again from its beginning (`again`). Records that the
 * crashed process read but did not write are therefore not lost. A trace writer that stores the begin time of the page
 * and the `until` of the last part can continue within the page. Spliced and read pages are lost in a crash.
 *
 * Losses: wmk_kpage.lost is the number of records that were overwritten before the first record of the page. A page
 * that is full to its last byte has no space for the number of lost records, and has only a flag. Only wmk_kcpu_stats()
 * reports records that the kernel dropped. The kernel drops a record if the buffer is full (discard mode), or if the
 * record is nested too deep in a full buffer. Once recording has stopped and the buffer is empty, the number of events
 * is exactly read + overrun + dropped + commit_overrun.
 *
 * Only one thread at a time may use a buffer. Only one process can open the buffer of a CPU of an instance. Errors are
 * -errno with a cause chain.
 */
#ifndef WMK_KERNEL_CPU_BUFFER_H
#define WMK_KERNEL_CPU_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/tracefs/page.h"

struct wmk_kcpu;

enum wmk_kcpu_mode { WMK_KCPU_BEST, WMK_KCPU_MAP, WMK_KCPU_SPLICE, WMK_KCPU_READ };

/* Counts of records since the buffer was created or emptied. */
struct wmk_kcpu_stats {
	uint64_t entries;          /* in the buffer now */
	uint64_t bytes;            /* size of the records in the buffer now */
	uint64_t overrun;          /* overwrite mode: oldest records that new ones replaced */
	uint64_t dropped;          /* discard mode: the buffer was full */
	uint64_t commit_overrun;   /* nested too deep in a full buffer */
	/* records that any reader has taken. MAP: includes records of the current page that are not returned yet */
	uint64_t read;
};

/* New data of a buffer. */
struct wmk_kpart {
	const void *bytes;         /* the whole page, with its header */
	size_t size;
	/*
	 * the new data begins at `from` and ends before `until`, see wmk_kpage_part(); from > 0: earlier data of the
	 * page was returned already
	 */
	uint32_t from, until;
	/*
	 * an earlier process may have received the beginning of this part; only the first part after opening can have
	 * this flag
	 */
	bool again;
};

/*
 * Open the buffer of a CPU. `instance`: descriptor of the instance's directory. -ENOENT: no such CPU; -ENODEV: the CPU
 * has no buffer, because the CPU was never online since the instance was made; -EBUSY: another process reads the
 * buffer; -ENOTSUP: the mode is not supported. While the buffer is open, the size of the instance's pages cannot
 * change. In MAP mode, the size of the buffer cannot change either.
 */
int wmk_kcpu_open(int instance, unsigned cpu, enum wmk_kcpu_mode mode, struct wmk_kcpu **buffer);
enum wmk_kcpu_mode wmk_kcpu_mode(const struct wmk_kcpu *buffer);       /* the mode in use */
const struct wmk_kpage_layout *wmk_kcpu_layout(const struct wmk_kcpu *buffer);
/*
 * Return the next part. 1: *part is valid until the release; 0: no new data; -EPROTO: an invalid page, which is
 * skipped; another -errno. Without a release, the same part is returned again. flush: also return data of a page that
 * the kernel is still filling. The caller repeats the call until the function returns 0, because wmk_kcpu_fd() does not
 * report all available data. Never blocks.
 */
int wmk_kcpu_next(struct wmk_kcpu *buffer, bool flush, struct wmk_kpart *part);
void wmk_kcpu_release(struct wmk_kcpu *buffer);
/*
 * Store in *part the data of the current reader page that the kernel counts as read. An earlier process may have
 * written this data to the trace. wmk_kcpu_next() returns the same data again. Returns 1; 0: no such data. The caller
 * calls this function before the first wmk_kcpu_next(), and does not release the part.
 */
int wmk_kcpu_again(const struct wmk_kcpu *buffer, struct wmk_kpart *part);
/* Discard the content of the buffer, and reset all counts to zero. */
int wmk_kcpu_empty(struct wmk_kcpu *buffer, int instance);
/* Open the records of a part. The return values are those of wmk_kpage_open() and wmk_kpage_part(). */
int wmk_kpart_open(const struct wmk_kcpu *buffer, const struct wmk_kpart *part, struct wmk_kpage *page);
int wmk_kcpu_stats(struct wmk_kcpu *buffer, struct wmk_kcpu_stats *stats);
/*
 * Return a descriptor for poll(): readable when buffer_percent of the instance's buffer is filled (0: when it is not
 * empty).
 */
int wmk_kcpu_fd(const struct wmk_kcpu *buffer);
/*
 * True if the buffer has data that counts as read but was not returned. poll() does not report such data; a flush
 * returns the data.
 */
bool wmk_kcpu_holds(const struct wmk_kcpu *buffer);
void wmk_kcpu_close(struct wmk_kcpu *buffer);

#endif
