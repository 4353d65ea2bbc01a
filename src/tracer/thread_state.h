/* SPDX-License-Identifier: MIT */
/*
 * thread_state.h - state of libwaymark for each thread, in thread-local storage of the initial-exec model, which signal
 * handlers can access. enter.S and vfork.S use it too.
 */
#ifndef WMK_TRACER_THREAD_STATE_H
#define WMK_TRACER_THREAD_STATE_H

#include <stdint.h>

/*
 * Number of words in the context cache, which holds the context fields that never change in a thread, in the layout of
 * records.
 */
#define WMK_CTX_CACHE_WORDS 5

/*
 * `mark` is zero in a thread that owns its thread-local storage (tls_owner.h). `vforked` is set while a vfork() child
 * runs on the storage; `cloned` counts clone(CLONE_VM) children that share the storage.
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
	uint8_t in_probe;       /* depth of running probes */
	uint8_t ctx_cache_busy; /* `ctx_cache` is being filled */
	uint16_t ctx_key;       /* the list of context fields in `ctx_cache`; 0: none */
	char procname[16];
	uint8_t locking;        /* it holds the lock (lock.h), or is about to take it ... */
	uint8_t nested;         /* ... and this number of nested forks has begun in signal handlers */
	uint64_t ctx_cache[WMK_CTX_CACHE_WORDS];
};
extern __thread struct wmk_thread wmk_thread __attribute__((tls_model("initial-exec"), visibility("hidden")));

#endif
