/* SPDX-License-Identifier: MIT */
/*
 * arg_dependent.c - arguments that are shown by what others are, or not at all: of fcntl(), ioctl(), clone(), futex(),
 * prctl() (see arg_format.h).
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "strace/arg_format.h"

#define PRINT(name) bool name(struct wmk_kline *line, const struct wmk_kview *view)

PRINT(wmk_kshow_fcntl_arg)
{
	switch ((uint32_t)wmk_kview_arg(view, 1)) {
	case F_GETFD:
	case F_GETFL:
	case F_GETOWN:
	case F_GETSIG:
	case F_GETLEASE:
	case F_GETPIPE_SZ:
	case F_GET_SEALS:
		return false;
	default:
		break;
	}
	wmk_kview_next(line, view);
	switch ((uint32_t)wmk_kview_arg(view, 1)) {
	case F_SETFD:
		wmk_kline_put(line, view->value == 1 ? "FD_CLOEXEC" : "");
		if (view->value != 1)
			wmk_kline_hex(line, view->value);
		break;
	case F_SETFL:
		wmk_kline_open(line, view->value);
		break;
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
	case F_SETOWN:
	case F_SETPIPE_SZ:
		wmk_kline_signed(line, (int32_t)view->value);
		break;
	case F_SETSIG:
		return wmk_kshow_signal(line, view);
	default:
		wmk_kline_hex(line, view->value);
		break;
	}
	return true;
}

PRINT(wmk_kshow_ioctl_arg)
{
	const uint32_t command = (uint32_t)wmk_kview_arg(view, 1);
	uint16_t size[4];
	int32_t number;

	if (command == TIOCGWINSZ && wmk_kview_struct(view, true, size, sizeof(size))) {
		static const char *const members[] = { "{ws_row=", ", ws_col=", ", ws_xpixel=", ", ws_ypixel=" };

		for (unsigned i = 0; i < 4; i++) {
			wmk_kline_put(line, members[i]);
			wmk_kline_unsigned(line, size[i]);
		}
		wmk_kline_char(line, '}');
	} else if ((command == FIONREAD || command == TIOCGPGRP || command == TIOCOUTQ) &&
		   wmk_kview_struct(view, true, &number, sizeof(number))) {
		wmk_kline_char(line, '[');
		wmk_kline_signed(line, number);
		wmk_kline_char(line, ']');
	} else if (command == FIONBIO && wmk_kview_struct(view, true, &number, sizeof(number))) {
		wmk_kline_char(line, '[');
		wmk_kline_signed(line, number);
		wmk_kline_char(line, ']');
	} else {
		wmk_kline_hex(line, view->value);
	}
	return true;
}

/* The descriptor's place, or NULL. */
PRINT(wmk_kshow_offset)
{
	int64_t offset;

	if (!wmk_kview_struct(view, false, &offset, sizeof(offset)))
		return wmk_kshow_pointer(line, view);
	wmk_kline_char(line, '[');
	wmk_kline_signed(line, offset);
	wmk_kline_char(line, ']');
	return true;
}

PRINT(wmk_kshow_mremap_to)
{
	if (!(wmk_kview_arg(view, 3) & MREMAP_FIXED))
		return false;
	wmk_kview_next(line, view);
	return wmk_kshow_pointer(line, view);
}

/*
 * clone(): strace names the arguments, and has the stack first. The last two have other places on 64-bit x86 than on
 * all other machines.
 */
#ifdef __x86_64__
#define CLONE_ARG_CHILD 3
#define CLONE_ARG_TLS 4
#else
#define CLONE_ARG_TLS 3
#define CLONE_ARG_CHILD 4
#endif

PRINT(wmk_kshow_clone_stack)
{
	wmk_kline_put(line, "child_stack=");
	wmk_kline_pointer(line, wmk_kview_arg(view, 1));
	return true;
}

/* With the signal in the lowest byte. */
PRINT(wmk_kshow_clone_flags)
{
	const uint64_t value = wmk_kview_arg(view, 0), flags = value & ~(uint64_t)0xff;
	char room[24];

	wmk_kline_put(line, "flags=");
	if (flags)
		wmk_kline_flags(line, wmk_knames_clone, flags, "CLONE_");
	if (flags && (value & 0xff))
		wmk_kline_char(line, '|');
	if (value & 0xff)
		wmk_kline_put(line, wmk_ksignal_name(value & 0xff, room));
	else if (!flags)
		wmk_kline_char(line, '0');
	return true;
}

PRINT(wmk_kshow_clone_parent)
{
	if (!(wmk_kview_arg(view, 0) & (CLONE_PARENT_SETTID | CLONE_PIDFD)))
		return false;
	wmk_kview_next(line, view);
	wmk_kline_put(line, "parent_tid=");
	return wmk_kshow_int(line, view);
}

