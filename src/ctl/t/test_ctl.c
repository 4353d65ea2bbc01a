/* SPDX-License-Identifier: MIT */
/* test_ctl.c - the control library against a fake daemon: what it asks, what it makes of answers, and of a daemon that misbehaves. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include <waymark/ctl.h>

#include "fake.h"

struct rig {
	struct fake fake;
	struct waymark_ctl *ctl;
};

static void connect_to(struct rig *rig, int timeout_ms)
{
	const struct waymark_ctl_connect_options options = {
		.size = sizeof(options), .rundir = rig->fake.dir, .start = WAYMARK_CTL_START_NEVER, .timeout_ms = timeout_ms,
	};

	waymark_ctl_close(rig->ctl);
	assert_int_equal(waymark_ctl_connect(&options, &rig->ctl), 0);
}

static int setup(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	*state = rig;
	fake_open(&rig->fake, (uid_t)-1);
	connect_to(rig, 0);
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;

	waymark_ctl_close(rig->ctl);
	fake_close(&rig->fake);
	free(rig);
	return 0;
}

static void assert_says(const char *what)
{
	char text[1400];

	if (!strstr(waymark_ctl_error_text(text, sizeof(text)), what))
		fail_msg("'%s' does not say '%s'", text, what);
}

/* ── what is asked ───────────────────────────────────────────────────────────────────────────────────── */

#define ASKS(call, line) do { \
	fake_log_clear(&rig->fake); \
	assert_int_equal(call, 0); \
	char *asked = fake_log(&rig->fake, 0); \
	assert_string_equal(asked, line); \
	free(asked); \
} while (0)

static void test_asks_sessions(void **state)
{
	struct rig *rig = *state;
	struct waymark_ctl *ctl = rig->ctl;
	const uint64_t ids[] = { 1, 18446744073709551615u };
	struct wmk_ctl_session session = { .name = "s" };
	struct waymark_ctl_create_options create = { .size = sizeof(create), .home = "/h" };
	const struct waymark_ctl_track_options track = {
		.size = sizeof(track), .session = "s", .kind = WAYMARK_CTL_TRACK_UID, .ids = ids, .n_ids = 2,
	};
	const struct waymark_ctl_track_options all = { .size = sizeof(all), .session = "s", .all = true };

	rig->fake.sessions = (struct wmk_list){ &session, 1 };
	ASKS(waymark_ctl_create(ctl, &create, NULL), "create {\"home\": \"/h\"}");
	create.name = "n";
	create.path = "/p";
	create.home = NULL;
	setenv("HOME", "/home/of/test", 1);
	ASKS(waymark_ctl_create(ctl, &create, NULL), "create {\"name\": \"n\",\"path\": \"/p\",\"home\": \"/home/of/test\"}");
	ASKS(waymark_ctl_destroy(ctl, "s", NULL), "destroy {\"session\": \"s\"}");
	ASKS(waymark_ctl_destroy(ctl, NULL, NULL), "destroy {}");
	ASKS(waymark_ctl_start(ctl, "s", NULL), "start {\"session\": \"s\"}");
	ASKS(waymark_ctl_stop(ctl, "s", NULL), "stop {\"session\": \"s\"}");
	ASKS(waymark_ctl_clear(ctl, "s", NULL), "clear {\"session\": \"s\"}");
	ASKS(waymark_ctl_list_sessions(ctl, NULL, NULL), "list-sessions {}");
	ASKS(waymark_ctl_list_sessions(ctl, "s", NULL), "list-sessions {\"session\": \"s\"}");
	ASKS(waymark_ctl_regenerate(ctl, "s", WAYMARK_CTL_STATEDUMP, NULL), "regenerate {\"session\": \"s\",\"what\": \"statedump\"}");
	ASKS(waymark_ctl_track(ctl, &track, NULL),
	     "track {\"session\": \"s\",\"kind\": \"uid\",\"ids\": [1, 18446744073709551615]}");
	ASKS(waymark_ctl_untrack(ctl, &all, NULL), "untrack {\"session\": \"s\",\"all\": true}");
	assert_int_equal(waymark_ctl_list_sessions(ctl, "t", NULL), -ENOENT);
	assert_says("the command 'list-sessions' failed: there is no such session");
	assert_int_equal(waymark_ctl_regenerate(ctl, "s", 2, NULL), -EINVAL);
	assert_says("what: number of a word: 2");
}

