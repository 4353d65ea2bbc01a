/* SPDX-License-Identifier: MIT */
/*
 * test_cpu_stream.c - converts a kernel channel to packets. Each system call of this process is in exactly one packet,
 * in order, even if the reader crashes at any point and another one resumes; or it counts as lost, at a possible
 * position. The tests use instances of their own (instance.h).
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/error.h"
#include "ctf/writer.h"
#include "kernel/tracefs/instance.h"
#include "kernel/channel/channel_events.h"

#define CPUS_MAX 256u
#define CALLS_MAX 200000u
#define CALL "sys_enter_timer_delete"
#define OTHER "sys_enter_timer_getoverrun" /* not declared to the reader */
#define PAYLOAD 4u                    /* timer_id */

static struct wmk_tracefs *tracefs;
static char name[WMK_KINSTANCE_NAME];
static int instance = -1;
static uint32_t made;                  /* system calls, numbered from 0 */
static bool with_others;               /* the buffer also contains records that must not be in the trace */

/* Content of the trace. */
static struct wmk_ctf_packet trace[CPUS_MAX];
static uint64_t records[CPUS_MAX], ends[CPUS_MAX];
static bool seen[CALLS_MAX];
static uint32_t n_seen, last_turn[CPUS_MAX], first_turn;

static struct wmk_kreader *reader;
static struct wmk_source *streams[CPUS_MAX];
static unsigned n_cpus;

/* ── the channel ─────────────────────────────────────────────────────────────────────────────────────── */

static void begin(uint64_t cpu_bytes, bool overwrite)
{
	const struct wmk_kinstance_options options = {
		.clock = WMK_CLOCK_MONOTONIC, .cpu_bytes = cpu_bytes, .subbuf_bytes = 16384, .overwrite = overwrite
	};

	snprintf(name, sizeof(name), "wmkt-e2e-stream-%d", (int)getpid());
	assert_int_equal(wmk_kinstance_remove(tracefs, name), 0);
	assert_int_equal(wmk_kinstance_make(tracefs, name, &options, &instance), 0);
	assert_int_equal(wmk_kinstance_pids(instance, (const int32_t[]){ (int32_t)getpid() }, 1), 0);
	assert_int_equal(wmk_kinstance_event(instance, "syscalls", CALL, true), 0);
	assert_int_equal(wmk_kinstance_switch(instance, true), 0);
	memset(trace, 0, sizeof(trace));
	memset(records, 0, sizeof(records));
	memset(ends, 0, sizeof(ends));
	with_others = false;
	memset(seen, 0, sizeof(seen));
	made = n_seen = 0;
	first_turn = UINT32_MAX;
}

static void end(void)
{
	close(instance);
	assert_int_equal(wmk_kinstance_remove(tracefs, name), 0);
}

static void calls(uint32_t n)
{
	assert_true(made + n <= CALLS_MAX);
	while (n--) {
		for (uint32_t i = 0; with_others && i < made % 4; i++)
			syscall(SYS_timer_getoverrun, made);
		syscall(SYS_timer_delete, made++);
	}
}

/* ── the reader, which may crash ─────────────────────────────────────────────────────────────────────── */

/* No process is excluded: the recorded system calls are this process's own. */
static unsigned no_processes(void *data, pid_t pids[WMK_KOWN_PIDS])
{
	(void)data;
	(void)pids;
	return 0;
}

static void reader_open(void)
{
	const struct wmk_kreader_options options = { .instance = instance, .own_find = no_processes };

	assert_int_equal(wmk_kreader_open(&options, &reader), 0);
	assert_int_equal(wmk_kreader_event(reader, "syscalls", CALL, 1), 0);
	n_cpus = wmk_kreader_cpus(reader);
	assert_true(n_cpus <= CPUS_MAX);
	for (unsigned cpu = 0; cpu < n_cpus; cpu++)
		if (wmk_kstream_open(reader, cpu, &streams[cpu]) < 0)
			streams[cpu] = NULL;
	wmk_error_clear();
}

/* Gives nothing back, like a killed reader. */
static void reader_close(void)
{
	for (unsigned cpu = 0; cpu < n_cpus; cpu++)
		if (streams[cpu])
			streams[cpu]->ops->close(streams[cpu]);
	wmk_kreader_close(reader);
	memset(streams, 0, sizeof(streams));
}

