/* SPDX-License-Identifier: MIT */
/*
 * run.c - run programs. The interpreter is part of the recording path. run.c does not allocate or block, and calls no
 * function of the C library that may allocate or block.
 *
 * Programs are verified before they run. In an application, however, another filter may reuse the memory of a program
 * during the run. The instructions can then be arbitrary, so the interpreter checks its bounds. The application detects
 * the reuse of the memory after the run (tracer/filter.h).
 */
#include <string.h>

#include "filter/calculate.h"
#include "filter/syntax_tree.h"

static size_t length(const struct wmk_filter_text *text)
{
	return text->len == SIZE_MAX ? strlen(text->text) : text->len;
}

/* Load each byte only once: during the comparison, another program may reuse the pool, and a text may change. */
static unsigned char byte_at(const char *text, size_t at)
{
	return (unsigned char)__atomic_load_n(&text[at], __ATOMIC_RELAXED);
}

int wmk_filter_order(const struct wmk_filter_text *a, const struct wmk_filter_text *b)
{
	const size_t na = length(a), nb = length(b);
	const size_t n = na < nb ? na : nb;

	for (size_t i = 0; i < n; i++) {
		const unsigned char ca = byte_at(a->text, i), cb = byte_at(b->text, i);

		if (ca != cb)
			return ca < cb ? -1 : 1;
	}
	return (na > nb) - (na < nb);
}

static bool ends(const struct wmk_filter_text *text, size_t at)
{
	return text->len == SIZE_MAX ? !byte_at(text->text, at) : at >= text->len;
}

/*
 * The function backtracks only to the latest star, so its time is at most proportional to the product of both lengths.
 */
