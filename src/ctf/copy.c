/* SPDX-License-Identifier: MIT */
/*
 * copy.c - copy values from one packet to another (see copy.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ctf/bits.h"
#include "ctf/copy.h"

#define UUID_BYTES 16u

/* Ensure room for `bits` more bits; new memory is zeroed. */
static int room(struct wmk_ctf_out *out, uint64_t bits)
{
	const uint64_t need = (out->at + bits + 7) / 8;
	size_t cap = out->cap ? out->cap : 4096;
	uint8_t *bytes;

	if (need <= out->cap)
		return 0;
	if (need > WMK_CTF_OUT_MAX)
		return wmk_error(-E2BIG, "the packet exceeds %u bytes", WMK_CTF_OUT_MAX);
	while (cap < need)
		cap *= 2;
	bytes = realloc(out->bytes, cap);
	if (!bytes)
		return wmk_error(-ENOMEM, "no memory for a packet of %zu bytes", cap);
	memset(bytes + out->cap, 0, cap - out->cap);
	out->bytes = bytes;
	out->cap = cap;
	return 0;
}

/* Overwrite `width` bits with the low bits of `value`. */
static void put_bits(uint8_t *bytes, uint64_t at, unsigned width, bool is_big, uint64_t value)
{
	for (unsigned done = 0; done < width;) {
		const unsigned from = (unsigned)((at + done) % 8);
		const unsigned n = width - done < 8 - from ? width - done : 8 - from;
		const unsigned shift = is_big ? 8 - from - n : from;
		const uint8_t mask = (uint8_t)(wmk_bits_mask(n) << shift);
		const unsigned down = is_big ? width - done - n : done;
		const uint64_t part = down < 64 ? value >> down : 0;
		uint8_t *byte = &bytes[(at + done) / 8];

		*byte = (uint8_t)((*byte & ~mask) | ((part << shift) & mask));
		done += n;
	}
}

/* Copy `bits` bits of the stream, from `from`, to out->at. */
static void copy_bits(struct wmk_ctf_out *out, const struct wmk_ctf_bytes *in, uint64_t from, uint64_t bits,
		      bool is_big)
{
	if (from % 8 == 0 && out->at % 8 == 0 && bits % 8 == 0) {
		memcpy(out->bytes + out->at / 8, in->bytes + from / 8, bits / 8);
		out->at += bits;
		return;
	}
	while (bits) {
		const unsigned n = bits < 64 ? (unsigned)bits : 64;

		put_bits(out->bytes, out->at, n, is_big, wmk_bits_slow(in->bytes, from, n, is_big));
		out->at += n;
		from += n;
		bits -= n;
	}
}

int wmk_ctf_copy(struct wmk_ctf_walk *walk, const struct wmk_ctf_program *program, struct wmk_ctf_out *out,
		 struct wmk_ctf_spots *spots)
{
	const uint8_t *uuid = spots ? spots->uuid : NULL;
	/* bytes of the UUID written so far; UUID_BYTES outside of the array of the UUID */
	unsigned n_uuid = UUID_BYTES;
	struct wmk_ctf_item item;

	if (!program->n_ops)
		return 0;
	wmk_ctf_walk_enter(walk, program);
	while (wmk_ctf_next(walk, &item)) {
		const uint64_t bits = item.op->code >= WMK_CTF_STRUCT ? 0 : walk->at - item.at;
		int err;

		if (uuid && item.op->code == WMK_CTF_ARRAY && item.op->roles & WMK_ROLE_BIT(WMK_ROLE_UUID))
			n_uuid = item.is_end ? UUID_BYTES : 0;
		if (item.is_end)
			continue;
		err = room(out, bits + item.op->align);
		if (err < 0)
			return err;
		if (item.op->align > 1)
			out->at = wmk_bits_align(out->at, item.op->align);
		for (unsigned roles = spots && item.op->code <= WMK_CTF_ENUM ? item.op->roles : 0; roles;
		     roles &= roles - 1) {
			struct wmk_ctf_spot *spot = &spots->of[__builtin_ctz(roles)];

			*spot = (struct wmk_ctf_spot){ item.op, out->at, item.value.u, spot->op != NULL };
		}
		copy_bits(out, &walk->in, item.at, bits, item.op->is_big);
		if (n_uuid < UUID_BYTES && item.op->code == WMK_CTF_INT && bits == 8)
			put_bits(out->bytes, out->at - 8, 8, item.op->is_big, uuid[n_uuid++]);
	}
	return walk->err;
}

static int patch_one(struct wmk_ctf_out *out, const struct wmk_ctf_spot *spot, uint64_t value)
{
	if (!spot->op || spot->value == value)
		return 0;
	if (spot->is_several)
		return wmk_error(-ENOTSUP, "'%.60s' cannot be changed: another field has the same role",
				 wmk_or_empty(spot->op->name));
	if (!spot->op->width)
		return wmk_error(-ENOTSUP, "'%.60s' cannot be changed: its size depends on its value",
				 wmk_or_empty(spot->op->name));
	if (value & ~wmk_bits_mask(spot->op->width))
		return wmk_error(-ENOTSUP, "'%.60s' cannot be changed: the new value does not fit its %u bits",
				 wmk_or_empty(spot->op->name), spot->op->width);
	if (spot->op->width > 64 && spot->op->is_reversed)
		return wmk_error(-ENOTSUP,
				 "'%.60s' cannot be changed: it has more than 64 bits, and its bit order differs from "
				 "its byte order",
				 wmk_or_empty(spot->op->name));
	if (spot->op->is_reversed)
		value = wmk_bits_reverse(value, spot->op->width);
	put_bits(out->bytes, spot->at, spot->op->width, spot->op->is_big, value);
	return 0;
}

int wmk_ctf_patch(struct wmk_ctf_out *out, const struct wmk_ctf_spots *spots, const uint64_t values[WMK_ROLES])
{
	int err = 0;

	for (unsigned role = 1; role < WMK_ROLES && err >= 0; role++) {
		const struct wmk_ctf_spot *spot = &spots->of[role];

		for (unsigned other = 1; other < role && spot->op; other++)
			if (spots->of[other].op && spots->of[other].at == spot->at && values[other] != values[role])
				return wmk_error(-ENOTSUP,
						 "'%.60s' cannot be changed: its roles require two different values, "
						 "%" PRIu64 " and %" PRIu64,
						 wmk_or_empty(spot->op->name), values[other], values[role]);
		err = patch_one(out, spot, values[role]);
	}
	return err;
}

int wmk_ctf_out_begin(struct wmk_ctf_out *out, const uint8_t *from, uint64_t bits)
{
	int err;

	wmk_ctf_out_cut(out, 0);
	err = room(out, bits);
	if (err < 0)
		return err;
	memcpy(out->bytes, from, (bits + 7) / 8);
	out->at = bits;
	return 0;
}

void wmk_ctf_out_cut(struct wmk_ctf_out *out, uint64_t at)
{
	const size_t used = (size_t)((out->at + 7) / 8), kept = (size_t)((at + 7) / 8);

	out->at = at;
	/*
	 * If `at` is within a byte, the function keeps the bits before `at`, because they belong to a header. The next
	 * write to the packet overwrites the bits of this byte that follow `at`.
	 */
	if (used > kept)
		memset(out->bytes + kept, 0, used - kept);
}
