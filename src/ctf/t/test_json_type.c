/* SPDX-License-Identifier: MIT */
/*
 * test_json_type.c - CTF 2's field classes by CTF2-SPEC-2.0: the types that they become, and their errors.
 */
#include "base/array.h"
#include "json_case.h"

#define BIG(kind, more) "{'type': 'fixed-length-" kind "', 'byte-order': 'big-endian', " more "}"
#define U(more) BITS("unsigned-integer", more)
#define S(more) BITS("signed-integer", more)
#define LENGTH "'length-field-location': {'path': ['l']}"
#define SELECTOR "'selector-field-location': {'path': ['l']}"

struct wrong {
	int err;
	const char *message, *class;
};

static void refuse_all(const struct wrong *wrong, size_t n)
{
	for (size_t i = 0; i < n; i++)
		refuse_field(wrong[i].err, wrong[i].message, wrong[i].class);
}

#define REFUSE_ALL(wrong) refuse_all(wrong, WMK_ARRAY_LEN(wrong))

/* ── numbers ─────────────────────────────────────────────────────────────────────────────────────────── */

static void valid_fixed_length_classes_become_types(void **state)
{
	static const struct {
		const char *class;
		uint8_t kind, width, order, is_reversed, base;
		uint32_t align;
	} fine[] = {
		{ BITS("bit-array", "'length': 16"), WMK_TYPE_INT, 16, WMK_ORDER_LITTLE, 0, 16, 1 },
		{ BITS("boolean", "'length': 1, 'bit-order': 'last-to-first'"), WMK_TYPE_BOOL, 1, WMK_ORDER_LITTLE, 1,
			10, 1 },
		{ U("'length': 64, 'alignment': 32, 'preferred-display-base': 2"), WMK_TYPE_INT, 64, WMK_ORDER_LITTLE,
			0, 2, 32 },
		{ U("'length': 5, 'bit-order': 'first-to-last', 'preferred-display-base': 8"), WMK_TYPE_INT, 5,
			WMK_ORDER_LITTLE, 0, 8, 1 },
		{ BIG("signed-integer", "'length': 7, 'mappings': {}"), WMK_TYPE_INT, 7, WMK_ORDER_BIG, 0, 10, 1 },
		{ BIG("unsigned-integer", "'length': 7, 'bit-order': 'first-to-last'"), WMK_TYPE_INT, 7,
			WMK_ORDER_BIG, 1, 10, 1 },
		{ BIG("unsigned-integer", "'length': 7, 'bit-order': 'last-to-first'"), WMK_TYPE_INT, 7,
			WMK_ORDER_BIG, 0, 10, 1 },
		{ BITS("floating-point-number", "'length': 16"), WMK_TYPE_FLOAT, 16, WMK_ORDER_LITTLE, 0, 10, 1 },
		{ BITS("floating-point-number", "'length': 64, 'alignment': 64"), WMK_TYPE_FLOAT, 64,
			WMK_ORDER_LITTLE, 0, 10, 64 },
	};

	(void)state;
	for (size_t i = 0; i < WMK_ARRAY_LEN(fine); i++) {
		const struct wmk_type *type = field(fine[i].class);

		assert_int_equal(type->kind, fine[i].kind);
		assert_int_equal(type->width, fine[i].width);
		assert_int_equal(type->order, fine[i].order);
		assert_int_equal(type->is_reversed, fine[i].is_reversed);
		assert_int_equal(type->base, fine[i].base);
		assert_int_equal(type->align, fine[i].align);
		assert_int_equal(type->is_signed, strstr(fine[i].class, "-signed") != NULL);
	}
}

