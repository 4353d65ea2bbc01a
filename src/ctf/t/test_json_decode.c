/* SPDX-License-Identifier: MIT */
/*
 * test_json_decode.c - features that CTF 2 has and 1.8 does not, from metadata to values. The bytes were made by hand
 * from the specification.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/array.h"
#include "base/error.h"
#include "ctf/t/show.h"

#define INT(bits, sign, order) \
	"{'type': 'fixed-length-" sign "-integer', 'length': " #bits ", 'byte-order': '" order "', 'alignment': 8}"
#define U8 INT(8, "unsigned", "little-endian")
#define S8 INT(8, "signed", "little-endian")
#define BOOL8 "{'type': 'fixed-length-boolean', 'length': 8, 'byte-order': 'little-endian', 'alignment': 8}"
#define MEMBER(name, class) "{'name': '" name "', 'field-class': " class "}"
#define BYTES(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })
#define AT(...) "{'origin': 'event-record-payload', 'path': [" __VA_ARGS__ "]}"

struct made_json {
	struct wmk_ctf_class *class;
	struct wmk_ctf_decoder *decoder;
};

/* A trace with one event and these members of its payload, in single quotes. Returns the result of the compilation. */
static int make(struct made_json *made, const char *members)
{
	static const char *const fragments[] = {
		"{'type': 'preamble', 'version': 2}",
		"{'type': 'data-stream-class'}",
		("{'type': 'event-record-class', 'name': 'e', 'payload-field-class': {'type': 'structure', "
		 "'member-classes': [%s]}}"),
	};
	char text[8192], message[1024];
	size_t len = 0;

	for (size_t i = 0; i < WMK_ARRAY_LEN(fragments); i++) {
		char fragment[6000];

		/* (only the last fragment has a %s for the members) */
		const char *at = strstr(fragments[i], "%s");

		snprintf(fragment, sizeof(fragment), "%.*s%s%s",
			 at ? (int)(at - fragments[i]) : (int)strlen(fragments[i]), fragments[i], at ? members : "",
			 at ? at + 2 : "");
		len += (size_t)snprintf(text + len, sizeof(text) - len, "\x1e%s\n", fragment);
	}
	assert_true(len < sizeof(text));
	for (size_t i = 0; i < len; i++)
		if (text[i] == '\'')
			text[i] = '"';
	*made = (struct made_json){ NULL, NULL };
	if (wmk_ctf_metadata_parse(text, len, "m", false, &made->class) < 0)
		fail_msg("%s", wmk_error_text(message, sizeof(message)));
	return wmk_ctf_compile(made->class, "m", &made->decoder);
}

static void unmake(struct made_json *made)
{
	wmk_ctf_decoder_free(made->decoder);
	wmk_ctf_class_free(made->class);
}

static void one(const char *members, const void *bytes, size_t n, const char *wanted)
{
	struct made_json made;
	char text[1024], message[1024];

	if (make(&made, members) < 0)
		fail_msg("%s", wmk_error_text(message, sizeof(message)));
	const struct wmk_ctf_program *payload = &made.decoder->streams[0].events[0].payload;

	for (size_t len = 0; len <= n; len++) {
		uint8_t *copy = malloc(len ? len : 1);
		struct wmk_ctf_bytes in = { copy, 0, len * 8 };
		struct wmk_ctf_walk walk;

		memcpy(copy, bytes, len);
		wmk_ctf_walk_begin(&walk, &in, 0);
		int err = show(&walk, payload, text, sizeof(text));

		assert_int_equal(err, len < n ? -ENODATA : 0);
		if (len == n)
			assert_string_equal(text, wanted);
		wmk_ctf_walk_begin(&walk, &in, 0);
		assert_int_equal(wmk_ctf_skip(&walk, payload), err);
		if (len == n)
			assert_int_equal(walk.at, n * 8);
		free(copy);
	}
	unmake(&made);
}

/* Valid metadata, invalid bytes. */
static void wrong_bytes(const char *members, const void *bytes, size_t n, int wanted, const char *words)
{
	const struct wmk_ctf_bytes in = { bytes, 0, n * 8 };
	struct wmk_ctf_walk walk;
	struct made_json made;
	char text[1024], message[1024];

	assert_int_equal(make(&made, members), 0);
	const struct wmk_ctf_program *payload = &made.decoder->streams[0].events[0].payload;

	wmk_ctf_walk_begin(&walk, &in, 0);
	assert_int_equal(show(&walk, payload, text, sizeof(text)), wanted);
	wmk_error_clear();
	wmk_ctf_walk_begin(&walk, &in, 0);
	assert_int_equal(wmk_ctf_skip(&walk, payload), wanted);
	if (!strstr(wmk_error_text(message, sizeof(message)), words))
		fail_msg("'%s' does not say '%s'", message, words);
	wmk_error_clear();
	unmake(&made);
}

