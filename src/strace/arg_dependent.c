/* SPDX-License-Identifier: MIT */
/*
 * arg_dependent.c - prints arguments of fcntl(), ioctl(), clone(), futex() and prctl(): their form or presence depends
 * on other arguments (see arg_format.h).
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "strace/arg_format.h"

bool wmk_khas_fcntl_arg(const struct wmk_kview *view)
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
		return true;
	}
}

PRINT(wmk_kshow_fcntl_arg)
{
	switch ((uint32_t)wmk_kview_arg(view, 1)) {
	case F_SETFD:
		if (view->value == FD_CLOEXEC)
			wmk_kline_put(line, "FD_CLOEXEC");
		else
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
		wmk_kshow_signal(line, view);
		break;
	default:
		wmk_kline_hex(line, view->value);
		break;
	}
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
	} else if ((command == FIONREAD || command == TIOCGPGRP || command == TIOCOUTQ || command == FIONBIO) &&
		   wmk_kview_struct(view, true, &number, sizeof(number))) {
		wmk_kline_bracketed(line, number);
	} else {
		wmk_kline_hex(line, view->value);
	}
}

bool wmk_khas_mremap_to(const struct wmk_kview *view)
{
	return wmk_kview_arg(view, 3) & MREMAP_FIXED;
}

/*
 * clone(): strace names the arguments, and prints the stack first. The last two arguments of clone() have a different
 * order on 64-bit x86 than on other machines.
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
	wmk_kline_pointer(line, wmk_kview_arg(view, 1));
}

/* The lowest byte of the flags of clone() contains a signal number. */
PRINT(wmk_kshow_clone_flags)
{
	const uint64_t value = wmk_kview_arg(view, 0), flags = value & ~(uint64_t)0xff;
	char room[24];

	if (flags)
		wmk_kline_flags(line, wmk_knames_clone, flags, "CLONE_");
	if (flags && (value & 0xff))
		wmk_kline_char(line, '|');
	if (value & 0xff)
		wmk_kline_put(line, wmk_ksignal_name(value & 0xff, room));
	else if (!flags)
		wmk_kline_char(line, '0');
}

bool wmk_khas_clone_parent(const struct wmk_kview *view)
{
	return wmk_kview_arg(view, 0) & (CLONE_PARENT_SETTID | CLONE_PIDFD);
}

bool wmk_khas_clone_tls(const struct wmk_kview *view)
{
	return wmk_kview_arg(view, 0) & CLONE_SETTLS;
}

PRINT(wmk_kshow_clone_tls)
{
	wmk_kline_pointer(line, wmk_kview_arg(view, CLONE_ARG_TLS));
}

bool wmk_khas_clone_child(const struct wmk_kview *view)
{
	return wmk_kview_arg(view, 0) & (CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID);
}

PRINT(wmk_kshow_clone_child)
{
	wmk_kline_pointer(line, wmk_kview_arg(view, CLONE_ARG_CHILD));
}

PRINT(wmk_kshow_futex_op)
{
	const uint32_t value = (uint32_t)view->value;

	wmk_kline_name(line, wmk_knames_futex, value & ~(uint32_t)FUTEX_CLOCK_REALTIME, "FUTEX_");
	if (value & FUTEX_CLOCK_REALTIME)
		wmk_kline_put(line, "|FUTEX_CLOCK_REALTIME");
}

static unsigned futex_op(const struct wmk_kview *view)
{
	return (unsigned)wmk_kview_arg(view, 1) & (unsigned)FUTEX_CMD_MASK;
}

/* Futex operations that wait have a timeout; operations on two futexes have a number and a second address. */
static bool futex_waits(unsigned op)
{
	return op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET || op == FUTEX_LOCK_PI || op == FUTEX_WAIT_REQUEUE_PI;
}

static bool futex_has_two(unsigned op)
{
	return op == FUTEX_REQUEUE || op == FUTEX_CMP_REQUEUE || op == FUTEX_WAKE_OP || op == FUTEX_CMP_REQUEUE_PI;
}

bool wmk_khas_futex_value(const struct wmk_kview *view)
{
	const unsigned op = futex_op(view);

	return op != FUTEX_UNLOCK_PI && op != FUTEX_TRYLOCK_PI && op != FUTEX_LOCK_PI;
}

bool wmk_khas_futex_time(const struct wmk_kview *view)
{
	return futex_waits(futex_op(view)) || futex_has_two(futex_op(view));
}

/* The argument is either a pointer to a timeout or a number, depending on the futex operation. */
PRINT(wmk_kshow_futex_time)
{
	if (!futex_waits(futex_op(view)))
		wmk_kshow_uint(line, view);
	else if (view->data)
		wmk_kshow_timespec(line, view);
	else
		wmk_kline_pointer(line, view->value);
}

bool wmk_khas_futex_other(const struct wmk_kview *view)
{
	return futex_has_two(futex_op(view)) || futex_op(view) == FUTEX_WAIT_REQUEUE_PI;
}

static bool futex_has_bits(unsigned op)
{
	return op == FUTEX_WAIT_BITSET || op == FUTEX_WAKE_BITSET;
}

bool wmk_khas_futex_value3(const struct wmk_kview *view)
{
	const unsigned op = futex_op(view);

	return futex_has_bits(op) || (futex_has_two(op) && op != FUTEX_REQUEUE);
}

PRINT(wmk_kshow_futex_value3)
{
	if (futex_has_bits(futex_op(view)) && (uint32_t)view->value == UINT32_MAX)
		wmk_kline_put(line, "FUTEX_BITSET_MATCH_ANY");
	else
		wmk_kshow_hex(line, view);
}

bool wmk_khas_prctl_arg(const struct wmk_kview *view)
{
	switch ((uint32_t)wmk_kview_arg(view, 0)) {
	case PR_GET_DUMPABLE:
	case PR_GET_KEEPCAPS:
	case PR_GET_SECCOMP:
	case PR_GET_TIMERSLACK:
		return false;
	default:
		return true;
	}
}

PRINT(wmk_kshow_prctl_arg)
{
	const uint32_t option = (uint32_t)wmk_kview_arg(view, 0);

	if (option == PR_SET_NAME && view->piece)
		wmk_kshow_bytes(line, view);
	else if (option == PR_SET_NAME)
		wmk_kline_pointer(line, view->value);
	else if (option == PR_SET_PDEATHSIG)
		wmk_kshow_signal(line, view);
	else
		wmk_kline_hex(line, view->value);
}

bool wmk_khas_prctl_rest(const struct wmk_kview *view)
{
	switch ((uint32_t)wmk_kview_arg(view, 0)) {
	case PR_SET_NAME:
	case PR_GET_NAME:
	case PR_SET_PDEATHSIG:
	case PR_GET_PDEATHSIG:
	case PR_SET_DUMPABLE:
	case PR_SET_KEEPCAPS:
	case PR_SET_TIMERSLACK:
	case PR_CAPBSET_READ:
	case PR_CAPBSET_DROP:
		return false;
	default:
		return wmk_khas_prctl_arg(view);
	}
}
