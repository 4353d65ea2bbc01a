/* SPDX-License-Identifier: MIT */
/*
 * test_link.c - the session daemon's link, with a real waymark-consumerd: requests, deadlines, several threads, several
 * traces, a session daemon that ends and another that starts.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "ring/set.h"
#include "rig_link.h"
#include "store/t/testdir.h"

static const struct rig_shape shape = { .subbuf = 4096, .n_subbufs = 8, .block_us = -1 };

static uint64_t records_of(const struct wmk_consumerd_report *report, const char *channel)
{
	const struct wmk_consumerd_channel *channels = report->channels.items;

	for (uint32_t i = 0; i < report->channels.n; i++)
		if (strcmp(channels[i].channel, channel) == 0)
			return channels[i].stats.counts.records;
	return UINT64_MAX;
}

/* Create, record, stop, record again, destroy. */
static void records_before_and_after_a_stop_are_counted_and_written(void **state)
{
	struct wmk_consumerd_report report;
	struct wmk_arena arena = { 0 };
	struct rig_link r;

	(void)state;
	rig_link_open(&r, &shape);
	rig_link_connect(&r);
	rig_link_add(&r);
	assert_int_equal(rig_record(&r.rig, 0, 0, 5000), 5000);
	assert_int_equal(wmk_consumer_link_stop(r.link, 1, 0, LINK_MS, &arena, &report), 0);
	assert_int_equal(records_of(&report, "app"), 5000);
	assert_int_equal(rig_record(&r.rig, 0, 5000, 6000), 1000);
	assert_int_equal(wmk_consumer_link_flush(r.link, 1, 1, LINK_MS), 0);
	assert_int_equal(rig_link_counts(&r).records, 6000);
	wmk_consumer_link_wake(r.link, 0);
	wmk_consumer_link_wake(r.link, 1);
	assert_int_equal(wmk_consumer_link_rings_remove(r.link, 1, 1, LINK_MS, &arena, &report), 0);
	assert_int_equal(records_of(&report, "app"), 6000);
	/* Removed rings still count. */
	assert_int_equal(rig_link_counts(&r).records, 6000);
	assert_int_equal(wmk_consumer_link_rings_remove(r.link, 1, 1, LINK_MS, NULL, NULL), 0);
	assert_int_equal(wmk_consumer_link_trace_remove(r.link, 1, LINK_MS, &arena, &report), 0);
	assert_int_equal(records_of(&report, "app"), 6000);
	wmk_arena_free(&arena);
	rig_read(&r.rig, 6000);
	assert_int_equal(r.rig.count[0], 6000);
	rig_babeltrace(&r.rig, false);
	rig_link_close(&r);
}

static void test_clear_request_removes_records(void **state)
{
	struct rig_link r;

	(void)state;
	rig_link_open(&r, &shape);
	rig_link_connect(&r);
	rig_link_add(&r);
	assert_int_equal(rig_record(&r.rig, 0, 0, 5000), 5000);
	assert_int_equal(wmk_consumer_link_clear(r.link, 1, LINK_MS), 0);
	assert_int_equal(rig_link_counts(&r).records, 0);
	assert_int_equal(rig_record(&r.rig, 1, 0, 70), 70);
	assert_int_equal(wmk_consumer_link_trace_remove(r.link, 1, LINK_MS, NULL, NULL), 0);
	rig_read(&r.rig, 5000);
	assert_int_equal(r.rig.count[0], 0);
	assert_int_equal(r.rig.count[1], 70);
	rig_babeltrace(&r.rig, false);
	rig_link_close(&r);
}

