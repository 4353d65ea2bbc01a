/* SPDX-License-Identifier: MIT */
/*
 * fake_ctl.c - see fake_ctl.h.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_ctl.h"

struct waymark_ctl {
	int unused;
};

struct waymark_ctl_result {
	char session[64];            /* "": all */
};

struct fake fake;

static void __attribute__((format(printf, 1, 2))) note(const char *format, ...)
{
	size_t len = strlen(fake.asked);
	va_list ap;

	va_start(ap, format);
	vsnprintf(fake.asked + len, sizeof(fake.asked) - len, format, ap);
	va_end(ap);
}

static int answer(const char *session, int rc, struct waymark_ctl_result **result)
{
	if (result)
		*result = NULL;
	if (rc < 0 || !result)
		return rc;
	*result = calloc(1, sizeof(**result));
	snprintf((*result)->session, sizeof((*result)->session), "%s", session ? session : "");
	fake.results++;
	return rc;
}

static const char *or_all(const char *text)
{
	return text && *text ? text : "ALL";
}

/* ── the connection, errors, results ─────────────────────────────────────────────────────────────────── */

const char *waymark_ctl_error_text(char *buf, size_t size)
{
	snprintf(buf, size, "%s", fake.error ? fake.error : "");
	return buf;
}

const char *waymark_ctl_error(unsigned index)
{
	return index == 0 ? fake.error : NULL;
}

const char *waymark_ctl_level_name(uint32_t level)
{
	static const char *const names[] = { "emerg",          "alert",         "crit",         "err",
					     "warning",        "notice",        "info",         "debug_system",
					     "debug_program",  "debug_process", "debug_module", "debug_unit",
					     "debug_function", "debug_line",    "debug" };

	return level < WAYMARK_CTL_LEVELS ? names[level] : NULL;
}

int waymark_ctl_connect(const struct waymark_ctl_connect_options *options, struct waymark_ctl **ctl)
{
	fake.connects++;
	fake.starts += !options || options->start == WAYMARK_CTL_START_IF_NONE;
	*ctl = calloc(1, sizeof(**ctl));
	return 0;
}

void waymark_ctl_close(struct waymark_ctl *ctl)
{
	free(ctl);
}

const char *waymark_ctl_rundir(const struct waymark_ctl *ctl)
{
	(void)ctl;
	return "/";
}

void waymark_ctl_set_timeout(struct waymark_ctl *ctl, int timeout_ms)
{
	(void)ctl;
	(void)timeout_ms;
}

bool waymark_ctl_started(const struct waymark_ctl *ctl)
{
	(void)ctl;
	return false;
}

void waymark_ctl_result_free(struct waymark_ctl_result *result)
{
	fake.results -= result != NULL;
	free(result);
}

unsigned waymark_ctl_result_sessions(const struct waymark_ctl_result *result,
				     const struct waymark_ctl_session_info *const **sessions)
{
	static const struct waymark_ctl_session_info *found[FAKE_MAX];
	unsigned n = 0;

	for (unsigned i = 0; i < fake.n_sessions; i++)
		if (!result->session[0] || strcmp(result->session, fake.sessions[i]->name) == 0)
			found[n++] = fake.sessions[i];
	*sessions = found;
	return n;
}

unsigned waymark_ctl_result_apps(const struct waymark_ctl_result *result,
				 const struct waymark_ctl_app_info *const **apps)
{
	(void)result;
	*apps = fake.apps;
	return fake.n_apps;
}

unsigned waymark_ctl_result_events(const struct waymark_ctl_result *result,
				   const struct waymark_ctl_event_info *const **events)
{
	(void)result;
	*events = fake.events;
	return fake.n_events;
}

unsigned waymark_ctl_result_relays(const struct waymark_ctl_result *result,
				   const struct waymark_ctl_relay_info *const **relays)
{
	(void)result;
	*relays = fake.relays;
	return fake.n_relays;
}

unsigned waymark_ctl_result_lacks(const struct waymark_ctl_result *result, const char *const **lacks)
{
	(void)result;
	*lacks = fake.lacks;
	return fake.n_lacks;
}

