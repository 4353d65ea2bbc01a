/* SPDX-License-Identifier: MIT */
/*
 * test_variant_select.c - select the option of a value among many choices, and the label among many labels: the result
 * equals that of a linear search, without its time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "ctf/compile.h"

#define HANGS_S 100                  /* a limit for what takes well below one second */

static uint64_t some(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	return *seed ^= *seed << 17;
}

static const struct wmk_ctf_choice *first_that_fits(const struct wmk_ctf_op *op, uint64_t value)
{
	for (uint32_t i = 0; i < op->n_choices; i++) {
		const struct wmk_ctf_choice *at = &op->choices[i];

		if (op->is_signed ? (int64_t)value >= (int64_t)at->from && (int64_t)value <= (int64_t)at->to
				  : value >= at->from && value <= at->to)
			return at;
	}
	return NULL;
}

/* Random values: from a small set, any of 64 bits, and the limits. */
static uint64_t some_value(uint64_t *seed)
{
	static const uint64_t ends[] = { 0,
					 1,
					 INT64_MAX - 1,
					 INT64_MAX,
					 (uint64_t)INT64_MAX + 1,
					 (uint64_t)INT64_MAX + 2,
					 UINT64_MAX - 1,
					 UINT64_MAX };

	switch (some(seed) >> 7 & 3) {
	case 0: return ends[some(seed) >> 7 & 7];
	case 1: return some(seed);
	default: return (some(seed) >> 7 & 63) - 32;
	}
}

/* Random ranges in any order, also overlapping and reversed ones. */
static void variant_index_selects_the_same_option_as_linear_search(void **state)
{
	uint64_t seed = 88172645463325252u;

	(void)state;
	for (unsigned round = 0; round < 2000; round++) {
		struct wmk_ctf_choice *choices = calloc(1, wmk_ctf_choices_size(60));
		struct wmk_ctf_op op = { .code = WMK_CTF_VARIANT,
					 .is_signed = round % 2,
					 .n_choices = (uint32_t)(some(&seed) >> 7) % 61,
					 .choices = choices };

		for (uint32_t i = 0; i < op.n_choices; i++) {
			choices[i].from = some_value(&seed);
			choices[i].to = some(&seed) & 64 ? some_value(&seed) : choices[i].from + (some(&seed) >> 7 & 7);
		}
		assert_int_equal(wmk_ctf_choices_make_index(&op, choices), 0);
		for (unsigned i = 0; i < 200; i++) {
			const uint64_t value = some_value(&seed);

			assert_ptr_equal(wmk_ctf_variant_select(&op, value), first_that_fits(&op, value));
		}
		free(choices);
	}
}

/* Likewise from metadata: labels of a variant's options, several of which may have the same name. */
static void variant_labels_select_the_same_option_as_linear_search(void **state)
{
	enum { N = 40 };
	static const char *const names[] = { "a", "b", "c" };
	char text[8192], *p = text + sprintf(text, "trace { major = 1; minor = 8; byte_order = le; };\nstream { "
						   "};\nevent { fields := struct { "
						   "enum : integer { size = 8; signed = true; } { none = 100 ... 110");
	unsigned from[N], name[N];
	struct wmk_ctf_decoder *decoder;
	struct wmk_ctf_class *class;
	uint64_t seed = 5;

	(void)state;
	for (unsigned i = 0; i < N; i++) {
		from[i] = (unsigned)(some(&seed) >> 7) % 250;
		name[i] = (unsigned)(some(&seed) >> 7) % 3;
		p += sprintf(p, ", %s = %d ... %d", names[name[i]], (int)from[i] - 128, (int)from[i] - 128 + 5);
	}
	sprintf(p, " } tag; variant <tag> { integer { size = 8; } a; integer { size = 8; } b; integer { size = 8; } c; "
		   "} v; }; };\n");
	assert_int_equal(wmk_ctf_metadata_parse(text, strlen(text), "m", false, &class), 0);
	assert_int_equal(wmk_ctf_compile(class, "m", &decoder), 0);
	for (unsigned value = 0; value < 256; value++) {
		const uint8_t bytes[2] = { (uint8_t)(value - 128), 0 };
		const struct wmk_ctf_bytes in = { bytes, 0, 16 };
		const char *found = NULL, *wanted = NULL;
		struct wmk_ctf_item item;
		struct wmk_ctf_walk walk;

		for (unsigned i = 0; i < N && !wanted; i++)
			wanted = value >= from[i] && value <= from[i] + 5 ? names[name[i]] : NULL;
		wmk_ctf_walk_begin(&walk, &in, 0);
		wmk_ctf_walk_enter(&walk, &decoder->streams[0].events[0].payload);
		while (wmk_ctf_next(&walk, &item))
			if (!item.is_end && strlen(item.op->name ? item.op->name : "") == 1 &&
			    item.op->code == WMK_CTF_INT)
				found = item.op->name;
		assert_int_equal(!wanted, walk.err < 0);
		assert_string_equal(found ? found : "-", wanted ? wanted : "-");
		wmk_error_clear();
	}
	wmk_ctf_decoder_free(decoder);
	wmk_ctf_class_free(class);
}

/* A million choices, a million times. */
static void option_among_a_million_is_selected_quickly(void **state)
{
	const uint32_t n = 1u << 20;
	struct wmk_ctf_choice *choices = calloc(1, wmk_ctf_choices_size(n));
	const struct wmk_ctf_op op = { .code = WMK_CTF_VARIANT, .n_choices = n, .choices = choices };

	(void)state;
	alarm(HANGS_S);
	/* (each range ends at the maximum; the last one comes first) */
	for (uint32_t i = 0; i < n; i++)
		choices[i] = (struct wmk_ctf_choice){ n - i, n, 0 };
	assert_int_equal(wmk_ctf_choices_make_index(&op, choices), 0);
	for (uint32_t i = 1; i <= n; i++)
		assert_ptr_equal(wmk_ctf_variant_select(&op, i), &choices[n - i]);
	alarm(0);
	free(choices);
}

