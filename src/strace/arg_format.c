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

#define PRINT(name) static void name(struct wmk_kline *line, const struct wmk_kview *view)

static bool is_compat(const struct wmk_kview *view)
{
	return view->print->call.abi == WMK_KABI_COMPAT;
}

/* ── numbers ─────────────────────────────────────────────────────────────────────────────────────────── */

PRINT(show_int)
{
	wmk_kline_signed(line, (int32_t)view->value);
}

void wmk_kshow_uint(struct wmk_kline *line, const struct wmk_kview *view)
{
	wmk_kline_unsigned(line, (uint32_t)view->value);
}

PRINT(show_long)
{
	wmk_kline_signed(line, is_compat(view) ? (int32_t)view->value : (int64_t)view->value);
}

PRINT(show_ulong)
{
	wmk_kline_unsigned(line, view->value);
}

void wmk_kshow_hex(struct wmk_kline *line, const struct wmk_kview *view)
{
	wmk_kline_hex(line, (uint32_t)view->value);
}

PRINT(show_long_hex)
{
	wmk_kline_hex(line, view->value);
}

PRINT(show_pointer)
{
	wmk_kline_pointer(line, view->value);
}

PRINT(show_dirfd)
{
	if ((int32_t)view->value == AT_FDCWD)
		wmk_kline_put(line, "AT_FDCWD");
	else
		wmk_kline_signed(line, (int32_t)view->value);
}

PRINT(show_uid)
{
	if ((uint32_t)view->value == UINT32_MAX)
		wmk_kline_put(line, "-1");
	else
		wmk_kline_unsigned(line, (uint32_t)view->value);
}

PRINT(show_mode)
{
	wmk_kline_octal(line, view->value & 0xffff, 3);
}

PRINT(show_mknod)
{
	wmk_kline_mode(line, (uint32_t)view->value);
}

/* mknod() has a device only for the nodes of one. */
static bool has_device(const struct wmk_kview *view)
{
	const uint64_t mode = view->arg ? wmk_kview_arg(view, view->arg - 1) : 0;

	return S_ISCHR(mode) || S_ISBLK(mode);
}

PRINT(show_device)
{
	wmk_kline_device(line, view->value);
}

PRINT(show_offset)
{
	wmk_kline_bracketed(line, *(const int64_t *)view->data);
}

/* ── names ───────────────────────────────────────────────────────────────────────────────────────────── */

static const struct wmk_kform *form_of(const struct wmk_kview *view)
{
	return view->print->forms[view->arg];
}

void wmk_kshow_name(struct wmk_kline *line, const struct wmk_kview *view)
{
	wmk_kline_name(line, form_of(view)->names, (uint32_t)view->value, form_of(view)->unknown);
}

void wmk_kshow_flags(struct wmk_kline *line, const struct wmk_kview *view)
{
	wmk_kline_flags(line, form_of(view)->names, (uint32_t)view->value, form_of(view)->unknown);
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
}

