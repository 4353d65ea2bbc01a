/* SPDX-License-Identifier: MIT */
/*
 * live.c - follow traces: find the next record; without one, the time to wait (see live.h).
 *
 *     leaves   in the heap: a packet or a record          the earliest is returned if it is not after the barrier
 *              WMK_READ_LATER: read up to `seen`          the barrier is the earliest `seen` of leaves that are not
 *                                                         quiet
 *              WMK_READ_END: after the selection, or truncated
 *
 * The barrier becomes earlier when a leaf starts to wait for data. If the earliest record is later than the barrier,
 * raise_barrier() computes the barrier again. Only raise_barrier() can move the barrier to a later time.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "read/live_source.h"

#define MS 1000000u
#define TICK (200 * MS)            /* maximum sleep: the end of a writer does not wake the reader */
#define BLIND (100 * MS)           /* maximum sleep if a directory is not watched */
#define SCAN (500 * MS)            /* interval of scans for new traces: their parent directories are not watched */
#define LOOK (50 * MS)             /* interval of polling waiting files while other files have much data */

int wmk_read_live_create(const char *const *paths, unsigned n_paths, const struct wmk_read_follow *follow,
			 const struct wmk_read_live_ops *ops, struct wmk_read_live **live)
{
	struct wmk_read_live *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return wmk_error(-ENOMEM, "no memory to follow traces");
	*l = (struct wmk_read_live){
		.paths = paths, .n_paths = n_paths, .follow = follow, .ops = *ops,
		.from = INT64_MIN, .to = INT64_MAX, .barrier = INT64_MAX,
	};
	l->notes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	err = wmk_live_scan(l);
	if (err < 0) {
		wmk_read_live_free(l);
		return err;
	}
	*live = l;
	return 0;
}

void wmk_read_live_free(struct wmk_read_live *live)
{
	if (!live)
		return;
	wmk_live_close(live);
	if (live->notes >= 0)
		close(live->notes);
	free(live->leaves);
	free(live->heap);
	free(live);
}

void wmk_read_live_trim(struct wmk_read_live *live, int64_t from, int64_t to)
{
	live->from = from;
	live->to = to;
	for (uint32_t i = 0; i < live->n; i++) {
		live->leaves[i]->stream->from = from;
		live->leaves[i]->stream->to = to;
	}
}

int wmk_read_live_first(const struct wmk_read_live *live, int64_t *ns)
{
	struct wmk_read_first first = { .err = -ENODATA };

	for (uint32_t i = 0; i < live->n; i++)
		wmk_read_first_add(&first, live->leaves[i]->stream);
	return wmk_read_first_result(&first, ns);
}

/* ── the heap ────────────────────────────────────────────────────────────────────────────────────────── */

static bool is_before(const struct live_stream *a, const struct live_stream *b)
{
	int order;

	if (a->ns != b->ns)
		return a->ns < b->ns;
	order = wmk_read_stream_order(a->stream, b->stream);
	return order ? order < 0 : a->serial < b->serial;
}

/* heap[0] was replaced, or its time has increased. */
static void sink(struct wmk_read_live *live)
{
	struct live_stream **const heap = live->heap;
	uint32_t at = 0, child;

	while ((child = 2 * at + 1) < live->n_heap) {
		struct live_stream *moved = heap[at];

		if (child + 1 < live->n_heap && is_before(heap[child + 1], heap[child]))
			child++;
		if (!is_before(heap[child], moved))
			break;
		heap[at] = heap[child];
		heap[child] = moved;
		at = child;
	}
}

static void rise(struct wmk_read_live *live, struct live_stream *leaf)
{
	uint32_t at = live->n_heap++;

	for (; at && is_before(leaf, live->heap[(at - 1) / 2]); at = (at - 1) / 2)
		live->heap[at] = live->heap[(at - 1) / 2];
	live->heap[at] = leaf;
}

/* ── advance leaves ──────────────────────────────────────────────────────────────────────────────────── */

static bool is_quiet(const struct wmk_read_live *live, const struct live_stream *leaf, uint64_t now)
{
	return now - leaf->since >= live->follow->patience_ns;
}

/*
 * Set the time up to which a stream without more data has been read. The next records of a stream without more data are
 * not earlier than the low-water time that the reader read before the last poll.
 */
static void apply_water(struct live_stream *leaf)
{
	struct wmk_read_stream *stream = leaf->stream;

	if (!stream || !stream->n_packets || !leaf->has_water)
		return;
	const int64_t ns = wmk_read_scale_ns(&stream->scale, leaf->water);

	if (ns > leaf->seen)
		leaf->seen = ns;
}

