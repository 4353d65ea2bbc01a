/* SPDX-License-Identifier: MIT */
/*
 * commands.c - one function for each request (see waymark/ctl.h): it copies options into a request object. The session
 * daemon checks the values; commands.c checks only the values that it needs to build the object.
 */
#include "ctl/connection.h"

#include "base/error.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *text_or_empty(const char *given)
{
	return given ? given : "";
}

/* Make a list that refers to the array without a copy; the codec only reads the list. */
static struct wmk_list list(const void *items, unsigned n)
{
	return (struct wmk_list){ (void *)(uintptr_t)items, items ? n : 0 };
}

const char *waymark_ctl_level_name(uint32_t level)
{
	for (unsigned i = 0; i < wmk_ctl_event_object.n_members; i++) {
		const struct wmk_member *m = &wmk_ctl_event_object.members[i];

		if (strcmp(m->name, "level") == 0)
			return level < m->n_names ? m->names[level] : NULL;
	}
	return NULL;
}

int wmk_ctl_home(char *buf, size_t size)
{
	const char *home = secure_getenv("HOME");
	char strings[4096];
	struct passwd entry, *found = NULL;

	if (!home || *home != '/') {
		getpwuid_r(geteuid(), &entry, strings, sizeof(strings), &found);
		home = found ? found->pw_dir : NULL;
	}
	if (!home || *home != '/')
		return wmk_errorx(-ENOENT, "cannot find your home directory: set HOME");
	if (strlen(home) >= size)
		return wmk_error(-ENAMETOOLONG, "the path of your home directory has more than %zu bytes", size - 1);
	strcpy(buf, home);
	return 0;
}

/* ── sessions ────────────────────────────────────────────────────────────────────────────────────────── */

int waymark_ctl_create(struct waymark_ctl *ctl, const struct waymark_ctl_create_options *given,
		       struct waymark_ctl_result **result)
{
	struct waymark_ctl_create_options o;
	char home[WMK_OBJECT_TEXT_MAX + 1];

	int err = WMK_CTL_OPTIONS(&o, given, "create", result);
	if (err == 0 && !o.home)
		err = wmk_ctl_home(home, sizeof(home));
	if (err < 0)
		return err;
	const struct wmk_ctl_create request = {
		.name = o.name,
		.path = o.path,
		.home = o.home ? o.home : home,
		.settings.max_size = o.max_size,
		.settings.trace_format = o.trace_format,
		.settings.clock = o.clock,
		.settings.no_statedump = o.no_statedump,
		.settings.shm_path = o.shm_path,
		.settings.description = o.description,
		.settings.flush_us = o.flush_us,
		.settings.snapshot = o.snapshot,
		.settings.compress = o.compress,
		.settings.url = o.url,
		.settings.spool_size = o.spool_size,
	};
	return wmk_ctl_request(ctl, WMK_CTL_CREATE, &request, result);
}

int waymark_ctl_snapshot_record(struct waymark_ctl *ctl, const struct waymark_ctl_snapshot_options *given,
				struct waymark_ctl_result **result)
{
	struct waymark_ctl_snapshot_options o;
	int err = WMK_CTL_OPTIONS(&o, given, "snapshot", result);

	if (err < 0)
		return err;
	const struct wmk_ctl_snapshot request = { o.session, o.name, o.path, o.max_size, o.reason, o.program, o.pid };
	return wmk_ctl_request(ctl, WMK_CTL_SNAPSHOT, &request, result);
}

int waymark_ctl_snapshot_add_output(struct waymark_ctl *ctl, const struct waymark_ctl_snapshot_options *given,
				    struct waymark_ctl_result **result)
{
	struct waymark_ctl_snapshot_options o;
	int err = WMK_CTL_OPTIONS(&o, given, "snapshot-output", result);

	if (err < 0)
		return err;
	const struct wmk_ctl_snapshot_output request = { o.session, o.name, o.path, o.max_size, false };
	return wmk_ctl_request(ctl, WMK_CTL_SNAPSHOT_OUTPUT, &request, result);
}

int waymark_ctl_snapshot_del_output(struct waymark_ctl *ctl, const char *session, const char *name,
				    struct waymark_ctl_result **result)
{
	const struct wmk_ctl_snapshot_output request = { .session = session, .name = name, .remove = true };

	return wmk_ctl_request(ctl, WMK_CTL_SNAPSHOT_OUTPUT, &request, result);
}

static int on_session(struct waymark_ctl *ctl, uint16_t type, const char *session, struct waymark_ctl_result **result)
{
	const struct wmk_ctl_session_name request = { .session = session };

	return wmk_ctl_request(ctl, type, &request, result);
}

int waymark_ctl_destroy(struct waymark_ctl *ctl, const char *session, struct waymark_ctl_result **result)
{
	return on_session(ctl, WMK_CTL_DESTROY, session, result);
}

