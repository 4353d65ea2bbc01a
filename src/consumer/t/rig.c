/* SPDX-License-Identifier: MIT */
/* rig.c - shared by the tests of the consumer. */
#include "rig.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "store/t/testdir.h"

uint64_t rig_rounds(uint64_t all)
{
	const char *percent = getenv("WMK_ROUNDS_PERCENT");
	uint64_t part = percent ? (uint64_t)atoi(percent) : 10;

	return all * (part ? part : 1) / 100;
}

static void declare(struct rig *rig)
{
	static const struct wmk_field fields[] = { { .name = "writer", .type = { .kind = WMK_TYPE_INT, .width = 64,
										 .base = 10 } },
						   { .name = "number", .type = { .kind = WMK_TYPE_INT, .width = 64,
										 .base = 10 } } };
	const struct wmk_event_class event = { .provider = "rig", .name = "tick", .level = 6, .n_fields = 2,
					       .fields = fields };
	struct wmk_clock clock;
	struct wmk_ctf_trace trace = { .name = "rig", .domain = "ust", .clock = &clock };
	struct wmk_ctf_text_buffer text = { 0 };

	assert_int_equal(wmk_clock_measure(WMK_CLOCK_MONOTONIC, &clock), 0);
	memcpy(trace.uuid, rig->uuid, 16);
	assert_int_equal(wmk_ctf_trace_text(&text, &trace), 0);
	assert_int_equal(wmk_ctf_stream_text(&text, WMK_CTF_1_8, 0, NULL, 0), 0);
	assert_int_equal(wmk_ctf_event_text(&text, WMK_CTF_1_8, 0, 3, &event), 0);
	assert_int_equal(wmk_store_metadata(rig->store, text.text, text.len), 0);
	wmk_ctf_text_free(&text);
}

void rig_open(struct rig *rig, const struct rig_shape *shape)
{
	struct waymark_ring_options ring = { .size = sizeof(ring),
					     .subbuf_size = shape->subbuf,
					     .n_subbufs = shape->n_subbufs,
					     .header_room = wmk_consumer_header_room(shape->subbuf),
					     .mode = shape->mode,
					     .clock = WAYMARK_CLOCK_MONOTONIC,
					     .block_us = shape->block_us,
					     /* Allocate all memory, so that no record is lost for lack of memory. */
					     .prefault = shape->cold
								 ? 0
								 : (uint64_t)shape->subbuf * shape->n_subbufs * 1024 };
	struct wmk_consumer_options options = { .at_stop_only = shape->at_stop_only,
						.start_ts = wmk_clock_monotonic() };

	memset(rig, 0, sizeof(*rig));
	testdir_make(rig->dir);
	snprintf(rig->trace, sizeof(rig->trace), "%s/trace", shape->dir ? shape->dir : rig->dir);
	memcpy(rig->uuid, "the rig's traces", 16);
	assert_int_equal(wmk_store_sub_uid(getuid(), rig->sub, sizeof(rig->sub)), 0);
	assert_int_equal(wmk_store_create(rig->trace, rig->sub, &rig->store), 0);
	declare(rig);
	assert_int_equal(waymark_ring_set_create(&ring, &rig->set), 0);
	assert_int_equal(waymark_ring_set_open(waymark_ring_set_fd(rig->set), &rig->mapped), 0);
	if (shape->remote)
		return;
	assert_int_equal(wmk_output_directory_trace(rig->store, rig->uuid, &options.output), 0);
	assert_int_equal(wmk_consumer_open(&options, &rig->consumer), 0);
	assert_int_equal(wmk_consumer_add_set(rig->consumer, rig->set, "app", 0), 0);
}

void rig_resume(struct rig *rig)
{
	struct wmk_consumer_options options = { .resume = 1, .start_ts = wmk_clock_monotonic() };

	wmk_consumer_close(rig->consumer);
	wmk_store_close(rig->store);
	assert_int_equal(wmk_store_open(rig->trace, rig->sub, &rig->store), 0);
	assert_int_equal(wmk_output_directory_trace(rig->store, rig->uuid, &options.output), 0);
	assert_int_equal(wmk_consumer_open(&options, &rig->consumer), 0);
	assert_int_equal(wmk_consumer_add_set(rig->consumer, rig->set, "app", 0), 0);
}

int rig_stop(struct rig *rig)
{
	int err = wmk_consumer_stop(rig->consumer);

	wmk_consumer_stats(rig->consumer, &rig->stats);
	return err;
}

void rig_close(struct rig *rig)
{
	wmk_consumer_close(rig->consumer);
	wmk_store_close(rig->store);
	waymark_ring_set_close(rig->mapped);
	waymark_ring_set_close(rig->set);
	for (unsigned i = 0; i < RIG_WRITERS; i++)
		free(rig->seen[i]);
	testdir_remove(rig->dir);
}

uint64_t rig_record(struct rig *rig, uint64_t writer, uint64_t from, uint64_t to)
{
	uint64_t words[2] = { writer, from }, done = 0;
	const struct waymark_ring_frag frag = { words, sizeof(words), WAYMARK_FRAG_WORDS };

	for (; words[1] < to; words[1]++)
		done += waymark_ring_record(rig->mapped, 3, &frag, 1) == 0;
	return done;
}

struct job {
	struct rig *rig;
	uint64_t writer, each, done;
	pthread_barrier_t *all;
};

