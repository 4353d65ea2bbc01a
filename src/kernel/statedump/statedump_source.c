/* SPDX-License-Identifier: MIT */
/*
 * statedump_source.c - the state dump as packets (see statedump_source.h).
 *
 * The dump thread and the thread that takes packets share a structure; the last user frees it. No thread waits for the
 * dump thread, because a read of another process's file in /proc can block for an unlimited time.
 */
#include "kernel/statedump/statedump_source.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cond.h"
#include "base/error.h"
#include "base/thread.h"
#include "ctf/writer.h"
#include "kernel/proc/own_pids.h"
#include "ring/set.h"

#define ALIGN 4096u
#define ROOM 512u                    /* as in cpu_stream.c: headers and records begin at an aligned address */
#define PACKET_BYTES (128u * 1024)
#define PACKETS 2u
#define STACK (256u * 1024)
#define PATIENCE_MS 2000             /* if the dump makes no progress for this time, a flush stops waiting */

struct packet {
	uint8_t *data;
	size_t len;
	uint64_t begin_ts, end_ts;
	uint64_t records;                /* in it */
	uint64_t end;
	bool ready;
};

struct wmk_kdumper {
	struct wmk_source source;
	struct wmk_kdumper_options options;
	int fd;
	pthread_mutex_t lock;
	/* signalled when a packet is ready or free again, and when the dump ends or is cancelled */
	pthread_cond_t changed;
	unsigned users;
	struct packet packets[PACKETS];
	unsigned fill, take;             /* the packet that is being filled; the next packet to take */
	uint8_t *memory;
	size_t cap;
	/* `records`: records of released packets; `made`: recorded records, by which a waiting flush sees progress */
	uint64_t records, made;
	uint64_t last_ts;
	uint64_t begun, asked;           /* number of the latest started dump; number of the latest requested dump */
	uint64_t earlier;                /* position of the last packet of an earlier process */
	/*
	 * These numbers of packets are used for chunks (docs/rotation.md). `filled`: complete packets. `taken`:
	 * released packets. Once `taken` reaches `limit`, no further packet is returned; UINT64_MAX: no limit.
	 */
	uint64_t filled, taken, limit;
	uint64_t end;                    /* end of the last released packet */
	bool running, closed;
	uint64_t round;                  /* number of the current dump thread; records of earlier threads are dropped */
	int err;
	struct wmk_error_chain *why;
};

/* ── shared state ────────────────────────────────────────────────────────────────────────────────────── */

/* The cause chain of the calling thread is preserved. */
static void forget_why(struct wmk_kdumper *dumper)
{
	struct wmk_error_chain *own = wmk_error_take();

	wmk_error_give(dumper->why);
	wmk_error_give(own);
	dumper->why = NULL;
}

static struct wmk_kdumper *dumper_of(struct wmk_source *source)
{
	return (struct wmk_kdumper *)source;
}

static void put(struct wmk_kdumper *dumper)
{
	pthread_mutex_lock(&dumper->lock);
	const bool last = --dumper->users == 0;

	pthread_mutex_unlock(&dumper->lock);
	if (!last)
		return;
	forget_why(dumper);
	if (dumper->fd >= 0)
		close(dumper->fd);
	pthread_cond_destroy(&dumper->changed);
	pthread_mutex_destroy(&dumper->lock);
	free(dumper->memory);
	free(dumper);
}

/* ── the dump thread ─────────────────────────────────────────────────────────────────────────────────── */

struct run {
	struct wmk_kdumper *dumper;
	uint64_t round;
	struct wmk_kown_time begun;
};

static uint64_t end_of(uint64_t number, bool whole)
{
	return number << 1 | whole;
}

static void ready(struct wmk_kdumper *dumper, bool whole)
{
	struct packet *packet = &dumper->packets[dumper->fill];

	packet->end = end_of(dumper->begun, whole);
	packet->ready = true;
	dumper->filled++;
	dumper->fill = (dumper->fill + 1) % PACKETS;
	pthread_cond_broadcast(&dumper->changed);
	eventfd_write(dumper->fd, 1);
}

