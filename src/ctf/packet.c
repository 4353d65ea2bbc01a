/* SPDX-License-Identifier: MIT */
/*
 * packet.c - encode packet headers and index entries. Fields are packed; metadata.c declares the fields in the same
 * order.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "ctf/writer.h"

/* Waymark writes no packet with more than 1 GiB of content, because the largest sub-buffer has 1 GiB. */
#define CONTENT_MAX ((uint64_t)1 << 30)

enum packet_at {
	AT_MAGIC = 0, AT_UUID = 4, AT_STREAM = 20, AT_INSTANCE = 24, AT_BEGIN = 32, AT_END = 40, AT_CONTENT = 48,
	AT_SIZE = 56,
	AT_SEQUENCE = 64, AT_CPU = 72, AT_LOST = WMK_CTF_PACKET_LOST_AT,
};

/* offsets in the trailer */
enum trailer_at { AT_POSITION = 0, AT_CUT = 8, AT_MARK = 12 };
#define MARK 0x6b6d7957u               /* "Wymk" */

_Static_assert(AT_LOST + 8 == WMK_CTF_PACKET_ROOM, "the packet header must have WMK_CTF_PACKET_ROOM bytes");

void wmk_ctf_packet_encode(uint8_t room[WMK_CTF_PACKET_ROOM], const uint8_t uuid[16],
			   const struct wmk_ctf_packet *packet)
{
	wmk_put32(room + AT_MAGIC, WMK_CTF_MAGIC);
	memcpy(room + AT_UUID, uuid, 16);
	wmk_put32(room + AT_STREAM, packet->stream_id);
	wmk_put64(room + AT_INSTANCE, packet->instance);
	wmk_put64(room + AT_BEGIN, packet->begin_ts);
	wmk_put64(room + AT_END, packet->end_ts);
	wmk_put64(room + AT_CONTENT, (WMK_CTF_PACKET_ROOM + packet->content) * 8);
	wmk_put64(room + AT_SIZE, wmk_ctf_packet_size(packet) * 8);
	wmk_put64(room + AT_SEQUENCE, packet->sequence);
	wmk_put64(room + AT_LOST, packet->lost);
	wmk_put32(room + AT_CPU, packet->cpu);
	wmk_put32(room + AT_CPU + 4, 0);
}

size_t wmk_ctf_packet_end(uint8_t end[WMK_CTF_END_MAX], const struct wmk_ctf_packet *packet)
{
	const size_t len = wmk_ctf_packet_size(packet) - WMK_CTF_PACKET_ROOM - packet->content;
	uint8_t *trailer = end + len - WMK_CTF_TRAILER;

	memset(end, 0, len - WMK_CTF_TRAILER);
	wmk_put64(trailer + AT_POSITION, packet->ring_position);
	wmk_put32(trailer + AT_CUT, packet->cut);
	wmk_put32(trailer + AT_MARK, MARK);
	return len;
}

bool wmk_ctf_trailer_decode(const uint8_t trailer[WMK_CTF_TRAILER], struct wmk_ctf_packet *packet)
{
	if (wmk_get32(trailer + AT_MARK) != MARK)
		return false;
	packet->ring_position = wmk_get64(trailer + AT_POSITION);
	packet->cut = wmk_get32(trailer + AT_CUT);
	return true;
}

int wmk_ctf_packet_decode(const uint8_t room[WMK_CTF_PACKET_ROOM], const uint8_t uuid[16],
			  struct wmk_ctf_packet *packet)
{
	uint64_t content = wmk_get64(room + AT_CONTENT), pad;

