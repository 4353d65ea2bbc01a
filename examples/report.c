/* SPDX-License-Identifier: MIT */
/* report.c - a library with an event; plugins.c loads it. */
#include <stdbool.h>

#include <waymark/trace.h>

bool report(int turn);

/* Record that it was called. Returns whether the event is enabled. */
__attribute__((visibility("default"))) bool report(int turn)
{
	waymark(plugin, report, turn);
	return wm_enabled(plugin, report);
}
