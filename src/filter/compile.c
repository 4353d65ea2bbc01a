/* SPDX-License-Identifier: MIT */
/*
 * compile.c - generate instructions from a checked expression.
 *
 * A condition produces no number: its code jumps to one of two labels. The operators && || and ! only select these
 * labels (Aho, Lam, Sethi, Ullman: Compilers, 6.6). Each label is placed after all jumps to the label, so every jump is
 * forward. For an absent value, the code of a condition jumps to the label `absent`. This label is the label for
 * "false" of the nearest enclosing && or ||. Outside of && and ||, label `absent` is the label for "false" of the
 * filter.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "filter/code.h"

static void condition(struct wmk_code *code, const struct wmk_node *node, uint32_t yes, uint32_t no, uint32_t next);

/* ── conditions ──────────────────────────────────────────────────────────────────────────────────────── */

static void listed(struct wmk_code *code, const struct wmk_node *node, uint32_t yes, uint32_t no, uint32_t next)
{
	const struct wmk_node *of = node->left;
	const bool is_text = wmk_code_typed(code, of)->type == WMK_FILTER_TEXT;
	struct wmk_place at = { .type = 0 };
	bool has = false;

	for (const struct wmk_node *item = node->right; item; item = item->next) {
		const uint32_t other = wmk_code_label(code), mark = code->top;

		if (wmk_code_typed(code, item)->type == WMK_FILTER_ABSENT) {
			wmk_code_here(code, other);
			continue;
		}
		if (is_text || item->kind == WMK_NODE_TEXT) {
			wmk_code_compare(code, WMK_NODE_EQ, of, item, yes, other, other);
		} else {
			if (!has)
				at = wmk_code_value(code, of);
			wmk_code_compare_numbers(code, WMK_NODE_EQ, at, wmk_code_value(code, item), yes, other, other);
		}
		wmk_code_here(code, other);
		/*
		 * Keep the register of `of` after the first number in the list, because the code compares each later
		 * number with this register.
		 */
		if (has || is_text || item->kind == WMK_NODE_TEXT)
			code->top = mark;
		else
			has = true;
	}
	wmk_code_jump(code, no, next);
}

static void both_or_one(struct wmk_code *code, const struct wmk_node *node, uint32_t yes, uint32_t no, uint32_t next)
{
	const uint32_t right = wmk_code_label(code), absent = code->absent;
	const bool is_and = node->kind == WMK_NODE_LAND;

	code->absent = is_and ? no : right;
	condition(code, node->left, is_and ? right : yes, is_and ? no : right, right);
	wmk_code_here(code, right);
	code->absent = no;
	condition(code, node->right, yes, no, next);
	code->absent = absent;
}

static void asked(struct wmk_code *code, const struct wmk_typed *of, uint32_t yes, uint32_t no, uint32_t next)
{
	if (of->is_there && of->is_input && of->may_lack)
		wmk_code_branch(code, WMK_FILTER_JHAS, of->input, wmk_code_constant(WMK_FILTER_SIGNED, 0), yes, no,
				next);
	else
		wmk_code_jump(code, of->is_there ? yes : no, next);
}

/*
 * Generate a condition: control continues at label `yes` or `no`. The code of label `next` directly follows the
 * condition.
 */
static void condition(struct wmk_code *code, const struct wmk_node *node, uint32_t yes, uint32_t no, uint32_t next)
{
	const uint32_t mark = code->top;
	struct wmk_place at;

	if (code->err)
		return;
	if (wmk_code_typed(code, node)->type == WMK_FILTER_ABSENT) {
		wmk_code_jump(code, code->absent, next);
		return;
	}
	switch (node->kind) {
	case WMK_NODE_NOT:
		condition(code, node->left, no, yes, next);
		break;
	case WMK_NODE_LAND: case WMK_NODE_LOR:
		both_or_one(code, node, yes, no, next);
		break;
	case WMK_NODE_EXISTS:
		asked(code, wmk_code_typed(code, node), yes, no, next);
		break;
	case WMK_NODE_IN:
		listed(code, node, yes, no, next);
		break;
	case WMK_NODE_LT: case WMK_NODE_LE: case WMK_NODE_GT: case WMK_NODE_GE: case WMK_NODE_EQ: case WMK_NODE_NE:
		wmk_code_compare(code, node->kind, node->left, node->right, yes, no, next);
		break;
	default:
		at = wmk_code_value(code, node);
		wmk_code_compare_numbers(code, WMK_NODE_NE, at, wmk_code_constant(at.type, 0), yes, no, next);
		break;
	}
	code->top = mark;
}

