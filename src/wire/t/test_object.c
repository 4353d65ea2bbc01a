/* SPDX-License-Identifier: MIT */
/*
 * test_object.c - encode structures and decode them: every kind of member, every limit, and invalid messages, which are
 * truncated, too long, or announce more than they contain.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "wire/ctl.h"
#include "wire/wire.h"

struct leaf {
	const char *text;
	uint32_t word;
};

struct all {
	uint32_t u32;
	uint64_t u64;
	int64_t i64;
	bool truth;
	uint32_t word;
	const char *text;
	uint8_t uuid[16];
	struct leaf leaf;
	struct wmk_list leaves, texts, numbers;
};

static const char *const names[] = { "red", "green", "blue" };
static const struct wmk_member leaf_members[] = { WMK_MEMBER(TEXT, leaf, text, 10), WMK_MEMBER(ENUM, leaf, word, names) };
static const struct wmk_object leaf_object = WMK_OBJECT_OF("leaf", leaf, leaf_members);
static const struct wmk_member all_members[] = {
	WMK_MEMBER(U32, all, u32), WMK_MEMBER(U64, all, u64), WMK_MEMBER(I64, all, i64), WMK_MEMBER(BOOL, all, truth),
	WMK_MEMBER(ENUM, all, word, names), WMK_MEMBER(TEXT, all, text, 20), WMK_MEMBER(UUID, all, uuid),
	WMK_MEMBER(OBJECT, all, leaf, leaf, leaf_object), WMK_MEMBER(LIST, all, leaves, leaf_object, 3),
	WMK_MEMBER(TEXTS, all, texts, 3), WMK_MEMBER(NUMBERS, all, numbers, 3),
};
static const struct wmk_object all_object = WMK_OBJECT_OF("everything", all, all_members);

static struct leaf leaves[4] = { { "one", 0 }, { "", 1 }, { NULL, 2 } };
static const char *texts[4] = { "a", NULL, "ccc" };
static uint64_t numbers[4] = { 0, 1, UINT64_MAX };

static struct all example(void)
{
	return (struct all){
		.u32 = 0xfffffffe, .u64 = 0xfffffffffffffffd, .i64 = -5, .truth = true, .word = 2, .text = "twenty bytes of text",
		.uuid = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 }, .leaf = { "ten bytes!", 1 },
		.leaves = { leaves, 3 }, .texts = { texts, 3 }, .numbers = { numbers, 3 },
	};
}

static void assert_example(const struct all *a)
{
	const struct leaf *l = a->leaves.items;
	const char *const *t = a->texts.items;

	assert_int_equal(a->u32, 0xfffffffe);
	assert_true(a->u64 == 0xfffffffffffffffd && a->i64 == -5 && a->truth && a->word == 2);
	assert_string_equal(a->text, "twenty bytes of text");
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(a->uuid[i], i + 1);
	assert_string_equal(a->leaf.text, "ten bytes!");
	assert_int_equal(a->leaf.word, 1);
	assert_int_equal(a->leaves.n, 3);
	assert_string_equal(l[0].text, "one");
	assert_string_equal(l[1].text, "");
	assert_string_equal(l[2].text, "");
	assert_int_equal(l[2].word, 2);
	assert_int_equal(a->texts.n, 3);
	assert_string_equal(t[0], "a");
	assert_string_equal(t[1], "");
	assert_string_equal(t[2], "ccc");
	assert_int_equal(a->numbers.n, 3);
	assert_memory_equal(a->numbers.items, numbers, 3 * sizeof(*numbers));
}

static void assert_says(const char *what)
{
	char text[600];

	if (!strstr(wmk_error_text(text, sizeof(text)), what))
		fail_msg("'%s' does not say '%s'", text, what);
}

static size_t encoded(const struct all *a, uint8_t **bytes)
{
	long len = wmk_object_encode(&all_object, a, bytes);

	assert_true(len > 0);
	return (size_t)len;
}

static int decode(const void *bytes, size_t len)
{
	/* An allocation of the exact size: the address sanitizer detects overreads. */
	uint8_t *exact = malloc(len ? len : 1);
	struct wmk_arena arena = { 0 };
	struct all a, zero;

	memset(&zero, 0, sizeof(zero));
	if (len)
		memcpy(exact, bytes, len);
	int err = wmk_object_decode(&all_object, exact, len, &a, &arena);
	if (err < 0)
		assert_memory_equal(&a, &zero, sizeof(a));
	wmk_arena_free(&arena);
	assert_int_equal(arena.used, 0);
	free(exact);
	return err;
}