static void test_asks_events(void **state)
{
	struct rig *rig = *state;
	struct waymark_ctl *ctl = rig->ctl;
	const char *const excluded[] = { "a:b", "a:c" };
	const char *const contexts[] = { "vpid", "procname" };
	const struct waymark_ctl_domain domain = { .size = sizeof(domain), .kind = WAYMARK_CTL_PID, .pid = 9, .follow = true };
	const struct waymark_ctl_domain exec = { .size = sizeof(exec), .kind = WAYMARK_CTL_EXEC, .exec = "shop" };
	const struct waymark_ctl_rule rules[] = {
		{ .size = sizeof(rules[0]), .pattern = "a:*", .exclusions = excluded, .n_exclusions = 2 },
		{ .size = sizeof(rules[0]), .pattern = "b", .level_op = WAYMARK_CTL_BETWEEN, .level = 9, .level_to = 3 },
	};
	const struct waymark_ctl_channel_options channel = {
		.size = sizeof(channel), .session = "s", .domain = &domain, .mode = WAYMARK_CTL_OVERWRITE, .buffers = WAYMARK_CTL_PER_PID,
		.subbuf_size = 4096, .n_subbufs = 4, .blocking_us = -1, .field_limit = 100, .tracefile_size = 5, .tracefile_count = 6,
		.contexts = contexts, .n_contexts = 2,
	};
	struct waymark_ctl_events_options events = {
		.size = sizeof(events), .session = "s", .channel = "c", .rules = rules, .n_rules = 2, .patterns = excluded, .n_patterns = 1,
		.contexts = contexts, .n_contexts = 1,
	};
	const struct waymark_ctl_apps_options apps = { .size = sizeof(apps), .events = true, .pattern = "a:*", .pid = 3 };

	ASKS(waymark_ctl_enable_channel(ctl, &channel, NULL),
	     "enable-channel {\"session\": \"s\",\"channel\": {\"name\": \"channel0\","
	     "\"domain\": {\"kind\": \"pid\",\"follow\": true,\"pid\": 9},\"mode\": \"overwrite\",\"buffers\": \"pid\","
	     "\"subbuf_size\": 4096,\"n_subbufs\": 4,\"blocking_us\": -1,\"field_limit\": 100,\"tracefile_size\": 5,"
	     "\"tracefile_count\": 6,\"contexts\": [\"vpid\", \"procname\"],\"enabled\": true}}");
	ASKS(waymark_ctl_enable_event(ctl, &events, NULL),
	     "enable-event {\"session\": \"s\",\"channel\": \"c\",\"rules\": [{\"pattern\": \"a:*\",\"exclusions\": [\"a:b\", \"a:c\"],"
	     "\"enabled\": true},{\"pattern\": \"b\",\"level_op\": \"between\",\"level\": \"err\",\"level_to\": \"debug_process\","
	     "\"enabled\": true}]}");
	ASKS(waymark_ctl_disable_event(ctl, &events, NULL),
	     "disable-event {\"session\": \"s\",\"channel\": \"c\",\"patterns\": [\"a:b\"]}");
	ASKS(waymark_ctl_add_context(ctl, &events, NULL),
	     "add-context {\"session\": \"s\",\"channel\": \"c\",\"contexts\": [\"vpid\"]}");
	events.domain = &exec;
	ASKS(waymark_ctl_disable_channel(ctl, &events, NULL),
	     "disable-channel {\"session\": \"s\",\"channel\": \"c\",\"domain\": {\"kind\": \"exec\",\"exec\": \"shop\"}}");
	ASKS(waymark_ctl_list_apps(ctl, NULL, NULL), "list-apps {}");
	ASKS(waymark_ctl_list_apps(ctl, &apps, NULL), "list-apps {\"events\": true,\"pattern\": \"a:*\",\"pid\": 3}");
	assert_string_equal(waymark_ctl_level_name(14), "debug");
	assert_null(waymark_ctl_level_name(WAYMARK_CTL_LEVELS));
}

