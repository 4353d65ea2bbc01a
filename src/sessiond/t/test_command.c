/* SPDX-License-Identifier: MIT */
/*
 * test_command.c - commands with the real core: permissions, defaults, warnings, errors, and an application that
 * follows the messages.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "counting_consumer.h"
#include "program.h"
#include "session/model/session_model.h"
#include "sessiond/command.h"
#include "sessiond/shards.h"
#include "wire/ctl.h"

/* Type and body of a request. */
#define REQUEST(type, body, ...) type, &(struct body){ __VA_ARGS__ }
#define CREATE(...) REQUEST(WMK_CTL_CREATE, wmk_ctl_create, __VA_ARGS__)
#define START(name) REQUEST(WMK_CTL_START, wmk_ctl_session_name, .session = name)
#define DESTROY(name) REQUEST(WMK_CTL_DESTROY, wmk_ctl_session_name, .session = name)
#define ENABLE_EVENT(...) REQUEST(WMK_CTL_ENABLE_EVENT, wmk_ctl_enable_event, __VA_ARGS__)
#define RULE(text) .rules = { &(struct wmk_ctl_rule){ .pattern = text }, 1 }
#define DISABLE_EVENT(...) REQUEST(WMK_CTL_DISABLE_EVENT, wmk_ctl_disable_event, __VA_ARGS__)
#define ADD_CONTEXT(...) REQUEST(WMK_CTL_ADD_CONTEXT, wmk_ctl_add_context, __VA_ARGS__)

/* ── a daemon without sockets ────────────────────────────────────────────────────────────────────────── */

static struct {
	char home[64];
	struct wmk_tracing *tracing;
	struct wmk_shards *shards;
	struct wmk_commands commands;
	struct wmk_peer peer;
	struct wmk_arena arena;
	int changes, ends, shutdowns, later;
	int err;                         /* of the latest request: 0, or a positive errno with its text */
	char words[1024];
} scene;

static int changed(void *data, struct wmk_session *session, bool gone)
{
	(void)data;
	(void)session;
	*(gone ? &scene.ends : &scene.changes) += 1;
	return 0;
}

static void shut_down(void *data)
{
	(void)data;
	scene.shutdowns++;
}

static int scene_make(unsigned max_sessions)
{
	struct wmk_clocks clocks = { .preferred = WMK_CLOCK_MONOTONIC };
	const struct wmk_tracing_options options = {
		.size = sizeof(options), .consumer = &ops, .clocks = &clocks, .max_sessions = max_sessions
	};

	memset(&scene, 0, sizeof(scene));
	memset(&output, 0, sizeof(output));
	strcpy(scene.home, "/tmp/waymark-command-XXXXXX");
	assert_non_null(mkdtemp(scene.home));
	wmk_tracing_thread_begin();
	assert_int_equal(wmk_clock_measure(WMK_CLOCK_MONOTONIC, &clocks.of[WMK_CLOCK_MONOTONIC]), 0);
	assert_int_equal(wmk_tracing_open(&options, &scene.tracing), 0);
	assert_int_equal(wmk_shards_open(scene.tracing, 2, &scene.shards), 0);
	scene.commands = (struct wmk_commands){
		.tracing = scene.tracing, .daemon = geteuid(), .version = "0.test", .rundir = "/nowhere", .started = 1,
		.changed = changed, .shutdown = shut_down,
	};
	scene.peer = (struct wmk_peer){ .pid = getpid(), .uid = geteuid(), .gid = getegid() };
	return 0;
}

static int scene_open(void **state)
{
	(void)state;
	return scene_make(4);
}

/* A limit of the administrator replaces the daemon's default. */
static int scene_open_large(void **state)
{
	(void)state;
	return scene_make(2 * WMK_CTL_SESSIONS_MAX);
}

static int scene_close(void **state)
{
	(void)state;
	wmk_shards_close(scene.shards);
	wmk_tracing_close(scene.tracing);
	wmk_tracing_thread_end();
	wmk_arena_free(&scene.arena);
	assert_int_equal(output.traces, 0);
	assert_int_equal(output.rings, 0);
	return rmdir(scene.home);
}

