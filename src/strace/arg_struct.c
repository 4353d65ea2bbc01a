/* SPDX-License-Identifier: MIT */
/*
 * arg_struct.c - prints structures that arguments point to (see arg_format.h). Structures are printed with the layouts
 * of 64-bit kernels. If a 32-bit program has another layout of a structure, the structure is not copied.
 */
#include <fcntl.h>
#include <linux/stat.h>
#include <sched.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>

#include "strace/arg_format.h"

static void put_time(struct wmk_kline *line, const int64_t time[2], const char *part)
{
	wmk_kline_member(line, "{tv_sec=", time[0]);
	wmk_kline_put(line, part);
	wmk_kline_unsigned(line, (uint64_t)time[1]);
	wmk_kline_char(line, '}');
}

/* ── files ───────────────────────────────────────────────────────────────────────────────────────────── */

void wmk_kline_mode(struct wmk_kline *line, uint32_t mode)
{
	static const struct wmk_kname bits[] = {
		{ S_ISUID, "S_ISUID" }, { S_ISGID, "S_ISGID" }, { S_ISVTX, "S_ISVTX" }, { 0, NULL }
	};

	if (mode & S_IFMT) {
		wmk_kline_name(line, wmk_knames_type, mode & S_IFMT, NULL);
		wmk_kline_char(line, '|');
	}
	if (mode & 07000) {
		wmk_kline_flags(line, bits, mode & 07000, NULL);
		wmk_kline_char(line, '|');
	}
	wmk_kline_octal(line, mode & 0777, 3);
}

void wmk_kline_device(struct wmk_kline *line, uint64_t device)
{
	wmk_kline_put(line, "makedev(");
	wmk_kline_hex(line, major(device));
	wmk_kline_put(line, ", ");
	wmk_kline_hex(line, minor(device));
	wmk_kline_char(line, ')');
}

PRINT(wmk_kshow_stat)
{
	const struct stat *stat = view->data;

	wmk_kline_put(line, "{st_mode=");
	wmk_kline_mode(line, stat->st_mode);
	if (S_ISCHR(stat->st_mode) || S_ISBLK(stat->st_mode)) {
		wmk_kline_put(line, ", st_rdev=");
		wmk_kline_device(line, stat->st_rdev);
	} else {
		wmk_kline_member(line, ", st_size=", stat->st_size);
	}
	wmk_kline_put(line, ", ...}");
}

PRINT(wmk_kshow_statx)
{
	const struct statx *statx = view->data;

	wmk_kline_put(line, "{stx_mask=");
	wmk_kline_flags(line, wmk_knames_statxmask, statx->stx_mask, "STATX_");
	wmk_kline_put(line, ", stx_attributes=");
	wmk_kline_flags(line, wmk_knames_statxattr, statx->stx_attributes, "STATX_ATTR_");
	wmk_kline_put(line, ", stx_mode=");
	wmk_kline_mode(line, statx->stx_mode);
	if (S_ISCHR(statx->stx_mode) || S_ISBLK(statx->stx_mode)) {
		wmk_kline_put(line, ", stx_rdev_major=");
		wmk_kline_hex(line, statx->stx_rdev_major);
		wmk_kline_put(line, ", stx_rdev_minor=");
		wmk_kline_hex(line, statx->stx_rdev_minor);
	}
	wmk_kline_put(line, ", stx_size=");
	wmk_kline_unsigned(line, statx->stx_size);
	wmk_kline_put(line, ", ...}");
}

/*
 * Prints the pointer to the directory entries, and the number of entries that getdents() returned. If the record lacks
 * some of the data, the function prints only the pointer.
 */
PRINT(wmk_kshow_dirents)
{
	const struct wmk_syscalls_piece *piece = view->piece;
	size_t at = 0, n = 0;

	wmk_kline_pointer(line, view->value);
	if (piece->flags & (WMK_SYSCALLS_PART_CUT | WMK_SYSCALLS_PART_UNREADABLE))
		return;
	while (piece->len - at >= 19) {      /* size of the fixed part: inode, offset, length, type */
		uint16_t len;

		memcpy(&len, piece->bytes + at + 16, sizeof(len));
		if (len < 19 || len > piece->len - at)
			break;
		at += len;
		n++;
	}
	wmk_kline_put(line, " /* ");
	wmk_kline_unsigned(line, n);
	wmk_kline_put(line, n == 1 ? " entry */" : " entries */");
}

PRINT(wmk_kshow_pair)
{
	const int32_t *pair = view->data;

	wmk_kline_member(line, "[", pair[0]);
	wmk_kline_member(line, ", ", pair[1]);
	wmk_kline_char(line, ']');
}

PRINT(wmk_kshow_int_at)
{
	wmk_kline_bracketed(line, *(const int32_t *)view->data);
}

/* ── waiting ─────────────────────────────────────────────────────────────────────────────────────────── */

struct poll {
	int32_t fd;
	uint16_t events, revents;
};

