/* SPDX-License-Identifier: MIT */
/*
 * server.c - run a session daemon (see server.h).
 *
 *     begin: lock, sockets (no connection is accepted yet) ─► link to the consumer ─► sessions ─► state of the previous
 *            daemon ─► shards ─► applications, clients ─► saved sessions ─► the notify FIFO wakes all applications
 *     end:   the reverse order
 */
#include "session/model/process_stat.h"
#include "session/model/session_model.h"
#include "session/recovery/state_entry.h"
#include "session/recovery/state_file.h"
#include "sessiond/server.h"

#include "base/clock.h"
#include "base/clock_plugin.h"
#include "base/descriptor_limit.h"
#include "base/error.h"
#include "kernel/proc/namespaces.h"
#include "kernel/tracefs/instance.h"
#include "sessiond/clients.h"
#include "sessiond/command.h"
#include "sessiond/consumer_port.h"
#include "sessiond/rotation_schedule.h"
#include "sessiond/saved_sessions.h"
#include "sessiond/shards.h"
#include "sessiond/restart_steps.h"
#include "sessiond/snapshot_steps.h"
#include "wire/hints.h"
#include "wire/notify_fifo.h"
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct server {
	const struct wmk_server_options *options;
	struct wmk_sessiond_rundir place;
	bool placed;
	struct wmk_hints_file hints;
	struct wmk_consumer_port *port;
	struct wmk_state *state;
	struct wmk_reaper *reaper;
	struct wmk_rotation_schedule *schedule;
	struct wmk_tracing *tracing;
	struct wmk_shards *shards;
	struct wmk_clients *clients;
	struct wmk_commands commands;
	int signals, end;                /* signalfd; eventfd: WMK_CTL_SHUTDOWN */
	bool everything;                 /* end recording, and also the consumer daemon */
	char latest_message[600];                  /* latest message while the daemon has one thread */
};

/* ── callbacks ───────────────────────────────────────────────────────────────────────────────────────── */

static void say(void *data, const char *words)
{
	const struct server *server = data;

	if (server->options->say)
		server->options->say(server->options->data, words);
}

static void log_first(void *data, const char *words)
{
	struct server *server = data;

	snprintf(server->latest_message, sizeof(server->latest_message), "%s", words);
	say(server, words);
}

static void on_ended(void *data, struct wmk_session *session)
{
	const struct server *server = data;

	wmk_reaper_notify(server->reaper, session);
}

static int on_id(void *data, struct wmk_session *session, uint64_t rings_id, uint32_t id,
		 const struct wmk_event_class *event)
{
	const struct server *server = data;

	return wmk_state_id(server->state, session, rings_id, id, event);
}

static void on_identity(void *data, const struct wmk_identity *is)
{
	const struct server *server = data;

	wmk_state_identity(server->state, is);
}

static int on_changed(void *data, struct wmk_session *session, bool gone)
{
	const struct server *server = data;

	return wmk_state_changed(server->state, session, gone);
}

static void on_counted(void *data, struct wmk_session *session)
{
	if (on_changed(data, session, false) < 0)
		/* the saved state lists rings that the consumer has dropped: a restore skips them */
		wmk_error_clear();
}

/* Log an error that affects only the next session daemon, and continue. */
static void log_cause(struct server *server)
{
	char words[600];

	say(server, wmk_error_text(words, sizeof(words)));
	wmk_error_clear();
}

static void on_dumps(void *data, bool more)
{
	struct server *server = data;

	wmk_hints_count_dumps(&server->hints, more);
}

static void on_full(void *data, const char *path)
{
	const struct server *server = data;

	wmk_reaper_notify_full(server->reaper, path);
}

static void on_stale(void *data, const char *path)
{
	const struct server *server = data;

	wmk_reaper_notify_stale(server->reaper, path);
}

static void on_requested(void *data, const char *path)
{
	const struct server *server = data;

	wmk_reaper_notify_requested(server->reaper, path);
}

static void on_restarted(void *data, const char *path)
{
	const struct server *server = data;

	wmk_reaper_notify_restarted(server->reaper, path);
}

static void clock_restarted(void *data, const char *path)
{
	struct server *server = data;
	struct wmk_session *session = wmk_session_of_path(server->tracing, path);
	char words[600];

	if (session && wmk_restart_run(server->tracing, session, words, sizeof(words)))
		say(server, words);
	wmk_session_put(session);
}

/* Record a snapshot that a program has requested. */
static void snapshot_requested(void *data, struct wmk_session *session, const char *path)
{
	struct server *server = data;
	struct wmk_session *found = session ? NULL : wmk_session_of_path(server->tracing, path);
	char words[800];

	session = session ? session : found;
	if (session && wmk_snapshot_run_requested(server->tracing, session, words, sizeof(words)))
		say(server, words);
	wmk_session_put(found);
}

