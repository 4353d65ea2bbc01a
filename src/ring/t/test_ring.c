/* SPDX-License-Identifier: MIT */
/* test_ring.c - a ring set with one writer and one reader: each record is read, or counted as lost. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ring_test.h"

/* Find the ring into which records go. */
static struct waymark_ring_reader *busy(struct pair *p)
{
	for (uint32_t i = 0; i < p->n_rings; i++)
		if (waymark_ring_reader_position(p->readers[i]) != 0)
			return p->readers[i];
	fail_msg("no ring has a record");
	return NULL;
}

static void ring_set_of_invalid_geometry_is_not_created(void **state)
{
	struct waymark_ring_options good = { .size = sizeof(good),
					     .subbuf_size = 4096,
					     .n_subbufs = 2,
					     .header_room = 96 },
				    o;
	struct waymark_ring_set *set;

	(void)state;
#define BAD(field, value)                                                                                              \
	do {                                                                                                           \
		o = good;                                                                                              \
		o.field = (value);                                                                                     \
		assert_int_equal(waymark_ring_set_create(&o, &set), -EINVAL);                                          \
	} while (0)
	BAD(subbuf_size, 0);
	BAD(subbuf_size, 2048);
	BAD(subbuf_size, 5000);
	BAD(n_subbufs, 1);
	BAD(n_subbufs, 3);
	BAD(header_room, 4);
	BAD(header_room, 2048);
	BAD(mode, 2);
	BAD(mode, WAYMARK_RING_OVERWRITE); /* two sub-buffers are too few */
	BAD(clock, 9);
	BAD(n_cpus, 100000);
	BAD(block_us, -2);
#undef BAD
	assert_int_equal(waymark_ring_set_create(&good, &set), 0);
	waymark_ring_set_close(set);
}

