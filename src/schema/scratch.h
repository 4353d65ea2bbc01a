/* SPDX-License-Identifier: MIT */
/*
 * scratch.h - private to src/schema: where a class is put together before wmk_class_clone() makes one allocation of it.
 */
#ifndef WMK_SCHEMA_SCRATCH_H
#define WMK_SCHEMA_SCRATCH_H

#include "schema/schema.h"

#define WMK_DEPTH_MAX 8          /* types within types */
#define WMK_ARRAY_MAX (1u << 20) /* elements of a fixed array */
#define WMK_MEMBERS_MAX 256u

/* Pieces that are freed together. */
struct wmk_scratch {
	struct wmk_scratch_piece *pieces;
};

/* Zeroed, aligned for anything; NULL without memory. */
void *wmk_scratch_alloc(struct wmk_scratch *scratch, size_t size);
/* `len` bytes of `s`, and a NUL behind. */
char *wmk_scratch_text(struct wmk_scratch *scratch, const char *s, size_t len);
void wmk_scratch_free(struct wmk_scratch *scratch);

/* A deep copy in one allocation, freed by free(). -ENOMEM. */
int wmk_class_clone(const struct wmk_event_class *event, struct wmk_event_class **copy);
/*
 * Everything that a class must keep to, whoever made it: names, levels, widths, counts, labels, depth. -EPROTO with
 * words.
 */
int wmk_class_check(const struct wmk_event_class *event);

#endif
