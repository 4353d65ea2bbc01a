/* SPDX-License-Identifier: MIT */
/*
 * consumer_port_adopted.c - traces and rings of an earlier session daemon that the consumer daemon holds. Restored
 * sessions open their traces and rings again. The port ends all others.
 */
#include "sessiond/consumer_port_traces.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ASK_MS 5000
#define NO_STREAM UINT32_MAX

/* An entry of the list: a trace (`rings` is 0), or a ring set of a trace. */
struct port_adopted {
	uint64_t trace, rings;
	uint8_t uuid[16];                /* of the trace */
	uint32_t stream_id;
	int fd;                          /* of the ring set; of a trace: its budget page, or -1 */
	const char *path;                /* of a trace, in the arena; NULL: unknown */
	bool opened;
	struct wmk_list gone; /* struct wmk_consumerd_channel, in the arena: counts of released rings of a trace */
	struct wmk_arena arena;
};

static void number_taken(struct wmk_consumer_port *port, uint64_t number)
{
	uint64_t now = atomic_load_explicit(&port->numbers, memory_order_relaxed);

	while (now < number && !atomic_compare_exchange_weak_explicit(&port->numbers, &now, number,
								      memory_order_relaxed, memory_order_relaxed))
		;
}

void wmk_adopted_drop(struct wmk_consumer_port_side *side)
{
	for (unsigned i = 0; i < side->n_held; i++) {
		if (side->held[i].fd >= 0)
			close(side->held[i].fd);
		wmk_arena_free(&side->held[i].arena);
	}
	free(side->held);
	side->held = NULL;
	side->n_held = 0;
}

/* stream_id NO_STREAM: find the trace itself. */
static struct port_adopted *held_find(const struct wmk_consumer_port_side *side, const uint8_t uuid[16],
				      uint32_t stream_id)
{
	for (unsigned i = 0; i < side->n_held; i++) {
		struct port_adopted *held = &side->held[i];

		if (memcmp(held->uuid, uuid, sizeof(held->uuid)) == 0 &&
		    (stream_id == NO_STREAM ? held->rings == 0 : held->rings != 0 && held->stream_id == stream_id))
			return held;
	}
	return NULL;
}

/* Keep the counts of rings that the consumer daemon has released. Without memory they are lost. */
static void gone_keep(struct port_adopted *held, const struct wmk_list *gone)
{
	const struct wmk_consumerd_channel *from = gone->items;

	for (uint32_t i = 0; i < gone->n; i++) {
		struct wmk_consumerd_channel *one = wmk_arena_append(&held->arena, &held->gone, sizeof(*one));

		if (!one)
			return;
		*one = from[i];
		one->stats.words = NULL;
		one->channel = wmk_arena_text(&held->arena, from[i].channel);
		if (!one->channel)
			one->channel = "";
	}
}

int wmk_consumer_port_gone(const struct wmk_consumer_port *port, const uint8_t trace_uuid[16], const char *channel,
		    struct wmk_counts *counts)
{
	const struct port_adopted *held = held_find(&port->sides[0], trace_uuid, NO_STREAM);
	const struct wmk_consumerd_channel *gone = held ? held->gone.items : NULL;

	for (uint32_t i = 0; held && i < held->gone.n; i++) {
		if (strcmp(gone[i].channel, channel) != 0)
			continue;
		wmk_counts_add(counts, &gone[i].stats.counts);
		return 0;
	}
	return -ENOENT;
}

static int held_add(void *data, const struct wmk_consumerd_trace *trace, const struct wmk_consumerd_rings *rings,
		    int fd)
{
	struct wmk_consumer_port_side *side = data;
	struct port_adopted *more = realloc(side->held, (side->n_held + 1) * sizeof(*more));

	if (!more) {
		if (fd >= 0)
			close(fd);
		return wmk_error(-ENOMEM, "no memory for the list of objects that the consumer daemon holds");
	}
	side->held = more;
	more[side->n_held] = (struct port_adopted){
		.trace = trace->trace, .rings = rings->rings, .stream_id = rings->stream_id, .fd = fd
	};
	if (!rings->rings) {
		gone_keep(&more[side->n_held], &trace->gone);
		more[side->n_held].path = wmk_arena_text(&more[side->n_held].arena, trace->path);
	}
	memcpy(more[side->n_held++].uuid, trace->uuid, sizeof(more->uuid));
	number_taken(side->port, trace->trace);
	number_taken(side->port, rings->rings);
	return 0;
}