/* Join the bodies of the frames of a reply; the caller frees it. *frame: the last frame. */
static uint8_t *joined(const struct wmk_out *out, struct wmk_frame *frame, size_t *len)
{
	uint8_t *body = malloc(out->len);

	assert_true(body && out->len >= sizeof(*frame));
	*len = 0;
	for (size_t at = 0; at < out->len; at += sizeof(*frame) + frame->length) {
		assert_true(out->len - at >= sizeof(*frame));
		memcpy(frame, out->buf + at, sizeof(*frame));
		assert_true(frame->length <= out->len - at - sizeof(*frame));
		assert_int_equal(frame->request, 77);
		assert_int_equal(frame->type == WMK_OBJECT_PART, at + sizeof(*frame) + frame->length < out->len);
		memcpy(body + *len, out->buf + at + sizeof(*frame), frame->length);
		*len += frame->length;
	}
	return body;
}

/* Send a request; returns its reply, or NULL with scene.err. */
static const void *ask(uint16_t type, const void *object)
{
	const struct wmk_request_type *command = wmk_ctl_request_find(type);
	struct wmk_out in = { 0 }, out = { 0 };
	struct wmk_frame frame;
	size_t len;

	uint8_t *bytes;
	const long encoded = wmk_object_encode(command->request, object, &bytes);
	assert_true(encoded > 0);
	assert_int_equal(wmk_out_frame(&in, (enum wmk_msg)type, 77, bytes, (size_t)encoded, -1), 0);
	free(bytes);
	memcpy(&frame, in.buf, sizeof(frame));
	wmk_commands_run(&scene.commands, &scene.peer, &frame, in.buf + sizeof(frame), &out);
	wmk_out_free(&in);
	uint8_t *body = joined(&out, &frame, &len);
	void *reply = NULL;
	scene.err = 0;
	scene.words[0] = '\0';
	if (frame.type == WMK_CTL_ERROR) {
		assert_int_equal(wmk_error_msg_decode(body, len, &scene.err, scene.words, sizeof(scene.words)), 0);
	} else {
		assert_int_equal(frame.type, WMK_CTL_REPLY);
		reply = wmk_arena_alloc(&scene.arena, command->reply->size);
		assert_int_equal(wmk_object_decode(command->reply, body, len, reply, &scene.arena), 0);
	}
	free(body);
	wmk_out_free(&out);
	return reply;
}

static void refused(uint16_t type, const void *object, int err, const char *words)
{
	assert_null(ask(type, object));
	if (scene.err != err || !strstr(scene.words, words))
		fail_msg("error %d, not %d; '%s' should be in: %s", scene.err, err, words, scene.words);
}

static const struct wmk_ctl_outcome *done(uint16_t type, const void *object)
{
	const struct wmk_ctl_outcome *outcome = ask(type, object);

	if (!outcome)
		fail_msg("error %d: %s", scene.err, scene.words);
	return outcome;
}

static const struct wmk_ctl_session *session_in(const struct wmk_ctl_outcome *outcome, unsigned i)
{
	assert_true(i < outcome->sessions.n);
	return (const struct wmk_ctl_session *)outcome->sessions.items + i;
}

static bool warned(const struct wmk_ctl_outcome *outcome, const char *words)
{
	for (uint32_t i = 0; i < outcome->warnings.n; i++)
		if (strstr(((const char *const *)outcome->warnings.items)[i], words))
			return true;
	return false;
}

static const struct wmk_ctl_outcome *create(const char *name)
{
	return done(CREATE(.name = name, .home = scene.home));
}

static const struct wmk_ctl_outcome *which(uint16_t type, const char *name)
{
	return done(type, &(struct wmk_ctl_session_name){ .session = name });
}

static const struct wmk_ctl_outcome *enable(const char *session, const char *channel, const char *pattern)
{
	struct wmk_ctl_rule rule = { .pattern = pattern };

	return done(WMK_CTL_ENABLE_EVENT,
		    &(struct wmk_ctl_enable_event){ .session = session, .channel = channel, .rules = { &rule, 1 } });
}

/* ── tests ───────────────────────────────────────────────────────────────────────────────────────────── */

