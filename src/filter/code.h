/* SPDX-License-Identifier: MIT */
/*
 * code.h - generation of filter instructions. Private to src/filter.
 *
 *     emit.c    instructions, labels, constants, texts of the pool
 *     compare.c comparisons, by the types of both operands
 *     compile.c conditions, values, whole programs
 *
 * code->err keeps the first error. After an error, the functions add no more code, so a caller checks code->err only
 * once, at the end.
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
	uint32_t labels[WMK_CODE_LABELS]; /* instruction of each label; WMK_CODE_NOWHERE: not placed yet */
	uint32_t n_labels;
	uint32_t top;              /* the next free register */
	uint32_t absent;           /* label of the code to run when a value is absent */
	char pool[WMK_FILTER_POOL_MAX];
	uint32_t pool_bytes;
	int err;                   /* the first error; if set, no code is added */
};

/* The location of a value in the program: a constant or a register. */
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
/* Place the label at the next instruction. */
void wmk_code_here(struct wmk_code *code, uint32_t label);
/*
 * Jump to label `to`, unless `to` equals `next`, which is the label of the next instruction. `next` is WMK_CODE_NOWHERE
 * if the label of the next instruction is unknown.
 */
void wmk_code_jump(struct wmk_code *code, uint32_t to, uint32_t next);
/* Allocate a register. The caller frees the register when it restores an earlier value of code->top. */
uint8_t wmk_code_register(struct wmk_code *code);
/*
 * Emit the conditional jump `op` with operands `a` and `b`: control continues at label `yes` or `no`. The code of label
 * `next` directly follows the jump.
 */
void wmk_code_branch(struct wmk_code *code, unsigned op, uint8_t a, struct wmk_place b, uint32_t yes, uint32_t no,
		     uint32_t next);
struct wmk_place wmk_code_constant(unsigned type, uint64_t bits);
struct wmk_place wmk_code_real(double value);
uint8_t wmk_code_in_register(struct wmk_code *code, struct wmk_place at);
/* Convert to a type. A conversion between a signed and an unsigned number keeps the bits. */
struct wmk_place wmk_code_as(struct wmk_code *code, struct wmk_place at, unsigned type);
uint32_t wmk_code_pool(struct wmk_code *code, const char *text, uint32_t len);
/* Append a pattern without wildcards to the pool as plain text, with its escapes removed. */
uint32_t wmk_code_pool_plain(struct wmk_code *code, const struct wmk_node *node, uint32_t *len);
/* If some records do not have the input, emit a jump to code->absent, which only such records take. */
void wmk_code_need(struct wmk_code *code, const struct wmk_typed *of);

/* ── compare.c ───────────────────────────────────────────────────────────────────────────────────────── */

/* `kind`: WMK_NODE_LT to WMK_NODE_NE. */
void wmk_code_compare(struct wmk_code *code, unsigned kind, const struct wmk_node *a, const struct wmk_node *b,
		      uint32_t yes, uint32_t no, uint32_t next);
void wmk_code_compare_numbers(struct wmk_code *code, unsigned kind, struct wmk_place a, struct wmk_place b,
			      uint32_t yes, uint32_t no, uint32_t next);

/* ── compile.c ───────────────────────────────────────────────────────────────────────────────────────── */

/* Emit the numeric value of a node that is not of type ABSENT. */
struct wmk_place wmk_code_value(struct wmk_code *code, const struct wmk_node *node);

#endif
