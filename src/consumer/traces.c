/* SPDX-License-Identifier: MIT */
/*
 * traces.c - what the server holds: traces, the rings in them; and the handing over of it all to a session daemon that
 * was not there before.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "consumer/server_state.h"
#include "kernel/channel/channel_reader.h"
#include "kernel/statedump/statedump.h"

/* ── traces and rings ────────────────────────────────────────────────────────────────────────────────── */

struct wmk_server_trace *wmk_server_trace_find(struct wmk_consumer_server *server, uint64_t number)
{
	struct wmk_server_trace *trace = server->traces;

	while (trace && trace->is.trace != number)
		trace = trace->next;
	return trace;
}

struct wmk_server_rings *wmk_server_rings_find(struct wmk_server_trace *trace, uint64_t number)
{
	struct wmk_server_rings *rings = trace->rings;

	while (rings && (rings->removing || rings->is.rings != number))
		rings = rings->next;
	return rings;
}

void wmk_server_rings_close(struct wmk_server_rings *rings)
{
	if (rings->set)
		waymark_ring_set_close(rings->set);
	if (rings->kernel)
		wmk_kreader_close(rings->kernel);
	rings->set = NULL;
	rings->kernel = NULL;
}

void wmk_server_rings_unref(struct wmk_server_rings *rings)
{
	if (--rings->refs)
		return;
	wmk_server_rings_close(rings);
	if (rings->fd >= 0)
		close(rings->fd);
	wmk_arena_free(&rings->arena);
	free(rings);
}

void wmk_server_rings_unlink(struct wmk_server_trace *trace, struct wmk_server_rings *rings)
{
	struct wmk_server_rings **at = &trace->rings;

	while (*at && *at != rings)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = rings->next;
	trace->n_rings--;
	wmk_server_rings_unref(rings);
}

void wmk_server_trace_free(struct wmk_server_trace *trace)
{
	struct wmk_server_trace **at = &trace->server->traces;

	while (*at && *at != trace)
		at = &(*at)->next;
	if (*at) {
		*at = trace->next;
		trace->server->n_traces--;
	}
	if (trace->consumer) {
		if (wmk_consumer_stop(trace->consumer) < 0)
			wmk_error_clear();
		wmk_consumer_close(trace->consumer);
	}
	wmk_server_output_leave(trace);
	while (trace->rings)
		wmk_server_rings_unlink(trace, trace->rings);
	wmk_arena_free(&trace->arena);
	free(trace);
}

struct wmk_server_trace *wmk_server_trace_new(struct wmk_consumer_server *server, const struct wmk_consumerd_trace *is)
{
	struct wmk_server_trace *trace = calloc(1, sizeof(*trace));
	struct wmk_consumer_options options = { .ready = wmk_server_metadata_write };
	int err = -ENOMEM;

	if (!trace) {
		wmk_error(err, "no memory for a trace");
		return NULL;
	}
	trace->server = server;
	trace->metadata_end = &trace->metadata;
	trace->gated = is->gated;
	options.data = trace;
	err = wmk_object_copy(&wmk_consumerd_trace_object, is, &trace->is, &trace->arena);
	if (err >= 0)
		err = wmk_server_output_join(trace);
	if (err >= 0)
		err = wmk_consumer_open(&options, &trace->consumer);
	if (err >= 0)
		err = wmk_consumer_start(trace->consumer);
	if (err < 0) {
		wmk_server_trace_free(trace);
		return NULL;
	}
	trace->next = server->traces;
	server->traces = trace;
	server->n_traces++;
	return trace;
}

int wmk_server_rings_new(struct wmk_server_trace *trace, const struct wmk_consumerd_rings *is, int fd,
			 struct wmk_server_rings **result)
{
	struct wmk_server_rings *rings = calloc(1, sizeof(*rings));

	if (!rings)
		return wmk_error(-ENOMEM, "no memory for rings");
	rings->refs = 1;
	rings->fd = -1;
	if (wmk_object_copy(&wmk_consumerd_rings_object, is, &rings->is, &rings->arena) < 0) {
		wmk_server_rings_unref(rings);
		return -ENOMEM;
	}
	rings->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (rings->fd < 0) {
		int err = -errno;

		wmk_server_rings_unref(rings);
		return wmk_error(err, "cannot keep the descriptor of channel %.60s", is->channel);
	}
	rings->next = trace->rings;
	trace->rings = rings;
	trace->n_rings++;
	*result = rings;
	return 0;
}

/* ── everything that there is ────────────────────────────────────────────────────────────────────────── */