PRINT(wmk_kshow_clone_tls)
{
	if (!(wmk_kview_arg(view, 0) & CLONE_SETTLS))
		return false;
	wmk_kview_next(line, view);
	wmk_kline_put(line, "tls=");
	wmk_kline_pointer(line, wmk_kview_arg(view, CLONE_ARG_TLS));
	return true;
}

PRINT(wmk_kshow_clone_child)
{
	if (!(wmk_kview_arg(view, 0) & (CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID)))
		return false;
	wmk_kview_next(line, view);
	wmk_kline_put(line, "child_tidptr=");
	wmk_kline_pointer(line, wmk_kview_arg(view, CLONE_ARG_CHILD));
	return true;
}

PRINT(wmk_kshow_futex_op)
{
	const uint32_t value = (uint32_t)view->value;

	wmk_kline_name(line, wmk_knames_futex, value & ~(uint32_t)FUTEX_CLOCK_REALTIME, "FUTEX_");
	if (value & FUTEX_CLOCK_REALTIME)
		wmk_kline_put(line, "|FUTEX_CLOCK_REALTIME");
	return true;
}

static unsigned futex_op(const struct wmk_kview *view)
{
	return (unsigned)wmk_kview_arg(view, 1) & (unsigned)FUTEX_CMD_MASK;
}

/* All three of these: waiting ones have a time, those for two futexes a number and another address. */
static bool futex_waits(unsigned op)
{
	return op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET || op == FUTEX_LOCK_PI || op == FUTEX_WAIT_REQUEUE_PI;
}

static bool futex_has_two(unsigned op)
{
	return op == FUTEX_REQUEUE || op == FUTEX_CMP_REQUEUE || op == FUTEX_WAKE_OP || op == FUTEX_CMP_REQUEUE_PI;
}

PRINT(wmk_kshow_futex_value)
{
	const unsigned op = futex_op(view);

	if (op == FUTEX_UNLOCK_PI || op == FUTEX_TRYLOCK_PI || op == FUTEX_LOCK_PI)
		return false;
	wmk_kview_next(line, view);
	return wmk_kshow_uint(line, view);
}

PRINT(wmk_kshow_futex_time)
{
	const unsigned op = futex_op(view);

	if (!futex_waits(op) && !futex_has_two(op))
		return false;
	wmk_kview_next(line, view);
	return futex_waits(op) ? wmk_kshow_timespec(line, view) : wmk_kshow_uint(line, view);
}

PRINT(wmk_kshow_futex_other)
{
	if (!futex_has_two(futex_op(view)) && futex_op(view) != FUTEX_WAIT_REQUEUE_PI)
		return false;
	wmk_kview_next(line, view);
	wmk_kline_pointer(line, view->value);
	return true;
}

PRINT(wmk_kshow_futex_value3)
{
	const unsigned op = futex_op(view);

	if (op == FUTEX_WAIT_BITSET || op == FUTEX_WAKE_BITSET) {
		wmk_kview_next(line, view);
		if ((uint32_t)view->value == UINT32_MAX)
			wmk_kline_put(line, "FUTEX_BITSET_MATCH_ANY");
		else
			wmk_kline_hex(line, (uint32_t)view->value);
		return true;
	}
	if (!futex_has_two(op) || op == FUTEX_REQUEUE)
		return false;
	wmk_kview_next(line, view);
	return wmk_kshow_hex(line, view);
}

PRINT(wmk_kshow_prctl_arg)
{
	const uint32_t option = (uint32_t)wmk_kview_arg(view, 0);

	if (option == PR_GET_DUMPABLE || option == PR_GET_KEEPCAPS || option == PR_GET_SECCOMP ||
	    option == PR_GET_TIMERSLACK)
		return false;
	wmk_kview_next(line, view);
	if (option == PR_SET_NAME)
		return wmk_kshow_bytes_in(line, view);
	if (option == PR_SET_PDEATHSIG)
		return wmk_kshow_signal(line, view);
	wmk_kline_hex(line, view->value);
	return true;
}

PRINT(wmk_kshow_prctl_rest)
{
	const uint32_t option = (uint32_t)wmk_kview_arg(view, 0);

	if (option == PR_SET_NAME || option == PR_GET_NAME || option == PR_SET_PDEATHSIG ||
	    option == PR_GET_PDEATHSIG || option == PR_GET_DUMPABLE || option == PR_SET_DUMPABLE ||
	    option == PR_GET_KEEPCAPS || option == PR_SET_KEEPCAPS || option == PR_GET_SECCOMP ||
	    option == PR_GET_TIMERSLACK || option == PR_SET_TIMERSLACK || option == PR_CAPBSET_READ ||
	    option == PR_CAPBSET_DROP)
		return false;
	wmk_kview_next(line, view);
	wmk_kline_hex(line, view->value);
	return true;
}
