/* SPDX-License-Identifier: MIT */
/* fake_sessiond.c - see fake_sessiond.h. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "tracer/t/fake_sessiond_state.h"

static void die(const char *what)
{
	perror(what);
	abort();
}

static uint32_t class_id(struct fake_sessiond *c, struct wmk_event_class *class)
{
	for (unsigned i = 0; i < c->n_classes; i++)
		if (wmk_event_same(c->classes[i], class)) {
			wmk_event_class_free(class);
			return i;
		}
	if (c->n_classes == 4096)
		abort();
	c->classes[c->n_classes] = class;
	return c->n_classes++;
}

static bool wanted(const struct fake_sessiond *c, const struct wmk_event_class *class)
{
	char name[600];

	snprintf(name, sizeof(name), "%s:%s", class->provider, class->name);
	return !c->options.prefix || !strncmp(name, c->options.prefix, strlen(c->options.prefix));
}

static void send_channel(struct fake_sessiond *c, struct app *app, uint32_t number)
{
	struct wmk_channel_msg msg = { .channel = number,
				       .field_limit = c->options.field_limit,
				       .n_contexts = c->options.n_contexts,
				       .flags = c->options.private_rings ? WMK_CHANNEL_PRIVATE : 0 };

	memcpy(msg.contexts, c->options.contexts, c->options.n_contexts);
	wmk_out_frame(&app->out, WMK_MSG_CHANNEL, 0, &msg, sizeof(msg), waymark_ring_set_fd(c->set));
}

static void send_enable(struct app *app, unsigned i, bool on)
{
	struct wmk_enable_msg enable = { CHANNEL, app->events[i].number, app->events[i].id };
	struct wmk_disable_msg disable = { CHANNEL, app->events[i].number };

	if (on)
		wmk_out_frame(&app->out, WMK_MSG_ENABLE, 0, &enable, sizeof(enable), -1);
	else
		wmk_out_frame(&app->out, WMK_MSG_DISABLE, 0, &disable, sizeof(disable), -1);
}

static void on_event(struct fake_sessiond *c, struct app *app, const void *body, size_t len)
{
	struct wmk_event_class *class;
	const void *encoded;
	size_t encoded_len;
	uint32_t number;

	if (wmk_event_msg_decode(body, len, &number, &encoded, &encoded_len) < 0 ||
	    wmk_event_decode(encoded, encoded_len, &class) < 0)
		abort();
	app->n_heard++;
	bool want = wanted(c, class);
	uint32_t id = class_id(c, class);

	if (!want)
		return;
	app->events = realloc(app->events, (app->n_events + 1) * sizeof(*app->events));
	app->events[app->n_events].number = number;
	app->events[app->n_events].id = id;
	app->events[app->n_events].there = true;
	app->n_events++;
	if (!c->channel_away)
		send_enable(app, app->n_events - 1, true);
}

/* RINGS must precede all events, and have a descriptor of this ring set. */
static void on_rings(struct fake_sessiond *c, struct app *app, const void *body, size_t len, int fd)
{
	struct wmk_rings_msg msg;
	struct stat theirs, ours;

	if (wmk_rings_decode(body, len, &msg) < 0 || fd < 0 || app->n_heard || fstat(fd, &theirs) != 0 ||
	    fstat(waymark_ring_set_fd(c->set), &ours) != 0 || theirs.st_ino != ours.st_ino ||
	    memcmp(msg.uuid, waymark_ring_set_options(c->set)->uuid, sizeof(msg.uuid)) != 0)
		abort();
	c->rings_back++;
}

