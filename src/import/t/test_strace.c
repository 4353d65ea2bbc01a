/* SPDX-License-Identifier: MIT */
/* test_strace.c - parse lines of strace: all forms of times and threads, results, split calls, signals, exits. */
#include "show.h"

static void strace_calls_become_name_arguments_result_and_duration(void **state)
{
	static const struct expected table[] = {
		{ "3656  1795336891.446464 brk(NULL)       = 0x55688d679000 <0.000008>",
		  "epoch 1795336891.446464000 t3656 "
		  "strace:call{name='brk'|args='NULL'|ret=93907537334272|duration_ns=8000}" },
		{ "[pid  3673] 08:41:31.579970 openat(AT_FDCWD, \"/x\", O_RDONLY) = -1 ENOENT (No such file or "
		  "directory)",
		  "day 31291.579970000L t3673 strace:call{name='openat'|args='AT_FDCWD, \"/x\", "
		  "O_RDONLY'|ret=-1|error='ENOENT'|more='(No such file or directory)'}" },
		{ "08:41:31 getuid() = 0", "day 31291.000000000L strace:call{name='getuid'|args=''|ret=0}" },
		{ "     0.000040 munmap(0x7f, 47327) = 0",
		  "step 0.000040000 strace:call{name='munmap'|args='0x7f, 47327'|ret=0}" },
		{ "1795336891.5 (+     0.000040) getpid() = 7",
		  "epoch 1795336891.500000000 strace:call{name='getpid'|args=''|ret=7}" },
		{ "1795336891 getpid() = 7", "epoch 1795336891.000000000 strace:call{name='getpid'|args=''|ret=7}" },
		{ "12 1795336891 getpid() = 7",
		  "epoch 1795336891.000000000 t12 strace:call{name='getpid'|args=''|ret=7}" },
		{ "7766<sh>      0.000243 close(3</a b>) = 0",
		  "step 0.000243000 t7766 (sh) strace:call{name='close'|args='3</a b>'|ret=0}" },
		{ "[pid 7766<sh>] close(3) = 0", "none t7766 (sh) strace:call{name='close'|args='3'|ret=0}" },
		{ "write(1, \"f(x) = 3 \\\" ) = 4\", 17) = 17",
		  "none strace:call{name='write'|args='1, \"f(x) = 3 \\\" ) = 4\", 17'|ret=17}" },
		{ "open(\"/etc\", 0) = 3</etc/a <b>> <0.000002>",
		  "none strace:call{name='open'|args='\"/etc\", 0'|ret=3|more='</etc/a <b>>'|duration_ns=2000}" },
		{ "poll([{fd=3}], 1, 10) = 0 (Timeout)",
		  "none strace:call{name='poll'|args='[{fd=3}], 1, 10'|ret=0|more='(Timeout)'}" },
		{ "exit_group(0)   = ?", "none strace:call{name='exit_group'|args='0'}" },
		{ "exit_group(0 <unfinished ...>) = ?", "none strace:call{name='exit_group'|args='0'}" },
		{ "pause() = ? ERESTARTNOHAND (To be restarted if no handler)",
		  "none strace:call{name='pause'|args=''|error='ERESTARTNOHAND'|more='(To be restarted if no "
		  "handler)'}" },
		{ "[00007f01] [ 39] getpid() = 7", "none strace:call{name='getpid'|args=''|ret=7}" },
		{ "read(3,  <detached ...>", "none strace:unfinished{name='read'|args='3,'}" },
		{ "write(1, \"f(x) = 3", "unknown" },
		{ "getpid(", "unknown" },
		{ "getpid", "unknown" },
		{ "?\?\?\?( <x", "unknown" },
		{ "", "blank" },
	};

	(void)state;
	CHECK_LINES(wmk_import_strace_line, table);
}

static void strace_signals_exits_and_split_calls_are_parsed(void **state)
{
	static const struct expected table[] = {
		{ "12 1.5 wait4(-1,  <unfinished ...>",
		  "opens step 1.500000000 t12 strace:unfinished{name='wait4'|args='-1,'}" },
		{ "12 1.5 <... wait4 resumed>NULL, 0, NULL) = 13 <0.5>",
		  "resumes step 1.500000000 t12 strace:resumed{name='wait4'|args='NULL, 0, "
		  "NULL'|ret=13|duration_ns=500000000}" },
		{ "<... futex resumed> <unfinished ...>) = ?", "resumes none strace:resumed{name='futex'|args=''}" },
		{ "<... futex resumed>", "unknown" },
		{ "<... futex", "unknown" },
		{ "12 1.5 --- SIGCHLD {si_signo=SIGCHLD, si_pid=3} ---",
		  "step 1.500000000 t12 strace:signal{name='SIGCHLD'|info='{si_signo=SIGCHLD, si_pid=3}'}" },
		{ "--- stopped by SIGSTOP ---", "none strace:signal{name='SIGSTOP'|info='stopped'}" },
		{ "+++ exited with 3 +++", "ends none strace:exit{status=3|text='exited with 3'}" },
		{ "+++ killed by SIGSEGV (core dumped) +++",
		  "ends none strace:exit{signal='SIGSEGV'|text='killed by SIGSEGV (core dumped)'}" },
		{ "+++ superseded by execve in pid 9 +++",
		  "ends none strace:exit{text='superseded by execve in pid 9'}" },
		{ "strace: Process 12 attached", "none strace:note{message='strace: Process 12 attached'}" },
		{ "[pid 5] 1.5 stat(\"/a\", strace: Process 12 attached",
		  "splits step 1.500000000 strace:note{message='strace: Process 12 attached'} rest '[pid 5] 1.5 "
		  "stat(\"/a\", '" },
		{ "xstrace: Process attached", "unknown" },
		{ "xstrace: Process 12 attached",
		  "splits none strace:note{message='strace: Process 12 attached'} rest 'x'" },
		{ " > /usr/lib/libc.so.6(_exit+0x29) [0xd4409]",
		  "frame {callchain='/usr/lib/libc.so.6(_exit+0x29) [0xd4409]'}" },
		{ "--- ---", "unknown" },
		{ "+++ x", "unknown" },
	};

	(void)state;
	CHECK_LINES(wmk_import_strace_line, table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strace_calls_become_name_arguments_result_and_duration),
		cmocka_unit_test(strace_signals_exits_and_split_calls_are_parsed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
