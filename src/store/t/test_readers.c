/* SPDX-License-Identifier: MIT */
/*
 * test_readers.c - a handmade trace with every kind of field and record header and with hostile names, read by
 * babeltrace 1.5 and 2.0: nothing on stderr, and the values that were written.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "handmade.h"
#include "testdir.h"

#define T0 1000000000000u
#define N(array) (sizeof(array) / sizeof((array)[0]))
#define INT(bits, sign, in_base) { .kind = WMK_TYPE_INT, .width = (bits), .is_signed = (sign), .base = (in_base) }

static const char *const readers[] = { "babeltrace", "babeltrace2" };

static const struct wmk_type u8 = INT(8, 0, 10), u8_hex = INT(8, 0, 16), s16 = INT(16, 1, 10), u64 = INT(64, 0, 10);
static const struct wmk_type text_type = { .kind = WMK_TYPE_STRING };
static const struct wmk_type f64 = { .kind = WMK_TYPE_FLOAT, .width = 64 };
static const struct wmk_type s16_pair = { .kind = WMK_TYPE_ARRAY, .count = 2, .elem = &s16 };
static const struct wmk_type s16_seq = { .kind = WMK_TYPE_SEQUENCE, .elem = &s16 };
static const struct wmk_label colours[] = { { "red", 0, 0 }, { "green", 1, 9 }, { "blue \"\\\n*/};", -5, -1 },
					    { "red", 20, 20 } };
static const struct wmk_label bits[] = { { "READ", 1, 1 }, { "WRITE", 2, 2 }, { "TOP", INT64_MIN, INT64_MIN } };
static const struct wmk_field point[] = {
	{ .name = "x", .type = INT(32, 1, 10) },
	{ .name = "name", .type = { .kind = WMK_TYPE_STRING } },
	{ .name = "tail", .type = { .kind = WMK_TYPE_SEQUENCE, .elem = &u8 } },
};

struct run {
	char dir[256], path[300];
	struct wmk_store *store;
	struct wmk_store_stream *stream;
	struct handmade packet;
};

static int setup(void **state)
{
	struct run *run = calloc(1, sizeof(*run));
	char sub[64];

	assert_non_null(run);
	testdir_make(run->dir);
	snprintf(run->path, sizeof(run->path), "%s/trace", run->dir);
	assert_int_equal(wmk_store_sub_uid(getuid(), sub, sizeof(sub)), 0);
	assert_int_equal(wmk_store_create(run->path, sub, &run->store), 0);
	assert_int_equal(wmk_store_stream_create(run->store, "app_0", NULL, &run->stream), 0);
	*state = run;
	return 0;
}

static int teardown(void **state)
{
	struct run *run = *state;

	if (run->store)
		wmk_store_close(run->store);
	testdir_remove(run->dir);
	free(run);
	return 0;
}

static void close_trace(struct run *run)
{
	assert_int_equal(wmk_store_stream_close(run->stream), 0);
	wmk_store_close(run->store);
	run->store = NULL;
}

/* Return the output of one reader, which must print nothing on stderr. */
static char *read_with(const struct run *run, const char *reader)
{
	char command[512], *out, *err;
	int status;

	snprintf(command, sizeof(command), "%s %s --clock-cycles %s", reader,
		 strcmp(reader, "babeltrace") ? "convert" : "", run->path);
	status = testdir_run(command, &out, &err);
	if (status || err[0])
		fail_msg("%s: exit status %d, stderr: %.2000s", command, status, err);
	free(err);
	return out;
}

static void expect(const char *reader, const char *out, const char *words)
{
	if (!strstr(out, words))
		fail_msg("%s does not show '%s':\n%.8000s", reader, words, out);
}

static unsigned lines(const char *out)
{
	unsigned n = 0;

	for (; *out; out++)
		n += *out == '\n';
	return n;
}

