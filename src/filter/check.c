/* SPDX-License-Identifier: MIT */
/*
 * check.c - check an expression against an event class: look up its names, derive the types of all nodes, and check
 * the operands of each operator.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/nearest.h"
#include "filter/compile.h"

int wmk_filter_wrong(const struct wmk_filter_expr *expr, const struct wmk_node *node, const char *what)
{
	return wmk_errorx(-EINVAL, "column %u, '%.*s': %s", node->column, node->len > 40 ? 40 : (int)node->len,
			  expr->text + node->column - 1, what);
}

static int wrong(const struct wmk_compiler *c, const struct wmk_node *node, const char *what)
{
	return wmk_filter_wrong(c->expr, node, what);
}

static bool same_name(const struct wmk_filter_name *a, const struct wmk_filter_name *b)
{
	if (a->scope != b->scope || a->n_steps != b->n_steps)
		return false;
	for (unsigned i = 0; i < a->n_steps; i++) {
		if (!a->steps[i].name != !b->steps[i].name || a->steps[i].index != b->steps[i].index)
			return false;
		if (a->steps[i].name && strcmp(a->steps[i].name, b->steps[i].name) != 0)
			return false;
	}
	return true;
}

static bool is_asked_for(const struct wmk_filter_expr *expr, const struct wmk_filter_name *name)
{
	for (const struct wmk_node *node = expr->names; node; node = node->next_name)
		if (node->kind == WMK_NODE_EXISTS && same_name(&node->name, name))
			return true;
	return false;
}

unsigned wmk_filter_n_names(const struct wmk_filter_expr *expr)
{
	return expr->n_names;
}

const struct wmk_filter_name *wmk_filter_name_of(const struct wmk_filter_expr *expr, unsigned number)
{
	return &expr->by_number[number]->name;
}

bool wmk_filter_name_is_tested(const struct wmk_filter_expr *expr, unsigned number)
{
	return is_asked_for(expr, wmk_filter_name_of(expr, number));
}

int wmk_filter_name_wrong(const struct wmk_filter_expr *expr, unsigned number, const char *what)
{
	return wmk_filter_wrong(expr, expr->by_number[number], what);
}

static int add_input(struct wmk_compiler *c, const struct wmk_node *node, const struct wmk_filter_input *input)
{
	uint32_t i = 0;

	while (i < c->n_inputs && memcmp(&c->inputs[i], input, sizeof(*input)) != 0)
		i++;
	if (i == c->n_inputs) {
		if (i == WMK_FILTER_INPUTS_MAX)
			return wmk_errorx(-E2BIG, "the filter reads more than %u fields", WMK_FILTER_INPUTS_MAX);
		c->inputs[c->n_inputs++] = *input;
	}
	wmk_typed_of(c, node)->input = (uint8_t)i;
	wmk_typed_of(c, node)->is_input = true;
	return 0;
}

static int look_up(struct wmk_compiler *c, const struct wmk_node *node)
{
	struct wmk_filter_found found = { .text = NULL };
	struct wmk_typed *typed = wmk_typed_of(c, node);
	const bool asks = node->kind == WMK_NODE_EXISTS;
	char what[120];

	c->lookup(c->data, &node->name, &found);
	*typed = (struct wmk_typed){ .type = found.text ? WMK_FILTER_TEXT : found.input.type,
				     .may_lack = found.may_lack,
				     .labels = found.labels,
				     .n_labels = found.n_labels,
				     .is_unsigned = found.is_unsigned,
				     .text = found.text };
	typed->is_there = typed->type != WMK_FILTER_ABSENT || found.no_operand;
	if (asks) {
		typed->type = WMK_FILTER_SIGNED;
		typed->n_labels = 0;
	}
	if (found.no_operand && !asks && c->strictness != WMK_FILTER_LAX) {
		snprintf(what, sizeof(what), "the operand is %s, not a number or a text", found.no_operand);
		return wrong(c, node, what);
	}
	if (found.no_operand && !asks) {
		typed->type = WMK_FILTER_ABSENT;
		return 0;
	}
	if (!typed->is_there && c->strictness == WMK_FILTER_STRICT && !asks && !is_asked_for(c->expr, &node->name))
		return wrong(c, node,
			     node->name.scope == WMK_FILTER_CONTEXT ? "there is no such context"
								    : "the event has no such field");
	return found.input.type == WMK_FILTER_ABSENT ? 0 : add_input(c, node, &found.input);
}

bool wmk_filter_literal(const struct wmk_node *node, uint64_t *bits)
{
	if (node->kind == WMK_NODE_NUMBER) {
		*bits = node->number;
		return true;
	}
	if (node->kind != WMK_NODE_NEGATE || node->left->kind != WMK_NODE_NUMBER || node->left->in_parentheses)
		return false;
	*bits = -node->left->number;
	return true;
}

/* ── operators ───────────────────────────────────────────────────────────────────────────────────────── */

static bool is_number(unsigned type)
{
	return type == WMK_FILTER_SIGNED || type == WMK_FILTER_UNSIGNED || type == WMK_FILTER_DOUBLE;
}

