/* SPDX-License-Identifier: MIT */
/* fake.c - see fake.h. */
#include "fake.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "ctl/json.h"

/* Only the main thread may fail a test; an error in another thread aborts. */
static void must(bool true_, const char *what)
{
	if (!true_) {
		fprintf(stderr, "the fake daemon: %s\n", what);
		abort();
	}
}

void fake_send_bytes(int sock, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	while (len) {
		ssize_t n = send(sock, at, len, MSG_NOSIGNAL);

		if (n < 0)
			return;              /* the client is gone */
		at += n;
		len -= (size_t)n;
	}
}

void fake_send(int sock, uint16_t type, uint32_t number, const struct wmk_object *is, const void *object)
{
	struct wmk_out out = { 0 };

	must(wmk_object_send(&out, type, number, is, object) == 0, "cannot encode a reply");
	fake_send_bytes(sock, out.buf, out.len);
	wmk_out_free(&out);
}

static void send_error(int sock, uint32_t number, int err, const char *words)
{
	struct wmk_out out = { 0 };

	must(wmk_out_error(&out, (enum wmk_msg)WMK_CTL_ERROR, number, err, words) == 0, "cannot encode an error");
	fake_send_bytes(sock, out.buf, out.len);
	wmk_out_free(&out);
}

static void list_sessions(struct fake *fake, int sock, const struct wmk_frame *frame,
			  const struct wmk_ctl_list_sessions *request)
{
	const struct wmk_ctl_session *s = fake->sessions.items;
	struct wmk_ctl_sessions reply = { .relays = fake->relays };

	if (!*request->session)
		reply.sessions = fake->sessions;
	for (uint32_t i = 0; i < fake->sessions.n; i++)
		if (strcmp(s[i].name, request->session) == 0)
			reply.sessions = (struct wmk_list){ (uint8_t *)fake->sessions.items + i * sizeof(*s), 1 };
	if (*request->session && reply.sessions.n == 0)
		send_error(sock, frame->request, ENOENT, "there is no such session");
	else
		fake_send(sock, WMK_CTL_REPLY, frame->request, &wmk_ctl_sessions_object, &reply);
}

bool fake_answer(struct fake *fake, int sock, const struct wmk_frame *frame, const void *request)
{
	const struct wmk_ctl_version_reply version = {
		.version = fake->version ? fake->version : "fake",
		.pid = 5,
		.uid = 6,
		.started = 7,
		.rundir = fake->dir,
	};
	const struct wmk_empty nothing = { 0 };

	if (frame->type == fake->refuse) {
		send_error(sock, frame->request, fake->refuse_errno, fake->refuse_words);
		return true;
	}
	switch (frame->type) {
	case WMK_CTL_VERSION:
		fake_send(sock, WMK_CTL_REPLY, frame->request, &wmk_ctl_version_reply_object, &version);
		return true;
	case WMK_CTL_LIST_SESSIONS:
		list_sessions(fake, sock, frame, request);
		return true;
	case WMK_CTL_LIST_APPS:
		fake_send(sock, WMK_CTL_REPLY, frame->request, &wmk_ctl_apps_object, &fake->apps);
		return true;
	case WMK_CTL_LIST_KERNEL:
		fake_send(sock, WMK_CTL_REPLY, frame->request, &wmk_ctl_kernel_object, &fake->kernel);
		return true;
	case WMK_CTL_SNAPSHOT:
		fake_send(sock, WMK_CTL_REPLY, frame->request, &wmk_ctl_snapshot_reply_object,
			  &(const struct wmk_ctl_snapshot_reply){ .path = "/p/n-1", .records = 3, .overwritten = 2 });
		return true;
	case WMK_CTL_SHUTDOWN:
		fake_send(sock, WMK_CTL_REPLY, frame->request, &wmk_empty_object, &nothing);
		return false;
	default:
		fake_send(sock, WMK_CTL_REPLY, frame->request, &wmk_ctl_outcome_object, &fake->outcome);
		return true;
	}
}

/* ── the log ─────────────────────────────────────────────────────────────────────────────────────────── */

static void log_request(struct fake *fake, const struct wmk_request_type *command, const void *request)
{
	char *json, *line;

	must(wmk_json_text(command->request, request, WMK_JSON_SPARSE, &json) == 0, "cannot write a request as JSON");
	char *to = json;
	for (const char *from = json; *from; from++)         /* remove line breaks and indentation */
		if (*from != '\n' && *from != '\t')
			*to++ = *from;
	*to = '\0';
	must(asprintf(&line, "%s %s", command->name, json) > 0, "no memory");
	free(json);
	pthread_mutex_lock(&fake->lock);
	must(fake->n_log < FAKE_LOG_MAX, "too many requests");
	fake->log[fake->n_log++] = line;
	pthread_mutex_unlock(&fake->lock);
}

char *fake_log(struct fake *fake, unsigned i)
{
	pthread_mutex_lock(&fake->lock);
	char *line = strdup(i < fake->n_log ? fake->log[i] : "");
	pthread_mutex_unlock(&fake->lock);
	return line;
}