/* ── values ──────────────────────────────────────────────────────────────────────────────────────────── */

/* The value of a condition is 1 or 0. */
static struct wmk_place truth(struct wmk_code *code, const struct wmk_node *node)
{
	const uint32_t yes = wmk_code_label(code), no = wmk_code_label(code), end = wmk_code_label(code);
	const uint8_t reg = wmk_code_register(code);

	condition(code, node, yes, no, yes);
	wmk_code_here(code, yes);
	wmk_code_emit(code, WMK_FILTER_CONST, reg, 0, 0, 0)->value.u = 1;
	wmk_code_jump(code, end, WMK_CODE_NOWHERE);
	wmk_code_here(code, no);
	wmk_code_emit(code, WMK_FILTER_CONST, reg, 0, 0, 0)->value.u = 0;
	wmk_code_here(code, end);
	return (struct wmk_place){ .type = WMK_FILTER_SIGNED, .reg = reg };
}

static void choose_one(struct wmk_code *code, const struct wmk_node *node, unsigned type, uint8_t reg)
{
	const uint32_t mark = code->top;

	if (wmk_code_typed(code, node)->type == WMK_FILTER_ABSENT) {
		wmk_code_jump(code, code->absent, WMK_CODE_NOWHERE);
		return;
	}
	struct wmk_place at = wmk_code_as(code, wmk_code_value(code, node), type);

	wmk_code_emit(code, WMK_FILTER_MOVE, reg, wmk_code_in_register(code, at), 0, 0);
	code->top = mark;
}

static struct wmk_place choose(struct wmk_code *code, const struct wmk_node *node, unsigned type)
{
	const uint32_t yes = wmk_code_label(code), no = wmk_code_label(code), end = wmk_code_label(code);
	const uint8_t reg = wmk_code_register(code);

	condition(code, node->left, yes, no, yes);
	wmk_code_here(code, yes);
	choose_one(code, node->right, type, reg);
	wmk_code_jump(code, end, WMK_CODE_NOWHERE);
	wmk_code_here(code, no);
	choose_one(code, node->other, type, reg);
	wmk_code_here(code, end);
	return (struct wmk_place){ .type = (uint8_t)type, .reg = reg };
}

static unsigned operation(unsigned kind, unsigned type)
{
	static const struct {
		uint8_t kind, whole, whole_unsigned, real;
	} ops[] = {
		{ WMK_NODE_ADD, WMK_FILTER_ADD, WMK_FILTER_ADD, WMK_FILTER_FADD },
		{ WMK_NODE_SUB, WMK_FILTER_SUB, WMK_FILTER_SUB, WMK_FILTER_FSUB },
		{ WMK_NODE_MUL, WMK_FILTER_MUL, WMK_FILTER_MUL, WMK_FILTER_FMUL },
		{ WMK_NODE_DIV, WMK_FILTER_DIV, WMK_FILTER_DIV_U, WMK_FILTER_FDIV },
		{ WMK_NODE_MOD, WMK_FILTER_MOD, WMK_FILTER_MOD_U, 0 },
		{ WMK_NODE_SHL, WMK_FILTER_SHL, WMK_FILTER_SHL, 0 },
		{ WMK_NODE_SHR, WMK_FILTER_SHR, WMK_FILTER_SHR_U, 0 },
		{ WMK_NODE_AND, WMK_FILTER_AND, WMK_FILTER_AND, 0 },
		{ WMK_NODE_XOR, WMK_FILTER_XOR, WMK_FILTER_XOR, 0 },
		{ WMK_NODE_OR, WMK_FILTER_OR, WMK_FILTER_OR, 0 },
	};
	unsigned i = 0;

	while (ops[i].kind != kind)
		i++;
	return type == WMK_FILTER_DOUBLE     ? ops[i].real
	       : type == WMK_FILTER_UNSIGNED ? ops[i].whole_unsigned
					     : ops[i].whole;
}

