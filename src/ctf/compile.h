/* SPDX-License-Identifier: MIT */
/*
 * compile.h - what the files that make and run decode programs tell each other. Internal to src/ctf.
 *
 *     compile.c   types ─► operations
 *     field_ref.c     whose value is needed where
 *     fixed_runs.c     operations ─► steps: the quick way to a structure's end; and that way
 *     event_header.c    event headers ─► plans: where id and time are; and the record
 *     variant_select.c    what a selector's value selects, of many choices
 *     labels.c    the label of a value, of many
 *     decode.c    the walk from value to value
 */
#ifndef WMK_CTF_COMPILE_H
#define WMK_CTF_COMPILE_H

#include "ctf/decode.h"
#include "schema/scratch.h"

/*
 * Registers of the trace's packet header, of what a stream class has, and of what an event class has: nobody's meet
 * another's.
 */
#define WMK_CTF_REGISTERS_STREAM 16u
#define WMK_CTF_REGISTERS_EVENT 32u

enum wmk_ctf_fixed_run_code {
	WMK_CTF_STEP_ADD,          /* so many bits */
	WMK_CTF_STEP_VALUE,        /* the number of an operation, into its register */
	WMK_CTF_STEP_STRING,
	WMK_CTF_STEP_RUN,          /* a register's count of so many bits each */
	WMK_CTF_STEP_WALK,         /* all of an operation, as wmk_ctf_next() goes */
};

struct wmk_ctf_fixed_run {
	uint8_t code;
	uint16_t reg;
	uint32_t align;            /* bits, before it */
	uint32_t op;
	uint64_t bits;
};

/* Into scratch memory. -ENOMEM. */
int wmk_ctf_fixed_runs_make(struct wmk_scratch *scratch, struct wmk_ctf_program *program);
void wmk_ctf_measure_event(const struct wmk_ctf_program *common, struct wmk_ctf_event_decoder *event);
int wmk_ctf_header_plan_make(struct wmk_scratch *scratch, struct wmk_ctf_stream_decoder *stream);

/* Read the number of a scalar operation at walk->at, which is aligned, and step over it. */
int wmk_ctf_number(struct wmk_ctf_walk *walk, const struct wmk_ctf_op *op, uint64_t *value);
/* One operation and all that is in it. */
int wmk_ctf_walk_over(struct wmk_ctf_walk *walk, const struct wmk_ctf_op *ops, uint32_t op);

/* So many choices are looked at one after the other: no search is quicker. */
#define WMK_CTF_CHOICES_FEW 16u

/*
 * What finds the first of `n` ranges that a value fits, in wmk_ctf_selector_index_size() bytes, of which
 * wmk_ctf_selector_index_used() are needed once it is made.
 */
struct wmk_ctf_selector_index;

size_t wmk_ctf_selector_index_size(uint32_t n);
/* With `is_signed` their ends are int64_t. -ENOMEM. */
int wmk_ctf_selector_index_make(struct wmk_ctf_selector_index *chooser, bool is_signed,
				const struct wmk_ctf_choice *choices, uint32_t n);
size_t wmk_ctf_selector_index_used(const struct wmk_ctf_selector_index *chooser);
/* 1 + its index; 0: the value fits none. */
uint32_t wmk_ctf_selector_index_find(const struct wmk_ctf_selector_index *chooser, bool is_signed, uint64_t value);

/* Bytes for `n` choices at most, with what finds one among many. */
size_t wmk_ctf_choices_size(uint32_t n);
/* `choices`, of that size, has the operation's n_choices: make what finds them. -ENOMEM. */
int wmk_ctf_choices_make_index(const struct wmk_ctf_op *op, struct wmk_ctf_choice *choices);
/* The operation has more than few. */
const struct wmk_ctf_choice *wmk_ctf_variant_select_indexed(const struct wmk_ctf_op *op, uint64_t value);
/* The first choice that the value fits; NULL: none. With a signed selector they are compared as signed. */
const struct wmk_ctf_choice *wmk_ctf_variant_select(const struct wmk_ctf_op *op, uint64_t value);

#endif
