/* SPDX-License-Identifier: MIT */
/*
 * clock.h - the trace clock plug-in, if the program was started with one (include/waymark/clock_plugin.h).
 */
#ifndef WMK_TRACER_CLOCK_H
#define WMK_TRACER_CLOCK_H

#include <stdint.h>

#include "wire/wire.h"

/*
 * Load what WAYMARK_CLOCK_PLUGIN names, once. From a constructor: calls the loader. Without it, or when it is no good:
 * no plug-in.
 */
void wmk_clock_plugin_load(void);
/* The plug-in's clock, or NULL. */
uint64_t (*wmk_clock_plugin_now(void))(void);
/* Say in the greeting which clock this program has. */
void wmk_clock_describe(struct wmk_hello *hello);

#endif
