/* SPDX-License-Identifier: MIT */
/*
 * test_reader.c - a reader that is not the creator: it maps the set from its descriptor, backs memory, and takes
 * pieces. Another reader continues after a kill. Cleared records stay cleared for the next reader. A reader sleeps on
 * several sets.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ring_test.h"

#define N 20000u

/* Take one piece. Its numbers must be new. */
static void take(const struct waymark_ring_packet *packet, unsigned char *seen, uint64_t *records)
{
	const unsigned char *at = packet->data, *end = at + packet->len;
	uint64_t ts = packet->begin_ts, v;

	while (at < end) {
		if (record_header(&at, end, &ts) != 3 || end - at < 8)
			_exit(3);
		memcpy(&v, at, 8);
		at += 8;
		if (v >= N || seen[v]++)
			_exit(4);
		(*records)++;
	}
}

/*
 * Runs in a process that has only the descriptor. Reads until *records is `until`, then exits without closing anything,
 * as if it were killed.
 */
static void read_all(int fd, unsigned char *seen, uint64_t *records, uint64_t until)
{
	struct waymark_ring_set *set;
	struct waymark_ring_reader *readers[512];
	struct waymark_ring_packet packet;

	if (waymark_ring_set_open_reader(fd, &set) < 0 || waymark_ring_set_fd(set) < 0)
		_exit(1);
	for (uint32_t i = 0; i < waymark_ring_set_rings(set); i++) {
		if (waymark_ring_reader_open(set, i, &readers[i]) < 0)
			_exit(2);
		if (*records) {
			const struct wmk_ring_ctl *ctl = set->ring[i].ctl;

			if (waymark_ring_reader_resume(readers[i], ctl->read_pos, 0, ctl->read_ts, NULL) < 0)
				_exit(5);
		}
	}
	while (*records < until) {
		waymark_ring_set_back(set);
		waymark_ring_set_heartbeat(set);
		for (uint32_t i = 0; i < waymark_ring_set_rings(set); i++) {
			while (*records < until &&
			       waymark_ring_reader_next(readers[i], WAYMARK_RING_FLUSH, &packet) == 1) {
				take(&packet, seen, records);
				waymark_ring_reader_release(readers[i], &packet);
			}
		}
		waymark_ring_set_wait(set, 1000);
	}
	_exit(0);
}

static void *record_all(void *arg)
{
	for (uint64_t i = 0; i < N; i++)
		while (record_u64(arg, i) < 0) /* until the reader has backed the next sub-buffer */
			sched_yield();
	return NULL;
}

