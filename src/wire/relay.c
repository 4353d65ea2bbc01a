/* SPDX-License-Identifier: MIT */
/* relay.c - the tables of objects between a sender and the relay, frames and names (see relay.h). */
#include "wire/relay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

#define SHORT_BYTES 64u

static const struct wmk_member hello_members[] = {
	WMK_MEMBER(TEXT, wmk_relay_hello, greeting, SHORT_BYTES),
	WMK_MEMBER(TEXT, wmk_relay_hello, version, SHORT_BYTES),
	WMK_MEMBER(TEXT, wmk_relay_hello, host, WMK_RELAY_HOST_MAX),
};
const struct wmk_object wmk_relay_hello_object = WMK_OBJECT_OF("hello", wmk_relay_hello, hello_members);

static const struct wmk_member error_members[] = {
	WMK_MEMBER(U32, wmk_relay_error, err),
	WMK_MEMBER(TEXT, wmk_relay_error, text, WMK_RELAY_MESSAGE_MAX),
};
const struct wmk_object wmk_relay_error_object = WMK_OBJECT_OF("error", wmk_relay_error, error_members);

static const struct wmk_member output_members[] = {
	WMK_MEMBER(TEXT, wmk_relay_output, session, WMK_RELAY_NAME_MAX),
	WMK_MEMBER(TEXT, wmk_relay_output, name, WMK_RELAY_NAME_MAX),
	WMK_MEMBER(TEXT, wmk_relay_output, chunk, WMK_RELAY_NAME_MAX),
};
const struct wmk_object wmk_relay_output_object = WMK_OBJECT_OF("output", wmk_relay_output, output_members);

static const struct wmk_member names_members[] = {
	WMK_MEMBER(TEXTS, wmk_relay_names, names, WMK_RELAY_PROCESSES_MAX),
};
const struct wmk_object wmk_relay_names_object = WMK_OBJECT_OF("names", wmk_relay_names, names_members);

static const char *const mode_names[] = { "again", "new", "unsure" };

static const struct wmk_member trace_members[] = {
	WMK_MEMBER(TEXT, wmk_relay_trace, session, WMK_RELAY_NAME_MAX),
	WMK_MEMBER(TEXT, wmk_relay_trace, sub, WMK_RELAY_NAME_MAX),
	WMK_MEMBER(UUID, wmk_relay_trace, uuid),
	WMK_MEMBER(ENUM, wmk_relay_trace, mode, mode_names),
	WMK_MEMBER(U64, wmk_relay_trace, chunk),
	WMK_MEMBER(BOOL, wmk_relay_trace, byte_positions),
};
const struct wmk_object wmk_relay_trace_object = WMK_OBJECT_OF("trace", wmk_relay_trace, trace_members);

static const struct wmk_member trace_reply_members[] = {
	WMK_MEMBER(U32, wmk_relay_trace_reply, epoch),
	WMK_MEMBER(U64, wmk_relay_trace_reply, chunk),
	WMK_MEMBER(U64, wmk_relay_trace_reply, metadata),
};
const struct wmk_object wmk_relay_trace_reply_object =
	WMK_OBJECT_OF("trace reply", wmk_relay_trace_reply, trace_reply_members);

static const struct wmk_member stream_members[] = {
	WMK_MEMBER(U32, wmk_relay_stream, stream),
	WMK_MEMBER(TEXT, wmk_relay_stream, name, WMK_RELAY_NAME_MAX),
	WMK_MEMBER(U64, wmk_relay_stream, tracefile_size),
	WMK_MEMBER(U64, wmk_relay_stream, tracefile_count),
	WMK_MEMBER(BOOL, wmk_relay_stream, create),
	WMK_MEMBER(U64, wmk_relay_stream, continue_at),
	WMK_MEMBER(TEXT, wmk_relay_stream, chunk, WMK_RELAY_NAME_MAX),
};
const struct wmk_object wmk_relay_stream_object = WMK_OBJECT_OF("stream", wmk_relay_stream, stream_members);

static const struct wmk_member ctf_packet_members[] = {
	WMK_MEMBER(U32, wmk_ctf_packet, stream_id),
	WMK_MEMBER(U64, wmk_ctf_packet, instance),
	WMK_MEMBER(U64, wmk_ctf_packet, begin_ts),
	WMK_MEMBER(U64, wmk_ctf_packet, end_ts),
	WMK_MEMBER(U64, wmk_ctf_packet, content),
	WMK_MEMBER(U64, wmk_ctf_packet, sequence),
	WMK_MEMBER(U64, wmk_ctf_packet, ring_position),
	WMK_MEMBER(U64, wmk_ctf_packet, lost),
	WMK_MEMBER(U32, wmk_ctf_packet, cpu),
	WMK_MEMBER(U32, wmk_ctf_packet, cut),
};
static const struct wmk_object ctf_packet_object = WMK_OBJECT_OF("packet", wmk_ctf_packet, ctf_packet_members);

