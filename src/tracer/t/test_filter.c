/* SPDX-License-Identifier: MIT */
/*
 * test_filter.c - invalid filters from a session daemon: each causes an error and never runs, and enabled events do not
 * change. A valid filter works afterwards.
 */
#include <errno.h>
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
#include "tracer/t/run.h"

/* Fields of t:step, and their number. */
enum { N, TEXT, SEQ, RATIO, FIELDS };

struct rig {
	struct fake_sessiond *c;
	int input;
	pid_t pid;
	unsigned wrong;            /* expected errors so far */
	int steps;                 /* steps so far: the next `n` */
};

/* Start a program that records step by step, with its events disabled. */
static void rig_start(struct rig *rig)
{
	struct fake_sessiond_options options = { .prefix = "t:step", .notifies = true, .wants_errors = true };

	*rig = (struct rig){ .c = fake_sessiond_start(run_make_dir(), &options) };
	rig->pid = run_start_with_input((const char *[]){ "prog_wait", "steps", NULL }, &rig->input);
	assert_true(fake_sessiond_wait_done(rig->c, 1));
	assert_true(fake_sessiond_disable_all(rig->c));
}

static void rig_end(struct rig *rig)
{
	assert_int_equal(fake_sessiond_connected(rig->c), 1);
	assert_int_equal(fake_sessiond_errors(rig->c, NULL), rig->wrong);
	close(rig->input);
	assert_int_equal(run_wait(rig->pid), 0);
	fake_sessiond_free(rig->c);
	run_remove_dir();
}

/* Make two more steps, with an even and an odd number, and check which are recorded. */
static void assert_recorded(struct rig *rig, bool even, bool odd)
{
	struct run_records records = { 0 };
	const bool wanted[2] = { even, odd };
	uint64_t lost = 0;
	char byte, text[64];

	for (int i = 0; i < 2; i++) {
		assert_int_equal(send(rig->input, "", 1, MSG_NOSIGNAL), 1);
		assert_int_equal(read(rig->input, &byte, 1), 1);
	}
	assert_int_equal(fake_sessiond_read(rig->c, run_keep, &records, &lost, NULL), even + odd);
	for (int i = 0; i < 2; i++) {
		snprintf(text, sizeof(text), "t:step n=%d text=\"word\" seq=[3,-4] ratio=0.5", rig->steps++);
		assert_int_equal(run_count(&records, text), wanted[i]);
	}
	assert_int_equal(lost, 0);
	run_forget(&records);
}

/* The message causes an error, and the application stays connected. */
static void assert_refused(struct rig *rig, const void *bytes, size_t len)
{
	int last = 0;

	assert_true(fake_sessiond_filter_bytes(rig->c, "step", bytes, len));
	assert_int_equal(fake_sessiond_errors(rig->c, &last), ++rig->wrong);
	assert_int_equal(last, EINVAL);
	assert_int_equal(fake_sessiond_connected(rig->c), 1);
}

/* ── faults ────────────────────────────────────────────────────────────────────────────────────────────────── */

/* A valid program that accepts every record. Each fault changes one thing in it. */
struct sample {
	struct wmk_filter_input inputs[4];
	struct wmk_filter_insn insns[4];
	struct wmk_filter_program program;
};

static void sample_make(struct sample *s)
{
	*s = (struct sample){
		.inputs = { { WMK_FILTER_SIGNED, WMK_FILTER_FIELD, N, 0 },
			    { WMK_FILTER_TEXT, WMK_FILTER_FIELD, TEXT, 0 },
			    { WMK_FILTER_SIGNED, WMK_FILTER_FIELD, SEQ, 1 },
			    { WMK_FILTER_DOUBLE, WMK_FILTER_FIELD, RATIO, 0 } },
		.insns = { { .op = WMK_FILTER_ADD, .dst = 4, .a = 0, .b = WMK_FILTER_IMMEDIATE, .value.i = 1 },
			   { .op = WMK_FILTER_JMATCH, .a = 1, .to = 3, .value.text = { 0, 4 } },
			   { .op = WMK_FILTER_JUMP, .to = 3 },
			   { .op = WMK_FILTER_RETURN, .value.u = 1 } },
	};
	s->program = (struct wmk_filter_program){
		.n_inputs = 4, .n_insns = 4, .pool_bytes = 4, .inputs = s->inputs, .insns = s->insns, .pool = "word"
	};
}