static void invalid_fixed_length_classes_are_rejected_with_reason(void **state)
{
	static const struct wrong wrong[] = {
		{ -EPROTO, "meta:3: fragment 3 (event-record-class): 'payload-field-class'/member 1 'x'/'length': "
			"expected + from 1 on, not 0",
		  U("'length': 0") },
		{ -EPROTO, "'length': expected a whole number from 1 on, not '8'", U("'length': '8'") },
		{ -EPROTO, "'length': expected a whole number from 1 on, not 8.0", U("'length': 8.0") },
		{ -EPROTO, "member 1 'x'/'field-class': missing property 'length'", U("'x': 0") },
		{ -ENOTSUP, "a field of 4097 bits", U("'length': 4097") },
		{ -ENOTSUP, "a field of 4097 bits", BITS("boolean", "'length': 4097") },
		{ -EPROTO, "missing property 'byte-order'", "{'type': 'fixed-length-boolean', 'length': 8}" },
		{ -EPROTO, "'byte-order': expected 'little-endian' or 'big-endian', not 'middle'",
		  "{'type': 'fixed-length-boolean', 'length': 8, 'byte-order': 'middle'}" },
		{ -EPROTO, "'byte-order': expected 'little-endian' or 'big-endian', not true",
		  "{'type': 'fixed-length-boolean', 'length': 8, 'byte-order': true}" },
		{ -EPROTO, "'bit-order': expected 'first-to-last' or 'last-to-first', not 0",
			U("'length': 8, 'bit-order': 0") },
		{ -EPROTO, "'alignment': expected a power of two, not 24", U("'length': 8, 'alignment': 24") },
		{ -EPROTO, "'alignment': expected a power of two, not 0", U("'length': 8, 'alignment': 0") },
		{ -E2BIG, "an alignment of 2147483648 bits", U("'length': 8, 'alignment': 2147483648") },
		{ -EPROTO, "'preferred-display-base': expected 2, 8, 10 or 16, not 7",
			U("'length': 8, 'preferred-display-base': 7") },
		{ -EPROTO, "expected 16, 32, 64, 128, or a larger multiple of 32, not 24",
			BITS("floating-point-number", "'length': 24") },
		{ -ENOTSUP, "a field of 8192 bits", BITS("floating-point-number", "'length': 8192") },
		{ -ENOTSUP, "'extensions'/'n' + 'y'", U("'length': 8, 'extensions': {'n': {'y': 1}}") },
		{ -EPROTO, "'attributes': expected an object", U("'length': 8, 'attributes': null") },
		{ -EPROTO, "'type': expected a known type of field class, not 'octet'", "{'type': 'octet'}" },
		{ -EPROTO, "'type': expected a string, not 5", "{'type': 5}" },
		{ -EPROTO, "missing property 'type'", "{}" },
		{ -EPROTO, "'field-class': expected a field class, or the name", "[]" },
	};

	(void)state;
	REFUSE_ALL(wrong);
}

static void variable_length_integers_become_types_of_variable_width(void **state)
{
	const struct wmk_type *type;

	(void)state;
	type = field("{'type': 'variable-length-signed-integer', 'preferred-display-base': 16, 'length': 'ignored'}");
	assert_int_equal(type->kind, WMK_TYPE_INT);
	assert_true(type->is_variable && type->is_signed);
	assert_int_equal(type->base, 16);
	assert_int_equal(type->align, 8);
	type = field("{'type': 'variable-length-unsigned-integer', 'mappings': {'lime': [[3, 3]]}}");
	assert_int_equal(type->kind, WMK_TYPE_ENUM);
	assert_true(type->is_variable && !type->is_signed);
}

static void check_label(const struct wmk_type *type, uint32_t i, const char *name, int64_t from, int64_t to)
{
	assert_true(i < type->count);
	assert_string_equal(type->labels[i].name, name);
	assert_true(type->labels[i].from == from);
	assert_true(type->labels[i].to == to);
}