const char *waymark_ctl_result_kernel_clock(const struct waymark_ctl_result *result)
{
	(void)result;
	return "x86-tsc";
}

unsigned waymark_ctl_result_unanswered(const struct waymark_ctl_result *result,
				       const struct waymark_ctl_app_info *const **apps)
{
	(void)result;
	*apps = fake.unanswered;
	return fake.n_unanswered;
}

unsigned waymark_ctl_result_warnings(const struct waymark_ctl_result *result, const char *const **warnings)
{
	(void)result;
	*warnings = fake.warnings;
	return fake.n_warnings;
}

unsigned waymark_ctl_result_files(const struct waymark_ctl_result *result, const char *const **files)
{
	static const char *const file[] = { "/saved/one.json" };

	(void)result;
	*files = file;
	return 1;
}

int waymark_ctl_result_print_json(const struct waymark_ctl_result *result, FILE *to)
{
	fprintf(to, "{\"about\":\"%s\"}\n", result->session);
	return 0;
}

/* ── requests ────────────────────────────────────────────────────────────────────────────────────────── */

int waymark_ctl_create(struct waymark_ctl *ctl, const struct waymark_ctl_create_options *options,
		       struct waymark_ctl_result **result)
{
	(void)ctl;
	note("create %s %s %s", or_all(options->name), options->path ? options->path : "-", options->home);
	if (options->flush_us)
		note(" live %lld", (long long)options->flush_us);
	note("; ");
	return answer(options->name, fake.rc, result);
}

