/* SPDX-License-Identifier: MIT */
/*
 * syscall_stream.c - a ring of the BPF program as a source of packets (see syscall_reader.h).
 *
 *     discard      ring ──► filling packet ──► returned when it is full enough, or with a flush
 *     overwrite    ring ──► filling packet ──► newest packets are kept (kept_packets.h) ──► returned with a flush
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/error.h"
#include "kernel/channel/syscall_set.h"
#include "kernel/channel/kept_packets.h"
#include "ring/set.h"

#define ALIGN WMK_KEPT_PACKETS_ALIGN
#define PACKET (256u << 10)          /* maximum size of a packet's content ... */
#define GIVE (64u << 10)             /* ... and from this size on, the packet is returned without a flush */
/* overwrite mode: a packet has about this fraction of the kept bytes, so that few records are dropped at a time */
#define GIVE_PARTS 8u
#define RECORD_MOST (20u << 10)      /* upper bound: three parts of 4 KiB, numbers, contexts */

struct wmk_syscall_stream {
	struct wmk_source source;
	struct wmk_kreader *reader;
	struct wmk_syscalls *bpf;
	unsigned ring;
	int epoll;
	uint8_t *memory, *data;
	size_t len, give;                /* give: from this size on, the packet is full enough */
	uint64_t begin_ts, end_ts;       /* of the packet; end_ts is also the end of the stream and never decreases */
	bool ready;                      /* returned, not released */
	/*
	 * positions in the ring: `at`: end of the records that were taken; `until`: end of the records that a flush
	 * takes
	 */
	uint64_t at, until;
	uint64_t n;                      /* records of the filling packet */
	uint64_t records;                /* records of returned packets, including those of an earlier process */
	uint64_t base_lost;              /* lost records at the last clear */
	uint64_t before_lost;            /* lost records of an earlier process, from the trace */
	/*
	 * lost records: `seen_lost`: known; `shown`: reported in packets; `due`: packets may report `seen_lost` once
	 * `at` reaches this
	 */
	uint64_t seen_lost, due, shown;
	/* Chunks (docs/rotation.md). */
	uint64_t limit;                  /* no record beyond this position in the ring is taken; UINT64_MAX: no limit */
	uint64_t base_shown;             /* losses that earlier chunks have reported ... */
	uint64_t base_overwritten;       /* ... and how many of them were overwritten */
	/* Overwrite mode. */
	struct wmk_kept_packets kept;
	struct wmk_kept_packet *given;    /* returned kept packet, not released */
};

static struct wmk_syscall_stream *stream_of(struct wmk_source *source)
{
	return (struct wmk_syscall_stream *)source;
}

/* ── counts ──────────────────────────────────────────────────────────────────────────────────────────── */

static uint64_t lost_now(struct wmk_syscall_stream *stream)
{
	struct wmk_syscalls_stats stats;

	if (wmk_syscalls_stats(stream->bpf, stream->ring, &stats) < 0) {
		wmk_error_clear();
		return stream->seen_lost;
	}
	return stats.lost - stream->base_lost;
}

/*
 * Queries how many records the ring has lost. The lost records are older than each record that enters the ring after
 * the query. A packet that ends after the current head may report the lost records.
 */
static void query_losses(struct wmk_syscall_stream *stream)
{
	const uint64_t lost = lost_now(stream);

	if (stream->at >= stream->due)
		stream->shown = stream->seen_lost;
	if (lost <= stream->seen_lost)
		return;
	stream->seen_lost = lost;
	stream->due = wmk_syscalls_head(stream->bpf, stream->ring) + 1;
}

static uint64_t since(uint64_t now, uint64_t base)
{
	return now > base ? now - base : 0;
}

static uint64_t calls_lost(struct wmk_source *source, uint64_t by_cause[WAYMARK_LOST_CAUSES])
{
	struct wmk_syscall_stream *stream = stream_of(source);
	const uint64_t all = lost_now(stream) + stream->before_lost + stream->kept.overwritten;
	const uint64_t lost = since(all, stream->base_shown);
	const uint64_t overwritten = since(stream->kept.overwritten, stream->base_overwritten);

	for (unsigned c = 0; by_cause && c < WAYMARK_LOST_CAUSES; c++)
		by_cause[c] = c == WAYMARK_LOST_FULL ? since(lost, overwritten) : 0;
	return lost;
}

/*
 * The number of records in the ring is unknown. A flush ends when it has drained the records that the ring holds now.
 */
static uint64_t calls_head(struct wmk_source *source)
{
	struct wmk_syscall_stream *stream = stream_of(source);

	stream->until = wmk_syscalls_head(stream->bpf, stream->ring);
	return UINT64_MAX;
}

/* ── records ─────────────────────────────────────────────────────────────────────────────────────────── */

