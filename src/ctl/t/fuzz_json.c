/* SPDX-License-Identifier: MIT */
/*
 * fuzz_json.c - any text as JSON of any control object; the first byte selects the object. What can be parsed can be
 * encoded, and its JSON parses to the same object.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/json.h"
#include "wire/ctl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void there_and_back(const struct wmk_object *is, const void *object, unsigned flags, struct wmk_arena *arena)
{
	void *again = malloc(is->size);
	uint8_t *x, *y;
	char *text;
	long n = wmk_object_encode(is, object, &x);

	if (!again || n < 0 || wmk_json_text(is, object, flags, &text) != 0 ||
	    wmk_json_read(is, text, strlen(text), again, arena) != 0 || wmk_object_encode(is, again, &y) != n ||
	    memcmp(x, y, (size_t)n) != 0)
		abort();
	free(x);
	free(y);
	free(text);
	free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wmk_arena arena = { 0 };

	if (size < 1)
		return 0;
	const struct wmk_request_type *c = &wmk_ctl_requests[data[0] % 32 % wmk_ctl_n_requests];
	const struct wmk_object *is = data[0] % 64 < 32 ? c->request : c->reply;
	char *text = malloc(size > 1 ? size - 1 : 1);   /* exact size, so that the sanitizer detects overreads */
	void *object = malloc(is->size);

	if (!text || !object)
		abort();
	memcpy(text, data + 1, size - 1);
	if (wmk_json_read(is, text, size - 1, object, &arena) == 0) {
		there_and_back(is, object, 0, &arena);
		there_and_back(is, object, WMK_JSON_SPARSE, &arena);
	}
	wmk_arena_free(&arena);
	free(text);
	free(object);
	return 0;
}
