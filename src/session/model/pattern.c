/* SPDX-License-Identifier: MIT */
/*
 * pattern.c - glob patterns for `provider:name`: * ? [a-z] [!a-z], and \ before a literal character.
 */
#include "session/tracing.h"

#include "base/error.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PATTERN_MAX 511

/* Match `c` with the set after '['. Returns the rest of the pattern after ']', or NULL if the pattern has no ']'. */
static const char *set_match(const char *p, char c, bool *in)
{
	bool negated = *p == '!' || *p == '^', found = false;

	p += negated;
	for (bool first = true; *p && (*p != ']' || first); first = false) {
		unsigned char low = (unsigned char)*p++, high = low;

		if (p[0] == '-' && p[1] && p[1] != ']') {
			high = (unsigned char)p[1];
			p += 2;
		}
		found = found || ((unsigned char)c >= low && (unsigned char)c <= high);
	}
	if (*p != ']')
		return NULL;
	*in = found != negated;
	return p + 1;
}

/* Match one character with one element of the pattern. Returns the rest of the pattern, or NULL: no match. */
static const char *one_match(const char *p, char c)
{
	bool in = false;

	if (*p == '?')
		return p + 1;
	if (*p == '[') {
		const char *rest = set_match(p + 1, c, &in);

		return in ? rest : NULL;
	}
	if (*p == '\\' && p[1])
		p++;
	return *p == c ? p + 1 : NULL;
}

/* The algorithm backtracks only to the latest '*', so the time is bounded by the product of the lengths. */
static bool glob(const char *p, const char *s)
{
	const char *star = NULL, *from = NULL, *rest;

	while (*s) {
		if (*p == '*') {
			star = ++p;
			from = s;
		} else if (*p && (rest = one_match(p, *s)) != NULL) {
			p = rest;
			s++;
		} else if (star) {
			p = star;
			s = ++from;
		} else {
			return false;
		}
	}
	while (*p == '*')
		p++;
	return !*p;
}

bool wmk_pattern_match(const char *pattern, const char *provider, const char *name)
{
	char full[2 * WMK_NAME_MAX + 2];

	snprintf(full, sizeof(full), "%s:%s", provider, name);
	return glob(pattern, full) || (!strchr(pattern, ':') && glob(pattern, provider));
}

bool wmk_pattern_match_text(const char *pattern, const char *text)
{
	return glob(pattern, text);
}

int wmk_pattern_check(const char *pattern)
{
	const char *p = pattern + (*pattern == '!');
	bool in;

	if (!*p)
		return wmk_error(-EINVAL, "the pattern '%s' is empty", pattern);
	if (strnlen(p, PATTERN_MAX + 1) > PATTERN_MAX)
		return wmk_error(-EINVAL, "the pattern '%.40s...' has more than %u bytes", pattern, PATTERN_MAX);
	if (!wmk_utf8_is(p))
		return wmk_error(-EINVAL, "the pattern is not valid UTF-8 (event names are ASCII)");
	while (*p) {
		if (*p == '[') {
			p = set_match(p + 1, 0, &in);
			if (!p)
				return wmk_error(-EINVAL, "the pattern '%s' has a '[' without a ']'", pattern);
		} else if (*p == '\\' && !p[1]) {
			return wmk_error(-EINVAL, "the pattern '%s' ends in a '\\': a character must follow", pattern);
		} else {
			p += *p == '\\' ? 2 : 1;
		}
	}
	return 0;
}
