/* SPDX-License-Identifier: MIT */
/*
 * decode.h - decode a stream file by a second, small decoder. It was written from the description of the format, not
 * from the writer. It decodes headers of packets and records, and payloads of a fixed size. Anything that a reader
 * might refuse fails the test.
 */
#ifndef WMK_CONSUMER_DECODE_H
#define WMK_CONSUMER_DECODE_H

#include <stddef.h>
#include <stdint.h>

struct decoded {
	uint64_t records, packets, lost, bytes;
	uint64_t first_lost;       /* of the first packet */
	uint64_t last_ts;
	uint32_t cpu, cut;
};

/* Called for each record: id, time, payload. */
typedef void decode_record(void *arg, uint32_t id, uint64_t ts, const uint8_t *payload);

/* Decode a stream file. 0, or -1 if it does not exist. `size`: bytes of each record's payload. */
int decode_stream(const char *path, const uint8_t uuid[16], size_t size, struct decoded *total, decode_record *record,
		  void *arg);
/* Check the index of the stream: one entry for each packet, each equal to the packet. */
void decode_index(const char *stream_path, const char *index_path);

#endif
