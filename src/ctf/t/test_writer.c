/* SPDX-License-Identifier: MIT */
/*
 * test_writer.c - packet headers, index entries, and declarations that the metadata writer rejects.
 * store/t/test_readers.c tests whether other readers accept the metadata.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"
#include "ctf/writer.h"

static const uint8_t uuid[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
static const struct wmk_ctf_packet sample = { .stream_id = 7, .instance = 0x1122334455667788, .begin_ts = 5,
					      .end_ts = UINT64_MAX,
	.content = 13, .sequence = 3, .ring_position = 1u << 20, .lost = 99, .cpu = WMK_CTF_CPU_NONE, .cut = 4 };

static void packet_header_is_decoded_as_it_was_encoded(void **state)
{
	uint8_t room[WMK_CTF_PACKET_ROOM], end[WMK_CTF_END_MAX];
	struct wmk_ctf_packet back = { 0 }, padded = sample;

	(void)state;
	wmk_ctf_packet_encode(room, uuid, &sample);
	assert_memory_equal(room, "\xc1\x1f\xfc\xc1", 4);
	assert_memory_equal(room + 4, uuid, 16);
	assert_memory_equal(room + 20, "\x07\0\0\0\x88\x77\x66\x55\x44\x33\x22\x11\x05\0", 14);
	/* 101 * 8, 120 * 8 bits */
	assert_memory_equal(room + 48, "\x28\x03\0\0\0\0\0\0\xc0\x03\0\0\0\0\0\0\x03", 17);
	assert_memory_equal(room + 72, "\xff\xff\xff\xff\0\0\0\0\x63\0\0\0\0\0\0\0", 16);
	assert_int_equal(wmk_ctf_packet_decode(room, uuid, &back), 0);
	assert_int_equal(back.ring_position | back.cut, 0);
	assert_int_equal(wmk_ctf_packet_end(end, &sample), 3 + 16);
	assert_memory_equal(end, "\0\0\0\0\0\x10\0\0\0\0\0\x04\0\0\0Wymk", 19);
	assert_true(wmk_ctf_trailer_decode(end + 3, &back));
	assert_memory_equal(&back, &sample, sizeof(back));
	end[18] = 0;
	assert_false(wmk_ctf_trailer_decode(end + 3, &back));
	assert_int_equal(wmk_ctf_packet_size(&sample), 120);
	padded.pad = 4000;
	wmk_ctf_packet_encode(room, uuid, &padded);
	assert_int_equal(wmk_ctf_packet_decode(room, uuid, &back), 0);
	assert_int_equal(wmk_ctf_packet_end(end, &padded), 3 + 4000 + 16);
	assert_true(wmk_ctf_trailer_decode(end + 4003, &back));
	assert_memory_equal(&back, &padded, sizeof(back));
	padded.pad = WMK_CTF_PAD_MAX;
	wmk_ctf_packet_encode(room, uuid, &padded);
	assert_int_equal(wmk_ctf_packet_decode(room, uuid, &back), -EPROTO);
}

/* A change of each of these bytes gives a packet of another trace, or an invalid one. */
static void packet_header_with_a_changed_byte_is_rejected(void **state)
{
	static const unsigned at[] = { 0, 3, 4, 19, 48, 49, 54, 55, 58, 63 };
	uint8_t room[WMK_CTF_PACKET_ROOM];
	struct wmk_ctf_packet back;

	(void)state;
	for (size_t i = 0; i < WMK_ARRAY_LEN(at); i++) {
		wmk_ctf_packet_encode(room, uuid, &sample);
		room[at[i]] ^= 0x80;
		assert_int_equal(wmk_ctf_packet_decode(room, uuid, &back), -EPROTO);
	}
	memset(room, 0, sizeof(room));
	assert_int_equal(wmk_ctf_packet_decode(room, uuid, &back), -EPROTO);
}

static void index_entries_are_encoded_in_big_endian(void **state)
{
	uint8_t head[WMK_CTF_INDEX_HEAD], entry[WMK_CTF_INDEX_ENTRY];

	(void)state;
	wmk_ctf_index_head(head);
	assert_memory_equal(head, "\xc1\xf1\xdc\xc1\0\0\0\1\0\0\0\1\0\0\0\x48", 16);
	wmk_ctf_index_packet(entry, 4096, &sample);
	assert_memory_equal(entry,
			    "\0\0\0\0\0\0\x10\0" "\0\0\0\0\0\0\x03\xc0" "\0\0\0\0\0\0\x03\x28" "\0\0\0\0\0\0\0\x05"
			    "\xff\xff\xff\xff\xff\xff\xff\xff" "\0\0\0\0\0\0\0\x63" "\0\0\0\0\0\0\0\x07"
			    "\x11\x22\x33\x44\x55\x66\x77\x88" "\0\0\0\0\0\0\0\x03", 72);
}

