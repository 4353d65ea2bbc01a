/* SPDX-License-Identifier: MIT */
/*
 * test_relay_server.c - a complete relay, and a client that speaks the protocol. The files have acknowledged data
 * exactly once, and a sender continues at the end of the files.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "relay/t/client.h"
#include "relay/t/relay_rig.h"

#define SUB "ust/uid/1000/64-bit"
#define TRACE "web1/shop/" SUB

static const struct wmk_empty none;

/* The size of a packet in a file, with `content` bytes of records. */
static long packet_bytes(uint64_t content)
{
	const struct wmk_ctf_packet packet = { .content = content };

	return (long)wmk_ctf_packet_size(&packet);
}

static struct wmk_relay_status_host status_of(struct client *client, const char *host)
{
	struct wmk_relay_status status;

	assert_int_equal(client_request(client, WMK_RELAY_STATUS, &none, &status), 0);
	for (uint32_t i = 0; i < status.hosts.n; i++) {
		const struct wmk_relay_status_host *is = (struct wmk_relay_status_host *)status.hosts.items + i;

		if (strcmp(is->host, host) == 0)
			return *is;
	}
	fail();
	return (struct wmk_relay_status_host){ 0 };
}

static struct wmk_relay_status_trace only_trace(struct client *client)
{
	const struct wmk_relay_status_host host = status_of(client, "web1");

	assert_int_equal(host.traces.n, 1);
	return *(struct wmk_relay_status_trace *)host.traces.items;
}

static void open_stream(struct client *client, const struct relay_rig *rig)
{
	client_open(client, rig->port, "web1");
	assert_int_equal(client_trace(client, "shop", NULL), 0);
	assert_int_equal(client_stream(client, 0, "app_0", NULL), 0);
}

/* ── data ────────────────────────────────────────────────────────────────────────────────────────────── */

static void acknowledged_data_is_in_the_files(void **state)
{
	struct relay_rig rig;
	struct client client;

	(void)state;
	relay_rig_begin(&rig, NULL);
	open_stream(&client, &rig);
	client_metadata(&client, 0, 0, "/* CTF 1.8 */\n");
	client_packet(&client, 0, 0, 0, 100);
	client_packet(&client, 0, 1, 128, 200000);
	client_packet(&client, 0, 2, 200128, 0);
	assert_int_equal(client_acknowledged(&client), 0);
	assert_true(relay_rig_has(&rig, TRACE "/metadata", "/* CTF 1.8 */\n"));
	assert_int_equal(relay_rig_size(&rig, TRACE "/app_0"),
			 packet_bytes(100) + packet_bytes(200000) + packet_bytes(0));
	assert_int_equal(relay_rig_size(&rig, TRACE "/index/app_0.idx"),
			 WMK_CTF_INDEX_HEAD + 3 * WMK_CTF_INDEX_ENTRY);
	assert_int_equal(client_request(&client, WMK_RELAY_CLOSE, &none, NULL), 0);
	assert_int_equal(relay_rig_size(&rig, TRACE "/.live"), -1);
	client_close(&client);
	relay_rig_end(&rig);
}

static void packet_that_the_relay_has_is_dropped(void **state)
{
	struct relay_rig rig;
	struct client client;

	(void)state;
	relay_rig_begin(&rig, NULL);
	open_stream(&client, &rig);
	client_packet(&client, 0, 0, 0, 100);
	client_packet(&client, 0, 0, 0, 100);
	client_packet(&client, 0, 1, 100, 50);
	/* a new sequence number, but old records */
	client_packet(&client, 0, 2, 40, 60);
	client_packet(&client, 0, 0, 0, 0);
	assert_int_equal(client_acknowledged(&client), 0);
	assert_int_equal(relay_rig_size(&rig, TRACE "/app_0"), packet_bytes(100) + packet_bytes(50));
	assert_int_equal(only_trace(&client).dropped, 3);
	client_close(&client);
	relay_rig_end(&rig);
}

static void relay_refuses_a_packet_that_overlaps_the_last_one(void **state)
{
	struct relay_rig rig;
	struct client client;

	(void)state;
	relay_rig_begin(&rig, NULL);
	open_stream(&client, &rig);
	client_packet(&client, 0, 0, 0, 100);
	client_packet(&client, 0, 1, 60, 100);
	assert_int_equal(client_answer(&client), -EEXIST);
	assert_non_null(strstr(client.text, "up to 100"));
	/* earlier data was acknowledged before the error, and the connection ended */
	assert_int_equal(client.acknowledged, client.number - 1);
	assert_int_equal(client_answer(&client), -EPIPE);
	client_close(&client);
	relay_rig_end(&rig);
}