/* Options of an older caller, of a newer one, and of none. */
static void test_options(void **state)
{
	struct rig *rig = *state;
	struct {
		struct waymark_ctl_create_options known;
		uint64_t later;
	} create = { .known = { .size = sizeof(create), .home = "/h", .name = "n" } };

	ASKS(waymark_ctl_create(rig->ctl, &create.known, NULL), "create {\"name\": \"n\",\"home\": \"/h\"}");
	create.later = 1;
	assert_int_equal(waymark_ctl_create(rig->ctl, &create.known, NULL), -EINVAL);
	assert_says("create: options are set that this version of the library does not know");
	create.known.size = offsetof(struct waymark_ctl_create_options, path);
	create.known.path = "not looked at";
	setenv("HOME", "/hh", 1);
	ASKS(waymark_ctl_create(rig->ctl, &create.known, NULL), "create {\"name\": \"n\",\"home\": \"/hh\"}");
	create.known.size = 0;
	assert_int_equal(waymark_ctl_create(rig->ctl, &create.known, NULL), -EINVAL);
	assert_says("do not begin with their size");
	assert_int_equal(waymark_ctl_create(rig->ctl, NULL, NULL), -EINVAL);
	struct {
		struct waymark_ctl_rule known;
		uint64_t later;
	} rules[2] = { { .known = { .size = sizeof(rules[0]), .pattern = "a" } }, { .known = { .size = sizeof(rules[0]), .pattern = "b" } } };
	const struct waymark_ctl_events_options events = { .size = sizeof(events), .session = "s", .rules = &rules[0].known, .n_rules = 2 };
	ASKS(waymark_ctl_enable_event(rig->ctl, &events, NULL),
	     "enable-event {\"session\": \"s\",\"rules\": [{\"pattern\": \"a\",\"enabled\": true},{\"pattern\": \"b\",\"enabled\": true}]}");
	rules[1].known.size = sizeof(rules[0].known);
	assert_int_equal(waymark_ctl_enable_event(rig->ctl, &events, NULL), -EINVAL);
	assert_says("the rules have different sizes");
}

/* ── what is answered ────────────────────────────────────────────────────────────────────────────────── */

