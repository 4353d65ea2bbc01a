/* SPDX-License-Identifier: MIT */
/*
 * clock_plugin.h - load a clock plug-in (include/waymark/clock_plugin.h).
 *
 * Applications and the daemon that writes their metadata must use the same clock, so both load the same plug-in.
 */
#ifndef WMK_BASE_CLOCK_PLUGIN_H
#define WMK_BASE_CLOCK_PLUGIN_H

#include <waymark/clock_plugin.h>

#include "base/clock.h"

/*
 * Load the plug-in at `path`; the plug-in is never unloaded. Returns 0, or -errno with a cause chain: the library
 * cannot be loaded, has no initialization function, rejects the version of the interface, or returns invalid values.
 * Calls dlopen(3).
 */
int wmk_clock_plugin_open(const char *path, struct waymark_clock_plugin *plugin);
/* Describe the plug-in's clock: name, frequency, and the offset to real time, measured now. */
void wmk_clock_plugin_measure(const struct waymark_clock_plugin *plugin, struct wmk_clock *clock);

/* The clocks available to the traces of a daemon. */
struct wmk_clocks {
	struct wmk_clock of[WMK_CLOCK_KINDS];    /* by enum wmk_clock_kind; freq 0: not available */
	enum wmk_clock_kind preferred;           /* the available clock that costs least */
	uint64_t (*plugin_now)(void);            /* NULL: no plug-in */
	/* ns: CLOCK_MONOTONIC of this process minus CLOCK_MONOTONIC of the machine (time namespace) */
	int64_t ahead;
};

/*
 * Measure the plug-in's clock if WAYMARK_CLOCK_PLUGIN names a plug-in, else all clocks of the machine. Applications
 * read the same variable and send the name of their clock when they register. The session daemon rejects an application
 * with another clock. Returns 0, or -errno with a cause chain.
 */
int wmk_clocks_measure(struct wmk_clocks *clocks);
/* Return the current value of one of the clocks. */
uint64_t wmk_clocks_now(const struct wmk_clocks *clocks, enum wmk_clock_kind kind);

#endif