void fake_log_clear(struct fake *fake)
{
	pthread_mutex_lock(&fake->lock);
	while (fake->n_log)
		free(fake->log[--fake->n_log]);
	pthread_mutex_unlock(&fake->lock);
}

/* ── the connection ──────────────────────────────────────────────────────────────────────────────────── */

static bool serve_frame(struct fake *fake, int sock, const struct wmk_frame *frame, const void *body)
{
	const struct wmk_request_type *command = wmk_ctl_request_find(frame->type);
	struct wmk_arena arena = { 0 };

	must(command != NULL, "a request of an unknown type");
	void *request = malloc(command->request->size);
	must(request && wmk_object_decode(command->request, body, frame->length, request, &arena) == 0,
	     "a request cannot be read");
	if (frame->type != WMK_CTL_VERSION)
		log_request(fake, command, request);
	bool more = (frame->type != WMK_CTL_VERSION && fake->handler ? fake->handler : fake_answer)(fake, sock, frame,
												    request);
	wmk_arena_free(&arena);
	free(request);
	return more;
}

void fake_serve(struct fake *fake, int sock)
{
	struct pollfd p[] = { { .fd = sock, .events = POLLIN }, { .fd = fake->stop[0], .events = POLLIN } };
	struct wmk_in in = { 0 };
	struct wmk_frame frame;
	const void *body;
	bool more = true;

	while (more && poll(p, fake->stop[0] >= 0 ? 2 : 1, -1) > 0 && !p[1].revents) {
		int fd, got = wmk_in_receive(&in, sock);

		if (got == 0 || (got < 0 && got != -EAGAIN))
			break;
		while (more && wmk_in_frame(&in, &frame, &body, &fd) == 1)
			more = serve_frame(fake, sock, &frame, body);
	}
	wmk_in_free(&in);
}

int fake_listen(const char *dir, uid_t uid)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/" WMK_CTL_SOCKET, dir);
	must(sock >= 0 && bind(sock, (const struct sockaddr *)&address, sizeof(address)) == 0, "cannot bind");
	must(uid == (uid_t)-1 || seteuid(uid) == 0, "cannot be another user");
	must(listen(sock, 5) == 0, "cannot listen");
	must(uid == (uid_t)-1 || seteuid(0) == 0, "cannot be root again");
	return sock;
}

static void *fake_run(void *data)
{
	struct fake *fake = data;
	struct pollfd p[] = { { .fd = fake->listener, .events = POLLIN }, { .fd = fake->stop[0], .events = POLLIN } };

	while (poll(p, 2, -1) > 0 && !p[1].revents) {
		int sock = accept(fake->listener, NULL, NULL);

		must(sock >= 0, "cannot accept");
		fake_serve(fake, sock);
		close(sock);
	}
	return NULL;
}

void fake_open(struct fake *fake, uid_t uid)
{
	strcpy(fake->dir, "/tmp/wmk-ctl-XXXXXX");
	assert_non_null(mkdtemp(fake->dir));
	assert_int_equal(pipe(fake->stop), 0);
	fake->listener = fake_listen(fake->dir, uid);
	pthread_mutex_init(&fake->lock, NULL);
	assert_int_equal(pthread_create(&fake->thread, NULL, fake_run, fake), 0);
}

void fake_close(struct fake *fake)
{
	char path[128];

	close(fake->stop[1]);
	pthread_join(fake->thread, NULL);
	close(fake->stop[0]);
	close(fake->listener);
	fake_log_clear(fake);
	pthread_mutex_destroy(&fake->lock);
	snprintf(path, sizeof(path), "%s/" WMK_CTL_SOCKET, fake->dir);
	unlink(path);
	rmdir(fake->dir);
}

/* ── rig of a test ───────────────────────────────────────────────────────────────────────────────────── */

void fake_rig_connect(struct fake_rig *rig, int timeout_ms)
{
	const struct waymark_ctl_connect_options options = {
		.size = sizeof(options),
		.rundir = rig->fake.dir,
		.start = WAYMARK_CTL_START_NEVER,
		.timeout_ms = timeout_ms,
	};

	waymark_ctl_close(rig->ctl);
	assert_int_equal(waymark_ctl_connect(&options, &rig->ctl), 0);
}

int fake_rig_open(void **state)
{
	struct fake_rig *rig = calloc(1, sizeof(*rig));

	*state = rig;
	fake_open(&rig->fake, (uid_t)-1);
	fake_rig_connect(rig, 0);
	return 0;
}

int fake_rig_close(void **state)
{
	struct fake_rig *rig = *state;

	waymark_ctl_close(rig->ctl);
	fake_close(&rig->fake);
	free(rig);
	return 0;
}

void fake_rig_says(const char *what)
{
	char text[1400];

	if (!strstr(waymark_ctl_error_text(text, sizeof(text)), what))
		fail_msg("'%s' does not say '%s'", text, what);
}
