/* SPDX-License-Identifier: MIT */
/*
 * test_live.c - follow traces: the order of streams, growing metadata, files that appear and disappear, the end. Files
 * change only while the reader has no more data. Only the time after which a stream is quiet depends on the clock, and
 * no result depends on the speed of the test.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "read/live.h"
#include "read/t/grow_rig.h"
#include "store/followed.h"

#define FOR_EVER (UINT64_C(1000000) * 1000000000)

struct world {
	struct grow_rig rig;
	struct wmk_read_follow follow;
	struct wmk_read_live_ops ops;
	struct wmk_read_live *live;
	const char *path;
	enum wmk_read_still still;
	unsigned n_damages, n_open, n_opened, n_left;
	void (*on_opened)(void *data);     /* called after the first trace was opened */
	void *data;
};

static enum wmk_read_still still(void *data)
{
	return ((struct world *)data)->still;
}

static void damage(void *data, const struct wmk_read_stream *stream, int err)
{
	(void)stream;
	(void)err;
	((struct world *)data)->n_damages++;
	wmk_error_clear();
}

static int opened(void *data, struct wmk_read_trace *trace)
{
	struct world *w = data;

	(void)trace;
	w->n_open++;
	if (++w->n_opened == 1 && w->on_opened)
		w->on_opened(w->data);
	return 0;
}

static void leaving(void *data, struct wmk_read_stream *stream)
{
	(void)stream;
	((struct world *)data)->n_left++;
}

static void closing(void *data, const struct wmk_read_trace *trace)
{
	(void)trace;
	((struct world *)data)->n_open--;
}

static void world_open(struct world *w, uint64_t patience_ns, bool is_asked)
{
	memset(w, 0, sizeof(*w));
	rig_open(&w->rig, true);
	w->path = w->rig.path;
	w->follow = (struct wmk_read_follow){ .patience_ns = patience_ns, .still = is_asked ? still : NULL, .data = w };
	/* Let waiting end at once. */
	w->follow.wake = eventfd(1, EFD_CLOEXEC);
	assert_true(w->follow.wake >= 0);
	w->ops = (struct wmk_read_live_ops){
		.damage = damage, .opened = opened, .leaving = leaving, .closing = closing, .data = w
	};
}

static void world_follow(struct world *w)
{
	assert_int_equal(wmk_read_live_create(&w->path, 1, &w->follow, &w->ops, &w->live), 0);
}

static void world_close(struct world *w)
{
	wmk_read_live_free(w->live);
	assert_int_equal(w->n_open, 0);
	close(w->follow.wake);
	rig_close(&w->rig);
}

static void add(struct world *w, const char *file, unsigned id, uint64_t begin, unsigned n, unsigned from)
{
	uint8_t packet[RIG_PACKET];

	rig_append(&w->rig, file, packet, rig_packet(packet, id, begin, n, from));
}

/* The next result; if there is no data yet, waiting returns. */
static int step(struct world *w, struct wmk_read_stream **stream)
{
	const int got = wmk_read_live_next(w->live, stream);

	assert_true(got >= 0);
	if (got == WMK_READ_LATER)
		assert_int_equal(wmk_read_live_wait(w->live), 0);
	return got;
}

/* Check the times of the next `n` records; wait for them. */
static void comes(struct world *w, unsigned n, ...)
{
	struct wmk_read_stream *stream;
	va_list times;

	va_start(times, n);
	while (n) {
		const int got = step(w, &stream);

		assert_int_not_equal(got, WMK_READ_END);
		if (got != WMK_READ_RECORD)
			continue;
		assert_int_equal(stream->ns, va_arg(times, int));
		n--;
	}
	va_end(times);
}

/* There is no more data now, even after several calls. */
static void comes_nothing(struct world *w)
{
	struct wmk_read_stream *stream;

	for (unsigned i = 0; i < 3; i++) {
		int got;

		while ((got = step(w, &stream)) == WMK_READ_PACKET)
			;
		assert_int_equal(got, WMK_READ_LATER);
	}
}