static void encoded_object_decodes_unchanged(void **state)
{
	struct wmk_arena arena = { 0 };
	struct all a = example(), b, c;
	uint8_t *bytes, *again;
	size_t len = encoded(&a, &bytes);

	(void)state;
	assert_int_equal(wmk_object_decode(&all_object, bytes, len, &b, &arena), 0);
	assert_example(&b);
	assert_int_equal(wmk_object_copy(&all_object, &a, &c, &arena), 0);
	assert_example(&c);
	assert_ptr_not_equal(c.text, a.text);
	assert_ptr_not_equal(c.leaves.items, a.leaves.items);
	assert_int_equal(encoded(&c, &again), len);
	assert_memory_equal(bytes, again, len);
	free(bytes);
	free(again);
	/* Absent strings and lists are empty, and never NULL. */
	memset(&a, 0, sizeof(a));
	len = encoded(&a, &bytes);
	assert_int_equal(wmk_object_decode(&all_object, bytes, len, &b, &arena), 0);
	assert_string_equal(b.text, "");
	assert_string_equal(b.leaf.text, "");
	assert_int_equal(b.leaves.n + b.texts.n + b.numbers.n, 0);
	assert_int_equal(wmk_object_copy(&all_object, &a, &c, &arena), 0);
	assert_string_equal(c.text, "");
	free(bytes);
	wmk_arena_free(&arena);
}

static void object_above_limit_is_not_encoded(void **state)
{
	uint8_t *bytes;
	char *large = malloc(WMK_OBJECT_TEXT_MAX + 2);
	uint8_t kept = 0;
	struct all a;

	(void)state;
#define REFUSED(change, errno_, says) do { \
	a = example(); \
	bytes = &kept; \
	change; \
	assert_int_equal(wmk_object_encode(&all_object, &a, &bytes), errno_); \
	assert_null(bytes); \
	assert_says(says); \
} while (0)
	REFUSED(a.text = "twenty-one bytes long", -EMSGSIZE, "text: 21 bytes of text, above the limit of 20");
	REFUSED(a.leaf.text = "eleven byte", -EMSGSIZE, "leaf.text: 11 bytes of text");
	REFUSED(a.word = 3, -EINVAL, "word: 3 as an enum value, above the limit of 2");
	REFUSED(a.leaves.n = 4, -EMSGSIZE, "leaves: 4 elements, above the limit of 3");
	REFUSED(a.texts.n = 4, -EMSGSIZE, "texts: 4 elements");
	REFUSED(a.numbers.n = 4, -EMSGSIZE, "numbers: 4 elements");
	leaves[1].word = 7;
	REFUSED((void)0, -EINVAL, "leaves[1].word: 7 as an enum value");
	leaves[1].word = 1;
	memset(large, 'x', WMK_OBJECT_TEXT_MAX + 1);
	large[WMK_OBJECT_TEXT_MAX + 1] = '\0';
	texts[2] = large;
	REFUSED((void)0, -EMSGSIZE, "4097 bytes of text");
	large[WMK_OBJECT_TEXT_MAX] = '\0';
	a = example();
	assert_true(encoded(&a, &bytes) > WMK_OBJECT_TEXT_MAX);
	texts[2] = "ccc";
	free(large);
	free(bytes);
}

static void cut_or_too_long_object_is_refused(void **state)
{
	struct all a = example();
	uint8_t *bytes;
	size_t len = encoded(&a, &bytes);

	(void)state;
	for (size_t cut = 0; cut < len; cut++)
		assert_int_equal(decode(bytes, cut), -EPROTO);
	assert_int_equal(decode(bytes, len), 0);
	bytes = realloc(bytes, len + 1);
	bytes[len] = 0;
	assert_int_equal(decode(bytes, len + 1), -EPROTO);
	assert_says("1 bytes after the last member");
	free(bytes);
}

