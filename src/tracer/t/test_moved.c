/* SPDX-License-Identifier: MIT */
/*
 * test_moved.c - while threads record on every path, events are moved between two channels, or get one filter after
 * another: each record is in the rings once, or not at all if no filter accepts it.
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "tracer/t/fake_sessiond.h"
#include "tracer/t/moved.h"
#include "tracer/t/run.h"

static const char *const kinds[] = { "m:words", "m:text", "m:more", "m:probed" };
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static struct {
	unsigned char count[KINDS][MOVED_THREADS][MOVED_RECORDS];
	unsigned round, wrong;
} seen;

static void look(void *data, uint32_t ring, uint64_t ts, const char *text)
{
	unsigned me, n;

	(void)data, (void)ring, (void)ts;
	for (unsigned k = 0; k < KINDS; k++) {
		size_t len = strlen(kinds[k]);

		if (strncmp(text, kinds[k], len) == 0 && sscanf(text + len, " me=%u n=%u", &me, &n) == 2 &&
		    me < MOVED_THREADS && n / MOVED_RECORDS == seen.round) {
			seen.count[k][me][n % MOVED_RECORDS]++;
			return;
		}
	}
	if (seen.wrong++ < 5)
		fprintf(stderr, "not what was recorded: %s\n", text);
}

static unsigned rounds(unsigned full)
{
	const char *percent = getenv("WMK_ROUNDS_PERCENT");
	unsigned n = full * (percent ? (unsigned)atoi(percent) : 10) / 100;

	return n ? n : 1;
}

/* Start the program with pipes to its standard input and from its standard output. */
static pid_t start(int *in, int *out)
{
	int ends[2][2], saved[2] = { dup(0), dup(1) };

	assert_int_equal(pipe(ends[0]), 0);
	assert_int_equal(pipe(ends[1]), 0);
	fflush(stdout);
	dup2(ends[0][0], 0);
	dup2(ends[1][1], 1);
	pid_t pid = run_start((const char *[]){ "prog_moved", NULL });

	for (int i = 0; i < 2; i++) {
		dup2(saved[i], i);
		close(saved[i]);
	}
	close(ends[0][0]);
	close(ends[1][1]);
	*in = ends[0][1];
	*out = ends[1][0];
	return pid;
}

/* Count the records of each thread and kind from `first` on. */
static void check_round(struct fake_sessiond *c, unsigned first)
{
	uint64_t lost = 0;

	memset(seen.count, 0, sizeof(seen.count));
	assert_true(fake_sessiond_read(c, look, NULL, &lost, NULL) > 0);
	assert_int_equal(lost, 0);
	assert_int_equal(seen.wrong, 0);
	for (unsigned k = 0; k < KINDS; k++)
		for (unsigned t = 0; t < MOVED_THREADS; t++)
			for (unsigned n = 0; n < MOVED_RECORDS; n++)
				if (seen.count[k][t][n] != (n >= first))
					fail_msg("round %u: record %u of %s by thread %u is there %u times", seen.round,
						 n, kinds[k], t, seen.count[k][t][n]);
	seen.round++;
}

static void events_moved_to_other_rings_are_recorded_once(void **state)
{
	struct fake_sessiond_options options = { .prefix = "m:", .subbuf_size = 1 << 20, .n_subbufs = 32 };
	struct fake_sessiond *c = fake_sessiond_start(run_make_dir(), &options);
	int in, out;
	pid_t pid = start(&in, &out);
	char byte = 'x';
	unsigned moved = 0;

	(void)state;
	assert_true(fake_sessiond_wait_done(c, 1));
	for (unsigned i = 0; i < rounds(100); i++) {
		struct pollfd done = { .fd = out, .events = POLLIN };

		assert_int_equal(write(in, &byte, 1), 1);
		for (; poll(&done, 1, 0) == 0; moved++)
			assert_true(fake_sessiond_move(c, 64));
		assert_int_equal(read(out, &byte, 1), 1);
		check_round(c, 0);
	}
	assert_true(moved > 0);
	close(in);
	assert_int_equal(run_wait(pid), 0);
	close(out);
	fake_sessiond_free(c);
	run_remove_dir();
}

/* Insert the number at the '#' of the form. */
static void write_form(char *to, size_t size, const char *form, unsigned number)
{
	const char *at = strchr(form, '#');

	snprintf(to, size, "%.*s%u%s", (int)(at - form), form, number, at + 1);
}

/*
 * Equivalent filters in different forms and sizes, so that the memory of a filter is reused while threads read it, from
 * the middle of the round on.
 */
static void equivalent_filters_can_be_replaced_while_threads_record(void **state)
{
	static const char *const forms[] = {
		"n >= #",
		"n * 2 >= # * 2 && me < 100",
		"!(n < #)",
		"n + 0.5 > #",
		"n >= # && (!exists(arg3) || arg3 == \"*\")",
		"# <= n",
		"n / 1 - # >= 0 && !(me in [50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, "
		"68, 69, 70, 71, 72, 73, 74, 75, 76, 77])",
		"n >= # && (exists(arg3) ? arg3 in [\"behind\", \"no\", \"a text that makes the pool of this filter "
		"long, longer than that of all others\"] || arg3 == \"in*\" : 1)",
	};
	enum { FORMS = sizeof(forms) / sizeof(forms[0]) };
	struct fake_sessiond_options options = { .prefix = "m:", .subbuf_size = 1 << 20, .n_subbufs = 32 };
	struct fake_sessiond *c = fake_sessiond_start(run_make_dir(), &options);
	char made[FORMS][400], byte = 'x';
	const char *texts[4 * FORMS];
	int in, out;
	pid_t pid = start(&in, &out);
	unsigned changed = 0;

	(void)state;
	seen.round = 0;
	assert_true(fake_sessiond_wait_done(c, 1));
	for (unsigned i = 0; i < rounds(100); i++) {
		struct pollfd done = { .fd = out, .events = POLLIN };
		const unsigned first = MOVED_RECORDS / 2;

		for (unsigned k = 0; k < FORMS; k++)
			write_form(made[k], sizeof(made[k]), forms[k], i * MOVED_RECORDS + first);
		for (unsigned k = 0; k < 4 * FORMS; k++)
			texts[k] = made[k * 5 % FORMS];
		assert_true(fake_sessiond_filter(c, texts, 1));
		assert_int_equal(write(in, &byte, 1), 1);
		for (; poll(&done, 1, 0) == 0; changed++)
			assert_true(fake_sessiond_filter(c, texts, 4 * FORMS));
		assert_int_equal(read(out, &byte, 1), 1);
		check_round(c, first);
	}
	assert_true(changed > 0);
	close(in);
	assert_int_equal(run_wait(pid), 0);
	close(out);
	fake_sessiond_free(c);
	run_remove_dir();
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(events_moved_to_other_rings_are_recorded_once),
					    cmocka_unit_test(equivalent_filters_can_be_replaced_while_threads_record) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
