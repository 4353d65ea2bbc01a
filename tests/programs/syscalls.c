/* SPDX-License-Identifier: MIT */
/*
 * syscalls.c - a program that makes system calls with pointers to known data, for tests that record the data.
 *
 *     syscalls count THREADS N  each thread calls mknod("/nowhere/THREAD/NUMBER") N times; no other program makes this
 *                               call; it fails and creates nothing
 *     syscalls until            the same by one thread, until its standard input ends; some thousand per second
 *     syscalls order N          test:before, openat("/nowhere/NUMBER"), test:after: N times
 *     syscalls shapes           one call for each kind of argument, also by a thread, by a child, and in 32-bit mode
 *
 * `count` and `until` print "made N".
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <waymark/trace.h>

#include "kernel/t/narrow.h"

#define THREADS_MAX 64

static uint64_t wanted;
static bool is_paced;
static _Atomic uint64_t made;
static _Atomic bool ended;

static void *count(void *arg)
{
	const struct timespec pace = { 0, 100000 };
	char name[64];

	for (uint64_t i = 0; i < wanted && !atomic_load_explicit(&ended, memory_order_relaxed); i++) {
		snprintf(name, sizeof(name), "/nowhere/%u/%06lu", *(unsigned *)arg, (unsigned long)i);
		syscall(SYS_mknodat, AT_FDCWD, name, S_IFREG, 0);
		atomic_fetch_add_explicit(&made, 1, memory_order_relaxed);
		if (is_paced)
			nanosleep(&pace, NULL);
	}
	return NULL;
}

static int count_all(unsigned threads, bool until)
{
	static unsigned numbers[THREADS_MAX];
	static pthread_t ids[THREADS_MAX];
	char byte;

	for (unsigned i = 0; i < threads; i++) {
		numbers[i] = i;
		if (pthread_create(&ids[i], NULL, count, &numbers[i]))
			return 1;
	}
	while (until && read(0, &byte, 1) > 0)
		;
	if (until)
		atomic_store_explicit(&ended, true, memory_order_relaxed);
	for (unsigned i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	printf("made %lu\n", (unsigned long)made);
	return 0;
}

static int order(uint64_t n)
{
	char name[64];

	for (uint64_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "/nowhere/%lu", (unsigned long)i);
		waymark(test, before, i);
		syscall(SYS_openat, AT_FDCWD, name, O_RDONLY, 0);
		waymark(test, after, i);
	}
	return 0;
}

/* ── shapes ──────────────────────────────────────────────────────────────────────────────────────────── */

static void *by_thread(void *arg)
{
	(void)arg;
	syscall(SYS_openat, AT_FDCWD, "/nowhere/by-thread", O_RDONLY, 0);
	return NULL;
}

static void narrow(void)
{
#ifdef __x86_64__
	char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	if (low == MAP_FAILED || !narrow_works())
		return;
	strcpy(low, "/nowhere/narrow");
	narrow_call(295, AT_FDCWD, (long)low, O_RDONLY);         /* openat */
#endif
}

static void family(void)
{
	pthread_t thread;
	pid_t child;

	if (pthread_create(&thread, NULL, by_thread, NULL) == 0)
		pthread_join(thread, NULL);
	child = fork();
	if (child == 0) {
		syscall(SYS_openat, AT_FDCWD, "/nowhere/by-child", O_RDONLY, 0);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static int shapes(void)
{
	static char ab[] = "ab", cde[] = "cde";
	static const char *const argv[] = { "one", "two words", "drei", NULL }, *const envp[] = { NULL };
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons(9),
					     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct timespec moment = { 0, 7 };
	const int null = open("/dev/null", O_WRONLY), sock = socket(AF_INET, SOCK_DGRAM, 0);
	const struct iovec vectors[2] = { { ab, 2 }, { cde, 3 } };
	char name[600];

	syscall(SYS_openat, AT_FDCWD, "/nowhere/at/all", O_RDONLY | O_CLOEXEC, 0);
	syscall(SYS_openat, AT_FDCWD, (char *)16, O_RDONLY, 0);
	syscall(SYS_openat, AT_FDCWD, NULL, O_RDONLY, 0);
	memset(name, 'x', sizeof(name) - 1);
	name[0] = '/';
	name[sizeof(name) - 1] = 0;
	syscall(SYS_openat, AT_FDCWD, name, O_RDONLY, 0);
	syscall(SYS_execve, "/nowhere/program", argv, envp);
	if (connect(sock, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return 1;
	syscall(SYS_nanosleep, &moment, NULL);
	if (writev(null, vectors, 2) != 5)
		return 1;
	narrow();
	family();
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	const unsigned long number = argc > 2 ? strtoul(argv[argc - 1], NULL, 10) : 0;

	if (strcmp(what, "count") == 0 && argc == 4 && atoi(argv[2]) <= THREADS_MAX) {
		wanted = number;
		return count_all((unsigned)atoi(argv[2]), false);
	}
	if (strcmp(what, "until") == 0) {
		wanted = UINT64_MAX;
		is_paced = true;
		return count_all(1, true);
	}
	return strcmp(what, "order") == 0 ? order(number) : strcmp(what, "shapes") == 0 ? shapes() : 2;
}