/* Offsets in the encoded example: a change at any of them must be rejected. */
static void test_corrupt_objects_are_refused(void **state)
{
	enum {
		TRUTH = 4 + 8 + 8, WORD = TRUTH + 1, TEXT = WORD + 4, LEAF = TEXT + 4 + 20 + 16, LEAVES = LEAF + 4 + 10 + 4,
		TEXTS = LEAVES + 4 + (4 + 3 + 4) + (4 + 4) + (4 + 4), NUMBERS = TEXTS + 4 + (4 + 1) + 4 + (4 + 3), END = NUMBERS + 4 + 24,
	};
	static const struct {
		size_t at;
		uint32_t value;
		const char *says;
	} lies[] = {
		{ TRUTH, 2, "truth: 2 as a boolean, above the limit of 1" },
		{ WORD, 3, "word: 3 as an enum value, above the limit of 2" },
		{ WORD, UINT32_MAX, "word: 4294967295 as an enum value" },
		{ TEXT, 21, "text: 21 bytes of text, above the limit of 20" },
		{ TEXT, UINT32_MAX, "text: 4294967295 bytes of text" },
		{ TEXT + 4, 0, "text: 1 NUL bytes in a text" },
		{ LEAF, 11, "leaf.text: 11 bytes of text, above the limit of 10" },
		{ LEAVES, 4, "leaves: 4 elements, above the limit of 3" },
		{ LEAVES, UINT32_MAX, "leaves: 4294967295 elements" },
		{ LEAVES + 4 + 4 + 3, 3, "leaves[0].word: 3 as an enum value" },
		{ TEXTS, 4, "texts: 4 elements" },
		{ TEXTS + 4, 4097, "texts[0].texts: 4097 bytes of text" },
		{ NUMBERS, 4, "numbers: 4 elements" },
	};
	struct all a = example();
	uint8_t *bytes;
	size_t len = encoded(&a, &bytes);

	(void)state;
	assert_int_equal(len, END);
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		uint8_t was[4];
		size_t n = lies[i].at == TRUTH ? 1 : 4;

		memcpy(was, bytes + lies[i].at, n);
		memcpy(bytes + lies[i].at, &lies[i].value, n);
		assert_int_equal(decode(bytes, len), -EPROTO);
		assert_says(lies[i].says);
		memcpy(bytes + lies[i].at, was, n);
	}
	/* Counts within the limit that exceed the rest of the message are refused before memory is allocated. */
	uint32_t three = 3;
	memcpy(bytes + NUMBERS, &three, 4);
	assert_int_equal(decode(bytes, NUMBERS + 4 + 16), -EPROTO);
	assert_says("numbers: 3 elements in the rest of the message, above the limit of 2");
	assert_int_equal(decode(bytes, TEXTS + 4 + 8), -EPROTO);
	assert_says("texts: 3 elements in the rest of the message, above the limit of 2");
	assert_int_equal(decode(bytes, LEAVES + 4 + 8), -EPROTO);
	assert_says("leaves: 3 elements in the rest of the message, above the limit of 1");
	free(bytes);
}

/* ── depth ───────────────────────────────────────────────────────────────────────────────────────────── */

struct nest {
	uint32_t number;
	struct wmk_list inner;
};
static const struct wmk_object nest_object;
static const struct wmk_member nest_members[] = { WMK_MEMBER(U32, nest, number), WMK_MEMBER(LIST, nest, inner, nest_object, 1) };
static const struct wmk_object nest_object = WMK_OBJECT_OF("nest", nest, nest_members);