/* Each wrong request fails with its error and a message; existing traces are not affected. */
static void invalid_requests_to_consumer_daemon_fail_with_a_message(void **state)
{
	struct wmk_consumerd_trace trace;
	struct wmk_consumerd_rings rings;
	struct rig_link r;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), set;

	(void)state;
	rig_link_open(&r, &shape);
	set = waymark_ring_set_fd(r.rig.set);
	rig_link_connect(&r);
	assert_int_equal(wmk_consumer_link_rings_add(r.link, &r.rings, set, LINK_MS), -ENOENT);
	trace = r.trace;
	trace.path = "not/absolute";
	assert_int_equal(wmk_consumer_link_trace_add(r.link, &trace, -1, LINK_MS), -EINVAL);
	trace.path = "/nowhere/at/all";
	assert_int_equal(wmk_consumer_link_trace_add(r.link, &trace, -1, LINK_MS), -ENOENT);
	assert_non_null(strstr(wmk_error_get(0), "/nowhere/at/all"));
	trace = r.trace;
	trace.sub = "ust/../../..";
	assert_int_equal(wmk_consumer_link_trace_add(r.link, &trace, -1, LINK_MS), -EINVAL);
	trace.sub = r.trace.sub;
	trace.max_size = 1 << 20;
	assert_int_equal(wmk_consumer_link_trace_add(r.link, &trace, null, LINK_MS), -EINVAL);
	rig_link_add(&r);
	/* The same again, and another of the same number. */
	rig_link_add(&r);
	trace = r.trace;
	trace.uuid[0]++;
	assert_int_equal(wmk_consumer_link_trace_add(r.link, &trace, -1, LINK_MS), -EEXIST);
	rings = r.rings;
	rings.channel = "other";
	assert_int_equal(wmk_consumer_link_rings_add(r.link, &rings, set, LINK_MS), -EEXIST);
	rings.rings = 2;
	assert_int_equal(wmk_consumer_link_rings_add(r.link, &rings, null, LINK_MS), -EPERM);
	rings.uuid[3] = 9;
	assert_int_equal(wmk_consumer_link_rings_add(r.link, &rings, set, LINK_MS), -EINVAL);
	rings = r.rings;
	rings.rings = 3;
	rings.channel = "up/and/away";
	assert_int_equal(wmk_consumer_link_rings_add(r.link, &rings, set, LINK_MS), -EINVAL);
	assert_int_equal(wmk_consumer_link_flush(r.link, 7, 0, LINK_MS), -ENOENT);
	assert_int_equal(wmk_consumer_link_flush(r.link, 1, 7, LINK_MS), -ENOENT);
	assert_int_equal(wmk_consumer_link_clear(r.link, 7, LINK_MS), -ENOENT);
	assert_int_equal(rig_record(&r.rig, 0, 0, 10), 10);
	assert_int_equal(wmk_consumer_link_stop(r.link, 1, 1, LINK_MS, NULL, NULL), 0);
	assert_int_equal(rig_link_counts(&r).records, 10);
	close(null);
	rig_link_close(&r);
}

/* ── deadlines and threads ───────────────────────────────────────────────────────────────────────────── */

