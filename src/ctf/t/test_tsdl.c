/* SPDX-License-Identifier: MIT */
/*
 * test_tsdl.c - TSDL metadata: the result of each construct, and the place and text of each error.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/error.h"
#include "ctf/class.h"

#define HANGS_S 100                  /* a limit for what takes about one second */

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

/* The fields of the only event; `fields` is the body of the structure, `before` comes before it. */
static struct wmk_ctf_class *parse_fields(const char *before, const char *fields, const struct wmk_type **payload)
{
	char text[4096];
	struct wmk_ctf_class *class;

	snprintf(text, sizeof(text), TRACE "%s\nevent { name = \"e\"; id = 0; fields := struct { %s }; };", before,
		 fields);
	class = parse(text);
	*payload = class->streams[0]->events[0]->payload;
	return class;
}

static void refuse(const char *text, const char *words)
{
	struct wmk_ctf_class *class = NULL;
	char message[1024];
	int err = wmk_ctf_metadata_parse(text, strlen(text), "m", false, &class);

	if (err >= 0)
		fail_msg("taken, and should not be (%s): %s", words, text);
	wmk_error_text(message, sizeof(message));
	if (!strstr(message, words))
		fail_msg("'%s' does not say '%s'", message, words);
	wmk_error_clear();
}

/* ── types ───────────────────────────────────────────────────────────────────────────────────────────── */

static void integers_are_parsed_with_their_attributes(void **state)
{
	const struct wmk_type *payload, *type;
	struct wmk_ctf_class *class =
		parse_fields("clock { name = c; };",
			     "integer { size = 27; align = 1; signed = true; base = hex; byte_order = be; } a;"
			     "integer { size = 0x10; } b; integer { size = 010; encoding = UTF8; base = 2; map = "
			     "clock.c.value; } c, d[3];",
			     &payload);

	(void)state;
	assert_int_equal(payload->count, 4);
	type = &payload->members[0].type;
	assert_int_equal(type->kind, WMK_TYPE_INT);
	assert_int_equal(type->width, 27);
	assert_int_equal(type->align, 1);
	assert_true(type->is_signed);
	assert_int_equal(type->base, 16);
	assert_int_equal(type->order, WMK_ORDER_BIG);
	type = &payload->members[1].type;
	assert_int_equal(type->width, 16);
	assert_int_equal(type->align, 8);
	assert_int_equal(type->order, WMK_ORDER_LITTLE);
	assert_int_equal(type->base, 10);
	type = &payload->members[2].type;
	assert_int_equal(type->width, 8);
	assert_string_equal(type->clock, "c");
	type = &payload->members[3].type;
	assert_int_equal(type->kind, WMK_TYPE_ARRAY);
	assert_true(type->is_text);
	assert_int_equal(type->count, 3);
	wmk_ctf_class_free(class);
}

/* The trace's byte order also applies to types before the trace block. */
static void byte_order_applies_before_the_trace_block(void **state)
{
	struct wmk_ctf_class *class =
		parse("typealias integer { size = 32; byte_order = native; } := u32;\n"
		      "trace { major = 1; minor = 8; byte_order = be; packet.header := struct { u32 magic; }; };");

	(void)state;
	assert_int_equal(class->order, WMK_ORDER_BIG);
	assert_int_equal(class->packet_header->members[0].type.order, WMK_ORDER_BIG);
	wmk_ctf_class_free(class);
}

static void c_type_names_are_resolved(void **state)
{
	const struct wmk_type *payload;
	struct wmk_ctf_class *class = parse_fields(
		"typealias integer { size = 64; } := unsigned long int;\ntypealias integer { size = 16; } := const "
		"char *;\n"
		"typedef " U8 " u8, pair[2];\ntypedef pair pairs[3];\nstruct s { u8 x; } align(32);\nenum color : u8 { "
			      "red, green = 5, blue };",
		"unsigned long int a; const char *b; const u8 c; pairs d; struct s e; enum color f; u8 (g)[2][4];",
		&payload);
	const struct wmk_field *m = payload->members;

	(void)state;
	assert_int_equal(payload->count, 7);
	assert_int_equal(m[0].type.width, 64);
	assert_int_equal(m[1].type.width, 16);
	assert_int_equal(m[2].type.width, 8);
	assert_int_equal(m[3].type.count, 3);
	assert_int_equal(m[3].type.elem->count, 2);
	assert_int_equal(m[4].type.align, 32);
	assert_int_equal(payload->align, 32);
	assert_int_equal(m[5].type.kind, WMK_TYPE_ENUM);
	assert_int_equal(m[5].type.labels[2].from, 6);
	assert_int_equal(m[6].type.count, 2);
	assert_int_equal(m[6].type.elem->count, 4);
	wmk_ctf_class_free(class);
}

