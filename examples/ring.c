/* SPDX-License-Identifier: MIT */
/*
 * ring.c - the ring buffer without tracing, events or metadata: two processes write, a third reads.
 *
 *     cc ring.c $(pkg-config --cflags --libs waymark-ring) && ./a.out
 *
 * The parent creates a ring set and reads it. The children map it and record a number each time. Here they inherit the
 * descriptor; it can also be sent over a socket. Each number must be read exactly once.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <waymark/ring.h>

#define WRITERS 2
#define NUMBERS 100000u
#define RINGS_MAX 16384

static int write_numbers(int fd, uint32_t writer)
{
	struct waymark_ring_set *set;
	uint32_t lost = 0;

	if (waymark_ring_set_open(fd, &set) < 0)
		return 1;
	for (uint64_t i = 0; i < NUMBERS; i++) {
		struct waymark_ring_frag frag = { &i, sizeof(i), WAYMARK_FRAG_WORDS };

		lost += waymark_ring_record(set, writer, &frag, 1) < 0; /* the id identifies the writer */
	}
	waymark_ring_set_close(set);
	return lost != 0;
}

/*
 * Count the records of this program: a header of 4, 6 or 13 bytes, distinguished by its low 5 bits (docs/ring.md), then
 * 8 bytes.
 */
static void count(const struct waymark_ring_packet *packet, uint64_t sums[WRITERS], uint64_t counts[WRITERS])
{
	const unsigned char *at = packet->data, *end = at + packet->len;

	while (at < end) {
		unsigned id = *at & 31;
		uint64_t number;

		at += id < 30 ? 4 : id == 30 ? 6 : 13;
		if (id == 31)
			memcpy(&id, at - 12, 4);
		memcpy(&number, at, 8);
		at += 8;
		if (id < WRITERS) {
			sums[id] += number;
			counts[id]++;
		}
	}
}

static int read_all(struct waymark_ring_set *set, unsigned flags, uint64_t sums[WRITERS], uint64_t counts[WRITERS])
{
	static struct waymark_ring_reader *readers[RINGS_MAX];
	struct waymark_ring_packet packet;

	waymark_ring_set_heartbeat(set); /* writers wait for room only while a reader is active */
	waymark_ring_set_back(set);      /* allocate memory for rings that have begun to record */
	for (uint32_t i = 0; i < waymark_ring_set_rings(set) && i < RINGS_MAX; i++) {
		int rc;

		if (!readers[i] && waymark_ring_reader_open(set, i, &readers[i]) < 0)
			return -1;
		while ((rc = waymark_ring_reader_next(readers[i], flags, &packet)) == 1) {
			count(&packet, sums, counts);
			waymark_ring_reader_release(readers[i], &packet);
		}
		if (rc < 0)
			return -1;
	}
	return 0;
}

int main(void)
{
	struct waymark_ring_options options = {
		.size = sizeof(options),
		.subbuf_size = 65536,
		.n_subbufs = 4,
		.mode = WAYMARK_RING_DISCARD,
		.clock = WAYMARK_CLOCK_MONOTONIC,
		.block_us = -1,          /* wait for room instead of losing records */
		.prefault = 64 << 20,
	};
	uint64_t sums[WRITERS] = { 0 }, counts[WRITERS] = { 0 };
	struct waymark_ring_set *set;
	unsigned running = WRITERS, failed = 0;
	int status;

	if (waymark_ring_set_create(&options, &set) < 0) {
		fprintf(stderr, "cannot create a ring set\n");
		return 1;
	}
	for (uint32_t i = 0; i < WRITERS; i++)
		if (fork() == 0)
			_exit(write_numbers(waymark_ring_set_fd(set), i));
	while (running != 0) {
		waymark_ring_set_wait(set, 10000); /* wait until a writer enters a new sub-buffer, at most 10 ms */
		if (read_all(set, 0, sums, counts) < 0)
			return 1;
		while (waitpid(-1, &status, WNOHANG) > 0) {
			running--;
			failed |= (unsigned)status;
		}
	}
	if (read_all(set, WAYMARK_RING_FLUSH, sums, counts) < 0)
		return 1;
	for (unsigned i = 0; i < WRITERS; i++) {
		printf("writer %u: %llu numbers, sum %llu\n", i, (unsigned long long)counts[i],
		       (unsigned long long)sums[i]);
		failed |= counts[i] != NUMBERS || sums[i] != (uint64_t)NUMBERS * (NUMBERS - 1) / 2;
	}
	waymark_ring_set_close(set);
	return failed != 0;
}
