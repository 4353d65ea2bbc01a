/* SPDX-License-Identifier: MIT */
/* clock.h - the clock plug-in of the application, if it has one (include/waymark/clock_plugin.h). */
#ifndef WMK_TRACER_CLOCK_H
#define WMK_TRACER_CLOCK_H

#include <stdint.h>

#include "wire/wire.h"

/*
 * Load the plug-in that the environment variable WAYMARK_CLOCK_PLUGIN names, once. Without the environment variable, or
 * after an error, no plug-in is used. A constructor calls wmk_clock_plugin_load(), because the function uses the
 * loader, which the helper thread must not call.
 */
void wmk_clock_plugin_load(void);
/* Return the clock function of the plug-in, or NULL. */
uint64_t (*wmk_clock_plugin_now(void))(void);
/* Store the description of the application's clock in the message HELLO. */
void wmk_clock_describe(struct wmk_hello *hello);

#endif
