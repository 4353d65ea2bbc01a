/* SPDX-License-Identifier: MIT */
/*
 * state_rig.h - for tests of saved state: session daemons that run one after another in one directory, and a consumer
 * that keeps their rings meanwhile, as a consumer daemon does.
 */
#ifndef WMK_SESSION_T_STATE_RIG_H
#define WMK_SESSION_T_STATE_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include "session/recovery/state_file.h"
#include "session/tracing.h"

#define KEPT_MAX 8u

struct state_consumer {
	struct kept {
		uint8_t uuid[16];
		uint32_t stream_id;
		int fd;
	} rings[KEPT_MAX];
	unsigned n;
	unsigned reopened;
	uint8_t uuid[16];                /* of the latest trace */
	char text[65536];                /* metadata of the only trace, if there is one */
	unsigned fewer;                  /* how often the metadata lost declared events */
};
extern struct state_consumer output;

struct state_scene {
	char dir[64];
	int fd;
	struct wmk_state *state;
	struct wmk_tracing *tracing;
	struct wmk_shards *shards;
	unsigned said, restored;
	char words[600];                 /* latest logged message */
};
extern struct state_scene scene;

/* Count the events declared in the metadata of a trace. */
unsigned events_in(const char *text);
/* For wmk_state_held: what the consumer keeps; or nothing. */
int held(void *data, const uint8_t uuid[16], uint32_t stream_id);
int held_nothing(void *data, const uint8_t uuid[16], uint32_t stream_id);

/* Setup and teardown of each test. */
int scene_open(void **state);
int scene_close(void **state);

/* Start the next daemon; end it, with recording continued. */
void daemon_open(wmk_state_held *holding);
void daemon_close(void);
/* Create and start a session with a channel for shop:*. */
struct wmk_session *session_make(const char *name);
/* The number of state files. */
int files(void);

#endif
