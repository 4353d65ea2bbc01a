/* SPDX-License-Identifier: MIT */
/*
 * fuzz_object.c - any bytes as the body of a request or reply of clients or consumer daemons; the first byte selects
 * the type. An object that decodes encodes to the same bytes, and so does a copy of it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/t/seed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void same(const struct wmk_object *is, const void *object, const uint8_t *body, size_t len)
{
	uint8_t *bytes;
	long n = wmk_object_encode(is, object, &bytes);

	if (n < 0 || (size_t)n != len || memcmp(bytes, body, len) != 0)
		abort();
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wmk_arena arena = { 0 };

	if (size < 1)
		return 0;
	const struct wmk_object *is = seed_object(data[0]);
	size_t len = size - 1;
	uint8_t *body = malloc(len ? len : 1);   /* exact size: the sanitizer detects overreads */
	void *object = malloc(is->size), *copy = malloc(is->size);

	if (!body || !object || !copy)
		abort();
	memcpy(body, data + 1, len);
	if (wmk_object_decode(is, body, len, object, &arena) == 0) {
		same(is, object, body, len);
		if (wmk_object_copy(is, object, copy, &arena) != 0)
			abort();
		same(is, copy, body, len);
	}
	if (arena.used > WMK_ARENA_MAX)
		abort();
	wmk_arena_free(&arena);
	free(body);
	free(object);
	free(copy);
	return 0;
}