static void mappings_become_labels_limited_to_possible_values(void **state)
{
	static const struct wrong wrong[] = {
		{ -EPROTO, "'mappings': expected an object, not a list", U("'length': 8, 'mappings': []") },
		{ -EPROTO, "'mappings'/'a': expected a list of at least one range, not a list of 0",
		  U("'length': 8, 'mappings': {'a': []}") },
		{ -EPROTO, "'mappings'/'a'/range 2: expected a range",
		  U("'length': 8, 'mappings': {'a': [[1, 1], [2]]}") },
		{ -EPROTO, "'a'/range 1/number 2: expected a whole number, not 'x'",
		  U("'length': 8, 'mappings': {'a': [[1, 'x']]}") },
		{ -EPROTO, "the upper bound of a range is less than its lower bound",
		  U("'length': 8, 'mappings': {'a': [[2, 1]]}") },
		{ -EPROTO, "the upper bound of a range is less than its lower bound",
		  U("'length': 8, 'mappings': {'a': [[9223372036854775808, -1]]}") },
	};
	const struct wmk_type *type;

	(void)state;
	type = field(S("'length': 32, 'mappings': {'banana': [[-27399, -1882], [8, 199]], 'or\\u00e4nge': [[67, 67]]}"
		));
	assert_int_equal(type->kind, WMK_TYPE_ENUM);
	assert_int_equal(type->count, 3);
	check_label(type, 0, "banana", -27399, -1882);
	check_label(type, 1, "banana", 8, 199);
	check_label(type, 2, "or\xc3\xa4nge", 67, 67);
	type = field(U("'length': 64, 'mappings': {'big': [[9223372036854775808, 18446744073709551615]], 'low': [[-5,"
		" 3], [-9, -1]]}"));
	assert_int_equal(type->count, 2);
	check_label(type, 0, "big", INT64_MIN, -1);
	check_label(type, 1, "low", 0, 3);
	type = field(S("'length': 64, 'mappings': {'big': [[5, 18446744073709551615], [9223372036854775808, "
		"9223372036854775809]]}"));
	assert_int_equal(type->count, 1);
	check_label(type, 0, "big", 5, INT64_MAX);
	/* a label without a possible value: the number has no labels */
	assert_int_equal(field(U("'length': 8, 'mappings': {'never': [[-2, -1]]}"))->kind, WMK_TYPE_INT);
	REFUSE_ALL(wrong);
}

static void bit_maps_become_flags_limited_to_their_length(void **state)
{
	static const struct wrong wrong[] = {
		{ -EPROTO, "missing property 'flags'", BITS("bit-map", "'length': 8") },
		{ -EPROTO, "'flags': expected an object with at least one flag",
		  BITS("bit-map", "'length': 8, 'flags': {}") },
		{ -EPROTO, "'flags'/'a': expected a list of at least one range, not 5",
		  BITS("bit-map", "'length': 8, 'flags': {'a': 5}") },
	};
	const struct wmk_type *type =
		field(BITS("bit-map", "'length': 16, 'flags': {'RED': [[0, 2], [4, 4], [10, 10]], 'NONE': [[16, 99]],"
			" 'HIGH': [[15, 70]]}"));

	(void)state;
	assert_int_equal(type->kind, WMK_TYPE_FLAGS);
	assert_int_equal(type->count, 2);
	check_label(type, 0, "RED", 0x417, 0x417);
	check_label(type, 1, "HIGH", 0x8000, 0x8000);
	type = field(BITS("bit-map", "'length': 64, 'flags': {'ALL': [[0, 63]]}"));
	check_label(type, 0, "ALL", -1, -1);
	REFUSE_ALL(wrong);
}

/* ── texts, blobs, arrays ────────────────────────────────────────────────────────────────────────────── */

