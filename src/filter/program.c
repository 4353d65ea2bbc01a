/* SPDX-License-Identifier: MIT */
/*
 * program.c - verify, clone, encode and decode programs.
 *
 * Encoding, little-endian:
 *     header         version u8, inputs u8, instructions u16, bytes of the pool u32
 *     inputs         each: type u8, scope u8, number u16, index u32
 *     instructions   each: op u8, dst u8, a u8, b u8, to u32, value u64
 *     pool
 * A value that refers to the pool is offset + (length << 32).
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "filter/syntax_tree.h"

#define VERSION 1u
#define HEAD_BYTES 8u
#define INPUT_BYTES 8u
#define INSN_BYTES 16u

enum wmk_filter_type wmk_filter_type_of(const struct wmk_type *type)
{
	switch (type->kind) {
	case WMK_TYPE_INT: case WMK_TYPE_ENUM: case WMK_TYPE_FLAGS: case WMK_TYPE_BOOL:
		return type->is_signed                          ? WMK_FILTER_SIGNED
		       : type->width < 64 && !type->is_variable ? WMK_FILTER_SIGNED
								: WMK_FILTER_UNSIGNED;
	case WMK_TYPE_FLOAT:
		return WMK_FILTER_DOUBLE;
	case WMK_TYPE_STRING:
		return type->encoding == WMK_ENCODING_UTF8 ? WMK_FILTER_TEXT : WMK_FILTER_ABSENT;
	case WMK_TYPE_ARRAY: case WMK_TYPE_SEQUENCE:
		return type->is_text && type->encoding == WMK_ENCODING_UTF8 ? WMK_FILTER_TEXT : WMK_FILTER_ABSENT;
	default:
		return WMK_FILTER_ABSENT;
	}
}

void wmk_filter_found_labels(struct wmk_filter_found *found, const struct wmk_type *type)
{
	static const struct wmk_label truth[] = { { "false", 0, 0 }, { "true", 1, INT64_MAX } };
	static const struct wmk_label wide[] = { { "false", 0, 0 }, { "true", 1, (int64_t)UINT64_MAX } };

	found->is_unsigned = !type->is_signed;
	if (type->kind == WMK_TYPE_ENUM) {
		found->labels = type->labels;
		found->n_labels = type->count;
	} else if (type->kind == WMK_TYPE_BOOL) {
		found->labels = wmk_filter_type_of(type) == WMK_FILTER_UNSIGNED ? wide : truth;
		found->n_labels = 2;
	}
}

/* ── the rules ───────────────────────────────────────────────────────────────────────────────────────── */

/* The type that an instruction requires of an operand. */
enum operand { NO, WHOLE, REAL, TEXT, ANY };

struct shape {
	uint8_t dst, a, b;         /* enum operand; b may be an immediate if it is WHOLE, REAL or TEXT */
	bool jumps, is_last, has_text;
};

static struct shape shape_of(unsigned op)
{
	if (op >= WMK_FILTER_JEQ && op <= WMK_FILTER_JNLE_U)
		return (struct shape){ .a = WHOLE, .b = WHOLE, .jumps = true };
	if (op >= WMK_FILTER_JFEQ && op <= WMK_FILTER_JFNLE)
		return (struct shape){ .a = REAL, .b = REAL, .jumps = true };
	if (op >= WMK_FILTER_ADD && op <= WMK_FILTER_XOR)
		return (struct shape){ .dst = WHOLE, .a = WHOLE, .b = WHOLE };
	if (op >= WMK_FILTER_DIV && op <= WMK_FILTER_SHR_U)
		return (struct shape){ .dst = WHOLE, .a = WHOLE, .b = WHOLE, .jumps = true };
	if (op >= WMK_FILTER_FADD && op <= WMK_FILTER_FDIV)
		return (struct shape){ .dst = REAL, .a = REAL, .b = REAL };
	switch (op) {
	case WMK_FILTER_CONST: return (struct shape){ .dst = WHOLE };
	case WMK_FILTER_CONST_DOUBLE: return (struct shape){ .dst = REAL };
	case WMK_FILTER_MOVE: return (struct shape){ .dst = ANY, .a = ANY };
	case WMK_FILTER_TO_DOUBLE: case WMK_FILTER_TO_DOUBLE_U: return (struct shape){ .dst = REAL, .a = WHOLE };
	case WMK_FILTER_COMPARE: return (struct shape){ .dst = WHOLE, .a = TEXT, .b = TEXT, .has_text = true };
	case WMK_FILTER_JMATCH:
	case WMK_FILTER_JNMATCH: return (struct shape){ .a = TEXT, .jumps = true, .has_text = true };
	case WMK_FILTER_JHAS:
	case WMK_FILTER_JLACKS:
	case WMK_FILTER_JUMP: return (struct shape){ .jumps = true, .is_last = op == WMK_FILTER_JUMP };
	default: return (struct shape){ .is_last = true };
	}
}

