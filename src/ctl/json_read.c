/* SPDX-License-Identifier: MIT */
/*
 * json_read.c - parse JSON into objects (see json.h). json-c builds a tree; length and depth of the text are limited.
 * json_read.c then checks each member by its entry in the object's table. When a parsing function returns an error,
 * each of its callers adds its position to the cause chain.
 */
#include "ctl/json.h"

#include "base/error.h"
#include "base/nearest.h"
#include "base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

/* The maximum depth of brackets; an object in a list needs two levels of brackets. */
#define BRACKETS_MAX (2 * (int)WMK_OBJECT_DEPTH_MAX + 2)

static int type_error(const struct wmk_member *m, const char *wanted)
{
	return wmk_error(-EINVAL, "%s is not %s", m->name, wanted);
}

/* ── values ──────────────────────────────────────────────────────────────────────────────────────────── */

static int take_number(const struct wmk_member *m, json_object *value, uint64_t max, uint64_t *number)
{
	if (!json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 0)
		return type_error(m, "a whole number from 0 on");
	*number = json_object_get_uint64(value);
	return *number <= max
		       ? 0
		       : wmk_error(-EINVAL, "%s is %" PRIu64 ": at most %" PRIu64 " is allowed", m->name, *number, max);
}

static int take_signed(const struct wmk_member *m, json_object *value, int64_t *number)
{
	if (!json_object_is_type(value, json_type_int))
		return type_error(m, "a whole number");
	*number = json_object_get_int64(value);
	if (*number >= 0 && json_object_get_uint64(value) != (uint64_t)*number)
		return wmk_error(-EINVAL, "%s is larger than %" PRId64, m->name, INT64_MAX);
	return 0;
}

static int take_text(const struct wmk_member *m, json_object *value, size_t limit, const char **text,
		     struct wmk_arena *arena)
{
	uint32_t code;

	if (!json_object_is_type(value, json_type_string))
		return type_error(m, "text in quotes");
	const char *from = json_object_get_string(value);
	size_t len = (size_t)json_object_get_string_len(value);
	if (len > limit)
		return wmk_error(-EINVAL, "%s has %zu bytes: at most %zu are allowed", m->name, len, limit);
	for (size_t at = 0, n; at < len; at += n) {
		n = wmk_utf8_next(from + at, len - at, &code);
		if (n == 0 || code == 0)
			return wmk_error(-EINVAL, "%s contains %s", m->name, n ? "a NUL" : "bytes that are not UTF-8");
	}
	*text = wmk_arena_text(arena, from);
	return *text ? 0 : -ENOMEM;
}

static int take_enum(const struct wmk_member *m, json_object *value, uint32_t *word)
{
	struct wmk_nearest near;
	char names[100];

	if (!json_object_is_type(value, json_type_string))
		return type_error(m, "a word in quotes");
	const char *text = json_object_get_string(value);
	wmk_nearest_init(&near, text);
	for (uint32_t i = 0; i < m->n_names; i++) {
		if (strcmp(m->names[i], text) == 0) {
			*word = i;
			return 0;
		}
		wmk_nearest_offer(&near, m->names[i]);
	}
	if (near.n == 0)
		for (uint32_t i = 0; i < m->n_names && i < WMK_NEAREST_MAX; i++)
			near.names[near.n++] = m->names[i];
	return wmk_error(-EINVAL, "%s cannot be '%.40s' (perhaps: %s)", m->name, text,
			 wmk_nearest_text(&near, names, sizeof(names)));
}

static int take_uuid(const struct wmk_member *m, json_object *value, uint8_t *uuid)
{
	const char *text = json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
	unsigned digits = 0;

	for (unsigned i = 0; i < 36; i++) {
		char c = text[i];
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;
		int digit = c >= '0' && c <= '9'   ? c - '0'
			    : c >= 'a' && c <= 'f' ? c - 'a' + 10
			    : c >= 'A' && c <= 'F' ? c - 'A' + 10
						   : -1;

		if (dash ? c != '-' : digit < 0)
			return type_error(m, "a UUID");
		if (dash)
			continue;
		uuid[digits / 2] = (uint8_t)(uuid[digits / 2] << 4 | digit);
		digits++;
	}
	return text[36] ? type_error(m, "a UUID") : 0;
}

/* ── lists and objects ───────────────────────────────────────────────────────────────────────────────── */

