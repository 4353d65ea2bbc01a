/* SPDX-License-Identifier: MIT */
/*
 * test_decode.c - decode programs. Decoded bits have the values that were computed by hand. The fast way through a
 * structure ends where the walk ends. Bytes that end too early are reported, at every length, and nothing is read
 * beyond their end.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/error.h"
#include "ctf/bits.h"
#include "ctf/decode.h"
#include "ctf/t/decode_case.h"
#include "ctf/t/show.h"

#define HANGS_S 100                  /* a limit for what takes well below one second */

/* Check what the walk returns for `n` bytes of payload, from bit `at`; all shorter payloads must be rejected. */
static void expect(const struct made *made, const void *bytes, size_t n, const char *wanted)
{
	const struct wmk_ctf_program *payload = &made->decoder->streams[0].events[0].payload;
	struct wmk_ctf_walk walk;
	char text[1024];

	for (size_t len = 0; len <= n; len++) {
		/* an allocation of its own, so that a sanitizer finds reads behind it */
		uint8_t *copy = malloc(len ? len : 1);
		struct wmk_ctf_bytes in = { copy, 0, len * 8 };

		memcpy(copy, bytes, len);
		wmk_ctf_walk_begin(&walk, &in, 0);
		int err = show(&walk, payload, text, sizeof(text));
		uint64_t at = walk.at;

		assert_int_equal(err, len < n ? -ENODATA : 0);
		if (!err) {
			assert_string_equal(text, wanted);
			assert_in_range(at, n * 8 - 7, n * 8);
		}
		wmk_ctf_walk_begin(&walk, &in, 0);
		assert_int_equal(wmk_ctf_skip(&walk, payload), err);
		if (!err)
			assert_int_equal(walk.at, at);
		free(copy);
	}
}

static void one(const char *order, const char *types, const char *fields, const void *bytes, size_t n,
	const char *wanted)
{
	char event[2048];

	snprintf(event, sizeof(event), "fields := struct { %s };", fields);
	struct made made = make(order, types, "id = 0;", event);

	expect(&made, bytes, n, wanted);
	unmake(&made);
}

#define BYTES(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

/* Read every width at every place in a byte, in both byte orders, and compare with a computation bit by bit. */
static void integers_of_each_width_and_bit_offset_are_read(void **state)
{
	uint8_t bytes[24];
	unsigned seed = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)((seed = seed * 1103515245 + 12345) >> 16);
	for (unsigned width = 1; width <= 64; width++)
		for (unsigned at = 0; at < 64; at++) {
			uint64_t little = 0, big = 0;

			for (unsigned i = 0; i < width; i++) {
				little |= (uint64_t)(bytes[(at + i) / 8] >> (at + i) % 8 & 1) << i;
				big = big << 1 | (bytes[(at + i) / 8] >> (7 - (at + i) % 8) & 1);
			}
			for (uint64_t end = at + width; end <= sizeof(bytes) * 8; end++) {
				assert_int_equal(wmk_bits_get(bytes, at, width, false, end), little);
				assert_int_equal(wmk_bits_get(bytes, at, width, true, end), big);
			}
			assert_int_equal(wmk_bits_sign(little, width),
			little >> (width - 1) ? (int64_t)(little | ~wmk_bits_mask(width)) : (int64_t)little);
			assert_int_equal(wmk_bits_reverse(wmk_bits_reverse(little, width), width), little);
		}
}

static void numbers_are_decoded_in_both_byte_orders(void **state)
{
	(void)state;
	one("le", "", "u8 a; u16 b; u3 c, d; integer { size = 4; signed = true; } e;", BYTES(1, 2, 3, 0x55, 0xff),
		"{ a=1 b=770 c=5 d=2 e=-3 } ");
	one("be", "", "u8 a; u16 b; u3 c, d; integer { size = 4; signed = true; } e;", BYTES(1, 2, 3, 0x55, 0xff),
		"{ a=1 b=515 c=2 d=5 e=7 } ");
	one("le", "", "u8 a; u32 b; u8 c;", BYTES(1, 9, 9, 9, 2, 0, 0, 0, 3), "{ a=1 b=2 c=3 } ");
	one("le", "", "floating_point { exp_dig = 8; mant_dig = 24; } f; floating_point { exp_dig = 11; mant_dig = "
		"53; byte_order = be; } g;"
	    "floating_point { exp_dig = 5; mant_dig = 11; } h, i;",
	    BYTES(0, 0, 0xc0, 0x3f, 0xc0, 4, 0, 0, 0, 0, 0, 0, 0, 0xc4, 1, 0), "{ f=1.5 g=-2.5 h=-4 i=5.96046e-08 } ");
	one("le", "", "enum : u8 { a = 1 } e; struct { u8 x; struct { } y; } s;", BYTES(7, 8),
		"{ e=7 s{ x=8 y{ } } } ");
}

