/* SPDX-License-Identifier: MIT */
/*
 * test_user_traces.c - requests to the server: the quota of traces per user, and requests about outputs of which no
 * trace is open.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../store/t/testdir.h"
#include "consumer/server.h"
#include "store/store.h"
#include "wire/consumerd.h"
#include "wire/wire.h"

#define LIMIT_S 60
#define USER 60001u

static void *serve(void *server)
{
	return (void *)(intptr_t)wmk_consumer_server_run(server);
}

/* A session daemon's end of the connection. */
struct link {
	int socket;
	struct wmk_out out;
	struct wmk_consumerd_in in;
	char path[256];
	const void *reply;               /* the body of the latest answer, valid until the next one */
	size_t reply_len;
};

/* The answer to a request: 0 or -errno. Other messages are skipped. */
static int answer_to(struct link *link, uint32_t request)
{
	struct wmk_frame frame = { 0 };
	char words[256];
	const void *body;
	size_t len;
	struct pollfd ready = { .fd = link->socket, .events = POLLIN };
	int fd, err, got;

	do {
		while ((got = wmk_consumerd_in_next(&link->in, &frame, &body, &len, &fd)) == 0) {
			assert_int_equal(poll(&ready, 1, -1), 1);
			assert_int_equal(wmk_in_receive(&link->in.frames, link->socket), 1);
		}
		assert_int_equal(got, 1);
	} while (frame.request != request);
	link->reply = body;
	link->reply_len = len;
	if (frame.type != WMK_CONSUMERD_ERROR)
		return 0;
	assert_int_equal(wmk_error_msg_decode(body, (uint32_t)len, &err, words, sizeof(words)), 0);
	return -err;
}

static int ask(struct link *link, uint16_t type, const struct wmk_object *is, const void *object, uint32_t request)
{
	assert_int_equal(wmk_consumerd_send(&link->out, type, request, is, object, -1), 0);
	assert_int_equal(wmk_out_send(&link->out, link->socket), 1);
	return answer_to(link, request);
}

static int trace_add(struct link *link, uint32_t number, unsigned uid)
{
	char sub[16];
	const struct wmk_consumerd_trace trace = { .trace = number, .path = link->path, .sub = sub,
						   .uid = uid, .gid = uid };

	snprintf(sub, sizeof(sub), "%u", number);
	return ask(link, WMK_CONSUMERD_TRACE_ADD, &wmk_consumerd_trace_object, &trace, number);
}

static int trace_remove(struct link *link, uint32_t number)
{
	const struct wmk_consumerd_target target = { .trace = number };

	return ask(link, WMK_CONSUMERD_TRACE_REMOVE, &wmk_consumerd_target_object, &target, 100 + number);
}

static void number_of_open_traces_of_one_user_is_limited(void **state)
{
	struct wmk_consumer_server_options options = { .size = sizeof(options), .version = "test",
						       .max_user_traces = 2 };
	struct wmk_consumer_server *server;
	struct link link = { 0 };
	pthread_t thread;
	void *ended;
	int pair[2];

	(void)state;
	if (geteuid() != 0)
		skip();
	alarm(LIMIT_S);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	testdir_make(link.path);
	assert_int_equal(chmod(link.path, 0777), 0);
	link.socket = pair[0];
	options.connection = pair[1];
	assert_int_equal(wmk_consumer_server_open(&options, &server), 0);
	assert_int_equal(pthread_create(&thread, NULL, serve, server), 0);
	assert_int_equal(trace_add(&link, 1, USER), 0);
	assert_int_equal(trace_add(&link, 2, USER), 0);
	assert_int_equal(trace_add(&link, 3, USER), -ENOSPC);
	assert_int_equal(trace_add(&link, 4, USER + 1), 0);
	for (uint32_t number = 5; number < 9; number++)
		assert_int_equal(trace_add(&link, number, 0), 0);
	assert_int_equal(trace_remove(&link, 1), 0);
	assert_int_equal(trace_add(&link, 3, USER), 0);
	wmk_consumer_server_stop(server);
	pthread_join(thread, &ended);
	assert_null(ended);
	wmk_consumer_server_close(server);
	wmk_consumerd_in_free(&link.in);
	wmk_out_free(&link.out);
	close(pair[0]);
	testdir_remove(link.path);
}

/* ── outputs of which no trace is open ───────────────────────────────────────────────────────────────── */