static void test_outcome(void **state)
{
	struct rig *rig = *state;
	const char *warnings[] = { "one", "two" }, *contexts[] = { "vpid" }, *excluded[] = { "x" };
	uint64_t pids[] = { 4, 5 };
	struct wmk_ctl_rule rule = { .pattern = "p", .exclusions = { excluded, 1 }, .level_op = 2, .level = 6, .level_to = 7, .enabled = true,
				     .matched = 8 };
	struct wmk_ctl_channel channel = {
		.name = "c", .domain = { .kind = WMK_DOMAIN_EXEC, .follow = true, .pid = 3, .exec = "e" }, .mode = 1, .buffers = 1,
		.subbuf_size = 1, .n_subbufs = 2, .blocking_us = -3, .field_limit = 4, .tracefile_size = 5, .tracefile_count = 6,
		.contexts = { contexts, 1 }, .rules = { &rule, 1 }, .enabled = true, .counts = { .records = 1 },
	};
	struct wmk_ctl_session session = {
		.name = "s", .path = "/p", .uid = 1, .gid = 2, .created = 3, .active = true, .started = true, .channels = { &channel, 1 },
		.trackers = { .pid = true, .gid = true, .pids = { pids, 2 } },
		.counts = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 },
	};
	struct wmk_ctl_app app = { .pid = 77, .name = "slow", .why = "it sleeps" };
	const struct waymark_ctl_session_info *const *sessions;
	const struct waymark_ctl_app_info *const *apps;
	const char *const *texts;
	struct waymark_ctl_result *result;

	rig->fake.outcome = (struct wmk_ctl_outcome){ { &app, 1 }, { warnings, 2 }, { &session, 1 } };
	assert_int_equal(waymark_ctl_start(rig->ctl, "s", &result), 0);
	waymark_ctl_close(rig->ctl);             /* the result does not need it */
	rig->ctl = NULL;
	assert_int_equal(waymark_ctl_result_warnings(result, &texts), 2);
	assert_string_equal(texts[1], "two");
	assert_int_equal(waymark_ctl_result_files(result, &texts), 0);
	assert_int_equal(waymark_ctl_result_apps(result, &apps), 0);
	assert_null(waymark_ctl_result_version(result));
	assert_int_equal(waymark_ctl_result_unanswered(result, &apps), 1);
	assert_true(apps[0]->pid == 77 && apps[0]->n_events == 0);
	assert_string_equal(apps[0]->why, "it sleeps");
	assert_int_equal(waymark_ctl_result_sessions(result, &sessions), 1);
	const struct waymark_ctl_session_info *s = sessions[0];
	assert_string_equal(s->name, "s");
	assert_string_equal(s->path, "/p");
	assert_true(s->uid == 1 && s->gid == 2 && s->created == 3 && s->active && s->started && s->n_channels == 1);
	assert_true(s->trackers->pid && !s->trackers->uid && s->trackers->gid && s->trackers->n_pids == 2 && s->trackers->n_gids == 0);
	assert_true(s->trackers->pids[1] == 5);
	const struct waymark_ctl_counts want = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
	assert_memory_equal(s->counts, &want, sizeof(want));
	const struct waymark_ctl_channel_info *c = s->channels[0];
	assert_string_equal(c->name, "c");
	assert_string_equal(c->exec, "e");
	assert_true(c->domain == WAYMARK_CTL_EXEC && c->follow && c->pid == 3 && c->mode == 1 && c->buffers == 1 && c->subbuf_size == 1);
	assert_true(c->n_subbufs == 2 && c->blocking_us == -3 && c->field_limit == 4 && c->tracefile_size == 5 && c->tracefile_count == 6);
	assert_true(c->enabled && c->n_contexts == 1 && c->n_rules == 1 && c->counts->records == 1);
	assert_string_equal(c->contexts[0], "vpid");
	const struct waymark_ctl_rule_info *r = c->rules[0];
	assert_string_equal(r->pattern, "p");
	assert_string_equal(r->exclusions[0], "x");
	assert_true(r->n_exclusions == 1 && r->level_op == 2 && r->level == 6 && r->level_to == 7 && r->enabled && r->matched == 8);
	char *json;
	assert_int_equal(waymark_ctl_result_json(result, &json), 0);
	assert_non_null(strstr(json, "\"level_to\": \"debug_system\""));
	free(json);
	waymark_ctl_result_free(result);
}

