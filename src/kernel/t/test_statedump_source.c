/* SPDX-License-Identifier: MIT */
/*
 * test_statedump_source.c - the state dump of a made-up machine as packets: the number of records in each, and how a
 * dump continues after an earlier process.
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "ctf/writer.h"
#include "kernel/statedump/statedump_source.h"
#include "ring/set.h"
#include "tree.h"

#define TASKS 128u
#define RECORDS (TASKS * 2 + 2)      /* the state and the PID namespace of each thread; start and end */
#define PACKET 5120u

struct source_machine {
	struct tree tree;
	char proc[300], sys[300];
	uint64_t now;
	struct wmk_source *dumper;
};

static uint64_t tick(void *data)
{
	return ++((struct source_machine *)data)->now;
}

static void open_dumper(struct source_machine *m)
{
	struct wmk_kdumper_options options = { .clock = tick,
					       .clock_data = m,
					       .proc = m->proc,
					       .sys = m->sys,
					       .n_contexts = 4,
					       .packet_bytes = PACKET,
					       .parts = WMK_KSTATEDUMP_PROCESSES | WMK_KSTATEDUMP_NAMESPACES };

	for (unsigned i = 0; i < WMK_KSTATEDUMP_EVENTS; i++)
		options.ids[i] = i;
	assert_int_equal(wmk_kdumper_open(&options, &m->dumper), 0);
}

static int setup(void **state)
{
	struct source_machine *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	tree_make(&m->tree);
	snprintf(m->proc, sizeof(m->proc), "%s/proc", m->tree.dir);
	snprintf(m->sys, sizeof(m->sys), "%s/sys", m->tree.dir);
	tree_dir(&m->tree, "proc");
	tree_dir(&m->tree, "sys");
	for (unsigned i = 0; i < TASKS; i++) {
		char base[64], ids[16];
		const int pid = (int)(100 + i);
		struct tree_task task = { .tid = pid,
					  .pid = pid,
					  .ppid = 1,
					  .name = "task",
					  .state = 'S',
					  .n_threads = 1,
					  .prio = 20,
					  .ids = ids,
					  .tgids = ids };

		snprintf(ids, sizeof(ids), "%d", pid);
		snprintf(base, sizeof(base), "proc/%d/task/%d", pid, pid);
		tree_task(&m->tree, base, &task);
	}
	open_dumper(m);
	*state = m;
	return 0;
}

static int teardown(void **state)
{
	struct source_machine *m = *state;

	m->dumper->ops->close(m->dumper);
	tree_remove(&m->tree);
	free(m);
	wmk_error_clear();
	return 0;
}

/* An earlier process wrote packets up to `position`. Returns how many records the trace has. */
static uint64_t resume(struct source_machine *m, uint64_t position)
{
	const struct wmk_ctf_packet last = { .ring_position = position };
	uint64_t records, end;

	assert_int_equal(m->dumper->ops->resume(m->dumper, &last, &records, &end), 0);
	return records;
}

static void clear(struct source_machine *m)
{
	uint64_t position, ts;

	assert_int_equal(m->dumper->ops->clear(m->dumper, &position, &ts), 0);
}

/*
 * Take all packets up to the end of the dump and return their number. *records: records in the trace, with earlier
 * ones; *last: end of the last packet.
 */
static unsigned take_all(struct source_machine *m, uint64_t *records, uint64_t *last)
{
	struct wmk_packet packet, again;
	uint64_t end = 0;
	unsigned n = 0;

	*last = 0;
	while (m->dumper->ops->next(m->dumper, true, &packet) == 1) {
		assert_true(packet.len > 0 && packet.len <= PACKET);
		assert_true(packet.begin_ts > end && packet.end_ts >= packet.begin_ts);
		assert_true(packet.end >= *last && (!(*last & 1) || packet.end > *last));
		/* the same packet until it is released */
		assert_int_equal(m->dumper->ops->next(m->dumper, false, &again), 1);
		assert_true(again.data == packet.data && again.len == packet.len && again.records == packet.records &&
			    again.position == packet.position && again.begin_ts == packet.begin_ts &&
			    again.end_ts == packet.end_ts);
		end = packet.end_ts;
		*records = packet.records;
		assert_int_equal(packet.position, packet.records << 32 | (uint32_t)packet.end);
		*last = packet.end;
		m->dumper->ops->release(m->dumper, &packet);
		n++;
	}
	return n;
}

static void state_dump_source_returns_no_packet_before_it_begins(void **state)
{
	struct source_machine *m = *state;
	struct wmk_packet packet;

	assert_int_equal(m->dumper->ops->next(m->dumper, true, &packet), 0);
	assert_int_equal(m->dumper->ops->head(m->dumper), 0);
}

