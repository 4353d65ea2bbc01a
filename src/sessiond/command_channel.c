/* SPDX-License-Identifier: MIT */
/*
 * command_channel.c - commands that select what a session records: channels, events, contexts, trackers.
 */
#include "sessiond/command_request.h"

#include "base/error.h"
#include "base/nearest.h"
#include "ctf/writer.h"
#include "kernel/proc/pids.h"
#include "session/kernel/kernel_channel.h"
#include "session/kernel/kernel_filter.h"
#include "session/kernel/kernel_syscalls.h"
#include "session/model/channel_options.h"
#include "session/model/process_stat.h"
#include "session/model/ring_layout.h"
#include "session/model/session_model.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_CHANNEL "channel0"
#define IDLE_MAX_US 1000000000000000u /* 31 years */
#define FOREIGN_MAX 64u               /* pids of another PID namespace in one request */

static bool is_of_process(const struct wmk_ctl_domain *domain)
{
	return domain->kind == WMK_DOMAIN_PID || (domain->kind == WMK_DOMAIN_KERNEL && domain->pid);
}

/*
 * Find an existing channel, which may belong to a process that has ended. The function first interprets the pid of the
 * request in the client's PID namespace. If no channel matches, the function interprets the pid in the daemon's PID
 * namespace, because lists show pids of this namespace.
 */
static int channel_find(const struct command_request *cmd, struct wmk_session *session, struct wmk_ctl_domain domain,
			const char *name, struct wmk_session_channel **channel)
{
	const uint64_t given = domain.pid;
	pid_t pid;
	int err;

	domain.start_time = 0;
	if (is_of_process(&domain) && wmk_kpids_of(cmd->peer->pid, domain.pid, &pid) == 0)
		domain.pid = (uint64_t)pid;
	err = wmk_session_channel_find(session, &domain, name, channel);
	if (err < 0 && domain.pid != given) {
		domain.pid = given;
		err = wmk_session_channel_find(session, &domain, name, channel);
	}
	return err;
}

/* Add the start time of the process to the domain, so that a later process with the same pid does not match. */
static int domain_complete(const struct command_request *cmd, struct wmk_ctl_domain *domain)
{
	uint64_t start_time;
	pid_t parent, pid;
	char state;
	int err;

	domain->start_time = 0;
	if (!is_of_process(domain))
		return 0;
#ifdef WMK_PLANTED_BUG_COMMAND               /* the fuzzer must find this */
	static volatile char seen[64];
	if (seen[domain->pid])
		return 0;
#endif
	err = wmk_kpids_of(cmd->peer->pid, domain->pid, &pid);
	if (err < 0)
		return err;
	if (!wmk_process_stat(pid, &parent, &start_time, &state))
		return wmk_error(-ESRCH, "no such process: %" PRIu64, domain->pid);
	domain->pid = (uint64_t)pid;
	domain->start_time = start_time;
	return 0;
}

/* ── channels ────────────────────────────────────────────────────────────────────────────────────────── */

static const char *differs(const struct wmk_ctl_channel *wanted, const struct wmk_ctl_channel *channel)
{
	const struct wmk_ctl_channel_settings *given = &wanted->settings, *has = &channel->settings;

	if (given->mode != has->mode)
		return "its mode";
	if (wmk_channel_buffers(wanted) != has->buffers)
		return "the owner of its buffers";
	if ((given->subbuf_size && given->subbuf_size != has->subbuf_size) ||
	    (given->n_subbufs && given->n_subbufs != has->n_subbufs))
		return "its sub-buffers";
	if (given->blocking_us != has->blocking_us)
		return "its blocking timeout";
	if (given->field_limit && given->field_limit != has->field_limit)
		return "its field limit";
	if (given->flush_us && given->flush_us != has->flush_us)
		return "its flush interval";
	if (given->allocation != has->allocation || given->poll_us != has->poll_us ||
	    (given->preallocation && given->preallocation != has->preallocation))
		return "its buffer allocation or wake-up mode";
	if (given->reclaim_us != has->reclaim_us)
		return "the idle time after which its buffers give memory back";
	if (given->call_arguments != has->call_arguments)
		return "its recording of system call arguments";
	if (given->tracefile_size != has->tracefile_size || given->tracefile_count != has->tracefile_count)
		return "its trace files";
	return NULL;
}