/* An operand of a wrong type is an error; with WMK_FILTER_LAX, the operand is absent instead. */
static int unfit(const struct wmk_compiler *c, const struct wmk_node *node, const char *what)
{
	if (c->strictness != WMK_FILTER_LAX)
		return wrong(c, node, what);
	wmk_typed_of(c, node)->type = WMK_FILTER_ABSENT;
	return 0;
}

static int need_number(const struct wmk_compiler *c, const struct wmk_node *node, bool whole)
{
	const unsigned type = wmk_typed_of(c, node)->type;

	if (type == WMK_FILTER_TEXT)
		return unfit(c, node, "the operator needs a number: a text can only be compared");
	if (whole && type == WMK_FILTER_DOUBLE)
		return unfit(c, node, "the operator needs a whole number, but the operand has a fraction");
	return 0;
}

/* Return the result type of an arithmetic operation on operands of types `a` and `b`. */
static unsigned common(unsigned a, unsigned b)
{
	if (a == WMK_FILTER_ABSENT || b == WMK_FILTER_ABSENT)
		return WMK_FILTER_ABSENT;
	if (a == WMK_FILTER_DOUBLE || b == WMK_FILTER_DOUBLE)
		return WMK_FILTER_DOUBLE;
	return a == WMK_FILTER_UNSIGNED || b == WMK_FILTER_UNSIGNED ? WMK_FILTER_UNSIGNED : WMK_FILTER_SIGNED;
}

/* Report an unknown label of an enumeration, such as "RUNING", together with the most similar labels. */
static int no_label(const struct wmk_compiler *c, const struct wmk_node *literal, const struct wmk_typed *of)
{
	struct wmk_nearest near;
	char word[128], names[160], what[220];

	snprintf(word, sizeof(word), "%.*s", (int)(literal->text_len > 100 ? 100 : literal->text_len), literal->text);
	wmk_nearest_init(&near, word);
	for (uint32_t i = 0; i < of->n_labels; i++)
		wmk_nearest_offer(&near, of->labels[i].name);
	wmk_nearest_text(&near, names, sizeof(names));
	snprintf(what, sizeof(what),
		 names[0] ? "the enumeration has no such label; did you mean: %s?"
			  : "the enumeration has no such label%s",
		 names);
	return wrong(c, literal, what);
}

static int check_label(const struct wmk_compiler *c, const struct wmk_node *literal, const struct wmk_typed *of)
{
	for (uint32_t i = 0; i < of->n_labels; i++) {
		const struct wmk_filter_text name = { of->labels[i].name, SIZE_MAX };

		if (wmk_filter_match(literal->text, literal->text_len, &name))
			return 0;
	}
	return c->strictness >= WMK_FILTER_TYPES ? no_label(c, literal, of) : 0;
}

/*
 * Check that `a` and `b` can be compared. `equal`: the operator is == or !=. Operands of different types are an error;
 * with WMK_FILTER_LAX, `b` becomes absent instead. Two errors do not depend on WMK_FILTER_LAX: a text with * in an
 * ordering, and a comparison of two literals.
 */
static int check_comparison(const struct wmk_compiler *c, const struct wmk_node *node, const struct wmk_node *a,
			    const struct wmk_node *b, bool equal)
{
	const struct wmk_typed *ta = wmk_typed_of(c, a), *tb = wmk_typed_of(c, b);

	if (ta->type == WMK_FILTER_ABSENT || tb->type == WMK_FILTER_ABSENT)
		return 0;
	if (!equal && ((a->kind == WMK_NODE_TEXT && a->has_star) || (b->kind == WMK_NODE_TEXT && b->has_star)))
		return wrong(c, node, "a text with * can only be compared with == or != (write \\* for a star)");
	if (a->kind == WMK_NODE_TEXT && b->kind == WMK_NODE_TEXT)
		return wrong(c, node, "both sides are literal texts");
	if (ta->type == WMK_FILTER_TEXT && tb->type == WMK_FILTER_TEXT)
		return 0;
	if (is_number(ta->type) && is_number(tb->type))
		return 0;
	if (equal && ta->n_labels && b->kind == WMK_NODE_TEXT)
		return check_label(c, b, ta);
	if (equal && tb->n_labels && a->kind == WMK_NODE_TEXT)
		return check_label(c, a, tb);
	wmk_typed_of(c, b)->type = WMK_FILTER_ABSENT;
	return c->strictness == WMK_FILTER_LAX ? 0 : wrong(c, node, "cannot compare a number with a text");
}

/*
 * Check the operator `in`; the items of its list are literals. If no item of the list is comparable with the value, the
 * result is absent.
 */
static int check_list(struct wmk_compiler *c, const struct wmk_node *node, unsigned *type)
{
	int err = 0;

	*type = WMK_FILTER_ABSENT;
	for (const struct wmk_node *item = node->right; item && err >= 0; item = item->next) {
		err = check_comparison(c, node, node->left, item, true);
		if (wmk_typed_of(c, item)->type != WMK_FILTER_ABSENT)
			*type = WMK_FILTER_SIGNED;
	}
	if (wmk_typed_of(c, node->left)->type == WMK_FILTER_ABSENT)
		*type = WMK_FILTER_ABSENT;
	return err;
}

