/* SPDX-License-Identifier: MIT */
/*
 * fuzz_reply.c - any bytes as replies of a session daemon. The first byte selects the first request; the rest is all
 * that the daemon sends before it closes the connection. Requests are sent until the connection is closed. Each returns
 * a result that can be read completely, or fails with a message; none waits forever.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "ctl/connection.h"
#include "wire/t/peer.h"

#define EARLIER 1u                   /* number of an earlier request, to which a late reply may arrive */
#define HANGS_S 60

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t seen;

/* ── read all parts of a result ──────────────────────────────────────────────────────────────────────── */

static size_t see_texts(const char *const *texts, unsigned n)
{
	size_t sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += strlen(texts[i]);
	return sum;
}

static size_t see_numbers(const uint64_t *numbers, unsigned n)
{
	size_t sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += numbers[i];
	return sum;
}

static size_t see_channel(const struct waymark_ctl_channel_info *c)
{
	size_t sum = strlen(c->name) + strlen(c->exec) + strlen(c->calls_why) + see_texts(c->contexts, c->n_contexts) +
		     c->counts->lost;

	for (unsigned i = 0; i < c->n_rules; i++) {
		const struct waymark_ctl_rule_info *r = c->rules[i];

		sum += strlen(r->pattern) + strlen(r->filter) + strlen(r->place) +
		       see_texts(r->exclusions, r->n_exclusions);
	}
	return sum;
}

static size_t see_session(const struct waymark_ctl_session_info *s)
{
	const struct waymark_ctl_trackers *t = s->trackers;
	size_t sum = strlen(s->name) + strlen(s->path) + strlen(s->shm_path) + s->counts->lost +
		     strlen(s->description);

	for (unsigned i = 0; i < s->n_channels; i++)
		sum += see_channel(s->channels[i]);
	return sum + see_numbers(t->pids, t->n_pids) + see_numbers(t->uids, t->n_uids) +
	       see_numbers(t->gids, t->n_gids) + see_numbers(t->kernel_pids, t->n_kernel_pids);
}

static size_t see_events(const struct waymark_ctl_event_info *const *events, unsigned n)
{
	size_t sum = 0;

	for (unsigned i = 0; i < n; i++) {
		sum += strlen(events[i]->provider) + strlen(events[i]->name) + strlen(events[i]->file);
		for (unsigned k = 0; k < events[i]->n_fields; k++) {
			const struct waymark_ctl_field_info *f = events[i]->fields[k];

			sum += strlen(f->name) + strlen(f->type) + strlen(f->unit);
		}
	}
	return sum;
}

static size_t see_apps(const struct waymark_ctl_app_info *const *apps, unsigned n)
{
	size_t sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += strlen(apps[i]->name) + strlen(apps[i]->exe) + strlen(apps[i]->why) +
		       see_events(apps[i]->events, apps[i]->n_events);
	return sum;
}

static size_t see_all(const struct waymark_ctl_result *result)
{
	const struct waymark_ctl_version_info *version = waymark_ctl_result_version(result);
	const struct waymark_ctl_session_info *const *sessions;
	const struct waymark_ctl_relay_info *const *relays;
	const struct waymark_ctl_event_info *const *events;
	const struct waymark_ctl_app_info *const *apps;
	const char *clock = waymark_ctl_result_kernel_clock(result), *const *texts;
	size_t sum = (version ? strlen(version->version) + strlen(version->rundir) : 0) + (clock ? strlen(clock) : 0);
	unsigned n = waymark_ctl_result_sessions(result, &sessions);

	for (unsigned i = 0; i < n; i++)
		sum += see_session(sessions[i]);
	n = waymark_ctl_result_relays(result, &relays);
	for (unsigned i = 0; i < n; i++)
		sum += strlen(relays[i]->session) + strlen(relays[i]->path) + strlen(relays[i]->url) +
		       strlen(relays[i]->error);
	n = waymark_ctl_result_apps(result, &apps);
	sum += see_apps(apps, n);
	n = waymark_ctl_result_unanswered(result, &apps);
	sum += see_apps(apps, n);
	n = waymark_ctl_result_events(result, &events);
	sum += see_events(events, n);
	n = waymark_ctl_result_lacks(result, &texts);
	sum += see_texts(texts, n);
	n = waymark_ctl_result_warnings(result, &texts);
	return sum + see_texts(texts, n);
}

/* ── requests ────────────────────────────────────────────────────────────────────────────────────────── */

/* True if the daemon reports EPROTO itself, as opposed to a broken connection. */
static bool says_eproto(const uint8_t *data, size_t size)
{
	const int32_t number = EPROTO;
	struct wmk_frame frame;

	if (size < sizeof(frame) + sizeof(number))
		return false;
	memcpy(&frame, data, sizeof(frame));
	return frame.type == WMK_CTL_ERROR && memcmp(data + sizeof(frame), &number, sizeof(number)) == 0;
}

static void ask(struct waymark_ctl *ctl, const struct wmk_request_type *command, bool may_say_eproto)
{
	void *request = calloc(1, command->request->size);
	struct waymark_ctl_result *result;
	char *json;
	int err = wmk_ctl_request(ctl, command->type, request, &result);

	free(request);
	if (err == 0) {
		if (!result || waymark_ctl_result_json(result, &json) != 0)
			abort();
		seen = see_all(result);
		free(json);
		waymark_ctl_result_free(result);
		return;
	}
	if (result || (err == -EPROTO && ctl->socket >= 0 && !may_say_eproto))
		abort();
	for (unsigned i = 0; i == 0 || wmk_error_get(i); i++)
		if (!wmk_error_get(i) || !*wmk_error_get(i))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct waymark_ctl *ctl = calloc(1, sizeof(*ctl));
	int pair[2], fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	bool may_say_eproto = false;
	char asked[4096];

	if (!ctl || fd < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
		abort();
	ctl->socket = pair[0];
	ctl->timeout_ms = -1;
	ctl->request = EARLIER;
	alarm(HANGS_S);
	for (size_t at = 1; at < size; at += peer_send(pair[1], data + at, size - at, &fd, 1))
		may_say_eproto |= says_eproto(data + at, size - at);
	shutdown(pair[1], SHUT_WR);
	for (unsigned i = size ? data[0] : 0; ctl->socket >= 0; i++) {
		ask(ctl, &wmk_ctl_requests[i % wmk_ctl_n_requests], may_say_eproto);
		while (recv(pair[1], asked, sizeof(asked), 0) > 0)
			;
	}
	wmk_in_free(&ctl->in);
	wmk_out_free(&ctl->out);
	free(ctl);
	close(pair[1]);
	close(fd);
	peer_count_descriptors();
	return 0;
}
