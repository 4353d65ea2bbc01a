/* SPDX-License-Identifier: MIT */
/* tracer_waymark.h - the records of work.c, made by Waymark. */
#ifndef BENCH_TRACER_WAYMARK_H
#define BENCH_TRACER_WAYMARK_H

#include <waymark/trace.h>

#define record_u32(v) waymark(bench, u32, v)
#define record_u64(v) waymark(bench, u64, v)
#define record_int_long_double(i, l, d) waymark(bench, int_long_double, i, l, d)
#define record_int_str32(i, s) waymark(bench, int_str32, i, s)
#define record_bytes64(p) waymark(bench, bytes64, wm_bytes(p, 64))
#define record_array64(p) waymark(bench, array64, wm_array(p, 64))

#endif
