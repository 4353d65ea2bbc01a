/* SPDX-License-Identifier: MIT */
/*
 * context.h - the contexts that a channel can add to each of its records.
 */
#ifndef WMK_TRACER_CONTEXT_H
#define WMK_TRACER_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/compiler.h"

struct wmk_context_desc {
	bool constant;                  /* never changes in a thread */
	uint32_t bytes;                 /* as its type in schema/contexts.def says ... */
	uint8_t filter_type;            /* ... and as a filter has it: enum wmk_filter_type */
	void (*fill)(void *to, const void *ip);
};
/* By number (enum wmk_context); NULL for one that does not exist. */
const struct wmk_context_desc *wmk_context_get(unsigned number) WMK_HIDDEN;
/*
 * A number for this list of contexts if wmk_thread.ctx_cache can hold it (all constant, whole words, not too long),
 * else 0; *words: its length. Lock held.
 */
uint16_t wmk_context_cache_key(const uint8_t *contexts, unsigned n, uint8_t *words);
/* The calling thread is in a new process now (fork). */
void wmk_context_after_fork(void);
uint32_t wmk_context_tid(void);

#endif