static void packet_after_a_missing_packet_is_refused_by_the_relay(void **state)
{
	struct relay_rig rig;
	struct client client;

	(void)state;
	relay_rig_begin(&rig, NULL);
	open_stream(&client, &rig);
	client_packet(&client, 0, 0, 0, 100);
	client_packet(&client, 0, 2, 200, 100);
	assert_int_equal(client_answer(&client), -ESTALE);
	client_close(&client);
	relay_rig_end(&rig);
}

static void sender_resumes_after_a_broken_connection(void **state)
{
	struct relay_rig rig;
	struct client client;
	struct wmk_relay_trace_reply trace;
	struct wmk_relay_stream_reply reply;
	uint8_t part[500] = { 0 };

	(void)state;
	relay_rig_begin(&rig, NULL);
	for (unsigned round = 0; round < 3; round++) {
		client_open(&client, rig.port, "web1");
		assert_int_equal(client_trace(&client, "shop", &trace), 0);
		assert_int_equal(trace.metadata, round ? 14 : 0);
		client_metadata(&client, 0, 0, "/* CTF 1.8 */\n");
		assert_int_equal(client_stream(&client, 0, "app_0", &reply), 0);
		assert_int_equal(reply.found, round > 0);
		assert_int_equal(reply.found ? reply.last.sequence + 1 : 0, round);
		client_packet(&client, 0, round, round * 100, 100);
		assert_int_equal(client_acknowledged(&client), 0);
		/* the connection breaks within a packet */
		const struct wmk_relay_frame frame = { .type = WMK_RELAY_PACKET, .number = client.number + 1,
						       .length = WMK_RELAY_PACKET_HEAD + 100000 };
		uint8_t head[WMK_RELAY_HEAD];

		wmk_relay_frame_encode(head, &frame);
		client_bytes(&client, head, sizeof(head));
		client_bytes(&client, part, sizeof(part));
		client_close(&client);
		if (round == 1) {
			relay_rig_stop(&rig);
			relay_rig_start(&rig);
		}
	}
	client_open(&client, rig.port, "web1");
	assert_int_equal(client_trace(&client, "shop", NULL), 0);
	assert_int_equal(relay_rig_size(&rig, TRACE "/app_0"), 3 * packet_bytes(100));
	client_close(&client);
	relay_rig_end(&rig);
}

static void new_connection_for_a_trace_closes_the_old_one(void **state)
{
	struct relay_rig rig;
	struct client old, client;
	struct wmk_relay_stream_reply reply;

	(void)state;
	relay_rig_begin(&rig, NULL);
	open_stream(&old, &rig);
	client_packet(&old, 0, 0, 0, 100);
	assert_int_equal(client_acknowledged(&old), 0);
	client_open(&client, rig.port, "web1");
	assert_int_equal(client_trace(&client, "shop", NULL), 0);
	assert_int_equal(client_stream(&client, 5, "app_0", &reply), 0);
	assert_true(reply.found);
	client_packet(&client, 5, 1, 100, 100);
	assert_int_equal(client_acknowledged(&client), 0);
	assert_int_equal(client_answer(&old), -EPIPE);
	client_close(&old);
	client_close(&client);
	relay_rig_end(&rig);
}

/* Start a relay in a child process, which the test kills. */
static pid_t start_child(struct relay_rig *rig)
{
	int ports[2];
	pid_t child;

	relay_rig_begin(rig, NULL);
	relay_rig_stop(rig);
	assert_int_equal(pipe(ports), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		relay_rig_start(rig);
		if (write(ports[1], &rig->port, sizeof(rig->port)) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ports[0], &rig->port, sizeof(rig->port)), sizeof(rig->port));
	close(ports[0]);
	close(ports[1]);
	return child;
}

/* Kill the child when the file has this size, and start another relay. */
static void kill_child(struct relay_rig *rig, pid_t child, long size)
{
	int status;

	while (relay_rig_size(rig, TRACE "/app_0") < size)
		sched_yield();
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	relay_rig_start(rig);
}

