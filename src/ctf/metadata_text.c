/* SPDX-License-Identifier: MIT */
/*
 * metadata_text.c - extract the text of a metadata file: plain, or in packets (CTF 1.8.3, section 7.2). The magic
 * number of a packet shows the byte order of the packet.
 *
 *     0   u32 magic 0x75D11D57
 *     4   u8 uuid[16]
 *     20  u32 checksum
 *     24  u32 content_size, u32 packet_size (in bits)
 *     32  u8 compression, encryption, checksum scheme, major, minor
 *     37  text
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ctf/class.h"

#define MAGIC 0x75D11D57u
#define HEAD 37u

enum {
	AT_UUID = 4,
	AT_CONTENT = 24,
	AT_PACKET = 28,
	AT_COMPRESSION = 32,
	AT_ENCRYPTION = 33,
	AT_MAJOR = 35,
	AT_MINOR = 36
};

static uint32_t get32(const uint8_t *at, bool is_swapped)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return is_swapped ? __builtin_bswap32(value) : value;
}

static int check_packet(const uint8_t *packet, const uint8_t *first, bool is_swapped, uint64_t at)
{
	uint32_t content = get32(packet + AT_CONTENT, is_swapped), size = get32(packet + AT_PACKET, is_swapped);

	if (get32(packet, is_swapped) != MAGIC)
		return wmk_error(-EPROTO, "no packet at byte %" PRIu64 " of the metadata", at);
	if (memcmp(packet + AT_UUID, first + AT_UUID, 16) != 0)
		return wmk_error(-EPROTO, "the metadata's packet at byte %" PRIu64 " has another UUID than the first",
				 at);
	/*
	 * Reject all schemes of compression and encryption, because no version of the format defines numbers for such
	 * schemes. A checksum scheme does not change the metadata text.
	 */
	if (packet[AT_COMPRESSION] || packet[AT_ENCRYPTION])
		return wmk_error(-ENOTSUP,
				 "the metadata's packet at byte %" PRIu64
				 " is %s by the unknown scheme %u",
				 at, packet[AT_COMPRESSION] ? "compressed" : "encrypted",
				 packet[AT_COMPRESSION] ? packet[AT_COMPRESSION] : packet[AT_ENCRYPTION]);
	if (packet[AT_MAJOR] != 1 || packet[AT_MINOR] != 8)
		return wmk_error(-ENOTSUP,
				 "the metadata's packet at byte %" PRIu64 " is of version %u.%u, not 1.8", at,
				 packet[AT_MAJOR], packet[AT_MINOR]);
	if (content % 8 || size % 8 || content / 8 < HEAD || content > size)
		return wmk_error(-EPROTO,
				 "the metadata's packet at byte %" PRIu64 " has a content of %" PRIu32
				 " bits in a size of %" PRIu32,
				 at, content, size);
	return 0;
}

int wmk_ctf_metadata_text(const void *bytes, size_t size, char **text, size_t *len, bool *cut)
{
	const uint8_t *first = bytes;
	const bool is_packets = size >= 4 && (get32(first, false) == MAGIC || get32(first, true) == MAGIC);
	const bool is_swapped = is_packets && get32(first, false) != MAGIC;
	size_t at = 0;

	*cut = false;
	*len = 0;
	*text = malloc(size + 1);
	if (!*text)
		return wmk_error(-ENOMEM, "no memory for %zu bytes of metadata", size);
	if (!is_packets) {
		memcpy(*text, bytes, size);
		*len = size;
	}
	while (is_packets && at < size) {
		const uint8_t *packet = first + at;
		int err = size - at < HEAD ? 1 : check_packet(packet, first, is_swapped, at);

		if (err < 0) {
			free(*text);
			*text = NULL;
			return err;
		}
		if (err > 0 || get32(packet + AT_PACKET, is_swapped) / 8 > size - at) {
			*cut = true;
			break;
		}
		size_t content = get32(packet + AT_CONTENT, is_swapped) / 8 - HEAD;

		memcpy(*text + *len, packet + HEAD, content);
		*len += content;
		at += get32(packet + AT_PACKET, is_swapped) / 8;
	}
	(*text)[*len] = '\0';
	return 0;
}