/* Appends a record to the packet, which has room for any record. */
static int put_record(struct wmk_syscall_stream *stream, const struct wmk_syscalls_record *record)
{
	const struct wmk_syscall_entry *call = stream->reader->calls->calls[record->abi][record->number];
	const struct wmk_kcommon common = { .tid = (int32_t)record->tid };
	const uint64_t ts = record->ts < stream->end_ts ? stream->end_ts : record->ts;
	struct wmk_kfilter_record filtered = { .cpu = record->cpu, .tid = (int32_t)record->tid };
	const struct wmk_kreader_filters *filters;
	uint8_t *at = stream->data + stream->len;
	size_t n;
	long payload;

	if (!call || call->ids[record->is_exit] == WMK_SYSCALL_SET_NO_ID)
		return 0;
	n = wmk_ctf_record_encode(at, call->ids[record->is_exit], ts, stream->len ? stream->end_ts : ts);
	filtered.contexts = at + n;
	filtered.contexts_len = wmk_kcontext_encode_of(stream->reader->contexts, record->cpu, ts, &common,
						       (int32_t)record->pid, at + n);
	n += filtered.contexts_len;
	payload = wmk_syscalls_payload(&call->call, record, at + n, PACKET - stream->len - n);
	if (payload < 0)
		return (int)payload;
	filtered.payload = at + n;
	filtered.payload_len = (size_t)payload;
	filters = &call->filters[record->is_exit];
	if (filters->n && !wmk_kreader_filters_accept(filters, ts, &filtered))
		return 0;
	if (!stream->len)
		stream->begin_ts = ts;
	stream->end_ts = ts;
	stream->len += n + (size_t)payload;
	stream->n++;
	return 0;
}

/* Moves records from the ring into the packet, as many as fit. */
static int take(struct wmk_syscall_stream *stream)
{
	const size_t most = stream->kept.room ? stream->give : PACKET - RECORD_MOST;
	struct wmk_syscalls_record record;
	struct wmk_syscalls_batch batch;
	int ret = stream->at < stream->limit ? wmk_syscalls_next(stream->bpf, stream->ring, &batch) : 0;

	if (ret > 0 && batch.end > stream->limit)
		batch.end = stream->limit;
	/*
	 * Drain the events of tasks after the batch is taken: the task table then has all events before the batch's
	 * records.
	 */
	if (ret > 0 && wmk_kcontext_drain(stream->reader->contexts) < 0)
		ret = wmk_error_number();
	if (ret <= 0)
		return ret;
	while (ret >= 0 && stream->len <= most && (ret = wmk_syscalls_take(&batch, &record)) > 0)
		ret = put_record(stream, &record);
	wmk_syscalls_release(&batch);
	stream->at = batch.at;
	return ret < 0 ? wmk_error_add(ret, "cannot read a system call of ring %u", stream->ring) : 0;
}

static void refresh_own(struct wmk_kreader *reader)
{
	wmk_kown_refresh(&reader->own);
	if (reader->calls->own_version == reader->own.version)
		return;
	reader->calls->own_version = reader->own.version;
	wmk_syscalls_exclude_only(reader->calls->bpf, reader->own.pids, reader->own.n_pids);
}

/* Completes the loss count of the packet before it is returned or kept. */
static void complete(struct wmk_syscall_stream *stream)
{
	if (stream->at >= stream->due)
		stream->shown = stream->seen_lost;
}

/*
 * Overwrite mode: moves the records of the ring before position `until` into kept packets. 1: the ring had such
 * records; 0: the ring had none.
 */
static int keep(struct wmk_syscall_stream *stream, uint64_t until, bool flush)
{
	const bool any = stream->at < until;
	uint64_t before;
	int err = 0;

	while (err == 0 && (stream->at < until || (flush && stream->len))) {
		query_losses(stream);
		before = stream->at;
		if (stream->at < until)
			err = take(stream);
		/* stops at a record that the kernel is still writing */
		until = stream->at == before ? before : until;
		if (stream->len < stream->give && !(flush && stream->at >= until))
			continue;
		complete(stream);
		const struct wmk_kept_packet header = { .begin_ts = stream->begin_ts,
							 .end_ts = stream->end_ts,
							 .records = stream->n,
							 .lost = stream->shown,
							 .len = stream->len };

		if (stream->len)
			wmk_kept_packets_add(&stream->kept, &header, stream->data);
		stream->len = stream->n = 0;
	}
	return err < 0 ? err : any;
}

static int calls_follow(struct wmk_source *source)
{
	struct wmk_syscall_stream *stream = stream_of(source);
	struct epoll_event event;

	if (!stream->kept.room)
		return 0;
	epoll_wait(stream->epoll, &event, 1, 0);
	refresh_own(stream->reader);
	return keep(stream, wmk_syscalls_head(stream->bpf, stream->ring), false);
}

