/* SPDX-License-Identifier: MIT */
/*
 * test_violations.c - TSDL metadata that violates the specification and is accepted, as babeltrace2 accepts it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/array.h"
#include "base/error.h"
#include "ctf/class.h"

#define TRACE "trace { major = 1; minor = 8; byte_order = le; };\n"
#define U8 "integer { size = 8; align = 8; signed = false; }"

static struct wmk_ctf_class *parse(const char *text)
{
	struct wmk_ctf_class *class = NULL;
	char words[1024];

	if (wmk_ctf_metadata_parse(text, strlen(text), "m", false, &class) < 0)
		fail_msg("%s", wmk_error_text(words, sizeof(words)));
	return class;
}

/* Each accepted violation gives one warning with a count. */
static void accepted_metadata_violations_are_reported_with_a_count(void **state)
{
	static const struct {
		const char *text, *words;
		uint32_t line, column, count;
	} rows[] = {
		{ "trace { major = 2; minor = 8; byte_order = le; };", "metadata with major = 2 is read as version 1.8",
		  1, 17, 1 },
		{ "trace { major = 1; minor = 9; byte_order = le; };", "metadata with minor = 9 is read as version 1.8",
		  1, 28, 1 },
		{ "trace { major = 1; minor = 8; byte_order = \"le\"; };", "a byte_order that is a string", 1, 44, 1 },
		{ "/* CTF 1.9 */\n" TRACE, "metadata of CTF 1.9 is read as CTF 1.8", 1, 1, 1 },
		{ TRACE "typedef integer { size = 8; aa = bb; } x;\ntypedef integer { size = 8; aa = -1; } y;",
		  "unknown property 'aa' of this type: ignored", 2, 29, 2 },
		{ TRACE "typedef integer { size = 8; a.a = \"b c\"; } x;",
		  "unknown property 'a.a' of this type: ignored", 2, 29, 1 },
		{ TRACE "typedef string { align = 8; } x;", "unknown property 'align' of this type: ignored", 2, 18,
		  1 },
		{ TRACE "typedef floating_point { exp_dig = 8; mant_dig = 24; base = 10; } x;",
		  "unknown property 'base' of this type: ignored", 2, 54, 1 },
		{ TRACE "typedef integer { size = 9; size = 8; } x;",
		  "duplicate property 'size' of a type: the last one counts", 2, 29, 1 },
		{ TRACE "typedef integer { size = 8; signed = -1; } x;", "a number other than 0 and 1 is read as true",
		  2, 38, 1 },
		{ TRACE "typedef integer { size = 8; map = \"c\"; } x;", "a map other than clock.NAME.value: ignored",
		  2, 35, 1 },
		{ TRACE "typedef integer { size = 8; map = x.c.value; } x;",
		  "a map other than clock.NAME.value: ignored", 2, 35, 1 },
		{ TRACE "typedef string { encoding = LATIN1; } x;",
		  "unknown encoding 'LATIN1' of a string: read as UTF-8", 2, 29, 1 },
		{ TRACE "typedef enum : " U8 " { a = 5 ... 3 } x;", "the range of label 'a' is reversed", 2, 67, 1 },
		{ TRACE "struct x { " U8 " a; } align(0);", "an alignment that is not a power of two: ignored", 2, 72,
		  1 },
		{ TRACE "struct x { " U8 " a; } align(6);", "an alignment that is not a power of two: ignored", 2, 72,
		  1 },
		{ TRACE "env { a = b.c; };",
		  "'a' of the environment is neither a string nor a number: read as a string", 2, 11, 1 },
		{ TRACE "env { a := struct { }; };", "'a' is a type, but this block has only values: ignored", 2, 12,
		  1 },
		{ TRACE "env { a = \"b\nc\"; };", "a string of more than one line", 2, 11, 1 },
		{ TRACE "clock { name = c; freq = 0; };", "the freq of a clock is 0: read as 1 GHz", 2, 26, 1 },
		{ TRACE "clock { name = c; uuid = \"x\"; };",
		  "the uuid of a clock is not 32 hexadecimal digits: ignored", 2, 26, 1 },
		{ TRACE "clock { name = c; description = 3; };", "the description of a clock is not a string: ignored",
		  2, 33, 1 },
		{ TRACE "clock { name = c; a := struct { }; };",
		  "'a' is a type, but this block has only values: ignored", 2, 24, 1 },
		{ TRACE "event { id = 0; name = \"e\"; };\nevent { id = 1; };",
		  "several events, but the event header has no id: all records are read as 'e'", 3, 1, 1 },
	};

	(void)state;
	for (size_t i = 0; i < WMK_ARRAY_LEN(rows); i++) {
		struct wmk_ctf_class *class = parse(rows[i].text);
		const struct wmk_ctf_warning *warning = class->warnings;

		if (class->n_warnings != 1 || strcmp(warning->words, rows[i].words) != 0)
			fail_msg("%s: %u warnings, the first: %s", rows[i].text, class->n_warnings,
				 class->n_warnings ? warning->words : "");
		if (warning->line != rows[i].line || warning->column != rows[i].column ||
		    warning->count != rows[i].count)
			fail_msg("%s: at %u:%u, %u times", rows[i].text, warning->line, warning->column,
				 warning->count);
		wmk_ctf_class_free(class);
	}
}

