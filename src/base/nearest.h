/* SPDX-License-Identifier: MIT */
/*
 * nearest.h - suggest known names for a misspelt one: commands, options, contexts, events.
 *
 *     struct wmk_nearest near;
 *     wmk_nearest_init(&near, "recrod");
 *     for each known name: wmk_nearest_offer(&near, name);
 *     wmk_nearest_text(&near, buf, sizeof(buf));      "record, restart", or "" if no name is close
 *
 * struct wmk_nearest stores pointers to the names, and the functions allocate no memory. Any thread.
 */
#ifndef WMK_BASE_NEAREST_H
#define WMK_BASE_NEAREST_H

#include <stddef.h>

#define WMK_NEAREST_MAX 3

struct wmk_nearest {
	const char *word;
	unsigned n;
	const char *names[WMK_NEAREST_MAX];      /* best first */
	unsigned distances[WMK_NEAREST_MAX];
};

void wmk_nearest_init(struct wmk_nearest *near, const char *word);
/*
 * Consider `name` as a match. The caller owns `name`, and keeps `name` until *near is no longer used. The function
 * ignores distant names and repeated names.
 */
void wmk_nearest_offer(struct wmk_nearest *near, const char *name);
/* The names, joined by ", ". Returns `buf`. */
const char *wmk_nearest_text(const struct wmk_nearest *near, char *buf, size_t size);
/*
 * Return the edit distance of two names: the least number of letters to insert, delete, replace, or swap with the next
 * letter. The comparison ignores case, and uses only the first 64 bytes of each name.
 */
unsigned wmk_nearest_distance(const char *a, const char *b);

#endif
