/* SPDX-License-Identifier: MIT */
/*
 * sandboxed.c - an application with a seccomp filter that refuses one or several system calls: SYSCALL,SYSCALL.
 *
 *     sandboxed WHEN ACTION SYSCALL ACTIVITY...
 *       WHEN      preinit: before the constructors run; main: first in main(), for all threads; never
 *       ACTION    errno: EPERM; kill: the process; trap: SIGSYS, with a handler that does nothing
 *       ACTIVITY  rest MS: record, sleep; flood N: record N times; thread, fork: record there;
 *                 load LIBRARY: dlopen() a library with tracepoints
 *
 * Prints the CPU time of the process, in ms. Status 77: seccomp is not available; 78: SYSCALL is not in the list below.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <waymark/trace.h>

#define NAMES(X) \
	X(brk) X(clone3) X(close) X(close_range) X(connect) X(exit) X(fallocate) X(fcntl) X(futex) X(getcpu) \
	X(geteuid) X(getpid) X(getppid) X(getrandom) X(getrusage) X(getsockopt) X(gettid) X(kill) X(madvise) \
	X(membarrier) X(memfd_create) X(mmap) X(mprotect) X(munmap) X(nanosleep) X(openat) X(prctl) \
	X(pread64) X(process_vm_readv) X(pwrite64) X(read) X(recvmsg) X(rseq) X(rt_sigaction) \
	X(rt_sigprocmask) X(sched_yield) X(sendmsg) X(set_robust_list) X(signalfd4) X(socket) X(tgkill) X(unshare)

static const struct { const char *name; int number; } calls[] = {
#define X(name) { #name, SYS_##name },
	NAMES(X)
#ifdef SYS_access
	X(access) X(poll)
#endif
#ifdef SYS_newfstatat
	X(newfstatat)
#endif
#ifdef SYS_faccessat
	X(faccessat)
#endif
};

static int number_of(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(calls[i].name, name))
			return calls[i].number;
	_exit(78);
}

static void nothing(int sig)
{
	(void)sig;
}

static void refuse_one(const char *action, const char *name, unsigned flags)
{
	const uint32_t is = !strcmp(action, "kill") ? SECCOMP_RET_KILL_PROCESS :
			    !strcmp(action, "trap") ? SECCOMP_RET_TRAP : SECCOMP_RET_ERRNO | EPERM;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number_of(name), 0, 1),
		BPF_STMT(BPF_RET | BPF_K, is),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (!strcmp(action, "trap"))
		signal(SIGSYS, nothing);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program))
		_exit(77);
}

static void refuse(const char *action, const char *names, unsigned flags)
{
	char list[200];

	snprintf(list, sizeof(list), "%s", names);
	for (char *name = strtok(list, ","); name; name = strtok(NULL, ","))
		refuse_one(action, name, flags);
}

static void before_constructors(int argc, char **argv, char **env)
{
	(void)env;
	if (argc > 3 && !strcmp(argv[1], "preinit"))
		refuse(argv[2], argv[3], 0);
}
typedef void preinit_function(int, char **, char **);
__attribute__((section(".preinit_array"), used)) static preinit_function *const preinit = before_constructors;

static void pause_ms(long ms)
{
	const struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}

static void *in_thread(void *arg)
{
	waymark(box, thread, 1);
	return arg;
}

static int act(char **activity)
{
	const char *what = activity[0], *how = activity[1];
	pthread_t thread;

	if (!strcmp(what, "thread")) {
		if (pthread_create(&thread, NULL, in_thread, NULL) == 0)
			pthread_join(thread, NULL);
		return 1;
	}
	if (!strcmp(what, "fork")) {
		const pid_t pid = fork();

		if (pid == 0) {
			waymark(box, child, 1);
			pause_ms(100);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		return 1;
	}
	if (!strcmp(what, "load")) {
		void *library = dlopen(how, RTLD_NOW);

		if (!library)
			_exit(4);
		pause_ms(50);
		dlclose(library);
		return 2;
	}
	if (!strcmp(what, "rest"))
		pause_ms(atol(how));
	for (long i = 0, n = strcmp(what, "flood") ? 1 : atol(how); i < n; i++)
		waymark(box, tick, i);
	return 2;
}

int main(int argc, char **argv)
{
	struct timespec cpu;
	char line[40];

	if (argc < 4)
		return 2;
	if (!strcmp(argv[1], "main"))
		refuse(argv[2], argv[3], SECCOMP_FILTER_FLAG_TSYNC);
	waymark(box, begin, 1);
	for (int i = 4; i < argc;)
		i += act(argv + i);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	const int n = snprintf(line, sizeof(line), "%ld\n", cpu.tv_sec * 1000 + cpu.tv_nsec / 1000000);

	return write(STDOUT_FILENO, line, (size_t)n) == n ? 0 : 3;
}