static void unsealed_or_altered_ring_memory_is_not_opened(void **state)
{
	struct waymark_ring_options o = { .size = sizeof(o), .subbuf_size = 4096, .n_subbufs = 2, .header_room = 96 };
	struct waymark_ring_set *set, *other;
	int fd = memfd_create("plain", MFD_ALLOW_SEALING);

	(void)state;
	assert_int_equal(waymark_ring_set_open(-1, &other), -EPERM);
	assert_int_equal(waymark_ring_set_open(fd, &other), -EPERM);
	assert_int_equal(ftruncate(fd, 8192), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	assert_int_equal(waymark_ring_set_open(fd, &other), -EINVAL);
	close(fd);
	assert_int_equal(waymark_ring_set_create(&o, &set), 0);
	set->header->n_subbufs = 4;
	assert_int_equal(waymark_ring_set_open(waymark_ring_set_fd(set), &other), -EINVAL);
	set->header->n_subbufs = 2;
	set->header->abi++;
	assert_int_equal(waymark_ring_set_open(waymark_ring_set_fd(set), &other), -EPROTONOSUPPORT);
	waymark_ring_set_close(set);
}

/* Every kind and length of fragment, compared with memcpy(). Sources end at an unreadable page. */
static void record_fragments_of_every_kind_and_length_are_copied(void **state)
{
	unsigned char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		      *edge = pages + 4096;
	struct pair p;

	(void)state;
	assert_int_equal(mprotect(edge, 4096, PROT_NONE), 0);
	pair_open(&p,
		  (struct waymark_ring_options){
			  .subbuf_size = 65536, .n_subbufs = 4, .mode = WAYMARK_RING_OVERWRITE, .prefault = 1 << 30 });
	pin();
	for (unsigned kind = 0; kind < 4; kind++) {
		for (unsigned len = 0; len <= 600; len += len < 80 ? 1 : 37) {
			unsigned char *base = kind == WAYMARK_FRAG_WORDS ? edge - (len + 7) / 8 * 8 : edge - len,
				      want[700];
			struct waymark_ring_frag f[3] = { { "head    ", 5, WAYMARK_FRAG_WORDS },
							  { base, len, kind },
							  { "tail", 4, WAYMARK_FRAG_BYTES } };
			struct waymark_ring_packet packet;
			uint64_t ts;
			const unsigned char *at;
			unsigned n = 0;

			for (unsigned i = 0; i < len; i++)
				base[i] = (unsigned char)(i % 5 == 3 ? 0 : i * 7 + 1);
			memcpy(want, "head", 5);
			n = 5;
			for (unsigned i = 0; i < len; i++)
				want[n++] = kind >= WAYMARK_FRAG_TEXT && base[i] == 0 ? '#' : base[i];
			if (kind == WAYMARK_FRAG_TEXT)
				want[n++] = 0;
			memcpy(want + n, "tail", 4);
			n += 4;
			want[4] = ' ';
			assert_int_equal(waymark_ring_record(p.writer, 7, f, 3), 0);
			assert_int_equal(waymark_ring_reader_next(busy(&p), WAYMARK_RING_FLUSH, &packet), 1);
			at = packet.data;
			ts = packet.begin_ts;
			assert_int_equal(record_header(&at, at + packet.len, &ts), 7);
			assert_int_equal(packet.len, n + (size_t)(at - (const unsigned char *)packet.data));
			assert_memory_equal(at, want, n);
			waymark_ring_reader_release(busy(&p), &packet);
			/* the fragment alone, on the fast path */
			assert_int_equal(waymark_ring_record(p.writer, 7, f + 1, 1), 0);
			assert_int_equal(waymark_ring_reader_next(busy(&p), WAYMARK_RING_FLUSH, &packet), 1);
			assert_memory_equal((const unsigned char *)packet.data + 4, want + 5, n - 9);
			waymark_ring_reader_release(busy(&p), &packet);
		}
	}
	unpin();
	pair_close(&p);
	munmap(pages, 8192);
}

static uint64_t fake_now;

static uint64_t fake_clock(void)
{
	return fake_now;
}

/* Ids and time gaps on both sides of each header's limits: decoded times equal those of the clock. */
/* Words and a tail on the fast path: all lengths, at an unreadable page, compared with memcpy(). */
static void record_tails_of_every_length_are_copied(void **state)
{
	static const uint64_t zero, head[8] = { 0x0807060504030201, 9, 10, 11, 12, 13, 14, 0x1716151413121110 };
	unsigned char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		      *edge = pages + 4096;
	unsigned straight = 0, sequences;
	struct pair p;

	(void)state;
	assert_int_equal(mprotect(edge, 4096, PROT_NONE), 0);
	pair_open(&p,
		  (struct waymark_ring_options){
			  .subbuf_size = 65536, .n_subbufs = 4, .mode = WAYMARK_RING_OVERWRITE,
			  .clock = WAYMARK_CLOCK_COUNTER, .prefault = 1 << 30 });
	pin();
	sequences = p.writer->seq_cpus;
	for (unsigned text = 0; text < 2; text++) {
		for (unsigned len = 0; len <= WMK_RING_TAIL_MAX; len += len < 80 ? 1 : 59) {
			struct waymark_ring_packet packet;
			unsigned char *tail = edge - len, want[64 + WMK_RING_TAIL_MAX + 1];
			unsigned h = len * 5 % 65, n = h + len + text;
			struct waymark_ring_frag f[2] = { { head, h, WAYMARK_FRAG_WORDS },
							  { tail, len,
							    text ? WAYMARK_FRAG_TEXT : WAYMARK_FRAG_BYTES } };

			memcpy(want, head, h);
			for (unsigned i = 0; i < len; i++) {
				tail[i] = (unsigned char)(i % 5 == 3 ? 0 : i * 7 + 1);
				want[h + i] = text && tail[i] == 0 ? '#' : tail[i];
			}
			want[h + len] = 0;
			if (wmk_ring_write_tail(p.writer, &zero, 0, 7, head, h, tail, len, (int)text) == 0)
				straight++;
			else
				assert_int_equal(wmk_ring_write_general(p.writer, &zero, 0, 7, f, 2, n), 0);
			assert_int_equal(waymark_ring_reader_next(busy(&p), WAYMARK_RING_FLUSH, &packet), 1);
			assert_int_equal(packet.len, 4 + n);
			assert_int_equal(*(const unsigned char *)packet.data & 31, 7);
			assert_memory_equal((const unsigned char *)packet.data + 4, want, n);
			waymark_ring_reader_release(busy(&p), &packet);
			assert_int_equal(wmk_ring_write_tail(p.writer, &zero, 1, 7, head, h, tail, len, (int)text) == 0,
					 0);
		}
	}
#ifdef WMK_SEQ_HAS_TAIL
	if (sequences)
		assert_in_range(straight, 150, 1000);
	else
		assert_int_equal(straight, 0);
#else
	assert_true(sequences == 0 || straight == 0);
#endif
	pair_close(&p);
	munmap(pages, 8192);
}

static void test_record_headers_carry_id_and_time(void **state)
{
	static const uint32_t ids[] = { 0, 29, 30, 31, 65535, 65536, UINT32_MAX - 1 };
	static const uint64_t gaps[] = { 0, 1, (1 << 27) - 1, 1 << 27, (1 << 27) + 1, 1ull << 40 };
	static const unsigned lens[] = { 4, 4, 6, 6, 6, 13, 13 };
	struct pair p;
	struct waymark_ring_packet packet;
	const unsigned char *at, *end;
	uint64_t ts, expect = 1000;

	(void)state;
	pair_open(&p,
		  (struct waymark_ring_options){
			  .subbuf_size = 65536, .n_subbufs = 2, .clock = WAYMARK_CLOCK_PLUGIN, .prefault = 1 << 30 });
	wmk_ring_set_plugin_clock(p.writer, fake_clock);
	pin();
	fake_now = expect;
	record_u64(p.writer, 0);
	for (unsigned i = 0; i < 7; i++) {
		for (unsigned g = 0; g < 6; g++) {
			struct waymark_ring_frag f = { &fake_now, 8, WAYMARK_FRAG_WORDS };

			fake_now += gaps[g];
			assert_int_equal(waymark_ring_record(p.writer, ids[i], &f, 1), 0);
		}
	}
	fake_now -= 5; /* the clock goes back: the record has the time of the last one */
	record_u64(p.writer, 0);
	assert_int_equal(waymark_ring_reader_next(busy(&p), WAYMARK_RING_FLUSH, &packet), 1);
	assert_int_equal(packet.begin_ts, 1000);
	assert_int_equal(packet.end_ts, fake_now + 5);
	at = packet.data;
	end = at + packet.len;
	ts = packet.begin_ts;
	assert_int_equal(record_header(&at, end, &ts), 3);
	at += 8;
	for (unsigned i = 0; i < 7; i++) {
		for (unsigned g = 0; g < 6; g++) {
			const unsigned char *start = at;

			assert_int_equal(record_header(&at, end, &ts), ids[i]);
			assert_int_equal(at - start, gaps[g] < 1 << 27 ? lens[i] : 13);
			assert_memory_equal(at, &ts, 8);
			at += 8;
		}
	}
	unpin();
	pair_close(&p);
}

static void full_discard_ring_keeps_old_records_and_counts_the_lost(void **state)
{
	struct pair p;
	struct waymark_ring_packet packet;
	struct waymark_ring_reader *r;
	uint64_t ok = 0, lost = 0, next = 0, by_cause[WAYMARK_LOST_CAUSES], read = 0;

	(void)state;
	pair_open(&p, (struct waymark_ring_options) { .subbuf_size = 4096, .n_subbufs = 4, .prefault = 1 << 30 });
	pin();
	for (int i = 0; i < 2000; i++) {
		int rc = record_u64(p.writer, ok);

		assert_true(rc == 0 || rc == -ENOSPC);
		if (rc == 0)
			ok++;
		else
			lost++;
	}
	assert_true(lost > 0);
	r = busy(&p);
	assert_int_equal(waymark_ring_reader_lost(r, by_cause), lost);
	assert_int_equal(by_cause[WAYMARK_LOST_FULL], lost);
	while (waymark_ring_reader_next(r, WAYMARK_RING_FLUSH, &packet) == 1) {
		read += check_u64(&packet, &next);
		assert_int_equal(packet.records, read);
		assert_ptr_equal(packet.room, (const char *)packet.data - 96);
		memset(packet.room, 0xee, 96);
		assert_int_equal(waymark_ring_reader_release(r, &packet), 0);
	}
	assert_int_equal(read, ok);
	assert_int_equal(packet.lost, lost);
	/* The ring has room again. */
	assert_int_equal(record_u64(p.writer, ok), 0);
	assert_int_equal(waymark_ring_reader_next(r, WAYMARK_RING_FLUSH, &packet), 1);
	assert_int_equal(check_u64(&packet, &next), 1);
	unpin();
	pair_close(&p);
}

static void full_overwrite_ring_keeps_new_records_and_counts_the_lost(void **state)
{
	struct pair p;
	struct waymark_ring_packet packet;
	struct waymark_ring_reader *r;
	uint64_t read = 0, lost = 0, first = 1;

	(void)state;
	pair_open(&p,
		  (struct waymark_ring_options){
			  .subbuf_size = 4096, .n_subbufs = 4, .mode = WAYMARK_RING_OVERWRITE, .prefault = 1 << 30 });
	pin();
	for (unsigned round = 0; round < 20; round++) {
		uint64_t begun = read + lost, n = round * 173, next;

		for (uint64_t i = 0; i < n; i++)
			assert_int_equal(record_u64(p.writer, begun + i), 0);
		r = n ? busy(&p) : p.readers[0];
		while (waymark_ring_reader_next(r, WAYMARK_RING_FLUSH, &packet) == 1) {
			next = packet.records + packet.lost - (packet.len / 12);
			read += check_u64(&packet, &next);
			lost = packet.lost;
			assert_int_equal(packet.records, read);
			assert_int_equal(next, read + lost); /* all lost records were lost before this piece */
			waymark_ring_reader_release(r, &packet);
			first = 0;
		}
		assert_int_equal(read + lost, begun + n);
	}
	assert_false(first);
	assert_true(lost > 0);
	unpin();
	pair_close(&p);
}

/* Pieces of the current sub-buffer: no record is repeated or missing, and times are continuous. */
static void reads_of_an_open_sub_buffer_return_each_record_once(void **state)
{
	struct pair p;
	struct waymark_ring_packet packet;
	uint64_t next = 0, last_end = 0, sequence = 0, v = 0;

	(void)state;
	pair_open(&p, (struct waymark_ring_options) { .subbuf_size = 4096, .n_subbufs = 2, .prefault = 1 << 30 });
	pin();
	srand(1);
	for (int i = 0; i < 500; i++) {
		for (int k = rand() % 40; k >= 0; k--)
			assert_int_equal(record_u64(p.writer, v++), 0);
		while (waymark_ring_reader_next(busy(&p), WAYMARK_RING_FLUSH, &packet) == 1) {
			assert_int_equal(packet.sequence, sequence++);
			assert_true(packet.begin_ts >= last_end);
			if (packet.room == NULL)
				assert_int_equal(packet.begin_ts, last_end);
			last_end = packet.end_ts;
			assert_int_equal(check_u64(&packet, &next), packet.len / 12);
			waymark_ring_reader_release(busy(&p), &packet);
		}
		assert_int_equal(next, v);
		assert_int_equal(waymark_ring_reader_next(busy(&p), 0, &packet), 0);
	}
	unpin();
	pair_close(&p);
}

static char forgotten; /* state of the test: the counts that the earlier reader stored are removed */

static void next_reader_resumes_only_at_a_position_still_in_the_ring(void **state)
{
	struct pair p;
	struct waymark_ring_packet packet;
	struct waymark_ring_reader *r, *again;
	uint64_t next = 0, pos, seq, end, records = 0;

	pair_open(&p, (struct waymark_ring_options) { .subbuf_size = 4096, .n_subbufs = 4, .prefault = 1 << 30 });
	pin();
	for (uint64_t i = 0; i < 10; i++)
		record_u64(p.writer, i);
	r = busy(&p);
	assert_int_equal(waymark_ring_reader_next(r, WAYMARK_RING_FLUSH, &packet), 1);
	check_u64(&packet, &next);
	pos = packet.begin_pos + packet.len;
	seq = packet.sequence + 1;
	end = packet.end_ts;
	waymark_ring_reader_release(r, &packet);
	for (uint64_t i = 10; i < 1000; i++)
		record_u64(p.writer, i);
	assert_int_equal(waymark_ring_reader_open(p.reader, packet.ring, &again), 0);
	assert_int_equal(waymark_ring_reader_resume(again, pos + 1000000, seq, end, NULL), -EINVAL);
	if (*state) {
		/* Without the earlier reader's counts, those in the header of the sub-buffer are used. */
		p.reader->ring[packet.ring].ctl->read_pos = p.reader->ring[packet.ring].ctl->given_pos = 1;
		assert_int_equal(waymark_ring_reader_resume(again, pos, seq, end, &records), 1);
		assert_int_equal(records, 0);
	} else {
		assert_int_equal(waymark_ring_reader_resume(again, pos, seq, end, &records), 0);
		assert_int_equal(records, 10);
	}
	while (waymark_ring_reader_next(again, WAYMARK_RING_FLUSH, &packet) == 1) {
		assert_int_equal(packet.sequence, seq++);
		assert_true(packet.begin_ts >= end);
		check_u64(&packet, &next);
		waymark_ring_reader_release(again, &packet);
	}
	waymark_ring_reader_close(again);
	/* All sub-buffers except the last one were released to the writers. */
	assert_int_equal(waymark_ring_reader_open(p.reader, packet.ring, &again), 0);
	assert_int_equal(waymark_ring_reader_resume(again, pos, seq, end, NULL), -ESTALE);
	assert_int_equal(next, 1000);
	assert_int_equal(packet.records, 1000);
	waymark_ring_reader_close(again);
	unpin();
	pair_close(&p);
}

static void next_reader_counts_each_record_once_when_writer_lapped_the_ring(void **state)
{
	struct waymark_ring_packet packet;
	uint64_t pos, ts, records, before;
	struct pair p;

	(void)state;
	pair_open(&p,
		  (struct waymark_ring_options){
			  .subbuf_size = 4096, .n_subbufs = 4, .mode = WAYMARK_RING_OVERWRITE, .prefault = 1 << 30 });
	pin();
	for (uint64_t i = 0; i < 5000; i++)
		record_u64(p.writer, i);
	struct waymark_ring_reader *r = busy(&p), *again;

	assert_int_equal(waymark_ring_reader_next(r, 0, &packet), 1);
	pos = packet.begin_pos + packet.len;
	ts = packet.end_ts;
	before = packet.records;
	assert_true(packet.whole && before > 0 && packet.lost > 0);
	waymark_ring_reader_release(r, &packet);
	/* returned, but never released */
	assert_int_equal(waymark_ring_reader_next(r, 0, &packet), 1);
	for (uint64_t i = 5000; i < 10000; i++)
		record_u64(p.writer, i);
	assert_int_equal(waymark_ring_reader_open(p.reader, packet.ring, &again), 0);
	assert_true(waymark_ring_reader_resume(again, pos, 0, ts, &records) >= 0);
	assert_int_equal(records, before);
	while (waymark_ring_reader_next(again, WAYMARK_RING_FLUSH, &packet) == 1) {
		records += check_u64(&packet, NULL);
		assert_int_equal(packet.records, records);
		waymark_ring_reader_release(again, &packet);
	}
	assert_int_equal(packet.records + packet.lost, 10000);
	waymark_ring_reader_close(again);
	unpin();
	pair_close(&p);
}

static void test_records_too_large_are_counted(void **state)
{
	static unsigned char big[1 << 20];
	struct pair p;
	struct waymark_ring_packet packet;
	uint64_t by_cause[WAYMARK_LOST_CAUSES];
	struct waymark_ring_frag f = { big, 20000, WAYMARK_FRAG_BYTES }, many[WAYMARK_RING_MAX_FRAGS + 1] = { { 0 } };

	(void)state;
	pair_open(&p, (struct waymark_ring_options) { .subbuf_size = 65536, .n_subbufs = 4, .prefault = 1 << 30 });
	pin();
	assert_int_equal(waymark_ring_record(p.writer, 1, many, WAYMARK_RING_MAX_FRAGS + 1), -EINVAL);
	/* too long for a sequence: recorded into a claim ring */
	assert_int_equal(waymark_ring_record(p.writer, 1, &f, 1), 0);
	for (uint32_t i = 0; i < p.n_cpus; i++)
		assert_int_equal(waymark_ring_reader_position(p.readers[i]), 0);
	assert_int_equal(waymark_ring_reader_next(busy(&p), WAYMARK_RING_FLUSH, &packet), 1);
	assert_int_equal(packet.len, 20004);
	assert_int_equal(waymark_ring_reader_lost(p.readers[packet.ring], by_cause), 0);
	/* larger than a sub-buffer: lost and counted by cause */
	f.len = 65536;
	assert_int_equal(waymark_ring_record(p.writer, 1, &f, 1), -ENOSPC);
	waymark_ring_reader_lost(p.readers[packet.ring], by_cause);
	assert_int_equal(by_cause[WAYMARK_LOST_SIZE], 1);
	/* the largest that fits */
	f.len = 65536 - 64 - 96 - 8 - 4;
	assert_int_equal(waymark_ring_record(p.writer, 1, &f, 1), 0);
	/* a record without payload */
	assert_int_equal(waymark_ring_record(p.writer, 1, NULL, 0), 0);
	unpin();
	pair_close(&p);
}

/* Records that are lost for lack of memory are counted, and more memory is backed on request. */
static void records_are_lost_and_counted_until_ring_memory_is_backed(void **state)
{
	struct pair p;
	struct waymark_ring_packet packet;
	uint64_t by_cause[WAYMARK_LOST_CAUSES], ok = 0, lost = 0, next = 0;

	(void)state;
	pair_open(&p, (struct waymark_ring_options) { .subbuf_size = 4096, .n_subbufs = 4 });
	pin();
	for (int i = 0; i < 600; i++) {
		if (record_u64(p.writer, ok) == 0)
			ok++;
		else
			lost++;
	}
	assert_int_equal(ok, (4096 - 8 - 64 - 96) / 12);
	waymark_ring_reader_lost(busy(&p), by_cause);
	assert_int_equal(by_cause[WAYMARK_LOST_MEMORY], lost);
	assert_int_equal(waymark_ring_set_back(p.reader), 0);
	assert_int_equal(record_u64(p.writer, ok), 0);
	while (waymark_ring_reader_next(busy(&p), WAYMARK_RING_FLUSH, &packet) == 1) {
		check_u64(&packet, &next);
		waymark_ring_reader_release(busy(&p), &packet);
	}
	assert_int_equal(next, ok + 1);
	assert_int_equal(packet.lost, lost);
	unpin();
	pair_close(&p);
}

static void process_that_opens_rings_late_records_into_open_sub_buffers(void **state)
{
	struct pair p;
	struct waymark_ring_set *late;
	struct waymark_ring_packet packet;
	uint64_t next = 0, v = 0;

	(void)state;
	pair_open(&p, (struct waymark_ring_options) { .subbuf_size = 4096, .n_subbufs = 2, .prefault = 1 << 30 });
	assert_int_equal(waymark_ring_set_open(waymark_ring_set_fd(p.reader), &late), 0);
	pin();
	for (int i = 0; i < 3000; i++) {
		assert_int_equal(record_u64(i % 7 ? p.writer : late, v), 0);
		v++;
		if (i % 50 == 0)
			wmk_ring_set_map_ahead(late);
		while (waymark_ring_reader_next(busy(&p), 0, &packet) == 1) {
			check_u64(&packet, &next);
			waymark_ring_reader_release(busy(&p), &packet);
		}
	}
	assert_true(next > 2000);
	unpin();
	waymark_ring_set_close(late);
	pair_close(&p);
}

/* One value is forged at a time: -EIO is returned once, and the other rings are still read. */
static void test_corrupt_ring_is_reported_once(void **state)
{
	enum { FAR, BACK, ODD, SLOTS, END, SEQUENCE, BEGIN, RECORDS, TIME, LIES };

	(void)state;
	for (int mode = 0; mode < 2; mode++) {
		for (int lie = 0; lie < LIES; lie++) {
			struct pair p;
			struct waymark_ring_packet packet;
			struct wmk_ring_ctl *ctl;
			struct wmk_ring_sub *sub;
			uint32_t ring;

			pair_open(&p, (struct waymark_ring_options){ .subbuf_size = 4096,
								     .n_subbufs = 4,
								     .mode = (uint32_t)mode,
								     .prefault = 1 << 30 });
			pin();
			for (uint64_t i = 0; i < 800; i++)
				assert_int_equal(record_u64(p.writer, i), 0);
			assert_int_equal(waymark_ring_reader_next(busy(&p), 0, &packet), 1);
			ring = packet.ring;
			assert_int_equal(waymark_ring_reader_release(busy(&p), &packet), 0);
			ctl = p.reader->ring[ring].ctl;
			sub = (struct wmk_ring_sub *)(void *)(p.reader->ring[ring].data + 4096);
			switch (lie) {
			case FAR: ctl->write_pos += 1 << 20; ctl->slot[0].tag = ctl->write_pos + (mode ? 1 : 0); break;
			case BACK: ctl->write_pos = 200; ctl->slot[0].tag = 200; break;
			case ODD: ctl->write_pos = 3 * 4096 - 4; ctl->slot[0].tag = ctl->write_pos; break;
			case SLOTS: ctl->slot[0].tag = ctl->slot[1].tag = 7; break;
			case END: sub->content_end = 4096; break;
			case SEQUENCE: sub->sequence++; break;
			case BEGIN: sub->begin_ts = 1; break;
			case RECORDS: sub->records_end += 2000; break;
			case TIME: sub->end_ts = sub->begin_ts - 1; break;
			}
			assert_int_equal(waymark_ring_reader_next(p.readers[ring], WAYMARK_RING_FLUSH, &packet), -EIO);
			assert_int_equal(waymark_ring_reader_next(p.readers[ring], WAYMARK_RING_FLUSH, &packet), 0);
			assert_int_equal(waymark_ring_reader_next(p.readers[ring + 1], WAYMARK_RING_FLUSH, &packet), 0);
			unpin();
			pair_close(&p);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ring_set_of_invalid_geometry_is_not_created),
		cmocka_unit_test(unsealed_or_altered_ring_memory_is_not_opened),
		cmocka_unit_test(record_fragments_of_every_kind_and_length_are_copied),
		cmocka_unit_test(record_tails_of_every_length_are_copied),
		cmocka_unit_test(test_record_headers_carry_id_and_time),
		cmocka_unit_test(full_discard_ring_keeps_old_records_and_counts_the_lost),
		cmocka_unit_test(full_overwrite_ring_keeps_new_records_and_counts_the_lost),
		cmocka_unit_test(reads_of_an_open_sub_buffer_return_each_record_once),
		cmocka_unit_test(next_reader_resumes_only_at_a_position_still_in_the_ring),
		cmocka_unit_test_prestate(next_reader_resumes_only_at_a_position_still_in_the_ring, &forgotten),
		cmocka_unit_test(test_records_too_large_are_counted),
		cmocka_unit_test(next_reader_counts_each_record_once_when_writer_lapped_the_ring),
		cmocka_unit_test(records_are_lost_and_counted_until_ring_memory_is_backed),
		cmocka_unit_test(process_that_opens_rings_late_records_into_open_sub_buffers),
		cmocka_unit_test(test_corrupt_ring_is_reported_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
