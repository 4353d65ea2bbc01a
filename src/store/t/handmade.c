/* SPDX-License-Identifier: MIT */
/*
 * handmade.c - compose records by hand, to test readers.
 */
#include "handmade.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

const uint8_t handmade_uuid[16] = { 0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0x4c, 0xfe, 0x80, 1, 2, 3, 4, 5, 6, 7 };

void handmade_clock(struct wmk_clock *clock)
{
	memset(clock, 0, sizeof(*clock));
	clock->kind = WMK_CLOCK_COUNTER;
	clock->freq = 2500000000u;
	clock->offset_s = 1700000000;
	clock->offset = 1250000000u;
	clock->precision = 10;
	strcpy(clock->uuid, "2bf3f5a0-6cc3-4b8e-9cb2-6c1f4f2b9d11");
	strcpy(clock->name, "tsc");
	strcpy(clock->description, "time stamp counter");
}

void handmade_start(struct wmk_store *store, const unsigned *contexts)
{
	const struct wmk_field *fields[8];
	struct wmk_ctf_text_buffer text = { 0 };
	struct wmk_clock clock;
	struct wmk_ctf_trace trace = { .name = "hand \"made\"", .created = "20261120T234500+0000", .domain = "ust",
				       .hostname = "here\\",
				       .buffering = "uid", .buffering_id = "0", .clock = &clock };
	unsigned n = 0;

	handmade_clock(&clock);
	memcpy(trace.uuid, handmade_uuid, sizeof(trace.uuid));
	assert_int_equal(wmk_ctf_trace_text(&text, &trace), 0);
	for (; contexts[n]; n++)
		fields[n] = &wmk_ctf_context(contexts[n])->field;
	assert_int_equal(wmk_ctf_stream_text(&text, WMK_CTF_1_8, 0, fields, n), 0);
	assert_int_equal(wmk_store_metadata(store, text.text, text.len), 0);
	wmk_ctf_text_free(&text);
}

void handmade_event(struct wmk_store *store, uint32_t id, const struct wmk_event_class *event)
{
	struct wmk_ctf_text_buffer text = { 0 };

	assert_int_equal(wmk_ctf_event_text(&text, WMK_CTF_1_8, 0, id, event), 0);
	assert_int_equal(wmk_store_metadata(store, text.text, text.len), 0);
	wmk_ctf_text_free(&text);
}

void handmade_packet(struct handmade *packet, uint64_t begin_ts)
{
	packet->len = 0;
	packet->head.begin_ts = begin_ts;
	packet->head.end_ts = begin_ts;
}

void handmade_put(struct handmade *packet, const void *bytes, size_t len)
{
	assert_true(WMK_CTF_PACKET_ROOM + packet->len + len + 8 + WMK_CTF_TRAILER <= sizeof(packet->bytes));
	memcpy(packet->bytes + WMK_CTF_PACKET_ROOM + packet->len, bytes, len);
	packet->len += len;
}

void handmade_compact(struct handmade *packet, uint32_t id, uint64_t ts)
{
	uint32_t header = (uint32_t)(id | (ts & 0x7ffffff) << 5);

	packet->head.end_ts = ts;
	handmade_put(packet, &header, 4);
}

void handmade_medium(struct handmade *packet, uint32_t id, uint64_t ts)
{
	uint64_t header = 30 | (uint64_t)id << 5 | (ts & 0x7ffffff) << 21;

	packet->head.end_ts = ts;
	handmade_put(packet, &header, 6);
}

void handmade_extended(struct handmade *packet, uint32_t id, uint64_t ts)
{
	packet->head.end_ts = ts;
	handmade_put(packet, "\x1f", 1);
	handmade_put(packet, &id, 4);
	handmade_put(packet, &ts, 8);
}

int handmade_append(struct wmk_store_stream *stream, struct handmade *packet, uint64_t lost)
{
	struct iovec iov = { .iov_base = packet->bytes };
	int err;

	packet->head.content = packet->len;
	packet->head.lost = lost;
	wmk_ctf_packet_encode(packet->bytes, handmade_uuid, &packet->head);
	wmk_ctf_packet_end(packet->bytes + WMK_CTF_PACKET_ROOM + packet->len, &packet->head);
	iov.iov_len = wmk_ctf_packet_size(&packet->head);
	err = wmk_store_stream_append(stream, &iov, 1, &packet->head);
	packet->head.sequence++;
	packet->head.ring_position += packet->len;
	return err;
}