static size_t sample_bytes(const struct sample *s, uint8_t **bytes)
{
	long len = wmk_filter_encode(&s->program, bytes);

	assert_true(len > 0);
	return (size_t)len;
}

#define FAULTS(X) \
	X(field_behind_the_last, s->inputs[0].number = FIELDS) \
	X(field_far_behind, s->inputs[0].number = UINT16_MAX) \
	X(number_as_text, s->inputs[1].number = N) \
	X(number_as_double, s->inputs[3].number = N) \
	X(text_as_number, s->inputs[0].number = TEXT) \
	X(element_as_text, s->inputs[1].number = SEQ) \
	X(double_as_whole, s->inputs[2].number = RATIO) \
	X(no_type, s->inputs[0].type = WMK_FILTER_ABSENT) \
	X(type_that_is_none, s->inputs[0].type = WMK_FILTER_TEXT + 1) \
	X(scope_that_is_none, s->inputs[0].scope = WMK_FILTER_EVENT) \
	X(context_that_is_none, (s->inputs[0].scope = WMK_FILTER_CONTEXT, s->inputs[0].number = UINT16_MAX)) \
	X(context_number_0, (s->inputs[0].scope = WMK_FILTER_CONTEXT, s->inputs[0].number = 0)) \
	X(context_of_another_type, (s->inputs[1].scope = WMK_FILTER_CONTEXT, s->inputs[1].number = WMK_CONTEXT_VPID)) \
	X(jump_out, s->insns[2].to = 4) \
	X(jump_far_out, s->insns[2].to = UINT32_MAX) \
	X(jump_onto_itself, s->insns[2].to = 2) \
	X(jump_back, s->insns[1].to = 0) \
	X(no_end, s->insns[3] = (struct wmk_filter_insn){ .op = WMK_FILTER_CONST, .dst = 5 }) \
	X(instruction_that_is_none, s->insns[2].op = WMK_FILTER_OPS) \
	X(writes_an_input, s->insns[0].dst = 3) \
	X(writes_no_register, s->insns[0].dst = WMK_FILTER_REGISTERS) \
	X(reads_what_nobody_wrote, s->insns[0].a = 9) \
	X(reads_no_register, s->insns[0].a = 200) \
	X(adds_a_text, s->insns[0].a = 1) \
	X(adds_a_double, s->insns[0].a = 3) \
	X(matches_a_number, s->insns[1].a = 0) \
	X(text_behind_the_pool, s->insns[1].value.text.at = 5) \
	X(text_out_of_the_pool, s->insns[1].value.text.len = 5) \
	X(text_around_the_memory, s->insns[1].value.text.len = UINT32_MAX) \
	X(no_instructions, s->program.n_insns = 0) \
	X(input_that_is_not_there, s->program.n_inputs = 1)

#define FUNCTION(name, ...) \
	static void name(struct sample *s) \
	{ \
		__VA_ARGS__; \
	}
FAULTS(FUNCTION)

#define ENTRY(name, ...) { #name, name },
static const struct {
	const char *name;
	void (*make)(struct sample *s);
} faults[] = { FAULTS(ENTRY) };

/* ── the cases ───────────────────────────────────────────────────────────────────────────────────────────── */

static void send_faults(struct rig *rig)
{
	struct sample s;
	uint8_t *bytes;

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		sample_make(&s);
		faults[i].make(&s);
		size_t len = sample_bytes(&s, &bytes);

		print_message("%s\n", faults[i].name);
		assert_refused(rig, bytes, len);
		free(bytes);
	}
}

/* Truncated at every length, with appended bytes, and with each wrong length in the head. */
static void send_wrong_lengths(struct rig *rig)
{
	static const struct {
		unsigned at;
		int by;
	} changed[] = { { 1, 1 },  { 1, -1 }, { 1, 100 }, { 2, 1 }, { 2, -1 },   { 3, 1 },
			{ 3, -1 }, { 4, 1 },  { 4, -1 },  { 5, 1 }, { 7, 0x7f }, { 0, 1 } };
	struct sample s;
	uint8_t *bytes, *longer;

	sample_make(&s);
	const size_t len = sample_bytes(&s, &bytes);

	/* an empty program means no filter */
	for (size_t cut = 1; cut < len; cut++)
		assert_refused(rig, bytes, cut);
	longer = calloc(1, len + WMK_FILTER_BYTES_MAX);
	assert_non_null(longer);
	memcpy(longer, bytes, len);
	assert_refused(rig, longer, len + 1);
	assert_refused(rig, longer, len + WMK_FILTER_BYTES_MAX);
	for (size_t i = 0; i < sizeof(changed) / sizeof(changed[0]); i++) {
		memcpy(longer, bytes, len);
		longer[changed[i].at] = (uint8_t)(longer[changed[i].at] + changed[i].by);
		assert_refused(rig, longer, len);
	}
	free(longer);
	free(bytes);
}