static void every_state_dump_record_is_in_exactly_one_packet(void **state)
{
	struct source_machine *m = *state;
	struct pollfd polled = { .fd = m->dumper->ops->fd(m->dumper), .events = POLLIN };
	uint64_t records, last;

	assert_int_equal(wmk_kdumper_begin(m->dumper, 7), 0);
	assert_int_equal(m->dumper->ops->head(m->dumper), 15);
	/* without a flush, poll() reports a packet */
	assert_int_equal(poll(&polled, 1, 10000), 1);
	assert_true(take_all(m, &records, &last) > 1);
	assert_int_equal(records, RECORDS);
	assert_int_equal(last, 15);
	/* this dump was started already */
	assert_int_equal(wmk_kdumper_begin(m->dumper, 7), 0);
	assert_int_equal(take_all(m, &records, &last), 0);
	assert_int_equal(wmk_kdumper_begin(m->dumper, 8), 0);
	assert_true(take_all(m, &records, &last) > 1);
	assert_int_equal(records, 2 * RECORDS);
	assert_int_equal(last, 17);
}

/* A rotation cuts a running dump: the packets from before the cut are in one chunk, the others in the next. */
static void rotation_divides_a_running_state_dump_between_two_chunks(void **state)
{
	struct source_machine *m = *state;
	const struct wmk_source_ops *ops = m->dumper->ops;
	struct wmk_ring_cut cut, begin;
	uint64_t before = 0, after = 0, last, position;
	struct pollfd polled = { .fd = ops->fd(m->dumper), .events = POLLIN };
	struct wmk_packet packet;

	assert_int_equal(wmk_kdumper_begin(m->dumper, 7), 0);
	/* A packet is full. The dump now waits for a free packet, so it is incomplete. */
	assert_int_equal(poll(&polled, 1, 10000), 1);
	assert_int_equal(ops->next(m->dumper, true, &packet), 1);
	assert_int_equal(ops->chunk_cut(m->dumper, &cut), 0);
	assert_false(ops->chunk_ready(m->dumper));
	assert_true(take_all(m, &before, &last) > 0);
	assert_true(before > 0 && before < RECORDS);
	assert_int_equal(last, 14);
	assert_true(ops->chunk_ready(m->dumper));
	ops->chunk_begin(m->dumper, 0, &begin);
	assert_int_equal(begin.pos, 14);
	assert_int_equal(begin.records, 0);
	assert_int_equal(ops->chunk_cut_at(m->dumper, NULL), 0);
	assert_true(take_all(m, &after, &last) > 0);
	assert_int_equal(before + after, RECORDS);
	assert_int_equal(last, 15);
	/* The next chunk begins after the complete dump: a later process that finds no packet dumps nothing. */
	assert_int_equal(ops->chunk_cut(m->dumper, &cut), 0);
	assert_true(ops->chunk_ready(m->dumper));
	ops->chunk_begin(m->dumper, 0, &begin);
	assert_int_equal(begin.pos, 15);
	ops->close(m->dumper);
	open_dumper(m);
	position = (uint32_t)begin.pos;
	assert_int_equal(resume(m, position), 0);
	assert_int_equal(wmk_kdumper_begin(m->dumper, WMK_KDUMPER_ANY), 0);
	assert_int_equal(take_all(m, &after, &last), 0);
}

static void second_state_dump_starts_after_the_running_one_ends(void **state)
{
	struct source_machine *m = *state;
	struct wmk_packet packet;
	uint64_t records, last;

	assert_int_equal(wmk_kdumper_begin(m->dumper, 7), 0);
	assert_int_equal(m->dumper->ops->next(m->dumper, true, &packet), 1);
	assert_int_equal(packet.end, 14);
	assert_int_equal(wmk_kdumper_begin(m->dumper, 9), 0);
	assert_int_equal(m->dumper->ops->head(m->dumper), 19);
	take_all(m, &records, &last);
	assert_int_equal(records, 2 * RECORDS);
	assert_int_equal(last, 19);
}

