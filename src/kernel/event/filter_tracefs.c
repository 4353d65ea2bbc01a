/* SPDX-License-Identifier: MIT */
/*
 * filter_tracefs.c - translates conditions to the kernel's filter language. Operands are the kernel's fields;
 * filter_test.c makes the tests; && || ! combine them.
 *
 * A condition without a translation counts as TRUE. An expression with && or || then accepts more records, which is
 * allowed. An expression with ! would accept fewer records, so a negated condition without a translation counts as TRUE
 * as well.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/writer.h"
#include "kernel/event/filter_tracefs.h"

#define COMM_LEN 16u

/* ── terms ───────────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_kterm wmk_kterm_unknown(void)
{
	return (struct wmk_kterm){ .kind = WMK_KTERM_TRUE };
}

struct wmk_kterm wmk_kterm_constant(bool is)
{
	return (struct wmk_kterm){ .kind = is ? WMK_KTERM_TRUE : WMK_KTERM_FALSE, .exact = true };
}

void wmk_kterm_free(struct wmk_kterm *term)
{
	free(term->text);
	*term = (struct wmk_kterm){ .kind = WMK_KTERM_TRUE };
}

static struct wmk_kterm both_gone(struct wmk_kterm a, struct wmk_kterm b, struct wmk_kterm instead)
{
	wmk_kterm_free(&a);
	wmk_kterm_free(&b);
	return instead;
}

static struct wmk_kterm join(unsigned kind, const char *op, struct wmk_kterm a, struct wmk_kterm b)
{
	struct wmk_kterm made = { .kind = (uint8_t)kind, .exact = a.exact && b.exact };
	const bool pa = a.kind != WMK_KTERM_TEST && a.kind != kind, pb = b.kind != WMK_KTERM_TEST && b.kind != kind;
	const int n = asprintf(&made.text, "%s%s%s %s %s%s%s", pa ? "(" : "", a.text, pa ? ")" : "", op, pb ? "(" : "",
			       b.text, pb ? ")" : "");

	if (n > (int)WMK_KFILTER_TEXT_MAX)
		free(made.text);
	return both_gone(a, b, n < 0 || n > (int)WMK_KFILTER_TEXT_MAX ? wmk_kterm_unknown() : made);
}

struct wmk_kterm wmk_kterm_and(struct wmk_kterm a, struct wmk_kterm b)
{
	if (a.kind <= WMK_KTERM_FALSE || b.kind <= WMK_KTERM_FALSE)
		return both_gone(a, b, wmk_kterm_constant(false));
	if (a.kind >= WMK_KTERM_TEST && b.kind >= WMK_KTERM_TEST)
		return join(WMK_KTERM_AND, "&&", a, b);
	/* one operand is TRUE: the other operand is the whole translation */
	struct wmk_kterm *left = a.kind >= WMK_KTERM_TEST ? &a : &b;

	left->exact = a.exact && b.exact;
	left->equal = left->exact ? left->equal : 0;
	return *left;
}

struct wmk_kterm wmk_kterm_or(struct wmk_kterm a, struct wmk_kterm b)
{
	if (a.kind == WMK_KTERM_TRUE || b.kind == WMK_KTERM_TRUE) {
		const bool exact = (a.kind == WMK_KTERM_TRUE && a.exact) || (b.kind == WMK_KTERM_TRUE && b.exact);

		return both_gone(a, b, exact ? wmk_kterm_constant(true) : wmk_kterm_unknown());
	}
	if (a.kind >= WMK_KTERM_TEST && b.kind >= WMK_KTERM_TEST)
		return join(WMK_KTERM_OR, "||", a, b);
	struct wmk_kterm left = a.kind >= WMK_KTERM_TEST ? a : b;

	return left.kind >= WMK_KTERM_TEST ? left : wmk_kterm_constant(false);
}

struct wmk_kterm wmk_kterm_not(struct wmk_kterm a)
{
	struct wmk_kterm made = { .kind = WMK_KTERM_TEST, .exact = true };