static void texts_are_decoded_up_to_their_nul_or_length(void **state)
{
	(void)state;
	one("le", "", "u8 n; string a; u3 b; string c;", BYTES(1, 'h', 'i', 0, 5, 0), "{ n=1 a=\"hi\" b=5 c=\"\" } ");
	one("le", "",
		"integer { size = 8; encoding = UTF8; } a[4]; u8 n; integer { size = 8; encoding = ASCII; } b[n];",
	    BYTES('a', 0, 'c', 'd', 2, 'x', 'y'), "{ a=\"a\" n=2 b=\"xy\" } ");
}

static void arrays_and_sequences_are_decoded_with_their_alignment(void **state)
{
	(void)state;
	one("le", "", "u8 a[2][2]; u8 n; u16 b[n]; u8 end;", BYTES(1, 2, 3, 4, 2, 5, 0, 6, 0, 7),
	    "{ a[2]{ [2]{ =1 =2 } [2]{ =3 =4 } } n=2 b[2]{ =5 =6 } end=7 } ");
	one("le", "", "u8 n; u3 a[n]; u8 b; u8 c[0]; string d[n];", BYTES(2, 0x0a, 9, 'x', 0, 0),
	    "{ n=2 a[2]{ =2 =1 } b=9 c[0]{ } d[2]{ =\"x\" =\"\" } } ");
	/* elements that do not fill their alignment; a length inside each element */
	one("le", "struct s { u8 x; } align(16);", "u8 n; struct s a[n]; u8 b;", BYTES(2, 0, 1, 0, 2, 9),
	    "{ n=2 a[2]{ { x=1 } { x=2 } } b=9 } ");
	one("le", "", "u8 n; struct { u8 m; u8 y[m]; } a[n]; u8 b;", BYTES(2, 1, 5, 0, 9),
	    "{ n=2 a[2]{ { m=1 y[1]{ =5 } } { m=0 y[0]{ } } } b=9 } ");
	/* after a field of variable size the alignment is unknown */
	one("le", "", "string s; u32 a; u8 b;", BYTES('x', 0, 9, 9, 1, 0, 0, 0, 2), "{ s=\"x\" a=1 b=2 } ");
}

/* Lengths from the environment, which may be before or after their use, or in several blocks. */
static void array_lengths_come_from_the_environment(void **state)
{
	struct made made = make("le", "", "id = 0;",
		"fields := struct { u8 x[env.n]; struct env { u8 n; } y[env.a.b]; }; };\n"
				"env { s = \"n = 9\"; w = n; n = +2; };\nenv { a.b = 1; a.n = 7; q = 0;");

	(void)state;
	expect(&made, BYTES(1, 2, 3), "{ x[2]{ =1 =2 } y[1]{ { n=3 } } } ");
	unmake(&made);
	one("le", "env { a = 1; }; env { n = 2; };", "u8 x[env.n]; u8 y[env.a];", BYTES(1, 2, 3),
		"{ x[2]{ =1 =2 } y[1]{ =3 } } ");
}

#if defined(__x86_64__)
static uint64_t some(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	return *seed ^= *seed << 17;
}

static void expect_real(const struct made *made, const uint8_t *bytes, unsigned size, const char *name, double wanted)
{
	struct wmk_ctf_bytes in = { bytes, 0, (uint64_t)size * 8 };
	struct wmk_ctf_walk walk;
	struct wmk_ctf_item item;

	wmk_ctf_walk_begin(&walk, &in, 0);
	wmk_ctf_walk_enter(&walk, &made->decoder->streams[0].events[0].payload);
	while (wmk_ctf_next(&walk, &item))
		if (item.op->code == WMK_CTF_FLOAT) {
			assert_string_equal(item.op->name, name);
			if (wanted != wanted)
				assert_true(item.value.f != item.value.f);
			else
				assert_memory_equal(&item.value.f, &wanted, sizeof(wanted));
		}
	assert_int_equal(walk.err, 0);
}

