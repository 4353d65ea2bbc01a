/* SPDX-License-Identifier: MIT */
/*
 * parse.c - parse tokens to a tree by precedence climbing; precedences are those of C11, 6.5.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "filter/syntax_tree.h"

struct filter_parser {
	struct wmk_filter_expr *expr;
	struct wmk_token token;    /* the current token */
	uint32_t at;               /* offset in the text after the current token */
	uint32_t depth;
};

void *wmk_filter_alloc(struct wmk_filter_expr *expr, size_t size)
{
	struct expr_memory *piece = calloc(1, sizeof(*piece) + size);

	if (!piece)
		return NULL;
	piece->next = expr->pieces;
	expr->pieces = piece;
	return piece->bytes;
}

static int next(struct filter_parser *p)
{
	return wmk_filter_lex(p->expr, &p->at, &p->token);
}

static const char *text_of(const struct filter_parser *p)
{
	return p->expr->text + p->token.column - 1;
}

static bool is(const struct filter_parser *p, const char *op)
{
	return p->token.kind == WMK_TOKEN_OP && p->token.len == strlen(op) && !strncmp(text_of(p), op, p->token.len);
}

static int expected(const struct filter_parser *p, const char *what)
{
	if (p->token.kind == WMK_TOKEN_END)
		return wmk_errorx(-EINVAL, "column %u: expected %s, found the end of the filter",
				  p->token.column, what);
	return wmk_errorx(-EINVAL, "column %u: expected %s, found '%.*s'", p->token.column, what,
			  p->token.len > 40 ? 40 : (int)p->token.len, text_of(p));
}

/* Skip the operator `op`; -EINVAL if the current token is another token. */
static int take(struct filter_parser *p, const char *op)
{
	char what[8];

	if (is(p, op))
		return next(p);
	snprintf(what, sizeof(what), "'%s'", op);
	return expected(p, what);
}

static struct wmk_node *node(struct filter_parser *p, enum wmk_node_kind kind)
{
	struct wmk_node *made = wmk_filter_alloc(p->expr, sizeof(*made));

	if (!made) {
		wmk_error(-ENOMEM, "no memory for a filter");
		return NULL;
	}
	made->kind = (uint8_t)kind;
	made->depth = 1;
	made->number_of = (uint16_t)p->expr->n_nodes++;
	made->column = p->token.column;
	made->len = p->token.len;
	return made;
}

static int expression(struct filter_parser *p, struct wmk_node **result);

/* Parse any number of path steps .member and [index]. */
static int steps(struct filter_parser *p, struct wmk_node *made)
{
	struct wmk_filter_name *name = &made->name;
	int err = 0;

	while (err >= 0 && (is(p, ".") || is(p, "["))) {
		const bool is_member = is(p, ".");

		if (name->n_steps == WMK_FILTER_PATH_MAX)
			return wmk_errorx(-EINVAL, "column %u: a field has at most %u names and indexes",
					  p->token.column, WMK_FILTER_PATH_MAX);
		err = next(p);
		if (err >= 0 && p->token.kind != (is_member ? WMK_TOKEN_NAME : WMK_TOKEN_NUMBER))
			err = expected(p, is_member ? "the name of a member" : "the number of an element");
		if (err < 0)
			return err;
		name->steps[name->n_steps++] =
			(struct wmk_filter_step){ is_member ? p->token.text : NULL, p->token.number };
		made->len = p->token.column + p->token.len - made->column + !is_member;
		err = next(p);
		if (err >= 0 && !is_member)
			err = take(p, "]");
	}
	return err;
}

/* Parse a name such as a.b[1], $ctx.vpid or $event; the current token is the first part of the name. */
static int field(struct filter_parser *p, enum wmk_node_kind kind, struct wmk_node **result)
{
	struct wmk_node *made = node(p, kind);
	const bool is_dollar = p->token.kind == WMK_TOKEN_DOLLAR;
	int err;

	if (!made)
		return -ENOMEM;
	made->name.number = (uint16_t)p->expr->n_names++;
	made->next_name = p->expr->names;
	p->expr->names = made;
	*result = made;
	if (!is_dollar) {
		made->name.steps[made->name.n_steps++].name = p->token.text;
		err = next(p);
		return err < 0 ? err : steps(p, made);
	}
	if (!strcmp(p->token.text, "event")) {
		made->name.scope = WMK_FILTER_EVENT;
		return next(p);
	}
	if (strcmp(p->token.text, "ctx") != 0)
		return wmk_errorx(-EINVAL, "column %u: unknown name '$%.40s': use $ctx.NAME or $event",
				  p->token.column, p->token.text);
	made->name.scope = WMK_FILTER_CONTEXT;
	err = next(p);
	if (err >= 0 && !is(p, "."))
		return expected(p, "'.' and the name of a context");
	return err < 0 ? err : steps(p, made);
}

