/* SPDX-License-Identifier: MIT */
/*
 * compare.c - generate comparisons of integers (also of signed with unsigned ones), of doubles, of texts, and of an
 * enumeration with a label.
 */
#include <string.h>

#include "filter/code.h"

unsigned wmk_node_turned(unsigned kind)
{
	switch (kind) {
	case WMK_NODE_LT: return WMK_NODE_GT;
	case WMK_NODE_LE: return WMK_NODE_GE;
	case WMK_NODE_GT: return WMK_NODE_LT;
	case WMK_NODE_GE: return WMK_NODE_LE;
	default: return kind;
	}
}

/* Compare two integers that are both signed or both unsigned. */
static void compare_whole(struct wmk_code *code, unsigned kind, struct wmk_place a, struct wmk_place b,
			  bool is_unsigned, uint32_t yes, uint32_t no, uint32_t next)
{
	const unsigned lt = is_unsigned ? WMK_FILTER_JLT_U : WMK_FILTER_JLT,
		       le = is_unsigned ? WMK_FILTER_JLE_U : WMK_FILTER_JLE;

	if (a.is_constant && !b.is_constant) {
		compare_whole(code, wmk_node_turned(kind), b, a, is_unsigned, yes, no, next);
		return;
	}
	const uint8_t reg = wmk_code_in_register(code, a);

	switch (kind) {
	case WMK_NODE_EQ: wmk_code_branch(code, WMK_FILTER_JEQ, reg, b, yes, no, next); break;
	case WMK_NODE_NE: wmk_code_branch(code, WMK_FILTER_JNE, reg, b, yes, no, next); break;
	case WMK_NODE_LT: wmk_code_branch(code, lt, reg, b, yes, no, next); break;
	case WMK_NODE_GE: wmk_code_branch(code, lt, reg, b, no, yes, next); break;
	case WMK_NODE_LE: wmk_code_branch(code, le, reg, b, yes, no, next); break;
	default: wmk_code_branch(code, le, reg, b, no, yes, next); break;
	}
}

/* Compare a signed integer with an unsigned integer: a negative number is less than every unsigned number. */
static void compare_mixed(struct wmk_code *code, unsigned kind, struct wmk_place a, struct wmk_place b, uint32_t yes,
			  uint32_t no, uint32_t next)
{
	const struct wmk_place zero = wmk_code_constant(WMK_FILTER_SIGNED, 0);

	if (a.type == WMK_FILTER_UNSIGNED) {
		compare_mixed(code, wmk_node_turned(kind), b, a, yes, no, next);
		return;
	}
	if (!a.is_constant || (int64_t)a.bits < 0) {
		const bool less = kind == WMK_NODE_LT || kind == WMK_NODE_LE || kind == WMK_NODE_NE;
		const uint32_t same_sign = wmk_code_label(code);

		a.reg = wmk_code_in_register(code, a);
		a.is_constant = false;
		wmk_code_branch(code, WMK_FILTER_JLT, a.reg, zero, less ? yes : no, same_sign, same_sign);
		wmk_code_here(code, same_sign);
	}
	compare_whole(code, kind, a, b, true, yes, no, next);
}

/* For doubles, a < b differs from !(a >= b): both comparisons are false if an operand is NaN. */
static void compare_double(struct wmk_code *code, unsigned kind, struct wmk_place a, struct wmk_place b, uint32_t yes,
			   uint32_t no, uint32_t next)
{
	unsigned op = WMK_FILTER_JFEQ;

	if (kind == WMK_NODE_GT || kind == WMK_NODE_GE) {
		compare_double(code, wmk_node_turned(kind), b, a, yes, no, next);
		return;
	}
	if (kind == WMK_NODE_LT || kind == WMK_NODE_LE)
		op = kind == WMK_NODE_LT ? WMK_FILTER_JFLT : WMK_FILTER_JFLE;
	if (kind == WMK_NODE_NE)
		op = WMK_FILTER_JFNE;
	const uint8_t reg = wmk_code_in_register(code, a);

	wmk_code_branch(code, op, reg, b, yes, no, next);
}

