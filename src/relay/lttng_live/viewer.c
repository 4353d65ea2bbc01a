/* SPDX-License-Identifier: MIT */
/*
 * viewer.c - the requests of the LTTng-live protocol; viewer.h describes the only function. A viewer evaluates the
 * flags for new streams and new metadata only in a reply that contains a packet.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "ctf/writer.h"
#include "relay/lttng_live/live_wire.h"
#include "relay/lttng_live/session_list.h"
#include "relay/lttng_live/viewer.h"
#include "relay/lttng_live/viewer_session.h"

#define SESSIONS_MAX 4096u         /* maximum number of sessions in one answer */
#define PACKET_MAX (16u << 20)     /* maximum bytes of a packet in one answer */
#define EMPTY_PACKET ((uint64_t)1 << 62)     /* offset of the empty packet of a stream */
#define BEACONS 64u                /* number of different times that are given for streams without a packet */
#define PACKET_BEGIN 32u           /* offset of the begin time in a packet (ctf/packet.c) */

struct viewer {
	int socket, root;
	bool is_attached;
	uint64_t session_id;
	struct viewer_session session;
	uint8_t *answer;
	size_t len, cap;
	bool has_failed;           /* memory for the answer could not be allocated */
};

/* ── bytes ───────────────────────────────────────────────────────────────────────────────────────────── */

static uint8_t *answer_room(struct viewer *viewer, size_t len)
{
	uint8_t *room;

	if (viewer->cap - viewer->len < len) {
		const size_t cap = 2 * (viewer->len + len);

		room = realloc(viewer->answer, cap);
		if (!room) {
			viewer->has_failed = true;
			return NULL;
		}
		viewer->answer = room;
		viewer->cap = cap;
	}
	room = viewer->answer + viewer->len;
	viewer->len += len;
	return memset(room, 0, len);
}

static void put32(struct viewer *viewer, uint32_t value)
{
	uint8_t *room = answer_room(viewer, 4);

	if (room)
		wmk_put32(room, htobe32(value));
}

static void put64(struct viewer *viewer, uint64_t value)
{
	uint8_t *room = answer_room(viewer, 8);

	if (room)
		wmk_put64(room, htobe64(value));
}

/* Copy a text into a field of `size` bytes, and fill the rest of the field with NUL bytes. */
static void put_text(struct viewer *viewer, const char *text, size_t size)
{
	uint8_t *room = answer_room(viewer, size);
	const size_t len = strlen(text);

	if (room)
		memcpy(room, text, len < size ? len : size - 1);
}

static uint32_t body32(const uint8_t *body, size_t at)
{
	return be32toh(wmk_get32(body + at));
}

static uint64_t body64(const uint8_t *body, size_t at)
{
	return be64toh(wmk_get64(body + at));
}