/* A list that needs several frames. */
static void test_many_apps(void **state)
{
	enum { APPS = 300, EVENTS = 20 };
	struct rig *rig = *state;
	struct wmk_ctl_field field = { "f", "u32", "ms" };
	struct wmk_ctl_event events[EVENTS];
	struct wmk_ctl_app *list = calloc(APPS, sizeof(*list));
	const struct waymark_ctl_app_info *const *apps;
	struct waymark_ctl_result *result;
	char file[301];

	memset(file, 'f', 300);
	file[300] = '\0';
	for (uint32_t i = 0; i < EVENTS; i++)
		events[i] = (struct wmk_ctl_event){ .provider = "p", .name = "n", .kind = 1, .level = 2, .file = file, .line = i,
						    .enabled = true, .fields = { &field, 1 } };
	for (uint32_t i = 0; i < APPS; i++)
		list[i] = (struct wmk_ctl_app){ .pid = i, .uid = 1, .gid = 2, .name = "a", .exe = "/a", .connected = true, .n_events = EVENTS,
						.events = { events, EVENTS } };
	rig->fake.apps.apps = (struct wmk_list){ list, APPS };
	assert_int_equal(waymark_ctl_list_apps(rig->ctl, NULL, &result), 0);
	assert_int_equal(waymark_ctl_result_apps(result, &apps), APPS);
	for (unsigned i = 0; i < APPS; i++) {
		const struct waymark_ctl_event_info *e = apps[i]->events[EVENTS - 1];

		assert_true(apps[i]->pid == i && apps[i]->uid == 1 && apps[i]->gid == 2 && apps[i]->connected);
		assert_true(apps[i]->n_events == EVENTS && apps[i]->n_known == EVENTS);
		assert_string_equal(apps[i]->exe, "/a");
		assert_string_equal(e->file, file);
		assert_true(e->kind == 1 && e->level == 2 && e->line == EVENTS - 1 && e->enabled && e->n_fields == 1);
		assert_string_equal(e->fields[0]->unit, "ms");
	}
	waymark_ctl_result_free(result);
	free(list);
}

static void test_version_and_shutdown(void **state)
{
	struct rig *rig = *state;
	struct waymark_ctl_result *result;

	assert_string_equal(waymark_ctl_rundir(rig->ctl), rig->fake.dir);
	assert_false(waymark_ctl_started(rig->ctl));
	assert_int_equal(waymark_ctl_version(rig->ctl, &result), 0);
	const struct waymark_ctl_version_info *v = waymark_ctl_result_version(result);
	assert_string_equal(v->version, "fake");
	assert_string_equal(v->rundir, rig->fake.dir);
	assert_true(v->pid == 5 && v->uid == 6 && v->started == 7);
	waymark_ctl_result_free(result);
	assert_true(*waymark_ctl_library_version() >= '0');
	assert_int_equal(waymark_ctl_shutdown(rig->ctl), 0);
	assert_int_equal(waymark_ctl_version(rig->ctl, NULL), -ENOTCONN);
}

/* The daemon's chain of causes is one here too. */
static void test_daemon_error(void **state)
{
	struct rig *rig = *state;
	struct waymark_ctl_result *result = (void *)state;
	char text[200];

	rig->fake.refuse = WMK_CTL_START;
	rig->fake.refuse_errno = ENOSPC;
	rig->fake.refuse_words = "cannot start 's': cannot write /t: No space left on device";
	assert_int_equal(waymark_ctl_start(rig->ctl, "s", &result), -ENOSPC);
	assert_null(result);
	assert_string_equal(waymark_ctl_error(0), "the command 'start' failed");
	assert_string_equal(waymark_ctl_error(1), "cannot start 's'");
	assert_string_equal(waymark_ctl_error(2), "cannot write /t");
	assert_null(waymark_ctl_error(4));
	assert_string_equal(waymark_ctl_error_text(text, sizeof(text)),
			    "the command 'start' failed: cannot start 's': cannot write /t: No space left on device");
	rig->fake.refuse_words = "";
	assert_int_equal(waymark_ctl_start(rig->ctl, "s", &result), -ENOSPC);
	assert_says("the session daemon does not say why");
	assert_int_equal(waymark_ctl_stop(rig->ctl, "s", NULL), 0);      /* it goes on */
}

/* ── a daemon that misbehaves ────────────────────────────────────────────────────────────────────────── */

