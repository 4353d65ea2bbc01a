/* SPDX-License-Identifier: MIT */
/* test_chunk_journal.c - a journal of a rotation is read as it was written, and any other text is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/chunk_journal.h"

static char *written(void)
{
	const struct wmk_ring_cut first = { 4096, 17, 3 }, second = { UINT64_MAX - 1, 1, 0 };
	const struct wmk_counts counts = { .records = 5, .sink_errors = 9 };
	char *text = NULL;

	assert_int_equal(wmk_chunk_journal_begin(&text, 7, "a-b-6"), 0);
	assert_int_equal(wmk_chunk_journal_add(&text, "app_0", &first), 0);
	assert_int_equal(wmk_chunk_journal_add(&text, "a name_claim1", &second), 0);
	assert_int_equal(wmk_chunk_journal_counts(&text, "a name", &counts), 0);
	assert_int_equal(wmk_chunk_journal_end(&text), 0);
	return text;
}

static void written_journal_is_read_again(void **state)
{
	struct wmk_chunk_journal journal;
	char *text = written();

	(void)state;
	assert_int_equal(wmk_chunk_journal_parse(text, 7, &journal), 0);
	assert_int_equal(journal.n, 2);
	const struct wmk_ring_cut *cut = wmk_chunk_journal_find(&journal, "app_0");
	assert_non_null(cut);
	assert_true(cut->pos == 4096 && cut->ts == 17 && cut->records == 3);
	cut = wmk_chunk_journal_find(&journal, "a name_claim1");
	assert_non_null(cut);
	assert_true(cut->pos == UINT64_MAX - 1);
	assert_null(wmk_chunk_journal_find(&journal, "app_1"));
	assert_int_equal(journal.n_counts, 1);
	const struct wmk_counts *counts = wmk_chunk_journal_find_counts(&journal, "a name");
	assert_non_null(counts);
	assert_true(counts->records == 5 && counts->lost == 0 && counts->sink_errors == 9);
	assert_null(wmk_chunk_journal_find_counts(&journal, "a"));
	wmk_chunk_journal_free(&journal);
	free(text);
}

/* Each shorter prefix of a journal lacks its end. */
static void incomplete_journal_is_refused(void **state)
{
	struct wmk_chunk_journal journal;
	char *text = written();

	(void)state;
	for (size_t len = strlen(text) - 1; len != SIZE_MAX; len--) {
		text[len] = '\0';
		assert_int_equal(wmk_chunk_journal_parse(text, 7, &journal), -EINVAL);
		assert_int_equal(journal.n + journal.n_counts, 0);
	}
	free(text);
}

static void journal_of_another_chunk_or_with_other_lines_is_refused(void **state)
{
	static const char *const wrong[] = {
		"", "\n", "end\n", "waymark-rotation 3\nchunk 7 a\nend\n", "waymark-rotation 2\nchunk 6 a\nend\n",
		"waymark-rotation 2\nchunk 7 a\ncut 1 2 3\nend\n", "waymark-rotation 2\nchunk 7 a\ncut x 2 3 s\nend\n",
		"waymark-rotation 2\nchunk 7 a\ncounts 1 2 a\nend\n",
		"waymark-rotation 2\nchunk 7 a\nend", "waymark-rotation 2\nchunk 7 a\nend\nend",
	};
	struct wmk_chunk_journal journal;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(wmk_chunk_journal_parse(wrong[i], 7, &journal), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_journal_is_read_again), cmocka_unit_test(incomplete_journal_is_refused),
		cmocka_unit_test(journal_of_another_chunk_or_with_other_lines_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
