/* SPDX-License-Identifier: MIT */
/*
 * cpu_stream.c - one CPU of a kernel channel: converts pages of the kernel's buffer to packets.
 *
 * Mapped buffers: a packet contains the new records of one page, and the reader returns the page to the kernel after
 * the packet is written. A process that resumes after a crash therefore receives an unwritten page again. The record
 * count in the trace's last packet shows which records of a returned page are in the trace. Buffers that are not
 * mapped: once this process has read a page, the kernel's buffer no longer contains the page. A packet of a buffer that
 * is not mapped contains the records of as many pages as fit. If no other process resumes the streams (`alone`), the
 * reader reads pages instead of mapping them. Reading a page costs less than mapping it, because the kernel exchanges a
 * full page in constant time. For a mapped page, the kernel iterates over all records with interrupts disabled.
 *
 * The position of the stream counts processed kernel records: records in the trace and unwanted records. Records that a
 * crashed reader took and did not write (`unread`) are not counted. The number of missing records is therefore the
 * kernel's count of read records minus the position of the stream. The position in a packet is
 *
 *     records in the trace, 40 bits │ records processed, 24 bits
 *
 * The lower 24 bits of the position only show which part of a returned page is processed. Pages without wanted records
 * are in no packet, so the position of the last packet can lag behind the kernel's count without a limit. If the lag of
 * the position reaches 2^24 records, the lower 24 bits can wrongly denote a position within the returned page. The
 * reader detects a wrong position, because the returned page is newer than all records of the trace. The upper 40 bits
 * wrap after 2^40 records of one CPU; after a crash, the counts of a channel with so many records are too low.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ctf/writer.h"
#include "kernel/channel/channel_events.h"
#include "kernel/tracefs/instance.h"
#include "ring/set.h"

#define ALIGN 4096u
/* room before a packet's header, so that header and records begin at an aligned address */
#define ROOM 512u
#define LEAST_LEFT 4096u             /* free bytes that a packet must have to take another page */
#define QUERY_EVERY 16384u           /* records between two queries of the kernel's counts */

struct wmk_kstream {
	struct wmk_source source;
	struct wmk_kreader *reader;
	struct wmk_kcpu *buffer;
	unsigned cpu;
	/* The packet. */
	uint8_t *memory, *data;
	size_t len, cap;
	uint64_t begin_ts, end_ts;
	bool ready;                      /* returned, not released */
	struct wmk_error_chain *failed;  /* error after the gathered records: returned after their packet */
	struct wmk_packet packet;
	/* The kernel page from which the stream copies records. */
	struct wmk_kpart part;
	struct wmk_kpage page;
	bool has_page;
	/* Counts. */
	uint64_t taken;                  /* kernel records from the beginning to the last copied one */
	uint64_t records;                /* records in packets */
	uint64_t skip;                   /* records of the next page that are in the trace already */
	uint64_t unread;                 /* part of `taken`: read by an earlier reader and never written */
	uint64_t broken;                 /* malformed records */
	/* A packet reports a loss only if it ends after the loss. */
	/*
	 * `dropped`: newest records, lost because the buffer was full; `due`: once `taken` reaches this value, the
	 * stream is certainly past these losses
	 */
	uint64_t dropped, due;
	uint64_t dropped_shown;
	/* losses that packets have reported, including losses of an earlier reader; never decreases before a clear */
	uint64_t reported;
	uint64_t overrun, overrun_shown; /* oldest records, overwritten: older than the next page that is taken */
	uint64_t query_at;               /* once `taken` reaches this value, the counts are queried again */
	/* Chunks (docs/rotation.md). */
	uint64_t limit;                  /* the stream returns no record beyond this position; UINT64_MAX: no limit */
	uint64_t base_lost;              /* losses that earlier chunks have reported */
};

static struct wmk_kstream *stream_of(struct wmk_source *source)
{
	return (struct wmk_kstream *)source;
}

/* ── counts ──────────────────────────────────────────────────────────────────────────────────────────── */