static void next_reader_process_continues_where_the_last_one_ended(void **state)
{
	struct waymark_ring_options options = {
		.size = sizeof(options), .subbuf_size = 4096, .n_subbufs = 4, .header_room = 96, .block_us = -1
	};
	unsigned char *seen = mmap(NULL, N, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t *records = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct waymark_ring_set *creator, *writer;
	pthread_t thread;
	int status;

	(void)state;
	assert_int_equal(waymark_ring_set_create(&options, &creator), 0);
	assert_int_equal(waymark_ring_set_open(waymark_ring_set_fd(creator), &writer), 0);
	for (unsigned turn = 0; turn < 3; turn++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0)
			read_all(waymark_ring_set_fd(creator), seen, records, turn == 2 ? N : (turn + 1) * 3000);
		if (turn == 0)
			assert_int_equal(pthread_create(&thread, NULL, record_all, writer), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (status != 0)
			fail_msg("reader %u ended with status %x", turn, (unsigned)status);
	}
	pthread_join(thread, NULL);
	assert_int_equal(*records, N);
	/* The creator frees claims of ended processes, and so can another process with a reader. */
	struct waymark_ring_set *reader;
	uint32_t cpus = waymark_ring_set_cpus(creator);

	assert_int_equal(waymark_ring_set_open_reader(waymark_ring_set_fd(creator), &reader), 0);
	writer->ring[cpus].ctl->claim = WMK_CLAIM_NAMED | 1ull << 32 | 7;
	writer->ring[cpus + 1].ctl->claim = WMK_CLAIM_NAMED | 1ull << 32 | 8;
	assert_int_equal(waymark_ring_set_free_claims(creator, 7, 1), 1);
	assert_int_equal(waymark_ring_set_free_claims(reader, 8, 1), 1);
	waymark_ring_set_close(reader);
	waymark_ring_set_close(writer);
	waymark_ring_set_close(creator);
	munmap(records, 4096);
	munmap(seen, N);
}

/*
 * A reader is killed between the write of a piece and its release. The next reader is killed too, after it was given
 * the next piece. The third reader counts exactly.
 */
static void third_reader_counts_exactly_after_two_killed_readers(void **state)
{
	struct pair p;
	struct waymark_ring_packet packet;
	struct waymark_ring_reader *again;
	uint64_t pos, records = 0;
	uint32_t ring = 0;

	(void)state;
	pair_open(&p, (struct waymark_ring_options) { .subbuf_size = 4096, .n_subbufs = 4, .prefault = 1 << 30 });
	pin();
	for (uint64_t i = 0; i < 10; i++)
		record_u64(p.writer, i);
	while (waymark_ring_reader_position(p.readers[ring]) == 0)
		assert_true(++ring < p.n_rings);
	assert_int_equal(waymark_ring_reader_next(p.readers[ring], WAYMARK_RING_FLUSH, &packet), 1);
	pos = packet.begin_pos + packet.len;
	for (uint64_t i = 10; i < 20; i++)
		record_u64(p.writer, i);
	for (unsigned reader = 2; reader <= 3; reader++) {
		assert_int_equal(waymark_ring_reader_open(p.reader, ring, &again), 0);
		assert_int_equal(waymark_ring_reader_resume(again, pos, 1, packet.end_ts, &records), 0);
		assert_int_equal(records, 10);
		assert_int_equal(waymark_ring_reader_next(again, WAYMARK_RING_FLUSH, &packet), 1);
		assert_int_equal(packet.records, 20);
		waymark_ring_reader_close(again);
	}
	unpin();
	pair_close(&p);
}

static void test_invalid_ring_sets_are_refused(void **state)
{
	struct waymark_ring_set *set;
	int fd = memfd_create("no set", MFD_ALLOW_SEALING), null = open("/dev/null", O_RDWR);

	(void)state;
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	assert_int_equal(waymark_ring_set_open_reader(fd, &set), -EPERM);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	assert_int_equal(waymark_ring_set_open_reader(fd, &set), -EINVAL);
	assert_int_equal(waymark_ring_set_open_reader(null, &set), -EPERM);
	assert_int_equal(waymark_ring_set_open_reader(-1, &set), -EBADF);
	close(fd);
	close(null);
}

/* ── clearing ────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * counted[]: for each ring, the number of records according to its packets. A ring without a packet does not change it.
 */
static uint64_t drain_all(struct pair *p, uint64_t *counted, uint64_t *first, uint64_t *lost)
{
	struct waymark_ring_packet packet;
	uint64_t read = 0, ts;

	*first = UINT64_MAX;
	*lost = 0;
	for (uint32_t i = 0; i < p->n_rings; i++) {
		while (waymark_ring_reader_next(p->readers[i], WAYMARK_RING_FLUSH, &packet) == 1) {
			const unsigned char *at = packet.data, *end = at + packet.len;

			ts = packet.begin_ts;
			while (record_header(&at, end, &ts) == 3) {
				uint64_t v;

				memcpy(&v, at, 8);
				*first = v < *first ? v : *first;
				at += 8;
				read++;
			}
			counted[i] = packet.records;
			waymark_ring_reader_release(p->readers[i], &packet);
		}
		*lost += waymark_ring_reader_lost(p->readers[i], NULL);
	}
	return read;
}

static uint64_t sum(const struct pair *p, const uint64_t *counted)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < p->n_rings; i++)
		all += counted[i];
	return all;
}

static void clear_all(struct pair *p, uint64_t *counted)
{
	for (uint32_t i = 0; i < p->n_rings; i++)
		assert_int_equal(waymark_ring_reader_clear(p->readers[i]), 0);
	memset(counted, 0, p->n_rings * sizeof(*counted));
}

/* A later reader counts from the given position. */
static void take_over_all(struct pair *p, uint64_t *counted)
{
	uint64_t ts;

	for (uint32_t i = 0; i < p->n_rings; i++) {
		const uint64_t pos = p->reader->ring[i].ctl->read_pos;

		if (waymark_ring_reader_base(p->readers[i], &ts) != 0)
			assert_true(ts > 0);
		waymark_ring_reader_close(p->readers[i]);
		assert_int_equal(waymark_ring_reader_open(p->reader, i, &p->readers[i]), 0);
		assert_int_equal(waymark_ring_reader_resume(p->readers[i], pos, 0, ts, &counted[i]), 0);
	}
}

/*
 * Test both modes. For the last part, the writer moves to CPU `other`, so that one ring has no new records. `other` <
 * 0: it does not move.
 */