void wmk_code_compare_numbers(struct wmk_code *code, unsigned kind, struct wmk_place a, struct wmk_place b,
			      uint32_t yes, uint32_t no, uint32_t next)
{
	if (a.type == WMK_FILTER_DOUBLE || b.type == WMK_FILTER_DOUBLE) {
		a = wmk_code_as(code, a, WMK_FILTER_DOUBLE);
		compare_double(code, kind, a, wmk_code_as(code, b, WMK_FILTER_DOUBLE), yes, no, next);
	} else if (a.type != b.type) {
		compare_mixed(code, kind, a, b, yes, no, next);
	} else {
		compare_whole(code, kind, a, b, a.type == WMK_FILTER_UNSIGNED, yes, no, next);
	}
}

/* Test whether the value of an enumeration has a label that matches the pattern. */
static void compare_label(struct wmk_code *code, const struct wmk_node *name, const struct wmk_node *pattern,
			  uint32_t yes, uint32_t no, uint32_t next)
{
	const struct wmk_typed *of = wmk_code_typed(code, name);
	const struct wmk_place at = { .type = of->type, .reg = of->input };

	wmk_code_need(code, of);
	for (uint32_t i = 0; i < of->n_labels; i++) {
		const struct wmk_label *is = &of->labels[i];
		const struct wmk_filter_text text = { is->name, SIZE_MAX };

		if (!wmk_filter_match(pattern->text, pattern->text_len, &text))
			continue;
		const uint32_t other = wmk_code_label(code), in = wmk_code_label(code);

		if (is->from == is->to) {
			compare_whole(code, WMK_NODE_EQ, at, wmk_code_constant(of->type, (uint64_t)is->from),
				      of->is_unsigned, yes, other, other);
		} else {
			compare_whole(code, WMK_NODE_GE, at, wmk_code_constant(of->type, (uint64_t)is->from),
				      of->is_unsigned, in, other, in);
			wmk_code_here(code, in);
			compare_whole(code, WMK_NODE_LE, at, wmk_code_constant(of->type, (uint64_t)is->to),
				      of->is_unsigned, yes, other, other);
		}
		wmk_code_here(code, other);
	}
	wmk_code_jump(code, no, next);
}

/* Compare texts by order. Each compared text is an input, a constant text of the class, or a literal of the filter. */
static void order_texts(struct wmk_code *code, unsigned kind, const struct wmk_node *a, const struct wmk_node *b,
			uint32_t yes, uint32_t no, uint32_t next)
{
	const struct wmk_typed *ta = wmk_code_typed(code, a), *tb = wmk_code_typed(code, b);
	struct wmk_filter_insn insn = { .op = WMK_FILTER_COMPARE };
	uint32_t len = 0;

	if (!ta->is_input) {
		order_texts(code, wmk_node_turned(kind), b, a, yes, no, next);
		return;
	}
	wmk_code_need(code, ta);
	wmk_code_need(code, tb);
	insn.dst = wmk_code_register(code);
	insn.a = ta->input;
	insn.b = tb->is_input ? tb->input : WMK_FILTER_IMMEDIATE;
	if (b->kind == WMK_NODE_TEXT) {
		insn.value.text.at = wmk_code_pool_plain(code, b, &len);
	} else if (!tb->is_input) {
		len = (uint32_t)strlen(tb->text);
		insn.value.text.at = wmk_code_pool(code, tb->text, len);
	}
	insn.value.text.len = len;
	*wmk_code_emit(code, WMK_FILTER_COMPARE, 0, 0, 0, 0) = insn;
	compare_whole(code, kind, (struct wmk_place){ .type = WMK_FILTER_SIGNED, .reg = insn.dst },
		      wmk_code_constant(WMK_FILTER_SIGNED, 0), false, yes, no, next);
}

