/* SPDX-License-Identifier: MIT */
/* client.c - see client.h. */
#include "session/t/client.h"

#include "client.h"
#include "session/model/session_model.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"

/* ── trace output ────────────────────────────────────────────────────────────────────────────────────── */

static int trace_open(void *data, const struct wmk_trace_info *info, void **trace)
{
	struct place *place = data;

	assert_non_null(info->sub);
	place->traces_open++;
	*trace = place;
	return 0;
}

static int metadata(void *trace, const char *text, size_t len)
{
	struct place *place = trace;

	place->pieces += memmem(text, len, "event {", 7) != NULL;
	if (len < sizeof(place->metadata) - place->metadata_len) {
		memcpy(place->metadata + place->metadata_len, text, len);
		place->metadata_len += len;
	}
	return 0;
}

static int rings_open(void *trace, const struct wmk_rings_info *info, struct waymark_ring_set *set, void **rings)
{
	struct place *place = trace;

	assert_non_null(set);
	if (info->stream_id < 4) {
		place->rings_id[info->stream_id] = info->id;
		place->sets[info->stream_id] = set;
	}
	place->rings_open++;
	*rings = place;
	return 0;
}

static int nothing(void *rings, bool wait)
{
	(void)wait;
	(void)rings;
	return 0;
}

static int rings_counts(void *rings, struct wmk_counts *counts, struct wmk_counts *earlier)
{
	(void)rings;
	(void)earlier;
	counts->records += 1;
	return 0;
}

static void rings_wake(void *rings)
{
	((struct place *)rings)->pokes++;
}

static void rings_close(void *rings)
{
	((struct place *)rings)->rings_closed++;
}

static void trace_close(void *trace)
{
	((struct place *)trace)->traces_closed++;
}

static const struct wmk_consumer_port_ops consumer_ops = {
	.trace_open = trace_open,
	.metadata = metadata,
	.rings_open = rings_open,
	.rings_flush = nothing,
	.rings_stop = nothing,
	.rings_clear = nothing,
	.rings_counts = rings_counts,
	.rings_wake = rings_wake,
	.rings_close = rings_close,
	.trace_close = trace_close,
};

static int on_id(void *data, struct wmk_session *session, uint64_t rings_id, uint32_t id,
		 const struct wmk_event_class *event)
{
	struct place *place = data;

	(void)session;
	place->asked++;
	if (place->refuse && id >= place->refuse_from)
		return place->refuse;
	if (place->n_declared < DECLARED_MAX) {
		place->declared[place->n_declared].channel = rings_id != place->rings_id[0];
		place->declared[place->n_declared].id = id;
		place->declared[place->n_declared].fields = event->n_fields;
		snprintf(place->declared[place->n_declared].name, 64, "%.30s:%.30s", event->provider, event->name);
	}
	place->n_declared++;
	return 0;
}

/* ── the place ───────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_list place_rules(const struct wmk_ctl_rule *rules, uint32_t n)
{
	return (struct wmk_list){ (void *)(uintptr_t)rules, n };
}

/* The test's thread registers once, because a failed test leaves its place open. */
static bool registered;

void place_prepare(struct place *place)
{
	static const struct wmk_ctl_rule all = { .pattern = "*" };
	static const char *const vpid[] = { "vpid" };

	memset(place, 0, sizeof(*place));
	strcpy(place->rundir, "/tmp/waymark-test-XXXXXX");
	assert_non_null(mkdtemp(place->rundir));
	for (int i = 0; i < 2; i++)
		place->given[i] = (struct wmk_ctl_channel){
			.name = i ? "second" : "first",
			.settings.subbuf_size = 4096,
			.settings.n_subbufs = 2,
			.settings.field_limit = 256,
			.contexts = { (void *)(uintptr_t)vpid, 1 },
			.rules = place_rules(&all, 1),
		};
	place->n_channels = 1;
	place->clocks.of[WMK_CLOCK_MONOTONIC] = (struct wmk_clock){
		.kind = WMK_CLOCK_MONOTONIC, .freq = 1000000000, .name = "monotonic" };
	place->options =
		(struct wmk_shard_options){ .size = sizeof(place->options), .rundir = place->rundir, .keep = true };
	if (!registered)
		wmk_tracing_thread_begin();
	registered = true;
}

