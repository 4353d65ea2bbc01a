/* SPDX-License-Identifier: MIT */
/*
 * clock.c - load a clock plug-in and describe it to session daemons.
 *
 * A constructor loads the plug-in before the helper thread starts, because the helper thread must not call the loader.
 * The plug-in stays loaded.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock_plugin.h"
#include "base/error.h"
#include "tracer/clock.h"
#include "tracer/tracer.h"

static struct waymark_clock_plugin plugin;

void wmk_clock_plugin_load(void)
{
	const char *path = wmk_tracer.secure ? NULL : secure_getenv("WAYMARK_CLOCK_PLUGIN");

	if (!path || !*path || plugin.now)
		return;
	/* the session daemon reports the error when it loads the same plug-in */
	if (wmk_clock_plugin_open(path, &plugin) < 0)
		wmk_error_clear();
}

uint64_t (*wmk_clock_plugin_now(void))(void)
{
	return plugin.now;
}

void wmk_clock_describe(struct wmk_hello *hello)
{
	struct wmk_clock clock;

	if (!plugin.now)
		return;
	wmk_clock_plugin_measure(&plugin, &clock);
	hello->clock_freq = clock.freq;
	hello->clock_offset_s = clock.offset_s;
	hello->clock_offset = clock.offset;
	snprintf(hello->clock, sizeof(hello->clock), "%s", clock.name);
	snprintf(hello->clock_uuid, sizeof(hello->clock_uuid), "%s", clock.uuid);
}
