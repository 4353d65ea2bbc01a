/* SPDX-License-Identifier: MIT */
/* test_desc.c - from descriptors, as the compiler lays them out, to event classes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/error.h"
#include "schema/schema.h"

static const uint64_t key[2] = { 0x243f6a8885a308d3, 0x13198a2e03707344 };

static struct wmk_event_class *build(const struct waymark_field *fields, unsigned n)
{
	const struct waymark_desc desc = { .size = sizeof(desc),
					   .version = WAYMARK_ABI_VERSION,
					   .level = WAYMARK_LEVEL_INFO,
					   .provider = "shop",
					   .name = "paid",
					   .file = "a.c",
					   .function = "f",
					   .line = 7,
					   .n_fields = n,
					   .fields = fields };
	struct wmk_event_class *event = NULL;

	return wmk_event_from_desc(&desc, &event) == 0 ? event : NULL;
}

static void assert_name(const char *text, const char *expected)
{
	const struct waymark_field field = { .type = WAYMARK_T_S32, .name = text };
	struct wmk_event_class *event = build(&field, 1);

	assert_non_null(event);
	assert_string_equal(event->fields[0].name, expected);
	wmk_event_class_free(event);
}

static void field_names_come_from_expressions_or_their_position(void **state)
{
	static const char *const table[][2] = {
		{ "order_id", "order_id" },
		{ "a.m", "m" },
		{ "a->m", "m" },
		{ "a -> b . c", "c" },
		{ "a[i].m", "m" },
		{ "f(x)->m", "m" },
		{ "(*p).m", "m" },
		{ "a + b", "arg1" },
		{ "f(x)", "arg1" },
		{ "&x", "arg1" },
		{ "a[1]", "arg1" },
		{ "42", "arg1" },
		{ "1.f", "arg1" },
		{ "0x1.f", "arg1" },
		{ "\"text\"", "arg1" },
		{ "\"a.b\"", "arg1" },
		{ "(int)x", "arg1" },
		{ "", "arg1" },
		{ "a::b", "arg1" },
		{ "a>b", "arg1" },
		{ "-> b", "arg1" },
		{ ".b", "arg1" },
		{ "wm_hex(flags)", "flags" },
		{ "wm_hex(p->flags)", "flags" },
		{ "wm_bytes(payload, len)", "payload" },
		{ "wm_field(int, prev_tid, prev->tid)", "prev_tid" },
		{ "wm_enum(states, o->state)", "state" },
		{ "wm_named(\"peer\", ip)", "peer" },
		{ "wm_named(\"peer\", wm_hex(ip))", "peer" },
		{ "wm_hex(wm_be(x))", "x" },
		{ "wm_unit(\"ms\", took)", "took" },
		{ "wm_unit(\"ms\", wm_field(long, took, end - begin))", "took" },
		{ "wm_media(\"image/png\", o->icon, len)", "icon" },
		{ "wm_named(\"a-b c\", ip)", "a_b_c" },
		{ "wm_named(\"9lives\", ip)", "_9lives" },
		{ "wm_text(f(a, b), n)", "arg1" },
		{ "wm_text(g(')', \",)\").s, n)", "s" },
		{ "wm_hex(a) + wm_hex(b)", "arg1" },
		{ "wm_hex(a", "arg1" },
		{ "wm_x", "wm_x" },
		{ "wm_hex()", "arg1" },
	};

	(void)state;
	for (size_t i = 0; i < WMK_ARRAY_LEN(table); i++)
		assert_name(table[i][0], table[i][1]);
}

static void macros_set_unit_and_media_type_of_a_field(void **state)
{
	static const struct {
		uint8_t type;
		const char *text, *unit, *media;
	} table[] = {
		{ WAYMARK_T_S32, "wm_unit(\"ms\", took)", "ms", NULL },
		{ WAYMARK_T_S32, "wm_named(\"a\", wm_unit(\"KiB/s\", wm_hex(x)))", "KiB/s", NULL },
		{ WAYMARK_T_ENUM, "wm_unit(\"\", x)", NULL, NULL },
		{ WAYMARK_T_S32, "wm_unit(ms, x)", NULL, NULL },
		{ WAYMARK_T_S32, "wm_unit(\"ms\", x) + 1", NULL, NULL },
		{ WAYMARK_T_S32, "f(\"wm_unit(\", x)", NULL, NULL },
		{ WAYMARK_T_BYTES, "wm_media(\"image/png\", p, n)", NULL, "image/png" },
		{ WAYMARK_T_BYTES, "wm_named(\"i\", wm_unit(\"px\", wm_media(\"a/b\", p, n)))", "px", "a/b" },
		{ WAYMARK_T_S32, "wm_media(\"image/png\", p, n)", NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < WMK_ARRAY_LEN(table); i++) {
		const struct waymark_field field = { .type = table[i].type,
						     .elem = WAYMARK_T_S32,
						     .name = table[i].text };
		struct wmk_event_class *event = build(&field, 1);
		const char *unit, *media;

		assert_non_null(event);
		unit = event->fields[0].unit;
		media = event->fields[0].type.kind == WMK_TYPE_BLOB ? event->fields[0].type.media : NULL;
		assert_int_equal(unit != NULL, table[i].unit != NULL);
		assert_int_equal(media != NULL, table[i].media != NULL);
		assert_true(!unit || strcmp(unit, table[i].unit) == 0);
		assert_true(!media || strcmp(media, table[i].media) == 0);
		wmk_event_class_free(event);
	}
}

static void repeated_field_names_get_unique_suffixes(void **state)
{
	const struct waymark_field fields[] = {
		{ .type = WAYMARK_T_S32, .name = "x" },
		{ .type = WAYMARK_T_S32, .name = "a.x" },
		{ .type = WAYMARK_T_S32, .name = "x_2" },
		{ .type = WAYMARK_T_S32, .name = "b->x" },
		{ .type = WAYMARK_T_S32, .name = "1 + 1" },
		{ .type = WAYMARK_T_S32, .name = "the name.x", .flags = WAYMARK_F_NAMED },
		{ .type = WAYMARK_T_S32, .name = NULL },
	};
	static const char *const names[] = { "x", "x_2", "x_2_2", "x_3", "arg5", "the_name_x", "arg7" };
	struct wmk_event_class *event = build(fields, 7);

	(void)state;
	assert_non_null(event);
	for (int i = 0; i < 7; i++)
		assert_string_equal(event->fields[i].name, names[i]);
	wmk_event_class_free(event);
}

static void assert_type(const struct waymark_field *field, uint8_t kind, uint8_t width, uint8_t is_signed, uint8_t base,
			uint8_t order)
{
	struct wmk_event_class *event = build(field, 1);

	assert_non_null(event);
	const struct wmk_type *type = &event->fields[0].type, *scalar = type->elem ? type->elem : type;
	assert_int_equal(type->kind, kind);
	assert_int_equal(scalar->width, width);
	assert_int_equal(scalar->is_signed, is_signed);
	assert_int_equal(scalar->base, base);
	assert_int_equal(scalar->order, order);
	wmk_event_class_free(event);
}

#define TYPE(...) &(const struct waymark_field){ .name = "x", __VA_ARGS__ }

static void field_types_come_from_descriptors(void **state)
{
	static const struct waymark_label label = { "one", 1, 1 };
	static const struct waymark_labels labels = { "numbers", 1, 0, &label }, none = { "none", 0, 0, NULL };

	(void)state;
	assert_type(TYPE(.type = WAYMARK_T_S8), WMK_TYPE_INT, 8, 1, 10, 0);
	assert_type(TYPE(.type = WAYMARK_T_U64), WMK_TYPE_INT, 64, 0, 10, 0);
	assert_type(TYPE(.type = WAYMARK_T_U16, .flags = WAYMARK_F_BE | WAYMARK_F_HEX), WMK_TYPE_INT, 16, 0, 16,
		    WMK_ORDER_BIG);
	assert_type(TYPE(.type = WAYMARK_T_U32, .flags = WAYMARK_F_OCT), WMK_TYPE_INT, 32, 0, 8, 0);
	assert_type(TYPE(.type = WAYMARK_T_BOOL), WMK_TYPE_BOOL, 8, 0, 10, 0);
	assert_type(TYPE(.type = WAYMARK_T_FLOAT), WMK_TYPE_FLOAT, 32, 1, 10, 0);
	assert_type(TYPE(.type = WAYMARK_T_DOUBLE), WMK_TYPE_FLOAT, 64, 1, 10, 0);
	assert_type(TYPE(.type = WAYMARK_T_POINTER), WMK_TYPE_INT, 64, 0, 16, 0);
	assert_type(TYPE(.type = WAYMARK_T_STRING), WMK_TYPE_STRING, 0, 0, 0, 0);
	assert_type(TYPE(.type = WAYMARK_T_TEXT), WMK_TYPE_STRING, 0, 0, 0, 0);
	assert_type(TYPE(.type = WAYMARK_T_BYTES, .media = "image/png"), WMK_TYPE_BLOB, 0, 0, 0, 0);
	assert_type(TYPE(.type = WAYMARK_T_SEQ, .elem = WAYMARK_T_S16), WMK_TYPE_SEQUENCE, 16, 1, 10, 0);
	assert_type(TYPE(.type = WAYMARK_T_ARRAY, .elem = WAYMARK_T_DOUBLE, .count = 3), WMK_TYPE_ARRAY, 64, 1, 10, 0);
	assert_type(TYPE(.type = WAYMARK_T_ENUM, .elem = WAYMARK_T_S32, .labels = &labels), WMK_TYPE_ENUM, 32, 1, 10,
		    0);
	assert_type(TYPE(.type = WAYMARK_T_FLAGS, .elem = WAYMARK_T_U8, .labels = &labels), WMK_TYPE_FLAGS, 8, 0, 10,
		    0);
	assert_type(TYPE(.type = WAYMARK_T_ENUM, .elem = WAYMARK_T_S32, .labels = &none), WMK_TYPE_INT, 32, 1, 10, 0);
}

static void assert_refused(const struct waymark_desc *desc, const char *words)
{
	struct wmk_event_class *event;
	char text[1024];

	assert_int_equal(wmk_event_from_desc(desc, &event), -EINVAL);
	wmk_error_text(text, sizeof(text));
	if (!strstr(text, words))
		fail_msg("'%s' does not contain '%s'", text, words);
}

static void invalid_descriptors_are_refused_with_reason(void **state)
{
	static const struct waymark_label big = { "big", 256, 256 };
	static const struct waymark_labels labels = { "l", 1, 0, &big };
	static const struct waymark_field fields[33] = { { .type = WAYMARK_T_S32, .name = "x" } },
					  none = { .type = WAYMARK_T_NONE, .name = "x" },
					  empty = { .type = WAYMARK_T_ARRAY, .elem = WAYMARK_T_U8, .name = "x" },
					  text = { .type = WAYMARK_T_STRING, .name = "x" },
					  nested = { .type = WAYMARK_T_SEQ, .elem = WAYMARK_T_STRING, .name = "x" },
					  range = { .type = WAYMARK_T_ENUM,
						    .elem = WAYMARK_T_U8,
						    .name = "x",
						    .labels = &labels };

	(void)state;
#define DESC(...)                                                                                                      \
	&(const struct waymark_desc){ .size = sizeof(struct waymark_desc), .provider = "p", .name = "n", __VA_ARGS__ }
	assert_refused(DESC(.n_fields = 33, .fields = fields), "33 fields");
	assert_refused(DESC(.n_fields = 1, .fields = &none), "type");
	assert_refused(DESC(.n_fields = 1, .fields = &empty), "array of 0");
	assert_refused(DESC(.n_fields = 1, .fields = &nested), "elements of type");
	assert_refused(DESC(.n_fields = 1, .fields = &range), "does not fit into 8 bits");
	assert_refused(DESC(.n_fields = 1), "without descriptions");
	assert_refused(DESC(.kind = WAYMARK_KIND_GUARD), "guard");
	assert_refused(DESC(.kind = WAYMARK_KIND_COUNTER + 1), "kind 7");
	assert_refused(DESC(.kind = WAYMARK_KIND_COUNTER), "counter must be a number");
	assert_refused(DESC(.kind = WAYMARK_KIND_COUNTER, .n_fields = 1, .fields = &text), "counter must be a number");
	assert_refused(DESC(.kind = WAYMARK_KIND_BEGIN, .n_fields = 1), "without descriptions");
	assert_refused(DESC(.kind = WAYMARK_KIND_MARKER), "no format");
	assert_refused(DESC(.level = 15), "level");
	assert_refused(DESC(.kind = WAYMARK_KIND_MARKER, .text = "%d"), "the call has 0");
#undef DESC
#define DESC(...) &(const struct waymark_desc){ .size = sizeof(struct waymark_desc), __VA_ARGS__ }
	assert_refused(DESC(.provider = "a:b", .name = "n"), "provider");
	assert_refused(DESC(.provider = "", .name = "n"), "provider");
	assert_refused(DESC(.provider = "p", .name = "a\"b"), "name");
	assert_refused(DESC(.provider = "p", .name = NULL), "name");
#undef DESC
}

static void span_and_counter_events_have_their_own_class_and_uri(void **state)
{
	static const struct waymark_field field = { .type = WAYMARK_T_S32, .name = "value" };
	struct waymark_desc desc = {
		.size = sizeof(desc), .provider = "p", .name = "n_begin", .n_fields = 1, .fields = &field
	};
	struct wmk_event_class *plain, *marked;

	(void)state;
	assert_int_equal(wmk_event_from_desc(&desc, &plain), 0);
	for (unsigned kind = WAYMARK_KIND_BEGIN; kind <= WAYMARK_KIND_COUNTER; kind++) {
		desc.kind = (uint8_t)kind;
		assert_int_equal(wmk_event_from_desc(&desc, &marked), 0);
		assert_int_equal(marked->kind, kind);
		assert_false(wmk_event_same(plain, marked));
		assert_true(wmk_event_hash(plain, key) != wmk_event_hash(marked, key));
		assert_int_equal(wmk_kind_of_uri(wmk_kind_uri(kind)), kind);
		wmk_event_class_free(marked);
	}
	wmk_event_class_free(plain);
	assert_null(wmk_kind_uri(WAYMARK_KIND_MARKER));
	assert_int_equal(wmk_kind_of_uri(NULL), WAYMARK_KIND_EVENT);
	assert_int_equal(wmk_kind_of_uri("http://example.com"), WAYMARK_KIND_EVENT);
	assert_int_equal(wmk_kind_name_len(WAYMARK_KIND_BEGIN, "p:pay_begin"), 5);
	assert_int_equal(wmk_kind_name_len(WAYMARK_KIND_END, "p:pay_end"), 5);
	assert_int_equal(wmk_kind_name_len(WAYMARK_KIND_END, "p:pay_begin"), 11);
	assert_int_equal(wmk_kind_name_len(WAYMARK_KIND_END, "_end"), 4);
	assert_int_equal(wmk_kind_name_len(WAYMARK_KIND_COUNTER, "p:pay_end"), 9);
}

static void marker_fields_come_from_a_format_that_matches_its_arguments(void **state)
{
	static const uint8_t types[] = { WAYMARK_T_U32, WAYMARK_T_S64, WAYMARK_T_STRING, WAYMARK_T_BOOL,
					 WAYMARK_T_FLOAT },
			     wrong[] = { WAYMARK_T_STRING }, pointer[] = { WAYMARK_T_POINTER };
	struct waymark_desc desc = { .size = sizeof(desc),
				     .kind = WAYMARK_KIND_MARKER,
				     .provider = "marker",
				     .name = "m",
				     .n_fields = 5,
				     .arg_types = types,
				     .text = "pid %d flags %lx name %s on %d x %f" };
	struct wmk_event_class *event;

	(void)state;
	assert_int_equal(wmk_event_from_desc(&desc, &event), 0);
	assert_int_equal(event->n_fields, 5);
	assert_string_equal(event->format, desc.text);
	assert_string_equal(event->fields[0].name, "pid");
	assert_true(event->fields[0].type.is_signed && event->fields[0].type.width == 32);
	assert_true(!event->fields[1].type.is_signed && event->fields[1].type.width == 64 &&
		    event->fields[1].type.base == 16);
	assert_int_equal(event->fields[2].type.kind, WMK_TYPE_STRING);
	assert_int_equal(event->fields[3].type.kind, WMK_TYPE_BOOL);
	assert_int_equal(event->fields[4].type.width, 32);
	wmk_event_class_free(event);
	desc.n_fields = 1;
	desc.arg_types = wrong;
	desc.text = "x %p";
	assert_refused(&desc, "cast it");
	desc.text = "x %d";
	assert_refused(&desc, "not of the type");
	desc.arg_types = pointer;
	assert_refused(&desc, "not of the type");
	desc.text = "x %s";      /* a pointer to another type is recorded as an address, not read as a string */
	assert_int_equal(wmk_event_from_desc(&desc, &event), 0);
	assert_int_equal(event->fields[0].type.kind, WMK_TYPE_INT);
	assert_int_equal(event->fields[0].type.base, 16);
	wmk_event_class_free(event);
}