/* x87 numbers in 16, 12 and 10 bytes, also from within a byte. The processor itself computes the nearest double. */
static void x87_numbers_give_the_nearest_double(void **state)
{
	static const struct { unsigned exponent, size; } kinds[] = { { 64, 16 }, { 32, 12 }, { 16, 10 } };
	uint64_t seed = 88172645463325252u;

	(void)state;
	for (unsigned i = 0; i < 2 * WMK_ARRAY_LEN(kinds); i++) {
		char fields[256];
		const bool is_packed = i % 2;
		const unsigned size = kinds[i / 2].size;

		snprintf(fields, sizeof(fields),
			"fields := struct { %s floating_point { exp_dig = %u; mant_dig = 64; align = %u; } x; };",
			 is_packed ? "u3 before;" : "", kinds[i / 2].exponent, is_packed ? 1 : 8);
		struct made made = make("le", "", "id = 0;", fields);

		for (unsigned round = 0; round < 20000; round++) {
			const uint64_t random = some(&seed), mantissa = some(&seed) | UINT64_C(1) << 63;
			const uint16_t bits = (uint16_t)(random >> 8) & 0x7fff;
			/* (mostly within the range of a double; some between two doubles; infinity, zero, NaN) */
			const uint16_t exponent = random % 8 ? (uint16_t)(16383 + (int)(random >> 8) % 1100) : bits;
			const uint64_t half = (mantissa & ~UINT64_C(0x7ff)) | 0x400, one = UINT64_C(1) << 63;
			const uint64_t fraction = random % 16 == 1 ? half : random % 16 == 2 ? one : mantissa;
			const uint16_t high = random % 64 == 3 ? 0 : random % 64 == 4 ? 0x7fff : exponent;
			const uint64_t low = !high ? 0 : fraction;
			uint8_t bytes[18] = { 0 }, shifted[18] = { 0 };
			long double x = 0;

			memcpy(bytes, &low, 8);
			bytes[8] = (uint8_t)high;
			bytes[9] = (uint8_t)(high >> 8 | (random >> 60 & 1) << 7);
			memcpy(&x, bytes, 10);
			for (unsigned j = 10; j < size; j++)
				bytes[j] = (uint8_t)some(&seed);         /* (padding, which is ignored) */
			for (unsigned j = 0; j < size; j++) {
				shifted[j] |= (uint8_t)(bytes[j] << 3);
				shifted[j + 1] = bytes[j] >> 5;
			}
			/* subnormal results are rounded twice */
			if (__builtin_fabsl(x) >= 0x1p-1022L || x == 0 || x != x)
				expect_real(&made, is_packed ? shifted : bytes, size + is_packed, "x", (double)x);
		}
		/* without the first bit of the mantissa it is a NaN; values below the least double become 0 */
		uint8_t unnormal[18] = { 0 };

		unnormal[is_packed ? 9 : 8] = 0xf8;
		unnormal[is_packed ? 10 : 9] = 1;
		expect_real(&made, unnormal, size + is_packed, "x", __builtin_nan(""));
		expect_real(&made, (const uint8_t[18]){ 8 }, size + is_packed, "x", 0);
		unmake(&made);
	}
}
#endif

static void variants_decode_the_selected_option(void **state)
{
	const char *fields = "enum : u8 { a, b = 5 ... 9, _c = 10 } tag; variant <tag> { u8 a; struct { u8 n; u8 "
		"x[n]; } b; string _c; } v; u8 end;";

	(void)state;
	one("le", "", fields, BYTES(0, 7, 1), "{ tag=0 v<{ a=7 } end=1 } ");
	one("le", "", fields, BYTES(6, 2, 7, 8, 1), "{ tag=6 v<{ b{ n=2 x[2]{ =7 =8 } } } end=1 } ");
	one("le", "", fields, BYTES(10, 'q', 0, 1), "{ tag=10 v<{ c=\"q\" } end=1 } ");
	one("le", "", "enum : integer { size = 8; signed = true; } { n = -5 ... -1, p = 0 ... 100 } t; variant <t> { "
		"u8 n; string p; } v;", BYTES(0xff, 3),
	    "{ t=-1 v<{ n=3 } } ");
}

