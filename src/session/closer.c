/* SPDX-License-Identifier: MIT */
/*
 * closer.c - descriptors that came from others are closed where nobody waits for it (see closer.h).
 */
#include "session/closer.h"

#include "base/faults.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define STACK (256u << 10)
#define FDS_MAX (1u << 20)
#define MEMORY_MAX (64 << 20)        /* bytes that go back in some milliseconds */

static struct {
	pthread_mutex_t lock;            /* of all below; held for moments only */
	int *fds;                        /* FDS_MAX; NULL: none was left yet */
	size_t n;
	unsigned threads, busy;          /* busy: in a close(), from which they may never return */
} closer = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void thread_enough(void);

static void *thread_run(void *data)
{
	pthread_setname_np(pthread_self(), "wmk-close");
	pthread_mutex_lock(&closer.lock);
	while (closer.n) {
		const int fd = closer.fds[--closer.n];

		closer.busy++;
		thread_enough();
		pthread_mutex_unlock(&closer.lock);
		close(fd);
		pthread_mutex_lock(&closer.lock);
		closer.busy--;
	}
	closer.threads--;
	pthread_mutex_unlock(&closer.lock);
	return data;
}

/* Locked. Is somebody left for those that wait? (Where no thread can be had, the next who comes tries again.) */
static void thread_enough(void)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;

	if (!closer.n || closer.busy < closer.threads || closer.threads == WMK_CLOSER_THREADS)
		return;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK);
	wmk_signals_of_others(&all);                /* signals are the main thread's */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	closer.threads += pthread_create(&thread, &attr, thread_run, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
}

/* Locked. Memory that costs nothing until it is used, as it mostly never is. */
static bool has_room(void)
{
	void *at;

	if (!closer.fds) {
		at = mmap(NULL, FDS_MAX * sizeof(*closer.fds), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		closer.fds = at == MAP_FAILED ? NULL : at;
	}
	return closer.fds && closer.n < FDS_MAX;
}

static void leave(int fd)
{
	pthread_mutex_lock(&closer.lock);
	const bool is_left = has_room();

	if (is_left) {
		closer.fds[closer.n++] = fd;
		thread_enough();
	}
	pthread_mutex_unlock(&closer.lock);
	/* There is no room to remember it: most do not wait. */
	if (!is_left)
		close(fd);
}

/* What rings are: sealed memory has nobody who could keep us waiting. (A file of tmpfs cannot be sealed so; with the last one a whole file system may go.) */
static bool is_small_memory(int fd)
{
	const int need = F_SEAL_SHRINK | F_SEAL_GROW, seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	return seals >= 0 && (seals & need) == need && fstat(fd, &st) == 0 && st.st_blocks <= MEMORY_MAX / 512;
}

void wmk_closer_expect(int socket)
{
	const int yes = 1;

	setsockopt(socket, SOL_SOCKET, SO_OOBINLINE, &yes, sizeof(yes));
}

void wmk_closer_file(int fd)
{
	if (is_small_memory(fd))
		close(fd);
	else
		leave(fd);
}

void wmk_closer_socket(int fd)
{
	int unread;

	if (shutdown(fd, SHUT_RDWR) == 0 && ioctl(fd, FIONREAD, &unread) == 0 && unread == 0)
		close(fd);
	else
		leave(fd);
}
