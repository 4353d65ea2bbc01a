/* SPDX-License-Identifier: MIT */
/*
 * memory.c - two limits of a ring's data: the part that is backed with memory (backed_pos, shared), and the part that a
 * process can access (`accessible`, private). Data outside `accessible` is PROT_NONE, so mlockall() allocates no memory
 * for this data.
 *
 * Only the reader allocates memory, and a writer enters only sub-buffers with memory. In a memory control group at its
 * limit, the first access to a page without memory kills the process. MADV_POPULATE_WRITE does not
 * prevent that. Tracing must not kill an application.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "ring/file.h"
#include "ring/record_header.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define CHEAP_SUBBUF (1u << 20) /* claim rings with sub-buffers up to this size are backed at creation */
#define FIRST_PAGES (64u << 10) /* bytes that are mapped at first, as most applications need no more; a power of two */
#define FIRST_CLAIMS 2u         /* claim rings with larger sub-buffers that are backed at creation */

int wmk_ring_access(struct waymark_ring_set *set, struct wmk_ring_view *ring, uint64_t bytes)
{
	uint64_t have = wmk_ring_load(&ring->accessible);
	long err;

	while (have < bytes) {
		err = wmk_ring_syscall(SYS_mprotect, (long)(ring->data + have), (long)(bytes - have),
				       PROT_READ | PROT_WRITE, 0, 0, 0);
		if (err < 0) {
			if (err != -ENOMEM)
				wmk_ring_explain(set, WMK_RING_WHY_PROTECT);
			return (int)err;
		}
		/*
		 * Relaxed: mprotect() affects all threads when it returns, and the value only avoids further calls of
		 * mprotect().
		 */
		if (__atomic_compare_exchange_n(&ring->accessible, &have, bytes, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return 0;
	}
	return 0;
}

int wmk_ring_back(struct waymark_ring_set *set, struct wmk_ring_view *ring, uint64_t sub)
{
	uint64_t end = sub + set->subbuf_size, ring_size = set->ring_mask + 1;

	/*
	 * (J) full: the commit that this plan follows comes before the load of backed_pos; pairs with the reader's
	 * store of backed_pos and its load of write_pos (reclaim.c).
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	/* (F) acquire: pairs with the store-release of backed_pos after the allocation. */
	if (end > __atomic_load_n(&ring->ctl->backed_pos, __ATOMIC_ACQUIRE))
		return -ENOMEM;
	if (end > ring_size)
		end = ring_size;
	return wmk_ring_load(&ring->accessible) >= end || wmk_ring_access(set, ring, end) == 0 ? 0 : -ENOMEM;
}

static void map_pages(struct wmk_ring_view *ring, uint64_t from, uint64_t to)
{
	if (from < to)
		wmk_ring_syscall(SYS_madvise, (long)(ring->data + from), (long)(to - from), MADV_POPULATE_WRITE, 0, 0,
				 0);
}

static void map_ring_ahead(struct waymark_ring_set *set, struct wmk_ring_view *ring)
{
	/* (F) */
	uint64_t backed = __atomic_load_n(&ring->ctl->backed_pos, __ATOMIC_ACQUIRE),
		 pos = wmk_ring_load(&ring->ctl->write_pos), at, to;

	/* After memory was given back (reclaim.c), only the sub-buffers that the next records need have memory. */
	if (backed != UINT64_MAX && wmk_ring_load(&ring->ctl->reclaimed_pos) != 0)
		return;
	if (backed > set->ring_mask)
		backed = set->ring_mask + 1;
	if (pos == 0 && backed > set->subbuf_size)
		backed = set->subbuf_size; /* enough for the first records */
	backed &= ~(set->subbuf_size - 1);
	if (wmk_ring_load(&ring->accessible) < backed && wmk_ring_access(set, ring, backed) < 0)
		return;
	if (ring->mapped == 0) {
		at = pos & set->ring_mask & ~(uint64_t)(FIRST_PAGES - 1);
		to = at + FIRST_PAGES < backed ? at + FIRST_PAGES : backed;
		map_pages(ring, at, to);
		ring->mapped = at == 0 ? to : 1; /* 1: the first call was late, and skipped the start of the ring */
	} else if (ring->mapped < backed && pos != ring->looked) {
		map_pages(ring, ring->mapped & ~(uint64_t)(FIRST_PAGES - 1), backed);
		ring->mapped = backed;
	}
	ring->looked = pos;
}

void wmk_ring_set_map_ahead(struct waymark_ring_set *set)
{
	for (uint32_t i = 0; i < set->options.n_cpus; i++)
		map_ring_ahead(set, &set->ring[i]);
}

/*
 * Allocate the memory of ring `index` from position `have` up to position `end`. Each step allocates one sub-buffer,
 * which writers can enter at once. When a whole lap has memory, starting with the sub-buffer that contains
 * reclaimed_pos, backed_pos becomes UINT64_MAX.
 */
static int back_to(struct waymark_ring_set *set, uint32_t index, uint64_t have, uint64_t end)
{
	struct wmk_ring_ctl *ctl = set->ring[index].ctl;
	const uint64_t first = wmk_ring_load(&ctl->reclaimed_pos) & ~(set->subbuf_size - 1);
	const uint64_t all = first + set->ring_mask + 1;
	const uint64_t offset = (uint64_t)(set->ring[index].data - (unsigned char *)set->header);

	for (have &= ~(set->subbuf_size - 1); have < end && have < all; have += set->subbuf_size) {
		const uint64_t now = have + set->subbuf_size;
		long err = wmk_ring_syscall(SYS_fallocate, set->fd, 0, (long)(offset + (have & set->ring_mask)),
					    (long)set->subbuf_size, 0, 0);

		if (err < 0)
			return err == -ENOSPC ? -ENOSPC : -ENOMEM;
		/* (F) release: the memory is allocated; pairs with the load in wmk_ring_back(). */
		__atomic_store_n(&ctl->backed_pos, now >= all ? UINT64_MAX : now, __ATOMIC_RELEASE);
	}
	return 0;
}

static uint64_t backed(const struct waymark_ring_set *set, uint32_t index)
{
	return wmk_ring_load(&set->ring[index].ctl->backed_pos);
}

int wmk_ring_set_prefault(struct waymark_ring_set *set, uint64_t bytes)
{
	const int per_set = set->options.allocation == WAYMARK_RING_PER_SET, all = bytes == WAYMARK_RING_PREFAULT_ALL;
	uint64_t ring_size = set->ring_mask + 1, cpus = set->options.n_cpus, n = set->header->claims_end;
	uint64_t used = per_set ? n - cpus : cpus, each = bytes / used & ~(set->subbuf_size - 1), claims = 0;
	int err = 0;

	if (each < set->subbuf_size)
		each = set->subbuf_size;
	if (per_set)
		claims = each;
	else if (n * ring_size <= bytes && !all)
		claims = ring_size;
	else if (set->subbuf_size <= CHEAP_SUBBUF || WAYMARK_RING_CLAIMS * set->subbuf_size <= bytes)
		claims = set->subbuf_size;
	for (uint32_t i = 0; i < n && err == 0; i++) {
		if (i == cpus + FIRST_CLAIMS && claims == 0)
			break;
		err = back_to(set, i, backed(set, i),
			      i < cpus                                   ? per_set ? 0 : each
			      : claims                                   ? claims
			      : FIRST_CLAIMS * set->subbuf_size <= bytes ? set->subbuf_size
									 : 0);
	}
	return err;
}

void wmk_ring_back_first(struct waymark_ring_set *set, uint32_t index)
{
	/* on failure, records of this ring are lost and counted */
	(void)back_to(set, index, backed(set, index), set->subbuf_size);
}

int wmk_ring_needs_memory(const struct wmk_ring_ctl *ctl)
{
	const uint64_t pos = wmk_ring_load(&ctl->write_pos);

	return pos != wmk_ring_load(&ctl->reclaimed_pos) ||
	       (pos == 0 && (wmk_ring_load(&ctl->lost[WAYMARK_LOST_MEMORY]) != 0 || wmk_ring_load(&ctl->claims) != 0));
}

int waymark_ring_set_back(struct waymark_ring_set *set)
{
	int first_err = 0, more = 1;

	if (set->fd < 0)
		return -EINVAL;
	first_err = wmk_ring_file_check_size(set);
	/*
	 * Each turn allocates one sub-buffer of each ring, because the first record of a ring must not wait until
	 * another ring is complete. The number of turns is limited, because an application can forge backed_pos.
	 */
	for (uint32_t turn = 0; turn < set->options.n_subbufs && more && first_err == 0; turn++) {
		more = 0;
		for (uint32_t i = 0; i < set->n_rings; i++) {
			struct wmk_ring_ctl *ctl = set->ring[i].ctl;
			uint64_t have = wmk_ring_load(&ctl->backed_pos);
			int err;

			if (have == UINT64_MAX || !wmk_ring_needs_memory(ctl))
				continue;
			/* uses the value that was checked: backed_pos may have changed */
			err = back_to(set, i, have, (have & ~(set->subbuf_size - 1)) + set->subbuf_size);
			if (err < 0 && first_err == 0)
				first_err = err;
			more = 1;
		}
	}
	return first_err;
}
