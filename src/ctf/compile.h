/* SPDX-License-Identifier: MIT */
/*
 * compile.h - interfaces between the files that make and run decode programs. Internal to src/ctf.
 *
 *     compile.c          types ─► operations
 *     field_ref.c        resolve references to lengths and selectors
 *     fixed_runs.c       operations ─► steps that skip a structure; run the steps
 *     event_header.c     event headers ─► plans that read id and time; decode records
 *     variant_select.c   find the option for a selector's value among many
 *     labels.c           find the label of a value among many
 *     decode.c           walk from value to value
 */
#ifndef WMK_CTF_COMPILE_H
#define WMK_CTF_COMPILE_H

#include "ctf/decode.h"
#include "schema/scratch.h"

/*
 * The number of the first register of stream classes, and of event classes; lower registers belong to the packet header
 * of the trace.
 */
#define WMK_CTF_REGISTERS_STREAM 16u
#define WMK_CTF_REGISTERS_EVENT 32u

enum wmk_ctf_fixed_run_code {
	WMK_CTF_STEP_ADD,          /* skip `bits` */
	WMK_CTF_STEP_VALUE,        /* read the number of an operation into its register */
	WMK_CTF_STEP_STRING,
	WMK_CTF_STEP_RUN,          /* skip `bits` times the count in a register */
	WMK_CTF_STEP_WALK,         /* skip an operation with wmk_ctf_next() */
};

struct wmk_ctf_fixed_run {
	uint8_t code;
	uint16_t reg;
	uint32_t align;            /* bits; alignment before the step */
	uint32_t op;
	uint64_t bits;
};

/* The function allocates the results in scratch memory. -ENOMEM. */
int wmk_ctf_fixed_runs_make(struct wmk_scratch *scratch, struct wmk_ctf_program *program);
void wmk_ctf_measure_event(const struct wmk_ctf_program *common, struct wmk_ctf_event_decoder *event);
int wmk_ctf_header_plan_make(struct wmk_scratch *scratch, struct wmk_ctf_stream_decoder *stream);

/* Read the number of a scalar operation at the aligned position walk->at, and advance the walk. */
int wmk_ctf_number(struct wmk_ctf_walk *walk, const struct wmk_ctf_op *op, uint64_t *value);
/* Skip one operation and its contents. */
int wmk_ctf_walk_over(struct wmk_ctf_walk *walk, const struct wmk_ctf_op *ops, uint32_t op);

/* Up to this number of choices, a linear search is the fastest. */
#define WMK_CTF_CHOICES_FEW 16u

/*
 * An index for finding the first of `n` ranges that contains a value. The caller allocates
 * wmk_ctf_selector_index_size() bytes for an index. The finished index uses only the first
 * wmk_ctf_selector_index_used() bytes.
 */
struct wmk_ctf_selector_index;

size_t wmk_ctf_selector_index_size(uint32_t n);
/* If `is_signed` is true, the bounds of the ranges are int64_t values. -ENOMEM. */
int wmk_ctf_selector_index_make(struct wmk_ctf_selector_index *chooser, bool is_signed,
				const struct wmk_ctf_choice *choices, uint32_t n);
size_t wmk_ctf_selector_index_used(const struct wmk_ctf_selector_index *chooser);
/* 1 + the index of the range; 0: no range contains the value. */
uint32_t wmk_ctf_selector_index_find(const struct wmk_ctf_selector_index *chooser, bool is_signed, uint64_t value);

/* Return the size in bytes of at most `n` choices together with their index. */
size_t wmk_ctf_choices_size(uint32_t n);
/* Make the index of `choices`, which has wmk_ctf_choices_size() bytes and op->n_choices entries. -ENOMEM. */
int wmk_ctf_choices_make_index(const struct wmk_ctf_op *op, struct wmk_ctf_choice *choices);
/* Do the same as wmk_ctf_variant_select(), for an operation with more than WMK_CTF_CHOICES_FEW choices. */
const struct wmk_ctf_choice *wmk_ctf_variant_select_indexed(const struct wmk_ctf_op *op, uint64_t value);
/*
 * Return the first choice that contains the value, or NULL if no choice contains it. If the selector is signed, the
 * function compares values as signed numbers.
 */
const struct wmk_ctf_choice *wmk_ctf_variant_select(const struct wmk_ctf_op *op, uint64_t value);

#endif