static const struct wmk_field scalars[] = {
	{ .name = "s8", .type = INT(8, 1, 10) },
	{ .name = "u8", .type = INT(8, 0, 10) },
	{ .name = "s16", .type = INT(16, 1, 10) },
	{ .name = "u16", .type = INT(16, 0, 10) },
	{ .name = "s32", .type = INT(32, 1, 10) },
	{ .name = "u32", .type = INT(32, 0, 10) },
	{ .name = "s64", .type = INT(64, 1, 10) },
	{ .name = "u64", .type = INT(64, 0, 10) },
	{ .name = "hex", .type = INT(32, 0, 16) },
	{ .name = "oct", .type = INT(16, 0, 8) },
	{ .name = "bin", .type = INT(8, 0, 2) },
	{ .name = "port", .type = { .kind = WMK_TYPE_INT, .width = 16, .base = 10, .order = WMK_ORDER_BIG } },
	{ .name = "le", .type = { .kind = WMK_TYPE_INT, .width = 16, .base = 10, .order = WMK_ORDER_LITTLE } },
	{ .name = "f", .type = { .kind = WMK_TYPE_FLOAT, .width = 32 } },
	{ .name = "d", .type = { .kind = WMK_TYPE_FLOAT, .width = 64 } },
	{ .name = "yes", .type = { .kind = WMK_TYPE_BOOL, .width = 8 } },
	{ .name = "no", .type = { .kind = WMK_TYPE_BOOL, .width = 8 } },
	{ .name = "text", .type = { .kind = WMK_TYPE_STRING }, .unit = "words */ event {" },
};

static void put_scalars(struct handmade *p)
{
	const float f = 1.5f;
	const double d = -0.25;
	const int64_t least = INT64_MIN;

	handmade_put(p, "\x80\xff\x00\x80\xff\xff\x00\x00\x00\x80\xff\xff\xff\xff", 14);
	handmade_put(p, &least, 8);
	handmade_put(p, "\xff\xff\xff\xff\xff\xff\xff\xff\xef\xbe\xad\xde\xff\x01\x05\x1f\x90\x1f\x90", 19);
	handmade_put(p, &f, 4);
	handmade_put(p, &d, 8);
	handmade_put(p, "\x01\x00" "na\xc3\xafve", 2 + 7);
}

static void check_scalars(const char *reader, const char *out)
{
	static const char *const values[] = { "s8 = -128", "u8 = 255", "s16 = -32768", "u16 = 65535",
					      "s32 = -2147483648", "u32 = 4294967295",
		"s64 = -9223372036854775808", "u64 = 18446744073709551615", "hex = 0xDEADBEEF", "oct = 0777",
			"bin = 0b00000101",
		"port = 8080", "le = 36895", "f = 1.5", "d = -0.25", "yes = ( \"true\" : container = 1 )",
		"no = ( \"false\" : container = 0 )", "text = \"na\xc3\xafve\"" };

	for (size_t i = 0; i < N(values); i++)
		expect(reader, out, values[i]);
	expect(reader, out, "types:scalars");
}