static int output_request(struct link *link, uint16_t type, uint32_t number, const char *path, const char *process)
{
	const struct wmk_consumerd_output output = {
		.path = path, .uid = geteuid(), .gid = getegid(), .process = process,
	};

	return ask(link, type, &wmk_consumerd_output_object, &output, number);
}

static void make_process(const char *path, const char *name)
{
	char sub[300];
	struct wmk_store *store;

	snprintf(sub, sizeof(sub), "ust/pid/%s/64-bit", name);
	assert_int_equal(wmk_store_add(path, sub, &store), 0);
	wmk_store_close(store);
}

/* The names that LIST_LEFT returns, in order, with a space behind each. */
static void list_left(struct link *link, uint32_t number, char *names, size_t size)
{
	struct wmk_consumerd_left left;
	struct wmk_arena arena = { 0 };

	assert_int_equal(output_request(link, WMK_CONSUMERD_LIST_LEFT, number, link->path, ""), 0);
	assert_int_equal(wmk_object_decode(&wmk_consumerd_left_object, link->reply, link->reply_len, &left, &arena), 0);
	assert_false(left.more);
	names[0] = '\0';
	for (char digit = '0'; digit <= '9'; digit++)
		for (uint32_t i = 0; i < left.processes.n; i++) {
			const char *name = ((const char **)left.processes.items)[i];

			if (name[strlen(name) - 1] == digit)
				snprintf(names + strlen(names), size - strlen(names), "%s ", name);
		}
	wmk_arena_free(&arena);
}

static void output_requests_succeed_without_an_open_trace(void **state)
{
	struct wmk_consumer_server_options options = { .size = sizeof(options), .version = "test" };
	struct wmk_consumer_server *server;
	struct link link = { .socket = -1 };
	pthread_t thread;
	int pair[2];
	char path[300], names[200];
	void *ended;

	(void)state;
	alarm(LIMIT_S);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	testdir_make(link.path);
	link.socket = pair[0];
	options.connection = pair[1];
	assert_int_equal(wmk_consumer_server_open(&options, &server), 0);
	assert_int_equal(pthread_create(&thread, NULL, serve, server), 0);
	assert_int_equal(output_request(&link, WMK_CONSUMERD_OUTPUT_CHECK, 1, link.path, ""), 0);
	snprintf(path, sizeof(path), "%s/absent", link.path);
	assert_int_equal(output_request(&link, WMK_CONSUMERD_OUTPUT_CHECK, 2, path, ""), 0);
	assert_int_equal(output_request(&link, WMK_CONSUMERD_OUTPUT_CHECK, 3, "/dev/null", ""), -ENOTDIR);
	assert_int_equal(output_request(&link, WMK_CONSUMERD_OUTPUT_CHECK, 4, "relative", ""), -EINVAL);
	list_left(&link, 5, names, sizeof(names));
	assert_string_equal(names, "");
	make_process(link.path, "shop-1");
	make_process(link.path, "shop-2");
	assert_int_equal(output_request(&link, WMK_CONSUMERD_OUTPUT_CHECK, 6, link.path, ""), -ENOTEMPTY);
	list_left(&link, 7, names, sizeof(names));
	assert_string_equal(names, "shop-1 shop-2 ");
	assert_int_equal(output_request(&link, WMK_CONSUMERD_REMOVE_LEFT, 8, link.path, "shop-1"), 0);
	assert_int_equal(output_request(&link, WMK_CONSUMERD_REMOVE_LEFT, 9, link.path, "shop-1"), 0);
	assert_int_equal(output_request(&link, WMK_CONSUMERD_REMOVE_LEFT, 10, link.path, "../pid"), -EINVAL);
	assert_int_equal(output_request(&link, WMK_CONSUMERD_REMOVE_LEFT, 11, link.path, ""), -EINVAL);
	list_left(&link, 12, names, sizeof(names));
	assert_string_equal(names, "shop-2 ");
	wmk_consumer_server_stop(server);
	pthread_join(thread, &ended);
	assert_null(ended);
	wmk_consumer_server_close(server);
	wmk_consumerd_in_free(&link.in);
	wmk_out_free(&link.out);
	close(pair[0]);
	testdir_remove(link.path);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(number_of_open_traces_of_one_user_is_limited),
					    cmocka_unit_test(output_requests_succeed_without_an_open_trace) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