/* The memory of warnings is bounded for any number of kinds. */
static void metadata_warnings_beyond_the_limit_share_one_count(void **state)
{
	char text[8192] = TRACE;
	struct wmk_ctf_class *class;
	uint32_t count = 0;

	(void)state;
	for (int i = 0; i < 100; i++)
		sprintf(text + strlen(text), "typedef integer { size = 8; a%d = 1; } x%d;\n", i, i);
	class = parse(text);
	assert_int_equal(class->n_warnings, WMK_CTF_WARNINGS_MAX);
	for (uint32_t i = 0; i < class->n_warnings; i++)
		count += class->warnings[i].count;
	assert_int_equal(count, 100);
	assert_string_equal(class->warnings[WMK_CTF_WARNINGS_MAX - 1].words, "more violations of the specification");
	wmk_ctf_class_free(class);
}

/* Times in a trace without a clock are nanoseconds. Other traces get no clock. */
static void times_of_a_trace_without_clock_are_nanoseconds(void **state)
{
	static const struct {
		const char *text;
		bool has_clock;
	} rows[] = {
		{ "event.header := struct { " U8 " timestamp; };", true },
		{ "packet.context := struct { " U8 " timestamp_begin; };", true },
		{ "event.header := struct { " U8 " other; };", false },
		{ "event.header := struct { string timestamp; };", false },
	};

	(void)state;
	for (size_t i = 0; i < WMK_ARRAY_LEN(rows); i++) {
		struct wmk_ctf_class *class;
		char text[256];

		snprintf(text, sizeof(text), TRACE "stream { %s };", rows[i].text);
		class = parse(text);
		assert_int_equal(class->n_clocks, rows[i].has_clock);
		assert_int_equal(class->streams[0]->clock != NULL, rows[i].has_clock);
		assert_int_equal(rows[i].has_clock ? class->clocks[0].freq : 1000000000, 1000000000);
		assert_int_equal(class->n_warnings, 0);
		wmk_ctf_class_free(class);
	}
}

/* A path that is cut begins with an ellipsis, and is cut at a character boundary. */
static void long_paths_in_metadata_warnings_are_truncated(void **state)
{
	char path[256], text[WMK_CTF_SHORT];

	(void)state;
	for (size_t len = 1; len < sizeof(path); len++) {
		memset(path, 'a', len);
		path[len] = '\0';
		for (size_t i = 0; i + 2 < len; i += 2)
			memcpy(path + i, "\u00e9", 2);
		assert_ptr_equal(wmk_ctf_short_name(text, path), text);
		if (len <= WMK_CTF_SHORT - 4) {
			assert_string_equal(text, path);
			continue;
		}
		assert_memory_equal(text, "...", 3);
		assert_true((unsigned char)text[3] == 0xc3 || text[3] == 'a');
		assert_string_equal(text + 3, path + len - strlen(text + 3));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepted_metadata_violations_are_reported_with_a_count),
		cmocka_unit_test(metadata_warnings_beyond_the_limit_share_one_count),
		cmocka_unit_test(times_of_a_trace_without_clock_are_nanoseconds),
		cmocka_unit_test(long_paths_in_metadata_warnings_are_truncated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
