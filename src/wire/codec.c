/* SPDX-License-Identifier: MIT */
/*
 * codec.c - the bodies of messages (see wire.h). The body of a message is a structure in the machine's byte order,
 * which is little-endian. Received bodies are copied. The decoder of a message checks the length of the body, the
 * ranges of the values and the end of each text.
 */
#include "wire/wire.h"

#include "base/error.h"
#include "schema/schema.h"
#include "wire/unrecorded.h"

#include <errno.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "message bodies use host byte order");

static int copy_out(const void *body, size_t len, void *to, size_t size, const char *name)
{
	if (len != size)
		return wmk_error(-EPROTO, "message %s has %zu bytes: must be %zu", name, len, size);
	memcpy(to, body, size);
	return 0;
}

static int check_terminated(const char *text, size_t size)
{
	return memchr(text, '\0', size) ? 0 : wmk_error(-EPROTO, "a name in a message is not NUL-terminated");
}

int wmk_hello_decode(const void *body, size_t len, struct wmk_hello *hello)
{
	if (copy_out(body, len, hello, sizeof(*hello), "HELLO") < 0 ||
	    check_terminated(hello->name, sizeof(hello->name)) < 0 ||
	    check_terminated(hello->clock, sizeof(hello->clock)) < 0 ||
	    check_terminated(hello->clock_uuid, sizeof(hello->clock_uuid)) < 0)
		return -EPROTO;
	if (hello->clock[0] && hello->clock_offset >= hello->clock_freq)
		return wmk_error(-EPROTO,
				 "the clock of an application has %llu Hz and an offset of %llu cycles: the offset "
				 "must be less than 1 s",
				 (unsigned long long)hello->clock_freq, (unsigned long long)hello->clock_offset);
	return 0;
}

int wmk_welcome_decode(const void *body, size_t len, struct wmk_welcome *welcome)
{
	if (copy_out(body, len, welcome, sizeof(*welcome), "WELCOME") < 0)
		return -EPROTO;
	if (welcome->flags & ~WMK_WELCOME_PERSIST)
		return wmk_error(-EPROTO, "message WELCOME has unknown flags 0x%x", welcome->flags);
	return 0;
}

int wmk_unrecorded_decode(const void *body, size_t len, struct wmk_unrecorded_msg *unrecorded)
{
	if (copy_out(body, len, unrecorded, sizeof(*unrecorded), "UNRECORDED") < 0)
		return -EPROTO;
	if (unrecorded->reason == 0 || unrecorded->reason >= WMK_UNRECORDED_REASONS || unrecorded->err > 4095)
		return wmk_error(-EPROTO, "message UNRECORDED has unknown reason %u or error %u", unrecorded->reason,
				 unrecorded->err);
	return 0;
}

int wmk_channel_decode(const void *body, size_t len, struct wmk_channel_msg *channel)
{
	if (copy_out(body, len, channel, sizeof(*channel), "CHANNEL") < 0)
		return -EPROTO;
	if (channel->n_contexts > WMK_WIRE_CONTEXTS_MAX || channel->flags & ~WMK_CHANNEL_PRIVATE ||
	    channel->field_limit == 0)
		return wmk_error(-EPROTO, "invalid channel: %u contexts, field limit of %u bytes, flags 0x%x",
				 channel->n_contexts, channel->field_limit, channel->flags);
	for (uint32_t i = 0; i < channel->n_contexts; i++)
		if (!(wmk_context_domains(channel->contexts[i]) & WMK_CONTEXT_USER))
			return wmk_error(-EPROTO, "unknown context %u", channel->contexts[i]);
	return 0;
}

int wmk_channel_flags_decode(const void *body, size_t len, struct wmk_channel_flags_msg *flags)
{
	if (copy_out(body, len, flags, sizeof(*flags), "CHANNEL_FLAGS") < 0)
		return -EPROTO;
	if (flags->flags & ~WMK_CHANNEL_PRIVATE)
		return wmk_error(-EPROTO, "a channel has unknown flags 0x%x", flags->flags);
	return 0;
}

int wmk_rings_decode(const void *body, size_t len, struct wmk_rings_msg *rings)
{
	return copy_out(body, len, rings, sizeof(*rings), "RINGS");
}

int wmk_enable_decode(const void *body, size_t len, struct wmk_enable_msg *enable, const void **filter,
		      size_t *filter_len)
{
	if (len < sizeof(*enable) || len - sizeof(*enable) > WMK_WIRE_FILTER_MAX)
		return wmk_error(-EPROTO, "message ENABLE has an invalid length of %zu bytes", len);
	memcpy(enable, body, sizeof(*enable));
	*filter = (const char *)body + sizeof(*enable);
	*filter_len = len - sizeof(*enable);
	return 0;
}

