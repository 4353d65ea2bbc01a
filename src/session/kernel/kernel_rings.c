/* SPDX-License-Identifier: MIT */
/*
 * kernel_rings.c - the buffers of a kernel channel: create a tracefs instance with the channel's options, open it at
 * the consumer daemon, and remove it. kernel_channel.c selects what is recorded into it.
 */
#include "session/kernel/kernel_rings.h"

#include "base/error.h"
#include "kernel/proc/namespaces.h"
#include "kernel/proc/pids.h"
#include "kernel/tasks/task_context.h"
#include "session/kernel/kernel_events.h"
#include "session/kernel/kernel_probes.h"
#include "session/kernel/kernel_send.h"
#include "session/kernel/kernel_syscalls.h"
#include "session/model/process_stat.h"
#include "session/model/quota.h"
#include "session/model/ring_layout.h"
#include "session/model/rings.h"
#include "session/model/session_clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Size of the kernel's sub-buffers. Larger sub-buffers cost less per record, but the kernel disables interrupts for
 * longer when a mapped sub-buffer is read.
 */
#define KERNEL_SUBBUF (16u * 1024)

/* ── instances ───────────────────────────────────────────────────────────────────────────────────────── */

static struct wmk_kernel_rings *kernel_alloc(const struct rings *rings)
{
	struct wmk_kernel_rings *kernel = calloc(1, sizeof(*kernel));
	char rings_name[WMK_RINGS_NAME], channel[WMK_RINGS_NAME + 24];

	if (!kernel) {
		wmk_error(-ENOMEM, "no memory for a kernel channel");
		return NULL;
	}
	kernel->instance = -1;
	wmk_rings_name(rings->channel, rings->stream_id, rings_name);
	/*
	 * Sessions of several users may have the same name, and the names may contain the separators of an instance
	 * name. The id of the rings makes the name unique.
	 */
	snprintf(channel, sizeof(channel), "%s.%" PRIu64, rings_name, rings->id);
	if (wmk_kinstance_name(rings->session->tracing->kernel_owner, rings->session->name, channel, kernel->name) == 0)
		return kernel;
	free(kernel);
	return NULL;
}

/*
 * Remove the instances of a channel. While a process reads an instance, the kernel keeps the instance; the next sweep
 * removes it.
 */
static void instances_remove(const struct wmk_tracefs *tracefs, const char *name)
{
	char tasks[WMK_KINSTANCE_NAME + sizeof(WMK_KCONTEXT_SUFFIX)];

	snprintf(tasks, sizeof(tasks), "%s" WMK_KCONTEXT_SUFFIX, name);
	if (wmk_kinstance_remove(tracefs, name) < 0)
		wmk_error_clear();
	if (strlen(tasks) < WMK_KINSTANCE_NAME && wmk_kinstance_remove(tracefs, tasks) < 0)
		wmk_error_clear();
}

static void kernel_free(struct rings *rings)
{
	struct wmk_kernel_rings *kernel = rings->kernel;
	const struct wmk_tracing *tracing = rings->session->tracing;

	if (kernel->instance >= 0)
		close(kernel->instance);
	if (kernel->instance >= 0 && !tracing->leaving)
		instances_remove(tracing->tracefs, kernel->name);
	wmk_kernel_probes_close(tracing->tracefs, kernel->probes, tracing->leaving);
	for (unsigned i = 0; i < kernel->n_events; i++)
		wmk_kernel_event_free(&kernel->events[i]);
	free(kernel->events);
	wmk_kernel_syscalls_free(kernel->calls);
	free(kernel);
	rings->kernel = NULL;
}

int wmk_kernel_rings_attach(struct rings *rings)
{
	rings->kernel = kernel_alloc(rings);
	rings->kernel_free = kernel_free;
	return rings->kernel ? 0 : wmk_error_number() < 0 ? wmk_error_number() : -ENOMEM;
}

