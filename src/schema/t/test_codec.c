/* SPDX-License-Identifier: MIT */
/* test_codec.c - encode and decode classes; truncated, too deep and contradictory encodings are rejected. */
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
#include "schema/schema.h"

static const uint64_t key[2] = { 0x243f6a8885a308d3, 0x13198a2e03707344 };

static const struct wmk_label labels[] = { { "one", 1, 1 }, { "two or three", 2, 3 } };
static const struct wmk_type u8 = { .kind = WMK_TYPE_INT, .width = 8, .base = 10 },
	s64 = { .kind = WMK_TYPE_INT, .width = 64, .is_signed = 1, .base = 10, .order = WMK_ORDER_BIG };
static const struct wmk_field members[] = {
	{ "a", NULL, { .kind = WMK_TYPE_STRING } },
	{ "b", NULL, { .kind = WMK_TYPE_OPTIONAL, .elem = &s64 } },
};
static const struct wmk_field fields[] = {
	{ "i", "ms", { .kind = WMK_TYPE_INT, .width = 32, .base = 16 } },
	{ "f", NULL, { .kind = WMK_TYPE_FLOAT, .width = 64, .base = 10 } },
	{ "e", NULL, { .kind = WMK_TYPE_ENUM, .width = 16, .base = 10, .count = 2, .labels = labels } },
	{ "t", NULL, { .kind = WMK_TYPE_ARRAY, .is_text = 1, .count = 16, .elem = &u8 } },
	{ "q", NULL, { .kind = WMK_TYPE_SEQUENCE, .elem = &s64 } },
	{ "m", NULL, { .kind = WMK_TYPE_BLOB, .media = "image/png" } },
	{ "s", NULL, { .kind = WMK_TYPE_STRUCT, .count = 2, .members = members } },
};
static const struct wmk_event_class everything = { .provider = "shop",
						   .name = "paid",
						   .file = "a.c",
						   .line = 12,
						   .kind = 1,
						   .level = 6,
						   .format = "%d",
						   .n_fields = 7,
						   .fields = fields };

static unsigned char *encoded(const struct wmk_event_class *event, size_t *len)
{
	*len = 0;
	assert_int_equal(wmk_event_encode(event, NULL, 0, len), -ENOSPC);
	unsigned char *bytes = malloc(*len);
	assert_non_null(bytes);
	assert_int_equal(wmk_event_encode(event, bytes, *len - 1, NULL), -ENOSPC);
	assert_int_equal(wmk_event_encode(event, bytes, *len, NULL), *len);
	return bytes;
}

static void decoded_event_class_equals_the_encoded_class(void **state)
{
	struct wmk_event_class *event;
	size_t len;
	unsigned char *bytes = encoded(&everything, &len);

	(void)state;
	assert_int_equal(wmk_event_decode(bytes, len, &event), 0);
	assert_true(wmk_event_same(event, &everything));
	assert_true(wmk_event_hash(event, key) == wmk_event_hash(&everything, key));
	assert_string_equal(event->format, "%d");
	assert_string_equal(event->file, "a.c");
	assert_null(event->function);
	assert_int_equal(event->line, 12);
	assert_int_equal(event->level, 6);
	assert_string_equal(event->fields[0].unit, "ms");
	assert_string_equal(event->fields[6].type.members[1].name, "b");
	assert_int_equal(event->fields[6].type.members[1].type.elem->order, WMK_ORDER_BIG);
	wmk_event_class_free(event);
	free(bytes);
}

/* Every prefix is rejected; a change of one byte is rejected or gives a class with exactly that encoding. */
static void every_decoded_event_class_encodes_to_the_same_bytes(void **state)
{
	struct wmk_event_class *event;
	size_t len;
	unsigned char *bytes = encoded(&everything, &len);

	(void)state;
	for (size_t n = 0; n < len; n++)
		assert_int_equal(wmk_event_decode(bytes, n, &event), -EPROTO);
	for (size_t at = 0; at < len; at++)
		for (unsigned v = 1; v < 256; v += 7) {
			bytes[at] ^= (unsigned char)v;
			int err = wmk_event_decode(bytes, len, &event);
			if (err == 0) {
				size_t again;
				unsigned char *copy = encoded(event, &again);

				assert_int_equal(again, len);
				assert_memory_equal(copy, bytes, len);
				free(copy);
				wmk_event_class_free(event);
			} else {
				assert_int_equal(err, -EPROTO);
				assert_non_null(wmk_error_get(0));
			}
			bytes[at] ^= (unsigned char)v;
		}
	free(bytes);
}

