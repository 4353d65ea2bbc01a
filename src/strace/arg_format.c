/* SPDX-License-Identifier: MIT */
/*
 * arg_format.c - how arguments are shown: numbers, names, texts (see arg_format.h). arg_dependent.c has those that
 * depend on others, arg_struct.c structures, arg_signal.c signals and ends, arg_sockaddr.c sockets.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "strace/arg_format.h"

#define PRINT(name) static bool name(struct wmk_kline *line, const struct wmk_kview *view)

static bool is_compat(const struct wmk_kview *view)
{
	return view->print->call.abi == WMK_KABI_COMPAT;
}

/* ── numbers ─────────────────────────────────────────────────────────────────────────────────────────── */

PRINT(show_int)
{
	wmk_kline_signed(line, (int32_t)view->value);
	return true;
}

bool wmk_kshow_uint(struct wmk_kline *line, const struct wmk_kview *view)
{
	wmk_kline_unsigned(line, (uint32_t)view->value);
	return true;
}

PRINT(show_long)
{
	wmk_kline_signed(line, is_compat(view) ? (int32_t)view->value : (int64_t)view->value);
	return true;
}

PRINT(show_ulong)
{
	wmk_kline_unsigned(line, view->value);
	return true;
}

bool wmk_kshow_hex(struct wmk_kline *line, const struct wmk_kview *view)
{
	wmk_kline_hex(line, (uint32_t)view->value);
	return true;
}

PRINT(show_long_hex)
{
	wmk_kline_hex(line, view->value);
	return true;
}

bool wmk_kshow_pointer(struct wmk_kline *line, const struct wmk_kview *view)
{
	wmk_kline_pointer(line, view->value);
	return true;
}

PRINT(show_dirfd)
{
	if ((int32_t)view->value == AT_FDCWD)
		wmk_kline_put(line, "AT_FDCWD");
	else
		wmk_kline_signed(line, (int32_t)view->value);
	return true;
}

PRINT(show_uid)
{
	if ((uint32_t)view->value == UINT32_MAX)
		wmk_kline_put(line, "-1");
	else
		wmk_kline_unsigned(line, (uint32_t)view->value);
	return true;
}

PRINT(show_mode)
{
	wmk_kline_octal(line, view->value & 0xffff, 3);
	return true;
}

PRINT(show_mknod)
{
	wmk_kline_mode(line, (uint32_t)view->value);
	return true;
}

/* The device of mknod(), where it makes one. */
PRINT(show_device)
{
	const uint64_t mode = view->arg ? wmk_kview_arg(view, view->arg - 1) : 0;

	if (!S_ISCHR(mode) && !S_ISBLK(mode))
		return false;
	wmk_kview_next(line, view);
	wmk_kline_put(line, "makedev(");
	wmk_kline_hex(line, major(view->value));
	wmk_kline_put(line, ", ");
	wmk_kline_hex(line, minor(view->value));
	wmk_kline_char(line, ')');
	return true;
}

/* ── names ───────────────────────────────────────────────────────────────────────────────────────────── */

static const struct wmk_kform *form_of(const struct wmk_kview *view)
{
	return view->print->forms[view->arg];
}

PRINT(show_name)
{
	wmk_kline_name(line, form_of(view)->names, (uint32_t)view->value, form_of(view)->unknown);
	return true;
}

PRINT(show_flags)
{
	if (!wmk_kline_flags(line, form_of(view)->names, (uint32_t)view->value, form_of(view)->unknown))
		wmk_kline_char(line, '0');
	return true;
}

void wmk_kline_open(struct wmk_kline *line, uint64_t flags)
{
	static const char *const modes[] = { "O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE" };
	const uint64_t rest = (uint32_t)flags & ~(uint64_t)O_ACCMODE;

	wmk_kline_put(line, modes[flags & O_ACCMODE]);
	if (rest) {
		wmk_kline_char(line, '|');
		wmk_kline_flags(line, wmk_knames_open, rest, NULL);
	}
}

PRINT(show_open)
{
	wmk_kline_open(line, view->value);
	return true;
}

/* The mode of open() and openat(), behind the flags. */
PRINT(show_open_mode)
{
	const uint64_t flags = view->arg ? wmk_kview_arg(view, view->arg - 1) : 0;

	if (!(flags & O_CREAT) && (flags & O_TMPFILE) != O_TMPFILE)
		return false;
	wmk_kview_next(line, view);
	return show_mode(line, view);
}

bool wmk_kshow_signal(struct wmk_kline *line, const struct wmk_kview *view)
{
	char room[24];

	wmk_kline_put(line, wmk_ksignal_name((uint32_t)view->value, room));
	return true;
}