static void unknown_requests_are_errors(void **state)
{
	const struct wmk_frame frame = { .type = 0x7777, .length = 0, .request = 3 };
	struct wmk_frame reply;
	struct wmk_out out = { 0 };
	int err;

	(void)state;
	wmk_commands_run(&scene.commands, &scene.peer, &frame, "", &out);
	memcpy(&reply, out.buf, sizeof(reply));
	assert_int_equal(reply.type, WMK_CTL_ERROR);
	assert_int_equal(reply.request, 3);
	assert_int_equal(
		wmk_error_msg_decode(out.buf + sizeof(reply), reply.length, &err, scene.words, sizeof(scene.words)), 0);
	assert_int_equal(err, ENOSYS);
	wmk_out_free(&out);
	const struct wmk_ctl_version_reply *version = ask(WMK_CTL_VERSION, &(struct wmk_empty){ 0 });
	assert_string_equal(version->version, "0.test");
	assert_int_equal(version->pid, getpid());
}

static void invalid_names_and_paths_of_sessions_are_refused(void **state)
{
	char place[128];

	(void)state;
	const struct wmk_ctl_session *is = session_in(create("one"), 0);
	snprintf(place, sizeof(place), "%s/waymark-traces/one-20", scene.home);
	assert_memory_equal(is->path, place, strlen(place));
	assert_false(is->active);
	is = session_in(create(""), 0);
	assert_memory_equal(is->name, "auto-20", 7);
	snprintf(place, sizeof(place), "%s/waymark-traces/%s", scene.home, is->name);
	assert_string_equal(is->path, place);
	is = session_in(create(""), 0);  /* usually in the same second */
	assert_memory_equal(is->name, "auto-20", 7);
	assert_int_equal(scene.changes, 3);

	refused(CREATE(.name = "one", .home = scene.home), EEXIST, "already");
	refused(CREATE(.name = "a/b", .home = scene.home), EINVAL, "without '/'");
	refused(CREATE(.name = "..", .home = scene.home), EINVAL, "..");
	refused(CREATE(.name = "two"), EINVAL, "home");
	refused(CREATE(.name = "two", .path = "relative"), EINVAL, "absolute");
	refused(CREATE(.name = "two", .path = "/tmp"), ENOTEMPTY, "not empty");
	refused(CREATE(.name = "two", .path = "/dev/null"), ENOTDIR, "not a directory");
	snprintf(place, sizeof(place), "%s///", scene.home);
	is = session_in(done(CREATE(.name = "two", .path = place)), 0);
	assert_string_equal(is->path, scene.home);
	snprintf(place, sizeof(place), "%s/.//.", scene.home);   /* another spelling of the path */
	refused(CREATE(.name = "three", .path = place), EBUSY, "session 'two'");
	refused(CREATE(.name = "five", .home = scene.home), E2BIG, "limit");
	refused(CREATE(.name = "one", .home = scene.home), EEXIST, "already");     /* checked before the limit */
	refused(START("tow"), ENOENT, "two");
	refused(START("two"), ENODATA, "enable an event first");
	assert_int_equal(which(WMK_CTL_DESTROY, "")->sessions.n, 4);
	assert_int_equal(scene.ends, 4);
	refused(START("two"), ENOENT, "create one");
}

