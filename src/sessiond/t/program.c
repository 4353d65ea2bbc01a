/* SPDX-License-Identifier: MIT */
/* program.c - see program.h. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "program.h"
#include "wire/wire.h"

static void event_send(struct wmk_out *out, uint32_t number, const char *name)
{
	const struct wmk_event_class event = { .provider = "shop", .name = name, .kind = 0, .level = 6 };
	uint8_t bytes[1024];
	long n = wmk_event_encode(&event, bytes, sizeof(bytes), NULL);

	assert_true(n > 0);
	assert_int_equal(wmk_out_event(out, number, bytes, (size_t)n), 0);
}

static void handle(struct program *program, const struct wmk_frame *frame, const void *body, struct wmk_out *out)
{
	struct wmk_enable_msg enable;
	const void *filter;
	size_t filter_len;
	uint32_t sync;

	if (frame->type == WMK_MSG_ENABLE &&
	    wmk_enable_decode(body, frame->length, &enable, &filter, &filter_len) == 0) {
		if (enable.event < 2)
			program->ids[enable.event] = enable.id;
		__atomic_fetch_add(&program->enabled, 1, __ATOMIC_RELEASE);      /* pairs with program_enabled() */
	}
	if (frame->type == WMK_MSG_DISABLE)
		__atomic_fetch_add(&program->disabled, 1, __ATOMIC_RELAXED);
	if (frame->type == WMK_MSG_SYNC && wmk_u32_decode(body, frame->length, &sync) == 0)
		wmk_out_u32(out, WMK_MSG_SYNCED, sync);
}

/* Process messages until DONE (`until_done`) or the end of the connection. False: the connection has ended. */
static bool listen_to(struct program *program, struct wmk_in *in, bool until_done)
{
	struct wmk_out out = { 0 };
	struct wmk_frame frame;
	const void *body;
	bool done = false;
	int fd, got = 1;

	while (got == 1 && !(done && until_done)) {
		struct pollfd pollfd = { .fd = program->socket, .events = POLLIN };

		if (poll(&pollfd, 1, -1) != 1)
			continue;
		got = wmk_in_receive(in, program->socket);
		while (got == 1 && wmk_in_frame(in, &frame, &body, &fd) == 1) {
			if (fd >= 0)
				close(fd);
			done = done || frame.type == WMK_MSG_DONE;
			handle(program, &frame, body, &out);
		}
		wmk_out_send(&out, program->socket);
	}
	wmk_out_free(&out);
	return got == 1;
}

static void *program_run(void *data)
{
	struct wmk_in in = { 0 };

	listen_to(data, &in, false);
	wmk_in_free(&in);
	return NULL;
}

void program_open(struct program *program, struct wmk_shards *shards)
{
	struct wmk_hello hello = {
		.abi = WMK_WIRE_ABI, .word_bits = 64, .pid = (uint32_t)getpid(), .name = "shopkeeper"
	};
	struct wmk_out out = { 0 };
	struct wmk_in in = { 0 };
	int ends[2];

	memset(program, 0, sizeof(*program));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
	program->socket = ends[0];
	assert_int_equal(wmk_shards_take(shards, 0,
					 &(struct wmk_app_conn){ .socket = ends[1],
							      .cred = { getpid(), getuid(), getgid() } }),
			 0);
	assert_int_equal(wmk_out_hello(&out, &hello), 0);
	event_send(&out, 0, "sold");
	event_send(&out, 1, "stocked");
	assert_int_equal(wmk_out_u32(&out, WMK_MSG_EVENTS_END, 1), 0);
	assert_int_equal(wmk_out_send(&out, program->socket), 1);
	wmk_out_free(&out);
	assert_true(listen_to(program, &in, true));
	wmk_in_free(&in);
	assert_int_equal(pthread_create(&program->thread, NULL, program_run, program), 0);
}

void program_close(struct program *program)
{
	shutdown(program->socket, SHUT_RDWR);
	pthread_join(program->thread, NULL);
	close(program->socket);
}

int program_enabled(const struct program *program)
{
	return __atomic_load_n(&program->enabled, __ATOMIC_ACQUIRE);     /* pairs with handle() */
}

int program_disabled(const struct program *program)
{
	return __atomic_load_n(&program->disabled, __ATOMIC_RELAXED);
}