static void text_classes_become_types_of_their_encoding(void **state)
{
	static const struct wrong wrong[] = {
		{ -EPROTO, "'encoding': expected 'utf-8', 'utf-16le', 'utf-16be', 'utf-32le' or 'utf-32be', not "
			"'latin-1'",
		  "{'type': 'null-terminated-string', 'encoding': 'latin-1'}" },
		{ -EPROTO, "missing property 'length'", "{'type': 'static-length-string'}" },
		{ -EPROTO, "'length': expected a whole number from 0 on, not -1",
		  "{'type': 'static-length-blob', 'length': -1}" },
		{ -E2BIG, "a length of 4294967296", "{'type': 'static-length-string', 'length': 4294967296}" },
		{ -EPROTO, "missing property 'length-field-location'", "{'type': 'dynamic-length-blob'}" },
		{ -EPROTO, "'media-type': expected a string",
		  "{'type': 'static-length-blob', 'length': 1, 'media-type': {}}" },
	};
	const struct wmk_type *type = field("{'type': 'null-terminated-string', 'encoding': 'utf-16le'}");

	(void)state;
	assert_int_equal(type->kind, WMK_TYPE_STRING);
	assert_int_equal(type->encoding, WMK_ENCODING_UTF16LE);
	assert_int_equal(type->align, 8);
	type = field("{'type': 'static-length-string', 'length': 100, 'encoding': 'utf-32be'}");
	assert_int_equal(type->kind, WMK_TYPE_ARRAY);
	assert_true(type->is_text && type->elem->kind == WMK_TYPE_INT && type->elem->width ==
		8 && type->elem->align == 8);
	assert_int_equal(type->encoding, WMK_ENCODING_UTF32BE);
	assert_int_equal(type->count, 100);
	type = field("{'type': 'dynamic-length-string', " LENGTH "}");
	assert_int_equal(type->kind, WMK_TYPE_SEQUENCE);
	assert_true(type->is_text && type->elem->width == 8);
	assert_int_equal(type->encoding, WMK_ENCODING_UTF8);
	assert_string_equal(type->ref->names[0], "l");
	type = field("{'type': 'static-length-blob', 'length': 0, 'media-type': 'image/tiff'}");
	assert_int_equal(type->kind, WMK_TYPE_BLOB);
	assert_int_equal(type->count, 0);
	assert_null(type->ref);
	assert_string_equal(type->media, "image/tiff");
	type = field("{'type': 'dynamic-length-blob', " LENGTH "}");
	assert_int_equal(type->kind, WMK_TYPE_BLOB);
	assert_non_null(type->ref);
	assert_null(type->media);
	REFUSE_ALL(wrong);
}

/* Structures and arrays have at least the alignment of their contents; optional fields have none (section 6.4.1). */
static void structures_and_arrays_take_the_alignment_of_their_contents(void **state)
{
	static const struct wrong wrong[] = {
		{ -EPROTO, "'member-classes': expected a list, not an object",
			"{'type': 'structure', 'member-classes': {}}" },
		{ -EPROTO, "member 1 'x'/member 2: expected an object, not 5", STRUCT(MEMBER("a", U8) ", 5") },
		{ -EPROTO, "member 1 'x'/member 1: missing property 'name'", STRUCT("{'field-class': 'a'}") },
		{ -EPROTO, "member 1 'a': missing property 'field-class'", STRUCT("{'name': 'a'}") },
		{ -EPROTO, "member 2 'a': duplicate name", STRUCT(MEMBER("a", U8) "," MEMBER("a", U8)) },
		{ -ENOTSUP, "member 1 'a'/'extensions'/'x'",
		  STRUCT("{'name': 'a', 'field-class': " U8 ", 'extensions': {'x': {'y': 1}}}") },
		{ -EPROTO, "'minimum-alignment': expected a power of two, not 3",
		  "{'type': 'structure', 'minimum-alignment': 3}" },
		{ -EPROTO, "missing property 'element-field-class'", "{'type': 'static-length-array', 'length': 1}" },
		{ -EPROTO, "missing property 'length'",
		  "{'type': 'static-length-array', 'element-field-class': " U8 "}" },
		{ -E2BIG, "a length of 18446744073709551615",
		  "{'type': 'static-length-array', 'length': 18446744073709551615, 'element-field-class': " U8 "}" },
		{ -EPROTO, "'x'/'element-field-class'/'length': expected a whole number",
		  "{'type': 'static-length-array', 'length': 1, 'element-field-class': " U("'length': null") "}" },
	};
	const struct wmk_type *type = field(STRUCT(MEMBER("a", U8) "," MEMBER("b", U("'length': 8, 'alignment': 16"))));

	(void)state;
	assert_int_equal(type->kind, WMK_TYPE_STRUCT);
	assert_int_equal(type->count, 2);
	assert_string_equal(type->members[1].name, "b");
	assert_int_equal(type->align, 16);
	type = field("{'type': 'structure', 'minimum-alignment': 64}");
	assert_int_equal(type->count, 0);
	assert_int_equal(type->align, 64);
	assert_int_equal(field("{'type': 'structure'}")->align, 1);
	type = field("{'type': 'static-length-array', 'length': 32, 'minimum-alignment': 32, 'element-field-class': "
		     BITS("boolean", "'length': 1") "}");
	assert_int_equal(type->kind, WMK_TYPE_ARRAY);
	assert_int_equal(type->count, 32);
	assert_int_equal(type->align, 32);
	assert_int_equal(type->elem->kind, WMK_TYPE_BOOL);
	assert_int_equal(type->elem->align, 1);
	type = field("{'type': 'dynamic-length-array', " LENGTH ", 'element-field-class': "
		     STRUCT(MEMBER("s", "{'type': 'null-terminated-string'}")) "}");
	assert_int_equal(type->kind, WMK_TYPE_SEQUENCE);
	assert_int_equal(type->align, 8);
	assert_int_equal(type->elem->kind, WMK_TYPE_STRUCT);
	REFUSE_ALL(wrong);
}