static void handle_frame(struct fake_sessiond *c, struct app *app, const struct wmk_frame *frame, const void *body,
			 int fd)
{
	struct wmk_welcome welcome = { .abi = WMK_WIRE_ABI, .slot = (uint32_t)(app - c->apps), .generation = 1,
		.flags = c->options.persist ? WMK_WELCOME_PERSIST : 0 };
	uint32_t value = 0;

	if (c->options.silent || (c->options.first_only && app != c->apps))
		return;
	switch (frame->type) {
	case WMK_MSG_HELLO:
		wmk_out_frame(&app->out, WMK_MSG_WELCOME, 0, &welcome, sizeof(welcome), -1);
		if (!c->channel_away)
			send_channel(c, app, CHANNEL);
		break;
	case WMK_MSG_RINGS:
		on_rings(c, app, body, frame->length, fd);
		break;
	case WMK_MSG_EVENT:
		on_event(c, app, body, frame->length);
		break;
	case WMK_MSG_EVENT_GONE:
		wmk_u32_decode(body, frame->length, &value);
		for (unsigned i = 0; i < app->n_events; i++)
			if (app->events[i].number == value)
				app->events[i].there = false;
		break;
	case WMK_MSG_EVENTS_END:
		wmk_u32_decode(body, frame->length, &value);
		wmk_out_u32(&app->out, WMK_MSG_DONE, value);
		app->done = true;
		break;
	case WMK_MSG_SYNCED:
		wmk_u32_decode(body, frame->length, &app->synced);
		break;
	case WMK_MSG_ERROR: {
		char text[200] = "";

		wmk_error_msg_decode(body, frame->length, &c->last_error, text, sizeof(text));
		c->errors++;
		if (!c->options.wants_errors)
			fprintf(stderr, "error of an application: %s\n", text);
		break;
	}
	case WMK_MSG_UNRECORDED:
		wmk_unrecorded_decode(body, frame->length, &c->unrecorded);
		break;
	default:
		fprintf(stderr, "unexpected message %u\n", frame->type);
		abort();
	}
}

static void serve(struct fake_sessiond *c, struct app *app)
{
	struct wmk_frame frame;
	const void *body;
	int fd, got = wmk_in_receive(&app->in, app->sock);

	while (got > 0 && (got = wmk_in_frame(&app->in, &frame, &body, &fd)) == 1) {
		handle_frame(c, app, &frame, body, fd);
		if (fd >= 0)
			close(fd);
	}
	if (got < 0 && got != -EAGAIN)
		fprintf(stderr, "fake_sessiond: %s\n", strerror(-got));
}

static void app_close(struct app *app)
{
	close(app->sock);
	app->sock = -1;
	wmk_in_free(&app->in);
	wmk_out_free(&app->out);
}

static bool hung_up(int sock)
{
	char byte;
	ssize_t n = recv(sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	return n == 0 || (n < 0 && errno != EAGAIN);
}

static void *run(void *arg)
{
	struct fake_sessiond *c = arg;
	struct pollfd fds[APPS_MAX + 2];

	for (;;) {
		unsigned n = 2;
		struct app *who[APPS_MAX + 2];

		fds[0] = (struct pollfd){ .fd = c->stop[0], .events = POLLIN };
		fds[1] = (struct pollfd){ .fd = c->listener, .events = POLLIN };
		pthread_mutex_lock(&c->lock);
		for (unsigned i = 0; i < c->n_apps; i++) {
			struct app *app = &c->apps[i];

			if (app->sock < 0)
				continue;
			int sent = wmk_out_send(&app->out, app->sock);

			who[n] = app;
			fds[n++] = (struct pollfd){ .fd = app->sock,
						    .events = (short)(POLLIN | (sent == 0 ? POLLOUT : 0)) };
		}
		pthread_mutex_unlock(&c->lock);
		waymark_ring_set_back(c->set);
		poll(fds, n, 20);
		if (fds[0].revents)
			return NULL;
		pthread_mutex_lock(&c->lock);
		for (unsigned i = 2; i < n; i++)
			if (fds[i].revents) {
				if (hung_up(who[i]->sock))
					app_close(who[i]);
				else
					serve(c, who[i]);
			}
		if (fds[1].revents && c->n_apps < APPS_MAX) {
			int sock = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC);

			if (sock >= 0)
				c->apps[c->n_apps++] = (struct app){ .sock = sock };
		}
		pthread_mutex_unlock(&c->lock);
	}
}

struct fake_sessiond *fake_sessiond_start(const char *dir, const struct fake_sessiond_options *options)
{
	struct fake_sessiond *c = calloc(1, sizeof(*c));
	struct waymark_ring_options ring = { .size = sizeof(ring),
					     .subbuf_size = options->subbuf_size ? options->subbuf_size : 1 << 20,
					     .n_subbufs = options->n_subbufs ? options->n_subbufs : 8,
					     .header_room = 96,
					     .clock = WAYMARK_CLOCK_COUNTER,
					     .prefault = UINT64_MAX };