	if (wmk_get32(room + AT_MAGIC) != WMK_CTF_MAGIC || memcmp(room + AT_UUID, uuid, 16) != 0)
		return wmk_error(-EPROTO, "not a packet of this trace");
	if (content % 8 || content / 8 < WMK_CTF_PACKET_ROOM || content / 8 > CONTENT_MAX)
		return wmk_error(-EPROTO, "a packet has an invalid content size of %llu bits",
				 (unsigned long long)content);
	packet->stream_id = wmk_get32(room + AT_STREAM);
	packet->instance = wmk_get64(room + AT_INSTANCE);
	packet->begin_ts = wmk_get64(room + AT_BEGIN);
	packet->end_ts = wmk_get64(room + AT_END);
	packet->content = content / 8 - WMK_CTF_PACKET_ROOM;
	packet->sequence = wmk_get64(room + AT_SEQUENCE);
	packet->ring_position = 0;
	packet->lost = wmk_get64(room + AT_LOST);
	packet->cpu = wmk_get32(room + AT_CPU);
	packet->cut = 0;
	packet->pad = 0;
	pad = wmk_get64(room + AT_SIZE) / 8 - wmk_ctf_packet_size(packet);
	if (wmk_get64(room + AT_SIZE) % 64 || pad >= WMK_CTF_PAD_MAX)
		return wmk_error(-EPROTO, "the size of a packet contradicts its content size");
	packet->pad = (uint32_t)pad;
	return 0;
}

static void put_be32(uint8_t *at, uint32_t value)
{
	wmk_put32(at, htobe32(value));
}

static void put_be64(uint8_t *at, uint64_t value)
{
	wmk_put64(at, htobe64(value));
}

void wmk_ctf_index_head(uint8_t head[WMK_CTF_INDEX_HEAD])
{
	put_be32(head, 0xC1F1DCC1u);
	put_be32(head + 4, 1);
	put_be32(head + 8, 1);
	put_be32(head + 12, WMK_CTF_INDEX_ENTRY);
}

void wmk_ctf_index_encode(uint8_t bytes[WMK_CTF_INDEX_ENTRY], const struct wmk_ctf_index_entry *entry)
{
	put_be64(bytes, entry->offset);
	put_be64(bytes + 8, entry->size);
	put_be64(bytes + 16, entry->content);
	put_be64(bytes + 24, entry->begin_ts);
	put_be64(bytes + 32, entry->end_ts);
	put_be64(bytes + WMK_CTF_INDEX_LOST_AT, entry->lost);
	put_be64(bytes + 48, entry->stream_id);
	put_be64(bytes + 56, entry->instance);
	put_be64(bytes + 64, entry->sequence);
}

void wmk_ctf_index_packet(uint8_t bytes[WMK_CTF_INDEX_ENTRY], uint64_t offset, const struct wmk_ctf_packet *packet)
{
	const struct wmk_ctf_index_entry entry = {
		.offset = offset,
		.size = wmk_ctf_packet_size(packet) * 8,
		.content = (WMK_CTF_PACKET_ROOM + packet->content) * 8,
		.begin_ts = packet->begin_ts,
		.end_ts = packet->end_ts,
		.lost = packet->lost,
		.stream_id = packet->stream_id,
		.instance = packet->instance,
		.sequence = packet->sequence,
	};

	wmk_ctf_index_encode(bytes, &entry);
}

/* ── records ─────────────────────────────────────────────────────────────────────────────────────────── */

#define ID_COMPACT_MAX 29u
#define ID_MEDIUM 30u
#define ID_EXTENDED 31u
#define TIME_BITS 27

unsigned wmk_ctf_record_encode(uint8_t head[WMK_CTF_RECORD_HEAD], uint32_t id, uint64_t time, uint64_t before)
{
	const bool is_near = time - before < (uint64_t)1 << TIME_BITS;
	const uint64_t low = time & (((uint64_t)1 << TIME_BITS) - 1);
	const uint32_t compact = (uint32_t)(id | low << 5);
	const uint64_t medium = ID_MEDIUM | (uint64_t)id << 5 | low << 21;

	if (is_near && id <= ID_COMPACT_MAX) {
		memcpy(head, &compact, 4);
		return 4;
	}
	if (is_near && id <= UINT16_MAX) {
		memcpy(head, &medium, 6);
		return 6;
	}
	head[0] = ID_EXTENDED;
	memcpy(head + 1, &id, 4);
	memcpy(head + 5, &time, 8);
	return WMK_CTF_RECORD_HEAD;
}
