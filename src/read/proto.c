/* SPDX-License-Identifier: MIT */
/*
 * proto.c - write Protocol Buffers messages (see proto.h).
 */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "read/print_state.h"
#include "read/proto.h"

enum { VARINT = 0, FIXED64 = 1, BYTES = 2 };

bool wmk_proto_room(struct wmk_proto *b, size_t need)
{
	if (b->p)
		b->p = wmk_print_room(b->out, b->p, need);
	return b->p != NULL;
}

static void put_varint(struct wmk_proto *b, uint64_t value)
{
	if (!wmk_proto_room(b, 10))
		return;
	for (; value >= 0x80; value >>= 7)
		*b->p++ = (char)(value | 0x80);
	*b->p++ = (char)value;
}

void wmk_proto_number(struct wmk_proto *b, unsigned field, uint64_t value)
{
	put_varint(b, field << 3 | VARINT);
	put_varint(b, value);
}

void wmk_proto_double(struct wmk_proto *b, unsigned field, double value)
{
	put_varint(b, field << 3 | FIXED64);
	if (wmk_proto_room(b, 8))
		b->p = mempcpy(b->p, &value, 8);
}

void wmk_proto_text(struct wmk_proto *b, unsigned field, const char *s, size_t len)
{
	size_t need = 0;

	for (size_t i = 0, n; i < len; i += n ? n : 1) {
		n = wmk_utf8_length(s + i, len - i);
		need += n ? n : 3;
	}
	put_varint(b, field << 3 | BYTES);
	put_varint(b, need);
	wmk_proto_room(b, need);
	for (size_t i = 0, n; b->p && i < len; i += n ? n : 1) {
		n = wmk_utf8_length(s + i, len - i);
		b->p = mempcpy(b->p, n ? s + i : "\xef\xbf\xbd", n ? n : 3);
	}
}

void wmk_proto_hex(struct wmk_proto *b, unsigned field, const char *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	put_varint(b, field << 3 | BYTES);
	put_varint(b, 2 * len);
	wmk_proto_room(b, 2 * len);
	for (size_t i = 0; b->p && i < len; i++) {
		*b->p++ = digits[(unsigned char)bytes[i] >> 4];
		*b->p++ = digits[bytes[i] & 15];
	}
}

size_t wmk_proto_begin(struct wmk_proto *b, unsigned field)
{
	put_varint(b, field << 3 | BYTES);
	if (!wmk_proto_room(b, 4))
		return 0;
	b->p += 4;
	return (size_t)(b->p - b->out->text) - 4;
}

void wmk_proto_end(struct wmk_proto *b, size_t at)
{
	if (!b->p)
		return;
	const size_t len = (size_t)(b->p - b->out->text) - at - 4;

	for (unsigned i = 0; i < 4; i++)
		b->out->text[at + i] = (char)((len >> 7 * i & 0x7f) | (i < 3 ? 0x80 : 0));
}

struct wmk_proto wmk_proto_open(struct wmk_print_text *out)
{
	return (struct wmk_proto){ out, wmk_print_begin(out, 64) };
}

int wmk_proto_close(const struct wmk_proto *b, int err)
{
	if (err < 0)
		return err;
	if (!b->p)
		return wmk_print_error();
	b->out->len = (size_t)(b->p - b->out->text);
	return 0;
}

void wmk_proto_wide_text(struct wmk_proto *b, unsigned field, const struct wmk_ctf_item *item)
{
	const char *at = item->text;
	size_t left = item->len, need = 0, n;
	uint32_t character;
	char bytes[4];

	for (; (n = wmk_print_character(at, left, item->op->type->encoding, &character)) != 0; at += n, left -= n)
		need += (size_t)(wmk_print_encode(bytes, character) - bytes);
	put_varint(b, field << 3 | BYTES);
	put_varint(b, need);
	wmk_proto_room(b, need);
	for (at = item->text, left = item->len;
	     b->p && (n = wmk_print_character(at, left, item->op->type->encoding, &character)) != 0; at += n, left -= n)
		b->p = wmk_print_encode(b->p, character);
}