int wmk_adopted_budget(const struct wmk_consumer_port *port, const char *path)
{
	for (unsigned i = 0; i < 2; i++) {
		for (unsigned j = 0; j < port->sides[i].n_held; j++) {
			const struct port_adopted *held = &port->sides[i].held[j];

			if (!held->rings && held->fd >= 0 && held->path && strcmp(held->path, path) == 0)
				return fcntl(held->fd, F_DUPFD_CLOEXEC, 3);
		}
	}
	return -1;
}

void wmk_adopted_ask(struct wmk_consumer_port_side *side)
{
	int err = wmk_consumer_link_list(side->link, WMK_CONSUMER_PORT_START_MS, held_add, side);

	side->listed = err == 0;
	side->held_any = err == 0 && side->n_held;
	if (err == 0)
		return;
	wmk_adopted_drop(side);
	wmk_consumer_link_close(side->link);
	side->link = NULL;
}

uint64_t wmk_adopted_trace(struct wmk_consumer_port_side *side, const struct wmk_trace_info *info, bool opened)
{
	uint64_t number;

	pthread_mutex_lock(&side->port->lock);
	struct port_adopted *held = info->restored ? held_find(side, info->uuid, NO_STREAM) : NULL;
	number = held ? held->trace : 0;
	if (held && opened)
		held->opened = true;
	pthread_mutex_unlock(&side->port->lock);
	return number;
}

uint64_t wmk_adopted_rings(struct wmk_consumer_port_side *side, uint64_t trace, uint32_t stream_id)
{
	uint64_t number = 0;

	pthread_mutex_lock(&side->port->lock);
	for (unsigned i = 0; i < side->n_held && number == 0; i++) {
		struct port_adopted *held = &side->held[i];

		if (held->trace != trace || held->rings == 0 || held->stream_id != stream_id || held->opened)
			continue;
		held->opened = true;
		number = held->rings;
	}
	pthread_mutex_unlock(&side->port->lock);
	return number;
}

/* A consumer daemon for kernel channels runs only if an earlier session needed this consumer daemon. */
int wmk_consumer_port_take_over(struct wmk_consumer_port *port)
{
	int err = wmk_consumer_port_link(&port->sides[0]) ? 0 : -EIO;

	if (err == 0 && wmk_port_side_has_consumer(&port->sides[1]) && !wmk_consumer_port_link(&port->sides[1]))
		err = -EIO;
	return err;
}

int wmk_consumer_port_held(const struct wmk_consumer_port *port, const uint8_t trace_uuid[16], uint32_t stream_id)
{
	const struct port_adopted *held = held_find(&port->sides[0], trace_uuid, stream_id);

	if (!held)
		held = held_find(&port->sides[1], trace_uuid, stream_id);
	return held && !held->opened                                    ? held->fd
	       : port->sides[0].held_any || port->sides[1].held_any ? -ENOENT
									: -ENODATA;
}

static void taken_over(struct wmk_consumer_port_side *side)
{
	for (unsigned i = 0; i < side->n_held; i++) {
		const struct port_adopted *held = &side->held[i];
		int err = 0;

		if (!held->opened && held->rings)
			err = wmk_consumer_link_rings_remove(side->link, held->trace, held->rings, ASK_MS, NULL, NULL);
		else if (!held->opened)
			err = wmk_consumer_link_trace_remove(side->link, held->trace, ASK_MS, NULL, NULL);
		if (err < 0)
			wmk_error_clear();       /* already removed with the trace, or about to be removed */
	}
	wmk_adopted_drop(side);
}

void wmk_consumer_port_taken_over(struct wmk_consumer_port *port)
{
	taken_over(&port->sides[0]);
	taken_over(&port->sides[1]);
}

