/* SPDX-License-Identifier: MIT */
/*
 * app_conn.c - process messages of one application (wire/wire.h). No function blocks. The memory per application is
 * bounded: an application that exceeds a bound or violates the protocol is disconnected.
 */
#include "session/apps/app_conn.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "session/apps/app_accept.h"
#include "session/apps/app_channels.h"
#include "session/apps/app_end.h"
#include "session/apps/app_reconcile.h"
#include "session/apps/app_registry.h"
#include "session/apps/deferred_close.h"
#include "session/apps/shard_watch.h"
#include "session/apps/tracker.h"
#include "session/model/class_table.h"
#include "session/model/shard_table.h"
#include "session/model/unrecorded.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* an application that has missed a deadline must answer in this time before barriers wait for it again */
#define TIMELY_MS 1000
#define PIECE 65536u                 /* granularity of the accounting: smaller amounts are not charged */
#define FRAMES_AT_ONCE 64            /* receptions per turn; then other applications follow */

void wmk_app_notify(struct app *app)
{
	const struct wmk_shard_options *o = &app->shard->options;

	if (!o->on_app)
		return;
	if (app->record)
		o->on_app(o->data, &app->record->info);
	else if (app->slot)              /* applications beyond RECORDS_MAX have only these fields */
		o->on_app(o->data, &(struct wmk_app_info){ .pid = app->pid, .uid = app->uid, .name = "?",
							   .connected = app->socket >= 0, .alive = !app->dead });
}

/*
 * Keep the first error of an application. `last`: the connection ends with this error, which replaces an earlier error.
 */
static void record_error(struct app *app, int err, const char *words, bool last)
{
	struct app_record *r = app->record;

	if (!r || (r->info.error && !last))
		return;
	r->info.complained = false;
	r->info.error = err < 0 ? -err : err;
	wmk_error_format(r->why, sizeof(r->why), "%s", words);
	r->info.why = r->why;
}

static void events_free(struct app *app)
{
	free(app->events);
	free(app->fresh);
	app->events = NULL;
	app->fresh = NULL;
	app->n_events = app->cap_events = app->live_events = app->n_fresh = app->cap_fresh = 0;
}

/*
 * Return the number of bytes in buffers that the application can grow: messages, events, enabled bits and filters.
 * The result is rounded down to a multiple of PIECE.
 */
static size_t bytes_kept(const struct app *app)
{
	size_t bytes = app->in.cap + app->out.cap + app->cap_events * sizeof(*app->events) +
		       app->cap_fresh * sizeof(*app->fresh);

	for (uint32_t i = 0; i < app->n_channels; i++)
		bytes += app->channels[i].n_words * sizeof(uint64_t) + app->channels[i].n_filters * sizeof(uint64_t);
	return bytes - bytes % PIECE;
}

/*
 * Each connection has its own bounds, but thousands of connections of one user could exhaust the memory together.
 * Returns true if the connections of the user exceed the limit and this connection has just grown.
 */
static bool keeps_too_much(struct app *app)
{
	const size_t was = app->kept, is = bytes_kept(app);

	if (!app->acceptor || is == was)
		return false;
	app->kept = is;
	return wmk_accept_keeps(app->acceptor, app->uid, was, is) > app->shard->options.max_kept && is > was;
}

void wmk_app_close(struct app *app, int err)
{
	char words[256];

	if (app->socket < 0)
		return;
	if (err < 0) {
		record_error(app, err, wmk_error_text(words, sizeof(words)), true);
		if (app->state == APP_ADMITTED)
			wmk_unrecorded_app(app, WMK_UNRECORDED_DROPPED, 0, words);
		app->shard->stats.apps_dropped += app->state == APP_ADMITTED;
	}
	app->shard->stats.apps_connected -= app->state == APP_ADMITTED;
	app->state = APP_CLOSED;
	app->shard->some_left = true;
	wmk_shard_unwatch_socket(app->shard, app->socket, app->uid);
	app->socket = -1;
	wmk_in_free(&app->in);
	wmk_out_free(&app->out);
	events_free(app);
	keeps_too_much(app);             /* charges less than before; the result does not matter */
	if (app->record)
		app->record->info.connected = false;
	wmk_app_notify(app);
}

