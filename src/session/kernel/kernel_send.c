/* SPDX-License-Identifier: MIT */
/* kernel_send.c - messages to the consumer daemon about a kernel channel: open, events, filters. */
#include "session/kernel/kernel_send.h"

#include "base/error.h"
#include "session/kernel/kernel_rings.h"
#include "session/model/ring_layout.h"
#include "session/model/session_clock.h"

#include <errno.h>

#define SEND_BYTES (1u << 20)        /* approximate limit of filters in one message */

/* Fill the common part of each message about a kernel channel. `contexts` has room for WMK_WIRE_CONTEXTS_MAX. */
static void info_fill(const struct rings *rings, struct wmk_rings_info *info, char name[WMK_RINGS_NAME],
		      uint64_t *contexts, struct wmk_kernel_info *kernel)
{
	wmk_rings_name(rings->channel, rings->stream_id, name);
	*info = (struct wmk_rings_info){
		.id = rings->id, .channel = name, .stream_id = rings->stream_id, .options = &rings->channel->is,
		.start_ts = wmk_session_now(rings->session)
	};
	for (unsigned i = 0; i < rings->n_contexts; i++)
		contexts[i] = rings->contexts[i];
	kernel->instance = rings->kernel->instance;
	kernel->contexts = contexts;
	kernel->n_contexts = rings->n_contexts;
	kernel->only_pid = rings->channel->is.domain.follow ? 0 : rings->channel->is.domain.pid;
}

int wmk_kernel_send(struct rings *rings, const struct wmk_kernel_info *about)
{
	uint64_t contexts[WMK_WIRE_CONTEXTS_MAX];
	struct wmk_kernel_info kernel = *about;
	char name[WMK_RINGS_NAME];
	struct wmk_rings_info info;

	info_fill(rings, &info, name, contexts, &kernel);
	return rings->session->tracing->options.consumer->kernel_events(rings->output, &info, &kernel);
}

int wmk_kernel_consumed(struct rings *rings, struct wmk_consumerd_event *events, unsigned n)
{
	const struct wmk_consumer_port_ops *consumer = rings->session->tracing->options.consumer;
	uint64_t contexts[WMK_WIRE_CONTEXTS_MAX];
	struct wmk_kernel_info kernel = { .events = events, .n_events = n };
	char name[WMK_RINGS_NAME];
	struct wmk_rings_info info;

	if (!consumer->kernel_open)
		return wmk_errorx(-ENOTSUP, "this trace output cannot record the kernel");
	info_fill(rings, &info, name, contexts, &kernel);
	info.restored = rings->restored;
	return consumer->kernel_open(rings->trace->output, &info, &kernel, &rings->output);
}

int wmk_kernel_copied(const struct rings *rings, void *trace, const struct wmk_rings_info *about, void **output)
{
	const struct wmk_session *session = rings->session;
	uint64_t contexts[WMK_WIRE_CONTEXTS_MAX];
	struct wmk_kernel_info kernel = { .events = NULL };
	char name[WMK_RINGS_NAME];
	struct wmk_rings_info info;

	info_fill(rings, &info, name, contexts, &kernel);
	info.copy = true;
	info.copy_max = about->copy_max;
	/* (read without the lock: a stopped session has no state dump of this time) */
	kernel.statedump = session->settings.no_statedump || !session->active ? 0 : wmk_session_now(session);
	return session->tracing->options.consumer->kernel_open(trace, &info, &kernel, output);
}

struct wmk_consumerd_event wmk_kernel_event_message(const struct rings *rings, const struct kernel_event *event,
						 bool changing)
{
	return (struct wmk_consumerd_event){
		.system = event->system,
		.name = event->name,
		.id = rings->ids[event->class->kin],
		.filter_len = event->filter.len,
		.filter = { event->filter.program, (event->filter.len + 7) / 8 },
		.changing = changing,
	};
}

static int send_some(struct rings *rings, struct wmk_consumerd_event *events, unsigned n)
{
	const struct wmk_kernel_info about = { .events = events, .n_events = n };

	return wmk_kernel_send(rings, &about);
}

int wmk_kernel_send_events(struct rings *rings, struct kernel_event *const *events, unsigned n, bool changing)
{
	struct wmk_consumerd_event made[WMK_KERNEL_SEND_MAX];
	unsigned n_made = 0;
	size_t bytes = 0;
	int err = 0;

	for (unsigned i = 0; i < n && err == 0; i++) {
		made[n_made++] = wmk_kernel_event_message(rings, events[i], changing);
		bytes += events[i]->filter.len;
		if (bytes < SEND_BYTES && i + 1 < n)
			continue;
		err = send_some(rings, made, n_made);
		n_made = 0;
		bytes = 0;
	}
	return err;
}