/* How a file is synchronized is a number in the flags. */
PRINT(show_statx_flags)
{
	const uint32_t value = (uint32_t)view->value;

	if (value & (AT_STATX_FORCE_SYNC | AT_STATX_DONT_SYNC)) {
		wmk_kline_flags(line, wmk_knames_statxat, value, "AT_");
		return true;
	}
	wmk_kline_put(line, "AT_STATX_SYNC_AS_STAT");
	if (value) {
		wmk_kline_char(line, '|');
		wmk_kline_flags(line, wmk_knames_statxat, value, NULL);
	}
	return true;
}

/* ── texts ───────────────────────────────────────────────────────────────────────────────────────────── */

PRINT(show_path)
{
	const struct wmk_syscalls_piece *piece = wmk_kview_in(view, 0);

	if (!piece)
		return wmk_kshow_pointer(line, view);
	wmk_kline_quoted(line, piece->bytes, piece->len, false);
	if (piece->flags & WMK_SYSCALLS_PART_CUT)
		wmk_kline_put(line, "...");
	return true;
}

static bool show_bytes_of(struct wmk_kline *line, const struct wmk_kview *view, const struct wmk_syscalls_piece *piece)
{
	if (!piece)
		return wmk_kshow_pointer(line, view);
	wmk_kline_text(line, view, piece->bytes, piece->len,
		       piece->flags & (WMK_SYSCALLS_PART_CUT | WMK_SYSCALLS_PART_UNREADABLE));
	return true;
}

bool wmk_kshow_bytes_in(struct wmk_kline *line, const struct wmk_kview *view)
{
	return show_bytes_of(line, view, wmk_kview_in(view, 0));
}

PRINT(show_bytes_out)
{
	return show_bytes_of(line, view, wmk_kview_out(view, 0));
}

/* The name of a directory, which is not cut. */
PRINT(show_directory)
{
	const struct wmk_syscalls_piece *piece = wmk_kview_out(view, 0);

	if (!piece)
		return wmk_kshow_pointer(line, view);
	wmk_kline_quoted(line, piece->bytes, strnlen((const char *)piece->bytes, piece->len), false);
	return true;
}

PRINT(show_random)
{
	const struct wmk_syscalls_piece *piece = wmk_kview_out(view, 0);

	if (!piece)
		return wmk_kshow_pointer(line, view);
	wmk_kline_quoted(line, piece->bytes, piece->len, true);
	if (piece->flags & WMK_SYSCALLS_PART_CUT)
		wmk_kline_put(line, "...");
	return true;
}

PRINT(show_texts)
{
	const struct wmk_syscalls_piece *piece = wmk_kview_in(view, 0);
	const uint8_t *at = piece ? piece->bytes : NULL;
	const unsigned most = view->print->strings < WMK_SYSCALLS_STRINGS ? view->print->strings : WMK_SYSCALLS_STRINGS;
	unsigned n = 0;

	if (!piece)
		return wmk_kshow_pointer(line, view);
	wmk_kline_char(line, '[');
	for (size_t left = piece->len; n < piece->count && n < most && left; n++) {
		const size_t len = strnlen((const char *)at, left);

		if (len == left)
			break;
		if (n)
			wmk_kline_put(line, ", ");
		wmk_kline_text(line, view, at, len, false);
		at += len + 1;
		left -= len + 1;
	}
	if (n < piece->count || (n == WMK_SYSCALLS_STRINGS && (piece->flags & WMK_SYSCALLS_PART_CUT)))
		wmk_kline_put(line, n ? ", ..." : "...");
	wmk_kline_char(line, ']');
	return true;
}

/* How many texts the environment has. */
PRINT(show_environment)
{
	const struct wmk_syscalls_piece *piece = wmk_kview_in(view, 0);
	const size_t unit = is_compat(view) ? 4 : 8;
	uint64_t pointer = 1;
	size_t n = 0;

	wmk_kline_pointer(line, view->value);
	while (piece && pointer && (n + 1) * unit <= piece->len) {
		pointer = 0;
		memcpy(&pointer, piece->bytes + n * unit, unit);
		n += pointer != 0;
	}
	if (!piece || pointer)
		return true;
	wmk_kline_put(line, " /* ");
	wmk_kline_unsigned(line, n);
	wmk_kline_put(line, n == 1 ? " var */" : " vars */");
	return true;
}