/*
 * Apply `op` to `a` and `b`. `a` and `b` have type `type`; the count of a shift may have another type. The result is in
 * register `mark`, and the registers above `mark` are free afterwards.
 */
static struct wmk_place apply(struct wmk_code *code, unsigned op, struct wmk_place a, struct wmk_place b, unsigned type,
			      uint32_t mark)
{
	const uint8_t left = wmk_code_in_register(code, a);

	code->top = mark;
	const uint8_t dst = wmk_code_register(code);

	wmk_code_emit(code, op, dst, left, b.is_constant ? WMK_FILTER_IMMEDIATE : b.reg, code->absent)->value.u =
		b.is_constant ? b.bits : 0;
	return (struct wmk_place){ .type = (uint8_t)type, .reg = dst };
}

static struct wmk_place arithmetic(struct wmk_code *code, const struct wmk_node *node, unsigned type)
{
	const uint32_t mark = code->top;
	const bool is_shift = node->kind == WMK_NODE_SHL || node->kind == WMK_NODE_SHR;
	struct wmk_place a = wmk_code_value(code, node->left), b;

	a = wmk_code_as(code, a, type);
	b = wmk_code_value(code, node->right);
	if (!is_shift)
		b = wmk_code_as(code, b, type);
	return apply(code, operation(node->kind, type), a, b, type, mark);
}

static struct wmk_place negative(struct wmk_code *code, const struct wmk_node *node, unsigned type)
{
	const uint32_t mark = code->top;
	uint64_t bits;

	if (wmk_filter_literal(node, &bits))
		return wmk_code_constant(WMK_FILTER_SIGNED, bits);
	struct wmk_place at = wmk_code_value(code, node->left);

	if (at.is_constant && type == WMK_FILTER_DOUBLE) {
		at.bits ^= UINT64_C(1) << 63;
		return at;
	}
	if (type == WMK_FILTER_DOUBLE)
		return apply(code, WMK_FILTER_FSUB, wmk_code_real(-0.0), at, type, mark);
	return apply(code, WMK_FILTER_SUB, wmk_code_constant(type, 0), at, type, mark);
}

static struct wmk_place named(struct wmk_code *code, const struct wmk_typed *of)
{
	wmk_code_need(code, of);
	return (struct wmk_place){ .type = of->type, .reg = of->input };
}

struct wmk_place wmk_code_value(struct wmk_code *code, const struct wmk_node *node)
{
	const struct wmk_typed *of = wmk_code_typed(code, node);
	const uint32_t mark = code->top;

	if (code->err)
		return wmk_code_constant(WMK_FILTER_SIGNED, 0);
	switch (node->kind) {
	case WMK_NODE_NUMBER: return wmk_code_constant(of->type, node->number);
	case WMK_NODE_DOUBLE: return wmk_code_real(node->real);
	case WMK_NODE_NAME: return named(code, of);
	case WMK_NODE_PLUS: return wmk_code_value(code, node->left);
	case WMK_NODE_NEGATE: return negative(code, node, of->type);
	case WMK_NODE_COMPLEMENT:
		return apply(code, WMK_FILTER_XOR, wmk_code_value(code, node->left),
			     wmk_code_constant(of->type, UINT64_MAX), of->type, mark);
	case WMK_NODE_CHOOSE: return choose(code, node, of->type);
	case WMK_NODE_EXISTS:
	case WMK_NODE_NOT:
	case WMK_NODE_LT:
	case WMK_NODE_LE:
	case WMK_NODE_GT:
	case WMK_NODE_GE:
	case WMK_NODE_EQ:
	case WMK_NODE_NE: case WMK_NODE_LAND: case WMK_NODE_LOR: case WMK_NODE_IN:
		return truth(code, node);
	default: return arithmetic(code, node, of->type);
	}
}

