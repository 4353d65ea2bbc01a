/* SPDX-License-Identifier: MIT */
/*
 * clock_plugin.h - load a clock plug-in (include/waymark/clock_plugin.h), in applications and in the process that
 * writes their metadata, which must describe the same clock.
 */
#ifndef WMK_BASE_CLOCK_PLUGIN_H
#define WMK_BASE_CLOCK_PLUGIN_H

#include <waymark/clock_plugin.h>

#include "base/clock.h"

/*
 * Load the plug-in at `path`, which stays loaded. 0, or -errno with a cause chain: no such library, none of this
 * interface, or it does not want to. Calls the loader.
 */
int wmk_clock_plugin_open(const char *path, struct waymark_clock_plugin *plugin);
/* Describe its clock: name, frequency, and the offset to real time, measured now. */
void wmk_clock_plugin_measure(const struct waymark_clock_plugin *plugin, struct wmk_clock *clock);

/* The clocks that the traces of a daemon can have. */
struct wmk_clocks {
	struct wmk_clock of[WMK_CLOCK_KINDS];    /* by enum wmk_clock_kind; freq 0: this one is not available */
	enum wmk_clock_kind preferred;           /* the one with the least cost */
	uint64_t (*plugin_now)(void);            /* NULL: no plug-in */
	int64_t ahead;                           /* CLOCK_MONOTONIC here, of the machine's (time namespace) */
};

/*
 * Measure all of them: the plug-in's clock alone if WAYMARK_CLOCK_PLUGIN names one, else those of the machine.
 * Applications read the same variable and send the name of their clock when they register. The session daemon refuses
 * an application with another clock.
 * 0 or -errno with a cause chain.
 */
int wmk_clocks_measure(struct wmk_clocks *clocks);
/* The value of one of them now. */
uint64_t wmk_clocks_now(const struct wmk_clocks *clocks, enum wmk_clock_kind kind);

#endif