void wmk_app_flush(struct app *app)
{
	if (app->socket < 0)
		return;
	int sent = wmk_out_send(&app->out, app->socket);
	if (sent < 0 && sent != -EPIPE && sent != -ECONNRESET) {
		wmk_app_close(app, wmk_error(sent, "cannot send to the application"));
		return;
	}
	/*
	 * A peer may have sent messages before it closed. The shard reads the remaining messages of a closed peer up to
	 * the end of file.
	 */
	if (sent < 0)
		wmk_out_free(&app->out);
	if (sent == 0 && wmk_out_queued(&app->out) > app->shard->options.max_queue) {
		wmk_app_close(app, wmk_errorx(-ENOBUFS,
					     "the application does not read its messages: %zu bytes are queued",
					     wmk_out_queued(&app->out)));
		return;
	}
	wmk_out_idle(&app->out);
	if (keeps_too_much(app)) {
		wmk_app_close(app,
			      wmk_errorx(-ENOBUFS,
					 "applications of user %u exceed the memory that is kept for one user: "
					 "%llu bytes",
					 (unsigned)app->uid, (unsigned long long)app->shard->options.max_kept));
		return;
	}
	bool writing = sent == 0;
	if (writing != app->writing &&
	    wmk_shard_watch(app->shard, app->socket, &app->socket_source, false, writing) == 0)
		app->writing = writing;
}

void wmk_app_refuse(struct app *app, uint32_t request, int err, const char *words)
{
	if (app->state == APP_SILENT)
		app->shard->stats.apps_refused++;
	record_error(app, err, words, true);
	wmk_unrecorded_app(app, WMK_UNRECORDED_REFUSED, 0, words);
	if (app->record)
		app->record->info.alive = false;         /* the process is not watched any more */
	if (wmk_out_error(&app->out, WMK_MSG_REFUSED, request, err, words) == 0)
		wmk_out_send(&app->out, app->socket);    /* fits: the socket buffer is empty */
	wmk_app_close(app, 0);
}

static int reply_error(struct app *app, uint32_t request, int err)
{
	char words[256];

	return wmk_out_error(&app->out, WMK_MSG_ERROR, request, err, wmk_error_text(words, sizeof(words)));
}

/* ── HELLO ───────────────────────────────────────────────────────────────────────────────────────────── */

static void record_make(struct app *app)
{
	struct wmk_shard *shard = app->shard;
	struct app_record *r = !shard->options.keep || shard->n_records < RECORDS_MAX ? calloc(1, sizeof(*r)) : NULL;

	if (!r)
		return;
	memcpy(r->name, app->name, sizeof(r->name));
	r->info = (struct wmk_app_info){
		.pid = app->pid, .uid = app->uid, .name = r->name, .connected = true, .alive = !app->dead
	};
	if (shard->options.keep)
		shard->records[shard->n_records++] = r;
	app->record = r;
	/* A new program in the same process (exec): the earlier program has ended, though its pid exists. */
	for (struct app *other = NULL; (other = wmk_registry_process(shard, app->pid, other)) != NULL;)
		if (other != app && other->state == APP_CLOSED && other->record)
			other->record->info.alive = false;
}

static void name_take(struct app *app, const char *name)
{
	snprintf(app->name, sizeof(app->name), "%s", name);
	for (char *c = app->name; *c; c++)
		if (*c < 0x20 || *c > 0x7e)
			*c = '?';
}

/*
 * A process that registers again (after exec() or setuid()) keeps its slot and its pidfd. If each registration held a
 * slot until the process ends, a server that changes its user for every request would use up all slots.
 */
static bool take_over(struct app *app)
{
	for (struct app *old = NULL; (old = wmk_registry_process(app->shard, app->pid, old)) != NULL;) {
		struct pollfd death = { .fd = old->pidfd, .events = POLLIN };

		/* a new connection does not clear a missed deadline */
		app->missed |= old->missed;
		if (old == app || old->state != APP_CLOSED || !old->slot || old->dead || old->pidfd < 0 ||
		    poll(&death, 1, 0) != 0)
			continue;
		app->slot = old->slot;
		app->generation = old->generation;
		wmk_app_inherit_claims(app, old);
		old->slot = 0;
		app->shard->some_left = true;
		app->shard->stats.apps_alive--;
		return true;
	}
	return false;
}

