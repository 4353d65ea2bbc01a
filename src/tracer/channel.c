/* SPDX-License-Identifier: MIT */
/* channel.c - see channel.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "ring/file.h"
#include "ring/writer.h"
#include "tracer/channel.h"
#include "tracer/clock.h"
#include "tracer/conn.h"
#include "tracer/context.h"
#include "tracer/patch.h"
#include "tracer/recorder.h"
#include "tracer/snapshot.h"
#include "tracer/tracer.h"

#define MAP_AHEAD_MIN_MS 1
#define MAP_AHEAD_MAX_MS 100
#define MAP_AHEAD_IN_VAIN 1u
#define CHANNELS_MAX 64u        /* for each connection, and for the orphans of each endpoint */

struct wmk_channel *wmk_channel_find(const struct wmk_conn *conn, uint32_t number)
{
	wmk_for_each_channel(channel)
		if (channel->conn == conn && channel->number == number)
			return channel;
	return NULL;
}

/* Find an orphan channel with the same rings and the same record layout, and assign the orphan to the connection. */
static struct wmk_channel *channel_adopt(struct wmk_conn *conn, const struct wmk_channel_msg *msg,
					 const uint8_t uuid[16])
{
	struct wmk_channel *channel;

	for (channel = wmk_tracer.channels; channel; channel = channel->next)
		if (!channel->conn && channel->endpoint == conn->endpoint && !memcmp(channel->uuid, uuid, 16) &&
		    channel->field_limit == msg->field_limit && channel->n_contexts == msg->n_contexts &&
		    !memcmp(channel->contexts, msg->contexts, msg->n_contexts))
			break;
	if (!channel)
		return NULL;
	channel->conn = conn;
	channel->number = msg->channel;
	channel->is_private = (msg->flags & WMK_CHANNEL_PRIVATE) != 0;
	for (uint32_t i = 0; i < wmk_tracer.n_events; i++) {
		struct waymark_recorder *e = wmk_recorder_find(wmk_tracer.events[i], channel);

		if (e)
			e->adopted = false;
	}
	return channel;
}

void wmk_channel_remove(struct wmk_channel *channel)
{
	struct wmk_channel **at;

	for (uint32_t i = 0; i < wmk_tracer.n_events && channel->enabled; i++) {
		struct waymark_recorder *e = wmk_recorder_find(wmk_tracer.events[i], channel);

		if (e)
			wmk_recorder_remove(e);
	}
	for (at = &wmk_tracer.channels; *at; at = &(*at)->next)
		if (*at == channel) {
			*at = channel->next;
			break;
		}
	if (channel->fd >= 0)
		close(channel->fd);
	wmk_snapshot_target_remove(channel->set);
	wmk_recorder_free_channel(channel);
}

static int channel_check(const struct wmk_conn *conn, const struct wmk_channel_msg *msg)
{
	unsigned n = 0;

	wmk_for_each_channel(channel)
		n += channel->conn == conn;
	if (n >= CHANNELS_MAX)
		return wmk_error(-EMFILE, "cannot add channel %u: the session daemon already has %u channels in this "
				 "application, which is the limit", msg->channel, CHANNELS_MAX);
	if (wmk_channel_find(conn, msg->channel))
		return wmk_error(-EEXIST, "cannot add channel %u: it exists", msg->channel);
	if (msg->n_contexts > WMK_RECORDER_CONTEXTS)
		return wmk_error(-E2BIG, "cannot add channel %u: it has %u context fields, at most %d are allowed",
				 msg->channel, msg->n_contexts, WMK_RECORDER_CONTEXTS);
	for (uint32_t i = 0; i < msg->n_contexts; i++)
		if (!wmk_context_get(msg->contexts[i]))
			return wmk_error(-EINVAL, "cannot add channel %u: unknown context field %u", msg->channel,
					 msg->contexts[i]);
	return 0;
}