static void requests_to_stopped_consumer_daemon_fail_at_their_deadlines(void **state)
{
	struct timespec begin, end;
	struct rig_link r;
	pid_t pid;

	(void)state;
	rig_link_open(&r, &shape);
	rig_link_connect(&r);
	rig_link_add(&r);
	pid = wmk_consumer_link_pid(r.link);
	kill(pid, SIGSTOP);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	assert_int_equal(wmk_consumer_link_flush(r.link, 1, 0, 50), -ETIMEDOUT);
	clock_gettime(CLOCK_MONOTONIC, &end);
	assert_true((end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000 >= 50);
	assert_int_equal(wmk_consumer_link_rings_remove(r.link, 1, 1, 0, NULL, NULL), -ETIMEDOUT);
	wmk_consumer_link_wake(r.link, 0);
	kill(pid, SIGCONT);
	/* The earlier requests were carried out. */
	assert_int_equal(wmk_consumer_link_flush(r.link, 1, 0, LINK_MS), 0);
	assert_int_equal(wmk_consumer_link_flush(r.link, 1, 1, LINK_MS), -ENOENT);
	rig_link_close(&r);
}

struct job {
	struct rig_link *r;
	uint64_t number;
	int err;
};

/* A trace in its own subdirectory of the rig's directory, with its own rings. */
static void *one_session(void *arg)
{
	struct job *job = arg;
	struct waymark_ring_options ring = { .size = sizeof(ring),
					     .subbuf_size = 4096,
					     .n_subbufs = 4,
					     .header_room = WMK_CTF_PACKET_ROOM,
					     .clock = WAYMARK_CLOCK_MONOTONIC,
					     .prefault = 1u << 20 };
	struct wmk_consumerd_trace trace = job->r->trace;
	struct wmk_consumerd_rings rings = job->r->rings;
	const uint64_t words[2] = { 1, 1 };
	const struct waymark_ring_frag frag = { words, sizeof(words), WAYMARK_FRAG_WORDS };
	struct waymark_ring_set *set = NULL, *writer = NULL;
	struct wmk_consumerd_report report;
	struct wmk_arena arena = { 0 };
	struct wmk_store *store;
	char path[400];

	snprintf(path, sizeof(path), "%s/more%llu", job->r->rig.dir, (unsigned long long)job->number);
	trace.path = path;
	trace.trace = rings.trace = job->number;
	job->err = wmk_store_create(path, trace.sub, &store);
	if (job->err < 0)
		return NULL;
	wmk_store_close(store);
	job->err = waymark_ring_set_create(&ring, &set);
	if (job->err == 0)
		job->err = waymark_ring_set_open(waymark_ring_set_fd(set), &writer);
	if (job->err == 0)
		job->err = wmk_consumer_link_trace_add(job->r->link, &trace, -1, LINK_MS);
	for (unsigned i = 0; i < 5 && job->err == 0; i++) {
		job->err = wmk_consumer_link_rings_add(job->r->link, &rings, waymark_ring_set_fd(set), LINK_MS);
		if (job->err == 0)
			job->err = waymark_ring_record(writer, 3, &frag, 1);
		if (job->err == 0)
			job->err = wmk_consumer_link_rings_remove(job->r->link, trace.trace, rings.rings, LINK_MS, NULL,
								  NULL);
		/* The same rings resume. */
		rings.resume = true;
		rings.rings++;
	}
	if (job->err == 0)
		job->err = wmk_consumer_link_trace_remove(job->r->link, trace.trace, LINK_MS, &arena, &report);
	/* Each report counts the whole trace so far: 1 + 2 + 3 + 4 + 5. */
	if (job->err == 0 && records_of(&report, "app") != 15)
		job->err = -ERANGE;
	wmk_arena_free(&arena);
	waymark_ring_set_close(writer);
	waymark_ring_set_close(set);
	return NULL;
}

static void test_sessions_are_served_in_parallel(void **state)
{
	enum { N = 8 };
	struct job jobs[N];
	pthread_t threads[N];
	struct rig_link r;

	(void)state;
	rig_link_open(&r, &shape);
	rig_link_connect(&r);
	for (unsigned i = 0; i < N; i++) {
		jobs[i] = (struct job){ &r, 100 + i, 0 };
		assert_int_equal(pthread_create(&threads[i], NULL, one_session, &jobs[i]), 0);
	}
	for (unsigned i = 0; i < N; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(jobs[i].err, 0);
	}
	rig_link_close(&r);
}

/* ── session daemons that end and start ──────────────────────────────────────────────────────────────── */

struct adopted {
	struct rig_link *r;
	unsigned traces, rings;
	int fd;
};

static int adopt(void *data, const struct wmk_consumerd_trace *trace, const struct wmk_consumerd_rings *rings, int fd)
{
	struct adopted *adopted = data;

	assert_int_equal(trace->trace, 1);
	assert_string_equal(trace->path, adopted->r->trace.path);
	if (!rings->rings) {
		assert_int_equal(fd, -1);
		adopted->traces++;
		return 0;
	}
	assert_true(fd >= 0);
	adopted->rings++;
	if (rings->rings == 1)
		adopted->fd = fd;
	else
		close(fd);
	return 0;
}

/* The session daemon crashes; the next one finds everything and ends it cleanly. */
static void rings_of_crashed_session_daemon_are_adopted_by_the_next(void **state)
{
	struct waymark_ring_set *set;
	struct adopted adopted;
	struct rig_link r;
	pid_t pid;

	(void)state;
	rig_link_open(&r, &shape);
	rig_link_connect(&r);
	rig_link_add(&r);
	/* More descriptors than may be in flight at a time. */
	for (unsigned i = 2; i <= 80; i++) {
		struct waymark_ring_options ring = { .size = sizeof(ring),
						     .subbuf_size = 4096,
						     .n_subbufs = 4,
						     .n_cpus = 1,
						     .header_room = WMK_CTF_PACKET_ROOM,
						     .mode = WAYMARK_RING_OVERWRITE };
		struct wmk_consumerd_rings more = r.rings;

		more.rings = i;
		more.channel = "more";
		more.at_stop_only = true;
		assert_int_equal(waymark_ring_set_create(&ring, &set), 0);
		assert_int_equal(wmk_consumer_link_rings_add(r.link, &more, waymark_ring_set_fd(set), LINK_MS), 0);
		waymark_ring_set_close(set);
	}
	pid = wmk_consumer_link_pid(r.link);
	wmk_consumer_link_close(r.link);
	assert_int_equal(rig_record(&r.rig, 0, 0, 20000), 20000);
	rig_link_connect(&r);
	assert_int_equal(wmk_consumer_link_pid(r.link), pid);
	adopted = (struct adopted){ .r = &r, .fd = -1 };
	assert_int_equal(wmk_consumer_link_list(r.link, LINK_MS, adopt, &adopted), 0);
	assert_int_equal(adopted.traces, 1);
	assert_int_equal(adopted.rings, 80);
	assert_int_equal(waymark_ring_set_open_reader(adopted.fd, &set), 0);
	assert_memory_equal(waymark_ring_set_options(set)->uuid, r.rings.uuid, 16);
	waymark_ring_set_close(set);
	close(adopted.fd);
	for (unsigned i = 2; i <= 80; i++)
		assert_int_equal(wmk_consumer_link_rings_remove(r.link, 1, i, LINK_MS, NULL, NULL), 0);
	/* Adopted rings are also given to the next consumer daemon. */
	kill(pid, SIGKILL);
	assert_int_equal(rig_record(&r.rig, 0, 20000, 30000), 10000);
	assert_int_equal(wmk_consumer_link_trace_remove(r.link, 1, LINK_MS, NULL, NULL), 0);
	rig_read(&r.rig, 30000);
	assert_int_equal(r.rig.count[0], 30000);
	rig_link_close(&r);
}

static void stream_that_cannot_be_resumed_is_reported_and_others_resume(void **state)
{
	const struct wmk_consumerd_channel *app;
	struct wmk_consumerd_report report;
	struct wmk_arena arena = { 0 };
	struct rig_link r;
	char name[64];
	pid_t pid;

	(void)state;
	rig_link_open(&r, &shape);
	rig_link_connect(&r);
	rig_link_add(&r);
	/* Of the last ring that an application would claim. */
	snprintf(name, sizeof(name), "app_claim%u",
		 waymark_ring_set_rings(r.rig.set) - waymark_ring_set_cpus(r.rig.set) - 1);
	assert_int_equal(mkdir(rig_path(&r.rig, name), 0700), 0);
	assert_int_equal(rig_record(&r.rig, 0, 0, 3000), 3000);
	pid = wmk_consumer_link_pid(r.link);
	kill(pid, SIGKILL);
	rig_wait_gone(pid);
	assert_int_equal(rig_record(&r.rig, 0, 3000, 6000), 3000);
	assert_int_equal(wmk_consumer_link_stop(r.link, 1, 0, LINK_MS, &arena, &report), 0);
	assert_int_equal(report.channels.n, 1);
	app = report.channels.items;
	assert_int_equal(app->stats.counts.records, 6000);
	assert_int_equal(app->stats.counts.errors, 1);
	assert_non_null(strstr(app->stats.words, name));
	wmk_arena_free(&arena);
	assert_int_equal(wmk_consumer_link_trace_remove(r.link, 1, LINK_MS, NULL, NULL), 0);
	assert_int_equal(rmdir(rig_path(&r.rig, name)), 0);
	rig_read(&r.rig, 6000);
	assert_int_equal(r.rig.count[0], 6000);
	rig_link_close(&r);
}

static void link_ends_permanently_when_second_session_daemon_takes_over(void **state)
{
	struct rig_link r, second;
	unsigned ms = 0;

	(void)state;
	rig_link_open(&r, &shape);
	rig_link_connect(&r);
	rig_link_add(&r);
	memset(&second, 0, sizeof(second));
	strcpy(second.rundir, r.rundir);
	second.trace = r.trace;
	rig_link_connect(&second);
	while (!__atomic_load_n(&r.ends, __ATOMIC_ACQUIRE)) {
		const struct timespec pause = { .tv_nsec = 1000000 };

		if (ms++ > LINK_MS)
			fail_msg("the first link does not end");
		nanosleep(&pause, NULL);
	}
	assert_int_equal(r.end_err, -ECONNABORTED);
	assert_int_equal(wmk_consumer_link_flush(r.link, 1, 0, LINK_MS), -ECONNABORTED);
	wmk_consumer_link_close(r.link);
	assert_int_equal(rig_record(&r.rig, 0, 0, 10), 10);
	assert_int_equal(wmk_consumer_link_flush(second.link, 1, 0, LINK_MS), 0);
	assert_int_equal(rig_link_counts(&second).records, 10);
	r.link = second.link;
	rig_link_close(&r);
}

/* Without traces and connections it exits. With a trace it stays, and writes everything when it is terminated. */
static void consumer_daemon_exits_when_idle_and_writes_all_at_its_end(void **state)
{
	struct rig_link r;
	pid_t pid;

	(void)state;
	rig_link_open(&r, &shape);
	rig_link_connect(&r);
	pid = wmk_consumer_link_pid(r.link);
	wmk_consumer_link_close(r.link);
	rig_wait_gone(pid);
	rig_link_connect(&r);
	rig_link_add(&r);
	pid = wmk_consumer_link_pid(r.link);
	wmk_consumer_link_close(r.link);
	r.link = NULL;
	assert_int_equal(rig_record(&r.rig, 0, 0, 1234), 1234);
	assert_int_equal(kill(pid, SIGTERM), 0);
	rig_wait_gone(pid);
	rig_read(&r.rig, 2000);
	assert_int_equal(r.rig.count[0], 1234);
	rig_link_close(&r);
}

/* The program is missing for so long that the link retries less often; when it is back, recording continues. */
static void recording_continues_after_consumer_program_is_restored(void **state)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	const char *program = getenv("WAYMARK_CONSUMERD");
	char path[300];
	struct rig_link r;

	(void)state;
	if (rig_rounds(100) < 100)
		skip();                  /* it takes 15 s: for the long run */
	rig_link_open(&r, &shape);
	snprintf(path, sizeof(path), "%s/consumerd", r.rig.dir);
	assert_int_equal(symlink(program, path), 0);
	setenv("WAYMARK_CONSUMERD", path, 1);
	rig_link_connect(&r);
	rig_link_add(&r);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(kill(wmk_consumer_link_pid(r.link), SIGKILL), 0);
	while (__atomic_load_n(&r.deaths, __ATOMIC_RELAXED) < 2)        /* the second: the program is still missing */
		nanosleep(&pause, NULL);
	assert_int_equal(rig_record(&r.rig, 0, 0, 100), 100);
	assert_int_equal(symlink(program, path), 0);
	while (__atomic_load_n(&r.returns, __ATOMIC_RELAXED) < 1)
		nanosleep(&pause, NULL);
	assert_int_equal(__atomic_load_n(&r.ends, __ATOMIC_ACQUIRE), 0);
	assert_int_equal(wmk_consumer_link_trace_remove(r.link, 1, LINK_MS, NULL, NULL), 0);
	rig_read(&r.rig, 100);
	assert_int_equal(r.rig.count[0], 100);
	rig_link_close(&r);
	setenv("WAYMARK_CONSUMERD", program, 1);
}

