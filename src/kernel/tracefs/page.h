/* SPDX-License-Identifier: MIT */
/*
 * page.h - parse one sub-buffer of the kernel's ring buffer into records.
 *
 *     events/header_page ──wmk_kpage_layout_parse()──► struct wmk_kpage_layout      per instance, with its page size
 *     bytes of a page ──wmk_kpage_open()──► struct wmk_kpage ──wmk_kpage_next()──► struct wmk_krecord, one by one
 *                           └─ wmk_kpage_part(): only the new records of a page that was read before
 *
 * The functions are pure and access only memory, so any thread may call them. The bytes come from a kernel, a file or
 * an emulated machine (little-endian, 32 or 64 bits), so every length is bounded. The format is described in the
 * kernel's Documentation/trace/ring-buffer-design.rst and ring-buffer-map.rst, and in tracefs itself
 * (events/header_page, events/header_event).
 *
 * The kernel may be writing to a mapped page. Committed data does not change any more, and the functions read the
 * length once.
 */
#ifndef WMK_KERNEL_PAGE_H
#define WMK_KERNEL_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WMK_KPAGE_SIZE_MAX (1u << 20)  /* bytes: the kernel stores positions in a sub-buffer in 20 bits */
#define WMK_KPAGE_EVENT_MIN 8u         /* bytes of the smallest event: a page with less space is full */

struct wmk_kpage_layout {
	uint32_t commit_at, commit_size;   /* offset and bytes (4 or 8) of the word with length and flags */
	uint32_t data_at;                  /* offset of the first record */
	uint32_t page_size;                /* of a whole page, header included */
};

/* Parse the text of events/header_page. -EPROTO with a cause chain if its layout is not supported. */
int wmk_kpage_layout_parse(const char *text, size_t len, struct wmk_kpage_layout *layout);

struct wmk_kpage {
	uint64_t begin_ts;                 /* begin of the page; clock value */
	/* number of records that were overwritten before the first record, if `lost_known` */
	uint64_t lost;
	bool missed, lost_known;           /* records were overwritten before the first record; `lost` is valid */
	uint32_t len;                      /* bytes of records */
	const uint8_t *at, *end;           /* the rest of the records */
	uint64_t ts;                       /* of the latest record */
	/* the part of `ts` that deltas of discarded events have added since the last absolute time stamp */
	uint64_t discarded;
};

struct wmk_krecord {
	uint64_t ts;
	/* begins with the fields that all events have (common_type, ...); 4-byte aligned in the page */
	const uint8_t *data;
	uint32_t len;                      /* rounded up by the kernel; never 0 */
	uint16_t type;                     /* common_type: the event's number */
};

/*
 * Open a page of `size` bytes, header included. 0, also for an empty page; -EPROTO with a cause chain: its length
 * exceeds `size`.
 */
int wmk_kpage_open(const struct wmk_kpage_layout *layout, const void *bytes, size_t size, struct wmk_kpage *page);
/*
 * Limit a page that was just opened to records from offset `from` (inclusive) to offset `until` (exclusive) of the
 * page's data. The function iterates over the earlier records, because the times of later records depend on the earlier
 * records. A page counts the records that were lost before its first record. If `from` is not 0, the function therefore
 * clears the count of lost records. Returns 0. -EPROTO: the page is shorter, no record begins at `from`, or the page is
 * damaged before `from`.
 */
int wmk_kpage_part(struct wmk_kpage *page, uint32_t from, uint32_t until);
/*
 * Return the next record. 1: *record is valid; 0: the page has no more records; -EPROTO: the rest of the page is
 * damaged.
 */
int wmk_kpage_next(struct wmk_kpage *page, struct wmk_krecord *record);

#endif