static void warn_rounded(struct command_request *cmd, const struct wmk_ctl_channel_settings *given,
			 const struct wmk_ctl_channel *channel)
{
	const struct wmk_ctl_channel_settings *has = &channel->settings;

	if (given->subbuf_size && given->subbuf_size != has->subbuf_size)
		wmk_command_request_warn(cmd,
					 "channel %.100s: sub-buffers of %" PRIu64 " bytes were rounded up to %" PRIu64,
					 channel->name, given->subbuf_size, has->subbuf_size);
	if (given->n_subbufs && given->n_subbufs != has->n_subbufs)
		wmk_command_request_warn(cmd,
			      "channel %.100s: the number of sub-buffers was rounded up from %" PRIu64 " to %" PRIu64,
			      channel->name, given->n_subbufs, has->n_subbufs);
}

static int rules_check(const struct wmk_list *rules)
{
	for (uint32_t i = 0; i < rules->n; i++) {
		int err = wmk_session_rule_check(wmk_list_rule(rules, i));

		if (err < 0)
			return err;
	}
	return 0;
}

static int contexts_check(const struct wmk_list *contexts)
{
	struct wmk_nearest near;
	char names[200];

	for (uint32_t i = 0; i < contexts->n; i++) {
		const char *name = wmk_list_text(contexts, i);

		if (wmk_ctf_context_find(name))
			continue;
		wmk_nearest_init(&near, name);
		for (const struct wmk_ctf_context *c = NULL;
		     (c = wmk_ctf_context_next(WMK_CONTEXT_USER | WMK_CONTEXT_KERNEL, c));)
			wmk_nearest_offer(&near, c->field.name);
		wmk_nearest_text(&near, names, sizeof(names));
		return wmk_error(-EINVAL, "there is no context '%.40s'%s%.80s", name,
				 names[0] ? "; did you mean: " : "", names);
	}
	return 0;
}

/*
 * Add all contexts and rules, one after the other. The callers have already checked the contexts and rules, so an error
 * after a part of the additions is rare.
 */
static int fill(struct wmk_session_channel *channel, const struct wmk_list *rules, const struct wmk_list *contexts)
{
	int err = 0;

	for (uint32_t i = 0; contexts && i < contexts->n && err == 0; i++)
		err = wmk_session_context_add(channel, wmk_list_text(contexts, i));
	for (uint32_t i = 0; rules && i < rules->n && err == 0; i++)
		err = wmk_session_rule_add(channel, wmk_list_rule(rules, i));
	return err;
}

/* fill() for contexts. If the channel has already recorded, warn that the channel continues in other streams. */
static int add_contexts(struct command_request *cmd, struct wmk_session_channel *channel,
			const struct wmk_list *contexts)
{
	const uint32_t before = channel->first_stream;
	char name[WMK_RINGS_NAME];
	int err = fill(channel, NULL, contexts);

	if (channel->first_stream != before) {
		wmk_rings_name(channel, channel->first_stream, name);
		wmk_command_request_warn(cmd,
					 "channel %.60s has recorded already: with the new contexts it continues in "
					 "new streams (%.80s) and new rings",
					 channel->is.name, name);
	}
	return err;
}

/* Enable an existing channel again. Reject the request if its settings differ from those of the channel. */
static int again(struct command_request *cmd, struct wmk_session_channel *channel, const struct wmk_ctl_channel *given)
{
	const struct wmk_ctl_channel *has = wmk_session_channel_options(channel);
	const char *what = differs(given, has);

	if (what)
		return wmk_errorx(-EEXIST,
				  "channel '%.60s' exists already, and %s cannot be changed: destroy the session, "
				  "or use another name",
				  has->name, what);
	int err = add_contexts(cmd, channel, &given->contexts);
	if (err == 0)
		err = fill(channel, &given->rules, NULL);
	if (err == 0)
		wmk_session_channel_switch(channel, true);
	return err;
}

/*
 * Finish a command. The session is locked on entry and unlocked on return. The function also releases the caller's
 * reference to the session. If `err` is not negative, the function saves the session and updates the applications.
 */
static int changed(struct command_request *cmd, struct wmk_session *session, int err)
{
	if (err >= 0) {
		wmk_session_syscalls_decide(session);
		wmk_command_request_changed(cmd, session);
		err = wmk_session_kernel_update(session);
	}
	wmk_session_unlock(session);
	if (err >= 0)
		err = wmk_command_request_update(cmd, session);
	wmk_session_put(session);
	return err;
}

/*
 * Finish a command that may have failed after some of its changes: save the completed changes, and update the
 * applications. Returns the first error.
 */
static int changed_in_part(struct command_request *cmd, struct wmk_session *session, int err)
{
	char words[800];

	if (err >= 0)
		return changed(cmd, session, err);
	wmk_error_text(words, sizeof(words));
	if (changed(cmd, session, 0) < 0)
		wmk_error_clear();
	return wmk_errorx(err, "%.300s", words);
}