int waymark_ctl_start(struct waymark_ctl *ctl, const char *session, struct waymark_ctl_result **result)
{
	return on_session(ctl, WMK_CTL_START, session, result);
}

int waymark_ctl_stop(struct waymark_ctl *ctl, const char *session, struct waymark_ctl_result **result)
{
	return on_session(ctl, WMK_CTL_STOP, session, result);
}

int waymark_ctl_clear(struct waymark_ctl *ctl, const char *session, struct waymark_ctl_result **result)
{
	return on_session(ctl, WMK_CTL_CLEAR, session, result);
}

int waymark_ctl_rotate(struct waymark_ctl *ctl, const char *session, struct waymark_ctl_result **result)
{
	return on_session(ctl, WMK_CTL_ROTATE, session, result);
}

int waymark_ctl_enable_rotation(struct waymark_ctl *ctl, const struct waymark_ctl_rotation_options *given,
				struct waymark_ctl_result **result)
{
	struct waymark_ctl_rotation_options o;
	int err = WMK_CTL_OPTIONS(&o, given, "rotation", result);

	if (err < 0)
		return err;
	const struct wmk_ctl_rotation request = {
		.session = o.session, .rotate_us = o.rotate_us, .rotate_size = o.rotate_size,
		.retain_size = o.retain_size, .retain_us = o.retain_us, .retain_count = o.retain_count,
	};
	return wmk_ctl_request(ctl, WMK_CTL_ROTATION, &request, result);
}

int waymark_ctl_disable_rotation(struct waymark_ctl *ctl, const char *session, uint32_t parts,
				 struct waymark_ctl_result **result)
{
	const uint32_t all = WAYMARK_CTL_ROTATION_TIMER | WAYMARK_CTL_ROTATION_SIZE | WAYMARK_CTL_ROTATION_RETENTION;
	const struct wmk_ctl_rotation request = { .session = session, .off = parts ? parts : all };

	return wmk_ctl_request(ctl, WMK_CTL_ROTATION, &request, result);
}

int waymark_ctl_reclaim_memory(struct waymark_ctl *ctl, const char *session, const char *const *channels, unsigned n,
			       uint64_t idle_us, struct waymark_ctl_result **result)
{
	const struct wmk_ctl_reclaim request = { session, list(channels, n), idle_us };

	return wmk_ctl_request(ctl, WMK_CTL_RECLAIM, &request, result);
}

int waymark_ctl_list_sessions(struct waymark_ctl *ctl, const char *session, struct waymark_ctl_result **result)
{
	const struct wmk_ctl_list_sessions request = { .session = session };

	return wmk_ctl_request(ctl, WMK_CTL_LIST_SESSIONS, &request, result);
}

int waymark_ctl_on_sessions(struct waymark_ctl *ctl, const struct waymark_ctl_sessions_options *given,
			    struct waymark_ctl_result **result)
{
	static const uint16_t types[] = {
		[WAYMARK_CTL_DO_START] = WMK_CTL_START, [WAYMARK_CTL_DO_STOP] = WMK_CTL_STOP,
		[WAYMARK_CTL_DO_CLEAR] = WMK_CTL_CLEAR, [WAYMARK_CTL_DO_DESTROY] = WMK_CTL_DESTROY,
	};
	struct waymark_ctl_sessions_options o;
	int err = WMK_CTL_OPTIONS(&o, given, "sessions", result);

	if (err < 0)
		return err;
	if (o.request > WAYMARK_CTL_DO_LIST)
		return wmk_error(-EINVAL, "sessions: unknown request %u", o.request);
	if (o.glob && *text_or_empty(o.session))
		return wmk_error(-EINVAL, "sessions: a name and a pattern exclude each other");
	if (o.no_wait && o.request != WAYMARK_CTL_DO_STOP && o.request != WAYMARK_CTL_DO_DESTROY)
		return wmk_error(-EINVAL, "sessions: no_wait is valid only for STOP and DESTROY");
	if (o.request == WAYMARK_CTL_DO_LIST) {
		const struct wmk_ctl_list_sessions request = { .session = o.glob ? o.glob : o.session,
							       .glob = o.glob != NULL };

		return wmk_ctl_request(ctl, WMK_CTL_LIST_SESSIONS, &request, result);
	}
	const struct wmk_ctl_session_name request = { .session = o.glob ? o.glob : o.session,
						      .glob = o.glob != NULL,
						      .no_wait = o.no_wait };

	return wmk_ctl_request(ctl, types[o.request], &request, result);
}

int waymark_ctl_regenerate(struct waymark_ctl *ctl, const char *session, uint32_t what,
			   struct waymark_ctl_result **result)
{
	const struct wmk_ctl_regenerate request = { .session = session, .what = what };