#define SESSION_REQUEST(name) \
	int waymark_ctl_##name(struct waymark_ctl *ctl, const char *session, struct waymark_ctl_result **result) \
	{ \
		(void)ctl; \
		note(#name " %s; ", or_all(session)); \
		return answer(session, fake.rc, result); \
	}
SESSION_REQUEST(destroy)
SESSION_REQUEST(start)
SESSION_REQUEST(rotate)

int waymark_ctl_reclaim_memory(struct waymark_ctl *ctl, const char *session, const char *const *channels, unsigned n,
			       uint64_t idle_us, struct waymark_ctl_result **result)
{
	(void)ctl;
	note("reclaim-memory %s", session);
	for (unsigned i = 0; i < n; i++)
		note(" %s", channels[i]);
	note(" %llu; ", (unsigned long long)idle_us);
	return answer(session, fake.rc, result);
}

int waymark_ctl_enable_rotation(struct waymark_ctl *ctl, const struct waymark_ctl_rotation_options *options,
				struct waymark_ctl_result **result)
{
	(void)ctl;
	note("enable-rotation %s %llu %llu %llu %llu %llu; ", or_all(options->session),
	     (unsigned long long)options->rotate_us, (unsigned long long)options->rotate_size,
	     (unsigned long long)options->retain_size, (unsigned long long)options->retain_us,
	     (unsigned long long)options->retain_count);
	return answer(options->session, fake.rc, result);
}

int waymark_ctl_disable_rotation(struct waymark_ctl *ctl, const char *session, uint32_t parts,
				 struct waymark_ctl_result **result)
{
	(void)ctl;
	note("disable-rotation %s %u; ", or_all(session), parts);
	return answer(session, fake.rc, result);
}

int waymark_ctl_list_sessions(struct waymark_ctl *ctl, const char *session, struct waymark_ctl_result **result)
{
	(void)ctl;
	for (unsigned i = 0; i < fake.n_sessions; i++)
		if (!session || !*session || strcmp(session, fake.sessions[i]->name) == 0)
			return answer(session, 0, result);
	return answer(session, session && *session ? -2 : 0, result);
}

int waymark_ctl_on_sessions(struct waymark_ctl *ctl, const struct waymark_ctl_sessions_options *options,
			    struct waymark_ctl_result **result)
{
	static const char *const names[] = { "start", "stop", "clear", "destroy" };

	if (options->request == WAYMARK_CTL_DO_LIST) {
		if (options->glob)
			note("list glob %s; ", options->glob);
		return waymark_ctl_list_sessions(ctl, options->session, result);
	}
	note("%s %s%s%s; ", names[options->request], options->glob ? "glob " : "",
	     options->glob ? options->glob : or_all(options->session), options->no_wait ? " no-wait" : "");
	return answer(options->session, fake.rc, result);
}

int waymark_ctl_list_apps(struct waymark_ctl *ctl, const struct waymark_ctl_apps_options *options,
			  struct waymark_ctl_result **result)
{
	(void)ctl;
	if (options)
		note("apps %d %llu; ", options->events, (unsigned long long)options->pid);
	return answer(NULL, 0, result);
}

int waymark_ctl_list_kernel(struct waymark_ctl *ctl, const struct waymark_ctl_kernel_options *options,
			    struct waymark_ctl_result **result)
{
	(void)ctl;
	note("kernel %d %d", options->fields, options->lacks);
	for (unsigned i = 0; i < options->n_patterns; i++)
		note(" %s", options->patterns[i]);
	note("; ");
	return answer(NULL, fake.kernel_rc, result);
}

int waymark_ctl_version(struct waymark_ctl *ctl, struct waymark_ctl_result **result)
{
	(void)ctl;
	*result = NULL;
	return -ENOTSUP;                 /* callers must handle the error */
}

const struct waymark_ctl_version_info *waymark_ctl_result_version(const struct waymark_ctl_result *result)
{
	(void)result;
	return NULL;
}

int waymark_ctl_shutdown(struct waymark_ctl *ctl)
{
	(void)ctl;
	note("shutdown; ");
	return fake.rc;
}

static int snapshot_answer(const char *what, const struct waymark_ctl_snapshot_options *o,
			   struct waymark_ctl_result **result)
{
	note("%s %s %s %s %llu; ", what, o->session, o->name ? o->name : "-", o->path ? o->path : "-",
	     (unsigned long long)o->max_size);
	return answer(o->session, fake.rc, result);
}

int waymark_ctl_snapshot_record(struct waymark_ctl *ctl, const struct waymark_ctl_snapshot_options *o,
				struct waymark_ctl_result **result)
{
	(void)ctl;
	return snapshot_answer("snapshot", o, result);
}

int waymark_ctl_snapshot_add_output(struct waymark_ctl *ctl, const struct waymark_ctl_snapshot_options *o,
				    struct waymark_ctl_result **result)
{
	(void)ctl;
	return snapshot_answer("add-output", o, result);
}

int waymark_ctl_snapshot_del_output(struct waymark_ctl *ctl, const char *session, const char *name,
				    struct waymark_ctl_result **result)
{
	(void)ctl;
	note("del-output %s %s; ", session, name ? name : "-");
	return answer(session, fake.rc, result);
}

const struct waymark_ctl_snapshot_info *waymark_ctl_result_snapshot(const struct waymark_ctl_result *result)
{
	static const struct waymark_ctl_snapshot_info one = { "/tmp/snapshot-1", 3, 200, 5 };

	(void)result;
	return &one;
}

int waymark_ctl_regenerate(struct waymark_ctl *ctl, const char *session, uint32_t what,
			   struct waymark_ctl_result **result)
{
	(void)ctl;
	note("regenerate %s %u; ", session, what);
	return answer(session, fake.rc, result);
}

static int track(const char *name, const struct waymark_ctl_track_options *options, struct waymark_ctl_result **result)
{
	note("%s %s %u%s", name, options->session, options->kind, options->all ? " all" : "");
	for (unsigned i = 0; i < options->n_ids; i++)
		note(" %llu", (unsigned long long)options->ids[i]);
	note("; ");
	const bool good = fake.good > 0;

	fake.good -= good;
	return answer(options->session, good ? 0 : fake.rc, result);
}

int waymark_ctl_track(struct waymark_ctl *ctl, const struct waymark_ctl_track_options *options,
		      struct waymark_ctl_result **result)
{
	(void)ctl;
	return track("track", options, result);
}

int waymark_ctl_untrack(struct waymark_ctl *ctl, const struct waymark_ctl_track_options *options,
			struct waymark_ctl_result **result)
{
	(void)ctl;
	return track("untrack", options, result);
}

static void note_domain(const struct waymark_ctl_domain *domain)
{
	if (domain->kind == WAYMARK_CTL_KERNEL)
		note(" kernel");
	if (domain->kind == WAYMARK_CTL_PID || (domain->kind == WAYMARK_CTL_KERNEL && domain->pid))
		note(" pid %llu", (unsigned long long)domain->pid);
	if (domain->kind == WAYMARK_CTL_EXEC)
		note(" exec %s", domain->exec);
	if (domain->follow)
		note(" follow");
}

int waymark_ctl_enable_channel(struct waymark_ctl *ctl, const struct waymark_ctl_channel_options *options,
	struct waymark_ctl_result **result)
{
	(void)ctl;
	note("enable-channel %s %s", options->session, options->name);
	note_domain(options->domain);
	note(" mode %u buffers %u %llu x %llu block %lld files %llu x %llu; ", options->mode, options->buffers,
	     (unsigned long long)options->n_subbufs, (unsigned long long)options->subbuf_size,
	     (long long)options->blocking_us, (unsigned long long)options->tracefile_count,
	     (unsigned long long)options->tracefile_size);
	if (options->allocation || options->preallocation || options->poll_us)
		note("allocation %u %u poll %llu; ", options->allocation, options->preallocation,
		     (unsigned long long)options->poll_us);
	if (options->reclaim_us)
		note("idle %llu; ", (unsigned long long)options->reclaim_us);
	return answer(options->session, fake.rc, result);
}

static int events(const char *name, const struct waymark_ctl_events_options *options,
		  struct waymark_ctl_result **result)
{
	note("%s %s %s", name, options->session, options->channel ? options->channel : "-");
	note_domain(options->domain);
	for (unsigned i = 0; i < options->n_rules; i++) {
		const struct waymark_ctl_rule *rule = &options->rules[i];

		note(" %s", rule->pattern);
		for (unsigned k = 0; k < rule->n_exclusions; k++)
			note("!%s", rule->exclusions[k]);
		if (rule->filter)
			note(" if %s", rule->filter);
		if (rule->level_op)
			note(" level %u %u %u", rule->level_op, rule->level, rule->level_to);
		if (rule->probe)
			note(" probe %u %s", rule->probe, rule->place);
	}
	for (unsigned i = 0; i < options->n_patterns; i++)
		note(" %s", options->patterns[i]);
	for (unsigned i = 0; i < options->n_contexts; i++)
		note(" %s", options->contexts[i]);
	note("; ");
	return answer(options->session, fake.rc, result);
}

#define EVENTS_REQUEST(function, name) \
	int waymark_ctl_##function(struct waymark_ctl *ctl, const struct waymark_ctl_events_options *options, \
				   struct waymark_ctl_result **result) \
	{ \
		(void)ctl; \
		return events(name, options, result); \
	}
EVENTS_REQUEST(disable_channel, "disable-channel")
EVENTS_REQUEST(enable_event, "enable-event")
EVENTS_REQUEST(disable_event, "disable-event")
EVENTS_REQUEST(add_context, "add-context")

int waymark_ctl_save(struct waymark_ctl *ctl, const struct waymark_ctl_save_options *options,
		     struct waymark_ctl_result **result)
{
	(void)ctl;
	note("save %s %s%s; ", or_all(options->session), options->path ? options->path : "-",
	     options->replace ? " replace" : "");
	return answer(options->session, fake.rc, result);
}

int waymark_ctl_load(struct waymark_ctl *ctl, const struct waymark_ctl_load_options *options,
		     struct waymark_ctl_result **result)
{
	(void)ctl;
	note("load %s %s%s name %s output %s%s; ", or_all(options->session), options->path ? options->path : "-",
	     options->replace ? " replace" : "", options->name ? options->name : "-",
	     options->output ? options->output : "-", options->default_output ? " default" : "");
	return answer(options->session, fake.rc, result);
}