static const struct wmk_member stream_reply_members[] = {
	WMK_MEMBER(BOOL, wmk_relay_stream_reply, found),
	WMK_MEMBER(OBJECT, wmk_relay_stream_reply, last, wmk_ctf_packet, ctf_packet_object),
};
const struct wmk_object wmk_relay_stream_reply_object =
	WMK_OBJECT_OF("stream reply", wmk_relay_stream_reply, stream_reply_members);

static const struct wmk_member rotation_members[] = {
	WMK_MEMBER(TEXT, wmk_relay_rotation, name, WMK_RELAY_NAME_MAX),
	WMK_MEMBER(U64, wmk_relay_rotation, chunk),
};
const struct wmk_object wmk_relay_rotation_object = WMK_OBJECT_OF("rotation", wmk_relay_rotation, rotation_members);

static const struct wmk_member text_members[] = {
	WMK_MEMBER(TEXT, wmk_relay_text, text, WMK_RELAY_JOURNAL_MAX),
};
const struct wmk_object wmk_relay_text_object = WMK_OBJECT_OF("text", wmk_relay_text, text_members);

static const struct wmk_member packet_members[] = {
	WMK_MEMBER(U32, wmk_relay_packet, stream),
	WMK_MEMBER(OBJECT, wmk_relay_packet, packet, wmk_ctf_packet, ctf_packet_object),
};
const struct wmk_object wmk_relay_packet_object = WMK_OBJECT_OF("packet", wmk_relay_packet, packet_members);

static const struct wmk_member metadata_members[] = {
	WMK_MEMBER(U64, wmk_relay_metadata, offset),
	WMK_MEMBER(BOOL, wmk_relay_metadata, replace),
	WMK_MEMBER(TEXT, wmk_relay_metadata, text, WMK_RELAY_METADATA_MAX),
};
const struct wmk_object wmk_relay_metadata_object = WMK_OBJECT_OF("metadata", wmk_relay_metadata, metadata_members);

static const struct wmk_member amend_members[] = {
	WMK_MEMBER(U32, wmk_relay_amend, stream),
	WMK_MEMBER(U64, wmk_relay_amend, lost),
};
const struct wmk_object wmk_relay_amend_object = WMK_OBJECT_OF("amend", wmk_relay_amend, amend_members);

static const struct wmk_member point_members[] = {
	WMK_MEMBER(U64, wmk_clock_point, value),
	WMK_MEMBER(U64, wmk_clock_point, monotonic_ns),
	WMK_MEMBER(U64, wmk_clock_point, real_ns),
	WMK_MEMBER(U32, wmk_clock_point, uncertainty_ns),
	WMK_MEMBER(U32, wmk_clock_point, flags),
};
static const struct wmk_object point_object = WMK_OBJECT_OF("point", wmk_clock_point, point_members);

static const struct wmk_member clock_members[] = {
	WMK_MEMBER(TEXT, wmk_relay_clock, uuid, WMK_CLOCK_UUID - 1),
	WMK_MEMBER(TEXT, wmk_relay_clock, relay, WMK_CLOCK_UUID - 1),
	WMK_MEMBER(OBJECT, wmk_relay_clock, point, wmk_clock_point, point_object),
};
const struct wmk_object wmk_relay_clock_object = WMK_OBJECT_OF("clock point", wmk_relay_clock, clock_members);

static const struct wmk_member times_members[] = {
	WMK_MEMBER(TEXT, wmk_relay_times, uuid, WMK_CLOCK_UUID - 1),
	WMK_MEMBER(U64, wmk_relay_times, received_ns),
	WMK_MEMBER(U64, wmk_relay_times, sent_ns),
	WMK_MEMBER(U64, wmk_relay_times, real_ns),
};
const struct wmk_object wmk_relay_times_object = WMK_OBJECT_OF("times", wmk_relay_times, times_members);

static const struct wmk_member low_water_members[] = { WMK_MEMBER(U64, wmk_relay_low_water, ts) };
const struct wmk_object wmk_relay_low_water_object = WMK_OBJECT_OF("low water", wmk_relay_low_water, low_water_members);

