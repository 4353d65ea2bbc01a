/* SPDX-License-Identifier: MIT */
/*
 * frame_table.c - the seek table of compressed stream files (see frame_table.h).
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/array.h"
#include "base/error.h"
#include "ctf/frame_table.h"

#define SKIPPABLE 0x184D2A5Eu
#define SEEKABLE 0x8F92EAB1u
#define HEAD 8u
#define ENTRY 8u
#define FOOTER 9u
#define WALK_FIRST (256u << 10)    /* bytes: the first guess of the compressed size of a frame */

void wmk_ctf_frame_table_free(struct wmk_ctf_frame_table *table)
{
	free(table->frames);
	*table = (struct wmk_ctf_frame_table){ NULL, 0, 0, 0, 0 };
}

int wmk_ctf_frame_table_add(struct wmk_ctf_frame_table *table, uint64_t size, uint64_t content)
{
	struct wmk_ctf_frame *frames;

	if (table->n >= WMK_CTF_FRAMES_MAX)
		return wmk_error(-E2BIG, "the file has more than %u frames", table->n);
	if (size > UINT32_MAX || content > WMK_CTF_FRAME_MAX)
		return wmk_error(-E2BIG, "frame %u has %llu bytes; at most %llu are allowed", table->n,
				 (unsigned long long)content, (unsigned long long)WMK_CTF_FRAME_MAX);
	frames = wmk_array_room(table->frames, table->n, &table->cap, sizeof(*frames));
	if (!frames)
		return wmk_error(-ENOMEM, "no memory for the table of frames");
	table->frames = frames;
	frames[table->n++] = (struct wmk_ctf_frame){ table->size, table->content, (uint32_t)size, (uint32_t)content };
	table->size += size;
	table->content += content;
	return 0;
}

static void put32(uint8_t *at, uint32_t value)
{
	value = htole32(value);
	memcpy(at, &value, sizeof(value));
}

static uint32_t get32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return le32toh(value);
}

int wmk_ctf_frame_table_encode(const struct wmk_ctf_frame_table *table, uint8_t **bytes, size_t *len)
{
	const size_t rest = (size_t)table->n * ENTRY + FOOTER;
	uint8_t *at = malloc(HEAD + rest);

	*bytes = at;
	*len = HEAD + rest;
	if (!at)
		return wmk_error(-ENOMEM, "no memory for the table of frames");
	put32(at, SKIPPABLE);
	put32(at + 4, (uint32_t)rest);
	at += HEAD;
	for (uint32_t i = 0; i < table->n; i++, at += ENTRY) {
		put32(at, table->frames[i].size);
		put32(at + 4, table->frames[i].content);
	}
	put32(at, table->n);
	at[4] = 0;
	put32(at + 5, SEEKABLE);
	return 0;
}