static int take_hello(struct app *app, const struct wmk_frame *frame, const void *body)
{
	struct wmk_shard *shard = app->shard;
	const struct wmk_tracing *tracing = shard->tracing;
	const char *clock = tracing->clocks.plugin_now ? tracing->clocks.of[WMK_CLOCK_PLUGIN].name : "";
	struct wmk_welcome welcome = { .abi = WMK_WIRE_ABI, .flags = shard->options.persist ? WMK_WELCOME_PERSIST : 0 };
	struct wmk_hello hello;
	char words[256];

	if (app->state != APP_SILENT)
		return reply_error(app, frame->request, wmk_errorx(-EALREADY, "HELLO was sent already"));
	int err = wmk_hello_decode(body, frame->length, &hello);
	if (err < 0)
		return err;
	name_take(app, hello.name);
	record_make(app);
	app->image = hello.image;
	app->forked_by = hello.pid == (uint32_t)app->pid && hello.ppid <= INT32_MAX ? (pid_t)hello.ppid : 0;
	/* not for an ended process: its pid may belong to another process by now */
	if (!app->dead)
		wmk_shard_replaced(shard, app);
	if (hello.abi != WMK_WIRE_ABI || hello.word_bits != 64) {
		snprintf(words, sizeof(words),
			 "the application uses ABI %u with %u bits, but this session daemon needs ABI %u with 64 bits",
			 hello.abi, hello.word_bits, WMK_WIRE_ABI);
		wmk_app_refuse(app, frame->request, -EPROTONOSUPPORT, words);
		return 0;
	}
	if (strcmp(hello.clock, clock) != 0) {
		snprintf(words, sizeof(words), "the program's clock is '%s', the session's is '%s'",
			 hello.clock[0] ? hello.clock : "the machine's",
			 clock[0] ? clock : "the machine's");
		wmk_app_refuse(app, frame->request, -EINVAL, words);
		return 0;
	}
	if ((app->dead || !take_over(app)) && wmk_slot_claim(shard->tracing, &app->slot, &app->generation) < 0) {
		wmk_limit_reached(shard->tracing, -EMFILE, "programs", "too many applications: the limit is %u",
				  shard->tracing->options.max_apps);
		wmk_error_text(words, sizeof(words));
		wmk_error_clear();
		wmk_app_refuse(app, frame->request, -EMFILE, words);
		return 0;
	}
	if (tracing->options.on_identity)
		tracing->options.on_identity(tracing->options.data,
					     &(struct wmk_identity){ .slot = app->slot,
								     .generation = app->generation,
								     .pid = app->pid,
								     .birth = wmk_app_birth(app) });
	welcome.slot = app->slot;
	welcome.generation = app->generation;
	app->state = APP_ADMITTED;
	wmk_unrecorded_admitted(app);
	shard->stats.apps_seen++;
	shard->stats.apps_connected++;
	shard->stats.apps_alive += !app->dead;
	err = wmk_out_frame(&app->out, WMK_MSG_WELCOME, frame->request, &welcome, sizeof(welcome), -1);
	wmk_app_notify(app);
	return err;
}

/* ── events ──────────────────────────────────────────────────────────────────────────────────────────── */

/* Make room for event `number`; the memory is proportional to what the application has sent. */
static int event_room(struct app *app, uint32_t number)
{
	if (number >= NUMBER_MAX || number >= app->n_events + NUMBER_GAP)
		return wmk_error(-EPROTO, "invalid event number %u: the next number is %u, and the limit is %u", number,
				 app->n_events, NUMBER_MAX);
	struct app_event *events = wmk_array_reach(app->events, number, &app->cap_events, sizeof(*events));
	if (events)
		app->events = events;
	uint32_t *fresh = wmk_array_room(app->fresh, app->n_fresh, &app->cap_fresh, sizeof(*fresh));
	if (fresh)
		app->fresh = fresh;
	if (!events || !fresh)
		return wmk_error(-ENOMEM, "no memory for the events of an application");
	if (app->events[number].class)
		return wmk_error(-EPROTO, "event number %u is registered twice", number);
	if (number >= app->n_events)
		app->n_events = number + 1;
	return 0;
}

static int take_event(struct app *app, const struct wmk_frame *frame, const void *body)
{
	const struct wmk_shard_options *o = &app->shard->options;
	struct class *class;
	const void *encoded;
	size_t len;
	uint32_t number;
	int err = wmk_event_msg_decode(body, frame->length, &number, &encoded, &len);

	if (err == 0)
		err = event_room(app, number);
	if (err < 0)
		return err;
	app->bytes += len;
	if (app->live_events == o->max_events || app->bytes > o->max_bytes)
		return wmk_errorx(-E2BIG,
				  "the application registers more than %u events or %zu bytes of descriptions",
				  o->max_events, o->max_bytes);
	err = wmk_class_lookup(app->shard->tracing, encoded, len, app->uid, &class);
	app->events[number].refused = err < 0;
	if (err < 0)                     /* only this event cannot be traced */
		return reply_error(app, frame->request, wmk_error_add(err, "event number %u", number));
	app->events[number].class = class;
	app->fresh[app->n_fresh++] = number;
	app->live_events++;
	if (app->record && !class->own)
		app->record->info.events++;
	return 0;
}

