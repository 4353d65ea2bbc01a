/* SPDX-License-Identifier: MIT */
/*
 * levels.h - parse conditions on log levels.
 */
#ifndef WMK_CLI_LEVELS_H
#define WMK_CLI_LEVELS_H

#include <stdint.h>

/* "WARNING", "warning", "TRACE_WARNING" (as in LTTng), "4". -EINVAL with a cause chain that names similar levels. */
int wmk_cli_level(const char *text, uint32_t *level);
/*
 * "LEVEL": returns 0 with *from = *to. "LEVEL..LEVEL", in either order: returns 1 with *from <= *to. -EINVAL with a
 * cause chain.
 */
int wmk_cli_level_range(const char *text, uint32_t *from, uint32_t *to);

#endif
