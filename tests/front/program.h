/* SPDX-License-Identifier: MIT */
/*
 * program.h - compares the output of the macros with the expected output, in the language that includes it (program.c,
 * program.cc). matrix.py builds it with all options. It prints errors and exits with 1.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "inlined.h"

static int failures;

#define CHECK(condition, ...) do { \
	if (!(condition)) { \
		failures++; \
		printf("%s:%d: ", __FILE__, __LINE__); \
		printf(__VA_ARGS__); \
		printf("\n"); \
	} \
} while (0)

/* The expected bytes of the runs of scalars: hexadecimal digits, with `|` for a reference. */
static void check_words(const char *expected, int line)
{
	const unsigned char *have = (const unsigned char *)harness.words;
	size_t at = 0;

	for (const char *c = expected; *c;) {
		unsigned byte;

		if (*c == ' ') {
			c++;
		} else if (*c == '|') {
			for (; at % 8; at++)
				CHECK(!have[at], "line %d: byte %zu after the run is %02x", line, at, have[at]);
			c++;
		} else if (sscanf(c, "%2x", &byte) == 1) {
			CHECK(have[at] == byte, "line %d: byte %zu is %02x, not %02x", line, at, have[at], byte);
			at++;
			c += 2;
		}
	}
	for (; at % 8; at++)
		CHECK(!have[at], "line %d: byte %zu after the run is %02x", line, at, have[at]);
}
#define WORDS(text) check_words(text, __LINE__)

static void check_field(unsigned i, unsigned type, const char *name, int line)
{
	CHECK(harness.desc->fields[i].type == type, "line %d: field %u has type %u, not %u", line, i,
	      harness.desc->fields[i].type, type);
	CHECK(!strcmp(harness.desc->fields[i].name, name), "line %d: field %u is \"%s\", not \"%s\"", line, i,
	      harness.desc->fields[i].name, name);
}
#define FIELD(i, type, name) check_field(i, WAYMARK_T_##type, name, __LINE__)

static void check_ref(unsigned i, const void *base, size_t len, int line)
{
	CHECK(harness.refs[i].base == base && harness.refs[i].len == len,
	      "line %d: reference %u is %p + %zu, not %p + %zu", line, i, harness.refs[i].base, harness.refs[i].len,
	      base, len);
}
#define REF(i, base, len) check_ref(i, base, len, __LINE__)

/* With all sites enabled, `statement` must record once, as provider:name with n fields. */
#define RECORDS(provider_, name_, n, statement) do { \
	unsigned before_ = harness.n_records; \
	statement; \
	CHECK(harness.n_records == before_ + 1, "%u records", harness.n_records - before_); \
	CHECK(!strcmp(harness.desc->provider, provider_) && harness.desc->name && !strcmp(harness.desc->name, name_), \
	      "%s:%s was recorded", harness.desc->provider, harness.desc->name ? harness.desc->name : ""); \
	CHECK(harness.desc->n_fields == (n), "%u fields, not %u", harness.desc->n_fields, (unsigned)(n)); \
} while (0)

static int evaluated;

static int costly(int value)
{
	evaluated++;
	return value;
}

