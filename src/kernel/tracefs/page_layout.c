/* SPDX-License-Identifier: MIT */
/*
 * page_layout.c - events/header_page: where a page's fields are, one in a line: "field: u64
 * timestamp;	offset:0;	size:8;	signed:0;".
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "kernel/tracefs/page.h"

#define LINE_MAX_BYTES 256

struct place {
	uint32_t at, size;
};

/* The number behind `key` in a line that is a string. */
static bool number_of(const char *line, const char *key, uint32_t *number)
{
	const char *at = strstr(line, key);

	if (!at)
		return false;
	at += strlen(key);
	if (*at < '0' || *at > '9')
		return false;
	for (*number = 0; *at >= '0' && *at <= '9'; at++) {
		*number = *number * 10 + (uint32_t)(*at - '0');
		if (*number > WMK_KPAGE_SIZE_MAX)
			return false;
	}
	return *at == ';';
}

/* The line's field is called so: the last word before the first semicolon. */
static bool is_called(const char *line, const char *name)
{
	const char *end = strchr(line, ';'), *begin;

	if (!end)
		return false;
	for (begin = end; begin > line && begin[-1] != ' ' && begin[-1] != '\t'; begin--)
		;
	return (size_t)(end - begin) == strlen(name) && memcmp(begin, name, strlen(name)) == 0;
}

static bool find(const char *text, size_t len, const char *name, struct place *place)
{
	while (len) {
		const char *newline = memchr(text, '\n', len);
		const size_t n = newline ? (size_t)(newline - text) : len;
		char line[LINE_MAX_BYTES];

		if (n < sizeof(line)) {
			memcpy(line, text, n);
			line[n] = '\0';
			if (is_called(line, name))
				return number_of(line, "offset:", &place->at) && number_of(line, "size:", &place->size);
		}
		text += newline ? n + 1 : n;
		len -= newline ? n + 1 : n;
	}
	return false;
}

int wmk_kpage_layout_parse(const char *text, size_t len, struct wmk_kpage_layout *layout)
{
	struct place time, commit, data;

	if (!find(text, len, "timestamp", &time) || !find(text, len, "commit", &commit) ||
	    !find(text, len, "data", &data))
		return wmk_error(-EPROTO, "events/header_page does not tell where timestamp, commit and data are");
	if (time.at != 0 || time.size != 8 || (commit.size != 4 && commit.size != 8) || commit.at < 8 ||
	    commit.at % commit.size || data.at < commit.at + commit.size || data.at % 4)
		return wmk_error(-EPROTO,
				 "events/header_page describes pages of a kind that is not known: time %u+%u, commit "
				 "%u+%u, data %u+%u",
				 time.at, time.size, commit.at, commit.size, data.at, data.size);
	if (data.size < 8 || data.size > WMK_KPAGE_SIZE_MAX - data.at)
		return wmk_error(-EPROTO, "events/header_page describes pages with %u bytes of records", data.size);
	*layout = (struct wmk_kpage_layout){ commit.at, commit.size, data.at, data.at + data.size };
	return 0;
}
