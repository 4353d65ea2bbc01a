/* SPDX-License-Identifier: MIT */
/*
 * waits.c - what a blocked thread waits for (see threads.h).
 */
#include <string.h>

#include "analyze/threads.h"
#include "base/array.h"

const char *const wmk_wait_names[WMK_WAITS] = {
	[WMK_WAIT_FUTEX] = "futex",   [WMK_WAIT_SLEEP] = "sleep",
	[WMK_WAIT_POLL] = "poll",     [WMK_WAIT_NETWORK] = "network",
	[WMK_WAIT_DISK] = "disk",     [WMK_WAIT_READ] = "read or write",
	[WMK_WAIT_CHILD] = "child",   [WMK_WAIT_SYSCALL] = "another system call",
	[WMK_WAIT_STOPPED] = "stopped", [WMK_WAIT_UNINTERRUPTIBLE] = "uninterruptible",
	[WMK_WAIT_INTERRUPTIBLE] = "interruptible",
};

/* States in sched_switch. */
#define STATE_UNINTERRUPTIBLE 0x02
#define STATE_STOPPED 0x0c             /* stopped, traced */

/* System calls, selected by the first characters of their names. The first match is used. */
static const struct {
	const char *name;
	uint8_t wait;
} groups[] = {
	{ "futex", WMK_WAIT_FUTEX },      { "nanosleep", WMK_WAIT_SLEEP }, { "clock_nanosleep", WMK_WAIT_SLEEP },
	{ "poll", WMK_WAIT_POLL },        { "ppoll", WMK_WAIT_POLL },      { "select", WMK_WAIT_POLL },
	{ "pselect", WMK_WAIT_POLL },     { "epoll_", WMK_WAIT_POLL },     { "io_uring_enter", WMK_WAIT_POLL },
	{ "io_getevents", WMK_WAIT_POLL }, { "accept", WMK_WAIT_NETWORK }, { "connect", WMK_WAIT_NETWORK },
	{ "recv", WMK_WAIT_NETWORK },     { "send", WMK_WAIT_NETWORK },    { "wait4", WMK_WAIT_CHILD },
	{ "waitid", WMK_WAIT_CHILD },     { "vfork", WMK_WAIT_CHILD },     { "fsync", WMK_WAIT_DISK },
	{ "fdatasync", WMK_WAIT_DISK },   { "sync", WMK_WAIT_DISK },       { "msync", WMK_WAIT_DISK },
	{ "read", WMK_WAIT_READ },        { "write", WMK_WAIT_READ },      { "pread", WMK_WAIT_READ },
	{ "pwrite", WMK_WAIT_READ },      { "preadv", WMK_WAIT_READ },     { "splice", WMK_WAIT_READ },
	{ "open", WMK_WAIT_READ },        { "newfstat", WMK_WAIT_READ },   { "getdents", WMK_WAIT_READ },
};

unsigned wmk_wait_of(const struct wmk_class *syscall, int64_t prev_state)
{
	const bool is_deep = prev_state & STATE_UNINTERRUPTIBLE;

	if (prev_state & STATE_STOPPED)
		return WMK_WAIT_STOPPED;
	for (unsigned i = 0; syscall && i < WMK_ARRAY_LEN(groups); i++)
		if (!strncmp(syscall->what, groups[i].name, strlen(groups[i].name)))
			return groups[i].wait == WMK_WAIT_READ && is_deep ? WMK_WAIT_DISK : groups[i].wait;
	if (is_deep)
		return WMK_WAIT_UNINTERRUPTIBLE;
	return syscall ? WMK_WAIT_SYSCALL : WMK_WAIT_INTERRUPTIBLE;
}
