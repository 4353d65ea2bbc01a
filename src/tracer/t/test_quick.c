/* SPDX-License-Identifier: MIT */
/*
 * test_quick.c - filters of one comparison, which the recording path evaluates without the interpreter. Numbers of
 * every size and sign, aligned and not, each operator of the bytecode with each bound, and both operand orders,
 * compared with C.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "filter/filter.h"
#include "tracer/t/fake_sessiond.h"
#include "tracer/t/quick.h"
#include "tracer/t/run.h"

static const uint64_t values[] = QUICK_VALUES;
#define VALUES (sizeof(values) / sizeof(values[0]))

/* The two events of prog_wait. */
static const struct field {
	const char *event;
	uint16_t number;
	uint8_t bits;
	bool is_signed;
} fields[] = {
	{ "numbers", 1, 64, false },  { "numbers", 2, 8, true },   { "numbers", 3, 16, false },
	{ "numbers", 4, 32, true },   { "numbers", 5, 8, false },  { "numbers", 6, 64, true },
	{ "numbers", 7, 32, false },  { "numbers", 8, 16, true },  { "straight", 0, 64, false },
	{ "straight", 1, 32, false }, { "straight", 2, 16, true },
};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static uint64_t field_value(const struct field *field, uint64_t v)
{
	const unsigned shift = 64u - field->bits;

	return field->is_signed ? (uint64_t)((int64_t)(v << shift) >> shift) : v << shift >> shift;
}

static bool compares(unsigned op, uint64_t a, uint64_t b)
{
	switch (op) {
	case WMK_FILTER_JEQ: return a == b;
	case WMK_FILTER_JNE: return a != b;
	case WMK_FILTER_JLT: return (int64_t)a < (int64_t)b;
	case WMK_FILTER_JNLT: return !((int64_t)a < (int64_t)b);
	case WMK_FILTER_JLE: return (int64_t)a <= (int64_t)b;
	case WMK_FILTER_JNLE: return !((int64_t)a <= (int64_t)b);
	case WMK_FILTER_JLT_U: return a < b;
	case WMK_FILTER_JNLT_U: return !(a < b);
	case WMK_FILTER_JLE_U: return a <= b;
	default: return !(a <= b);
	}
}

static const unsigned ops[] = { WMK_FILTER_JEQ,   WMK_FILTER_JNE,   WMK_FILTER_JLT,   WMK_FILTER_JNLT,
				WMK_FILTER_JLE,   WMK_FILTER_JNLE,  WMK_FILTER_JLT_U, WMK_FILTER_JNLT_U,
				WMK_FILTER_JLE_U, WMK_FILTER_JNLE_U };
#define OPS (sizeof(ops) / sizeof(ops[0]))

struct quick_rig {
	struct fake_sessiond *c;
	int input;
	pid_t pid;
};

static void filter_send(const struct quick_rig *rig, const struct field *field, unsigned op, uint64_t bound,
			bool jump_wants)
{
	const struct wmk_filter_input input = { field->is_signed || field->bits < 64 ? WMK_FILTER_SIGNED
										     : WMK_FILTER_UNSIGNED,
						WMK_FILTER_FIELD, field->number, 0 };
	const struct wmk_filter_insn insns[] = {
		{ .op = (uint8_t)op, .a = 0, .b = WMK_FILTER_IMMEDIATE, .to = 2, .value.u = bound },
		{ .op = WMK_FILTER_RETURN, .value.u = !jump_wants },
		{ .op = WMK_FILTER_RETURN, .value.u = jump_wants }
	};
	const struct wmk_filter_program program = {
		.n_inputs = 1, .n_insns = 3, .inputs = &input, .insns = insns, .pool = ""
	};
	uint8_t *bytes;
	long len = wmk_filter_encode(&program, &bytes);

	assert_true(len > 0);
	assert_true(fake_sessiond_filter_bytes(rig->c, field->event, bytes, (size_t)len));
	free(bytes);
	assert_int_equal(fake_sessiond_errors(rig->c, NULL), 0);
}

/* Return the recorded values as bits; check that no record of the other event was made, and none twice. */
static uint64_t recorded(const struct quick_rig *rig, const char *event)
{
	struct run_records records = { 0 };
	uint64_t lost = 0, came = 0;
	char byte, prefix[32];

	assert_int_equal(send(rig->input, "", 1, MSG_NOSIGNAL), 1);
	assert_int_equal(read(rig->input, &byte, 1), 1);
	assert_true(fake_sessiond_read(rig->c, run_keep, &records, &lost, NULL) >= 0);
	assert_int_equal(lost, 0);
	snprintf(prefix, sizeof(prefix), "t:%s ", event);
	for (unsigned i = 0; i < records.n; i++) {
		const char *number = strstr(records.text[i], " i=");

		assert_int_equal(strncmp(records.text[i], prefix, strlen(prefix)), 0);
		assert_non_null(number);
		const unsigned long n = strtoul(number + 3, NULL, 10);

		assert_true(n < VALUES && !(came >> n & 1));
		came |= 1ull << n;
	}
	run_forget(&records);
	return came;
}

static void try_one(const struct quick_rig *rig, const struct field *field, unsigned op, uint64_t bound,
		    bool jump_wants)
{
	uint64_t wanted = 0;

	filter_send(rig, field, op, bound, jump_wants);
	for (unsigned i = 0; i < VALUES; i++)
		wanted |= (uint64_t)(compares(op, field_value(field, values[i]), bound) == jump_wants) << i;
	const uint64_t came = recorded(rig, field->event);

	if (came != wanted)
		fail_msg("%s, field %u of %u bits: operator %u with %#llx, %d: of the values came %#llx, not %#llx",
			 field->event, field->number, field->bits, op, (unsigned long long)bound, jump_wants,
			 (unsigned long long)came, (unsigned long long)wanted);
}

static void filter_comparisons_equal_those_of_c(void **state)
{
	struct fake_sessiond_options options = { .prefix = "t:", .notifies = true, .wants_errors = true };
	struct quick_rig rig = { .c = fake_sessiond_start(run_make_dir(), &options) };

	(void)state;
	rig.pid = run_start_with_input((const char *[]){ "prog_wait", "numbers", NULL }, &rig.input);
	assert_true(fake_sessiond_wait_done(rig.c, 1));
	for (unsigned f = 0; f < FIELDS; f++) {
		assert_true(fake_sessiond_disable_all(rig.c));
		for (unsigned n = 0; n < OPS * VALUES * 2; n++)
			try_one(&rig, &fields[f], ops[n / 2 % OPS], values[n / 2 / OPS], n % 2);
	}
	close(rig.input);
	assert_int_equal(run_wait(rig.pid), 0);
	fake_sessiond_free(rig.c);
	run_remove_dir();
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(filter_comparisons_equal_those_of_c) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