static void unsuitable_channel_options_give_a_warning_or_an_error(void **state)
{
	struct wmk_ctl_enable_channel big = {
		.session = "s", .channel = { .name = "big", .settings.subbuf_size = 5000, .settings.n_subbufs = 3 }
	};
	struct wmk_ctl_enable_channel narrow = { .session = "s",
						 .channel = { .name = "p", .domain = { .kind = WMK_DOMAIN_PID } } };
	const struct wmk_ctl_outcome *outcome;

	(void)state;
	create("s");
	outcome = done(WMK_CTL_ENABLE_CHANNEL, &big);
	assert_true(warned(outcome, "rounded up to 8192"));
	assert_true(warned(outcome, "from 3 to 4"));
	const struct wmk_ctl_channel *channel = session_in(outcome, 0)->channels.items;
	assert_int_equal(channel->settings.subbuf_size, 8192);
	done(WMK_CTL_DISABLE_CHANNEL, &(struct wmk_ctl_disable_channel){ .session = "s", .channel = "big" });
	big.channel.settings.subbuf_size = big.channel.settings.n_subbufs = 0;
	outcome = done(WMK_CTL_ENABLE_CHANNEL, &big);
	channel = session_in(outcome, 0)->channels.items;
	assert_true(channel->enabled);
	big.channel.settings.mode = WMK_MODE_OVERWRITE;
	refused(WMK_CTL_ENABLE_CHANNEL, &big, EEXIST, "its mode cannot be changed");

	refused(WMK_CTL_ENABLE_CHANNEL, &narrow, ESRCH, "no such process: 0");
	narrow.channel.domain.pid = (uint64_t)getpid();
	outcome = done(WMK_CTL_ENABLE_CHANNEL, &narrow);
	channel = (const struct wmk_ctl_channel *)session_in(outcome, 0)->channels.items + 1;
	assert_true(channel->domain.start_time > 0);

	outcome = enable("s", "", "a:*");        /* in the only channel of its domain */
	assert_int_equal(session_in(outcome, 0)->channels.n, 2);
	assert_true(warned(outcome, "no known event matches 'a:*'"));
	refused(ENABLE_EVENT(.session = "s", .channel = "none", RULE("x")), ENOENT, "none");
	refused(ENABLE_EVENT(.session = "s", RULE("a[")), EINVAL, "[");
	refused(ENABLE_EVENT(.session = "s"), EINVAL, "names no event");
	const char *context = "vpdi";
	refused(ADD_CONTEXT(.session = "s", .channel = "big", .contexts = { &context, 1 }), EINVAL, "vpid");
	context = "vtid";
	done(ADD_CONTEXT(.session = "s", .channel = "big", .contexts = { &context, 1 }));
	const char *pattern = "a:b";
	refused(DISABLE_EVENT(.session = "s", .channel = "big", .patterns = { &pattern, 1 }), ENOENT, "a:*");
	done(DISABLE_EVENT(.session = "s", .channel = "big"));
}

static void application_events_follow_enable_and_disable_commands(void **state)
{
	struct program app;

	(void)state;
	program_open(&app, scene.shards);
	create("s");
	const struct wmk_ctl_outcome *outcome = enable("s", "", "shop:slod");
	assert_true(warned(outcome, "near: shop:sold"));
	outcome = enable("s", "", "shop:*");
	assert_int_equal(outcome->warnings.n, 0);
	assert_string_equal(((const struct wmk_ctl_channel *)session_in(outcome, 0)->channels.items)->name, "channel0");
	outcome = which(WMK_CTL_START, "s");
	assert_true(session_in(outcome, 0)->active);
	assert_int_equal(outcome->unanswered.n, 0);
	assert_int_equal(program_enabled(&app), 2);
	refused(START("s"), EALREADY, "active already");
	which(WMK_CTL_CLEAR, "s");
	assert_true(output.clears > 0);
	done(WMK_CTL_REGENERATE, &(struct wmk_ctl_regenerate){ .session = "s", .what = WMK_REGENERATE_METADATA });
	assert_int_equal(output.replaced, 1);
	done(WMK_CTL_REGENERATE, &(struct wmk_ctl_regenerate){ .session = "s", .what = WMK_REGENERATE_STATEDUMP });

	const struct wmk_ctl_apps *apps =
		ask(WMK_CTL_LIST_APPS, &(struct wmk_ctl_list_apps){ .events = true, .pattern = "shop:s*" });
	const struct wmk_ctl_app *is = apps->apps.items;
	assert_int_equal(apps->apps.n, 1);
	assert_string_equal(is->name, "shopkeeper");
	assert_int_equal(is->events.n, 2);
	assert_true(((const struct wmk_ctl_event *)is->events.items)->enabled);

	/* This daemon does not trace the kernel. */
	refused(REQUEST(WMK_CTL_LIST_KERNEL, wmk_ctl_list_kernel, .lacks = true), ENOTSUP, "does not trace the kernel");

	/* All system calls of other processes; not supported by this daemon. */
	uint64_t other = 1;
	done(WMK_CTL_TRACK, &(struct wmk_ctl_track){ .session = "s", .kind = WMK_TRACK_PID, .ids = { &other, 1 } });
	assert_int_equal(program_disabled(&app), 2);
	done(WMK_CTL_TRACK, &(struct wmk_ctl_track){ .session = "s", .kind = WMK_TRACK_PID, .all = true });
	assert_int_equal(program_enabled(&app), 4);
	done(WMK_CTL_UNTRACK, &(struct wmk_ctl_track){ .session = "s", .kind = WMK_TRACK_PID, .all = true });

	output.lost = 5;
	outcome = which(WMK_CTL_STOP, "");
	assert_true(session_in(outcome, 0)->counts.lost > 0);
	assert_true(output.flushes > 0);
	refused(WMK_CTL_STOP, &(struct wmk_ctl_session_name){ .session = "s" }, EALREADY, "not active");
	assert_int_equal(which(WMK_CTL_STOP, "")->sessions.n, 0);
	outcome = which(WMK_CTL_DESTROY, "s");
	assert_int_equal(outcome->sessions.n, 1);
	assert_true(session_in(outcome, 0)->counts.lost > 0);
	program_close(&app);
}