/* Selectors and lengths in all preceding scopes. */
static void references_reach_all_preceding_scopes(void **state)
{
	struct made made = make("le", "",
		"id = 0; packet.context := struct { u8 p; }; event.header := struct { u8 id; struct { u8 h; } s; };"
				"event.context := struct { u8 c[stream.event.header.s.h]; u8 k; };",
				"id = 4; context := struct { u8 l[k]; u8 q; }; fields := struct { u8 "
			"x[stream.packet.context.p]; u8 y[event.context.q]; u8 z[s.h]; };");
	static const uint8_t bytes[] = { 2, /**/ 4, 1, /**/ 9, 3, /**/ 1, 2, 3, 2, /**/ 5, 6, 7, 8, 9 };
	const struct wmk_ctf_stream_decoder *stream = &made.decoder->streams[0];
	struct wmk_ctf_bytes in = { bytes, 0, sizeof(bytes) * 8 };
	struct wmk_ctf_record record = { .time = 0 };
	char text[512];

	(void)state;
	wmk_ctf_walk_begin(&record.walk, &in, 0);
	assert_int_equal(wmk_ctf_skip(&record.walk, &stream->packet_context), 0);
	assert_int_equal(wmk_ctf_record(stream, &in, record.walk.at, &record), 0);
	assert_int_equal(record.end, sizeof(bytes) * 8);
	assert_int_equal(record.payload_at, 9 * 8);
	record.walk.at = record.payload_at;
	assert_int_equal(show(&record.walk, &record.event->payload, text, sizeof(text)), 0);
	assert_string_equal(text, "{ x[2]{ =5 =6 } y[2]{ =7 =8 } z[1]{ =9 } } ");
	unmake(&made);
}

/* ── headers ─────────────────────────────────────────────────────────────────────────────────────────── */

#define CLOCK "clock { name = c; };\ntypealias integer { size = 27; align = 1; map = clock.c.value; } := t27;\n" \
	"typealias integer { size = 64; align = 8; map = clock.c.value; } := t64;\n" \
	"typealias integer { size = 32; align = 8; map = clock.c.value; } := t32;\n"

struct record_wanted {
	uint64_t id, time;
	unsigned bytes;
};

/* Decode the same records by the plan, and by the walk for headers without a plan. */
static void expect_records(struct made *made, const void *bytes, size_t n, uint64_t time,
			   const struct record_wanted *wanted, unsigned n_wanted)
{
	for (int is_planned = 1; is_planned >= 0; is_planned--) {
		struct wmk_ctf_stream_decoder stream = made->decoder->streams[0];
		struct wmk_ctf_bytes in = { bytes, 0, n * 8 };
		struct wmk_ctf_record record = { .time = time };
		uint64_t at = 0;

		assert_non_null(stream.plan);
		if (!is_planned)
			stream.plan = NULL;
		wmk_ctf_walk_begin(&record.walk, &in, 0);
		for (unsigned i = 0; i < n_wanted; i++) {
			assert_int_equal(wmk_ctf_record(&stream, &in, at, &record), 0);
			assert_int_equal(record.event->class->id, wanted[i].id);
			assert_int_equal(record.time, wanted[i].time);
			assert_int_equal(record.end - at, wanted[i].bytes * 8);
			at = record.end;
		}
		assert_int_equal(at, n * 8);
		assert_int_equal(wmk_ctf_record(&stream, &in, at, &record), -ENODATA);
	}
}

