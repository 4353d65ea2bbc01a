/* SPDX-License-Identifier: MIT */
/*
 * check.c - the rules for event classes, declared by a descriptor or received in a message.
 *
 * Every reader can read the metadata of a class that passes these rules. Names are identifiers or printable. Names in
 * one structure differ. Labels fit their type. Texts for display (labels, format, file, unit, media type) may hold any
 * byte except NUL; the CTF writer escapes them.
 */
#include "base/error.h"
#include "schema/scratch.h"

#include <errno.h>
#include <string.h>

static bool is_identifier(const char *s)
{
	if (!s || (*s >= '0' && *s <= '9') || !*s || strnlen(s, WMK_NAME_MAX + 1) > WMK_NAME_MAX)
		return false;
	return strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == strlen(s);
}

/*
 * Check the name of a provider or an event: printable ASCII without '"' and '\'. A provider's name must not contain
 * ':'.
 */
static bool is_printable(const char *s, bool colon)
{
	if (!s || !*s || strnlen(s, WMK_NAME_MAX + 1) > WMK_NAME_MAX)
		return false;
	for (; *s; s++)
		if (*s < 0x20 || *s > 0x7e || *s == '"' || *s == '\\' || (*s == ':' && !colon))
			return false;
	return true;
}

static bool is_shown(const char *s, size_t max)
{
	return !s || strnlen(s, max + 1) <= max;
}

static int check_fields(const struct wmk_field *fields, size_t n, unsigned depth);

static int check_labels(const struct wmk_type *type)
{
	uint64_t most = type->width == 64 ? UINT64_MAX : (UINT64_C(1) << type->width) - 1;
	int64_t high = (int64_t)(most >> 1), low = -high - 1;

	if (type->count == 0 || type->count > WMK_LABELS_MAX || !type->labels)
		return wmk_error(-EPROTO, "an enumeration has %u labels: 1 to %u are allowed", type->count,
				 WMK_LABELS_MAX);
	for (uint32_t i = 0; i < type->count; i++) {
		const struct wmk_label *l = &type->labels[i];
		bool fits = type->is_signed ? l->from <= l->to && l->from >= low && l->to <= high
					    : (uint64_t)l->from <= (uint64_t)l->to && (uint64_t)l->to <= most;

		if (!l->name || !is_shown(l->name, WMK_NAME_MAX))
			return wmk_error(-EPROTO,
					 "label %u of an enumeration has no name, or one of more than %u bytes", i,
					 WMK_NAME_MAX);
		if (!fits)
			return wmk_error(-EPROTO, "label '%.60s' (%lld to %lld) does not fit into %u bits", l->name,
					 (long long)l->from, (long long)l->to, type->width);
	}
	return 0;
}

static int check_width(const struct wmk_type *type)
{
	bool whole = type->width == 8 || type->width == 16 || type->width == 32 || type->width == 64;

	if (!whole || (type->kind == WMK_TYPE_FLOAT && type->width < 32))
		return wmk_error(-EPROTO,
				 "unsupported type of %u bits: 8, 16, 32 or 64 are allowed, for a float 32 or 64",
				 type->width);
	if (type->base != 2 && type->base != 8 && type->base != 10 && type->base != 16)
		return wmk_error(-EPROTO, "unknown base %u: 2, 8, 10 or 16 is allowed", type->base);
	return 0;
}