static void send_frame(int sock, uint32_t length, uint16_t type, uint16_t version, uint32_t number, uint32_t flags)
{
	const struct wmk_frame frame = { length, type, version, number, flags };

	fake_send_bytes(sock, &frame, sizeof(frame));
}

#define BAD(name) static bool name(struct fake *fake, int sock, const struct wmk_frame *f, const void *request)
#define UNUSED (void)fake, (void)sock, (void)f, (void)request

BAD(hangs_up)
{
	UNUSED;
	return false;
}

BAD(half_a_frame)
{
	UNUSED;
	send_frame(sock, 100, WMK_CTL_REPLY, WMK_WIRE_VERSION, f->request, 0);
	fake_send_bytes(sock, "half", 4);
	return false;
}

BAD(half_a_header)
{
	UNUSED;
	fake_send_bytes(sock, "abc", 3);
	return false;
}

BAD(half_an_object)
{
	UNUSED;
	send_frame(sock, WMK_FRAME_MAX, WMK_OBJECT_PART, WMK_WIRE_VERSION, f->request, 0);
	return false;
}

BAD(future_number)
{
	UNUSED;
	send_frame(sock, 0, WMK_CTL_REPLY, WMK_WIRE_VERSION, f->request + 1, 0);
	return true;
}

BAD(wrong_type)
{
	UNUSED;
	send_frame(sock, 0, WMK_CTL_START, WMK_WIRE_VERSION, f->request, 0);
	return true;
}

BAD(too_long)
{
	UNUSED;
	send_frame(sock, WMK_FRAME_MAX + 1, WMK_CTL_REPLY, WMK_WIRE_VERSION, f->request, 0);
	return true;
}

BAD(other_version)
{
	UNUSED;
	send_frame(sock, 0, WMK_CTL_REPLY, WMK_WIRE_VERSION + 1, f->request, 0);
	return true;
}

BAD(no_object)
{
	UNUSED;
	send_frame(sock, 3, WMK_CTL_REPLY, WMK_WIRE_VERSION, f->request, 0);
	fake_send_bytes(sock, "\0\0\0", 3);
	return true;
}

BAD(other_object)
{
	const struct wmk_ctl_version_reply reply = { .version = "x" };

	UNUSED;
	fake_send(sock, WMK_CTL_REPLY, f->request, &wmk_ctl_version_reply_object, &reply);
	return true;
}

BAD(error_of_nothing)
{
	UNUSED;
	send_frame(sock, 4, WMK_CTL_ERROR, WMK_WIRE_VERSION, f->request, 0);
	fake_send_bytes(sock, "\0\0\0", 4);
	return true;
}

BAD(endless_parts)
{
	uint8_t *megabyte = calloc(1, WMK_FRAME_MAX);

	UNUSED;
	for (unsigned i = 0; i <= WMK_OBJECT_MAX / WMK_FRAME_MAX; i++) {
		send_frame(sock, WMK_FRAME_MAX, WMK_OBJECT_PART, WMK_WIRE_VERSION, f->request, 0);
		fake_send_bytes(sock, megabyte, WMK_FRAME_MAX);
	}
	free(megabyte);
	return true;
}

BAD(promised_descriptor)
{
	UNUSED;
	send_frame(sock, 0, WMK_CTL_REPLY, WMK_WIRE_VERSION, f->request, WMK_FRAME_FD);
	return true;
}

