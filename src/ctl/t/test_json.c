/* SPDX-License-Identifier: MIT */
/*
 * test_json.c - objects as JSON and back: every kind of member; missing, unknown, mistyped and too large members.
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
#include "ctl/json.h"
#include "wire/ctl.h"

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

static const char *const words[] = { "red", "green", "blue" };
static const struct wmk_member leaf_members[] = { WMK_MEMBER(TEXT, leaf, text, 10),
						  WMK_MEMBER(ENUM, leaf, word, words) };
static const struct wmk_object leaf_object = WMK_OBJECT_OF("leaf", leaf, leaf_members);
static const struct wmk_member all_members[] = {
	WMK_MEMBER(U32, all, u32),
	WMK_MEMBER(U64, all, u64),
	WMK_MEMBER(I64, all, i64),
	WMK_MEMBER(BOOL, all, truth),
	WMK_MEMBER(ENUM, all, word, words),
	WMK_MEMBER(TEXT, all, text, 40),
	WMK_MEMBER(UUID, all, uuid),
	WMK_MEMBER(OBJECT, all, leaf, leaf, leaf_object),
	WMK_MEMBER(LIST, all, leaves, leaf_object, 3),
	WMK_MEMBER(TEXTS, all, texts, 3),
	WMK_MEMBER(NUMBERS, all, numbers, 3),
};
static const struct wmk_object all_object = WMK_OBJECT_OF("everything", all, all_members);

static const char written[] =
	"{\n"
	"\t\"u32\": 4294967295,\n"
	"\t\"u64\": 18446744073709551615,\n"
	"\t\"i64\": -9223372036854775808,\n"
	"\t\"truth\": true,\n"
	"\t\"word\": \"blue\",\n"
	"\t\"text\": \"a \\\"b\\\" \\\\ \\u000a\\u001b\\u007f\\u0085 \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\",\n"
	"\t\"uuid\": \"01020304-0506-0708-090a-0b0c0d0e0fff\",\n"
	"\t\"leaf\": {\n"
	"\t\t\"text\": \"l\",\n"
	"\t\t\"word\": \"green\"\n"
	"\t},\n"
	"\t\"leaves\": [\n"
	"\t\t{ \"text\": \"one\", \"word\": \"red\" },\n"
	"\t\t{ \"text\": \"\", \"word\": \"blue\" }\n"
	"\t],\n"
	"\t\"texts\": [\"a\", \"\", \"c\"],\n"
	"\t\"numbers\": [0, 18446744073709551615]\n"
	"}\n";

static struct leaf leaves[] = { { "one", 0 }, { NULL, 2 } };
static const char *texts[] = { "a", NULL, "c" };
static uint64_t numbers[] = { 0, UINT64_MAX };

static struct all example(void)
{
	return (struct all){
		.u32 = UINT32_MAX, .u64 = UINT64_MAX, .i64 = INT64_MIN, .truth = true, .word = 2,
		.text = "a \"b\" \\ \n\033\177\xc2\x85 \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
		.uuid = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 255 }, .leaf = { "l", 1 },
		.leaves = { leaves, 2 }, .texts = { texts, 3 }, .numbers = { numbers, 2 },
	};
}

static struct wmk_arena arena;

static int teardown(void **state)
{
	(void)state;
	wmk_arena_free(&arena);
	wmk_error_clear();
	return 0;
}

static void assert_says(const char *what)
{
	char text[600];

	if (!strstr(wmk_error_text(text, sizeof(text)), what))
		fail_msg("'%s' does not say '%s'", text, what);
}

/* Assert that two objects have the same encoding. */
static void assert_same(const struct wmk_object *is, const void *a, const void *b)
{
	uint8_t *x, *y;
	long nx = wmk_object_encode(is, a, &x), ny = wmk_object_encode(is, b, &y);

	assert_true(nx > 0 && nx == ny);
	assert_memory_equal(x, y, (size_t)nx);
	free(x);
	free(y);
}