static void enumeration_labels_get_explicit_or_following_values(void **state)
{
	const struct wmk_type *payload, *type;
	struct wmk_ctf_class *class = parse_fields("typealias integer { size = 32; signed = true; } := int;",
						   "enum { a = -3 ... -1, b, \"two words\" = 'x', struct = +7, } e;"
						   "enum : integer { size = 64; } { top = 0xffffffffffffffff } f;",
						   &payload);

	(void)state;
	type = &payload->members[0].type;
	assert_int_equal(type->count, 4);
	assert_int_equal(type->labels[0].from, -3);
	assert_int_equal(type->labels[0].to, -1);
	assert_int_equal(type->labels[1].from, 0);
	assert_string_equal(type->labels[2].name, "two words");
	assert_int_equal(type->labels[2].to, 'x');
	assert_string_equal(type->labels[3].name, "struct");
	assert_int_equal(payload->members[1].type.labels[0].from, -1);
	wmk_ctf_class_free(class);
}

static void tsdl_lengths_and_selectors_become_field_references(void **state)
{
	const struct wmk_type *payload, *type;
	struct wmk_ctf_class *class = parse_fields(
		"env { n = 4; };\nvariant v { " U8 " a; string b; };",
		"enum : " U8 " { a, b } tag; variant v <tag> x; variant <stream.event.header.id> { string c; } y; " U8
		" z[stream.packet.context.q.r][env.n];"
		"floating_point { exp_dig = 8; mant_dig = 24; } f; string { encoding = ASCII; } s;",
		&payload);

	(void)state;
	type = &payload->members[1].type;
	assert_int_equal(type->kind, WMK_TYPE_VARIANT);
	assert_int_equal(type->ref->scope, WMK_SCOPE_NEAR);
	assert_string_equal(type->ref->names[0], "tag");
	assert_int_equal(payload->members[2].type.ref->scope, WMK_SCOPE_EVENT_HEADER);
	type = &payload->members[3].type;
	assert_int_equal(type->kind, WMK_TYPE_SEQUENCE);
	assert_int_equal(type->ref->scope, WMK_SCOPE_PACKET_CONTEXT);
	assert_int_equal(type->ref->n, 2);
	assert_string_equal(type->ref->names[1], "r");
	assert_int_equal(type->elem->kind, WMK_TYPE_ARRAY);
	assert_int_equal(type->elem->count, 4);
	assert_int_equal(payload->members[4].type.width, 32);
	wmk_ctf_class_free(class);
}

/* ── blocks ──────────────────────────────────────────────────────────────────────────────────────────── */

static void tsdl_blocks_of_each_kind_are_parsed(void **state)
{
	struct wmk_ctf_class *class = parse(
		"/* CTF 1.8 */ // a line\n"
		"trace { major = 1; minor = 8; byte_order = le; packet.header := struct { " U8 " stream_id; }; };\n"
		"env { hostname = \"a\\x62\\143\\n\"; major = -7; };\n"
		"clock { name = c; freq = 1000; offset_s = 5; offset = 2500; precision = 3; absolute = TRUE; uuid = "
		"\"01234567-89ab-cdef-0123-456789ABCDEF\"; description = \"d\"; };\n"
		"clock { name = \"back\"; offset = -1; };\n"
		"callsite { name = \"x\"; func = \"f\"; file = \"g\"; line = 3; };\n"
		"stream { id = 7; event.header := struct { " U8
		" id; integer { size = 32; map = clock.c.value; } timestamp; }; };\n"
		"stream { id = 3; packet.context := struct { " U8 " cpu_id; }; event.context := struct { " U8
		" _v; }; };\n"
		"event { name = \"p:q\"; id = 9; stream_id = 7; loglevel = 4; model.emf.uri = \"http://x\"; context := "
		"struct { " U8 " a; }; };\nevent { id = 1; stream_id = 7; name = first; };\n");
	const struct wmk_ctf_stream_class *stream;

	(void)state;
	assert_string_equal(class->env[0].text, "abc\n");
	assert_int_equal(class->env[1].number, -7);
	assert_int_equal(class->n_clocks, 2);
	assert_int_equal(class->clocks[0].offset_s, 7);
	assert_int_equal(class->clocks[0].offset, 500);
	assert_true(class->clocks[0].absolute);
	assert_int_equal(class->clocks[1].offset_s, -1);
	assert_int_equal(class->clocks[1].offset, 999999999);
	assert_int_equal(class->n_streams, 2);
	assert_int_equal(class->streams[0]->id, 3);
	assert_null(class->streams[0]->clock);
	assert_null(wmk_ctf_stream_class_of(class, 4));
	stream = wmk_ctf_stream_class_of(class, 7);
	assert_string_equal(stream->clock->name, "c");
	assert_int_equal(stream->n_events, 2);
	assert_string_equal(stream->events[0]->name, "first");
	assert_int_equal(wmk_ctf_event_class_of(stream, 9)->level, 4);
	assert_string_equal(stream->events[1]->emf_uri, "http://x");
	assert_non_null(stream->events[1]->context);
	assert_null(wmk_ctf_event_class_of(stream, 2));
	assert_string_equal(wmk_ctf_shown_name(class, "_v"), "v");
	assert_string_equal(wmk_ctf_shown_name(class, "_"), "");
	wmk_ctf_class_free(class);
}