/* A consumer daemon that scans long files before it has the rings; simulated by this process. */
struct slow {
	const char *path;
	int listener;
	_Atomic uint64_t silent_since;   /* ns */
	_Atomic bool ended;
};

/* Report readiness, and answer `answers` requests. */
static int slow_consumer(struct slow *slow, unsigned answers)
{
	const struct wmk_consumerd_hello hello = { .version = "slow", .pid = (uint64_t)getpid() };
	static const struct wmk_empty nothing;
	struct wmk_consumerd_in in = { 0 };
	struct wmk_out out = { 0 };
	struct wmk_frame frame;
	const void *body;
	size_t len;
	int sock = accept4(slow->listener, NULL, NULL, SOCK_CLOEXEC), fd;

	assert_true(sock >= 0);
	assert_int_equal(wmk_consumerd_send(&out, WMK_CONSUMERD_HELLO, 0, &wmk_consumerd_hello_object, &hello, -1), 0);
	assert_true(wmk_out_send(&out, sock) >= 0);
	while (answers) {
		struct pollfd request = { .fd = sock, .events = POLLIN };

		assert_int_equal(poll(&request, 1, LINK_MS), 1);
		assert_true(wmk_in_receive(&in.frames, sock) > 0);
		while (answers && wmk_consumerd_in_next(&in, &frame, &body, &len, &fd) == 1) {
			if (fd >= 0)
				close(fd);
			if (frame.type == WMK_CONSUMERD_HELLO)
				continue;
			answers--;
			assert_int_equal(wmk_consumerd_send(&out, WMK_CONSUMERD_REPLY, frame.request,
							    &wmk_empty_object, &nothing, -1),
					 0);
		}
		assert_true(wmk_out_send(&out, sock) >= 0);
	}
	wmk_consumerd_in_free(&in);
	wmk_out_free(&out);
	return sock;
}