int wmk_command_enable_channel(struct command_request *cmd)
{
	const struct wmk_ctl_enable_channel *request = cmd->request;
	struct wmk_ctl_channel given = request->channel;
	struct wmk_session_channel *channel;
	struct wmk_session *session;
	int err = domain_complete(cmd, &given.domain);

	given.calls_by = WMK_CALLS_BY_NONE;    /* decided below; the value in a saved session is ignored */
	given.calls_why = NULL;
	if (!*given.name)
		given.name = DEFAULT_CHANNEL;
	if (err == 0)
		err = rules_check(&given.rules);
	if (err == 0)
		err = contexts_check(&given.contexts);
	if (err == 0)
		err = wmk_command_request_enter(cmd, request->session, &session);
	if (err < 0)
		return err;
	wmk_session_channel_complete(session, &given);
	err = wmk_session_channel_find(session, &given.domain, given.name, &channel);
	if (err == 0)
		return changed_in_part(cmd, session, again(cmd, channel, &given));
	if (err == -ENOENT) {
		wmk_error_clear();
		err = wmk_session_channel_add(session, &given, &channel);
		if (err == 0)
			warn_rounded(cmd, &given.settings, wmk_session_channel_options(channel));
	}
	return changed(cmd, session, err);
}

int wmk_command_disable_channel(struct command_request *cmd)
{
	const struct wmk_ctl_disable_channel *request = cmd->request;
	struct wmk_ctl_domain domain = request->domain;
	struct wmk_session_channel *channel;
	struct wmk_session *session;
	int err = wmk_command_request_enter(cmd, request->session, &session);

	if (err < 0)
		return err;
	err = channel_find(cmd, session, domain, request->channel, &channel);
	if (err == 0)
		wmk_session_channel_switch(channel, false);
	return changed(cmd, session, err);
}

/* Find the channel that the request names. If the domain has no channels, create a default channel. Locked. */
static int channel_for(const struct command_request *cmd, struct wmk_session *session,
		       const struct wmk_ctl_domain *domain, const char *name, struct wmk_session_channel **channel)
{
	struct wmk_ctl_domain complete = *domain;
	int err = domain_complete(cmd, &complete);

	if (err == 0)
		err = wmk_session_channel_find(session, &complete, name, channel);
	if (err != -ENOENT || *name)
		return err;
	wmk_error_clear();
	for (unsigned i = 0;; i++) {     /* channel names are unique in a session, across domains */
		char text[32];
		const struct wmk_ctl_channel given = { .name = text, .domain = complete };

		snprintf(text, sizeof(text), "channel%u", i);
		err = wmk_session_channel_add(session, &given, channel);
		if (err != -EEXIST)
			return err;
		wmk_error_clear();
	}
}

/* ── events ──────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Warn about a pattern that matches no known event, because of a typing error or because an application has not started
 * yet.
 */
static void warn_unmatched(struct command_request *cmd, const char *pattern)
{
	struct wmk_tracing *tracing = cmd->commands->tracing;
	const char *near[3];

	/* "*" is never a typing error */
	if (strcmp(pattern, "*") == 0 || wmk_tracing_matching(tracing, pattern) > 0)
		return;
	unsigned n = wmk_tracing_nearest(tracing, pattern, near, 3);
	if (n == 0)
		wmk_command_request_warn(
			cmd, "no known event matches '%.100s': the event rule applies to applications that register "
			     "later",
			pattern);
	else
		wmk_command_request_warn(cmd,
					 "no known event matches '%.100s' (near: %.150s%s%.150s%s%.150s): the event "
					 "rule applies to applications that register later",
					 pattern, near[0], n > 1 ? ", " : "", n > 1 ? near[1] : "", n > 2 ? ", " : "",
					 n > 2 ? near[2] : "");
}

/* Check the rules with the rights of the session's owner, because the daemon records with these rights. */
static int kernel_rules_check(struct command_request *cmd, const char *name, const struct wmk_list *rules)
{
	struct wmk_session *session;
	char note[300];
	int err = wmk_command_request_session(cmd, name, &session);

	if (err < 0)
		return err;
	for (uint32_t i = 0; err == 0 && i < rules->n; i++) {
		const struct wmk_ctl_rule *rule = wmk_list_rule(rules, i);

		err = wmk_kernel_rule_check(session, rule, note, sizeof(note));
		if (err == 0 && note[0])
			wmk_command_request_warn(cmd, "%s: %s", rule->pattern, note);
	}
	wmk_session_put(session);
	return err < 0 ? err : wmk_kernel_filters_fit(cmd->commands->tracing, rules);
}