static void text_event_is_named_by_source_line_and_labeled_by_format(void **state)
{
	static const uint8_t types[] = { WAYMARK_T_S32 };
	char long_format[1000];
	struct waymark_desc desc = { .size = sizeof(desc),
				     .kind = WAYMARK_KIND_TEXT,
				     .file = "/src/my file.c",
				     .line = 12,
				     .n_fields = 1,
				     .arg_types = types,
				     .text = "msg %d" };
	struct wmk_event_class *event;

	(void)state;
	assert_int_equal(wmk_event_from_desc(&desc, &event), 0);
	assert_string_equal(event->provider, "text");
	assert_string_equal(event->name, "my_file.c_12");
	assert_int_equal(event->n_fields, 2);
	assert_string_equal(event->fields[0].name, "msg");
	assert_int_equal(event->fields[0].type.kind, WMK_TYPE_ENUM);
	assert_int_equal(event->fields[0].type.width, 8);
	assert_string_equal(event->fields[0].type.labels[0].name, "msg %d");
	assert_string_equal(event->fields[1].name, "msg_2");
	wmk_event_class_free(event);
	/* the label is cut at a character, the format is complete */
	memset(long_format, 'a', sizeof(long_format));
	memcpy(long_format + 254, "\xc3\xa4", 2);
	long_format[999] = '\0';
	desc.text = long_format;
	desc.n_fields = 0;
	assert_int_equal(wmk_event_from_desc(&desc, &event), 0);
	assert_int_equal(strlen(event->fields[0].type.labels[0].name), 254);
	assert_int_equal(strlen(event->format), 999);
	wmk_event_class_free(event);
}

