/* SPDX-License-Identifier: MIT */
/*
 * prog_heap.c - a program with its own allocator, similar to jemalloc: at its first use it registers fork handlers that
 * lock it. Status 55: the forking thread called it while it was locked, where a real allocator would deadlock.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <waymark/trace.h>

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
	!__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer) && !__has_feature(memory_sanitizer)
#define OWN_HEAP 1
#else
#define OWN_HEAP 0       /* a sanitizer has its own */
#endif

#if OWN_HEAP
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *at, size_t size);
void __libc_free(void *at);

static __thread int forking __attribute__((tls_model("local-exec")));
static atomic_int used;

static void lock(void)
{
	forking = 1;
}

static void unlock(void)
{
	forking = 0;
}

static void enter(void)
{
	if (forking)
		_exit(55);
	if (!atomic_exchange(&used, 1))
		pthread_atfork(lock, unlock, unlock);
}

void *malloc(size_t size)
{
	enter();
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	enter();
	return __libc_calloc(n, size);
}

void *realloc(void *at, size_t size)
{
	enter();
	return __libc_realloc(at, size);
}

void free(void *at)
{
	enter();
	__libc_free(at);
}
#endif

static void mark(const char *where)
{
	waymark(t, mark, where, wm_named("pid", (int)syscall(SYS_getpid)));
}

int main(void)
{
	int status = -1;

	if (!OWN_HEAP)
		return 77;
	mark("before");
	pid_t pid = fork();

	if (pid == 0) {
		mark("child");
		exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 1;
	mark("after");
	return WEXITSTATUS(status);
}
