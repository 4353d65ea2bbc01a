/* SPDX-License-Identifier: MIT */
/* test_codec.c - encode and decode bodies of messages; each check rejects invalid ones. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schema/schema.h"
#include "wire/wire.h"

static void hello_message_is_decoded_and_invalid_one_refused(void **state)
{
	struct wmk_hello hello = { .abi = 1,
				   .word_bits = 64,
				   .pid = 7,
				   .ppid = 6,
				   .start_time = 5,
				   .image = 9,
				   .clock_freq = 100,
				   .clock_offset_s = -1,
				   .clock_offset = 99,
				   .clock = "mine",
				   .clock_uuid = "u",
				   .name = "program" },
			 got;
	struct wmk_out out = { 0 };

	(void)state;
	assert_int_equal(wmk_out_hello(&out, &hello), 0);
	const uint8_t *body = out.buf + sizeof(struct wmk_frame);
	size_t len = out.len - sizeof(struct wmk_frame);
	assert_int_equal(wmk_hello_decode(body, len, &got), 0);
	assert_memory_equal(&got, &hello, offsetof(struct wmk_hello, name));
	assert_string_equal(got.name, "program");
	assert_int_equal(wmk_hello_decode(body, len - 1, &got), -EPROTO);
	assert_int_equal(wmk_hello_decode(body, len + 1, &got), -EPROTO);
	hello.clock_offset = 100;
	assert_int_equal(wmk_hello_decode(&hello, sizeof(hello), &got), -EPROTO);
	hello.clock[0] = '\0';
	assert_int_equal(wmk_hello_decode(&hello, sizeof(hello), &got), 0);
	memset(hello.name, 'a', sizeof(hello.name));
	assert_int_equal(wmk_hello_decode(&hello, sizeof(hello), &got), -EPROTO);
	wmk_out_free(&out);
}

static void channel_message_is_decoded_and_invalid_one_refused(void **state)
{
	struct wmk_channel_msg channel = { .channel = 1,
					   .field_limit = 4096,
					   .n_contexts = 2,
					   .contexts = { WMK_CONTEXT_VPID, WMK_CONTEXT_IP } },
			       got;

	(void)state;
	assert_int_equal(wmk_channel_decode(&channel, sizeof(channel), &got), 0);
	assert_memory_equal(&got, &channel, sizeof(got));
	assert_int_equal(wmk_channel_decode(&channel, sizeof(channel) - 1, &got), -EPROTO);
	channel.flags = WMK_CHANNEL_PRIVATE;
	assert_int_equal(wmk_channel_decode(&channel, sizeof(channel), &got), 0);
	assert_int_equal(got.flags, WMK_CHANNEL_PRIVATE);
	channel.flags = 2;
	assert_int_equal(wmk_channel_decode(&channel, sizeof(channel), &got), -EPROTO);
	channel.flags = 0;
	channel.contexts[1] = WMK_CONTEXT_PID;
	assert_int_equal(wmk_channel_decode(&channel, sizeof(channel), &got), -EPROTO);
	channel.contexts[1] = 0;
	assert_int_equal(wmk_channel_decode(&channel, sizeof(channel), &got), -EPROTO);
	channel.n_contexts = WMK_WIRE_CONTEXTS_MAX + 1;
	assert_int_equal(wmk_channel_decode(&channel, sizeof(channel), &got), -EPROTO);
	channel.n_contexts = 0;
	channel.field_limit = 0;
	assert_int_equal(wmk_channel_decode(&channel, sizeof(channel), &got), -EPROTO);
}

static void channel_flags_message_is_decoded_and_invalid_one_refused(void **state)
{
	struct wmk_channel_flags_msg flags = { 3, WMK_CHANNEL_PRIVATE }, got;

	(void)state;
	assert_int_equal(wmk_channel_flags_decode(&flags, sizeof(flags), &got), 0);
	assert_memory_equal(&got, &flags, sizeof(got));
	assert_int_equal(wmk_channel_flags_decode(&flags, sizeof(flags) - 1, &got), -EPROTO);
	flags.flags = 2;
	assert_int_equal(wmk_channel_flags_decode(&flags, sizeof(flags), &got), -EPROTO);
}

static void test_small_messages_round_trip(void **state)
{
	const struct wmk_enable_msg enable = { 1, 2, 3 };
	const struct wmk_disable_msg disable = { 1, 2 };
	const struct wmk_move_msg move = { 1, 2, 3, 4 };
	struct wmk_welcome welcome = { 1, 2, 3, WMK_WELCOME_PERSIST };
	const struct wmk_rings_msg rings = { "fifteen letters" };
	struct wmk_rings_msg r;
	struct wmk_enable_msg e;
	const void *filter;
	size_t filter_len;
	struct wmk_disable_msg d;
	struct wmk_move_msg m;
	struct wmk_welcome w;
	uint32_t value = 0;

	(void)state;
	assert_int_equal(wmk_enable_decode(&enable, sizeof(enable), &e, &filter, &filter_len), 0);
	assert_memory_equal(&e, &enable, sizeof(e));
	assert_int_equal(filter_len, 0);
	assert_int_equal(wmk_enable_decode(&enable, 4, &e, &filter, &filter_len), -EPROTO);
	char *large = calloc(1, sizeof(enable) + WMK_WIRE_FILTER_MAX + 1);

	memcpy(large, &enable, sizeof(enable));
	assert_int_equal(wmk_enable_decode(large, sizeof(enable) + WMK_WIRE_FILTER_MAX, &e, &filter, &filter_len), 0);
	assert_int_equal(filter_len, WMK_WIRE_FILTER_MAX);
	assert_ptr_equal(filter, large + sizeof(enable));
	assert_int_equal(wmk_enable_decode(large, sizeof(enable) + WMK_WIRE_FILTER_MAX + 1, &e, &filter, &filter_len),
			 -EPROTO);
	free(large);
	assert_int_equal(wmk_disable_decode(&disable, sizeof(disable), &d), 0);
	assert_memory_equal(&d, &disable, sizeof(d));
	assert_int_equal(wmk_disable_decode(&enable, sizeof(enable), &d), -EPROTO);
	assert_int_equal(wmk_move_decode(&move, sizeof(move), &m), 0);
	assert_memory_equal(&m, &move, sizeof(m));
	assert_int_equal(wmk_move_decode(&enable, sizeof(enable), &m), -EPROTO);
	assert_int_equal(wmk_welcome_decode(&welcome, sizeof(welcome), &w), 0);
	assert_memory_equal(&w, &welcome, sizeof(w));
	assert_int_equal(wmk_welcome_decode(&welcome, 0, &w), -EPROTO);
	welcome.flags = 2;
	assert_int_equal(wmk_welcome_decode(&welcome, sizeof(welcome), &w), -EPROTO);
	assert_int_equal(wmk_rings_decode(&rings, sizeof(rings), &r), 0);
	assert_memory_equal(&r, &rings, sizeof(r));
	assert_int_equal(wmk_rings_decode(&rings, 15, &r), -EPROTO);
	assert_int_equal(wmk_rings_decode(&welcome, 17, &r), -EPROTO);
	assert_int_equal(wmk_empty_decode(0), 0);
	assert_int_equal(wmk_empty_decode(1), -EPROTO);
	assert_int_equal(wmk_u32_decode(&enable, 4, &value), 0);
	assert_int_equal(value, 1);
	assert_int_equal(wmk_u32_decode(&enable, 3, &value), -EPROTO);
}

static void event_message_of_wrong_length_is_refused(void **state)
{
	struct wmk_out out = { 0 };
	const void *encoded;
	size_t len;
	uint32_t number;

	(void)state;
	assert_int_equal(wmk_out_event(&out, 5, "abc", 3), 0);
	const uint8_t *body = out.buf + sizeof(struct wmk_frame);
	assert_int_equal(wmk_event_msg_decode(body, 7, &number, &encoded, &len), 0);
	assert_int_equal(number, 5);
	assert_int_equal(len, 3);
	assert_memory_equal(encoded, "abc", 3);
	assert_int_equal(wmk_event_msg_decode(body, 4, &number, &encoded, &len), -EPROTO);
	assert_int_equal(wmk_event_msg_decode(body, 0, &number, &encoded, &len), -EPROTO);
	assert_int_equal(wmk_event_msg_decode(body, WMK_EVENT_MAX + 5, &number, &encoded, &len), -EPROTO);
	assert_int_equal(wmk_out_event(&out, 5, "abc", 0), -EMSGSIZE);
	assert_int_equal(wmk_out_event(&out, 5, "abc", WMK_EVENT_MAX + 1), -EMSGSIZE);
	wmk_out_free(&out);
}

static void error_text_arrives_without_control_characters_and_cut_to_size(void **state)
{
	struct wmk_out out = { 0 };
	char text[16];
	int err;

	(void)state;
	assert_int_equal(wmk_out_error(&out, WMK_MSG_REFUSED, 9, -EPERM, "no\x1b[31m"), 0);
	const uint8_t *body = out.buf + sizeof(struct wmk_frame);
	size_t len = out.len - sizeof(struct wmk_frame);
	assert_int_equal(wmk_error_msg_decode(body, len, &err, text, sizeof(text)), 0);
	assert_int_equal(err, EPERM);
	assert_string_equal(text, "no?[31m");
	assert_int_equal(wmk_error_msg_decode(body, len, &err, text, 3), 0);
	assert_string_equal(text, "no");
	assert_int_equal(wmk_error_msg_decode(body, 4, &err, text, sizeof(text)), 0);
	assert_string_equal(text, "");
	assert_int_equal(wmk_error_msg_decode(body, 3, &err, text, sizeof(text)), -EPROTO);
	assert_int_equal(wmk_error_msg_decode("\0\0\0\0x", 5, &err, text, sizeof(text)), -EPROTO);
	wmk_out_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hello_message_is_decoded_and_invalid_one_refused),
		cmocka_unit_test(channel_message_is_decoded_and_invalid_one_refused),
		cmocka_unit_test(channel_flags_message_is_decoded_and_invalid_one_refused),
		cmocka_unit_test(test_small_messages_round_trip),
		cmocka_unit_test(event_message_of_wrong_length_is_refused),
		cmocka_unit_test(error_text_arrives_without_control_characters_and_cut_to_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
