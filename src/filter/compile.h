/* SPDX-License-Identifier: MIT */
/*
 * compile.h - shared by the passes over an expression. Private, like syntax_tree.h.
 *
 *     check.c   look names up, derive types, check the operands of operators; fills struct wmk_typed of each node
 *     compile.c generate instructions: jumps for conditions, registers for other values
 */
#ifndef WMK_FILTER_COMPILE_H
#define WMK_FILTER_COMPILE_H

#include "filter/syntax_tree.h"

/* The attributes that a node of an expression has for one event class. */
struct wmk_typed {
	uint8_t type;              /* enum wmk_filter_type */
	uint8_t input;             /* index of the input, if is_input */
	bool is_input, may_lack;
	bool is_there;             /* EXISTS: the class has the name; may_lack: some records lack it */
	const struct wmk_label *labels; /* of an enumeration or a boolean */
	uint32_t n_labels;
	bool is_unsigned;              /* the labels' bounds are unsigned */
	const char *text;          /* NAME: a constant text */
};

struct wmk_compiler {
	const struct wmk_filter_expr *expr;
	wmk_filter_lookup_fn *lookup;
	void *data;
	enum wmk_filter_strictness strictness;
	struct wmk_typed *typed;   /* of all nodes of the expression, by number_of */

	struct wmk_filter_input inputs[WMK_FILTER_INPUTS_MAX];
	uint32_t n_inputs;
};

static inline struct wmk_typed *wmk_typed_of(const struct wmk_compiler *c, const struct wmk_node *node)
{
	return &c->typed[node->number_of];
}

/* Derive the types and the inputs of the whole expression. -EINVAL, -E2BIG. */
int wmk_filter_check(struct wmk_compiler *c);
/* Start a cause chain with the place of `node` in the text. Returns -EINVAL. */
int wmk_filter_wrong(const struct wmk_filter_expr *expr, const struct wmk_node *node, const char *what);
/*
 * Return whether the node is an integer literal, with or without a minus sign, and store the value of the literal in
 * *bits.
 */
bool wmk_filter_literal(const struct wmk_node *node, uint64_t *bits);

#endif