static int check_type(const struct wmk_type *type, unsigned depth)
{
	if (depth > WMK_DEPTH_MAX)
		return wmk_error(-EPROTO, "types are nested too deep: at most %u levels are allowed", WMK_DEPTH_MAX);
	if (type->order > WMK_ORDER_BIG || type->is_signed > 1 || type->is_text > 1)
		return wmk_error(-EPROTO, "a type has an unknown byte order or unknown flags");
	switch (type->kind) {
	case WMK_TYPE_INT:
	case WMK_TYPE_FLOAT:
	case WMK_TYPE_BOOL:
		return check_width(type);
	case WMK_TYPE_ENUM:
	case WMK_TYPE_FLAGS:
		return check_width(type) < 0 ? -EPROTO : check_labels(type);
	case WMK_TYPE_STRING:
		return 0;
	case WMK_TYPE_ARRAY:
		if (type->count == 0 || type->count > WMK_ARRAY_MAX)
			return wmk_error(-EPROTO, "an array of %u elements: 1 to %u are allowed", type->count,
					 WMK_ARRAY_MAX);
		__attribute__((fallthrough));
	case WMK_TYPE_SEQUENCE:
	case WMK_TYPE_OPTIONAL:
		if (!type->elem || (type->is_text && (type->elem->kind != WMK_TYPE_INT || type->elem->width != 8)))
			return wmk_error(-EPROTO, "the elements of a text are not bytes");
		return check_type(type->elem, depth + 1);
	case WMK_TYPE_BLOB:
		return is_shown(type->media, WMK_NAME_MAX)
			       ? 0
			       : wmk_error(-EPROTO, "a media type of more than %u bytes", WMK_NAME_MAX);
	case WMK_TYPE_STRUCT:
		if (type->count == 0 || type->count > WMK_MEMBERS_MAX || !type->members)
			return wmk_error(-EPROTO, "a structure of %u members: 1 to %u are allowed", type->count,
					 WMK_MEMBERS_MAX);
		return check_fields(type->members, type->count, depth + 1);
	default:
		return wmk_error(-EPROTO, "unknown type, number %u", type->kind);
	}
}

static int check_fields(const struct wmk_field *fields, size_t n, unsigned depth)
{
	for (size_t i = 0; i < n; i++) {
		if (!is_identifier(fields[i].name))
			return wmk_error(-EPROTO, "field %zu: its name is not an identifier of at most %u bytes", i + 1,
					 WMK_NAME_MAX);
		for (size_t j = 0; j < i; j++)
			if (strcmp(fields[i].name, fields[j].name) == 0)
				return wmk_error(-EPROTO, "two fields are named %s", fields[i].name);
		if (!is_shown(fields[i].unit, WMK_NAME_MAX))
			return wmk_error(-EPROTO, "field %s: a unit of more than %u bytes", fields[i].name,
					 WMK_NAME_MAX);
		if (check_type(&fields[i].type, depth) < 0)
			return wmk_error_add(-EPROTO, "field %s", fields[i].name);
	}
	return 0;
}

static bool is_counter(const struct wmk_event_class *event)
{
	const unsigned kind = event->n_fields ? event->fields[0].type.kind : WMK_TYPE_STRING;

	return kind == WMK_TYPE_INT || kind == WMK_TYPE_FLOAT || kind == WMK_TYPE_BOOL || kind == WMK_TYPE_ENUM;
}

/* A full name is unambiguous, because an event without a provider has no ':' in its name. */
static bool has_no_provider(const struct wmk_event_class *event)
{
	return event->provider && !*event->provider && event->name && !strchr(event->name, ':');
}

int wmk_class_check(const struct wmk_event_class *event)
{
	/*
	 * A kernel probe may have more fields than an application's event. The `+ 1` is for the field `msg` of an event
	 * of the kind TEXT.
	 */
	const unsigned most = has_no_provider(event) ? WMK_MEMBERS_MAX : WAYMARK_MAX_FIELDS + 1;

	if (!is_printable(event->provider, false) && !has_no_provider(event))
		return wmk_error(-EPROTO,
				 "invalid provider name: 1 to %u printable ASCII characters other than \" \\ : are "
				 "allowed",
				 WMK_NAME_MAX);
	if (!is_printable(event->name, true))
		return wmk_error(-EPROTO,
				 "invalid event name: 1 to %u printable ASCII characters other than \" \\ are allowed",
				 WMK_NAME_MAX);
	if (!is_shown(event->file, WMK_TEXT_MAX) || !is_shown(event->function, WMK_TEXT_MAX) ||
	    !is_shown(event->format, WMK_TEXT_MAX))
		return wmk_error(-EPROTO, "a file, function or format of more than %u bytes", WMK_TEXT_MAX);
	if (!wmk_kind_has_class(event->kind))
		return wmk_error(-EPROTO, "unknown kind of event, number %u", event->kind);
	if (event->kind == WAYMARK_KIND_COUNTER && !is_counter(event))
		return wmk_error(-EPROTO, "the first field of a counter must be a number");
	if (event->level > WAYMARK_LEVEL_DEBUG)
		return wmk_error(-EPROTO, "unknown log level, number %u", event->level);
	if (event->n_fields > most)
		return wmk_error(-EPROTO, "%u fields: at most %u are allowed", event->n_fields, most);
	return check_fields(event->fields, event->n_fields, 0);
}