static int instance_make(struct rings *rings)
{
	const struct wmk_tracing *tracing = rings->session->tracing;
	const struct wmk_ctl_channel *is = &rings->channel->is;
	const struct wmk_kinstance_options options = {
		.clock = rings->session->clock,
		.cpu_bytes = is->settings.subbuf_size * is->settings.n_subbufs,
		.subbuf_bytes = is->settings.subbuf_size < KERNEL_SUBBUF ? is->settings.subbuf_size : KERNEL_SUBBUF,
		.overwrite = is->settings.mode == WMK_MODE_OVERWRITE,
	};
	int err = wmk_kernel_rings_attach(rings);

	if (err == 0)
		err = wmk_kspaces_check();
	/* an orphan of that name: its session did not end cleanly */
	if (err == 0)
		err = wmk_kinstance_remove(tracing->tracefs, rings->kernel->name);
	if (err == 0)
		err = wmk_kinstance_make(tracing->tracefs, rings->kernel->name, &options, &rings->kernel->instance);
	return err;
}

/* ── rings ───────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Check that the channel's process still has its pid. The daemon recorded the start time of the process when the
 * channel was created. Without a start time, the daemon accepts any process with this pid.
 */
static int same_process(const struct wmk_ctl_domain *domain)
{
	uint64_t start_time;
	pid_t parent;
	char state;

	if (!domain->start_time ||
	    (wmk_process_stat((pid_t)domain->pid, &parent, &start_time, &state) && start_time == domain->start_time))
		return 0;
	return wmk_errorx(-ESRCH, "process %" PRIu64 " of the channel has ended", domain->pid);
}

struct threads {
	int32_t *tids;
	unsigned n;
};

static int thread_add(void *data, int32_t tid)
{
	struct threads *threads = data;
	int32_t *more = realloc(threads->tids, (threads->n + 1) * sizeof(*more));

	if (!more)
		return wmk_error(-ENOMEM, "no memory for the threads of a process");
	threads->tids = more;
	more[threads->n++] = tid;
	return 0;
}

/* Restrict the instance to all threads of the process. The kernel adds new threads of the process. */
static int narrow(const struct rings *rings)
{
	const uint64_t pid = rings->channel->is.domain.pid;
	struct threads threads = { .tids = NULL };
	int err;

	if (!pid)
		return 0;
	err = wmk_kpids_threads((pid_t)pid, thread_add, &threads);
	if (err == -ESRCH)
		err = 0;                 /* reported below */
	/* checked after the threads were read: so they are threads of that process */
	if (err == 0)
		err = same_process(&rings->channel->is.domain);
	if (err == 0)
		err = threads.n ? wmk_kinstance_pids(rings->kernel->instance, threads.tids, threads.n)
				: wmk_error(-ESRCH, "there is no process %" PRIu64, pid);
	free(threads.tids);
	return err;
}

static int rings_fill(struct rings *rings)
{
	struct wmk_tracing *tracing = rings->session->tracing;
	int err;

	/* relaxed: ids only have to be unique */
	rings->id = atomic_fetch_add_explicit(&tracing->rings_made, 1, memory_order_relaxed) + 1;
	err = instance_make(rings);
	if (err == 0)
		err = narrow(rings);
	if (err == 0)
		err = wmk_rings_uuid(rings);
	if (err == 0)
		err = wmk_rings_declare_stream(rings);
	return err < 0 ? err : wmk_kernel_consumed(rings, NULL, 0);
}

struct rings *wmk_kernel_rings_make(struct wmk_session_channel *channel)
{
	struct wmk_session *session = channel->session;
	const uint64_t bytes = wmk_rings_bytes(&channel->is);
	struct trace *trace;
	struct rings *rings = NULL;

	if (wmk_quota_rings_charge(session->tracing, session->uid, bytes, false) < 0)
		return NULL;
	trace = wmk_trace_of_kernel(session);
	if (trace)
		rings = wmk_rings_alloc(channel, trace, wmk_rings_stream_new(channel, trace));
	if (rings && rings_fill(rings) < 0) {
		if (rings->stream_id > channel->spent_stream)
			channel->spent_stream = rings->stream_id;
		/* removing the rings would clear the chain of causes */
		struct wmk_error_chain *why = wmk_error_take();

		wmk_rings_put(rings);
		wmk_error_give(why);
		rings = NULL;
	}
	if (!rings) {
		wmk_quota_rings_uncharge(session->tracing, session->uid, bytes);
		return NULL;
	}
	rings->bytes = bytes;
	wmk_rings_link(&session->rings, rings);
	return rings;
}

void wmk_kernel_halt(const struct rings *rings)
{
	if (!rings->kernel || rings->session->tracing->leaving)
		return;
	if (wmk_kinstance_switch(rings->kernel->instance, false) < 0)
		wmk_error_clear();       /* removing the instance stops it, too */
}