/* Count the records before the end. */
static unsigned comes_end(struct world *w)
{
	struct wmk_read_stream *stream;
	unsigned n = 0;
	int got;

	while ((got = step(w, &stream)) != WMK_READ_END)
		n += got == WMK_READ_RECORD;
	assert_int_equal(wmk_read_live_next(w->live, &stream), WMK_READ_END);
	return n;
}

/* The trace is no longer being written: check the number of remaining records, and of damages. */
static void world_over(struct world *w, unsigned n, unsigned n_damages)
{
	rig_unlock(&w->rig);
	assert_int_equal(comes_end(w), n);
	assert_int_equal(w->n_damages, n_damages);
	world_close(w);
}

/* A record waits for streams that have not been read up to its time. */
static void live_reader_holds_records_until_slower_streams_are_read(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, FOR_EVER, false);
	add(&w, "a", 0, 10, 3, 0);
	add(&w, "b", 0, 11, 3, 0);
	world_follow(&w);
	comes(&w, 5, 10, 11, 11, 12, 12);
	comes_nothing(&w);
	add(&w, "a", 0, 20, 2, 0);
	comes(&w, 1, 13);
	comes_nothing(&w);
	add(&w, "b", 0, 15, 2, 0);
	comes(&w, 2, 15, 16);
	comes_nothing(&w);
	/* The records of the other streams are returned when no stream is slower. */
	add(&w, "b", 0, 30, 2, 0);
	comes(&w, 2, 20, 21);
	comes_nothing(&w);
	world_over(&w, 2, 0);
}

static void publish(int live, uint64_t ts, uint64_t inverted)
{
	const struct wmk_store_low_water water = { ts, inverted };

	assert_int_equal(pwrite(live, &water, sizeof(water), 0), sizeof(water));
}

/* The writer sees the lock of the reader, and publishes a time before which all records are written. */
static void live_reader_returns_records_before_the_low_water_time(void **state)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET }, unlocked = whole;
	struct world w;

	(void)state;
	world_open(&w, FOR_EVER, false);
	const int live = openat(w.rig.dir, WMK_STORE_LIVE, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(live >= 0);
	add(&w, "a", 0, 10, 3, 0);
	add(&w, "b", 0, 11, 3, 0);
	world_follow(&w);
	assert_int_equal(fcntl(live, F_OFD_GETLK, &whole), 0);
	assert_int_equal(whole.l_type, F_RDLCK);
	comes(&w, 5, 10, 11, 11, 12, 12);
	comes_nothing(&w);
	publish(live, 13, ~UINT64_C(13));
	comes(&w, 1, 13);
	add(&w, "b", 0, 20, 3, 0);
	comes_nothing(&w);
	publish(live, 30, 7);            /* read during a write */
	comes_nothing(&w);
	publish(live, 21, ~UINT64_C(21));
	comes(&w, 2, 20, 21);
	comes_nothing(&w);
	publish(live, 22, ~UINT64_C(22));
	add(&w, "a", 0, 22, 1, 0);
	comes(&w, 2, 22, 22);
	assert_int_equal(unlinkat(w.rig.dir, WMK_STORE_LIVE, 0), 0);
	world_over(&w, 0, 0);
	assert_int_equal(fcntl(live, F_OFD_GETLK, &unlocked), 0);
	assert_int_equal(unlocked.l_type, F_UNLCK);
	close(live);
}

/* A quiet stream does not delay others; its later records are out of order. */
static void quiet_stream_does_not_delay_others(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 20 * 1000000, false);
	add(&w, "a", 0, 10, 1, 0);
	add(&w, "b", 0, 10, 1, 0);
	world_follow(&w);
	comes(&w, 2, 10, 10);
	add(&w, "a", 0, 20, 2, 0);
	comes(&w, 2, 20, 21);
	add(&w, "b", 0, 15, 1, 0);
	comes(&w, 1, 15);
	comes_nothing(&w);
	world_over(&w, 0, 0);
}

