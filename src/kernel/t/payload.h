/* SPDX-License-Identifier: MIT */
/*
 * payload.h - for tests: walk a packed payload by its class, as a reader does.
 */
#ifndef WMK_KERNEL_T_PAYLOAD_H
#define WMK_KERNEL_T_PAYLOAD_H

#include <string.h>

#include "schema/schema.h"

/* Return the end of the value at `at`; NULL: it does not match the type, or exceeds `end`. */
static inline const uint8_t *payload_skip(const struct wmk_type *type, const uint8_t *at, const uint8_t *end)
{
	uint32_t n;

	switch (type->kind) {
	case WMK_TYPE_STRING:
		at = at < end ? memchr(at, 0, (size_t)(end - at)) : NULL;
		return at ? at + 1 : NULL;
	case WMK_TYPE_SEQUENCE:
	case WMK_TYPE_BLOB:
		if (end - at < (long)sizeof(n))
			return NULL;
		memcpy(&n, at, sizeof(n));
		at += sizeof(n);
		if (type->kind == WMK_TYPE_BLOB)
			return end - at < (long)n ? NULL : at + n;
		for (; n && at; n--)
			at = payload_skip(type->elem, at, end);
		return at;
	case WMK_TYPE_STRUCT:
		for (uint32_t i = 0; i < type->count && at; i++)
			at = payload_skip(&type->members[i].type, at, end);
		return at;
	default:
		return end - at < type->width / 8 ? NULL : at + type->width / 8;
	}
}

/* Return the bytes of a field. NULL: no field of this name. */
static inline const uint8_t *payload_field(const struct wmk_event_class *class, const char *name, const uint8_t *at,
					   const uint8_t *end)
{
	for (unsigned i = 0; i < class->n_fields && at; i++) {
		if (strcmp(class->fields[i].name, name) == 0)
			return at;
		at = payload_skip(&class->fields[i].type, at, end);
	}
	return NULL;
}

/* Return whether the payload ends where the class ends. */
static inline bool payload_is_whole(const struct wmk_event_class *class, const uint8_t *at, const uint8_t *end)
{
	for (unsigned i = 0; i < class->n_fields && at; i++)
		at = payload_skip(&class->fields[i].type, at, end);
	return at == end;
}

#endif