static void scalars(void)
{
	bool yes = true;
	signed char s8 = -2;
	unsigned char u8 = 0xfe;
	short s16 = -3;
	unsigned short u16 = 0x1234;
	int s32 = -4;
	unsigned u32 = 0x12345678;
	long s64 = -5;
	unsigned long long u64 = 0x1122334455667788ull;
	float f = 1.0f;
	double d = -2.0;
	volatile int vol = 9;
	const int con = 10;

	RECORDS("front", "integers", 9, waymark(front, integers, yes, s8, u8, s16, u16, s32, u32, s64, u64));
	FIELD(0, BOOL, "yes"); FIELD(1, S8, "s8"); FIELD(2, U8, "u8"); FIELD(3, S16, "s16"); FIELD(4, U16, "u16");
	FIELD(5, S32, "s32"); FIELD(6, U32, "u32"); FIELD(7, S64, "s64"); FIELD(8, U64, "u64");
	WORDS("01 fe fe fdff 3412 fcffffff 78563412 fbffffffffffffff 8877665544332211");
	RECORDS("front", "floats", 3, waymark(front, floats, f, d, u8));
	FIELD(0, FLOAT, "f"); FIELD(1, DOUBLE, "d");
	WORDS("0000803f 00000000000000c0 fe");
	RECORDS("front", "qualified", 3, waymark(front, qualified, vol, con, (short)1));
	FIELD(0, S32, "vol"); FIELD(1, S32, "con"); FIELD(2, S16, "(short)1");
	WORDS("09000000 0a000000 0100");
	RECORDS("front", "character", 1, waymark(front, character, "xyz"[0]));
	CHECK(harness.desc->fields[0].type == ((char)-1 < 0 ? WAYMARK_T_S8 : WAYMARK_T_U8), "char has type %u",
	      harness.desc->fields[0].type);
	RECORDS("front", "one", 1, waymark(front, one, u32));
	WORDS("78563412");
	RECORDS("front", "empty", 0, waymark(front, empty));
	CHECK(harness.desc->level == WAYMARK_LEVEL_DEBUG_LINE, "the default level is %u", harness.desc->level);
}

static void pointers_and_texts(void)
{
	struct { unsigned low : 3; bool flag : 1; long wide : 40; char name[4]; } s = { 5, true, -7, "abc" };
	const char *string = "text", *nothing = NULL;
	char array[8] = "array";
	void *pointer = array;
	unsigned char bytes[3] = { 1, 2, 3 };
	const volatile int numbers[3] = { 1, 2, 3 };
	double halves[2] = { 0.5, 1.5 };

	RECORDS("front", "texts", 7,
		waymark(front, texts, costly(1), string, nothing, array, s.name, "literal", costly(2)));
	FIELD(1, STRING, "string"); FIELD(4, STRING, "s.name"); FIELD(5, STRING, "\"literal\"");
	WORDS("01000000 | 02000000");
	REF(0, string, SIZE_MAX); REF(1, NULL, SIZE_MAX); REF(2, array, SIZE_MAX); REF(3, s.name, SIZE_MAX);
	RECORDS("front", "pointers", 4, waymark(front, pointers, pointer, &bytes[0], &halves, (char **)NULL));
	FIELD(0, POINTER, "pointer"); FIELD(1, POINTER, "&bytes[0]"); FIELD(2, POINTER, "&halves");
	CHECK(harness.words[0] == (uintptr_t)pointer && harness.words[1] == (uintptr_t)bytes,
	      "pointers are not what they were");
	RECORDS("front", "bits", 3, waymark(front, bits, s.low, s.flag, s.wide));
	CHECK((harness.words[0] & 0xff) == 5, "a bit-field is %llx", (unsigned long long)harness.words[0]);
	FIELD(1, BOOL, "s.flag"); FIELD(2, S64, "s.wide");
	RECORDS("front", "blocks", 6,
		waymark(front, blocks, wm_text(string, 2), wm_bytes(bytes, sizeof(bytes)), wm_seq(numbers, 2),
			wm_array(halves, 2), wm_seq(bytes, 0), (unsigned short)0x1234));
	FIELD(0, TEXT, "wm_text(string, 2)");
	FIELD(1, BYTES, "wm_bytes(bytes, sizeof(bytes))");
	FIELD(2, SEQ, "wm_seq(numbers, 2)");
	FIELD(3, ARRAY, "wm_array(halves, 2)"); FIELD(5, U16, "(unsigned short)0x1234");
	REF(0, string, 2);
	REF(1, bytes, 3);
	REF(2, (const void *)(uintptr_t)numbers, 8);
	REF(3, halves, 16);
	REF(4, bytes, 0);
	CHECK(harness.desc->fields[2].elem == WAYMARK_T_S32 && harness.desc->fields[3].elem == WAYMARK_T_DOUBLE &&
	      harness.desc->fields[3].count == 2, "elements are not described");
	WORDS("3412");
}

