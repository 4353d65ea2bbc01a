/* SPDX-License-Identifier: MIT */
/*
 * index.h - the index of a stream file: index/<file>.idx, in LTTng's format (magic 0xC1F1DCC1, version 1, big-endian).
 * An index has one entry for each packet; the entries have the order of the packets in the file. Internal to src/read.
 *
 * The index only helps to find a packet, and is not trusted. When the reader reads a packet, it compares the packet
 * with the index entry. The index of a trace that is being written may lack the last packets. An index needs no memory,
 * because the reader reads entries on demand.
 */
#ifndef WMK_READ_INDEX_H
#define WMK_READ_INDEX_H

#include <stdbool.h>
#include <stdint.h>

struct wmk_read_scale;             /* trace.h */

struct wmk_read_index {
	int fd;                    /* -1: no index */
	uint32_t entry;            /* size of an entry, in bytes */
};

struct wmk_read_index_entry {
	uint64_t at;               /* bytes */
	uint64_t size, content;    /* bits */
	uint64_t begin, end;       /* clock values */
	uint64_t lost;
};

/* The function returns 0 even if the index file does not exist. -EPROTO: not an index, or an unknown version. */
int wmk_read_index_open(struct wmk_read_index *index, int dir, const char *file);
void wmk_read_index_close(struct wmk_read_index *index);
/* Read entry `n`, from 0. Returns 1, or 0 if the entry `n` does not exist or is incomplete. */
int wmk_read_index_get(const struct wmk_read_index *index, uint64_t n, struct wmk_read_index_entry *entry);
/* The number of complete entries. */
uint64_t wmk_read_index_count(const struct wmk_read_index *index);
/* Return whether the index has at most `n` entries, and all of them are complete. */
bool wmk_read_index_fits(const struct wmk_read_index *index, uint64_t n);
/*
 * Return the number of the first entry for a packet that ends at `ns` or later, or the number of entries if no such
 * packet exists.
 */
uint64_t wmk_read_index_find(const struct wmk_read_index *index, struct wmk_read_scale *scale, int64_t ns);

#endif
