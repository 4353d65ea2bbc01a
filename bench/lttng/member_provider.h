/* SPDX-License-Identifier: MIT */
/*
 * member_provider.h - the tracepoint provider of member.c for LTTng-UST (its macros include this file several times).
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER member
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./member_provider.h"

#if !defined(BENCH_LTTNG_MEMBER_PROVIDER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_LTTNG_MEMBER_PROVIDER_H

#include <lttng/tracepoint.h>

#include "../member_events.h"

#define MEMBER_DEFINE(name) LTTNG_UST_TRACEPOINT_EVENT(member, name, LTTNG_UST_TP_ARGS(int, n, const char *, text), \
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, n, n) lttng_ust_field_string(text, text)))
MEMBER_NAMES(MEMBER_DEFINE)

#endif
#include <lttng/tracepoint-event.h>
