/* SPDX-License-Identifier: MIT */
/*
 * kind.c - properties of the kinds of events (enum waymark_kind): which have a format, and how metadata marks spans and
 * counters (see schema.h).
 */
#include <stddef.h>
#include <string.h>

#include "base/array.h"
#include "schema/schema.h"

bool wmk_kind_has_class(unsigned kind)
{
	return kind <= WAYMARK_KIND_COUNTER && kind != WAYMARK_KIND_GUARD;
}

bool wmk_kind_has_format(unsigned kind)
{
	return kind == WAYMARK_KIND_MARKER || kind == WAYMARK_KIND_TEXT;
}

static const struct {
	unsigned kind;
	const char *uri, *suffix;
} marks[] = {
	{ WAYMARK_KIND_BEGIN, "waymark:begin", "_begin" },
	{ WAYMARK_KIND_END, "waymark:end", "_end" },
	{ WAYMARK_KIND_COUNTER, "waymark:counter", "" },
};

const char *wmk_kind_uri(unsigned kind)
{
	for (size_t i = 0; i < WMK_ARRAY_LEN(marks); i++)
		if (marks[i].kind == kind)
			return marks[i].uri;
	return NULL;
}

unsigned wmk_kind_of_uri(const char *uri)
{
	for (size_t i = 0; uri && i < WMK_ARRAY_LEN(marks); i++)
		if (!strcmp(marks[i].uri, uri))
			return marks[i].kind;
	return WAYMARK_KIND_EVENT;
}

size_t wmk_kind_name_len(unsigned kind, const char *name)
{
	const size_t len = strlen(name);

	for (size_t i = 0; i < WMK_ARRAY_LEN(marks); i++) {
		const size_t end = strlen(marks[i].suffix);

		if (marks[i].kind == kind && len > end && !strcmp(name + len - end, marks[i].suffix))
			return len - end;
	}
	return len;
}