static void on_scheduled(void *data)
{
	const struct server *server = data;

	wmk_rotation_schedule_wake(server->schedule);
}

static void regenerate_stale(void *data, const char *path)
{
	struct server *server = data;
	struct wmk_session *session = wmk_session_of_path(server->tracing, path);

	if (!session)
		return;
	if (wmk_session_lock(session) == 0) {
		if (wmk_session_rotating(session))
			wmk_session_rotate_finish(session);
		wmk_session_metadata_stale(session);
		wmk_session_unlock(session);
	}
	wmk_error_clear();
	wmk_session_put(session);
}

/* Stop a session in the same way as the command `stop`, without a request of a client. */
static void stop_full(void *data, const char *path)
{
	struct server *server = data;
	struct wmk_session *session = wmk_session_of_path(server->tracing, path);
	char words[400];

	if (!session)
		return;
	int err = wmk_session_lock(session);
	if (err == 0) {
		err = wmk_session_full(session);
		if (on_changed(server, session, false) < 0)
			log_cause(server);
		wmk_session_unlock(session);
	}
	if (err == 0) {
		snprintf(words, sizeof(words), "session %.200s stops: its trace has reached its limit (--max-size)",
			 wmk_session_name(session));
		say(server, words);
		wmk_tracing_update(server->tracing, session, WMK_COMMAND_UPDATE_MS, NULL, NULL);
	}
	if (err == 0 && wmk_session_lock(session) == 0) {
		wmk_session_flush(session);      /* packets with the final counts still fit into the trace */
		wmk_session_unlock(session);
	}
	wmk_error_clear();
	wmk_session_put(session);
}

static void finish_later(void *data, struct wmk_session *session, bool gone)
{
	const struct server *server = data;

	wmk_reaper_notify_finish(server->reaper, session, gone);
}

/* Do the remaining work of `stop --no-wait` or `destroy --no-wait`. */
static void finish(void *data, struct wmk_session *session, bool gone)
{
	struct server *server = data;

	wmk_tracing_update(server->tracing, session, WMK_COMMAND_UPDATE_MS, NULL, NULL);
	if (gone) {
		if (wmk_session_finish(session, NULL, NULL) < 0)
			log_cause(server);
		if (on_changed(server, session, true) < 0)
			log_cause(server);
	} else if (wmk_session_lock(session) == 0) {
		if (wmk_session_flush(session) < 0)
			log_cause(server);
		wmk_session_unlock(session);
	}
	wmk_error_clear();
}

static int on_held(void *data, const uint8_t trace_uuid[16], uint32_t stream_id)
{
	const struct server *server = data;

	return wmk_consumer_port_held(server->port, trace_uuid, stream_id);
}

static int on_gone(void *data, const uint8_t trace_uuid[16], const char *channel, struct wmk_counts *counts)
{
	const struct server *server = data;

	return wmk_consumer_port_gone(server->port, trace_uuid, channel, counts);
}

static void on_shutdown(void *data)
{
	const struct server *server = data;
	const uint64_t one = 1;

	if (write(server->end, &one, sizeof(one)) < 0)
		abort();                 /* an open eventfd accepts this */
}

static void command(void *data, const struct wmk_peer *peer, const struct wmk_frame *frame, const void *body,
		    struct wmk_out *out)
{
	const struct server *server = data;

	wmk_commands_run(&server->commands, peer, frame, body, out);
}

static void thread_begin(void *data)
{
	(void)data;
	wmk_tracing_thread_begin();
}

static void thread_end(void *data)
{
	(void)data;
	wmk_tracing_thread_end();
}

/* ── begin ───────────────────────────────────────────────────────────────────────────────────────────── */

static int process_prepare(struct server *server)
{
	sigset_t set;

	/* Each application requires two descriptors: a socket and a pidfd. */
	wmk_descriptor_limit_raise();
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		return wmk_error(-errno, "cannot mask signals");
	server->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	server->end = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (server->signals < 0 || server->end < 0)
		return wmk_error(-errno, "cannot create the descriptors of the main loop");
	return 0;
}

static void limits_apply(const struct server *server, struct wmk_tracing_options *tracing)
{
	const struct wmk_limits *limits = server->options->limits;

	tracing->limits_file = server->options->limits_file;
	if (!limits)
		return;
	tracing->max_sessions = (unsigned)limits->sessions;
	tracing->max_channels = (unsigned)limits->channels;
	tracing->max_rules = (unsigned)limits->rules;
	tracing->max_apps = (unsigned)limits->programs;
	tracing->max_user_apps = (unsigned)limits->user_programs;
	tracing->max_ring_bytes = limits->ring_memory;
	tracing->max_users_ring_bytes = limits->users_ring_memory;
	tracing->max_trace_size = limits->trace_size;
	tracing->max_user_trace_size = limits->user_trace_size;
}

