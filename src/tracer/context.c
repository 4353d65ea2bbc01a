/* SPDX-License-Identifier: MIT */
/*
 * context.c - the contexts: what a channel can add to each of its records. One table; a new context is one line and one function
 * here, its name and type in src/ctf/context.c, and a number in wire.h.
 *
 * The functions run on the recording path, in signal handlers too: what costs a system call is asked once and kept, per process or in
 * initial-exec thread-local storage. A name that a thread gives itself after its first record (prctl(PR_SET_NAME), pthread_setname_np())
 * is not seen: to notice it would cost every record a system call. It is a new name after exec, and in threads that are started then.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif

#include "filter/filter.h"
#include "tracer/tracer.h"

__thread struct wmk_thread wmk_thread;
static _Atomic(uint32_t) pid_cache;

uint32_t wmk_context_tid(void)
{
	if (wmk_unlikely(wmk_thread.tid == 0))
		wmk_thread.tid = (uint32_t)syscall(SYS_gettid);
	return wmk_thread.tid;
}

void wmk_context_after_fork(void)
{
	atomic_store_explicit(&pid_cache, 0, memory_order_relaxed);
	wmk_thread.tid = 0;
	wmk_thread.stamp_key = 0;
	wmk_thread.cloned = 0;
}

static void fill_vpid(void *to, const void *ip)
{
	uint32_t pid = atomic_load_explicit(&pid_cache, memory_order_relaxed);

	(void)ip;
	if (wmk_unlikely(pid == 0)) {
		pid = (uint32_t)syscall(SYS_getpid);
		atomic_store_explicit(&pid_cache, pid, memory_order_relaxed);
	}
	memcpy(to, &pid, sizeof(pid));
}

static void fill_vtid(void *to, const void *ip)
{
	uint32_t tid = wmk_context_tid();

	(void)ip;
	memcpy(to, &tid, sizeof(tid));
}

static void fill_procname(void *to, const void *ip)
{
	(void)ip;
	if (wmk_unlikely(wmk_thread.procname[0] == '\0')) {
		char name[16] = "";

		prctl(PR_GET_NAME, name, 0, 0, 0);
		memset(name + strnlen(name, 15), 0, 16 - strnlen(name, 15));
		memcpy(wmk_thread.procname, name, 16);
	}
	memcpy(to, wmk_thread.procname, 16);
}

static void fill_cpu_id(void *to, const void *ip)
{
	int cpu;

	(void)ip;
#ifdef RSEQ_SIG
	/* the C library's own area; cpu_id is negative where it has none */
	if (__rseq_size != 0) {
		cpu = (int)*(volatile uint32_t *)((char *)__builtin_thread_pointer() + __rseq_offset + offsetof(struct rseq, cpu_id));
		if (cpu >= 0) {
			memcpy(to, &cpu, sizeof(cpu));
			return;
		}
	}
#endif
	unsigned now = 0;

	cpu = syscall(SYS_getcpu, &now, NULL, NULL) == 0 ? (int)now : -1;
	memcpy(to, &cpu, sizeof(cpu));
}

static void fill_pthread_id(void *to, const void *ip)
{
	uint64_t self = (uint64_t)(uintptr_t)pthread_self();

	(void)ip;
	memcpy(to, &self, sizeof(self));
}

static void fill_ip(void *to, const void *ip)
{
	uint64_t where = (uint64_t)(uintptr_t)ip;

	memcpy(to, &where, sizeof(where));
}

static const struct wmk_context_desc contexts[WMK_CTX_COUNT] = {
	[WMK_CTX_VPID] = { true, 4, WMK_FILTER_SIGNED, fill_vpid },
	[WMK_CTX_VTID] = { true, 4, WMK_FILTER_SIGNED, fill_vtid },
	[WMK_CTX_PROCNAME] = { true, 16, WMK_FILTER_TEXT, fill_procname },
	[WMK_CTX_CPU_ID] = { false, 4, WMK_FILTER_SIGNED, fill_cpu_id },
	[WMK_CTX_PTHREAD_ID] = { true, 8, WMK_FILTER_UNSIGNED, fill_pthread_id },
	[WMK_CTX_IP] = { false, 8, WMK_FILTER_UNSIGNED, fill_ip },
};

const struct wmk_context_desc *wmk_context_get(unsigned number)
{
	return number < WMK_CTX_COUNT && contexts[number].fill ? &contexts[number] : NULL;
}

uint16_t wmk_context_stamp_key(const uint8_t *list, unsigned n, uint8_t *words)
{
	static uint8_t known[32][WMK_ENABLER_CONTEXTS];
	uint8_t padded[WMK_ENABLER_CONTEXTS] = { 0 };
	uint32_t bytes = 0;

	for (unsigned i = 0; i < n; i++) {
		if (!contexts[list[i]].constant)
			return 0;
		bytes += contexts[list[i]].bytes;
		padded[i] = list[i];
	}
	if (n == 0 || bytes % 8 || bytes > 8 * WMK_STAMP_WORDS)
		return 0;
	*words = (uint8_t)(bytes / 8);
	for (uint16_t i = 0; i < 32; i++) {
		if (known[i][0] == 0)
			memcpy(known[i], padded, sizeof(padded));
		if (!memcmp(known[i], padded, sizeof(padded)))
			return (uint16_t)(i + 1);
	}
	return 0;
}