static bool get_poll(const struct wmk_syscalls_piece *piece, size_t i, struct poll *poll)
{
	if (!piece || (i + 1) * sizeof(*poll) > piece->len)
		return false;
	memcpy(poll, piece->bytes + i * sizeof(*poll), sizeof(*poll));
	return true;
}


PRINT(wmk_kshow_polls)
{
	const struct wmk_syscalls_piece *piece = view->piece;
	struct poll poll;
	size_t n = 0;

	wmk_kline_char(line, '[');
	for (; n < view->print->strings && get_poll(piece, n, &poll); n++) {
		wmk_kline_member(line, n ? ", {fd=" : "{fd=", poll.fd);
		if (poll.fd >= 0) {
			wmk_kline_put(line, ", events=");
			wmk_kline_flags(line, wmk_knames_poll, poll.events, "POLL");
		}
		wmk_kline_char(line, '}');
	}
	wmk_kline_put(line, (piece->flags & WMK_SYSCALLS_PART_CUT) || get_poll(piece, n, &poll) ? ", ...]" : "]");
}

void wmk_kline_polled(struct wmk_kline *line, const struct wmk_kview *view)
{
	const struct wmk_syscalls_piece *piece = wmk_kview_out(view, 0);
	/* the timeout argument of ppoll() */
	const struct wmk_kview time = { .print = view->print, .entry = view->entry, .exit = view->exit, .arg = 2 };
	struct poll poll;
	bool any = false;
	int64_t left[2];

	for (size_t i = 0; get_poll(piece, i, &poll); i++)
		if (poll.fd >= 0 && poll.revents) {
			wmk_kline_member(line, any ? ", {fd=" : " ([{fd=", poll.fd);
			wmk_kline_put(line, ", revents=");
			wmk_kline_flags(line, wmk_knames_poll, poll.revents, "POLL");
			wmk_kline_char(line, '}');
			any = true;
		}
	if (!any)
		return;
	wmk_kline_char(line, ']');
	if (wmk_kview_struct(&time, true, left, sizeof(left))) {
		wmk_kline_put(line, ", left ");
		put_time(line, left, ", tv_nsec=");
	}
	wmk_kline_char(line, ')');
}

/* The structure has 12 bytes on x86, because it is packed there, and 16 bytes on other machines. */
static void put_epoll(struct wmk_kline *line, const struct epoll_event *event)
{
	const uint64_t data = event->data.u64;

	wmk_kline_put(line, "{events=");
	wmk_kline_flags(line, wmk_knames_epoll, event->events, "EPOLL");
	wmk_kline_put(line, ", data={u32=");
	wmk_kline_unsigned(line, (uint32_t)data);
	wmk_kline_put(line, ", u64=");
	wmk_kline_unsigned(line, data);
	wmk_kline_put(line, "}}");
}

PRINT(wmk_kshow_epoll_event)
{
	put_epoll(line, view->data);
}

PRINT(wmk_kshow_epoll_events)
{
	const struct wmk_syscalls_piece *piece = view->piece;
	struct epoll_event event;

	wmk_kline_char(line, '[');
	for (size_t i = 0; (i + 1) * sizeof(event) <= piece->len; i++) {
		if (i)
			wmk_kline_put(line, ", ");
		memcpy(&event, piece->bytes + i * sizeof(event), sizeof(event));
		put_epoll(line, &event);
	}
	wmk_kline_put(line, piece->flags & WMK_SYSCALLS_PART_CUT ? ", ...]" : "]");
}

/* ── times ───────────────────────────────────────────────────────────────────────────────────────────── */

PRINT(wmk_kshow_timespec)
{
	put_time(line, view->data, ", tv_nsec=");
}

PRINT(wmk_kshow_timeval)
{
	put_time(line, view->data, ", tv_usec=");
}


static void put_date(struct wmk_kline *line, const int64_t time[2])
{
	const time_t seconds = (time_t)time[0];
	struct tm tm;
	char text[64];

	if (time[1] == UTIME_NOW || time[1] == UTIME_OMIT) {
		wmk_kline_put(line, time[1] == UTIME_NOW ? "UTIME_NOW" : "UTIME_OMIT");
		return;
	}
	put_time(line, time, ", tv_nsec=");
	if ((!time[0] && !time[1]) || time[1] < 0 || time[1] > 999999999 || !localtime_r(&seconds, &tm))
		return;
	wmk_kline_put(line, " /* ");
	wmk_kline_bytes(line, text, strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm));
	if (time[1]) {
		wmk_kline_char(line, '.');
		wmk_kline_wide(line, (uint64_t)time[1], 9, '0');
	}
	wmk_kline_bytes(line, text, strftime(text, sizeof(text), "%z */", &tm));
}

/* Prints two times: the access time and the modification time. */
PRINT(wmk_kshow_timespecs)
{
	const int64_t *times = view->data;

	wmk_kline_char(line, '[');
	put_date(line, times);
	wmk_kline_put(line, ", ");
	put_date(line, times + 2);
	wmk_kline_char(line, ']');
}

