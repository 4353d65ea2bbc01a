/* SPDX-License-Identifier: MIT */
/* conn.c - see conn.h. The file handles the messages of one session daemon (wire.h). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "base/testpoint.h"
#include "tracer/channel.h"
#include "tracer/clock.h"
#include "tracer/conn.h"
#include "tracer/filter.h"
#include "tracer/patch.h"
#include "tracer/process.h"
#include "tracer/recorder.h"
#include "tracer/statedump.h"
#include "tracer/tracer.h"

/* limit of queued answers, in addition to event announcements, in bytes */
#define REPLIES_MAX 65536u

static int send_hello(struct wmk_conn *conn)
{
	struct wmk_hello hello = {
		.abi = WMK_WIRE_ABI, .word_bits = 64, .pid = (uint32_t)getpid(), .ppid = (uint32_t)wmk_process_parent(),
		.image = wmk_process_image(),
	};

	hello.start_time = wmk_process_describe(hello.name, sizeof(hello.name));
	wmk_clock_describe(&hello);
	return wmk_out_hello(&conn->out, &hello);
}

/* Accept only a session daemon of root or of this user. */
static int check_peer(struct wmk_conn *conn)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(conn->sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
		return -errno;
	conn->peer = peer.pid;
	return peer.uid == 0 || peer.uid == geteuid() ? 0 : -EPERM;
}

int wmk_conn_open(struct wmk_conn *conn, const char *path, unsigned endpoint)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int err;

	memset(conn, 0, sizeof(*conn));
	conn->sock = -1;
	conn->endpoint = (uint8_t)endpoint;
	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	conn->sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (conn->sock < 0)
		return -errno;
	err = connect(conn->sock, (struct sockaddr *)&addr, sizeof(addr)) == 0 ? check_peer(conn) : -errno;
	if (err == 0)
		err = send_hello(conn);
	if (err < 0) {
		close(conn->sock);
		conn->sock = -1;
	}
	return err;
}

void wmk_conn_close(struct wmk_conn *conn, bool keep)
{
	if (conn->sock < 0)
		return;
	wmk_channels_disown(conn, keep);
	close(conn->sock);
	wmk_out_free(&conn->out);
	wmk_in_free(&conn->in);
	free(conn->announced);
	memset(conn, 0, sizeof(*conn));
	conn->sock = -1;
}

/* ── events ──────────────────────────────────────────────────────────────────────────────────────────── */

static int send_event(struct wmk_conn *conn, const struct wmk_event *event)
{
	size_t need = 0;
	long len = wmk_event_encode(event->class, NULL, 0, &need);
	void *buf = malloc(need ? need : 1);
	int err = buf ? 0 : -ENOMEM;

	if (!err) {
		len = wmk_event_encode(event->class, buf, need, &need);
		err = len < 0 ? (int)len : wmk_out_event(&conn->out, event->number, buf, (size_t)len);
	}
	free(buf);
	return err;
}

static int announce_event(struct wmk_conn *conn, struct wmk_event *event)
{
	uint32_t *known = &conn->announced[event->number];
	uint32_t is = wmk_event_is_loaded(event) ? event->life + 1 : 0;
	int err = 0;

	if (*known == is)
		return 0;
	if (*known)
		err = wmk_out_u32(&conn->out, WMK_MSG_EVENT_GONE, event->number);
	if (!err && is)
		err = send_event(conn, event);
	if (!err)
		*known = is;
	return err;
}

