/* SPDX-License-Identifier: MIT */
/* moved.h - what prog_moved.c makes in a round, and test_moved.c expects. */
#ifndef WMK_TRACER_T_MOVED_H
#define WMK_TRACER_T_MOVED_H

#define MOVED_THREADS 4u
#define MOVED_RECORDS 20000u

#endif