/* Locked. Return a packet with space for `need` bytes; wait while no packet is free. NULL: the dump was cancelled. */
static struct packet *room(const struct run *run, size_t need)
{
	struct wmk_kdumper *dumper = run->dumper;
	struct packet *packet = &dumper->packets[dumper->fill];

	if (dumper->round == run->round && !packet->ready && packet->len + need > dumper->cap)
		ready(dumper, false);
	while (dumper->round == run->round && dumper->packets[dumper->fill].ready)
		pthread_cond_wait(&dumper->changed, &dumper->lock);
	return dumper->round == run->round ? &dumper->packets[dumper->fill] : NULL;
}

static int record(void *data, unsigned event, uint64_t ts, const void *payload, size_t len)
{
	const struct run *run = data;
	struct wmk_kdumper *dumper = run->dumper;
	const struct wmk_kdumper_options *options = &dumper->options;
	struct packet *packet;

	pthread_mutex_lock(&dumper->lock);
	packet = room(run, WMK_CTF_RECORD_HEAD + options->n_contexts + len);
	if (packet) {
		/* Time stamps may not decrease; the counters of two CPUs can differ a little. */
		if (ts < dumper->last_ts)
			ts = dumper->last_ts;
		dumper->last_ts = ts;
		if (!packet->len)
			packet->begin_ts = packet->end_ts = ts;
		packet->len +=
			wmk_ctf_record_encode(packet->data + packet->len, options->ids[event], ts, packet->end_ts);
		memcpy(packet->data + packet->len, options->contexts, options->n_contexts);
		packet->len += options->n_contexts;
		if (len)
			memcpy(packet->data + packet->len, payload, len);
		packet->len += len;
		packet->end_ts = ts;
		packet->records++;
		dumper->made++;
	}
	pthread_mutex_unlock(&dumper->lock);
	return packet ? 0 : 1;
}

/* Locked. Hand over the last packet, which may be partial, and keep an error for the thread that takes packets. */
static void ended(struct wmk_kdumper *dumper, int err)
{
	if (dumper->packets[dumper->fill].len && !dumper->packets[dumper->fill].ready)
		ready(dumper, err == 0);
	if (err < 0) {
		dumper->err = err;
		dumper->why = wmk_error_take();
		dumper->asked = dumper->begun;
		eventfd_write(dumper->fd, 1);
	}
}

static void *dump(void *arg)
{
	struct run run = *(struct run *)arg;
	struct wmk_kdumper *dumper = run.dumper;
	const struct wmk_kstatedump_options options = {
		.proc = dumper->options.proc,
		.sys = dumper->options.sys,
		.parts = dumper->options.parts ? dumper->options.parts : WMK_KSTATEDUMP_ALL,
		.clock = dumper->options.clock,
		.clock_data = dumper->options.clock_data,
	};

	free(arg);
	wmk_kown_thread_begins(run.begun);
	/*
	 * The consumer daemon may run at a high priority; the dump does not need a high priority. Affects only this
	 * thread.
	 */
	setpriority(PRIO_PROCESS, 0, 0);
	pthread_mutex_lock(&dumper->lock);
	while (dumper->round == run.round && dumper->begun < dumper->asked) {
		dumper->begun = dumper->asked;
		pthread_mutex_unlock(&dumper->lock);
		int err = wmk_kstatedump(&options, record, &run);

		pthread_mutex_lock(&dumper->lock);
		if (dumper->round == run.round)
			ended(dumper, err);
		else
			wmk_error_clear();
	}
	if (dumper->round == run.round)
		dumper->running = false;
	pthread_cond_broadcast(&dumper->changed);
	pthread_mutex_unlock(&dumper->lock);
	put(dumper);
	wmk_kown_thread_ends(run.begun);
	return NULL;
}

