/* SPDX-License-Identifier: MIT */
/* export_path.c - see export_path.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read/export_path.h"

#define NAME_KEPT 200u                    /* maximum bytes of a name before its number */

bool wmk_read_paths_meet(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	return (!a[n] || a[n] == '/') && (!b[n] || b[n] == '/') && (!a[n] || !b[n]);
}

char *wmk_read_export_path(const char *below, bool (*is_free)(const void *data, const char *path), const void *data,
			   unsigned *number)
{
	const size_t len = strlen(below);
	char *sub = malloc(len + 64);
	size_t n = 0;

	if (!sub)
		return NULL;
	for (size_t i = 0; i < len; i++)
		if (below[i] != '/' || (n && sub[n - 1] != '/'))
			sub[n++] = below[i];
	while (n && sub[n - 1] == '/')
		n--;
	sub[n] = '\0';
	/* A path component of dots ('.', '..') is replaced by underscores. */
	for (char *c = sub, *next; *c; c = *next ? next + 1 : next) {
		next = c + strcspn(c, "/");
		if (strspn(c, ".") >= (size_t)(next - c))
			memset(c, '_', (size_t)(next - c));
	}
	if (!n)
		n = (size_t)sprintf(sub, "trace");
	if (is_free(data, sub))
		return sub;
	/* If the path is not free, use a name that has only one component and ends with a number. */
	n = n > NAME_KEPT ? NAME_KEPT : n;
	for (size_t i = 0; i < n; i++)
		if (sub[i] == '/')
			sub[i] = '_';
	do
		sprintf(sub + n, "-%u", ++*number);
	while (!is_free(data, sub));
	return sub;
}
