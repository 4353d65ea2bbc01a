/* SPDX-License-Identifier: MIT */
/*
 * nearest.c - Damerau edit distance, and the best matches among many names.
 */
#include "base/nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define LONGEST 64

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;

	return m < c ? m : c;
}

static int low(char c)
{
	return tolower((unsigned char)c);
}

unsigned wmk_nearest_distance(const char *a, const char *b)
{
	size_t n = strnlen(a, LONGEST), m = strnlen(b, LONGEST);
	unsigned rows[3][LONGEST + 1];       /* the current row and the two before it, in rotation */

	for (unsigned j = 0; j <= m; j++)
		rows[0][j] = j;
	for (unsigned i = 1; i <= n; i++) {
		unsigned *row = rows[i % 3];
		const unsigned *up = rows[(i + 2) % 3], *up2 = rows[(i + 1) % 3];

		row[0] = i;
		for (unsigned j = 1; j <= m; j++) {
			unsigned differ = low(a[i - 1]) != low(b[j - 1]);

			row[j] = min3(up[j] + 1, row[j - 1] + 1, up[j - 1] + differ);
			if (i > 1 && j > 1 && low(a[i - 1]) == low(b[j - 2]) && low(a[i - 2]) == low(b[j - 1]) &&
			    up2[j - 2] + 1 < row[j])
				row[j] = up2[j - 2] + 1;
		}
	}
	return rows[n % 3][m];
}

void wmk_nearest_init(struct wmk_nearest *near, const char *word)
{
	memset(near, 0, sizeof(*near));
	near->word = word;
}

void wmk_nearest_offer(struct wmk_nearest *near, const char *name)
{
	size_t length = strnlen(near->word, LONGEST);
	unsigned distance = wmk_nearest_distance(near->word, name);
	unsigned at;

	/*
	 * The word may be the beginning of a name that the user has not finished. A name that begins with the word is
	 * therefore at most at distance 2, whatever the length of the name.
	 */
	if (length >= 2 && strncmp(near->word, name, length) == 0)
		distance = distance < 2 ? distance : 2;
	if (distance > 1 + length / 3)
		return;
	for (at = 0; at < near->n; at++)
		if (strcmp(near->names[at], name) == 0)
			return;
	for (at = near->n; at > 0 && near->distances[at - 1] > distance; at--) {
		if (at < WMK_NEAREST_MAX) {
			near->names[at] = near->names[at - 1];
			near->distances[at] = near->distances[at - 1];
		}
	}
	if (at == WMK_NEAREST_MAX)
		return;
	near->names[at] = name;
	near->distances[at] = distance;
	if (near->n < WMK_NEAREST_MAX)
		near->n++;
}

const char *wmk_nearest_text(const struct wmk_nearest *near, char *buf, size_t size)
{
	size_t len = 0;

	if (size)
		buf[0] = '\0';
	for (unsigned i = 0; i < near->n && len < size; i++) {
		int n = snprintf(buf + len, size - len, "%s%s", i ? ", " : "", near->names[i]);

		if (n < 0)
			break;
		len += (size_t)n;
	}
	return buf;
}