static void start_of_a_session_reports_that_no_trace_can_be_created(void **state)
{
	struct program app;

	(void)state;
	program_open(&app, scene.shards);
	create("s");
	enable("s", "", "shop:*");
	output.refuse = -EACCES;
	if (scene.commands.daemon != 0)  /* the recorded user is known, so the start fails at once */
		refused(START("s"), EACCES, "the test wants no trace");
	else
		assert_true(warned(which(WMK_CTL_START, "s"), "the test wants no trace"));
	output.refuse = 0;
	if (scene.commands.daemon == 0)
		which(WMK_CTL_STOP, "s");
	assert_int_equal(which(WMK_CTL_START, "s")->warnings.n, 0);
	assert_int_equal(program_enabled(&app), 2);
	which(WMK_CTL_DESTROY, "s");
	program_close(&app);
}

static void patterns_select_sessions_of_the_client(void **state)
{
	const struct wmk_ctl_list_sessions some = { .session = "n[ao]*", .glob = true };
	const struct wmk_ctl_session_name pattern = { .session = "n*", .glob = true };

	(void)state;
	create("noon");
	create("night");
	create("day");
	enable("noon", "", "a:*");
	enable("night", "", "a:*");
	assert_int_equal(done(WMK_CTL_START, &pattern)->sessions.n, 2);
	assert_int_equal(done(WMK_CTL_START, &pattern)->sessions.n, 0);   /* active already */
	assert_int_equal(done(WMK_CTL_CLEAR, &pattern)->sessions.n, 2);
	const struct wmk_ctl_sessions *sessions = ask(WMK_CTL_LIST_SESSIONS, &some);
	assert_int_equal(sessions->sessions.n, 1);
	assert_int_equal(done(WMK_CTL_STOP, &pattern)->sessions.n, 2);
	refused(WMK_CTL_STOP, &(struct wmk_ctl_session_name){ .session = "x*", .glob = true }, ENOENT,
		"no session matches 'x*'");
	refused(WMK_CTL_LIST_SESSIONS, &(struct wmk_ctl_list_sessions){ .session = "[", .glob = true }, EINVAL,
		"without a ']'");
	assert_int_equal(done(WMK_CTL_DESTROY, &pattern)->sessions.n, 2);
	assert_int_equal(which(WMK_CTL_DESTROY, "")->sessions.n, 1);
}

static void finish_later(void *data, struct wmk_session *session, bool gone)
{
	(void)data;
	scene.later++;
	wmk_tracing_update(scene.tracing, session, 0, NULL, NULL);
	if (gone)
		assert_int_equal(wmk_session_finish(session, NULL, NULL), 0);
}

static void stop_without_wait_writes_the_last_records_in_another_thread(void **state)
{
	const struct wmk_ctl_session_name no_wait = { .session = "s", .no_wait = true };

	(void)state;
	scene.commands.finish_later = finish_later;
	create("s");
	enable("s", "", "a:*");
	which(WMK_CTL_START, "s");
	assert_true(session_in(done(WMK_CTL_STOP, &no_wait), 0)->stopping);
	assert_int_equal(scene.later, 1);
	refused(WMK_CTL_STOP, &no_wait, EALREADY, "not active");
	assert_string_equal(session_in(done(WMK_CTL_DESTROY, &no_wait), 0)->name, "s");
	assert_int_equal(scene.later, 2);
	refused(DESTROY("s"), ENOENT, "no session 's'");
}