static void refuse(const char *members, const char *words)
{
	struct made_json made;
	char message[1024];

	assert_true(make(&made, members) < 0);
	if (!strstr(wmk_error_text(message, sizeof(message)), words))
		fail_msg("'%s' does not say '%s'", message, words);
	wmk_error_clear();
	unmake(&made);
}



static void leb128_numbers_are_decoded(void **state)
{
	(void)state;
	one(MEMBER("u", "{'type': 'variable-length-unsigned-integer'}") "," MEMBER(
		    "s", "{'type': 'variable-length-signed-integer'}") "," MEMBER("t",
										  "{'type': "
										  "'variable-length-signed-integer'}"),
	    BYTES(0xe5, 0x8e, 0x26, 0xc0, 0xbb, 0x78, 0x3f), "{ u=624485 s=-123456 t=63 } ");
	/* the largest and the least value of 64 bits */
	one(MEMBER("u", "{'type': 'variable-length-unsigned-integer'}"),
	    BYTES(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1), "{ u=18446744073709551615 } ");
	one(MEMBER("s", "{'type': 'variable-length-signed-integer'}"),
	    BYTES(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f), "{ s=-9223372036854775808 } ");
}

static void texts_of_each_encoding_are_decoded(void **state)
{
	(void)state;
	one(MEMBER("a", "{'type': 'static-length-string', 'length': 4}") "," MEMBER("n", U8) "," MEMBER(
		    "b", "{'type': 'dynamic-length-string', 'length-field-location': " AT(
				 "'n'") "}") "," MEMBER("c", "{'type': 'null-terminated-string'}"),
	    BYTES('x', 'y', 0, 'z', 3, 'a', 'b', 'c', 'd', 0), "{ a=\"xy\" n=3 b=\"abc\" c=\"d\" } ");
	/* code units of two bytes: the NUL has two bytes, at an even place */
	one(MEMBER("a", "{'type': 'null-terminated-string', 'encoding': 'utf-16le'}") "," MEMBER(
		    "b", "{'type': 'static-length-string', 'length': 6, 'encoding': 'utf-16be'}"),
	    BYTES('h', 0, 0, 1, 0, 0, 0, 'h', 0, 0, 1, 0), "{ a=\"h\" b=\"\" } ");
	one(MEMBER("b", "{'type': 'static-length-blob', 'length': 2}") "," MEMBER("n", U8) ","
	    MEMBER("c", "{'type': 'dynamic-length-blob', 'length-field-location': " AT("'n'") "}"),
	    BYTES(1, 2, 1, 9), "{ b=2 n=1 c=1 } ");
}

static void optional_field_is_decoded_only_if_its_selector_matches(void **state)
{
	const char *by_bool = MEMBER("is", BOOL8) "," MEMBER("x", "{'type': 'optional', 'selector-field-location': " AT(
									  "'is'") ", 'field-class': " U8 "}");
	const char *by_range = MEMBER("n", S8) "," MEMBER("x", "{'type': 'optional', 'selector-field-location': " AT(
								       "'n'") ", 'selector-field-ranges': [[-3, -1], "
									      "[5, 5]], 'field-class': " U8 "}");
	/* values that a signed byte cannot have, and an unsigned one cannot have */
	const char *beyond = MEMBER("n", S8) "," MEMBER(
		"x", "{'type': 'optional', 'selector-field-location': " AT(
			     "'n'") ", 'selector-field-ranges': [[100, 18446744073709551615]], 'field-class': " U8 "}");
	const char *below = MEMBER("n", U8) "," MEMBER("x", "{'type': 'optional', 'selector-field-location': " AT("'n'")
		", 'selector-field-ranges': [[-5, 3]], 'field-class': " U8 "}");
	const char *never = MEMBER("n", U8) "," MEMBER("x", "{'type': 'optional', 'selector-field-location': " AT("'n'")
		", 'selector-field-ranges': [[-5, -3]], 'field-class': " U8 "}");

	(void)state;
	one(by_bool, BYTES(1, 7), "{ is=1 x?{ =7 } } ");
	one(by_bool, BYTES(0), "{ is=0 x?{ } } ");
	one(by_range, BYTES(0xfe, 7), "{ n=-2 x?{ =7 } } ");
	one(by_range, BYTES(5, 7), "{ n=5 x?{ =7 } } ");
	one(by_range, BYTES(4), "{ n=4 x?{ } } ");
	one(beyond, BYTES(100, 7), "{ n=100 x?{ =7 } } ");
	one(beyond, BYTES(0xff), "{ n=-1 x?{ } } ");
	one(below, BYTES(3, 7), "{ n=3 x?{ =7 } } ");
	one(below, BYTES(0xfb), "{ n=251 x?{ } } ");
	one(never, BYTES(0xfb), "{ n=251 x?{ } } ");
	refuse(MEMBER("n", U8) "," MEMBER("x", "{'type': 'optional', 'selector-field-location': " AT(
						       "'n'") ", 'field-class': " U8 "}"),
	       "no ranges are given");
}

