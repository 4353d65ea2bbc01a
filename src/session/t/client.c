/* SPDX-License-Identifier: MIT */
/* client.c - see client.h. */
#include "client.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"

static int on_event_class(void *data, unsigned channel, uint32_t id, const struct wmk_event_class *event)
{
	struct place *place = data;

	place->asked++;
	if (place->refuse)
		return place->refuse;
	if (place->n_declared < DECLARED_MAX) {
		place->declared[place->n_declared].channel = channel;
		place->declared[place->n_declared].id = id;
		place->declared[place->n_declared].fields = event->n_fields;
		snprintf(place->declared[place->n_declared].name, 64, "%.30s:%.30s", event->provider, event->name);
	}
	place->n_declared++;
	return 0;
}

void place_prepare(struct place *place)
{
	const struct waymark_ring_options ring = { .size = sizeof(ring), .subbuf_size = 4096, .n_subbufs = 2 };

	memset(place, 0, sizeof(*place));
	strcpy(place->rundir, "/tmp/waymark-test-XXXXXX");
	assert_non_null(mkdtemp(place->rundir));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(waymark_ring_set_create(&ring, &place->sets[i]), 0);
		place->channels[i] = (struct wmk_apps_channel){
			.set = place->sets[i], .field_limit = 256, .n_contexts = 1, .contexts = { WMK_CTX_VPID }
		};
	}
	place->options = (struct wmk_apps_options){ .size = sizeof(place->options),
						    .rundir = place->rundir,
						    .channels = place->channels,
						    .n_channels = 1,
						    .ops = { .on_event_class = on_event_class, .data = place } };
}

void place_open(struct place *place)
{
	if (wmk_apps_open(&place->options, &place->apps) != 0)
		fail_msg("%s", wmk_error_get(0));
}

void place_close(struct place *place)
{
	wmk_apps_close(place->apps);
	for (int i = 0; i < 2; i++)
		waymark_ring_set_close(place->sets[i]);
	assert_int_equal(rmdir(place->rundir), 0);       /* nothing was left in it */
}

void place_settle(struct place *place)
{
	uint64_t end = wmk_clock_monotonic() + 5000000000u;

	while (wmk_apps_run_once(place->apps, 20) > 0)
		if (wmk_clock_monotonic() > end)
			fail_msg("the applications' side does not come to rest");
}

void client_connect(struct client *client, const struct place *place)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	memset(client, 0, sizeof(*client));
	client->fd = -1;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", place->rundir, WMK_APP_SOCKET);
	client->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(client->socket >= 0);
	assert_int_equal(connect(client->socket, (struct sockaddr *)&address, sizeof(address)), 0);
}

void client_close(struct client *client)
{
	if (client->socket >= 0)
		close(client->socket);
	if (client->fd >= 0)
		close(client->fd);
	client->socket = client->fd = -1;
	wmk_in_free(&client->in);
	wmk_out_free(&client->out);
}

void client_hello(struct client *client, const char *name)
{
	client_hello_image(client, name, 0);
}

void client_hello_image(struct client *client, const char *name, uint64_t image)
{
	struct wmk_hello hello = {
		.abi = WAYMARK_ABI_VERSION, .word_bits = 64, .pid = (uint32_t)getpid(), .image = image
	};

	snprintf(hello.name, sizeof(hello.name), "%s", name);
	assert_int_equal(wmk_out_hello(&client->out, &hello), 0);
	assert_int_equal(wmk_out_send(&client->out, client->socket), 1);
}

void client_event(struct client *client, uint32_t number, const char *provider, const char *name, unsigned n_fields)
{
	static const struct wmk_field fields[2] = {
		{ "a", NULL, { .kind = WMK_TYPE_INT, .width = 32, .base = 10 } },
		{ "b", NULL, { .kind = WMK_TYPE_STRING } },
	};
	const struct wmk_event_class event = {
		.provider = provider, .name = name, .n_fields = (uint16_t)n_fields, .fields = fields
	};
	unsigned char buf[1024];
	long len = wmk_event_encode(&event, buf, sizeof(buf), NULL);

	assert_true(len > 0);
	assert_int_equal(wmk_out_event(&client->out, number, buf, (size_t)len), 0);
	wmk_out_send(&client->out, client->socket);
}

void client_u32(struct client *client, enum wmk_msg type, uint32_t value)
{
	assert_int_equal(wmk_out_u32(&client->out, type, value), 0);
	wmk_out_send(&client->out, client->socket);
}

void client_raw(struct client *client, const void *data, size_t len)
{
	assert_int_equal(send(client->socket, data, len, MSG_NOSIGNAL), (ssize_t)len);
}

int client_next(struct client *client, struct place *place)
{
	uint64_t end = wmk_clock_monotonic() + 5000000000u;
	const void *body;
	int err;

	if (client->fd >= 0)
		close(client->fd);
	client->fd = -1;
	for (;;) {
		wmk_out_send(&client->out, client->socket);
		while ((err = wmk_in_frame(&client->in, &client->frame, &body, &client->fd)) == 0) {
			int came = wmk_in_receive(&client->in, client->socket);

			if (came == 0 || came == -ECONNRESET)
				return 0;
			if (came == -EAGAIN)
				break;
		}
		if (err == 1) {
			memcpy(client->body, body, client->frame.length < 4096 ? client->frame.length : 4096);
			return client->frame.type;
		}
		assert_int_equal(err, 0);
		assert_true(wmk_apps_run_once(place->apps, 10) >= 0);
		if (wmk_clock_monotonic() > end)
			fail_msg("no message came in 5 s");
	}
}

void client_register(struct client *client, struct place *place, const char *name, unsigned n)
{
	char event[16];

	client_connect(client, place);
	client_hello(client, name);
	assert_int_equal(client_next(client, place), WMK_MSG_WELCOME);
	for (unsigned i = 0; i < n; i++) {
		snprintf(event, sizeof(event), "e%u", i);
		client_event(client, i, "p", event, 1);
	}
	client_u32(client, WMK_MSG_EVENTS_END, 1);
	if (n)
		assert_int_equal(client_next(client, place), WMK_MSG_CHANNEL);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(client_next(client, place), WMK_MSG_ENABLE);
	assert_int_equal(client_next(client, place), WMK_MSG_DONE);
}
