/* SPDX-License-Identifier: MIT */
/*
 * program.h - an application for tests: it registers two events (shop:sold, shop:stocked) with shards that have their
 * own threads, and then confirms all messages in a thread.
 */
#ifndef WMK_SESSION_T_PROGRAM_H
#define WMK_SESSION_T_PROGRAM_H

#include <pthread.h>
#include <stdint.h>

#include "sessiond/shards.h"

struct program {
	int socket;
	pthread_t thread;
	int enabled, disabled;           /* ENABLE and DISABLE messages received; atomic */
	uint32_t ids[2];                 /* latest ids of its events */
};

/* Returns after the registration. */
void program_open(struct program *program, struct wmk_shards *shards);
void program_close(struct program *program);
int program_enabled(const struct program *program);
int program_disabled(const struct program *program);

#endif
