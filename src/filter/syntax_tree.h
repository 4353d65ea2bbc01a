/* SPDX-License-Identifier: MIT */
/*
 * syntax_tree.h - syntax trees of filter expressions. The header is private to src/filter and to src/kernel/filter*.c,
 * which translates the trees to the filter language of the kernel.
 */
#ifndef WMK_FILTER_SYNTAX_TREE_H
#define WMK_FILTER_SYNTAX_TREE_H

#include "filter/filter.h"

#define WMK_FILTER_DEPTH 64u /* levels of nested parentheses and operators */
#define WMK_FILTER_TREE 256u /* nodes from the root to a leaf; a chain of equal operators is a left-deep tree */

enum wmk_node_kind {
	WMK_NODE_NUMBER, WMK_NODE_DOUBLE, WMK_NODE_TEXT, WMK_NODE_NAME, WMK_NODE_EXISTS,
	WMK_NODE_PLUS, WMK_NODE_NEGATE, WMK_NODE_COMPLEMENT, WMK_NODE_NOT,
	WMK_NODE_MUL, WMK_NODE_DIV, WMK_NODE_MOD, WMK_NODE_ADD, WMK_NODE_SUB, WMK_NODE_SHL, WMK_NODE_SHR,
	WMK_NODE_LT, WMK_NODE_LE, WMK_NODE_GT, WMK_NODE_GE, WMK_NODE_EQ, WMK_NODE_NE,
	WMK_NODE_AND, WMK_NODE_XOR, WMK_NODE_OR, WMK_NODE_LAND, WMK_NODE_LOR,
	WMK_NODE_IN,               /* is `left` in the list that starts with `right` */
	WMK_NODE_CHOOSE,           /* `left` ? `right` : `other` */
};

struct wmk_node {
	uint8_t kind;              /* enum wmk_node_kind */
	uint16_t depth;            /* levels of the subtree, this node included */
	uint16_t number_of;        /* index of this node in its expression: 0 to n_nodes - 1 */
	uint32_t column;           /* of the operator or the first character; from 1 */
	uint32_t len;              /* number of characters, from `column`, that a message quotes */
	struct wmk_node *left, *right, *other;
	struct wmk_node *next;     /* next item of a list */
	struct wmk_node *next_name; /* NAME, EXISTS: next one in the whole expression */
	bool in_parentheses;       /* NUMBER */
	uint64_t number;           /* NUMBER */
	double real;               /* DOUBLE */
	bool is_unsigned;          /* NUMBER: above INT64_MAX */
	const char *text;          /* TEXT: a pattern, in which \ precedes a literal * or \ */
	uint32_t text_len;
	bool has_star;             /* TEXT: has a * that matches any characters */
	struct wmk_filter_name name; /* NAME, EXISTS */
};

struct wmk_filter_expr {
	struct wmk_node *root;
	struct wmk_node *names;    /* all NAME and EXISTS nodes, the last one first */
	uint32_t n_nodes, n_names;
	const struct wmk_node **by_number; /* names, by number */
	char *text;                /* copy of the source text */
	struct expr_memory {
		struct expr_memory *next;
		max_align_t bytes[];
	} *pieces;
};

/* Return the comparison for exchanged operands: `b result a` is equivalent to `a kind b`. */
unsigned wmk_node_turned(unsigned kind);
/* Allocate zeroed memory, which is freed together with the expression. NULL: no memory. */
void *wmk_filter_alloc(struct wmk_filter_expr *expr, size_t size);

/* ── lex.c ───────────────────────────────────────────────────────────────────────────────────────────── */

enum wmk_token_kind {
	WMK_TOKEN_END, WMK_TOKEN_NUMBER, WMK_TOKEN_DOUBLE, WMK_TOKEN_TEXT, WMK_TOKEN_NAME,
	WMK_TOKEN_DOLLAR,          /* $name */
	WMK_TOKEN_OP,              /* an operator; its characters are in the text at `column` */
};

struct wmk_token {
	uint8_t kind;              /* enum wmk_token_kind */
	uint32_t column, len;      /* place in the text; columns count from 1 */
	uint64_t number;
	bool is_unsigned, has_star;
	double real;
	const char *text;          /* NAME, DOLLAR (without the $): NUL-terminated; TEXT: the pattern */
	uint32_t text_len;
};

/* Read the token at *at, and advance *at past the token. 0, -EINVAL, -ENOMEM. */
int wmk_filter_lex(struct wmk_filter_expr *expr, uint32_t *at, struct wmk_token *token);

/* ── others ──────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Compare two texts by bytes; the result is less than, equal to or greater than 0. A text with length SIZE_MAX ends at
 * its NUL.
 */
int wmk_filter_order(const struct wmk_filter_text *a, const struct wmk_filter_text *b);
/* Copy a program into one allocation, which wmk_filter_program_free() frees. -ENOMEM. */
int wmk_filter_clone(const struct wmk_filter_program *program, struct wmk_filter_program **copy);

#endif
