/* SPDX-License-Identifier: MIT */
/* tracer_none.h - no records in work.c: the same program without a tracer. */
#ifndef BENCH_TRACER_NONE_H
#define BENCH_TRACER_NONE_H

#define record_u32(v) ((void)(v))
#define record_u64(v) ((void)(v))
#define record_int_long_double(i, l, d) ((void)(i), (void)(l), (void)(d))
#define record_int_str32(i, s) ((void)(i), (void)(s))
#define record_bytes64(p) ((void)(p))
#define record_array64(p) ((void)(p))

#endif