	if (a.kind == WMK_KTERM_ABSENT)
		return a;
	if (!a.exact)
		return both_gone(a, wmk_kterm_unknown(), wmk_kterm_unknown());
	if (a.kind < WMK_KTERM_TEST)
		return wmk_kterm_constant(a.kind == WMK_KTERM_FALSE);
	if (a.equal) {
		a.text[a.equal] = a.text[a.equal] == '=' ? '!' : '=';
		return a;
	}
	if (asprintf(&made.text, "!(%s)", a.text) < 0)
		made = wmk_kterm_unknown();
	wmk_kterm_free(&a);
	return made;
}

/* ── operands ────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Returns whether the kernel's filter finds the operand by this name. Names have only letters, digits and underscores.
 * With `own`, the operand is a field. The name of this field must be unique, because an event's own field hides a
 * common field. Without `own`, the operand is not a field, and no field may have the operand's name.
 */
static bool is_name(const struct wmk_kformat *format, const char *name, bool own)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < format->n_common + format->n_fields; i++)
		n += strcmp(format->fields[i].name, name) == 0;
	return name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] == '\0' &&
	       n == own;
}

static void of_field(const struct wmk_kfield *field, const struct wmk_kfield_rule *rule, struct wmk_koperand *operand)
{
	operand->name = field->name;
	if (rule->how == WMK_KHOW_RWBS)
		return;
	operand->add = rule->how == WMK_KHOW_ADD ? rule->add : 0;
	/* (the kernel's filter treats a pointer to characters as a text) */
	if (field->shape == WMK_KSHAPE_NUMBER && strcmp(field->type, "char *") != 0 &&
	    strcmp(field->type, "const char *") != 0) {
		operand->width = (uint8_t)(field->size * 8);
		operand->is_signed = field->is_signed;
		operand->has_bits = true;
	}
	if (field->shape == WMK_KSHAPE_ARRAY && field->is_text) {
		operand->text_size = field->count;
		operand->has_end = operand->type->kind == WMK_TYPE_ARRAY;    /* name of a thread */
	}
	operand->is_far = (field->shape == WMK_KSHAPE_DYNAMIC || field->shape == WMK_KSHAPE_RELATIVE) && field->is_text;
}

static bool of_payload(const struct wmk_kfilter_event *event, unsigned number, struct wmk_koperand *operand)
{
	const struct wmk_kformat *format = event->format;
	struct wmk_kfield_rule rule;
	unsigned n = 0;

	for (uint32_t i = 0; i < format->n_fields; i++) {
		const struct wmk_kfield *field = &format->fields[format->n_common + i];

		if (!wmk_kevent_shows(format, field, &rule) || n++ != number)
			continue;
		of_field(field, &rule, operand);
		return is_name(format, field->name, true);
	}
	/* the thread id that lttng-modules adds as a field */
	*operand = (struct wmk_koperand){
		.name = "common_pid", .type = operand->type, .width = 32, .is_signed = true, .has_bits = true
	};
	return n == number && wmk_kname_has_tid(format->system, format->name) && is_name(format, operand->name, true);
}

static bool of_context(const struct wmk_kformat *format, unsigned number, struct wmk_koperand *operand)
{
	const struct wmk_ctf_context *context = wmk_ctf_context(number);

	*operand = (struct wmk_koperand){ .type = &context->field.type };
	switch (number) {
	case WMK_CONTEXT_TID:
		operand->name = "common_pid";
		operand->has_bits = true;
		break;
	case WMK_CONTEXT_CPU_ID:
		operand->name = "CPU";
		break;
	case WMK_CONTEXT_PROCNAME:
		operand->name = "COMM";
		operand->text_size = COMM_LEN;
		operand->has_end = true;
		return is_name(format, operand->name, false);
	default:
		return false;
	}
	operand->width = 32;
	operand->is_signed = true;
	return is_name(format, operand->name, number == WMK_CONTEXT_TID);
}

