/* SPDX-License-Identifier: MIT */
/*
 * arena.c - the memory of decoded objects (see object.h). The arena takes each allocation from the piece of memory that
 * it allocated last. All pieces are freed together. The first piece is small, and each further piece is as large as all
 * earlier pieces together, up to PIECE_MAX. With growing pieces, an empty reply uses little memory, and a large reply
 * needs few calls of malloc().
 */
#include "wire/object.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_MIN 1024u
#define PIECE_MAX 262144u

struct wmk_arena_piece {
	struct wmk_arena_piece *next;
	size_t size, used;
	_Alignas(max_align_t) uint8_t bytes[];
};

static struct wmk_arena_piece *piece_add(struct wmk_arena *arena, size_t need)
{
	size_t size = arena->used < PIECE_MIN ? PIECE_MIN : arena->used < PIECE_MAX ? arena->used : PIECE_MAX;

	if (size < need)
		size = need;
	struct wmk_arena_piece *piece = calloc(1, sizeof(*piece) + size);
	if (!piece) {
		wmk_error(-ENOMEM, "no memory for %zu bytes", size);
		return NULL;
	}
	piece->size = size;
	piece->next = arena->pieces;
	arena->pieces = piece;
	return piece;
}

void *wmk_arena_alloc(struct wmk_arena *arena, size_t size)
{
	const size_t align = _Alignof(max_align_t);
	struct wmk_arena_piece *piece = arena->pieces;

	if (size > WMK_ARENA_MAX || arena->used > WMK_ARENA_MAX - size) {
		wmk_error(-ENOMEM, "a received object exceeds the limit of %u bytes", WMK_ARENA_MAX);
		return NULL;
	}
	size = size ? (size + align - 1) / align * align : align;
	if (!piece || size > piece->size - piece->used)
		piece = piece_add(arena, size);
	if (!piece)
		return NULL;
	void *memory = piece->bytes + piece->used;
	piece->used += size;
	arena->used += size;
	return memory;
}

const char *wmk_arena_text(struct wmk_arena *arena, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	if (len == 0)
		return "";
	char *copy = wmk_arena_alloc(arena, len + 1);
	return copy ? memcpy(copy, text, len) : NULL;
}

int wmk_arena_list(struct wmk_arena *arena, struct wmk_list *list, uint32_t n, size_t size)
{
	size_t room = 1;

	if (n == 0)
		return 0;
	while (room < n)
		room *= 2;
	if (size > WMK_ARENA_MAX / room)
		return wmk_error(-ENOMEM, "%u elements of %zu bytes exceed the limit of %u bytes", n, size,
				 WMK_ARENA_MAX);
	list->items = wmk_arena_alloc(arena, room * size);
	if (!list->items)
		return -ENOMEM;
	list->n = n;
	return 0;
}

void *wmk_arena_append(struct wmk_arena *arena, struct wmk_list *list, size_t size)
{
	uint32_t n = list->n;

	if ((n & (n - 1)) == 0) {               /* 0 or a power of two: all allocated elements are in use */
		if (n > UINT32_MAX / 4 || (n && size > WMK_ARENA_MAX / 2 / n)) {
			wmk_error(-ENOMEM, "a list has more than %u elements", n);
			return NULL;
		}
		uint8_t *items = wmk_arena_alloc(arena, (n ? 2 * (size_t)n : 1) * size);
		if (!items)
			return NULL;
		if (n)
			memcpy(items, list->items, n * size);
		list->items = items;
	}
	list->n = n + 1;
	return (uint8_t *)list->items + n * size;
}

void wmk_arena_free(struct wmk_arena *arena)
{
	while (arena->pieces) {
		struct wmk_arena_piece *next = arena->pieces->next;

		free(arena->pieces);
		arena->pieces = next;
	}
	arena->used = 0;
}