/* A record that ends in a string of each length, near the end of the packet and far from it, and cut at each byte. */
static void end_of_a_record_with_a_final_string_is_found(void **state)
{
	struct made made = make("le", CLOCK,
		"id = 0; event.header := struct { integer { size = 5; align = 8; } id; t27 timestamp; };",
				"id = 3; fields := struct { u8 x; string s; };");
	const struct wmk_ctf_stream_decoder *stream = &made.decoder->streams[0];

	(void)state;
	for (size_t len = 0; len < 150; len++)
		for (size_t n = 0; n <= 5 + len + 1 + 100; n++) {
			uint8_t *bytes = calloc(1, n ? n : 1);
			const struct wmk_ctf_bytes in = { bytes, 0, n * 8 };
			struct wmk_ctf_record record = { .event = &stream->events[0], .end = 77 };

			for (size_t i = 0; i < n; i++)
				bytes[i] = i == 0 ? 3 : i < 4 || i == 5 + len ? 0 : 0xff;
			wmk_ctf_walk_begin(&record.walk, &in, 0);
			assert_int_equal(wmk_ctf_record(stream, &in, 0, &record), n > 5 + len ? 0 : -ENODATA);
			assert_int_equal(record.end, n > 5 + len ? (5 + len + 1) * 8 : 77);
			if (n > 5 + len) {
				assert_int_equal(record.walk.text_at, 5 * 8);
				assert_int_equal(record.walk.text_len, len);
			}
			free(bytes);
		}
	unmake(&made);
}

/* Our own headers of 4, 6 and 13 bytes (docs/trace-format.md), with a time that wraps. */
static void compact_medium_and_extended_headers_are_decoded(void **state)
{
	struct made made = make("le", CLOCK "struct h { enum : integer { size = 5; align = 1; } { compact = 0 ... 29,"
		" medium = 30, extended = 31 } id;"
				"variant <id> { struct { t27 timestamp; } compact; struct { integer { size = 16; "
			"align = 1; } id; t27 timestamp; } medium;"
				"struct { integer { size = 32; } id; t64 timestamp; } extended; } v; } align(8);",
				"id = 0; event.header := struct h;",
			"id = 3; fields := struct { u8 x; }; };\nevent { name = \"f\"; id = 300;");
	const uint32_t compact = 3 | 100u << 5;
	const uint64_t medium = 30 | 300u << 5 | (uint64_t)50 << 21, extended_time = (uint64_t)7 << 40;
	uint8_t bytes[5 + 6 + 14], *at = bytes;

	(void)state;
	memcpy(at, &compact, 4);
	at[4] = 1;
	memcpy(at + 5, &medium, 6);
	at += 11;
	at[0] = 31;
	memcpy(at + 1, &(uint32_t){ 3 }, 4);
	memcpy(at + 5, &extended_time, 8);
	at[13] = 2;
	expect_records(&made, bytes, sizeof(bytes), (uint64_t)5 << 27 | 99,
		       (struct record_wanted[]){ { 3, (uint64_t)5 << 27 | 100, 5 }, { 300, (uint64_t)6 << 27 | 50,
			6 }, { 3, extended_time, 14 } }, 3);
	unmake(&made);
}

static void large_headers_are_decoded(void **state)
{
	struct made made = make("be", CLOCK "struct h { enum : u16 { compact = 0 ... 65534, extended = 65535 } id;"
				"variant <id> { struct { t32 timestamp; } compact; struct { integer { size = 32; "
			"align = 8; } id; t64 timestamp; } extended; } v; };",
				"id = 0; event.header := struct h;", "id = 2;");

	(void)state;
	expect_records(&made, BYTES(0, 2, 0, 0, 0, 9, 0xff, 0xff, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0), 0,
		       (struct record_wanted[]){ { 2, 9, 6 }, { 2, (uint64_t)1 << 32, 14 } }, 2);
	unmake(&made);
}

static void plain_headers_are_decoded(void **state)
{
	struct made made = make("le", CLOCK, "id = 0; event.header := struct { u8 id; t32 timestamp; };", "id = 2;");

	(void)state;
	expect_records(&made, BYTES(2, 1, 0, 0, 0, 2, 2, 0, 0, 0), 0, (struct record_wanted[]){ { 2, 1, 5 }, { 2, 2,
		5 } }, 2);
	unmake(&made);
}

/* The id is mapped to the clock, too. */
static void event_id_mapped_to_a_clock_also_advances_the_time(void **state)
{
	struct made made = make("le", CLOCK,
		"id = 0; event.header := struct { integer { size = 8; map = clock.c.value; } id; };",
				"id = 2; fields := struct { u32 x; }; };\nevent { name = \"f\"; id = 7; fields := "
			"struct { u32 x; };");

	(void)state;
	expect_records(&made, BYTES(2, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0), 0,
		       (struct record_wanted[]){ { 2, 2, 8 }, { 7, 7, 8 }, { 2, 0x102, 8 } }, 3);
	unmake(&made);
}

