/* SPDX-License-Identifier: MIT */
/*
 * bpf_ring.h - private to syscall_bpf.c: one mapped BPF ring buffer. Records are read in place, and stay until they are
 * released.
 *
 * Positions only grow. The kernel maps the data twice in a row, so that each record is contiguous. The kernel's
 * Documentation/bpf/ringbuf.rst describes the header words.
 */
#ifndef WMK_KERNEL_BPF_RING_H
#define WMK_KERNEL_BPF_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wmk_kring {
	int fd;
	size_t size, page;
	uint64_t *consumed;            /* on the page that user space writes */
	const uint64_t *produced;      /* on the pages that the kernel writes */
	const uint8_t *data;
	uint64_t last;                 /* time of the latest record that was read */
};

/* Create and map a ring. 0, or -errno with a cause chain. */
int wmk_kring_open(struct wmk_kring *ring, uint32_t bytes);
void wmk_kring_close(struct wmk_kring *ring);
/* Return whether the ring has unread records. The unread records begin at *at and end before *end. */
bool wmk_kring_peek(struct wmk_kring *ring, uint64_t *at, uint64_t *end);
/* Return the position at which the ring's records end. */
uint64_t wmk_kring_head(const struct wmk_kring *ring);
/*
 * Read a record. 1: *at is behind the record; 0: no complete record before `end`; -EPROTO: the ring is damaged, and *at
 * equals `end`.
 */
int wmk_kring_step(struct wmk_kring *ring, uint64_t *at, uint64_t end, const uint8_t **bytes, uint32_t *len);
void wmk_kring_free(struct wmk_kring *ring, uint64_t at);

#endif
