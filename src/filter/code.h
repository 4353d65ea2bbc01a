/* SPDX-License-Identifier: MIT */
/*
 * code.h - private to src/filter: instructions while they are made.
 *
 *     emit.c    one instruction, a label, a constant, a place in the pool
 *     compare.c what a comparison becomes, by the types of both sides
 *     compile.c conditions, values, the whole
 *
 * The first thing that does not fit stands in code->err; nothing is added from then on, and nobody need look before the
 * end.
 */
#ifndef WMK_FILTER_CODE_H
#define WMK_FILTER_CODE_H

#include "filter/compile.h"

#define WMK_CODE_LABELS 4096u
#define WMK_CODE_NOWHERE UINT32_MAX

struct wmk_code {
	struct wmk_compiler c;
	struct wmk_filter_insn insns[WMK_FILTER_INSNS_MAX];
	uint32_t n;
	uint32_t labels[WMK_CODE_LABELS]; /* where they are; WMK_CODE_NOWHERE: not yet */
	uint32_t n_labels;
	uint32_t top;              /* the next free register */
	uint32_t absent;           /* label */
	char pool[WMK_FILTER_POOL_MAX];
	uint32_t pool_bytes;
	int err;                   /* the first thing that did not fit; nothing is added any more */
};

/* Where a value is. */
struct wmk_place {
	bool is_constant;
	uint8_t type;              /* SIGNED, UNSIGNED, DOUBLE */
	uint8_t reg;
	uint64_t bits;
};

static inline const struct wmk_typed *wmk_code_typed(const struct wmk_code *code, const struct wmk_node *node)
{
	return wmk_typed_of(&code->c, node);
}

/* ── emit.c ──────────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_filter_insn *wmk_code_emit(struct wmk_code *code, unsigned op, unsigned dst, unsigned a, unsigned b,
				      uint32_t to);
uint32_t wmk_code_label(struct wmk_code *code);
/* The label is where the next instruction will be. */
void wmk_code_here(struct wmk_code *code, uint32_t label);
/* To `to`, unless that is `next`: what is at `next` follows at once. */
void wmk_code_jump(struct wmk_code *code, uint32_t to, uint32_t next);
/* One that is free, until code->top is set back. */
uint8_t wmk_code_register(struct wmk_code *code);
/* `op`, whose twin is its contrary, of a register and something: leads to `yes` or to `no`. */
void wmk_code_branch(struct wmk_code *code, unsigned op, uint8_t a, struct wmk_place b, uint32_t yes, uint32_t no,
		     uint32_t next);
struct wmk_place wmk_code_constant(unsigned type, uint64_t bits);
struct wmk_place wmk_code_real(double value);
uint8_t wmk_code_in_register(struct wmk_code *code, struct wmk_place at);
/* As this type. Between signed and unsigned nothing changes but the name. */
struct wmk_place wmk_code_as(struct wmk_code *code, struct wmk_place at, unsigned type);
uint32_t wmk_code_pool(struct wmk_code *code, const char *text, uint32_t len);
/* Of a pattern without a star that means anything, the text itself. */
uint32_t wmk_code_pool_plain(struct wmk_code *code, const struct wmk_node *node, uint32_t *len);
/* Of an input that a record may lack: on to code->absent where it does. */
void wmk_code_need(struct wmk_code *code, const struct wmk_typed *of);

/* ── compare.c ───────────────────────────────────────────────────────────────────────────────────────── */

/* `kind`: WMK_NODE_EQ and its like. */
void wmk_code_compare(struct wmk_code *code, unsigned kind, const struct wmk_node *a, const struct wmk_node *b,
		      uint32_t yes, uint32_t no, uint32_t next);
void wmk_code_compare_numbers(struct wmk_code *code, unsigned kind, struct wmk_place a, struct wmk_place b,
			      uint32_t yes, uint32_t no, uint32_t next);

/* ── compile.c ───────────────────────────────────────────────────────────────────────────────────────── */

/* A number; the node has a type. */
struct wmk_place wmk_code_value(struct wmk_code *code, const struct wmk_node *node);

#endif
