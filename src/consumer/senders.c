/* SPDX-License-Identifier: MIT */
/*
 * senders.c - the senders of a consumer daemon (see senders.h).
 */
#include "consumer/senders.h"

#include <errno.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "consumer/connection.h"
#include "sender/spool_left.h"

#define STOP_MS 2000               /* time for a connected sender to send the rest when the server ends */

struct wmk_server_sender {
	struct wmk_server_sender *next;
	struct wmk_consumer_server *server;
	struct wmk_sender *sender;
	char *path, *url;
	uint64_t uid;
	atomic_bool done;                /* relaxed: the server's thread reads it after wmk_server_wake() */
};

static void on_done(void *data)
{
	struct wmk_server_sender *of = data;

	atomic_store_explicit(&of->done, true, memory_order_relaxed);
	wmk_server_wake(of->server);
}

static void on_error(void *data, const char *words)
{
	const struct wmk_server_sender *of = data;

	wmk_server_log(of->server, "%s: %s", of->path, words);
}

static void sender_free(struct wmk_server_sender *of)
{
	wmk_sender_close(of->sender);
	free(of->path);
	free(of->url);
	free(of);
}

/* Stop the sender, and remove the sender from the list. */
static void drop(struct wmk_consumer_server *server, struct wmk_server_sender *of)
{
	struct wmk_server_sender **at = &server->senders;

	while (*at != of)
		at = &(*at)->next;
	*at = of->next;
	sender_free(of);
}

static int sender_new(struct wmk_consumer_server *server, const char *path, const char *url, uint64_t uid, uint64_t gid,
		      struct wmk_sender **sender)
{
	struct wmk_server_sender *of = calloc(1, sizeof(*of));
	const struct wmk_sender_options options = { .path = path, .url = url, .uid = (uid_t)uid, .gid = (gid_t)gid,
						    .kernel = server->options.kernel, .done = on_done,
						    .log = on_error, .data = of };
	int err;

	if (!of)
		return wmk_error(-ENOMEM, "no memory for a sender");
	of->server = server;
	of->uid = uid;
	of->path = strdup(path);
	of->url = strdup(url);
	err = of->path && of->url ? wmk_sender_open(&options, &of->sender) :
				    wmk_error(-ENOMEM, "no memory for a sender");
	if (err < 0) {
		sender_free(of);
		return err;
	}
	of->next = server->senders;
	server->senders = of;
	*sender = of->sender;
	return 0;
}

struct left_of_user {
	struct wmk_consumer_server *server;
	uint64_t uid, gid;
};

static void left_found(void *data, const char *path, const char *url)
{
	const struct left_of_user *left = data;
	struct wmk_sender *sender;
	const struct wmk_server_sender *of = left->server->senders;

	while (of && strcmp(of->path, path) != 0)
		of = of->next;
	if (of)
		return;
	if (sender_new(left->server, path, url, left->uid, left->gid, &sender) < 0)
		wmk_error_clear();
	else
		wmk_sender_end(sender);
}

void wmk_server_senders_of_user(struct wmk_consumer_server *server, const char *directory, uint64_t uid, uint64_t gid)
{
	struct left_of_user left = { server, uid, gid };

	wmk_spool_each_left(directory, (uid_t)uid, (gid_t)gid, left_found, &left);
}

void wmk_server_senders_beside(struct wmk_consumer_server *server, const char *path, uint64_t uid, uint64_t gid)
{
	char *directory = strdup(path);

	if (!directory)
		return;
	*strrchr(directory, '/') = '\0';
	wmk_server_senders_of_user(server, directory, uid, gid);
	free(directory);
}

void wmk_server_senders_begin(struct wmk_consumer_server *server)
{
	const char *home = secure_getenv("HOME");
	const struct passwd *user = home && *home == '/' ? NULL : getpwuid(geteuid());
	char *directory;

	if (user)
		home = user->pw_dir;
	if (!home || asprintf(&directory, "%s/" WMK_RELAY_SPOOLS, home) < 0)
		return;
	wmk_server_senders_of_user(server, directory, geteuid(), getegid());
	free(directory);
}

int wmk_server_sender_join(struct wmk_consumer_server *server, const struct wmk_consumerd_trace *is,
			   struct wmk_sender **sender)
{
	for (struct wmk_server_sender *of = server->senders; of; of = of->next) {
		if (strcmp(of->path, is->path) != 0)
			continue;
		if (wmk_sender_continue(of->sender)) {
			*sender = of->sender;
			return 0;
		}
		drop(server, of);
		break;
	}
	int err = sender_new(server, is->path, is->url, is->uid, is->gid, sender);

	/* Also send the spools that an earlier process left in the directory of the new spool. */
	if (err == 0)
		wmk_server_senders_beside(server, is->path, is->uid, is->gid);
	return err;
}

void wmk_server_sender_leave(struct wmk_consumer_server *server, struct wmk_sender *sender)
{
	(void)server;
	wmk_sender_end(sender);
}

int wmk_server_senders_list(struct wmk_consumer_server *server, uint32_t request)
{
	struct wmk_consumerd_senders reply = { { NULL, 0 } };
	struct wmk_arena arena = { 0 };
	struct wmk_sender_state state;
	int err = 0;

	for (const struct wmk_server_sender *of = server->senders; of && err == 0; of = of->next) {
		struct wmk_consumerd_sender *to;

		if (reply.senders.n == WMK_CONSUMERD_SENDERS_MAX)
			break;
		to = wmk_arena_append(&arena, &reply.senders, sizeof(*to));
		if (!to) {
			err = -ENOMEM;
			break;
		}
		wmk_sender_state(of->sender, &state);
		*to = (struct wmk_consumerd_sender){ .path = of->path, .url = of->url, .uid = of->uid,
						     .connected = state.connected, .behind = state.behind,
						     .spooled = state.spooled,
						     .error = wmk_arena_text(&arena, state.error) };
		err = to->error ? 0 : -ENOMEM;
	}
	if (err == 0)
		wmk_server_reply(server, server->connections, request, &wmk_consumerd_senders_object, &reply);
	wmk_arena_free(&arena);
	return err < 0 ? wmk_error(err, "no memory for the list of senders") : 0;
}

void wmk_server_senders_reap(struct wmk_consumer_server *server)
{
	for (struct wmk_server_sender **at = &server->senders, *of; (of = *at);) {
		if (!atomic_load_explicit(&of->done, memory_order_relaxed)) {
			at = &of->next;
			continue;
		}
		*at = of->next;
		sender_free(of);
	}
}

void wmk_server_senders_stop(struct wmk_consumer_server *server)
{
	struct wmk_sender_state state;

	while (server->senders) {
		wmk_sender_state(server->senders->sender, &state);
		if (state.connected)
			wmk_sender_wait(server->senders->sender, STOP_MS);
		drop(server, server->senders);
	}
}