/* Locked. */
static int thread_start(struct wmk_kdumper *dumper)
{
	struct run *run = malloc(sizeof(*run));
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	if (!run)
		return wmk_error(-ENOMEM, "no memory for a state dump");
	*run = (struct run){ dumper, dumper->round, wmk_kown_now() };
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	err = -wmk_thread_create(&thread, &attr, dump, run);
	if (err == 0)
		pthread_setname_np(thread, "wmk-dump");
	pthread_attr_destroy(&attr);
	if (err < 0) {
		free(run);
		return wmk_error(err, "cannot start the thread of a state dump: %s", strerror(-err));
	}
	dumper->users++;
	dumper->running = true;
	return 0;
}

/* ── the thread that takes packets ───────────────────────────────────────────────────────────────────── */

int wmk_kdumper_begin(struct wmk_source *source, uint64_t number)
{
	struct wmk_kdumper *dumper = dumper_of(source);
	int err = 0;

	pthread_mutex_lock(&dumper->lock);
	/* `earlier` has bit 0 only if the earlier dump was complete; 0: no earlier dump. */
	if (dumper->earlier & 1 &&
	    (number == WMK_KDUMPER_ANY || (uint32_t)dumper->earlier == (uint32_t)end_of(number, true)) &&
	    dumper->begun < number)
		dumper->begun = number;
	dumper->earlier = 0;
	if (number > dumper->asked)
		dumper->asked = number;
	if (!dumper->running && dumper->err == 0 && dumper->asked > dumper->begun)
		err = thread_start(dumper);
	pthread_mutex_unlock(&dumper->lock);
	return err;
}

/* Locked. Wait until a packet is ready, the dump has ended, or the dump has made no progress for PATIENCE_MS. */
static void wait_for_packet(struct wmk_kdumper *dumper)
{
	struct timespec until = wmk_deadline(PATIENCE_MS);
	uint64_t made = dumper->made;

	while (dumper->running && !dumper->packets[dumper->take].ready && dumper->taken < dumper->limit) {
		if (pthread_cond_timedwait(&dumper->changed, &dumper->lock, &until) != ETIMEDOUT)
			continue;
		if (dumper->made == made)
			return;
		made = dumper->made;
		until = wmk_deadline(PATIENCE_MS);
	}
}

/* A flush happens when recording stops, so the flush waits for the rest of a dump. */
static int dumper_next(struct wmk_source *source, int flush, struct wmk_packet *result)
{
	struct wmk_kdumper *dumper = dumper_of(source);
	struct packet *packet;
	eventfd_t count;
	int err = 0;

	eventfd_read(dumper->fd, &count);
	pthread_mutex_lock(&dumper->lock);
	if (flush)
		wait_for_packet(dumper);
	packet = &dumper->packets[dumper->take];
	if (packet->ready && dumper->taken < dumper->limit) {
		const uint64_t records = dumper->records + packet->records;

		*result = (struct wmk_packet){
			.begin_ts = packet->begin_ts, .end_ts = packet->end_ts, .records = records,
			.position = records << WMK_KDUMPER_RECORDS_AT | (uint32_t)packet->end, .end = packet->end,
			.data = packet->data, .len = packet->len, .room = packet->data - WMK_CTF_PACKET_ROOM,
		};
		err = 1;
	} else if (!packet->ready && dumper->err < 0) {
		err = dumper->err;
		wmk_error_give(dumper->why);
		dumper->why = NULL;
	}
	pthread_mutex_unlock(&dumper->lock);
	return err;
}

static void packet_free(struct packet *packet)
{
	packet->len = 0;
	packet->records = 0;
	packet->ready = false;
}

