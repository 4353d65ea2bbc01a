/* SPDX-License-Identifier: MIT */
/*
 * test_page.c - handmade pages of 64-bit and 32-bit kernels: all kinds of events, times, losses, parts, damage; and
 * layouts of pages.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "kernel/tracefs/cpu_buffer_modes.h"

#define PAGE 4096u
#define MISSED (1u << 31)
#define STORED (1u << 30)

static const struct wmk_kpage_layout layout64 = { 8, 8, 16, PAGE }, layout32 = { 8, 4, 12, PAGE };

static struct {
	const struct wmk_kpage_layout *layout;
	uint32_t len;
	uint8_t *bytes;                /* exactly PAGE bytes, so that ASan sees a read beyond them */
} made;

static void page_begin(const struct wmk_kpage_layout *layout, uint64_t ts)
{
	made.layout = layout;
	made.len = 0;
	memset(made.bytes, 0xee, PAGE);
	memset(made.bytes + layout->commit_at, 0, layout->commit_size);
	memcpy(made.bytes, &ts, sizeof(ts));
}

static void word(uint32_t value)
{
	memcpy(made.bytes + made.layout->data_at + made.len, &value, sizeof(value));
	made.len += 4;
}

static void event(uint32_t kind, uint32_t delta, uint32_t array0)
{
	word(kind | delta << 5);
	word(array0);
}

static void open_page(uint32_t flags, struct wmk_kpage *page)
{
	const uint32_t commit = made.len | flags;

	memcpy(made.bytes + made.layout->commit_at, &commit, sizeof(commit));
	assert_int_equal(wmk_kpage_open(made.layout, made.bytes, PAGE, page), 0);
}

static void expect_record(struct wmk_kpage *page, uint64_t ts, uint16_t type, uint32_t len)
{
	struct wmk_krecord record;

	assert_int_equal(wmk_kpage_next(page, &record), 1);
	assert_int_equal(record.ts, ts);
	assert_int_equal(record.type, type);
	assert_int_equal(record.len, len);
}

static void expect_end(struct wmk_kpage *page)
{
	struct wmk_krecord record;

	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(wmk_kpage_next(page, &record), 0);
}

static void all_event_kinds_of_a_kernel_page_are_decoded(void **state)
{
	struct wmk_kpage page;

	(void)state;
	for (unsigned bits = 0; bits < 2; bits++) {
		page_begin(bits ? &layout64 : &layout32, 1000);
		event(1, 0, 7);                                   /* 4 bytes */
		event(2, 5, 8);
		word(0xffffffff);                                 /* 8 bytes */
		event(0, 6, 12);                                  /* long: 8 bytes, and the length itself */
		word(9);
		word(0);
		event(29, 100, 8);                                /* discarded: its time delta counts */
		word(0);
		event(29, 1, 4);                                  /* discarded at the same time as the one before */
		event(28, 1, 10);
		for (unsigned i = 1; i < 28; i++)
			word(0);
		event(29, 1, 20);                                 /* padding at the end */
		for (unsigned i = 0; i < 4; i++)
			word(0);
		open_page(0, &page);
		assert_false(page.missed || page.lost_known);
		assert_int_equal(page.begin_ts, 1000);
		expect_record(&page, 1000, 7, 4);
		expect_record(&page, 1005, 8, 8);
		expect_record(&page, 1011, 9, 8);
		expect_record(&page, 1112, 10, 112);
		expect_end(&page);
	}
}

static void null_padding_ends_the_page(void **state)
{
	struct wmk_kpage page;

	(void)state;
	page_begin(&layout64, 1);
	event(1, 0, 7);
	word(29);                                                 /* delta 0: the end, whatever follows */
	event(1, 1, 8);
	open_page(0, &page);
	expect_record(&page, 1, 7, 4);
	expect_end(&page);
	/* As the last word of a page. */
	page_begin(&layout64, 1);
	event(1, 0, 7);
	word(29);
	open_page(0, &page);
	expect_record(&page, 1, 7, 4);
	expect_end(&page);
	page_begin(&layout64, 1);
	open_page(0, &page);
	expect_end(&page);
}

