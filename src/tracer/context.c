/* SPDX-License-Identifier: MIT */
/*
 * context.c - the context fields that a channel can add to each record. A new context field needs a line in
 * schema/contexts.def, and a function and a line of the table in this file.
 *
 * The functions of context fields run on the recording path, also in signal handlers. A value that costs a system call
 * is queried once and cached, per process or in initial-exec thread-local storage. The name of a thread is read at the
 * first record of the thread. The library does not detect a later change of the name (prctl(PR_SET_NAME),
 * pthread_setname_np()), because a check would cost a system call for every record. The name is read again after exec()
 * and in each new thread.
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

#include "base/array.h"
#include "filter/filter.h"
#include "tracer/context.h"
#include "tracer/recorder.h"
#include "tracer/thread_state.h"
#include "wire/wire.h"

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
	wmk_thread.ctx_key = 0;
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
	/* the rseq area of the C library; cpu_id is negative if the area is not registered */
	if (__rseq_size != 0) {
		cpu = (int)*(volatile uint32_t *)((char *)__builtin_thread_pointer() + __rseq_offset +
						  offsetof(struct rseq, cpu_id));
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

#define FILTER_S32 WMK_FILTER_SIGNED
#define FILTER_U8 WMK_FILTER_UNSIGNED
#define FILTER_U32 WMK_FILTER_UNSIGNED
#define FILTER_HEX64 WMK_FILTER_UNSIGNED
#define FILTER_TEXT16 WMK_FILTER_TEXT
enum {
#define WMK_CONTEXT(identifier, number, name, domains, type, help) \
	BYTES_##identifier = WMK_CONTEXT_##type, FILTER_TYPE_##identifier = FILTER_##type,
#include "schema/contexts.def"
};

#define CONTEXT(identifier, is_constant, fill_) \
	[WMK_CONTEXT_##identifier] = { .constant = (is_constant), .bytes = BYTES_##identifier, \
				       .filter_type = FILTER_TYPE_##identifier, .fill = (fill_) }
static const struct wmk_context_desc contexts[] = {
	CONTEXT(VPID, true, fill_vpid),
	CONTEXT(VTID, true, fill_vtid),
	CONTEXT(PROCNAME, true, fill_procname),
	CONTEXT(CPU_ID, false, fill_cpu_id),
	CONTEXT(PTHREAD_ID, true, fill_pthread_id),
	CONTEXT(IP, false, fill_ip),
};

const struct wmk_context_desc *wmk_context_get(unsigned number)
{
	return number < WMK_ARRAY_LEN(contexts) && contexts[number].fill ? &contexts[number] : NULL;
}

uint16_t wmk_context_cache_key(const uint8_t *list, unsigned n, uint8_t *words)
{
	static uint8_t known[32][WMK_RECORDER_CONTEXTS];
	uint8_t padded[WMK_RECORDER_CONTEXTS] = { 0 };
	uint32_t bytes = 0;

	for (unsigned i = 0; i < n; i++) {
		if (!contexts[list[i]].constant)
			return 0;
		bytes += contexts[list[i]].bytes;
		padded[i] = list[i];
	}
	if (n == 0 || bytes % 8 || bytes > 8 * WMK_CTX_CACHE_WORDS)
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