static int take_event_gone(struct app *app, const struct wmk_frame *frame, const void *body)
{
	uint32_t number;
	int err = wmk_u32_decode(body, frame->length, &number);

	if (err < 0)
		return err;
	if (number < app->n_events && app->events[number].refused) {
		app->events[number].refused = false;
		return 0;
	}
#ifdef WMK_PLANTED_BUG_SESSION               /* the fuzzer must find this */
	if (number > app->cap_events)
#else
	if (number >= app->n_events || !app->events[number].class)
#endif
		return wmk_error(-EPROTO, "event number %u is unregistered but was never registered", number);
	app->events[number] = (struct app_event){ .class = NULL };
	wmk_app_event_gone(app, number);
	app->live_events--;
	return 0;
}

/* ── messages ────────────────────────────────────────────────────────────────────────────────────────── */

static int take_end(struct app *app, const struct wmk_frame *frame, const void *body)
{
	uint32_t batch;
	int err = wmk_u32_decode(body, frame->length, &batch);

	if (err < 0)
		return err;
	if (!app->complete)
		wmk_unrecorded_complete(app);
	app->complete = true;
	wmk_reconcile_fresh_events(app);
	if (app->socket < 0)
		return 0;
	err = wmk_out_u32(&app->out, WMK_MSG_DONE, batch);
	if (err == 0 && app->sync_pending) {
		app->sync_pending = false;
		err = wmk_out_u32(&app->out, WMK_MSG_SYNC, app->sync_sent);
	}
	return err;
}

static int take_synced(struct app *app, const struct wmk_frame *frame, const void *body)
{
	uint32_t sync;
	int err = wmk_u32_decode(body, frame->length, &sync);

	/*
	 * An answer to one SYNC also answers all earlier SYNCs of the connection. The daemon ignores a SYNC number that
	 * was never sent.
	 */
	if (err < 0 || app->sync_first == 0 || sync < app->sync_first || sync > app->sync_sent)
		return err;
	app->sync_answered = sync;
	app->sync_first = sync == app->sync_sent ? 0 : sync + 1;
	/* An application that answers late every time must not delay every command. */
	if (!app->sync_first && wmk_clock_ms() - app->sync_sent_at <= TIMELY_MS)
		app->missed = false;
	return 0;
}

/* Reattach rings of an earlier daemon. Rings that fail the checks are refused, and the connection stays open. */
static int take_rings(struct app *app, const struct wmk_frame *frame, const void *body, int fd)
{
	struct wmk_rings_msg rings;
	int err = wmk_rings_decode(body, frame->length, &rings);

	if (err == 0 && fd < 0)
		err = wmk_error(-EPROTO, "message RINGS has no file descriptor");
	if (err < 0)
		return err;
	const struct wmk_reattach_ops *reattach = app->shard->tracing->reattach;

	err = reattach ? reattach->app_rings(app, rings.uuid, fd) : 0;
	return err < 0 ? reply_error(app, frame->request, err) : 0;
}

static void complained(struct app *app, int err, const char *words)
{
	if (!app->record || app->record->info.error)
		return;
	record_error(app, err, words, false);
	app->record->info.complained = true;
}

static int take_error(struct app *app, const struct wmk_frame *frame, const void *body)
{
	char words[256];
	int number, err = wmk_error_msg_decode(body, frame->length, &number, words, sizeof(words));

	if (err < 0)
		return err;
	complained(app, number, words);
	wmk_unrecorded_app(app, number == ETIMEDOUT ? WMK_UNRECORDED_LATE : number == EPERM ? WMK_UNRECORDED_TEXT :
			   WMK_UNRECORDED_COMPLAINT, 0, words);
	return 0;
}

static int take_unrecorded(struct app *app, const struct wmk_frame *frame, const void *body)
{
	struct wmk_unrecorded_msg msg;
	int err = wmk_unrecorded_decode(body, frame->length, &msg);

	if (err < 0)
		return err;
	complained(app, msg.err ? (int)msg.err : EPERM, wmk_unrecorded_messages[msg.reason]);
	return wmk_unrecorded_take(app, &msg);
}