static int session_open(struct place *place)
{
	const struct wmk_session_options session = {
		.name = "test", .path = "/nowhere", .uid = getuid(), .gid = getgid(),
		.settings.no_statedump = !place->statedump,
	};
	int err = wmk_session_create(place->tracing, &session, &place->session);

	if (err == 0)
		err = wmk_session_lock(place->session);
	if (err < 0)
		return err;
	for (unsigned i = 0; err == 0 && i < place->n_channels; i++)
		err = wmk_session_channel_add(place->session, &place->given[i], &place->channels[i]);
	if (err == 0)
		err = wmk_session_start(place->session);
	wmk_session_unlock(place->session);
	return err;
}

int place_try(struct place *place)
{
	const struct wmk_tracing_options tracing = {
		.size = sizeof(tracing), .consumer = &consumer_ops, .consumer_data = place, .clocks = &place->clocks,
		.max_apps = place->max_apps, .on_id = on_id, .data = place
	};
	/* open after an earlier attempt, or closed except for this */
	wmk_session_put(place->session);
	wmk_tracing_close(place->tracing);
	place->session = NULL;
	place->tracing = NULL;
	int err = wmk_tracing_open(&tracing, &place->tracing);

	if (err == 0)
		wmk_reattach_init(place->tracing);
	if (err == 0)
		err = session_open(place);
	place->options.tracing = place->tracing;
	if (err == 0)
		err = wmk_shard_open(&place->options, &place->apps);
	return err;
}

void place_open(struct place *place)
{
	if (place_try(place) != 0)
		fail_msg("%s", wmk_error_get(0));
}

void place_close(struct place *place)
{
	char words[320];

	if (!place->refuse && place->session && wmk_session_trouble(place->session, words, sizeof(words)))
		print_message("the session says: %s\n", words);
	wmk_shard_close(place->apps);
	wmk_session_put(place->session);
	wmk_tracing_close(place->tracing);
	assert_int_equal(place->rings_open, place->rings_closed);
	assert_int_equal(place->traces_open, place->traces_closed);
	assert_int_equal(rmdir(place->rundir), 0);       /* the directory is empty */
}

void place_switch(struct place *place, bool on)
{
	assert_int_equal(wmk_session_lock(place->session), 0);
	wmk_session_channel_switch(place->channels[0], on);
	wmk_session_unlock(place->session);
	wmk_shard_update(place->apps, place->session);
}

void place_settle(struct place *place)
{
	uint64_t end = wmk_clock_monotonic() + 5000000000u;

	while (wmk_shard_run_once(place->apps, 20) > 0)
		if (wmk_clock_monotonic() > end)
			fail_msg("the applications' side does not come to rest");
}

int open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

void expect_fds(int n)
{
	const struct timespec pause = { 0, 1000000 };
	int now = open_fds();

	for (int ms = 0; now != n && ms < 10000; ms++, now = open_fds())
		nanosleep(&pause, NULL);
	assert_int_equal(now, n);
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
		.abi = WMK_WIRE_ABI, .word_bits = 64, .pid = (uint32_t)getpid(), .image = image
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
		assert_true(wmk_shard_run_once(place->apps, 10) >= 0);
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

void client_expect_enable(struct client *c, struct place *p, uint32_t channel, uint32_t event, uint32_t id)
{
	struct wmk_enable_msg enable;
	const void *filter;
	size_t filter_len;

	assert_int_equal(client_next(c, p), WMK_MSG_ENABLE);
	assert_int_equal(wmk_enable_decode(c->body, c->frame.length, &enable, &filter, &filter_len), 0);
	assert_int_equal(enable.channel, channel);
	assert_int_equal(enable.event, event);
	assert_int_equal(enable.id, id);
}

void client_expect_u32(struct client *c, struct place *p, int type, uint32_t expected)
{
	uint32_t value;

	assert_int_equal(client_next(c, p), type);
	assert_int_equal(wmk_u32_decode(c->body, c->frame.length, &value), 0);
	assert_int_equal(value, expected);
}
