/* SPDX-License-Identifier: MIT */
/*
 * test_points.c - a writer is killed or stopped between any two stores of a record, in a sequence and on a claim ring.
 * Another process continues to record. No record is torn, counts are exact, and times are in order. The same for a
 * reader that gives memory back. Compiled with the sources of the ring and -DWMK_TESTPOINTS.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "ring_test.h"

#define RECORDS 400
#define VICTIM 1ull
#define OTHER 2ull

struct progress {
	volatile uint64_t begun, done;
	volatile uint64_t read; /* written by the test; writers do not pass it */
};

static struct progress *victim, *other; /* shared */

static void record_number(struct waymark_ring_set *set, uint64_t who, uint64_t i, struct progress *progress, int claims)
{
	static const uint64_t zero;
	uint64_t word = who << 32 | i;
	struct waymark_ring_frag f[2] = { { &word, 8, WAYMARK_FRAG_WORDS }, { "hello", 5, WAYMARK_FRAG_TEXT } };
	unsigned n = i % 2 ? 2 : 1;
	int rc;

	progress->begun = i + 1;
	if (claims)
		rc = wmk_ring_write_claim(set, &zero, 0, 2 + n, f, n, n == 1 ? 8 : 14);
	else if (i % 4 != 3 || (rc = wmk_ring_write_tail(set, &zero, 0, 4, &word, 8, "hello", 5, 1)) != 0)
		rc = waymark_ring_record(set, 2 + n, f, n);
	progress->done += rc == 0;
}