/* One member of a vector, of whose bytes `there` are at `bytes`. */
static void put_vector(struct wmk_kline *line, const struct wmk_kview *view, const uint64_t vector[2],
		       const uint8_t *bytes, size_t there, size_t whole)
{
	wmk_kline_put(line, "{iov_base=");
	if (bytes)
		wmk_kline_text(line, view, bytes, there, there < whole);
	else
		wmk_kline_pointer(line, vector[0]);
	wmk_kline_put(line, ", iov_len=");
	wmk_kline_unsigned(line, vector[1]);
	wmk_kline_char(line, '}');
}

/* `most`: bytes that the call has moved. */
static bool show_vectors(struct wmk_kline *line, const struct wmk_kview *view, const struct wmk_syscalls_piece *vectors,
			 const struct wmk_syscalls_piece *content, uint64_t most)
{
	const size_t unit = is_compat(view) ? 8 : 16, n = vectors ? vectors->len / unit : 0;
	const bool is_cut = n > view->print->strings ||
			    (vectors && (vectors->flags & (WMK_SYSCALLS_PART_CUT | WMK_SYSCALLS_PART_UNREADABLE)));
	size_t used = 0;

	if (!vectors)
		return wmk_kshow_pointer(line, view);
	wmk_kline_char(line, '[');
	for (size_t i = 0; i < n && i < view->print->strings; i++) {
		uint32_t narrow[2];
		uint64_t vector[2];
		size_t whole, there;

		memcpy(narrow, vectors->bytes + i * unit, sizeof(narrow));
		if (unit == 16)
			memcpy(vector, vectors->bytes + i * unit, sizeof(vector));
		else
			vector[0] = narrow[0], vector[1] = narrow[1];
		whole = vector[1] < most ? vector[1] : most;
		there = content && content->len > used ? content->len - used : 0;
		there = there < whole ? there : whole;
		if (i)
			wmk_kline_put(line, ", ");
		put_vector(line, view, vector, content && vector[0] && (there || !whole) ? content->bytes + used : NULL,
			   there, whole);
		used += there;
		most -= whole;
	}
	wmk_kline_put(line, is_cut ? ", ...]" : "]");
	return true;
}

PRINT(show_vectors_in)
{
	return show_vectors(line, view, wmk_kview_in(view, 0), wmk_kview_in(view, 1), UINT64_MAX);
}

PRINT(show_vectors_out)
{
	return show_vectors(line, view, wmk_kview_out(view, 0), wmk_kview_out(view, 1),
			    view->exit ? (uint64_t)wmk_kprint_value(view->exit) : 0);
}

/* ── the table ───────────────────────────────────────────────────────────────────────────────────────── */

