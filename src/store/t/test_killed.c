/* SPDX-License-Identifier: MIT */
/*
 * test_killed.c - what was in the way when files were made or replaced, and what one who was killed meanwhile has left: a later one finds its
 * way, and takes nothing that is not ours.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "one_trace.h"

/* ── streams ─────────────────────────────────────────────────────────────────────────────────────────── */

/* What is in the way of an index is no reason to give a stream up: it goes on without. */
static void test_index_in_the_way(void **state)
{
	static const char index[] = IN_SUB("index/app_0.idx");
	struct wmk_ctf_packet packet = { .content = 1000 }, last;
	struct wmk_store *store = create();
	struct wmk_store_stream *stream;

	(void)state;
	assert_int_equal(wmk_store_stream_create(store, "app_0", NULL, &stream), 0);
	for (unsigned turn = 0; turn < 2; turn++) {
		for (unsigned i = 0; i < 2; i++, packet.sequence++)
			assert_int_equal(append(stream, &packet), 0);
		wmk_store_stream_close(stream);
		assert_int_equal(remove(in_dir(index)), 0);
		/* A link leads nowhere, and is gone; a directory stays where it is. */
		assert_int_equal(turn ? mkdir(in_dir(index), 0700) : symlink("/etc/passwd", in_dir(index)), 0);
		assert_int_equal(wmk_store_stream_open(store, "app_0", NULL, uuid, &stream, &last), 1);
		assert_int_equal(last.sequence, packet.sequence - 1);
		assert_int_equal(access(in_dir(index), F_OK), turn ? 0 : -1);
		wmk_store_stream_close(stream);
		if (turn)
			assert_int_equal(rmdir(in_dir(index)), 0);
		/* It is there again when nothing is in the way. */
		assert_int_equal(wmk_store_stream_open(store, "app_0", NULL, uuid, &stream, &last), 1);
		assert_int_equal(mode_of(index), S_IFREG | 0600);
	}
	wmk_store_stream_close(stream);
	wmk_store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_index_in_the_way, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