/* ── errors ──────────────────────────────────────────────────────────────────────────────────────────── */

static void refuse(const char *types, const char *fields, const char *words)
{
	struct wmk_ctf_class *class;
	struct wmk_ctf_decoder *decoder;
	char text[8192], message[1024];

	snprintf(text, sizeof(text),
		"trace { major = 1; minor = 8; byte_order = le; };\ntypealias integer { size = 8; } := u8;\n%s\n"
		 "stream { id = 0; };\nevent { name = \"e\"; fields := struct { %s }; };", types, fields);
	assert_int_equal(wmk_ctf_metadata_parse(text, strlen(text), "m", false, &class), 0);
	assert_true(wmk_ctf_compile(class, "m", &decoder) < 0);
	if (!strstr(wmk_error_text(message, sizeof(message)), words))
		fail_msg("'%s' does not say '%s'", message, words);
	wmk_error_clear();
	wmk_ctf_class_free(class);
}

static void invalid_references_are_rejected(void **state)
{
	(void)state;
	refuse("", "u8 a[n];", "m:5:45: e: the length 'n' does not exist");
	refuse("", "u8 a[n]; u8 n;", "or does not come before the field that needs it");
	refuse("", "string n; u8 a[n];", "the length 'n' is not an integer");
	refuse("", "integer { size = 8; signed = true; } n; u8 a[n];", "the length of 'a' is a signed integer");
	refuse("", "u8 a[stream.event.context.n];", "does not exist");
	refuse("", "u8 t; variant <t> { u8 a; } v;", "the selector of variant 'v' is not an enumeration");
		/* a type that contains itself many times: short metadata for a huge type */
	refuse("struct a { u8 x; u8 y; }; struct b { struct a x, y, z, u, v, w; }; struct c { struct b x, y, z, u, v, "
	       "w; };"
	       "struct d { struct c x, y, z, u, v, w; }; struct f { struct d x, y, z, u, v, w; }; struct g { struct f "
	       "x, y, z, u, v, w; };",
	       "struct g a, b, c, d;", "e has more than 65536 parts");
}

/* An array with an absurd number of elements. */
static void too_many(const char *types, const char *fields, const void *bytes, uint64_t bits)
{
	struct made made = make("le", types, "id = 0;", fields);
	struct wmk_ctf_bytes in = { bytes, 0, bits };
	struct wmk_ctf_walk walk;

	wmk_ctf_walk_begin(&walk, &in, 0);
	assert_int_equal(wmk_ctf_skip(&walk, &made.decoder->streams[0].events[0].payload), -EPROTO);
	wmk_error_clear();
	unmake(&made);
}

/* Billions of elements without a size. */
static void too_many_empty_elements_are_rejected(void **state)
{
	const uint8_t bytes[] = { 0xff, 0xff, 0xff, 0xff };

	(void)state;
	too_many("", "fields := struct { integer { size = 32; } n; struct { } a[n]; };", bytes, 32);
}

/* ... also when no array has too many: a thousand in each of a thousand in each of a thousand. */
static void nested_empty_elements_are_rejected(void **state)
{
	(void)state;
	too_many("struct a { struct { } x[1000]; }; struct b { struct a x[1000]; }; struct c { struct b x[1000]; };",
		"fields := struct { struct c x[1000]; };", "", 0);
}

/*
 * A walk with is_passing visits only the first element without a size, and must reject what a full walk rejects: `in`
 * elements that consist of `n` parts without a size, after some number in one array, near the limit for all.
 */
