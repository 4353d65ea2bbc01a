/* SPDX-License-Identifier: MIT */
/*
 * thread_state.h - what libwaymark keeps for each thread, in thread-local storage of the initial-exec model: it can be
 * read in a signal handler. enter.S and vfork.S use it too.
 */
#ifndef WMK_TRACER_THREAD_STATE_H
#define WMK_TRACER_THREAD_STATE_H

#include <stdint.h>

/* Words of the context cache: context fields that never change in a thread, as they stand in its records. */
#define WMK_CTX_CACHE_WORDS 5

/*
 * `mark` is zero in a thread that owns its thread-local storage (tls_owner.h). `vforked` is set while a vfork child
 * runs on the storage; `cloned` counts clone(CLONE_VM) children that share it.
 */
struct wmk_thread {
	union {
		struct {
			uint32_t vforked;
			uint32_t cloned;
		};
		uint64_t mark;
	};
	uint32_t tid;           /* 0: unknown; fork() resets it */
	uint8_t in_probe;       /* depth of probes that this thread runs */
	uint8_t ctx_cache_busy; /* `ctx_cache` is being filled */
	uint16_t ctx_key;       /* which list of contexts `ctx_cache` holds; 0: none */
	char procname[16];
	uint8_t locking;        /* it holds the tracer's lock, or is about to take it ... */
	uint8_t nested;         /* ... and signal handlers have forked this often meanwhile */
	uint64_t ctx_cache[WMK_CTX_CACHE_WORDS];
};
extern __thread struct wmk_thread wmk_thread __attribute__((tls_model("initial-exec"), visibility("hidden")));

#endif
