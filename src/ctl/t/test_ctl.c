/* SPDX-License-Identifier: MIT */
/* test_ctl.c - the control library with a fake daemon: the requests that it sends, and the results that it returns. */
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

/* ── requests ────────────────────────────────────────────────────────────────────────────────────────── */

#define ASKS(call, line) do { \
	fake_log_clear(&rig->fake); \
	assert_int_equal(call, 0); \
	char *asked = fake_log(&rig->fake, 0); \
	assert_string_equal(asked, line); \
	free(asked); \
} while (0)

static void session_functions_send_their_requests(void **state)
{
	struct fake_rig *rig = *state;
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
	ASKS(waymark_ctl_create(ctl, &create, NULL),
	     "create {\"name\": \"n\",\"path\": \"/p\",\"home\": \"/home/of/test\"}");
	ASKS(waymark_ctl_destroy(ctl, "s", NULL), "destroy {\"session\": \"s\"}");
	ASKS(waymark_ctl_destroy(ctl, NULL, NULL), "destroy {}");
	ASKS(waymark_ctl_start(ctl, "s", NULL), "start {\"session\": \"s\"}");
	ASKS(waymark_ctl_stop(ctl, "s", NULL), "stop {\"session\": \"s\"}");
	ASKS(waymark_ctl_clear(ctl, "s", NULL), "clear {\"session\": \"s\"}");
	ASKS(waymark_ctl_rotate(ctl, "s", NULL), "rotate {\"session\": \"s\"}");
	ASKS(waymark_ctl_list_sessions(ctl, NULL, NULL), "list-sessions {}");
	ASKS(waymark_ctl_list_sessions(ctl, "s", NULL), "list-sessions {\"session\": \"s\"}");
	struct waymark_ctl_snapshot_options snapshot = { .size = sizeof(snapshot), .session = "s", .name = "n",
							 .path = "/p", .max_size = 7 };

	ASKS(waymark_ctl_snapshot_record(ctl, &snapshot, NULL),
	     "snapshot {\"session\": \"s\",\"name\": \"n\",\"path\": \"/p\",\"max_size\": 7}");
	struct waymark_ctl_result *result;

	assert_int_equal(waymark_ctl_snapshot_record(ctl, &snapshot, &result), 0);
	assert_string_equal(waymark_ctl_result_snapshot(result)->path, "/p/n-1");
	assert_int_equal(waymark_ctl_result_snapshot(result)->overwritten, 2);
	waymark_ctl_result_free(result);
	ASKS(waymark_ctl_snapshot_add_output(ctl, &snapshot, NULL),
	     "snapshot-output {\"session\": \"s\",\"name\": \"n\",\"path\": \"/p\",\"max_size\": 7}");
	struct waymark_ctl_rotation_options rotation = { .size = sizeof(rotation), .session = "s", .rotate_size = 5000,
							 .retain_count = 3 };
	ASKS(waymark_ctl_enable_rotation(ctl, &rotation, NULL),
	     "rotation {\"session\": \"s\",\"rotate_size\": 5000,\"retain_count\": 3}");
	ASKS(waymark_ctl_disable_rotation(ctl, "s", WAYMARK_CTL_ROTATION_SIZE, NULL),
	     "rotation {\"session\": \"s\",\"off\": 2}");
	ASKS(waymark_ctl_disable_rotation(ctl, "s", 0, NULL), "rotation {\"session\": \"s\",\"off\": 7}");
	ASKS(waymark_ctl_snapshot_del_output(ctl, "s", NULL, NULL),
	     "snapshot-output {\"session\": \"s\",\"remove\": true}");
	ASKS(waymark_ctl_regenerate(ctl, "s", WAYMARK_CTL_STATEDUMP, NULL),
	     "regenerate {\"session\": \"s\",\"what\": \"statedump\"}");
	ASKS(waymark_ctl_track(ctl, &track, NULL),
	     "track {\"session\": \"s\",\"kind\": \"uid\",\"ids\": [1, 18446744073709551615]}");
	ASKS(waymark_ctl_untrack(ctl, &all, NULL), "untrack {\"session\": \"s\",\"all\": true}");
	assert_int_equal(waymark_ctl_list_sessions(ctl, "t", NULL), -ENOENT);
	fake_rig_says("the command 'list-sessions' failed: there is no such session");
	assert_int_equal(waymark_ctl_regenerate(ctl, "s", 2, NULL), -EINVAL);
	fake_rig_says("what: 2 as an enum value");
}

