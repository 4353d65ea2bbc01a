/* SPDX-License-Identifier: MIT */
/*
 * test_relay.c - the messages between a sender and the relay: packets equal the encoding of their table, lengths and
 * names are bounded.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "wire/relay.h"

static const struct wmk_relay_packet sample = {
	.stream = 3,
	.packet = { .stream_id = 1, .instance = 2, .begin_ts = 1000, .end_ts = 2000, .content = 100, .sequence = 7,
		    .ring_position = 1ull << 40, .lost = 5, .cpu = WMK_CTF_CPU_NONE, .cut = 9 },
};

static void packet_header_encoding_equals_generic_object_encoding(void **state)
{
	uint8_t bytes[WMK_RELAY_PACKET_HEAD], *table;
	struct wmk_relay_packet back;

	(void)state;
	wmk_relay_packet_encode(bytes, &sample);
	assert_int_equal(wmk_object_encode(&wmk_relay_packet_object, &sample, &table), sizeof(bytes));
	assert_memory_equal(bytes, table, sizeof(bytes));
	free(table);
	assert_int_equal(wmk_relay_packet_decode(bytes, sizeof(bytes) + 100, &back), 0);
	assert_memory_equal(&back.packet, &sample.packet, sizeof(back.packet));
	assert_int_equal(back.stream, 3);
}

static void packet_header_with_contradictory_values_is_refused(void **state)
{
	uint8_t bytes[WMK_RELAY_PACKET_HEAD];
	struct wmk_relay_packet wrong = sample, back;

	(void)state;
	wmk_relay_packet_encode(bytes, &wrong);
	assert_int_equal(wmk_relay_packet_decode(bytes, sizeof(bytes) + 99, &back), -EPROTO);
	assert_int_equal(wmk_relay_packet_decode(bytes, 8, &back), -EPROTO);
	wrong.packet.end_ts = 999;
	wmk_relay_packet_encode(bytes, &wrong);
	assert_int_equal(wmk_relay_packet_decode(bytes, sizeof(bytes) + 100, &back), -EPROTO);
	wrong = sample;
	wrong.packet.ring_position = UINT64_MAX - 10;
	wmk_relay_packet_encode(bytes, &wrong);
	assert_int_equal(wmk_relay_packet_decode(bytes, sizeof(bytes) + 100, &back), -EPROTO);
	wmk_error_clear();
}

static int decode_frame(struct wmk_relay_frame frame, uint16_t version)
{
	uint8_t head[WMK_RELAY_HEAD];
	struct wmk_relay_frame back;
	int err;

	wmk_relay_frame_encode(head, &frame);
	if (version)
		memcpy(head + 6, &version, sizeof(version));
	err = wmk_relay_frame_decode(head, &back);
	wmk_error_clear();
	return err;
}

static void relay_frames_beyond_their_limits_are_refused(void **state)
{
	(void)state;
	assert_int_equal(decode_frame((struct wmk_relay_frame){ .type = WMK_RELAY_TRACE, .length = 100 }, 0), 0);
	assert_int_equal(decode_frame((struct wmk_relay_frame){ .type = WMK_RELAY_TRACE }, 2), -EPROTONOSUPPORT);
	assert_int_equal(decode_frame((struct wmk_relay_frame){ .type = 0x4ff }, 0), -EPROTO);
	assert_int_equal(decode_frame((struct wmk_relay_frame){ .type = WMK_RELAY_METADATA,
								.length = WMK_RELAY_BODY_MAX + 1 }, 0), -EPROTO);
	assert_int_equal(decode_frame((struct wmk_relay_frame){ .type = WMK_RELAY_PACKET,
								.length = WMK_RELAY_PACKET_HEAD - 1 }, 0), -EPROTO);
	assert_int_equal(decode_frame((struct wmk_relay_frame){
				 .type = WMK_RELAY_PACKET,
				 .length = WMK_RELAY_PACKET_HEAD + WMK_RELAY_CONTENT_MAX }, 0), 0);
	assert_int_equal(decode_frame((struct wmk_relay_frame){
				 .type = WMK_RELAY_PACKET,
				 .length = WMK_RELAY_PACKET_HEAD + WMK_RELAY_CONTENT_MAX + 1 }, 0), -EPROTO);
}

static void invalid_names_in_relay_messages_are_refused(void **state)
{
	static const char *const wrong[] = { "", ".", "..", ".hidden", "a/b", "/", "new\nline", "\x7f" },
			  *const wrong_subs[] = { "", "/", "/etc", "a//b", "a/", "a/../b", "..", "archives",
						  "archives/x", "a/.b" };
	char longest[WMK_RELAY_NAME_MAX + 2];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(wmk_relay_name_check("the name", wrong[i], WMK_RELAY_NAME_MAX), -EINVAL);
	for (size_t i = 0; i < sizeof(wrong_subs) / sizeof(wrong_subs[0]); i++)
		assert_int_equal(wmk_relay_sub_check(wrong_subs[i]), -EINVAL);
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = 0;
	assert_int_equal(wmk_relay_name_check("the name", longest, WMK_RELAY_NAME_MAX), -EINVAL);
	longest[sizeof(longest) - 2] = 0;
	assert_int_equal(wmk_relay_name_check("the name", longest, WMK_RELAY_NAME_MAX), 0);
	assert_int_equal(wmk_relay_name_check("the name", "web1.example.org", WMK_RELAY_HOST_MAX), 0);
	assert_int_equal(wmk_relay_sub_check("ust/uid/1000/64-bit"), 0);
	assert_int_equal(wmk_relay_sub_check("archives-not"), 0);
	assert_int_equal(wmk_relay_sub_check("kernel"), 0);
	wmk_error_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packet_header_encoding_equals_generic_object_encoding),
		cmocka_unit_test(packet_header_with_contradictory_values_is_refused),
		cmocka_unit_test(relay_frames_beyond_their_limits_are_refused),
		cmocka_unit_test(invalid_names_in_relay_messages_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