static int exists(struct filter_parser *p, struct wmk_node **result)
{
	int err = next(p);

	if (err >= 0)
		err = take(p, "(");
	if (err >= 0 && p->token.kind != WMK_TOKEN_NAME && p->token.kind != WMK_TOKEN_DOLLAR)
		err = expected(p, "the name of a field");
	if (err >= 0)
		err = field(p, WMK_NODE_EXISTS, result);
	return err < 0 ? err : take(p, ")");
}

static int constant(struct filter_parser *p, struct wmk_node **result)
{
	struct wmk_node *made = node(p, p->token.kind == WMK_TOKEN_NUMBER   ? WMK_NODE_NUMBER
					: p->token.kind == WMK_TOKEN_DOUBLE ? WMK_NODE_DOUBLE
									    : WMK_NODE_TEXT);

	if (!made)
		return -ENOMEM;
	made->number = p->token.number;
	made->is_unsigned = p->token.is_unsigned;
	made->real = p->token.real;
	made->text = p->token.text;
	made->text_len = p->token.text_len;
	made->has_star = p->token.has_star;
	*result = made;
	return next(p);
}

/* Return whether the token `exists` is the operator, and not the name of a field. */
static bool asks(const struct filter_parser *p)
{
	const char *behind = p->expr->text + p->at;

	return !strcmp(p->token.text, "exists") && behind[strspn(behind, " \t\n\r\f\v")] == '(';
}

static int operand(struct filter_parser *p, struct wmk_node **result)
{
	int err;

	switch (p->token.kind) {
	case WMK_TOKEN_NUMBER: case WMK_TOKEN_DOUBLE: case WMK_TOKEN_TEXT:
		return constant(p, result);
	case WMK_TOKEN_NAME:
		return asks(p) ? exists(p, result) : field(p, WMK_NODE_NAME, result);
	case WMK_TOKEN_DOLLAR:
		return field(p, WMK_NODE_NAME, result);
	default:
		break;
	}
	if (!is(p, "("))
		return expected(p, "a field, a number or a \"text\"");
	err = next(p);
	if (err >= 0)
		err = expression(p, result);
	if (err >= 0)
		(*result)->in_parentheses = true;
	return err < 0 ? err : take(p, ")");
}

/* Compute and check the depth of a node with complete operands. */
static int close(const struct filter_parser *p, struct wmk_node *made)
{
	const struct wmk_node *const in[] = { made->left, made->right, made->other };

	for (size_t i = 0; i < WMK_ARRAY_LEN(in); i++)
		for (const struct wmk_node *at = in[i]; at; at = made->kind == WMK_NODE_IN && i == 1 ? at->next : NULL)
			if (made->depth <= at->depth)
				made->depth = (uint16_t)(at->depth + 1);
	if (made->depth > WMK_FILTER_TREE)
		return wmk_errorx(-EINVAL, "column %u: more than %u operators nested or in a row",
				  p->token.column, WMK_FILTER_TREE);
	return 0;
}

static int too_deep(const struct filter_parser *p)
{
	return wmk_errorx(-EINVAL, "column %u: more than %u nested expressions", p->token.column,
			  WMK_FILTER_DEPTH);
}

static int unary(struct filter_parser *p, struct wmk_node **result)
{
	static const char ops[] = "+-~!";
	static const uint8_t kinds[] = { WMK_NODE_PLUS, WMK_NODE_NEGATE, WMK_NODE_COMPLEMENT, WMK_NODE_NOT };
	const char *found = p->token.kind == WMK_TOKEN_OP && p->token.len == 1 ? strchr(ops, *text_of(p)) : NULL;
	struct wmk_node *made;
	int err;

	if (!found)
		return operand(p, result);
	made = node(p, kinds[found - ops]);
	if (!made)
		return -ENOMEM;
	if (++p->depth > WMK_FILTER_DEPTH)
		return too_deep(p);
	err = next(p);
	if (err >= 0)
		err = unary(p, &made->left);
	p->depth--;
	*result = made;
	return err < 0 ? err : close(p, made);
}

/*
 * Return the precedence of the current token as a binary operator; 0 if the token is not a binary operator. `in` has
 * the precedence of <.
 */
static unsigned strength(const struct filter_parser *p, enum wmk_node_kind *kind)
{
	static const struct {
		const char op[3];
		uint8_t kind, strength;
	} ops[] = {
		{ "*", WMK_NODE_MUL, 10 }, { "/", WMK_NODE_DIV, 10 }, { "%", WMK_NODE_MOD, 10 },
		{ "+", WMK_NODE_ADD, 9 }, { "-", WMK_NODE_SUB, 9 },
		{ "<<", WMK_NODE_SHL, 8 }, { ">>", WMK_NODE_SHR, 8 },
		{ "<", WMK_NODE_LT, 7 }, { "<=", WMK_NODE_LE, 7 }, { ">", WMK_NODE_GT, 7 }, { ">=", WMK_NODE_GE, 7 },
		{ "==", WMK_NODE_EQ, 6 }, { "!=", WMK_NODE_NE, 6 },
		{ "&", WMK_NODE_AND, 5 }, { "^", WMK_NODE_XOR, 4 }, { "|", WMK_NODE_OR, 3 },
		{ "&&", WMK_NODE_LAND, 2 }, { "||", WMK_NODE_LOR, 1 },
	};

	if (p->token.kind == WMK_TOKEN_NAME && !strcmp(p->token.text, "in")) {
		*kind = WMK_NODE_IN;
		return 7;
	}
	for (size_t i = 0; i < WMK_ARRAY_LEN(ops); i++)
		if (is(p, ops[i].op)) {
			*kind = ops[i].kind;
			return ops[i].strength;
		}
	return 0;
}