int wmk_conn_announce(struct wmk_conn *conn)
{
	uint32_t n = wmk_tracer.n_events;
	int err = 0;

	/*
	 * The queue must not grow, so a session daemon that does not read receives no announcement. When the session
	 * daemon reads again, one announcement reports the current state of the events.
	 */
	if (conn->sent_any && wmk_out_queued(&conn->out))
		return 0;
	/*
	 * Announcements normally follow HELLO at once, so that the session daemon needs only one read. If the
	 * application has orphans of this endpoint, announcements wait for WELCOME: the application sends its orphans
	 * before the announcements.
	 */
	if ((!conn->welcomed && wmk_channels_has_orphans(conn->endpoint)) ||
	    (conn->sent_any && conn->sent_batch == wmk_tracer.changes))
		return 0;
	if (n > conn->n_announced) {
		uint32_t *more = realloc(conn->announced, n * sizeof(*more));

		if (!more)
			return -ENOMEM;
		memset(more + conn->n_announced, 0, (n - conn->n_announced) * sizeof(*more));
		conn->announced = more;
		conn->n_announced = n;
	}
	for (uint32_t i = 0; i < n && !err; i++)
		err = announce_event(conn, wmk_tracer.events[i]);
	if (!err)
		err = wmk_out_u32(&conn->out, WMK_MSG_EVENTS_END, wmk_tracer.changes);
	conn->sent_batch = wmk_tracer.changes;
	conn->sent_any = true;
	conn->announced_bytes = wmk_out_queued(&conn->out);
	return err;
}

/* limit of reports: usually all events have the same problem */
#define REPORTS_MAX 16u

static int report_late(struct wmk_conn *conn)
{
	char words[200];

	if (conn->late_ms)
		snprintf(words, sizeof(words),
			 "registration took longer than the %u ms of WAYMARK_REGISTER_TIMEOUT: "
			 "the first records may be missing",
			 conn->late_ms);
	else
		snprintf(words, sizeof(words),
			 "the application did not wait for its registration, because the session daemon was stopped: "
			 "the first records may be missing");
	conn->late_ms = 0;
	conn->was_skipped = false;
	return wmk_out_error(&conn->out, WMK_MSG_ERROR, 0, ETIMEDOUT, words);
}

int wmk_conn_report_problems(struct wmk_conn *conn)
{
	uint32_t from = conn->untraceable_reported;
	int err = 0;

	if (conn->welcomed && (conn->late_ms || conn->was_skipped))
		err = report_late(conn);
	if (err < 0 || !conn->welcomed || from == wmk_tracer.n_untraceable)
		return err;
	conn->untraceable_reported = wmk_tracer.n_untraceable;
	for (uint32_t i = 0; i < wmk_tracer.n_events && from < REPORTS_MAX && !err; i++) {
		const struct wmk_event *event = wmk_tracer.events[i];
		char words[512];

		if (event->untraceable_serial <= from || event->untraceable_serial > REPORTS_MAX)
			continue;
		wmk_error_format(words, sizeof(words), "%.120s:%.120s cannot be traced: %s", event->class->provider,
				 event->class->name, event->untraceable);
		err = wmk_out_error(&conn->out, WMK_MSG_ERROR, 0, EPERM, words);
	}
	return err;
}

/* ── commands ────────────────────────────────────────────────────────────────────────────────────────── */

int wmk_conn_unrecorded(struct wmk_conn *conn, enum wmk_unrecorded reason, int err, uint32_t channel)
{
	const uint32_t number = (uint32_t)(err < 0 ? -err : err);
	const struct wmk_unrecorded_msg msg = { .reason = reason, .err = number, .channel = channel };

	return wmk_out_frame(&conn->out, WMK_MSG_UNRECORDED, 0, &msg, sizeof(msg), -1);
}

void wmk_conn_report_user_change(struct wmk_conn *conn)
{
	if (conn->sock >= 0 && wmk_conn_unrecorded(conn, WMK_UNRECORDED_USER, 0, UINT32_MAX) == 0)
		wmk_out_send(&conn->out, conn->sock);
	wmk_error_clear();
}

void wmk_conn_report_once(const char *path, enum wmk_unrecorded reason, int err)
{
	struct wmk_conn conn;

	if (wmk_conn_open(&conn, path, 0) == 0 && wmk_conn_unrecorded(&conn, reason, err, UINT32_MAX) == 0)
		wmk_out_send(&conn.out, conn.sock);      /* fits into the empty socket buffer */
	if (conn.sock >= 0)
		close(conn.sock);
	wmk_out_free(&conn.out);
	wmk_error_clear();
}

static enum wmk_unrecorded why_no_rings(int err)
{
	struct rlimit limit;