/* Returns the oldest kept packet in stream->given. 1: a packet was kept; 0: no kept packet. */
static int give_kept(struct wmk_syscall_stream *stream)
{
	int err;

	refresh_own(stream->reader);
	err = keep(stream, stream->until, true);
	if (err < 0)
		return err;
	stream->given = wmk_kept_packets_take(&stream->kept);
	if (!stream->given)
		return 0;
	stream->records += stream->given->records;
	return 1;
}

/* 1: the filling packet is complete; 0: not yet. */
static int give_filled(struct wmk_syscall_stream *stream, bool flush)
{
	const uint64_t until = flush ? stream->until : wmk_syscalls_head(stream->bpf, stream->ring);
	struct epoll_event event;
	int err = 0;

	epoll_wait(stream->epoll, &event, 1, 0);
	refresh_own(stream->reader);
	if (stream->at < until) {
		query_losses(stream);
		err = take(stream);
	}
	if (err < 0 || !stream->len || (!flush && stream->len < stream->give))
		return err;
	complete(stream);
	stream->records += stream->n;
	stream->n = 0;
	return 1;
}

static int calls_next(struct wmk_source *source, int flush, struct wmk_packet *packet)
{
	struct wmk_syscall_stream *stream = stream_of(source);
	const struct wmk_kept_packet *given;
	uint8_t *data;
	int ret = 1;

	if (!stream->ready && !stream->kept.room)
		ret = give_filled(stream, flush != 0);
	else if (!stream->ready)
		ret = flush ? give_kept(stream) : 0;
	if (ret <= 0)
		return ret;
	stream->ready = true;
	given = stream->given;
	data = given ? given->data : stream->data;
	*packet = (struct wmk_packet){
		.begin_ts = given ? given->begin_ts : stream->begin_ts,
		.end_ts = given ? given->end_ts : stream->end_ts,
		.position = stream->records,
		.end = stream->records,
		.records = stream->records,
		.lost = since((given ? given->lost : stream->shown) + stream->before_lost + stream->kept.overwritten,
			      stream->base_shown),
		.data = data,
		.len = given ? given->len : stream->len,
		.room = data - WMK_CTF_PACKET_ROOM,
	};
	return 1;
}

static int calls_release(struct wmk_source *source, const struct wmk_packet *packet)
{
	struct wmk_syscall_stream *stream = stream_of(source);

	(void)packet;
	if (!stream->given)
		stream->len = 0;
	wmk_kept_packets_free(stream->given);
	stream->given = NULL;
	stream->ready = false;
	return 0;
}

/* ── resume and clear ────────────────────────────────────────────────────────────────────────────────── */

/* The ring of the crashed process no longer exists, so the counts of records come from the trace alone. */
static int calls_resume(struct wmk_source *source, const struct wmk_ctf_packet *last, uint64_t *records, uint64_t *end)
{
	struct wmk_syscall_stream *stream = stream_of(source);

	*records = *end = last->ring_position;
	stream->records = last->ring_position;
	stream->end_ts = last->end_ts;
	stream->before_lost = last->lost;
	return 1;
}

static int calls_clear(struct wmk_source *source, uint64_t *position, uint64_t *ts)
{
	struct wmk_syscall_stream *stream = stream_of(source);
	struct wmk_syscalls_record record;
	struct wmk_syscalls_batch batch;
	int ret = wmk_syscalls_next(stream->bpf, stream->ring, &batch);

	*position = *ts = 0;
	if (ret > 0) {
		while ((ret = wmk_syscalls_take(&batch, &record)) != 0)
			if (ret < 0)
				wmk_error_clear();
		wmk_syscalls_release(&batch);
		stream->at = batch.at;
	}
	calls_release(source, NULL);
	wmk_kept_packets_clear(&stream->kept);
	stream->len = stream->n = 0;
	stream->base_lost += lost_now(stream);
	stream->records = stream->before_lost = 0;
	stream->seen_lost = stream->due = stream->shown = 0;
	stream->base_shown = stream->base_overwritten = 0;
	stream->limit = UINT64_MAX;
	return 0;
}

/* ── chunks ──────────────────────────────────────────────────────────────────────────────────────────── */

/* (In overwrite mode, the consumer does not call this function.) */
static int calls_chunk_cut(struct wmk_source *source, struct wmk_ring_cut *cut)
{
	struct wmk_syscall_stream *stream = stream_of(source);

	stream->limit = wmk_syscalls_head(stream->bpf, stream->ring);
	*cut = (struct wmk_ring_cut){ .pos = stream->limit, .ts = stream->end_ts };
	return 0;
}

/*
 * The ring of an earlier process no longer exists. All records of this ring are newer than any stored cut, so the chunk
 * ends with the records that were taken.
 */
