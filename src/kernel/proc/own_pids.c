/* SPDX-License-Identifier: MIT */
/*
 * own_pids.c - the tracer's own processes and threads (see own_pids.h).
 */
#include "kernel/proc/own_pids.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/proc/pids.h"
#include "kernel/proc/namespaces.h"
#include "kernel/proc/procfs.h"

#define REFRESH_NS 100000000u
#define EXIT_NS 10000000u            /* time from wmk_kown_thread_ends() to the exit of the thread */

/* Lifetimes of this process's short-lived threads; all readers of the process share these entries. */
static pthread_mutex_t spans_lock = PTHREAD_MUTEX_INITIALIZER;
static struct wmk_kown_span spans[WMK_KOWN_SPANS];
static unsigned spans_made;
static _Atomic uint32_t spans_version;

void wmk_kown_init(struct wmk_kown *own, wmk_kown_find *find, void *data, bool is_counter)
{
	*own = (struct wmk_kown){ .find = find, .data = data, .is_counter = is_counter };
	wmk_kown_refresh(own);
}

/* Returns the slot of the thread, or the free slot for the thread. */
static uint32_t slot_of(const struct wmk_kown *own, int32_t tid)
{
	uint32_t slot = ((uint32_t)tid * 0x9E3779B1u >> 16) & (WMK_KOWN_SLOTS - 1);

	while (own->tids[slot] && own->tids[slot] != tid)
		slot = (slot + 1) & (WMK_KOWN_SLOTS - 1);
	return slot;
}

static int add(void *data, int32_t tid)
{
	struct wmk_kown *own = data;
	const uint32_t slot = slot_of(own, tid);

	if (own->n_tids >= WMK_KOWN_SLOTS / 2)
		return 0;
	own->n_tids += own->tids[slot] == 0;
	own->tids[slot] = tid;
	return 0;
}

static bool covers(const struct wmk_kown *own, const struct wmk_kown_span *span, uint64_t ts)
{
	return own->is_counter ? ts >= span->from.counter && ts <= span->until.counter
			       : ts >= span->from.monotonic && ts <= span->until.monotonic;
}

bool wmk_kown_has(const struct wmk_kown *own, int32_t tid, uint64_t ts)
{
	if (tid <= 0)
		return false;
	if (own->tids[slot_of(own, tid)] == tid)
		return true;
	for (unsigned i = 0; i < own->n_spans; i++)
		if (own->spans[i].tid == tid && covers(own, &own->spans[i], ts))
			return true;
	return false;
}

struct wmk_kown_time wmk_kown_now(void)
{
	return (struct wmk_kown_time){ wmk_clock_counter(), wmk_kspaces_monotonic() };
}

/* The caller holds the lock. Readers detect the change by comparing the version. */
static void changed(void)
{
	/* relaxed: the lock protects the spans; readers take it when the version has changed */
	atomic_fetch_add_explicit(&spans_version, 1, memory_order_relaxed);
}

void wmk_kown_thread_begins(struct wmk_kown_time begun)
{
	const struct wmk_kown_span span = { .tid = (int32_t)syscall(SYS_gettid),
					    .from = begun,
					    .until = { UINT64_MAX, UINT64_MAX } };

	pthread_mutex_lock(&spans_lock);
	spans[spans_made++ % WMK_KOWN_SPANS] = span;
	changed();
	pthread_mutex_unlock(&spans_lock);
}

void wmk_kown_thread_ends(struct wmk_kown_time begun)
{
	const int32_t tid = (int32_t)syscall(SYS_gettid);
	struct wmk_kown_time until = wmk_kown_now();
	const uint64_t took = until.monotonic - begun.monotonic;

	/* The estimate of the counter's frequency is accurate enough. */
	until.counter += took ? (uint64_t)((double)(until.counter - begun.counter) / (double)took * EXIT_NS) : 0;
	until.monotonic += EXIT_NS;
	pthread_mutex_lock(&spans_lock);
	for (unsigned i = 0; i < WMK_KOWN_SPANS; i++)
		if (spans[i].tid == tid && spans[i].from.monotonic == begun.monotonic)
			spans[i].until = until;
	changed();
	pthread_mutex_unlock(&spans_lock);
}

static void refresh_spans(struct wmk_kown *own)
{
	/*
	 * relaxed: a thread changes the version before the thread makes records; the records of a page that is read now
	 * are older than this load
	 */
	if (own->spans_version == atomic_load_explicit(&spans_version, memory_order_relaxed))
		return;
	pthread_mutex_lock(&spans_lock);
	memcpy(own->spans, spans, sizeof(spans));
	own->n_spans = spans_made < WMK_KOWN_SPANS ? spans_made : WMK_KOWN_SPANS;
	own->spans_version = atomic_load_explicit(&spans_version, memory_order_relaxed);
	pthread_mutex_unlock(&spans_lock);
}

void wmk_kown_refresh(struct wmk_kown *own)
{
	const uint64_t now = wmk_clock_monotonic();
	pid_t pids[WMK_KOWN_PIDS] = { getpid() };
	unsigned n = 1;

	refresh_spans(own);
	if (own->refreshed && now - own->refreshed < REFRESH_NS)
		return;
	own->refreshed = now;
	if (own->find)
		n = own->find(own->data, pids);
	if (n != own->n_pids || memcmp(pids, own->pids, n * sizeof(*pids)) != 0) {
		memcpy(own->pids, pids, n * sizeof(*pids));
		own->n_pids = n;
		own->version++;
	}
	memset(own->tids, 0, sizeof(own->tids));
	own->n_tids = 0;
	for (unsigned i = 0; i < n; i++)
		wmk_kpids_threads(pids[i], add, own);
}


pid_t wmk_kown_of_file(const char *path, const char *comm)
{
	char text[32], name[48];
	long pid;

	if (wmk_kproc_read(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return 0;
	pid = strtol(text, NULL, 10);
	if (pid <= 0 || pid > INT32_MAX)
		return 0;
	snprintf(name, sizeof(name), "/proc/%ld/comm", pid);
	if (wmk_kproc_read(AT_FDCWD, name, text, sizeof(text)) <= 0)
		return 0;
	text[strcspn(text, "\n")] = '\0';
	return strcmp(text, comm) == 0 ? (pid_t)pid : 0;
}