int wmk_command_enable_event(struct command_request *cmd)
{
	const struct wmk_ctl_enable_event *request = cmd->request;
	struct wmk_session_channel *channel;
	struct wmk_session *session;
	int err = request->rules.n ? rules_check(&request->rules) : wmk_error(-EINVAL, "the request names no event");

	if (err == 0 && request->domain.kind == WMK_DOMAIN_KERNEL)
		err = kernel_rules_check(cmd, request->session, &request->rules);
	/*
	 * In a domain of named applications, filters are not checked, because the known events may belong to other
	 * applications.
	 */
	for (uint32_t i = 0; err == 0 && request->domain.kind == WMK_DOMAIN_USER && i < request->rules.n; i++)
		err = wmk_tracing_filter_check(cmd->commands->tracing,
					       wmk_list_rule(&request->rules, i));
	if (err == 0)
		err = wmk_command_request_enter(cmd, request->session, &session);
	if (err < 0)
		return err;
	err = channel_for(cmd, session, &request->domain, request->channel, &channel);
	if (err < 0)
		return changed(cmd, session, err);
	err = fill(channel, &request->rules, NULL);
	if (err == 0) {
		err = wmk_session_filters_check(channel, &request->rules);
		if (err < 0)
			wmk_session_rules_withdraw(channel, &request->rules);
	}
	for (uint32_t i = 0; err == 0 && !wmk_channel_is_kernel(channel) && i < request->rules.n; i++)
		warn_unmatched(cmd, wmk_list_rule(&request->rules, i)->pattern);
	return changed_in_part(cmd, session, err);
}

static int no_rule(const struct wmk_session_channel *channel, const char *pattern)
{
	const struct wmk_ctl_channel *is = wmk_session_channel_options(channel);
	struct wmk_nearest near;
	char names[300];

	wmk_nearest_init(&near, pattern);
	for (uint32_t i = 0; i < is->rules.n; i++)
		wmk_nearest_offer(&near, wmk_list_rule(&is->rules, i)->pattern);
	wmk_nearest_text(&near, names, sizeof(names));
	return wmk_errorx(-ENOENT, "channel '%.30s' has no event rule '%.40s'%s%.60s", is->name, pattern,
			  names[0] ? "; did you mean: " : "", names);
}

static int disable(struct wmk_session_channel *channel, const struct wmk_list *patterns)
{
	if (patterns->n == 0)
		wmk_session_rule_disable(channel, NULL);
	for (uint32_t i = 0; i < patterns->n; i++)
		if (wmk_session_rule_disable(channel, wmk_list_text(patterns, i)) == 0)
			return no_rule(channel, wmk_list_text(patterns, i));
	return 0;
}

int wmk_command_disable_event(struct command_request *cmd)
{
	const struct wmk_ctl_disable_event *request = cmd->request;
	struct wmk_ctl_domain domain = request->domain;
	struct wmk_session_channel *channel;
	struct wmk_session *session;
	int err = wmk_command_request_enter(cmd, request->session, &session);

	if (err < 0)
		return err;
	err = channel_find(cmd, session, domain, request->channel, &channel);
	if (err < 0)
		return changed(cmd, session, err);
	/* (an unknown pattern does not undo the earlier patterns of the request: their rules stay disabled) */
	return changed_in_part(cmd, session, disable(channel, &request->patterns));
}

/* ── contexts, trackers ──────────────────────────────────────────────────────────────────────────────── */

int wmk_command_add_context(struct command_request *cmd)
{
	const struct wmk_ctl_add_context *request = cmd->request;
	struct wmk_session_channel *channel;
	struct wmk_session *session;
	int err = request->contexts.n ? contexts_check(&request->contexts)
				      : wmk_error(-EINVAL, "the request names no context");

	if (err == 0)
		err = wmk_command_request_enter(cmd, request->session, &session);
	if (err < 0)
		return err;
	err = channel_for(cmd, session, &request->domain, request->channel, &channel);
	if (err < 0)
		return changed(cmd, session, err);
	return changed_in_part(cmd, session, add_contexts(cmd, channel, &request->contexts));
}

/*
 * Add the context `pid` to each kernel channel, because this context selects the records of the tracked processes. The
 * function also checks that each filter can be combined with the pid list.
 */
