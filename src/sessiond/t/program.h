/* SPDX-License-Identifier: MIT */
/*
 * program.h - a program of the tests that registers with shards that have threads of their own, with two events
 * (shop:sold, shop:stocked), and from then on confirms what it is told, in a thread.
 */
#ifndef WMK_SESSION_T_PROGRAM_H
#define WMK_SESSION_T_PROGRAM_H

#include <pthread.h>
#include <stdint.h>

#include "sessiond/shards.h"

struct program {
	int socket;
	pthread_t thread;
	int enabled, disabled;           /* how often it was told so; atomic */
	uint32_t ids[2];                 /* of its events, the latest */
};

/* Returns when it has registered. */
void program_open(struct program *program, struct wmk_shards *shards);
void program_close(struct program *program);
int program_enabled(const struct program *program);
int program_disabled(const struct program *program);

#endif
