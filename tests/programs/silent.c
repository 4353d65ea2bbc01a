/* SPDX-License-Identifier: MIT */
/*
 * silent.c - threads that record.
 *
 *     silent killed N M     one thread records M events. From then on, each system call in it ends the process
 *                           (seccomp), and it records N events. Then the process exits.
 *     silent threads N M    N threads record M events each, at the same time.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <waymark/trace.h>

static unsigned long n_events, n_before;
static atomic_bool go, done;

static void pause_ms(long ms)
{
	const struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

static void emit(unsigned long n)
{
	static const char text[] = "a text behind the numbers";

	for (unsigned long i = 0; i < n; i++)
		waymark(silent, record, i, n, text);
}

static void *killed(void *arg)
{
	struct sock_filter code[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS) };
	struct sock_fprog program = { 1, code };

	(void)arg;
	emit(n_before);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program))
		_exit(77);
	emit(n_events);
	atomic_store(&done, true);
	for (;;)                         /* the end of the thread would be a system call */
		;
	return NULL;
}

static void *one_of_many(void *arg)
{
	while (!atomic_load(&go))
		;
	emit(n_events);
	return arg;
}

static int many(unsigned n)
{
	pthread_t threads[1024];

	for (unsigned i = 0; i < n && i < 1024; i++)
		if (pthread_create(&threads[i], NULL, one_of_many, NULL))
			return 1;
	atomic_store(&go, true);
	for (unsigned i = 0; i < n && i < 1024; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc == 4 && strcmp(argv[1], "killed") == 0) {
		n_events = strtoul(argv[2], NULL, 0);
		n_before = strtoul(argv[3], NULL, 0);
		if (pthread_create(&thread, NULL, killed, NULL))
			return 1;
		while (!atomic_load(&done))
			pause_ms(1);
		return 0;
	}
	if (argc == 4 && strcmp(argv[1], "threads") == 0) {
		n_events = strtoul(argv[3], NULL, 0);
		return many((unsigned)strtoul(argv[2], NULL, 0));
	}
	return 2;
}