static void test_nested_objects_are_limited_by_depth(void **state)
{
	struct nest nests[WMK_OBJECT_DEPTH_MAX + 2], back;
	struct wmk_arena arena = { 0 };
	uint32_t *body;
	uint8_t *bytes;

	(void)state;
	memset(nests, 0, sizeof(nests));
	for (unsigned i = 0; i < WMK_OBJECT_DEPTH_MAX; i++)
		nests[i].inner = (struct wmk_list){ &nests[i + 1], 1 };
	long len = wmk_object_encode(&nest_object, &nests[0], &bytes);
	assert_int_equal(len, 8 * (WMK_OBJECT_DEPTH_MAX + 1));
	assert_int_equal(wmk_object_decode(&nest_object, bytes, (size_t)len, &back, &arena), 0);
	free(bytes);
	nests[WMK_OBJECT_DEPTH_MAX].inner = (struct wmk_list){ &nests[WMK_OBJECT_DEPTH_MAX + 1], 1 };
	assert_int_equal(wmk_object_encode(&nest_object, &nests[0], &bytes), -EMSGSIZE);
	assert_says("nested more than 8 levels");
	body = calloc(64, 2 * sizeof(*body));
	for (unsigned i = 0; i < 63; i++)
		body[2 * i + 1] = 1;
	assert_int_equal(wmk_object_decode(&nest_object, body, 64 * 8, &back, &arena), -EPROTO);
	assert_says("nested more than 8 levels");
	free(body);
	wmk_arena_free(&arena);
}

/* ── the arena ───────────────────────────────────────────────────────────────────────────────────────── */

struct wide {
	const char *texts[40];
};
static const struct wmk_member wide_members[] = {
	{ .name = "one", .kind = WMK_MEMBER_BOOL, .offset = 0 },
};
static const struct wmk_object wide_object = WMK_OBJECT_OF("wide", wide, wide_members);
struct many {
	struct wmk_list wide;
};
static const struct wmk_member many_members[] = { WMK_MEMBER(LIST, many, wide, wide_object, UINT32_MAX) };
static const struct wmk_object many_object = WMK_OBJECT_OF("many", many, many_members);

/* An element has one byte in the message, and 320 bytes in memory. */
static void allocation_above_arena_limit_fails(void **state)
{
	uint32_t n = WMK_ARENA_MAX / sizeof(struct wide) + 1;
	uint8_t *body = calloc(1, 4 + n);
	struct wmk_arena arena = { 0 };
	struct many many;

	(void)state;
	memcpy(body, &n, 4);
	assert_int_equal(wmk_object_decode(&many_object, body, 4 + n, &many, &arena), -ENOMEM);
	assert_int_equal(arena.used, 0);
	assert_null(wmk_arena_alloc(&arena, WMK_ARENA_MAX + 1));
	assert_null(wmk_arena_alloc(&arena, SIZE_MAX));
	assert_non_null(wmk_arena_alloc(&arena, WMK_ARENA_MAX / 2));
	assert_null(wmk_arena_alloc(&arena, WMK_ARENA_MAX / 2 + 1));
	assert_says("exceeds the limit of");
	wmk_arena_free(&arena);
	free(body);
}

static void growing_list_keeps_its_elements(void **state)
{
	struct wmk_arena arena = { 0 };
	struct wmk_list list = { 0 };
	struct all a = example(), copy;

	(void)state;
	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t *element = wmk_arena_append(&arena, &list, sizeof(*element));

		assert_non_null(element);
		assert_true(*element == 0);
		*element = i;
		uint8_t *other = wmk_arena_alloc(&arena, i);
		assert_non_null(other);
		assert_true((uintptr_t)other % _Alignof(max_align_t) == 0);
		memset(other, 0xff, i);
	}
	assert_int_equal(list.n, 1000);
	for (uint64_t i = 0; i < 1000; i++)
		assert_true(((uint64_t *)list.items)[i] == i);
	/* A copied list of three elements has room for a fourth, and grows after that. */
	assert_int_equal(wmk_object_copy(&all_object, &a, &copy, &arena), 0);
	for (unsigned i = 3; i < 6; i++)
		*(uint64_t *)wmk_arena_append(&arena, &copy.numbers, sizeof(uint64_t)) = i;
	assert_int_equal(copy.numbers.n, 6);
	assert_memory_equal(copy.numbers.items, numbers, 3 * sizeof(*numbers));
	assert_true(((uint64_t *)copy.numbers.items)[5] == 5);
	/* The same applies to a list that was created with a size; a list of no elements is empty. */
	for (uint64_t n = 0; n < 40; n++) {
		struct wmk_list made = { NULL, 0 };

		assert_int_equal(wmk_arena_list(&arena, &made, (uint32_t)n, sizeof(uint64_t)), 0);
		assert_int_equal(made.n, n);
		for (uint64_t i = 0; i < 2 * n + 3; i++) {
			uint64_t *element = i < n ? (uint64_t *)made.items + i : wmk_arena_append(&arena, &made, sizeof(*element));

			assert_non_null(element);
			assert_true(*element == 0);
			*element = i;
			memset(wmk_arena_alloc(&arena, 8), 0xff, 8);
		}
		for (uint64_t i = 0; i < made.n; i++)
			assert_true(((uint64_t *)made.items)[i] == i);
	}
	const char *text = wmk_arena_text(&arena, "words");
	assert_string_equal(text, "words");
	assert_string_equal(wmk_arena_text(&arena, NULL), "");
	wmk_arena_free(&arena);
}