static const struct wmk_field compounds[] = {
	{ .name = "colour", .type = { .kind = WMK_TYPE_ENUM, .width = 32, .is_signed = 1, .count = 4,
				      .labels = colours } },
	{ .name = "odd", .type = { .kind = WMK_TYPE_ENUM, .width = 8, .is_signed = 1, .count = 4, .labels = colours } },
	{ .name = "none", .type = { .kind = WMK_TYPE_ENUM, .width = 8 } },
	{ .name = "mode", .type = { .kind = WMK_TYPE_FLAGS, .width = 64, .count = 3, .labels = bits } },
	{ .name = "both", .type = { .kind = WMK_TYPE_FLAGS, .width = 8, .count = 3, .labels = bits } },
	{ .name = "vague", .type = { .kind = WMK_TYPE_ENUM, .width = 16, .count = 4, .labels = colours } },
	{ .name = "pair", .type = { .kind = WMK_TYPE_ARRAY, .count = 2, .elem = &s16 } },
	{ .name = "comm", .type = { .kind = WMK_TYPE_ARRAY, .count = 8, .elem = &u8, .is_text = 1 } },
	{ .name = "_list_length", .type = INT(8, 0, 10) },   /* the name of the helper field of `list` */
	{ .name = "list", .type = { .kind = WMK_TYPE_SEQUENCE, .elem = &u64 } },
	{ .name = "empty", .type = { .kind = WMK_TYPE_SEQUENCE, .elem = &f64 } },
	{ .name = "words", .type = { .kind = WMK_TYPE_SEQUENCE, .elem = &u8, .is_text = 1 } },
	{ .name = "raw", .type = { .kind = WMK_TYPE_BLOB, .media = "image/png */" } },
	{ .name = "where", .type = { .kind = WMK_TYPE_STRUCT, .count = 3, .members = point } },
	{ .name = "nothing", .type = { .kind = WMK_TYPE_STRUCT } },
	{ .name = "maybe", .type = { .kind = WMK_TYPE_OPTIONAL, .elem = &s16 } },
	{ .name = "never", .type = { .kind = WMK_TYPE_OPTIONAL, .elem = &text_type } },
	{ .name = "names", .type = { .kind = WMK_TYPE_ARRAY, .count = 2, .elem = &text_type } },
	{ .name = "grid", .type = { .kind = WMK_TYPE_ARRAY, .count = 2, .elem = &s16_pair } },
	{ .name = "ragged", .type = { .kind = WMK_TYPE_SEQUENCE, .elem = &s16_seq } },
	{ .name = "zero", .type = { .kind = WMK_TYPE_ARRAY, .count = 0, .elem = &u8_hex } },
	{ .name = "zero_length", .type = { .kind = WMK_TYPE_SEQUENCE, .elem = &u8_hex } },
	{ .name = "_end", .type = INT(8, 0, 10) },
	{ .name = "end", .type = INT(8, 0, 10) },
	{ .name = "raw_length", .type = INT(8, 0, 10) },
};

static void put_compounds(struct handmade *p)
{
	handmade_put(p, "\x05\0\0\0", 4);                               /* colour: green */
	handmade_put(p, "\xfc", 1);                                     /* odd: -4 */
	handmade_put(p, "\x07", 1);                                     /* none: 7 */
	handmade_put(p, "\0\0\0\0\0\0\0\x80", 8);                       /* mode: TOP */
	handmade_put(p, "\x03", 1);                                     /* both: READ | WRITE */
	handmade_put(p, "\xe8\xfd", 2);                                 /* vague: 65000 */
	handmade_put(p, "\xff\xff\x02\0", 4);                           /* pair */
	handmade_put(p, "init\0\0\0", 8);                               /* comm */
	handmade_put(p, "\x2a", 1);                                     /* _list_length: 42 */
	handmade_put(p, "\x02\0\0\0" "\x07\0\0\0\0\0\0\0" "\x08\0\0\0\0\0\0\0", 20);
	handmade_put(p, "\0\0\0\0", 4);                                 /* empty */
	handmade_put(p, "\x05\0\0\0hello", 9);
	handmade_put(p, "\x03\0\0\0\xde\xad\x01", 7);
	handmade_put(p, "\xd6\xff\xff\xff" "home\0" "\x01\0\0\0\x63", 14);     /* where */
	handmade_put(p, "\x01\x0b\0", 3);                               /* maybe: 11 */
	handmade_put(p, "\0", 1);                                       /* never */
	handmade_put(p, "a\0bc\0", 5);
	handmade_put(p, "\x01\0\x02\0\x03\0\x04\0", 8);                 /* grid */
	handmade_put(p, "\x02\0\0\0" "\x01\0\0\0\x15\0" "\0\0\0\0", 14);       /* ragged: [21], [] */
	/* zero_length: [], _end: 98, end: 99, raw_length: 12 */
	handmade_put(p, "\0\0\0\0\x62\x63\x0c", 7);
}

