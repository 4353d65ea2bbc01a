/* SPDX-License-Identifier: MIT */
/*
 * emit.c - emit single instructions, and allocate labels, registers and texts of the pool (see code.h).
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "filter/code.h"

static void too_much(struct wmk_code *code, const char *what)
{
	if (!code->err)
		code->err = wmk_errorx(-E2BIG, "the filter is too large: %s", what);
}

struct wmk_filter_insn *wmk_code_emit(struct wmk_code *code, unsigned op, unsigned dst, unsigned a, unsigned b,
				      uint32_t to)
{
	if (code->n == WMK_FILTER_INSNS_MAX)
		too_much(code, "too many instructions");
	struct wmk_filter_insn *insn = &code->insns[code->err ? 0 : code->n++];

	*insn = (struct wmk_filter_insn){
		.op = (uint8_t)op, .dst = (uint8_t)dst, .a = (uint8_t)a, .b = (uint8_t)b, .to = to
	};
	return insn;
}

uint32_t wmk_code_label(struct wmk_code *code)
{
	if (code->n_labels == WMK_CODE_LABELS) {
		too_much(code, "too many jumps");
		return 0;
	}
	code->labels[code->n_labels] = WMK_CODE_NOWHERE;
	return code->n_labels++;
}

void wmk_code_here(struct wmk_code *code, uint32_t at)
{
	code->labels[at] = code->n;
}

void wmk_code_jump(struct wmk_code *code, uint32_t to, uint32_t next)
{
	if (to != next)
		wmk_code_emit(code, WMK_FILTER_JUMP, 0, 0, 0, to);
}

uint8_t wmk_code_register(struct wmk_code *code)
{
	if (code->top == WMK_FILTER_REGISTERS) {
		too_much(code, "nested too deeply, no free register");
		return 0;
	}
	return (uint8_t)code->top++;
}

/*
 * Emit the conditional jump `op`, or the negation of `op`. If `yes` or `no` equals `next`, this label needs no jump,
 * because the code of `next` follows directly.
 */
void wmk_code_branch(struct wmk_code *code, unsigned op, uint8_t a, struct wmk_place b, uint32_t yes, uint32_t no,
		     uint32_t next)
{
	const bool negated = yes == next;
	/*
	 * An operation and its negation are neighbours in the enumeration. The first operation of each pair has an even
	 * distance from JEQ.
	 */
	const unsigned twin = ((op - WMK_FILTER_JEQ) ^ 1) + WMK_FILTER_JEQ;

	wmk_code_emit(code, negated ? twin : op, 0, a, b.is_constant ? WMK_FILTER_IMMEDIATE : b.reg, negated ? no : yes)
		->value.u = b.is_constant ? b.bits : 0;
	if (!negated)
		wmk_code_jump(code, no, next);
}

struct wmk_place wmk_code_constant(unsigned type, uint64_t bits)
{
	return (struct wmk_place){ .is_constant = true, .type = (uint8_t)type, .bits = bits };
}

struct wmk_place wmk_code_real(double value)
{
	struct wmk_place made = wmk_code_constant(WMK_FILTER_DOUBLE, 0);

	memcpy(&made.bits, &value, sizeof(value));
	return made;
}

uint8_t wmk_code_in_register(struct wmk_code *code, struct wmk_place at)
{
	if (!at.is_constant)
		return at.reg;
	const uint8_t reg = wmk_code_register(code);

	wmk_code_emit(code, at.type == WMK_FILTER_DOUBLE ? WMK_FILTER_CONST_DOUBLE : WMK_FILTER_CONST, reg, 0, 0, 0)
		->value.u = at.bits;
	return reg;
}

struct wmk_place wmk_code_as(struct wmk_code *code, struct wmk_place at, unsigned type)
{
	if (type == WMK_FILTER_DOUBLE && at.type != WMK_FILTER_DOUBLE) {
		if (at.is_constant)
			return wmk_code_real(at.type == WMK_FILTER_SIGNED ? (double)(int64_t)at.bits : (double)at.bits);
		const uint8_t reg = wmk_code_register(code);

		wmk_code_emit(code, at.type == WMK_FILTER_SIGNED ? WMK_FILTER_TO_DOUBLE : WMK_FILTER_TO_DOUBLE_U, reg,
			      at.reg, 0, 0);
		at.reg = reg;
	}
	at.type = (uint8_t)type;
	return at;
}

uint32_t wmk_code_pool(struct wmk_code *code, const char *text, uint32_t len)
{
	const uint32_t at = code->pool_bytes;

	if (len > sizeof(code->pool) - at) {
		too_much(code, "the texts are too long together");
		return 0;
	}
	memcpy(code->pool + at, text, len);
	code->pool_bytes += len;
	return at;
}

uint32_t wmk_code_pool_plain(struct wmk_code *code, const struct wmk_node *node, uint32_t *len)
{
	const uint32_t at = wmk_code_pool(code, node->text, node->text_len);
	uint32_t n = 0;

	for (uint32_t i = 0; i < node->text_len && !code->err; i++) {
		i += node->text[i] == '\\';
		code->pool[at + n++] = node->text[i];
	}
	if (!code->err)
		code->pool_bytes = at + n;
	*len = n;
	return at;
}

void wmk_code_need(struct wmk_code *code, const struct wmk_typed *of)
{
	if (of->is_input && of->may_lack)
		wmk_code_emit(code, WMK_FILTER_JLACKS, 0, of->input, 0, code->absent);
}