/* In root's daemon, members have sessions of their own, and see no others. */
static void group_members_control_only_their_own_sessions(void **state)
{
	const struct wmk_ctl_list_sessions all = { .session = "" };
	const struct wmk_ctl_sessions *sessions;

	(void)state;
	scene.commands.daemon = 0;
	scene.peer = (struct wmk_peer){ .pid = 1, .uid = 0 };
	done(CREATE(.name = "roots", .path = "/tmp/waymark-command-none/a"));
	if (geteuid() != 0)              /* cannot act as another user */
		skip();
	scene.peer = (struct wmk_peer){ .pid = 1, .uid = 1000, .gid = 1000, .member = true };
	const struct wmk_ctl_session *is =
		session_in(done(CREATE(.name = "mine", .path = "/tmp/waymark-command-none/b")), 0);
	assert_int_equal(is->uid, 1000);
	refused(CREATE(.name = "x", .path = "/root/x"), EACCES, "cannot write a trace in /root/x");
	output.connects = true;
	sessions = ask(WMK_CTL_LIST_SESSIONS, &all);
	assert_int_equal(sessions->sessions.n, 1);
	assert_int_equal(sessions->relays.n, 2);
	assert_string_equal(((struct wmk_ctl_relay *)sessions->relays.items)[0].session, "mine");
	assert_string_equal(((struct wmk_ctl_relay *)sessions->relays.items)[1].session, "");
	refused(WMK_CTL_LIST_SESSIONS, &(struct wmk_ctl_list_sessions){ .session = "roots" }, ENOENT,
		"no session 'roots'");
	assert_null(strstr(scene.words, "one of these"));
	refused(DESTROY("roots"), ENOENT, "roots");
	refused(WMK_CTL_SHUTDOWN, &(struct wmk_empty){ 0 }, EACCES, "only root");
	scene.peer.uid = 1001;
	refused(DESTROY("mine"), ENOENT, "mine");
	assert_int_equal(which(WMK_CTL_DESTROY, "")->sessions.n, 0);
	scene.peer = (struct wmk_peer){ .pid = 1, .uid = 1000 };         /* not a member any more */
	refused(DESTROY("mine"), ENOENT, "mine");
	scene.peer = (struct wmk_peer){ .pid = 1, .uid = 0 };
	sessions = ask(WMK_CTL_LIST_SESSIONS, &all);
	assert_int_equal(sessions->sessions.n, 2);
	assert_int_equal(sessions->relays.n, 3);
	output.connects = false;
	assert_int_equal(which(WMK_CTL_DESTROY, "")->sessions.n, 1);     /* its own, and not those of others */
	assert_non_null(ask(WMK_CTL_SHUTDOWN, &(struct wmk_empty){ 0 }));
	assert_int_equal(scene.shutdowns, 1);
	sessions = ask(WMK_CTL_LIST_SESSIONS, &all);
	assert_int_equal(sessions->sessions.n, 0);
}

/* ── limits of a reply ───────────────────────────────────────────────────────────────────────────────── */

#define MANY 500u
#define HEAVY 20u                        /* rules in one request, which holds a megabyte */
#define LONG 500u

/* Add `n` rules to the session, numbered from `first`, each with many long exclusions. The outcome, or NULL. */
static const struct wmk_ctl_outcome *enable_many(const char *session, unsigned first, unsigned n, unsigned n_exclusions)
{
	static char patterns[MANY][16];
	struct wmk_ctl_rule rules[MANY];
	const char *exclusions[64];
	char exclusion[LONG + 1];

	memset(exclusion, 'x', LONG);
	exclusion[LONG] = '\0';
	for (unsigned i = 0; i < 64; i++)
		exclusions[i] = exclusion;
	for (unsigned i = 0; i < n; i++) {
		snprintf(patterns[i], sizeof(patterns[i]), "no:%u", first + i);
		rules[i] = (struct wmk_ctl_rule){ .pattern = patterns[i], .exclusions = { exclusions, n_exclusions } };
	}
	wmk_arena_free(&scene.arena);
	return ask(ENABLE_EVENT(.session = session, .rules = { rules, n }));
}