static bool is_literal(const struct wmk_node *node)
{
	if (node->kind == WMK_NODE_NEGATE)
		node = node->left;
	else if (node->kind == WMK_NODE_TEXT)
		return true;
	return (node->kind == WMK_NODE_NUMBER || node->kind == WMK_NODE_DOUBLE) && !node->in_parentheses;
}

/* Parse a list [1, "a*", ...] of texts and of numbers with or without a sign. */
static int list(struct filter_parser *p, struct wmk_node **first)
{
	struct wmk_node **last = first;
	int err = take(p, "[");

	while (err >= 0) {
		err = unary(p, last);
		if (err < 0)
			break;
		if (!is_literal(*last))
			return wmk_errorx(-EINVAL, "column %u: a list may contain only numbers and texts",
					  (*last)->column);
		last = &(*last)->next;
		if (is(p, "]"))
			return next(p);
		err = is(p, ",") ? next(p) : expected(p, "',' or ']'");
	}
	return err;
}

static int binary(struct filter_parser *p, unsigned least, struct wmk_node **result)
{
	enum wmk_node_kind kind;
	unsigned strong;
	int err = unary(p, result);

	while (err >= 0 && (strong = strength(p, &kind)) >= least && strong) {
		struct wmk_node *made = node(p, kind);

		if (!made)
			return -ENOMEM;
		if (++p->depth > WMK_FILTER_DEPTH)
			return too_deep(p);
		made->left = *result;
		*result = made;
		err = next(p);
		if (err >= 0)
			err = kind == WMK_NODE_IN ? list(p, &made->right) : binary(p, strong + 1, &made->right);
		p->depth--;
		if (err >= 0)
			err = close(p, made);
	}
	return err;
}

static int expression(struct filter_parser *p, struct wmk_node **result)
{
	struct wmk_node *made;
	int err;

	if (++p->depth > WMK_FILTER_DEPTH)
		return too_deep(p);
	err = binary(p, 1, result);
	if (err >= 0 && is(p, "?")) {
		made = node(p, WMK_NODE_CHOOSE);
		if (!made)
			return -ENOMEM;
		made->left = *result;
		*result = made;
		err = next(p);
		if (err >= 0)
			err = expression(p, &made->right);
		if (err >= 0)
			err = take(p, ":");
		if (err >= 0)
			err = expression(p, &made->other);
		if (err >= 0)
			err = close(p, made);
	}
	p->depth--;
	return err;
}

/* Build the index of the names by their numbers. */
static int index_names(struct wmk_filter_expr *expr)
{
	expr->by_number = wmk_filter_alloc(expr, (expr->n_names + 1) * sizeof(*expr->by_number));
	if (!expr->by_number)
		return wmk_error(-ENOMEM, "no memory for a filter");
	for (const struct wmk_node *node = expr->names; node; node = node->next_name)
		expr->by_number[node->name.number] = node;
	return 0;
}

int wmk_filter_parse(const char *text, struct wmk_filter_expr **expr)
{
	struct filter_parser p = { .expr = NULL };
	int err;

	if (strnlen(text, WMK_FILTER_TEXT_MAX + 1) > WMK_FILTER_TEXT_MAX)
		return wmk_errorx(-EINVAL, "the filter has more than %u bytes", WMK_FILTER_TEXT_MAX);
	p.expr = calloc(1, sizeof(*p.expr));
	if (!p.expr || !(p.expr->text = strdup(text))) {
		free(p.expr);
		return wmk_error(-ENOMEM, "no memory for a filter");
	}
	err = next(&p);
	if (err >= 0 && p.token.kind == WMK_TOKEN_END)
		err = wmk_errorx(-EINVAL, "the filter is empty");
	if (err >= 0)
		err = expression(&p, &p.expr->root);
	if (err >= 0 && p.token.kind != WMK_TOKEN_END)
		err = expected(&p, is(&p, "=") ? "an operator (use == to compare)" : "an operator");
	if (err >= 0)
		err = index_names(p.expr);
	if (err < 0) {
		wmk_filter_expr_free(p.expr);
		return err;
	}
	*expr = p.expr;
	return 0;
}

void wmk_filter_expr_free(struct wmk_filter_expr *expr)
{
	if (!expr)
		return;
	while (expr->pieces) {
		struct expr_memory *piece = expr->pieces;

		expr->pieces = piece->next;
		free(piece);
	}
	free(expr->text);
	free(expr);
}