/* A compiled class of records with these members. */
struct one_event {
	struct wmk_type payload;
	struct wmk_ctf_stream_class stream;
	struct wmk_ctf_event_class event;
	const struct wmk_ctf_event_class *events[1];
	const struct wmk_ctf_stream_class *streams[1];
	struct wmk_ctf_class class;
	struct wmk_ctf_decoder *decoder;
};

static const struct wmk_ctf_op *compile_members(struct one_event *one, const struct wmk_field *members, uint32_t n)
{
	*one = (struct one_event){ .payload = { .kind = WMK_TYPE_STRUCT, .count = n, .members = members } };
	one->event = (struct wmk_ctf_event_class){
		.stream = &one->stream, .name = "e", .level = -1, .payload = &one->payload
	};
	one->events[0] = &one->event;
	one->stream = (struct wmk_ctf_stream_class){ .events = one->events, .n_events = 1 };
	one->streams[0] = &one->stream;
	one->class = (struct wmk_ctf_class){
		.major = 2, .order = WMK_ORDER_LITTLE, .streams = one->streams, .n_streams = 1
	};
	assert_int_equal(wmk_ctf_compile(&one->class, "m", &one->decoder), 0);
	return one->decoder->streams[0].events[0].payload.ops;
}

static const char *first_label(const struct wmk_type *type, uint64_t value)
{
	for (uint32_t i = 0; i < type->count; i++) {
		const struct wmk_label *at = &type->labels[i];

		if (type->is_signed ? (int64_t)value >= at->from && (int64_t)value <= at->to
				    : value >= (uint64_t)at->from && value <= (uint64_t)at->to)
			return at->name;
	}
	return NULL;
}

/* The label of a value is the first match, among few and many labels; a value of more than 64 bits has none. */
static void label_index_finds_the_first_match(void **state)
{
	static const char names[60];
	uint64_t seed = 77;

	(void)state;
	for (unsigned round = 0; round < 500; round++) {
		struct wmk_label labels[60];
		const struct wmk_field member = { .name = "a",
						  .type = { .kind = WMK_TYPE_ENUM,
							    .width = 64,
							    .is_signed = round % 2,
							    .labels = labels,
							    .count = (uint32_t)(some(&seed) >> 7) % 61 } };
		struct one_event one;
		struct wmk_ctf_item item;

		for (uint32_t i = 0; i < 60; i++) {
			labels[i] = (struct wmk_label){ .name = &names[i], .from = (int64_t)some_value(&seed) };
			labels[i].to = (int64_t)(some(&seed) & 64 ? some_value(&seed)
								  : (uint64_t)labels[i].from + (some(&seed) >> 7 & 7));
		}
		item = (struct wmk_ctf_item){ .op = &compile_members(&one, &member, 1)[1] };
		assert_int_equal(item.op->labels != NULL, member.type.count > WMK_CTF_CHOICES_FEW);
		for (unsigned i = 0; i < 200; i++) {
			item.value.u = some_value(&seed);
			assert_ptr_equal(wmk_ctf_label(&item), first_label(&member.type, item.value.u));
		}
		item.is_wide = true;
		assert_null(wmk_ctf_label(&item));
		wmk_ctf_decoder_free(one.decoder);
	}
}

/* A million labels, a million times. Fields of one type share an index, unless their signedness differs. */
static void many_labels_are_found_quickly(void **state)
{
	enum { N = 1 << 20, FIELDS = 60 };
	struct wmk_label *labels = calloc(N, sizeof(*labels));
	struct wmk_field members[FIELDS] = { { .name = NULL } };
	const struct wmk_ctf_op *ops;
	struct one_event one;

	(void)state;
	assert_non_null(labels);
	alarm(HANGS_S);
	for (int64_t i = 0; i < N; i++)
		labels[i] = (struct wmk_label){ .name = "l", .from = 2 * i, .to = 2 * i };
	for (unsigned i = 0; i < FIELDS; i++)
		members[i] = (struct wmk_field){
			.name = "a",
			.type = { .kind = WMK_TYPE_ENUM, .width = 64, .is_signed = i % 2, .labels = labels, .count = N }
		};
	ops = compile_members(&one, members, FIELDS);
	for (uint32_t i = 3; i <= FIELDS; i++)
		assert_ptr_equal(ops[i].labels, ops[i - 2].labels);
	assert_ptr_not_equal(ops[1].labels, ops[2].labels);
	for (uint64_t i = 0; i < N; i++) {
		const struct wmk_ctf_item item = { .op = &ops[1], .value.u = 2 * i },
					  none = { .op = &ops[2], .value.u = 2 * i + 1 };

		assert_ptr_equal(wmk_ctf_label(&item), labels[i].name);
		assert_null(wmk_ctf_label(&none));
	}
	alarm(0);
	wmk_ctf_decoder_free(one.decoder);
	free(labels);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(variant_index_selects_the_same_option_as_linear_search),
		cmocka_unit_test(variant_labels_select_the_same_option_as_linear_search),
		cmocka_unit_test(option_among_a_million_is_selected_quickly),
		cmocka_unit_test(label_index_finds_the_first_match), cmocka_unit_test(many_labels_are_found_quickly),
	};

	return cmocka_run_group_tests_name("ctf-choose", tests, NULL, NULL);
}
