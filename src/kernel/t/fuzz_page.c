/* SPDX-License-Identifier: MIT */
/*
 * fuzz_page.c - any bytes as a page of the kernel's ring buffer, or as one of the two texts: the first byte selects the
 * layout, the second where the page is cut. No record is outside of the page. The parts of a page that is cut between
 * records have the same records as the whole. A damaged page remains damaged.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/tracefs/cpu_buffer_modes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool so)
{
	if (!so)
		abort();
}

/* Walk up to `n` records; returns the result of the last step. `sum` is a hash of the records. */
static int walk(struct wmk_kpage *page, uint64_t n, uint64_t *count, uint64_t *sum)
{
	const uint8_t *begin = page->at;
	struct wmk_krecord record;
	int got = 1;

	for (*count = 0; *count < n; (*count)++) {
		got = wmk_kpage_next(page, &record);
		if (got != 1)
			break;
		for (uint32_t i = 0; i < record.len; i++)
			*sum = *sum * 31 + record.data[i];
		must(record.data >= begin && record.len && record.len % 4 == 0 &&
		     (size_t)(page->end - record.data) >= record.len && page->at == record.data + record.len);
		must(record.ts == page->ts && ((uintptr_t)(record.data - begin)) % 4 == 0);
		*sum = *sum * 31 + record.ts;
	}
	return got;
}

/* `bytes` are in memory of exactly this size, so that a read beyond them is noticed. */
static void fuzz_page(const struct wmk_kpage_layout *layout, const uint8_t *bytes, size_t size, uint64_t cut)
{
	uint64_t count, all_count, sum = 0, all_sum = 0;
	struct wmk_kpage page, part;
	const uint8_t *begin;
	uint32_t at;
	int last;

	if (wmk_kpage_open(layout, bytes, size, &page) < 0)
		return;
	begin = page.at;
	must(page.len <= size - layout->data_at && (!page.lost_known || page.missed));
	part = page;
	last = walk(&page, UINT64_MAX, &all_count, &all_sum);
	must(last <= 0 && wmk_kpage_next(&page, &(struct wmk_krecord){ 0 }) == last);
	page = part;
	if (walk(&page, cut, &count, &sum) < 0)
		return;
	at = (uint32_t)(page.at - begin);
	page = part;
	sum = 0;
	must(wmk_kpage_part(&page, 0, at) == 0 && page.missed == part.missed &&
	     walk(&page, UINT64_MAX, &count, &sum) == 0);
	must(wmk_kpage_part(&part, at, part.len) == 0 && (at == 0 || !part.missed));
	must(walk(&part, UINT64_MAX, &cut, &sum) == last && count + cut == all_count && sum == all_sum);
}

static void fuzz_text(const uint8_t *data, size_t size)
{
	struct wmk_kpage_layout layout;
	struct wmk_kcpu_stats stats;
	char *text = malloc(size ? size : 1);

	must(text != NULL);
	memcpy(text, data, size);
	if (wmk_kpage_layout_parse(text, size, &layout) == 0)
		must(layout.data_at >= layout.commit_at + layout.commit_size && layout.data_at < layout.page_size &&
		     layout.page_size <= WMK_KPAGE_SIZE_MAX);
	wmk_kcpu_stats_parse(text, size, &stats);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct wmk_kpage_layout layouts[] = { { 8, 8, 16, 0 }, { 8, 4, 12, 0 }, { 8, 4, 16, 0 } };

	if (size < 4)
		return 0;
	if (data[0] % 4 == 3) {
		fuzz_text(data + 4, size - 4);
	} else {
		const struct wmk_kpage_layout *layout = &layouts[data[0] % 4];
		size_t len = size - 4;
		struct wmk_kpage page;
		uint8_t *bytes;

		/* No more memory than the page's length needs. */
		if (wmk_kpage_open(layout, data + 4, len, &page) == 0 && !page.lost_known)
			len = layout->data_at + page.len;
		bytes = malloc(len ? len : 1);
		must(bytes != NULL);
		memcpy(bytes, data + 4, len);
		fuzz_page(layout, bytes, len, data[1]);
		free(bytes);
	}
	wmk_error_clear();
	return 0;
}