static void skipping_rejects_the_same_empty_elements_as_full_decoding(void **state)
{
	unsigned n_passed[2] = { 0, 0 };
	char fields[400];

	(void)state;
	for (unsigned in = 1; in <= 40; in += 13)
		for (unsigned before = 65530; before <= 65537; before++)
			for (unsigned n = 6530; n <= 6560; n += before == 65536 ? 1 : 15) {
				snprintf(fields, sizeof(fields), "fields := struct { u8 k; struct { } a[%u]; struct "
			"{ struct { } x; struct { struct { } y; } z[%u]; } b[%u]; "
					 "struct { u8 q[k]; struct { u32 none[k]; } w; } c[60000]; };", before,
			n / in, in);
				struct made made = make("le", "", "id = 0;", fields);
				const struct wmk_ctf_program *payload = &made.decoder->streams[0].events[0].payload;
				const uint8_t bytes[8] = { 0 };
				const struct wmk_ctf_bytes in_all = { bytes, 0, sizeof(bytes) * 8 };
				struct wmk_ctf_walk walk, skip;
				struct wmk_ctf_item item;

				wmk_ctf_walk_begin(&walk, &in_all, 0);
				wmk_ctf_walk_begin(&skip, &in_all, 0);
				wmk_ctf_walk_enter(&walk, payload);
				while (wmk_ctf_next(&walk, &item))
					;
				assert_int_equal(wmk_ctf_skip(&skip, payload), walk.err);
				if (!walk.err)
					assert_int_equal(skip.at, walk.at);
				assert_int_equal(before > 65536 ? -EPROTO : walk.err, walk.err);
				n_passed[!walk.err]++;
				wmk_error_clear();
				unmake(&made);
			}
	assert_true(n_passed[0] > 10 && n_passed[1] > 10);
}

/* Likewise in an event header, of which values are needed by role. */
static void empty_elements_in_headers_are_decoded_quickly(void **state)
{
	struct made made = make("le", "",
		"id = 0; event.header := struct { u8 id; struct { } a[65536], b[65536], c[65536], d[65000]; };",
				"id = 0; fields := struct { u8 x; };");
	const struct wmk_ctf_stream_decoder *stream = &made.decoder->streams[0];
	const uint8_t bytes[2] = { 0 };
	const struct wmk_ctf_bytes in = { bytes, 0, 16 };
	struct wmk_ctf_record record;

	(void)state;
	memset(&record, 0, sizeof(record));
	alarm(HANGS_S);
	for (unsigned i = 0; i < 20000; i++) {
		assert_int_equal(wmk_ctf_record(stream, &in, 0, &record), 0);
		assert_int_equal(record.end, 16);
	}
	alarm(0);
	unmake(&made);
}

/* Fields that take no bytes take little time: five hundred thousand operations, twenty thousand times. */
static void empty_elements_are_decoded_quickly(void **state)
{
	struct made made = make("le", "", "id = 0;",
		"fields := struct { struct { } a[65536], b[65536], c[65536], d[65000]; u8 x; };");
	const struct wmk_ctf_program *payload = &made.decoder->streams[0].events[0].payload;
	const uint8_t bytes[1] = { 0 };
	const struct wmk_ctf_bytes in = { bytes, 0, 8 };
	struct wmk_ctf_walk walk;

	(void)state;
	alarm(HANGS_S);
	for (unsigned i = 0; i < 20000; i++) {
		wmk_ctf_walk_begin(&walk, &in, 0);
		assert_int_equal(wmk_ctf_skip(&walk, payload), 0);
		assert_int_equal(walk.at, 8);
	}
	alarm(0);
	unmake(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_of_each_width_and_bit_offset_are_read),
		cmocka_unit_test(numbers_are_decoded_in_both_byte_orders),
		cmocka_unit_test(texts_are_decoded_up_to_their_nul_or_length),
		cmocka_unit_test(arrays_and_sequences_are_decoded_with_their_alignment),
		cmocka_unit_test(variants_decode_the_selected_option),
		cmocka_unit_test(array_lengths_come_from_the_environment),
#if defined(__x86_64__)
		cmocka_unit_test(x87_numbers_give_the_nearest_double),
#endif
		cmocka_unit_test(references_reach_all_preceding_scopes),
		cmocka_unit_test(end_of_a_record_with_a_final_string_is_found),
		cmocka_unit_test(compact_medium_and_extended_headers_are_decoded),
		cmocka_unit_test(large_headers_are_decoded), cmocka_unit_test(plain_headers_are_decoded),
		cmocka_unit_test(event_id_mapped_to_a_clock_also_advances_the_time),
		cmocka_unit_test(invalid_references_are_rejected),
		cmocka_unit_test(too_many_empty_elements_are_rejected),
		cmocka_unit_test(nested_empty_elements_are_rejected),
		cmocka_unit_test(skipping_rejects_the_same_empty_elements_as_full_decoding),
		cmocka_unit_test(empty_elements_are_decoded_quickly),
		cmocka_unit_test(empty_elements_in_headers_are_decoded_quickly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