/* Bit masks, by type, of the registers that have a value on every path to an instruction. */
struct known {
	uint64_t whole, real;
	bool reached;
};

static void meet(struct known *at, const struct known *from)
{
	if (at->reached) {
		at->whole &= from->whole;
		at->real &= from->real;
	} else {
		*at = *from;
	}
}

static bool has(const struct wmk_filter_program *program, const struct known *known, unsigned kind, unsigned reg)
{
	if (kind == NO)
		return true;
	if (kind == TEXT)
		return reg < program->n_inputs && program->inputs[reg].type == WMK_FILTER_TEXT;
	if (reg >= WMK_FILTER_REGISTERS)
		return false;
	return ((kind != REAL ? known->whole : 0) | (kind != WHOLE ? known->real : 0)) >> reg & 1;
}

static int wrong(uint32_t at, const char *what)
{
	return wmk_error(-EPROTO, "instruction %u of a filter %s", at, what);
}

/* Check instruction `i`, and update *known to the state after the instruction. */
static int check_one(const struct wmk_filter_program *program, uint32_t i, struct known *known)
{
	const struct wmk_filter_insn *insn = &program->insns[i];
	const struct shape is = shape_of(insn->op);
	const bool immediate = insn->b == WMK_FILTER_IMMEDIATE;

	if (!has(program, known, is.a, insn->a) || (!immediate && !has(program, known, is.b, insn->b)))
		return wrong(i, "reads an operand that has no value of the required type");
	if (is.has_text && (insn->value.text.at > program->pool_bytes ||
			    insn->value.text.len > program->pool_bytes - insn->value.text.at))
		return wrong(i, "refers to text outside the pool");
	if ((insn->op == WMK_FILTER_JHAS || insn->op == WMK_FILTER_JLACKS) && insn->a >= program->n_inputs)
		return wrong(i, "tests an input that does not exist");
	if (is.dst == NO)
		return 0;
	if (insn->dst < program->n_inputs || insn->dst >= WMK_FILTER_REGISTERS)
		return wrong(i, "writes to an input or to a register that does not exist");
	const uint64_t bit = UINT64_C(1) << insn->dst;
	const bool real = is.dst == REAL || (is.dst == ANY && known->real >> insn->a & 1);

	known->whole = real ? known->whole & ~bit : known->whole | bit;
	known->real = real ? known->real | bit : known->real & ~bit;
	return 0;
}

static int check_insns(const struct wmk_filter_program *program, struct known *known)
{
	for (uint32_t i = 0; i < program->n_insns; i++) {
		const struct wmk_filter_insn *insn = &program->insns[i];
		struct known behind = known[i];
		int err;

		if (insn->op >= WMK_FILTER_OPS)
			return wrong(i, "has an unknown opcode");
		const struct shape is = shape_of(insn->op);

		if (is.jumps && (insn->to <= i || insn->to >= program->n_insns))
			return wrong(i, "does not jump forward");
		if (!is.is_last && i + 1 == program->n_insns)
			return wrong(i, "is the last one and does not end the program");
		if (!known[i].reached)
			continue;
		/*
		 * The instruction jumps before it writes its destination register, so this register has no value at the
		 * target of the jump.
		 */
		if (is.jumps)
			meet(&known[insn->to], &known[i]);
		err = check_one(program, i, &behind);
		if (err < 0)
			return err;
		if (!is.is_last)
			meet(&known[i + 1], &behind);
	}
	return 0;
}