static void check_array(unsigned i, unsigned type, unsigned elem, unsigned count, int line)
{
	const struct waymark_field *field = &harness.desc->fields[i];

	CHECK(field->type == type && field->elem == elem && field->count == count,
	      "line %d: field %u has type %u, elements of type %u, %u of them", line, i, field->type, field->elem,
	      field->count);
}
#define ARRAY_OF(i, elem, count) check_array(i, WAYMARK_T_ARRAY, WAYMARK_T_##elem, count, __LINE__)
#define SEQ_OF(i, elem) check_array(i, WAYMARK_T_SEQ, WAYMARK_T_##elem, 0, __LINE__)

static void arrays(void)
{
	const int numbers[3] = { 1, 2, 3 };
	volatile unsigned short words[2] = { 4, 5 };
	struct { double halves[2]; bool flags[4]; unsigned char mac[6]; } s =
		{ { 0.5, 1.5 }, { true }, { 1, 2, 3, 4, 5, 6 } };
	void *addresses[2] = { &s, NULL };
	int (*whole)[2] = (int (*)[2])addresses;
	char text[4] = "abc";

	RECORDS("front", "arrays", 10,
		waymark(front, arrays, costly(1), numbers, words, s.halves, s.flags, s.mac, addresses, *whole,
			wm_named("other", numbers), text));
	ARRAY_OF(1, S32, 3); ARRAY_OF(2, U16, 2); ARRAY_OF(3, DOUBLE, 2); ARRAY_OF(4, BOOL, 4); ARRAY_OF(5, U8, 6);
	ARRAY_OF(6, POINTER, 2); ARRAY_OF(7, S32, 2); ARRAY_OF(8, S32, 3); FIELD(9, STRING, "text");
	REF(0, numbers, 12); REF(1, (const void *)(uintptr_t)words, 4); REF(2, s.halves, 16);
	REF(3, s.flags, 4); REF(4, s.mac, 6);
	REF(5, addresses, sizeof(addresses)); REF(6, addresses, 8); REF(7, numbers, 12); REF(8, text, SIZE_MAX);
	WORDS("01000000 |");
	RECORDS("front", "array_span_begin", 1, waymark_begin(front, array_span, numbers));
	ARRAY_OF(0, S32, 3);
	RECORDS("marker", "array", 1, waymark_mark(array, "text %s", text));
	CHECK(harness.desc->arg_types[0] == WAYMARK_T_STRING, "an array in a marker is not a pointer");
}

#if !defined(__cplusplus)
static __attribute__((noinline)) void variable_array(size_t n)
{
	int numbers[n];

	numbers[0] = 1;
	RECORDS("front", "variable", 2, waymark(front, variable, numbers, n));
	SEQ_OF(0, S32);
	REF(0, numbers, n * sizeof(int));
}
#else
static void variable_array(size_t n)
{
	(void)n;
}
#endif

