/* SPDX-License-Identifier: MIT */
/*
 * clock.c - loads a trace clock plug-in and describes it to controllers.
 *
 * The plug-in is loaded by a constructor, before the helper is started: the helper makes no loader call. It stays loaded.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <waymark/clock_plugin.h>

#include "tracer/clock.h"
#include "tracer/tracer.h"

static struct waymark_clock_plugin plugin;

void wmk_clock_plugin_load(void)
{
	const char *path = wmk_tracer.secure ? NULL : secure_getenv("WAYMARK_CLOCK_PLUGIN");
	struct waymark_clock_plugin candidate = { .size = sizeof(candidate), .version = WAYMARK_CLOCK_PLUGIN_VERSION };
	void *library;
	int (*init)(struct waymark_clock_plugin *) = NULL;

	if (!path || !*path || plugin.now)
		return;
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return;
	*(void **)&init = dlsym(library, "waymark_clock_plugin_init");
	if (!init || init(&candidate) != 0 || !candidate.now || !candidate.name || candidate.freq == 0 || candidate.freq > 100000000000u) {
		dlclose(library);
		return;
	}
	plugin = candidate;
}

uint64_t (*wmk_clock_plugin_now(void))(void)
{
	return plugin.now;
}

static uint64_t realtime_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Real time at the clock's 0, from the closest of some pairs of readings. */
static void measure_offset(struct wmk_hello *hello)
{
	uint64_t best = UINT64_MAX, at_ns = 0, value = 0;

	for (int i = 0; i < 16; i++) {
		uint64_t before = realtime_ns(), v = plugin.now(), after = realtime_ns();

		if (after - before < best) {
			best = after - before;
			at_ns = before + best / 2;
			value = v;
		}
	}
	/* in cycles since 1970, as seconds and cycles; the value itself as well, so that neither overflows */
	uint64_t cycles = (uint64_t)((unsigned __int128)(at_ns % 1000000000u) * plugin.freq / 1000000000u);
	int64_t seconds = (int64_t)(at_ns / 1000000000u) - (int64_t)(value / plugin.freq);
	uint64_t rest = value % plugin.freq;

	if (cycles < rest) {
		cycles += plugin.freq;
		seconds--;
	}
	hello->clock_offset_s = seconds;
	hello->clock_offset = cycles - rest;
}

void wmk_clock_describe(struct wmk_hello *hello)
{
	if (!plugin.now)
		return;
	hello->clock_freq = plugin.freq;
	strncpy(hello->clock, plugin.name, sizeof(hello->clock) - 1);
	if (plugin.uuid)
		strncpy(hello->clock_uuid, plugin.uuid, sizeof(hello->clock_uuid) - 1);
	measure_offset(hello);
}