/* ── selectors ───────────────────────────────────────────────────────────────────────────────────────── */

static void optional_class_becomes_a_type_with_selector_ranges(void **state)
{
	static const struct wrong wrong[] = {
		{ -EPROTO, "missing property 'field-class'", "{'type': 'optional', " SELECTOR "}" },
		{ -EPROTO, "missing property 'selector-field-location'",
		  "{'type': 'optional', 'field-class': " U8 "}" },
		{ -EPROTO, "'selector-field-ranges': expected a list of at least one range",
		  "{'type': 'optional', " SELECTOR ", 'selector-field-ranges': []}" },
		{ -ENOTSUP, "both negative numbers and numbers above",
		  "{'type': 'optional', " SELECTOR ", 'selector-field-ranges': [[-1, 18446744073709551615]]}" },
	};
	const struct wmk_type *type = field("{'type': 'optional', " SELECTOR ", 'field-class': "
		U("'length': 8, 'alignment': 8") "}");

	(void)state;
	assert_int_equal(type->kind, WMK_TYPE_OPTIONAL);
	assert_int_equal(type->align, 1);
	assert_int_equal(type->elem->align, 8);
	assert_int_equal(type->n_ranges, 0);
	type = field("{'type': 'optional', " SELECTOR
		", 'selector-field-ranges': [[-12, -12], [15, 35]], 'field-class': " U8 "}");
	assert_int_equal(type->n_ranges, 2);
	assert_true(type->is_signed);
	assert_int_equal(type->ranges[0].from, -12);
	assert_int_equal(type->ranges[1].to, 35);
	REFUSE_ALL(wrong);
}

#define VARIANT(options) "{'type': 'variant', " SELECTOR ", 'options': [" options "]}"
#define OPTION(more, ranges) "{" more "'selector-field-ranges': [" ranges "], 'field-class': " U8 "}"

static void variant_options_become_sorted_ranges_and_overlaps_are_rejected(void **state)
{
	static const struct wrong wrong[] = {
		{ -EPROTO, "'options': expected at least one option", VARIANT("") },
		{ -EPROTO, "missing property 'options'", "{'type': 'variant', " SELECTOR "}" },
		{ -EPROTO, "option 2: expected an object, not 'a'", VARIANT(OPTION("", "[1, 1]") ", 'a'") },
		{ -EPROTO, "option 1: missing property 'selector-field-ranges'", VARIANT("{'field-class': " U8 "}") },
		{ -EPROTO, "option 1 'a': missing property 'field-class'",
		  VARIANT("{'name': 'a', 'selector-field-ranges': [[1, 1]]}") },
		{ -EPROTO, "option 2 'a': duplicate name",
		  VARIANT(OPTION("'name': 'a', ", "[1, 1]") "," OPTION("'name': 'a', ", "[2, 2]")) },
		{ -EPROTO, "'a' and 'b' have values in common",
		  VARIANT(OPTION("'name': 'b', ", "[7, 9]") "," OPTION("'name': 'a', ", "[1, 2], [3, 8], [4, 5]")) },
		{ -EPROTO, "values in common",
		  VARIANT(OPTION("", "[0, 18446744073709551615]") "," OPTION("", "[9223372036854775808, "
										 "9223372036854775808]")) },
		{ -EPROTO, "values in common", VARIANT(OPTION("", "[-9, 9]") "," OPTION("", "[-1, -1]")) },
		{ -ENOTSUP, "option 1/'extensions'/'x'", VARIANT(OPTION("'extensions': {'x': {'y': 0}}, ", "[1, 1]")) },
	};
	const struct wmk_type *type;

	(void)state;
	type = field(VARIANT(OPTION("", "[5, 5], [1, 2]") "," OPTION("'name': '#1', ", "[-3, -2]") "," OPTION("",
		"[6, 8]")));
	assert_int_equal(type->kind, WMK_TYPE_VARIANT);
	assert_int_equal(type->align, 1);
	assert_int_equal(type->count, 3);
	/* generated names of unnamed options are unique */
	assert_string_equal(type->members[0].name, "#1.1");
	assert_string_equal(type->members[1].name, "#1");
	assert_string_equal(type->members[2].name, "#3");
	assert_true(type->is_signed);
	assert_int_equal(type->n_ranges, 4);
	assert_int_equal(type->ranges[0].from, -3);
	assert_string_equal(type->ranges[0].name, "#1");
	assert_int_equal(type->ranges[1].from, 1);
	assert_string_equal(type->ranges[1].name, "#1.1");
	assert_int_equal(type->ranges[2].from, 5);
	assert_int_equal(type->ranges[3].to, 8);
	type = field(VARIANT(OPTION("", "[18446744073709551615, 18446744073709551615]") "," OPTION("",
		"[0, 0], [0, 4]")));
	assert_false(type->is_signed);
	assert_int_equal(type->ranges[0].from, 0);
	assert_true(type->ranges[2].from == -1);
	REFUSE_ALL(wrong);
}

