/* SPDX-License-Identifier: MIT */
/*
 * clock_plugin.h - loads a trace clock plug-in (include/waymark/clock_plugin.h): in the traced programs, and in whoever makes their
 * trace, which must describe the very clock that they read.
 */
#ifndef WMK_BASE_CLOCK_PLUGIN_H
#define WMK_BASE_CLOCK_PLUGIN_H

#include <waymark/clock_plugin.h>

#include "base/clock.h"

/*
 * Load the plug-in at `path`, which stays loaded. 0, or -errno with a cause chain: no such library, none of this interface, or it does
 * not want to. Calls the loader.
 */
int wmk_clock_plugin_open(const char *path, struct waymark_clock_plugin *plugin);
/* Describe its clock: name, frequency, and the offset to real time, measured now. */
void wmk_clock_plugin_measure(const struct waymark_clock_plugin *plugin, struct wmk_clock *clock);
/*
 * For who makes traces: the plug-in's clock where WAYMARK_CLOCK_PLUGIN names one, else the machine's. Programs have the same variable, and
 * announce their clock's name when they register: who has another one is refused. *now is the plug-in's, or NULL. 0 or -errno with a cause
 * chain.
 */
int wmk_clock_choose(struct wmk_clock *clock, uint64_t (**now)(void));

#endif