/* Returns false if the kernel has no such operand. */
static bool operand_of(const struct wmk_kterms *terms, const struct wmk_node *node, struct wmk_koperand *operand)
{
	const struct wmk_typed *typed = wmk_typed_of(&terms->c, node);
	const struct wmk_filter_input *input = &terms->c.inputs[typed->input];

	if (node->kind != WMK_NODE_NAME || !typed->is_input || typed->may_lack || node->name.n_steps != 1 ||
	    !terms->event->format)
		return false;
	if (input->scope == WMK_FILTER_CONTEXT)
		return of_context(terms->event->format, input->number, operand);
	*operand = (struct wmk_koperand){ .type = &terms->event->class->fields[input->number].type };
	return of_payload(terms->event, input->number, operand);
}

/* ── conditions ──────────────────────────────────────────────────────────────────────────────────────── */

static bool is_whole(const struct wmk_type *type)
{
	return type->kind == WMK_TYPE_INT || type->kind == WMK_TYPE_ENUM || type->kind == WMK_TYPE_FLAGS;
}

/* Returns whether the node is an integer literal. */
static bool literal(const struct wmk_node *node, wmk_kwide *value)
{
	uint64_t bits;

	if (!wmk_filter_literal(node, &bits))
		return false;
	*value = node->kind == WMK_NODE_NUMBER && node->is_unsigned ? (wmk_kwide)bits : (wmk_kwide)(int64_t)bits;
	return true;
}

/* Tests that the number has a label that matches the pattern. */
static struct wmk_kterm labelled(const struct wmk_koperand *operand, const struct wmk_node *pattern)
{
	struct wmk_kterm term = wmk_kterm_constant(false);

	for (uint32_t i = 0; i < operand->type->count; i++) {
		const struct wmk_label *is = &operand->type->labels[i];
		const struct wmk_filter_text text = { is->name, SIZE_MAX };
		const bool is_signed = operand->type->is_signed;

		if (wmk_filter_match(pattern->text, pattern->text_len, &text))
			term = wmk_kterm_or(
				term, wmk_kterm_between(operand,
							is_signed ? (wmk_kwide)is->from : (wmk_kwide)(uint64_t)is->from,
							is_signed ? (wmk_kwide)is->to : (wmk_kwide)(uint64_t)is->to));
	}
	return term;
}

static struct wmk_kterm same(const struct wmk_kterms *terms, const struct wmk_node *name, const struct wmk_node *other)
{
	const struct wmk_typed *typed = wmk_typed_of(&terms->c, name);
	struct wmk_filter_text known = { typed->text, SIZE_MAX };
	struct wmk_koperand operand;
	wmk_kwide value;

	if (name->kind == WMK_NODE_NAME && known.text && other->kind == WMK_NODE_TEXT)
		return wmk_kterm_constant(wmk_filter_match(other->text, other->text_len, &known));
	if (!operand_of(terms, name, &operand))
		return wmk_kterm_unknown();
	if (is_whole(operand.type) && literal(other, &value))
		return wmk_kterm_between(&operand, value, value);
	if (other->kind != WMK_NODE_TEXT)
		return wmk_kterm_unknown();
	if (typed->type == WMK_FILTER_TEXT)
		return wmk_kterm_matches(&operand, other);
	return operand.type->kind == WMK_TYPE_ENUM ? labelled(&operand, other) : wmk_kterm_unknown();
}

/* Translates NAME & LITERAL, which is true if NAME has at least one bit of LITERAL. */
static struct wmk_kterm masked(const struct wmk_kterms *terms, const struct wmk_node *node)
{
	const bool turned = node->left->kind != WMK_NODE_NAME;
	struct wmk_koperand operand;
	wmk_kwide mask;

	if (node->kind != WMK_NODE_AND || !operand_of(terms, turned ? node->right : node->left, &operand) ||
	    !is_whole(operand.type) || !literal(turned ? node->left : node->right, &mask))
		return wmk_kterm_unknown();
	/* bits above the width are copies of the sign */
	if (operand.type->width < 64 && mask >> operand.type->width) {
		if (operand.type->is_signed)
			return wmk_kterm_unknown();
		mask &= ((wmk_kwide)1 << operand.type->width) - 1;
	}
	return wmk_kterm_bits(&operand, (uint64_t)mask);
}

