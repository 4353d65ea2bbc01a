/* SPDX-License-Identifier: MIT */
/*
 * board.h - what the programs of a herd tell the one that started them: a place for each in shared memory, and a byte
 * on a pipe when theirs is filled in. See herd.c, member.c.
 */
#ifndef BENCH_BOARD_H
#define BENCH_BOARD_H

#include <stdint.h>
#include <time.h>

#define BOARD_FD 3          /* in a member: the shared memory */
#define BOARD_PIPE 4        /* and the pipe */

struct board_place {
	uint64_t first;         /* CLOCK_MONOTONIC, ns: before any constructor, the tracer's included */
	uint64_t ready;         /* in main() */
	uint64_t on;            /* was its last event enabled by then? */
	uint64_t flag;          /* the address of what tells so, in the member; 0: it has none */
	uint64_t flag_bytes;    /* enabled: not all of these are 0 */
};

static inline uint64_t board_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

#endif
