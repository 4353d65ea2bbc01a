/* SPDX-License-Identifier: MIT */
/*
 * scratch.h - private to src/schema: memory for a draft of a class, which wmk_class_clone() copies to one allocation.
 */
#ifndef WMK_SCHEMA_SCRATCH_H
#define WMK_SCHEMA_SCRATCH_H

#include "schema/schema.h"

#define WMK_DEPTH_MAX 8          /* nesting of types */
#define WMK_ARRAY_MAX (1u << 20) /* elements of a fixed array */
#define WMK_MEMBERS_MAX 256u

/* A list of allocations that are freed together. */
struct wmk_scratch {
	struct wmk_scratch_piece *pieces;
};

/* Allocate zeroed memory, aligned for any type. NULL: no memory. */
void *wmk_scratch_alloc(struct wmk_scratch *scratch, size_t size);
/* Copy `len` bytes of `s` and append a NUL. NULL: no memory. */
char *wmk_scratch_text(struct wmk_scratch *scratch, const char *s, size_t len);
void wmk_scratch_free(struct wmk_scratch *scratch);

/* Make a deep copy as one allocation, which the caller frees with free(). Returns 0 or -ENOMEM. */
int wmk_class_clone(const struct wmk_event_class *event, struct wmk_event_class **copy);
/*
 * Check the names, levels, widths, counts, labels and depth of an event class. Returns 0, or -EPROTO with a cause
 * chain.
 */
int wmk_class_check(const struct wmk_event_class *event);

#endif
