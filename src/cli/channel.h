/* SPDX-License-Identifier: MIT */
/*
 * channel.h - arguments of enable-channel.
 */
#ifndef WMK_CLI_CHANNEL_H
#define WMK_CLI_CHANNEL_H

#include "cli/command.h"

struct wmk_channel_args {
	struct wmk_cli_common common;
	bool discard, overwrite, buffers_uid, buffers_pid;
	uint64_t subbuf_size, n_subbufs;                 /* powers of two; 0: the default */
	int64_t blocking_us;                             /* -1: no limit */
	uint64_t field_limit;                            /* 0: the default */
	int64_t flush_us;                                /* 0: the default; -1: whole sub-buffers only */
	uint64_t tracefile_size, tracefile_count;        /* 0: no limit */
	uint32_t call_arguments;                         /* enum waymark_ctl_call_arguments */
	uint32_t ownership, allocation, preallocation;   /* 0: not given, else 1 + the index in the list of words */
	uint32_t wake;                                   /* likewise: writer, timer */
	int64_t read_us;                                 /* --read-timer */
	int64_t reclaim_us;                              /* 0: never */
};

/* The option kind of --syscall-arguments, for the member call_arguments. */
#define WMK_CHANNEL_CALL_ARGUMENTS(type) \
	WMK_CLI_CHOICE(type, call_arguments, "text none", "unknown value '@': the values are text and none")
/* Check that the options are compatible. -EINVAL with a cause chain. */
int wmk_channel_check(const struct wmk_channel_args *args);

#endif
