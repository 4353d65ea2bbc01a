/* SPDX-License-Identifier: MIT */
/* context.h - the context fields that a channel can add to each record. */
#ifndef WMK_TRACER_CONTEXT_H
#define WMK_TRACER_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/compiler.h"

struct wmk_context_desc {
	bool constant;                  /* never changes within a thread */
	uint32_t bytes;                 /* size of its type in schema/contexts.def ... */
	uint8_t filter_type;            /* ... and its type in a filter: enum wmk_filter_type */
	void (*fill)(void *to, const void *ip);
};
/* Return the context field with the number `number` (enum wmk_context), or NULL if the context field does not exist. */
const struct wmk_context_desc *wmk_context_get(unsigned number) WMK_HIDDEN;
/*
 * Return a key for a list of context fields if wmk_thread.ctx_cache can hold the list (all constant, whole words, not
 * too long), else 0. *words: length of the list in words. Lock held.
 */
uint16_t wmk_context_cache_key(const uint8_t *contexts, unsigned n, uint8_t *words);
/* Reset the cached context values in a forked child. */
void wmk_context_after_fork(void);
uint32_t wmk_context_tid(void);

#endif
