/* SPDX-License-Identifier: MIT */
/* fuzz_event.c - any bytes as an encoded event class: rejected, or decoded to a class with the same encoding. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "schema/schema.h"

static const uint64_t key[2] = { 0x243f6a8885a308d3, 0x13198a2e03707344 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wmk_event_class *event, *again;
	size_t need = 0;

	if (wmk_event_decode(data, size, &event) < 0)
		return 0;
	wmk_event_encode(event, NULL, 0, &need);
	uint8_t *bytes = malloc(need);
	if (!bytes || wmk_event_encode(event, bytes, need, NULL) != (long)need || need != size ||
	    memcmp(bytes, data, size) != 0)
		abort();
	if (wmk_event_decode(bytes, need, &again) != 0 || !wmk_event_same(event, again) ||
	    wmk_event_hash(event, key) != wmk_event_hash(again, key))
		abort();
	wmk_event_class_free(event);
	wmk_event_class_free(again);
	free(bytes);
	return 0;
}
