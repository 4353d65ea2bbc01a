/* SPDX-License-Identifier: MIT */
/*
 * arg_format.c - prints arguments: numbers, names, texts (see arg_format.h). The other forms are in arg_dependent.c
 * (forms that depend on other arguments), arg_struct.c (structures), arg_signal.c (signals and exits) and
 * arg_sockaddr.c (sockets).
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "strace/arg_format.h"

static bool is_compat(const struct wmk_kview *view)
{
	return view->print->call.abi == WMK_KABI_COMPAT;
}

/* ── numbers ─────────────────────────────────────────────────────────────────────────────────────────── */

PRINT(wmk_kshow_int)
{
	wmk_kline_signed(line, (int32_t)view->value);
}

PRINT(wmk_kshow_uint)
{
	wmk_kline_unsigned(line, (uint32_t)view->value);
}

PRINT(wmk_kshow_long)
{
	wmk_kline_signed(line, is_compat(view) ? (int32_t)view->value : (int64_t)view->value);
}

PRINT(wmk_kshow_ulong)
{
	wmk_kline_unsigned(line, view->value);
}

PRINT(wmk_kshow_hex)
{
	wmk_kline_hex(line, (uint32_t)view->value);
}

PRINT(wmk_kshow_long_hex)
{
	wmk_kline_hex(line, view->value);
}

PRINT(wmk_kshow_pointer)
{
	wmk_kline_pointer(line, view->value);
}

PRINT(wmk_kshow_dirfd)
{
	if ((int32_t)view->value == AT_FDCWD)
		wmk_kline_put(line, "AT_FDCWD");
	else
		wmk_kline_signed(line, (int32_t)view->value);
}

PRINT(wmk_kshow_uid)
{
	if ((uint32_t)view->value == UINT32_MAX)
		wmk_kline_put(line, "-1");
	else
		wmk_kline_unsigned(line, (uint32_t)view->value);
}

PRINT(wmk_kshow_mode)
{
	wmk_kline_octal(line, view->value & 0xffff, 3);
}

PRINT(wmk_kshow_mknod)
{
	wmk_kline_mode(line, (uint32_t)view->value);
}

/* mknod() has a device argument only for device nodes. */
bool wmk_khas_device(const struct wmk_kview *view)
{
	const uint64_t mode = view->arg ? wmk_kview_arg(view, view->arg - 1) : 0;

	return S_ISCHR(mode) || S_ISBLK(mode);
}

PRINT(wmk_kshow_device)
{
	wmk_kline_device(line, view->value);
}

PRINT(wmk_kshow_offset)
{
	wmk_kline_bracketed(line, *(const int64_t *)view->data);
}

/* ── names ───────────────────────────────────────────────────────────────────────────────────────────── */

static const struct wmk_kform *form_of(const struct wmk_kview *view)
{
	return view->print->forms[view->arg];
}

PRINT(wmk_kshow_name)
{
	wmk_kline_name(line, form_of(view)->names, (uint32_t)view->value, form_of(view)->unknown);
}

PRINT(wmk_kshow_flags)
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

PRINT(wmk_kshow_open)
{
	wmk_kline_open(line, view->value);
}

/* open() and openat() have a mode argument after the flags only if they can create a file. */
bool wmk_khas_open_mode(const struct wmk_kview *view)
{
	const uint64_t flags = view->arg ? wmk_kview_arg(view, view->arg - 1) : 0;

	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

PRINT(wmk_kshow_signal)
{
	char room[24];

	wmk_kline_put(line, wmk_ksignal_name((uint32_t)view->value, room));
}

/* Two bits of the flags of statx(2) form a number, which is the kind of synchronization. */
PRINT(wmk_kshow_statx_flags)
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

PRINT(wmk_kshow_path)
{
	put_whole(line, view->piece, false);
}

PRINT(wmk_kshow_bytes)
{
	const struct wmk_syscalls_piece *piece = view->piece;

	wmk_kline_text(line, view, piece->bytes, piece->len,
		       piece->flags & (WMK_SYSCALLS_PART_CUT | WMK_SYSCALLS_PART_UNREADABLE));
}

/* Prints the complete name of a directory, without a limit of length. */
PRINT(wmk_kshow_directory)
{
	const struct wmk_syscalls_piece *piece = view->piece;

	wmk_kline_quoted(line, piece->bytes, strnlen((const char *)piece->bytes, piece->len), false);
}

PRINT(wmk_kshow_random)
{
	put_whole(line, view->piece, true);
}

PRINT(wmk_kshow_texts)
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

/* Prints the pointer to the environment and the number of its variables. */
PRINT(wmk_kshow_environment)
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

/*
 * Prints one element of an I/O vector. `bytes` is the start of the element's content, of which the record contains
 * `there` bytes; `whole` is the size of the complete content. If `bytes` is NULL, the record does not contain the
 * content, and the function prints the pointer.
 */
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

/* For an output vector, prints only the bytes that the system call has transferred. */
PRINT(wmk_kshow_vectors)
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