static int take_object(const struct wmk_object *is, json_object *value, uint8_t *object, struct wmk_arena *arena,
		       unsigned depth);

static int take_element(const struct wmk_member *m, json_object *value, struct wmk_list *list, struct wmk_arena *arena,
			unsigned depth)
{
	size_t size = m->kind == WMK_MEMBER_LIST ? m->of->size : sizeof(uint64_t);
	_Static_assert(sizeof(const char *) == sizeof(uint64_t), "elements of lists of numbers and strings must have "
								 "equal sizes");
	void *element = wmk_arena_append(arena, list, size);

	if (!element)
		return -ENOMEM;
	if (m->kind == WMK_MEMBER_LIST)
		return take_object(m->of, value, element, arena, depth);
	if (m->kind == WMK_MEMBER_TEXTS)
		return take_text(m, value, WMK_OBJECT_TEXT_MAX, element, arena);
	return take_number(m, value, UINT64_MAX, element);
}

static int take_list(const struct wmk_member *m, json_object *value, struct wmk_list *list, struct wmk_arena *arena,
		     unsigned depth)
{
	if (!json_object_is_type(value, json_type_array))
		return type_error(m, "a list in [ ]");
	size_t n = json_object_array_length(value);
	if (n > m->limit)
		return wmk_error(-EINVAL, "%s has %zu elements: at most %u are allowed", m->name, n, m->limit);
	for (size_t i = 0; i < n; i++) {
		int err = take_element(m, json_object_array_get_idx(value, i), list, arena, depth);

		if (err < 0)
			return wmk_error_add(err, "in %s[%zu]", m->name, i);
	}
	return 0;
}

static int take_member(const struct wmk_member *m, json_object *value, uint8_t *at, struct wmk_arena *arena,
		       unsigned depth)
{
	uint64_t number = 0;
	int err;

	switch (m->kind) {
	case WMK_MEMBER_U32:
		err = take_number(m, value, UINT32_MAX, &number);
		*(uint32_t *)(void *)at = (uint32_t)number;
		return err;
	case WMK_MEMBER_U64:
		return take_number(m, value, UINT64_MAX, (void *)at);
	case WMK_MEMBER_I64:
		return take_signed(m, value, (void *)at);
	case WMK_MEMBER_BOOL:
		*(bool *)at = json_object_get_boolean(value);
		return json_object_is_type(value, json_type_boolean) ? 0 : type_error(m, "true or false");
	case WMK_MEMBER_ENUM:
		return take_enum(m, value, (void *)at);
	case WMK_MEMBER_TEXT:
		return take_text(m, value, m->limit, (void *)at, arena);
	case WMK_MEMBER_UUID:
		return take_uuid(m, value, at);
	case WMK_MEMBER_OBJECT:
		err = take_object(m->of, value, at, arena, depth);
		return err < 0 ? wmk_error_add(err, "in %s", m->name) : 0;
	default:
		return take_list(m, value, (void *)at, arena, depth);
	}
}

static const struct wmk_member *member_find(const struct wmk_object *is, const char *name)
{
	struct wmk_nearest near;
	char names[100];

	wmk_nearest_init(&near, name);
	for (unsigned i = 0; i < is->n_members; i++) {
		if (strcmp(is->members[i].name, name) == 0)
			return &is->members[i];
		wmk_nearest_offer(&near, is->members[i].name);
	}
	wmk_error(-EINVAL, "'%s' has no member '%.40s'%s%s%s", is->name, name, near.n ? " (perhaps: " : "",
		  wmk_nearest_text(&near, names, sizeof(names)), near.n ? ")" : "");
	return NULL;
}

/* Set missing strings to "", so that no string of an object is NULL. */
static void make_empty(const struct wmk_object *is, uint8_t *object)
{
	const char *empty = "";

	for (unsigned i = 0; i < is->n_members; i++) {
		if (is->members[i].kind == WMK_MEMBER_TEXT)
			memcpy(object + is->members[i].offset, &empty, sizeof(empty));
		else if (is->members[i].kind == WMK_MEMBER_OBJECT)
			make_empty(is->members[i].of, object + is->members[i].offset);
	}
}