/* 1; 0: the viewer has closed the connection; -errno with a cause chain. */
static int receive(int socket, uint8_t *bytes, size_t len)
{
	while (len) {
		ssize_t got = recv(socket, bytes, len, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return wmk_error(-errno, "cannot receive from a viewer");
		if (got == 0)
			return 0;
		bytes += got;
		len -= (size_t)got;
	}
	return 1;
}

static int send_answer(const struct viewer *viewer)
{
	for (size_t at = 0; at < viewer->len;) {
		ssize_t sent = send(viewer->socket, viewer->answer + at, viewer->len - at, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return wmk_error(-errno, "cannot send to a viewer");
		at += (size_t)sent;
	}
	return 0;
}

/* ── sessions ────────────────────────────────────────────────────────────────────────────────────────── */

/* Find a session by its id. */
struct session_place {
	uint64_t id;
	int directory;             /* -1: not found */
};

static int put_session(void *data, uint64_t id, int directory, const char *host, const char *name)
{
	struct viewer *viewer = data;

	(void)directory;
	put64(viewer, id);
	put32(viewer, 1);          /* microseconds of the live timer */
	put32(viewer, 0);          /* clients */
	put32(viewer, 0);          /* number of streams; a viewer receives this number when it attaches */
	put_text(viewer, host, LIVE_HOST);
	put_text(viewer, name, LIVE_NAME);
	return viewer->len / (LIVE_HOST + LIVE_NAME) >= SESSIONS_MAX;
}

static void list_sessions(struct viewer *viewer)
{
	put32(viewer, 0);
	wmk_sessions_each(viewer->root, put_session, viewer);
	if (!viewer->has_failed)
		wmk_put32(viewer->answer, htobe32((uint32_t)((viewer->len - 4) / (20 + LIVE_HOST + LIVE_NAME))));
}

static int take_session(void *data, uint64_t id, int directory, const char *host, const char *name)
{
	struct session_place *place = data;

	(void)host;
	(void)name;
	if (id != place->id)
		return 0;
	place->directory = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return 1;
}

/* ── streams ─────────────────────────────────────────────────────────────────────────────────────────── */

/* Remove a trace from the list after the viewer has received the end of all streams of the trace. */
static void renew_trace(struct viewer_session *session, struct viewer_trace *trace)
{
	for (const struct viewer_stream *stream = trace->streams; stream; stream = stream->next)
		if (stream->is_announced && !stream->is_hung_up)
			return;
	trace->id = session->next_id++;
	trace->metadata_id = session->next_id++;
	trace->n_metadata = 0;
	trace->is_announced = false;
}

static void put_stream(struct viewer *viewer, const struct viewer_trace *trace, const struct viewer_stream *stream)
{
	put64(viewer, stream ? stream->id : trace->metadata_id);
	put64(viewer, trace->id);
	put32(viewer, !stream);
	put_text(viewer, trace->path, LIVE_PATH);
	put_text(viewer, stream ? stream->name : "metadata", LIVE_NAME);
}

/*
 * Append all streams that have not been announced to the viewer. Returns the number of appended streams, including
 * metadata streams.
 */
static uint32_t put_new_streams(struct viewer *viewer)
{
	struct viewer_session *session = &viewer->session;
	uint32_t n = 0;

	for (struct viewer_trace *trace = session->traces; trace; trace = trace->next) {
		bool is_first = true;

		for (struct viewer_stream *stream = trace->streams; stream; stream = stream->next) {
			if (stream->is_announced)
				continue;
			if (is_first)
				renew_trace(session, trace);
			is_first = false;
			if (!trace->is_announced) {
				put_stream(viewer, trace, NULL);
				trace->is_announced = true;
				n++;
			}
			put_stream(viewer, trace, stream);
			stream->is_announced = true;
			n++;
		}
	}
	return n;
}

static void put_streams(struct viewer *viewer, uint32_t status)
{
	uint32_t n;

	put32(viewer, status);
	put32(viewer, 0);
	n = put_new_streams(viewer);
	if (!viewer->has_failed)
		wmk_put32(viewer->answer + 4, htobe32(n));
}

static void attach(struct viewer *viewer, const uint8_t *body)
{
	struct session_place place = { .id = body64(body, 0), .directory = -1 };

	if (!viewer->is_attached)
		wmk_sessions_each(viewer->root, take_session, &place);
	if (place.directory < 0) {
		put32(viewer, viewer->is_attached ? LIVE_ATTACH_ALREADY : LIVE_ATTACH_UNKNOWN);
		put32(viewer, 0);
		return;
	}
	wmk_viewer_session_init(&viewer->session, place.directory, body32(body, 16) == LIVE_SEEK_LAST);
	viewer->is_attached = true;
	viewer->session_id = place.id;
	wmk_viewer_session_scan(&viewer->session);
	put_streams(viewer, LIVE_ATTACH_OK);
}

static void new_streams(struct viewer *viewer, const uint8_t *body)
{
	uint32_t status = LIVE_STREAMS_NO_NEW;

	if (!viewer->is_attached || body64(body, 0) != viewer->session_id) {
		put32(viewer, LIVE_STREAMS_ERROR);
		put32(viewer, 0);
		return;
	}
	wmk_viewer_session_scan(&viewer->session);
	if (wmk_viewer_session_has_new(&viewer->session))
		status = LIVE_STREAMS_OK;
	else if (wmk_viewer_session_is_over(&viewer->session))
		status = LIVE_STREAMS_HUP;
	put_streams(viewer, status);
}

static void detach(struct viewer *viewer, const uint8_t *body)
{
	const bool is = viewer->is_attached && body64(body, 0) == viewer->session_id;

	if (is)
		wmk_viewer_session_close(&viewer->session);
	viewer->is_attached = viewer->is_attached && !is;
	put32(viewer, is ? LIVE_DETACH_OK : LIVE_DETACH_UNKNOWN);
}

/* ── packets ─────────────────────────────────────────────────────────────────────────────────────────── */

static void put_index(struct viewer *viewer, const struct viewer_stream *stream,
		      const struct wmk_read_index_entry *entry, uint32_t status, uint32_t flags)
{
	put64(viewer, entry->at);
	put64(viewer, entry->size);
	put64(viewer, entry->content);
	put64(viewer, entry->begin);
	put64(viewer, entry->end);
	put64(viewer, entry->lost);
	put64(viewer, stream ? stream->class_id : 0);
	put32(viewer, status);
	put32(viewer, flags);
}

static void put_index_status(struct viewer *viewer, const struct viewer_stream *stream, uint32_t status, uint64_t end)
{
	const struct wmk_read_index_entry none = { .end = end };

	put_index(viewer, stream, &none, status, 0);
}

static void put_packet_index(struct viewer *viewer, struct viewer_stream *stream,
			     const struct wmk_read_index_entry *entry)
{
	uint32_t flags = wmk_viewer_session_has_new(&viewer->session) ? LIVE_NEW_STREAM_FLAG : 0;

	if (wmk_viewer_metadata_has_grown(stream->trace))
		flags |= LIVE_NEW_METADATA_FLAG;
	put_index(viewer, stream, entry, LIVE_INDEX_OK, flags);
}

/* The header of the empty packet is a copy of the first packet's header, with other times and without content. */
static bool make_empty_packet(const struct viewer_stream *stream, uint8_t header[WMK_CTF_PACKET_ROOM])
{
	struct wmk_ctf_packet packet;
	uint8_t uuid[16];

	if (pread(stream->data, header, WMK_CTF_PACKET_ROOM, 0) != WMK_CTF_PACKET_ROOM ||
	    wmk_ctf_packet_decode(header, header + 4, &packet) < 0)
		return false;
	memcpy(uuid, header + 4, sizeof(uuid));
	packet.sequence = stream->n_given ? stream->n_given - 1 : 0;
	packet.begin_ts = packet.end_ts = stream->given;
	packet.content = packet.pad = 0;
	packet.lost = stream->last.lost;
	wmk_ctf_packet_encode(header, uuid, &packet);
	return true;
}

static struct wmk_read_index_entry empty_entry(const struct viewer_stream *stream)
{
	return (struct wmk_read_index_entry){
		.at = EMPTY_PACKET, .content = WMK_CTF_PACKET_ROOM * 8,
		.size = (WMK_CTF_PACKET_ROOM + WMK_CTF_TRAILER) * 8,
		.begin = stream->given, .end = stream->given, .lost = stream->last.lost,
	};
}

/* Write the reply for the case that no packet of the stream can be sent now. */
static void put_waiting(struct viewer *viewer, struct viewer_stream *stream, bool has_packet, bool was_complete)
{
	/* babeltrace2 warns if two streams have the same time, so each stream gets a different time. */
	const uint64_t water = viewer->session.water == UINT64_MAX || viewer->session.water < BEACONS
				       ? 0
				       : viewer->session.water - stream->id % BEACONS;
	struct wmk_read_index_entry empty;

	if (!has_packet && was_complete) {
		stream->is_hung_up = true;
		put_index_status(viewer, stream, LIVE_INDEX_HUP, 0);
	} else if (wmk_viewer_session_has_new(&viewer->session) && stream->given) {
		empty = empty_entry(stream);
		put_packet_index(viewer, stream, &empty);
	} else if (!has_packet && water > stream->given) {
		stream->given = water;
		if (water > viewer->session.latest)
			viewer->session.latest = water;
		put_index_status(viewer, stream, LIVE_INDEX_INACTIVE, water);
	} else {
		put_index_status(viewer, stream, LIVE_INDEX_RETRY, 0);
	}
}

static void next_index(struct viewer *viewer, const uint8_t *body)
{
	struct wmk_read_index_entry entry;
	struct viewer_stream *stream;
	bool was_complete, has_packet;

	stream = viewer->is_attached ? wmk_viewer_session_stream(&viewer->session, body64(body, 0)) : NULL;
	if (!stream) {
		put_index_status(viewer, NULL, LIVE_INDEX_HUP, 0);
		return;
	}
	wmk_viewer_session_scan(&viewer->session);
	was_complete = stream->trace->is_complete || stream->is_removed;
	has_packet = wmk_read_index_get(&stream->index, stream->n_given, &entry) == 1;
	if (!has_packet || entry.end > viewer->session.water) {
		put_waiting(viewer, stream, has_packet, was_complete);
		return;
	}
	if (entry.begin < stream->given)
		entry.begin = stream->given < entry.end ? stream->given : entry.end;
	stream->n_given++;
	stream->last = entry;
	if (entry.end > stream->given)
		stream->given = entry.end;
	if (entry.end > viewer->session.latest)
		viewer->session.latest = entry.end;
	put_packet_index(viewer, stream, &entry);
}

/*
 * Replace the begin time in the packet header by the begin time that the viewer received with the index. `bytes` holds
 * `len` bytes of the stream; `offset` is the position of the first byte in the stream.
 */
static void put_begin(const struct viewer_stream *stream, uint64_t offset, uint8_t *bytes, size_t len)
{
	const uint64_t begin = htole64(stream->last.begin), at = stream->last.at + PACKET_BEGIN;

	for (size_t i = 0; i < sizeof(begin); i++)
		if (at + i >= offset && at + i - offset < len)
			bytes[at + i - offset] = ((const uint8_t *)&begin)[i];
}

static void put_packet_error(struct viewer *viewer)
{
	put32(viewer, LIVE_PACKET_ERROR);
	put32(viewer, 0);
	put32(viewer, 0);
}

static void give_packet(struct viewer *viewer, const uint8_t *body)
{
	const uint64_t offset = body64(body, 8);
	const uint32_t len = body32(body, 16);
	const struct viewer_stream *stream;
	uint8_t empty[WMK_CTF_PACKET_ROOM + WMK_CTF_TRAILER] = { 0 }, *room;
	const size_t head = 12;
	ssize_t got = -1;

	stream = viewer->is_attached ? wmk_viewer_session_stream(&viewer->session, body64(body, 0)) : NULL;
	if (!stream || !len || len > PACKET_MAX) {
		put_packet_error(viewer);
		return;
	}
	room = answer_room(viewer, head + len);
	if (!room)
		return;
	if (offset < EMPTY_PACKET) {
		got = pread(stream->data, room + head, len, (off_t)offset);
		if (got > 0)
			put_begin(stream, offset, room + head, (size_t)got);
	} else if (offset - EMPTY_PACKET < sizeof(empty) && make_empty_packet(stream, empty)) {
		got = (ssize_t)(sizeof(empty) - (offset - EMPTY_PACKET));
		got = got > (ssize_t)len ? (ssize_t)len : got;
		memcpy(room + head, empty + (offset - EMPTY_PACKET), (size_t)got);
	}
	viewer->len = 0;
	wmk_error_clear();
	if (got <= 0) {
		put_packet_error(viewer);
		return;
	}
	wmk_put32(room, htobe32(LIVE_PACKET_OK));
	wmk_put32(room + 4, htobe32((uint32_t)got));
	wmk_put32(room + 8, 0);
	viewer->len = head + (size_t)got;
}

static void give_metadata(struct viewer *viewer, const uint8_t *body)
{
	struct viewer_trace *trace;
	uint8_t *packet = NULL, *room;
	size_t size = 0;
	int got;

	trace = viewer->is_attached ? wmk_viewer_session_metadata(&viewer->session, body64(body, 0)) : NULL;
	got = trace ? wmk_viewer_metadata_packet(&viewer->session, trace, &packet, &size) : -ENOENT;
	put64(viewer, size);
	put32(viewer, got == 1 ? LIVE_METADATA_OK : got == 0 ? LIVE_METADATA_NO_NEW : LIVE_METADATA_ERROR);
	room = got == 1 ? answer_room(viewer, size) : NULL;
	if (room)
		memcpy(room, packet, size);
	free(packet);
}

/* ── requests ────────────────────────────────────────────────────────────────────────────────────────── */

static void greet(struct viewer *viewer, const uint8_t *body)
{
	put64(viewer, 1);
	put32(viewer, LIVE_MAJOR);
	put32(viewer, LIVE_MINOR);
	put32(viewer, body32(body, 16));
}

static void create(struct viewer *viewer, const uint8_t *body)
{
	(void)body;
	put32(viewer, LIVE_CREATE_OK);
}

static void list(struct viewer *viewer, const uint8_t *body)
{
	(void)body;
	list_sessions(viewer);
}

static const struct {
	size_t body;               /* bytes */
	void (*run)(struct viewer *viewer, const uint8_t *body);
} requests[] = {
	[LIVE_CONNECT] = { 20, greet },
	[LIVE_LIST_SESSIONS] = { 0, list },
	[LIVE_ATTACH] = { 20, attach },
	[LIVE_NEXT_INDEX] = { 8, next_index },
	[LIVE_PACKET] = { 20, give_packet },
	[LIVE_METADATA] = { 8, give_metadata },
	[LIVE_NEW_STREAMS] = { 8, new_streams },
	[LIVE_CREATE] = { 0, create },
	[LIVE_DETACH] = { 8, detach },
};

/* 1; 0: the viewer has closed the connection; -errno with a cause chain. */
static int serve_one(struct viewer *viewer)
{
	uint8_t head[LIVE_HEAD], body[LIVE_BODY_MAX];
	uint64_t size;
	uint32_t command;
	bool is_known;
	int err = receive(viewer->socket, head, sizeof(head));

	if (err <= 0)
		return err;
	size = body64(head, 0);
	command = body32(head, 8);
	is_known = command >= LIVE_CONNECT && command <= LIVE_DETACH;
#ifndef WMK_PLANTED_BUG_LTTNG_LIVE               /* planted bug that the fuzzer must find */
	is_known = is_known && size == requests[command].body;
#endif
	if (!is_known)
		return wmk_error(-EPROTO, "a viewer sent command %u with %llu bytes, which LTTng-live 2.4 does not "
				 "have", command, (unsigned long long)size);
	err = receive(viewer->socket, body, size);
	if (err <= 0)
		return err;
	viewer->len = 0;
	requests[command].run(viewer, body);
	if (viewer->has_failed)
		return wmk_error(-ENOMEM, "no memory for the reply to a viewer");
	err = send_answer(viewer);
	return err < 0 ? err : 1;
}

int wmk_viewer_serve(int socket, int root)
{
	struct viewer viewer = { .socket = socket, .root = root };
	int result = 1;

	while (result == 1)
		result = serve_one(&viewer);
	if (viewer.is_attached)
		wmk_viewer_session_close(&viewer.session);
	free(viewer.answer);
	return result;
}