static void wrapped(void)
{
	unsigned short port = 0x5000;
	int which = 1;
	const struct waymark_field *fields;

	errno = 3;
	RECORDS("linux", "unix", 8,
		waymark(linux, unix, wm_level(ERR), wm_hex(which), wm_oct(which), wm_net(port), wm_enum(fruit, which),
			wm_flags(fruit, port), wm_named("peer", wm_hex(port)), errno, wm_named("half", 0.5)));
	fields = harness.desc->fields;
	CHECK(harness.desc->level == WAYMARK_LEVEL_ERR, "the level is %u", harness.desc->level);
	CHECK(fields[0].flags == WAYMARK_F_HEX && fields[1].flags == WAYMARK_F_OCT && fields[2].flags == WAYMARK_F_BE,
	      "flags");
	FIELD(0, S32, "wm_hex(which)"); FIELD(2, U16, "wm_net(port)"); FIELD(3, ENUM, "wm_enum(fruit, which)");
	FIELD(4, FLAGS, "wm_flags(fruit, port)");
	FIELD(5, U16, "wm_named(\"peer\", wm_hex(port))");
	FIELD(6, S32, "errno");
	CHECK(fields[3].elem == WAYMARK_T_S32 && fields[4].elem == WAYMARK_T_U16, "underlying types");
	CHECK(fields[3].labels && fields[3].labels->count == 3 && !strcmp(fields[3].labels->label[2].name, "linux") &&
	      fields[3].labels->label[2].from == 3 && fields[3].labels->label[2].to == 9, "labels");
	WORDS("01000000 01000000 0050 01000000 0050 0050 03000000 000000000000e03f");
}

static void other_ways(void)
{
	int value = 0x11;
	const char *text = "t";
	void *pointer = &value;

	RECORDS("front", "shared", 3, waymark_front_shared(&value, text));
	FIELD(0, S64, "wm_field(long, value, *value)"); FIELD(1, STRING, "wm_field(const char *, text, text)");
	WORDS("1100000000000000 | 11000000");
	RECORDS("marker", "mark", 4, waymark_mark(mark, "value %d text %s p %p c %c", value, text, pointer, 'c'));
	CHECK(harness.desc->kind == WAYMARK_KIND_MARKER && !strcmp(harness.desc->text, "value %d text %s p %p c %c") &&
		      !harness.desc->fields && harness.desc->arg_types[0] == WAYMARK_T_S32 &&
		      harness.desc->arg_types[1] == WAYMARK_T_STRING && harness.desc->arg_types[2] == WAYMARK_T_POINTER,
	      "a marker is not described");
	RECORDS("marker", "plain", 0, waymark_mark(plain, "100%%"));
	unsigned before = harness.n_records, line = __LINE__ + 1;
	waymark_logf(NOTICE, "%s" "=%u", text, 7u);
	CHECK(harness.n_records == before + 1 && harness.desc->kind == WAYMARK_KIND_TEXT && !harness.desc->name &&
		      harness.desc->level == WAYMARK_LEVEL_NOTICE && !strcmp(harness.desc->text, "%s=%u") &&
		      harness.desc->line == line,
	      "a text is not described");
	REF(0, text, SIZE_MAX);
	WORDS("07000000");
}

static void counters(void)
{
	enum { LOW = -1, HIGH = 7 } state = HIGH;
	float load = 0.5f;
	int items = 3;

	RECORDS("front", "load", 1, waymark_counter(front, load, load));
	CHECK(harness.desc->kind == WAYMARK_KIND_COUNTER && harness.desc->level == WAYMARK_LEVEL_DEBUG_LINE,
	      "a counter is not described");
	FIELD(0, FLOAT, "wm_named(\"value\", load)");
	WORDS("0000003f");
	RECORDS("front", "items", 2, waymark_counter(front, items, wm_unit("items", items * 2), load, wm_level(INFO)));
	CHECK(harness.desc->kind == WAYMARK_KIND_COUNTER && harness.desc->level == WAYMARK_LEVEL_INFO,
	      "a counter is not described");
	FIELD(0, S32, "wm_named(\"value\", wm_unit(\"items\", items * 2))"); FIELD(1, FLOAT, "load");
	RECORDS("front", "state", 1, waymark_counter(front, state, state));
	RECORDS("front", "unix", 1, waymark_counter(front, unix, errno));
	FIELD(0, S32, "wm_named(\"value\", errno)");
}

