/* SPDX-License-Identifier: MIT */
/*
 * hash_table.h - a hash table with two numbers out of a trace as key. They are mixed with a seed that differs in each
 * process, so that no trace can choose keys that collide. Internal to src/read.
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
	size_t size;               /* bytes of a slot; all else starts from zeros */
	char *slots;
	size_t n, cap;             /* used ones, all: a power of two, or 0 */
};

/* NULL: the table does not have the key. Slots move when one is added. */
void *wmk_read_table_find(const struct wmk_read_table *table, uint64_t a, uint64_t b);
/* The slot of the key; a new one is all zeros behind the key. NULL: no memory. */
void *wmk_read_table_add(struct wmk_read_table *table, uint64_t a, uint64_t b);
/* The next used slot behind `slot`, the first if NULL; NULL at the end. */
void *wmk_read_table_next(const struct wmk_read_table *table, const void *slot);
void wmk_read_table_free(struct wmk_read_table *table);

#endif