/*
 * Events are declared while the trace is followed. The reader closes the old version after all streams have changed to
 * the new version.
 */
static void new_events_are_read_when_metadata_grows(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, FOR_EVER, false);
	add(&w, "a", 0, 10, 1, 0);
	add(&w, "b", 0, 10, 3, 0);
	world_follow(&w);
	comes(&w, 2, 10, 10);
	for (unsigned id = 1; id < 20; id++) {
		const int at = (int)(100 * id);

		rig_declare(&w.rig, id);
		add(&w, "a", id, (uint64_t)at, 2, 0);
		add(&w, "b", id, (uint64_t)at, 2, 0);
		if (id == 1)
			comes(&w, 2, 11, 12);
		comes(&w, 4, at, at, at + 1, at + 1);
		comes_nothing(&w);
		assert_int_equal(w.n_open, 1);
	}
	assert_int_equal(w.n_opened, 20);
	world_over(&w, 0, 0);
}

/* Files appear, disappear, and appear again with the same name. */
static void live_reader_reads_streams_that_appear_and_disappear(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 0, false);
	world_follow(&w);
	for (int round = 0; round < 5; round++) {
		const int at = 10 * round + 10;

		add(&w, "a", 0, (uint64_t)at, 2, 0);
		comes(&w, 2, at, at + 1);
		add(&w, "a", 0, (uint64_t)at + 5, 1, 0);
		assert_int_equal(unlinkat(w.rig.dir, "a", 0), 0);
		comes(&w, 1, at + 5);
		comes_nothing(&w);
		/* The stream was closed. */
		assert_int_equal(w.n_left, round + 1);
	}
	world_over(&w, 0, 0);
}

/* A truncated file is reported once, and the other files continue. */
static void truncated_stream_is_reported_once(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 0, false);
	add(&w, "a", 0, 10, 2, 0);
	add(&w, "b", 0, 10, 1, 0);
	world_follow(&w);
	comes(&w, 3, 10, 10, 11);
	rig_cut(&w.rig, "a", 5);
	comes_nothing(&w);
	assert_int_equal(w.n_damages, 1);
	add(&w, "b", 0, 20, 1, 0);
	comes(&w, 1, 20);
	world_over(&w, 0, 1);
}

/* An incomplete packet at the end is damage only if the trace is not being written. */
static void incomplete_packet_at_the_end_is_damage_if_not_written(void **state)
{
	uint8_t packet[RIG_PACKET];
	const size_t size = rig_packet(packet, 0, 20, 2, 0);
	struct world w;

	(void)state;
	for (unsigned is_written = 0; is_written < 2; is_written++) {
		world_open(&w, FOR_EVER, true);
		add(&w, "a", 0, 10, 2, 0);
		rig_append(&w.rig, "a", packet, size - 1);
		add(&w, "b", 0, 30, 1, 0);
		world_follow(&w);
		comes(&w, 2, 10, 11);
		comes_nothing(&w);
		w.still = WMK_READ_OVER;
		if (!is_written)
			rig_unlock(&w.rig);
		assert_int_equal(comes_end(&w), is_written ? 1 : 3);
		assert_int_equal(w.n_damages, is_written ? 0 : 1);
		world_close(&w);
	}
}

/* Times relative to the first record: an empty packet at the begin of a stream has an earlier time. */
static void first_time_is_that_of_the_first_packet_with_records(void **state)
{
	int64_t first;
	struct world w;

	(void)state;
	for (unsigned n = 0; n < 2; n++) {
		world_open(&w, FOR_EVER, true);
		add(&w, "a", 0, 10, 0, 0);
		add(&w, "a", 0, 30, n, 0);
		add(&w, "b", 0, 20, 0, 0);
		add(&w, "b", 0, 40, n, 0);
		world_follow(&w);
		assert_int_equal(wmk_read_live_first(w.live, &first), 0);
		assert_int_equal(first, n ? 30 : 10);
		w.still = WMK_READ_OVER;
		assert_int_equal(comes_end(&w), 2 * n);
		world_close(&w);
	}
}