static void begins_and_ends(void)
{
	int id = 5;

	RECORDS("front", "pay_begin", 1, waymark_begin(front, pay, id, wm_level(ERR)));
	CHECK(harness.desc->kind == WAYMARK_KIND_BEGIN && harness.desc->level == WAYMARK_LEVEL_ERR,
	      "a begin is not described");
	RECORDS("front", "pay_end", 0, waymark_end(front, pay));
	CHECK(harness.desc->kind == WAYMARK_KIND_END, "an end is not described");
	RECORDS("front", "linux_end", 2, waymark_end(front, linux, id, wm_named("result", -1)));
}

/* (clang before 18 cannot compile spans in C, see event_c.h) */
#if defined(__cplusplus) || !defined(__clang__) || __clang_major__ >= 18 || defined(WAYMARK_NO_PATCH)
static int leaves(int how, bool enabled)
{
	const unsigned before = harness.n_records;

	waymark_span(front, whole, how, wm_level(CRIT));
	CHECK(harness.n_records == before + enabled, "a span's begin");
	for (int i = 0; i < 3; i++) {
		waymark_span(front, inner, costly(i));
		if (enabled &&
		    (harness.desc->level != WAYMARK_LEVEL_DEBUG_LINE || harness.desc->kind != WAYMARK_KIND_BEGIN ||
		     strcmp(harness.desc->name, "inner_begin") || harness.n_records != before + 2 + 2 * (unsigned)i))
			CHECK(false, "an inner span's begin, %d", i);
		if (how == 1 && i == 1)
			return 1;
		if (how == 2 && i == 1)
			break;
		if (how == 3)
			continue;
		if (how == 4)
			goto out;
	}
	if (enabled)
		CHECK(harness.desc->kind == WAYMARK_KIND_END && !strcmp(harness.desc->name, "inner_end"),
		      "an inner span's end");
out:
	return 0;
}

static void spans(bool enabled)
{
	static const unsigned records[] = { 8, 6, 6, 8, 4 };

	for (int how = 0; how < 5; how++) {
		const unsigned before = harness.n_records;

		evaluated = 0;
		leaves(how, enabled);
		CHECK(harness.n_records - before == enabled * records[how],
		      "%u records of spans that are left in way %d", harness.n_records - before, how);
		CHECK(evaluated == (int)(enabled * (records[how] / 2 - 1)),
		      "arguments of spans were evaluated %d times", evaluated);
		CHECK(!enabled || (harness.desc->kind == WAYMARK_KIND_END && !strcmp(harness.desc->name, "whole_end") &&
				   harness.desc->level == WAYMARK_LEVEL_CRIT && harness.desc->n_fields == 0),
		      "the end of a span that is left in way %d", how);
	}
	/*
	 * A span that is enabled while it is open has no end. (If it is disabled while it is open, its end still
	 * reaches waymark_record(), which handles that.)
	 */
	const unsigned before = harness.n_records;
	{
		waymark_span(front, changing);
		harness_switch(NULL, NULL, !enabled);
	}
	CHECK(harness.n_records == before + 2 * enabled, "%u records of a span that was switched",
	      harness.n_records - before);
	harness_switch(NULL, NULL, enabled);
}

#ifdef __cplusplus
static void thrown(void)
{
	try {
		waymark_span(front, throwing);
		throw 1;
	} catch (int) {
		CHECK(harness.desc->kind == WAYMARK_KIND_END && !strcmp(harness.desc->name, "throwing_end"),
		      "an exception leaves a span without its end");
	}
}
#endif
#else
static void spans(bool enabled)
{
	(void)enabled;
}
#endif

static void limits(void)
{
	unsigned char a = 1;

	RECORDS("front", "many", 32,
		waymark(front, many, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a,
			a, a, a, a, wm_level(INFO)));
	WORDS("0101010101010101 0101010101010101 0101010101010101 0101010101010101");
	CHECK(harness.desc->level == WAYMARK_LEVEL_INFO, "the level behind 32 fields is lost");
}