static void variants_decode_the_option_of_the_selectors_range(void **state)
{
	const char *members = MEMBER("n", U8) "," MEMBER(
		"v", "{'type': 'variant', 'selector-field-location': " AT(
			     "'n'") ", 'options': ["
				    "{'name': 'a', 'selector-field-ranges': [[0, 1], [9, 9]], 'field-class': " U8 "},"
				    "{'selector-field-ranges': [[2, 8]], 'field-class': {'type': "
				    "'null-terminated-string'}}]}");

	(void)state;
	one(members, BYTES(9, 5), "{ n=9 v<{ a=5 } } ");
	one(members, BYTES(2, 'x', 0), "{ n=2 v<{ #2=\"x\" } } ");
}

static void length_field_locations_are_resolved_across_structures(void **state)
{
	const char *members = MEMBER("n", U8) "," MEMBER(
		"s",
		"{'type': 'structure', 'member-classes': [" MEMBER("m", U8) "," MEMBER(
			"a",
			"{'type': 'dynamic-length-array', 'length-field-location': {'path': ['m']}, "
			"'element-field-class': " U8
			"}") "," MEMBER("b",
					"{'type': 'dynamic-length-array', 'length-field-location': {'path': [null, "
					"'n']}, 'element-field-class': " U8
					"}") "," MEMBER("l",
							"{'type': 'static-length-array', 'length': 1, "
							"'element-field-class': {'type': 'structure', "
							"'member-classes': [" MEMBER(
								"c", "{'type': 'dynamic-length-array', "
								     "'length-field-location': {'path': [null, 'm']}, "
								     "'element-field-class': " U8 "}") "]}}") "]}");

	(void)state;
	one(members, BYTES(1, 2, 3, 4, 5, 6, 7),
	    "{ n=1 s{ m=2 a[2]{ =3 =4 } b[1]{ =5 } l[1]{ { c[2]{ =6 =7 } } } } } ");
	refuse(MEMBER("s", "{'type': 'structure', 'member-classes': [" MEMBER(
				   "a", "{'type': 'dynamic-length-array', 'length-field-location':"
					" {'path': [null, null, 'n']}, 'element-field-class': " U8 "}") "]}"),
	       "does not exist");
}

#define BLOB(location) "{'type': 'dynamic-length-blob', 'length-field-location': " location "}"
#define STRUCTURE(members) "{'type': 'structure', 'member-classes': [" members "]}"
#define OPTION(from, to, class) "{'selector-field-ranges': [[" #from ", " #to "]], 'field-class': " class "}"
#define VARIANT(options) "{'type': 'variant', 'selector-field-location': " AT("'n'") ", 'options': [" options "]}"

