/* SPDX-License-Identifier: MIT */
/* tracer_lttng.h - the records of work.c, made by LTTng-UST. */
#ifndef BENCH_TRACER_LTTNG_H
#define BENCH_TRACER_LTTNG_H

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "provider.h"

#define record_u32(v) lttng_ust_tracepoint(bench, u32, v)
#define record_u64(v) lttng_ust_tracepoint(bench, u64, v)
#define record_int_long_double(i, l, d) lttng_ust_tracepoint(bench, int_long_double, i, l, d)
#define record_int_str32(i, s) lttng_ust_tracepoint(bench, int_str32, i, s)
#define record_bytes64(p) lttng_ust_tracepoint(bench, bytes64, p)
#define record_array64(p) lttng_ust_tracepoint(bench, array64, p)

#endif
