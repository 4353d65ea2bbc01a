/* SPDX-License-Identifier: MIT */
/*
 * state_rig.h - for tests of what one session daemon writes down for the next: daemons that come one after the other in
 * one directory, and an outlet that keeps their rings meanwhile, as a consumer daemon does.
 */
#ifndef WMK_SESSION_T_STATE_RIG_H
#define WMK_SESSION_T_STATE_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include "session/recovery/state_file.h"
#include "session/tracing.h"

#define KEPT_MAX 8u

struct state_outlet {
	struct kept {
		uint8_t uuid[16];
		uint32_t stream_id;
		int fd;
	} rings[KEPT_MAX];
	unsigned n;
	unsigned reopened;
	uint8_t uuid[16];                /* of the latest trace */
	char text[65536];                /* of the only trace, where there is one */
	unsigned fewer;                  /* how often fewer events were declared than before */
};
extern struct state_outlet outlet;

struct state_scene {
	char dir[64];
	int fd;
	struct wmk_state *state;
	struct wmk_tracing *tracing;
	struct wmk_shards *shards;
	unsigned said, restored;
	char words[600];                 /* the last that were said */
};
extern struct state_scene scene;

/* Declarations of events in a trace's metadata. */
unsigned events_in(const char *text);
/* As wmk_state_held: what the outlet keeps; nothing. */
int held(void *data, const uint8_t uuid[16], uint32_t stream_id);
int held_nothing(void *data, const uint8_t uuid[16], uint32_t stream_id);

/* For cmocka: around each test. */
int scene_open(void **state);
int scene_close(void **state);

/* The next daemon; its end, which leaves everything as it is. */
void daemon_open(wmk_state_held *holding);
void daemon_close(void);
/* A session with a channel for shop:*, recording. */
struct wmk_session *session_make(const char *name);
/* How many files tell of sessions. */
int files(void);

#endif
