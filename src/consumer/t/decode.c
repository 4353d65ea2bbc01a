/* SPDX-License-Identifier: MIT */
/*
 * decode.c - a stream file read back by a second, small decoder.
 */
#include "decode.h"

#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t bits(const uint8_t *at, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)at[i] << (8 * i);
	return value;
}

static uint8_t *slurp(const char *path, size_t *len)
{
	FILE *file = fopen(path, "re");
	uint8_t *bytes;
	long size;

	if (!file)
		return NULL;
	fseek(file, 0, SEEK_END);
	size = ftell(file);
	rewind(file);
	bytes = malloc((size_t)size + 1);
	assert_non_null(bytes);
	*len = fread(bytes, 1, (size_t)size, file);
	assert_int_equal(*len, size);
	fclose(file);
	return bytes;
}

/* Returns the first time from `now` on that has these low 27 bits. */
static uint64_t next_time(uint64_t now, uint64_t low)
{
	uint64_t ts = (now & ~(uint64_t)0x7ffffff) | low;

	return ts < now ? ts + 0x8000000 : ts;
}

/* Decodes the header of a record. Returns its length, and stores id and time. */
static unsigned header(const uint8_t *at, uint64_t now, uint32_t *id, uint64_t *ts)
{
	unsigned kind = at[0] & 31;

	if (kind == 31) {
		*id = (uint32_t)bits(at + 1, 4);
		*ts = bits(at + 5, 8);
		return 13;
	}
	if (kind == 30) {
		*id = (uint32_t)(bits(at, 6) >> 5 & 0xffff);
		*ts = next_time(now, bits(at, 6) >> 21);
		return 6;
	}
	*id = kind;
	*ts = next_time(now, bits(at, 4) >> 5);
	return 4;
}

static void packet(const uint8_t *at, uint64_t len, size_t size, struct decoded *total, decode_record *record,
		   void *arg)
{
	uint64_t begin = bits(at + 32, 8), end = bits(at + 40, 8), now = begin, ts;
	const uint8_t *rest = at + 88, *stop = at + len;
	uint32_t id;

	if (begin < total->last_ts || end < begin)
		fail_msg("packet %llu: %llu to %llu, after %llu", (unsigned long long)total->packets,
			 (unsigned long long)begin, (unsigned long long)end, (unsigned long long)total->last_ts);
	while (rest < stop) {
		rest += header(rest, now, &id, &ts);
		if (ts < now || ts > end)
			fail_msg("a record at %llu, after %llu, in a packet that ends at %llu", (unsigned long long)ts,
				 (unsigned long long)now, (unsigned long long)end);
		assert_true(rest + size <= stop);
		if (record)
			record(arg, id, ts, rest);
		rest += size;
		now = ts;
		total->records++;
	}
	total->last_ts = end;
	if (len > 88)
		assert_true(now == end);
}

int decode_stream(const char *path, const uint8_t uuid[16], size_t size, struct decoded *total, decode_record *record,
		  void *arg)
{
	size_t len, at = 0;
	uint8_t *bytes = slurp(path, &len);

	memset(total, 0, sizeof(*total));
	if (!bytes)
		return -1;
	total->bytes = len;
	while (at < len) {
		uint64_t content, all, lost;

		assert_true(len - at >= 104);
		assert_int_equal(bits(bytes + at, 4), 0xc1fc1fc1);
		assert_memory_equal(bytes + at + 4, uuid, 16);
		content = bits(bytes + at + 48, 8);
		all = bits(bytes + at + 56, 8);
		assert_true(content % 8 == 0 && all % 64 == 0 && all >= content + 8 * 16 &&
			    all - content < 64 + 8 * (16 + 4096) && all / 8 <= len - at);
		assert_int_equal(bits(bytes + at + 64, 8), total->packets);
		lost = bits(bytes + at + 80, 8);
		assert_true(lost >= total->lost);
		packet(bytes + at, content / 8, size, total, record, arg);
		if (total->packets++ == 0)
			total->first_lost = lost;
		total->lost = lost;
		total->cpu = (uint32_t)bits(bytes + at + 72, 4);
		at += all / 8;
		total->cut = (uint32_t)bits(bytes + at - 8, 4);
	}
	free(bytes);
	return 0;
}

void decode_index(const char *stream_path, const char *index_path)
{
	static const unsigned in_packet[] = { 56, 48, 32, 40, 80, 20, 24, 64 };
	size_t len, index_len, at = 0;
	uint8_t *bytes = slurp(stream_path, &len), *index = slurp(index_path, &index_len), *entry;
	uint64_t be;

	assert_non_null(bytes);
	assert_non_null(index);
	assert_true(index_len >= 16);
	assert_memory_equal(index, "\xc1\xf1\xdc\xc1\0\0\0\1\0\0\0\1\0\0\0\x48", 16);
	for (entry = index + 16; entry < index + index_len; entry += 72) {
		assert_true(at < len && entry + 72 <= index + index_len);
		memcpy(&be, entry, 8);
		assert_int_equal(be64toh(be), at);
		for (unsigned i = 0; i < 8; i++) {
			memcpy(&be, entry + 8 + 8 * i, 8);
			assert_int_equal(be64toh(be), bits(bytes + at + in_packet[i], i == 5 ? 4 : 8));
		}
		at += bits(bytes + at + 56, 8) / 8;
	}
	assert_int_equal(at, len);
	free(bytes);
	free(index);
}