int wmk_filter_verify(const struct wmk_filter_program *program)
{
	struct known *known, first = { 0, 0, true };
	int err = 0;

	if (program->n_inputs > WMK_FILTER_INPUTS_MAX || !program->n_insns || program->n_insns > WMK_FILTER_INSNS_MAX ||
	    program->pool_bytes > WMK_FILTER_POOL_MAX)
		return wmk_error(-EPROTO, "invalid size of a filter: %u inputs, %u instructions, %u bytes of text",
				 program->n_inputs, program->n_insns, program->pool_bytes);
	for (uint32_t i = 0; i < program->n_inputs && err >= 0; i++) {
		const struct wmk_filter_input *input = &program->inputs[i];

		if (input->type < WMK_FILTER_SIGNED || input->type > WMK_FILTER_TEXT ||
		    input->scope > WMK_FILTER_CONTEXT)
			err = wmk_error(-EPROTO, "input %u of a filter has invalid type %u or scope %u", i, input->type,
					input->scope);
		first.whole |= (uint64_t)(input->type == WMK_FILTER_SIGNED || input->type == WMK_FILTER_UNSIGNED) << i;
		first.real |= (uint64_t)(input->type == WMK_FILTER_DOUBLE) << i;
	}
	known = err < 0 ? NULL : calloc(program->n_insns, sizeof(*known));
	if (err >= 0 && !known)
		err = wmk_error(-ENOMEM, "no memory to check a filter");
	if (err < 0)
		return err;
	known[0] = first;
	err = check_insns(program, known);
	free(known);
	return err;
}

/* ── allocation ──────────────────────────────────────────────────────────────────────────────────────── */

struct block {
	struct wmk_filter_program program;
	struct wmk_filter_input inputs[WMK_FILTER_INPUTS_MAX];
	struct wmk_filter_insn insns[];
};

static struct block *block_make(uint32_t n_inputs, uint32_t n_insns, uint32_t pool_bytes)
{
	struct block *block = calloc(1, sizeof(*block) + n_insns * sizeof(block->insns[0]) + pool_bytes);

	if (!block) {
		wmk_error(-ENOMEM, "no memory for a filter of %u instructions", n_insns);
		return NULL;
	}
	block->program = (struct wmk_filter_program){ .n_inputs = n_inputs,
						      .n_insns = n_insns,
						      .pool_bytes = pool_bytes,
						      .inputs = block->inputs,
						      .insns = block->insns,
						      .pool = (const char *)&block->insns[n_insns] };
	return block;
}

int wmk_filter_clone(const struct wmk_filter_program *program, struct wmk_filter_program **copy)
{
	struct block *block = block_make(program->n_inputs, program->n_insns, program->pool_bytes);

	if (!block)
		return -ENOMEM;
	memcpy(block->inputs, program->inputs, program->n_inputs * sizeof(program->inputs[0]));
	memcpy(block->insns, program->insns, program->n_insns * sizeof(program->insns[0]));
	memcpy(&block->insns[program->n_insns], program->pool, program->pool_bytes);
	*copy = &block->program;
	return 0;
}

void wmk_filter_program_free(struct wmk_filter_program *program)
{
	free(program);  /* the block's first member */
}

/* ── bytes ───────────────────────────────────────────────────────────────────────────────────────────── */

static uint8_t *put(uint8_t *to, uint64_t value, unsigned bytes)
{
	value = htole64(value);
	memcpy(to, &value, bytes);
	return to + bytes;
}

static uint64_t get(const uint8_t **from, unsigned bytes)
{
	uint64_t value = 0;

	memcpy(&value, *from, bytes);
	*from += bytes;
	return le64toh(value);
}

