/* SPDX-License-Identifier: MIT */
/* tls_owner.c - see tls_owner.h. */
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracer/tls_owner.h"

#define SHARERS_MAX 32
static struct sharer {
	_Atomic(struct wmk_thread *) owner;
	_Atomic(pid_t) alive;   /* cleared by the kernel */
} sharers[SHARERS_MAX];

static void sharer_drop(struct sharer *sharer)
{
	atomic_store(&sharer->owner, NULL);
	wmk_thread.cloned--;
}

bool wmk_storage_is_own(void)
{
	if (wmk_thread.vforked || (uint32_t)syscall(SYS_gettid) != wmk_thread.tid)
		return false;
	for (unsigned i = 0; i < SHARERS_MAX; i++)
		if (atomic_load_explicit(&sharers[i].owner, memory_order_relaxed) == &wmk_thread &&
		    atomic_load(&sharers[i].alive) == 0)
			sharer_drop(&sharers[i]);
	return true;
}

_Atomic(pid_t) *wmk_storage_watch(void)
{
	for (unsigned i = 0; i < SHARERS_MAX; i++) {
		struct wmk_thread *none = NULL;

		if (atomic_compare_exchange_strong(&sharers[i].owner, &none, &wmk_thread)) {
			atomic_store(&sharers[i].alive, 1);
			return &sharers[i].alive;
		}
	}
	return NULL;
}

void wmk_storage_unshare(_Atomic(pid_t) *alive)
{
	if (alive)
		sharer_drop((struct sharer *)((uintptr_t)alive - offsetof(struct sharer, alive)));
	else
		wmk_thread.cloned--;
}