/* A path through the array element, the option and the optional field that contain the reference. */
static void paths_through_enclosing_fields_are_resolved(void **state)
{
	const char *element = MEMBER("n", U8) "," MEMBER(
		"a", "{'type': 'static-length-array', 'length': 2, 'element-field-class': " STRUCTURE(
			     MEMBER("m", U8) "," MEMBER("s", STRUCTURE(MEMBER("b", BLOB(AT("'a', 'm'")))))) "}");
	const char *option = MEMBER("n", U8) "," MEMBER(
		"v",
		VARIANT(OPTION(0, 3, U8) "," OPTION(4, 5,
						    STRUCTURE(MEMBER("m", U8) "," MEMBER("b", BLOB(AT("'v', 'm'")))))));
	const char *optional = MEMBER("n", U8) "," MEMBER(
		"o",
		"{'type': 'optional', 'selector-field-location': " AT(
			"'n'") ", 'selector-field-ranges': [[1, 9]], "
			       "'field-class': " STRUCTURE(MEMBER("m", U8) "," MEMBER("b", BLOB(AT("'o', 'm'")))) "}");

	(void)state;
	one(element, BYTES(7, 1, 0xa, 2, 0xb, 0xc), "{ n=7 a[2]{ { m=1 s{ b=1 } } { m=2 s{ b=2 } } } } ");
	one(option, BYTES(4, 2, 0xa, 0xb), "{ n=4 v<{ #2{ m=2 b=2 } } } ");
	one(optional, BYTES(1, 2, 0xa, 0xb), "{ n=1 o?{ { m=2 b=2 } } } ");
	one(optional, BYTES(0), "{ n=0 o?{ } } ");
	refuse(MEMBER("n", U8) "," MEMBER("a", "{'type': 'static-length-array', 'length': 2, "
					       "'element-field-class': " STRUCTURE(
						       MEMBER("m", U8)) "}") "," MEMBER("b", BLOB(AT("'a', 'm'"))),
	       "the reference does not select an element");
}

/* A path through preceding variants and optional fields: examples 90 and 91 of CTF2-SPEC-2.0, and others. */
static void paths_through_preceding_fields_are_resolved(void **state)
{
	const char *itself = MEMBER("n", U8) "," MEMBER(
		"v", VARIANT(OPTION(0, 0, U8) "," OPTION(1, 1, INT(16, "unsigned", "big-endian")) "," OPTION(
			     2, 2, STRUCTURE(MEMBER("e", U8))))) "," MEMBER("b", BLOB(AT("'v'")));
	const char *within = MEMBER("n", U8) "," MEMBER(
		"v",
		VARIANT(OPTION(0, 0, U8) "," OPTION(1, 2, STRUCTURE(MEMBER("x", U8) "," MEMBER("e", U8))) "," OPTION(
			3, 3,
			STRUCTURE(MEMBER("e", U8))))) "," MEMBER("b",
								 BLOB(AT("'v', 'e'"))) "," MEMBER("c",
												  BLOB("{'path': ['v', "
												       "'e']}"));
	const char
		*
			optional = MEMBER("n",
					  U8) "," MEMBER("o",
							 "{'type': 'optional', 'selector-field-location': " AT("'n'")
			", 'selector-field-ranges': [[1, 9]], 'field-class': " VARIANT(
								 OPTION(1, 1, STRUCTURE(MEMBER("m", U8))) "," OPTION(
									 2, 9,
									 U8)) "}") "," MEMBER("p",
											      "{'type': 'optional', "
											      "'selector-field-"
											      "location': " AT(
												      "'n'") ", "
													     "'selector"
													     "-field-"
													     "ranges': "
													     "[[1, "
													     "1]], "
													     "'field-"
													     "class':"
													     " "
			BLOB(AT(
														     "'"
														     "o"
														     "'"
														     ","
														     " "
														     "'"
														     "m"

			"'")) "}");

	(void)state;
	one(itself, BYTES(0, 2, 0xa, 0xb), "{ n=0 v<{ #1=2 } b=2 } ");
	one(itself, BYTES(1, 0, 1, 0xa), "{ n=1 v<{ #2=1 } b=1 } ");
	wrong_bytes(itself, BYTES(2, 1, 0xa), -EPROTO, "is absent");
	one(within, BYTES(1, 9, 1, 0xa, 0xb), "{ n=1 v<{ #2{ x=9 e=1 } } b=1 c=1 } ");
	one(within, BYTES(3, 1, 0xa, 0xb), "{ n=3 v<{ #3{ e=1 } } b=1 c=1 } ");
	wrong_bytes(within, BYTES(0, 1, 0xa), -EPROTO,
		    "'b' depends on a value in a variant or optional field that is absent");
	one(optional, BYTES(1, 2, 0xa, 0xb), "{ n=1 o?{ <{ #1{ m=2 } } } p?{ =2 } } ");
	one(optional, BYTES(2, 5), "{ n=2 o?{ <{ #2=5 } } p?{ } } ");
	one(optional, BYTES(0), "{ n=0 o?{ } p?{ } } ");
	/* (an enumeration is an integer) */
	one(MEMBER("n", U8) "," MEMBER("v",
				       VARIANT(OPTION(0, 0, U8) "," OPTION(1, 1,
									   "{'type': 'fixed-length-unsigned-integer', "
									   "'length': 8, 'byte-order': 'little-endian',"
									   " 'alignment': 8, 'mappings': {'low': [[0, "
									   "9]]}}"))) "," MEMBER("b", BLOB(AT("'v'"))),
	    BYTES(1, 1, 0xa), "{ n=1 v<{ #2=1 } b=1 } ");
	refuse(MEMBER("n", U8) "," MEMBER("v", VARIANT(OPTION(0, 0, U8) "," OPTION(1, 1, S8))) "," MEMBER(
		       "b", BLOB(AT("'v'"))),
	       "have different types");
	refuse(MEMBER("n", U8) "," MEMBER("v", VARIANT(OPTION(0, 0, U8))) "," MEMBER("b", BLOB(AT("'v', 'e'"))),
	       "m:3: e: the length 'event.fields.v.e' does not exist");
	/* the largest number of possible places, and one more */
#define FOUR(a, b, c, d) OPTION(a, a, U8) "," OPTION(b, b, U8) "," OPTION(c, c, U8) "," OPTION(d, d, U8)
#define SIXTEEN FOUR(0, 1, 2, 3) "," FOUR(4, 5, 6, 7) "," FOUR(8, 9, 10, 11) "," FOUR(12, 13, 14, 15)
	one(MEMBER("n", U8) "," MEMBER("v", VARIANT(SIXTEEN)) "," MEMBER("b", BLOB(AT("'v'"))), BYTES(15, 1, 0xa),
	    "{ n=15 v<{ #16=1 } b=1 } ");
	refuse(MEMBER("n", U8) "," MEMBER("v", VARIANT(SIXTEEN "," OPTION(16, 16, U8))) "," MEMBER("b",
												   BLOB(AT("'v'"))),
	       "matches more than 16 fields");
	refuse(MEMBER("n", U8) "," MEMBER("v", VARIANT(OPTION(0, 0, "{'type': 'null-terminated-string'}"))) "," MEMBER(
		       "b", BLOB(AT("'v'"))),
	       "is not an integer");
}

