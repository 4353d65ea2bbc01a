/* SPDX-License-Identifier: MIT */
/*
 * stream.c - read packets and records of one stream file through a window (see trace.h).
 *
 *     file    │ packet │ packet │ packet ...
 *     window          [ buffer      ]          buffer_at, len
 *     decoding         ^ from ^ next_at   in bits of the packet
 *
 * The decoder receives the address of the packet's first byte, which may precede the window, and the end of the window.
 * If a record exceeds the window, the window moves to the start of the record. If the window already begins at the
 * record, the window grows.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "ctf/frame_table.h"
#include "ctf/writer.h"
#include "read/trace.h"
#include "read/window.h"

/* The attribute of functions that are called rarely. */
#define RARE __attribute__((noinline, cold))

int wmk_read_stream_open(const struct wmk_read_trace *trace, const char *file, struct wmk_read_stream **stream)
{
	struct wmk_read_stream *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return wmk_error(-ENOMEM, "no memory for the stream '%.240s'", file);
	s->trace = trace;
	s->file = file;
	s->name = strndup(file, wmk_ctf_frame_plain_len(file));
	s->cap = WMK_READ_WINDOW;
	s->index.fd = -1;
	s->limit = UINT64_MAX;
	s->from = INT64_MIN;
	s->to = INT64_MAX;
	s->buffer = malloc(s->cap);
	s->fd = s->buffer && s->name ? openat(trace->dir, file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;
	if (s->fd < 0) {
		err = s->buffer && s->name ? wmk_error(-errno, "cannot open '%.240s' in '%.240s'", file, trace->path)
				: wmk_error(-ENOMEM, "no memory for the stream '%.240s'", file);
		free(s->buffer);
		free(s->name);
		free(s);
		return err;
	}
	err = wmk_ctf_frame_is_name(file) ? wmk_ctf_frames_open(s->fd, &s->frames) : 0;
	if (err < 0) {
		wmk_error_add(err, "cannot read '%.240s' in '%.240s'", file, trace->path);
		wmk_read_stream_close(s);
		return err;
	}
	*stream = s;
	return 0;
}

void wmk_read_stream_close(struct wmk_read_stream *stream)
{
	if (!stream)
		return;
	wmk_ctf_frames_close(stream->frames);
	close(stream->fd);
	wmk_read_index_close(&stream->index);
	free(stream->buffer);
	free(stream->name);
	free(stream);
}

static RARE int damage(struct wmk_read_stream *s, int err, uint64_t at, const char *words)
{
	return wmk_error(err, "'%.60s', byte %" PRIu64 ": %s", s->file, at, words);
}

/* ── packets ─────────────────────────────────────────────────────────────────────────────────────────── */

struct said {
	uint64_t magic, class, content, size;
	bool has_magic, has_class, has_content, has_size;
	uint8_t uuid[16];
	unsigned n_uuid;
};

static void hear(struct wmk_read_stream *s, struct said *said, unsigned role, uint64_t value)
{
	switch (role) {
	case WMK_ROLE_MAGIC: said->magic = value; said->has_magic = true; break;
	case WMK_ROLE_STREAM_CLASS: said->class = value; said->has_class = true; break;
	case WMK_ROLE_STREAM: s->instance = value; break;
	case WMK_ROLE_CONTENT_SIZE: said->content = value; said->has_content = true; break;
	case WMK_ROLE_PACKET_SIZE: said->size = value; said->has_size = true; break;
	case WMK_ROLE_BEGIN: s->packet.begin = value; s->packet.has_begin = true; break;
	case WMK_ROLE_END: s->packet.end = value; s->packet.has_end = true; break;
	case WMK_ROLE_LOST: s->packet.lost = value; s->packet.has_lost = true; break;
	case WMK_ROLE_SEQUENCE: s->packet.sequence = value; s->packet.has_sequence = true; break;
	default: break;
	}
}

/*
 * Read the values of a structure that have a role. If an array has the role of the UUID, its elements are the bytes of
 * the UUID.
 */
static int listen_to(struct wmk_read_stream *s, const struct wmk_ctf_program *program, struct said *said)
{
	struct wmk_ctf_walk *walk = &s->record.walk;
	struct wmk_ctf_item item;
	bool in_uuid = false;

	wmk_ctf_walk_enter_passing(walk, program);
	while (wmk_ctf_next(walk, &item)) {
		if (item.is_wide && item.op->roles)
			return wmk_error(-EPROTO,
					 "'%.40s' of a packet has a value of more than 64 bits, at byte %" PRIu64,
					 wmk_or_empty(item.op->name), item.at / 8);
		if (item.op->roles & WMK_ROLE_BIT(WMK_ROLE_UUID) && item.op->code == WMK_CTF_ARRAY)
			in_uuid = !item.is_end;
		else if (item.op->roles & WMK_ROLE_BIT(WMK_ROLE_UUID) && item.op->code == WMK_CTF_BLOB &&
			 item.len == 16)
			memcpy(said->uuid, item.text, said->n_uuid = 16);
		else if (in_uuid && item.op->code == WMK_CTF_INT && said->n_uuid < 16)
			said->uuid[said->n_uuid++] = (uint8_t)item.value.u;
		else if (item.op->code <= WMK_CTF_ENUM)
			for (unsigned roles = item.op->roles; roles; roles &= roles - 1)
				hear(s, said, (unsigned)__builtin_ctz(roles), item.value.u);
	}
	return walk->err;
}

#define OF_ANOTHER "the packet belongs to another trace: its UUID differs from the metadata's"

/*
 * babeltrace2 reads packets of CTF 1.8 with another UUID. The reader reports a CTF 1.8 packet with another UUID as
 * damage, and still reads the packet.
 */
static bool is_of_another(const struct wmk_read_stream *s, const struct said *said)
{
	const struct wmk_ctf_class *class = s->trace->decoder->class;

	return said->n_uuid == 16 && class->has_uuid && memcmp(said->uuid, class->uuid, 16) != 0;
}

static int choose_class(struct wmk_read_stream *s, const struct said *said)
{
	const struct wmk_ctf_decoder *decoder = s->trace->decoder;
	char words[80];

	if (said->has_magic && said->magic != WMK_CTF_MAGIC)
		return damage(s, -EPROTO, s->packet.at, "no packet begins here: wrong magic number");
	if (decoder->class->major != 1 && is_of_another(s, said))
		return damage(s, -EPROTO, s->packet.at, OF_ANOTHER);
	for (uint32_t i = 0; i < decoder->n_streams; i++) {
		if (said->has_class ? decoder->streams[i].class->id != said->class
				    : decoder->n_streams > 1 && decoder->streams[i].class->id)
			continue;
		/* A file contains one stream, and a stream has one class: other readers rely on this rule. */
		if (s->n_packets && s->decoder != &decoder->streams[i])
			return damage(s, -EPROTO, s->packet.at,
				      "the packet has another stream class than the packets before it");
		s->decoder = &decoder->streams[i];
		wmk_read_scale_of(&s->scale, s->trace, s->decoder->class->clock);
		return 0;
	}
	snprintf(words, sizeof(words), "a packet of stream class %" PRIu64 ", which the metadata does not declare",
		 said->class);
	return damage(s, -EPROTO, s->packet.at, words);
}

/*
 * Read the packet header and the packet context, as far as they are in the window. -ENODATA: the window lacks a part.
 */
static int read_head(struct wmk_read_stream *s, struct said *said)
{
	int err;

	s->packet.content = UINT64_MAX;
	wmk_read_window_show(s);
	*said = (struct said){ .magic = 0 };
	wmk_ctf_walk_begin(&s->record.walk, &s->bytes, 0);
	err = listen_to(s, &s->trace->decoder->packet_header, said);
	if (err >= 0)
		err = choose_class(s, said);
	s->packet.context_at = s->record.walk.at;
	if (err >= 0)
		err = listen_to(s, &s->decoder->packet_context, said);
	s->packet.records_at = s->record.walk.at;
	/* (a structure without a size is still aligned, and reads nothing) */
	return err >= 0 && s->packet.records_at > s->bytes.end ? -ENODATA : err;
}

/* Check the sizes of the packet against each other and against the file. */
static int measure(struct wmk_read_stream *s, const struct said *said)
{
	struct wmk_read_packet *packet = &s->packet;
	uint64_t end, left, size;
	int err = wmk_read_stream_end(s, &end);

	if (err < 0)
		return err;
	left = end > packet->at ? end - packet->at : 0;
	if (left > UINT64_MAX / 8)
		left = UINT64_MAX / 8;
	packet->said_size = said->has_size ? said->size : left * 8;
	packet->said_content = said->has_content ? said->content : packet->said_size;
	size = said->has_size ? said->size : said->has_content && !said->has_size ? said->content : left * 8;
	packet->size = size / 8;
	packet->content = said->has_content ? said->content : size;
	packet->is_cut = false;
	if (!size || size % 8 || size < packet->records_at || packet->content > size ||
	    packet->content < packet->records_at) {
		char words[160];

		/* The sizes are invalid, so the position of the next packet is unknown. */
		packet->size = 0;
		snprintf(words, sizeof(words),
			 "invalid sizes: a packet of %" PRIu64 " bits with a content of %" PRIu64
			 ", but its header has %" PRIu64,
			 size, said->has_content ? said->content : size, packet->records_at);
		return damage(s, -EPROTO, packet->at, words);
	}
	packet->is_cut = packet->size > left;
	if (packet->content > left * 8)
		packet->content = left * 8;
	return 0;
}

/*
 * Each packet contains the values of the loss counters at the end of the packet. The increase of the counters since the
 * previous packet is the number of losses between the ends of both packets. The counters in the first packet include
 * all losses before the end of the packet.
 */
static void count_lost(struct wmk_read_stream *s, const struct wmk_read_packet *before)
{
	const struct wmk_read_packet *now = &s->packet;
	const bool is_first = !s->n_packets;

	s->lost_from = is_first || !before->has_end ? now->begin : before->end;
	/* The counter in the first packet does not show how many of the losses belong to this stream. */
	s->lost = !now->has_lost ? 0
		  : !is_first    ? now->lost - (before->lost > now->lost ? 0 : before->lost)
		  : now->lost    ? WMK_READ_LOST_UNKNOWN
				 : 0;
	s->lost_packets = now->has_sequence && !is_first && now->sequence > before->sequence
				  ? now->sequence - before->sequence - 1
				  : 0;
}

/*
 * Find out whether the times of a packet are impossible. The reader first returns the start of the packet, then reports
 * impossible times, and then reads the records.
 */
static const char *wrong_times(const struct wmk_read_stream *s, const struct wmk_read_packet *before)
{
	const struct wmk_read_packet *now = &s->packet;

	/* A packet that was open when its writer crashed has no end time. */
	if (now->has_begin && now->has_end && now->end && now->end < now->begin)
		return "the packet ends before it begins";
	if (now->has_begin && s->n_packets &&
	    (now->begin < s->last || (before->has_begin && now->begin < before->begin)))
		return "time goes back: the packet begins before the end of the previous one";
	return NULL;
}

/*
 * Start the packet at position packet.at. 1: it has begun; 0: the file ends before it; WMK_READ_LATER: a growing file
 * ends before it or within it.
 */
static int begin_packet(struct wmk_read_stream *s)
{
	const struct wmk_read_packet before = s->packet;
	struct said said;
	int err, got = 1;

	s->packet = (struct wmk_read_packet){ .at = before.at };
	if (s->packet.at < s->buffer_at || s->packet.at - s->buffer_at >= s->len) {
		got = (int)wmk_read_window_move(s, s->packet.at);
		if (got < 0)
			return got;
	}
	if (s->packet.at - s->buffer_at >= s->len || s->packet.at >= s->limit)
		return s->growth == WMK_READ_FIXED ? 0 : wmk_read_stream_later(s, &before);
	while ((err = read_head(s, &said)) == -ENODATA && (got = wmk_read_window_more(s, s->packet.at)) > 0)
		;
	if (got < 0)
		return got;
	if (err == -ENODATA && s->growth == WMK_READ_FIXED)
		return damage(s, -ENODATA, s->packet.at, "the file ends in a packet's header");
	if (err >= 0)
		err = measure(s, &said);
	if (s->growth != WMK_READ_FIXED && (err == -ENODATA || (err >= 0 && s->packet.is_cut)))
		return wmk_read_stream_later(s, &before);
	if (err < 0)
		return err;
	count_lost(s, &before);
	s->wrong = is_of_another(s, &said) ? OF_ANOTHER : wrong_times(s, &before);
	s->n_packets++;
	s->is_index_wrong = wmk_read_seek_is_wrong(s);
	if (s->packet.has_begin)
		s->record.time = s->packet.begin;
	s->ns = wmk_read_scale_ns(&s->scale, s->record.time);
	s->next_at = s->packet.records_at;
	s->in_packet = true;
	wmk_read_window_show(s);
	return 1;
}

/* ── records ─────────────────────────────────────────────────────────────────────────────────────────── */

/* Go to the end of the packet, even if the packet has further records. */
static void pass_packet(struct wmk_read_stream *s)
{
	s->in_packet = false;
	s->packet.at += s->packet.size;
	s->has_ended = s->packet.is_cut || !s->packet.size;
}

/* As pass_packet(). Returns 0, or -ENODATA if the file ends before the end of the packet. */
static RARE int leave_packet(struct wmk_read_stream *s)
{
	const uint64_t at = s->packet.at;

	pass_packet(s);
	return s->packet.is_cut ? damage(s, -ENODATA, at, "the file ends before this packet does") : 0;
}

/* Walk over the record to find the value that exceeds the packet, and report this value. */
static RARE int explain(struct wmk_read_stream *s)
{
	const struct wmk_ctf_record *record = &s->record;
	const struct wmk_ctf_program *programs[] = { &s->decoder->event_header, &s->decoder->event_context,
						     record->event ? &record->event->context : NULL,
						     record->event ? &record->event->payload : NULL };
	struct wmk_ctf_walk *walk = &s->record.walk;
	const struct wmk_ctf_op *op = NULL;
	struct wmk_ctf_item item;
	char words[WMK_ERROR_LEN];

	walk->in = s->bytes;
	walk->at = s->next_at;
	for (unsigned i = 0; i < 4 && !op && programs[i]; i++) {
		wmk_ctf_walk_enter(walk, programs[i]);
		while (wmk_ctf_next(walk, &item))
			;
		op = walk->err < 0 ? &walk->ops[walk->op] : NULL;
	}
	/* An element of an array has no name, so the message contains the name of the array. */
	for (uint32_t depth = walk->depth; op && !op->name && depth-- > 0;)
		op = &walk->ops[walk->levels[depth].op];
	if (!op || !op->name)
		return damage(s, -ENODATA, s->packet.at + s->next_at / 8, "a record extends beyond its packet");
	if (op->ref)
		snprintf(words, sizeof(words),
			 "a record extends beyond its packet, with '%.40s' of length %" PRIu64, op->name,
			 walk->registers[op->ref]);
	else
		snprintf(words, sizeof(words), "a record extends beyond its packet, with '%.40s'", op->name);
	wmk_error_clear();
	return damage(s, -ENODATA, s->packet.at + s->next_at / 8, words);
}

/*
 * Read more of the file and decode the record at next_at again, because the first attempt failed. The function returns
 * the same results as wmk_ctf_record(), or damage with a cause chain.
 */
static RARE int have_more(struct wmk_read_stream *s, int err)
{
	int got = 1;

	while (err == -ENODATA && s->bytes.end < s->packet.content) {
		got = wmk_read_window_more(s, s->packet.at + s->next_at / 8);
		if (got <= 0)
			break;
		wmk_read_window_show(s);
		err = wmk_ctf_record(s->decoder, &s->bytes, s->next_at, &s->record);
	}
	if (got < 0)
		return got;
	if (err == -ENODATA && s->packet.is_cut)
		return damage(s, -ENODATA, s->packet.at + s->next_at / 8, "the file ends within a record of a packet");
	if (err == -ENODATA)
		return explain(s);
	return err < 0 ? wmk_error_add(err, "'%.60s', packet at byte %" PRIu64, s->file, s->packet.at) : 0;
}

/*
 * Report once that the time of a record is earlier than the time of the previous record. The next call of
 * wmk_read_stream_next() returns the record itself. The reader compares later times with the time of this record.
 */
static RARE int go_back_in_time(struct wmk_read_stream *s)
{
	s->is_back = true;
	s->last = s->record.time;
	return damage(s, -EPROTO, s->packet.at + s->next_at / 8, "time goes back here");
}

/* Read the next record of the packet. 1; 0: no more records. */
static inline int next_record(struct wmk_read_stream *s)
{
	int err;

	if (s->next_at >= s->packet.content)
		return 0;
	err = wmk_ctf_record(s->decoder, &s->bytes, s->next_at, &s->record);
	if (err < 0 && (err = have_more(s, err)) < 0)
		return err;
	if (s->record.end <= s->next_at)
		return damage(s, -EPROTO, s->packet.at + s->next_at / 8,
			      "a record of size 0 before the end of the packet content");
	if (s->record.time < s->last)
		return go_back_in_time(s);
	s->last = s->record.time;
	s->next_at = s->record.end;
	s->ns = wmk_read_scale_ns(&s->scale, s->record.time);
	return 1;
}

/* Report damage of the packet as a whole; the reader still reads the records of the packet. */
static RARE int tell_wrong(struct wmk_read_stream *s)
{
	const char *words = s->wrong;

	if (words) {
		s->wrong = NULL;
		return damage(s, -EPROTO, s->packet.at, words);
	}
	s->is_index_wrong = false;
	return wmk_error(-EPROTO,
			 "'index/%.60s.idx' contradicts the packet at byte %" PRIu64,
			 s->name, s->packet.at);
}

/*
 * Start with `got`, which is a result of next_record(), and continue to the next selected record. Returns
 * WMK_READ_RECORD, 0 at the end of the packet, or a negative value on damage.
 */
static int wanted_record(struct wmk_read_stream *s, int got)
{
	for (; got > 0; got = next_record(s)) {
		if (s->ns > s->to) {
			s->has_ended = true;
			wmk_read_index_close(&s->index);
			return 0;
		}
		if (s->ns >= s->from)
			return WMK_READ_RECORD;
	}
	if (got == 0)
		return leave_packet(s);
	if (!s->is_back)
		pass_packet(s);
	return got;
}

/* Continue the current packet by one step. Returns like wanted_record(). */
static int in_packet(struct wmk_read_stream *s)
{
	if (s->wrong || s->is_index_wrong)
		return tell_wrong(s);
	s->is_back = false;
	return wanted_record(s, next_record(s));
}

/*
 * If the frame after the packet `before` is damaged or contains no packet, continue with the next frame. The number of
 * packets in the skipped frame is unknown, so the reader no longer uses the index.
 */
static RARE void skip_frame(struct wmk_read_stream *s, const struct wmk_read_packet *before)
{
	s->packet = *before;
	s->packet.at = wmk_ctf_frames_after(s->frames, before->at);
	s->is_sought = false;
	wmk_read_index_close(&s->index);
}

/*
 * The next step between packets. Returns WMK_READ_PACKET, WMK_READ_LATER, 0 for no result yet or the end, or a negative
 * value on damage.
 */
static RARE int between_packets(struct wmk_read_stream *s)
{
	const bool is_sought = s->is_sought;
	const struct wmk_read_packet before = s->packet;
	int got = begin_packet(s);

	if (got < 0 && s->frames && !s->packet.size && (got == -EBADMSG || !is_sought)) {
		skip_frame(s, &before);
		return got;
	}
	if (is_sought && (got <= 0 || got == WMK_READ_LATER || s->is_index_wrong)) {
		uint64_t at = s->packet.at;

		wmk_read_seek_back(s);
		s->is_index_wrong = false;
		return wmk_error(-EPROTO,
				 "'index/%.60s.idx' refers to byte %" PRIu64 ", which is not the start of the packet",
				 s->name, at);
	}
	s->is_sought = false;
	if (got < 0) {
		s->has_ended = !s->packet.size;
		s->packet.at += s->packet.size;
		return got;
	}
	if (got == WMK_READ_LATER && s->growth == WMK_READ_LIVE)
		return got;
	if (got == 0 || got == WMK_READ_LATER) {
		s->has_ended = true;
		return 0;
	}
#ifndef WMK_PLANTED_BUG_READ_STREAM            /* the fuzzer must find this */
	const int64_t wanted = s->from;
#else
	const int64_t wanted = s->from + (s->from != INT64_MIN);
#endif
	const bool has_begin = s->decoder->class->clock && s->packet.has_begin;

	/* (without a begin, times in the next packet continue from the last record of this packet) */
	if (has_begin && s->packet.has_end && s->packet.end && wmk_read_scale_ns(&s->scale, s->packet.end) < wanted) {
		s->record.time = s->packet.end;          /* (the next packet may have no begin) */
		pass_packet(s);
		wmk_read_seek(s);
		return 0;
	}
	/*
	 * If the packet that the index has chosen does not end before the selection, the search must go back. The index
	 * is wrong, or the index contains an unknown end time that the search has treated as an early time. The reader
	 * may then also need packets before the chosen packet.
	 */
	if (is_sought) {
		wmk_read_seek_back(s);
		return 0;
	}
	if (has_begin && wmk_read_scale_ns(&s->scale, s->packet.begin) > s->to) {
		s->has_ended = true;
		wmk_read_index_close(&s->index);
		return 0;
	}
	return WMK_READ_PACKET;
}

/* The code below also handles a last call that returned no record, and damage that the reader must report. */
static RARE int next_of_any(struct wmk_read_stream *s)
{
	int got;

	if (!s->is_open) {
		s->is_open = true;
		got = s->growth == WMK_READ_LIVE ? 0 : wmk_read_index_open(&s->index, s->trace->dir, s->name);
		if (got < 0)
			return got;
	}
	got = wmk_read_window_damage(s);
	if (got < 0)
		return got;
	while (!s->has_ended) {
		got = s->in_packet ? in_packet(s) : between_packets(s);
		s->is_steady = got == WMK_READ_RECORD;
		if (got)
			return got;
	}
	got = wmk_read_window_damage(s);
	return got < 0 ? got : wmk_read_seek_end(s);
}

int wmk_read_stream_next(struct wmk_read_stream *s)
{
	int got;

	if (!s->is_steady)
		return next_of_any(s);
	got = next_record(s);
	if (got > 0 && s->ns >= s->from && s->ns <= s->to)
		return WMK_READ_RECORD;
	s->is_steady = false;
	got = wanted_record(s, got);
	s->is_steady = got == WMK_READ_RECORD;
	return got ? got : next_of_any(s);
}
