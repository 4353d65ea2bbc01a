/* SPDX-License-Identifier: MIT */
/*
 * scan.c - a third reader, for traces of many millions of records. It is fast, and written from docs/trace-format.md
 * alone.
 *
 *     scan LEDGER ID STREAM...      the stream files of a channel that contains only test:seq, with the event id ID
 *
 * Checks every record: its checksum, that its number was begun and occurs once, that its time is not before its clock
 * reading, and that times of records and packets do not decrease within a stream. Prints `read N lost N begun N
 * returned N`. At the first wrong record, prints the error and exits with status 1. Unlike the readers that merge
 * streams, it sees each stream in its own order.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#define LEDGER_ONLY
#include "ledger.h"

struct packet {
	uint32_t magic;
	uint8_t uuid[16];
	uint32_t stream_id;
	uint64_t instance;
	uint64_t begin, end, content_bits, packet_bits, sequence;
	uint32_t cpu, unused;
	uint64_t discarded;
} __attribute__((packed));

struct payload {
	uint32_t writer;
	uint64_t seq, t0, mono;
	uint32_t sum;
} __attribute__((packed));

static uint8_t *seen[LEDGER_SLOTS];
static uint64_t total, lost;
static const char *file;

static int wrong(const char *what, uint64_t at)
{
	fprintf(stderr, "scan: %s: at byte %llu: %s\n", file, (unsigned long long)at, what);
	return 1;
}

static int check_record(const struct payload *p, uint64_t ts, uint64_t at)
{
	if (!p->writer || p->writer >= LEDGER_SLOTS || !p->seq || p->seq > ledger->slot[p->writer].begun)
		return wrong("a record that was not begun", at);
	if (p->sum != writer_sum(p->writer, p->seq))
		return wrong("a torn record", at);
	if (ts < p->t0 && ts < p->mono)
		return wrong("a time before the call", at);
	if (!seen[p->writer])
		seen[p->writer] = calloc(1, ledger->slot[p->writer].begun / 8 + 1);
	uint8_t *byte = &seen[p->writer][p->seq / 8], bit = (uint8_t)(1u << p->seq % 8);
	if (*byte & bit)
		return wrong("a record that is there twice", at);
	*byte |= bit;
	total++;
	return 0;
}

static int scan_packet(const uint8_t *data, const struct packet *k, uint64_t base, uint64_t id, uint64_t *last)
{
	uint64_t at = sizeof(*k), end = k->content_bits / 8, ts = k->begin;
	struct payload p;
	while (at + 4 <= end) {
		uint32_t word;
		uint64_t found, low;
		memcpy(&word, data + at, 4);
		if ((word & 31) == 31) {
			found = 0;
			memcpy(&found, data + at + 1, 4);
			memcpy(&ts, data + at + 5, 8);
			at += 13;
		} else {
			found = word & 31;
			low = word >> 5;
			at += 4;
			if (found == 30) {
				uint64_t six = 0;
				memcpy(&six, data + at - 4, 6);
				found = six >> 5 & 0xffff;
				low = six >> 21;
				at += 2;
			}
			uint64_t next = (ts & ~((1ull << 27) - 1)) | low;
			ts = next < ts ? next + (1ull << 27) : next;
		}
		if (found != id)
			return wrong("a record of another event", base + at);
		if (at + sizeof(p) > end)
			return wrong("a record that crosses its packet's end", base + at);
		memcpy(&p, data + at, sizeof(p));
		at += sizeof(p);
		if (ts < *last || ts < k->begin || ts > k->end)
			return wrong("a time that goes back, or lies outside its packet", base + at);
		*last = ts;
		if (check_record(&p, ts, base + at))
			return 1;
	}
	return at == end ? 0 : wrong("bytes behind the last record", base + at);
}

static int scan_file(uint64_t id)
{
	struct stat st;
	struct packet k;
	int fd = open(file, O_RDONLY), err = 0;
	uint64_t at = 0, last = 0, sequence = 0, discarded = 0;
	if (fd < 0 || fstat(fd, &st))
		return wrong("cannot be opened", 0);
	const uint8_t *data = st.st_size ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
	close(fd);
	for (; !err && at < (uint64_t)st.st_size; at += k.packet_bits / 8, sequence++) {
		if ((uint64_t)st.st_size - at < sizeof(k))
			return wrong("a packet without a whole header", at);
		memcpy(&k, data + at, sizeof(k));
		if (k.magic != 0xc1fc1fc1 || k.packet_bits / 8 > (uint64_t)st.st_size - at ||
		    k.content_bits > k.packet_bits ||
		    k.content_bits / 8 < sizeof(k))
			return wrong("no packet", at);
		if (k.sequence != sequence || k.discarded < discarded || (!at && k.discarded))
			return wrong("packets' numbers or lost counts are not in order", at);
		if (k.begin < last || k.end < k.begin)
			return wrong("packets' times overlap", at);
		discarded = k.discarded;
		err = scan_packet(data + at, &k, at, id, &last);
		if (last < k.end)
			last = k.end;
	}
	lost += discarded;
	if (data)
		munmap((void *)(uintptr_t)data, (size_t)st.st_size);
	return err;
}

int main(int argc, char **argv)
{
	uint64_t begun = 0, returned = 0;
	if (argc < 4)
		return 2;
	setenv("WMK_TEST_LEDGER", argv[1], 1);
	ledger_map();
	for (int i = 3; i < argc; i++) {
		file = argv[i];
		if (scan_file(strtoull(argv[2], NULL, 10)))
			return 1;
	}
	for (size_t w = 0; w < LEDGER_SLOTS; w++) {
		begun += ledger->slot[w].begun;
		returned += ledger->slot[w].returned;
	}
	printf("read %llu lost %llu begun %llu returned %llu\n", (unsigned long long)total, (unsigned long long)lost,
	       (unsigned long long)begun, (unsigned long long)returned);
	return 0;
}