/* Compare two texts that are not inputs, so that the result is a constant. */
static bool known_texts(struct wmk_code *code, unsigned kind, const struct wmk_node *a, const struct wmk_node *b)
{
	struct wmk_filter_text text = { wmk_code_typed(code, a)->text, SIZE_MAX };
	uint32_t len, at = code->pool_bytes;
	int order;

	if (!text.text)
		return known_texts(code, wmk_node_turned(kind), b, a);
	if (b->kind != WMK_NODE_TEXT)
		order = strcmp(text.text, wmk_code_typed(code, b)->text);
	else if (kind == WMK_NODE_EQ || kind == WMK_NODE_NE)
		order = !wmk_filter_match(b->text, b->text_len, &text);
	else {
		struct wmk_filter_text plain = { .text = code->pool + wmk_code_pool_plain(code, b, &len) };

		plain.len = len;
		order = wmk_filter_order(&text, &plain);
		code->pool_bytes = at;
	}
	switch (kind) {
	case WMK_NODE_EQ: return order == 0;
	case WMK_NODE_NE: return order != 0;
	case WMK_NODE_LT: return order < 0;
	case WMK_NODE_LE: return order <= 0;
	case WMK_NODE_GT: return order > 0;
	default: return order >= 0;
	}
}

static void compare_texts(struct wmk_code *code, unsigned kind, const struct wmk_node *a, const struct wmk_node *b,
			  uint32_t yes, uint32_t no, uint32_t next)
{
	const bool equal = kind == WMK_NODE_EQ || kind == WMK_NODE_NE;
	const struct wmk_node *read = wmk_code_typed(code, a)->is_input ? a : b, *other = read == a ? b : a;
	struct wmk_filter_insn *insn;

	if (!wmk_code_typed(code, read)->is_input) {
		wmk_code_jump(code, known_texts(code, kind, a, b) ? yes : no, next);
		return;
	}
	if (!equal || other->kind != WMK_NODE_TEXT) {
		order_texts(code, kind, a, b, yes, no, next);
		return;
	}
	wmk_code_need(code, wmk_code_typed(code, read));
	const uint32_t at = wmk_code_pool(code, other->text, other->text_len), n = code->n;

	wmk_code_branch(code, kind == WMK_NODE_EQ ? WMK_FILTER_JMATCH : WMK_FILTER_JNMATCH,
			wmk_code_typed(code, read)->input, wmk_code_constant(WMK_FILTER_SIGNED, 0), yes, no, next);
	insn = &code->insns[code->err ? 0 : n];
	insn->value.text.at = at;
	insn->value.text.len = other->text_len;
}

void wmk_code_compare(struct wmk_code *code, unsigned kind, const struct wmk_node *a, const struct wmk_node *b,
		      uint32_t yes, uint32_t no, uint32_t next)
{
	const unsigned ta = wmk_code_typed(code, a)->type, tb = wmk_code_typed(code, b)->type;
	const bool flip = kind == WMK_NODE_NE;

	if (ta == WMK_FILTER_ABSENT || tb == WMK_FILTER_ABSENT) {
		wmk_code_jump(code, code->absent, next);
	} else if (ta == WMK_FILTER_TEXT && tb == WMK_FILTER_TEXT) {
		compare_texts(code, kind, a, b, yes, no, next);
	} else if (ta == WMK_FILTER_TEXT || tb == WMK_FILTER_TEXT) {
		compare_label(code, ta == WMK_FILTER_TEXT ? b : a, ta == WMK_FILTER_TEXT ? a : b, flip ? no : yes,
			      flip ? yes : no, next);
	} else {
		const struct wmk_place at = wmk_code_value(code, a);

		wmk_code_compare_numbers(code, kind, at, wmk_code_value(code, b), yes, no, next);
	}
}