static struct wmk_kterm equality(const struct wmk_kterms *terms, const struct wmk_node *a, const struct wmk_node *b)
{
	wmk_kwide zero;

	if (a->kind == WMK_NODE_AND && literal(b, &zero) && zero == 0)
		return wmk_kterm_not(masked(terms, a));
	return same(terms, a, b);
}

static struct wmk_kterm relation(const struct wmk_kterms *terms, const struct wmk_node *node)
{
	wmk_kwide value, far = (wmk_kwide)1 << 100;
	const bool flip = node->left->kind != WMK_NODE_NAME && node->left->kind != WMK_NODE_AND;
	const struct wmk_node *a = flip ? node->right : node->left, *b = flip ? node->left : node->right;
	const unsigned kind = flip ? wmk_node_turned(node->kind) : node->kind;
	struct wmk_koperand operand;

	if (kind == WMK_NODE_EQ)
		return equality(terms, a, b);
	if (kind == WMK_NODE_NE)
		return wmk_kterm_not(equality(terms, a, b));
	if (!literal(b, &value) || !operand_of(terms, a, &operand) || !is_whole(operand.type))
		return wmk_kterm_unknown();
	switch (kind) {
	case WMK_NODE_LT: return wmk_kterm_between(&operand, -far, value - 1);
	case WMK_NODE_LE: return wmk_kterm_between(&operand, -far, value);
	case WMK_NODE_GT: return wmk_kterm_between(&operand, value + 1, far);
	default: return wmk_kterm_between(&operand, value, far);
	}
}

static struct wmk_kterm listed(const struct wmk_kterms *terms, const struct wmk_node *node)
{
	struct wmk_kterm term = wmk_kterm_constant(false);

	for (const struct wmk_node *item = node->right; item; item = item->next)
		if (wmk_typed_of(&terms->c, item)->type != WMK_FILTER_ABSENT)
			term = wmk_kterm_or(term, same(terms, node->left, item));
	return term;
}

/* Translates a number that is used as a condition, which is true unless the number is 0. */
static struct wmk_kterm truth(const struct wmk_kterms *terms, const struct wmk_node *node)
{
	struct wmk_koperand operand;
	wmk_kwide value;

	if (literal(node, &value))
		return wmk_kterm_constant(value != 0);
	if (node->kind == WMK_NODE_AND)
		return masked(terms, node);
	if (!operand_of(terms, node, &operand) || !is_whole(operand.type))
		return wmk_kterm_unknown();
	return wmk_kterm_not(wmk_kterm_between(&operand, 0, 0));
}

struct wmk_kterm wmk_kterm_of(const struct wmk_kterms *terms, const struct wmk_node *node)
{
	const struct wmk_typed *typed = wmk_typed_of(&terms->c, node);
	struct wmk_kterm left;

	if (typed->type == WMK_FILTER_ABSENT)
		return (struct wmk_kterm){ .kind = WMK_KTERM_ABSENT, .exact = true };
	switch (node->kind) {
	case WMK_NODE_LAND:
		left = wmk_kterm_of(terms, node->left);
		return wmk_kterm_and(left, wmk_kterm_of(terms, node->right));
	case WMK_NODE_LOR:
		left = wmk_kterm_of(terms, node->left);
		return wmk_kterm_or(left, wmk_kterm_of(terms, node->right));
	case WMK_NODE_NOT:
		return wmk_kterm_not(wmk_kterm_of(terms, node->left));
	case WMK_NODE_EXISTS:
		return typed->is_there && typed->may_lack ? wmk_kterm_unknown() : wmk_kterm_constant(typed->is_there);
	case WMK_NODE_IN:
		return listed(terms, node);
	case WMK_NODE_LT: case WMK_NODE_LE: case WMK_NODE_GT: case WMK_NODE_GE: case WMK_NODE_EQ: case WMK_NODE_NE:
		return relation(terms, node);
	default:
		return truth(terms, node);
	}
}
