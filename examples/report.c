/* SPDX-License-Identifier: MIT */
/* report.c - a library with an event, which plugins.c loads. */
#include <stdbool.h>

#include <waymark/trace.h>

bool report(int turn);

/* Says that it was called; true if that is recorded. */
__attribute__((visibility("default"))) bool report(int turn)
{
	waymark(plugin, report, turn);
	return wm_enabled(plugin, report);
}