/* 0, or -errno: the connection ends. */
static int take(struct app *app, const struct wmk_frame *frame, const void *body, int fd)
{
	if (app->state == APP_SILENT && frame->type != WMK_MSG_HELLO)
		return reply_error(app, frame->request, wmk_error(-EPROTO, "message %u before HELLO", frame->type));
	switch (frame->type) {
	case WMK_MSG_HELLO:
		return take_hello(app, frame, body);
	case WMK_MSG_EVENT:
		return take_event(app, frame, body);
	case WMK_MSG_EVENTS_END:
		return take_end(app, frame, body);
	case WMK_MSG_SYNCED:
		return take_synced(app, frame, body);
	case WMK_MSG_EVENT_GONE:
		return take_event_gone(app, frame, body);
	case WMK_MSG_ERROR:
		return take_error(app, frame, body);
	case WMK_MSG_UNRECORDED:
		return take_unrecorded(app, frame, body);
	case WMK_MSG_RINGS:
		return take_rings(app, frame, body, fd);
	default:
		return reply_error(app, frame->request,
				   wmk_error(-ENOSYS, "unknown message type %u from the application", frame->type));
	}
}

static void frames_take(struct app *app)
{
	struct wmk_frame frame;
	const void *body;
	char words[256];
	int fd, err;

	while (app->socket >= 0 && (err = wmk_in_frame(&app->in, &frame, &body, &fd)) != 0) {
		if (err == 1)
			err = take(app, &frame, body, fd);
		else if (err == -EPROTONOSUPPORT)
			wmk_app_refuse(app, frame.request, err, wmk_error_text(words, sizeof(words)));
		if (fd >= 0)
			/* a message may carry a descriptor that it does not need */
			wmk_deferred_close_file(fd, app->uid);
		if (err < 0)
			wmk_app_close(app, err);
	}
}

void wmk_app_readable(struct app *app)
{
	bool more = true;
	int came = 1;

	if (app->socket >= 0 && wmk_deferred_close_is_full(app->uid))
		wmk_app_close(app, wmk_error(-EMFILE, "user %u has sent too many descriptors that cannot be closed",
					     (unsigned)app->uid));
	/*
	 * A reception that does not fill the buffer has read all pending data, so the shard makes no further system
	 * call.
	 */
	for (int i = 0; i < FRAMES_AT_ONCE && came == 1 && more && app->socket >= 0; i++) {
		came = wmk_in_receive(&app->in, app->socket);
		more = app->in.len == app->in.cap;
		if (came == 1)
			frames_take(app);
		/* The output queue is bounded at every step, not only at the end. */
		if (wmk_out_queued(&app->out) > 65536)
			wmk_app_flush(app);
	}
	if (app->socket >= 0 && (came == 0 || (came < 0 && came != -EAGAIN)))
		wmk_app_close(app, came == -ENOMEM ? came : 0);
	/*
	 * A sender of descriptors without messages would exhaust the daemon's descriptors. If the shard has read all
	 * pending data, at most one received descriptor has no message yet: the descriptor of an incomplete message.
	 * If data is still pending, one reception may have brought up to WMK_WIRE_FDS_AT_ONCE descriptors without their
	 * messages.
	 */
	if (app->socket >= 0 && app->in.n_fds > (came < 0 || !more ? 1 : WMK_WIRE_FDS_AT_ONCE))
		wmk_app_close(app, wmk_error(-EPROTO, "%u file descriptors arrived without their messages",
					     app->in.n_fds));
	wmk_in_idle(&app->in);           /* idle applications hold no buffers */
	wmk_app_flush(app);
}

void wmk_app_drain(struct app *app)
{
	/*
	 * A process that has ended sends nothing more, so at most the content of its socket buffer is left. Other
	 * processes may hold the application's end of the socket open. The daemon does not read data that other
	 * processes send later through this socket.
	 */
	for (int i = 0; i < FRAMES_AT_ONCE && app->socket >= 0 && !wmk_deferred_close_is_full(app->uid); i++) {
		if (wmk_in_receive(&app->in, app->socket) != 1)
			break;
		frames_take(app);
		if (app->socket >= 0)
			wmk_out_free(&app->out);
	}
	wmk_app_close(app, 0);
}

void wmk_app_free(struct app *app)
{
	if (app->socket >= 0)
		wmk_shard_unwatch_socket(app->shard, app->socket, app->uid);
	if (app->pidfd >= 0)
		wmk_shard_unwatch(app->shard, app->pidfd);
	wmk_in_free(&app->in);
	wmk_out_free(&app->out);
	events_free(app);
	wmk_app_channels_free(app);
	if (app->acceptor && app->kept)
		wmk_accept_keeps(app->acceptor, app->uid, app->kept, 0);
	if (!app->shard->options.keep)
		free(app->record);
	free(app->exe);
	free(app->untracked);
	free(app);
}