static int take_object(const struct wmk_object *is, json_object *value, uint8_t *object, struct wmk_arena *arena,
		       unsigned depth)
{
	if (!json_object_is_type(value, json_type_object))
		return wmk_error(-EINVAL, "'%s' is not an object in { }", is->name);
	if (depth > WMK_OBJECT_DEPTH_MAX)
		return wmk_error(-EINVAL, "objects are nested too deep: at most %u levels are allowed",
				 WMK_OBJECT_DEPTH_MAX);
	make_empty(is, object);
	json_object_object_foreach(value, name, inner) {
		const struct wmk_member *m = member_find(is, name);
		int err = m ? take_member(m, inner, object + m->offset, arena, depth + 1) : -EINVAL;

		if (err < 0)
			return err;
	}
	return 0;
}

/* ── the whole text ──────────────────────────────────────────────────────────────────────────────────── */

static unsigned line_of(const char *text, size_t at)
{
	unsigned line = 1;

	for (size_t i = 0; i < at; i++)
		line += text[i] == '\n';
	return line;
}

/*
 * Reject numbers that are out of range, because json-c would replace them by the nearest number that json-c can
 * represent.
 */
static int numbers_check(const char *text, size_t len)
{
	uint64_t number = 0;
	bool quoted = false, minus = false;

	for (size_t at = 0; at < len; at++) {
		char c = text[at];

		if (quoted && c == '\\') {
			at++;                    /* skip the escaped character */
		} else if (c == '"') {
			quoted = !quoted;
		} else if (!quoted && c >= '0' && c <= '9') {
			bool first = at == 0 || text[at - 1] < '0' || text[at - 1] > '9';

			if (first)
				minus = at && text[at - 1] == '-';
			if (__builtin_mul_overflow(first ? 0 : number, 10, &number) ||
			    __builtin_add_overflow(number, c - '0', &number) ||
			    (minus && number > (uint64_t)INT64_MAX + 1))
				return wmk_error(-EINVAL, "line %u: a number has too many digits", line_of(text, at));
		}
	}
	return 0;
}

static int parse(const char *text, size_t len, json_object **tree)
{
	int err = numbers_check(text, len);
	struct json_tokener *tokener = err < 0 ? NULL : json_tokener_new_ex(BRACKETS_MAX);

	if (err < 0)
		return err;
	if (!tokener)
		return wmk_error(-ENOMEM, "no memory to read JSON");
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
	*tree = json_tokener_parse_ex(tokener, text, (int)len);
	enum json_tokener_error error = json_tokener_get_error(tokener);
	size_t at = json_tokener_get_parse_end(tokener);
	json_tokener_free(tokener);
#ifdef WMK_PLANTED_BUG_JSON              /* the fuzzer must find this */
	while (error == json_tokener_success && strchr(" \t\r\n", text[at]) && text[at])
#else
	while (error == json_tokener_success && at < len && strchr(" \t\r\n", text[at]) && text[at])
#endif
		at++;
	if (error == json_tokener_success && at == len)
		return 0;
	json_object_put(*tree);
	*tree = NULL;
	return wmk_error(-EINVAL, "line %u is not valid JSON: %s", line_of(text, at < len ? at : len),
			 error == json_tokener_continue  ? "unexpected end of the text"
			 : error == json_tokener_success ? "unexpected text after the end"
							 : json_tokener_error_desc(error));
}

int wmk_json_read(const struct wmk_object *is, const char *text, size_t len, void *object, struct wmk_arena *arena)
{
	json_object *tree;

	memset(object, 0, is->size);
	if (len > WMK_JSON_MAX)
		return wmk_error(-EINVAL, "the JSON text has %zu bytes: at most %u are allowed", len, WMK_JSON_MAX);
	int err = parse(text, len, &tree);
	if (err < 0)
		return err;
	err = take_object(is, tree, object, arena, 0);
	json_object_put(tree);
	if (err < 0)
		memset(object, 0, is->size);
	return err;
}

int wmk_json_number(const char *text, size_t len, const char *name, uint64_t *number)
{
	json_object *tree, *value;

	*number = 0;
	if (len > WMK_JSON_MAX)
		return wmk_error(-EINVAL, "the JSON text has %zu bytes: at most %u are allowed", len, WMK_JSON_MAX);
	int err = parse(text, len, &tree);
	if (err < 0)
		return err;
	if (json_object_is_type(tree, json_type_object) && json_object_object_get_ex(tree, name, &value) &&
	    json_object_is_type(value, json_type_int))
		*number = json_object_get_uint64(value);
	json_object_put(tree);
	return 0;
}