/* ── frames ──────────────────────────────────────────────────────────────────────────────────────────── */

static void invalid_object_is_not_queued(void **state)
{
	struct wmk_out out = { 0 };
	struct all a = example();
	struct wmk_frame frame;

	(void)state;
	assert_int_equal(wmk_object_send(&out, WMK_CTL_REPLY, 7, &all_object, &a), 0);
	memcpy(&frame, out.buf, sizeof(frame));
	assert_int_equal(frame.type, WMK_CTL_REPLY);
	assert_int_equal(frame.request, 7);
	assert_int_equal(out.len, sizeof(frame) + frame.length);
	assert_int_equal(decode(out.buf + sizeof(frame), frame.length), 0);
	size_t before = out.len;
	a.word = 3;
	assert_int_equal(wmk_object_send(&out, WMK_CTL_REPLY, 7, &all_object, &a), -EINVAL);
	assert_int_equal(out.len, before);
	wmk_out_free(&out);
}

struct dot {
	bool dot;
};
static const struct wmk_member dot_members[] = { WMK_MEMBER(BOOL, dot, dot) };
static const struct wmk_object dot_object = WMK_OBJECT_OF("dot", dot, dot_members);
struct dots {
	struct wmk_list dots;
};
static const struct wmk_member dots_members[] = { WMK_MEMBER(LIST, dots, dots, dot_object, UINT32_MAX) };
static const struct wmk_object dots_object = WMK_OBJECT_OF("dots", dots, dots_members);

/* Join the frames of an object. Their number is the minimum, and all frames but the last are full. */
static uint8_t *joined(const struct wmk_out *out, size_t len)
{
	uint8_t *bytes = malloc(len);
	size_t at = 0, from = 0;

	while (at < out->len) {
		const bool last = len - from <= WMK_OBJECT_PART_MAX;
		struct wmk_frame frame;

		memcpy(&frame, out->buf + at, sizeof(frame));
		assert_int_equal(frame.type, last ? WMK_CTL_REPLY : WMK_OBJECT_PART);
		assert_int_equal(frame.request, 9);
		assert_int_equal(frame.length, last ? len - from : WMK_OBJECT_PART_MAX);
		memcpy(bytes + from, out->buf + at + sizeof(frame), frame.length);
		from += frame.length;
		at += sizeof(frame) + frame.length;
	}
	assert_int_equal(from, len);
	assert_int_equal(at, out->len);
	return bytes;
}