void wmk_server_list_drop(struct wmk_consumer_server *server)
{
	for (size_t i = server->list.sent; i < server->list.n; i++)
		if (server->list.fds[i] >= 0)
			close(server->list.fds[i]);
	free(server->list.items);
	free(server->list.fds);
	wmk_arena_free(&server->list.arena);
	memset(&server->list, 0, sizeof(server->list));
}

/*
 * As they are handed over. A kernel channel's events and system calls are not: who takes over says them again, and with
 * their filters they may be more than one frame, in which a descriptor goes, can hold. Those of the state dump are: the
 * channel's dump may not be asked for again, and goes on by them.
 */
static struct wmk_consumerd_rings rings_listed(const struct wmk_server_rings *rings,
					     struct wmk_consumerd_event dump[WMK_KSTATEDUMP_EVENTS])
{
	const struct wmk_consumerd_event *events = rings->is.events.items;
	struct wmk_consumerd_rings listed = rings->is;

	listed.events = (struct wmk_list){ dump, 0 };
	listed.calls = (struct wmk_list){ NULL, 0 };
	listed.syscall_pids = (struct wmk_list){ NULL, 0 };
	listed.syscall_ring_bytes = 0;
	listed.syscalls_narrowed = false;
	for (uint32_t i = 0; i < rings->is.events.n && listed.events.n < WMK_KSTATEDUMP_EVENTS; i++)
		if (!*events[i].system)
			dump[listed.events.n++] = (struct wmk_consumerd_event){ .system = "",
									      .name = events[i].name,
									      .id = events[i].id };
	return listed;
}

static int list_one(struct wmk_consumer_server *server, const struct wmk_server_trace *trace,
		    const struct wmk_server_rings *rings)
{
	struct wmk_consumerd_list_item item = { .rings = { .trace = trace->is.trace } };
	struct wmk_consumerd_event dump[WMK_KSTATEDUMP_EVENTS];

	if (rings) {
		item.trace.trace = trace->is.trace;
		item.rings = rings_listed(rings, dump);
	} else {
		item.trace = trace->is;
	}
	if (wmk_object_copy(&wmk_consumerd_list_item_object, &item, &server->list.items[server->list.n],
			    &server->list.arena) < 0)
		return -ENOMEM;
	server->list.fds[server->list.n] = rings ? fcntl(rings->fd, F_DUPFD_CLOEXEC, 3) : -1;
	if (rings && server->list.fds[server->list.n] < 0)
		return wmk_error(-errno, "cannot hand over rings: %s", strerror(errno));
	server->list.n++;
	return 0;
}

int wmk_server_list(struct wmk_consumer_server *server, uint32_t request)
{
	const struct wmk_server_trace *trace;
	const struct wmk_server_rings *rings;
	size_t n = 1;
	int err = 0;

	wmk_server_list_drop(server);
	for (trace = server->traces; trace; trace = trace->next)
		n += 1 + trace->n_rings;
	server->list.items = calloc(n, sizeof(*server->list.items));
	server->list.fds = calloc(n, sizeof(*server->list.fds));
	if (!server->list.items || !server->list.fds)
		err = wmk_error(-ENOMEM, "no memory for a list");
	for (trace = server->traces; trace && err >= 0; trace = trace->next) {
		if (trace->removing)
			continue;
		err = list_one(server, trace, NULL);
		for (rings = trace->rings; rings && err >= 0; rings = rings->next)
			if (!rings->removing)
				err = list_one(server, trace, rings);
	}
	if (err < 0) {
		wmk_server_list_drop(server);
		return err;
	}
	server->list.request = request;
	server->list.active = true;
	wmk_server_list_more(server);
	return 0;
}

void wmk_server_list_more(struct wmk_consumer_server *server)
{
	static const struct wmk_consumerd_nothing nothing;

	while (server->list.active && server->list.sent < server->list.n) {
		const size_t i = server->list.sent;

		if (server->out.n_fds >= WMK_WIRE_FDS)
			return;
		if (wmk_consumerd_send(&server->out, WMK_CONSUMERD_LIST_ITEM, server->list.request,
				       &wmk_consumerd_list_item_object, &server->list.items[i],
				       server->list.fds[i]) < 0) {
			char words[256];

			wmk_error_text(words, sizeof(words));
			wmk_server_refuse(server, server->connections, server->list.request, -ENOMEM, words);
			wmk_server_list_drop(server);
			return;
		}
		if (server->list.fds[i] >= 0)
			close(server->list.fds[i]);
		server->list.sent++;
	}
	if (!server->list.active)
		return;
	wmk_server_reply(server, server->connections, server->list.request, &wmk_consumerd_nothing_object, &nothing);
	wmk_server_list_drop(server);
}