static void object_written_as_json_is_read_back_unchanged(void **state)
{
	struct all a = example(), b;
	char *text;

	(void)state;
	assert_int_equal(wmk_json_text(&all_object, &a, 0, &text), 0);
	assert_string_equal(text, written);
	assert_int_equal(wmk_json_read(&all_object, text, strlen(text), &b, &arena), 0);
	assert_same(&all_object, &a, &b);
	free(text);
}

static void sparse_json_omits_members_that_are_zero(void **state)
{
	struct all a = { .leaf.word = 1, .numbers = { numbers, 1 } }, b;
	char *text;

	(void)state;
	assert_int_equal(wmk_json_text(&all_object, &a, WMK_JSON_SPARSE, &text), 0);
	assert_string_equal(text, "{\n\t\"leaf\": {\n\t\t\"word\": \"green\"\n\t},\n\t\"numbers\": [0]\n}\n");
	assert_int_equal(wmk_json_read(&all_object, text, strlen(text), &b, &arena), 0);
	assert_same(&all_object, &a, &b);
	assert_string_equal(b.text, "");
	assert_string_equal(b.leaf.text, "");
	free(text);
	memset(&a, 0, sizeof(a));
	assert_int_equal(wmk_json_text(&all_object, &a, WMK_JSON_SPARSE, &text), 0);
	assert_string_equal(text, "{}\n");
	assert_int_equal(wmk_json_read(&all_object, text, strlen(text), &b, &arena), 0);
	assert_same(&all_object, &a, &b);
	free(text);
	/* Every member alone is written and read back. */
	for (size_t i = 0; i < all_object.n_members; i++) {
		struct all full = example();
		size_t at = all_members[i].offset,
		       end = i + 1 < all_object.n_members ? all_members[i + 1].offset : sizeof(full);

		memset(&a, 0, sizeof(a));
		memcpy((uint8_t *)&a + at, (uint8_t *)&full + at, end - at);
		assert_int_equal(wmk_json_text(&all_object, &a, WMK_JSON_SPARSE, &text), 0);
		assert_non_null(strstr(text, all_members[i].name));
		assert_int_equal(wmk_json_read(&all_object, text, strlen(text), &b, &arena), 0);
		assert_same(&all_object, &a, &b);
		free(text);
	}
}

static void text_that_is_not_utf8_is_written_with_replacement_characters(void **state)
{
	struct all a = { .text = "\xff\xc3" "a\xed\xa0\x80\xc0\x80\xf4\x90\x80\x80\xe2\x82" };
	char *text;

	(void)state;
	assert_int_equal(wmk_json_text(&all_object, &a, WMK_JSON_SPARSE, &text), 0);
	assert_string_equal(text, "{\n\t\"text\": \"\xef\xbf\xbd\xef\xbf\xbd"
				  "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
				  "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"\n}\n");
	free(text);
}

/* Print to `to` and close it. 0 or -errno. */
static int print_to(const struct all *a, unsigned flags, FILE *to)
{
	const int err = wmk_json_print(&all_object, a, flags, to);

	fclose(to);
	return err;
}

/*
 * Output in pieces equals output at once: for short strings, strings longer than a piece, and strings that end at the
 * end of a piece.
 */
static void json_printed_in_pieces_equals_json_made_at_once(void **state)
{
	static const size_t lengths[] = { 0, 1, 65000, 65535, 65536, 65537, 200000, 1000000 };
	char *long_text = malloc(1000001), *text, *printed;
	size_t len;

	(void)state;
	for (unsigned i = 0; i < 2 * sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct all a = example();
		const size_t n = lengths[i / 2];

		memset(long_text, i % 2 ? '"' : 'x', n);         /* each '"' is a piece of its own */
		long_text[n] = '\0';
		a.text = long_text;
		for (unsigned flags = 0; flags <= WMK_JSON_SPARSE; flags++) {
			FILE *to = open_memstream(&printed, &len);

			assert_non_null(to);
			assert_int_equal(wmk_json_text(&all_object, &a, flags, &text), 0);
			assert_int_equal(print_to(&a, flags, to), 0);
			assert_int_equal(len, strlen(text));
			assert_memory_equal(printed, text, len);
			free(printed);
			free(text);
		}
	}
	free(long_text);
}