static void check_compounds(const char *reader, const char *out)
{
	static const char *const values[] = { "colour = ( \"green\" : container = 5 )", "none = 7",
					      "mode = 0x8000000000000000",
		"*/};\" : container = -4 )", "vague = ( \"(other)\" : container = 65000 )", "both = 0x3",
			"pair = [ [0] = -1, [1] = 2 ]", "comm = \"init\"", "_list_length_2 = 2",
		"list = [ [0] = 7, [1] = 8 ]", "empty = [ ]", "words = \"hello\"",
			"raw = [ [0] = 0xDE, [1] = 0xAD, [2] = 0x1 ]",
		"x = -42", "name = \"home\"", "11 }, _never_present = ( \"none\" : container = 0 )",
			"names = [ [0] = \"a\", [1] = \"bc\" ]",
		"grid = [ [0] = { value = [ [0] = 1, [1] = 2 ] }, [1] = { value = [ [0] = 3, [1] = 4 ] } ]",
			"_end = 98", "end_2 = 99", "raw_length = 12",
		"_raw_length_2 = 3" };

	for (size_t i = 0; i < N(values); i++)
		expect(reader, out, values[i]);
}

/* Every type of schema.h, in 4-byte headers. */
static void test_readers_read_every_type(void **state)
{
	static const unsigned no_contexts[] = { 0 };
	struct run *run = *state;
	const struct wmk_event_class first = { .provider = "types", .name = "scalars", .level = 6,
					       .n_fields = N(scalars), .fields = scalars };
	const struct wmk_event_class second = { .provider = "types", .name = "compounds", .level = 14,
						.n_fields = N(compounds), .fields = compounds };
	const struct wmk_event_class third = { .provider = "types", .name = "nothing", .level = 0 };

	handmade_start(run->store, no_contexts);
	handmade_event(run->store, 0, &first);
	handmade_event(run->store, 1, &second);
	handmade_event(run->store, 29, &third);
	handmade_packet(&run->packet, T0);
	handmade_compact(&run->packet, 0, T0);
	put_scalars(&run->packet);
	handmade_compact(&run->packet, 1, T0 + 1);
	put_compounds(&run->packet);
	handmade_compact(&run->packet, 29, T0 + 2);
	assert_int_equal(handmade_append(run->stream, &run->packet, 0), 0);
	close_trace(run);
	for (size_t i = 0; i < N(readers); i++) {
		char *out = read_with(run, readers[i]);

		check_scalars(readers[i], out);
		check_compounds(readers[i], out);
		expect(readers[i], out, "types:nothing");
		free(out);
	}
}

/* The time in cycles at the beginning of line `n`. */
static unsigned long long cycles_of(const char *out, unsigned n)
{
	while (n--)
		out = strchr(out, '\n') + 1;
	return strtoull(strchr(out, '[') + 1, NULL, 10);
}

