/* SPDX-License-Identifier: MIT */
/*
 * test_relay_refusals.c - a relay refuses a wrong order, lengths, names, links, exceeded quotas and too many
 * connections. Each refusal has a message, and affects no other connection.
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
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"
#include "relay/messages.h"
#include "relay/t/client.h"
#include "relay/t/relay_rig.h"

#define SUB "ust/uid/1000/64-bit"

static const struct wmk_empty none;

/* A connection that sends packets while other connections are refused. */
static void writes(struct client *client, uint64_t *packets)
{
	client_packet(client, 0, *packets, *packets * 100, 100);
	(*packets)++;
	assert_int_equal(client_acknowledged(client), 0);
}

static void open_writer(struct client *client, const struct relay_rig *rig, const char *host)
{
	client_open(client, rig->port, host);
	assert_int_equal(client_trace(client, "shop", NULL), 0);
	assert_int_equal(client_stream(client, 0, "app_0", NULL), 0);
}

/* The relay answers with this error and ends the connection. */
static void ends_with(struct client *client, int err, const char *words)
{
	assert_int_equal(client_answer(client), err);
	if (!strstr(client->text, words))
		fail_msg("\"%s\" lacks \"%s\"", client->text, words);
	assert_int_equal(client_answer(client), -EPIPE);
	client_close(client);
}

static void relay_refuses_messages_in_wrong_order(void **state)
{
	struct relay_rig rig;
	struct client client, writer;
	uint64_t packets = 0;
	const struct wmk_relay_stream stream = { .name = "app_0", .create = true, .chunk = "" };

	(void)state;
	relay_rig_begin(&rig, NULL);
	open_writer(&writer, &rig, "web2");

	assert_int_equal(client_connect(&client, rig.port), 0);
	client_say(&client, WMK_RELAY_STATUS, &wmk_empty_object, &none);
	ends_with(&client, -EPROTO, "not HELLO");

	client_open(&client, rig.port, "web1");
	assert_int_equal(client_request(&client, WMK_RELAY_STREAM, &stream, NULL), -EPROTO);
	assert_non_null(strstr(client.text, "needs a trace"));
	/* the answer to a request that fails is ERROR */
	assert_int_equal(client_trace(&client, "shop", NULL), 0);
	assert_int_equal(client_trace(&client, "shop", NULL), -EISCONN);
	client_packet(&client, 7, 0, 0, 10);
	ends_with(&client, -ENOENT, "number 7");

	client_open(&client, rig.port, "web1");
	client_packet(&client, 0, 0, 0, 10);
	ends_with(&client, -EPROTO, "before a trace was opened");

	client_open(&client, rig.port, "web1");
	client.number += 5;
	client_say(&client, WMK_RELAY_STATUS, &wmk_empty_object, &none);
	ends_with(&client, -EPROTO, "message 7 arrived after message 1");

	client_open(&client, rig.port, "web1");
	client_raw(&client, WMK_RELAY_ACK, NULL, 0);
	ends_with(&client, -EPROTO, "cannot send");

	client_open(&client, rig.port, "");
	assert_int_equal(client_trace(&client, "shop", NULL), -EPROTO);
	assert_non_null(strstr(client.text, "needs the name of a host"));
	client_close(&client);
	writes(&writer, &packets);
	client_close(&writer);
	relay_rig_end(&rig);
}

static void relay_refuses_frames_of_wrong_length(void **state)
{
	static const struct wmk_relay_frame wrong[] = {
		{ .type = WMK_RELAY_TRACE, .number = 2, .length = WMK_RELAY_BODY_MAX + 1 },
		{ .type = WMK_RELAY_PACKET, .number = 2, .length = 10 },
		{ .type = WMK_RELAY_PACKET, .number = 2, .length = UINT32_MAX },
		{ .type = 0x123, .number = 2 },
	};
	struct relay_rig rig;
	struct client client;
	uint8_t head[WMK_RELAY_HEAD], short_body[3] = { 0 };

	(void)state;
	relay_rig_begin(&rig, NULL);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		client_open(&client, rig.port, "web1");
		wmk_relay_frame_encode(head, &wrong[i]);
		client_bytes(&client, head, sizeof(head));
		ends_with(&client, -EPROTO, "type");
	}
	client_open(&client, rig.port, "web1");
	client_raw(&client, WMK_RELAY_TRACE, short_body, sizeof(short_body));
	ends_with(&client, -EPROTO, "");
	/* another program connects */
	assert_int_equal(client_connect(&client, rig.port), 0);
	client_bytes(&client, "GET / HTTP/1.1\r\nHost: relay\r\n\r\n", 31);
	ends_with(&client, -EPROTONOSUPPORT, "version");
	relay_rig_end(&rig);
}

static int open_trace(struct client *client, const char *session, const char *sub)
{
	const struct wmk_relay_trace trace = { .session = session, .sub = sub, .mode = WMK_RELAY_UNSURE };

	return client_request(client, WMK_RELAY_TRACE, &trace, NULL);
}

