/* SPDX-License-Identifier: MIT */
/*
 * compile.h - what the passes over an expression share. Private as syntax_tree.h is.
 *
 *     check.c   names are looked up, types worked out and held against operators       struct wmk_typed for each node
 *     compile.c instructions: conditions as jumps, the rest as registers
 */
#ifndef WMK_FILTER_COMPILE_H
#define WMK_FILTER_COMPILE_H

#include "filter/syntax_tree.h"

/* A node, as it is in one event class. */
struct wmk_typed {
	uint8_t type;              /* enum wmk_filter_type */
	uint8_t input;             /* of a NAME that is read */
	bool is_input, may_lack;
	bool is_there;             /* EXISTS: it is, but for records that lack it */
	const struct wmk_label *labels; /* of an enumeration */
	uint32_t n_labels;
	bool is_unsigned;              /* their bounds */
	const char *text;          /* a NAME that is this text */
};

struct wmk_compiler {
	const struct wmk_filter_expr *expr;
	wmk_filter_lookup_fn *lookup;
	void *data;
	enum wmk_filter_strictness strictness;
	struct wmk_typed *typed;   /* of the expression's nodes, by their number */

	struct wmk_filter_input inputs[WMK_FILTER_INPUTS_MAX];
	uint32_t n_inputs;
};

static inline struct wmk_typed *wmk_typed_of(const struct wmk_compiler *c, const struct wmk_node *node)
{
	return &c->typed[node->number_of];
}

/* Types and inputs of the whole expression. -EINVAL, -E2BIG. */
int wmk_filter_check(struct wmk_compiler *c);
/* A chain of causes that begins with the place of `node`. Returns -EINVAL. */
int wmk_filter_wrong(const struct wmk_filter_expr *expr, const struct wmk_node *node, const char *what);
/* Is this a number that stands there, with its sign? */
bool wmk_filter_literal(const struct wmk_node *node, uint64_t *bits);

#endif