static void log_levels_have_names_and_other_numbers_have_none(void **state)
{
	(void)state;
	assert_string_equal(wmk_level_name(WAYMARK_LEVEL_EMERG), "emerg");
	assert_string_equal(wmk_level_name(WAYMARK_LEVEL_DEBUG_LINE), "debug_line");
	assert_string_equal(wmk_level_name(WAYMARK_LEVEL_DEBUG), "debug");
	assert_null(wmk_level_name(15));
}

static void message_format_is_decoded_from_the_event_uri(void **state)
{
	static const char *const formats[] = { "", "plain", "100%% \"%s\" {a} \xc3\xa9\n%d", "a:b/c?d#e%25" };
	static const char *const wrong[] = {
		NULL, "", "waymark:begin", "waymark:message", "waymark:message:%", "waymark:message:%4",
		"waymark:message:%4g",
		"waymark:message:%00", "waymark:message:%2c",
	};
	static char uri[WMK_MESSAGE_URI], format[WMK_TEXT_MAX + 1], longest[WMK_TEXT_MAX + 1];
	struct wmk_event_class event = { .kind = WAYMARK_KIND_TEXT };

	(void)state;
	memset(longest, '%', WMK_TEXT_MAX);
	for (size_t i = 0; i <= WMK_ARRAY_LEN(formats); i++) {
		event.format = i < WMK_ARRAY_LEN(formats) ? formats[i] : longest;
		assert_true(wmk_message_format(wmk_message_uri(&event, uri), format));
		assert_string_equal(format, event.format);
	}
	for (size_t i = 0; i < WMK_ARRAY_LEN(wrong); i++)
		assert_false(wmk_message_format(wrong[i], format));
	event.kind = WAYMARK_KIND_BEGIN;
	assert_string_equal(wmk_message_uri(&event, uri), "waymark:begin");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(message_format_is_decoded_from_the_event_uri),
		cmocka_unit_test(field_names_come_from_expressions_or_their_position),
		cmocka_unit_test(macros_set_unit_and_media_type_of_a_field),
		cmocka_unit_test(repeated_field_names_get_unique_suffixes),
		cmocka_unit_test(field_types_come_from_descriptors),
		cmocka_unit_test(invalid_descriptors_are_refused_with_reason),
		cmocka_unit_test(span_and_counter_events_have_their_own_class_and_uri),
		cmocka_unit_test(marker_fields_come_from_a_format_that_matches_its_arguments),
		cmocka_unit_test(text_event_is_named_by_source_line_and_labeled_by_format),
		cmocka_unit_test(log_levels_have_names_and_other_numbers_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
