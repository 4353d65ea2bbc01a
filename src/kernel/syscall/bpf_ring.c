/* SPDX-License-Identifier: MIT */
/*
 * bpf_ring.c - read a BPF ring buffer in place (see bpf_ring.h). libbpf's reader passes single records to a callback
 * and releases each record at once. A batch of records costs less than a callback for each record. The records of a
 * batch can stay in the ring until the caller has written them.
 */
#include <bpf/bpf.h>

#include <errno.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "kernel/syscall/bpf_ring.h"

int wmk_kring_open(struct wmk_kring *ring, uint32_t bytes)
{
	uint8_t *theirs;
	void *ours;

	*ring = (struct wmk_kring){ .size = bytes, .page = (size_t)sysconf(_SC_PAGESIZE) };
	ring->fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "wmk_syscalls_ring", 0, 0, bytes, NULL);
	if (ring->fd < 0)
		return wmk_error(-errno, "cannot create a BPF ring buffer");
	ours = mmap(NULL, ring->page, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (ours == MAP_FAILED)
		return wmk_error(-errno, "cannot map a BPF ring buffer");
	ring->consumed = ours;
	theirs = mmap(NULL, ring->page + 2 * ring->size, PROT_READ, MAP_SHARED, ring->fd, (off_t)ring->page);
	if (theirs == MAP_FAILED)
		return wmk_error(-errno, "cannot map the data of a BPF ring buffer");
	ring->produced = (const uint64_t *)(const void *)theirs;
	ring->data = theirs + ring->page;
	return 0;
}

void wmk_kring_close(struct wmk_kring *ring)
{
	if (ring->consumed)
		munmap(ring->consumed, ring->page);
	if (ring->data)
		munmap((void *)(uintptr_t)ring->produced, ring->page + 2 * ring->size);
	if (ring->fd >= 0)
		close(ring->fd);
	*ring = (struct wmk_kring){ .fd = -1 };
}

bool wmk_kring_peek(struct wmk_kring *ring, uint64_t *at, uint64_t *end)
{
	*at = __atomic_load_n(ring->consumed, __ATOMIC_RELAXED);
	*end = __atomic_load_n(ring->produced, __ATOMIC_ACQUIRE);
	return *at != *end;
}

uint64_t wmk_kring_head(const struct wmk_kring *ring)
{
	return __atomic_load_n(ring->produced, __ATOMIC_ACQUIRE);
}

int wmk_kring_step(struct wmk_kring *ring, uint64_t *at, uint64_t end, const uint8_t **bytes, uint32_t *len)
{
	while (*at < end) {
		const uint8_t *here = ring->data + (*at & (ring->size - 1));
		const uint32_t word = __atomic_load_n((const uint32_t *)(const void *)here, __ATOMIC_ACQUIRE);
		const uint32_t size = word & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
		const uint64_t whole = ((uint64_t)size + BPF_RINGBUF_HDR_SZ + 7) & ~(uint64_t)7;

		if (word & BPF_RINGBUF_BUSY_BIT)
			return 0;
		if (whole > end - *at || whole > ring->size) {
			*at = end;
			return wmk_error(-EPROTO,
					 "a BPF ring buffer has an invalid record: %u bytes, more than the unread data",
					 size);
		}
		*at += whole;
		if (word & BPF_RINGBUF_DISCARD_BIT)
			continue;
		*bytes = here + BPF_RINGBUF_HDR_SZ;
		*len = size;
		return 1;
	}
	return 0;
}

void wmk_kring_free(struct wmk_kring *ring, uint64_t at)
{
	__atomic_store_n(ring->consumed, at, __ATOMIC_RELEASE);
}