static uint64_t dropped_of(const struct wmk_kcpu_stats *stats)
{
	return stats->dropped + stats->commit_overrun;
}

static void show_dropped(struct wmk_kstream *stream)
{
	if (stream->taken >= stream->due)
		stream->dropped_shown = stream->dropped;
}

/*
 * Queries how many records the kernel has dropped and overwritten. The dropped records are older than each record that
 * the kernel stores after the query. Packets report the dropped records once the stream has taken a record that the
 * kernel stored after the query. The overwritten records are older than the oldest page in the buffer. The oldest page
 * is the next page that this process takes.
 */
static void query_losses(struct wmk_kstream *stream)
{
	struct wmk_kcpu_stats stats;

	stream->query_at = stream->taken + QUERY_EVERY;
	if (wmk_kcpu_stats(stream->buffer, &stats) < 0) {
		wmk_error_clear();
		return;
	}
	show_dropped(stream);
	stream->overrun = stats.overrun;
	if (dropped_of(&stats) <= stream->dropped)
		return;
	stream->dropped = dropped_of(&stats);
	stream->due = stats.read + stats.entries + 1;
}

static uint64_t since(uint64_t now, uint64_t base)
{
	return now > base ? now - base : 0;
}

/*
 * A channel in overwrite mode loses its oldest records, and a channel in discard mode loses its newest records. A
 * channel has one of the two modes, so both counts subtract the same base `base_lost`.
 */
static uint64_t stream_lost(struct wmk_source *source, uint64_t by_cause[WAYMARK_LOST_CAUSES])
{
	struct wmk_kstream *stream = stream_of(source);
	struct wmk_kcpu_stats stats = { .overrun = stream->overrun, .dropped = stream->dropped };

	if (wmk_kcpu_stats(stream->buffer, &stats) < 0)
		wmk_error_clear();
	const uint64_t all = stats.overrun + dropped_of(&stats) + stream->unread + stream->broken;
	const uint64_t lost = since(all, stream->base_lost), overrun = since(stats.overrun, stream->base_lost);

	for (unsigned c = 0; by_cause && c < WAYMARK_LOST_CAUSES; c++)
		by_cause[c] = c == WAYMARK_LOST_FULL ? lost - overrun : 0;
	return lost;
}

static uint64_t end_of(const struct wmk_kstream *stream)
{
	return stream->taken - stream->unread;
}

static uint64_t place_of(const struct wmk_kstream *stream)
{
	return stream->records << WMK_KSTREAM_RECORDS_AT | (end_of(stream) & ((1u << WMK_KSTREAM_RECORDS_AT) - 1));
}

static uint64_t stream_head(struct wmk_source *source)
{
	struct wmk_kstream *stream = stream_of(source);
	struct wmk_kcpu_stats stats;

	if (wmk_kcpu_stats(stream->buffer, &stats) < 0) {
		wmk_error_clear();
		return end_of(stream);
	}
	/* (the kernel may return parts of a page, so `read` can be ahead of `taken`) */
	const uint64_t head = stats.read + stats.entries - stream->unread;

	/*
	 * the kernel counts fewer records than were taken: another process emptied the buffer, so all records in the
	 * buffer are new
	 */
	return head < end_of(stream) ? end_of(stream) + stats.entries : head;
}

/* ── records ─────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Returns whether the record is excluded because a thread of the tracer made it. Records that were made in an
 * interrupt, and records of events with `keeps_own`, are never excluded.
 */
static bool is_own(const struct wmk_kreader *reader, const struct wmk_kreader_event *event,
		   const struct wmk_kcommon *common, uint64_t ts)
{
	return !event->keeps_own && !(common->flags & WMK_KCOMMON_INTERRUPT) &&
	       wmk_kown_has(&reader->own, common->tid, ts);
}

/* Replaces the two threads at the end of the payload by their processes; -1: unknown. */
static void set_processes(const struct wmk_kstream *stream, uint64_t ts, uint8_t *end)
{
	int32_t numbers[2];

	memcpy(numbers, end - sizeof(numbers), sizeof(numbers));
	for (unsigned i = 0; i < 2; i++)
		numbers[i] = wmk_kcontext_process(stream->reader->contexts, stream->cpu, ts, numbers[i]);
	memcpy(end - sizeof(numbers), numbers, sizeof(numbers));
}