static void channel_and_event_functions_send_their_requests(void **state)
{
	struct fake_rig *rig = *state;
	struct waymark_ctl *ctl = rig->ctl;
	const char *const excluded[] = { "a:b", "a:c" };
	const char *const contexts[] = { "vpid", "procname" };
	const struct waymark_ctl_domain domain = {
		.size = sizeof(domain), .kind = WAYMARK_CTL_PID, .pid = 9, .follow = true
	};
	const struct waymark_ctl_domain exec = { .size = sizeof(exec), .kind = WAYMARK_CTL_EXEC, .exec = "shop" };
	const struct waymark_ctl_rule rules[] = {
		{ .size = sizeof(rules[0]), .pattern = "a:*", .exclusions = excluded, .n_exclusions = 2 },
		{ .size = sizeof(rules[0]),
		  .pattern = "b",
		  .level_op = WAYMARK_CTL_BETWEEN,
		  .level = 9,
		  .level_to = 3 },
	};
	const struct waymark_ctl_channel_options channel = {
		.size = sizeof(channel),
		.session = "s",
		.domain = &domain,
		.mode = WAYMARK_CTL_OVERWRITE,
		.buffers = WAYMARK_CTL_PER_PID,
		.subbuf_size = 4096,
		.n_subbufs = 4,
		.blocking_us = -1,
		.field_limit = 100,
		.tracefile_size = 5,
		.tracefile_count = 6,
		.contexts = contexts,
		.n_contexts = 2,
	};
	struct waymark_ctl_events_options events = {
		.size = sizeof(events),
		.session = "s",
		.channel = "c",
		.rules = rules,
		.n_rules = 2,
		.patterns = excluded,
		.n_patterns = 1,
		.contexts = contexts,
		.n_contexts = 1,
	};
	const struct waymark_ctl_apps_options apps = {
		.size = sizeof(apps), .events = true, .pattern = "a:*", .pid = 3
	};
	const struct waymark_ctl_kernel_options kernel = {
		.size = sizeof(kernel), .patterns = excluded, .n_patterns = 1, .fields = true, .lacks = true
	};

	ASKS(waymark_ctl_enable_channel(ctl, &channel, NULL),
	     "enable-channel {\"session\": \"s\",\"channel\": {\"name\": \"channel0\","
	     "\"domain\": {\"kind\": \"pid\",\"follow\": true,\"pid\": 9},\"mode\": \"overwrite\",\"buffers\": \"pid\","
	     "\"subbuf_size\": 4096,\"n_subbufs\": 4,\"blocking_us\": -1,\"field_limit\": 100,\"tracefile_size\": 5,"
	     "\"tracefile_count\": 6,\"contexts\": [\"vpid\", \"procname\"],\"enabled\": true}}");
	ASKS(waymark_ctl_enable_event(ctl, &events, NULL),
	     "enable-event {\"session\": \"s\",\"channel\": \"c\",\"rules\": [{ \"pattern\": \"a:*\", \"exclusions\": "
	     "[\"a:b\", \"a:c\"], "
	     "\"enabled\": true },{ \"pattern\": \"b\", \"level_op\": \"between\", \"level\": \"err\", \"level_to\": "
	     "\"debug_process\", \"enabled\": true }]}");
	ASKS(waymark_ctl_disable_event(ctl, &events, NULL),
	     "disable-event {\"session\": \"s\",\"channel\": \"c\",\"patterns\": [\"a:b\"]}");
	ASKS(waymark_ctl_add_context(ctl, &events, NULL),
	     "add-context {\"session\": \"s\",\"channel\": \"c\",\"contexts\": [\"vpid\"]}");
	events.domain = &exec;
	ASKS(waymark_ctl_disable_channel(ctl, &events, NULL),
	     "disable-channel {\"session\": \"s\",\"channel\": \"c\",\"domain\": {\"kind\": \"exec\",\"exec\": "
	     "\"shop\"}}");
	ASKS(waymark_ctl_list_apps(ctl, NULL, NULL), "list-apps {}");
	ASKS(waymark_ctl_list_apps(ctl, &apps, NULL), "list-apps {\"events\": true,\"pattern\": \"a:*\",\"pid\": 3}");
	ASKS(waymark_ctl_list_kernel(ctl, NULL, NULL), "list-kernel {}");
	ASKS(waymark_ctl_list_kernel(ctl, &kernel, NULL),
	     "list-kernel {\"patterns\": [\"a:b\"],\"fields\": true,\"lacks\": true}");
	assert_string_equal(waymark_ctl_level_name(14), "debug");
	assert_null(waymark_ctl_level_name(WAYMARK_CTL_LEVELS));
}