static int check_unary(struct wmk_compiler *c, const struct wmk_node *node, unsigned *type)
{
	const struct wmk_node *in = node->left;
	int err = need_number(c, in, node->kind == WMK_NODE_COMPLEMENT);

	*type = wmk_typed_of(c, in)->type;
	if (node->kind == WMK_NODE_NOT && *type != WMK_FILTER_ABSENT)
		*type = WMK_FILTER_SIGNED;
	if (node->kind == WMK_NODE_NEGATE && in->kind == WMK_NODE_NUMBER && !in->in_parentheses) {
		if (in->number > (uint64_t)INT64_MAX + 1)
			return wrong(c, node, "the number is below -9223372036854775808");
		*type = WMK_FILTER_SIGNED;
	}
	return err;
}

/* Check == != < <= > >= */
static int check_relation(const struct wmk_compiler *c, const struct wmk_node *node, unsigned *type)
{
	int err = check_comparison(c, node, node->left, node->right,
				   node->kind == WMK_NODE_EQ || node->kind == WMK_NODE_NE);

	*type = WMK_FILTER_SIGNED;
	if (wmk_typed_of(c, node->left)->type == WMK_FILTER_ABSENT ||
	    wmk_typed_of(c, node->right)->type == WMK_FILTER_ABSENT)
		*type = WMK_FILTER_ABSENT;
	return err;
}

static int check_binary(const struct wmk_compiler *c, const struct wmk_node *node, unsigned *type)
{
	const bool is_shift = node->kind == WMK_NODE_SHL || node->kind == WMK_NODE_SHR;
	const bool whole = is_shift || node->kind == WMK_NODE_MOD || node->kind == WMK_NODE_AND ||
			   node->kind == WMK_NODE_OR || node->kind == WMK_NODE_XOR;
	const struct wmk_typed *a = wmk_typed_of(c, node->left), *b = wmk_typed_of(c, node->right);
	int err = need_number(c, node->left, whole);

	if (err >= 0)
		err = need_number(c, node->right, whole);
	if (node->kind == WMK_NODE_LAND || node->kind == WMK_NODE_LOR)
		*type = WMK_FILTER_SIGNED;
	else if (is_shift)
		*type = b->type == WMK_FILTER_ABSENT ? WMK_FILTER_ABSENT : a->type;
	else
		*type = common(a->type, b->type);
	return err;
}

static int check_choice(struct wmk_compiler *c, const struct wmk_node *node, unsigned *type)
{
	int err = need_number(c, node->left, false);

	if (err >= 0)
		err = need_number(c, node->right, false);
	if (err >= 0)
		err = need_number(c, node->other, false);
	const unsigned a = wmk_typed_of(c, node->right)->type, b = wmk_typed_of(c, node->other)->type;

	*type = a == WMK_FILTER_ABSENT ? b : b == WMK_FILTER_ABSENT ? a : common(a, b);
	if (wmk_typed_of(c, node->left)->type == WMK_FILTER_ABSENT)
		*type = WMK_FILTER_ABSENT;
	return err;
}

/* Check `node` and its operands. */
static int check(struct wmk_compiler *c, const struct wmk_node *node)
{
	unsigned type = WMK_FILTER_SIGNED;
	int err = node->left ? check(c, node->left) : 0;

	for (const struct wmk_node *in = node->right; in && err >= 0; in = node->kind == WMK_NODE_IN ? in->next : NULL)
		err = check(c, in);
	if (node->other && err >= 0)
		err = check(c, node->other);
	if (err < 0)
		return err;
	switch (node->kind) {
	case WMK_NODE_NAME: case WMK_NODE_EXISTS:
		return look_up(c, node);
	case WMK_NODE_NUMBER:
		type = node->is_unsigned ? WMK_FILTER_UNSIGNED : WMK_FILTER_SIGNED;
		break;
	case WMK_NODE_DOUBLE:
		type = WMK_FILTER_DOUBLE;
		break;
	case WMK_NODE_TEXT:
		type = WMK_FILTER_TEXT;
		break;
	case WMK_NODE_PLUS: case WMK_NODE_NEGATE: case WMK_NODE_COMPLEMENT: case WMK_NODE_NOT:
		err = check_unary(c, node, &type);
		break;
	case WMK_NODE_LT: case WMK_NODE_LE: case WMK_NODE_GT: case WMK_NODE_GE: case WMK_NODE_EQ: case WMK_NODE_NE:
		err = check_relation(c, node, &type);
		break;
	case WMK_NODE_IN:
		err = check_list(c, node, &type);
		break;
	case WMK_NODE_CHOOSE:
		err = check_choice(c, node, &type);
		break;
	default:
		err = check_binary(c, node, &type);
		break;
	}
	*wmk_typed_of(c, node) = (struct wmk_typed){ .type = (uint8_t)type };
	return err;
}

int wmk_filter_check(struct wmk_compiler *c)
{
	int err = check(c, c->expr->root);

	return err < 0 ? err : need_number(c, c->expr->root, false);
}