static void begin_to_wait(struct wmk_read_live *live, struct live_stream *leaf)
{
	struct wmk_read_stream *stream = leaf->stream;

	if (stream->n_packets) {
		leaf->seen = stream->ns;
		if (stream->packet.has_end && wmk_read_scale_ns(&stream->scale, stream->packet.end) > leaf->seen)
			leaf->seen = wmk_read_scale_ns(&stream->scale, stream->packet.end);
	}
	apply_water(leaf);
	if (leaf->seen < live->barrier && !is_quiet(live, leaf, wmk_clock_monotonic()))
		live->barrier = leaf->seen;
}

/*
 * After following has ended, poll a leaf one last time. If no writer writes the trace any more, an incomplete packet
 * counts as damage. 1: read on; 0: the leaf has ended.
 */
static int look_last(struct wmk_read_live *live, struct live_stream *leaf)
{
	int err;

	if (leaf->is_last)
		return 0;
	leaf->is_last = true;
	err = wmk_live_poll(live, leaf);
	if (err < 0 || !leaf->stream)
		return err;
	if (!leaf->is_gone && !wmk_read_is_written(leaf->version->trace->dir)) {
		leaf->stream->growth = WMK_READ_FIXED;
		leaf->stream->limit = UINT64_MAX;
	}
	return 1;
}

/* Advance the leaf, and store the result in leaf->got. Negative: following ends. */
static int move_on(struct wmk_read_live *live, struct live_stream *leaf)
{
	int got;

	do {
		got = wmk_read_stream_next(leaf->stream);
		if (got < 0)
			live->ops.damage(live->ops.data, leaf->stream, got);
		if (got == WMK_READ_LATER && live->is_last) {
			got = look_last(live, leaf);
			if (got < 0)
				return got;
			got = got ? -1 : WMK_READ_END;
		}
	} while (got < 0);
	leaf->got = got;
	if (got == WMK_READ_END && leaf->stream)
		wmk_live_end(live, leaf);
	else if (got == WMK_READ_LATER)
		begin_to_wait(live, leaf);
	else if (leaf->stream)
		leaf->ns = leaf->stream->ns;
	return 0;
}

/* Advance the first leaf of the heap, because its packet or record was returned to the caller. Advance it. */
static int move_first(struct wmk_read_live *live)
{
	struct live_stream *first = live->heap[0];
	int err = move_on(live, first);

	if (first->got != WMK_READ_PACKET && first->got != WMK_READ_RECORD)
		live->heap[0] = live->heap[--live->n_heap];
	sink(live);
	return err;
}