static void times_of_a_page_accumulate_from_its_deltas_and_stamps(void **state)
{
	const uint64_t top = UINT64_C(0x8) << 59, one_more = UINT64_C(0x9) << 59;
	struct wmk_kpage page;

	(void)state;
	page_begin(&layout64, 50);
	event(30, 3, 2);                                          /* advance by 2 << 27 and 3 more */
	event(1, 4, 7);
	event(31, 9, 16);                                         /* an absolute time */
	event(1, 0, 8);
	event(30, 0x7ffffff, 0xffffffff);                         /* the largest advance */
	event(1, 0x7ffffff, 9);
	open_page(0, &page);
	expect_record(&page, 50 + (2u << 27) + 3 + 4, 7, 4);
	expect_record(&page, (UINT64_C(16) << 27) + 9, 8, 4);
	expect_record(&page, (UINT64_C(16) << 27) + 9 + ((UINT64_C(1) << 59) - 1) + 0x7ffffff, 9, 4);
	expect_end(&page);

	/* Clocks with one of the upper 5 bits set, which absolute stamps lack. */
	page_begin(&layout64, top + 100);
	event(31, 120, 0);
	event(1, 0, 7);
	event(31, 110, 0);                                        /* less than before: the lower bits have wrapped */
	event(1, 0, 8);
	open_page(0, &page);
	expect_record(&page, top + 120, 7, 4);
	expect_record(&page, one_more + 110, 8, 4);
	expect_end(&page);

	/* Without the upper bits, the time may go back. */
	page_begin(&layout64, 100);
	event(31, 90, 0);
	event(1, 0, 7);
	open_page(0, &page);
	expect_record(&page, 90, 7, 4);
}

static void page_with_missed_flag_reports_lost_records(void **state)
{
	struct wmk_kpage page;

	(void)state;
	for (unsigned bits = 0; bits < 2; bits++) {
		const uint64_t lost = 0x100000007, expected = bits ? lost : 7;

		page_begin(bits ? &layout64 : &layout32, 1);
		event(1, 0, 7);
		memcpy(made.bytes + made.layout->data_at + made.len, &lost, made.layout->commit_size);
		open_page(MISSED | STORED, &page);
		assert_true(page.missed && page.lost_known && page.lost == expected);
		expect_record(&page, 1, 7, 4);
		expect_end(&page);
		open_page(MISSED, &page);
		assert_true(page.missed && !page.lost_known && page.lost == 0);
		open_page(STORED, &page);
		assert_false(page.missed || page.lost_known);
		/* The flag is set, but there is no space for the count. */
		while (made.len + made.layout->commit_size <= PAGE - made.layout->data_at)
			word(29);
		open_page(MISSED | STORED, &page);
		assert_true(page.missed && !page.lost_known);
	}
	/* The kernel can sign-extend its flags to a word of 64 bits. */
	page_begin(&layout64, 1);
	event(1, 0, 7);
	open_page(MISSED, &page);
	memset(made.bytes + 12, 0xff, 4);
	assert_int_equal(wmk_kpage_open(&layout64, made.bytes, PAGE, &page), 0);
	assert_true(page.missed && page.len == 8);
}

static void part_of_a_page_returns_the_records_from_its_offset_on(void **state)
{
	struct wmk_kpage whole, page;

	(void)state;
	page_begin(&layout64, 1000);
	event(1, 0, 7);
	event(29, 10, 4);
	event(30, 0, 1);
	event(1, 1, 8);
	event(1, 2, 9);
	word(0);
	word(5);
	made.len -= 8;
	open_page(MISSED | STORED, &whole);
	page = whole;
	assert_int_equal(wmk_kpage_part(&page, 0, 8), 0);
	assert_true(page.missed);
	expect_record(&page, 1000, 7, 4);
	expect_end(&page);
	for (uint32_t from = 8; from <= 24; from += 8) {
		page = whole;
		assert_int_equal(wmk_kpage_part(&page, from, 40), 0);
		assert_false(page.missed || page.lost_known || page.lost);
		expect_record(&page, 1011 + (1u << 27), 8, 4);
		expect_record(&page, 1013 + (1u << 27), 9, 4);
		expect_end(&page);
	}
	page = whole;
	assert_int_equal(wmk_kpage_part(&page, 40, 40), 0);
	expect_end(&page);
	page = whole;
	assert_int_equal(wmk_kpage_part(&page, 0, 44), -EPROTO);
	page = whole;
	assert_int_equal(wmk_kpage_part(&page, 8, 4), -EPROTO);
	for (uint32_t from = 1; from < 40; from++) {
		page = whole;
		assert_int_equal(wmk_kpage_part(&page, from, 40), from % 8 ? -EPROTO : 0);
	}
}