static const struct wmk_member followed_members[] = { WMK_MEMBER(BOOL, wmk_relay_followed, followed) };
const struct wmk_object wmk_relay_followed_object = WMK_OBJECT_OF("followed", wmk_relay_followed, followed_members);

static const struct wmk_member status_trace_members[] = {
	WMK_MEMBER(TEXT, wmk_relay_status_trace, session, WMK_RELAY_NAME_MAX),
	WMK_MEMBER(TEXT, wmk_relay_status_trace, sub, WMK_RELAY_NAME_MAX),
	WMK_MEMBER(BOOL, wmk_relay_status_trace, connected),
	WMK_MEMBER(U64, wmk_relay_status_trace, packets),
	WMK_MEMBER(U64, wmk_relay_status_trace, bytes),
	WMK_MEMBER(U64, wmk_relay_status_trace, dropped),
	WMK_MEMBER(U64, wmk_relay_status_trace, gaps),
	WMK_MEMBER(U64, wmk_relay_status_trace, idle_ms),
	WMK_MEMBER(U64, wmk_relay_status_trace, epoch),
	WMK_MEMBER(U64, wmk_relay_status_trace, chunk),
	WMK_MEMBER(TEXT, wmk_relay_status_trace, error, WMK_RELAY_MESSAGE_MAX),
};
static const struct wmk_object status_trace_object =
	WMK_OBJECT_OF("trace", wmk_relay_status_trace, status_trace_members);

static const struct wmk_member status_host_members[] = {
	WMK_MEMBER(TEXT, wmk_relay_status_host, host, WMK_RELAY_HOST_MAX),
	WMK_MEMBER(U32, wmk_relay_status_host, connections),
	WMK_MEMBER(U64, wmk_relay_status_host, bytes),
	WMK_MEMBER(U64, wmk_relay_status_host, max_bytes),
	WMK_MEMBER(U32, wmk_relay_status_host, max_connections),
	WMK_MEMBER(U64, wmk_relay_status_host, max_rate),
	WMK_MEMBER(TEXT, wmk_relay_status_host, error, WMK_RELAY_MESSAGE_MAX),
	WMK_MEMBER(LIST, wmk_relay_status_host, traces, status_trace_object, WMK_RELAY_TRACES_MAX),
};
static const struct wmk_object status_host_object = WMK_OBJECT_OF("host", wmk_relay_status_host, status_host_members);

static const struct wmk_member status_members[] = {
	WMK_MEMBER(TEXT, wmk_relay_status, version, SHORT_BYTES),
	WMK_MEMBER(TEXT, wmk_relay_status, root, WMK_OBJECT_TEXT_MAX),
	WMK_MEMBER(U64, wmk_relay_status, uptime_ms),
	WMK_MEMBER(U32, wmk_relay_status, connections),
	WMK_MEMBER(LIST, wmk_relay_status, hosts, status_host_object, WMK_RELAY_HOSTS_MAX),
};
const struct wmk_object wmk_relay_status_object = WMK_OBJECT_OF("status", wmk_relay_status, status_members);

static const struct wmk_member view_members[] = {
	WMK_MEMBER(TEXT, wmk_relay_view, host, WMK_RELAY_HOST_MAX),
	WMK_MEMBER(TEXT, wmk_relay_view, session, WMK_RELAY_NAME_MAX),
	WMK_MEMBER(BOOL, wmk_relay_view, follow),
};
const struct wmk_object wmk_relay_view_object = WMK_OBJECT_OF("view", wmk_relay_view, view_members);

static const struct wmk_member view_file_members[] = {
	WMK_MEMBER(TEXT, wmk_relay_view_file, path, WMK_RELAY_VIEW_PATH_MAX),
	WMK_MEMBER(U64, wmk_relay_view_file, number),
	WMK_MEMBER(BOOL, wmk_relay_view_file, is_directory),
	WMK_MEMBER(BOOL, wmk_relay_view_file, is_written),
	WMK_MEMBER(U64, wmk_relay_view_file, water),
	WMK_MEMBER(U64, wmk_relay_view_file, water_inverted),
	WMK_MEMBER(U64, wmk_relay_view_file, size),
};
static const struct wmk_object view_file_object = WMK_OBJECT_OF("file", wmk_relay_view_file, view_file_members);

static const struct wmk_member view_files_members[] = {
	WMK_MEMBER(LIST, wmk_relay_view_files, files, view_file_object, WMK_RELAY_VIEW_FILES_MAX),
};
const struct wmk_object wmk_relay_view_files_object =
	WMK_OBJECT_OF("view files", wmk_relay_view_files, view_files_members);