/* The relay is killed after it wrote a packet. It may or may not have acknowledged the packet. */
static void relay_killed_before_acknowledgement_stores_the_packet_once(void **state)
{
	struct relay_rig rig;
	struct client client;
	struct wmk_relay_stream_reply reply;
	pid_t child;

	(void)state;
	child = start_child(&rig);
	open_stream(&client, &rig);
	client_packet(&client, 0, 0, 0, 100);
	kill_child(&rig, child, packet_bytes(100));
	client_close(&client);
	client_open(&client, rig.port, "web1");
	assert_int_equal(client_trace(&client, "shop", NULL), 0);
	assert_int_equal(client_stream(&client, 0, "app_0", &reply), 0);
	assert_true(reply.found);
	client_packet(&client, 0, 0, 0, 100);
	client_packet(&client, 0, 1, 100, 20);
	assert_int_equal(client_acknowledged(&client), 0);
	assert_int_equal(relay_rig_size(&rig, TRACE "/app_0"), packet_bytes(100) + packet_bytes(20));
	assert_int_equal(only_trace(&client).dropped, 1);
	client_close(&client);
	relay_rig_end(&rig);
}

/* The header of a large packet, and a part of its records. */
static void send_part(struct client *client, uint32_t content, uint32_t part)
{
	const struct wmk_relay_packet packet = { .packet = { .end_ts = 5, .content = content } };
	const struct wmk_relay_frame frame = { .type = WMK_RELAY_PACKET, .number = client->number + 1,
					       .length = WMK_RELAY_PACKET_HEAD + content };
	uint8_t head[WMK_RELAY_HEAD + WMK_RELAY_PACKET_HEAD], *records = calloc(1, part);

	assert_non_null(records);
	wmk_relay_frame_encode(head, &frame);
	wmk_relay_packet_encode(head + WMK_RELAY_HEAD, &packet);
	client_bytes(client, head, sizeof(head));
	client_bytes(client, records, part);
	free(records);
}

/* A packet is written as it arrives. The next relay removes the part that a killed relay wrote. */
static void restarted_relay_removes_a_partly_received_packet(void **state)
{
	struct relay_rig rig;
	struct client client;
	struct wmk_relay_stream_reply reply;
	pid_t child;

	(void)state;
	child = start_child(&rig);
	open_stream(&client, &rig);
	send_part(&client, 200000, 150000);
	kill_child(&rig, child, 100000);
	client_close(&client);
	client_open(&client, rig.port, "web1");
	assert_int_equal(client_trace(&client, "shop", NULL), 0);
	assert_int_equal(client_stream(&client, 0, "app_0", &reply), 0);
	assert_false(reply.found);
	assert_int_equal(relay_rig_size(&rig, TRACE "/app_0"), 0);
	client_packet(&client, 0, 0, 0, 200000);
	assert_int_equal(client_acknowledged(&client), 0);
	assert_int_equal(relay_rig_size(&rig, TRACE "/app_0"), packet_bytes(200000));
	client_close(&client);
	relay_rig_end(&rig);
}

/* A commit while the packet arrives does not acknowledge the packet. So a later commit does. */
static void large_packet_is_acknowledged_by_the_commit_after_its_end(void **state)
{
	static const uint8_t rest[50000];
	struct relay_rig rig;
	struct client client;

	(void)state;
	relay_rig_begin(&rig, NULL);
	open_stream(&client, &rig);
	client_metadata(&client, 0, 0, "/* CTF 1.8 */");
	send_part(&client, 200000, 150000);
	assert_int_equal(client_acknowledged(&client), 0);
	client_bytes(&client, rest, sizeof(rest));
	client.data = ++client.number;
	assert_int_equal(client_acknowledged(&client), 0);
	assert_int_equal(relay_rig_size(&rig, TRACE "/app_0"), packet_bytes(200000));
	client_close(&client);
	relay_rig_end(&rig);
}

