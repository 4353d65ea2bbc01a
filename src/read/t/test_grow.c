/* SPDX-License-Identifier: MIT */
/*
 * test_grow.c - read a stream while its file grows, is truncated, or is rewritten after its last complete packet; and
 * traces that are being written, read up to their present end.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "read/merge.h"
#include "read/t/grow_rig.h"

#define PACKETS 3u
#define EACH 4u                    /* records per packet */
#define ALL (PACKETS * EACH)

/* All packets, and the end of each. */
struct whole {
	uint8_t bytes[PACKETS * RIG_PACKET];
	size_t ends[PACKETS], len;
};

static void make(struct whole *whole)
{
	whole->len = 0;
	for (unsigned p = 0; p < PACKETS; p++) {
		whole->len += rig_packet(whole->bytes + whole->len, 0, 100 * p + 100, EACH, p * EACH);
		whole->ends[p] = whole->len;
	}
}

/* The number of records in complete packets of a file of this size. */
static unsigned records_of(const struct whole *whole, size_t len)
{
	unsigned n = 0;

	for (unsigned p = 0; p < PACKETS; p++)
		n += whole->ends[p] <= len ? EACH : 0;
	return n;
}

static void open_stream(struct grow_rig *rig, struct wmk_read_trace **trace, struct wmk_read_stream **stream)
{
	assert_int_equal(wmk_read_trace_open(rig->path, rig->path, trace), 0);
	assert_int_equal(wmk_read_stream_open(*trace, "s", stream), 0);
	(*stream)->growth = WMK_READ_LIVE;
	(*stream)->limit = 0;
}

static void close_stream(struct grow_rig *rig, struct wmk_read_trace *trace, struct wmk_read_stream *stream)
{
	wmk_read_stream_close(stream);
	wmk_read_trace_close(trace);
	rig_close(rig);
}

/* Read records, which are numbered from `n`. Returns the next number. *got: the result after the last record. */
static unsigned take(struct wmk_read_stream *stream, unsigned n, int *got)
{
	while ((*got = wmk_read_stream_next(stream)) == WMK_READ_PACKET || *got == WMK_READ_RECORD)
		if (*got == WMK_READ_RECORD)
			assert_int_equal(rig_count(stream), n++);
	return n;
}

/* At each length, the records of complete packets have been returned once. */
static void growing_file_returns_complete_packets_once(void **state)
{
	struct wmk_read_trace *trace;
	struct wmk_read_stream *stream;
	struct whole whole;
	struct grow_rig rig;
	unsigned n = 0;
	int got;

	(void)state;
	make(&whole);
	rig_open(&rig, false);
	rig_append(&rig, "s", "", 0);
	open_stream(&rig, &trace, &stream);
	assert_int_equal(take(stream, 0, &got), 0);
	assert_int_equal(got, WMK_READ_LATER);
	for (size_t len = 1; len <= whole.len; len++) {
		rig_append(&rig, "s", whole.bytes + len - 1, 1);
		/* New data is not read before the stream is polled. */
		assert_int_equal(take(stream, n, &got), n);
		assert_int_equal(wmk_read_stream_poll(stream), 1);
		n = take(stream, n, &got);
		assert_int_equal(got, WMK_READ_LATER);
		assert_int_equal(n, records_of(&whole, len));
	}
	assert_int_equal(n, ALL);
	assert_int_equal(wmk_read_stream_poll(stream), 0);
	/* The trace is no longer being written: then the stream ends. */
	stream->growth = WMK_READ_FIXED;
	stream->limit = UINT64_MAX;
	assert_int_equal(wmk_read_stream_next(stream), WMK_READ_END);
	close_stream(&rig, trace, stream);
}

/*
 * The file is truncated to any length, after any number of packets was read. If packets that were read are missing, the
 * stream ends with an error, whatever is written later.
 */
static void truncated_stream_file_is_an_error(void **state)
{
	struct wmk_read_trace *trace;
	struct wmk_read_stream *stream;
	struct whole whole;
	int got;

	(void)state;
	make(&whole);
	for (unsigned p = 0; p < PACKETS; p++)
		for (size_t len = 0; len < whole.ends[p]; len++) {
			struct grow_rig rig;

			rig_open(&rig, false);
			rig_append(&rig, "s", whole.bytes, whole.ends[p]);
			open_stream(&rig, &trace, &stream);
			assert_int_equal(wmk_read_stream_poll(stream), 1);
			/* In every second round, it is truncated within an open packet. */
			if (len % 2)
				assert_int_equal(take(stream, 0, &got), (p + 1) * EACH);
			else
				assert_int_equal(wmk_read_stream_next(stream), WMK_READ_PACKET);
			rig_cut(&rig, "s", len);
			take(stream, 0, &got);
			while (got < 0)
				take(stream, 0, &got);
			assert_int_equal(got, WMK_READ_LATER);
			got = wmk_read_stream_poll(stream);
			assert_int_equal(got, stream->packet.at > len ? -ENODATA : stream->packet.at < len);
			assert_int_equal(wmk_read_stream_next(stream), got < 0 ? WMK_READ_END : WMK_READ_LATER);
			assert_true(got < 0 || len % 2 == 0);
			wmk_error_clear();
			close_stream(&rig, trace, stream);
		}
}

