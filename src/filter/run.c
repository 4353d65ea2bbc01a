/* SPDX-License-Identifier: MIT */
/*
 * run.c - programs are run. On the recording path: nothing is allocated, nothing is waited for, no function of the C library is called that
 * may do either. Every bound was checked before (verify.c).
 */
#include <string.h>

#include "filter/inside.h"

static size_t length(const struct wmk_filter_text *text)
{
	return text->len == SIZE_MAX ? strlen(text->text) : text->len;
}

int wmk_filter_order(const struct wmk_filter_text *a, const struct wmk_filter_text *b)
{
	const size_t na = length(a), nb = length(b);
	const int order = memcmp(a->text, b->text, na < nb ? na : nb);

	return order ? order : (na > nb) - (na < nb);
}

static bool ends(const struct wmk_filter_text *text, size_t at)
{
	return text->len == SIZE_MAX ? !text->text[at] : at >= text->len;
}

/* Only the latest star is gone back to: the work is at most the product of both lengths. */
bool wmk_filter_match(const char *pattern, size_t n, const struct wmk_filter_text *text)
{
	size_t p = 0, at = 0, star = SIZE_MAX, from = 0;

	while (!ends(text, at)) {
		const size_t literal = p + (p < n && pattern[p] == '\\');

		if (p < n && pattern[p] == '*') {
			star = ++p;
			from = at;
		} else if (literal < n && pattern[literal] == text->text[at]) {
			p = literal + 1;
			at++;
		} else if (star != SIZE_MAX) {
			if (star == n)
				return true;
			p = star;
			at = ++from;
		} else {
			return false;
		}
	}
	while (p < n && pattern[p] == '*')
		p++;
	return p == n;
}

static double real(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static uint64_t bits_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* Division and shifts: false where there is no result. */
static bool partial(unsigned op, uint64_t a, uint64_t b, uint64_t *result)
{
	const bool is_shift = op == WMK_FILTER_SHL || op == WMK_FILTER_SHR || op == WMK_FILTER_SHR_U;

	if (is_shift ? b > 63 : b == 0)
		return false;
	switch (op) {
	case WMK_FILTER_DIV: *result = b == UINT64_MAX ? -a : (uint64_t)((int64_t)a / (int64_t)b); break;
	case WMK_FILTER_MOD: *result = b == UINT64_MAX ? 0 : (uint64_t)((int64_t)a % (int64_t)b); break;
	case WMK_FILTER_DIV_U: *result = a / b; break;
	case WMK_FILTER_MOD_U: *result = a % b; break;
	case WMK_FILTER_SHL: *result = a << b; break;
	case WMK_FILTER_SHR: *result = (uint64_t)((int64_t)a >> b); break;
	default: *result = a >> b; break;
	}
	return true;
}

static bool compares(const struct wmk_filter_program *program, const struct wmk_filter_insn *insn, const struct wmk_filter_values *values)
{
	return wmk_filter_match(program->pool + insn->value.text.at, insn->value.text.len, &values->texts[insn->a]);
}

static uint64_t order(const struct wmk_filter_program *program, const struct wmk_filter_insn *insn, const struct wmk_filter_values *values)
{
	const struct wmk_filter_text pooled = { program->pool + insn->value.text.at, insn->value.text.len };
	const int is = wmk_filter_order(&values->texts[insn->a], insn->b == WMK_FILTER_IMMEDIATE ? &pooled : &values->texts[insn->b]);

	return (uint64_t)(int64_t)((is > 0) - (is < 0));
}

bool wmk_filter_run(const struct wmk_filter_program *program, struct wmk_filter_values *values)
{
	uint64_t *const r = values->numbers;
	const struct wmk_filter_insn *insn = program->insns;

	for (;; insn++) {
		const uint64_t a = r[insn->a % WMK_FILTER_REGISTERS];
		const uint64_t b = insn->b == WMK_FILTER_IMMEDIATE ? insn->value.u : r[insn->b % WMK_FILTER_REGISTERS];
		bool taken = false;

		switch (insn->op) {
		case WMK_FILTER_CONST: case WMK_FILTER_CONST_DOUBLE: r[insn->dst] = insn->value.u; continue;
		case WMK_FILTER_MOVE: r[insn->dst] = a; continue;
		case WMK_FILTER_ADD: r[insn->dst] = a + b; continue;
		case WMK_FILTER_SUB: r[insn->dst] = a - b; continue;
		case WMK_FILTER_MUL: r[insn->dst] = a * b; continue;
		case WMK_FILTER_AND: r[insn->dst] = a & b; continue;
		case WMK_FILTER_OR: r[insn->dst] = a | b; continue;
		case WMK_FILTER_XOR: r[insn->dst] = a ^ b; continue;
		case WMK_FILTER_FADD: r[insn->dst] = bits_of(real(a) + real(b)); continue;
		case WMK_FILTER_FSUB: r[insn->dst] = bits_of(real(a) - real(b)); continue;
		case WMK_FILTER_FMUL: r[insn->dst] = bits_of(real(a) * real(b)); continue;
		case WMK_FILTER_FDIV: r[insn->dst] = bits_of(real(a) / real(b)); continue;
		case WMK_FILTER_TO_DOUBLE: r[insn->dst] = bits_of((double)(int64_t)a); continue;
		case WMK_FILTER_TO_DOUBLE_U: r[insn->dst] = bits_of((double)a); continue;
		case WMK_FILTER_COMPARE: r[insn->dst] = order(program, insn, values); continue;
		case WMK_FILTER_JEQ: taken = a == b; break;
		case WMK_FILTER_JNE: taken = a != b; break;
		case WMK_FILTER_JLT: taken = (int64_t)a < (int64_t)b; break;
		case WMK_FILTER_JNLT: taken = (int64_t)a >= (int64_t)b; break;
		case WMK_FILTER_JLE: taken = (int64_t)a <= (int64_t)b; break;
		case WMK_FILTER_JNLE: taken = (int64_t)a > (int64_t)b; break;
		case WMK_FILTER_JLT_U: taken = a < b; break;
		case WMK_FILTER_JNLT_U: taken = a >= b; break;
		case WMK_FILTER_JLE_U: taken = a <= b; break;
		case WMK_FILTER_JNLE_U: taken = a > b; break;
		case WMK_FILTER_JFEQ: taken = real(a) == real(b); break;
		case WMK_FILTER_JFNE: taken = !(real(a) == real(b)); break;
		case WMK_FILTER_JFLT: taken = real(a) < real(b); break;
		case WMK_FILTER_JFNLT: taken = !(real(a) < real(b)); break;
		case WMK_FILTER_JFLE: taken = real(a) <= real(b); break;
		case WMK_FILTER_JFNLE: taken = !(real(a) <= real(b)); break;
		case WMK_FILTER_JMATCH: taken = compares(program, insn, values); break;
		case WMK_FILTER_JNMATCH: taken = !compares(program, insn, values); break;
		case WMK_FILTER_JHAS: taken = !(values->lacking >> insn->a & 1); break;
		case WMK_FILTER_JLACKS: taken = values->lacking >> insn->a & 1; break;
		case WMK_FILTER_JUMP: taken = true; break;
		case WMK_FILTER_RETURN: return insn->value.u != 0;
		default: taken = !partial(insn->op, a, b, &r[insn->dst]); break;
		}
		if (taken)
			insn = program->insns + insn->to - 1;
	}
}
