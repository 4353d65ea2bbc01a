/* SPDX-License-Identifier: MIT */
/*
 * filter_split.c - splits the filters of an event between the kernel and the consumer (see filter_split.h).
 *
 *     one expression      a && b && c     the program omits the conditions that the kernel's text expresses exactly
 *     several             the kernel gets the translatable part of each, joined by ||; if that is not equivalent,
 *                         the program has all expressions completely
 */
#include "kernel/event/filter_split.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ctf/writer.h"
#include "kernel/event/filter_term.h"

/* ── names ───────────────────────────────────────────────────────────────────────────────────────────── */

static void set(struct wmk_filter_found *found, const struct wmk_type *type, unsigned scope, uint32_t number,
		uint64_t index)
{
	const unsigned operand = wmk_filter_type_of(type);

	if (operand == WMK_FILTER_ABSENT) {
		found->no_operand = type->kind == WMK_TYPE_BLOB     ? "bytes"
				    : type->kind == WMK_TYPE_STRUCT ? "a structure"
								    : "an array";
		return;
	}
	found->input = (struct wmk_filter_input){ (uint8_t)operand, (uint8_t)scope, (uint16_t)number, (uint32_t)index };
	wmk_filter_found_labels(found, type);
}

static void set_element(struct wmk_filter_found *found, const struct wmk_type *type, uint32_t number, uint64_t index)
{
	if ((type->kind != WMK_TYPE_ARRAY && type->kind != WMK_TYPE_SEQUENCE) || index > UINT32_MAX)
		return;
	if (wmk_filter_type_of(type->elem) == WMK_FILTER_TEXT) {
		found->no_operand = "a text in an array";
		return;
	}
	set(found, type->elem, WMK_FILTER_FIELD, number, index);
	found->may_lack = true;
}

void wmk_kfilter_look_up(void *data, const struct wmk_filter_name *name, struct wmk_filter_found *found)
{
	const struct wmk_event_class *class = data;
	const struct wmk_filter_step *step = name->steps;

	if (name->scope == WMK_FILTER_EVENT) {
		found->text = class->name;
		return;
	}
	if (name->scope == WMK_FILTER_CONTEXT) {
		const struct wmk_ctf_context *context =
			name->n_steps == 1 && step->name ? wmk_ctf_context_find(step->name) : NULL;

		if (context && context->domains & WMK_CONTEXT_KERNEL)
			set(found, &context->field.type, WMK_FILTER_CONTEXT, context->number, 0);
		return;
	}
	for (uint32_t i = 0; i < class->n_fields; i++) {
		if (strcmp(class->fields[i].name, step->name) != 0)
			continue;
		if (name->n_steps == 1)
			set(found, &class->fields[i].type, WMK_FILTER_FIELD, i, 0);
		else if (name->n_steps == 2 && !step[1].name)
			set_element(found, &class->fields[i].type, i, step[1].index);
		return;
	}
}

bool wmk_kfilter_has_context(const uint8_t *contexts, unsigned n_contexts, unsigned number)
{
	for (unsigned i = 0; i < n_contexts; i++)
		if (contexts[i] == number)
			return true;
	return number == WMK_CONTEXT_TID || number == WMK_CONTEXT_CPU_ID;
}

/* Checks that the channel has the contexts that the consumer daemon's part of the filter reads. */
static int check_contexts(const struct wmk_kterms *terms, const struct wmk_node *node)
{
	const struct wmk_typed *typed = wmk_typed_of(&terms->c, node);
	int err = 0;

	if (node->kind == WMK_NODE_NAME || node->kind == WMK_NODE_EXISTS) {
		const struct wmk_filter_input *input = &terms->c.inputs[typed->input];

		if (typed->is_input && input->scope == WMK_FILTER_CONTEXT &&
		    !wmk_kfilter_has_context(terms->event->contexts, terms->event->n_contexts, input->number))
			return wmk_filter_wrong(terms->c.expr, node,
						"the channel does not record this context (use add-context or "
						"record -c)");
		return 0;
	}
	if (node->left)
		err = check_contexts(terms, node->left);
	for (const struct wmk_node *in = node->right; in && err == 0; in = node->kind == WMK_NODE_IN ? in->next : NULL)
		err = check_contexts(terms, in);
	return node->other && err == 0 ? check_contexts(terms, node->other) : err;
}

/* ── one expression ──────────────────────────────────────────────────────────────────────────────────── */

struct one {
	struct wmk_kterms terms;
	struct wmk_filter_expr rest;     /* the same expression with another root: the part that the program tests */
	struct wmk_node *joins;          /* nodes that replace nodes of the expression */
	unsigned n_joins;
	struct wmk_kterm term;
};

/*
 * Returns the rest of the condition, which the filter text for the kernel does not express; NULL: the text expresses
 * the whole condition.
 */
static struct wmk_node *split(struct one *one, struct wmk_node *node, struct wmk_kterm *term)
{
	struct wmk_kterm left, right;

	if (node->kind != WMK_NODE_LAND) {
		*term = wmk_kterm_of(&one->terms, node);
		return term->exact ? NULL : node;
	}
	struct wmk_node *a = split(one, node->left, &left), *b = split(one, node->right, &right);

	const bool both = left.kind >= WMK_KTERM_TEST && right.kind >= WMK_KTERM_TEST;

