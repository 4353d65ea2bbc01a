/* SPDX-License-Identifier: MIT */
/*
 * calls_stream.c - a ring of the BPF program as a stream of the trace: its records become packets (see calls_reader.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/error.h"
#include "kernel/calls_inside.h"

#define ALIGN 4096u
#define ROOM 512u                    /* before a packet's header: so that header and records can be written from an aligned place */
#define PACKET (256u << 10)          /* of a packet's content at most ... */
#define GIVE (64u << 10)             /* ... and at least, unless it is flushed */
#define RECORD_MOST (20u << 10)      /* three parts of 4 KiB, numbers, contexts: in any case */

struct wmk_kcallstream {
	struct wmk_kreader *reader;
	struct wmk_kcalls *bpf;
	unsigned ring;
	int epoll;
	uint8_t *memory, *data;
	size_t len;
	uint64_t begin_ts, end_ts;       /* of the packet; end_ts: of the stream, which never goes back */
	bool ready;                      /* given out, not released */
	uint64_t at, until;              /* in the ring: up to where it was taken; up to where a flush takes it */
	uint64_t records;                /* in packets, those of an earlier process too */
	uint64_t base_lost;              /* when it was cleared last */
	uint64_t before_lost;            /* of an earlier process, as the trace says */
	uint64_t seen_lost, due, shown;  /* known; from which position on it may be told; in packets */
};

/* Told when so much is in the ring as wakes, once each time: readable to whoever asks would be whatever there is. */
static int make_epoll(struct wmk_kcallstream *stream)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };

	stream->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (stream->epoll < 0 || epoll_ctl(stream->epoll, EPOLL_CTL_ADD, wmk_kcalls_fd(stream->bpf, stream->ring), &event) < 0)
		return wmk_error(-errno, "cannot wait for the system calls of CPU %u", stream->ring);
	return 0;
}

int wmk_kcallstream_open(struct wmk_kreader *reader, unsigned ring, struct wmk_kcallstream **result)
{
	struct wmk_kcallstream *stream;
	int err;

	if (ring >= wmk_kreader_rings(reader))
		return wmk_error(-ENODEV, "there is no ring %u of system calls", ring);
	stream = calloc(1, sizeof(*stream));
	if (!stream)
		return wmk_error(-ENOMEM, "no memory for the system calls of CPU %u", ring);
	stream->reader = reader;
	stream->bpf = reader->calls->bpf;
	stream->ring = ring;
	stream->memory = aligned_alloc(ALIGN, ALIGN + PACKET + ALIGN);
	err = stream->memory ? 0 : wmk_error(-ENOMEM, "no memory for the system calls of CPU %u", ring);
	stream->epoll = -1;
	if (err == 0)
		err = make_epoll(stream);
	if (err < 0) {
		wmk_kcallstream_close(stream);
		return err;
	}
	stream->data = stream->memory + ROOM + WMK_CTF_PACKET_ROOM;
	*result = stream;
	return 0;
}

void wmk_kcallstream_close(struct wmk_kcallstream *stream)
{
	if (!stream)
		return;
	if (stream->epoll >= 0)
		close(stream->epoll);
	free(stream->memory);
	free(stream);
}

int wmk_kcallstream_fd(const struct wmk_kcallstream *stream)
{
	return stream->epoll;
}

/* ── counts ──────────────────────────────────────────────────────────────────────────────────────────── */

static uint64_t lost_now(struct wmk_kcallstream *stream)
{
	struct wmk_kcalls_stats stats;

	if (wmk_kcalls_stats(stream->bpf, stream->ring, &stats) < 0) {
		wmk_error_clear();
		return stream->seen_lost;
	}
	return stats.lost - stream->base_lost;
}

/* What has been lost by now has happened before whatever is recorded from here on: a packet that ends behind that may say so. */
static void look_at_losses(struct wmk_kcallstream *stream)
{
	const uint64_t lost = lost_now(stream);

	if (stream->at >= stream->due)
		stream->shown = stream->seen_lost;
	if (lost <= stream->seen_lost)
		return;
	stream->seen_lost = lost;
	stream->due = wmk_kcalls_head(stream->bpf, stream->ring) + 1;
}

uint64_t wmk_kcallstream_lost(struct wmk_kcallstream *stream)
{
	return lost_now(stream) + stream->before_lost;
}

void wmk_kcallstream_mark(struct wmk_kcallstream *stream)
{
	stream->until = wmk_kcalls_head(stream->bpf, stream->ring);
}

/* ── records ─────────────────────────────────────────────────────────────────────────────────────────── */