static int channel_make(struct wmk_conn *conn, const struct wmk_channel_msg *msg, struct waymark_ring_set *set)
{
	struct wmk_channel *channel = calloc(1, sizeof(*channel));
	const struct waymark_ring_options *options = waymark_ring_set_options(set);

	if (!channel)
		return wmk_error(-ENOMEM, "cannot add channel %u: out of memory", msg->channel);
	if (options->clock == WAYMARK_CLOCK_PLUGIN) {
		if (!wmk_clock_plugin_now()) {
			free(channel);
			return wmk_error(-ENOTSUP, "cannot add channel %u: its clock is a plug-in, and the "
					 "application has none (set WAYMARK_CLOCK_PLUGIN)", msg->channel);
		}
		wmk_ring_set_plugin_clock(set, wmk_clock_plugin_now());
	}
	channel->conn = conn;
	channel->endpoint = conn->endpoint;
	channel->set = set;
	channel->fd = -1;
	channel->number = msg->channel;
	channel->is_private = (msg->flags & WMK_CHANNEL_PRIVATE) != 0;
	channel->field_limit = msg->field_limit;
	channel->n_contexts = (uint8_t)msg->n_contexts;
	memcpy(channel->contexts, msg->contexts, msg->n_contexts);
	memcpy(channel->uuid, options->uuid, 16);
	channel->ctx_key = wmk_context_cache_key(channel->contexts, channel->n_contexts, &channel->ctx_words);
	channel->short_clock = options->clock == WAYMARK_CLOCK_COUNTER;
	channel->next = wmk_tracer.channels;
	wmk_tracer.channels = channel;
	wmk_snapshot_target_add(set);
	return 0;
}

static int channel_open(struct wmk_conn *conn, const struct wmk_channel_msg *msg, int fd)
{
	struct waymark_ring_set *set;
	int err = wmk_ring_set_open_any(fd, &set);

	if (err < 0)
		return wmk_error_add(err, "cannot map the rings of channel %u", msg->channel);
	err = channel_make(conn, msg, set);
	/* If the set was used before, stale recorders may still refer to the set, so the set stays mapped. */
	if (err < 0)
		wmk_ring_set_retire(set);
	return err;
}

int wmk_channel_receive(struct wmk_conn *conn, const struct wmk_channel_msg *msg, int *fd)
{
	uint8_t uuid[16];
	int err = *fd < 0 ? wmk_error(-EPROTO, "cannot add channel %u: its message has no descriptor", msg->channel)
			  : channel_check(conn, msg);

	if (err < 0)
		return err;
	/* without orphans, the uuid need not be read */
	if (!wmk_channels_has_orphans(conn->endpoint) || wmk_ring_set_uuid(*fd, uuid) < 0 ||
	    !channel_adopt(conn, msg, uuid))
		err = channel_open(conn, msg, *fd);
	if (err < 0)
		return err;
	struct wmk_channel *channel = wmk_channel_find(conn, msg->channel);

	channel->persist = conn->persist;
	if (conn->persist && channel->fd < 0) {
		channel->fd = *fd;
		*fd = -1;
	}
	waymark_ring_set_identity(channel->set, conn->slot, conn->generation);
	wmk_ring_set_allow_blocking(channel->set, wmk_tracer.allow_blocking);
	return 0;
}

void wmk_channels_disown(struct wmk_conn *conn, bool keep)
{
	struct wmk_channel *channel, *next;
	unsigned n = 0;

	wmk_for_each_channel(each)
		n += each->endpoint == conn->endpoint;
	/*
	 * If there are too many channels, first remove orphans of earlier session daemons, which the current session
	 * daemon has not confirmed.
	 */
	for (channel = wmk_tracer.channels; channel; channel = next) {
		next = channel->next;
		if (!channel->conn && channel->endpoint == conn->endpoint && n > CHANNELS_MAX) {
			wmk_channel_remove(channel);
			n--;
		}
	}
	for (channel = wmk_tracer.channels; channel; channel = next) {
		next = channel->next;
		if (channel->conn != conn)
			continue;
		channel->conn = NULL;
		if (!keep)
			wmk_channel_remove(channel);
	}
}

bool wmk_channels_has_orphans(unsigned endpoint)
{
	wmk_for_each_channel(channel)
		if (!channel->conn && channel->endpoint == endpoint)
			return true;
	return false;
}

int wmk_channels_hand_back(struct wmk_conn *conn)
{
	int err = 0;

	for (struct wmk_channel *channel = wmk_tracer.channels; channel && !err; channel = channel->next) {
		struct wmk_rings_msg msg;

		if (channel->conn || channel->endpoint != conn->endpoint || channel->fd < 0)
			continue;
		memcpy(msg.uuid, channel->uuid, sizeof(msg.uuid));
		err = wmk_out_frame(&conn->out, WMK_MSG_RINGS, 0, &msg, sizeof(msg), channel->fd);
	}
	return err;
}

