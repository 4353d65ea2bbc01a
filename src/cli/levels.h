/* SPDX-License-Identifier: MIT */
/*
 * levels.h - how a condition on log levels is written.
 */
#ifndef WMK_CLI_LEVELS_H
#define WMK_CLI_LEVELS_H

#include <stdint.h>

/* "WARNING", "warning", "TRACE_WARNING" (as LTTng has it), "4". -EINVAL with a cause chain that names the nearest. */
int wmk_cli_level(const char *text, uint32_t *level);
/*
 * "LEVEL", then 0 and *from = *to; or "LEVEL..LEVEL", in either order, then 1 and *from <= *to. -EINVAL with a cause
 * chain.
 */
int wmk_cli_level_range(const char *text, uint32_t *from, uint32_t *to);

#endif
