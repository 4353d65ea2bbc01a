/* SPDX-License-Identifier: MIT */
/*
 * test_program.c - programs that the compiler did not make. Each rule of the verifier is broken once, next to a program
 * that follows it. Encoded programs are cut and changed at every byte.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/array.h"
#include "base/error.h"
#include "filter/t/rig.h"

#define IMM WMK_FILTER_IMMEDIATE

static const struct wmk_filter_input inputs[] = {
	{ WMK_FILTER_SIGNED, WMK_FILTER_FIELD, RIG_S, 0 },
	{ WMK_FILTER_DOUBLE, WMK_FILTER_FIELD, RIG_D, 0 },
	{ WMK_FILTER_TEXT, WMK_FILTER_FIELD, RIG_NAME, 0 },
};

#define INSN(...) { __VA_ARGS__ }
#define END INSN(.op = WMK_FILTER_RETURN, .value = { .u = 1 })
#define PROGRAM(...) \
	(const struct wmk_filter_insn[]){ __VA_ARGS__ }, \
		sizeof((const struct wmk_filter_insn[]){ __VA_ARGS__ }) / sizeof(struct wmk_filter_insn)

static int verify(const struct wmk_filter_insn *insns, size_t n)
{
	const struct wmk_filter_program program = {
		.n_inputs = 3, .n_insns = (uint32_t)n, .pool_bytes = 4, .inputs = inputs, .insns = insns, .pool = "abcd"
	};
	int err = wmk_filter_verify(&program);

	wmk_error_clear();
	return err;
}

static void filter_verifier_rejects_each_invalid_program(void **state)
{
	(void)state;
	assert_int_equal(verify(PROGRAM(END)), 0);
	assert_int_equal(verify(NULL, 0), -EPROTO);
	assert_int_equal(verify(PROGRAM(INSN(.op = WMK_FILTER_OPS), END)), -EPROTO);
	/* the last instruction must end the program */
	assert_int_equal(verify(PROGRAM(INSN(.op = WMK_FILTER_CONST, .dst = 3))), -EPROTO);
	assert_int_equal(verify(PROGRAM(INSN(.op = WMK_FILTER_JEQ, .a = 0, .b = IMM, .to = 1),
					INSN(.op = WMK_FILTER_CONST, .dst = 3))),
			 -EPROTO);
	/* jumps lead forward, to an instruction of the program */
	assert_int_equal(verify(PROGRAM(INSN(.op = WMK_FILTER_JUMP, .to = 1), END)), 0);
	assert_int_equal(verify(PROGRAM(INSN(.op = WMK_FILTER_JUMP, .to = 0), END)), -EPROTO);
	assert_int_equal(verify(PROGRAM(INSN(.op = WMK_FILTER_JUMP, .to = 2), END)), -EPROTO);
	assert_int_equal(verify(PROGRAM(END, INSN(.op = WMK_FILTER_JUMP, .to = 0), END)), -EPROTO);
	assert_int_equal(verify(PROGRAM(INSN(.op = WMK_FILTER_DIV, .dst = 3, .a = 0, .b = 0, .to = 1), END)), 0);
	assert_int_equal(verify(PROGRAM(INSN(.op = WMK_FILTER_DIV, .dst = 3, .a = 0, .b = 0, .to = 0), END)), -EPROTO);
	assert_int_equal(verify(PROGRAM(INSN(.op = WMK_FILTER_JHAS, .a = 2, .to = 1), END)), 0);
	assert_int_equal(verify(PROGRAM(INSN(.op = WMK_FILTER_JHAS, .a = 3, .to = 1), END)), -EPROTO);
	/* types */
	assert_int_equal(verify(PROGRAM(INSN(.op = WMK_FILTER_ADD, .dst = 3, .a = 0, .b = IMM), END)), 0);
	assert_int_equal(verify(PROGRAM(INSN(.op = WMK_FILTER_ADD, .dst = 3, .a = 1, .b = IMM), END)), -EPROTO);
	assert_int_equal(verify(PROGRAM(INSN(.op = WMK_FILTER_ADD, .dst = 3, .a = 0, .b = 1), END)), -EPROTO);
	assert_int_equal(verify(PROGRAM(INSN(.op = WMK_FILTER_ADD, .dst = 3, .a = IMM, .b = 0), END)), -EPROTO);
	assert_int_equal(verify(PROGRAM(INSN(.op = WMK_FILTER_FADD, .dst = 3, .a = 1, .b = 1), END)), 0);
	assert_int_equal(verify(PROGRAM(INSN(.op = WMK_FILTER_FADD, .dst = 3, .a = 0, .b = 1), END)), -EPROTO);
	assert_int_equal(verify(PROGRAM(INSN(.op = WMK_FILTER_MOVE, .dst = 3, .a = 2), END)), -EPROTO);
	assert_int_equal(verify(PROGRAM(INSN(.op = WMK_FILTER_MOVE, .dst = 3, .a = 1),
					INSN(.op = WMK_FILTER_FADD, .dst = 4, .a = 3, .b = IMM), END)),
			 0);
	assert_int_equal(verify(PROGRAM(INSN(.op = WMK_FILTER_MOVE, .dst = 3, .a = 1),
					INSN(.op = WMK_FILTER_ADD, .dst = 4, .a = 3, .b = IMM), END)),
			 -EPROTO);
	/* a register changes its type */
	assert_int_equal(verify(PROGRAM(INSN(.op = WMK_FILTER_CONST, .dst = 3),
					INSN(.op = WMK_FILTER_CONST_DOUBLE, .dst = 3),
					INSN(.op = WMK_FILTER_JEQ, .a = 3, .b = IMM, .to = 3), END)),
			 -EPROTO);
	/* inputs are read-only, and registers are limited */
	assert_int_equal(verify(PROGRAM(INSN(.op = WMK_FILTER_CONST, .dst = 2), END)), -EPROTO);
	assert_int_equal(verify(PROGRAM(INSN(.op = WMK_FILTER_CONST, .dst = 63), END)), 0);
	assert_int_equal(verify(PROGRAM(INSN(.op = WMK_FILTER_CONST, .dst = 64), END)), -EPROTO);
	/* a register that only one path to the instruction has written */
	assert_int_equal(verify(PROGRAM(INSN(.op = WMK_FILTER_JEQ, .a = 0, .b = IMM, .to = 2),
					INSN(.op = WMK_FILTER_CONST, .dst = 3),
					INSN(.op = WMK_FILTER_JEQ, .a = 3, .b = IMM, .to = 3), END)),
			 -EPROTO);
	assert_int_equal(verify(PROGRAM(INSN(.op = WMK_FILTER_CONST, .dst = 3),
					INSN(.op = WMK_FILTER_JEQ, .a = 0, .b = IMM, .to = 2),
					INSN(.op = WMK_FILTER_JEQ, .a = 3, .b = IMM, .to = 3), END)),
			 0);
	/* a division without a result writes nothing */
	assert_int_equal(verify(PROGRAM(INSN(.op = WMK_FILTER_DIV, .dst = 3, .a = 0, .b = 0, .to = 1),
					INSN(.op = WMK_FILTER_JEQ, .a = 3, .b = IMM, .to = 2), END)),
			 -EPROTO);
	/* texts */
	assert_int_equal(
		verify(PROGRAM(INSN(.op = WMK_FILTER_JMATCH, .a = 2, .to = 1, .value = { .text = { 0, 4 } }), END)), 0);
	assert_int_equal(verify(PROGRAM(INSN(.op = WMK_FILTER_JMATCH, .a = 2, .to = 1, .value = { .text = { 1, 4 } }),
					END)),
			 -EPROTO);
	assert_int_equal(
		verify(PROGRAM(INSN(.op = WMK_FILTER_JMATCH, .a = 2, .to = 1, .value = { .text = { 5, UINT32_MAX } }),
			       END)),
		-EPROTO);
	assert_int_equal(verify(PROGRAM(INSN(.op = WMK_FILTER_JMATCH, .a = 0, .to = 1), END)), -EPROTO);
	assert_int_equal(verify(PROGRAM(INSN(.op = WMK_FILTER_COMPARE, .dst = 3, .a = 2, .b = 2), END)), 0);
	assert_int_equal(verify(PROGRAM(INSN(.op = WMK_FILTER_COMPARE, .dst = 3, .a = 2, .b = 1), END)), -EPROTO);
	assert_int_equal(verify(PROGRAM(INSN(.op = WMK_FILTER_COMPARE, .dst = 3, .a = 2, .b = IMM,
					     .value = { .text = { 4, 1 } }),
					END)),
			 -EPROTO);
	/* unreachable code may read anything, but must not jump outside the program */
	assert_int_equal(verify(PROGRAM(INSN(.op = WMK_FILTER_JUMP, .to = 2),
					INSN(.op = WMK_FILTER_MOVE, .dst = 3, .a = 9), END)),
			 0);
}