/* Invalid events after a valid one; the page ends after them, by its length or its size. */
static void page_with_an_invalid_event_is_refused(void **state)
{
	static const struct {
		uint32_t n, words[4];
	} table[] = {
		{ 1, { 1 } },
		{ 1, { 30 } },
		{ 1, { 31 } },
		{ 1, { 0 } },
		{ 1, { 29 | 1 << 5 } },
		{ 2, { 2, 0 } },
		{ 2, { 28, 0 } },
		{ 3, { 0, 0, 0 } },
		{ 3, { 0, 4, 0 } },
		{ 3, { 0, 12, 0 } },
		{ 3, { 0, 7, 0 } },
		{ 3, { 0, 9, 0 } },
		{ 3, { 0, 0xffffffff, 0 } },
		{ 3, { 0, 0xfffffffc, 0 } },
		{ 3, { 0, 0x80000000, 0 } },
		{ 3, { 29 | 1 << 5, 0, 0 } },
		{ 3, { 29 | 1 << 5, 12, 0 } },
		{ 3, { 29 | 1 << 5, 6, 0 } },
		{ 3, { 29 | 1 << 5, 0xfffffffc, 0 } },
	};
	struct wmk_krecord record;
	struct wmk_kpage page;

	(void)state;
	for (unsigned i = 0; i < sizeof(table) / sizeof(*table); i++) {
		for (unsigned at_end = 0; at_end < 2; at_end++) {
			page_begin(&layout64, 1);
			while (made.len + 8 + 4 * table[i].n < (at_end ? PAGE - layout64.data_at : 1))
				event(1, 0, 7);
			for (unsigned w = 0; w < table[i].n; w++)
				word(table[i].words[w]);
			open_page(0, &page);
			while (wmk_kpage_next(&page, &record) == 1)
				assert_int_equal(record.type, 7);
			assert_int_equal(wmk_kpage_next(&page, &record), -EPROTO);
		}
	}
	/* A length that is not a multiple of 4. */
	page_begin(&layout64, 1);
	event(1, 0, 7);
	made.len += 2;
	open_page(0, &page);
	expect_record(&page, 1, 7, 4);
	assert_int_equal(wmk_kpage_next(&page, &record), -EPROTO);
	/* A length that exceeds the page. */
	for (uint32_t len = PAGE - 16 + 1; len < MISSED; len = len * 2 + 1) {
		const uint32_t commit = len & ~STORED;

		memcpy(made.bytes + 8, &commit, sizeof(commit));
		assert_int_equal(wmk_kpage_open(&layout64, made.bytes, PAGE, &page), commit > PAGE - 16 ? -EPROTO : 0);
	}
	assert_int_equal(wmk_kpage_open(&layout64, made.bytes, 15, &page), -EPROTO);
	assert_int_equal(wmk_kpage_open(&layout64, made.bytes, (size_t)WMK_KPAGE_SIZE_MAX + 1, &page), -EPROTO);
	wmk_error_clear();
}

#define TIME "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
#define COMMIT "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"

static void valid_page_layout_is_parsed_and_invalid_ones_are_refused(void **state)
{
	static const struct {
		const char *text;
		struct wmk_kpage_layout layout;
	} good[] = {
		{ TIME COMMIT "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char "
			      "data;\toffset:16;\tsize:65520;\tsigned:0;\n",
		  { 8, 8, 16, 65536 } },
		{ TIME "\tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;\n\tfield: char "
		       "data;\toffset:12;\tsize:4084;\tsigned:1;",
		  { 8, 4, 12, 4096 } },
	};
	static const char *const bad[] = {
		"",
		TIME,
		TIME COMMIT,
		TIME COMMIT "\tfield: char data;\toffset:16;\n",
		TIME COMMIT "\tfield: char data;\toffset:12;\tsize:4084;\n",
		TIME COMMIT "\tfield: char data;\toffset:16;\tsize:0;\n",
		TIME COMMIT "\tfield: char data;\toffset:16;\tsize:4294967297;\n",
		TIME COMMIT "\tfield: char data;\toffset:16;\tsize:2097152;\n",
		TIME COMMIT "\tfield: char data;\toffset:4294967295;\tsize:4080;\n",
		TIME COMMIT "\tfield: char data;\toffset:16;\tsize:-1;\n",
		TIME COMMIT "\tfield: char data;\toffset:17;\tsize:4000;\n",
		TIME "\tfield: local_t commit;\toffset:8;\tsize:2;\n\tfield: char data;\toffset:16;\tsize:4080;\n",
		TIME "\tfield: local_t commit;\toffset:4;\tsize:4;\n\tfield: char data;\toffset:16;\tsize:4080;\n",
		TIME "\tfield: local_t commit;\toffset:12;\tsize:8;\n\tfield: char data;\toffset:20;\tsize:4080;\n",
		"\tfield: u64 timestamp;\toffset:8;\tsize:8;\n" COMMIT "\tfield: char data;\toffset:16;\tsize:4080;\n",
		TIME COMMIT "\tfield: char mydata;\toffset:16;\tsize:4080;\n",
	};
	struct wmk_kpage_layout layout;

	(void)state;
	for (unsigned i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_int_equal(wmk_kpage_layout_parse(good[i].text, strlen(good[i].text), &layout), 0);
		assert_memory_equal(&layout, &good[i].layout, sizeof(layout));
	}
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(wmk_kpage_layout_parse(bad[i], strlen(bad[i]), &layout), -EPROTO);
	wmk_error_clear();
}