/* Options of an older caller, of a newer one, and no options. */
static void options_unknown_to_the_library_are_rejected_only_if_set(void **state)
{
	struct fake_rig *rig = *state;
	struct {
		struct waymark_ctl_create_options known;
		uint64_t later;
	} create = { .known = { .size = sizeof(create), .home = "/h", .name = "n" } };

	ASKS(waymark_ctl_create(rig->ctl, &create.known, NULL), "create {\"name\": \"n\",\"home\": \"/h\"}");
	create.later = 1;
	assert_int_equal(waymark_ctl_create(rig->ctl, &create.known, NULL), -EINVAL);
	fake_rig_says("create: options are set that this version of the library does not know");
	create.known.size = offsetof(struct waymark_ctl_create_options, path);
	create.known.path = "not looked at";
	setenv("HOME", "/hh", 1);
	ASKS(waymark_ctl_create(rig->ctl, &create.known, NULL), "create {\"name\": \"n\",\"home\": \"/hh\"}");
	create.known.size = 0;
	assert_int_equal(waymark_ctl_create(rig->ctl, &create.known, NULL), -EINVAL);
	fake_rig_says("the options have an invalid 'size'");
	assert_int_equal(waymark_ctl_create(rig->ctl, NULL, NULL), -EINVAL);
	struct {
		struct waymark_ctl_rule known;
		uint64_t later;
	} rules[2] = { { .known = { .size = sizeof(rules[0]), .pattern = "a" } },
		       { .known = { .size = sizeof(rules[0]), .pattern = "b" } } };
	const struct waymark_ctl_events_options events = {
		.size = sizeof(events), .session = "s", .rules = &rules[0].known, .n_rules = 2
	};
	ASKS(waymark_ctl_enable_event(rig->ctl, &events, NULL),
	     "enable-event {\"session\": \"s\",\"rules\": [{ \"pattern\": \"a\", \"enabled\": true },{ \"pattern\": "
	     "\"b\", \"enabled\": true }]}");
	rules[1].known.size = sizeof(rules[0].known);
	assert_int_equal(waymark_ctl_enable_event(rig->ctl, &events, NULL), -EINVAL);
	fake_rig_says("the rules have different values of 'size'");
}

/* ── results ─────────────────────────────────────────────────────────────────────────────────────────── */