/* A packet that begins another file is held in memory until it is complete. */
static void large_packets_are_in_files_of_limited_size(void **state)
{
	const struct wmk_relay_stream stream = { .name = "app_0", .create = true, .tracefile_size = 200000,
						 .tracefile_count = 4, .chunk = "" };
	struct relay_rig rig;
	struct client client;

	(void)state;
	relay_rig_begin(&rig, NULL);
	client_open(&client, rig.port, "web1");
	assert_int_equal(client_trace(&client, "shop", NULL), 0);
	assert_int_equal(client_request(&client, WMK_RELAY_STREAM, &stream, NULL), 0);
	client_packet(&client, 0, 0, 0, 140000);
	client_packet(&client, 0, 1, 140000, 140000);
	client_packet(&client, 0, 1, 140000, 140000);
	client_packet(&client, 0, 2, 280000, 40000);
	assert_int_equal(client_acknowledged(&client), 0);
	assert_int_equal(relay_rig_size(&rig, TRACE "/app_0_0"), packet_bytes(140000));
	assert_int_equal(relay_rig_size(&rig, TRACE "/app_0_1"), packet_bytes(140000) + packet_bytes(40000));
	assert_int_equal(only_trace(&client).dropped, 1);
	client_close(&client);
	relay_rig_end(&rig);
}

/* ── metadata, chunks, clear ─────────────────────────────────────────────────────────────────────────── */

static void repeated_metadata_is_written_once(void **state)
{
	struct relay_rig rig;
	struct client client;

	(void)state;
	relay_rig_begin(&rig, NULL);
	open_stream(&client, &rig);
	client_metadata(&client, 0, 0, "/* CTF 1.8 */\n");
	client_metadata(&client, 0, 0, "/* CTF 1.8 */\n");
	client_metadata(&client, 14, 0, "trace {};\n");
	assert_int_equal(client_acknowledged(&client), 0);
	assert_true(relay_rig_has(&rig, TRACE "/metadata", "/* CTF 1.8 */\ntrace {};\n"));
	client_metadata(&client, 100, 0, "event {};\n");
	assert_int_equal(client_answer(&client), -ESTALE);
	client_close(&client);
	open_stream(&client, &rig);
	client.epoch = 1;
	client_metadata(&client, 0, 1, "/* CTF 1.8, replaced */\n");
	client_metadata(&client, 0, 1, "/* a repetition has no effect */\n");
	assert_int_equal(client_acknowledged(&client), 0);
	assert_true(relay_rig_has(&rig, TRACE "/metadata", "/* CTF 1.8, replaced */\n"));
	assert_int_equal(only_trace(&client).epoch, 1);
	client_close(&client);
	relay_rig_end(&rig);
}

static void rotation_closes_a_chunk(void **state)
{
	const struct wmk_relay_rotation rotation = { .name = "20260101T000000-0", .chunk = 1 };
	const struct wmk_relay_output end = { .session = "shop", .name = "", .chunk = "20260101T000000-0" };
	const struct wmk_relay_stream before = { .name = "app_0", .chunk = "20260101T000000-0" };
	struct wmk_relay_stream_reply reply;
	struct wmk_relay_trace_reply trace;
	struct relay_rig rig;
	struct client client;

	(void)state;
	relay_rig_begin(&rig, NULL);
	open_stream(&client, &rig);
	client_metadata(&client, 0, 0, "/* CTF 1.8 */\n");
	client_packet(&client, 0, 0, 0, 100);
	client.epoch = 1;
	assert_int_equal(client_request(&client, WMK_RELAY_ROTATE, &rotation, NULL), 0);
	assert_int_equal(client_request(&client, WMK_RELAY_ROTATE, &rotation, NULL), 0);
	assert_int_equal(client_request(&client, WMK_RELAY_ARCHIVE_END, &end, NULL), 0);
	assert_int_equal(relay_rig_size(&rig, "web1/shop/archives/20260101T000000-0/" SUB "/app_0"),
			 packet_bytes(100));
	client_metadata(&client, 0, 0, "/* CTF 1.8, chunk 1 */\n");
	assert_int_equal(client_stream(&client, 0, "app_0", &reply), 0);
	assert_false(reply.found);
	assert_int_equal(client_request(&client, WMK_RELAY_CHUNK_LAST, &before, &reply), 0);
	assert_true(reply.found);
	assert_int_equal(reply.last.content, 100);
	client_packet(&client, 0, 0, 100, 40);
	/* data from before the rotation is dropped */
	client.epoch = 0;
	client_packet(&client, 0, 1, 140, 40);
	assert_int_equal(client_acknowledged(&client), 0);
	assert_int_equal(relay_rig_size(&rig, TRACE "/app_0"), packet_bytes(40));
	client_close(&client);
	relay_rig_stop(&rig);
	relay_rig_start(&rig);
	client_open(&client, rig.port, "web1");
	assert_int_equal(client_trace(&client, "shop", &trace), 0);
	assert_int_equal(trace.epoch, 1);
	assert_int_equal(trace.chunk, 1);
	/* data of a later epoch; the relay has not received the message that begins it */
	assert_int_equal(client_stream(&client, 0, "app_0", NULL), 0);
	client.epoch = 2;
	client_packet(&client, 0, 1, 140, 40);
	assert_int_equal(client_answer(&client), -ESTALE);
	client_close(&client);
	relay_rig_end(&rig);
}

