/* SPDX-License-Identifier: MIT */
/*
 * test_json_alias.c - CTF 2's field class aliases, and the limits of nested field classes and aliases.
 */
#include "json_case.h"

#define HEADER(members) "{'type': 'trace-class', 'packet-header-field-class': " STRUCT(members) "}"
#define ROLE(name) "{'type': 'variable-length-unsigned-integer', 'roles': [" name "]}"

static void json_alias_is_resolved_only_if_declared_before_its_use(void **state)
{
	(void)state;
	ACCEPT(ALIAS("u8", U8), ALIAS("uint8", "'u8'"), ALIAS("pair", STRUCT(MEMBER("a", "'uint8'") "," MEMBER("b",
		"'u8'"))), STREAM,
	       "{'type': 'event-record-class', 'payload-field-class': 'pair',"
	       "'specific-context-field-class': " STRUCT(MEMBER("x", "'pair'")) "}");
	assert_int_equal(class->streams[0]->events[0]->payload->members[0].type.width, 8);
	assert_string_equal(class->streams[0]->events[0]->context->members[0].type.members[1].name, "b");
	REFUSE(-EPROTO, "fragment 3 (field-class-alias) + an alias 'a' exists", ALIAS("a", U8), ALIAS("a", U8));
	REFUSE(-EPROTO, "'field-class': expected the name of a field class alias that was declared before, not 'b'",
	       ALIAS("a", "'b'"), ALIAS("b", U8));
	REFUSE(-EPROTO, "declared before, not 'a'", ALIAS("a", "'a'"));
	REFUSE(-EPROTO, "member 1 'x'/'field-class': expected the name of a field class alias that was declared "
		"before, not 'a'",
	       ALIAS("a", STRUCT(MEMBER("x", "'a'"))));
	REFUSE(-EPROTO, "expected a field class, or the name of a field class alias", ALIAS("a", "null"));
	REFUSE(-EPROTO, "missing property 'name'", "{'type': 'field-class-alias', 'field-class': " U8 "}");
	REFUSE(-EPROTO, "'name': expected a string, not 5",
	       "{'type': 'field-class-alias', 'name': 5, 'field-class': " U8 "}");
	REFUSE(-EPROTO, "missing property 'field-class'", "{'type': 'field-class-alias', 'name': 'a'}");
	/* an error that depends on the use names both places */
	REFUSE(-EPROTO, "'packet-header-field-class'/member 1 'm'/alias 'a'/role 1: + a fixed length of 32 bits",
	       ALIAS("a", ROLE("'packet-magic-number'")), HEADER(MEMBER("m", "'a'")));
}

/* Nested arrays with `levels` levels of types in all. */
static void nest(char *text, size_t size, const char *innermost, unsigned levels)
{
	size_t len = 0;

	for (unsigned i = 1; i < levels; i++)
		len += (size_t)snprintf(text + len, size - len,
			"{'type': 'static-length-array', 'length': 1, 'element-field-class': ");
	len += (size_t)snprintf(text + len, size - len, "%s", innermost);
	for (unsigned i = 1; i < levels; i++)
		len += (size_t)snprintf(text + len, size - len, "}");
}

static void classes_nested_deeper_than_the_limit_are_rejected(void **state)
{
	char class_text[16000], alias[16200], event[16200];

	(void)state;
	nest(class_text, sizeof(class_text), U8, WMK_CTF_TYPE_DEPTH - 1);
	snprintf(event, sizeof(event), EVENT(STRUCT("{'name': 'x', 'field-class': %s}")), class_text);
	ACCEPT(STREAM, event);
	nest(class_text, sizeof(class_text), U8, WMK_CTF_TYPE_DEPTH);
	snprintf(event, sizeof(event), EVENT(STRUCT("{'name': 'x', 'field-class': %s}")), class_text);
	REFUSE(-E2BIG, ".../ + more than 128 levels", STREAM, event);
	/* an alias may have the full depth, but its use adds to it */
	snprintf(alias, sizeof(alias), ALIAS("a", "%s"), class_text);
	ACCEPT(alias);
	REFUSE(-E2BIG, "member 1 'x'/'field-class': + more than 128 levels", alias, STREAM,
	       EVENT(STRUCT(MEMBER("x", "'a'"))));
	nest(class_text, sizeof(class_text), "'a'", 2);
	snprintf(event, sizeof(event), ALIAS("b", "%s"), class_text);
	REFUSE(-E2BIG, "more than 128 levels", alias, event);
}

/* Each alias contains the one before it a hundred times: the memory must not grow with that. */
static void nested_aliases_do_not_multiply_their_memory(void **state)
{
	enum { ALIASES = 25, MEMBERS = 100 };
	const char *fragments[ALIASES + 5] = { PREAMBLE, ALIAS("a0", U8) };
	char *texts[ALIASES + 1];

	(void)state;
	for (unsigned i = 1; i <= ALIASES; i++) {
		size_t size = MEMBERS * 50 + 200, len = 0;
		char *text = texts[i] = malloc(size);

		assert_non_null(text);
		len += (size_t)snprintf(text, size, "{'type': 'field-class-alias', 'name': 'a%u', 'field-class': "
						    "{'type': 'structure', 'member-classes': [", i);
		for (unsigned j = 0; j < MEMBERS; j++)
			len += (size_t)snprintf(text + len, size - len, "%s{'name': '%u', 'field-class': 'a%u'}", j ?
			"," : "", j, i - 1);
		snprintf(text + len, size - len, "]}}");
		fragments[i + 1] = text;
	}
	fragments[ALIASES + 2] = "{'type': 'data-stream-class', 'packet-context-field-class': 'a25',"
				 "'event-record-header-field-class': 'a25'}";
	fragments[ALIASES + 3] = "{'type': 'event-record-class', 'payload-field-class': 'a25'}";
	accept(fragments);
	for (unsigned i = 1; i <= ALIASES; i++)
		free(texts[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(json_alias_is_resolved_only_if_declared_before_its_use, drop),
		cmocka_unit_test_teardown(classes_nested_deeper_than_the_limit_are_rejected, drop),
		cmocka_unit_test_teardown(nested_aliases_do_not_multiply_their_memory, drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