static void incomplete_state_dump_of_a_crashed_process_is_repeated(void **state)
{
	struct source_machine *m = *state;
	const uint64_t large = UINT64_C(123) << 40 | 7;
	uint64_t records = 0, last;

	/* complete: a begin with its number, or with ANY, dumps nothing */
	assert_int_equal(resume(m, UINT64_C(42) << 32 | 15), 42);
	assert_int_equal(wmk_kdumper_begin(m->dumper, WMK_KDUMPER_ANY), 0);
	assert_int_equal(take_all(m, &records, &last), 0);
	clear(m);
	assert_int_equal(resume(m, UINT64_C(42) << 32 | 15), 42);
	assert_int_equal(wmk_kdumper_begin(m->dumper, 7), 0);
	assert_int_equal(wmk_kdumper_begin(m->dumper, WMK_KDUMPER_ANY), 0);
	assert_int_equal(take_all(m, &records, &last), 0);
	/* incomplete: dumped again from the beginning; the earlier part stays in the trace */
	assert_int_equal(resume(m, UINT64_C(42) << 32 | 16), 42);
	assert_int_equal(wmk_kdumper_begin(m->dumper, 8), 0);
	take_all(m, &records, &last);
	assert_int_equal(records, 42 + RECORDS);
	assert_int_equal(last, 17);
	/* no earlier dump */
	clear(m);
	assert_int_equal(resume(m, 0), 0);
	assert_int_equal(wmk_kdumper_begin(m->dumper, 20), 0);
	take_all(m, &records, &last);
	assert_int_equal(records, RECORDS);
	assert_int_equal(last, 41);
	/* complete, by the low bits of its number; then another number */
	clear(m);
	resume(m, UINT64_C(42) << 32 | 15);
	assert_int_equal(wmk_kdumper_begin(m->dumper, large), 0);
	assert_int_equal(take_all(m, &records, &last), 0);
	resume(m, UINT64_C(42) << 32 | 15);
	assert_int_equal(wmk_kdumper_begin(m->dumper, large + 1), 0);
	take_all(m, &records, &last);
	assert_int_equal(records, 42 + RECORDS);
}

static void clear_cancels_a_running_state_dump(void **state)
{
	struct source_machine *m = *state;
	struct wmk_packet packet;
	uint64_t records, last;

	assert_int_equal(wmk_kdumper_begin(m->dumper, 7), 0);
	assert_int_equal(m->dumper->ops->next(m->dumper, true, &packet), 1);
	clear(m);
	assert_int_equal(m->dumper->ops->next(m->dumper, true, &packet), 0);
	assert_int_equal(wmk_kdumper_begin(m->dumper, 7), 0);
	assert_int_equal(m->dumper->ops->next(m->dumper, true, &packet), 0);
	assert_int_equal(wmk_kdumper_begin(m->dumper, 8), 0);
	take_all(m, &records, &last);
	assert_int_equal(records, RECORDS);
	assert_int_equal(last, 17);
}

/* Closing does not wait, and the memory is freed: ASan reports leaks. */
static void closing_the_source_does_not_wait_for_the_state_dump(void **state)
{
	struct source_machine *m = *state;
	struct wmk_packet packet;

	assert_int_equal(wmk_kdumper_begin(m->dumper, 7), 0);
	assert_int_equal(m->dumper->ops->next(m->dumper, true, &packet), 1);
	m->dumper->ops->close(m->dumper);
	open_dumper(m);
}

static void reading_a_state_dump_without_proc_returns_an_error(void **state)
{
	struct source_machine *m = *state;
	struct wmk_packet packet;
	char words[300];
	int err;

	strcat(m->proc, "-not-there");
	assert_int_equal(wmk_kdumper_begin(m->dumper, 7), 0);
	err = m->dumper->ops->next(m->dumper, true, &packet);
	assert_int_equal(err, -ENOENT);
	assert_non_null(strstr(wmk_error_text(words, sizeof(words)), "-not-there"));
	m->proc[strlen(m->proc) - strlen("-not-there")] = '\0';
	clear(m);
	assert_int_equal(wmk_kdumper_begin(m->dumper, 8), 0);
	assert_int_equal(m->dumper->ops->next(m->dumper, true, &packet), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(state_dump_source_returns_no_packet_before_it_begins, setup, teardown),
		cmocka_unit_test_setup_teardown(every_state_dump_record_is_in_exactly_one_packet, setup, teardown),
		cmocka_unit_test_setup_teardown(rotation_divides_a_running_state_dump_between_two_chunks, setup,
						teardown),
		cmocka_unit_test_setup_teardown(second_state_dump_starts_after_the_running_one_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(incomplete_state_dump_of_a_crashed_process_is_repeated, setup,
						teardown),
		cmocka_unit_test_setup_teardown(clear_cancels_a_running_state_dump, setup, teardown),
		cmocka_unit_test_setup_teardown(closing_the_source_does_not_wait_for_the_state_dump, setup, teardown),
		cmocka_unit_test_setup_teardown(reading_a_state_dump_without_proc_returns_an_error, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