static void cleared_stream_restarts_without_earlier_packets(void **state)
{
	const struct wmk_relay_stream stream = { .name = "app_0", .chunk = "" };
	struct wmk_relay_stream_reply reply;
	struct relay_rig rig;
	struct client client;

	(void)state;
	relay_rig_begin(&rig, NULL);
	open_stream(&client, &rig);
	client_packet(&client, 0, 0, 0, 100);
	client.epoch = 1;
	assert_int_equal(client_request(&client, WMK_RELAY_STREAM_REMOVE, &stream, NULL), 0);
	assert_int_equal(relay_rig_size(&rig, TRACE "/app_0"), -1);
	assert_int_equal(client_stream(&client, 0, "app_0", &reply), 0);
	assert_false(reply.found);
	client_packet(&client, 0, 0, 5000, 60);
	/* a repeated request does not remove the new packet */
	assert_int_equal(client_request(&client, WMK_RELAY_STREAM_REMOVE, &stream, NULL), 0);
	assert_int_equal(client_acknowledged(&client), 0);
	assert_int_equal(relay_rig_size(&rig, TRACE "/app_0"), packet_bytes(60));
	client_close(&client);
	relay_rig_end(&rig);
}

static void relay_stores_clock_points_from_the_sender(void **state)
{
	struct wmk_relay_times first, times;
	struct wmk_relay_clock point = { .uuid = "", .relay = "" };
	char relay[WMK_CLOCK_UUID];
	struct relay_rig rig;
	struct client client;

	(void)state;
	relay_rig_begin(&rig, NULL);
	client_open(&client, rig.port, "web1");
	assert_int_equal(client_request(&client, WMK_RELAY_CLOCK, &none, &first), 0);
	snprintf(relay, sizeof(relay), "%s", first.uuid);
	assert_int_equal(strlen(relay), 36);
	assert_true(first.received_ns <= first.sent_ns);
	assert_int_equal(client_request(&client, WMK_RELAY_CLOCK, &none, &times), 0);
	assert_true(first.sent_ns <= times.received_ns && first.real_ns <= times.real_ns + 1000000000u);
	assert_int_equal(client_trace(&client, "shop", NULL), 0);
	client_metadata(&client, 0, 0, "/* CTF 1.8 */\n");
	point.point = (struct wmk_clock_point){ 10, 11, 12, 13, 0 };
	client_say(&client, WMK_RELAY_CLOCK_POINT, &wmk_relay_clock_object, &point);
	point.relay = relay;
	client_say(&client, WMK_RELAY_CLOCK_POINT, &wmk_relay_clock_object, &point);
	/* Measured before the relay's machine was restarted: ignored. */
	point.relay = "another boot";
	point.point.value = 20;
	client_say(&client, WMK_RELAY_CLOCK_POINT, &wmk_relay_clock_object, &point);
	assert_int_equal(client_acknowledged(&client), 0);
	assert_int_equal(relay_rig_size(&rig, TRACE "/.clock"), WMK_CLOCK_FILE_HEAD + WMK_CLOCK_POINT_BYTES);
	assert_int_equal(relay_rig_size(&rig, TRACE "/.clock.relay"), WMK_CLOCK_RELAY_HEAD + WMK_CLOCK_POINT_BYTES);
	client_close(&client);
	relay_rig_end(&rig);
}

/* The number of the file in a list; 0: not listed. */
static uint64_t listed(struct client *client, const char *host, const char *session, const char *path)
{
	const struct wmk_relay_view view = { .host = host, .session = session };
	struct wmk_relay_view_files files;

	assert_int_equal(client_request(client, WMK_RELAY_VIEW_LIST, &view, &files), 0);
	for (uint32_t i = 0; i < files.files.n; i++) {
		const struct wmk_relay_view_file *is = (struct wmk_relay_view_file *)files.files.items + i;

		if (strcmp(is->path, path) == 0)
			return is->number;
	}
	return 0;
}