/*
 * 1: the record is in the packet, is not wanted, or is malformed and counted as lost. 0: the packet has no room for the
 * record.
 */
static int put_record(struct wmk_kstream *stream, const struct wmk_krecord *record)
{
	const struct wmk_kreader_event *event =
		record->len < 8 ? NULL : wmk_kreader_of_type(stream->reader, record->type);
	uint8_t *at = stream->data + stream->len;
	const size_t left = stream->cap - stream->len;
	struct wmk_kfilter_record filtered = { .cpu = stream->cpu };
	struct wmk_kcommon common;
	size_t n;
	long payload;

	if (!event) {
		stream->broken += record->len < 8;
		return 1;
	}
	wmk_kcommon_read(record->data, &common);
	if (is_own(stream->reader, event, &common, record->ts))
		return 1;
	if (left < WMK_CTF_RECORD_HEAD + WMK_KCONTEXT_BYTES)
		return 0;
	if (stream->reader->only_pid && !event->of_all &&
	    wmk_kcontext_process(stream->reader->contexts, stream->cpu, record->ts, common.tid) !=
		    stream->reader->only_pid)
		return 1;
	n = wmk_ctf_record_encode(at, event->id, record->ts, stream->len ? stream->end_ts : record->ts);
	filtered.tid = common.tid;
	filtered.contexts = at + n;
	filtered.contexts_len = wmk_kcontext_encode(stream->reader->contexts, stream->cpu, record->ts, &common, at + n);
	n += filtered.contexts_len;
	payload = wmk_kevent_copy(event->event, record->data, record->len, at + n, left - n);
	if (payload == -ENOSPC && stream->len)
		return 0;
	if (payload < 0) {
		wmk_error_clear();
		stream->broken++;
		return 1;
	}
	if (event->event->has_processes)
		set_processes(stream, record->ts, at + n + payload);
	filtered.payload = at + n;
	filtered.payload_len = (size_t)payload;
	if (!wmk_kreader_event_accepts(event, record->ts, &filtered))
		return 1;
	if (!stream->len)
		stream->begin_ts = record->ts;
	stream->end_ts = record->ts;
	stream->len += n + (size_t)payload;
	stream->records++;
	return 1;
}

/*
 * Copies all records that fit. 1: the page is finished; 0: the packet is full, or the next record belongs to the next
 * chunk; -errno.
 */
static int copy_page(struct wmk_kstream *stream)
{
	struct wmk_krecord record;
	struct wmk_kpage before = stream->page;
	int ret = 1;

	while ((stream->skip || end_of(stream) < stream->limit) &&
	       (ret = wmk_kpage_next(&stream->page, &record)) == 1) {
		if (stream->skip) {
			stream->skip--;
		} else {
			if (put_record(stream, &record) == 0) {
				stream->page = before;
				return 0;
			}
			stream->taken++;
		}
		before = stream->page;
	}
	/* (at the limit, ret is 1) */
	return ret < 0 ? ret : ret == 0;
}

/* 1: a page is ready to be copied; 0: none. */
static int next_page(struct wmk_kstream *stream, bool flush)
{
	int ret = wmk_kcpu_next(stream->buffer, flush, &stream->part);

	if (ret <= 0)
		return ret;
	ret = wmk_kpart_open(stream->buffer, &stream->part, &stream->page);
	/*
	 * Drain the events of tasks after the page is taken: the task table then has all events before the page's
	 * records.
	 */
	if (ret == 0)
		ret = wmk_kcontext_drain(stream->reader->contexts);
	if (ret < 0)
		return ret;
	wmk_kown_refresh(&stream->reader->own);
	/* (the rest of a page that was returned before may be older than overwritten records) */
	if (stream->part.from == 0 && !stream->part.again)
		stream->overrun_shown = stream->overrun;
	stream->has_page = true;
	return 1;
}