static int sessions_open(struct server *server)
{
	struct wmk_consumer_port_options port_options = { .size = sizeof(port_options),
					     .rundir = server->place.path,
					     .program = server->options->consumerd,
					     .keep = server->options->recovered != NULL,
					     .on_change = say,
					     .on_full = on_full,
					     .on_stale = on_stale,
					     .on_requested = on_requested,
					     .on_restarted = on_restarted,
					     .on_due = on_scheduled,
					     .data = server };
	const struct wmk_reaper_ops reaper = {
		.full = stop_full, .stale = regenerate_stale, .requested = snapshot_requested,
		.restarted = clock_restarted, .finish = finish,
		.data = server
	};
	struct wmk_clocks clocks;
	struct wmk_tracing_options tracing = { .size = sizeof(tracing),
					       .consumer = &wmk_consumer_port_ops,
					       .clocks = &clocks,
					       .on_id = on_id,
					       .on_ended = on_ended,
					       .on_counted = on_counted,
					       .on_identity = on_identity,
					       .on_dumps = on_dumps,
					       .data = server };
	char owner[WMK_KINSTANCE_OWNER];
	int err = wmk_clocks_measure(&clocks);

	if (err == 0)
		err = wmk_rotation_schedule_open(say, server, &server->schedule);
	limits_apply(server, &tracing);
	if (server->options->limits)
		port_options.keep_free = server->options->limits->disk_reserve;
	if (err == 0)
		err = wmk_kinstance_owner_dir(server->place.dir, owner);
	if (err == 0)
		err = wmk_consumer_port_open(&port_options, &server->port);
	if (err == 0)
		err = wmk_state_open(server->place.dir, server->options->recovered, log_first, server, &server->state);
	if (err == 0)
		err = wmk_reaper_open(&reaper, &server->reaper);
	if (err < 0)
		return err;
	if (server->options->recovered && wmk_state_sessions(server->state) == 0)
		return wmk_errorx(-ENOENT, "no session can be recovered%s%.240s",
				  *server->latest_message ? ": " : "", server->latest_message);
	if (!clocks.plugin_now && wmk_state_clocks(server->state, &clocks) < 0) {
		if (server->options->recovered)
			return wmk_error_number();
		log_cause(server);
	}
	tracing.kernel_owner = owner;
	tracing.consumer_data = server->port;
	tracing.first_rings_id = wmk_state_last_rings(server->state);
	err = wmk_tracing_open(&tracing, &server->tracing);
	if (err == 0)
		wmk_reattach_init(server->tracing);
	return err;
}

/* If there are no saved sessions and no running consumer daemon, there is nothing to take over. */
static int take_over(struct server *server)
{
	char words[600];

	if (wmk_state_sessions(server->state) == 0 && !wmk_consumer_port_has_consumer(server->port))
		return 0;
	int err = wmk_consumer_port_take_over(server->port);
	if (err < 0) {
		snprintf(words, sizeof(words), "sessions of an earlier daemon have no consumer daemon yet: ");
		wmk_error_text(words + strlen(words), sizeof(words) - strlen(words));
		say(server, words);
		wmk_error_clear();
	}
	if (wmk_state_identities(server->state, server->tracing) < 0)
		log_cause(server);
	unsigned n = wmk_state_restore(server->state, server->tracing, on_held, on_gone, server);
	wmk_consumer_port_taken_over(server->port);
	wmk_rotation_schedule_unfinished(server->tracing, server->reaper);
	return n || !server->options->recovered ? 0 : wmk_errorx(-ENODATA, "%s", server->latest_message);
}

static int listeners_open(struct server *server)
{
	const uid_t uid = geteuid();
	const struct wmk_clients_options clients = {
		.size = sizeof(clients), .listener = server->place.sockets[WMK_SESSIOND_CTL], .daemon = uid,
		.ops = { .command = command, .thread_begin = thread_begin, .thread_end = thread_end, .data = server },
	};

	server->commands = (struct wmk_commands){
		.tracing = server->tracing,
		.daemon = uid,
		.version = server->options->version,
		.rundir = server->place.path,
		.started = (uint64_t)time(NULL),
		.changed = on_changed,
		.finish_later = finish_later,
		.scheduled = on_scheduled,
		.shutdown = on_shutdown,
		.data = server,
	};
	int err =
		wmk_shards_listen(server->shards, server->place.sockets[WMK_SESSIOND_APP], uid == 0 ? (uid_t)-1 : uid);

	return err == 0 ? wmk_clients_open(&clients, &server->clients) : err;
}

