/* SPDX-License-Identifier: MIT */
/*
 * index.c - read index files (see index.h).
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "ctf/writer.h"
#include "read/index.h"
#include "read/trace.h"

#define WORDS 6u                   /* the used words of an entry */
#define ENTRY_MAX 4096u

static uint64_t size_of(const struct wmk_read_index *index)
{
	struct stat st;

	return index->fd < 0 || fstat(index->fd, &st) < 0 || st.st_size < WMK_CTF_INDEX_HEAD
		       ? 0
		       : (uint64_t)st.st_size - WMK_CTF_INDEX_HEAD;
}

int wmk_read_index_open(struct wmk_read_index *index, int dir, const char *file)
{
	char path[NAME_MAX + 16];
	uint32_t head[4];
	struct stat st;

	snprintf(path, sizeof(path), "index/%.*s.idx", NAME_MAX, file);
	index->fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (index->fd < 0)
		return 0;
	if (fstat(index->fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    pread(index->fd, head, sizeof(head), 0) == (ssize_t)sizeof(head)) {
		index->entry = be32toh(head[3]);
#ifndef WMK_PLANTED_BUG_READ_INDEX              /* the fuzzer must find this */
		const bool is_large = index->entry >= WORDS * sizeof(uint64_t);
#else
		const bool is_large = true;
#endif
		if (be32toh(head[0]) == 0xC1F1DCC1u && be32toh(head[1]) == 1 && is_large && index->entry <= ENTRY_MAX)
			return 0;
	}
	wmk_read_index_close(index);
	return wmk_error(-EPROTO, "'%.120s' is not an index, or has an unknown version", path);
}

void wmk_read_index_close(struct wmk_read_index *index)
{
	if (index->fd >= 0)
		close(index->fd);
	index->fd = -1;
}

int wmk_read_index_get(const struct wmk_read_index *index, uint64_t n, struct wmk_read_index_entry *entry)
{
	uint64_t words[WORDS];

	if (n >= wmk_read_index_count(index) ||
	    pread(index->fd, words, sizeof(words), (off_t)(WMK_CTF_INDEX_HEAD + n * index->entry)) !=
		    (ssize_t)sizeof(words))
		return 0;
	*entry = (struct wmk_read_index_entry){ be64toh(words[0]), be64toh(words[1]), be64toh(words[2]),
						be64toh(words[3]), be64toh(words[4]), be64toh(words[5]) };
	return 1;
}

uint64_t wmk_read_index_count(const struct wmk_read_index *index)
{
	return index->fd < 0 ? 0 : size_of(index) / index->entry;
}

bool wmk_read_index_fits(const struct wmk_read_index *index, uint64_t n)
{
	return size_of(index) % index->entry == 0 && wmk_read_index_count(index) <= n;
}

uint64_t wmk_read_index_find(const struct wmk_read_index *index, struct wmk_read_scale *scale, int64_t ns)
{
	const uint64_t n = wmk_read_index_count(index);
	uint64_t low = 0, high = n;

	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;
		struct wmk_read_index_entry entry;

		if (!wmk_read_index_get(index, middle, &entry))
			return n;
		if (wmk_read_scale_ns(scale, entry.end) < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
