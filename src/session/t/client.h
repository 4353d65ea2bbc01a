/* SPDX-License-Identifier: MIT */
/*
 * client.h - an application for tests: uses the protocol code of libwaymark, correctly or not. It shares the thread
 * with the wmk_shard, which it runs while it waits.
 */
#ifndef WMK_SESSION_T_CLIENT_H
#define WMK_SESSION_T_CLIENT_H

#include "session/apps/shard.h"

struct client {
	int socket;
	struct wmk_in in;
	struct wmk_out out;
	struct wmk_frame frame;          /* the latest frame; then its body and descriptor */
	uint8_t body[4096];
	int fd;
};

#define DECLARED_MAX 64

/* A session with one or two channels and a shard in a runtime directory of its own, and its trace output. */
struct place {
	char rundir[64];
	struct wmk_clocks clocks;
	struct wmk_tracing *tracing;
	struct wmk_session *session;
	struct wmk_ctl_channel given[2];
	struct wmk_session_channel *channels[2];
	unsigned n_channels;
	bool statedump;
	unsigned max_apps;
	struct wmk_shard_options options;
	struct wmk_shard *apps;
	uint64_t rings_id[4];            /* by stream class */
	struct waymark_ring_set *sets[4];
	unsigned rings_open, rings_closed, pokes, traces_open, traces_closed;
	size_t metadata_len;
	char metadata[65536];
	unsigned n_declared;
	struct {
		unsigned channel;
		uint32_t id;
		char name[64];
		unsigned fields;
	} declared[DECLARED_MAX];
	int refuse;                      /* returned for a new id ... */
	uint32_t refuse_from;            /* ... from this one on */
	unsigned pieces;                 /* number of pieces of metadata that declare events */
	unsigned asked;
};

/* Make a list of rules for place->given[].rules; the memory is the caller's. */
struct wmk_list place_rules(const struct wmk_ctl_rule *rules, uint32_t n);
/*
 * Fill everything except what place_open() makes; the test may change options and channels afterwards. All events go to
 * channel 0.
 */
void place_prepare(struct place *place);
void place_open(struct place *place);
/* As place_open(), for tests that expect an error. */
int place_try(struct place *place);
void place_close(struct place *place);
/* Switch channel 0 on or off in all applications. */
void place_switch(struct place *place, bool on);

void client_connect(struct client *client, const struct place *place);
void client_close(struct client *client);
/* Queue and send a message. */
void client_hello(struct client *client, const char *name);
void client_hello_image(struct client *client, const char *name, uint64_t image);
void client_event(struct client *client, uint32_t number, const char *provider, const char *name, unsigned n_fields);
void client_u32(struct client *client, enum wmk_msg type, uint32_t value);
void client_raw(struct client *client, const void *data, size_t len);
/* Run the wmk_shard until a message arrives, for at most 5 s. Returns its type, or 0: the connection was closed. */
int client_next(struct client *client, struct place *place);
/* client_next() must return this: ENABLE with these values, or a message that is one number. */
void client_expect_enable(struct client *client, struct place *place, uint32_t channel, uint32_t event, uint32_t id);
void client_expect_u32(struct client *client, struct place *place, int type, uint32_t expected);
/* Send HELLO, `n` events p:e0..., and the end; expects exactly the answers, with each event enabled. */
void client_register(struct client *client, struct place *place, const char *name, unsigned n);
/* Number of descriptors of this process. */
int open_fds(void);
/* Wait until there are `n`: threads close some descriptors with a delay. */
void expect_fds(int n);
/* Run the wmk_shard until it has nothing to do. */
void place_settle(struct place *place);

#endif
