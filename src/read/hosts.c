/* SPDX-License-Identifier: MIT */
/* hosts.c - put the times of traces of several hosts on the clock of their relay (see hosts.h). */
#include "read/hosts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "read/relay_points.h"

/* A clock of a host. */
struct host_clock {
	char *id;                  /* HOST, and the UUID of the clock; without a UUID, the path of the trace */
	const struct wmk_ctf_clock_class *class;
	struct wmk_read_relay_points list;
	struct wmk_read_clock_points *points;
};

struct wmk_read_hosts {
	struct host_clock *clocks;
	uint32_t n, cap;
};

static bool has_several_hosts(struct wmk_read_trace *const *traces, uint32_t n)
{
	const char *first = NULL;

	for (uint32_t i = 0; i < n; i++) {
		if (!first)
			first = traces[i]->host;
		if (traces[i]->host && strcmp(first, traces[i]->host) != 0)
			return true;
	}
	return false;
}

/*
 * Read the header of the sync points. Returns false if the trace has no points, or if the points belong to another
 * clock than the clock of the trace.
 */
static bool read_head(const struct wmk_read_trace *trace, struct wmk_clock_head *head)
{
	const struct wmk_ctf_clock_class *clock = wmk_read_trace_clock(trace);

	return clock && clock->freq && wmk_read_relay_head(trace->dir, head) &&
	       strcmp(head->uuid, clock->uuid ? clock->uuid : "") == 0;
}

/* Find the relay clock that is common to the largest number of traces. False: no trace has one. */
static bool find_relay(struct wmk_read_trace *const *traces, uint32_t n, char relay[WMK_CLOCK_UUID])
{
	struct wmk_clock_head head, other;
	uint32_t most = 0;

	for (uint32_t i = 0; i < n && most <= n / 2; i++) {
		uint32_t same = 0;

		if (!read_head(traces[i], &head) || (most && strcmp(relay, head.relay) == 0))
			continue;
		for (uint32_t j = i; j < n; j++)
			same += read_head(traces[j], &other) && strcmp(head.relay, other.relay) == 0;
		if (same > most)
			memcpy(relay, head.relay, WMK_CLOCK_UUID);
		most = same > most ? same : most;
	}
	return most > 0;
}

static struct host_clock *find_clock(struct wmk_read_hosts *hosts, const struct wmk_read_trace *trace,
				     const struct wmk_clock_head *head)
{
	struct host_clock *all;
	char *id;

	if (asprintf(&id, "%s/%s", head->host, head->uuid[0] ? head->uuid : trace->path) < 0)
		return NULL;
	for (uint32_t i = 0; i < hosts->n; i++)
		if (strcmp(hosts->clocks[i].id, id) == 0) {
			free(id);
			return &hosts->clocks[i];
		}
	all = wmk_array_room(hosts->clocks, hosts->n, &hosts->cap, sizeof(*all));
	if (!all) {
		free(id);
		return NULL;
	}
	hosts->clocks = all;
	all[hosts->n] = (struct host_clock){ .id = id, .class = wmk_read_trace_clock(trace) };
	return &all[hosts->n++];
}

/*
 * Collect the points of all traces, grouped by clock. The function stores the number of the clock of each trace;
 * UINT32_MAX means that the trace has no such clock.
 */
static int collect(struct wmk_read_hosts *hosts, struct wmk_read_trace *const *traces, uint32_t n, const char *relay,
		   uint32_t *clock_of)
{
	struct wmk_clock_head head;

	for (uint32_t i = 0; i < n; i++) {
		struct host_clock *clock;
		int err;

		clock_of[i] = UINT32_MAX;
		if (!read_head(traces[i], &head) || strcmp(head.relay, relay) != 0)
			continue;
		clock = find_clock(hosts, traces[i], &head);
		if (!clock)
			return wmk_error(-ENOMEM, "no memory for the clocks of hosts");
		clock_of[i] = (uint32_t)(clock - hosts->clocks);
		err = wmk_read_relay_points_add(traces[i]->dir, &clock->list);
		if (err == -ENOMEM)
			return err;
		if (err < 0 && !traces[i]->points_damage)
			traces[i]->points_damage = wmk_error_take();
		wmk_error_clear();
	}
	return 0;
}

static int make_lines(struct wmk_read_hosts *hosts, const char *relay)
{
	int err = 0;

	for (uint32_t i = 0; i < hosts->n && err >= 0; i++) {
		struct host_clock *clock = &hosts->clocks[i];

		wmk_read_relay_points_choose(&clock->list, 1e9 / (double)clock->class->freq);
		err = wmk_read_clock_points_make(clock->class, relay, clock->list.points, clock->list.n,
						 &clock->points);
	}
	return err;
}

int wmk_read_hosts_join(struct wmk_read_trace *const *traces, uint32_t n, struct wmk_read_hosts **result)
{
	struct wmk_read_hosts *hosts;
	char relay[WMK_CLOCK_UUID];
	uint32_t *clock_of;
	int err;

	*result = NULL;
	if (!has_several_hosts(traces, n))
		return 0;
	for (uint32_t i = 0; i < n; i++)
		traces[i]->has_hosts = true;
	if (!find_relay(traces, n, relay))
		return 0;
	hosts = calloc(1, sizeof(*hosts));
	clock_of = calloc(n, sizeof(*clock_of));
	err = hosts && clock_of ? collect(hosts, traces, n, relay, clock_of)
				: wmk_error(-ENOMEM, "no memory for the clocks of hosts");
	if (err >= 0)
		err = make_lines(hosts, relay);
	for (uint32_t i = 0; i < n && err >= 0; i++) {
		const struct host_clock *clock = clock_of[i] < hosts->n ? &hosts->clocks[clock_of[i]] : NULL;

		wmk_read_trace_share_points(traces[i], clock ? clock->points : NULL, clock ? clock->id : NULL);
	}
	free(clock_of);
	if (err < 0)
		wmk_read_hosts_free(hosts);
	else
		*result = hosts;
	return err;
}

void wmk_read_hosts_free(struct wmk_read_hosts *hosts)
{
	if (!hosts)
		return;
	for (uint32_t i = 0; i < hosts->n; i++) {
		wmk_read_clock_points_free(hosts->clocks[i].points);
		free(hosts->clocks[i].list.points);
		free(hosts->clocks[i].id);
	}
	free(hosts->clocks);
	free(hosts);
}