/* Read the events of inotify. Returns true if files or directories were created. */
static bool hear(struct wmk_read_live *live)
{
	char notes[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	bool has_new = false;
	ssize_t len;

	while (live->notes >= 0 && (len = read(live->notes, notes, sizeof(notes))) > 0)
		for (const char *at = notes; at < notes + len;) {
			const struct inotify_event *note = (const void *)at;

			has_new |= (note->mask & (IN_CREATE | IN_MOVED_TO | IN_Q_OVERFLOW)) != 0;
			at += sizeof(*note) + note->len;
		}
	return has_new;
}

/* Poll all leaves that wait. */
static int look_all(struct wmk_read_live *live)
{
	int err = 0;

	live->looked = wmk_clock_monotonic();
	/*
	 * A new file may contain records that are earlier than the low-water time. The writer publishes the low-water
	 * time only after it has created the new file. The scan that follows wmk_live_water() therefore finds the new
	 * file. Without inotify, the reader finds new files later, and does not use the low-water time.
	 */
	if (!live->is_blind && !live->is_last) {
		wmk_live_water(live);
		err = hear(live) ? wmk_live_scan(live) : 0;
	}
	for (uint32_t i = 0; i < live->n && err >= 0; i++) {
		struct live_stream *leaf = live->leaves[i];

		if (leaf->got != WMK_READ_LATER)
			continue;
		leaf->has_water = leaf->source->has_water;
		leaf->water = leaf->source->water;
		err = live->is_last ? 1 : wmk_live_poll(live, leaf);
		if (err > 0)
			err = move_on(live, leaf);
		if (leaf->got == WMK_READ_PACKET || leaf->got == WMK_READ_RECORD)
			rise(live, leaf);
		else if (leaf->got == WMK_READ_LATER)
			apply_water(leaf);
	}
	wmk_live_remove_ended(live);
	return err;
}

static void raise_barrier(struct wmk_read_live *live)
{
	const uint64_t now = wmk_clock_monotonic();

	live->barrier = INT64_MAX;
	live->deadline = UINT64_MAX;
	for (uint32_t i = 0; i < live->n; i++) {
		const struct live_stream *leaf = live->leaves[i];

		if (leaf->got != WMK_READ_LATER || is_quiet(live, leaf, now))
			continue;
		if (leaf->seen < live->barrier)
			live->barrier = leaf->seen;
		if (leaf->since + live->follow->patience_ns < live->deadline)
			live->deadline = leaf->since + live->follow->patience_ns;
	}
}

/* ── the end ─────────────────────────────────────────────────────────────────────────────────────────── */

/* Return whether the end of the selected time has passed. */
static bool is_past(const struct wmk_read_live *live)
{
	uint32_t n_ended = 0;
	struct timespec now;

	if (live->to == INT64_MAX || live->n_heap)
		return false;
	while (n_ended < live->n && live->leaves[n_ended]->got == WMK_READ_END)
		n_ended++;
	clock_gettime(CLOCK_REALTIME, &now);
	return (live->n && n_ended == live->n) ||
	       (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - (int64_t)TICK > live->to;
}

/*
 * Query whether following ends. If following ends, poll the files one last time, to find all data that writers have
 * written before the query.
 */
static int ask(struct wmk_read_live *live)
{
	const struct wmk_read_follow *follow = live->follow;
	enum wmk_read_still still;
	int err;

	live->asked = wmk_clock_monotonic();
	still = follow->still ? follow->still(follow->data) : WMK_READ_WHILE_WRITTEN;
	if (still == WMK_READ_GO_ON && !is_past(live))
		return 0;
	if (still == WMK_READ_WHILE_WRITTEN && !is_past(live) && wmk_live_is_written(live))
		return 0;
	err = wmk_live_scan(live);
	live->is_last = true;
	return err < 0 ? err : look_all(live);
}

/* ── the next record ─────────────────────────────────────────────────────────────────────────────────── */

/* Poll files and scan directories at intervals, even while the reader has so much data that it never waits. */
static int look_about(struct wmk_read_live *live)
{
	const uint64_t now = wmk_clock_monotonic();
	int err = 0;

	if (now - live->asked > TICK)
		err = ask(live);
	if (err >= 0 && !live->is_last && now - live->scanned > SCAN)
		err = wmk_live_scan(live);
	if (err >= 0 && !live->is_last && now - live->looked > LOOK)
		err = look_all(live);
	return err;
}

static bool may_give(struct wmk_read_live *live)
{
	if (live->is_last)
		return true;
	if (live->heap[0]->ns > live->barrier)
		raise_barrier(live);
	return live->heap[0]->ns <= live->barrier;
}

int wmk_read_live_next(struct wmk_read_live *live, struct wmk_read_stream **stream)
{
	int err = 0;

	if (!live->has_begun) {
		live->has_begun = true;
		err = look_all(live);
	} else if (live->is_given) {
		err = move_first(live);
	}
	live->is_given = false;
	if (err >= 0 && live->n_heap && live->heap[0]->got == WMK_READ_PACKET && !live->is_last)
		err = look_about(live);
	if (err < 0)
		return err;
	if (!live->n_heap)
		return live->is_last ? WMK_READ_END : WMK_READ_LATER;
	if (!may_give(live))
		return WMK_READ_LATER;
	live->is_given = true;
	*stream = live->heap[0]->stream;
	return live->heap[0]->got;
}

int wmk_read_live_wait(struct wmk_read_live *live)
{
	struct pollfd fds[] = { { .fd = live->notes, .events = POLLIN },
				{ .fd = live->follow->wake, .events = POLLIN } };
	uint64_t now = wmk_clock_monotonic(), most = live->is_blind ? BLIND : TICK;
	bool has_new;
	int err = 0;

	if (live->n_heap && live->deadline < now + most)
		most = live->deadline > now ? live->deadline - now : 0;
	/* (poll() ignores a negative descriptor) */
	if (poll(fds, 2, (int)(most / MS) + 1) < 0 && errno != EINTR)
		return wmk_error(-errno, "cannot wait for a trace to grow");
	has_new = hear(live);
	now = wmk_clock_monotonic();
	if (fds[1].revents || now - live->asked >= TICK)
		err = ask(live);
	if (err >= 0 && !live->is_last && (has_new || now - live->scanned > SCAN))
		err = wmk_live_scan(live);
	if (err >= 0 && !live->is_last)
		err = look_all(live);
	return err;
}
