/* SPDX-License-Identifier: MIT */
/*
 * list_reply.c - the reply to LIST: all traces and rings, for a session daemon that has just connected and adopts them.
 */
#include "consumer/list_reply.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "consumer/connection.h"
#include "consumer/outputs.h"
#include "kernel/statedump/statedump.h"

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
 * Return the part of the ring description that the session daemon receives. The reply leaves out the events and system
 * calls of a kernel channel, because the session daemon sends them again. The reply carries a descriptor, so the reply
 * must fit in one frame. The filters of all events could exceed one frame. The reply includes the events of the state
 * dump: a running state dump continues with these events, and the session daemon may not send them again.
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
	const int fd = rings ? rings->fd : wmk_server_output_budget(trace);

	server->list.fds[server->list.n] = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
	if (fd >= 0 && server->list.fds[server->list.n] < 0)
		return wmk_error(-errno, "cannot duplicate a descriptor: %s", strerror(errno));
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
	wmk_server_reply_done(server, server->connections, server->list.request);
	wmk_server_list_drop(server);
}