	return wmk_ctl_request(ctl, WMK_CTL_REGENERATE, &request, result);
}

static int tracking(struct waymark_ctl *ctl, uint16_t type, const char *what,
		    const struct waymark_ctl_track_options *given, struct waymark_ctl_result **result)
{
	struct waymark_ctl_track_options o;

	int err = WMK_CTL_OPTIONS(&o, given, what, result);
	if (err < 0)
		return err;
	const struct wmk_ctl_track request = {
		.session = o.session, .kind = o.kind, .all = o.all, .ids = list(o.ids, o.n_ids)
	};
	return wmk_ctl_request(ctl, type, &request, result);
}

int waymark_ctl_track(struct waymark_ctl *ctl, const struct waymark_ctl_track_options *options,
		      struct waymark_ctl_result **result)
{
	return tracking(ctl, WMK_CTL_TRACK, "track", options, result);
}

int waymark_ctl_untrack(struct waymark_ctl *ctl, const struct waymark_ctl_track_options *options,
			struct waymark_ctl_result **result)
{
	return tracking(ctl, WMK_CTL_UNTRACK, "untrack", options, result);
}

/* ── channels and events ─────────────────────────────────────────────────────────────────────────────── */

/* Copy the options of a domain. NULL: the user domain. */
static int domain_make(const struct waymark_ctl_domain *given, const char *what, struct wmk_ctl_domain *domain)
{
	struct waymark_ctl_domain d = { 0 };
	int err = given ? WMK_CTL_OPTIONS(&d, given, what, NULL) : 0;

	*domain = (struct wmk_ctl_domain){ .kind = d.kind, .follow = d.follow, .pid = d.pid, .exec = d.exec };
	return err;
}

/* Copy the options of a request about events, and the domain in these options. */
static int events_begin(const struct waymark_ctl_events_options *given, const char *what,
			struct waymark_ctl_events_options *o, struct wmk_ctl_domain *domain,
			struct waymark_ctl_result **result)
{
	const int err = WMK_CTL_OPTIONS(o, given, what, result);

	return err == 0 ? domain_make(o->domain, what, domain) : err;
}

int waymark_ctl_enable_channel(struct waymark_ctl *ctl, const struct waymark_ctl_channel_options *given,
			       struct waymark_ctl_result **result)
{
	struct waymark_ctl_channel_options o;
	struct wmk_ctl_enable_channel request;

	int err = WMK_CTL_OPTIONS(&o, given, "enable-channel", result);
	if (err == 0)
		err = domain_make(o.domain, "enable-channel", &request.channel.domain);
	if (err < 0)
		return err;
	request = (struct wmk_ctl_enable_channel){
		.session = o.session,
		.channel = {
			.name = *text_or_empty(o.name) ? o.name : "channel0",
			.domain = request.channel.domain,
			.settings = { .mode = o.mode, .buffers = o.buffers,
				      .subbuf_size = o.subbuf_size, .n_subbufs = o.n_subbufs,
				      .blocking_us = o.blocking_us, .field_limit = o.field_limit,
				      .flush_us = o.flush_us,
				      .allocation = o.allocation, .preallocation = o.preallocation,
				      .poll_us = o.poll_us, .reclaim_us = o.reclaim_us,
				      .tracefile_size = o.tracefile_size, .tracefile_count = o.tracefile_count,
				      .call_arguments = o.call_arguments },
			.contexts = list(o.contexts, o.n_contexts),
			.enabled = true,
		},
	};
	return wmk_ctl_request(ctl, WMK_CTL_ENABLE_CHANNEL, &request, result);
}

int waymark_ctl_disable_channel(struct waymark_ctl *ctl, const struct waymark_ctl_events_options *given,
				struct waymark_ctl_result **result)
{
	struct waymark_ctl_events_options o;
	struct wmk_ctl_domain domain;

	const int err = events_begin(given, "disable-channel", &o, &domain, result);

	if (err < 0)
		return err;
	const struct wmk_ctl_disable_channel request = { o.session, o.channel, domain };
	return wmk_ctl_request(ctl, WMK_CTL_DISABLE_CHANNEL, &request, result);
}

/*
 * Copy rules. The `size` of the first rule is the distance between two rules in memory, so all rules must have this
 * size.
 */
