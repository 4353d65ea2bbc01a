/* SPDX-License-Identifier: MIT */
/*
 * fuzz_index.c - use arbitrary bytes as the index of a valid stream file. Whatever the index contains, reading a part
 * of the time must not crash and must end, and each record must be the next one of the file, up to the last. Errors
 * must name the index. With the correct index, or after the index has led to no packet, all records must be returned.
 * The first byte selects the begin, and whether there is an end.
 *
 *     packet n   begins at n x 100 ns, ends 90 ns later; records at 10, 20 and 30 ns in it, numbered from 0 in all
 *                packets
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "ctf/writer.h"
#include "read/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void fuzz_set_up(void);
void fuzz_clean_up(void);

#define PACKETS 9u
#define RECORDS 3u                 /* per packet */
#define ENTRY_WORDS (WMK_CTF_INDEX_ENTRY / sizeof(uint64_t))

static const char metadata[] =
	"/* CTF 1.8 */\ntrace { major = 1; minor = 8; byte_order = le; };\nclock { name = c; freq = 1000000000; };\n"
	"typealias integer { size = 64; } := u64;\ntypealias integer { size = 64; map = clock.c.value; } := t64;\n"
	"stream { packet.context := struct { t64 timestamp_begin; t64 timestamp_end; u64 content_size; u64 "
	"packet_size; u64 events_discarded; };\n"
	"event.header := struct { t64 timestamp; }; };\nevent { fields := struct { u64 number; }; };\n";

static const char *const names[] = { "index/stream.idx", "index", "stream", "metadata" };

/* In memory, because the file is rewritten often. */
static char top[] = "/dev/shm/waymark-fuzz-XXXXXX";
static uint8_t sound[WMK_CTF_INDEX_HEAD + PACKETS * WMK_CTF_INDEX_ENTRY];

static void must(bool so)
{
	if (!so)
		abort();
}

static void put(int dir, const char *name, const void *bytes, size_t size)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	must(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	close(fd);
}

static uint64_t time_of(uint64_t record)
{
	return record / RECORDS * 100 + record % RECORDS * 10 + 10;
}

/* Make packets of five words, and two words per record; and their index. */
static void make_trace(int dir)
{
	uint64_t words[PACKETS * (5 + 2 * RECORDS)], *word = words;
	const uint64_t bytes = sizeof(words) / PACKETS;

	wmk_ctf_index_head(sound);
	for (uint64_t i = 0; i < PACKETS; i++) {
		const uint64_t entry[ENTRY_WORDS] = { htobe64(i * bytes), htobe64(bytes * 8),    htobe64(bytes * 8),
						      htobe64(i * 100),   htobe64(i * 100 + 90), htobe64(i) };

		memcpy(sound + WMK_CTF_INDEX_HEAD + i * sizeof(entry), entry, sizeof(entry));
		memcpy(word, (const uint64_t[]){ i * 100, i * 100 + 90, bytes * 8, bytes * 8, i }, 5 * sizeof(*word));
		word += 5;
		for (uint64_t j = i * RECORDS; j < (i + 1) * RECORDS; j++) {
			*word++ = time_of(j);
			*word++ = j;
		}
	}
	put(dir, "stream", words, sizeof(words));
	put(dir, "metadata", metadata, sizeof(metadata) - 1);
}

void fuzz_set_up(void)
{
	int dir;

	must(mkdtemp(top) != NULL);
	dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(dir >= 0 && mkdirat(dir, "index", 0700) == 0);
	make_trace(dir);
	close(dir);
}

void fuzz_clean_up(void)
{
	int dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (unsigned i = 0; i < WMK_ARRAY_LEN(names); i++)
		unlinkat(dir, names[i], i == 1 ? AT_REMOVEDIR : 0);
	close(dir);
	rmdir(top);
}

static uint64_t number_of(const struct wmk_read_stream *stream)
{
	uint64_t number;

	must(stream->record.payload_at % 8 == 0 && stream->record.end == stream->record.payload_at + 64);
	memcpy(&number, stream->bytes.bytes + stream->record.payload_at / 8, sizeof(number));
	return number;
}

/* If the index leads to no packet, that is reported, and all records are read without it. */
static bool has_led_astray(void)
{
	char words[WMK_ERROR_LEN * 4];

	return strstr(wmk_error_text(words, sizeof(words)), "leads to") != NULL;
}

/* Read the records from `from` to `to`, numbered `first` to `behind` - 1; `is_sound`: all must be returned. */
static void read_part(struct wmk_read_stream *stream, uint64_t first, uint64_t behind, bool is_sound)
{
	uint64_t next = behind, given = 0;
	bool must_be_all = is_sound;
	int got;

	while ((got = wmk_read_stream_next(stream)) != WMK_READ_END) {
		must(got > 0 || (got == -EPROTO && !is_sound));
		must_be_all = must_be_all || (got < 0 && has_led_astray());
		if (got != WMK_READ_RECORD)
			continue;
		if (next == behind) {
			next = number_of(stream);
			must(next >= first && next < behind);
		}
		must(number_of(stream) == next && (uint64_t)stream->ns == time_of(next));
		next++;
		given++;
	}
	must(next == behind && (!must_be_all || given == behind - first));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint64_t from = size ? data[0] / 2 * 8 : 0, to = size && data[0] % 2 ? from + 150 : UINT64_MAX / 2;
	static struct wmk_read_trace *trace;
	uint64_t first = 0, behind = PACKETS * RECORDS;
	struct wmk_read_stream *stream;

	must(trace || wmk_read_trace_open(top, top, &trace) >= 0);
	while (first < behind && time_of(first) < from)
		first++;
	while (behind > first && time_of(behind - 1) > to)
		behind--;
	put(trace->dir, names[0], data + !!size, size - !!size);
	must(wmk_read_stream_open(trace, "stream", &stream) >= 0);
	stream->from = (int64_t)from;
	stream->to = (int64_t)to;
	read_part(stream, first, behind, size == 1 + sizeof(sound) && memcmp(data + 1, sound, sizeof(sound)) == 0);
	wmk_read_stream_close(stream);
	wmk_error_clear();
	return 0;
}