/* Entries without a meaning become attributes of CTF 2. */
static void unknown_tsdl_entries_become_ctf_2_attributes(void **state)
{
	struct wmk_ctf_class *class =
		parse("trace { major = 1; minor = 8; byte_order = le; colour = \"r\\\"ed\"; of.it = "
		      "18446744073709551615; kind = odd.one;packet.header := struct { " U8 " stream_id; }; };\n"
		      "clock { name = c; drift = -5; };\ncallsite { name = x; line = 3; };\ncallsite { };\n"
		      "stream { id = 7; name = \"s\"; };\nstream { id = 8; event.header := struct { " U8 " id; }; };\n"
		      "event { id = 1; stream_id = 7; loglevel = 15; name = \"e\"; };\n"
		      "event { id = 1; stream_id = 8; loglevel = TRACE_INFO; name = \"e\"; };\n"
		      "event { id = 2; stream_id = 8; loglevel = 14; name = \"e\"; };\n");

	(void)state;
	assert_string_equal(
		class->more,
		"{\"attributes\":{\"waymark,2026\":{\"entries\":{\"colour\":\"r\\\"ed\",\"of.it\":18446744073709551615,"
		"\"kind\":{\"word\":\"odd.one\"}},\"callsites\":[{\"name\":{\"word\":\"x\"},\"line\":3},{}]}}}");
	assert_string_equal(class->clocks[0].more, "{\"attributes\":{\"waymark,2026\":{\"entries\":{\"drift\":-5}}}}");
	assert_string_equal(class->streams[0]->more,
			    "{\"attributes\":{\"waymark,2026\":{\"entries\":{\"name\":\"s\"}}}}");
	assert_null(class->streams[1]->more);
	assert_string_equal(class->streams[0]->events[0]->more,
			    "{\"attributes\":{\"waymark,2026\":{\"entries\":{\"loglevel\":15}}}}");
	assert_int_equal(class->streams[0]->events[0]->level, -1);
	assert_string_equal(
		class->streams[1]->events[0]->more,
		"{\"attributes\":{\"waymark,2026\":{\"entries\":{\"loglevel\":{\"word\":\"TRACE_INFO\"}}}}}");
	assert_null(class->streams[1]->events[1]->more);
	assert_int_equal(class->streams[1]->events[1]->level, 14);
	assert_false(class->has_other_types);
	wmk_ctf_class_free(class);
	class = parse(TRACE "stream { event.footer := struct { " U8 " a; }; };\n");
	assert_true(class->has_other_types);
	assert_null(class->more);
	wmk_ctf_class_free(class);
}

/* Metadata of a trace that is being written: complete declarations are read. */
static void cut_metadata_keeps_complete_declarations(void **state)
{
	static const char text[] = TRACE
		"stream { event.header := struct { " U8
		" id; }; };\nevent { id = 0; name = \"a\"; };\nevent { id = 1; name = \"b\"; fields := struct { " U8
		" x; }; };";
	struct wmk_ctf_class *class;
	int got;

	(void)state;
	for (size_t len = sizeof(TRACE) - 1; len < sizeof(text); len++) {
		class = NULL;
		got = wmk_ctf_metadata_parse(text, len, "m", true, &class);
		assert_return_code(got, 0);
		if (!got)
			assert_true(strchr("\n;", text[len - 1]) != NULL);
		wmk_error_clear();
		assert_true(class->n_streams <= 1);
		if (len + 1 == sizeof(text))
			assert_int_equal(class->streams[0]->n_events, 2);
		wmk_ctf_class_free(class);
		if (len + 1 < sizeof(text) && len > sizeof(TRACE) && text[len - 1] != '\n' && text[len - 1] != ';') {
			assert_true(wmk_ctf_metadata_parse(text, len, "m", false, &class) < 0);
			wmk_error_clear();
		}
	}
}

