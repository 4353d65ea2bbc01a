/* SPDX-License-Identifier: MIT */
/*
 * names.c - unique names of tables and columns (see names.h).
 */
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/names.h"
#include "base/utf8.h"

static int lower(unsigned char c)
{
	return c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c;
}

static int by_name(const void *left, const void *right)
{
	const unsigned char *a = left, *b = right;

	while (*a && lower(*a) == lower(*b)) {
		a++;
		b++;
	}
	return lower(*a) - lower(*b);
}

char *wmk_query_names_clean(const char *name)
{
	const size_t len = strlen(name);
	char *clean = malloc(3 * len + 1), *p = clean;

	for (size_t i = 0; clean && i < len;) {
		const size_t n = wmk_utf8_length(name + i, len - i);

		p = mempcpy(p, n ? name + i : "\xef\xbf\xbd", n ? n : 3);
		i += n ? n : 1;
	}
	if (clean)
		*p = '\0';
	return clean;
}

const char *wmk_query_names_add(struct wmk_query_names *names, const char *name, const char *prefix)
{
	char *made = strdup(name), **found;

	if (made && !*made) {
		free(made);
		made = strdup(prefix);
	}
	for (unsigned n = 1; made; n++) {
		char *next;

		found = tsearch(made, &names->root, by_name);
		if (found && *found == made)
			return made;
		free(made);
		if (!found || (n == 1 ? asprintf(&next, "%s_%s", prefix, name)
				      : asprintf(&next, "%s_%s_%u", prefix, name, n)) < 0)
			return NULL;
		made = next;
	}
	return NULL;
}

void wmk_query_names_free(struct wmk_query_names *names)
{
	tdestroy(names->root, free);
	names->root = NULL;
}