/*
 * Fills the packet with the records that exist now. Reading itself makes unwanted records: without the limit `head`,
 * the loop would not end.
 */
static int fill(struct wmk_kstream *stream, bool flush)
{
	const bool mapped = wmk_kcpu_mode(stream->buffer) == WMK_KCPU_MAP;
	const uint64_t head = flush ? stream_head(&stream->source) : UINT64_MAX;
	int ret = 1;

	while (ret == 1) {
		if (!stream->has_page && end_of(stream) >= stream->limit)
			return stream->len > 0;
		if (!stream->has_page && stream->len && (mapped || stream->cap - stream->len < LEAST_LEFT))
			return 1;
		if (!stream->has_page && (ret = next_page(stream, flush)) <= 0)
			break;
		ret = copy_page(stream);
		if (ret != 1)
			break;
		stream->has_page = false;
		/* release a mapped page that has no wanted record; in other modes, release each page */
		if (!mapped || !stream->len)
			wmk_kcpu_release(stream->buffer);
		if (!stream->len && end_of(stream) >= head)
			return 0;
	}
	if (ret < 0 && stream->len) {
		stream->failed = wmk_error_take();
		return 1;
	}
	return ret < 0 ? ret : stream->len > 0;
}

static uint64_t lost_by_now(struct wmk_kstream *stream)
{
	const uint64_t lost = stream->overrun_shown + stream->dropped_shown + stream->unread + stream->broken;

	if (stream->reported < lost)
		stream->reported = lost;
	return since(stream->reported, stream->base_lost);
}

static int return_failure(struct wmk_kstream *stream)
{
	wmk_error_give(stream->failed);
	stream->failed = NULL;
	return wmk_error_number();
}

static int stream_next(struct wmk_source *source, int flush, struct wmk_packet *packet)
{
	struct wmk_kstream *stream = stream_of(source);
	int ret;

	if (!stream->ready) {
		if (stream->failed)
			return return_failure(stream);
		/*
		 * Without a flush, query only every QUERY_EVERY records: a query takes microseconds, and packets of
		 * mapped pages are small. At the end, stream_lost() returns the exact count.
		 */
		if (flush || stream->taken >= stream->query_at)
			query_losses(stream);
		ret = fill(stream, flush != 0);
		if (ret <= 0)
			return ret;
		show_dropped(stream);
		stream->packet = (struct wmk_packet){
			.begin_ts = stream->begin_ts, .end_ts = stream->end_ts, .position = place_of(stream),
			.end = end_of(stream), .records = stream->records, .lost = lost_by_now(stream),
			.data = stream->data, .len = stream->len, .room = stream->data - WMK_CTF_PACKET_ROOM,
		};
		stream->ready = true;
	}
	*packet = stream->packet;
	return 1;
}

static int stream_release(struct wmk_source *source, const struct wmk_packet *packet)
{
	struct wmk_kstream *stream = stream_of(source);

	(void)packet;
	if (!stream->ready)
		return 0;
	if (!stream->has_page && wmk_kcpu_mode(stream->buffer) == WMK_KCPU_MAP)
		wmk_kcpu_release(stream->buffer);
	stream->ready = false;
	stream->len = 0;
	return 0;
}

/* ── resume and clear ────────────────────────────────────────────────────────────────────────────────── */

/* Counts the records of the part, and stores the begin time of its page. */
static int count_part(const struct wmk_kstream *stream, const struct wmk_kpart *part, uint64_t *n, uint64_t *begin_ts)
{
	struct wmk_krecord record;
	struct wmk_kpage page;
	int ret = wmk_kpart_open(stream->buffer, part, &page);

	*n = 0;
	*begin_ts = ret >= 0 ? page.begin_ts : 0;
	while (ret >= 0 && (ret = wmk_kpage_next(&page, &record)) == 1)
		(*n)++;
	return ret;
}

uint64_t wmk_kplace_behind(uint64_t place, uint64_t end_ts, uint64_t read, uint64_t again, uint64_t begin_ts)
{
	const uint64_t behind = (read - place) & ((1u << WMK_KSTREAM_RECORDS_AT) - 1);

	return behind < again && end_ts < begin_ts ? again : behind;
}