/* ── mistakes ────────────────────────────────────────────────────────────────────────────────────────── */

static void tsdl_errors_name_line_and_column(void **state)
{
	(void)state;
	refuse("", "no trace block");
	refuse("trace { byte_order = middle; };",
	       "m:1:22: expected a byte_order: 'le', 'be' or 'network', not 'middle'");
	refuse("trace { major = 1; byte_order = le; };", "m:1:1: the trace block has no 'major' or no 'minor'");
	refuse("trace { major = 1; minor = 8; byte_order = le; uuid = \"12\"; };",
	       "m:1:55: 'uuid' must be 32 hexadecimal digits");
	refuse(TRACE TRACE, "m:2:1: duplicate trace block");
	refuse(TRACE "even { };", "m:2:1: expected a block");
	refuse(TRACE "env { a = 1 };", "m:2:13: expected ';' after an entry, not '}'");
	refuse(TRACE "env { a 1; };", "m:2:9: expected '=' or ':=', not the number 1");
	refuse(TRACE "/* no end", "m:2:1: unterminated comment");
	refuse(TRACE "env { a = \"no end\n; };", "m:2:11: unterminated string");
	refuse(TRACE "env { a = \"no end\n; b = \"c\"; };",
	       "m:2:11: a string of more than one line begins here: m:3:8: expected ';' after an entry, not 'c'");
	refuse(TRACE "env { a = \"\\q\"; };", "m:2:11: unknown escape sequence");
	refuse(TRACE "env { a = 0x; };", "m:2:11: a number without digits");
	refuse(TRACE "env { a = 08; };", "m:2:11: invalid digit in a number");
	refuse(TRACE "env { a = 18446744073709551616; };", "m:2:11: a number of more than 64 bits");
	refuse(TRACE "env { a = @; };", "m:2:11: unexpected character");
	refuse(TRACE "clock { freq = 1; };", "m:2:1: the clock has no name");
	refuse(TRACE "stream { id = -1; };", "m:2:15: 'id' must be a non-negative number");
	refuse(TRACE "stream { id = 1; };\nstream { id = 1; };", "m:3:1: two stream classes have the id 1");
	refuse(TRACE "event { id = 1; };\nevent { id = 1; };", "m:3:1: two events of stream 0 have the id 1");
	refuse(TRACE "stream { id = 2; };\nevent { id = 1; stream_id = 5; name = \"x\"; };",
	       "m:3:1: event 'x' refers to a stream class 5 that is not declared");
	refuse(TRACE "event { fields := string; };", "m:2:19: 'fields' must be a structure");
	refuse(TRACE "stream { event.header := struct { integer { size = 8; map = clock.z.value; } t; }; };",
	       "m:2:61: unknown clock 'z'");
	refuse(TRACE "typedef nothing x;", "m:2:9: unknown type 'nothing'");
	refuse(TRACE "struct a { struct b c; };", "m:2:19: unknown 'struct b'");
	refuse(TRACE "struct a { }; struct a { };", "m:2:22: 'a' is declared twice");
	refuse(TRACE "typedef integer { size = 4097; } x;", "m:2:26: an integer must have 1 to 4096 bits, not 4097");
	refuse(TRACE "typedef integer { align = 8; } x;", "m:2:9: the integer has no size");
	refuse(TRACE "typedef integer { size = 8; align = 3; } x;",
	       "m:2:37: an alignment must be a power of two, not 3");
	refuse(TRACE "typedef integer { size = 8; signed = maybe; } x;",
	       "m:2:38: expected 'true' or 'false', not 'maybe'");
	refuse(TRACE "typedef integer { size = 8; map = clock.c; } x;", "m:2:35: expected clock.NAME.value");
	refuse(TRACE "enum : integer { size = 128; signed = true; } { a = 9223372036854775808 } x;",
	       "m:2:53: the value of the label does not fit 64 bits");
	refuse(TRACE "enum : integer { size = 128; } { a = 1, b = -1 } x;",
	       "m:2:45: the value of the label does not fit 64 bits");
	refuse(TRACE "typedef floating_point { exp_dig = 15; mant_dig = 112; } x;",
	       "m:2:9: unsupported floating point number of exp_dig 15, mant_dig 112");
	refuse(TRACE "typedef enum { a } x;", "the type 'int' is not declared");
	refuse(TRACE "typedef enum : struct { } { a } x;", "m:2:16: the type of an enumeration must be an integer");
	refuse(TRACE "typedef " U8 " x[-1];", "m:2:60: an array must have 0 to");
	refuse(TRACE "typedef " U8 " x[env.n];", "m:2:60: the environment has no integer 'n'");
	refuse(TRACE "typedef " U8 " *x;", "m:2:9: unknown type '*'");
	refuse(TRACE "typealias " U8 " x := y;", "m:2:60: unexpected name 'x'");
	refuse(TRACE "typealias " U8 " := ;", "expected a name for the type");
}