static void to_cpu(unsigned cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

/* Read everything. Every record must be complete, and must be the next one of its writer. */
static void read_all(struct pair *p, uint64_t next[3])
{
	struct waymark_ring_packet packet;

	for (uint32_t i = 0; i < p->n_rings; i++) {
		int rc;

		while ((rc = waymark_ring_reader_next(p->readers[i], WAYMARK_RING_FLUSH, &packet)) == 1) {
			const unsigned char *at = packet.data, *end = at + packet.len;
			uint64_t ts = packet.begin_ts, last = ts, word;

			while (at < end) {
				uint32_t id = record_header(&at, end, &ts);

				assert_true(id == 3 || id == 4);
				assert_true(ts >= last && ts <= packet.end_ts);
				last = ts;
				memcpy(&word, at, 8);
				at += 8;
				assert_true(word >> 32 == VICTIM || word >> 32 == OTHER);
				assert_int_equal(word & 0xffffffff, next[word >> 32]++);
				if (id == 4) {
					assert_memory_equal(at, "hello", 6);
					at += 6;
				}
			}
			assert_int_equal(ts, packet.end_ts);
			waymark_ring_reader_release(p->readers[i], &packet);
		}
		assert_int_equal(rc, 0);
	}
}

static void wait_for(pid_t pid, int *status)
{
	for (int i = 0; i < 10000; i++) {
		struct timespec ms = { 0, 1000000 };

		if (waitpid(pid, status, WUNTRACED | WNOHANG) == pid)
			return;
		nanosleep(&ms, NULL);
	}
	fail_msg("the victim was neither killed nor stopped within 10 s");
}

/* `variable`=`value` selects the point and the action. Both processes share a CPU, so that they share a ring. */
static void one_point(const char *variable, const char *value, int claims, int stops)
{
	struct pair p;
	uint64_t next[3] = { 0 }, lost = 0;
	int status;
	pid_t pid, other_pid;

	memset(victim, 0, 2 * sizeof(*victim));
	pair_open(&p,
		  (struct waymark_ring_options){
			  .subbuf_size = 4096, .n_subbufs = 4, .clock = WAYMARK_CLOCK_COUNTER, .prefault = 1 << 30 });
	/* The test itself never records, because its children read the environment at their first record. */
	to_cpu(0);
	pid = fork();
	if (pid == 0) {
		waymark_ring_set_identity(p.writer, 1, 1);
		setenv(variable, value, 1);
		for (uint64_t i = 0; i < RECORDS; i++)
			record_number(p.writer, VICTIM, i, victim, claims);
		_exit(0);
	}
	wait_for(pid, &status);
	if (stops)
		assert_true(WIFSTOPPED(status));
	else
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_true(victim->begun < RECORDS);
	/* Another process writes ten times the size of the ring, with a running reader: no record is lost. */
	other_pid = fork();
	if (other_pid == 0) {
		waymark_ring_set_identity(p.writer, 2, 1);
		for (uint64_t i = 0; i < 10 * 4 * 4096 / 15; i++) {
			while (i - other->read > 500)
				sched_yield();
			record_number(p.writer, OTHER, i, other, claims);
		}
		_exit(0);
	}
	while (waitpid(other_pid, &status, WNOHANG) == 0) {
		read_all(&p, next);
		other->read = next[OTHER];
		sched_yield();
	}
	assert_true(WIFEXITED(status));
	assert_int_equal(other->done, other->begun);
	if (stops) {
		kill(pid, SIGCONT);
		while (waitpid(pid, &status, WNOHANG) == 0) {
			read_all(&p, next);
			sched_yield();
		}
		assert_true(WIFEXITED(status));
		assert_int_equal(victim->done, RECORDS);
	} else {
		waymark_ring_set_free_claims(p.reader, 1, 1);
		for (uint32_t i = p.n_cpus; i < p.n_rings; i++)
			assert_int_equal(p.reader->ring[i].ctl->claim, WMK_CLAIM_FREE);
	}
	read_all(&p, next);
	for (uint32_t i = 0; i < p.n_rings; i++)
		lost += waymark_ring_reader_lost(p.readers[i], NULL);
	assert_int_equal(lost, 0);
	assert_int_equal(next[OTHER], other->done);
	assert_true(victim->done <= next[VICTIM] && next[VICTIM] <= victim->begun);
	pair_close(&p);
}

static void records_are_kept_if_a_writer_is_killed_in_an_rseq_section(void **state)
{
#ifdef WMK_SEQ_WINDOWS
	struct waymark_ring_options o = { .size = sizeof(o), .subbuf_size = 4096, .n_subbufs = 2 };
	struct waymark_ring_set *set;
	int sequences;

	(void)state;
	assert_int_equal(waymark_ring_set_create(&o, &set), 0);
	sequences = set->seq_cpus != 0;
	waymark_ring_set_close(set);
	if (!sequences)
		skip();
	for (int window = 0; window < WMK_SEQ_WINDOWS; window++) {
		for (int stops = 0; stops < 2; stops++) {
			/*
			 * 5 and 6 close a sub-buffer; the second sub-buffer reaches them. 39 is a tail on the fast
			 * path.
			 */
			static const int after[] = { 0, 1, 39, 200 };

			for (int k = 0; k < 4; k++) {
				char value[32];

				snprintf(value, sizeof(value), "%d:%s:%d", window, stops ? "stop" : "kill", after[k]);
				print_message("  window %s\n", value);
				one_point("WMK_SEQ_POINT", value, 0, stops);
			}
		}
	}
#else
	(void)state;
	skip();
#endif
}

static void records_are_kept_if_a_writer_is_killed_in_a_claim_ring(void **state)
{
	static const char *const names[] = { "claim_claimed", "claim_entered", "claim_copied", "claim_slot",
					     "claim_committed" };

	(void)state;
	for (unsigned i = 0; i < WMK_ARRAY_LEN(names); i++) {
		for (int stops = 0; stops < 2; stops++) {
			char value[64];

			snprintf(value, sizeof(value), "%s=%s:%u", names[i], stops ? "stop" : "kill", 37 * i);
			print_message("  point %s\n", value);
			one_point("WMK_TESTPOINT", value, 1, stops);
		}
	}
}

/*
 * This point is before the sequence, on the way to a new sub-buffer: the position of the writer has been read, but not
 * that of the reader.
 */
static void records_are_kept_if_a_writer_is_killed_between_sub_buffers(void **state)
{
	(void)state;
	for (int after = 0; after < 2; after++)
		for (int stops = 0; stops < 2; stops++) {
			char value[64];

			snprintf(value, sizeof(value), "ring_placing=%s:%d", stops ? "stop" : "kill", after);
			print_message("  point %s\n", value);
			one_point("WMK_TESTPOINT", value, 0, stops);
			one_point("WMK_TESTPOINT", value, 1, stops);
		}
}

/* ── the reader gives memory back ────────────────────────────────────────────────────────────────────────── */

/* Try to record `tries` times, in another process. The numbers of the records that were stored have no gap. */
static void record_tries(struct pair *p, unsigned tries)
{
	const pid_t pid = fork();
	int status;

	if (pid == 0) {
		for (unsigned i = 0; i < tries; i++) {
			uint64_t word = OTHER << 32 | other->done;
			const struct waymark_ring_frag f = { &word, 8, WAYMARK_FRAG_WORDS };

			other->begun++;
			other->done += waymark_ring_record(p->writer, 3, &f, 1) == 0;
		}
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
}

/*
 * The reader stops or is killed at the point, while it gives the memory of an idle ring back. Meanwhile a writer fills
 * more than the sub-buffers that the ring keeps.
 */
static void reader_at_point(const char *point, int stops)
{
	struct pair p;
	uint64_t next[3] = { 0 }, lost = 0;
	char value[64];
	int status;
	pid_t pid;

	memset(victim, 0, 2 * sizeof(*victim));
	pair_open(&p,
		  (struct waymark_ring_options){
			  .subbuf_size = 4096, .n_subbufs = 8, .clock = WAYMARK_CLOCK_COUNTER, .prefault = 1 << 30 });
	to_cpu(0);
	record_tries(&p, 100);
	read_all(&p, next);
	pid = fork();
	if (pid == 0) {
		snprintf(value, sizeof(value), "%s=%s", point, stops ? "stop" : "kill");
		setenv("WMK_TESTPOINT", value, 1);
		for (uint32_t i = 0; i < p.n_rings; i++)
			if (wmk_ring_load(&p.reader->ring[i].ctl->write_pos) != 0)
				waymark_ring_set_reclaim(p.reader, i);
		_exit(0);
	}
	wait_for(pid, &status);
	assert_true(stops ? WIFSTOPPED(status) : WIFSIGNALED(status));
	record_tries(&p, 6 * 4096 / 12);
	if (stops) {
		kill(pid, SIGCONT);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
	}
	read_all(&p, next);
	assert_int_equal(next[OTHER], other->done);
	for (int i = 0; i < 40; i++) {
		assert_int_equal(waymark_ring_set_back(p.reader), 0);
		record_tries(&p, 200);
		read_all(&p, next);
		assert_int_equal(next[OTHER], other->done);
	}
	for (uint32_t i = 0; i < p.n_rings; i++)
		lost += waymark_ring_reader_lost(p.readers[i], NULL);
	assert_int_equal(lost, other->begun - other->done);
	assert_true(lost < 6 * 4096 / 12);
	pair_close(&p);
}

static void reader_stopped_while_it_reclaims_memory_loses_no_record(void **state)
{
	static const char *const points[] = { "reclaim_looked", "reclaim_lowered", "reclaim_checked" };

	(void)state;
	for (unsigned i = 0; i < WMK_ARRAY_LEN(points); i++)
		for (int stops = 0; stops < 2; stops++)
			reader_at_point(points[i], stops);
}

/* The writer has planned its record, and has begun the next sub-buffer, when the reader gives memory back. */
static void writer_stopped_in_the_next_sub_buffer_keeps_its_record(void **state)
{
	enum { ENTERS = (4096 - 8 - 64 - 96) / 12 }; /* number of records before the second sub-buffer */
	static const uint64_t zero;
	struct pair p;
	uint64_t next[3] = { 0 };
	int64_t given = 0;
	char value[64];
	int status;
	pid_t pid;

	(void)state;
	pair_open(&p,
		  (struct waymark_ring_options){
			  .subbuf_size = 4096, .n_subbufs = 8, .clock = WAYMARK_CLOCK_COUNTER, .prefault = 1 << 30 });
	pid = fork();
	if (pid == 0) {
		snprintf(value, sizeof(value), "claim_entered=stop:%d", ENTERS);
		setenv("WMK_TESTPOINT", value, 1);
		for (uint64_t i = 0; i < 2 * ENTERS; i++) {
			uint64_t word = VICTIM << 32 | i;
			const struct waymark_ring_frag f = { &word, 8, WAYMARK_FRAG_WORDS };

			wmk_ring_write_claim(p.writer, &zero, 0, 3, &f, 1, 8);
		}
		_exit(0);
	}
	wait_for(pid, &status);
	assert_true(WIFSTOPPED(status));
	read_all(&p, next);
	assert_int_equal(next[VICTIM], ENTERS);
	for (uint32_t i = 0; i < p.n_rings; i++)
		if (wmk_ring_load(&p.reader->ring[i].ctl->write_pos) != 0)
			given += waymark_ring_set_reclaim(p.reader, i);
	assert_int_equal(given, 6 * 4096);
	kill(pid, SIGCONT);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	read_all(&p, next);
	assert_int_equal(next[VICTIM], 2 * ENTERS);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_kept_if_a_writer_is_killed_in_an_rseq_section),
		cmocka_unit_test(records_are_kept_if_a_writer_is_killed_in_a_claim_ring),
		cmocka_unit_test(records_are_kept_if_a_writer_is_killed_between_sub_buffers),
		cmocka_unit_test(reader_stopped_while_it_reclaims_memory_loses_no_record),
		cmocka_unit_test(writer_stopped_in_the_next_sub_buffer_keeps_its_record),
	};

	victim = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	other = victim + 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
