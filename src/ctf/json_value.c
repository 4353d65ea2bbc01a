/* SPDX-License-Identifier: MIT */
/*
 * json_value.c - values out of a tree of JSON, held against what CTF 2 says that they are; and errors that name their
 * place (see json.h).
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

/* What comes from the metadata may hold anything, and an error is shown on a terminal. */
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
		return snprintf(buf, size, "\"%.*s\"", name_len, at->name ? at->name : "");
	if (!at->index)
		return snprintf(buf, size, "%s \"%.*s\"", at->what, name_len, at->name ? at->name : "");
	if (!at->name)
		return snprintf(buf, size, "%s %" PRIu32, at->what, at->index);
	return snprintf(buf, size, "%s %" PRIu32 " \"%.*s\"", at->what, at->index, name_len, at->name);
}

/* The way from the fragment to `at`, joined by '/'. Of a long one the end, which tells more. */
static const char *way_text(char *buf, size_t size, const struct wmk_ctf_json_at *at)
{
	char step[SHOWN_MAX + 40];
	size_t begin = size - 1;

	buf[begin] = '\0';
	for (const struct wmk_ctf_json_at *leaf = at; at && at->up; at = at->up) {
		/* A member is its field class to whoever reads the error. */
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

int wmk_ctf_json_error(const struct wmk_ctf_json_at *at, int err, const char *format, ...)
{
	char words[WMK_ERROR_LEN], way[WMK_ERROR_LEN];
	const char *where = way_text(way, sizeof(way), at);
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	no_controls(words);
	wmk_error_said(err, "%s", words);
	return *where ? wmk_error_add(err, "%s", where) : err;
}

int wmk_ctf_json_wrong(const struct wmk_ctf_json_at *at, const char *wanted)
{
	const char *text;

	switch (json_object_get_type(at->value)) {
	case json_type_null:
		return wmk_ctf_json_error(at, -EPROTO, "expected %s, not null", wanted);
	case json_type_object:
		return wmk_ctf_json_error(at, -EPROTO, "expected %s, not an object", wanted);
	case json_type_array:
		return wmk_ctf_json_error(at, -EPROTO, "expected %s, not a list of %zu", wanted,
					  json_object_array_length(at->value));
	case json_type_string:
		text = json_object_get_string(at->value);
		return wmk_ctf_json_error(at, -EPROTO, "expected %s, not \"%.*s\"", wanted, wmk_ctf_json_shown(text),
					  text);
	default:
		text = json_object_to_json_string(at->value);
		text = text ? text : "";
		return wmk_ctf_json_error(at, -EPROTO, "expected %s, not %.*s", wanted, wmk_ctf_json_shown(text), text);
	}
}

/* ── properties ──────────────────────────────────────────────────────────────────────────────────────── */

bool wmk_ctf_json_get(const struct wmk_ctf_json_at *of, const char *name, struct wmk_ctf_json_at *at)
{
	*at = (struct wmk_ctf_json_at){ .up = of, .name = name };
	return json_object_object_get_ex(of->value, name, &at->value);
}

int wmk_ctf_json_need(const struct wmk_ctf_json_at *of, const char *name, struct wmk_ctf_json_at *at)
{
	if (wmk_ctf_json_get(of, name, at))
		return 0;
	return wmk_ctf_json_error(of, -EPROTO, "expected a property \"%s\", and there is none", name);
}

int wmk_ctf_json_is(const struct wmk_ctf_json_at *at, json_type type)
{
	if (json_object_is_type(at->value, type))
		return 0;
	return wmk_ctf_json_wrong(at, type == json_type_object  ? "an object"
				      : type == json_type_array ? "a list"
								: "a text");
}

/* Of a property: 1: it is there; 0: it is not, and need not be. */
static int find(const struct wmk_ctf_json_at *of, const char *name, bool must, struct wmk_ctf_json_at *at)
{
	if (wmk_ctf_json_get(of, name, at))
		return 1;
	return must ? wmk_ctf_json_need(of, name, at) : 0;
}

int wmk_ctf_json_text_at(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, const char **text)
{
	int err = wmk_ctf_json_is(at, json_type_string);

	if (err < 0)
		return err;
	const char *from = json_object_get_string(at->value);
	size_t len = (size_t)json_object_get_string_len(at->value);

	if (strlen(from) != len)
		return wmk_ctf_json_error(at, -ENOTSUP, "a text with a NUL in it");
	*text = wmk_scratch_text(&in->to->scratch, from, len);
	return *text ? 0 : -ENOMEM;
}

int wmk_ctf_json_text(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *of, const char *name, bool must,
		      const char **text)
{
	struct wmk_ctf_json_at at;
	int got = find(of, name, must, &at);

	return got <= 0 ? got : wmk_ctf_json_text_at(in, &at, text);
}

int wmk_ctf_json_number_at(const struct wmk_ctf_json_at *at, uint64_t min, uint64_t max, uint64_t *number)
{
	char wanted[80];

	if (json_object_is_type(at->value, json_type_int) && json_object_get_int64(at->value) >= 0) {
		*number = json_object_get_uint64(at->value);
		if (*number >= min && *number <= max)
			return 0;
	}
	if (max == UINT64_MAX)
		snprintf(wanted, sizeof(wanted), "a whole number from %" PRIu64 " on", min);
	else
		snprintf(wanted, sizeof(wanted), "a whole number from %" PRIu64 " to %" PRIu64, min, max);
	return wmk_ctf_json_wrong(at, wanted);
}

int wmk_ctf_json_number(const struct wmk_ctf_json_at *of, const char *name, bool must, uint64_t min, uint64_t max,
			uint64_t *number)
{
	struct wmk_ctf_json_at at;
	int got = find(of, name, must, &at);

	return got <= 0 ? got : wmk_ctf_json_number_at(&at, min, max, number);
}

int wmk_ctf_json_word(const struct wmk_ctf_json_at *of, const char *name, bool must, const char *const *words,
		      unsigned *which)
{
	struct wmk_ctf_json_at at;
	char wanted[WMK_ERROR_LEN];
	size_t len = 0;
	int got = find(of, name, must, &at);

	if (got <= 0)
		return got;
	const char *text = json_object_is_type(at.value, json_type_string) ? json_object_get_string(at.value) : NULL;

	for (unsigned i = 0; words[i]; i++) {
		if (text && strcmp(words[i], text) == 0) {
			*which = i;
			return 0;
		}
		int more = snprintf(wanted + len, sizeof(wanted) - len, "%s\"%s\"",
				    i == 0         ? ""
				    : words[i + 1] ? ", "
						   : " or ",
				    words[i]);

		if (len + (size_t)more < sizeof(wanted))
			len += (size_t)more;
	}
	return wmk_ctf_json_wrong(&at, wanted);
}

int wmk_ctf_json_align(const struct wmk_ctf_json_at *of, const char *name, uint32_t *align)
{
	struct wmk_ctf_json_at at;
	uint64_t bits = 1;

	if (wmk_ctf_json_get(of, name, &at)) {
		bits = json_object_is_type(at.value, json_type_int) && json_object_get_int64(at.value) > 0
			       ? json_object_get_uint64(at.value)
			       : 0;
		if (!bits || bits & (bits - 1))
			return wmk_ctf_json_wrong(&at, "a power of two");
	}
	if (bits > ALIGN_MAX)
		return wmk_ctf_json_error(&at, -E2BIG, "an alignment of %" PRIu64 " bits: %u are understood", bits,
					  ALIGN_MAX);
	*align = (uint32_t)bits;
	return 0;
}

int wmk_ctf_json_list(const struct wmk_ctf_json_at *of, const char *name, bool must, struct wmk_ctf_json_at *list,
		      size_t *n)
{
	int got = find(of, name, must, list);

	*n = 0;
	if (got <= 0)
		return got;
	got = wmk_ctf_json_is(list, json_type_array);
	if (got >= 0)
		*n = json_object_array_length(list->value);
	return got;
}

struct wmk_ctf_json_at wmk_ctf_json_item(const struct wmk_ctf_json_at *list, size_t i, const char *what)
{
	return (struct wmk_ctf_json_at){ .up = list->up, .what = what, .index = (uint32_t)i + 1,
					 .value = json_object_array_get_idx(list->value, i) };
}

/* ── ranges ──────────────────────────────────────────────────────────────────────────────────────────── */

/* One end of a range: JSON's integers are int64_t's and uint64_t's. */
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

static int take_range(const struct wmk_ctf_json_at *at, struct bound bounds[2])
{
	if (!json_object_is_type(at->value, json_type_array) || json_object_array_length(at->value) != 2)
		return wmk_ctf_json_wrong(at, "a range: a list of two whole numbers");
	for (size_t i = 0; i < 2; i++) {
		struct wmk_ctf_json_at end = wmk_ctf_json_item(at, i, "number");

		end.up = at;
		if (!json_object_is_type(end.value, json_type_int))
			return wmk_ctf_json_wrong(&end, "a whole number");
		bounds[i].value = json_object_get_int64(end.value);
		bounds[i].is_big = bounds[i].value >= 0 && json_object_get_uint64(end.value) > INT64_MAX;
		if (bounds[i].is_big)
			bounds[i].value = (int64_t)json_object_get_uint64(end.value);
	}
	if (is_less(&bounds[1], &bounds[0]))
		return wmk_ctf_json_error(at, -EPROTO, "expected a range whose end is not below its begin");
	return 0;
}

static bool is_negative(const struct bound *bound)
{
	return !bound->is_big && bound->value < 0;
}

/* The part of a range that a number of this sign can be. False: none of it. */
static bool clip(const struct bound bounds[2], bool is_signed, struct wmk_label *label)
{
	if (is_signed ? bounds[0].is_big : is_negative(&bounds[1]))
		return false;
	label->from = !is_signed && is_negative(&bounds[0]) ? 0 : bounds[0].value;
	label->to = is_signed && bounds[1].is_big ? INT64_MAX : bounds[1].value;
	return true;
}

int wmk_ctf_json_ranges(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *at, const char *name,
			struct wmk_ctf_json_ranges *to)
{
	if (!json_object_is_type(at->value, json_type_array) || json_object_array_length(at->value) == 0)
		return wmk_ctf_json_wrong(at, "a list of at least one range");
	for (size_t i = 0; i < json_object_array_length(at->value); i++) {
		struct wmk_ctf_json_at range = wmk_ctf_json_item(at, i, "range");
		struct wmk_label *label, made = { .name = name };
		struct bound bounds[2];
		int err;

		range.up = at;             /* there may be many lists of ranges */
		err = take_range(&range, bounds);

		if (err < 0)
			return err;
		to->has_negative = to->has_negative || is_negative(&bounds[0]);
		to->has_big = to->has_big || bounds[1].is_big;
		made.from = bounds[0].value;
		made.to = bounds[1].value;
		if (to->is_clipped && !clip(bounds, to->is_signed, &made))
			continue;
		label = wmk_ctf_list_add(in->to, &to->list, sizeof(*label), WMK_CTF_EVENTS_MAX);
		if (!label)
			return wmk_error_number();
		*label = made;
	}
	return 0;
}

/* ── where a length or a selector stands ─────────────────────────────────────────────────────────────── */

int wmk_ctf_json_location(struct wmk_ctf_json *in, const struct wmk_ctf_json_at *of, const char *name,
			  const struct wmk_ref **made)
{
	/* As enum wmk_scope has them. */
	static const char *const origins[] = { "packet-header",
					       "packet-context",
					       "event-record-header",
					       "event-record-common-context",
					       "event-record-specific-context",
					       "event-record-payload",
					       NULL };
	struct wmk_ctf_json_at at, path;
	unsigned origin = 0;
	size_t n;
	int err = wmk_ctf_json_need(of, name, &at);

	if (err >= 0)
		err = wmk_ctf_json_is(&at, json_type_object);
	if (err >= 0)
		err = wmk_ctf_json_word(&at, "origin", false, origins, &origin);
	if (err >= 0)
		err = wmk_ctf_json_list(&at, "path", true, &path, &n);
	if (err < 0)
		return err;
	if (n == 0 || json_object_array_get_idx(path.value, n - 1) == NULL)
		return wmk_ctf_json_error(&path, -EPROTO, "expected the last of the path to be a name");
	if (n > UINT8_MAX)
		return wmk_ctf_json_error(&path, -E2BIG, "a path of %zu steps: %u are understood", n, UINT8_MAX);
	struct wmk_ref *ref = wmk_scratch_alloc(&in->to->scratch, sizeof(*ref));
	const char **names = wmk_scratch_alloc(&in->to->scratch, n * sizeof(*names));
	uint8_t kept = 0;

	if (!ref || !names)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct wmk_ctf_json_at step = wmk_ctf_json_item(&path, i, "step");

		/* Into a member and out of it again is no way at all: so what goes out stands before all names. */
		if (!step.value && kept && names[kept - 1])
			names[--kept] = NULL;
		else if (!step.value)
			names[kept++] = NULL;
		else if ((err = wmk_ctf_json_text_at(in, &step, &names[kept++])) < 0)
			return err;
	}
	*ref = (struct wmk_ref){ .scope = WMK_SCOPE_NEAR, .n = kept, .names = names };
	if (wmk_ctf_json_get(&at, "origin", &path))
		ref->scope = (uint8_t)(WMK_SCOPE_PACKET_HEADER + origin);
	*made = ref;
	return 0;
}

int wmk_ctf_json_length(const struct wmk_ctf_json_at *at, struct wmk_type *type)
{
	uint64_t length = 0;
	int err = wmk_ctf_json_number(at, "length", true, 0, UINT64_MAX, &length);

	if (err < 0)
		return err;
	if (length > UINT32_MAX)
		return wmk_ctf_json_error(at, -E2BIG, "a length of %" PRIu64 ": up to %" PRIu32 " is understood",
					  length, UINT32_MAX);
	type->count = (uint32_t)length;
	return 0;
}

