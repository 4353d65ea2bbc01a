/* SPDX-License-Identifier: MIT */
/* file.c - ring sets in named files: which files are accepted, and the SIGBUS handler (see file.h). */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ring/file.h"
#include "ring/record_header.h"

#define GUARDED_MAX 4096

/* A reader's mapping. `at` 0: free entry; 1: being filled. */
struct guarded {
	uintptr_t at;
	size_t len;
};

static struct guarded *guarded;     /* GUARDED_MAX entries; allocated for the first one: applications need none */
static struct sigaction before;

int wmk_ring_file_kind(int fd)
{
	const int need = F_SEAL_SHRINK | F_SEAL_GROW;
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals >= 0 && (seals & need) == need)
		return 0;
	/*
	 * Unsealed memory has a mode that permits other users, so the test of the mode rejects unsealed memory. The
	 * test of the mode accepts a file that was unlinked.
	 */
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077) != 0)
		return -EPERM;
	return 1;
}

/* ── truncated files ─────────────────────────────────────────────────────────────────────────────────── */

static long zeros(uintptr_t at, size_t len)
{
	return wmk_ring_syscall(SYS_mmap, (long)at, (long)len, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

int wmk_ring_file_check_size(const struct waymark_ring_set *set)
{
	struct stat st;

	if (!set->in_file || (fstat(set->fd, &st) == 0 && (uint64_t)st.st_size >= set->shared_len))
		return 0;
	zeros((uintptr_t)set->header, set->shared_len);
	return -EIO;
}

/*
 * Async-signal-safe. The handler passes a SIGBUS of other memory to the previous handler. Without a previous handler,
 * the access faults again, with the default action.
 */
static void on_bus(int number, siginfo_t *info, void *context)
{
	const uintptr_t where = (uintptr_t)info->si_addr;

	for (unsigned i = 0; info->si_code > 0 && i < GUARDED_MAX && guarded; i++) {
		/* Acquire: pairs with the release of `at` in wmk_ring_file_guard(), so that `len` is valid. */
		const uintptr_t at = __atomic_load_n(&guarded[i].at, __ATOMIC_ACQUIRE);
		/*
		 * Acquire: pairs with the release of `len` in wmk_ring_file_guard(): if this load returns the `len` of
		 * a newer entry, the next load of `at` returns a changed value.
		 */
		const size_t len = __atomic_load_n(&guarded[i].len, __ATOMIC_ACQUIRE);

		if (at > 1 && where - at < len && wmk_ring_load(&guarded[i].at) == at && zeros(at, len) == (long)at)
			return;
	}
	if ((before.sa_flags & SA_SIGINFO) && before.sa_sigaction)
		before.sa_sigaction(number, info, context);
	else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
		before.sa_handler(number);
	else
		sigaction(number, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
}

/* Install the SIGBUS handler, also if other code has replaced the handler. -ENOMEM. */
static int install(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct sigaction action = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER }, now;

	sigemptyset(&action.sa_mask);
	pthread_mutex_lock(&lock);
	if (!guarded)
		guarded = calloc(GUARDED_MAX, sizeof(*guarded));
	if (sigaction(SIGBUS, NULL, &now) == 0 && !((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_bus)) {
		before = now;
		sigaction(SIGBUS, &action, NULL);
	}
	pthread_mutex_unlock(&lock);
	return guarded ? 0 : -ENOMEM;
}

int wmk_ring_file_guard(const struct waymark_ring_set *set)
{
	if (install() < 0)
		return -ENOMEM;
	for (unsigned i = 0; i < GUARDED_MAX; i++) {
		uintptr_t none = 0;

		/* Relaxed: no other thread reads an entry that is being filled. */
		if (!__atomic_compare_exchange_n(&guarded[i].at, &none, 1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		/* Release: pairs with the acquires of `len` and `at` in on_bus(). */
		__atomic_store_n(&guarded[i].len, set->shared_len, __ATOMIC_RELEASE);
		__atomic_store_n(&guarded[i].at, (uintptr_t)set->header, __ATOMIC_RELEASE);
		return 0;
	}
	return -EMFILE;
}

void wmk_ring_file_unguard(const struct waymark_ring_set *set)
{
	for (unsigned i = 0; i < GUARDED_MAX && guarded; i++)
		/* Relaxed: no other thread uses a set that is being closed. */
		if (wmk_ring_load(&guarded[i].at) == (uintptr_t)set->header)
			wmk_ring_set_to(&guarded[i].at, 0);
}
