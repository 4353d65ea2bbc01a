/* SPDX-License-Identifier: MIT */
/* clock_plugin.c - see clock_plugin.h. */
#include "base/clock_plugin.h"

#include "base/error.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FREQ_MAX 100000000000u
#define READINGS 16

static bool is_name(const char *name)
{
	size_t len = name ? strnlen(name, 32) : 0;

	if (len == 0 || len > 31)
		return false;
	for (size_t i = 0; i < len; i++)
		if (name[i] <= ' ' || name[i] > '~')
			return false;
	return true;
}

int wmk_clock_plugin_open(const char *path, struct waymark_clock_plugin *plugin)
{
	struct waymark_clock_plugin candidate = { .size = sizeof(candidate), .version = WAYMARK_CLOCK_PLUGIN_VERSION };
	int (*init)(struct waymark_clock_plugin *) = NULL;
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int err;

	if (!library)
		return wmk_error(-ENOENT, "cannot load the clock plug-in %.200s: %s", path, dlerror());
	*(void **)&init = dlsym(library, "waymark_clock_plugin_init");
	if (!init)
		err = wmk_error(-ENOEXEC, "%.200s is not a clock plug-in: no function waymark_clock_plugin_init()",
				path);
	else if (init(&candidate) != 0)
		err = wmk_error(-ENOTSUP, "the clock plug-in %.200s rejects version %d of the interface", path,
				WAYMARK_CLOCK_PLUGIN_VERSION);
	else if (!candidate.now || !is_name(candidate.name) || candidate.freq == 0 || candidate.freq > FREQ_MAX)
		err = wmk_error(-EINVAL,
				"the clock plug-in %.200s is invalid: it needs a function now, a name of 1 to 31 "
				"printable characters without spaces, and a frequency from 1 Hz to 100 GHz",
				path);
	else
		err = 0;
	if (err < 0)
		dlclose(library);
	else
		*plugin = candidate;
	return err;
}

static uint64_t realtime_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void wmk_clock_plugin_measure(const struct waymark_clock_plugin *plugin, struct wmk_clock *clock)
{
	uint64_t best = UINT64_MAX, at_ns = 0, value = 0;

	memset(clock, 0, sizeof(*clock));
	clock->kind = WMK_CLOCK_PLUGIN;
	clock->freq = plugin->freq;
	clock->precision = 1;
	snprintf(clock->name, sizeof(clock->name), "%s", plugin->name);
	snprintf(clock->uuid, sizeof(clock->uuid), "%.36s", plugin->uuid ? plugin->uuid : "");
	snprintf(clock->description, sizeof(clock->description), "Clock plug-in %s", plugin->name);
	/* Use the pair of readings with the shortest time between them. */
	for (int i = 0; i < READINGS; i++) {
		uint64_t before = realtime_ns(), v = plugin->now(), after = realtime_ns();

		if (after - before < best) {
			best = after - before;
			at_ns = before + best / 2;
			value = v;
		}
	}
	wmk_clock_set_offset(clock, value, at_ns);
}

static int measure_plugin(const char *path, struct wmk_clocks *clocks)
{
	struct waymark_clock_plugin plugin;
	int err = wmk_clock_plugin_open(path, &plugin);

	if (err < 0)
		return wmk_error_add(err, "cannot use the clock that WAYMARK_CLOCK_PLUGIN names");
	wmk_clock_plugin_measure(&plugin, &clocks->of[WMK_CLOCK_PLUGIN]);
	clocks->preferred = WMK_CLOCK_PLUGIN;
	clocks->plugin_now = plugin.now;
	return 0;
}

int wmk_clocks_measure(struct wmk_clocks *clocks)
{
	const char *path = secure_getenv("WAYMARK_CLOCK_PLUGIN");
	int err;

	memset(clocks, 0, sizeof(*clocks));
	if (path && *path)
		return measure_plugin(path, clocks);
	clocks->preferred = wmk_clock_detect();
	clocks->ahead = wmk_clock_offsets().monotonic;
	err = wmk_clock_measure(WMK_CLOCK_MONOTONIC, &clocks->of[WMK_CLOCK_MONOTONIC]);
	if (err == 0 && clocks->preferred == WMK_CLOCK_COUNTER)
		err = wmk_clock_measure(WMK_CLOCK_COUNTER, &clocks->of[WMK_CLOCK_COUNTER]);
	return err;
}

uint64_t wmk_clocks_now(const struct wmk_clocks *clocks, enum wmk_clock_kind kind)
{
	if (kind == WMK_CLOCK_PLUGIN && clocks->plugin_now)
		return clocks->plugin_now();
	return kind == WMK_CLOCK_COUNTER ? wmk_clock_counter() : wmk_clock_monotonic() - (uint64_t)clocks->ahead;
}
