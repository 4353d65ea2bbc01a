/* SPDX-License-Identifier: MIT */
/*
 * index.h - the index of a stream file: index/<file>.idx, in LTTng's format (magic 0xC1F1DCC1, version 1, big-endian),
 * an entry for each packet in the order of the file. Internal to src/read.
 *
 * It is an aid to get somewhere, and believed in nothing: what it says of a packet is held against the packet when that
 * is read. It may lack the last packets of a trace that is being written. No memory: entries are read when they are
 * asked for.
 */
#ifndef WMK_READ_INDEX_H
#define WMK_READ_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "ctf/class.h"

struct wmk_read_index {
	int fd;                    /* -1: there is none */
	uint32_t entry;            /* bytes of an entry */
};

struct wmk_read_index_entry {
	uint64_t at;               /* bytes */
	uint64_t size, content;    /* bits */
	uint64_t begin, end;       /* clock values */
	uint64_t lost;
};

/* 0, also where there is none; -EPROTO: it is none of a version that is known. */
int wmk_read_index_open(struct wmk_read_index *index, int dir, const char *file);
void wmk_read_index_close(struct wmk_read_index *index);
/* Entry `n`, from 0: 1; 0: there is no whole entry of this number. */
int wmk_read_index_get(const struct wmk_read_index *index, uint64_t n, struct wmk_read_index_entry *entry);
/* Whole entries. */
uint64_t wmk_read_index_count(const struct wmk_read_index *index);
/* Is it as long as `n` packets want, or shorter by whole entries? */
bool wmk_read_index_fits(const struct wmk_read_index *index, uint64_t n);
/* The first entry whose packet ends at `ns` or later; their number if none does. */
uint64_t wmk_read_index_find(const struct wmk_read_index *index, const struct wmk_ctf_clock_class *clock, int64_t ns);

#endif