/* An object is sent in as few frames as possible; no frame of a too large object is sent. */
static void test_objects_use_the_fewest_frames(void **state)
{
	static const uint32_t lengths[] = { 1, 2 * WMK_OBJECT_PART_MAX + 5, WMK_OBJECT_PART_MAX - 2, WMK_OBJECT_PART_MAX - 4, WMK_OBJECT_PART_MAX - 3,
					    2 * WMK_OBJECT_PART_MAX - 4, WMK_FRAME_MAX * 2 };
	struct dots dots = { { calloc(WMK_OBJECT_MAX, 1), 0 } };
	struct wmk_out out = { 0 }, first = { 0 };

	(void)state;
	for (uint32_t i = 0; i < WMK_FRAME_MAX * 2; i += 3)
		((bool *)dots.dots.items)[i] = i % 7 == 0;
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		dots.dots.n = lengths[i];
		assert_int_equal(wmk_object_send(&out, WMK_CTL_REPLY, 9, &dots_object, &dots), 0);
		uint8_t *bytes, *sent = joined(&out, sizeof(uint32_t) + lengths[i]);
		assert_int_equal(wmk_object_encode(&dots_object, &dots, &bytes), sizeof(uint32_t) + lengths[i]);
		assert_memory_equal(sent, bytes, sizeof(uint32_t) + lengths[i]);
		wmk_out_free(&out);
		free(sent);
		free(bytes);
	}
	/* The object is queued after other data, a part of which was sent. */
	assert_int_equal(wmk_out_u32(&out, WMK_MSG_DONE, 1), 0);
	out.sent = 4;
	const size_t before = wmk_out_queued(&out);
	dots.dots.n = WMK_OBJECT_MAX - 3;
	assert_int_equal(wmk_object_send(&out, WMK_CTL_REPLY, 9, &dots_object, &dots), -EMSGSIZE);
	assert_int_equal(wmk_out_queued(&out), before);
	dots.dots.n--;
	assert_int_equal(wmk_object_send(&out, WMK_CTL_REPLY, 9, &dots_object, &dots), 0);
	/* (the rest of the queued data, then the object) */
	assert_int_equal(wmk_out_u32(&first, WMK_MSG_DONE, 1), 0);
	assert_memory_equal(out.buf + out.sent, first.buf + 4, before);
	out.sent += before;
	memmove(out.buf, out.buf + out.sent, out.len -= out.sent);
	uint8_t *bytes, *sent = joined(&out, WMK_OBJECT_MAX);
	assert_int_equal(wmk_object_encode(&dots_object, &dots, &bytes), WMK_OBJECT_MAX);
	assert_memory_equal(sent, bytes, WMK_OBJECT_MAX);
	free(sent);
	free(bytes);
	wmk_out_free(&first);
	wmk_out_free(&out);
	free(dots.dots.items);
}

/* Members that begin in one frame and end in the next. Equal short texts share memory; different ones never do. */
static void test_texts_across_frames_are_joined(void **state)
{
	enum { N = 40000, LENGTHS = 90, KINDS = 700 };
	static const struct wmk_member words_sent_members[] = { WMK_MEMBER(TEXTS, dots, dots, N) };
	static const struct wmk_object words_sent_object = WMK_OBJECT_OF("texts", dots, words_sent_members);
	const char **texts_sent = calloc(N, sizeof(*texts_sent));
	struct dots sent = { { texts_sent, N } }, got;
	struct wmk_arena made = { 0 }, arena = { 0 };
	struct wmk_out out = { 0 };
	char text[LENGTHS + 10];

	(void)state;
	for (unsigned i = 0; i < N; i++) {
		const unsigned kind = i % KINDS;

		memset(text, 'x', sizeof(text));         /* 1 to 92 bytes: some texts are too long for the cache */
		text[LENGTHS - kind % LENGTHS] = '\0';           /* (some texts are the beginning of the next one) */
		if (kind % 3)
			snprintf(text + LENGTHS - kind % LENGTHS, 10, "%u", kind);
		texts_sent[i] = wmk_arena_text(&made, text);
	}
	uint8_t *bytes;
	const long len = wmk_object_encode(&words_sent_object, &sent, &bytes);
	assert_true(len > 10 * (long)WMK_OBJECT_PART_MAX);
	assert_int_equal(wmk_object_send(&out, WMK_CTL_REPLY, 9, &words_sent_object, &sent), 0);
	uint8_t *from = joined(&out, (size_t)len);
	assert_memory_equal(from, bytes, (size_t)len);
	assert_int_equal(wmk_object_decode(&words_sent_object, from, (size_t)len, &got, &arena), 0);
	memset(from, 0xff, (size_t)len);         /* the decoded objects do not refer to the message */
	assert_int_equal(got.dots.n, N);
	for (unsigned i = 0; i < N; i++)
		assert_string_equal(((const char *const *)got.dots.items)[i], texts_sent[i]);
	/* 700 texts share 256 places of the cache and replace each other; two alternating texts have one copy each */
	for (unsigned i = 0; i < N; i++)
		texts_sent[i] = i % 2 ? "one" : "the other";
	free(bytes);
	wmk_arena_free(&arena);
	const long less = wmk_object_encode(&words_sent_object, &sent, &bytes);
	assert_int_equal(wmk_object_decode(&words_sent_object, bytes, (size_t)less, &got, &arena), 0);
	for (unsigned i = 2; i < N; i++)
		assert_ptr_equal(((const char *const *)got.dots.items)[i], ((const char *const *)got.dots.items)[i % 2]);
	assert_string_equal(((const char *const *)got.dots.items)[0], "the other");
	assert_string_equal(((const char *const *)got.dots.items)[1], "one");
	free(bytes);
	free(from);
	free(texts_sent);
	wmk_out_free(&out);
	wmk_arena_free(&arena);
	wmk_arena_free(&made);
}