static void reader_resume(void)
{
	uint64_t there, end_there;

	reader_open();
	for (unsigned cpu = 0; cpu < n_cpus; cpu++)
		if (streams[cpu]) {
			assert_int_equal(streams[cpu]->ops->resume(streams[cpu], &trace[cpu], &there, &end_there), 0);
			assert_int_equal(there, records[cpu]);
			assert_int_equal(end_there, ends[cpu]);
		}
}

/*
 * Parses a record header of 4 bytes, or more after a long pause (docs/trace-format.md), and the system call's number.
 */
static size_t turn_of(const uint8_t *data, size_t left, uint32_t *turn)
{
	const size_t head = (data[0] & 0x1f) == 0x1f ? WMK_CTF_RECORD_HEAD : 4;

	assert_true(left >= head + PAYLOAD);
	memcpy(turn, data + head, sizeof(*turn));
	return head + PAYLOAD;
}

static void put(unsigned cpu, const struct wmk_packet *packet)
{
	const uint64_t n = packet->records - records[cpu];
	size_t at = 0;

	assert_true(packet->records > records[cpu]);
	for (uint64_t i = 0; i < n; i++) {
		uint32_t turn;

		at += turn_of((const uint8_t *)packet->data + at, packet->len - at, &turn);
		assert_true(turn < made);
		assert_false(seen[turn]);
		seen[turn] = true;
		assert_true(records[cpu] + i == 0 || turn > last_turn[cpu]);
		last_turn[cpu] = turn;
		if (turn < first_turn)
			first_turn = turn;
	}
	assert_int_equal(at, packet->len);
	n_seen += (uint32_t)n;
	assert_true(packet->lost >= trace[cpu].lost || trace[cpu].lost == 0);
	/* records that the packet reports as lost must have been made before its end */
	assert_true(packet->lost <= last_turn[cpu] + 1u);
	records[cpu] = packet->records;
	trace[cpu].ring_position = packet->position;
	trace[cpu].end_ts = packet->end_ts;
	ends[cpu] = packet->end;
	trace[cpu].lost = packet->lost;
}

enum take { ALL, NOT_RELEASED, NOT_WRITTEN };

/* Takes at most one packet of each CPU, and leaves the last one as `how` says. Returns their number. */
static unsigned take(bool flush, enum take how)
{
	struct wmk_packet packet;
	unsigned n = 0;

	for (unsigned cpu = 0; cpu < n_cpus; cpu++) {
		if (!streams[cpu])
			continue;
		const int got = streams[cpu]->ops->next(streams[cpu], flush, &packet);

		assert_true(got >= 0);
		if (got == 0)
			continue;
		n++;
		if (how != NOT_WRITTEN)
			put(cpu, &packet);
		if (how == ALL)
			streams[cpu]->ops->release(streams[cpu], &packet);
	}
	return n;
}

static uint64_t lost(uint64_t *overwritten)
{
	uint64_t sum = 0, over = 0, by_cause[WAYMARK_LOST_CAUSES];

	for (unsigned cpu = 0; cpu < n_cpus; cpu++)
		if (streams[cpu]) {
			const uint64_t one = streams[cpu]->ops->lost(streams[cpu], by_cause);

			sum += one;
			over += one - by_cause[WAYMARK_LOST_FULL];
		}
	if (overwritten)
		*overwritten = over;
	return sum;
}

static void drain(void)
{
	while (take(true, ALL))
		;
}

/* ── tests ───────────────────────────────────────────────────────────────────────────────────────────── */

static void records_are_read_once_and_in_order(void **state)
{
	(void)state;
	begin(1 << 20, false);
	reader_open();
	for (unsigned round = 0; round < 20; round++) {
		calls(round * 37);
		take(round % 3 == 0, ALL);
	}
	drain();
	assert_int_equal(n_seen, made);
	assert_int_equal(lost(NULL), 0);
	for (unsigned cpu = 0; cpu < n_cpus; cpu++)
		assert_true(!streams[cpu] || streams[cpu]->ops->head(streams[cpu]) == ends[cpu]);
	reader_close();
	end();
}

/* A partial page was taken without a packet: records that the kernel counts as read are not missing. */
static void resume_on_partial_page_loses_nothing(void **state)
{
	(void)state;
	begin(1 << 20, false);
	reader_open();
	calls(10);
	assert_int_equal(take(false, ALL), 0);
	reader_close();
	reader_resume();
	drain();
	assert_int_equal(lost(NULL), 0);
	assert_int_equal(n_seen, made);
	reader_close();
	end();
}