static void result_holds_the_reply_after_the_connection_is_closed(void **state)
{
	struct fake_rig *rig = *state;
	const char *warnings[] = { "one", "two" }, *contexts[] = { "vpid" }, *excluded[] = { "x" };
	uint64_t pids[] = { 4, 5 };
	struct wmk_ctl_rule rule = { .pattern = "p",
				     .exclusions = { excluded, 1 },
				     .level_op = 2,
				     .level = 6,
				     .level_to = 7,
				     .filter = "n == 1",
				     .enabled = true,
				     .matched = 8 };
	struct wmk_ctl_channel channel = {
		.name = "c",
		.domain = { .kind = WMK_DOMAIN_EXEC, .follow = true, .pid = 3, .exec = "e" },
		.settings.mode = 1,
		.settings.buffers = 1,
		.settings.subbuf_size = 1,
		.settings.n_subbufs = 2,
		.settings.blocking_us = -3,
		.settings.field_limit = 4,
		.settings.tracefile_size = 5,
		.settings.tracefile_count = 6,
		.contexts = { contexts, 1 },
		.rules = { &rule, 1 },
		.enabled = true,
		.counts = { .records = 1 },
		.settings.call_arguments = WMK_CALL_ARGUMENTS_NONE,
		.calls_by = WMK_CALLS_BY_TRACEFS,
		.calls_why = "so",
	};
	struct wmk_ctl_session session = {
		.name = "s",
		.path = "/p",
		.uid = 1,
		.gid = 2,
		.created = 3,
		.active = true,
		.started = true,
		.channels = { &channel, 1 },
		.trackers = { .pid = true, .gid = true, .pids = { pids, 2 } },
		.counts = { .records = 1,
			    .lost = 2,
			    .lost_full = 3,
			    .lost_memory = 4,
			    .lost_size = 5,
			    .lost_retry = 6,
			    .overwritten = 7,
			    .unwritten = 8,
			    .cut = 9,
			    .bytes = 10,
			    .gaps = 11 },
	};
	struct wmk_ctl_app app = { .pid = 77, .name = "slow", .why = "it sleeps" };
	const struct waymark_ctl_session_info *const *sessions;
	const struct waymark_ctl_app_info *const *apps;
	const char *const *texts;
	struct waymark_ctl_result *result;

	rig->fake.outcome = (struct wmk_ctl_outcome){ { &app, 1 }, { warnings, 2 }, { &session, 1 } };
	assert_int_equal(waymark_ctl_start(rig->ctl, "s", &result), 0);
	waymark_ctl_close(rig->ctl);             /* the result stays valid */
	rig->ctl = NULL;
	assert_int_equal(waymark_ctl_result_warnings(result, &texts), 2);
	assert_string_equal(texts[1], "two");
	assert_int_equal(waymark_ctl_result_files(result, &texts), 0);
	assert_int_equal(waymark_ctl_result_apps(result, &apps), 0);
	assert_null(waymark_ctl_result_version(result));
	assert_null(waymark_ctl_result_kernel_clock(result));
	assert_int_equal(waymark_ctl_result_unanswered(result, &apps), 1);
	assert_true(apps[0]->pid == 77 && apps[0]->n_events == 0);
	assert_string_equal(apps[0]->why, "it sleeps");
	assert_int_equal(waymark_ctl_result_sessions(result, &sessions), 1);
	const struct waymark_ctl_session_info *s = sessions[0];
	assert_string_equal(s->name, "s");
	assert_string_equal(s->path, "/p");
	assert_true(s->uid == 1 && s->gid == 2 && s->created == 3 && s->active && s->started && s->n_channels == 1);
	assert_true(s->trackers->pid && !s->trackers->uid && s->trackers->gid && s->trackers->n_pids == 2 &&
		    s->trackers->n_gids == 0);
	assert_true(s->trackers->pids[1] == 5);
	const struct waymark_ctl_counts want = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
	assert_memory_equal(s->counts, &want, sizeof(want));
	const struct waymark_ctl_channel_info *c = s->channels[0];
	assert_string_equal(c->name, "c");
	assert_string_equal(c->exec, "e");
	assert_true(c->domain == WAYMARK_CTL_EXEC && c->follow && c->pid == 3 && c->mode == 1 && c->buffers == 1 &&
		    c->subbuf_size == 1);
	assert_true(c->n_subbufs == 2 && c->blocking_us == -3 && c->field_limit == 4 && c->tracefile_size == 5 &&
		    c->tracefile_count == 6);
	assert_true(c->enabled && c->n_contexts == 1 && c->n_rules == 1 && c->counts->records == 1);
	assert_true(c->call_arguments == WAYMARK_CTL_CALLS_NUMBERS && c->calls_by == WAYMARK_CTL_CALLS_BY_EVENTS);
	assert_string_equal(c->calls_why, "so");
	assert_string_equal(c->contexts[0], "vpid");
	const struct waymark_ctl_rule_info *r = c->rules[0];
	assert_string_equal(r->pattern, "p");
	assert_string_equal(r->exclusions[0], "x");
	assert_string_equal(r->filter, "n == 1");
	assert_true(r->n_exclusions == 1 && r->level_op == 2 && r->level == 6 && r->level_to == 7 && r->enabled &&
		    r->matched == 8);
	char *json;
	assert_int_equal(waymark_ctl_result_json(result, &json), 0);
	assert_non_null(strstr(json, "\"level_to\": \"debug_system\""));
	char *printed;
	size_t len;
	FILE *to = open_memstream(&printed, &len);
	assert_non_null(to);
	assert_int_equal(waymark_ctl_result_print_json(result, to), 0);
	fclose(to);
	assert_string_equal(printed, json);
	free(printed);
	free(json);
	waymark_ctl_result_free(result);
}