static const struct wmk_member view_part_members[] = {
	WMK_MEMBER(TEXT, wmk_relay_view_part, host, WMK_RELAY_HOST_MAX),
	WMK_MEMBER(TEXT, wmk_relay_view_part, session, WMK_RELAY_NAME_MAX),
	WMK_MEMBER(TEXT, wmk_relay_view_part, path, WMK_RELAY_VIEW_PATH_MAX),
	WMK_MEMBER(U64, wmk_relay_view_part, number),
	WMK_MEMBER(U64, wmk_relay_view_part, offset),
	WMK_MEMBER(U64, wmk_relay_view_part, length),
};
const struct wmk_object wmk_relay_view_part_object = WMK_OBJECT_OF("view part", wmk_relay_view_part, view_part_members);

static const struct wmk_member view_bytes_members[] = {
	WMK_MEMBER(U64, wmk_relay_view_bytes, length),
	WMK_MEMBER(NUMBERS, wmk_relay_view_bytes, words, WMK_RELAY_VIEW_BYTES_MAX / 8),
};
const struct wmk_object wmk_relay_view_bytes_object =
	WMK_OBJECT_OF("view bytes", wmk_relay_view_bytes, view_bytes_members);

static const struct wmk_request_type requests[] = {
#define WMK_RELAY_REQUEST(identifier, number, name, request, reply) { (number), (name), &(request), &(reply) },
#include "wire/relay_requests.def"
};

const struct wmk_request_type *wmk_relay_request_find(uint16_t type)
{
	return wmk_request_type_find(requests, WMK_ARRAY_LEN(requests), type);
}

const struct wmk_object *wmk_relay_data_object(uint16_t type)
{
	switch (type) {
	case WMK_RELAY_METADATA:
		return &wmk_relay_metadata_object;
	case WMK_RELAY_AMEND:
		return &wmk_relay_amend_object;
	case WMK_RELAY_CLOCK_POINT:
		return &wmk_relay_clock_object;
	case WMK_RELAY_LOW_WATER:
		return &wmk_relay_low_water_object;
	default:
		return NULL;
	}
}

/* ── frames ──────────────────────────────────────────────────────────────────────────────────────────── */

static bool is_known(uint16_t type)
{
	return (type >= WMK_RELAY_REPLY && type <= WMK_RELAY_FOLLOWED) || type == WMK_RELAY_PACKET ||
	       wmk_relay_data_object(type) || wmk_relay_request_find(type);
}

static uint32_t longest(uint16_t type)
{
	return type == WMK_RELAY_PACKET ? WMK_RELAY_PACKET_HEAD + WMK_RELAY_CONTENT_MAX : WMK_RELAY_BODY_MAX;
}

void wmk_relay_frame_encode(uint8_t head[WMK_RELAY_HEAD], const struct wmk_relay_frame *frame)
{
	struct wmk_relay_frame made = *frame;

	made.version = WMK_RELAY_VERSION;
	memcpy(head, &made, sizeof(made));
}

int wmk_relay_frame_decode(const uint8_t head[WMK_RELAY_HEAD], struct wmk_relay_frame *frame)
{
	_Static_assert(sizeof(*frame) == WMK_RELAY_HEAD, "struct wmk_relay_frame must have the size of a frame header");
	memcpy(frame, head, sizeof(*frame));
	if (frame->version != WMK_RELAY_VERSION)
		return wmk_error(-EPROTONOSUPPORT, "unsupported version %u of the relay's protocol: this side has "
				 "version %u", frame->version, WMK_RELAY_VERSION);
	if (!is_known(frame->type))
		return wmk_error(-EPROTO, "unknown type 0x%x of a message", frame->type);
	if (frame->length > longest(frame->type) ||
	    (frame->type == WMK_RELAY_PACKET && frame->length < WMK_RELAY_PACKET_HEAD))
		return wmk_error(-EPROTO, "a message of type 0x%x has %u bytes, above the limit of %u", frame->type,
				 frame->length, longest(frame->type));
	return 0;
}

long wmk_relay_message_encode(struct wmk_relay_frame *frame, const struct wmk_object *is, const void *object,
			      uint8_t **bytes)
{
	uint8_t *body, *made;
	const long len = wmk_object_encode(is, object, &body);

	if (len < 0)
		return len;
	made = malloc(WMK_RELAY_HEAD + (size_t)len);
	if (!made) {
		free(body);
		return wmk_error(-ENOMEM, "no memory for a message");
	}
	frame->length = (uint32_t)len;
	wmk_relay_frame_encode(made, frame);
	memcpy(made + WMK_RELAY_HEAD, body, (size_t)len);
	free(body);
	*bytes = made;
	return WMK_RELAY_HEAD + len;
}