void wmk_channels_confirmed(struct wmk_conn *conn)
{
	for (uint32_t i = 0; i < wmk_tracer.n_events; i++) {
		struct waymark_recorder *e, *next;

		for (e = wmk_tracer.events[i]->chain; e; e = next) {
			next = e->next;
			if (e->channel && e->channel->conn == conn && !e->adopted)
				wmk_recorder_remove(e);
		}
	}
	wmk_orphans_remove(conn->endpoint, true);
}

void wmk_orphans_remove(unsigned endpoint, bool persistent)
{
	struct wmk_channel *channel, *next;

	for (channel = wmk_tracer.channels; channel; channel = next) {
		next = channel->next;
		if (!channel->conn && (endpoint == WMK_ENDPOINTS || channel->endpoint == endpoint) &&
		    (persistent || !channel->persist))
			wmk_channel_remove(channel);
	}
}

void wmk_channels_forget_fds(bool close_them)
{
	wmk_for_each_channel(channel) {
		if (close_them && channel->fd >= 0)
			close(channel->fd);
		channel->fd = -1;
	}
}

bool wmk_channels_remove_private(void)
{
	struct wmk_channel *channel, *next;
	bool any = false;

	for (channel = wmk_tracer.channels; channel; channel = next) {
		next = channel->next;
		if (channel->is_private) {
			wmk_channel_remove(channel);
			any = true;
		}
	}
	if (any)
		wmk_patch_flush();
	return any;
}

/* ── mapping memory ahead ──────────────────────────────────────────────────────────────────────────────────── */

/* True if the application records into the channel. Records of the helper thread do not need a fast path. */
static bool is_recorded_into(const struct wmk_channel *channel)
{
	return channel->enabled != channel->enabled_helpers;
}

static bool records_any(void)
{
	wmk_for_each_channel(channel)
		if (is_recorded_into(channel))
			return true;
	return false;
}

/*
 * True if the application, without its helper thread, has had page faults since the previous call. A record into memory
 * that was not mapped ahead causes page faults. Rings that other applications fill must not wake an application that
 * does not record.
 */
static bool has_touched_new_memory(void)
{
	static uint64_t before;
	struct rusage all, helper;

	if (getrusage(RUSAGE_SELF, &all) != 0 || getrusage(RUSAGE_THREAD, &helper) != 0)
		return false;
	const uint64_t faults = (uint64_t)(all.ru_minflt + all.ru_majflt - helper.ru_minflt - helper.ru_majflt);
	const bool has = faults != before;

	before = faults;
	return has;
}

/* Return the number of bytes that all applications have written into the CPU rings. */
static uint64_t position_of(const struct wmk_channel *channel)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < waymark_ring_set_cpus(channel->set); i++)
		sum += __atomic_load_n(&channel->set->ring[i].ctl->write_pos, __ATOMIC_RELAXED);
	return sum;
}

/*
 * Map memory ahead in all rings into which the application records. Returns the largest number of bytes that were
 * written into one ring set since the previous call; *room: the size of a sub-buffer.
 */
static uint64_t map_ahead_all(uint64_t *room)
{
	uint64_t filled = 0;

	wmk_for_each_channel(channel) {
		if (!is_recorded_into(channel))
			continue;
		wmk_ring_set_map_ahead(channel->set);
		uint64_t position = position_of(channel);

		filled = position - channel->mapped_position > filled ? position - channel->mapped_position : filled;
		*room = waymark_ring_set_options(channel->set)->subbuf_size;
		channel->mapped_position = position;
	}
	return filled;
}

int wmk_channels_map_ahead(int period)
{
	static unsigned in_vain;        /* consecutive calls at the longest period that found no new data */
	static bool is_first;
	uint64_t filled = 0, room = 0;

	if (!records_any())
		return -1;
	if (period < 0) {
		in_vain = 0;
		is_first = true;
		return MAP_AHEAD_MIN_MS;
	}
	if (has_touched_new_memory() || is_first)
		filled = map_ahead_all(&room);
	is_first = false;
	in_vain = filled || period < MAP_AHEAD_MAX_MS ? 0 : in_vain + 1;
	if (in_vain > MAP_AHEAD_IN_VAIN)
		return -1;
	if (!filled)
		period *= 8;
	else if (filled > room / 2)
		period /= 2;
	else if (filled < room / 8)
		period *= 2;
	return period < MAP_AHEAD_MIN_MS ? MAP_AHEAD_MIN_MS : period > MAP_AHEAD_MAX_MS ? MAP_AHEAD_MAX_MS : period;
}