/* Every request and reply: zeros are encoded and decoded, and the tables are complete. */
static void check_table(const struct wmk_object *is, unsigned depth)
{
	assert_true(is->n_members > 0 && depth <= WMK_OBJECT_DEPTH_MAX);
	for (unsigned i = 0; i < is->n_members; i++) {
		const struct wmk_member *m = &is->members[i];

		assert_true(m->offset < is->size);
		if (m->kind == WMK_MEMBER_OBJECT || m->kind == WMK_MEMBER_LIST)
			check_table(m->of, depth + 1);
		if (m->kind == WMK_MEMBER_TEXT)
			assert_true(m->limit > 0 && m->limit <= WMK_OBJECT_TEXT_MAX);
		if (m->kind == WMK_MEMBER_LIST || m->kind == WMK_MEMBER_TEXTS || m->kind == WMK_MEMBER_NUMBERS)
			assert_true(m->limit > 0);
		for (unsigned j = 0; j < m->n_names; j++)
			assert_non_null(m->names[j]);
		for (unsigned j = 0; j < i; j++)
			assert_string_not_equal(is->members[j].name, m->name);
	}
}

static void requests_and_replies_of_every_command_decode_as_encoded(void **state)
{
	(void)state;
	for (unsigned i = 0; i < wmk_ctl_n_requests; i++) {
		const struct wmk_request_type *c = &wmk_ctl_requests[i];
		const struct wmk_object *both[] = { c->request, c->reply };

		assert_ptr_equal(wmk_ctl_request_find(c->type), c);
		for (unsigned j = 0; j < 2; j++) {
			void *object = calloc(1, both[j]->size), *back = malloc(both[j]->size);
			struct wmk_arena arena = { 0 };
			uint8_t *bytes;
			long len = wmk_object_encode(both[j], object, &bytes);

			check_table(both[j], 0);
			assert_true(len > 0);
			assert_int_equal(wmk_object_decode(both[j], bytes, (size_t)len, back, &arena), 0);
			free(bytes);
			free(object);
			free(back);
			wmk_arena_free(&arena);
		}
	}
	assert_int_equal(wmk_ctl_n_requests, WMK_CTL_RECLAIM - WMK_CTL_VERSION + 1);
	assert_null(wmk_ctl_request_find(WMK_CTL_REPLY));
	assert_null(wmk_ctl_request_find(WMK_OBJECT_PART));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encoded_object_decodes_unchanged), cmocka_unit_test(object_above_limit_is_not_encoded),
		cmocka_unit_test(cut_or_too_long_object_is_refused), cmocka_unit_test(test_corrupt_objects_are_refused),
		cmocka_unit_test(test_nested_objects_are_limited_by_depth),
		cmocka_unit_test(allocation_above_arena_limit_fails), cmocka_unit_test(growing_list_keeps_its_elements),
		cmocka_unit_test(invalid_object_is_not_queued), cmocka_unit_test(test_objects_use_the_fewest_frames),
		cmocka_unit_test(test_texts_across_frames_are_joined),
		cmocka_unit_test(requests_and_replies_of_every_command_decode_as_encoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
