/* SPDX-License-Identifier: MIT */
/* counting_consumer.h - a consumer for tests of commands: it counts traces, rings and requests, and writes nothing. */
#ifndef WMK_SESSION_T_COUNTING_CONSUMER_H
#define WMK_SESSION_T_COUNTING_CONSUMER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "consumer/output.h"
#include "session/tracing.h"

static struct {
	int traces, rings, flushes, clears, replaced, refuse;
	uint64_t lost;
	bool connects;                   /* to relays: of two sessions and a destroyed session */
} output;

static int trace_open(void *data, const struct wmk_trace_info *info, void **trace)
{
	(void)data;
	(void)info;
	if (output.refuse)
		return wmk_error(output.refuse, "the test wants no trace");
	__atomic_fetch_add(&output.traces, 1, __ATOMIC_RELAXED);
	*trace = &output;
	return 0;
}

static int metadata(void *trace, const char *text, size_t len)
{
	(void)trace;
	(void)text;
	(void)len;
	return 0;
}

static int metadata_replace(void *trace, const char *text, size_t len, bool wait)
{
	(void)wait;
	(void)trace;
	output.replaced += len > 100 && strstr(text, "shop:sold") && strstr(text, "shop:stocked");
	return 0;
}

static int rings_open(void *trace, const struct wmk_rings_info *info, struct waymark_ring_set *set, void **rings)
{
	(void)trace;
	(void)info;
	(void)set;
	__atomic_fetch_add(&output.rings, 1, __ATOMIC_RELAXED);
	*rings = &output;
	return 0;
}

static int rings_flush(void *rings, bool wait) { (void)rings; (void)wait; output.flushes++; return 0; }
static int rings_stop(void *rings, bool wait) { (void)rings; (void)wait; return 0; }
static int rings_clear(void *rings, bool wait) { (void)rings; (void)wait; output.clears++; return 0; }
static int rings_counts(void *rings, struct wmk_counts *counts, struct wmk_counts *earlier)
{
	(void)rings;
	(void)earlier;
	counts->lost = counts->lost_full = output.lost;
	return 0;
}
static void rings_wake(void *rings) { (void)rings; }
static void rings_close(void *rings) { (void)rings; __atomic_fetch_sub(&output.rings, 1, __ATOMIC_RELAXED); }
static void trace_close(void *trace) { (void)trace; __atomic_fetch_sub(&output.traces, 1, __ATOMIC_RELAXED); }

static int output_check(void *data, const struct wmk_trace_info *session)
{
	const struct wmk_output_directory_options options = {
		.path = session->path, .uid = session->uid, .gid = session->gid, .budget_fd = -1 };
	struct wmk_output *directory;

	assert_null(data);
	assert_int_equal(wmk_output_directory_open(&options, &directory), 0);
	int err = directory->ops->check(directory);
	directory->ops->close(directory);
	return err;
}

static int relays(void *data, struct wmk_list *list, struct wmk_arena *arena)
{
	static const struct wmk_ctl_relay connections[] = {
		{ .path = "/tmp/waymark-command-none/a", .uid = 0, .session = "", .url = "", .error = "" },
		{ .path = "/tmp/waymark-command-none/b", .uid = 1000, .session = "", .url = "", .error = "" },
		{ .path = "/tmp/waymark-command-none/gone", .uid = 1000, .session = "", .url = "", .error = "" },
	};

	(void)data;
	for (unsigned i = 0; output.connects && i < 3; i++)
		*(struct wmk_ctl_relay *)wmk_arena_append(arena, list, sizeof(connections[0])) = connections[i];
	return 0;
}

static const struct wmk_consumer_port_ops ops = {
	.relays = relays,
	.output_check = output_check,
	.trace_open = trace_open,
	.metadata = metadata,
	.metadata_replace = metadata_replace,
	.rings_open = rings_open,
	.rings_flush = rings_flush,
	.rings_stop = rings_stop,
	.rings_clear = rings_clear,
	.rings_counts = rings_counts,
	.rings_wake = rings_wake,
	.rings_close = rings_close,
	.trace_close = trace_close,
};

#endif