static int dumper_release(struct wmk_source *source, const struct wmk_packet *released)
{
	struct wmk_kdumper *dumper = dumper_of(source);
	struct packet *packet = &dumper->packets[dumper->take];

	(void)released;
	pthread_mutex_lock(&dumper->lock);
	if (packet->ready) {
		dumper->records += packet->records;
		dumper->end = packet->end;
		dumper->taken++;
		packet_free(packet);
		dumper->take = (dumper->take + 1) % PACKETS;
		/*
		 * If the next packet is ready already, signal the descriptor again, because no later write signals this
		 * packet.
		 */
		if (dumper->packets[dumper->take].ready)
			eventfd_write(dumper->fd, 1);
		pthread_cond_broadcast(&dumper->changed);
	}
	pthread_mutex_unlock(&dumper->lock);
	return 0;
}

static uint64_t dumper_head(struct wmk_source *source)
{
	struct wmk_kdumper *dumper = dumper_of(source);

	pthread_mutex_lock(&dumper->lock);
	const uint64_t number = dumper->asked > dumper->begun ? dumper->asked : dumper->begun;

	pthread_mutex_unlock(&dumper->lock);
	return number ? end_of(number, true) : 0;
}

static int dumper_fd(struct wmk_source *source)
{
	return dumper_of(source)->fd;
}

/*
 * If the earlier dump is complete, and wmk_kdumper_begin() gets its number or WMK_KDUMPER_ANY, no new dump begins.
 * wmk_kdumper_begin() sets the end of packets, so *end is 0.
 */
static int dumper_resume(struct wmk_source *source, const struct wmk_ctf_packet *last, uint64_t *records, uint64_t *end)
{
	struct wmk_kdumper *dumper = dumper_of(source);

	*records = last->ring_position >> WMK_KDUMPER_RECORDS_AT;
	*end = 0;
	pthread_mutex_lock(&dumper->lock);
	dumper->earlier = last->ring_position;
	dumper->end = (uint32_t)last->ring_position;
	dumper->records = *records;
	pthread_mutex_unlock(&dumper->lock);
	return 0;
}

/* The dump waits for space and never loses a record. */
static uint64_t dumper_lost(struct wmk_source *source, uint64_t by_cause[WAYMARK_LOST_CAUSES])
{
	(void)source;
	if (by_cause)
		memset(by_cause, 0, WAYMARK_LOST_CAUSES * sizeof(*by_cause));
	return 0;
}

static int dumper_clear(struct wmk_source *source, uint64_t *position, uint64_t *ts)
{
	struct wmk_kdumper *dumper = dumper_of(source);

	*position = *ts = 0;
	pthread_mutex_lock(&dumper->lock);
	dumper->round++;
	dumper->running = false;
	dumper->earlier = 0;
	if (dumper->begun < dumper->asked)
		dumper->begun = dumper->asked;
	for (unsigned i = 0; i < PACKETS; i++)
		packet_free(&dumper->packets[i]);
	dumper->fill = dumper->take = 0;
	dumper->records = dumper->end = 0;
	dumper->taken = dumper->filled;
	dumper->limit = UINT64_MAX;
	dumper->err = 0;
	forget_why(dumper);
	pthread_cond_broadcast(&dumper->changed);
	pthread_mutex_unlock(&dumper->lock);
	return 0;
}

/* ── chunks ──────────────────────────────────────────────────────────────────────────────────────────── */

/* The packet that is being filled ends here, and belongs to the current chunk. */
static int dumper_chunk_cut(struct wmk_source *source, struct wmk_ring_cut *cut)
{
	struct wmk_kdumper *dumper = dumper_of(source);

	pthread_mutex_lock(&dumper->lock);
	if (dumper->packets[dumper->fill].len && !dumper->packets[dumper->fill].ready)
		ready(dumper, false);
	dumper->limit = dumper->filled;
	*cut = (struct wmk_ring_cut){ .pos = dumper->end, .ts = dumper->last_ts };
	pthread_mutex_unlock(&dumper->lock);
	return 0;
}