static void buffer_stats_without_all_counts_are_refused(void **state)
{
	static const char text[] = "entries: 1\noverrun: 18446744073709551615\ncommit overrun: 3\nbytes: 4\noldest "
				   "event ts: 1.5\nnow ts: 2.0\ndropped events: 5\nread events: 6\n";
	static const char *const bad[] = {
		"",
		"entries: 1\noverrun: 2\n",
		"entries: x\noverrun: 2\ncommit overrun: 3\nbytes: 4\ndropped events: 5\nread events: 6\n",
		("entries: 1\noverrun: 18446744073709551616\ncommit overrun: 3\nbytes: 4\ndropped events: 5\nread "
		 "events: 6\n"),
		"entries: 1\noverrun: 2\ncommit overrun: 3\nbytes: 4\ndropped events: 5\nread events: \n",
	};
	struct wmk_kcpu_stats stats = { .entries = 99 };

	(void)state;
	assert_int_equal(wmk_kcpu_stats_parse(text, strlen(text), &stats), 0);
	assert_true(stats.entries == 1 && stats.overrun == UINT64_MAX && stats.commit_overrun == 3 &&
		    stats.bytes == 4 && stats.dropped == 5 && stats.read == 6);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(wmk_kcpu_stats_parse(bad[i], strlen(bad[i]), &stats), -EPROTO);
	wmk_error_clear();
}

/*
 * A page that the kernel copies from the middle of another begins at a time without the deltas of discarded events. The
 * pages come from a file instead of a kernel.
 */
static void begin_time_of_a_copied_page_excludes_discarded_events(void **state)
{
	FILE *file = tmpfile();
	struct wmk_kcpu buffer = { .mode = WMK_KCPU_READ, .layout = layout64, .pipe = { -1, -1 } };
	static const struct {
		uint64_t begins, is;
		bool is_absolute;
	} pages[] = {
		{ 1000, 1000, false },          /* 1000, 10 discarded, 1011 */
		{ 1001, 1011, false },          /* continues there: again 10 and 1 */
		/* the deltas are 20 by now, until an absolute stamp, from which the kernel continues */
		{ 1002, 1022, true },
		{ 5001, 5011, false },
		{ 5002, 5022, false },
		{ 5033, 5033, false },          /* a new page */
		{ 5034, 5044, false },
	};

	(void)state;
	assert_non_null(file);
	for (unsigned i = 0; i < sizeof(pages) / sizeof(*pages); i++) {
		page_begin(&layout64, pages[i].begins);
		event(1, 0, 7);
		if (pages[i].is_absolute) {
			event(31, 5000, 0);
			event(1, 0, 7);
		}
		event(29, 10, 4);
		event(1, 1, 8);
		memcpy(made.bytes + layout64.commit_at, &made.len, sizeof(made.len));
		assert_int_equal(fwrite(made.bytes, PAGE, 1, file), 1);
	}
	rewind(file);
	buffer.fd = fileno(file);
	assert_int_equal(wmk_kcpu_copy_open(&buffer), 0);
	for (unsigned i = 0; i < sizeof(pages) / sizeof(*pages); i++) {
		struct wmk_kpage page;

		assert_int_equal(wmk_kcpu_read_next(&buffer, true), 1);
		assert_int_equal(wmk_kpart_open(&buffer, &buffer.part, &page), 0);
		expect_record(&page, pages[i].is, 7, 4);
		if (pages[i].is_absolute)
			expect_record(&page, 5000, 7, 4);
		expect_record(&page, (pages[i].is_absolute ? 5000 : pages[i].is) + 11, 8, 4);
		expect_end(&page);
	}
	assert_int_equal(wmk_kcpu_read_next(&buffer, true), 0);
	wmk_kcpu_copy_close(&buffer);
	fclose(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_event_kinds_of_a_kernel_page_are_decoded),
		cmocka_unit_test(null_padding_ends_the_page),
		cmocka_unit_test(times_of_a_page_accumulate_from_its_deltas_and_stamps),
		cmocka_unit_test(page_with_missed_flag_reports_lost_records),
		cmocka_unit_test(part_of_a_page_returns_the_records_from_its_offset_on),
		cmocka_unit_test(page_with_an_invalid_event_is_refused),
		cmocka_unit_test(valid_page_layout_is_parsed_and_invalid_ones_are_refused),
		cmocka_unit_test(begin_time_of_a_copied_page_excludes_discarded_events),
		cmocka_unit_test(buffer_stats_without_all_counts_are_refused),
	};
	int failed;

	made.bytes = malloc(PAGE);
	if (!made.bytes)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	free(made.bytes);
	return failed;
}