/* There is room for any. */
static int put_record(struct wmk_kcallstream *stream, const struct wmk_kcalls_record *record)
{
	const struct wmk_kcallset_call *call = stream->reader->calls->calls[record->abi][record->number];
	const struct wmk_kcommon common = { .tid = (int32_t)record->tid };
	const uint64_t ts = record->ts < stream->end_ts ? stream->end_ts : record->ts;
	uint8_t *at = stream->data + stream->len;
	size_t n;
	long payload;

	if (!call || call->ids[record->is_exit] == WMK_KCALLSET_NO_ID)
		return 0;
	n = wmk_ctf_record_encode(at, call->ids[record->is_exit], ts, stream->len ? stream->end_ts : ts);
	n += wmk_kwho_encode_of(stream->reader->who, record->cpu, ts, &common, (int32_t)record->pid, at + n);
	payload = wmk_kcalls_payload(&call->call, record, at + n, PACKET - stream->len - n);
	if (payload < 0)
		return (int)payload;
	if (!stream->len)
		stream->begin_ts = ts;
	stream->end_ts = ts;
	stream->len += n + (size_t)payload;
	stream->records++;
	return 0;
}

/* From the ring into the packet, as much as fits. */
static int take(struct wmk_kcallstream *stream)
{
	struct wmk_kcalls_record record;
	struct wmk_kcalls_batch batch;
	int ret = wmk_kcalls_next(stream->bpf, stream->ring, &batch);

	/* behind the batch's end: whatever happened before its records is known then */
	if (ret > 0 && wmk_kwho_look(stream->reader->who) < 0)
		ret = wmk_error_number();
	if (ret <= 0)
		return ret;
	while (ret >= 0 && PACKET - stream->len >= RECORD_MOST && (ret = wmk_kcalls_take(&batch, &record)) > 0)
		ret = put_record(stream, &record);
	wmk_kcalls_release(&batch);
	stream->at = batch.at;
	return ret;
}

static void look_at_own(struct wmk_kreader *reader)
{
	wmk_kown_look(&reader->own);
	if (reader->calls->own_version == reader->own.version)
		return;
	reader->calls->own_version = reader->own.version;
	wmk_kcalls_exclude_only(reader->calls->bpf, reader->own.pids, reader->own.n_pids);
}

int wmk_kcallstream_next(struct wmk_kcallstream *stream, bool flush, struct wmk_kcallpacket *packet)
{
	struct epoll_event event;
	const uint64_t until = flush ? stream->until : wmk_kcalls_head(stream->bpf, stream->ring);
	int err;

	if (!stream->ready) {
		epoll_wait(stream->epoll, &event, 1, 0);
		look_at_own(stream->reader);
		if (stream->at < until) {
			look_at_losses(stream);
			err = take(stream);
			if (err < 0)
				return wmk_error_add(err, "a system call on CPU %u cannot be read", stream->ring);
		}
		if (!stream->len || (!flush && stream->len < GIVE))
			return 0;
		if (stream->at >= stream->due)
			stream->shown = stream->seen_lost;
		stream->ready = true;
	}
	*packet = (struct wmk_kcallpacket){
		.begin_ts = stream->begin_ts, .end_ts = stream->end_ts, .position = stream->records, .records = stream->records,
		.lost = stream->shown + stream->before_lost, .data = stream->data, .len = stream->len, .room = stream->data - WMK_CTF_PACKET_ROOM,
	};
	return 1;
}

void wmk_kcallstream_release(struct wmk_kcallstream *stream)
{
	stream->ready = false;
	stream->len = 0;
}

/* ── behind another process, and anew ────────────────────────────────────────────────────────────────── */

void wmk_kcallstream_resume(struct wmk_kcallstream *stream, const struct wmk_ctf_packet *last)
{
	stream->records = last->ring_position;
	stream->end_ts = last->end_ts;
	stream->before_lost = last->lost;
}

void wmk_kcallstream_clear(struct wmk_kcallstream *stream)
{
	struct wmk_kcalls_record record;
	struct wmk_kcalls_batch batch;
	int ret = wmk_kcalls_next(stream->bpf, stream->ring, &batch);

	if (ret > 0) {
		while ((ret = wmk_kcalls_take(&batch, &record)) != 0)
			if (ret < 0)
				wmk_error_clear();
		wmk_kcalls_release(&batch);
		stream->at = batch.at;
	}
	wmk_kcallstream_release(stream);
	stream->base_lost += lost_now(stream);
	stream->records = stream->before_lost = 0;
	stream->seen_lost = stream->due = stream->shown = 0;
}