static void clear_in(unsigned mode, int other)
{
	uint64_t counted[512] = { 0 }, first, lost, done = 0;
	struct pair p;

	pair_open(&p, (struct waymark_ring_options){
			      .subbuf_size = 4096, .n_subbufs = 4, .mode = mode, .prefault = 1 << 30 });
	/* Record more than fits. The records are partly read, up to the middle of a sub-buffer. */
	for (uint64_t i = 0; i < 100; i++)
		record_u64(p.writer, i);
	assert_int_equal(drain_all(&p, counted, &first, &lost), 100);
	for (uint64_t i = 0; i < 5000; i++)
		record_u64(p.writer, i);
	clear_all(&p, counted);
	assert_int_equal(drain_all(&p, counted, &first, &lost), 0);
	assert_int_equal(lost, 0);
	/* All room is free again except the open sub-buffer. Counts begin at zero. */
	for (uint64_t i = 0; i < 300; i++)
		assert_int_equal(record_u64(p.writer, 10000 + i), 0);
	assert_int_equal(drain_all(&p, counted, &first, &lost), 300);
	assert_int_equal(first, 10000);
	assert_int_equal(sum(&p, counted), 300);
	assert_int_equal(lost, 0);
	take_over_all(&p, counted);
	assert_int_equal(sum(&p, counted), 300);
	if (other >= 0)
		stay_on(other);
	for (uint64_t i = 0; i < 5000; i++)
		done += record_u64(p.writer, i) == 0;
	first = drain_all(&p, counted, &first, &lost);
	assert_int_equal(first + lost, 5000);
	assert_int_equal(sum(&p, counted), mode ? 300 + first : 300 + done);
	pair_close(&p);
}

/*
 * A chunk ends in the middle of a sub-buffer, which the writer then leaves. Nothing beyond the cut is returned. The
 * next chunk has the rest, with its own counts, also in the next reader.
 */
static void ring_read_stops_at_the_chunk_end_and_counts_restart(void **state)
{
	uint64_t counted[512] = { 0 }, first, lost, all_lost = 0, fields;
	struct wmk_ring_cut cut;
	struct pair p;

	(void)state;
	pair_open(&p, (struct waymark_ring_options){ .subbuf_size = 4096, .n_subbufs = 8, .prefault = 1 << 30 });
	for (uint64_t i = 0; i < 100; i++)
		record_u64(p.writer, i);
	assert_int_equal(drain_all(&p, counted, &first, &lost), 100);
	for (uint64_t i = 0; i < 300; i++)
		record_u64(p.writer, i);
	for (uint32_t i = 0; i < p.n_rings; i++)
		assert_int_equal(wmk_ring_reader_cut_now(p.readers[i], &cut), 0);
	for (uint64_t i = 0; i < 500; i++)
		record_u64(p.writer, 10000 + i);
	assert_int_equal(drain_all(&p, counted, &first, &lost), 300);
	assert_int_equal(sum(&p, counted), 400);
	assert_int_equal(drain_all(&p, counted, &first, &lost), 0);
	for (uint32_t i = 0; i < p.n_rings; i++) {
		assert_true(wmk_ring_reader_is_at_cut(p.readers[i]));
		wmk_ring_reader_chunk_end(p.readers[i], &lost, &fields);
		all_lost += lost;
		wmk_ring_reader_chunk_begin(p.readers[i], lost);
		wmk_ring_reader_cut_at(p.readers[i], NULL);
	}
	assert_int_equal(all_lost, 0);
	memset(counted, 0, sizeof(counted));
	take_over_all(&p, counted);
	assert_int_equal(sum(&p, counted), 0);
	assert_int_equal(drain_all(&p, counted, &first, &lost), 500);
	assert_int_equal(first, 10000);
	assert_int_equal(sum(&p, counted), 500);
	pair_close(&p);
}

static void cleared_rings_restart_without_old_records(void **state)
{
	cpu_set_t before;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	for (unsigned mode = 0; mode < 2; mode++) {
		clear_in(mode, -1);
		for (int cpu = 0, n = 0; cpu < CPU_SETSIZE && n < 2; cpu++) {
			if (!CPU_ISSET(cpu, &before))
				continue;
			n++;
			clear_in(mode, cpu);
			assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
		}
	}
}

/* ── several sets ────────────────────────────────────────────────────────────────────────────────────── */

struct sleeper {
	struct waymark_ring_set *sets[3];
	uint32_t word;
	int result;
	uint32_t done;
	bool by_record;
};