static void relay_refuses_invalid_host_session_and_path_names(void **state)
{
	static const char *const hosts[] = { "..", ".", "a/b", "/etc", ".web", "web 1" },
			  *const sessions[] = { "", ".", "..", "../web2", "a/b", "/etc", ".hidden", "a\nb" },
			  *const subs[] = { "", "..", "../..", "/etc", "a/../../b", "a//b", "archives/x" };
	struct relay_rig rig;
	struct client client;
	const struct wmk_relay_trace nul = { .session = "shop", .sub = SUB };
	const struct wmk_relay_stream stream = { .name = "../app", .create = true, .chunk = "" };
	const struct wmk_relay_output output = { .session = "shop", .name = "", .chunk = "../x" };
	uint8_t *bytes;
	long len;

	(void)state;
	relay_rig_begin(&rig, NULL);
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		client_open(&client, rig.port, hosts[i]);
		ends_with(&client, -EINVAL, "name of a host");
	}
	client_open(&client, rig.port, "web1");
	for (size_t i = 0; i < sizeof(sessions) / sizeof(sessions[0]); i++)
		assert_int_equal(open_trace(&client, sessions[i], SUB), -EINVAL);
	for (size_t i = 0; i < sizeof(subs) / sizeof(subs[0]); i++)
		assert_int_equal(open_trace(&client, "shop", subs[i]), -EINVAL);
	assert_int_equal(client_request(&client, WMK_RELAY_ARCHIVE_END, &output, NULL), -EINVAL);
	assert_int_equal(client_trace(&client, "shop", NULL), 0);
	assert_int_equal(client_request(&client, WMK_RELAY_STREAM, &stream, NULL), -EINVAL);
	/* a null character within a name */
	len = wmk_object_encode(&wmk_relay_trace_object, &nul, &bytes);
	bytes[5] = 0;
	client_raw(&client, WMK_RELAY_TRACE, bytes, (size_t)len);
	free(bytes);
	ends_with(&client, -EPROTO, "");
	relay_rig_end(&rig);
}

static void links_in_the_relays_tree_are_refused(void **state)
{
	struct relay_rig rig;
	struct client client;
	char outside[300], link[400];

	(void)state;
	relay_rig_begin(&rig, NULL);
	snprintf(outside, sizeof(outside), "%s/outside", rig.dir);
	assert_int_equal(mkdir(outside, 0700), 0);
	snprintf(link, sizeof(link), "%s/root/web3", rig.dir);
	assert_int_equal(symlink(outside, link), 0);
	client_open(&client, rig.port, "web3");
	ends_with(&client, -ELOOP, "symbolic link");
	client_open(&client, rig.port, "web1");
	assert_int_equal(client_trace(&client, "other", NULL), 0);
	assert_int_equal(client_request(&client, WMK_RELAY_CLOSE, &none, NULL), 0);
	snprintf(link, sizeof(link), "%s/root/web1/shop", rig.dir);
	assert_int_equal(symlink(outside, link), 0);
	assert_int_equal(client_trace(&client, "shop", NULL), -ELOOP);
	assert_non_null(strstr(client.text, "symbolic link"));
	snprintf(link, sizeof(link), "%s/root/web1/deep", rig.dir);
	assert_int_equal(mkdir(link, 0700), 0);
	snprintf(link, sizeof(link), "%s/root/web1/deep/ust", rig.dir);
	assert_int_equal(symlink(outside, link), 0);
	assert_int_equal(client_trace(&client, "deep", NULL), -ELOOP);
	/* the relay has created no file there */
	assert_int_equal(rmdir(outside), 0);
	client_close(&client);
	relay_rig_end(&rig);
}

static void host_over_its_quota_is_refused(void **state)
{
	struct relay_rig rig;
	struct client client, writer;
	struct wmk_relay_status status;
	uint64_t packets = 0;
	char command[400];

	(void)state;
	relay_rig_begin(&rig, "max-bytes web1 = 64k\n");
	open_writer(&writer, &rig, "web2");
	open_writer(&client, &rig, "web1");
	client_packet(&client, 0, 0, 0, 40000);
	client_packet(&client, 0, 1, 40000, 40000);
	assert_int_equal(client_answer(&client), -EDQUOT);
	assert_non_null(strstr(client.text, "quota of host \"web1\""));
	/* the first packet was acknowledged; a packet without records is always written */
	assert_int_equal(client.acknowledged, client.number - 1);
	client_close(&client);
	open_writer(&client, &rig, "web1");
	client_packet(&client, 0, 1, 40000, 0);
	assert_int_equal(client_acknowledged(&client), 0);
	assert_int_equal(client_request(&client, WMK_RELAY_STATUS, &none, &status), 0);
	for (uint32_t i = 0; i < status.hosts.n; i++) {
		const struct wmk_relay_status_host *is = (struct wmk_relay_status_host *)status.hosts.items + i;

		assert_int_equal(is->max_bytes, strcmp(is->host, "web1") == 0 ? 65536 : 0);
		assert_int_equal(is->connections, 1);
		if (is->max_bytes) {
			assert_in_range(is->bytes, 40000, 65536);
			assert_non_null(strstr(is->error, "quota"));
		}
	}
	writes(&writer, &packets);
	client_close(&client);
	client_close(&writer);
	/* the quota counts files of an earlier relay */
	relay_rig_stop(&rig);
	snprintf(command, sizeof(command), "head -c 70000 /dev/zero >%s/root/web1/other", rig.dir);
	assert_int_equal(system(command), 0);
	relay_rig_start(&rig);
	client_open(&client, rig.port, "web1");
	assert_int_equal(client_trace(&client, "shop", NULL), -EDQUOT);
	client_close(&client);
	relay_rig_end(&rig);
}

