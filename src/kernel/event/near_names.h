/* SPDX-License-Identifier: MIT */
/*
 * near_names.h - finds the nearest of very many names. A kernel has hundreds of thousands of symbols. Most names are
 * excluded by their length, before an expensive comparison. The number of examined names is limited.
 */
#ifndef WMK_KERNEL_NEAR_NAMES_H
#define WMK_KERNEL_NEAR_NAMES_H

#include <stdint.h>
#include <string.h>

#include "base/nearest.h"

struct wmk_names_near {
	struct wmk_nearest best;
	size_t length;         /* length of the searched word */
	uint32_t left;         /* names that may still be examined */
};

static inline void wmk_names_near_init(struct wmk_names_near *near, const char *word, uint32_t most)
{
	wmk_nearest_init(&near->best, word);
	near->length = strlen(word);
	near->left = most;
}

/* Like wmk_nearest_offer(), but ignores names beyond the limit and names of a very different length. */
static inline void wmk_names_near_offer(struct wmk_names_near *near, const char *name)
{
	const size_t length = strlen(name), slack = 1 + near->length / 3;

	if (near->left == 0 || near->length > 60)
		return;
	near->left--;
	if (length + slack < near->length ||
	    (length > near->length + slack && strncmp(name, near->best.word, near->length) != 0))
		return;
	wmk_nearest_offer(&near->best, name);
}

#endif
