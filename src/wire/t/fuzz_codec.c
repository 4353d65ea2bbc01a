/* SPDX-License-Identifier: MIT */
/* fuzz_codec.c - any bytes as the body of a message. The first byte selects its type. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "schema/schema.h"
#include "wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hello(const uint8_t *body, size_t len)
{
	struct wmk_hello message, again;
	struct wmk_out out = { 0 };

	if (wmk_hello_decode(body, len, &message) < 0)
		return;
	if (wmk_out_hello(&out, &message) != 0 ||
	    wmk_hello_decode(out.buf + sizeof(struct wmk_frame), len, &again) != 0 ||
	    strcmp(again.name, message.name) != 0 || strcmp(again.clock, message.clock) != 0 ||
	    again.pid != message.pid)
		abort();
	wmk_out_free(&out);
}

static void channel(const uint8_t *body, size_t len)
{
	struct wmk_channel_msg message;

	if (wmk_channel_decode(body, len, &message) < 0)
		return;
	if (message.flags > WMK_CHANNEL_PRIVATE)
		abort();
	for (uint32_t i = 0; i < message.n_contexts; i++)
		if (!(wmk_context_domains(message.contexts[i]) & WMK_CONTEXT_USER))
			abort();
}

static void words(const uint8_t *body, size_t len)
{
	char *text = malloc(64);
	int err;

	if (!text)
		abort();
	if (wmk_error_msg_decode(body, len, &err, text, 64) == 0) {
		if (err <= 0 || strlen(text) >= 64)
			abort();
		for (const char *c = text; *c; c++)
			if (*c > 0 && *c < 0x20)
				abort();
	}
	free(text);
}

static void event(const uint8_t *body, size_t len)
{
	const void *encoded;
	struct wmk_event_class *class;
	size_t encoded_len;
	uint32_t number;

	if (wmk_event_msg_decode(body, len, &number, &encoded, &encoded_len) == 0 &&
	    wmk_event_decode(encoded, encoded_len, &class) == 0)
		wmk_event_class_free(class);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wmk_welcome welcome;
	struct wmk_rings_msg rings;
	struct wmk_enable_msg enable;
	const void *filter;
	size_t filter_len;
	struct wmk_disable_msg disable;
	struct wmk_channel_flags_msg flags;
	struct wmk_move_msg move;
	uint32_t value;

	if (size < 1)
		return 0;
	const uint8_t *body = data + 1;
	size_t len = size - 1;
	switch (data[0] % 9) {
	case 0:
		hello(body, len);
		break;
	case 1:
		if (wmk_welcome_decode(body, len, &welcome) == 0 && welcome.flags > WMK_WELCOME_PERSIST)
			abort();
		break;
	case 2:
		channel(body, len);
		break;
	case 3:
		if (wmk_enable_decode(body, len, &enable, &filter, &filter_len) == 0 &&
		    (const uint8_t *)filter + filter_len != body + len)
			abort();
		wmk_move_decode(body, len, &move);
		break;
	case 4:
		wmk_disable_decode(body, len, &disable);
		if (wmk_channel_flags_decode(body, len, &flags) == 0 && flags.flags > WMK_CHANNEL_PRIVATE)
			abort();
		break;
	case 5:
		wmk_u32_decode(body, len, &value);
		break;
	case 6:
		event(body, len);
		break;
	case 8:
		if (wmk_rings_decode(body, len, &rings) == 0 && memcmp(&rings, body, len) != 0)
			abort();
		break;
	default:
		words(body, len);
		break;
	}
	return 0;
}