/* Endless nesting of types must not exhaust the stack or the memory. */
static void endless_nesting_of_tsdl_types_is_rejected(void **state)
{
	char *text = malloc(1000000);
	size_t len;

	(void)state;
	strcpy(text, TRACE "typedef ");
	for (int i = 0; i < 60000; i++)
		memcpy(text + strlen(TRACE) + 8 + i * 7, "struct{", 8);
	refuse(text, "more than 128 levels of nested types");
	strcpy(text, TRACE "typedef " U8 " ");
	len = strlen(text);
	memset(text + len, '(', 100000);
	text[len + 100000] = '\0';
	refuse(text, "more than 128 levels of parentheses");
	free(text);
}

/* Likewise entries and callsites, which are all kept. */
static void tsdl_with_too_many_entries_is_rejected(void **state)
{
	const size_t size = 20 << 20;
	char *text = malloc(size);
	size_t len = (size_t)sprintf(text, TRACE "stream { ");

	(void)state;
	for (int i = 0; i <= 65536; i++)
		len += (size_t)sprintf(text + len, "x%d = 1; ", i);
	sprintf(text + len, "};");
	refuse(text, "the block has more than 65536 entries");
	len = (size_t)sprintf(text, TRACE);
	for (int i = 0; i <= 1 << 20; i++)
		len += (size_t)sprintf(text + len, "callsite { };");
	refuse(text, "the metadata has more than 1048576 callsites");
	free(text);
}

/* ── packets ─────────────────────────────────────────────────────────────────────────────────────────── */

static size_t pack(uint8_t *out, const char *text, size_t len, bool is_swapped, size_t pad)
{
	const uint32_t content = (uint32_t)(37 + len) * 8, size = content + (uint32_t)pad * 8, magic = 0x75D11D57;
	uint32_t words[] = { magic, content, size };

	for (int i = 0; is_swapped && i < 3; i++)
		words[i] = __builtin_bswap32(words[i]);
	memset(out, 0, 37);
	memcpy(out, &words[0], 4);
	memset(out + 4, 0x42, 16);
	memcpy(out + 24, &words[1], 4);
	memcpy(out + 28, &words[2], 4);
	out[35] = 1;
	out[36] = 8;
	memcpy(out + 37, text, len);
	memset(out + 37 + len, 0, pad);
	return 37 + len + pad;
}