static void *record_job(void *arg)
{
	struct job *job = arg;

	job->rig->begun++;
	job->done = rig_record(job->rig, job->writer, 0, job->each);
	pthread_barrier_wait(job->all);
	return NULL;
}

uint64_t rig_record_threads(struct rig *rig, unsigned n, uint64_t each)
{
	struct job jobs[RIG_WRITERS];
	pthread_t threads[RIG_WRITERS];
	pthread_barrier_t all;
	uint64_t done = 0;

	assert_true(n <= RIG_WRITERS);
	assert_int_equal(pthread_barrier_init(&all, NULL, n), 0);
	rig->begun = 0;
	for (unsigned i = 0; i < n; i++) {
		jobs[i] = (struct job){ rig, i, each, 0, &all };
		assert_int_equal(pthread_create(&threads[i], NULL, record_job, &jobs[i]), 0);
	}
	rig->begun++;
	for (unsigned i = 0; i < n; i++) {
		pthread_join(threads[i], NULL);
		done += jobs[i].done;
	}
	pthread_barrier_destroy(&all);
	return done;
}

void rig_begun(const struct rig *rig, unsigned n)
{
	const struct timespec pause = { .tv_nsec = 100000 };

	while (rig->begun <= n)
		nanosleep(&pause, NULL);
}

static void see(void *arg, uint32_t id, uint64_t ts, const uint8_t *payload)
{
	struct rig *rig = arg;
	uint64_t words[2], bit;

	(void)ts;
	memcpy(words, payload, sizeof(words));
	assert_int_equal(id, 3);
	assert_true(words[0] < RIG_WRITERS && words[1] < rig->max);
	bit = (uint64_t)1 << (words[1] % 64);
	if (rig->seen[words[0]][words[1] / 64] & bit)
		fail_msg("writer %llu's record %llu is there twice", (unsigned long long)words[0],
			 (unsigned long long)words[1]);
	rig->seen[words[0]][words[1] / 64] |= bit;
	rig->count[words[0]]++;
}

const char *rig_path(const struct rig *rig, const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s/%s", rig->trace, rig->sub, name);
	return path;
}

static void check_stream(struct rig *rig, const char *name)
{
	struct decoded one;
	char stream[512], index[80];

	snprintf(stream, sizeof(stream), "%s", rig_path(rig, name));
	if (decode_stream(stream, rig->uuid, 16, &one, see, rig) < 0)
		return;
	assert_int_equal(one.first_lost, 0);
	assert_true(one.records || one.lost);
	snprintf(index, sizeof(index), "index/%s.idx", name);
	decode_index(stream, rig_path(rig, index));
	rig->total.records += one.records;
	rig->total.packets += one.packets;
	rig->lost += one.lost;
	rig->streams++;
}

void rig_read(struct rig *rig, uint64_t max)
{
	uint32_t cpus = waymark_ring_set_cpus(rig->set), rings = waymark_ring_set_rings(rig->set);
	char name[64];

	rig->max = max;
	for (unsigned i = 0; i < RIG_WRITERS; i++) {
		rig->seen[i] = calloc(max / 64 + 1, 8);
		assert_non_null(rig->seen[i]);
	}
	for (uint32_t i = 0; i < rings; i++) {
		snprintf(name, sizeof(name), i < cpus ? "app_%u" : "app_claim%u", i < cpus ? i : i - cpus);
		check_stream(rig, name);
	}
}

void rig_check(struct rig *rig, uint64_t max)
{
	rig_read(rig, max);
	assert_int_equal(rig->stats.counts.records, rig->total.records);
	assert_int_equal(rig->stats.counts.packets, rig->total.packets);
	assert_int_equal(rig->stats.counts.streams, rig->streams);
	assert_int_equal(rig->stats.counts.bytes, wmk_store_bytes(rig->store));
}

uint64_t rig_babeltrace(struct rig *rig, bool lost)
{
	static const char *const readers[] = { "babeltrace", "babeltrace2 convert" };
	char command[400], *out, *err;
	uint64_t lines = 0;

	for (unsigned i = 0; i < 2; i++) {
		snprintf(command, sizeof(command), "%s %s", readers[i], rig->trace);
		if (testdir_run(command, &out, &err) != 0 || (lost ? !strstr(err, "discarded") : err[0]))
			fail_msg("%s says: %.2000s", command, err);
		lines = 0;
		for (const char *at = out; *at; at++)
			lines += *at == '\n';
		assert_int_equal(lines, rig->total.records);
		free(out);
		free(err);
	}
	return lines;
}

static void *beat(void *arg)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	struct rig_heartbeat *heartbeat = arg;

	heartbeat->begun = true;
	for (; !heartbeat->ended; nanosleep(&pause, NULL))
		waymark_ring_set_heartbeat(heartbeat->set);
	return NULL;
}

void rig_heartbeat_begin(struct rig_heartbeat *heartbeat, struct waymark_ring_set *set)
{
	heartbeat->set = set;
	heartbeat->begun = heartbeat->ended = false;
	assert_int_equal(pthread_create(&heartbeat->thread, NULL, beat, heartbeat), 0);
	while (!heartbeat->begun)
		sched_yield();
}

void rig_heartbeat_end(struct rig_heartbeat *heartbeat)
{
	heartbeat->ended = true;
	assert_int_equal(pthread_join(heartbeat->thread, NULL), 0);
}
