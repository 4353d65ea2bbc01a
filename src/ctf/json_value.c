/* SPDX-License-Identifier: MIT */
/*
 * json_value.c - get values from a JSON tree and validate them, and report errors with their place (see json.h).
 */
#include "ctf/json.h"

#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SHOWN_MAX 40               /* bytes of a name or text from the metadata that an error shows */
#define ALIGN_MAX (1u << 30)       /* bits */

/* ── errors ──────────────────────────────────────────────────────────────────────────────────────────── */

int wmk_ctf_json_shown(const char *text)
{
	size_t len = strnlen(text, SHOWN_MAX + 1);

	if (len > SHOWN_MAX)
		for (len = SHOWN_MAX; len && ((unsigned char)text[len] & 0xc0) == 0x80; len--)
			;
	return (int)len;
}

/*
 * Replace control characters, because texts from the metadata may contain any character, and terminals show error
 * messages.
 */
static void no_controls(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

static int step_text(char *buf, size_t size, const struct wmk_ctf_json_at *at)
{
	int name_len = at->name ? wmk_ctf_json_shown(at->name) : 0;

	if (!at->what)
		return snprintf(buf, size, "\"%.*s\"", name_len, wmk_or_empty(at->name));
	if (!at->index)
		return snprintf(buf, size, "%s \"%.*s\"", at->what, name_len, wmk_or_empty(at->name));
	if (!at->name)
		return snprintf(buf, size, "%s %" PRIu32, at->what, at->index);
	return snprintf(buf, size, "%s %" PRIu32 " \"%.*s\"", at->what, at->index, name_len, at->name);
}

/*
 * Format the path from the fragment to `at`; '/' separates the steps. If the path does not fit the buffer, keep the end
 * of the path, which is more specific.
 */
static const char *way_text(char *buf, size_t size, const struct wmk_ctf_json_at *at)
{
	char step[SHOWN_MAX + 40];
	size_t begin = size - 1;

	buf[begin] = '\0';
	for (const struct wmk_ctf_json_at *leaf = at; at && at->up; at = at->up) {
		/* Omit "field-class" within the path, because the preceding step already names the member. */
		if (at != leaf && !at->what && strcmp(at->name, "field-class") == 0)
			continue;
		size_t len = (size_t)step_text(step, sizeof(step), at), slash = buf[begin] != '\0';

		if (begin < len + slash + strlen(".../")) {
			begin -= strlen(".../");
			memcpy(buf + begin, ".../", strlen(".../"));
			break;
		}
		if (slash)
			buf[--begin] = '/';
		begin -= len;
		memcpy(buf + begin, step, len);
	}
	no_controls(buf + begin);
	return buf + begin;
}

void wmk_ctf_json_error(const struct wmk_ctf_json_at *at, int err, const char *format, ...)
{
	char words[WMK_ERROR_LEN], way[WMK_ERROR_LEN];
	const char *where = way_text(way, sizeof(way), at);
	va_list args;

	if (at->in->to->err < 0)
		return;
	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	no_controls(words);
	at->in->to->err = wmk_errorx(err, "%s", words);
	if (*where)
		wmk_error_add(err, "%s", where);
}

void wmk_ctf_json_wrong(const struct wmk_ctf_json_at *at, const char *wanted)
{
	const bool is_text = json_object_is_type(at->value, json_type_string);
	const char *text;

	switch (json_object_get_type(at->value)) {
	case json_type_null:
		wmk_ctf_json_error(at, -EPROTO, "expected %s, not null", wanted);
		break;
	case json_type_object:
		wmk_ctf_json_error(at, -EPROTO, "expected %s, not an object", wanted);
		break;
	case json_type_array:
		wmk_ctf_json_error(at, -EPROTO, "expected %s, not a list of %zu", wanted,
				   json_object_array_length(at->value));
		break;
	default:
		text = is_text ? json_object_get_string(at->value) : json_object_to_json_string(at->value);
		text = wmk_or_empty(text);
		wmk_ctf_json_error(at, -EPROTO, "expected %s, not %s%.*s%s", wanted, is_text ? "\"" : "",
				   wmk_ctf_json_shown(text), text, is_text ? "\"" : "");
	}
}

/* ── properties ──────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_ctf_json_at wmk_ctf_json_member(const struct wmk_ctf_json_at *of, const char *name, json_object *value)
{
	return (struct wmk_ctf_json_at){ .in = of->in, .up = of, .name = name, .value = value };
}

bool wmk_ctf_json_get(const struct wmk_ctf_json_at *of, const char *name, struct wmk_ctf_json_at *at)
{
	*at = wmk_ctf_json_member(of, name, NULL);
	return json_object_object_get_ex(of->value, name, &at->value);
}

bool wmk_ctf_json_need(const struct wmk_ctf_json_at *of, const char *name, struct wmk_ctf_json_at *at)
{
	const bool has = wmk_ctf_json_get(of, name, at);

	if (!has)
		wmk_ctf_json_error(of, -EPROTO, "missing property \"%s\"", name);
	return has;
}

bool wmk_ctf_json_is(const struct wmk_ctf_json_at *at, json_type type)
{
	const bool is = json_object_is_type(at->value, type);

	if (!is)
		wmk_ctf_json_wrong(at, type == json_type_object  ? "an object"
				       : type == json_type_array ? "a list"
								 : "a string");
	return is;
}

bool wmk_ctf_json_equals(const struct wmk_ctf_json_at *at, const char *text)
{
	return json_object_is_type(at->value, json_type_string) && strcmp(json_object_get_string(at->value), text) == 0;
}

bool wmk_ctf_json_bits(const struct wmk_ctf_json_at *at, int64_t *bits)
{
	bool is_big;

	*bits = json_object_get_int64(at->value);
	is_big = *bits >= 0 && json_object_get_uint64(at->value) > INT64_MAX;
	if (is_big)
		*bits = (int64_t)json_object_get_uint64(at->value);
	return is_big;
}

static bool find(const struct wmk_ctf_json_at *of, const char *name, bool must, struct wmk_ctf_json_at *at)
{
	return must ? wmk_ctf_json_need(of, name, at) : wmk_ctf_json_get(of, name, at);
}

const char *wmk_ctf_json_text_at(const struct wmk_ctf_json_at *at)
{
	const char *text = json_object_get_string(at->value);
	const size_t len = (size_t)json_object_get_string_len(at->value);

	if (!wmk_ctf_json_is(at, json_type_string))
		return NULL;
	if (strlen(text) != len)
		wmk_ctf_json_error(at, -ENOTSUP, "a string contains a NUL");
	return wmk_ctf_copy_text(at->in->to, text, len);
}

const char *wmk_ctf_json_text(const struct wmk_ctf_json_at *of, const char *name, bool must)
{
	struct wmk_ctf_json_at at;

	return find(of, name, must, &at) ? wmk_ctf_json_text_at(&at) : NULL;
}

uint64_t wmk_ctf_json_number_at(const struct wmk_ctf_json_at *at, uint64_t min, uint64_t max)
{
	char wanted[80];
	uint64_t number;

	if (json_object_is_type(at->value, json_type_int) && json_object_get_int64(at->value) >= 0) {
		number = json_object_get_uint64(at->value);
		if (number >= min && number <= max)
			return number;
	}
	if (max == UINT64_MAX)
		snprintf(wanted, sizeof(wanted), "a whole number from %" PRIu64 " on", min);
	else
		snprintf(wanted, sizeof(wanted), "a whole number from %" PRIu64 " to %" PRIu64, min, max);
	wmk_ctf_json_wrong(at, wanted);
	return 0;
}

uint64_t wmk_ctf_json_number(const struct wmk_ctf_json_at *of, const char *name, bool must, uint64_t min, uint64_t max)
{
	struct wmk_ctf_json_at at;

	return find(of, name, must, &at) ? wmk_ctf_json_number_at(&at, min, max) : 0;
}

unsigned wmk_ctf_json_word(const struct wmk_ctf_json_at *of, const char *name, bool must, const char *const *words,
			   unsigned otherwise)
{
	struct wmk_ctf_json_at at;
	char wanted[WMK_ERROR_LEN];
	size_t len = 0;

	if (!find(of, name, must, &at))
		return otherwise;
	for (unsigned i = 0; words[i]; i++) {
		if (wmk_ctf_json_equals(&at, words[i]))
			return i;
		int more = snprintf(wanted + len, sizeof(wanted) - len, "%s\"%s\"",
				    i == 0         ? ""
				    : words[i + 1] ? ", "
						   : " or ",
				    words[i]);

		if (len + (size_t)more < sizeof(wanted))
			len += (size_t)more;
	}
	wmk_ctf_json_wrong(&at, wanted);
	return otherwise;
}

uint32_t wmk_ctf_json_align(const struct wmk_ctf_json_at *of, const char *name)
{
	struct wmk_ctf_json_at at;
	uint64_t bits = 0;

	if (!wmk_ctf_json_get(of, name, &at))
		return 1;
	if (json_object_is_type(at.value, json_type_int) && json_object_get_int64(at.value) > 0)
		bits = json_object_get_uint64(at.value);
	if (!bits || bits & (bits - 1))
		wmk_ctf_json_wrong(&at, "a power of two");
	if (bits > ALIGN_MAX)
		wmk_ctf_json_error(&at, -E2BIG, "an alignment of %" PRIu64 " bits exceeds the limit of %u", bits,
				   ALIGN_MAX);
	return (uint32_t)bits;
}

size_t wmk_ctf_json_list(const struct wmk_ctf_json_at *of, const char *name, bool must, struct wmk_ctf_json_at *list)
{
	if (!find(of, name, must, list) || !wmk_ctf_json_is(list, json_type_array))
		return 0;
	return json_object_array_length(list->value);
}

struct wmk_ctf_json_at wmk_ctf_json_item(const struct wmk_ctf_json_at *list, size_t i, const char *what)
{
	return (struct wmk_ctf_json_at){ .in = list->in, .up = list->up, .what = what, .index = (uint32_t)i + 1,
					 .value = json_object_array_get_idx(list->value, i) };
}

/* ── ranges ──────────────────────────────────────────────────────────────────────────────────────────── */

/* One bound of a range; json-c represents an integer as an int64_t or an uint64_t. */
struct bound {
	int64_t value;
	bool is_big;               /* `value` is the bits of an uint64_t above INT64_MAX */
};

static bool is_less(const struct bound *a, const struct bound *b)
{
	if (a->is_big != b->is_big)
		return b->is_big;
	return a->is_big ? (uint64_t)a->value < (uint64_t)b->value : a->value < b->value;
}

static bool take_range(const struct wmk_ctf_json_at *at, struct bound bounds[2])
{
	if (!json_object_is_type(at->value, json_type_array) || json_object_array_length(at->value) != 2) {
		wmk_ctf_json_wrong(at, "a range: a list of two whole numbers");
		return false;
	}
	for (size_t i = 0; i < 2; i++) {
		struct wmk_ctf_json_at end = wmk_ctf_json_item(at, i, "number");

		end.up = at;
		if (!json_object_is_type(end.value, json_type_int))
			wmk_ctf_json_wrong(&end, "a whole number");
		bounds[i].is_big = wmk_ctf_json_bits(&end, &bounds[i].value);
	}
	if (is_less(&bounds[1], &bounds[0]))
		wmk_ctf_json_error(at, -EPROTO, "the upper bound of a range is less than its lower bound");
	return true;
}

static bool is_negative(const struct bound *bound)
{
	return !bound->is_big && bound->value < 0;
}

/* Reduce a range to the values that an integer of the given signedness can have. False: none. */
static bool clip(const struct bound bounds[2], bool is_signed, struct wmk_label *label)
{
	if (is_signed ? bounds[0].is_big : is_negative(&bounds[1]))
		return false;
	label->from = !is_signed && is_negative(&bounds[0]) ? 0 : bounds[0].value;
	label->to = is_signed && bounds[1].is_big ? INT64_MAX : bounds[1].value;
	return true;
}

static void add_range(const struct wmk_ctf_json_at *at, const char *name, struct wmk_ctf_json_ranges *to)
{
	struct wmk_label *label, made = { .name = name };
	struct bound bounds[2];

	if (!take_range(at, bounds))
		return;
	to->has_negative = to->has_negative || is_negative(&bounds[0]);
	to->has_big = to->has_big || bounds[1].is_big;
	made.from = bounds[0].value;
	made.to = bounds[1].value;
	if (to->is_clipped && !clip(bounds, to->is_signed, &made))
		return;
	label = wmk_ctf_list_add(at->in->to, &to->list, sizeof(*label), WMK_CTF_EVENTS_MAX);
	if (label)
		*label = made;
}

void wmk_ctf_json_ranges(const struct wmk_ctf_json_at *at, const char *name, struct wmk_ctf_json_ranges *to)
{
	const bool is_list = json_object_is_type(at->value, json_type_array);
	const size_t n = is_list ? json_object_array_length(at->value) : 0;

	if (n == 0)
		wmk_ctf_json_wrong(at, "a list of at least one range");
	for (size_t i = 0; i < n; i++) {
		struct wmk_ctf_json_at range = wmk_ctf_json_item(at, i, "range");

		range.up = at;             /* errors name the list, because a field class may have several lists */
		add_range(&range, name, to);
	}
}

/* ── locations of lengths and selectors ──────────────────────────────────────────────────────────────── */

const struct wmk_ref *wmk_ctf_json_location(const struct wmk_ctf_json_at *of, const char *name)
{
	struct wmk_ctf_json_at at, path;
	const char **names;
	struct wmk_ref *ref;
	unsigned origin;
	size_t n;

	if (!wmk_ctf_json_need(of, name, &at) || !wmk_ctf_json_is(&at, json_type_object))
		return NULL;
	origin = wmk_ctf_json_word(&at, "origin", false, wmk_ctf2_origins, UINT8_MAX);
	n = wmk_ctf_json_list(&at, "path", true, &path);
	if (n == 0 || json_object_array_get_idx(path.value, n - 1) == NULL)
		wmk_ctf_json_error(&path, -EPROTO, "the last element of the path must be a name");
	if (n > UINT8_MAX)
		wmk_ctf_json_error(&path, -E2BIG, "a path of %zu steps exceeds the limit of %u", n, UINT8_MAX);
	ref = wmk_ctf_alloc(of->in->to, sizeof(*ref));
	names = wmk_ctf_alloc(of->in->to, n * sizeof(*names));
	if (!names)
		return NULL;
	ref->scope = origin == UINT8_MAX ? WMK_SCOPE_NEAR : (uint8_t)(WMK_SCOPE_PACKET_HEADER + origin);
	ref->names = names;
	for (size_t i = 0; i < n; i++) {
		struct wmk_ctf_json_at step = wmk_ctf_json_item(&path, i, "step");

		/*
		 * A null in the path removes the name that precedes the null. A null without a preceding name is kept,
		 * so all nulls in `names` precede the first name.
		 */
		if (!step.value && ref->n && names[ref->n - 1])
			names[--ref->n] = NULL;
		else
			names[ref->n++] = step.value ? wmk_ctf_json_text_at(&step) : NULL;
	}
	return ref;
}

uint32_t wmk_ctf_json_length(const struct wmk_ctf_json_at *at)
{
	const uint64_t length = wmk_ctf_json_number(at, "length", true, 0, UINT64_MAX);

	if (length > UINT32_MAX)
		wmk_ctf_json_error(at, -E2BIG, "a length of %" PRIu64 " exceeds the limit of %" PRIu32, length,
				   UINT32_MAX);
	return (uint32_t)length;
}