bool wmk_filter_match(const char *pattern, size_t n, const struct wmk_filter_text *text)
{
	size_t p = 0, at = 0, star = SIZE_MAX, from = 0;

	while (!ends(text, at)) {
		const unsigned char next = p < n ? byte_at(pattern, p) : 0;
		const size_t literal = p + (next == '\\');

		if (p < n && next == '*') {
			star = ++p;
			from = at;
		} else if (literal < n && byte_at(pattern, literal) == byte_at(text->text, at)) {
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
	while (p < n && byte_at(pattern, p) == '*')
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

/* ── the loop ────────────────────────────────────────────────────────────────────────────────────────── */

/* A copy of an instruction, which is loaded only once. */
struct step {
	uint8_t op, dst, a, b;
	uint32_t to;
	uint64_t value;
};

/*
 * Load each of the two words of an instruction exactly once, because another program may reuse the memory at any time.
 */
static inline struct step step_at(const struct wmk_filter_insn *insn)
{
	const uint64_t *from = (const uint64_t *)(const void *)insn;
	const uint64_t head = __atomic_load_n(&from[0], __ATOMIC_RELAXED);

	return (struct step){ .op = (uint8_t)head,
			      .dst = head >> 8 & (WMK_FILTER_REGISTERS - 1),
			      .a = head >> 16 & (WMK_FILTER_REGISTERS - 1),
			      .b = (uint8_t)(head >> 24),
			      .to = (uint32_t)(head >> 32),
			      .value = __atomic_load_n(&from[1], __ATOMIC_RELAXED) };
}

/* Return the text in the pool to which an instruction refers; the text is empty if it would be outside the pool. */
static struct wmk_filter_text pooled(const struct wmk_filter_code *code, const struct step *step)
{
	const uint32_t at = (uint32_t)step->value, len = (uint32_t)(step->value >> 32);

	return at <= code->pool_bytes && len <= code->pool_bytes - at ? (struct wmk_filter_text){ code->pool + at, len }
								      : (struct wmk_filter_text){ "", 0 };
}

static bool has_text(const struct wmk_filter_values *values, unsigned input)
{
	return input < WMK_FILTER_INPUTS_MAX && values->given >> input & 1;
}

static bool matches(const struct wmk_filter_code *code, const struct step *step, const struct wmk_filter_values *values)
{
	const struct wmk_filter_text pattern = pooled(code, step);

	return has_text(values, step->a) && wmk_filter_match(pattern.text, pattern.len, &values->texts[step->a]);
}

static uint64_t order(const struct wmk_filter_code *code, const struct step *step,
		      const struct wmk_filter_values *values)
{
	const struct wmk_filter_text other = pooled(code, step);
	int is;

	if (!has_text(values, step->a) || (step->b != WMK_FILTER_IMMEDIATE && !has_text(values, step->b)))
		return 0;
	is = wmk_filter_order(&values->texts[step->a],
			      step->b == WMK_FILTER_IMMEDIATE ? &other : &values->texts[step->b]);
	return (uint64_t)(int64_t)((is > 0) - (is < 0));
}

int wmk_filter_run_code(const struct wmk_filter_code *code, struct wmk_filter_values *values)
{
	uint64_t *const r = values->numbers;
	uint32_t at = 0;

	while (at < code->n_insns) {
		const struct step step = step_at(&code->insns[at++]);
		const uint64_t a = r[step.a],
			       b = step.b == WMK_FILTER_IMMEDIATE ? step.value : r[step.b % WMK_FILTER_REGISTERS];
		bool taken = false;

		switch (step.op) {
		case WMK_FILTER_CONST: case WMK_FILTER_CONST_DOUBLE: r[step.dst] = step.value; continue;
		case WMK_FILTER_MOVE: r[step.dst] = a; continue;
		case WMK_FILTER_ADD: r[step.dst] = a + b; continue;
		case WMK_FILTER_SUB: r[step.dst] = a - b; continue;
		case WMK_FILTER_MUL: r[step.dst] = a * b; continue;
		case WMK_FILTER_AND: r[step.dst] = a & b; continue;
		case WMK_FILTER_OR: r[step.dst] = a | b; continue;
		case WMK_FILTER_XOR: r[step.dst] = a ^ b; continue;
		case WMK_FILTER_FADD: r[step.dst] = bits_of(real(a) + real(b)); continue;
		case WMK_FILTER_FSUB: r[step.dst] = bits_of(real(a) - real(b)); continue;
		case WMK_FILTER_FMUL: r[step.dst] = bits_of(real(a) * real(b)); continue;
		case WMK_FILTER_FDIV: r[step.dst] = bits_of(real(a) / real(b)); continue;
		case WMK_FILTER_TO_DOUBLE: r[step.dst] = bits_of((double)(int64_t)a); continue;
		case WMK_FILTER_TO_DOUBLE_U: r[step.dst] = bits_of((double)a); continue;
		case WMK_FILTER_COMPARE: r[step.dst] = order(code, &step, values); continue;
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
		case WMK_FILTER_JMATCH: taken = matches(code, &step, values); break;
		case WMK_FILTER_JNMATCH: taken = !matches(code, &step, values); break;
		case WMK_FILTER_JHAS: taken = !(values->lacking >> step.a & 1); break;
		case WMK_FILTER_JLACKS: taken = values->lacking >> step.a & 1; break;
		case WMK_FILTER_JUMP: taken = true; break;
		case WMK_FILTER_RETURN: return step.value != 0;
		case WMK_FILTER_DIV:
		case WMK_FILTER_DIV_U:
		case WMK_FILTER_MOD:
		case WMK_FILTER_MOD_U:
		case WMK_FILTER_SHL:
		case WMK_FILTER_SHR:
		case WMK_FILTER_SHR_U: taken = !wmk_filter_calculate_partial(step.op, a, b, &r[step.dst]); break;
		default: return -1;
		}
		if (taken && step.to < at)
			break;
		at = taken ? step.to : at;
	}
	return -1;
}

bool wmk_filter_run(const struct wmk_filter_program *program, struct wmk_filter_values *values)
{
	const struct wmk_filter_code code = { program->insns, program->pool, program->n_insns, program->pool_bytes };

	values->given = UINT64_MAX;
	return wmk_filter_run_code(&code, values) > 0;
}