static void bit_and_byte_orders_are_decoded(void **state)
{
	(void)state;
	one(MEMBER("a", INT(16, "unsigned", "big-endian")) "," MEMBER("b", INT(16, "unsigned", "little-endian")),
	    BYTES(1, 2, 1, 2), "{ a=258 b=513 } ");
	/* the bits of a byte in reverse order */
	one(MEMBER("a", "{'type': 'fixed-length-unsigned-integer', 'length': 8, 'byte-order': 'little-endian', "
			"'bit-order': 'last-to-first', 'alignment': 8}"),
	    BYTES(0x13), "{ a=200 } ");
	one(MEMBER("f", "{'type': 'fixed-length-bit-map', 'length': 8, 'byte-order': 'little-endian', 'alignment': 8, "
			"'flags': {'x': [[0, 0]], 'y': [[1, 3]]}}") "," MEMBER(
		    "m", "{'type': 'fixed-length-signed-integer', 'length': 8, 'byte-order': 'little-endian', "
			 "'alignment': 8, 'mappings': {'low': [[-9, 0]]}}"),
	    BYTES(5, 0xff), "{ f=5 m=-1 } ");
}

/* ── roles ───────────────────────────────────────────────────────────────────────────────────────────── */

/* The header of each record is both its id and its time; this is the order of its bits. */
static void id_and_time(const char *more, bool is_planned, const uint8_t *bytes, const uint64_t *ids)
{
	struct wmk_ctf_bytes in = { bytes, 0, 12 * 8 };
	struct wmk_ctf_record record = { .time = 0 };
	struct made_json made = { NULL, NULL };
	char text[1024];
	size_t len;

	len = (size_t)snprintf(text, sizeof(text),
			       "\x1e{'type': 'preamble', 'version': 2}\n\x1e{'type': 'clock-class', 'id': 'c', "
			       "'frequency': 1000}\n\x1e{'type': 'data-stream-class', 'default-clock-class-id': 'c', "
			       "'event-record-header-field-class': {'type': 'structure',"
			       "'member-classes': [" MEMBER("x", "{'type': 'fixed-length-unsigned-integer', 'length': "
								 "8, 'byte-order': 'little-endian', %s"
								 "'roles': ['default-clock-timestamp', "
								 "'event-record-class-id']}") "]}}\n\x1e{'type': "
											      "'event-record-class', "
											      "'id': %u}\n\x1e{'type': "
											      "'event-record-class', "
											      "'id': %u}\n",
			       more, (unsigned)ids[0], (unsigned)ids[1]);
	for (size_t i = 0; i < len; i++)
		text[i] = text[i] == '\'' ? '"' : text[i];
	assert_int_equal(wmk_ctf_metadata_parse(text, len, "m", false, &made.class), 0);
	assert_int_equal(wmk_ctf_compile(made.class, "m", &made.decoder), 0);
	assert_int_equal(made.decoder->streams[0].plan != NULL, is_planned);
	wmk_ctf_walk_begin(&record.walk, &in, 0);
	for (unsigned i = 0; i < 12; i++) {
		assert_int_equal(wmk_ctf_record(&made.decoder->streams[0], &in, i * 8, &record), 0);
		assert_int_equal(record.event->id, ids[i % 2]);
		assert_int_equal(record.time, ids[i % 2] + i / 2 * 256);
	}
	unmake(&made);
}