/* ── the whole ───────────────────────────────────────────────────────────────────────────────────────── */

/* Check all expressions before code is generated, because the inputs of all expressions occupy the first registers. */
static int check_all(struct wmk_code *code, const struct wmk_filter_expr *const *exprs, unsigned n,
		     struct wmk_typed **typed)
{
	int err = 0;

	for (unsigned i = 0; i < n && err >= 0; i++) {
		typed[i] = calloc(exprs[i]->n_nodes, sizeof(**typed));
		if (!typed[i])
			return wmk_error(-ENOMEM, "no memory for a filter");
		code->c.expr = exprs[i];
		code->c.typed = typed[i];
		err = wmk_filter_check(&code->c);
	}
	return err;
}

static void generate(struct wmk_code *code, const struct wmk_filter_expr *const *exprs, unsigned n,
		     struct wmk_typed *const *typed)
{
	const uint32_t yes = wmk_code_label(code);
	uint32_t no = wmk_code_label(code);

	code->top = code->c.n_inputs;
	for (unsigned i = 0; i < n && !code->err; i++) {
		code->c.expr = exprs[i];
		code->c.typed = typed[i];
		code->absent = no;
		condition(code, exprs[i]->root, yes, no, i + 1 < n ? no : yes);
		if (i + 1 == n)
			wmk_code_here(code, yes);
		else {
			wmk_code_here(code, no);
			no = wmk_code_label(code);
		}
	}
	if (n)
		wmk_code_emit(code, WMK_FILTER_RETURN, 0, 0, 0, 0)->value.u = 1;
	wmk_code_here(code, no);
	wmk_code_emit(code, WMK_FILTER_RETURN, 0, 0, 0, 0)->value.u = 0;
}

static bool jumps(const struct wmk_filter_insn *insn)
{
	return (insn->op >= WMK_FILTER_DIV && insn->op <= WMK_FILTER_SHR_U) ||
	       (insn->op >= WMK_FILTER_JEQ && insn->op <= WMK_FILTER_JUMP);
}

/* Replace labels by instruction indexes, verify the program, and copy the program into one allocation. */
static int finish(struct wmk_code *code, struct wmk_filter_program **program)
{
	for (uint32_t i = 0; i < code->n; i++)
		code->insns[i].to = jumps(&code->insns[i]) ? code->labels[code->insns[i].to] : 0;
	const struct wmk_filter_program made = { .n_inputs = code->c.n_inputs,
						 .n_insns = code->n,
						 .pool_bytes = code->pool_bytes,
						 .inputs = code->c.inputs,
						 .insns = code->insns,
						 .pool = code->pool };
	int err = wmk_filter_verify(&made);

	return err < 0 ? err : wmk_filter_clone(&made, program);
}

int wmk_filter_compile(const struct wmk_filter_expr *const *exprs, unsigned n, wmk_filter_lookup_fn *lookup, void *data,
		       enum wmk_filter_strictness strictness, struct wmk_filter_program **program)
{
	struct wmk_code *code = calloc(1, sizeof(*code));
	struct wmk_typed **typed = calloc(n ? n : 1, sizeof(*typed));
	int err = code && typed ? 0 : wmk_error(-ENOMEM, "no memory for a filter");

	if (err >= 0) {
		code->c.lookup = lookup;
		code->c.data = data;
		code->c.strictness = strictness;
		err = check_all(code, exprs, n, typed);
	}
	if (err >= 0) {
		generate(code, exprs, n, typed);
		err = code->err;
	}
	if (err >= 0)
		err = finish(code, program);
	for (unsigned i = 0; typed && i < n; i++)
		free(typed[i]);
	free(typed);
	free(code);
	return err;
}