/*
 * Resumes the stream of an earlier process; `last` is the last packet of the earlier process in the trace. Records that
 * the earlier process took but did not write count as lost, unless the kernel returns these records again. -ESTALE: the
 * buffer has been emptied since.
 */
static int stream_resume(struct wmk_source *source, const struct wmk_ctf_packet *last, uint64_t *records, uint64_t *end)
{
	struct wmk_kstream *stream = stream_of(source);
	struct wmk_kcpu_stats stats;
	struct wmk_kpart part;
	uint64_t again = 0, begin_ts = 0;
	int ret = wmk_kcpu_again(stream->buffer, &part);

	if (ret == 1)
		ret = count_part(stream, &part, &again, &begin_ts);
	if (ret >= 0)
		ret = wmk_kcpu_stats(stream->buffer, &stats);
	if (ret < 0)
		return ret;
	const uint64_t behind = wmk_kplace_behind(last->ring_position, last->end_ts, stats.read, again, begin_ts);

	*records = last->ring_position >> WMK_KSTREAM_RECORDS_AT;
	*end = stats.read - behind;
	if (again > stats.read || behind > stats.read || *records > *end)
		return wmk_error(-ESTALE, "cannot resume CPU %u of a kernel channel: its buffer has been emptied",
				 stream->cpu);
	/* the trace lacks only records of the returned page, and may already have the first records of this page */
	if (behind < again)
		stream->skip = again - behind;
	/*
	 * Mapped mode: the reader returns a page to the kernel only after its wanted records are in the trace, so no
	 * record is missing.
	 */
	else if (wmk_kcpu_mode(stream->buffer) != WMK_KCPU_MAP)
		stream->unread = behind - again;
	stream->records = *records;
	stream->reported = last->lost + stream->base_lost;
	stream->end_ts = last->end_ts;
	stream->taken = behind < again ? *end : stats.read - again;
	return 0;
}

static int stream_clear(struct wmk_source *source, uint64_t *position, uint64_t *ts)
{
	struct wmk_kstream *stream = stream_of(source);

	*position = *ts = 0;
	stream->ready = stream->has_page = false;
	wmk_error_drop(stream->failed);
	stream->failed = NULL;
	stream->len = 0;
	stream->taken = stream->records = stream->skip = stream->unread = stream->broken = 0;
	stream->dropped = stream->due = stream->dropped_shown = stream->overrun = stream->overrun_shown =
		stream->query_at = stream->reported = stream->base_lost = 0;
	stream->limit = UINT64_MAX;
	return wmk_kcpu_empty(stream->buffer, stream->reader->instance);
}

/* ── chunks ──────────────────────────────────────────────────────────────────────────────────────────── */

/* The chunk contains all records that the kernel has counted. `ts` is the last record's time only after the drain. */
static int stream_chunk_cut(struct wmk_source *source, struct wmk_ring_cut *cut)
{
	struct wmk_kstream *stream = stream_of(source);

	stream->limit = stream_head(source);
	*cut = (struct wmk_ring_cut){ .pos = stream->limit, .ts = stream->end_ts };
	return 0;
}

static int stream_chunk_cut_at(struct wmk_source *source, const struct wmk_ring_cut *cut)
{
	stream_of(source)->limit = cut ? cut->pos : UINT64_MAX;
	return 0;
}

static bool stream_chunk_ready(struct wmk_source *source)
{
	const struct wmk_kstream *stream = stream_of(source);

	return stream->limit == UINT64_MAX || (!stream->ready && end_of(stream) >= stream->limit);
}

static void stream_chunk_end(struct wmk_source *source, uint64_t *lost, uint64_t *fields_cut)
{
	*lost = stream_lost(source, NULL);
	*fields_cut = 0;
}