static void once(bool enabled)
{
	unsigned records = harness.n_records;

	evaluated = 0;
	waymark(front, once, costly(1));
	CHECK(evaluated == enabled, "an argument was evaluated %d times", evaluated);
	waymark_mark(once_mark, "x %d", costly(1));
	CHECK(evaluated == 2 * enabled, "a marker's argument was evaluated %d times", evaluated - 1);
	CHECK(harness.n_records == records + 2 * enabled, "%u records", harness.n_records - records);
	CHECK(wm_enabled(front, guarded) == enabled, "a guard says %d", !enabled);
}

/* Values in registers across an enabled site: all of them must survive it. */
static __attribute__((noinline)) double survivors(const long *v, const double *x)
{
	long a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5], g = v[6], h = v[7], i = v[8], j = v[9],
	     k = v[10], l = v[11];
	double p = x[0], q = x[1], r = x[2];
	long double y = (long double)x[3] * 3;

	waymark(front, survivors, a, b, p);
	waymark(front, survivors_text, "text", l);
	return (double)(a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k + 12 * l) +
	       p + 2 * q + 3 * r + (double)y;
}

#ifdef __cplusplus
#include "objects.h"

static void cxx(void)
{
	colour c = colour::blue;
	std::string text = "a string";
	const int &reference = 4;
	with_members m;

	RECORDS("front", "cxx", 5,
		waymark(front, cxx, c, text, reference, nullptr, (std::string("temp") + "orary").c_str()));
	FIELD(0, S16, "c"); FIELD(1, TEXT, "text"); FIELD(2, S32, "reference"); FIELD(3, POINTER, "nullptr");
	REF(0, text.data(), text.size());
	WORDS("ffff | 04000000 0000000000000000");
	unsigned before = harness.n_records;
	CHECK(template_function<short>(3) == 3 && template_function<double>(0.5) == 0.5, "templates");
	CHECK(harness.n_records == before + 2 && harness.desc->fields[0].type == WAYMARK_T_DOUBLE,
	      "each instance has its own fields");
	CHECK(m.method(2) == 2 && !strcmp(harness.desc->name, "lambda"), "members");
	WORDS("07000000 02000000");
	containers();
	times();
	optionals();
}
#endif

static void sites(void)
{
	const struct waymark_site *site;
	unsigned n = 0;

	for (; (site = harness_site(n)); n++)
		CHECK(harness_site_is_sane(site), "site %u is not what it must be", n);
	CHECK(n >= 20, "only %u sites", n);
}

int main(void)
{
	static const long v[12] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
	static const double x[4] = { 0.5, 0.25, 0.125, 7 };
	unsigned modules = 1;
	double expected;

#ifdef WITH_LIBRARY
	modules = 2;
#endif
	CHECK(harness.n_modules == modules, "%u modules", harness.n_modules);
	sites();
	once(false);
	spans(false);
	expected = survivors(v, x);
	CHECK(harness.n_records == 0, "a disabled site recorded");
	CHECK(other_unit(3) == 4, "another unit");
	harness_switch(NULL, NULL, 1);
	scalars();
	pointers_and_texts();
	arrays();
	variable_array(5);
	wrapped();
	other_ways();
	counters();
	begins_and_ends();
	limits();
	once(true);
	spans(true);
	CHECK(survivors(v, x) == expected, "registers did not survive a record");
	unsigned before = harness.n_records;
	CHECK(other_unit(3) == 4 && harness.n_records > before, "another unit records");
#ifdef WITH_LIBRARY
	before = harness.n_records;
	CHECK(in_library(3) == 4 && harness.n_records > before, "a library records");
#endif
#ifdef __cplusplus
	cxx();
	thrown();
#endif
	harness_switch(NULL, NULL, 0);
	sites();
	once(false);
	if (!failures)
		printf("ok: %u sites in %u modules\n", harness_sites(NULL), harness.n_modules);
	return failures != 0;
}
