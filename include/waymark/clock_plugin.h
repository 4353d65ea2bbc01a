/* SPDX-License-Identifier: MIT */
/*
 * clock_plugin.h - replace the clock of records, for example by a hardware counter that several machines share, or by
 * the time of a simulator.
 *
 * A plug-in is a shared library that the environment variable WAYMARK_CLOCK_PLUGIN of the applications and of the
 * session daemon names. It exports
 *
 *     int waymark_clock_plugin_init(struct waymark_clock_plugin *plugin)
 *     {
 *         if (plugin->version != WAYMARK_CLOCK_PLUGIN_VERSION)
 *             return -1;
 *         plugin->name = "ptp";
 *         plugin->freq = 1000000000;
 *         plugin->now = read_clock;
 *         return 0;
 *     }
 *
 * The application calls waymark_clock_plugin_init() once, before main() (without instrumentation in the program: when
 * the first instrumented library is loaded), and keeps the library loaded. A session rejects applications with another
 * clock and reports the reason. A set-user-ID program loads no plug-in.
 */
#ifndef WAYMARK_CLOCK_PLUGIN_H
#define WAYMARK_CLOCK_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WAYMARK_CLOCK_PLUGIN_VERSION 1

struct waymark_clock_plugin {
	size_t size;              /* sizeof(struct waymark_clock_plugin), set by the caller: later versions append */
	uint32_t version;         /* WAYMARK_CLOCK_PLUGIN_VERSION, set by the caller */
	uint32_t reserved;
	const char *name;         /* 1 to 31 printable ASCII characters without spaces; static */
	const char *uuid;         /* identifies the clock, so that traces made with it can be merged; or NULL; static */
	uint64_t freq;            /* Hz, 1 to 100 GHz */
	/*
	 * Return the time in cycles. Applications call now() for every record, in any thread, in signal handlers, and
	 * in several processes. All processes must see the same clock. The time must not decrease. The function must
	 * not take a lock or allocate memory, and must preserve errno.
	 */
	uint64_t (*now)(void);
};

/*
 * Exported by the plug-in. Fills *plugin and returns 0. If the function returns another value, or a member is invalid,
 * the application runs without a plug-in, and the session daemon does not start.
 */
int waymark_clock_plugin_init(struct waymark_clock_plugin *plugin);

#ifdef __cplusplus
}
#endif
#endif