	*term = wmk_kterm_and(left, right);
	/* the text would be too long for the kernel, so the text contains neither condition */
	if (both && term->kind != WMK_KTERM_AND)
		return node;
	if (!a || !b)
		return a ? a : b;
	struct wmk_node *join = &one->joins[one->n_joins++];

	*join = *node;
	join->left = a;
	join->right = b;
	return join;
}

static int one_open(struct one *one, const struct wmk_kfilter_event *event, const struct wmk_filter_expr *expr)
{
	struct wmk_compiler *c = &one->terms.c;

	*one = (struct one){ .terms = { .event = event }, .rest = *expr };
	c->expr = expr;
	c->lookup = wmk_kfilter_look_up;
	c->data = (void *)(uintptr_t)event->class;
	c->strictness = WMK_FILTER_LAX;
	c->typed = calloc(expr->n_nodes, sizeof(*c->typed));
	one->joins = calloc(expr->n_nodes, sizeof(*one->joins));
	if (!c->typed || !one->joins)
		return wmk_error(-ENOMEM, "cannot make a filter: no memory");
	int err = wmk_filter_check(c);

	if (err == 0)
		one->rest.root = split(one, expr->root, &one->term);
	return err;
}

static void one_close(struct one *one)
{
	wmk_kterm_free(&one->term);
	free(one->terms.c.typed);
	free(one->joins);
}

/* ── all expressions ─────────────────────────────────────────────────────────────────────────────────── */

static int program_make(const struct wmk_kfilter_event *event, const struct wmk_filter_expr *const *exprs, unsigned n,
			struct wmk_kfilter_made *made)
{
	struct wmk_filter_program *program;
	int err = wmk_filter_compile(exprs, n, wmk_kfilter_look_up, (void *)(uintptr_t)event->class, WMK_FILTER_LAX,
				     &program);

	if (err < 0)
		return err;
	uint8_t *bytes, *words = NULL;
	const long len = wmk_filter_encode(program, &bytes);

	wmk_filter_program_free(program);
	if (len < 0)
		return (int)len;
	words = calloc(((size_t)len + 7) / 8, 8);
	if (words)
		memcpy(words, bytes, (size_t)len);
	free(bytes);
	made->program = words;
	made->len = words ? (uint32_t)len : 0;
	return words ? 0 : wmk_error(-ENOMEM, "cannot make a filter: no memory");
}

/*
 * Builds the filter program that the consumer daemon runs. For a single expression, the program contains only the part
 * that the kernel's filter does not express. For several expressions, the program contains each whole expression.
 */
static int rest_make(struct one *ones, const struct wmk_filter_expr *const *exprs, unsigned n,
		     struct wmk_kfilter_made *made)
{
	const struct wmk_kfilter_event *event = ones[0].terms.event;
	const struct wmk_filter_expr *rest = &ones[0].rest;
	int err = 0;

	for (unsigned i = 0; i < n && err == 0; i++)
		err = check_contexts(&ones[i].terms, n > 1 ? exprs[i]->root : ones[i].rest.root);
	if (err < 0)
		return err;
	return n > 1 ? program_make(event, exprs, n, made) : program_make(event, &rest, 1, made);
}

static int made_of(struct one *ones, const struct wmk_filter_expr *const *exprs, unsigned n,
		   struct wmk_kfilter_made *made)
{
	struct wmk_kterm all = wmk_kterm_and((struct wmk_kterm){ .kind = WMK_KTERM_FALSE, .exact = true },
					     (struct wmk_kterm){ .kind = WMK_KTERM_TRUE });

	for (unsigned i = 0; i < n; i++) {
		all = wmk_kterm_or(all, ones[i].term);
		ones[i].term = (struct wmk_kterm){ .kind = WMK_KTERM_TRUE };
	}
	if (all.kind <= WMK_KTERM_FALSE) {
		made->never = true;
		return 0;
	}
	made->text = all.text;
	return all.exact ? 0 : rest_make(ones, exprs, n, made);
}

int wmk_kfilter_make(const struct wmk_kfilter_event *event, const struct wmk_filter_expr *const *exprs, unsigned n,
		     struct wmk_kfilter_made *made)
{
	struct one *ones;
	unsigned opened = 0;
	int err = 0;

	*made = (struct wmk_kfilter_made){ .never = n == 0 };
	if (n > WMK_KFILTER_EXPRS_MAX)
		return wmk_errorx(-E2BIG, "too many filters of one event: the limit is %u", WMK_KFILTER_EXPRS_MAX);
	if (n == 0)
		return 0;
	ones = calloc(n, sizeof(*ones));
	if (!ones)
		return wmk_error(-ENOMEM, "cannot make a filter: no memory");
	while (opened < n && err == 0)
		err = one_open(&ones[opened], event, exprs[opened]), opened++;
	if (err == 0)
		err = made_of(ones, exprs, n, made);
	for (unsigned i = 0; i < opened; i++)
		one_close(&ones[i]);
	free(ones);
	if (err < 0)
		wmk_kfilter_made_free(made);
	return err;
}

bool wmk_kfilter_made_same(const struct wmk_kfilter_made *a, const struct wmk_kfilter_made *b)
{
	return a->never == b->never && a->len == b->len && (!a->len || memcmp(a->program, b->program, a->len) == 0) &&
	       strcmp(a->text ? a->text : "", b->text ? b->text : "") == 0;
}

void wmk_kfilter_made_free(struct wmk_kfilter_made *made)
{
	free(made->text);
	free(made->program);
	*made = (struct wmk_kfilter_made){ .text = NULL };
}