static void *slow_run(void *arg)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	struct slow *slow = arg;

	close(slow_consumer(slow, 2));   /* has everything, and crashes */
	int sock = slow_consumer(slow, 1);
	slow->silent_since = wmk_clock_monotonic();
	while (!slow->ended)
		nanosleep(&pause, NULL);
	unlink(slow->path);
	close(slow->listener);
	close(sock);
	return NULL;
}

static void *fill_rings(void *arg)
{
	return (void *)(uintptr_t)rig_record(arg, 0, 0, 20000);
}

static void blocking_writers_wait_until_consumer_daemon_ends_its_scan(void **state)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct slow slow = { 0 };
	pthread_t consumer, writer;
	struct rig_link r;
	void *recorded;

	(void)state;
	rig_link_open(&r, &shape);
	slow.path = address.sun_path;
	assert_int_equal(mkdir(r.rundir, 0700), 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%.80s/" WMK_CONSUMERD_SOCKET, r.rundir);
	slow.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(slow.listener, (struct sockaddr *)&address, sizeof(address)) || listen(slow.listener, 8),
			 0);
	assert_int_equal(pthread_create(&consumer, NULL, slow_run, &slow), 0);
	rig_link_connect(&r);
	rig_link_add(&r);
	assert_int_equal(pthread_create(&writer, NULL, fill_rings, &r.rig), 0);
	/* longer than a writer waits for a reader without heartbeats */
	while (!slow.silent_since ||
	       __atomic_load_n(&r.rig.set->header->heartbeat, __ATOMIC_RELAXED) < slow.silent_since + 2500000000u) {
		assert_true(!slow.silent_since || wmk_clock_monotonic() < slow.silent_since + LINK_MS * 1000000ull);
		nanosleep(&pause, NULL);
	}
	slow.ended = true;
	assert_int_equal(pthread_join(consumer, NULL), 0);
	assert_int_equal(pthread_join(writer, &recorded), 0);
	assert_int_equal((uintptr_t)recorded, 20000);
	assert_int_equal(wmk_consumer_link_trace_remove(r.link, 1, LINK_MS, NULL, NULL), 0);
	rig_read(&r.rig, 20000);
	assert_int_equal(r.rig.count[0], 20000);
	rig_link_close(&r);
}

