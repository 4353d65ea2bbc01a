/* SPDX-License-Identifier: MIT */
/*
 * page.c - walk the events of one sub-buffer. Each event begins with a word of 5 bits of kind or length, and 27 bits of
 * time delta; the data of the event follows. Other words between the events are padding, or only advance the time.
 */
#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "kernel/tracefs/page.h"

enum { KIND_LONG = 0, KIND_PADDING = 29, KIND_TIME_EXTEND = 30, KIND_TIME_STAMP = 31 };

#define WORD 4u
#define DELTA_BITS 27
/* in the low half of the commit word: records were overwritten before this page, ... */
#define MISSED (1u << 31)
#define MISSED_STORED (1u << 30) /* ... and the number of overwritten records follows the data */
#define STAMP_TOP (UINT64_C(0x1f) << 59)

int wmk_kpage_open(const struct wmk_kpage_layout *layout, const void *bytes, size_t size, struct wmk_kpage *page)
{
	const uint8_t *begin = bytes;
	uint32_t commit, len;

	if (size < layout->data_at || size > WMK_KPAGE_SIZE_MAX)
		return wmk_error(-EPROTO, "invalid size of a page of the kernel's ring buffer: %zu bytes", size);
	commit = wmk_get32(begin + layout->commit_at);
	len = commit & ~(MISSED | MISSED_STORED);
	if (len > size - layout->data_at)
		return wmk_error(-EPROTO,
				 "a page of the kernel's ring buffer has %u bytes of records, but its size allows only "
				 "%zu",
				 len, size - layout->data_at);
	*page = (struct wmk_kpage){
		.begin_ts = wmk_get64(begin),
		.missed = commit & MISSED,
		.len = len,
		.at = begin + layout->data_at,
		.end = begin + layout->data_at + len,
	};
	page->ts = page->begin_ts;
	if ((commit & MISSED) && (commit & MISSED_STORED) && layout->commit_size <= size - layout->data_at - len) {
		page->lost_known = true;
		page->lost = layout->commit_size == sizeof(uint64_t) ? wmk_get64(page->end) : wmk_get32(page->end);
	}
	return 0;
}

/*
 * An absolute time stamp lacks the upper 5 bits. If the previous time has any upper bit set, the upper bits are copied
 * from the previous time. If the lower bits have wrapped, the upper bits are incremented.
 */
static uint64_t full_stamp(uint64_t stamp, uint64_t before)
{
	if (before & STAMP_TOP) {
		stamp |= before & STAMP_TOP;
		if (stamp < before)
			stamp += UINT64_C(1) << 59;
	}
	return stamp;
}

static int damaged(const struct wmk_kpage *page, uint32_t len)
{
	return wmk_error(-EPROTO,
			 "a page of the kernel's ring buffer is damaged %zu bytes before its end: an event of %u bytes",
			 (size_t)(page->end - page->at), len);
}

/*
 * Return the length of the event at the page's position. `kind` and `delta` are the parts of the event's first word.
 * The length includes the first word. 0: end of the page; -EPROTO: damaged.
 */
static int event_len(const struct wmk_kpage *page, uint32_t kind, uint32_t delta)
{
	const size_t left = (size_t)(page->end - page->at);
	uint32_t len;

	if (kind == KIND_PADDING && delta == 0)
		return 0;
	if (left < 2 * WORD)
		return damaged(page, (uint32_t)left);
	if (kind == KIND_TIME_EXTEND || kind == KIND_TIME_STAMP)
		return 2 * WORD;
	len = kind == KIND_LONG || kind == KIND_PADDING ? wmk_get32(page->at + WORD) : kind * WORD;
	if (len > WMK_KPAGE_SIZE_MAX || len % WORD)
		return damaged(page, len);
	len += WORD;                    /* a stored length does not include the first word */
#ifndef WMK_PLANTED_BUG_KPAGE
	if (len > left)
		return damaged(page, len);
#endif
		/* In a long event, the length precedes the data, and the data is never empty. */
	if (len < (kind == KIND_LONG ? 3 * WORD : 2 * WORD))
		return damaged(page, len);
	return (int)len;
}

/*
 * Advance the position and the time of the page by one event. 1: a record; 0: an event of another kind, or the end of
 * the page (the position is then the end). -EPROTO: the page is damaged; position and time stay. A discarded event is
 * padding that keeps its time delta. The time of the next event includes the delta of the discarded event. Padding with
 * delta 0 marks the end of the page. For a discarded event with the delta 0, the kernel therefore stores the delta 1.
 * Padding with a length at the end of a page has the delta 1, too.
 */
static int step(struct wmk_kpage *page, struct wmk_krecord *record)
{
	const uint8_t *at = page->at;
	const uint32_t word = wmk_get32(at), kind = word & 31, delta = word >> 5;
	const int len = event_len(page, kind, delta);

	if (len < 0)
		return len;
	page->at = len ? at + len : page->end;
	switch (kind) {
	case KIND_PADDING:
		page->ts += delta > 1 ? delta : 0;
		page->discarded += delta > 1 ? delta : 0;
		return 0;
	case KIND_TIME_EXTEND:
		page->ts += ((uint64_t)wmk_get32(at + WORD) << DELTA_BITS) + delta;
		return 0;
	case KIND_TIME_STAMP:
		page->ts = full_stamp(((uint64_t)wmk_get32(at + WORD) << DELTA_BITS) + delta, page->ts);
		page->discarded = 0;
		return 0;
	}
	page->ts += delta;
	record->data = at + (kind == KIND_LONG ? 2 : 1) * WORD;
	record->len = (uint32_t)(page->at - record->data);
	record->ts = page->ts;
	memcpy(&record->type, record->data, sizeof(record->type));
	return 1;
}

int wmk_kpage_next(struct wmk_kpage *page, struct wmk_krecord *record)
{
	int is_record = 0;

	while (is_record == 0 && page->end - page->at >= WORD)
		is_record = step(page, record);
	if (is_record == 0 && page->at != page->end)
		return damaged(page, (uint32_t)(page->end - page->at));
	return is_record;
}

int wmk_kpage_part(struct wmk_kpage *page, uint32_t from, uint32_t until)
{
	const uint8_t *begin = page->at, *end;
	struct wmk_krecord record;

	if (from > until || until > page->len)
		return wmk_error(-EPROTO, "bytes %u to %u are outside a page of the kernel's ring buffer with %u bytes",
				 from, until, page->len);
	end = begin + until;
	page->end = begin + from;
	while (page->end - page->at >= WORD) {
		const int err = step(page, &record);

		if (err < 0)
			return err;
	}
	if (page->at != page->end)
		return damaged(page, (uint32_t)(page->end - page->at));
	page->end = end;
	if (from) {
		page->missed = page->lost_known = false;
		page->lost = 0;
	}
	return 0;
}