static void resume_after_crash_at_any_point_loses_nothing(void **state)
{
	uint64_t random = 1;

	(void)state;
	begin(4 << 20, false);
	assert_int_equal(wmk_kinstance_event(instance, "syscalls", OTHER, true), 0);
	with_others = true;
	reader_open();
	for (unsigned round = 0; round < 400; round++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		const unsigned r = (unsigned)(random >> 33);

		calls(r % 7 == 0 ? 1000 : r % 50);
		if (r & 0x400)
			take(r & 0x800, ALL);
		take(r & 0x1000, (enum take)(r >> 13) % 3);
		if (r & 0x10000 || (r >> 13) % 3 != ALL) {
			reader_close();
			reader_resume();
		}
	}
	drain();
	assert_int_equal(lost(NULL), 0);
	assert_int_equal(n_seen, made);
	for (unsigned cpu = 0, sum = 0; cpu < n_cpus; cpu++) {
		sum += (unsigned)records[cpu];
		assert_true(cpu + 1 < n_cpus || sum == made);
	}
	reader_close();
	end();
}

/*
 * Determines which part of the returned page is in the trace: none if the trace ends before the page, by any number of
 * records.
 */
static void position_in_trace_locates_the_unwritten_part_of_a_page(void **state)
{
	static const uint64_t behind[] = { 100,      101,      8388607,  8388608,  8388700,  16777215,
					   16777216, 16777220, 16777315, 16777316, 50000000, 4294967300 };
	const uint64_t read = 10000000000, again = 100, mask = (1u << 24) - 1;

	(void)state;
	for (uint64_t n = 0; n < again; n++)
		assert_int_equal(wmk_kplace_behind((read - n) & mask, 5000, read, again, 4000), n);
	for (unsigned i = 0; i < sizeof(behind) / sizeof(*behind); i++)
		assert_true(wmk_kplace_behind((read - behind[i]) & mask, 3999, read, again, 4000) >= again);
	/* the page begins with a record of the same time as the last one in the trace */
	assert_int_equal(wmk_kplace_behind((UINT64_C(77) << 24) | ((read - 100) & mask), 4000, read, again, 4000), 100);
}

/*
 * System calls of the reader are recorded, too, and not wanted: each query makes more of them.
 */
static void flush_ends_although_its_system_calls_are_recorded(void **state)
{
	static const char *const own[] = { "sys_enter_ioctl", "sys_enter_read", "sys_enter_splice",
					   "sys_enter_pread64" };

	(void)state;
	begin(1 << 20, false);
	for (unsigned i = 0; i < sizeof(own) / sizeof(*own); i++)
		assert_int_equal(wmk_kinstance_event(instance, "syscalls", own[i], true), 0);
	reader_open();
	for (unsigned round = 0; round < 20; round++) {
		assert_int_equal(take(true, ALL), 0);
		calls(10);
		drain();
	}
	assert_int_equal(n_seen, made);
	/* packets that were released and not written are not in the trace */
	for (unsigned cpu = 0; cpu < n_cpus; cpu++)
		if (streams[cpu] && records[cpu] >= 3) {
			trace[cpu].ring_position = trace[cpu].ring_position - (UINT64_C(3) << WMK_KSTREAM_RECORDS_AT);
			records[cpu] -= 3;
		}
	reader_close();
	reader_resume();
	reader_close();
	end();
}

static void lost_records_are_counted_when_buffer_is_full(void **state)
{
	(void)state;
	begin(32 << 10, false);
	reader_open();
	for (unsigned round = 0; round < 10; round++) {
		calls(5000);
		take(false, ALL);
		if (round == 5) {
			reader_close();
			reader_resume();
		}
	}
	drain();
	assert_true(lost(NULL) > 0);
	assert_int_equal(n_seen + lost(NULL), made);
	reader_close();
	end();
}

/* All overwritten records are older than the first one that was read. */
static void overwritten_records_are_counted_in_first_packet(void **state)
{
	uint64_t over, in_packets = 0;

	(void)state;
	begin(32 << 10, true);
	reader_open();
	calls(20000);
	take(true, ALL);
	for (unsigned cpu = 0; cpu < n_cpus; cpu++)
		in_packets += trace[cpu].lost;
	drain();
	assert_true(lost(&over) > 0);
	assert_int_equal(lost(NULL), over);
	assert_int_equal(in_packets, over);
	assert_int_equal(n_seen + over, made);
	assert_true(seen[made - 1]);
	assert_true(first_turn > 0);
	reader_close();
	end();
}

