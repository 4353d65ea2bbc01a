/* SPDX-License-Identifier: MIT */
/*
 * page.h - one sub-buffer of the kernel's ring buffer, as records.
 *
 *     events/header_page ──wmk_kpage_layout_parse()──► struct wmk_kpage_layout      once per instance: it has the size of its pages
 *     bytes of a page ──wmk_kpage_open()──► struct wmk_kpage ──wmk_kpage_next()──► struct wmk_krecord, record by record
 *                           └─ wmk_kpage_part(): only what is new of a page that was given before while it was being filled
 *
 * Pure functions on memory; any thread. The bytes come from a kernel, but may be a file's or an emulated machine's
 * (little-endian, of 32 or 64 bits): every length is bounded. What the format means stands in the kernel's
 * Documentation/trace/ring-buffer-design.rst and ring-buffer-map.rst, and in tracefs itself (events/header_page,
 * events/header_event).
 *
 * The page may be one that the kernel is writing to, mapped: what is committed does not change any more, and the length
 * is read once.
 */
#ifndef WMK_KERNEL_PAGE_H
#define WMK_KERNEL_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WMK_KPAGE_SIZE_MAX (1u << 20)  /* bytes: the kernel counts within a sub-buffer in 20 bits */
#define WMK_KPAGE_EVENT_MIN 8u         /* bytes of the smallest event: a page with less room is full */

struct wmk_kpage_layout {
	uint32_t commit_at, commit_size;   /* bytes: of the word that holds length and flags (4 or 8) */
	uint32_t data_at;                  /* where records begin */
	uint32_t page_size;                /* of a whole page, header included */
};

/* The text of events/header_page. -EPROTO with a cause chain when it is none that is understood. */
int wmk_kpage_layout_parse(const char *text, size_t len, struct wmk_kpage_layout *layout);

struct wmk_kpage {
	uint64_t begin_ts;                 /* of the page; clock values */
	uint64_t lost;                     /* records overwritten before its first one, if `lost_known` */
	bool missed, lost_known;           /* records were overwritten before its first one; how many is known */
	uint32_t len;                      /* bytes of records */
	const uint8_t *at, *end;           /* what is left of it */
	uint64_t ts;                       /* of the latest record */
	/* how much of that is the time of events that were discarded; from 0 again behind an absolute stamp */
	uint64_t discarded;
};

struct wmk_krecord {
	uint64_t ts;
	/* begins with the fields that all events have (common_type, ...); 4-byte aligned in the page */
	const uint8_t *data;
	uint32_t len;                      /* rounded up by the kernel; not 0 */
	uint16_t type;                     /* common_type: the event's number */
};

/*
 * `size`: of the whole page, header included. 0; -EPROTO with a cause chain: its length exceeds it. An empty page has
 * no records.
 */
int wmk_kpage_open(const struct wmk_kpage_layout *layout, const void *bytes, size_t size, struct wmk_kpage *page);
/*
 * Of a page that was just opened only the records whose place in its data is not before `from`, and before `until`:
 * those before are walked, because the times of the others depend on them. Losses stand before the first record of a
 * page: they are not told again when `from` is not 0. 0; -EPROTO: it has not as much, no record begins there, or it is
 * damaged before.
 */
int wmk_kpage_part(struct wmk_kpage *page, uint32_t from, uint32_t until);
/* 1: *record is filled; 0: no more; -EPROTO: it is damaged from here on. */
int wmk_kpage_next(struct wmk_kpage *page, struct wmk_krecord *record);

#endif