	if (err == -ENOMEM && getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		return WMK_UNRECORDED_ADDRESS_SPACE;
	if (err == -EMFILE || err == -ENFILE)
		return WMK_UNRECORDED_DESCRIPTORS;
	return err == -ENOMEM ? WMK_UNRECORDED_MEMORY : WMK_UNRECORDED_MAP;
}

static int on_channel(struct wmk_conn *conn, const void *body, size_t len, int *fd)
{
	struct wmk_channel_msg msg;
	int err = wmk_channel_decode(body, len, &msg);

	if (err < 0)
		return err;
	err = wmk_channel_receive(conn, &msg, fd);
	if (err != -ENOMEM && err != -EPERM && err != -EACCES && err != -EMFILE && err != -ENFILE)
		return err;
	wmk_error_clear();
	conn->unmapped = true;
	return wmk_conn_unrecorded(conn, why_no_rings(err), err, msg.channel);
}

static int on_channel_flags(struct wmk_conn *conn, const void *body, size_t len)
{
	struct wmk_channel_flags_msg msg;
	int err = wmk_channel_flags_decode(body, len, &msg);
	struct wmk_channel *channel = err < 0 ? NULL : wmk_channel_find(conn, msg.channel);

	if (err < 0)
		return err;
	if (!channel)
		return wmk_error(-ENOENT, "no channel %u", msg.channel);
	channel->is_private = (msg.flags & WMK_CHANNEL_PRIVATE) != 0;
	return 0;
}

static int on_channel_gone(struct wmk_conn *conn, const void *body, size_t len)
{
	uint32_t number;
	int err = wmk_u32_decode(body, len, &number);
	struct wmk_channel *channel = err < 0 ? NULL : wmk_channel_find(conn, number);

	if (err < 0)
		return err;
	if (!channel)
		return wmk_error(-ENOENT, "no channel %u", number);
	wmk_channel_remove(channel);
	return 0;
}

/*
 * Takes ownership of `filter`. If the old or the new recorder has a filter, the new recorder replaces the old recorder
 * at the same position in the chain.
 */
static int enable(struct wmk_channel *channel, struct wmk_event *event, uint32_t id, struct wmk_filter_block *filter)
{
	struct waymark_recorder *e = wmk_recorder_find(event, channel);
	bool done;

	if (!wmk_event_is_loaded(event)) {
		wmk_filter_block_free(filter);
		return 0;               /* its library was unloaded; EVENT_GONE will follow */
	}
	if (e && e->id == id && !filter && !e->filter) {
		e->adopted = true;
		return 0;
	}
	if (e && e->id == id) {
		done = wmk_recorder_replace(e, channel, id, filter) == 0;
	} else {
		if (e)
			wmk_recorder_remove(e);
		done = wmk_recorder_add(event, channel, id, filter) != NULL;
	}
	if (!done)
		wmk_filter_block_free(filter);
	if (!done)
		return wmk_error(-ENOMEM, "no memory to enable %s:%s", event->class->provider, event->class->name);
	wmk_patch_later(event);
	return 0;
}

/*
 * If the event has a recorder of the channel `from`, replace this recorder by a recorder of `channel` with the same
 * filter.
 */
static int move(struct wmk_channel *channel, struct wmk_event *event, uint32_t id, const struct wmk_channel *from)
{
	struct waymark_recorder *before = wmk_recorder_find(event, from), *e = wmk_recorder_find(event, channel);

	if (!before || !wmk_event_is_loaded(event))
		return 0;
	struct wmk_filter_block *filter = wmk_filter_block_copy(before->filter);

	if (before->filter && !filter)
		return wmk_error(-ENOMEM, "no memory to move %s:%s to other rings", event->class->provider,
				 event->class->name);
	if (e) {
		wmk_recorder_remove(before);
		return enable(channel, event, id, filter);
	}
	if (wmk_recorder_replace(before, channel, id, filter) < 0) {
		wmk_filter_block_free(filter);
		return wmk_error(-ENOMEM, "no memory to move %s:%s to other rings", event->class->provider,
				 event->class->name);
	}
	wmk_patch_later(event);
	return 0;
}

static int on_enable(struct wmk_conn *conn, const void *body, size_t len)
{
	struct wmk_filter_block *filter = NULL;
	struct wmk_enable_msg msg;
	const void *program;
	size_t program_len;
	int err = wmk_enable_decode(body, len, &msg, &program, &program_len);

	if (err < 0)
		return err;
	struct wmk_channel *channel = wmk_channel_find(conn, msg.channel);

	if (!channel || msg.event >= wmk_tracer.n_events)
		return wmk_error(-ENOENT, "no channel %u, or no event %u", msg.channel, msg.event);
	if (program_len)
		err = wmk_filter_bind(wmk_tracer.events[msg.event], program, program_len, &filter);
	/*
	 * Without a valid filter the event is not enabled. A later session daemon may use a newer filter format, so the
	 * application keeps the connection and rejects only this ENABLE message.
	 */
	if (err < 0)
		return err == -EPROTO ? -EINVAL : err;
	return enable(channel, wmk_tracer.events[msg.event], msg.id, filter);
}

static int on_move(struct wmk_conn *conn, const void *body, size_t len)
{
	struct wmk_move_msg msg;
	int err = wmk_move_decode(body, len, &msg);

	if (err < 0)
		return err;
	struct wmk_channel *channel = wmk_channel_find(conn, msg.channel), *from = wmk_channel_find(conn, msg.from);
	struct waymark_recorder *stays = from && !channel && msg.event < wmk_tracer.n_events ?
						wmk_recorder_find(wmk_tracer.events[msg.event], from) : NULL;

	if (stays)
		stays->adopted = true;  /* the new channel's rings could not be mapped: the old recorder stays */
	if (!channel || !from || channel == from || msg.event >= wmk_tracer.n_events)
		return wmk_error(-ENOENT, "no channels %u and %u, or no event %u", msg.channel, msg.from, msg.event);
	return move(channel, wmk_tracer.events[msg.event], msg.id, from);
}

static int on_disable(struct wmk_conn *conn, const void *body, size_t len)
{
	struct wmk_disable_msg msg;
	int err = wmk_disable_decode(body, len, &msg);
	struct wmk_channel *channel = err < 0 ? NULL : wmk_channel_find(conn, msg.channel);

	if (err < 0)
		return err;
#ifndef WMK_PLANTED_BUG_TRACER_CONN          /* the fuzzer must find this */
	if (!channel || msg.event >= wmk_tracer.n_events)
		return wmk_error(-ENOENT, "no channel %u, or no event %u", msg.channel, msg.event);
#endif
	struct waymark_recorder *e = wmk_recorder_find(wmk_tracer.events[msg.event], channel);

	if (e)
		wmk_recorder_remove(e);
	return 0;
}

static int on_done(struct wmk_conn *conn, const void *body, size_t len)
{
	int err = wmk_u32_decode(body, len, &conn->done_batch);

	if (err < 0)
		return err;
	if (!conn->done_any)
		wmk_channels_confirmed(conn);
	conn->done_any = true;
	return 0;
}

static int on_welcome(struct wmk_conn *conn, const void *body, size_t len)
{
	struct wmk_welcome welcome;
	int err = wmk_welcome_decode(body, len, &welcome);

	if (err < 0)
		return err;
	if (welcome.abi != WMK_WIRE_ABI || conn->welcomed)
		return wmk_error(-EPROTO, "unexpected WELCOME: protocol version %u of the session daemon, %d of the "
				 "application", welcome.abi, WMK_WIRE_ABI);
	conn->slot = welcome.slot;
	conn->generation = welcome.generation;
	conn->persist = (welcome.flags & WMK_WELCOME_PERSIST) != 0;
	conn->welcomed = true;
	return conn->persist ? wmk_channels_hand_back(conn) : 0;
}

static int on_refused(struct wmk_conn *conn, const void *body, size_t len)
{
	char words[256];

	if (wmk_error_msg_decode(body, len, &conn->refused, words, sizeof(words)) < 0)
		conn->refused = EPROTO;
	return -ECONNREFUSED;
}

/* Returns 0; -EPROTO, -ECONNREFUSED: the caller closes the connection; other errors concern this message only. */
static int handle_frame(struct wmk_conn *conn, const struct wmk_frame *frame, const void *body, int *fd)
{
	if (!conn->welcomed && frame->type != WMK_MSG_WELCOME && frame->type != WMK_MSG_REFUSED &&
	    frame->type != WMK_MSG_ERROR)
		return wmk_error(-EPROTO, "unexpected message type %u before WELCOME", frame->type);
	WMK_TESTPOINT(helper_obeying);
	switch (frame->type) {
	case WMK_MSG_WELCOME:
		return on_welcome(conn, body, frame->length);
	case WMK_MSG_REFUSED:
		return on_refused(conn, body, frame->length);
	case WMK_MSG_CHANNEL:
		return on_channel(conn, body, frame->length, fd);
	case WMK_MSG_CHANNEL_FLAGS:
		return on_channel_flags(conn, body, frame->length);
	case WMK_MSG_CHANNEL_GONE:
		return on_channel_gone(conn, body, frame->length);
	case WMK_MSG_ENABLE:
		return on_enable(conn, body, frame->length);
	case WMK_MSG_DISABLE:
		return on_disable(conn, body, frame->length);
	case WMK_MSG_MOVE:
		return on_move(conn, body, frame->length);
	case WMK_MSG_DONE:
		return on_done(conn, body, frame->length);
	case WMK_MSG_SYNC:
		conn->sync_wanted = true;
		return wmk_u32_decode(body, frame->length, &conn->sync);
	case WMK_MSG_STATEDUMP:
		if (wmk_empty_decode(frame->length) < 0)
			return -EPROTO;
		wmk_statedump_repeat();
		return 0;
	case WMK_MSG_ERROR:
		return 0;
	default:
		return wmk_error(-EOPNOTSUPP, "unknown message type %u", frame->type);
	}
}

int wmk_conn_input(struct wmk_conn *conn)
{
	struct wmk_frame frame;
	const void *body;
	int fd, err, got = wmk_in_receive(&conn->in, conn->sock);

	if (got == -EAGAIN)
		return 0;
	if (got == -EMFILE && wmk_conn_unrecorded(conn, WMK_UNRECORDED_DESCRIPTORS, 0, UINT32_MAX) == 0)
		wmk_out_send(&conn->out, conn->sock);
	if (got <= 0)
		return got < 0 ? got : -ECONNRESET;
	while ((got = wmk_in_frame(&conn->in, &frame, &body, &fd)) == 1) {
		err = handle_frame(conn, &frame, body, &fd);
		if (fd >= 0)
			close(fd);
		if (err == -EPROTO || err == -ECONNREFUSED)
			return err;
		if (err == -ENOENT && conn->unmapped) {
			wmk_error_clear();
			err = 0;
		}
		if (err < 0) {
			char words[WMK_ERROR_LEN * 2];

			err = wmk_out_error(&conn->out, WMK_MSG_ERROR, frame.request, -err,
					    wmk_error_text(words, sizeof(words)));
			wmk_error_clear();
			if (err < 0)
				return err;
		}
	}
	return got;
}

bool wmk_conn_may_read(const struct wmk_conn *conn)
{
	return wmk_out_queued(&conn->out) <= conn->announced_bytes + REPLIES_MAX;
}

int wmk_conn_flush(struct wmk_conn *conn)
{
	int sent = wmk_out_send(&conn->out, conn->sock), err = sent == 1 ? wmk_conn_announce(conn) : 0;

	if (err < 0)
		return err;
	if (wmk_out_queued(&conn->out) && sent == 1)
		sent = wmk_out_send(&conn->out, conn->sock);
	if (sent == 1)
		conn->announced_bytes = 0;
	return sent;
}

int wmk_conn_synced(struct wmk_conn *conn)
{
	conn->sync_wanted = false;
	conn->sync_at = 0;
	return wmk_out_u32(&conn->out, WMK_MSG_SYNCED, conn->sync);
}