static void counts_restart_after_clear(void **state)
{
	(void)state;
	begin(32 << 10, false);
	reader_open();
	for (unsigned round = 0; round < 8; round++) {
		calls(round % 2 ? 5000 : 10);
		take(round % 3 == 0, (enum take)(round % 3));
		memset(seen, 0, sizeof(seen));
		for (unsigned cpu = 0; cpu < n_cpus; cpu++) {
			uint64_t position = 1, ts = 1;

			if (!streams[cpu])
				continue;
			assert_int_equal(streams[cpu]->ops->clear(streams[cpu], &position, &ts), 0);
			assert_true(position == 0 && ts == 0);
		}
		memset(trace, 0, sizeof(trace));
		memset(records, 0, sizeof(records));
		memset(ends, 0, sizeof(ends));
		assert_int_equal(lost(NULL), 0);
		n_seen = 0;
		const uint32_t before = made;

		calls(100);
		if (round >= 4) {
			reader_close();
			reader_resume();
		}
		drain();
		assert_int_equal(n_seen, made - before);
		assert_int_equal(lost(NULL), 0);
	}
	/* resume at a position that the kernel's counts have not reached */
	reader_close();
	reader_open();
	for (unsigned cpu = 0; cpu < n_cpus; cpu++)
		if (streams[cpu]) {
			const struct wmk_ctf_packet far = { .ring_position = (uint64_t)1 << 62 };
			uint64_t there, end_there;

			assert_int_equal(streams[cpu]->ops->resume(streams[cpu], &far, &there, &end_there), -ESTALE);
		}
	wmk_error_clear();
	reader_close();
	end();
}

static void undeclared_events_are_skipped(void **state)
{
	(void)state;
	begin(1 << 20, false);
	reader_open();
	assert_int_equal(wmk_kinstance_event(instance, "syscalls", "sys_exit_timer_delete", true), 0);
	calls(1000);
	drain();
	assert_int_equal(n_seen, made);
	assert_int_equal(lost(NULL), 0);
	assert_int_equal(wmk_kreader_event(reader, "syscalls", CALL, 1), 0);
	assert_int_equal(wmk_kreader_event(reader, "syscalls", CALL, 2), -EEXIST);
	assert_int_equal(wmk_kreader_event(reader, "syscalls", "sys_enter_nothing", 3), -ENOENT);
	assert_int_equal(wmk_kreader_event(reader, "..", "..", 3) < 0, 1);
	wmk_error_clear();
	reader_close();
	end();
}

static void invalid_channels_and_cpus_are_rejected(void **state)
{
	const uint8_t user_only[] = { 6 };      /* ip */
	struct wmk_kreader_options options = { .instance = tracefs->dir, .contexts = user_only, .n_contexts = 1 };
	struct wmk_source *stream;

	(void)state;
	assert_int_equal(wmk_kreader_open(&options, &reader), -EINVAL);
	begin(32 << 10, false);
	options = (struct wmk_kreader_options){ .instance = STDIN_FILENO };
	assert_int_equal(wmk_kreader_open(&options, &reader), -EINVAL);
	reader_open();
	assert_true(wmk_kstream_open(reader, 5000, &stream) < 0);
	/* a second reader is rejected */
	assert_int_equal(wmk_kstream_open(reader, 0, &stream), -EBUSY);
	wmk_error_clear();
	reader_close();
	end();
}

static int open_tracefs(void **state)
{
	(void)state;
	if (geteuid() != 0 || wmk_tracefs_open(NULL, &tracefs) < 0 ||
	    !wmk_tracefs_has(tracefs->dir, "events/syscalls/" CALL)) {
		print_message("skipped: no root, no tracefs, or a kernel without system call events\n");
		exit(77);
	}
	return 0;
}

static int close_tracefs(void **state)
{
	(void)state;
	wmk_tracefs_close(tracefs);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_read_once_and_in_order),
		cmocka_unit_test(resume_on_partial_page_loses_nothing),
		cmocka_unit_test(resume_after_crash_at_any_point_loses_nothing),
		cmocka_unit_test(position_in_trace_locates_the_unwritten_part_of_a_page),
		cmocka_unit_test(flush_ends_although_its_system_calls_are_recorded),
		cmocka_unit_test(lost_records_are_counted_when_buffer_is_full),
		cmocka_unit_test(overwritten_records_are_counted_in_first_packet),
		cmocka_unit_test(counts_restart_after_clear),
		cmocka_unit_test(undeclared_events_are_skipped),
		cmocka_unit_test(invalid_channels_and_cpus_are_rejected),
	};

	return cmocka_run_group_tests(tests, open_tracefs, close_tracefs);
}