static void text_of_metadata_packets_is_joined_and_damage_reported(void **state)
{
	static const char text[] = TRACE "stream { id = 0; };";
	uint8_t bytes[1024];
	char *got, message[512];
	size_t n, len;
	bool cut;

	(void)state;
	for (int is_swapped = 0; is_swapped < 2; is_swapped++) {
		n = pack(bytes, text, 20, is_swapped, 11);
		n += pack(bytes + n, text + 20, sizeof(text) - 21, is_swapped, 0);
		assert_return_code(wmk_ctf_metadata_text(bytes, n, &got, &len, &cut), 0);
		assert_false(cut);
		assert_int_equal(len, sizeof(text) - 1);
		assert_string_equal(got, text);
		free(got);
		for (size_t short_by = 1; short_by < n; short_by++) {
			assert_return_code(wmk_ctf_metadata_text(bytes, n - short_by, &got, &len, &cut), 0);
			assert_true(cut || n - short_by < 4 || short_by == n - (37 + 20 + 11));
			assert_true(memcmp(got, text, len) == 0 || n - short_by < 4);
			free(got);
		}
		bytes[68 + 5] ^= 1;
		assert_int_equal(wmk_ctf_metadata_text(bytes, n, &got, &len, &cut), -EPROTO);
		assert_non_null(strstr(wmk_error_text(message, sizeof(message)), "byte 68 has another UUID"));
		bytes[68 + 5] ^= 1;
		/* checksums are not verified; the schemes of compression and encryption are undefined */
		bytes[20] = 0x55;
		bytes[34] = 9;
		assert_return_code(wmk_ctf_metadata_text(bytes, n, &got, &len, &cut), 0);
		assert_string_equal(got, text);
		free(got);
		for (int scheme = 32; scheme < 34; scheme++) {
			bytes[68 + scheme] = 3;
			assert_int_equal(wmk_ctf_metadata_text(bytes, n, &got, &len, &cut), -ENOTSUP);
			assert_non_null(strstr(wmk_error_text(message, sizeof(message)),
					       scheme == 32 ? "byte 68 is compressed by the unknown scheme 3"
							    : "byte 68 is encrypted"));
			bytes[68 + scheme] = 0;
		}
	}
}

/*
 * Metadata with `types`, `n_clocks` clocks, the last one named `name`, and so many streams that the search for the
 * clock of each exceeds the limit of comparisons.
 */
static void many_streams(const char *types, unsigned n_clocks, const char *name, const char *stream)
{
	enum { STREAMS = 65536 };
	const size_t size = 1000 + strlen(types) + n_clocks * (strlen(name) + 100) + STREAMS * (strlen(stream) + 60);
	char *text = malloc(size), *p = text, message[2000];
	struct wmk_ctf_class *class;

	p += sprintf(p, "trace { major = 1; minor = 8; byte_order = le; packet.header := struct { integer { size = 32; "
			"} stream_id; }; };\n");
	for (unsigned i = n_clocks; i-- > 0;)
		p += sprintf(p, i ? "clock { name = %s_%u; };\n" : "clock { name = %s; };\n", name, i);
	p += sprintf(p, "%s", types);
	for (unsigned i = 0; i < STREAMS; i++)
		p += sprintf(p, "stream { id = %u; packet.context := %s; };\n", i, stream);
	alarm(HANGS_S);
	assert_int_equal(wmk_ctf_metadata_parse(text, (size_t)(p - text), "m", false, &class), -EPROTO);
	alarm(0);
	assert_non_null(strstr(wmk_error_text(message, sizeof(message)),
			       "the headers of all streams have too many members, "
			       "or the names of clocks are too long"));
	free(text);
}

static void metadata_with_too_many_header_members_is_rejected(void **state)
{
	enum { LONG = 4000, MEMBERS = 9000 };
	char *name = malloc(LONG + 1), *types = malloc(LONG + 40 * MEMBERS), *p = types;

	(void)state;
	memset(name, 'x', LONG);
	name[LONG] = '\0';
	sprintf(types, "typealias struct { integer { size = 8; map = clock.%s.value; } t; } := its;\n", name);
	many_streams(types, 1000, name, "its");
	p += sprintf(p, "typealias integer { size = 8; } := u8;\ntypealias struct { ");
	for (unsigned i = 0; i < MEMBERS; i++)
		p += sprintf(p, "u8 m%u; ", i);
	sprintf(p, "} := its;\n");
	many_streams(types, 2, "c", "its");
	free(types);
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_are_parsed_with_their_attributes),
		cmocka_unit_test(byte_order_applies_before_the_trace_block),
		cmocka_unit_test(c_type_names_are_resolved),
		cmocka_unit_test(enumeration_labels_get_explicit_or_following_values),
		cmocka_unit_test(tsdl_lengths_and_selectors_become_field_references),
		cmocka_unit_test(tsdl_blocks_of_each_kind_are_parsed),
		cmocka_unit_test(unknown_tsdl_entries_become_ctf_2_attributes),
		cmocka_unit_test(tsdl_with_too_many_entries_is_rejected),
		cmocka_unit_test(cut_metadata_keeps_complete_declarations),
		cmocka_unit_test(tsdl_errors_name_line_and_column),
		cmocka_unit_test(endless_nesting_of_tsdl_types_is_rejected),
		cmocka_unit_test(text_of_metadata_packets_is_joined_and_damage_reported),
		cmocka_unit_test(metadata_with_too_many_header_members_is_rejected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