static void test_misbehaves(void **state)
{
	static const struct {
		fake_handler handler;
		int err;
		const char *says;
	} bad[] = {
		{ hangs_up, -ECONNRESET, "the session daemon has closed the connection" },
		{ half_a_frame, -ECONNRESET, "the session daemon has closed the connection" },
		{ half_a_header, -ECONNRESET, "the session daemon has closed the connection" },
		{ half_an_object, -ECONNRESET, "the session daemon has closed the connection" },
		{ future_number, -EPROTO, "which was not made" },
		{ wrong_type, -EPROTO, "answers with a message of type" },
		{ too_long, -EPROTO, "a message of 1048577 bytes" },
		{ other_version, -EPROTONOSUPPORT, "speaks version" },
		{ no_object, -EPROTO, "the object 'outcome' cannot be read" },
		{ other_object, -EPROTO, "the object 'outcome' cannot be read" },
		{ error_of_nothing, -EPROTO, "a message ERROR has number 0" },
		{ endless_parts, -EPROTO, "answer has more than" },
		{ promised_descriptor, -EPROTO, "without its descriptor" },
	};
	struct rig *rig = *state;
	struct waymark_ctl_result *result;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		connect_to(rig, 0);
		rig->fake.handler = bad[i].handler;
		assert_int_equal(waymark_ctl_start(rig->ctl, "s", &result), bad[i].err);
		assert_null(result);
		assert_says(bad[i].says);
		assert_int_equal(waymark_ctl_start(rig->ctl, "s", &result), -ENOTCONN);
		assert_says("connect again");
		fake_log_clear(&rig->fake);
	}
}

/* The descriptor that nobody asked for is closed; the answer counts. */
BAD(gives_descriptor)
{
	struct wmk_out out = { 0 };
	uint8_t *bytes;
	long len = wmk_object_encode(&wmk_ctl_outcome_object, &fake->outcome, &bytes);

	UNUSED;
	wmk_out_frame(&out, (enum wmk_msg)WMK_CTL_REPLY, f->request, bytes, (size_t)len, fake->listener);
	wmk_out_send(&out, sock);
	wmk_out_free(&out);
	free(bytes);
	return true;
}

static void test_descriptor(void **state)
{
	struct rig *rig = *state;
	int before = dup(0);

	close(before);
	rig->fake.handler = gives_descriptor;
	assert_int_equal(waymark_ctl_start(rig->ctl, "s", NULL), 0);
	assert_int_equal(waymark_ctl_start(rig->ctl, "s", NULL), 0);
	connect_to(rig, 0);                      /* the fake has nothing in hand any more */
	int after = dup(0);
	assert_int_equal(after, before);
	close(after);
}

static uint32_t late;                    /* the request that has not been answered yet */

BAD(answers_late)
{
	UNUSED;
	if (f->type == WMK_CTL_START) {
		late = f->request;
		return true;
	}
	send_frame(sock, WMK_FRAME_MAX, WMK_OBJECT_PART, WMK_WIRE_VERSION, late, 0);
	uint8_t *megabyte = calloc(1, WMK_FRAME_MAX);
	fake_send_bytes(sock, megabyte, WMK_FRAME_MAX);
	free(megabyte);
	fake_send(sock, WMK_CTL_REPLY, late, &wmk_ctl_outcome_object, &fake->outcome);
	return fake_answer(fake, sock, f, request);
}

static void test_time(void **state)
{
	struct rig *rig = *state;

	rig->fake.handler = answers_late;
	waymark_ctl_set_timeout(rig->ctl, 50);
	assert_int_equal(waymark_ctl_start(rig->ctl, "s", NULL), -ETIMEDOUT);
	assert_says("has not answered within 50 ms");
	waymark_ctl_set_timeout(rig->ctl, -1);
	assert_int_equal(waymark_ctl_stop(rig->ctl, "s", NULL), 0);
}

BAD(turns_away)
{
	struct wmk_out out = { 0 };

	UNUSED;
	wmk_out_error(&out, (enum wmk_msg)WMK_CTL_ERROR, 0, EAGAIN, "256 clients are connected: no more may be");
	wmk_out_send(&out, sock);
	wmk_out_free(&out);
	return false;
}

static void test_turned_away(void **state)
{
	struct rig *rig = *state;

	rig->fake.handler = turns_away;
	assert_int_equal(waymark_ctl_stop(rig->ctl, "s", NULL), -EAGAIN);
	assert_says("256 clients are connected: no more may be");
}

