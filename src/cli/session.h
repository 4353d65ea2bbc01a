/* SPDX-License-Identifier: MIT */
/*
 * session.h - what the commands of a session's life are told.
 */
#ifndef WMK_CLI_SESSION_H
#define WMK_CLI_SESSION_H

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
};

/* `path`, beneath the current directory if it is relative. -ENAMETOOLONG, ... with a cause chain. */
int wmk_session_absolute(const char *path, char *buf, size_t size);

/* Of each session that a command was about: "Session one stopped: 120 records, 3 lost, 1.5 MB in PATH" if `print`, and why they were lost. */
struct wmk_daemon;
void wmk_session_tell_ends(const struct wmk_daemon *daemon, const char *what, bool print);
/* What was recorded last is one of these. */
void wmk_session_remember(const struct wmk_daemon *daemon);

/* "ctf-1.8" or "ctf-2": enum waymark_ctl_trace_format. -EINVAL with a cause chain. */
int wmk_session_trace_format(const char *word, uint32_t *format);
/* "counter" or "monotonic": enum waymark_ctl_clock. -EINVAL with a cause chain. */
int wmk_session_clock_word(const char *word, uint32_t *clock);
#define WMK_SESSION_CLOCK_HELP "The clock of the records: counter, the counter of the processor, or monotonic, " \
	"CLOCK_MONOTONIC, which costs more. The default is counter where applications and the kernel domain have it, " \
	"else monotonic."
#define WMK_SESSION_FORMAT_HELP "The metadata's version of the Common Trace Format: ctf-1.8, which every reader knows, or ctf-2, which says more " \
	"(booleans, names of bits, media types). The default is ctf-1.8."
#define WMK_SESSION_NO_STATEDUMP_HELP "Record only what happens, not what was there before: the objects that a program has loaded; of the kernel, processes, " \
	"their files and memory, interrupts, devices."

#endif