static int calls_chunk_cut_at(struct wmk_source *source, const struct wmk_ring_cut *cut)
{
	struct wmk_syscall_stream *stream = stream_of(source);

	stream->limit = cut ? stream->at : UINT64_MAX;
	return 0;
}

static bool calls_chunk_ready(struct wmk_source *source)
{
	const struct wmk_syscall_stream *stream = stream_of(source);

	return stream->limit == UINT64_MAX || (!stream->len && stream->at >= stream->limit);
}

static void calls_chunk_end(struct wmk_source *source, uint64_t *lost, uint64_t *fields_cut)
{
	*lost = calls_lost(source, NULL);
	*fields_cut = 0;
}

/*
 * A process that resumes this stream takes the counts of lost records from the trace. `*begin` therefore stores no sum
 * of losses: its member `records` is 0.
 */
static void calls_chunk_begin(struct wmk_source *source, uint64_t lost, struct wmk_ring_cut *begin)
{
	struct wmk_syscall_stream *stream = stream_of(source);

	stream->base_shown += lost;
	stream->base_overwritten = stream->kept.overwritten;
	stream->records = 0;
	*begin = (struct wmk_ring_cut){ .ts = stream->end_ts };
}

/* ── operations ──────────────────────────────────────────────────────────────────────────────────────── */

/* The descriptor becomes readable when a part of the ring has been filled since the last drain pass. */
static int calls_fd(struct wmk_source *source)
{
	return stream_of(source)->epoll;
}

static uint64_t calls_raise_floor(struct wmk_source *source)
{
	return wmk_kreader_now(stream_of(source)->reader);
}

static int calls_arm(struct wmk_source *source, bool first)
{
	struct wmk_syscall_stream *stream = stream_of(source);

	const int err = wmk_syscalls_wake(stream->bpf, first);

	return err < 0 ? err : first && (stream->len || wmk_syscalls_head(stream->bpf, stream->ring) != stream->at);
}

static int calls_follow_fd(struct wmk_source *source)
{
	return stream_of(source)->kept.room ? stream_of(source)->epoll : -1;
}

static void calls_close(struct wmk_source *source)
{
	struct wmk_syscall_stream *stream = stream_of(source);

	if (stream->epoll >= 0)
		close(stream->epoll);
	wmk_kept_packets_clear(&stream->kept);
	wmk_kept_packets_free(stream->given);
	free(stream->memory);
	free(stream);
}

static const struct wmk_source_ops calls_ops = {
	.next = calls_next, .release = calls_release, .head = calls_head, .resume = calls_resume, .records_at = 1,
	.lost = calls_lost, .clear = calls_clear, .fd = calls_fd, .arm = calls_arm, .raise_floor = calls_raise_floor,
	.follow = calls_follow,
	.follow_fd = calls_follow_fd,
	.chunk_cut = calls_chunk_cut, .chunk_cut_at = calls_chunk_cut_at, .chunk_ready = calls_chunk_ready,
	.chunk_end = calls_chunk_end, .chunk_begin = calls_chunk_begin, .close = calls_close,
};

/* Edge-triggered: signalled once when the ring crosses its wake-up threshold. */
static int make_epoll(struct wmk_syscall_stream *stream)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };

	stream->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (stream->epoll < 0 ||
	    epoll_ctl(stream->epoll, EPOLL_CTL_ADD, wmk_syscalls_fd(stream->bpf, stream->ring), &event) < 0)
		return wmk_error(-errno, "cannot wait for system calls of ring %u", stream->ring);
	return 0;
}

int wmk_syscall_stream_open(struct wmk_kreader *reader, unsigned ring, struct wmk_source **result)
{
	struct wmk_syscall_stream *stream;
	int err;

	if (ring >= wmk_kreader_rings(reader))
		return wmk_error(-ENODEV, "cannot open ring %u of system calls: no such ring", ring);
	stream = calloc(1, sizeof(*stream));
	if (!stream)
		return wmk_error(-ENOMEM, "cannot open ring %u of system calls: no memory", ring);
	stream->source.ops = &calls_ops;
	stream->limit = UINT64_MAX;
	stream->reader = reader;
	stream->bpf = reader->calls->bpf;
	stream->ring = ring;
	stream->kept.room = reader->calls->kept_bytes;
	stream->give =
		stream->kept.room && stream->kept.room / GIVE_PARTS < GIVE ? stream->kept.room / GIVE_PARTS : GIVE;
	stream->memory = aligned_alloc(ALIGN, ALIGN + PACKET + ALIGN);
	err = stream->memory ? 0 : wmk_error(-ENOMEM, "cannot open ring %u of system calls: no memory", ring);
	stream->epoll = -1;
	if (err == 0)
		err = make_epoll(stream);
	if (err < 0) {
		calls_close(&stream->source);
		return err;
	}
	stream->data = stream->memory + WMK_KEPT_PACKETS_ROOM;
	*result = &stream->source;
	return 0;
}