PRINT(wmk_kshow_times)
{
	static const char *const names[] = { "{tms_utime=", ", tms_stime=", ", tms_cutime=", ", tms_cstime=" };
	const int64_t *times = view->data;

	for (unsigned i = 0; i < 4; i++)
		wmk_kline_member(line, names[i], times[i]);
	wmk_kline_char(line, '}');
}

/* ── processes ───────────────────────────────────────────────────────────────────────────────────────── */

static void put_limit(struct wmk_kline *line, uint64_t limit)
{
	if (limit == UINT64_MAX) {
		wmk_kline_put(line, "RLIM64_INFINITY");
	} else if (limit > 1024 && limit % 1024 == 0) {
		wmk_kline_unsigned(line, limit / 1024);
		wmk_kline_put(line, "*1024");
	} else {
		wmk_kline_unsigned(line, limit);
	}
}

PRINT(wmk_kshow_rlimit)
{
	const uint64_t *limits = view->data;

	wmk_kline_put(line, "{rlim_cur=");
	put_limit(line, limits[0]);
	wmk_kline_put(line, ", rlim_max=");
	put_limit(line, limits[1]);
	wmk_kline_char(line, '}');
}

void wmk_kline_status(struct wmk_kline *line, uint32_t number)
{
	const int status = (int)number;
	char room[24];

	if (WIFEXITED(status)) {
		wmk_kline_member(line, "{WIFEXITED(s) && WEXITSTATUS(s) == ", WEXITSTATUS(status));
	} else if (WIFSTOPPED(status)) {
		wmk_kline_put(line, "{WIFSTOPPED(s) && WSTOPSIG(s) == ");
		wmk_kline_put(line, wmk_ksignal_name((unsigned)WSTOPSIG(status), room));
	} else if (WIFCONTINUED(status)) {
		wmk_kline_put(line, "{WIFCONTINUED(s)");
	} else {
		wmk_kline_put(line, "{WIFSIGNALED(s) && WTERMSIG(s) == ");
		wmk_kline_put(line, wmk_ksignal_name((unsigned)WTERMSIG(status), room));
		if (WCOREDUMP(status))
			wmk_kline_put(line, " && WCOREDUMP(s)");
	}
	wmk_kline_char(line, '}');
}

/* The exit status is valid only if the system call returned a child. */
PRINT(wmk_kshow_status)
{
	if (wmk_kprint_value(view->exit) <= 0) {
		wmk_kline_pointer(line, view->value);
		return;
	}
	wmk_kline_char(line, '[');
	wmk_kline_status(line, *(const uint32_t *)view->data);
	wmk_kline_char(line, ']');
}

PRINT(wmk_kshow_uname)
{
	static const char *const members[] = { "{sysname=", ", nodename=" };
	const char(*names)[65] = view->data;

	for (unsigned i = 0; i < 2; i++) {
		wmk_kline_put(line, members[i]);
		wmk_kline_quoted(line, (const uint8_t *)names[i], strnlen(names[i], sizeof(*names)), false);
	}
	wmk_kline_put(line, ", ...}");
}

PRINT(wmk_kshow_clone3)
{
	/* flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls */
	const uint64_t *args = view->data;
	char room[24];

	wmk_kline_put(line, "{flags=");
	wmk_kline_flags(line, wmk_knames_clone, args[0], "CLONE_");
	if (args[0] & (CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID)) {
		wmk_kline_put(line, ", child_tid=");
		wmk_kline_pointer(line, args[2]);
	}
	if (args[0] & CLONE_PARENT_SETTID) {
		wmk_kline_put(line, ", parent_tid=");
		wmk_kline_pointer(line, args[3]);
	}
	wmk_kline_put(line, ", exit_signal=");
	wmk_kline_put(line, args[4] ? wmk_ksignal_name((unsigned)args[4], room) : "0");
	wmk_kline_put(line, ", stack=");
	wmk_kline_pointer(line, args[5]);
	wmk_kline_put(line, ", stack_size=");
	wmk_kline_hex(line, args[6]);
	if (args[0] & CLONE_SETTLS) {
		wmk_kline_put(line, ", tls=");
		wmk_kline_pointer(line, args[7]);
	}
	wmk_kline_char(line, '}');
}

/* strace prints the new thread after the structure, and then the structure's size. */
PRINT(wmk_kshow_clone3_size)
{
	const struct wmk_kview args = { .print = view->print, .entry = view->entry, .exit = view->exit, .arg = 0 };
	uint64_t flags;

	if (!view->is_alone && view->exit && !view->has_failed &&
	    wmk_kview_struct(&args, false, &flags, sizeof(flags)) && (flags & CLONE_PARENT_SETTID)) {
		wmk_kline_member(line, " => {parent_tid=[", wmk_kprint_value(view->exit));
		wmk_kline_put(line, "]}");
	}
	wmk_kview_next(line, view);
	wmk_kline_unsigned(line, view->value);
}