/* Only selected records are returned; following ends when the selected time has passed. */
static void following_ends_after_the_selected_time(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, FOR_EVER, true);
	add(&w, "a", 0, 10, 5, 0);
	world_follow(&w);
	wmk_read_live_trim(w.live, 11, 13);
	comes(&w, 3, 11, 12, 13);
	assert_int_equal(comes_end(&w), 0);
	world_close(&w);
}

/* A missing directory is an error, or awaited. */
static void missing_trace_directory_is_an_error_unless_awaited(void **state)
{
	const char *path = "/tmp/waymark-grow-nothing";
	struct world w;

	(void)state;
	world_open(&w, 0, true);
	w.path = path;
	w.still = WMK_READ_WHILE_WRITTEN;
	assert_int_equal(wmk_read_live_create(&w.path, 1, &w.follow, &w.ops, &w.live), -ENOENT);
	wmk_error_clear();
	w.still = WMK_READ_GO_ON;
	world_follow(&w);
	comes_nothing(&w);
	w.still = WMK_READ_OVER;
	assert_int_equal(comes_end(&w), 0);
	world_close(&w);
}

/* A session with the trace "first", the open chunk "open", and the next chunk, which is not in the session yet. */
struct session {
	char path[24], closed[160];
	struct grow_rig chunk[2];
};

static void move_trace(struct grow_rig *rig, const char *path)
{
	assert_int_equal(rename(rig->path, path), 0);
	assert_true((size_t)snprintf(rig->path, sizeof(rig->path), "%s", path) < sizeof(rig->path));
}

/* A rotation moves the open chunk to `closed`, and the next chunk takes its place. */
static void rotate(void *data)
{
	struct session *s = data;
	char path[64];

	snprintf(path, sizeof(path), "%s", s->chunk[0].path);
	assert_int_equal(rename(path, s->closed), 0);
	move_trace(&s->chunk[1], path);
}

static void rotate_after_the_scan(const char *chunk)
{
	struct session s = { .path = "/tmp/waymark-s-XXXXXX" };
	char archives[80], closing[144], path[64];
	uint8_t packet[RIG_PACKET];
	struct world w;

	world_open(&w, 0, true);
	add(&w, "a", 0, 5, 1, 0);
	assert_non_null(mkdtemp(s.path));
	for (unsigned i = 0; i < 2; i++) {
		rig_open(&s.chunk[i], true);
		rig_append(&s.chunk[i], "a", packet, rig_packet(packet, 0, 10 * (i + 1), 2, 0));
	}
	snprintf(path, sizeof(path), "%s/first", s.path);
	move_trace(&w.rig, path);
	snprintf(path, sizeof(path), "%s/open", s.path);
	move_trace(&s.chunk[0], path);
	snprintf(archives, sizeof(archives), "%s/archives", s.path);
	snprintf(closing, sizeof(closing), "%s/%s", archives, chunk);
	snprintf(s.closed, sizeof(s.closed), "%s/open", closing);
	assert_true(mkdir(archives, 0700) == 0 && mkdir(closing, 0700) == 0);
	w.path = s.path;
	w.on_opened = rotate;
	w.data = &s;
	world_follow(&w);
	comes(&w, 5, 5, 10, 11, 20, 21);
	w.still = WMK_READ_OVER;
	assert_int_equal(comes_end(&w), 0);
	snprintf(s.chunk[0].path, sizeof(s.chunk[0].path), "%s/moved", s.path);
	assert_int_equal(rename(s.closed, s.chunk[0].path), 0);
	rig_close(&s.chunk[0]);
	rig_close(&s.chunk[1]);
	world_close(&w);
	assert_true(rmdir(closing) == 0 && rmdir(archives) == 0 && rmdir(s.path) == 0);
}