/* ── packets ─────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * These functions encode and decode wmk_relay_packet_object without an allocation, as little-endian numbers in the
 * order of the object's table.
 */
static uint8_t *put(uint8_t *at, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		*at++ = (uint8_t)(value >> 8 * i);
	return at;
}

static uint64_t get(const uint8_t **at, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)*(*at)++ << 8 * i;
	return value;
}

void wmk_relay_packet_encode(uint8_t bytes[WMK_RELAY_PACKET_HEAD], const struct wmk_relay_packet *packet)
{
	const struct wmk_ctf_packet *is = &packet->packet;
	uint8_t *at = put(bytes, packet->stream, 4);

	at = put(at, is->stream_id, 4);
	at = put(at, is->instance, 8);
	at = put(at, is->begin_ts, 8);
	at = put(at, is->end_ts, 8);
	at = put(at, is->content, 8);
	at = put(at, is->sequence, 8);
	at = put(at, is->ring_position, 8);
	at = put(at, is->lost, 8);
	at = put(at, is->cpu, 4);
	put(at, is->cut, 4);
}

int wmk_relay_packet_decode(const uint8_t bytes[WMK_RELAY_PACKET_HEAD], size_t length, struct wmk_relay_packet *packet)
{
	struct wmk_ctf_packet *is = &packet->packet;
	const uint8_t *at = bytes;

	memset(packet, 0, sizeof(*packet));
	packet->stream = (uint32_t)get(&at, 4);
	is->stream_id = (uint32_t)get(&at, 4);
	is->instance = get(&at, 8);
	is->begin_ts = get(&at, 8);
	is->end_ts = get(&at, 8);
	is->content = get(&at, 8);
	is->sequence = get(&at, 8);
	is->ring_position = get(&at, 8);
	is->lost = get(&at, 8);
	is->cpu = (uint32_t)get(&at, 4);
	is->cut = (uint32_t)get(&at, 4);
	if (length < WMK_RELAY_PACKET_HEAD || is->content != length - WMK_RELAY_PACKET_HEAD)
		return wmk_error(-EPROTO, "a packet has %llu bytes of records, but its message has %zu bytes",
				 (unsigned long long)is->content, length);
	if (is->begin_ts > is->end_ts || is->ring_position > UINT64_MAX - is->content)
		return wmk_error(-EPROTO, "a packet ends before it begins: times %llu and %llu, position %llu",
				 (unsigned long long)is->begin_ts, (unsigned long long)is->end_ts,
				 (unsigned long long)is->ring_position);
	return 0;
}

/* ── names ───────────────────────────────────────────────────────────────────────────────────────────── */

static int component_check(const char *what, const char *name, size_t len, size_t max)
{
	if (len == 0 || len > max)
		return wmk_error(-EINVAL, "%s has %zu bytes, but must have 1 to %zu", what, len, max);
	if (name[0] == '.')
		return wmk_error(-EINVAL, "%s \"%.*s\" begins with '.'", what, (int)len, name);
	for (size_t i = 0; i < len; i++)
		if (name[i] == '/' || (unsigned char)name[i] < 0x20 || name[i] == 0x7f)
			return wmk_error(-EINVAL, "%s has the character 0x%02x, which is not allowed in a name", what,
					 (unsigned)(unsigned char)name[i]);
	return 0;
}

int wmk_relay_name_check(const char *what, const char *name, size_t max)
{
	return component_check(what, name, strlen(name), max);
}

int wmk_relay_sub_check(const char *sub)
{
	static const char archives[] = "archives";
	size_t len = strcspn(sub, "/");
	int err;

	if (strlen(sub) > WMK_RELAY_NAME_MAX)
		return wmk_error(-EINVAL, "the path of a trace has %zu bytes, above the limit of %u", strlen(sub),
				 WMK_RELAY_NAME_MAX);
	if (len == strlen(archives) && memcmp(sub, archives, len) == 0)
		return wmk_error(-EINVAL, "the path of a trace begins with \"archives\": that directory is reserved "
					  "for closed chunks");
	for (err = component_check("the path of a trace", sub, len, WMK_RELAY_NAME_MAX); err == 0 && sub[len];
	     err = component_check("the path of a trace", sub, len, WMK_RELAY_NAME_MAX)) {
		sub += len + 1;
		len = strcspn(sub, "/");
	}
	return err;
}