static void *sleep_once(void *arg)
{
	struct sleeper *s = arg;

	s->result =
		(s->by_record ? waymark_ring_sets_wait_record : waymark_ring_sets_wait)(s->sets, 3, &s->word, 0, -1);
	__atomic_store_n(&s->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void reader_of_several_ring_sets_is_woken_by_each_set(void **state)
{
	struct pair p[3];
	struct sleeper s = { 0 };
	struct waymark_ring_packet packet;
	pthread_t thread;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		pair_open(&p[i], (struct waymark_ring_options){
					 .subbuf_size = 4096, .n_subbufs = 2, .block_us = -1, .prefault = 1 << 30 });
		s.sets[i] = p[i].reader;
	}
	if (waymark_ring_sets_wait(s.sets, 3, &s.word, 0, 1000) == -ENOTSUP) {
		print_message("this kernel cannot wait for several words\n");
		goto out;
	}
	assert_int_equal(waymark_ring_sets_wait(s.sets, 3, &s.word, 1, -1), 0);
	for (unsigned i = 0; i < 30; i++) {
		struct waymark_ring_set *writer = p[i % 3].writer;

		s.word = s.done = 0;
		assert_int_equal(pthread_create(&thread, NULL, sleep_once, &s), 0);
		/*
		 * In half of the rounds, the reader sleeps already, or late records have woken it. In the others, it is
		 * about to sleep.
		 */
		while (i % 2 && !__atomic_load_n(&s.done, __ATOMIC_ACQUIRE) &&
		       __atomic_load_n(&p[2].reader->header->heartbeat, __ATOMIC_RELAXED) != WMK_HEART_IDLE)
			sched_yield();
		if (i % 5 == 4) {
			__atomic_store_n(&s.word, 1, __ATOMIC_RELEASE);
			syscall(SYS_futex, &s.word, FUTEX_WAKE, 1, NULL, NULL, 0);
		} else {
			while (record_u64(writer, i) == 0 && !__atomic_load_n(&s.done, __ATOMIC_ACQUIRE))
				;
		}
		pthread_join(thread, NULL);
		assert_true(s.result == 1 || i % 5 == 4);
		for (unsigned k = 0; k < 3; k++) {
			assert_int_equal(p[k].reader->header->waiting, 0);
			for (uint32_t r = 0; r < p[k].n_rings; r++)
				while (waymark_ring_reader_next(p[k].readers[r], WAYMARK_RING_FLUSH, &packet) == 1)
					waymark_ring_reader_release(p[k].readers[r], &packet);
		}
	}
	assert_int_equal(waymark_ring_sets_wait(s.sets, WAYMARK_RING_WAIT_SETS + 1, &s.word, 0, 0), -ENOTSUP);
out:
	for (unsigned i = 0; i < 3; i++)
		pair_close(&p[i]);
}

static bool is_armed(const struct pair *p)
{
	bool any = false;

	for (uint32_t i = 0; i < p->n_rings; i++)
		any |= __atomic_load_n(&p->reader->ring[i].ctl->armed, __ATOMIC_RELAXED) != 0;
	return any;
}

/* One record on each recording path wakes the reader. In overwrite mode, only a new sub-buffer does. */
static void reader_of_several_ring_sets_is_woken_by_one_record(void **state)
{
	static const unsigned char text[2000] = "a";
	struct pair p[3];
	struct sleeper s = { .by_record = true };
	struct waymark_ring_packet packet;
	cpu_set_t before, one;
	pthread_t thread;

	(void)state;
	/* Otherwise the first record of each CPU opens a sub-buffer, which wakes the reader in any case. */
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	for (unsigned i = 0; i < 3; i++) {
		pair_open(&p[i], (struct waymark_ring_options){
					 .subbuf_size = 1 << 20, .n_subbufs = 4, .prefault = 1 << 30,
					 .mode = i == 2 ? WAYMARK_RING_OVERWRITE : WAYMARK_RING_DISCARD });
		s.sets[i] = p[i].reader;
		assert_int_equal(record_u64(p[i].writer, 0), 0);
	}
	if (waymark_ring_sets_wait_record(s.sets, 3, &s.word, 0, 0) == -ENOTSUP) {
		print_message("this kernel cannot wait for several words, or refuses membarrier(2)\n");
		goto out;
	}
	for (unsigned i = 0; i < 30; i++) {
		const struct waymark_ring_frag frag = { text, 1 + i * 60, WAYMARK_FRAG_BYTES };

		s.done = 0;
		assert_int_equal(waymark_ring_sets_wait_record(s.sets, 3, &s.word, 0, 0), 0);
		assert_int_equal(record_u64(p[2].writer, i), 0);
		assert_int_equal(waymark_ring_sets_wait_record(s.sets, 3, &s.word, 0, 0), 0);
		assert_int_equal(pthread_create(&thread, NULL, sleep_once, &s), 0);
		while (i % 2 && __atomic_load_n(&p[1].reader->header->heartbeat, __ATOMIC_RELAXED) != WMK_HEART_IDLE)
			sched_yield();
		if (i % 3)
			assert_int_equal(record_u64(p[i / 2 % 2].writer, i), 0);
		else
			assert_int_equal(waymark_ring_record(p[i / 2 % 2].writer, 40 + i, &frag, 1), 0);
		pthread_join(thread, NULL);
		assert_int_equal(s.result, 1);
		for (unsigned k = 0; k < 3; k++) {
			assert_false(is_armed(&p[k]));
			assert_int_equal(p[k].reader->header->waiting, 0);
			waymark_ring_set_heartbeat(p[k].reader);
		}
	}
	for (unsigned k = 0; k < 2; k++)
		for (uint32_t r = 0; r < p[k].n_rings; r++)
			while (waymark_ring_reader_next(p[k].readers[r], WAYMARK_RING_FLUSH, &packet) == 1)
				waymark_ring_reader_release(p[k].readers[r], &packet);
out:
	for (unsigned i = 0; i < 3; i++)
		pair_close(&p[i]);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

static void blocking_writer_waits_only_for_a_reader_with_heartbeat(void **state)
{
	struct pair p;
	uint64_t waited = 0;

	(void)state;
	pair_open(&p, (struct waymark_ring_options){
			      .subbuf_size = 4096, .n_subbufs = 2, .block_us = -1, .prefault = 1 << 30 });
	p.reader->header->heartbeat = WMK_HEART_IDLE;
	assert_int_equal(wmk_ring_wait_room(p.writer, &waited), 1);
	assert_true(p.reader->header->heartbeat != WMK_HEART_IDLE);
	p.reader->header->heartbeat -= 3000000000;
	assert_int_equal(wmk_ring_wait_room(p.writer, &waited), 0);
	pair_close(&p);
}

/* wmk_ring_set_wake_for() wakes a sleeping reader only if a ring has recorded since its previous call. */
static void reader_is_woken_for_a_record_of_a_killed_writer(void **state)
{
	struct pair p;
	uint32_t *waiting;

	(void)state;
	pair_open(&p, (struct waymark_ring_options){ .subbuf_size = 4096, .n_subbufs = 4, .prefault = 1 << 30 });
	struct waymark_ring_set *watcher;
	assert_int_equal(waymark_ring_set_open(waymark_ring_set_fd(p.reader), &watcher), 0);
	waiting = &p.reader->header->waiting;
	__atomic_store_n(waiting, 1, __ATOMIC_RELAXED);
	wmk_ring_set_wake_for(watcher);
	assert_int_equal(__atomic_load_n(waiting, __ATOMIC_RELAXED), 1);
	/* The state is that after a writer was killed before the wake: a record does not wake the reader. */
	__atomic_store_n(waiting, 0, __ATOMIC_RELAXED);
	assert_int_equal(record_u64(p.writer, 1), 0);
	__atomic_store_n(waiting, 1, __ATOMIC_RELAXED);
	wmk_ring_set_wake_for(watcher);
	assert_int_equal(__atomic_load_n(waiting, __ATOMIC_RELAXED), 0);
	__atomic_store_n(waiting, 1, __ATOMIC_RELAXED);
	wmk_ring_set_wake_for(watcher);
	assert_int_equal(__atomic_load_n(waiting, __ATOMIC_RELAXED), 1);
	waymark_ring_set_close(watcher);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(next_reader_process_continues_where_the_last_one_ended),
		cmocka_unit_test(third_reader_counts_exactly_after_two_killed_readers),
		cmocka_unit_test(test_invalid_ring_sets_are_refused),
		cmocka_unit_test(cleared_rings_restart_without_old_records),
		cmocka_unit_test(ring_read_stops_at_the_chunk_end_and_counts_restart),
		cmocka_unit_test(reader_of_several_ring_sets_is_woken_by_each_set),
		cmocka_unit_test(reader_of_several_ring_sets_is_woken_by_one_record),
		cmocka_unit_test(blocking_writer_waits_only_for_a_reader_with_heartbeat),
		cmocka_unit_test(reader_is_woken_for_a_record_of_a_killed_writer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