	c->options = *options;
	c->dir = -1;
	if (!c->options.field_limit)
		c->options.field_limit = 4096;
	pthread_mutex_init(&c->lock, NULL);
	memcpy(ring.uuid, &c, sizeof(c));
	int err = waymark_ring_set_create(&ring, &c->set);

	if (err < 0) {
		fprintf(stderr, "ring set: %s\n", strerror(-err));
		abort();
	}
	c->addr.sun_family = AF_UNIX;
	snprintf(c->addr.sun_path, sizeof(c->addr.sun_path), "%s/" WMK_APP_SOCKET, dir);
	if (options->notifies) {
		c->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (c->dir < 0 || wmk_notify_create(c->dir) < 0 || wmk_hints_create(&c->hints, c->dir) < 0)
			die("notify FIFO");
		wmk_hints_set_daemon(&c->hints, getpid(), 0);
	}
	fake_sessiond_restart(c);
	return c;
}

void fake_sessiond_restart(struct fake_sessiond *c)
{
	unlink(c->addr.sun_path);
	c->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->listener < 0 || bind(c->listener, (struct sockaddr *)&c->addr, sizeof(c->addr)) != 0 ||
	    listen(c->listener, 64) != 0 || chmod(c->addr.sun_path, 0777) != 0 || pipe2(c->stop, 02000000) != 0)
		die("fake_sessiond");
	if (c->dir >= 0)
		wmk_notify_send(c->dir);
	pthread_create(&c->thread, NULL, run, c);
}

void fake_sessiond_crash(struct fake_sessiond *c)
{
	if (write(c->stop[1], "", 1) != 1)
		die("stop");
	pthread_join(c->thread, NULL);
	for (unsigned i = 0; i < c->n_apps; i++)
		if (c->apps[i].sock >= 0)
			app_close(&c->apps[i]);
	close(c->listener);
	close(c->stop[0]);
	close(c->stop[1]);
	c->listener = -1;
}

void fake_sessiond_stop(struct fake_sessiond *c)
{
	if (c->listener >= 0)
		fake_sessiond_crash(c);
	unlink(c->addr.sun_path);
	if (c->dir >= 0) {
		wmk_hints_remove(&c->hints, c->dir);
		unlinkat(c->dir, WMK_NOTIFY_FIFO, 0);
		close(c->dir);
		c->dir = -1;
	}
}

void fake_sessiond_free(struct fake_sessiond *c)
{
	fake_sessiond_stop(c);
	for (uint32_t i = 0; c->readers && i < waymark_ring_set_rings(c->set); i++)
		waymark_ring_reader_close(c->readers[i]);
	free(c->readers);
	waymark_ring_set_close(c->set);
	for (unsigned i = 0; i < c->n_classes; i++)
		wmk_event_class_free(c->classes[i]);
	for (unsigned i = 0; i < c->n_apps; i++)
		free(c->apps[i].events);
	free(c);
}

static unsigned count(struct fake_sessiond *c, bool (*is)(const struct app *, uint32_t), uint32_t value)
{
	unsigned n = 0;

	pthread_mutex_lock(&c->lock);
	for (unsigned i = 0; i < c->n_apps; i++)
		n += is(&c->apps[i], value);
	pthread_mutex_unlock(&c->lock);
	return n;
}

static bool is_any(const struct app *app, uint32_t value)
{
	(void)app;
	(void)value;
	return true;
}

static bool is_connected(const struct app *app, uint32_t value)
{
	(void)value;
	return app->sock >= 0;
}

static bool is_done(const struct app *app, uint32_t value)
{
	(void)value;
	return app->done;
}

static bool is_behind(const struct app *app, uint32_t value)
{
	return app->sock >= 0 && app->synced != value;
}

unsigned fake_sessiond_rings_received(struct fake_sessiond *c)
{
	pthread_mutex_lock(&c->lock);
	unsigned n = c->rings_back;

	pthread_mutex_unlock(&c->lock);
	return n;
}

unsigned fake_sessiond_errors(struct fake_sessiond *c, int *last)
{
	pthread_mutex_lock(&c->lock);
	unsigned n = c->errors;

	if (last)
		*last = c->last_error;
	pthread_mutex_unlock(&c->lock);
	return n;
}

void fake_sessiond_forget_channel(struct fake_sessiond *c)
{
	c->channel_away = true;
}