static int narrow(struct command_request *cmd, struct wmk_session *session)
{
	const char *name = wmk_ctf_context(WMK_CONTEXT_PID)->field.name;
	const struct wmk_list contexts = { &name, 1 };
	int err = 0;

	for (unsigned i = 0; i < session->n_channels && err == 0; i++) {
		struct wmk_session_channel *channel = session->channels[i];

		if (!wmk_channel_is_kernel(channel))
			continue;
		err = add_contexts(cmd, channel, &contexts);
		if (err == 0)
			err = wmk_kernel_filters_check(channel, &channel->is.rules);
	}
	return err;
}

/*
 * Change the list of tracked kernel processes, and restrict all kernel channels to this list. After an error, the
 * previous list is restored.
 */
static int track_kernel(struct command_request *cmd, struct wmk_session *session, const struct wmk_ctl_track *request,
			bool add)
{
	struct wmk_ctl_trackers *t = &session->trackers;
	const bool was = t->kernel_pid;
	struct wmk_list kept = { malloc((t->kernel_pids.n + 1) * sizeof(uint64_t)), t->kernel_pids.n };
	int err = kept.items ? 0 : wmk_error(-ENOMEM, "no memory for the allow-list");

	if (err == 0 && kept.n)
		memcpy(kept.items, t->kernel_pids.items, kept.n * sizeof(uint64_t));
	if (err == 0)
		err = wmk_session_track(session, request, add);
	if (err == 0 && t->kernel_pid)
		err = narrow(cmd, session);
	if (err < 0 && kept.items) {
		free(t->kernel_pids.items);
		t->kernel_pids = kept;
		t->kernel_pid = was;
		return err;
	}
	free(kept.items);
	return err;
}

/*
 * Translate pids from the client's PID namespace to the daemon's PID namespace, and store the new list in the memory of
 * the request. If the client has another PID namespace, each pid requires a scan of /proc, so the number of pids is
 * limited. A process that is removed from the list may already have ended. If the process has ended, the function
 * interprets the pid in the daemon's PID namespace, because lists show pids of this namespace.
 */
static int processes_of(struct command_request *cmd, struct wmk_ctl_track *request, bool add)
{
	const uint64_t *given = request->ids.items;
	struct wmk_list made = { NULL, 0 };
	unsigned foreign = 0;
	pid_t pid;

	if (request->kind != WMK_TRACK_PID && request->kind != WMK_TRACK_KERNEL_PID)
		return 0;
	for (uint32_t i = 0; i < request->ids.n; i++) {
		const bool is_number = given[i] > 0 && given[i] <= INT32_MAX;
		uint64_t *id = wmk_arena_append(&cmd->arena, &made, sizeof(*id));
		int err = !id ? -ENOMEM : is_number ? wmk_kpids_of(cmd->peer->pid, given[i], &pid) : 0;

		if (err < 0 && (add || !id))
			return err;
		if (err < 0)
			wmk_error_clear();
		*id = is_number && err == 0 ? (uint64_t)pid : given[i];
		foreign += err < 0 || *id != given[i];
		if (foreign > FOREIGN_MAX)
			return wmk_errorx(-E2BIG, "too many pids of another PID namespace in one request: the limit "
						  "is %u",
					  FOREIGN_MAX);
	}
	request->ids = made;
	return 0;
}

static int track(struct command_request *cmd, bool add)
{
	struct wmk_ctl_track request = *(const struct wmk_ctl_track *)cmd->request;
	struct wmk_session *session;
	int err = processes_of(cmd, &request, add);

	if (err == 0)
		err = wmk_command_request_enter(cmd, request.session, &session);
	if (err < 0)
		return err;
	if (request.kind == WMK_TRACK_KERNEL_PID)
		return changed_in_part(cmd, session, track_kernel(cmd, session, &request, add));
	return changed(cmd, session, wmk_session_track(session, &request, add));
}

int wmk_command_track(struct command_request *cmd)
{
	return track(cmd, true);
}

int wmk_command_untrack(struct command_request *cmd)
{
	return track(cmd, false);
}

int wmk_command_reclaim(struct command_request *cmd)
{
	const struct wmk_ctl_reclaim *request = cmd->request;
	struct wmk_session *session;
	int err = wmk_command_request_enter(cmd, request->session, &session);

	if (err < 0)
		return err;
	if (request->idle_us > IDLE_MAX_US)
		err = wmk_error(-EINVAL, "invalid idle time: at most 31 years are allowed");
	else
		err = wmk_session_reclaim(session, request);
	if (err == 0)
		err = wmk_command_request_describe(cmd, session);
	wmk_command_request_leave(session);
	return err;
}