#define BLOB(location) "{'type': 'dynamic-length-blob', 'length-field-location': " location "}"

static void location_becomes_a_reference_with_scope_and_names(void **state)
{
	static const char *const origins[] = { "packet-header", "packet-context", "event-record-header",
		"event-record-common-context",
					       "event-record-specific-context", "event-record-payload" };
	static const struct wrong wrong[] = {
		{ -EPROTO, "'length-field-location': expected an object, not a list of 1", BLOB("['a']") },
		{ -EPROTO, "'length-field-location': missing property 'path'", BLOB("{}") },
		{ -EPROTO, "'length-field-location'/'path': the last element", BLOB("{'path': []}") },
		{ -EPROTO, "'path': the last element of the path must be a name", BLOB("{'path': ['a', null]}") },
		{ -EPROTO, "'length-field-location'/step 2: expected a string, not 5", BLOB("{'path': ['a', 5]}") },
		{ -EPROTO, "'origin': expected 'packet-header', 'packet-context'",
			BLOB("{'path': ['a'], 'origin': 'here'}") },
	};
	const struct wmk_ref *ref;
	char text[200];

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		snprintf(text, sizeof(text), BLOB("{'origin': '%s', 'path': ['a', 'b']}"), origins[i]);
		ref = field(text)->ref;
		assert_int_equal(ref->scope, WMK_SCOPE_PACKET_HEADER + i);
		assert_int_equal(ref->n, 2);
		assert_string_equal(ref->names[1], "b");
	}
	ref = field(BLOB("{'path': [null, null, 'mini', 'stop']}"))->ref;
	assert_int_equal(ref->scope, WMK_SCOPE_NEAR);
	assert_int_equal(ref->n, 4);
	assert_null(ref->names[1]);
	assert_string_equal(ref->names[2], "mini");
	/* a path that leaves the structure it has just entered */
	ref = field(BLOB("{'path': [null, 'a', 'b', null, null, 'c']}"))->ref;
	assert_int_equal(ref->n, 2);
	assert_null(ref->names[0]);
	assert_string_equal(ref->names[1], "c");
	REFUSE_ALL(wrong);
}

/* ── roles ───────────────────────────────────────────────────────────────────────────────────────────── */

#define HEADER(members) "{'type': 'trace-class', 'packet-header-field-class': " STRUCT(members) "}"
#define CONTEXT(more, class) \
	"{'type': 'data-stream-class', " more "'packet-context-field-class': " STRUCT(MEMBER("x", class)) "}"
#define ROLE(name) "{'type': 'variable-length-unsigned-integer', 'roles': [" name "]}"

