/* SPDX-License-Identifier: MIT */
/*
 * consumer_port_output.c - requests to the consumer daemon about the directory of a session: a check that it is empty,
 * traces of ended processes, rotations, and connections to relays.
 */
#include "sessiond/consumer_port_traces.h"

#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* timeout of CUT; the positions of cuts at different times would not belong together */
#define CUT_MS 1000

int wmk_port_in_time(int err)
{
	if (err != -ETIMEDOUT)
		return err;
	wmk_error_clear();
	return 0;
}

/* ── the directory of a session ──────────────────────────────────────────────────────────────────────── */

/* Send a request of wmk_consumer_link_output() to the consumer daemon of user channels. */
static int output_request(struct wmk_consumer_port *port, uint16_t type, const struct wmk_trace_info *info,
			  const char *process, const char *chunk, struct wmk_arena *arena,
			  struct wmk_consumerd_left *left)
{
	struct wmk_consumer_link *link = wmk_consumer_port_link(&port->sides[0]);
	const struct wmk_consumerd_output output = {
		.path = info->path, .uid = info->uid, .gid = info->gid, .process = process, .chunk = chunk,
		.compress = info->compress, .retain_size = info->retain_size, .retain_us = info->retain_us,
		.retain_count = info->retain_count,
	};

	if (!link)
		return wmk_error_number();
	return wmk_consumer_link_output(link, type, &output, WMK_PORT_WRITE_MS, arena, left);
}

int wmk_port_output_check(void *data, const struct wmk_trace_info *session)
{
	return output_request(data, WMK_CONSUMERD_OUTPUT_CHECK, session, "", "", NULL, NULL);
}

int wmk_port_each_left(void *data, const struct wmk_trace_info *session, int (*one)(void *one_data, const char *sub),
		     void *one_data)
{
	struct wmk_consumerd_left left = { .more = false };
	struct wmk_arena arena = { 0 };
	int err = output_request(data, WMK_CONSUMERD_LIST_LEFT, session, "", "", &arena, &left);

	for (uint32_t i = 0; i < left.processes.n && err == 0; i++) {
		char sub[300];

		if ((size_t)snprintf(sub, sizeof(sub), WMK_SUB_PID "%s/64-bit",
				     ((const char **)left.processes.items)[i]) < sizeof(sub))
			err = one(one_data, sub);
	}
	wmk_arena_free(&arena);
	return err < 0 ? err : left.more;
}

static void process_name(const struct wmk_trace_info *info, char name[256])
{
	const char *begin = info->sub + strlen(WMK_SUB_PID), *end = strchr(begin, '/');

	snprintf(name, 256, "%.*s", end ? (int)(end - begin) : 0, begin);
}

int wmk_port_forget_left(void *data, const struct wmk_trace_info *info)
{
	char name[256];

	process_name(info, name);
	return output_request(data, WMK_CONSUMERD_REMOVE_LEFT, info, name, "", NULL, NULL);
}

int wmk_port_archive_left(void *data, const struct wmk_trace_info *info)
{
	char name[256];

	process_name(info, name);
	return output_request(data, WMK_CONSUMERD_ARCHIVE_LEFT, info, name, info->closed, NULL, NULL);
}

int wmk_port_archive_end(void *data, const struct wmk_trace_info *session)
{
	return output_request(data, WMK_CONSUMERD_ARCHIVE_END, session, "", session->closed, NULL, NULL);
}

int wmk_port_output_end(void *data, const struct wmk_trace_info *session)
{
	return output_request(data, WMK_CONSUMERD_OUTPUT_END, session, "", "", NULL, NULL);
}

/* ── relays ──────────────────────────────────────────────────────────────────────────────────────────── */

static int side_relays(struct wmk_consumer_port_side *side, struct wmk_list *relays, struct wmk_arena *arena)
{
	struct wmk_consumer_port *port = side->port;
	struct wmk_consumerd_senders senders = { { NULL, 0 } };

	pthread_mutex_lock(&port->lock);
	struct wmk_consumer_link *link = side->link;
	pthread_mutex_unlock(&port->lock);
	if (!link)
		return 0;
	if (wmk_consumer_link_senders(link, WMK_PORT_QUERY_MS, arena, &senders) < 0) {
		wmk_error_clear();
		return 0;
	}
	const struct wmk_consumerd_sender *from = senders.senders.items;
	for (uint32_t i = 0; i < senders.senders.n && relays->n < WMK_CTL_RELAYS_MAX; i++, from++) {
		struct wmk_ctl_relay *to = wmk_arena_append(arena, relays, sizeof(*to));

		if (!to)
			return -ENOMEM;
		*to = (struct wmk_ctl_relay){ .session = "", .path = from->path, .url = from->url, .uid = from->uid,
					      .kernel = side->kernel, .connected = from->connected,
					      .behind = from->behind, .spooled = from->spooled,
					      .error = from->error };
	}
	return 0;
}

int wmk_port_relays(void *data, struct wmk_list *relays, struct wmk_arena *arena)
{
	struct wmk_consumer_port *port = data;
	int err = side_relays(&port->sides[0], relays, arena);

	return err < 0 ? err : side_relays(&port->sides[1], relays, arena);
}

/* ── rotation ────────────────────────────────────────────────────────────────────────────────────────── */

static int rotate(const struct port_trace *trace, const char *closed, uint64_t chunk, int ms)
{
	const struct wmk_consumerd_rotation rotation = { .trace = trace->number, .chunk = chunk, .closed = closed };

	return wmk_port_in_time(wmk_consumer_link_rotate(trace->side->link, &rotation, ms));
}

int wmk_port_trace_cut(void *data)
{
	const struct port_trace *trace = data;

	return wmk_consumer_link_cut(trace->side->link, trace->number, CUT_MS);
}

int wmk_port_trace_rotate(void *data, const char *closed, uint64_t chunk, bool wait)
{
	const struct port_trace *trace = data;
	const struct wmk_consumerd_rotation rotation = { .trace = trace->number, .chunk = chunk, .closed = closed };

	return wait ? wmk_consumer_link_rotate(trace->side->link, &rotation, WMK_PORT_WRITE_MS)
		    : rotate(trace, closed, chunk, 0);
}

int wmk_port_metadata_before(void *data, const char *text, size_t len)
{
	const struct port_trace *trace = data;

	return wmk_consumer_link_metadata_before(trace->side->link, trace->number, text, len);
}
