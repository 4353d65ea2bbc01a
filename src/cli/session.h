/* SPDX-License-Identifier: MIT */
/*
 * session.h - what the commands of a session's life are told.
 */
#ifndef WMK_CLI_SESSION_H
#define WMK_CLI_SESSION_H

#include <waymark/ctl.h>

#include "cli/command.h"

struct wmk_session_args {
	struct wmk_cli_common common;
	bool all;                        /* destroy, stop */
	const char *output;              /* create */
	uint64_t max_size;               /* create; 0: no limit */
	uint32_t trace_format;           /* create */
	uint32_t clock;                  /* create; enum waymark_ctl_clock */
	bool no_statedump;               /* create */
	const char *shm_path;            /* create */
	const char *description;         /* create */
};

/*
 * Of each session that a command was about: "Session one stopped: 120 records, 3 lost, 1.5 MB in PATH" if `print`, and
 * why they were lost.
 */
struct wmk_daemon;
void wmk_session_tell_ends(const struct wmk_daemon *daemon, const char *what, bool print);
/* What was recorded last is one of these. */
void wmk_session_remember(const struct wmk_daemon *daemon);

/*
 * Options of what records: of the members trace_format (enum waymark_ctl_trace_format), clock (enum waymark_ctl_clock),
 * no_statedump.
 */
#define WMK_SESSION_OPTION_FORMAT(type) \
	{ 0, "trace-format", "FORMAT", "The metadata's version of the Common Trace Format: ctf-1.8, which every " \
	  "reader knows, or ctf-2, which says more (booleans, names of bits, media types). The default is ctf-1.8.", \
	  WMK_CLI_CHOICE(type, trace_format, "ctf-1.8 ctf-2", \
			 "'@' is no format of traces: there are ctf-1.8 and ctf-2") }
#define WMK_SESSION_OPTION_CLOCK(type) \
	{ 0, "clock", "CLOCK", "The clock of the records: counter, the counter of the processor, or monotonic, " \
	  "CLOCK_MONOTONIC, which costs more. The default is counter where applications and the kernel domain have it, " \
	  "else monotonic.", \
	  WMK_CLI_CHOICE(type, clock, "counter monotonic", \
			 "unknown clock '@': the clocks are counter and monotonic"), .min = WAYMARK_CTL_CLOCK_COUNTER }
#define WMK_SESSION_OPTION_NO_STATEDUMP(type) \
	{ 0, "no-statedump", NULL, "Record only what happens, not what was there before: the objects that a program " \
	  "has loaded; of the kernel, processes, their files and memory, interrupts, devices.", \
	  WMK_CLI_FLAG(type, no_statedump) }

#endif