static void roles_apply_only_in_scopes_that_allow_them(void **state)
{
	static const struct {
		const char *name;
		int context, header, packet_header;
	} roles[] = {
		{ "packet-total-length", WMK_ROLE_PACKET_SIZE, 0, 0 }, { "packet-content-length",
			WMK_ROLE_CONTENT_SIZE, 0, 0 },
		{ "default-clock-timestamp", WMK_ROLE_BEGIN, WMK_ROLE_TIME, 0 }, {
			"packet-end-default-clock-timestamp", WMK_ROLE_END, 0, 0 },
		{ "discarded-event-record-counter-snapshot", WMK_ROLE_LOST, 0, 0 }, { "packet-sequence-number",
			WMK_ROLE_SEQUENCE, 0, 0 },
		{ "event-record-class-id", 0, WMK_ROLE_EVENT_CLASS, 0 }, { "data-stream-class-id", 0, 0,
			WMK_ROLE_STREAM_CLASS },
		{ "data-stream-id", 0, 0, WMK_ROLE_STREAM },
	};
	char alias[500];

	(void)state;
	for (size_t i = 0; i < WMK_ARRAY_LEN(roles); i++) {
		snprintf(alias, sizeof(alias), ALIAS("r", STRUCT(MEMBER("x", ROLE("'%s'")))), roles[i].name);
		ACCEPT(alias, "{'type': 'trace-class', 'packet-header-field-class': 'r'}", CLOCK,
		       "{'type': 'data-stream-class', 'default-clock-class-id': 'c', 'packet-context-field-class': 'r',"
		       "'event-record-header-field-class': 'r', 'event-record-common-context-field-class': 'r'}");
		assert_int_equal(class->packet_header->members[0].type.roles, WMK_ROLE_BIT(roles[i].packet_header));
		assert_int_equal(class->streams[0]->packet_context->members[0].type.roles,
			WMK_ROLE_BIT(roles[i].context));
		assert_int_equal(class->streams[0]->event_header->members[0].type.roles, WMK_ROLE_BIT(roles[i].header));
		assert_int_equal(class->streams[0]->event_context->members[0].type.roles, WMK_ROLE_BIT(WMK_ROLE_NONE));
	}
	REFUSE(-EPROTO, "member 1 'x'/role 1: expected the name of a role, not 'king'", CONTEXT("", ROLE("'king'")));
	REFUSE(-EPROTO, "role 1: expected the name of a role, not 5", CONTEXT("", ROLE("5")));
	REFUSE(-EPROTO, "missing 'default-clock-class-id': the 'packet-context-field-class' contains times",
	       CONTEXT("", ROLE("'default-clock-timestamp'")));
	refuse_field(-EPROTO, "'roles': expected a list, not 'king'",
		     "{'type': 'variable-length-unsigned-integer', 'roles': 'king'}");
	refuse_field(-EPROTO, "'roles': a signed integer cannot have roles",
		     "{'type': 'variable-length-signed-integer', 'roles': []}");
	refuse_field(-EPROTO, "expected a role that a number can have", ROLE("'metadata-stream-uuid'"));
	refuse_field(-EPROTO, "expected a role that a blob can have",
		     "{'type': 'static-length-blob', 'length': 16, 'roles': ['data-stream-id']}");
}