/* open() and openat() have a mode, behind the flags, only if they may create a file. */
static bool has_open_mode(const struct wmk_kview *view)
{
	const uint64_t flags = view->arg ? wmk_kview_arg(view, view->arg - 1) : 0;

	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

void wmk_kshow_signal(struct wmk_kline *line, const struct wmk_kview *view)
{
	char room[24];

	wmk_kline_put(line, wmk_ksignal_name((uint32_t)view->value, room));
}

/* How a file is synchronized is a number in the flags. */
PRINT(show_statx_flags)
{
	const uint32_t value = (uint32_t)view->value;

	if (value & (AT_STATX_FORCE_SYNC | AT_STATX_DONT_SYNC)) {
		wmk_kline_flags(line, wmk_knames_statxat, value, "AT_");
		return;
	}
	wmk_kline_put(line, "AT_STATX_SYNC_AS_STAT");
	if (value) {
		wmk_kline_char(line, '|');
		wmk_kline_flags(line, wmk_knames_statxat, value, NULL);
	}
}

/* ── texts ───────────────────────────────────────────────────────────────────────────────────────────── */

static void put_whole(struct wmk_kline *line, const struct wmk_syscalls_piece *piece, bool is_hex)
{
	wmk_kline_quoted(line, piece->bytes, piece->len, is_hex);
	if (piece->flags & WMK_SYSCALLS_PART_CUT)
		wmk_kline_put(line, "...");
}

PRINT(show_path)
{
	put_whole(line, view->piece, false);
}

void wmk_kshow_bytes(struct wmk_kline *line, const struct wmk_kview *view)
{
	const struct wmk_syscalls_piece *piece = view->piece;

	wmk_kline_text(line, view, piece->bytes, piece->len,
		       piece->flags & (WMK_SYSCALLS_PART_CUT | WMK_SYSCALLS_PART_UNREADABLE));
}

/* The name of a directory, which is not cut. */
PRINT(show_directory)
{
	const struct wmk_syscalls_piece *piece = view->piece;

	wmk_kline_quoted(line, piece->bytes, strnlen((const char *)piece->bytes, piece->len), false);
}

PRINT(show_random)
{
	put_whole(line, view->piece, true);
}

PRINT(show_texts)
{
	const struct wmk_syscalls_piece *piece = view->piece;
	const uint8_t *at = piece->bytes;
	const unsigned most = view->print->strings < WMK_SYSCALLS_STRINGS ? view->print->strings : WMK_SYSCALLS_STRINGS;
	unsigned n = 0;

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
}

/* How many texts the environment has. */
PRINT(show_environment)
{
	const struct wmk_syscalls_piece *piece = view->piece;
	const size_t unit = is_compat(view) ? 4 : 8;
	uint64_t pointer = 1;
	size_t n = 0;

	wmk_kline_pointer(line, view->value);
	while (pointer && (n + 1) * unit <= piece->len) {
		pointer = 0;
		memcpy(&pointer, piece->bytes + n * unit, unit);
		n += pointer != 0;
	}
	if (pointer)
		return;
	wmk_kline_put(line, " /* ");
	wmk_kline_unsigned(line, n);
	wmk_kline_put(line, n == 1 ? " var */" : " vars */");
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

/* Of an output, only the bytes that the call has moved. */
PRINT(show_vectors)
{
	const struct wmk_syscalls_piece *vectors = view->piece, *content = wmk_kview_piece(view, 1);
	const size_t unit = is_compat(view) ? 8 : 16, n = vectors->len / unit;
	uint64_t most = form_of(view)->when & WMK_KFORM_OUT ? (uint64_t)wmk_kprint_value(view->exit) : UINT64_MAX;
	size_t used = 0;

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
	wmk_kline_put(line, n > view->print->strings ||
				    (vectors->flags & (WMK_SYSCALLS_PART_CUT | WMK_SYSCALLS_PART_UNREADABLE)) ?
				    ", ...]" : "]");
}

/* ── the table ───────────────────────────────────────────────────────────────────────────────────────── */

#define NUMBER(form, show) { .word = form, .print = show }
/* Not of all calls: `has` says of which. */
#define SOMETIMES(form, show, has, at) { .word = form, .print = show, .is_shown = has, .when = at }
#define COPIED(form, show, how, bytes, most, at) \
	{ \
		.word = form, .print = show, .op = WMK_SYSCALLS_##how, .unit = bytes, .max = most, .when = at \
	}
#define IN(form, show, how, most) COPIED(form, show, how, 1, most, WMK_KFORM_IN)
#define OUT(form, show, how, most) COPIED(form, show, how, 1, most, WMK_KFORM_OUT | WMK_KFORM_LATE)
/* Structures of so many bytes; wide: another structure in 32-bit programs. */
#define STRUCT(form, show, bytes, wide, at) \
	{ \
		.word = form, .print = show, .op = WMK_SYSCALLS_FIXED, .unit = bytes, .max = bytes, .is_wide = wide, \
		.when = WMK_KFORM_WHOLE | (at) \
	}
#define STRUCT_IN(form, show, bytes, wide) STRUCT(form, show, bytes, wide, WMK_KFORM_IN)
#define STRUCT_OUT(form, show, bytes, wide) STRUCT(form, show, bytes, wide, WMK_KFORM_OUT | WMK_KFORM_LATE)

const struct wmk_kform wmk_kforms[] = {
	NUMBER("int", show_int),
	NUMBER("uint", wmk_kshow_uint),
	NUMBER("long", show_long),
	NUMBER("ulong", show_ulong),
	NUMBER("hex32", wmk_kshow_hex),
	NUMBER("hex", show_long_hex),
	NUMBER("ptr", show_pointer),
	NUMBER("fd", show_int),
	NUMBER("pid", show_int),
	NUMBER("errno", show_int),
	NUMBER("dirfd", show_dirfd),
	NUMBER("uid", show_uid),
	NUMBER("mode", show_mode),
	NUMBER("mknod", show_mknod),
	SOMETIMES("mkdev", show_device, has_device, 0),
	NUMBER("signal", wmk_kshow_signal),
	NUMBER("open", show_open),
	SOMETIMES("omode", show_mode, has_open_mode, 0),
	NUMBER("statxat", show_statx_flags),
	NUMBER("protocol", wmk_kshow_protocol),
	NUMBER("socktype", wmk_kshow_socket),
	NUMBER("so", wmk_kshow_so),
	SOMETIMES("mremapto", show_pointer, wmk_khas_mremap_to, 0),
	{ .word = "clonestack", .print = wmk_kshow_clone_stack, .name = "child_stack=" },
	{ .word = "cloneflags", .print = wmk_kshow_clone_flags, .name = "flags=" },
	{ .word = "clonetid", .print = wmk_kshow_int, .is_shown = wmk_khas_clone_parent, .name = "parent_tid=",
	  .op = WMK_SYSCALLS_FIXED, .unit = 4, .max = 4, .when = WMK_KFORM_WHOLE | WMK_KFORM_OUT | WMK_KFORM_LATE },
	{ .word = "clonetls", .print = wmk_kshow_clone_tls, .is_shown = wmk_khas_clone_tls, .name = "tls=",
	  .when = WMK_KFORM_LATE },
	{ .word = "clonechild", .print = wmk_kshow_clone_child, .is_shown = wmk_khas_clone_child,
	  .name = "child_tidptr=", .when = WMK_KFORM_LATE },
	NUMBER("futex", wmk_kshow_futex_op),
	SOMETIMES("futexval", wmk_kshow_uint, wmk_khas_futex_value, 0),
	{ .word = "futextime", .print = wmk_kshow_futex_time, .is_shown = wmk_khas_futex_time,
	  .op = WMK_SYSCALLS_FIXED, .unit = 16, .max = 16, .is_wide = true,
	  .when = WMK_KFORM_WHOLE | WMK_KFORM_IN | WMK_KFORM_ALWAYS },
	SOMETIMES("futexaddr", show_pointer, wmk_khas_futex_other, 0),
	SOMETIMES("futexval3", wmk_kshow_futex_value3, wmk_khas_futex_value3, 0),
	{ .word = "prctlarg", .print = wmk_kshow_prctl_arg, .is_shown = wmk_khas_prctl_arg,
	  .op = WMK_SYSCALLS_TEXT, .unit = 1, .max = 16, .when = WMK_KFORM_IN | WMK_KFORM_ALWAYS },
	SOMETIMES("prctlrest", show_long_hex, wmk_khas_prctl_rest, 0),
	SOMETIMES("fcntlarg", wmk_kshow_fcntl_arg, wmk_khas_fcntl_arg, 0),
	COPIED("ioctlarg", wmk_kshow_ioctl_arg, FIXED, 8, 8, WMK_KFORM_OUT | WMK_KFORM_LATE | WMK_KFORM_ALWAYS),
	STRUCT_IN("off", show_offset, 8, false),


	IN("path", show_path, TEXT, WMK_SYSCALLS_PART_MAX),
	IN("text", wmk_kshow_bytes, TEXT, 0),
	IN("in", wmk_kshow_bytes, BYTES, 0),
	OUT("out", wmk_kshow_bytes, RETURNED, 0),
	OUT("outhex", show_random, RETURNED, 0),
	OUT("outpath", show_directory, RETURNED, WMK_SYSCALLS_PART_MAX),
	IN("texts", show_texts, TEXTS, 0),
	COPIED("env", show_environment, FIXED, 4096, 4096, WMK_KFORM_IN),
	IN("viin", show_vectors, VECTORS_IN, 0),
	OUT("viout", show_vectors, VECTORS_RETURNED, 0),
	IN("addrin", wmk_kshow_address, BYTES, WMK_SYSCALLS_ADDRESS_MAX),
	OUT("addrout", wmk_kshow_address, LENGTH_AT, WMK_SYSCALLS_ADDRESS_MAX),
	STRUCT("addrlen>", wmk_kshow_address_len, 4, false, WMK_KFORM_IN | WMK_KFORM_OUT | WMK_KFORM_LATE),
	IN("sockopt", wmk_kshow_sockopt, BYTES, 64),
	OUT("sockoptout>", wmk_kshow_sockopt, LENGTH_AT, 64),
	COPIED("polls", wmk_kshow_polls, BYTES, 8, 8 * WMK_SYSCALLS_POLLS_MAX, WMK_KFORM_IN | WMK_KFORM_OUT),
	STRUCT_OUT("stat", wmk_kshow_stat, sizeof(struct stat), true),
	STRUCT_OUT("statx>", wmk_kshow_statx, 256, false),
	STRUCT_IN("timein", wmk_kshow_timespec, 16, true),
	STRUCT_OUT("timeout", wmk_kshow_timespec, 16, true),
	STRUCT_IN("times", wmk_kshow_timespecs, 32, true),
	/* also of a call that has failed: it was read before */
	STRUCT("tsleft", wmk_kshow_timespec, 16, true, WMK_KFORM_IN | WMK_KFORM_OUT),
	{ .word = "left>", .print = show_pointer, .when = WMK_KFORM_LATE },
	STRUCT_IN("tv", wmk_kshow_timeval, 16, true),
	STRUCT_OUT("tv>", wmk_kshow_timeval, 16, true),
	STRUCT_OUT("pair", wmk_kshow_pair, 8, false),
	STRUCT_OUT("int>", wmk_kshow_int, 4, false),
	STRUCT_OUT("status>", wmk_kshow_status, 4, false),
	STRUCT_IN("rlimit", wmk_kshow_rlimit, 16, true),
	STRUCT_OUT("rlimit>", wmk_kshow_rlimit, 16, true),
	STRUCT_IN("action", wmk_kshow_action, 32, true),
	STRUCT_OUT("action>", wmk_kshow_action, 32, true),
	STRUCT_IN("sigset", wmk_kshow_sigset, 8, false),
	STRUCT_OUT("sigset>", wmk_kshow_sigset, 8, false),
	STRUCT_IN("stack", wmk_kshow_stack, 24, true),
	STRUCT_OUT("stack>", wmk_kshow_stack, 24, true),
	STRUCT_IN("clone3", wmk_kshow_clone3, 64, false),
	{ .word = "clone3size", .print = wmk_kshow_clone3_size, .when = WMK_KFORM_OWN | WMK_KFORM_LATE },
	STRUCT_OUT("uname>", wmk_kshow_uname, 390, false),
	STRUCT_OUT("times>", wmk_kshow_times, 32, true),
	STRUCT_IN("epollevent", wmk_kshow_epoll_event, sizeof(struct epoll_event), false),
	COPIED("epollevents>", wmk_kshow_epoll_events, RETURNED, sizeof(struct epoll_event),
	       32 * sizeof(struct epoll_event), WMK_KFORM_OUT | WMK_KFORM_LATE),
	OUT("dirents>", wmk_kshow_dirents, RETURNED, WMK_SYSCALLS_PART_MAX),
};

const unsigned wmk_kforms_n = sizeof(wmk_kforms) / sizeof(*wmk_kforms);
