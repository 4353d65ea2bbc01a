/* SPDX-License-Identifier: MIT */
/*
 * member_times.h - results of the members for app_group.c: an element for each in shared memory, and a byte on a pipe
 * when it is filled in. See app_group.c, member.c.
 */
#ifndef BENCH_MEMBER_TIMES_H
#define BENCH_MEMBER_TIMES_H

#include <stdint.h>
#include <time.h>

#define MEMBER_TIMES_FD 3          /* in a member: the shared memory */
#define MEMBER_TIMES_PIPE 4        /* and the pipe */

struct member_times {
	uint64_t first;         /* CLOCK_MONOTONIC, ns: before any constructor, the tracer's included */
	uint64_t ready;         /* in main() */
	uint64_t on;            /* whether its last event was enabled by then */
	uint64_t flag;          /* address in the member that shows whether it is enabled; 0: none */
	uint64_t flag_bytes;    /* size; enabled if not all bytes are 0 */
};

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

#endif