/* All three record headers, all contexts, wrapping of 27 bits of time, several packets, two classes with one name. */
static void test_readers_read_all_headers_and_contexts(void **state)
{
	static const unsigned contexts[] = { 1, 2, 3, 4, 5, 6, 0 };
	static const struct wmk_field one[] = { { .name = "n", .type = INT(32, 0, 10) } };
	static const struct wmk_field other[] = { { .name = "n", .type = { .kind = WMK_TYPE_STRING } } };
	static const uint64_t step[] = { 0, 1, 100000000, 100000000, 134217727, 3000000000u, 5, 1, 70000000, 1u << 20 };
	static const uint32_t id[] = { 0, 29, 30, 65535, 0, 30, 65536, 100000, 30, 0 };
	const uint8_t context[44] = "\x01\0\0\0\x02\0\0\0thread name";
	struct run *run = *state;
	struct wmk_event_class event = { .provider = "head", .name = "er", .level = 6, .n_fields = 1, .fields = one };
	uint64_t ts = T0, times[N(step)];
	unsigned i;

	handmade_start(run->store, contexts);
	for (i = 0; i < N(step); i++) {
		unsigned j = 0;

		event.fields = id[i] == 29 ? other : one;
		while (id[j] != id[i])
			j++;
		if (j == i)
			handmade_event(run->store, id[i], &event);
	}
	handmade_packet(&run->packet, T0);
	for (i = 0; i < N(step); i++) {
		times[i] = ts += step[i];
		if (i == 7) {
			assert_int_equal(handmade_append(run->stream, &run->packet, 0), 0);
			handmade_packet(&run->packet, run->packet.head.end_ts);
		}
		if (step[i] >= 1u << 27 || id[i] > 65535)
			handmade_extended(&run->packet, id[i], ts);
		else if (id[i] >= 30)
			handmade_medium(&run->packet, id[i], ts);
		else
			handmade_compact(&run->packet, id[i], ts);
		handmade_put(&run->packet, context, sizeof(context));
		handmade_put(&run->packet, id[i] == 29 ? "str" : (const char *)&i, 4);
	}
	assert_int_equal(handmade_append(run->stream, &run->packet, 0), 0);
	/* An empty packet, as at the end of a stream. */
	handmade_packet(&run->packet, ts);
	assert_int_equal(handmade_append(run->stream, &run->packet, 0), 0);
	close_trace(run);
	for (i = 0; i < N(readers); i++) {
		char *out = read_with(run, readers[i]), words[64];

		assert_int_equal(lines(out), N(step));
		expect(readers[i], out,
		       "vpid = 1, vtid = 2, procname = \"thread name\", cpu_id = 0, pthread_id = 0x0, ip = 0x0");
		expect(readers[i], out, "n = \"str\"");
		for (unsigned n = 0; n < N(step); n++) {
			assert_int_equal(cycles_of(out, n), times[n]);
			snprintf(words, sizeof(words), "n = %u }", n);
			if (id[n] != 29)
				expect(readers[i], out, words);
		}
		free(out);
	}
}

/* Both readers report a loss between two packets. */
static void test_readers_report_lost_records(void **state)
{
	static const unsigned no_contexts[] = { 0 };
	struct run *run = *state;
	const struct wmk_event_class event = { .provider = "a", .name = "b", .level = 6 };
	char command[400], *out, *err;

	handmade_start(run->store, no_contexts);
	handmade_event(run->store, 0, &event);
	handmade_packet(&run->packet, T0);
	assert_int_equal(handmade_append(run->stream, &run->packet, 0), 0);
	handmade_packet(&run->packet, T0);
	handmade_compact(&run->packet, 0, T0 + 5);
	assert_int_equal(handmade_append(run->stream, &run->packet, 1234), 0);
	close_trace(run);
	for (size_t i = 0; i < N(readers); i++) {
		snprintf(command, sizeof(command), "%s %s", readers[i], run->path);
		assert_int_equal(testdir_run(command, &out, &err), 0);
		assert_int_equal(lines(out), 1);
		expect(readers[i], err, "discarded 1234 events");
		free(out);
		free(err);
	}
}