static void viewer_cannot_read_paths_outside_of_the_host_directory(void **state)
{
	static const char at[] = SUB "/metadata";
	struct wmk_relay_view_part part = { .host = "web1", .session = "shop", .path = at, .length = 100 };
	struct wmk_relay_view_bytes bytes;
	struct client clients[2], viewer;
	struct relay_rig rig;

	(void)state;
	relay_rig_begin(&rig, NULL);
	for (int i = 0; i < 2; i++) {
		client_open(&clients[i], rig.port, i ? "web2" : "web1");
		assert_int_equal(client_trace(&clients[i], "shop", NULL), 0);
		client_metadata(&clients[i], 0, 0, "/* CTF 1.8 */\n");
		assert_int_equal(client_acknowledged(&clients[i]), 0);
	}
	client_open(&viewer, rig.port, "");
	part.number = listed(&viewer, "web1", "shop", at);
	assert_int_equal(client_request(&viewer, WMK_RELAY_VIEW_READ, &part, &bytes), 0);
	assert_int_equal(bytes.length, 14);
	/* The same file in the lists of the host and of the root. */
	assert_int_equal(listed(&viewer, "web1", "", "shop/" SUB "/metadata"), part.number);
	assert_int_equal(listed(&viewer, "", "", "web1/shop/" SUB "/metadata"), part.number);
	part.host = part.session = "";
	part.path = "web1/shop/" SUB "/metadata";
	assert_int_equal(client_request(&viewer, WMK_RELAY_VIEW_READ, &part, &bytes), 0);
	/* No path leads to another host. */
	part.number = listed(&viewer, "web2", "shop", at);
	part.path = "web1/../web2/shop/" SUB "/metadata";
	assert_int_equal(client_request(&viewer, WMK_RELAY_VIEW_READ, &part, &bytes), -EXDEV);
	part.host = "web1";
	part.path = "../web2/shop/" SUB "/metadata";
	assert_int_equal(client_request(&viewer, WMK_RELAY_VIEW_READ, &part, &bytes), -EXDEV);
	part.session = "shop";
	part.path = "../../web2/shop/" SUB "/metadata";
	assert_int_equal(client_request(&viewer, WMK_RELAY_VIEW_READ, &part, &bytes), -EXDEV);
	client_close(&viewer);
	client_close(&clients[0]);
	client_close(&clients[1]);
	relay_rig_end(&rig);
}

static void relay_that_lost_its_files_accepts_packets_after_a_gap(void **state)
{
	const struct wmk_relay_stream stream = { .name = "app_0", .create = true, .continue_at = 3, .chunk = "" };
	struct relay_rig rig;
	struct client client;

	(void)state;
	relay_rig_begin(&rig, NULL);
	open_stream(&client, &rig);
	assert_int_equal(client_request(&client, WMK_RELAY_STREAM, &stream, NULL), 0);
	assert_int_equal(only_trace(&client).gaps, 1);
	client_packet(&client, 0, 3, 300, 100);
	assert_int_equal(client_acknowledged(&client), 0);
	client_close(&client);
	relay_rig_end(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(acknowledged_data_is_in_the_files),
		cmocka_unit_test(packet_that_the_relay_has_is_dropped),
		cmocka_unit_test(relay_refuses_a_packet_that_overlaps_the_last_one),
		cmocka_unit_test(packet_after_a_missing_packet_is_refused_by_the_relay),
		cmocka_unit_test(sender_resumes_after_a_broken_connection),
		cmocka_unit_test(new_connection_for_a_trace_closes_the_old_one),
		cmocka_unit_test(relay_killed_before_acknowledgement_stores_the_packet_once),
		cmocka_unit_test(restarted_relay_removes_a_partly_received_packet),
		cmocka_unit_test(large_packet_is_acknowledged_by_the_commit_after_its_end),
		cmocka_unit_test(large_packets_are_in_files_of_limited_size),
		cmocka_unit_test(repeated_metadata_is_written_once),
		cmocka_unit_test(rotation_closes_a_chunk),
		cmocka_unit_test(cleared_stream_restarts_without_earlier_packets),
		cmocka_unit_test(relay_stores_clock_points_from_the_sender),
		cmocka_unit_test(viewer_cannot_read_paths_outside_of_the_host_directory),
		cmocka_unit_test(relay_that_lost_its_files_accepts_packets_after_a_gap),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