/* A rotation moves a chunk after the scan has found the chunk, and before the reader opens it. */
static void chunk_that_a_rotation_moves_before_it_is_opened_is_read_once(void **state)
{
	(void)state;
	rotate_after_the_scan("20261128T214455+0000-20261128T214555+0000-0");
}

/* The rotation has not finished: the directory of the closed chunk is still hidden. */
static void chunk_that_a_rotation_closes_is_read_in_order(void **state)
{
	(void)state;
	rotate_after_the_scan(".20261128T214455+0000-20261128T214555+0000-0");
}

static uint64_t inode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

/* Create traces until the directory of one has this inode number. False: the file system does not use numbers again. */
static bool rig_open_at_inode(struct grow_rig *rig, uint64_t inode)
{
	struct grow_rig other[20];
	unsigned n = 0;
	bool is_same = false;

	while (!is_same && n < 20) {
		rig_open(&other[n], true);
		is_same = inode_of(other[n++].path) == inode;
	}
	if (is_same)
		*rig = other[--n];
	while (n)
		rig_close(&other[--n]);
	return is_same;
}

/* Retention or a compression removes a closed chunk, and the next open chunk gets the inode number of its directory. */
static void new_chunk_with_the_inode_number_of_a_removed_chunk_is_read(void **state)
{
	char path[] = "/tmp/waymark-s-XXXXXX", open_chunk[64], closed[64];
	uint8_t packet[RIG_PACKET];
	struct world w;

	(void)state;
	world_open(&w, 0, true);
	assert_non_null(mkdtemp(path));
	snprintf(open_chunk, sizeof(open_chunk), "%s/open", path);
	snprintf(closed, sizeof(closed), "%s/closed", path);
	add(&w, "a", 0, 10, 2, 0);
	move_trace(&w.rig, open_chunk);
	w.path = path;
	world_follow(&w);
	comes(&w, 2, 10, 11);
	move_trace(&w.rig, closed);
	const uint64_t inode = inode_of(closed);

	/* A new file in the directory makes the reader scan: first for the new path, then for all files. */
	for (unsigned i = 0; i < 3; i++) {
		add(&w, (const char *[]){ "b", "c", "d" }[i], 0, 12, 0, 0);
		comes_nothing(&w);
	}
	rig_close(&w.rig);
	const bool is_same = rig_open_at_inode(&w.rig, inode);

	if (!is_same)
		rig_open(&w.rig, true);
	rig_append(&w.rig, "a", packet, rig_packet(packet, 0, 20, 2, 0));
	move_trace(&w.rig, open_chunk);
	comes(&w, 2, 20, 21);
	w.still = WMK_READ_OVER;
	assert_int_equal(comes_end(&w), 0);
	world_close(&w);
	assert_int_equal(rmdir(path), 0);
	if (!is_same) {
		print_message("this file system does not use inode numbers again\n");
		skip();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(live_reader_holds_records_until_slower_streams_are_read),
		cmocka_unit_test(live_reader_returns_records_before_the_low_water_time),
		cmocka_unit_test(quiet_stream_does_not_delay_others),
		cmocka_unit_test(new_events_are_read_when_metadata_grows),
		cmocka_unit_test(live_reader_reads_streams_that_appear_and_disappear),
		cmocka_unit_test(truncated_stream_is_reported_once),
		cmocka_unit_test(incomplete_packet_at_the_end_is_damage_if_not_written),
		cmocka_unit_test(first_time_is_that_of_the_first_packet_with_records),
		cmocka_unit_test(following_ends_after_the_selected_time),
		cmocka_unit_test(missing_trace_directory_is_an_error_unless_awaited),
		cmocka_unit_test(chunk_that_a_rotation_moves_before_it_is_opened_is_read_once),
		cmocka_unit_test(chunk_that_a_rotation_closes_is_read_in_order),
		cmocka_unit_test(new_chunk_with_the_inode_number_of_a_removed_chunk_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