/* A missing program, one that exits at once, one that sends nothing: an error within the deadline. */
static void opening_link_without_working_consumer_program_fails_in_time(void **state)
{
	static const char *const programs[] = { "/nowhere/waymark-consumerd", "/bin/false", "/bin/cat" };
	struct wmk_consumer_link_options options = { .size = sizeof(options) };
	struct wmk_consumer_link *link;
	char dir[256];

	(void)state;
	testdir_make(dir);
	options.rundir = dir;
	for (unsigned i = 0; i < 3; i++) {
		options.program = programs[i];
		assert_true(wmk_consumer_link_open(&options, i == 2 ? 200 : LINK_MS, &link) < 0);
		assert_non_null(wmk_error_get(0));
	}
	testdir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_before_and_after_a_stop_are_counted_and_written),
		cmocka_unit_test(test_clear_request_removes_records),
		cmocka_unit_test(invalid_requests_to_consumer_daemon_fail_with_a_message),
		cmocka_unit_test(requests_to_stopped_consumer_daemon_fail_at_their_deadlines),
		cmocka_unit_test(test_sessions_are_served_in_parallel),
		cmocka_unit_test(rings_of_crashed_session_daemon_are_adopted_by_the_next),
		cmocka_unit_test(link_ends_permanently_when_second_session_daemon_takes_over),
		cmocka_unit_test(consumer_daemon_exits_when_idle_and_writes_all_at_its_end),
		cmocka_unit_test(opening_link_without_working_consumer_program_fails_in_time),
		cmocka_unit_test(recording_continues_after_consumer_program_is_restored),
		cmocka_unit_test(blocking_writers_wait_until_consumer_daemon_ends_its_scan),
		cmocka_unit_test(stream_that_cannot_be_resumed_is_reported_and_others_resume),
	};

	return cmocka_run_group_tests(tests, NULL, rig_link_teardown);
}
