/* SPDX-License-Identifier: MIT */
/*
 * arg_signal.c - prints signals, signal sets, handlers, and exits of threads (see arg_format.h).
 */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "strace/arg_format.h"

const char *wmk_ksignal_name(unsigned number, char room[24])
{
	const char *name = number == SIGIO ? "IO" : sigabbrev_np((int)number);

	if (name)
		stpcpy(stpcpy(room, "SIG"), name);
	else if (number >= 32 && number <= 64)
		snprintf(room, 24, number == 32 ? "SIGRTMIN" : "SIGRT_%u", number - 32);
	else
		snprintf(room, 24, "%u", number);
	return room;
}

/*
 * Prints the signals that are in the set. If the set contains most signals, the function prints '~' and the signals
 * that are not in the set.
 */
void wmk_kline_sigset(struct wmk_kline *line, uint64_t set)
{
	const bool is_most = __builtin_popcountll(set) >= 64 * 2 / 3;
	const uint64_t named = is_most ? ~set : set;
	bool any = false;
	char room[24];

	wmk_kline_put(line, is_most ? "~[" : "[");
	for (unsigned i = 0; i < 64; i++) {
		if (!(named >> i & 1))
			continue;
		if (any)
			wmk_kline_char(line, ' ');
		wmk_kline_put(line, wmk_ksignal_name(i + 1, room) + 3);
		any = true;
	}
	wmk_kline_char(line, ']');
}

PRINT(wmk_kshow_sigset)
{
	wmk_kline_sigset(line, *(const uint64_t *)view->data);
}

/* The structure has the kernel's layout: handler, flags, restorer, mask. */
PRINT(wmk_kshow_action)
{
	const uint64_t *action = view->data;

	wmk_kline_put(line, "{sa_handler=");
	if (action[0] <= 2)
		wmk_kline_put(line, action[0] == 0 ? "SIG_DFL" : action[0] == 1 ? "SIG_IGN" : "SIG_HOLD");
	else
		wmk_kline_hex(line, action[0]);
	wmk_kline_put(line, ", sa_mask=");
	wmk_kline_sigset(line, action[3]);
	wmk_kline_put(line, ", sa_flags=");
	wmk_kline_flags(line, wmk_knames_action, action[1], "SA_");
	if (action[1] & 0x04000000) {
		wmk_kline_put(line, ", sa_restorer=");
		wmk_kline_pointer(line, action[2]);
	}
	wmk_kline_char(line, '}');
}

PRINT(wmk_kshow_stack)
{
	static const struct wmk_kname flags[] = {
		{ 0x80000000, "SS_AUTODISARM" }, { 1, "SS_ONSTACK" }, { 2, "SS_DISABLE" }, { 0, NULL }
	};
	const uint64_t *stack = view->data;

	wmk_kline_put(line, "{ss_sp=");
	wmk_kline_pointer(line, stack[0]);
	wmk_kline_put(line, ", ss_flags=");
	wmk_kline_flags(line, flags, (uint32_t)stack[1], "SS_");
	wmk_kline_put(line, ", ss_size=");
	wmk_kline_unsigned(line, stack[2]);
	wmk_kline_char(line, '}');
}

static void put_child(struct wmk_kline *line, const siginfo_t *info)
{
	char room[24];

	wmk_kline_member(line, ", si_pid=", info->si_pid);
	wmk_kline_member(line, ", si_uid=", info->si_uid);
	wmk_kline_put(line, ", si_status=");
	if (info->si_code == CLD_EXITED)
		wmk_kline_signed(line, info->si_status);
	else
		wmk_kline_put(line, wmk_ksignal_name((unsigned)info->si_status, room));
	wmk_kline_member(line, ", si_utime=", info->si_utime);
	wmk_kline_member(line, ", si_stime=", info->si_stime);
}

void wmk_kprint_siginfo(const uint64_t values[WMK_SYSCALLS_ARGS], unsigned n_values, struct wmk_kline *line)
{
	siginfo_t info = { .si_signo = 0 };
	const char *code;
	char room[24];

	memcpy(&info, values, n_values * sizeof(*values));
	wmk_kline_put(line, "{si_signo=");
	wmk_kline_put(line, wmk_ksignal_name((unsigned)info.si_signo, room));
	wmk_kline_put(line, ", si_code=");
	code = wmk_kname_of(wmk_knames_code, (uint32_t)info.si_code);
	if (!code)
		code = wmk_kname_of(wmk_knames_code, (uint64_t)(uint32_t)info.si_signo << 32 | (uint32_t)info.si_code);
	if (code)
		wmk_kline_put(line, code);
	else
		wmk_kline_hex(line, (uint32_t)info.si_code);
	if (info.si_signo == SIGCHLD && info.si_code > 0 && info.si_code < 0x80) {
		put_child(line, &info);
	} else if (info.si_code == SI_USER || info.si_code == SI_TKILL || info.si_code == SI_QUEUE) {
		wmk_kline_member(line, ", si_pid=", info.si_pid);
		wmk_kline_member(line, ", si_uid=", info.si_uid);
		if (info.si_code == SI_QUEUE) {
			wmk_kline_member(line, ", si_value={int=", info.si_int);
			wmk_kline_put(line, ", ptr=");
			wmk_kline_pointer(line, (uint64_t)(uintptr_t)info.si_ptr);
			wmk_kline_char(line, '}');
		}
	} else if ((info.si_signo == SIGSEGV || info.si_signo == SIGBUS || info.si_signo == SIGFPE ||
		    info.si_signo == SIGILL) &&
		   info.si_code > 0 && info.si_code < 0x80) {
		wmk_kline_put(line, ", si_addr=");
		wmk_kline_pointer(line, (uint64_t)(uintptr_t)info.si_addr);
	}
	wmk_kline_char(line, '}');
}

void wmk_kprint_end(const struct wmk_syscalls_record *end, struct wmk_kline *line)
{
	const int status = end->n_values ? (int)end->values[0] : 0;
	char room[24];

	if (!end->n_values) {
		wmk_kline_put(line, "ended");
	} else if (WIFSIGNALED(status)) {
		wmk_kline_put(line, "killed by ");
		wmk_kline_put(line, wmk_ksignal_name((unsigned)WTERMSIG(status), room));
		if (WCOREDUMP(status))
			wmk_kline_put(line, " (core dumped)");
	} else {
		wmk_kline_member(line, "exited with ", WEXITSTATUS(status));
	}
}