/* Random bytes with an unknown version; then a valid head, and random instructions before an invalid one. */
static void send_random(struct rig *rig)
{
	unsigned seed = (unsigned)getpid();
	struct sample s;
	uint8_t *bytes, any[400];

	print_message("seed %u\n", seed);
	sample_make(&s);
	s.insns[3].op = WMK_FILTER_OPS;
	const size_t len = sample_bytes(&s, &bytes), first = len - s.program.pool_bytes - 4 * 16;

	for (unsigned round = 0; round < 500; round++) {
		for (size_t i = 0; i < sizeof(any); i++)
			any[i] = (uint8_t)rand_r(&seed);
		any[0] |= 2;
		assert_refused(rig, any, 1 + (size_t)rand_r(&seed) % sizeof(any));
		for (size_t i = first; i < first + 3 * 16; i++)
			bytes[i] = (uint8_t)rand_r(&seed);
		for (size_t i = 0; i < 3; i++)
			bytes[first + 16 * i] %= WMK_FILTER_OPS;
		assert_refused(rig, bytes, len);
	}
	free(bytes);
}

static void send_all(struct rig *rig)
{
	send_faults(rig);
	send_wrong_lengths(rig);
	send_random(rig);
}

/* Disabled events stay disabled; then a valid filter works. */
static void invalid_filters_never_run(void **state)
{
	struct rig rig;
	struct sample s;
	uint8_t *bytes;

	(void)state;
	rig_start(&rig);
	assert_recorded(&rig, false, false);
	send_all(&rig);
	assert_recorded(&rig, false, false);
	sample_make(&s);
	const size_t len = sample_bytes(&s, &bytes);

	/* the valid program */
	assert_true(fake_sessiond_filter_bytes(rig.c, "step", bytes, len));
	free(bytes);
	assert_recorded(&rig, true, true);
	assert_true(
		fake_sessiond_filter(rig.c, (const char *const[]){ "n % 2 == 1 && text == \"w*\" && ratio < 1" }, 1));
	assert_recorded(&rig, false, true);
	rig_end(&rig);
}

/* Enabled events keep their filter. */
static void invalid_filter_does_not_replace_the_enabled_filter(void **state)
{
	struct rig rig;

	(void)state;
	rig_start(&rig);
	assert_true(fake_sessiond_filter(rig.c, (const char *const[]){ "n % 2 == 0" }, 1));
	assert_recorded(&rig, true, false);
	send_all(&rig);
	assert_recorded(&rig, true, false);
	assert_true(fake_sessiond_filter(rig.c, (const char *const[]){ "n % 2 == 1" }, 1));
	assert_recorded(&rig, false, true);
	rig_end(&rig);
}

/* A filter above the limit of a message closes the connection; the next session daemon is accepted. */
static void filter_above_the_message_limit_closes_the_connection(void **state)
{
	uint8_t *bytes = calloc(1, WMK_WIRE_FILTER_MAX + 1);
	struct rig rig;

	(void)state;
	assert_non_null(bytes);
	rig_start(&rig);
	assert_refused(&rig, bytes, WMK_WIRE_FILTER_MAX);
	assert_true(fake_sessiond_filter_bytes(rig.c, "step", bytes, WMK_WIRE_FILTER_MAX + 1));
	for (int i = 0; i < 10000 && fake_sessiond_connected(rig.c); i++)
		run_pause_ms(1);
	assert_int_equal(fake_sessiond_connected(rig.c), 0);
	assert_recorded(&rig, false, false);
	fake_sessiond_crash(rig.c);
	fake_sessiond_restart(rig.c);
	assert_true(fake_sessiond_wait_done(rig.c, 2));
	assert_true(fake_sessiond_filter(rig.c, (const char *const[]){ "n % 2 == 1" }, 1));
	assert_recorded(&rig, false, true);
	rig_end(&rig);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(invalid_filters_never_run),
		cmocka_unit_test(invalid_filter_does_not_replace_the_enabled_filter),
		cmocka_unit_test(filter_above_the_message_limit_closes_the_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