static void json_print_fails_on_a_full_device_or_an_unknown_enum_value(void **state)
{
	struct all a = example();
	FILE *full = fopen("/dev/full", "w");
	char *long_text = calloc(1, 300001);

	(void)state;
	assert_non_null(full);
	memset(long_text, 'x', 300000);
	a.text = long_text;
	assert_int_equal(print_to(&a, 0, full), -ENOSPC);
	assert_says("cannot write the object 'everything' as JSON");
	a.word = 3;
	assert_int_equal(print_to(&a, 0, fopen("/dev/null", "w")), -EINVAL);
	assert_says("word has the unknown value 3");
	free(long_text);
}

static void object_with_an_unknown_enum_value_is_not_written(void **state)
{
	struct all a = example();
	char *text;

	(void)state;
	a.word = 3;
	assert_int_equal(wmk_json_text(&all_object, &a, 0, &text), -EINVAL);
	assert_null(text);
	assert_says("word has the unknown value 3");
}

static void invalid_json_is_refused_with_place_and_reason(void **state)
{
	static const struct {
		const char *text, *says;
	} refused[] = {
		{ "", "line 1 is not valid JSON: unexpected end of the text" },
		{ "{\n\n\"u32\": ", "line 3 is not valid JSON: unexpected end of the text" },
		{ "{\"u32\": 1}\n{", "line 2 is not valid JSON" },
		{ "{\"u32\": 1,}", "line 1 is not valid JSON" },
		{ "{\"u32\": 1 \"u64\": 2}", "line 1 is not valid JSON" },
		{ "// {}", "line 1 is not valid JSON" },
		{ "null ", "'everything' is not an object in { }" },
		{ "[]", "'everything' is not an object in { }" },
		{ "{\"u33\": 1}", "'everything' has no member 'u33' (perhaps: u32" },
		{ "{\"something else\": 1}", "'everything' has no member 'something else'" },
		{ "{\"leaves\": [{}, {\"txet\": 1}]}", "in leaves[1]: 'leaf' has no member 'txet' (perhaps: text" },
		{ "{\"leaf\": {\"word\": \"grene\"}}", "in leaf: word cannot be 'grene' (perhaps: green" },
		{ "{\"word\": \"zzzzzz\"}", "word cannot be 'zzzzzz' (perhaps: red, green, blue)" },
		{ "{\"word\": 1}", "word is not a word in quotes" },
		{ "{\"u32\": 4294967296}", "u32 is 4294967296: at most 4294967295 is allowed" },
		{ "{\"u32\": -1}", "u32 is not a whole number from 0 on" },
		{ "{\"u32\": 1.5}", "u32 is not a whole number" },
		{ "{\"u32\": \"1\"}", "u32 is not a whole number" },
		{ "{\"u32\": null}", "u32 is not a whole number" },
		{ "{\"u64\": 18446744073709551616}", "line 1: a number has too many digits" },
		{ "{\"i64\": 9223372036854775808}", "i64 is larger than 9223372036854775807" },
		{ "{\"i64\": -9223372036854775809}", "line 1: a number has too many digits" },
		{ "{\"text\": \"99999999999999999999999 \\\" 99999999999999999999999\", \"u32\": "
		  "99999999999999999999999}",
		  "too many digits" },
		{ "{\"i64\": true}", "i64 is not a whole number" },
		{ "{\"truth\": 1}", "truth is not true or false" },
		{ "{\"text\": 1}", "text is not text in quotes" },
		{ "{\"text\": \"forty-one bytes of text, which is too long\"}",
		  "text has 42 bytes: at most 40 are allowed" },
		{ "{\"text\": \"a\\u0000b\"}", "text contains a NUL" },
		{ "{\"text\": \"\xff\"}", "text contains bytes that are not UTF-8" },
		{ "{\"uuid\": \"01020304-0506-0708-090a-0b0c0d0e0ff\"}", "uuid is not a UUID" },
		{ "{\"uuid\": \"01020304-0506-0708-090a-0b0c0d0e0fff1\"}", "uuid is not a UUID" },
		{ "{\"uuid\": \"01020304+0506-0708-090a-0b0c0d0e0fff\"}", "uuid is not a UUID" },
		{ "{\"uuid\": 5}", "uuid is not a UUID" },
		{ "{\"leaf\": []}", "in leaf: 'leaf' is not an object" },
		{ "{\"leaves\": {}}", "leaves is not a list" },
		{ "{\"leaves\": [{}, {}, {}, {}]}", "leaves has 4 elements: at most 3 are allowed" },
		{ "{\"leaves\": [1]}", "in leaves[0]: 'leaf' is not an object" },
		{ "{\"texts\": [\"\", \"\", \"\", \"\"]}", "texts has 4 elements" },
		{ "{\"texts\": [1]}", "in texts[0]: texts is not text" },
		{ "{\"numbers\": [1, 2, 3, 4]}", "numbers has 4 elements" },
		{ "{\"numbers\": [1, -2]}", "in numbers[1]: numbers is not a whole number" },
		{ "{\"leaf\": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}",
		  "line 1 is not valid JSON" },
	};
	struct all a, zero;

	(void)state;
	memset(&zero, 0, sizeof(zero));
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		size_t len = strlen(refused[i].text);
		char *exact = malloc(len ? len : 1);

		memcpy(exact, refused[i].text, len);
		if (wmk_json_read(&all_object, exact, len, &a, &arena) != -EINVAL)
			fail_msg("was read: %s", refused[i].text);
		assert_says(refused[i].says);
		assert_memory_equal(&a, &zero, sizeof(a));
		free(exact);
	}
	assert_int_equal(wmk_json_read(&all_object, "{}\0 ", 4, &a, &arena), -EINVAL);
	assert_int_equal(wmk_json_read(&all_object, "{}", WMK_JSON_MAX + 1, &a, &arena), -EINVAL);
	assert_says("the JSON text has");
}