static void filter_program_with_invalid_inputs_is_rejected(void **state)
{
	static const struct wmk_filter_input bad[] = { { WMK_FILTER_ABSENT, 0, 0, 0 },
						       { WMK_FILTER_TEXT + 1, 0, 0, 0 },
						       { WMK_FILTER_SIGNED, WMK_FILTER_EVENT, 0, 0 } };
	static const struct wmk_filter_insn end = END;

	(void)state;
	for (size_t i = 0; i < WMK_ARRAY_LEN(bad); i++) {
		const struct wmk_filter_program program = {
			.n_inputs = 1, .n_insns = 1, .inputs = &bad[i], .insns = &end, .pool = ""
		};

		assert_int_equal(wmk_filter_verify(&program), -EPROTO);
		wmk_error_clear();
	}
}

/* Any bytes are rejected, or are a program that runs to its end and accesses only its inputs. */
static bool tries(const uint8_t *bytes, size_t n)
{
	const struct rig rig = { .s = 4, .t = 2, .u = 9, .d = 1.5, .name = "bob", .other = "alice", .state = 1 };
	uint8_t *copy = malloc(n ? n : 1);
	struct wmk_filter_program *program;
	struct wmk_filter_values values;
	int err;

	memcpy(copy, bytes, n);
	err = wmk_filter_decode(copy, n, &program);
	free(copy);
	if (err < 0) {
		assert_int_equal(err, -EPROTO);
		wmk_error_clear();
		return false;
	}
	for (uint32_t i = 0; i < program->n_inputs; i++)
		values.texts[i] = (struct wmk_filter_text){ "", 0 };
	rig_fill(&rig, program, &values);
	wmk_filter_run(program, &values);
	wmk_filter_program_free(program);
	return true;
}

