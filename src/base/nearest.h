/* SPDX-License-Identifier: MIT */
/*
 * nearest.h - which of the known names did somebody mean? For misspelt commands, options, contexts, events.
 *
 *     struct wmk_nearest near;
 *     wmk_nearest_init(&near, "recrod");
 *     for each known name: wmk_nearest_offer(&near, name);
 *     wmk_nearest_text(&near, buf, sizeof(buf));      "record, restart", or "" when nothing is near
 *
 * No allocation; names are kept by reference. Any thread.
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
/* `name` stays the caller's and must outlive *near. Far ones are ignored, and a name that has been offered already. */
void wmk_nearest_offer(struct wmk_nearest *near, const char *name);
/* The names, joined by ", ". Returns `buf`. */
const char *wmk_nearest_text(const struct wmk_nearest *near, char *buf, size_t size);
/*
 * Letters to insert, delete, replace or swap with their neighbour to make one into the other, capitals not
 * distinguished; only the first 64 bytes count.
 */
unsigned wmk_nearest_distance(const char *a, const char *b);

#endif