static void stream_chunk_begin(struct wmk_source *source, uint64_t lost, struct wmk_ring_cut *begin)
{
	struct wmk_kstream *stream = stream_of(source);

	stream->base_lost += lost;
	if (stream->reported < stream->base_lost)
		stream->reported = stream->base_lost;
	stream->records = 0;
	*begin = (struct wmk_ring_cut){ .pos = end_of(stream), .ts = stream->end_ts, .records = stream->base_lost };
}

/* ── operations ──────────────────────────────────────────────────────────────────────────────────────── */

static int stream_fd(struct wmk_source *source)
{
	return wmk_kcpu_fd(stream_of(source)->buffer);
}

static uint64_t stream_raise_floor(struct wmk_source *source)
{
	return wmk_kreader_now(stream_of(source)->reader);
}

/* The first call sets the wake-up mode of all CPUs. The kernel tests for records when poll() begins. */
static int stream_arm(struct wmk_source *source, bool first)
{
	const struct wmk_kstream *stream = stream_of(source);
	struct wmk_kreader *reader = stream->reader;
	const int wake = first ? WMK_KREADER_WAKE_FIRST : WMK_KREADER_WAKE_LATE;
	int err = 0;

	if ((int)reader->wake != wake)
		err = wmk_kinstance_wake(reader->instance, first);
	reader->wake = err == 0 ? wake : WMK_KREADER_WAKE_UNKNOWN;
	return err < 0 ? err : first && (stream->len || stream->has_page || wmk_kcpu_holds(stream->buffer));
}

/* Keeps the task table up to date even if the channel has no wanted records now. */
static int stream_follow(struct wmk_source *source)
{
	return wmk_kcontext_follow(stream_of(source)->reader->contexts, stream_of(source)->cpu);
}

static int stream_follow_fd(struct wmk_source *source)
{
	return wmk_kcontext_fd(stream_of(source)->reader->contexts, stream_of(source)->cpu);
}

static void stream_close(struct wmk_source *source)
{
	struct wmk_kstream *stream = stream_of(source);

	wmk_kcpu_close(stream->buffer);
	wmk_error_drop(stream->failed);
	free(stream->memory);
	free(stream);
}

static const struct wmk_source_ops stream_ops = {
	.next = stream_next, .release = stream_release, .head = stream_head, .resume = stream_resume,
	.records_at = 1 + WMK_KSTREAM_RECORDS_AT, .lost = stream_lost, .clear = stream_clear, .fd = stream_fd,
	.arm = stream_arm, .raise_floor = stream_raise_floor, .follow = stream_follow, .follow_fd = stream_follow_fd,
	.chunk_cut = stream_chunk_cut, .chunk_cut_at = stream_chunk_cut_at, .chunk_ready = stream_chunk_ready,
	.chunk_end = stream_chunk_end, .chunk_begin = stream_chunk_begin, .close = stream_close,
};

int wmk_kstream_open(struct wmk_kreader *reader, unsigned cpu, struct wmk_source **result)
{
	struct wmk_kstream *stream = calloc(1, sizeof(*stream));
	int err;

	if (!stream)
		return wmk_error(-ENOMEM, "cannot read CPU %u of a kernel channel: no memory", cpu);
	stream->source.ops = &stream_ops;
	stream->limit = UINT64_MAX;
	stream->memory = aligned_alloc(ALIGN, ALIGN + reader->packet_bytes + ALIGN);
	err = stream->memory ? 0 : wmk_error(-ENOMEM, "cannot allocate a packet buffer for CPU %u: no memory", cpu);
	if (err == 0)
		err = wmk_kcpu_open(reader->instance, cpu, reader->alone ? WMK_KCPU_READ : WMK_KCPU_BEST,
				    &stream->buffer);
	if (err == 0)
		err = wmk_kcontext_cpu(reader->contexts, cpu);
	if (err < 0) {
		stream_close(&stream->source);
		return wmk_error_add(err, "cannot read the kernel records of CPU %u", cpu);
	}
	stream->reader = reader;
	stream->cpu = cpu;
	stream->data = stream->memory + ROOM + WMK_CTF_PACKET_ROOM;
	stream->cap = reader->packet_bytes;
	*result = &stream->source;
	return 0;
}