static void corrupt_filter_program_does_not_crash(void **state)
{
	static const char text[] = "s in [1, 2, 3] && (name == \"bo*b\" || other < name) && d * 2 > s / t && (u > 5 ? "
				   "state == \"WA*\" : list[2] != 3) || exists(opt)";
	struct wmk_filter_expr *expr;
	struct wmk_filter_program *program;
	uint8_t *bytes;
	unsigned fine = 0;
	long n;

	(void)state;
	assert_int_equal(wmk_filter_parse(text, &expr), 0);
	assert_int_equal(wmk_filter_compile((const struct wmk_filter_expr *const *)&expr, 1, rig_lookup, NULL,
					    WMK_FILTER_STRICT, &program),
			 0);
	n = wmk_filter_encode(program, &bytes);
	assert_true(n > 0 && n < (long)WMK_FILTER_BYTES_MAX);
	assert_true(tries(bytes, (size_t)n));
	for (long i = 0; i < n; i++)
		assert_false(tries(bytes, (size_t)i));
	for (long i = 0; i < n; i++) {
		const uint8_t was = bytes[i];

		for (unsigned value = 0; value < 256; value++) {
			bytes[i] = (uint8_t)value;
			fine += tries(bytes, (size_t)n);
		}
		bytes[i] = was;
	}
	/* some changes give another valid program, but not all: both results occur */
	assert_true(fine > (unsigned)n && fine < 256 * (unsigned)n);
	free(bytes);
	wmk_filter_program_free(program);
	wmk_filter_expr_free(expr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filter_verifier_rejects_each_invalid_program),
		cmocka_unit_test(filter_program_with_invalid_inputs_is_rejected),
		cmocka_unit_test(corrupt_filter_program_does_not_crash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