/*
 * A packet that did not fit on the disk is removed again, and another one is written: no byte of the first one remains
 * in the window.
 */
static void packet_that_replaces_a_removed_packet_is_read(void **state)
{
	uint8_t first[RIG_PACKET], packet[RIG_PACKET];
	struct wmk_read_trace *trace;
	struct wmk_read_stream *stream;
	struct whole whole;
	int got;

	(void)state;
	make(&whole);
	const size_t size = rig_packet(first, 0, 900, EACH + 1, 77);

	for (size_t len = 1; len < size; len++) {
		struct grow_rig rig;

		rig_open(&rig, false);
		rig_append(&rig, "s", whole.bytes, whole.ends[0]);
		rig_append(&rig, "s", first, len);
		open_stream(&rig, &trace, &stream);
		assert_int_equal(wmk_read_stream_poll(stream), 1);
		assert_int_equal(take(stream, 0, &got), EACH);
		rig_cut(&rig, "s", whole.ends[0]);
		assert_int_equal(wmk_read_stream_poll(stream), 0);
		rig_append(&rig, "s", packet, rig_packet(packet, 0, 200, EACH, EACH));
		assert_int_equal(wmk_read_stream_poll(stream), 1);
		assert_int_equal(take(stream, EACH, &got), 2 * EACH);
		assert_int_equal(got, WMK_READ_LATER);
		close_stream(&rig, trace, stream);
	}
}

static void count_damage(void *data, const struct wmk_read_stream *stream, int err)
{
	(void)stream;
	(void)err;
	++*(unsigned *)data;
	wmk_error_clear();
}

/* Read all records of the trace by the merge. Returns the number of damages. */
static unsigned merged(const struct wmk_read_trace *trace, unsigned *n_damages)
{
	struct wmk_read_merge *merge;
	struct wmk_read_stream *stream;
	unsigned n = 0;
	int got;

	*n_damages = 0;
	assert_int_equal(wmk_read_merge_create(count_damage, n_damages, &merge), 0);
	assert_int_equal(wmk_read_merge_add(merge, trace), 0);
	while ((got = wmk_read_merge_next(merge, &stream)) > 0)
		n += got == WMK_READ_RECORD;
	assert_int_equal(got, WMK_READ_END);
	wmk_read_merge_free(merge);
	return n;
}

static unsigned merged_now(const struct grow_rig *rig, unsigned *n_damages)
{
	struct wmk_read_trace *trace;
	unsigned n;

	assert_int_equal(wmk_read_trace_open(rig->path, rig->path, &trace), 0);
	assert_null(trace->is_written ? trace->cut : NULL);
	n = merged(trace, n_damages);
	wmk_read_trace_close(trace);
	return n;
}

/* An incomplete packet at the end is damage, unless a writer has locked the trace. At any length. */
static void incomplete_packet_is_no_damage_while_written(void **state)
{
	struct whole whole;
	struct grow_rig rig;
	unsigned damages;

	(void)state;
	make(&whole);
	rig_open(&rig, true);
	for (size_t len = 1; len <= whole.len; len++) {
		rig_append(&rig, "s", whole.bytes + len - 1, 1);
		assert_int_equal(merged_now(&rig, &damages), records_of(&whole, len));
		assert_int_equal(damages, 0);
	}
	rig_unlock(&rig);
	for (size_t len = whole.len; len > 0; len--) {
		rig_cut(&rig, "s", len);
		assert_true(merged_now(&rig, &damages) >= records_of(&whole, len));
		assert_int_equal(damages, records_of(&whole, len) == records_of(&whole, len - 1) ? 1 : 0);
	}
	rig_close(&rig);
}

/* Data that is written after the opening is not read, and its undeclared events are no error. */
static void data_written_after_the_trace_was_opened_is_not_read(void **state)
{
	uint8_t packet[RIG_PACKET];
	struct wmk_read_trace *trace;
	struct grow_rig rig;
	unsigned damages;

	(void)state;
	rig_open(&rig, true);
	rig_append(&rig, "s", packet, rig_packet(packet, 0, 100, EACH, 0));
	assert_int_equal(wmk_read_trace_open(rig.path, rig.path, &trace), 0);
	assert_true(trace->is_written);
	assert_false(wmk_read_trace_has_grown(trace));
	rig_declare(&rig, 1);
	rig_append(&rig, "s", packet, rig_packet(packet, 1, 200, EACH, 0));
	assert_true(wmk_read_trace_has_grown(trace));
	assert_int_equal(merged(trace, &damages), EACH);
	assert_int_equal(damages, 0);
	wmk_read_trace_close(trace);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(growing_file_returns_complete_packets_once),
		cmocka_unit_test(truncated_stream_file_is_an_error),
		cmocka_unit_test(packet_that_replaces_a_removed_packet_is_read),
		cmocka_unit_test(incomplete_packet_is_no_damage_while_written),
		cmocka_unit_test(data_written_after_the_trace_was_opened_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