static void handwritten_session_is_read_with_defaults(void **state)
{
	static const char text[] =
		"{ \"name\": \"mine\", \"channels\": [ { \"name\": \"c\", \"mode\": \"overwrite\", \"enabled\": true,\n"
		"  \"rules\": [ { \"pattern\": \"shop:*\", \"level_op\": \"at-least\", \"level\": \"debug_line\" } ] } "
		"] }\r\n";
	struct wmk_ctl_session s, again;
	char *back;

	(void)state;
	assert_int_equal(wmk_json_read(&wmk_ctl_session_object, text, strlen(text), &s, &arena), 0);
	assert_string_equal(s.name, "mine");
	assert_string_equal(s.path, "");
	const struct wmk_ctl_channel *c = s.channels.items;
	assert_int_equal(c->settings.mode, WMK_MODE_OVERWRITE);
	assert_string_equal(c->domain.exec, "");
	const struct wmk_ctl_rule *r = c->rules.items;
	assert_string_equal(r->pattern, "shop:*");
	assert_int_equal(r->level_op, WMK_LEVEL_AT_LEAST);
	assert_int_equal(r->level, 13);
	assert_int_equal(wmk_json_text(&wmk_ctl_session_object, &s, 0, &back), 0);
	assert_int_equal(wmk_json_read(&wmk_ctl_session_object, back, strlen(back), &again, &arena), 0);
	assert_same(&wmk_ctl_session_object, &s, &again);
	free(back);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(object_written_as_json_is_read_back_unchanged, teardown),
		cmocka_unit_test_teardown(sparse_json_omits_members_that_are_zero, teardown),
		cmocka_unit_test_teardown(text_that_is_not_utf8_is_written_with_replacement_characters, teardown),
		cmocka_unit_test_teardown(object_with_an_unknown_enum_value_is_not_written, teardown),
		cmocka_unit_test_teardown(json_printed_in_pieces_equals_json_made_at_once, teardown),
		cmocka_unit_test_teardown(json_print_fails_on_a_full_device_or_an_unknown_enum_value, teardown),
		cmocka_unit_test_teardown(invalid_json_is_refused_with_place_and_reason, teardown),
		cmocka_unit_test_teardown(handwritten_session_is_read_with_defaults, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