/* ── connecting ──────────────────────────────────────────────────────────────────────────────────────── */

static void test_connect_fails(void **state)
{
	struct rig *rig = *state;
	struct waymark_ctl_connect_options options = { .size = sizeof(options), .rundir = "/nowhere/at/all", .start = WAYMARK_CTL_START_NEVER };
	char path[128], lengthy[300];
	struct waymark_ctl *ctl = rig->ctl;

	assert_int_equal(waymark_ctl_connect(&options, &ctl), -ENOENT);
	assert_null(ctl);
	assert_says("cannot connect to a session daemon: no session daemon runs: cannot connect to /nowhere/at/all/ctl.sock");
	options.rundir = "relative";
	assert_int_equal(waymark_ctl_connect(&options, &ctl), -EINVAL);
	memset(lengthy, '/', 299);
	lengthy[299] = '\0';
	options.rundir = lengthy;
	assert_int_equal(waymark_ctl_connect(&options, &ctl), -EINVAL);
	options.start = 7;
	assert_int_equal(waymark_ctl_connect(&options, &ctl), -EINVAL);
	options.start = WAYMARK_CTL_START_NEVER;
	rig->fake.refuse = WMK_CTL_VERSION;
	rig->fake.refuse_errno = EACCES;
	rig->fake.refuse_words = "you are not in the group";
	options.rundir = rig->fake.dir;
	waymark_ctl_close(rig->ctl);
	rig->ctl = NULL;
	assert_int_equal(waymark_ctl_connect(&options, &ctl), -EACCES);
	assert_says("you are not in the group");
	setenv("WAYMARK_RUNDIR", rig->fake.dir, 1);
	rig->fake.refuse = 0;
	options.rundir = NULL;
	assert_int_equal(waymark_ctl_connect(&options, &rig->ctl), 0);
	assert_string_equal(waymark_ctl_rundir(rig->ctl), rig->fake.dir);
	unsetenv("WAYMARK_RUNDIR");
	snprintf(path, sizeof(path), "%s/" WMK_CTL_SOCKET, rig->fake.dir);
	unlink(path);
	int dead = fake_listen(rig->fake.dir, (uid_t)-1);
	close(dead);
	options.rundir = rig->fake.dir;
	assert_int_equal(waymark_ctl_connect(&options, &ctl), -ECONNREFUSED);
}

/* A socket of a third user is not spoken to, unless root has named it. */
static void test_strangers_socket(void **state)
{
	struct waymark_ctl_connect_options options = { .size = sizeof(options), .start = WAYMARK_CTL_START_NEVER };
	struct fake fake = { 0 };
	struct waymark_ctl *ctl;

	(void)state;
	if (geteuid() != 0)
		skip();
	fake_open(&fake, 65534);
	setenv("WAYMARK_RUNDIR", fake.dir, 1);
	assert_int_equal(waymark_ctl_connect(&options, &ctl), -EACCES);
	assert_says("user 65534 listens, neither root nor you");
	unsetenv("WAYMARK_RUNDIR");
	options.rundir = fake.dir;
	assert_int_equal(waymark_ctl_connect(&options, &ctl), 0);
	waymark_ctl_close(ctl);
	fake_close(&fake);
}

#define WITH_RIG(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_RIG(test_asks_sessions), WITH_RIG(test_asks_events), WITH_RIG(test_options), WITH_RIG(test_outcome),
		WITH_RIG(test_many_apps), WITH_RIG(test_version_and_shutdown), WITH_RIG(test_daemon_error), WITH_RIG(test_misbehaves),
		WITH_RIG(test_descriptor), WITH_RIG(test_time), WITH_RIG(test_turned_away), WITH_RIG(test_connect_fails),
		cmocka_unit_test(test_strangers_socket),
	};

	unsetenv("WAYMARK_RUNDIR");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