static void kernel_list_reply_is_converted_to_events_and_features(void **state)
{
	struct fake_rig *rig = *state;
	struct wmk_ctl_field field = { "prev_tid", "s32", "" };
	struct wmk_ctl_event event = { .provider = "sched",
				       .name = "sched_switch",
				       .level = 6,
				       .file = "events/sched/sched_switch",
				       .enabled = true,
				       .fields = { &field, 1 } };
	const char *lacks[] = { "one", "two" }, *const *texts;
	const struct waymark_ctl_event_info *const *events;
	struct waymark_ctl_result *result;

	rig->fake.kernel = (struct wmk_ctl_kernel){ { &event, 1 }, { lacks, 2 }, "mono" };
	assert_int_equal(waymark_ctl_list_kernel(rig->ctl, NULL, &result), 0);
	assert_int_equal(waymark_ctl_result_events(result, &events), 1);
	assert_string_equal(events[0]->provider, "sched");
	assert_string_equal(events[0]->name, "sched_switch");
	assert_string_equal(events[0]->file, "events/sched/sched_switch");
	assert_true(events[0]->enabled && events[0]->n_fields == 1);
	assert_string_equal(events[0]->fields[0]->type, "s32");
	assert_int_equal(waymark_ctl_result_lacks(result, &texts), 2);
	assert_string_equal(texts[1], "two");
	assert_string_equal(waymark_ctl_result_kernel_clock(result), "mono");
	assert_int_equal(waymark_ctl_result_warnings(result, &texts), 0);
	waymark_ctl_result_free(result);
}

static void connections_to_relays_are_in_the_list_of_sessions(void **state)
{
	struct fake_rig *rig = *state;
	struct wmk_ctl_relay relay = { .session = "one", .path = "/spool/one", .url = "tls://relay", .uid = 4,
				       .kernel = true, .connected = true, .behind = 5, .spooled = 6, .error = "why" };
	const struct waymark_ctl_relay_info *const *relays;
	struct waymark_ctl_result *result;

	rig->fake.relays = (struct wmk_list){ &relay, 1 };
	assert_int_equal(waymark_ctl_list_sessions(rig->ctl, NULL, &result), 0);
	assert_int_equal(waymark_ctl_result_relays(result, &relays), 1);
	assert_string_equal(relays[0]->session, "one");
	assert_string_equal(relays[0]->path, "/spool/one");
	assert_string_equal(relays[0]->url, "tls://relay");
	assert_string_equal(relays[0]->error, "why");
	assert_true(relays[0]->uid == 4 && relays[0]->kernel && relays[0]->connected && relays[0]->behind == 5 &&
		    relays[0]->spooled == 6);
	waymark_ctl_result_free(result);
}

static void list_longer_than_a_frame_is_received_completely(void **state)
{
	enum { APPS = 300, EVENTS = 20 };
	struct fake_rig *rig = *state;
	struct wmk_ctl_field field = { "f", "u32", "ms" };
	struct wmk_ctl_event events[EVENTS];
	struct wmk_ctl_app *list = calloc(APPS, sizeof(*list));
	const struct waymark_ctl_app_info *const *apps;
	struct waymark_ctl_result *result;
	char file[301];

	memset(file, 'f', 300);
	file[300] = '\0';
	for (uint32_t i = 0; i < EVENTS; i++)
		events[i] = (struct wmk_ctl_event){ .provider = "p",
						    .name = "n",
						    .kind = 1,
						    .level = 2,
						    .file = file,
						    .line = i,
						    .enabled = true,
						    .fields = { &field, 1 } };
	for (uint32_t i = 0; i < APPS; i++)
		list[i] = (struct wmk_ctl_app){ .pid = i,
						.uid = 1,
						.gid = 2,
						.name = "a",
						.exe = "/a",
						.connected = true,
						.n_events = EVENTS,
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

static void version_is_returned_until_shutdown_closes_the_connection(void **state)
{
	struct fake_rig *rig = *state;
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

static void error_of_the_daemon_keeps_its_chain_of_causes(void **state)
{
	struct fake_rig *rig = *state;
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
	fake_rig_says("the session daemon reports an error without a message");
	assert_int_equal(waymark_ctl_stop(rig->ctl, "s", NULL), 0);      /* the connection stays usable */
}

#define WITH_RIG(f) cmocka_unit_test_setup_teardown(f, fake_rig_open, fake_rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_RIG(session_functions_send_their_requests),
		WITH_RIG(channel_and_event_functions_send_their_requests),
		WITH_RIG(options_unknown_to_the_library_are_rejected_only_if_set),
		WITH_RIG(result_holds_the_reply_after_the_connection_is_closed),
		WITH_RIG(kernel_list_reply_is_converted_to_events_and_features),
		WITH_RIG(list_longer_than_a_frame_is_received_completely),
		WITH_RIG(connections_to_relays_are_in_the_list_of_sessions),
		WITH_RIG(version_is_returned_until_shutdown_closes_the_connection),
		WITH_RIG(error_of_the_daemon_keeps_its_chain_of_causes),
	};

	unsetenv("WAYMARK_RUNDIR");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
