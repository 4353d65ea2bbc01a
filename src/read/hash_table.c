/* SPDX-License-Identifier: MIT */
/* hash_table.c - open addressing, with at most half of the slots in use (see hash_table.h). */
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "read/hash_table.h"

/*
 * This is the final mixing step of the generator splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
 * generators, 2014).
 */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* Return the slot of the key, or the free slot for the key. */
static struct wmk_read_slot *slot_of(const struct wmk_read_table *table, uint64_t a, uint64_t b)
{
	struct wmk_read_slot *slot;
	uint64_t at = mix(mix(a + table->seed[0]) + b + table->seed[1]);

	do
		slot = (struct wmk_read_slot *)(void *)(table->slots + (at++ & (table->cap - 1)) * table->size);
	while (slot->is_used && (slot->a != a || slot->b != b));
	return slot;
}

void *wmk_read_table_find(const struct wmk_read_table *table, uint64_t a, uint64_t b)
{
	struct wmk_read_slot *slot = table->cap ? slot_of(table, a, b) : NULL;

	return slot && slot->is_used ? slot : NULL;
}

void *wmk_read_table_next(const struct wmk_read_table *table, const void *slot)
{
	char *at = slot ? table->slots + ((const char *)slot - table->slots) + table->size : table->slots;

	for (; table->cap && at < table->slots + table->cap * table->size; at += table->size)
		if (((struct wmk_read_slot *)(void *)at)->is_used)
			return at;
	return NULL;
}

static bool grow(struct wmk_read_table *table)
{
	struct wmk_read_table larger = { .size = table->size, .n = table->n, .cap = table->cap ? 2 * table->cap : 64 };
	const struct wmk_read_slot *old = NULL;

	memcpy(larger.seed, (const void *)getauxval(AT_RANDOM), sizeof(larger.seed));
	larger.slots = calloc(larger.cap, larger.size);
	if (!larger.slots)
		return false;
	while ((old = wmk_read_table_next(table, old)))
		memcpy(slot_of(&larger, old->a, old->b), old, table->size);
	free(table->slots);
	*table = larger;
	return true;
}

void *wmk_read_table_add(struct wmk_read_table *table, uint64_t a, uint64_t b)
{
	struct wmk_read_slot *slot;

	if (table->n * 2 >= table->cap && !grow(table))
		return NULL;
	slot = slot_of(table, a, b);
	if (!slot->is_used) {
		*slot = (struct wmk_read_slot){ true, a, b };
		table->n++;
	}
	return slot;
}

void wmk_read_table_free(struct wmk_read_table *table)
{
	free(table->slots);
	*table = (struct wmk_read_table){ .size = table->size };
}
