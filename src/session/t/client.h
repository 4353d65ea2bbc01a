/* SPDX-License-Identifier: MIT */
/*
 * client.h - an application of the tests: speaks the protocol through the same code as libwaymark, well or badly, and
 * shares the thread with the wmk_shard, which it runs while it waits.
 */
#ifndef WMK_SESSION_T_CLIENT_H
#define WMK_SESSION_T_CLIENT_H

#include "session/apps/shard.h"

struct client {
	int socket;
	struct wmk_in in;
	struct wmk_out out;
	struct wmk_frame frame;          /* the latest, and its body and descriptor */
	uint8_t body[4096];
	int fd;
};

#define DECLARED_MAX 64

/*
 * A session with one channel or two and a shard, in a directory of its own; where its records would go, and what it was
 * told.
 */
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
	int refuse;                      /* what is answered to a new id ... */
	uint32_t refuse_from;            /* ... from this one on */
	unsigned pieces;                 /* of metadata that declare events */
	unsigned asked;
};

/* One rule, in the caller's memory: for place->given[].rules. */
struct wmk_list place_rules(const struct wmk_ctl_rule *rules, uint32_t n);
/*
 * Fills everything but what place_open() makes; the test may change options and channels before that. All events go to
 * channel 0.
 */
void place_prepare(struct place *place);
void place_open(struct place *place);
/* The same, for those that expect an error. */
int place_try(struct place *place);
void place_close(struct place *place);
/* Channel 0 on or off, in all applications. */
void place_switch(struct place *place, bool on);

void client_connect(struct client *client, const struct place *place);
void client_close(struct client *client);
/* Queue and send. */
void client_hello(struct client *client, const char *name);
void client_hello_image(struct client *client, const char *name, uint64_t image);
void client_event(struct client *client, uint32_t number, const char *provider, const char *name, unsigned n_fields);
void client_u32(struct client *client, enum wmk_msg type, uint32_t value);
void client_raw(struct client *client, const void *data, size_t len);
/* Run the wmk_shard until a message comes, 5 s at most; its type, or 0: the connection was closed. */
int client_next(struct client *client, struct place *place);
/* client_next(), and it must be this: ENABLE with these, or a message that is one number. */
void client_expect_enable(struct client *client, struct place *place, uint32_t channel, uint32_t event, uint32_t id);
void client_expect_u32(struct client *client, struct place *place, int type, uint32_t expected);
/* hello, welcome, `n` events p:e0..., end, done: expects exactly that, each event enabled. */
void client_register(struct client *client, struct place *place, const char *name, unsigned n);
/* Of this process, now. */
int open_fds(void);
/* There are so many, in a moment: what came from others is closed by threads of its own. */
void expect_fds(int n);
/* Run the wmk_shard until nothing happens any more. */
void place_settle(struct place *place);

#endif