/* A type without a TSDL form: -EINVAL, and nothing of the declaration is appended. */
static void type_without_tsdl_form_is_rejected_and_appends_nothing(void **state)
{
	static const struct wmk_type narrow = { .kind = WMK_TYPE_INT, .width = 7 }, text = { .kind = WMK_TYPE_STRING };
	const struct wmk_type bad[] = { narrow, { .kind = WMK_TYPE_INT, .width = 8, .base = 7 },
					{ .kind = WMK_TYPE_FLOAT, .width = 16 },
		{ .kind = 200 }, { .kind = WMK_TYPE_ARRAY, .count = 3 }, { .kind = WMK_TYPE_SEQUENCE, .elem = &narrow },
		{ .kind = WMK_TYPE_ARRAY, .count = 3, .elem = &text, .is_text = 1 }, { .kind = WMK_TYPE_OPTIONAL } };
	struct wmk_type nest[80];
	struct wmk_field field = { .name = "f" };
	const struct wmk_event_class event = { .provider = "p", .name = "n", .n_fields = 1, .fields = &field };
	struct wmk_ctf_text_buffer out = { 0 };

	(void)state;
	assert_int_equal(wmk_ctf_comment_text(&out, "before */ after"), 0);
	assert_string_equal(out.text, "/* before *  after */\n");
	for (size_t i = 0; i < WMK_ARRAY_LEN(bad); i++) {
		field.type = bad[i];
		assert_int_equal(wmk_ctf_event_text(&out, WMK_CTF_1_8, 0, 1, &event), -EINVAL);
		assert_string_equal(out.text, "/* before *  after */\n");
	}
	for (size_t i = 0; i < 80; i++)
		nest[i] = (struct wmk_type){ .kind = WMK_TYPE_ARRAY, .count = 1, .elem = i ? &nest[i - 1] : &text };
	field.type = nest[79];
	assert_int_equal(wmk_ctf_event_text(&out, WMK_CTF_1_8, 0, 1, &event), -E2BIG);
	assert_string_equal(out.text, "/* before *  after */\n");
	field.type = text;
	assert_int_equal(wmk_ctf_event_text(&out, WMK_CTF_1_8, 0, 1, &event), 0);
	wmk_ctf_text_free(&out);
}

/* The name of a class without a provider is the name alone, in both versions; with a provider it is both. */
static void event_class_without_provider_has_a_plain_name(void **state)
{
	const struct wmk_event_class plain = { .provider = "", .name = "sched_switch" },
				     full = { .provider = "shop", .name = "order" };

	(void)state;
	for (unsigned version = WMK_CTF_1_8; version <= WMK_CTF_2; version++) {
		struct wmk_ctf_text_buffer out = { 0 };

		assert_int_equal(wmk_ctf_event_text(&out, version, 0, 0, &plain), 0);
		assert_int_equal(wmk_ctf_event_text(&out, version, 0, 1, &full), 0);
		assert_non_null(strstr(out.text, "\"sched_switch\""));
		assert_non_null(strstr(out.text, "\"shop:order\""));
		wmk_ctf_text_free(&out);
	}
}

static void clock_with_invalid_frequency_offset_or_name_is_rejected(void **state)
{
	struct wmk_clock clock = { .freq = 0, .name = "tsc" };
	const struct wmk_ctf_trace trace = { .clock = &clock, .domain = "ust" };
	struct wmk_ctf_text_buffer out = { 0 };

	(void)state;
	assert_int_equal(wmk_ctf_trace_text(&out, &trace), -EINVAL);
	clock.freq = 10;
	clock.offset = 10;
	assert_int_equal(wmk_ctf_trace_text(&out, &trace), -EINVAL);
	clock.offset = 9;
	assert_int_equal(wmk_ctf_trace_text(&out, &trace), 0);
	clock.name[0] = '\0';
	assert_int_equal(wmk_ctf_trace_text(&out, &trace), -EINVAL);
	wmk_ctf_text_free(&out);
}

static void contexts_are_found_by_name_and_domain(void **state)
{
	(void)state;
	const struct wmk_ctf_context *context = NULL;
	unsigned n_user = 0, n_kernel = 0;

	for (unsigned i = 1; i <= WMK_CONTEXT_UTS_NS; i++)
		assert_ptr_equal(wmk_ctf_context_find(wmk_ctf_context(i)->field.name), wmk_ctf_context(i));
	assert_null(wmk_ctf_context(0));
	assert_null(wmk_ctf_context(WMK_CONTEXT_UTS_NS + 1));
	while ((context = wmk_ctf_context_next(WMK_CONTEXT_USER, context)))
		n_user++;
	while ((context = wmk_ctf_context_next(WMK_CONTEXT_KERNEL, context)))
		n_kernel++;
	assert_int_equal(n_user, 6);
	assert_int_equal(n_kernel, WMK_CONTEXT_UTS_NS - 2);
	assert_null(wmk_ctf_context_find("vpi"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packet_header_is_decoded_as_it_was_encoded),
		cmocka_unit_test(packet_header_with_a_changed_byte_is_rejected),
		cmocka_unit_test(index_entries_are_encoded_in_big_endian),
		cmocka_unit_test(type_without_tsdl_form_is_rejected_and_appends_nothing),
		cmocka_unit_test(event_class_without_provider_has_a_plain_name),
		cmocka_unit_test(clock_with_invalid_frequency_offset_or_name_is_rejected),
		cmocka_unit_test(contexts_are_found_by_name_and_domain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
