/* SPDX-License-Identifier: MIT */
/*
 * clock.c - a trace clock plug-in: CLOCK_MONOTONIC plus one hour, in units of 100 ns. WMK_TEST_CLOCK_PPM: it is so many
 * millionths too fast. WMK_TEST_CLOCK_AHEAD: it is so many more seconds ahead. WMK_TEST_CLOCK_UUID: its UUID.
 * WMK_TEST_CLOCK_BASE: a file with the value at which it restarts from 0, 8 bytes.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include <waymark/clock_plugin.h>

static const uint64_t no_base;
static const uint64_t *base = &no_base;
static uint64_t ppm, ahead;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	const uint64_t value = ((uint64_t)ts.tv_sec + ahead) * 10000000 + (uint64_t)ts.tv_nsec / 100;

	return value + value / 1000000 * ppm + value % 1000000 * ppm / 1000000 -
	       __atomic_load_n(base, __ATOMIC_RELAXED);
}

__attribute__((visibility("default"))) int waymark_clock_plugin_init(struct waymark_clock_plugin *plugin)
{
	if (plugin->version != WAYMARK_CLOCK_PLUGIN_VERSION)
		return -1;
	const char *fast = getenv("WMK_TEST_CLOCK_PPM"), *file = getenv("WMK_TEST_CLOCK_BASE"),
		   *more = getenv("WMK_TEST_CLOCK_AHEAD"), *uuid = getenv("WMK_TEST_CLOCK_UUID");

	if (file) {
		base = mmap(NULL, sizeof(*base), PROT_READ, MAP_SHARED, open(file, O_RDONLY | O_CLOEXEC), 0);
		if (base == MAP_FAILED)
			return -1;
	}

	ahead = 3600 + (more ? strtoul(more, NULL, 10) : 0);
	ppm = fast ? strtoul(fast, NULL, 10) : 0;
	plugin->name = "an_hour_on";
	plugin->uuid = uuid ? uuid : "01234567-89ab-cdef-0123-456789abcdef";
	plugin->freq = 10000000;
	plugin->now = now;
	return 0;
}
