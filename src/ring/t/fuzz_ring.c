/* SPDX-License-Identifier: MIT */
/*
 * fuzz_ring.c - arbitrary bytes as a ring. The input is copied over the control block of a ring, then over the head of
 * its data, and the ring is read. The rest of the input is copied over them between two reads, as a hostile writer
 * would do. Everything that the reader returns must be within the ring.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "ring/record_header.h"

#define SUBBUF 4096u
#define SUBBUFS 4u
#define ROOM 96u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct waymark_ring_set *sets[2];

/* Fail like a crash, so that the handler of the sanitizers runs. */
static void wrong(void)
{
	raise(SIGSEGV);
	abort();
}

/* Take up to n bytes of the input. */
static size_t take(const uint8_t **data, size_t *size, void *to, size_t n)
{
	n = n < *size ? n : *size;
	memcpy(to, *data, n);
	*data += n;
	*size -= n;
	return n;
}

static void check(const struct waymark_ring_set *set, const struct waymark_ring_packet *p)
{
	const unsigned char *ring = set->ring[0].data, *data = p->data;
	unsigned sum = 0;

	if (p->len > SUBBUF - WMK_RING_SLACK - sizeof(struct wmk_ring_sub) - ROOM)
		wrong();
	if (set->options.mode == WAYMARK_RING_DISCARD && (data < ring || data + p->len > ring + SUBBUF * SUBBUFS))
		wrong();
	if (p->end_ts < p->begin_ts)
		wrong();
	for (size_t i = 0; i < p->len; i++)
		sum += ((const volatile unsigned char *)data)[i];
	if (p->room)
		memset(p->room, (int)sum, ROOM);
}

static void init(void)
{
	struct waymark_ring_options o = {
		.size = sizeof(o), .subbuf_size = SUBBUF, .n_subbufs = SUBBUFS, .n_cpus = 1, .header_room = ROOM
	};

	for (int mode = 0; mode < 2; mode++) {
		o.mode = (uint32_t)mode;
		if (waymark_ring_set_create(&o, &sets[mode]) < 0)
			wrong();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct waymark_ring_reader *reader;
	struct waymark_ring_packet packet;
	struct waymark_ring_set *set;
	struct wmk_ring_ctl *ctl;
	uint8_t flags = 0;

	if (!sets[0])
		init();
	take(&data, &size, &flags, 1);
	set = sets[flags & 1];
	ctl = set->ring[0].ctl;
	memset(ctl, 0, sizeof(*ctl));
	memset(set->ring[0].data, 0, SUBBUF * SUBBUFS);
	take(&data, &size, ctl, 56); /* position and slots */
	if (flags & 2)
		take(&data, &size, &ctl->read_pos, 32);
	for (unsigned i = 0; i < SUBBUFS; i++)
		take(&data, &size, set->ring[0].data + i * SUBBUF, sizeof(struct wmk_ring_sub));
	if (waymark_ring_reader_open(set, 0, &reader) < 0)
		wrong();
	if (flags & 2)
		waymark_ring_reader_resume(reader, ctl->read_pos, 1, flags & 8 ? ctl->read_ts : 0, NULL);
	if (flags & 16)
		waymark_ring_reader_clear(reader);
	for (int i = 0; i < 40; i++) {
		int rc = waymark_ring_reader_next(reader, flags >> 2 & 1, &packet);

		if (rc == 1) {
			check(set, &packet);
			waymark_ring_reader_lost(reader, NULL);
			if (waymark_ring_reader_release(reader, &packet) < 0)
				wrong();
		} else if (rc < 0 && waymark_ring_reader_next(reader, 1, &packet) != 0) {
			wrong(); /* -EIO is reported only once */
		}
		if (take(&data, &size, ctl, 56) == 0 && rc <= 0)
			break;
		take(&data, &size, set->ring[0].data + (ctl->write_pos & (SUBBUF * SUBBUFS - 1) & ~(SUBBUF - 1u)),
		     sizeof(struct wmk_ring_sub));
	}
	waymark_ring_reader_close(reader);
	return 0;
}