#define NUMBER(word, print) { word, print, WMK_SYSCALLS_NOTHING, 0, 0, 0, NULL, NULL, false }
#define OWN(word, print, when) { word, print, WMK_SYSCALLS_NOTHING, WMK_KFORM_OWN | (when), 0, 0, NULL, NULL, false }
#define NAME(word, names, unknown) \
	{ word, show_name, WMK_SYSCALLS_NOTHING, 0, 0, 0, wmk_knames_##names, unknown, false }
#define FLAGS(word, names, unknown) \
	{ \
		word, show_flags, WMK_SYSCALLS_NOTHING, 0, 0, 0, wmk_knames_##names, unknown, false \
	}
#define IN(word, print, op, max) { word, print, WMK_SYSCALLS_##op, WMK_KFORM_IN, 1, max, NULL, NULL, false }
#define OUT(word, print, op, max) \
	{ word, print, WMK_SYSCALLS_##op, WMK_KFORM_OUT | WMK_KFORM_LATE, 1, max, NULL, NULL, false }
/* Structures of so many bytes. */
#define SIZE_IN(word, print, bytes, is_wide) \
	{ \
		word, print, WMK_SYSCALLS_FIXED, WMK_KFORM_IN, bytes, bytes, NULL, NULL, is_wide \
	}
#define SIZE_OUT(word, print, bytes, is_wide) \
	{ \
		word, print, WMK_SYSCALLS_FIXED, WMK_KFORM_OUT | WMK_KFORM_LATE, bytes, bytes, NULL, NULL, is_wide \
	}

const struct wmk_kform wmk_kforms[] = {
	NUMBER("d", show_int),
	NUMBER("u", wmk_kshow_uint),
	NUMBER("ld", show_long),
	NUMBER("lu", show_ulong),
	NUMBER("x", wmk_kshow_hex),
	NUMBER("lx", show_long_hex),
	NUMBER("p", wmk_kshow_pointer),
	NUMBER("fd", show_int),
	NUMBER("dirfd", show_dirfd),
	NUMBER("uid", show_uid),
	NUMBER("mode", show_mode),
	NUMBER("umask", show_mode),
	NUMBER("mknod", show_mknod),
	OWN("mkdev", show_device, 0),
	NUMBER("signal", wmk_kshow_signal),
	NUMBER("open", show_open),
	OWN("omode", show_open_mode, 0),
	NUMBER("statxat", show_statx_flags),
	NUMBER("protocol", wmk_kshow_protocol),
	NUMBER("socket", wmk_kshow_socket),
	NUMBER("so", wmk_kshow_so),
	NUMBER("rseq", show_int),
	NUMBER("archarg", show_long_hex),
	OWN("mremapto", wmk_kshow_mremap_to, 0),
	NUMBER("clonestack", wmk_kshow_clone_stack),
	NUMBER("clone", wmk_kshow_clone_flags),
	{ "clonetid", wmk_kshow_clone_parent, WMK_SYSCALLS_FIXED, WMK_KFORM_OWN | WMK_KFORM_OUT | WMK_KFORM_LATE, 4, 4,
	  NULL, NULL, false },
	OWN("clonetls", wmk_kshow_clone_tls, WMK_KFORM_LATE),
	OWN("clonechild", wmk_kshow_clone_child, WMK_KFORM_LATE),
	NUMBER("futex", wmk_kshow_futex_op),
	OWN("futexval", wmk_kshow_futex_value, 0),
	{ "futextime", wmk_kshow_futex_time, WMK_SYSCALLS_FIXED, WMK_KFORM_OWN | WMK_KFORM_IN, 16, 16, NULL, NULL,
	  true },
	OWN("futexaddr", wmk_kshow_futex_other, 0),
	OWN("futexval3", wmk_kshow_futex_value3, 0),
	NAME("prctl", prctl, "PR_"),
	{ "prctlarg", wmk_kshow_prctl_arg, WMK_SYSCALLS_TEXT, WMK_KFORM_OWN | WMK_KFORM_IN, 1, 16, NULL, NULL, false },
	OWN("prctlrest", wmk_kshow_prctl_rest, 0),
	OWN("fcntlarg", wmk_kshow_fcntl_arg, 0),
	SIZE_OUT("ioctlarg", wmk_kshow_ioctl_arg, 8, false),
	SIZE_IN("off", wmk_kshow_offset, 8, false),

	NAME("whence", whence, "SEEK_"),
	NAME("how", how, "SIG_"),
	NAME("clock", clock, "CLOCK_"),
	NAME("itimer", itimer, "ITIMER_"),
	NAME("fcntl", fcntl, "F_"),
	NAME("ioctl", ioctl, "_"),
	NAME("epollop", epollop, "EPOLL_CTL_"),
	NAME("family", family, "AF_"),
	NAME("shutdown", shutdown, "SHUT_"),
	NAME("sol", sol, "SOL_"),
	NAME("advice", advice, "MADV_"),
	NAME("fadvice", fadvice, "POSIX_FADV_"),
	NAME("resource", resource, "RLIMIT_"),
	NAME("rusage", rusage, "RUSAGE_"),
	NAME("archprctl", archprctl, "ARCH_"),
	NAME("waitid", waitid, "P_"),
	FLAGS("prot", prot, "PROT_"),
	FLAGS("map", map, "MAP_"),
	FLAGS("unshare", clone, "CLONE_"),
	FLAGS("wait", wait, "W"),
	FLAGS("at", at, "AT_"),
	FLAGS("unlinkat", unlinkat, "AT_"),
	FLAGS("linkat", linkat, "AT_"),
	FLAGS("faccessat", faccessat, "AT_"),
	FLAGS("statxmask", statxmask, "STATX_"),
	FLAGS("access", access, "?_OK"),
	FLAGS("cloexec", cloexec, "O_"),
	FLAGS("epollnew", epollnew, "EPOLL_"),
	FLAGS("eventfd", eventfd, "EFD_"),
	FLAGS("timerfd", timerfd, "TFD_"),
	FLAGS("signalfd", signalfd, "SFD_"),
	FLAGS("inotify", inotify, "IN_"),
	FLAGS("socketflags", sockflags, "SOCK_"),
	FLAGS("msg", msg, "MSG_"),
	FLAGS("flock", flock, "LOCK_"),
	FLAGS("fallocate", fallocate, "FALLOC_FL_"),
	FLAGS("closerange", closerange, "CLOSE_RANGE_"),
	FLAGS("memfd", memfd, "MFD_"),
	FLAGS("mount", mount, "MS_"),
	FLAGS("umount", umount, "MNT_"),
	FLAGS("rename", rename, "RENAME_"),
	FLAGS("mremap", mremap, "MREMAP_"),
	FLAGS("msync", msync, "MS_"),
	FLAGS("random", random, "GRND_"),
	FLAGS("timerabs", timerabs, "TIMER_"),

	IN("path", show_path, TEXT, WMK_SYSCALLS_PART_MAX),
	IN("text", wmk_kshow_bytes_in, TEXT, 0),
	IN("in", wmk_kshow_bytes_in, BYTES, 0),
	OUT("out", show_bytes_out, RETURNED, 0),
	OUT("outhex", show_random, RETURNED, 0),
	OUT("outpath", show_directory, RETURNED, WMK_SYSCALLS_PART_MAX),
	IN("argv", show_texts, TEXTS, 0),
	SIZE_IN("env", show_environment, 4096, false),
	IN("viin", show_vectors_in, VECTORS_IN, 0),
	OUT("viout", show_vectors_out, VECTORS_RETURNED, 0),
	IN("addrin", wmk_kshow_address, BYTES, WMK_SYSCALLS_ADDRESS_MAX),
	OUT("addrout>", wmk_kshow_address, LENGTH_AT, WMK_SYSCALLS_ADDRESS_MAX),
	{ "addrlen>", wmk_kshow_address_len, WMK_SYSCALLS_FIXED, WMK_KFORM_IN | WMK_KFORM_OUT | WMK_KFORM_LATE, 4, 4,
	  NULL, NULL, false },
	IN("sockopt", wmk_kshow_sockopt, BYTES, 64),
	OUT("sockoptout>", wmk_kshow_sockopt, LENGTH_AT, 64),
	{ "polls", wmk_kshow_polls, WMK_SYSCALLS_BYTES, WMK_KFORM_IN | WMK_KFORM_OUT, 8, 8 * WMK_SYSCALLS_POLLS_MAX,
	  NULL, NULL, false },
	SIZE_OUT("stat>", wmk_kshow_stat, sizeof(struct stat), true),
	SIZE_OUT("statx>", wmk_kshow_statx, 256, false),
	SIZE_IN("ts", wmk_kshow_timespec, 16, true),
	SIZE_OUT("ts>", wmk_kshow_timespec, 16, true),
	SIZE_IN("times", wmk_kshow_timespecs, 32, true),
	{ "tsleft", wmk_kshow_timespec, WMK_SYSCALLS_FIXED, WMK_KFORM_IN | WMK_KFORM_OUT, 16, 16, NULL, NULL, true },
	SIZE_OUT("left>", wmk_kshow_left, 16, true),
	SIZE_IN("tv", wmk_kshow_timeval, 16, true),
	SIZE_OUT("tv>", wmk_kshow_timeval, 16, true),
	SIZE_OUT("pair>", wmk_kshow_pair, 8, false),
	SIZE_OUT("int>", wmk_kshow_int, 4, false),
	SIZE_OUT("status>", wmk_kshow_status, 4, false),
	SIZE_IN("rlimit", wmk_kshow_rlimit, 16, true),
	SIZE_OUT("rlimit>", wmk_kshow_rlimit, 16, true),
	SIZE_IN("action", wmk_kshow_action, 32, true),
	SIZE_OUT("action>", wmk_kshow_action, 32, true),
	SIZE_IN("sigset", wmk_kshow_sigset, 8, false),
	SIZE_OUT("sigset>", wmk_kshow_sigset, 8, false),
	SIZE_IN("stack", wmk_kshow_stack, 24, true),
	SIZE_OUT("stack>", wmk_kshow_stack, 24, true),
	SIZE_IN("clone3", wmk_kshow_clone3, 64, false),
	OWN("clone3size", wmk_kshow_clone3_size, WMK_KFORM_LATE),
	SIZE_OUT("uname>", wmk_kshow_uname, 390, false),
	SIZE_OUT("times>", wmk_kshow_times, 32, true),
	SIZE_IN("epollevent", wmk_kshow_epoll_event, sizeof(struct epoll_event), false),
	{ "epollevents>", wmk_kshow_epoll_events, WMK_SYSCALLS_RETURNED, WMK_KFORM_OUT | WMK_KFORM_LATE,
	  sizeof(struct epoll_event), 32 * sizeof(struct epoll_event), NULL, NULL, false },
	OUT("dirents>", wmk_kshow_dirents, RETURNED, WMK_SYSCALLS_PART_MAX),
};

const unsigned wmk_kforms_n = sizeof(wmk_kforms) / sizeof(*wmk_kforms);
