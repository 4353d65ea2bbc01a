/* SPDX-License-Identifier: MIT */
/* relay_rig.h - a relay with its directory, for one test. */
#ifndef WMK_RELAY_T_RELAY_RIG_H
#define WMK_RELAY_T_RELAY_RIG_H

#include <pthread.h>
#include <stdint.h>

#include "relay/server.h"

struct relay_rig {
	char dir[256];                       /* the directories of hosts are in dir/root */
	struct wmk_relay_conf conf;
	struct wmk_relay_server *server;
	pthread_t thread;
	uint16_t port;
};

/* Make a new directory, and start a relay with these limits (NULL: the defaults). */
void relay_rig_begin(struct relay_rig *rig, const char *conf);
/* End the relay in order, and start the next one in the same directory. */
void relay_rig_stop(struct relay_rig *rig);
void relay_rig_start(struct relay_rig *rig);
/* End the relay and remove the directory. */
void relay_rig_end(struct relay_rig *rig);
/* The size of the file root/`path`; -1: the file does not exist. */
long relay_rig_size(const struct relay_rig *rig, const char *path);
/* True if the file root/`path` begins with `text`. */
int relay_rig_has(const struct relay_rig *rig, const char *path, const char *text);

#endif
