/* SPDX-License-Identifier: MIT */
/*
 * bpf_ring.h - private to syscall_bpf.c: one BPF ring buffer, mapped. Records stay where the kernel put them until they
 * are given free.
 *
 * Positions only grow. The kernel maps the data twice in a row, so that a record is always in one piece. What the words
 * mean stands in the kernel's Documentation/bpf/ringbuf.rst.
 */
#ifndef WMK_KERNEL_BPF_RING_H
#define WMK_KERNEL_BPF_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wmk_kring {
	int fd;
	size_t size, page;
	uint64_t *consumed;            /* a page that we write to */
	const uint64_t *produced;      /* the rest is the kernel's */
	const uint8_t *data;
	uint64_t last;                 /* time of the latest record that was taken */
};

/* A new one. 0, or -errno with a cause chain. */
int wmk_kring_open(struct wmk_kring *ring, uint32_t bytes);
void wmk_kring_close(struct wmk_kring *ring);
/* Is there something? From *at to *end. */
bool wmk_kring_look(struct wmk_kring *ring, uint64_t *at, uint64_t *end);
/* Up to where. */
uint64_t wmk_kring_head(const struct wmk_kring *ring);
/*
 * 1: a record, *at is behind it; 0: none is complete before `end`; -EPROTO: the ring is damaged, and *at is at `end`.
 */
int wmk_kring_step(struct wmk_kring *ring, uint64_t *at, uint64_t end, const uint8_t **bytes, uint32_t *len);
void wmk_kring_free(struct wmk_kring *ring, uint64_t at);

#endif