static void assert_refused(const struct wmk_event_class *bad, const char *words)
{
	struct wmk_event_class *event;
	char text[1024];
	size_t len;
	unsigned char *bytes = encoded(bad, &len);

	assert_int_equal(wmk_event_decode(bytes, len, &event), -EPROTO);
	wmk_error_text(text, sizeof(text));
	if (!strstr(text, words))
		fail_msg("'%s' does not contain '%s'", text, words);
	free(bytes);
}

static void assert_field_refused(const struct wmk_field *field, unsigned n, const char *words)
{
	const struct wmk_event_class event = { .provider = "p", .name = "n", .n_fields = (uint16_t)n, .fields = field };

	assert_refused(&event, words);
}

static void event_classes_with_invalid_fields_or_names_are_not_decoded(void **state)
{
	static const struct wmk_label far = { "far", 0, 256 }, backwards = { "backwards", 2, 1 };
	struct wmk_field twice[2] = { fields[0], fields[0] }, many[34];
	struct wmk_type deep[10];

	(void)state;
	assert_field_refused(twice, 2, "two fields are named i");
	for (unsigned i = 0; i < 34; i++)
		many[i] = fields[0];
	assert_field_refused(many, 34, "34 fields");
	for (unsigned i = 0; i < 10; i++)
		deep[i] = (struct wmk_type){ .kind = WMK_TYPE_SEQUENCE, .elem = i < 9 ? &deep[i + 1] : &u8 };
	assert_field_refused(&(const struct wmk_field){ "d", NULL, deep[0] }, 1, "deep");
#define FIELD(...) &(const struct wmk_field){ "x", NULL, { __VA_ARGS__ } }
	assert_field_refused(FIELD(.kind = WMK_TYPE_ENUM, .width = 8, .base = 10, .count = 1, .labels = &far), 1,
			     "does not fit");
	assert_field_refused(FIELD(.kind = WMK_TYPE_ENUM, .width = 8, .base = 10, .count = 1, .labels = &backwards), 1,
			     "does not fit");
	assert_field_refused(FIELD(.kind = WMK_TYPE_ENUM, .width = 8, .base = 10), 1, "0 labels");
	assert_field_refused(FIELD(.kind = WMK_TYPE_INT, .width = 7, .base = 10), 1, "7 bits");
	assert_field_refused(FIELD(.kind = WMK_TYPE_INT, .width = 8, .base = 3), 1, "base 3");
	assert_field_refused(FIELD(.kind = WMK_TYPE_FLOAT, .width = 8, .base = 10), 1, "8 bits");
	assert_field_refused(FIELD(.kind = 77), 1, "number 77");
	assert_field_refused(FIELD(.kind = WMK_TYPE_ARRAY, .count = 0, .elem = &u8), 1, "0 elements");
	assert_field_refused(FIELD(.kind = WMK_TYPE_ARRAY, .count = 1u << 30, .elem = &u8), 1, "elements");
	assert_field_refused(FIELD(.kind = WMK_TYPE_ARRAY, .count = 4, .is_text = 1, .elem = &s64), 1, "not bytes");
	assert_field_refused(&(const struct wmk_field){ "a b", NULL, u8 }, 1, "identifier");
	assert_field_refused(&(const struct wmk_field){ NULL, NULL, u8 }, 1, "identifier");
	assert_refused(&(const struct wmk_event_class){ .provider = "a:b", .name = "n" }, "provider");
	assert_refused(&(const struct wmk_event_class){ .provider = "a", .name = "n\n" }, "name");
	assert_refused(&(const struct wmk_event_class){ .provider = "a", .name = "n", .kind = 3 }, "kind");
	assert_refused(&(const struct wmk_event_class){ .provider = "a", .name = "n", .level = 15 }, "level");
}

