/* SPDX-License-Identifier: MIT */
/* fake_sessiond_state.h - state that fake_sessiond.c, fake_sessiond_filter.c and fake_sessiond_read.c share. */
#ifndef WMK_TRACER_T_CONTROLLER_INSIDE_H
#define WMK_TRACER_T_CONTROLLER_INSIDE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include "tracer/t/fake_sessiond.h"
#include "wire/hints.h"
#include "wire/notify_fifo.h"

#define APPS_MAX 64
#define CHANNEL 7
#define CHANNEL_TOO 9      /* a second channel with the same rings */

struct app {
	int sock;
	struct wmk_in in;
	struct wmk_out out;
	struct { uint32_t number; uint32_t id; bool there; } *events;
	unsigned n_events, n_heard; /* enabled ones; all */
	uint32_t synced;
	bool done, has_too;             /* has_too: CHANNEL_TOO was created */
};

struct fake_sessiond {
	struct fake_sessiond_options options;
	struct sockaddr_un addr;
	int listener, stop[2];
	pthread_t thread;
	pthread_mutex_t lock;
	struct waymark_ring_set *set;
	struct wmk_event_class *classes[4096];
	unsigned n_classes;
	struct app apps[APPS_MAX];
	unsigned n_apps;
	uint32_t sync;
	bool channel_away;          /* fake_sessiond_channel_remove() was called */
	int dir;                    /* directory of its notify FIFO and hints; -1: without them */
	struct wmk_hints_file hints;
	unsigned rings_back;
	unsigned errors;
	struct wmk_unrecorded_msg unrecorded;   /* the latest */
	int last_error;
	struct waymark_ring_reader **readers; /* for every ring, after the first fake_sessiond_read() */
};

#endif
