/* SPDX-License-Identifier: MIT */
/*
 * core_pattern.h - expand a core_pattern as the kernel does: core(5).
 */
#ifndef WMK_CLI_CORE_PATTERN_H
#define WMK_CLI_CORE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* The letters of core(5) for which the hook receives values, in the order of the hook's arguments. */
#define WMK_CORE_LETTERS "PpiIugdstchEe"
#define WMK_CORE_VALUES (sizeof(WMK_CORE_LETTERS) - 1)
#define WMK_CORE_ARGUMENTS_MAX 32

struct wmk_core_values {
	const char *of[WMK_CORE_VALUES];
};

/* Return the value of a letter of core(5), for example 'p'. NULL: unknown letter. */
const char *wmk_core_value(const struct wmk_core_values *values, char letter);
/*
 * Expand one word of a pattern. `file`: the result is a path, so '/' in a value is replaced by '!'. Unknown letters
 * expand to nothing. -ENAMETOOLONG.
 */
int wmk_core_expand(const char *word, const struct wmk_core_values *values, bool file, char *buf, size_t size);
/*
 * Split the pattern of a pipe handler, without its '|', at spaces, and expand each word. argv ends with NULL; free it
 * with wmk_core_words_free(). -EINVAL: no absolute path, or too many words.
 */
int wmk_core_words(const char *pattern, const struct wmk_core_values *values, char *argv[WMK_CORE_ARGUMENTS_MAX + 1]);
void wmk_core_words_free(char *argv[WMK_CORE_ARGUMENTS_MAX + 1]);

#endif