long wmk_filter_encode(const struct wmk_filter_program *program, uint8_t **bytes)
{
	const size_t size =
		HEAD_BYTES + program->n_inputs * INPUT_BYTES + program->n_insns * INSN_BYTES + program->pool_bytes;
	uint8_t *to = malloc(size);

	*bytes = to;
	if (!to)
		return wmk_error(-ENOMEM, "no memory for a filter of %zu bytes", size);
	to = put(put(put(put(to, VERSION, 1), program->n_inputs, 1), program->n_insns, 2), program->pool_bytes, 4);
	for (uint32_t i = 0; i < program->n_inputs; i++) {
		const struct wmk_filter_input *input = &program->inputs[i];

		to = put(put(put(put(to, input->type, 1), input->scope, 1), input->number, 2), input->index, 4);
	}
	for (uint32_t i = 0; i < program->n_insns; i++) {
		const struct wmk_filter_insn *insn = &program->insns[i];
		const uint64_t value = shape_of(insn->op).has_text
					       ? insn->value.text.at | (uint64_t)insn->value.text.len << 32
					       : insn->value.u;

		to = put(put(put(put(to, insn->op, 1), insn->dst, 1), insn->a, 1), insn->b, 1);
		to = put(put(to, insn->to, 4), value, 8);
	}
	if (program->pool_bytes)             /* `pool` may be NULL, which memcpy() does not allow */
		memcpy(to, program->pool, program->pool_bytes);
	return (long)size;
}

static void decode_insn(const uint8_t **from, struct wmk_filter_insn *insn)
{
	insn->op = (uint8_t)get(from, 1);
	insn->dst = (uint8_t)get(from, 1);
	insn->a = (uint8_t)get(from, 1);
	insn->b = (uint8_t)get(from, 1);
	insn->to = (uint32_t)get(from, 4);
	const uint64_t value = get(from, 8);

	insn->value.u = value;
	if (insn->op < WMK_FILTER_OPS && shape_of(insn->op).has_text) {
		insn->value.text.at = (uint32_t)value;
		insn->value.text.len = (uint32_t)(value >> 32);
	}
}

int wmk_filter_decode(const void *bytes, size_t size, struct wmk_filter_program **program)
{
	const uint8_t *from = bytes;
	uint32_t n_inputs, n_insns, pool_bytes;
	struct block *block;
	int err;

	if (size < HEAD_BYTES || from[0] != VERSION)
		return wmk_error(-EPROTO, "a filter of %zu bytes has an unknown header", size);
	from++;
	n_inputs = (uint32_t)get(&from, 1);
	n_insns = (uint32_t)get(&from, 2);
	pool_bytes = (uint32_t)get(&from, 4);
#ifdef WMK_PLANTED_BUG_FILTER_PROGRAM         /* a planted bug that the fuzzer must find */
	if (n_inputs > WMK_FILTER_INPUTS_MAX || n_insns > WMK_FILTER_INSNS_MAX || pool_bytes > WMK_FILTER_POOL_MAX ||
	    size > HEAD_BYTES + n_inputs * INPUT_BYTES + n_insns * INSN_BYTES + pool_bytes)
		return -EPROTO;
#else
	if (n_inputs > WMK_FILTER_INPUTS_MAX || n_insns > WMK_FILTER_INSNS_MAX || pool_bytes > WMK_FILTER_POOL_MAX ||
	    size != HEAD_BYTES + n_inputs * INPUT_BYTES + n_insns * INSN_BYTES + pool_bytes)
		return wmk_error(-EPROTO,
				 "a filter of %zu bytes declares %u inputs, %u instructions and %u bytes of "
				 "text",
				 size, n_inputs, n_insns, pool_bytes);
#endif
	block = block_make(n_inputs, n_insns, pool_bytes);
	if (!block)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_inputs; i++) {
		struct wmk_filter_input *input = &block->inputs[i];

		input->type = (uint8_t)get(&from, 1);
		input->scope = (uint8_t)get(&from, 1);
		input->number = (uint16_t)get(&from, 2);
		input->index = (uint32_t)get(&from, 4);
	}
	for (uint32_t i = 0; i < n_insns; i++)
		decode_insn(&from, &block->insns[i]);
	memcpy(&block->insns[n_insns], from, pool_bytes);
	err = wmk_filter_verify(&block->program);
	if (err < 0)
		free(block);
	else
		*program = &block->program;
	return err;
}
