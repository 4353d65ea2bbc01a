/* SPDX-License-Identifier: MIT */
/*
 * clock.c - a trace clock plug-in: CLOCK_MONOTONIC plus one hour, in units of 100 ns. WMK_TEST_CLOCK_PPM: it is so many
 * millionths too fast.
 */
#include <stdlib.h>
#include <time.h>

#include <waymark/clock_plugin.h>

static uint64_t ppm;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	const uint64_t value = ((uint64_t)ts.tv_sec + 3600) * 10000000 + (uint64_t)ts.tv_nsec / 100;

	return value + value / 1000000 * ppm + value % 1000000 * ppm / 1000000;
}

__attribute__((visibility("default"))) int waymark_clock_plugin_init(struct waymark_clock_plugin *plugin)
{
	if (plugin->version != WAYMARK_CLOCK_PLUGIN_VERSION)
		return -1;
	const char *fast = getenv("WMK_TEST_CLOCK_PPM");

	ppm = fast ? strtoul(fast, NULL, 10) : 0;
	plugin->name = "an_hour_on";
	plugin->uuid = "01234567-89ab-cdef-0123-456789abcdef";
	plugin->freq = 10000000;
	plugin->now = now;
	return 0;
}
