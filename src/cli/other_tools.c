/* SPDX-License-Identifier: MIT */
/*
 * other_tools.c - names of commands of other tracers, each with the command of Waymark that does this work.
 *
 * The command names in this table come from lttng(1), perf(1), uftrace(1), trace-cmd(1), strace(1) and babeltrace2(1).
 */
#include <string.h>

#include "cli/command.h"

static const struct other_name {
	const char *name, *instead;
} names[] = {
	{ "metadata", "use `waymark regenerate metadata`" },
	{ "enable-kprobe", "use `waymark enable-event --kernel --probe PLACE NAME`" },
	{ "probe", "use `waymark enable-event --kernel --probe PLACE NAME`" },
	{ "live", "use `waymark view --follow`" },
	{ "attach", "use `waymark view --follow` for a trace, or `waymark strace -p PID` for a process" },
	{ "stat", "use `waymark strace -c` to count system calls, or `waymark list SESSION` for counts of records" },
	{ "trace", "use `waymark strace` for system calls, or `waymark record` for a trace" },
	{ "script", "use `waymark view`, or `waymark convert` for another format" },
	{ "replay", "use `waymark view`" },
	{ "dump", "use `waymark view`" },
	{ "annotate", "use `waymark view`" },
	{ "graph", "use `waymark convert --to perfetto`" },
	{ "show", "use `waymark view` for records, or `waymark list` for sessions" },
	{ "info", "use `waymark list`" },
	{ "sched", "use `waymark record --preset=sched`, then `waymark analyze sched`" },
	{ "kmem", "use `waymark record --preset=memory`, then `waymark analyze memory`" },
	{ "ftrace", "use `waymark enable-event --kernel --function NAME`" },
	{ "enable", "use `waymark enable-event`" },
	{ "disable", "use `waymark disable-event`" },
	{ "reset", "use `waymark destroy`" },
	{ "extract", "use `waymark stop`, then `waymark view`" },
	{ "config", "use `waymark save` and `waymark load` for the settings of a session" },
	{ "bench", "use `waymark calibrate`" },
};

const char *wmk_cli_other_tool(const char *name)
{
	for (unsigned i = 0; i < WMK_ARRAY_LEN(names); i++)
		if (strcmp(names[i].name, name) == 0)
			return names[i].instead;
	return NULL;
}
