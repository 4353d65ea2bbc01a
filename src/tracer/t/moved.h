/* SPDX-License-Identifier: MIT */
/* moved.h - numbers of threads and records of a round of prog_moved.c, for test_moved.c. */
#ifndef WMK_TRACER_T_MOVED_H
#define WMK_TRACER_T_MOVED_H

#define MOVED_THREADS 4u
#define MOVED_RECORDS 20000u

#endif