int wmk_disable_decode(const void *body, size_t len, struct wmk_disable_msg *disable)
{
	return copy_out(body, len, disable, sizeof(*disable), "DISABLE");
}

int wmk_move_decode(const void *body, size_t len, struct wmk_move_msg *move)
{
	return copy_out(body, len, move, sizeof(*move), "MOVE");
}

int wmk_u32_decode(const void *body, size_t len, uint32_t *value)
{
	return copy_out(body, len, value, sizeof(*value), "of one number");
}

int wmk_empty_decode(size_t len)
{
	return len == 0 ? 0 : wmk_error(-EPROTO, "a message without content has %zu bytes: it must be empty", len);
}

int wmk_event_msg_decode(const void *body, size_t len, uint32_t *number, const void **encoded, size_t *encoded_len)
{
	if (len <= sizeof(*number) || len - sizeof(*number) > WMK_EVENT_MAX)
		return wmk_error(-EPROTO, "message EVENT has an invalid length of %zu bytes", len);
	memcpy(number, body, sizeof(*number));
	*encoded = (const char *)body + sizeof(*number);
	*encoded_len = len - sizeof(*number);
	return 0;
}

int wmk_error_msg_decode(const void *body, size_t len, int *err, char *text, size_t size)
{
	int32_t number;

	if (len < sizeof(number) || size == 0)
		return wmk_error(-EPROTO, "message ERROR has an invalid length of %zu bytes", len);
	memcpy(&number, body, sizeof(number));
	if (number <= 0 || number > 4095)
		return wmk_error(-EPROTO, "message ERROR has error %d: must be 1 to 4095", number);
	*err = number;
#ifdef WMK_PLANTED_BUG                   /* a planted bug that the fuzzer must find */
	size_t n = len - sizeof(number);
#else
	size_t n = len - sizeof(number) < size - 1 ? len - sizeof(number) : size - 1;
#endif
	memcpy(text, (const char *)body + sizeof(number), n);
	text[n] = '\0';
	for (size_t i = 0; i < n; i++)       /* the text may be printed to a terminal */
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			text[i] = text[i] ? '?' : '\0';
	return 0;
}

/* ── out ─────────────────────────────────────────────────────────────────────────────────────────────── */

static void name_copy(char *to, const char *from, size_t size)
{
	memcpy(to, from, strnlen(from, size - 1));
}

int wmk_out_hello(struct wmk_out *out, const struct wmk_hello *hello)
{
	struct wmk_hello body;

	memset(&body, 0, sizeof(body));          /* padding must not contain old memory */
	body.abi = hello->abi;
	body.word_bits = hello->word_bits;
	body.pid = hello->pid;
	body.ppid = hello->ppid;
	body.start_time = hello->start_time;
	body.image = hello->image;
	body.clock_freq = hello->clock_freq;
	body.clock_offset_s = hello->clock_offset_s;
	body.clock_offset = hello->clock_offset;
	name_copy(body.clock, hello->clock, sizeof(body.clock));
	name_copy(body.clock_uuid, hello->clock_uuid, sizeof(body.clock_uuid));
	name_copy(body.name, hello->name, sizeof(body.name));
	return wmk_out_frame(out, WMK_MSG_HELLO, 0, &body, sizeof(body), -1);
}

int wmk_out_u32(struct wmk_out *out, enum wmk_msg type, uint32_t value)
{
	return wmk_out_frame(out, type, 0, &value, sizeof(value), -1);
}

int wmk_out_event(struct wmk_out *out, uint32_t number, const void *encoded, size_t encoded_len)
{
	if (encoded_len == 0 || encoded_len > WMK_EVENT_MAX)
		return wmk_error(-EMSGSIZE, "an event class has %zu bytes: must be 1 to %u", encoded_len,
				 WMK_EVENT_MAX);
	return wmk_out_frame_parts(out, WMK_MSG_EVENT, &number, sizeof(number), encoded, encoded_len);
}

int wmk_out_error(struct wmk_out *out, enum wmk_msg type, uint32_t request, int err, const char *text)
{
	struct {
		int32_t err;
		char text[1024];
	} body = { .err = err < 0 ? -err : err };
	size_t len = strnlen(text, sizeof(body.text));

	memcpy(body.text, text, len);
	return wmk_out_frame(out, type, request, &body, sizeof(body.err) + len, -1);
}