/* Kernel events have names without a provider, and may have more fields. */
static void event_class_without_provider_is_decoded_with_its_plain_name(void **state)
{
	static char names[100][4];
	struct wmk_field many[100];
	struct wmk_event_class event = { .provider = "", .name = "sched_switch", .n_fields = 100, .fields = many },
			       *back;
	uint8_t bytes[8192];
	char name[WMK_FULL_NAME];

	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		snprintf(names[i], sizeof(names[i]), "f%u", i);
		many[i] = (struct wmk_field){ .name = names[i], .type = u8 };
	}
	long len = wmk_event_encode(&event, bytes, sizeof(bytes), NULL);

	assert_true(len > 0);
	assert_int_equal(wmk_event_decode(bytes, (size_t)len, &back), 0);
	assert_true(wmk_event_same(&event, back));
	assert_string_equal(wmk_event_full_name(back, name), "sched_switch");
	wmk_event_class_free(back);
	event.provider = "shop";
	assert_string_equal(wmk_event_full_name(&event, name), "shop:sched_switch");
	assert_refused(&event, "100 fields");
	assert_refused(&(const struct wmk_event_class){ .provider = "", .name = "a:b" }, "provider");
	assert_refused(&(const struct wmk_event_class){ .provider = "", .name = "" }, "name");
}

static void event_class_above_the_size_limit_is_not_encoded(void **state)
{
	char *text = malloc(256);
	struct wmk_label *many = calloc(4096, sizeof(*many));
	struct wmk_field field = { "e",
				   NULL,
				   { .kind = WMK_TYPE_ENUM, .width = 32, .base = 10, .count = 4096, .labels = many } };
	const struct wmk_event_class event = { .provider = "p", .name = "n", .n_fields = 1, .fields = &field };
	struct wmk_event_class *decoded;
	size_t need;

	(void)state;
	assert_true(text && many);
	memset(text, 'a', 255);
	text[255] = '\0';
	for (int i = 0; i < 4096; i++)
		many[i] = (struct wmk_label){ text, i, i };
	assert_int_equal(wmk_event_encode(&event, NULL, 0, &need), -E2BIG);
	assert_true(need > WMK_EVENT_MAX);
	assert_int_equal(wmk_event_decode(text, WMK_EVENT_MAX + 1, &decoded), -EPROTO);
	free(many);
	free(text);
}

static void event_classes_with_equal_name_and_fields_are_identical(void **state)
{
	struct wmk_event_class other = everything;
	struct wmk_field changed[7];
	struct wmk_label two[2] = { labels[0], labels[1] };

	(void)state;
	other.level = 3;
	other.line = 99;
	other.file = NULL;
	assert_true(wmk_event_same(&everything, &other));
	assert_true(wmk_event_hash(&everything, key) == wmk_event_hash(&other, key));
	assert_false(wmk_event_hash(&everything, key) ==
		     wmk_event_hash(&everything, (const uint64_t[]){ key[0] + 2, key[1] }));
	other.name = "paie";
	assert_false(wmk_event_same(&everything, &other));
	assert_false(wmk_event_hash(&everything, key) == wmk_event_hash(&other, key));
	other = everything;
	memcpy(changed, fields, sizeof(fields));
	other.fields = changed;
	assert_true(wmk_event_same(&everything, &other));
	changed[2].type.labels = two;
	assert_true(wmk_event_same(&everything, &other));
	two[1].name = "two";
	assert_false(wmk_event_same(&everything, &other));
	assert_false(wmk_event_hash(&everything, key) == wmk_event_hash(&other, key));
	changed[2] = fields[2];
	changed[0].unit = NULL;
	assert_false(wmk_event_same(&everything, &other));
	other.n_fields = 6;
	assert_false(wmk_event_same(&everything, &other));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decoded_event_class_equals_the_encoded_class),
		cmocka_unit_test(every_decoded_event_class_encodes_to_the_same_bytes),
		cmocka_unit_test(event_classes_with_invalid_fields_or_names_are_not_decoded),
		cmocka_unit_test(event_class_without_provider_is_decoded_with_its_plain_name),
		cmocka_unit_test(event_class_above_the_size_limit_is_not_encoded),
		cmocka_unit_test(event_classes_with_equal_name_and_fields_are_identical),
	};

	if (argc == 2) {         /* write a file for corpus-event */
		size_t len;
		unsigned char *bytes = encoded(&everything, &len);
		FILE *f = fopen(argv[1], "wb");

		return f && fwrite(bytes, 1, len, f) == len && fclose(f) == 0 ? 0 : 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