/* Names that attack the metadata: none ends a string, a comment or an identifier, or renames another field. */
static void hostile_names_do_not_alter_the_metadata(void **state)
{
	static const unsigned no_contexts[] = { 0 };
	static const char *const names[] = { "\";};", "\\",       "\\\"",     "a\nb",         "*/",
					     "/*",    "\xff\xfe", "\x1b[31m", "int",          "",
					     "id",    "\t",       "%s%n",     "\xe2\x82\xac", "\xed\xa0\x80",
					     "\x7f",  "\\n",      "\\0",      "\\x41",        "name=\"x\"",
					     "'" };
	struct wmk_field fields[N(names)];
	struct wmk_label labels[N(names)];
	struct wmk_event_class event = { .provider = "evil", .level = 6, .n_fields = N(names), .fields = fields };
	struct run *run = *state;
	uint32_t i;

	for (i = 0; i < N(names); i++) {
		labels[i] = (struct wmk_label){ names[i], i, i };
		fields[i] = (struct wmk_field){ .name = names[i], .unit = names[i] };
		fields[i].type = (struct wmk_type){ .kind = WMK_TYPE_ENUM, .width = 8, .count = N(names),
						    .labels = labels };
	}
	handmade_start(run->store, no_contexts);
	handmade_packet(&run->packet, T0);
	for (i = 0; i < N(names); i++) {
		event.name = names[i];
		event.provider = names[N(names) - 1 - i];
		handmade_event(run->store, i, &event);
		if (i == 29)
			break;
		handmade_compact(&run->packet, i, T0 + i);
		for (uint8_t j = 0; j < N(names); j++)
			handmade_put(&run->packet, &j, 1);
	}
	assert_int_equal(handmade_append(run->stream, &run->packet, 0), 0);
	close_trace(run);
	for (i = 0; i < N(readers); i++) {
		char *out = read_with(run, readers[i]);

		for (unsigned j = 0; j < N(names); j++) {
			char words[64];

			snprintf(words, sizeof(words), "container = %u )", j);
			expect(readers[i], out, words);
		}
		expect(readers[i], out, "\xe2\x82\xac");
		free(out);
	}
}

/* Names, labels and texts of random bytes and maximum length. */
static void random_names_do_not_alter_the_metadata(void **state)
{
	static const unsigned no_contexts[] = { 0 };
	static char name[32][WMK_NAME_MAX + 1];
	const char *percent = getenv("WMK_ROUNDS_PERCENT"), *given = getenv("WMK_SEED");
	unsigned seed = given ? (unsigned)atoi(given) : (unsigned)getpid(), n = 300;
	struct wmk_label labels[2] = { { name[2], 0, 0 }, { name[3], 1, 1 } };
	struct wmk_field fields[2] = { { .name = name[4] }, { .name = name[5] } };
	struct wmk_event_class event = { .provider = name[0], .name = name[1], .level = 6, .n_fields = 2,
					 .fields = fields };
	struct run *run = *state;
	char *out;

	if (percent && atoi(percent) < 100)
		n = 30;
	print_message("seed %u, %u events\n", seed, n);
	srandom(seed);
	handmade_start(run->store, no_contexts);
	handmade_packet(&run->packet, T0);
	for (unsigned i = 0; i < n; i++) {
		for (unsigned j = 0; j < 6; j++) {
			size_t len = (size_t)random() % WMK_NAME_MAX + 1;

			memset(name[j], 0, sizeof(name[j]));
			for (size_t k = 0; k < len; k++)
				name[j][k] = random() % 3 ? (char)(1 + random() % 255) : "\"\\*/\n{};=["[random() % 10];
		}
		for (unsigned j = 0; j < 2; j++)
			fields[j].type = (struct wmk_type){ .kind = WMK_TYPE_ENUM, .width = 8, .count = 2,
							    .labels = labels };
		handmade_event(run->store, i, &event);
		handmade_medium(&run->packet, i, T0 + i);
		handmade_put(&run->packet, "\0\x01", 2);
	}
	assert_int_equal(handmade_append(run->stream, &run->packet, 0), 0);
	close_trace(run);
	for (unsigned i = 0; i < N(readers); i++) {
		const char *at;
		unsigned found = 0;

		out = read_with(run, readers[i]);
		for (at = out; (at = strstr(at, ": container = 1 )")) != NULL; at++)
			found++;
		if (found < n)
			fail_msg("seed %u: %s shows %u of %u records", seed, readers[i], found, n);
		free(out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_readers_read_every_type, setup, teardown),
		cmocka_unit_test_setup_teardown(test_readers_read_all_headers_and_contexts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_readers_report_lost_records, setup, teardown),
		cmocka_unit_test_setup_teardown(hostile_names_do_not_alter_the_metadata, setup, teardown),
		cmocka_unit_test_setup_teardown(random_names_do_not_alter_the_metadata, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