void fake_sessiond_statedump(struct fake_sessiond *c)
{
	pthread_mutex_lock(&c->lock);
	for (unsigned i = 0; i < c->n_apps; i++)
		if (c->apps[i].sock >= 0)
			wmk_out_frame(&c->apps[i].out, WMK_MSG_STATEDUMP, 0, NULL, 0, -1);
	pthread_mutex_unlock(&c->lock);
}

unsigned fake_sessiond_apps(struct fake_sessiond *c)
{
	return count(c, is_any, 0);
}

unsigned fake_sessiond_connected(struct fake_sessiond *c)
{
	return count(c, is_connected, 0);
}

static void moment(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

bool fake_sessiond_wait_done(struct fake_sessiond *c, unsigned n)
{
	for (int i = 0; i < 10000 && count(c, is_done, 0) < n; i++)
		moment();
	return count(c, is_done, 0) >= n;
}

bool fake_sessiond_sync(struct fake_sessiond *c)
{
	uint32_t sync;

	pthread_mutex_lock(&c->lock);
	sync = ++c->sync;
	for (unsigned i = 0; i < c->n_apps; i++)
		if (c->apps[i].sock >= 0) {
			wmk_out_u32(&c->apps[i].out, WMK_MSG_SYNC, sync);
			wmk_out_send(&c->apps[i].out, c->apps[i].sock);
		}
	pthread_mutex_unlock(&c->lock);
	for (int i = 0; i < 10000 && count(c, is_behind, sync); i++)
		moment();
	return count(c, is_behind, sync) == 0;
}

static void for_all_events(struct fake_sessiond *c, bool on)
{
	pthread_mutex_lock(&c->lock);
	for (unsigned i = 0; i < c->n_apps; i++)
		for (unsigned k = 0; c->apps[i].sock >= 0 && k < c->apps[i].n_events; k++)
			if (c->apps[i].events[k].there)
				send_enable(&c->apps[i], k, on);
	pthread_mutex_unlock(&c->lock);
}

bool fake_sessiond_disable_all(struct fake_sessiond *c)
{
	for_all_events(c, false);
	return fake_sessiond_sync(c);
}

bool fake_sessiond_enable_all(struct fake_sessiond *c)
{
	for_all_events(c, true);
	return fake_sessiond_sync(c);
}

bool fake_sessiond_channel_remove(struct fake_sessiond *c)
{
	pthread_mutex_lock(&c->lock);
	c->channel_away = true;
	for (unsigned i = 0; i < c->n_apps; i++)
		if (c->apps[i].sock >= 0)
			wmk_out_u32(&c->apps[i].out, WMK_MSG_CHANNEL_GONE, CHANNEL);
	pthread_mutex_unlock(&c->lock);
	return fake_sessiond_sync(c);
}

bool fake_sessiond_channel_add(struct fake_sessiond *c)
{
	pthread_mutex_lock(&c->lock);
	c->channel_away = false;
	for (unsigned i = 0; i < c->n_apps; i++)
		if (c->apps[i].sock >= 0)
			send_channel(c, &c->apps[i], CHANNEL);
	pthread_mutex_unlock(&c->lock);
	return fake_sessiond_enable_all(c);
}

bool fake_sessiond_move(struct fake_sessiond *c, unsigned times)
{
	pthread_mutex_lock(&c->lock);
	for (unsigned i = 0; i < c->n_apps; i++) {
		struct app *app = &c->apps[i];

		if (app->sock < 0)
			continue;
		if (!app->has_too)
			send_channel(c, app, CHANNEL_TOO);
		app->has_too = true;
		for (unsigned n = 0; n < 2 * times; n++)
			for (unsigned k = 0; k < app->n_events; k++) {
				const struct wmk_move_msg move = { n % 2 ? CHANNEL : CHANNEL_TOO, app->events[k].number,
								   app->events[k].id, n % 2 ? CHANNEL_TOO : CHANNEL };

				wmk_out_frame(&app->out, WMK_MSG_MOVE, 0, &move, sizeof(move), -1);
			}
	}
	pthread_mutex_unlock(&c->lock);
	return fake_sessiond_sync(c);
}

struct waymark_ring_set *fake_sessiond_set(struct fake_sessiond *c)
{
	return c->set;
}