/* Decode by one load (if eight bytes follow), by a plan, by a walk. */
static void field_with_id_and_time_roles_gives_both_values(void **state)
{
	static const uint8_t bytes[12] = { 3, 0x81, 3, 0x81, 3, 0x81, 3, 0x81, 3, 0x81, 3, 0x81 };

	(void)state;
	id_and_time("", true, bytes, (const uint64_t[]){ 3, 0x81 });
	id_and_time("'bit-order': 'last-to-first', ", false,
		    (const uint8_t[12]){ 0xc0, 0x81, 0xc0, 0x81, 0xc0, 0x81, 0xc0, 0x81, 0xc0, 0x81, 0xc0, 0x81 },
		    (const uint64_t[]){ 3, 0x81 });
}

/* Sixteen bytes and one more; the first one is the least or the most significant. */
#define WIDE(sign, order, more) \
	"{'type': 'fixed-length-" sign "-integer', 'length': 128, 'byte-order': '" order \
	"-endian', 'alignment': 8" more "}"
#define TIMES_14(...) __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, \
	__VA_ARGS__, __VA_ARGS__, __VA_ARGS__, \
		__VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__

static void wide_integers_are_decoded(void **state)
{
	(void)state;
	one(MEMBER("a", WIDE("unsigned", "little", "")), BYTES(5, TIMES_14(0), 0), "{ a=5 } ");
	one(MEMBER("a", WIDE("unsigned", "little", "")), BYTES(0, TIMES_14(0), 1),
	    "{ a=1329227995784915872903807060280344576 } ");
	one(MEMBER("a", WIDE("unsigned", "big", "")), BYTES(1, TIMES_14(0), 2),
	    "{ a=1329227995784915872903807060280344578 } ");
	one(MEMBER("a", WIDE("unsigned", "little", ", 'bit-order': 'last-to-first'")), BYTES(0x80, TIMES_14(0), 0x40),
	    "{ a=1329227995784915872903807060280344578 } ");
	one(MEMBER("a", WIDE("unsigned", "big", ", 'bit-order': 'first-to-last'")), BYTES(0x80, TIMES_14(0), 0x40),
	    "{ a=2658455991569831745807614120560689153 } ");
	one(MEMBER("a", WIDE("signed", "little", "")), BYTES(0xfb, TIMES_14(0xff), 0xff), "{ a=-5 } ");
	one(MEMBER("a", WIDE("signed", "little", "")), BYTES(0, TIMES_14(0), 0x80),
	    "{ a=-170141183460469231731687303715884105728 } ");
	one(MEMBER("a", WIDE("signed", "big", "")), BYTES(0x7f, TIMES_14(0xff), 0xff),
	    "{ a=170141183460469231731687303715884105727 } ");
	/* 65 bits, one of which is the sign: values that fit 64 bits, and values that do not */
	one(MEMBER("a", INT(65, "signed", "little-endian")) "," MEMBER(
		    "b", "{'type': 'fixed-length-boolean', 'length': 71, 'byte-order': 'little-endian'}"),
	    BYTES(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0x80),
	    "{ a=18446744073709551615 b=1 } ");
	one(MEMBER("a", INT(65, "signed", "little-endian")) "," MEMBER(
		    "b", "{'type': 'fixed-length-boolean', 'length': 71, 'byte-order': 'little-endian'}"),
	    BYTES(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	    "{ a=9223372036854775807 b=0 } ");
	one(MEMBER("a", INT(65, "signed", "little-endian")) "," MEMBER("b", INT(8, "unsigned", "little-endian")),
	    BYTES(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1, 9), "{ a=-9223372036854775809 b=9 } ");
	one(MEMBER("u", "{'type': 'variable-length-unsigned-integer'}"),
	    BYTES(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02), "{ u=18446744073709551616 } ");
	one(MEMBER("s", "{'type': 'variable-length-signed-integer'}"),
	    BYTES(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7e), "{ s=-18446744073709551616 } ");
	one(MEMBER("s", "{'type': 'variable-length-signed-integer'}"),
	    BYTES(0xfb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f), "{ s=-5 } ");
	/* the longest LEB128, with the value 0; and a longer one */
	uint8_t longest[587];

	memset(longest, 0x80, sizeof(longest));
	longest[584] = longest[586] = 0;
	one(MEMBER("u", "{'type': 'variable-length-unsigned-integer'}"), longest, 585, "{ u=0 } ");
	longest[584] = 0x80;
	wrong_bytes(MEMBER("u", "{'type': 'variable-length-unsigned-integer'}"), longest, 587, -EPROTO,
		    "'u' has more than 4096 bits, at byte 0");
	/* a length in LEB128 of five bytes, or of more than 64 bits */
	one(MEMBER("n", WIDE("unsigned", "big", "")) "," MEMBER("t", "{'type': 'dynamic-length-string', "
								     "'length-field-location': {'path': ['n']}}"),
	    BYTES(0, TIMES_14(0), 2, 'a', 'b'), "{ n=2 t=\"ab\" } ");
	wrong_bytes(MEMBER("n", WIDE("unsigned", "big", "")) "," MEMBER(
			    "t", "{'type': 'dynamic-length-string', 'length-field-location': {'path': ['n']}}"),
		    BYTES(1, TIMES_14(0), 2, 'a', 'b'), -EPROTO,
		    "'n', which another field depends on, has more than 64 bits, at byte 0");
}

#define REAL(bits) \
	MEMBER("f", "{'type': 'fixed-length-floating-point-number', 'length': " #bits \
		    ", 'byte-order': 'big-endian', 'alignment': 8}")

static void wide_reals_give_the_nearest_double(void **state)
{
	(void)state;
	one(REAL(128), BYTES(0x3f, 0xff, TIMES_14(0)), "{ f=1 } ");
	one(REAL(128), BYTES(0xc0, 0x00, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), "{ f=-3 } ");
	one(REAL(128), BYTES(0x7f, 0xff, TIMES_14(0)), "{ f=inf } ");
	one(REAL(128), BYTES(0xff, 0xff, TIMES_14(0)), "{ f=-inf } ");
	one(REAL(128), BYTES(0x7f, 0xfe, TIMES_14(0xff)), "{ f=inf } ");       /* (beyond a double) */
	one(REAL(128), BYTES(0x7f, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1), "{ f=nan } ");
	one(REAL(128), BYTES(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1), "{ f=0 } ");
	/* binary160 has 16 bits of exponent (29.29, rounded, less 13), binary256 19 */
	one(REAL(160), BYTES(0x3f, 0xff, 0xc0, TIMES_14(0), 0, 0, 0), "{ f=1.5 } ");
	one(REAL(256), BYTES(0x3f, 0xff, 0xf8, TIMES_14(0), TIMES_14(0), 0), "{ f=1.5 } ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leb128_numbers_are_decoded), cmocka_unit_test(texts_of_each_encoding_are_decoded),
		cmocka_unit_test(optional_field_is_decoded_only_if_its_selector_matches),
		cmocka_unit_test(variants_decode_the_option_of_the_selectors_range),
		cmocka_unit_test(length_field_locations_are_resolved_across_structures),
		cmocka_unit_test(paths_through_enclosing_fields_are_resolved),
		cmocka_unit_test(paths_through_preceding_fields_are_resolved),
		cmocka_unit_test(bit_and_byte_orders_are_decoded),
		cmocka_unit_test(field_with_id_and_time_roles_gives_both_values),
		cmocka_unit_test(wide_integers_are_decoded), cmocka_unit_test(wide_reals_give_the_nearest_double),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