/* A dump that an earlier process did not complete begins again, in the next chunk. */
static int dumper_chunk_cut_at(struct wmk_source *source, const struct wmk_ring_cut *cut)
{
	struct wmk_kdumper *dumper = dumper_of(source);

	pthread_mutex_lock(&dumper->lock);
	dumper->limit = cut ? dumper->taken : UINT64_MAX;
	/*
	 * While the limit applied, dumper_next() may have read the signal of a ready packet without returning the
	 * packet. Signal the descriptor again.
	 */
	if (!cut && dumper->packets[dumper->take].ready)
		eventfd_write(dumper->fd, 1);
	pthread_mutex_unlock(&dumper->lock);
	return 0;
}

static bool dumper_chunk_ready(struct wmk_source *source)
{
	struct wmk_kdumper *dumper = dumper_of(source);

	pthread_mutex_lock(&dumper->lock);
	const bool is_ready = dumper->limit == UINT64_MAX || dumper->taken >= dumper->limit;

	pthread_mutex_unlock(&dumper->lock);
	return is_ready;
}

static void dumper_chunk_end(struct wmk_source *source, uint64_t *lost, uint64_t *fields_cut)
{
	(void)source;
	*lost = *fields_cut = 0;
}

static void dumper_chunk_begin(struct wmk_source *source, uint64_t lost, struct wmk_ring_cut *begin)
{
	struct wmk_kdumper *dumper = dumper_of(source);

	(void)lost;
	pthread_mutex_lock(&dumper->lock);
	dumper->records = 0;
	*begin = (struct wmk_ring_cut){ .pos = dumper->end, .ts = dumper->last_ts };
	pthread_mutex_unlock(&dumper->lock);
}

static void dumper_close(struct wmk_source *source)
{
	struct wmk_kdumper *dumper = dumper_of(source);

	pthread_mutex_lock(&dumper->lock);
	dumper->round++;
	dumper->closed = true;
	pthread_cond_broadcast(&dumper->changed);
	pthread_mutex_unlock(&dumper->lock);
	put(dumper);
}

static const struct wmk_source_ops dumper_ops = {
	.next = dumper_next, .release = dumper_release, .head = dumper_head, .resume = dumper_resume,
	.records_at = 1 + WMK_KDUMPER_RECORDS_AT, .lost = dumper_lost, .clear = dumper_clear, .fd = dumper_fd,
	.chunk_cut = dumper_chunk_cut, .chunk_cut_at = dumper_chunk_cut_at, .chunk_ready = dumper_chunk_ready,
	.chunk_end = dumper_chunk_end, .chunk_begin = dumper_chunk_begin, .close = dumper_close,
};

int wmk_kdumper_open(const struct wmk_kdumper_options *options, struct wmk_source **result)
{
	struct wmk_kdumper *dumper = calloc(1, sizeof(*dumper));
	size_t size;

	if (!dumper)
		return wmk_error(-ENOMEM, "no memory for a state dump");
	dumper->source.ops = &dumper_ops;
	dumper->options = *options;
	dumper->cap = options->packet_bytes ? options->packet_bytes : PACKET_BYTES;
	dumper->users = 1;
	dumper->limit = UINT64_MAX;
	pthread_mutex_init(&dumper->lock, NULL);
	wmk_cond_init(&dumper->changed);
	size = (ROOM + WMK_CTF_PACKET_ROOM + dumper->cap + ALIGN - 1) / ALIGN * ALIGN;
	dumper->memory = aligned_alloc(ALIGN, PACKETS * size);
	dumper->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!dumper->memory || dumper->fd < 0) {
		put(dumper);
		return wmk_error(-ENOMEM, "no memory for a state dump");
	}
	for (unsigned i = 0; i < PACKETS; i++)
		dumper->packets[i].data = dumper->memory + i * size + ROOM + WMK_CTF_PACKET_ROOM;
	*result = &dumper->source;
	return 0;
}
