/* SPDX-License-Identifier: MIT */
/*
 * memory.c - which of a ring's data is backed with memory (backed_pos, shared), and which of it a process may touch
 * (`accessible`, private: the rest is PROT_NONE, so that mlockall() does not fill it).
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "ring/inside.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

int wmk_ring_access(struct waymark_ring_set *set, struct wmk_ring_view *ring, uint64_t bytes)
{
	uint64_t have = wmk_ring_load(&ring->accessible);
	long err;

	(void)set;
	while (have < bytes) {
		err = wmk_ring_syscall(SYS_mprotect, (long)(ring->data + have), (long)(bytes - have), PROT_READ | PROT_WRITE, 0, 0, 0);
		if (err < 0)
			return (int)err;
		/* Relaxed: the call has taken effect for every thread when it returns; the value only saves calls. */
		if (__atomic_compare_exchange_n(&ring->accessible, &have, bytes, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return 0;
	}
	return 0;
}

int wmk_ring_back(struct waymark_ring_set *set, struct wmk_ring_view *ring, uint64_t sub)
{
	uint64_t end = sub + set->subbuf_size, ring_size = set->ring_mask + 1;
	int err;

	if (end > ring_size) /* not the first lap: all of it has been entered, so all of it is backed */
		return wmk_ring_load(&ring->accessible) >= ring_size ? 0 : wmk_ring_access(set, ring, ring_size);
	if (wmk_ring_load(&ring->accessible) < end) {
		err = wmk_ring_access(set, ring, end);
		if (err < 0)
			return err;
	}
	/* (F) acquire: pairs with the store-release of backed_pos behind the allocation. */
	if (end <= __atomic_load_n(&ring->ctl->backed_pos, __ATOMIC_ACQUIRE))
		return 0;
	return (int)wmk_ring_syscall(SYS_madvise, (long)(ring->data + sub), (long)set->subbuf_size, MADV_POPULATE_WRITE, 0, 0, 0);
}

void wmk_ring_set_map_ahead(struct waymark_ring_set *set)
{
	for (uint32_t i = 0; i < set->options.n_cpus; i++) {
		struct wmk_ring_view *ring = &set->ring[i];
		uint64_t have = wmk_ring_load(&ring->accessible), backed = __atomic_load_n(&ring->ctl->backed_pos, __ATOMIC_ACQUIRE); /* (F) */

		if (backed > set->ring_mask)
			backed = set->ring_mask + 1;
		if (wmk_ring_load(&ring->ctl->write_pos) == 0 && backed > set->subbuf_size)
			backed = set->subbuf_size; /* enough to begin with */
		backed &= ~(set->subbuf_size - 1);
		if (have >= backed || wmk_ring_access(set, ring, backed) < 0)
			continue;
		wmk_ring_syscall(SYS_madvise, (long)(ring->data + have), (long)(backed - have), MADV_POPULATE_WRITE, 0, 0, 0);
	}
}

/* Back ring `index` up to `end` bytes. */
static int back_to(struct waymark_ring_set *set, uint32_t index, uint64_t have, uint64_t end)
{
	struct wmk_ring_view *ring = &set->ring[index];
	uint64_t ring_size = set->ring_mask + 1;
	long offset = (long)((unsigned char *)ring->data - (unsigned char *)set->header);
	long err;

	err = wmk_ring_syscall(SYS_fallocate, set->fd, 0, offset + (long)have, (long)(end - have), 0, 0);
	if (err < 0)
		return err == -ENOSPC ? -ENOSPC : -ENOMEM;
	/* (F) release: the memory is there; pairs with wmk_ring_back()'s load. */
	__atomic_store_n(&ring->ctl->backed_pos, end >= ring_size ? UINT64_MAX : end, __ATOMIC_RELEASE);
	return 0;
}

int wmk_ring_set_prefault(struct waymark_ring_set *set, uint64_t bytes)
{
	uint64_t each = bytes / set->options.n_cpus & ~(set->subbuf_size - 1);
	int err = 0;

	if (each > set->ring_mask + 1)
		each = set->ring_mask + 1;
	for (uint32_t i = 0; i < set->options.n_cpus && each != 0 && err == 0; i++)
		err = back_to(set, i, 0, each);
	return err;
}

int waymark_ring_set_back(struct waymark_ring_set *set)
{
	uint64_t ring_size = set->ring_mask + 1;
	int first_err = 0;

	if (set->fd < 0)
		return -EINVAL;
	for (uint32_t i = 0; i < set->n_rings; i++) {
		struct wmk_ring_ctl *ctl = set->ring[i].ctl;
		uint64_t backed = wmk_ring_load(&ctl->backed_pos), pos = wmk_ring_load(&ctl->write_pos), want;
		int err;

		if (pos == 0 || backed >= ring_size)
			continue;
		want = (pos & ~(set->subbuf_size - 1)) + 2 * set->subbuf_size;
		if (pos >= ring_size || want > ring_size)
			want = ring_size;
		if (want <= backed)
			continue;
		err = back_to(set, i, backed & ~(set->subbuf_size - 1), want);
		if (err < 0 && first_err == 0)
			first_err = err;
	}
	return first_err;
}
