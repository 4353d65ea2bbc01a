/* SPDX-License-Identifier: MIT */
/*
 * hash_table.h - a hash table with two numbers from a trace as key. Each process uses a different seed, so that a
 * hostile trace cannot contain colliding keys. Internal to src/read.
 */
#ifndef WMK_READ_HASH_TABLE_H
#define WMK_READ_HASH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The beginning of each slot. */
struct wmk_read_slot {
	bool is_used;
	uint64_t a, b;             /* the key */
};

struct wmk_read_table {
	size_t size;               /* bytes of a slot; the other members are initialized with zeros */
	char *slots;
	size_t n, cap;             /* number of used slots, and of all: a power of two, or 0 */
	uint64_t seed[2];          /* valid if `cap` is not 0 */
};

/* Returns NULL if the table does not contain the key. Slots may move in memory when a slot is added. */
void *wmk_read_table_find(const struct wmk_read_table *table, uint64_t a, uint64_t b);
/* Find or add the slot of the key; in a new slot, the bytes after the key are zero. NULL: no memory. */
void *wmk_read_table_add(struct wmk_read_table *table, uint64_t a, uint64_t b);
/* Return the next used slot after `slot` (NULL: the first used slot), or NULL at the end. */
void *wmk_read_table_next(const struct wmk_read_table *table, const void *slot);
void wmk_read_table_free(struct wmk_read_table *table);

#endif
