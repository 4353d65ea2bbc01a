/* SPDX-License-Identifier: MIT */
/*
 * page_layout.c - parse events/header_page, which has one line for each field of a page:
 *
 *     field: u64 timestamp;    offset:0;    size:8;    signed:0;
 */
#include <errno.h>

#include "base/error.h"
#include "base/scan.h"
#include "kernel/tracefs/page.h"


struct place {
	uint32_t at, size;
};

/* Read the number of the attribute `key` ("size:"), which ends at a semicolon. */
static bool number_of(struct wmk_scan line, const char *key, uint32_t *number)
{
	struct wmk_scan one;
	uint64_t value;

	while (wmk_scan_cut(&line, ';', &one)) {
		wmk_scan_trim(&one);
		if (!wmk_scan_take(&one, key))
			continue;
		if (!wmk_scan_number(&one, 10, WMK_KPAGE_SIZE_MAX, &value) || one.at < one.end)
			return false;
		*number = (uint32_t)value;
		return true;
	}
	return false;
}

/* Find the line in which `name` is the last word before the first semicolon. */
static bool find(const char *text, size_t len, const char *name, struct place *place)
{
	struct wmk_scan scan = { text, text + len }, line, word;

	while (wmk_scan_line(&scan, &line)) {
		const char *begin = line.at;

		if (!wmk_scan_cut(&line, ';', &word))
			continue;
		for (word.at = word.end; word.at > begin && !wmk_scan_is_space(word.at[-1]);)
			word.at--;
		if (wmk_scan_is(&word, name))
			return number_of(line, "offset:", &place->at) && number_of(line, "size:", &place->size);
	}
	return false;
}

int wmk_kpage_layout_parse(const char *text, size_t len, struct wmk_kpage_layout *layout)
{
	struct place time, commit, data;

	if (!find(text, len, "timestamp", &time) || !find(text, len, "commit", &commit) ||
	    !find(text, len, "data", &data))
		return wmk_error(-EPROTO, "events/header_page does not describe timestamp, commit and data");
	if (time.at != 0 || time.size != 8 || (commit.size != 4 && commit.size != 8) || commit.at < 8 ||
	    commit.at % commit.size || data.at < commit.at + commit.size || data.at % 4)
		return wmk_error(-EPROTO,
				 "events/header_page describes an unknown page layout: time %u+%u, commit %u+%u, data "
				 "%u+%u",
				 time.at, time.size, commit.at, commit.size, data.at, data.size);
	if (data.size < 8 || data.size > WMK_KPAGE_SIZE_MAX - data.at)
		return wmk_error(-EPROTO,
				 "events/header_page describes pages with %u bytes of records (allowed: 8 to 1 MiB)",
				 data.size);
	*layout = (struct wmk_kpage_layout){ commit.at, commit.size, data.at, data.at + data.size };
	return 0;
}
