/* SPDX-License-Identifier: MIT */
/* nowhere.h - a trace output for fuzzers that keeps nothing. */
#ifndef WMK_SESSION_T_NOWHERE_H
#define WMK_SESSION_T_NOWHERE_H

#include <stdlib.h>
#include <string.h>

#include "session/tracing.h"

static int nowhere_at;

static int nowhere_trace_open(void *data, const struct wmk_trace_info *info, void **trace)
{
	(void)data;
	(void)info;
	*trace = &nowhere_at;
	return 0;
}

static int nowhere_metadata(void *trace, const char *text, size_t len)
{
	(void)trace;
	if (memchr(text, '\0', len))
		abort();                 /* metadata is text, whatever names it contains */
	return 0;
}

static int nowhere_replace(void *trace, const char *text, size_t len, bool wait)
{
	(void)wait;
	return nowhere_metadata(trace, text, len);
}

static int nowhere_rings_open(void *trace, const struct wmk_rings_info *info, struct waymark_ring_set *set,
			      void **rings)
{
	(void)trace;
	(void)info;
	(void)set;
	*rings = &nowhere_at;
	return 0;
}

static int nowhere_nothing(void *rings, bool wait) { (void)rings; (void)wait; return 0; }
static int nowhere_counts(void *rings, struct wmk_counts *sum, struct wmk_counts *earlier)
{
	(void)rings, (void)sum, (void)earlier;
	return 0;
}

static void nowhere_done(void *rings) { (void)rings; }

static const struct wmk_consumer_port_ops nowhere = {
	.trace_open = nowhere_trace_open,
	.metadata = nowhere_metadata,
	.metadata_replace = nowhere_replace,
	.rings_open = nowhere_rings_open,
	.rings_flush = nowhere_nothing,
	.rings_stop = nowhere_nothing,
	.rings_clear = nowhere_nothing,
	.rings_counts = nowhere_counts,
	.rings_wake = nowhere_done,
	.rings_close = nowhere_done,
	.trace_close = nowhere_done,
};

#endif