/* Read up to `len` bytes. Returns their number, or -errno. */
static ssize_t get(int fd, void *to, size_t len, uint64_t at)
{
	size_t done = 0;

	while (done < len) {
		const ssize_t n = pread(fd, (uint8_t *)to + done, len - done, (off_t)(at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return wmk_error(-errno, "cannot read at byte %llu", (unsigned long long)(at + done));
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

static int damaged(struct wmk_ctf_frame_table *table)
{
	wmk_ctf_frame_table_free(table);
	return wmk_error(-EPROTO, "the seek table at the end is damaged or missing");
}

/* (writers write no empty frames; readers would skip an empty frame without a check) */
static int take_entries(const uint8_t *at, uint32_t n, struct wmk_ctf_frame_table *table)
{
	for (uint32_t i = 0; i < n; i++, at += ENTRY) {
		const uint32_t size = get32(at), content = get32(at + 4);
		int err = size && content ? wmk_ctf_frame_table_add(table, size, content) : -EPROTO;

		if (err < 0)
			return err;
	}
	return 0;
}

int wmk_ctf_frame_table_read(int fd, struct wmk_ctf_frame_table *table)
{
	uint8_t footer[FOOTER], *bytes;
	struct stat st;
	uint64_t len;
	uint32_t n;
	int err;

	*table = (struct wmk_ctf_frame_table){ NULL, 0, 0, 0, 0 };
	if (fstat(fd, &st) < 0)
		return wmk_error(-errno, "cannot get the size");
	if (st.st_size < (off_t)(HEAD + FOOTER) ||
	    get(fd, footer, FOOTER, (uint64_t)st.st_size - FOOTER) != (ssize_t)FOOTER)
		return damaged(table);
	n = get32(footer);
	len = HEAD + (uint64_t)n * ENTRY + FOOTER;
	if (get32(footer + 5) != SEEKABLE || footer[4] || n > WMK_CTF_FRAMES_MAX || len > (uint64_t)st.st_size)
		return damaged(table);
	bytes = malloc(len);
	if (!bytes)
		return wmk_error(-ENOMEM, "no memory for the table of frames");
	err = get(fd, bytes, len, (uint64_t)st.st_size - len) == (ssize_t)len ? 0 : -EPROTO;
	if (err == 0 && (get32(bytes) != SKIPPABLE || get32(bytes + 4) != len - HEAD))
		err = -EPROTO;
	if (err == 0)
		err = take_entries(bytes + HEAD, n, table);
	free(bytes);
#ifndef WMK_PLANTED_BUG_CTF_FRAMES             /* a planted bug that the fuzzer must find */
	if (err == 0 && table->size + len != (uint64_t)st.st_size)
		err = -EPROTO;
#endif
	if (err == -ENOMEM)
		wmk_ctf_frame_table_free(table);
	return err == 0 || err == -ENOMEM ? err : damaged(table);
}

/*
 * Get the sizes of the frame that contains byte `at`. 1: done; 0: no complete frame begins at `at`; negative: -errno.
 */
static int measure(int fd, uint64_t at, uint8_t **buffer, size_t *cap, uint64_t *size, uint64_t *content)
{
	for (;;) {
		const ssize_t n = get(fd, *buffer, *cap, at);
		uint8_t *larger;
		size_t found;

		if (n <= 0)
			return (int)n;
		found = ZSTD_findFrameCompressedSize(*buffer, (size_t)n);
		if (!ZSTD_isError(found)) {
			*size = found;
			*content = ZSTD_getFrameContentSize(*buffer, (size_t)n);
			return *content <= WMK_CTF_FRAME_MAX && get32(*buffer) == ZSTD_MAGICNUMBER;
		}
		if ((size_t)n < *cap || *cap >= 2 * (size_t)WMK_CTF_FRAME_MAX)
			return 0;
		larger = realloc(*buffer, 2 * *cap);
		if (!larger)
			return wmk_error(-ENOMEM, "no memory for a frame");
		*buffer = larger;
		*cap *= 2;
	}
}

int wmk_ctf_frame_table_walk(int fd, struct wmk_ctf_frame_table *table)
{
	size_t cap = WALK_FIRST;
	uint8_t *buffer = malloc(cap);
	uint64_t size = 0, content = 0;
	int got = buffer ? 1 : wmk_error(-ENOMEM, "no memory for a frame");

	*table = (struct wmk_ctf_frame_table){ NULL, 0, 0, 0, 0 };
	while (got > 0) {
		got = measure(fd, table->size, &buffer, &cap, &size, &content);
		if (got > 0 && wmk_ctf_frame_table_add(table, size, content) < 0)
			got = -ENOMEM;
	}
	free(buffer);
	if (got < 0)
		wmk_ctf_frame_table_free(table);
	return got;
}

int wmk_ctf_frame_is_name(const char *file)
{
	return wmk_ctf_frame_plain_len(file) != strlen(file);
}

size_t wmk_ctf_frame_plain_len(const char *file)
{
	const size_t len = strlen(file), suffix = sizeof(WMK_CTF_FRAME_SUFFIX) - 1;

	return len > suffix && strcmp(file + len - suffix, WMK_CTF_FRAME_SUFFIX) == 0 ? len - suffix : len;
}
