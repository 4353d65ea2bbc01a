/* SPDX-License-Identifier: MIT */
/*
 * session.h - arguments and shared functions of the commands that create, control and destroy sessions.
 */
#ifndef WMK_CLI_SESSION_H
#define WMK_CLI_SESSION_H

#include <stdint.h>

#include <waymark/ctl.h>

#include "cli/command.h"

struct wmk_session_args {
	struct wmk_cli_common common;
	bool all;                        /* destroy, stop */
	const char *glob;                /* destroy, stop, start, clear; NULL: one session */
	bool no_wait;                    /* destroy, stop */
	int64_t live_us;                 /* create; 0: not given */
	const char *output;              /* create */
	uint64_t max_size;               /* create; 0: no limit */
	uint32_t trace_format;           /* create */
	uint32_t clock;                  /* create; enum waymark_ctl_clock */
	bool no_statedump;               /* create */
	const char *shm_path;            /* create */
	const char *description;         /* create */
	bool snapshot, no_output, compress; /* create */
	const char *url;                 /* create */
	uint64_t spool_size;             /* create; 0: not given */
};

/*
 * If `print` is set, print a line about the end of each session in the daemon's result. Example: if `what` is
 * "stopped", print "Session one stopped: 120 records, 3 lost, 1.5 MB in PATH". Print the causes of lost records on
 * standard error. If `what` is NULL, the line reports that the session daemon is still writing the last records of the
 * session.
 */
struct wmk_daemon;
void wmk_session_tell_ends(const struct wmk_daemon *daemon, const char *what, bool print);
/* Store one trace of the sessions in the daemon's result as the latest trace. */
void wmk_session_remember(const struct wmk_daemon *daemon);

/*
 * Options of commands that record. The options fill the members trace_format (enum waymark_ctl_trace_format), clock
 * (enum waymark_ctl_clock) and no_statedump.
 */
#define WMK_SESSION_OPTION_FORMAT(type) \
	{ 0, "trace-format", "FORMAT", "The metadata version: ctf-1.8, which every reader supports, or ctf-2, which " \
	  "also describes booleans, names of bits and media types. The default is ctf-1.8.", \
	  WMK_CLI_CHOICE(type, trace_format, "ctf-1.8 ctf-2", \
			 "unknown trace format '@': the formats are ctf-1.8 and ctf-2") }
#define WMK_SESSION_OPTION_CLOCK(type) \
	{ 0, "clock", "CLOCK", "The clock of the records: counter (of the processor) or monotonic " \
	  "(CLOCK_MONOTONIC, which is slower). The default is counter if applications and the kernel domain support " \
	  "it, else monotonic.", \
	  WMK_CLI_CHOICE(type, clock, "counter monotonic", \
			 "unknown clock '@': the clocks are counter and monotonic"), .min = WAYMARK_CTL_CLOCK_COUNTER }
/* Other options of this macro fill the members url and spool_size of the command's arguments. */
#define WMK_SESSION_OPTION_URL(option, type) \
	{ 0, option, "URL", "Send the trace to the relay (`waymark-relayd`) at tls://RELAY[:PORT], or at " \
	  "tcp://127.0.0.1[:PORT][/HOST] on the same machine. The relay stores the trace below HOST: the name in the " \
	  "certificate of this machine, or with tcp by default the name of this machine.", \
	  WMK_CLI_NAME(type, url, "a URL") }
#define WMK_SESSION_OPTION_SPOOL_SIZE(type) \
	{ 0, "spool-size", "SIZE", "The maximum size of the records that the relay does not have yet and that are " \
	  "kept on disk, below ~/.local/state/waymark/spool. The default is 1G.", \
	  .store = wmk_cli_store_size, WMK_CLI_AT(uint64_t, type, spool_size) }
#define WMK_SESSION_OPTION_NO_STATEDUMP(type) \
	{ 0, "no-statedump", NULL, "Do not record what existed when recording began: the objects that an application " \
	  "has loaded; in the kernel domain, processes, their files and memory, interrupts, and devices.", \
	  WMK_CLI_FLAG(type, no_statedump) }

#endif