static int rules_make(const struct waymark_ctl_events_options *o, struct wmk_list *rules, struct wmk_arena *arena)
{
	const uint8_t *at = (const void *)o->rules;

	for (unsigned i = 0; i < o->n_rules && at; i++) {
		struct waymark_ctl_rule r;
		int err = WMK_CTL_OPTIONS(&r, (const void *)(at + i * o->rules->size), "enable-event", NULL);
		struct wmk_ctl_rule *to = err < 0 ? NULL : wmk_arena_append(arena, rules, sizeof(*to));

		if (err == 0 && r.size != o->rules->size)
			err = wmk_error(-EINVAL, "enable-event: the rules have different values of 'size'");
		if (err < 0 || !to)
			return err < 0 ? err : -ENOMEM;
		/* `level` of the request is the more severe level, which has the smaller number */
		bool swap = r.level_op == WAYMARK_CTL_BETWEEN && r.level > r.level_to;
		*to = (struct wmk_ctl_rule){
			.pattern = r.pattern,
			.exclusions = list(r.exclusions, r.n_exclusions),
			.level_op = r.level_op,
			.level = swap ? r.level_to : r.level,
			.level_to = swap ? r.level : r.level_to,
			.filter = r.filter,
			.enabled = true,
			.probe = r.probe,
			.place = r.place,
		};
	}
	return 0;
}

int waymark_ctl_enable_event(struct waymark_ctl *ctl, const struct waymark_ctl_events_options *given,
			     struct waymark_ctl_result **result)
{
	struct waymark_ctl_events_options o;
	struct wmk_ctl_enable_event request = { 0 };
	struct wmk_arena arena = { 0 };

	int err = events_begin(given, "enable-event", &o, &request.domain, result);
	if (err == 0 && o.n_rules > 0 && !o.rules)
		err = wmk_error(-EINVAL, "enable-event: no rules are given");
	if (err == 0)
		err = rules_make(&o, &request.rules, &arena);
	if (err == 0) {
		request.session = o.session;
		request.channel = o.channel;
		err = wmk_ctl_request(ctl, WMK_CTL_ENABLE_EVENT, &request, result);
	}
	wmk_arena_free(&arena);
	return err;
}

int waymark_ctl_disable_event(struct waymark_ctl *ctl, const struct waymark_ctl_events_options *given,
			      struct waymark_ctl_result **result)
{
	struct waymark_ctl_events_options o;
	struct wmk_ctl_domain domain;

	const int err = events_begin(given, "disable-event", &o, &domain, result);

	if (err < 0)
		return err;
	const struct wmk_ctl_disable_event request = { o.session, o.channel, domain, list(o.patterns, o.n_patterns) };
	return wmk_ctl_request(ctl, WMK_CTL_DISABLE_EVENT, &request, result);
}

int waymark_ctl_add_context(struct waymark_ctl *ctl, const struct waymark_ctl_events_options *given,
			    struct waymark_ctl_result **result)
{
	struct waymark_ctl_events_options o;
	struct wmk_ctl_domain domain;

	const int err = events_begin(given, "add-context", &o, &domain, result);

	if (err < 0)
		return err;
	const struct wmk_ctl_add_context request = { o.session, o.channel, domain, list(o.contexts, o.n_contexts) };
	return wmk_ctl_request(ctl, WMK_CTL_ADD_CONTEXT, &request, result);
}

/* ── applications, the kernel, the daemon ────────────────────────────────────────────────────────────── */

int waymark_ctl_list_apps(struct waymark_ctl *ctl, const struct waymark_ctl_apps_options *given,
			  struct waymark_ctl_result **result)
{
	struct waymark_ctl_apps_options o = { 0 };

	int err = given ? WMK_CTL_OPTIONS(&o, given, "list-apps", result) : 0;
	if (err < 0)
		return err;
	const struct wmk_ctl_list_apps request = { .events = o.events, .pattern = o.pattern, .pid = o.pid };
	return wmk_ctl_request(ctl, WMK_CTL_LIST_APPS, &request, result);
}

int waymark_ctl_list_kernel(struct waymark_ctl *ctl, const struct waymark_ctl_kernel_options *given,
			    struct waymark_ctl_result **result)
{
	struct waymark_ctl_kernel_options o = { 0 };

	int err = given ? WMK_CTL_OPTIONS(&o, given, "list-kernel", result) : 0;
	if (err < 0)
		return err;
	const struct wmk_ctl_list_kernel request = { .patterns = list(o.patterns, o.n_patterns),
						     .fields = o.fields,
						     .lacks = o.lacks };
	return wmk_ctl_request(ctl, WMK_CTL_LIST_KERNEL, &request, result);
}

int waymark_ctl_version(struct waymark_ctl *ctl, struct waymark_ctl_result **result)
{
	const struct wmk_empty request = { 0 };

	return wmk_ctl_request(ctl, WMK_CTL_VERSION, &request, result);
}

int waymark_ctl_shutdown(struct waymark_ctl *ctl)
{
	const struct wmk_empty request = { 0 };

	int err = wmk_ctl_request(ctl, WMK_CTL_SHUTDOWN, &request, NULL);
	return err < 0 ? err : wmk_ctl_wait_for_end(ctl);
}