/* The start time in clock ticks since boot; 0 if /proc cannot be read. */
static uint64_t own_start_time(void)
{
	uint64_t start_time;
	pid_t parent;
	char state;

	return wmk_process_stat(getpid(), &parent, &start_time, &state) ? start_time : 0;
}

static void announce(struct server *server)
{
	/*
	 * A daemon in a nested PID namespace does not publish its pid, because the pid is different outside this
	 * namespace.
	 */
	wmk_hints_set_daemon(&server->hints, wmk_kspaces_is_first_pid() ? getpid() : 0, own_start_time());
	wmk_notify_send(server->place.dir);
}

/* Load the saved sessions before notifying applications and before reporting readiness. */
static void load_saved(struct server *server)
{
	if (server->options->sessions && !server->options->recovered)
		wmk_saved_sessions_load(server->options->sessions, server->place.path, say, server);
}

static int server_open(struct server *server)
{
	int err = process_prepare(server);

	if (err == 0) {
		err = wmk_sessiond_rundir_open(server->options->rundir, server->options->inherited, &server->place);
		server->placed = err == 0;
	}
	if (err == 0)
		err = wmk_notify_create(server->place.dir);
	if (err == 0)
		err = wmk_hints_create(&server->hints, server->place.dir);
	if (err == 0)
		err = sessions_open(server);
	if (err == 0)
		err = take_over(server);
	if (err == 0) {
		wmk_tracing_sweep(server->tracing);
		if (wmk_state_identities_begin(server->state) < 0)
			log_cause(server);
	}
	if (err == 0)
		err = wmk_shards_open(server->tracing, wmk_shards_default(), &server->shards);
	if (err == 0)
		err = wmk_reaper_start(server->reaper);
	if (err == 0)
		err = wmk_rotation_schedule_start(server->schedule, server->tracing);
	if (err == 0)
		err = listeners_open(server);
	if (err == 0) {
		load_saved(server);
		announce(server);
	}
	return err;
}

/* ── run and end ─────────────────────────────────────────────────────────────────────────────────────── */

static void server_wait(struct server *server)
{
	struct pollfd fds[2] = { { .fd = server->signals, .events = POLLIN }, { .fd = server->end, .events = POLLIN } };

	while (poll(fds, 2, -1) < 0)
		;
	server->everything = (fds[1].revents & POLLIN) != 0;
}

/* Leave the current recording to the next session daemon. */
static void leave(struct server *server)
{
	wmk_consumer_port_leave(server->port);
	wmk_tracing_leave(server->tracing);
}

static void server_close(struct server *server)
{
	if (server->placed)
		wmk_sessiond_rundir_hide(&server->place);
	wmk_clients_close(server->clients);
	wmk_rotation_schedule_end(server->schedule);
	wmk_reaper_end(server->reaper);
	wmk_shards_close(server->shards);
	if (server->port && !server->everything)
		leave(server);
	wmk_tracing_close(server->tracing);
	if (server->port && server->everything && wmk_consumer_port_shutdown(server->port) < 0)
		wmk_error_clear();       /* the consumer daemon has ended, or ends by itself when it holds nothing */
	if (server->port)
		/* the threads of the port notify the reaper, so close the port first */
		wmk_consumer_port_close(server->port);
	wmk_reaper_close(server->reaper);
	wmk_rotation_schedule_close(server->schedule);
	wmk_state_close(server->state);
	wmk_hints_remove(&server->hints, server->place.dir);
	if (server->placed)
		wmk_sessiond_rundir_close(&server->place);
	if (server->signals >= 0)
		close(server->signals);
	if (server->end >= 0)
		close(server->end);
}

int wmk_server_run(const struct wmk_server_options *options)
{
	struct server server = { .options = options, .hints.fd = -1, .signals = -1, .end = -1 };
	char words[1024];

	if (options->size != sizeof(*options))
		return wmk_error(-EINVAL, "invalid server options: structure size");
	wmk_tracing_thread_begin();
	int err = server_open(&server);
	if (err == 0) {
		wmk_sd_notify(options->starter, "READY=1", NULL);
		server_wait(&server);
		wmk_sd_notify(options->starter, "STOPPING=1", NULL);
	} else {
		wmk_sd_notify(options->starter, NULL, wmk_error_text(words, sizeof(words)));
	}
	server_close(&server);
	wmk_tracing_thread_end();
	return err;
}