static void warnings_beyond_the_limit_are_counted(void **state)
{
	(void)state;
	create("s");
	const struct wmk_ctl_outcome *outcome = enable_many("s", 0, MANY, 0);

	assert_non_null(outcome);
	assert_int_equal(outcome->warnings.n, WMK_CTL_WARNINGS_MAX);
	assert_true(warned(outcome, "matches 'no:254'"));
	assert_false(warned(outcome, "matches 'no:255'"));
	assert_string_equal(((const char *const *)outcome->warnings.items)[WMK_CTL_WARNINGS_MAX - 1],
			    "245 more warnings are not shown");
	which(WMK_CTL_DESTROY, "s");
}

static void sessions_of_all_users_are_limited(void **state)
{
	const struct wmk_ctl_list_sessions all = { .session = "" };
	char name[16];

	(void)state;
	for (unsigned i = 0; i < WMK_CTL_SESSIONS_MAX; i++) {
		snprintf(name, sizeof(name), "s%u", i);
		create(name);
	}
	refused(CREATE(.name = "more", .home = scene.home), E2BIG,
		"1024 sessions of all users, and the limit of each daemon is 1024");
	const struct wmk_ctl_sessions *sessions = ask(WMK_CTL_LIST_SESSIONS, &all);
	assert_non_null(sessions);
	assert_int_equal(sessions->sessions.n, WMK_CTL_SESSIONS_MAX);
	which(WMK_CTL_DESTROY, "s7");
	create("more");                  /* below the limit again */
	assert_int_equal(which(WMK_CTL_DESTROY, "")->sessions.n, WMK_CTL_SESSIONS_MAX);
	assert_int_equal(scene.tracing->n_sessions, 0);
	assert_null(scene.tracing->owners);
}

/* Sessions with the largest allowed rules can be listed, each alone and all together. */
static void sessions_with_many_rules_are_listed(void **state)
{
	const struct wmk_ctl_list_sessions all = { .session = "" };
	unsigned n = 0;

	(void)state;
	create("s");
	create("t");
	while (n < 50 * HEAVY && enable_many("s", n, HEAVY, 64))
		n += HEAVY;
	assert_int_equal(scene.err, E2BIG);
	assert_non_null(strstr(scene.words, "exceed the limit of 4 MB"));
	wmk_arena_free(&scene.arena);
	const struct wmk_ctl_sessions *sessions = ask(WMK_CTL_LIST_SESSIONS, &all);
	assert_non_null(sessions);
	const struct wmk_ctl_session *is = sessions->sessions.items;
	is += strcmp(is->name, "s") != 0;
	const struct wmk_ctl_channel *channel = is->channels.items;
	assert_in_range(channel->rules.n, n, n + HEAVY - 1);     /* some rules of the failed request were added */
	/* the limit is per user, across sessions, until one ends */
	assert_null(enable_many("t", 0, HEAVY, 64));
	assert_non_null(strstr(scene.words, "fewer sessions"));
	which(WMK_CTL_DESTROY, "s");
	assert_non_null(enable_many("t", 0, HEAVY, 64));
	assert_int_equal(which(WMK_CTL_DESTROY, "")->sessions.n, 1);
	assert_null(scene.tracing->owners);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)
	const struct CMUnitTest tests[] = {
		TEST(unknown_requests_are_errors),
		TEST(invalid_names_and_paths_of_sessions_are_refused),
		TEST(unsuitable_channel_options_give_a_warning_or_an_error),
		TEST(application_events_follow_enable_and_disable_commands),
		TEST(start_of_a_session_reports_that_no_trace_can_be_created),
		TEST(group_members_control_only_their_own_sessions),
		TEST(patterns_select_sessions_of_the_client),
		TEST(stop_without_wait_writes_the_last_records_in_another_thread),
		TEST(warnings_beyond_the_limit_are_counted),
		cmocka_unit_test_setup_teardown(sessions_of_all_users_are_limited, scene_open_large, scene_close),
		TEST(sessions_with_many_rules_are_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