static uint64_t since_ms(uint64_t begin_ns)
{
	return (wmk_clock_monotonic() - begin_ns) / 1000000;
}

/* The relay receives at most a second at the rate and one full buffer in advance. */
static void host_above_its_rate_is_delayed(void **state)
{
	enum { CONTENT = 200000, RATE = 128 << 10, PACKETS = 2 };
	const uint64_t least_ms = (PACKETS * CONTENT - RATE - WMK_RELAY_BUFFER) * 1000ull / RATE;
	struct relay_rig rig;
	struct client client, writer;
	struct wmk_relay_status status;
	uint64_t packets = 0, begin;

	(void)state;
	relay_rig_begin(&rig, "max-rate web1 = 128k\n");
	open_writer(&writer, &rig, "web2");
	open_writer(&client, &rig, "web1");
	begin = wmk_clock_monotonic();
	for (unsigned i = 0; i < PACKETS; i++)
		client_packet(&client, 0, i, i * CONTENT, CONTENT);
	writes(&writer, &packets);
	assert_true(relay_rig_size(&rig, "web1/shop/ust/uid/1000/64-bit/app_0") < PACKETS * CONTENT ||
		    since_ms(begin) >= least_ms);
	assert_int_equal(client_acknowledged(&client), 0);
	assert_true(since_ms(begin) >= least_ms);
	assert_int_equal(client_request(&client, WMK_RELAY_STATUS, &none, &status), 0);
	for (uint32_t i = 0; i < status.hosts.n; i++) {
		const struct wmk_relay_status_host *is = (struct wmk_relay_status_host *)status.hosts.items + i;

		assert_int_equal(is->max_rate, strcmp(is->host, "web1") == 0 ? RATE : 0);
	}
	/* the relay ends at once, although it delays the connection */
	client_packet(&client, 0, PACKETS, PACKETS * CONTENT, CONTENT);
	client_close(&client);
	client_close(&writer);
	relay_rig_end(&rig);
}

static void connections_of_a_host_are_limited(void **state)
{
	struct relay_rig rig;
	struct client clients[3], client;
	uint64_t packets = 0;

	(void)state;
	relay_rig_begin(&rig, "max-connections = 2\nconnections = 3\n");
	open_writer(&clients[0], &rig, "web1");
	client_open(&clients[1], rig.port, "web1");
	assert_int_equal(open_trace(&clients[1], "shop", "kernel"), 0);
	client_open(&client, rig.port, "web1");
	ends_with(&client, -EDQUOT, "web1\" has 2 connections, its limit");
	/* the refused connection counts until its thread has ended */
	while (client_connect(&clients[2], rig.port) < 0)
		client_close(&clients[2]);
	assert_int_equal(client_connect(&client, rig.port), -EUSERS);
	assert_non_null(strstr(client.text, "the relay has 3 connections, its limit"));
	client_close(&client);
	writes(&clients[0], &packets);
	for (unsigned i = 0; i < 3; i++)
		client_close(&clients[i]);
	relay_rig_end(&rig);
}

static void half_open_connections_do_not_delay_other_senders(void **state)
{
	enum { MANY = 300 };
	static struct client many[MANY];
	struct relay_rig rig;
	struct client writer;
	uint64_t packets = 0;
	unsigned refused = 0;

	(void)state;
	relay_rig_begin(&rig, NULL);
	open_writer(&writer, &rig, "web1");
	for (unsigned i = 0; i < MANY; i++)
		refused += client_connect(&many[i], rig.port) < 0;
	assert_in_range(refused, MANY - 256, MANY - 200);
	writes(&writer, &packets);
	for (unsigned i = 0; i < MANY; i++)
		client_close(&many[i]);
	client_close(&writer);
	relay_rig_end(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(relay_refuses_messages_in_wrong_order),
		cmocka_unit_test(relay_refuses_frames_of_wrong_length),
		cmocka_unit_test(relay_refuses_invalid_host_session_and_path_names),
		cmocka_unit_test(links_in_the_relays_tree_are_refused),
		cmocka_unit_test(host_over_its_quota_is_refused),
		cmocka_unit_test(host_above_its_rate_is_delayed),
		cmocka_unit_test(connections_of_a_host_are_limited),
		cmocka_unit_test(half_open_connections_do_not_delay_other_senders),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
