/* SPDX-License-Identifier: MIT */
/* provider.h - the tracepoint provider of the benchmarks for LTTng-UST (its macros include this file several times). */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./provider.h"

#if !defined(BENCH_LTTNG_PROVIDER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_LTTNG_PROVIDER_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(bench, u32, LTTNG_UST_TP_ARGS(uint32_t, v),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, v, v)))
LTTNG_UST_TRACEPOINT_EVENT(bench, u64, LTTNG_UST_TP_ARGS(uint64_t, v),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, v, v)))
LTTNG_UST_TRACEPOINT_EVENT(bench, int_long_double, LTTNG_UST_TP_ARGS(int, i, long, l, double, d),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, i, i) lttng_ust_field_integer(long, l, l)
			    lttng_ust_field_float(double, d, d)))
LTTNG_UST_TRACEPOINT_EVENT(bench, int_str32, LTTNG_UST_TP_ARGS(int, i, const char *, s),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, i, i) lttng_ust_field_string(s, s)))
LTTNG_UST_TRACEPOINT_EVENT(bench, bytes64, LTTNG_UST_TP_ARGS(unsigned char *, p),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_sequence(unsigned char, p, p, uint32_t, 64)))
LTTNG_UST_TRACEPOINT_EVENT(bench, array64, LTTNG_UST_TP_ARGS(unsigned char *, p),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_array(unsigned char, p, p, 64)))

#endif
#include <lttng/tracepoint-event.h>