/* Several roles: those that are valid in the scope are kept, and the conditions of each are checked. */
static void field_keeps_only_the_roles_that_are_valid_in_its_scope(void **state)
{
	(void)state;
	ACCEPT(CLOCK, CONTEXT("'default-clock-class-id': 'c', ",
		ROLE("'packet-sequence-number', 'event-record-class-id', 'packet-end-default-clock-timestamp',"

			"'packet-sequence-number', 'default-clock-timestamp'")));
	assert_int_equal(class->streams[0]->packet_context->members[0].type.roles,
			 WMK_ROLE_BIT(WMK_ROLE_BEGIN) | WMK_ROLE_BIT(WMK_ROLE_END) | WMK_ROLE_BIT(WMK_ROLE_SEQUENCE));
	ACCEPT(HEADER(MEMBER("m", U("'length': 32, 'roles': ['data-stream-class-id', 'packet-magic-number', "
				    "'data-stream-id']"))));
	assert_int_equal(class->packet_header->members[0].type.roles, WMK_ROLE_BIT(WMK_ROLE_MAGIC) |
									      WMK_ROLE_BIT(WMK_ROLE_STREAM_CLASS) |
									      WMK_ROLE_BIT(WMK_ROLE_STREAM));
	/* (a field with a role does not get the role of the CPU) */
	ACCEPT("{'type': 'data-stream-class', 'packet-context-field-class': " STRUCT(
		MEMBER("cpu_id", ROLE("'packet-sequence-number'"))) "}");
	assert_int_equal(class->streams[0]->packet_context->members[0].type.roles, WMK_ROLE_BIT(WMK_ROLE_SEQUENCE));
	REFUSE(-EPROTO, "member 1 'm'/role 2: + a fixed length of 32 bits",
	       HEADER(MEMBER("m", U("'length': 8, 'roles': ['data-stream-id', 'packet-magic-number']"))));
	REFUSE(-EPROTO, "member 1 'x'/role 2: expected the name of a role, not 'king'",
	       CONTEXT("", ROLE("'packet-total-length', 'king'")));
	REFUSE(-EPROTO, "missing 'default-clock-class-id'",
	       CONTEXT("", ROLE("'packet-end-default-clock-timestamp', 'packet-sequence-number'")));
}

static void packet_header_role_with_wrong_place_or_size_is_rejected(void **state)
{
	static const char magic[] = HEADER(MEMBER("m", U("'length': 32, 'roles': ['packet-magic-number']")));

	(void)state;
	ACCEPT(magic);
	assert_int_equal(class->packet_header->members[0].type.roles, WMK_ROLE_BIT(WMK_ROLE_MAGIC));
	REFUSE(-EPROTO, "a fixed length of 32 bits",
	       HEADER(MEMBER("m", U("'length': 31, 'roles': ['packet-magic-number']"))));
	REFUSE(-EPROTO, "a fixed length of 32 bits", HEADER(MEMBER("m", ROLE("'packet-magic-number'"))));
	REFUSE(-EPROTO, "not as member 2", HEADER(MEMBER("x", ROLE("'data-stream-id'")) ","
						  MEMBER("m", U("'length': 32, 'roles': ['packet-magic-number']"))));
	REFUSE(-EPROTO, "the property 'uuid' of the preamble",
	       HEADER(MEMBER("u", "{'type': 'static-length-blob', 'length': 16, 'roles': ['metadata-stream-uuid']}")));
	refuse(-EPROTO, "must have 16 bytes, not 15",
	       (const char *const[]){
		       "{'type': 'preamble', 'version': 2, 'uuid': [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}",
		       HEADER(MEMBER("u", "{'type': 'static-length-blob', 'length': 15, 'roles': "
					  "['metadata-stream-uuid']}")),
		       NULL });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(valid_fixed_length_classes_become_types, drop),
		cmocka_unit_test_teardown(invalid_fixed_length_classes_are_rejected_with_reason, drop),
		cmocka_unit_test_teardown(variable_length_integers_become_types_of_variable_width, drop),
		cmocka_unit_test_teardown(mappings_become_labels_limited_to_possible_values, drop),
		cmocka_unit_test_teardown(bit_maps_become_flags_limited_to_their_length, drop),
		cmocka_unit_test_teardown(text_classes_become_types_of_their_encoding, drop),
		cmocka_unit_test_teardown(structures_and_arrays_take_the_alignment_of_their_contents, drop),
		cmocka_unit_test_teardown(optional_class_becomes_a_type_with_selector_ranges, drop),
		cmocka_unit_test_teardown(variant_options_become_sorted_ranges_and_overlaps_are_rejected, drop),
		cmocka_unit_test_teardown(location_becomes_a_reference_with_scope_and_names, drop),
		cmocka_unit_test_teardown(roles_apply_only_in_scopes_that_allow_them, drop),
		cmocka_unit_test_teardown(field_keeps_only_the_roles_that_are_valid_in_its_scope, drop),
		cmocka_unit_test_teardown(packet_header_role_with_wrong_place_or_size_is_rejected, drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
