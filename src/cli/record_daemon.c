/* SPDX-License-Identifier: MIT */
/*
 * record_daemon.c - `waymark record` where a session daemon runs: a session of its own there, narrowed to the program and what it starts.
 *
 *     fork ──► create, enable-channel --pid --follow, enable-event, start ──► exec ──► the program's end ──► stop, destroy
 *
 * Other sessions see the program meanwhile, and programs that were started with another environment, or set-id, are recorded too. A daemon
 * that ends meanwhile is started again at the end: the consumer has recorded on.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/current.h"
#include "cli/record_daemon.h"
#include "cli/session.h"

#define PATHS_MAX 10000u           /* traces of programs of one name that began in one second */

struct through {
	const struct wmk_record_args *args;
	const struct wmk_recording_options *options;
	struct wmk_daemon *daemon;
	pid_t pid;
	bool made;                       /* the session is there */
	char path[PATH_MAX];
};

/* ── before the program begins ───────────────────────────────────────────────────────────────────────── */

/* What there is to warn of is said at the end. */
static int did(struct through *t, int rc)
{
	if (rc < 0)
		return wmk_daemon_did(t->daemon, rc);
	wmk_daemon_drop(t->daemon);
	return 0;
}

static int create(struct through *t)
{
	struct waymark_ctl_create_options options = { .size = sizeof(options), .name = t->daemon->session, .path = t->path };
	int rc = -ENOTEMPTY, err;

	snprintf(t->daemon->session, sizeof(t->daemon->session), "record-%.64s-%d", wmk_cli_clean(t->options->name), (int)t->pid);
	if (t->args->output) {
		err = wmk_session_absolute(t->args->output, t->path, sizeof(t->path));
		if (err < 0)
			return err;
		rc = waymark_ctl_create(t->daemon->ctl, &options, &t->daemon->result);
	}
	for (unsigned i = 1; !t->args->output && rc == -ENOTEMPTY && i <= PATHS_MAX; i++) {
		err = wmk_recording_default_path(t->options->name, time(NULL), i, t->path, sizeof(t->path));
		if (err < 0)
			return err;
		rc = waymark_ctl_create(t->daemon->ctl, &options, &t->daemon->result);
	}
	t->made = rc >= 0;
	return did(t, rc);
}

static int enable_channel(struct through *t, const struct waymark_ctl_domain *domain)
{
	const char *contexts[WMK_WIRE_CONTEXTS_MAX];
	struct waymark_ctl_channel_options options = {
		.size = sizeof(options), .session = t->daemon->session, .domain = domain,
		.mode = t->args->overwrite ? WAYMARK_CTL_OVERWRITE : WAYMARK_CTL_DISCARD,
		.subbuf_size = t->options->subbuf_size, .n_subbufs = t->options->n_subbufs, .contexts = contexts,
		.n_contexts = t->args->n_contexts,
	};

	for (unsigned i = 0; i < t->args->n_contexts; i++)
		contexts[i] = wmk_ctf_context(t->args->contexts[i])->field.name;
	return did(t, waymark_ctl_enable_channel(t->daemon->ctl, &options, &t->daemon->result));
}

/* Patterns, from each of which those with a '!' in front are taken. */
static int enable_events(struct through *t, const struct waymark_ctl_domain *domain)
{
	struct waymark_ctl_rule rules[WMK_RECORD_PATTERNS_MAX + 1];
	const char *exclusions[WMK_RECORD_PATTERNS_MAX];
	struct waymark_ctl_events_options options = {
		.size = sizeof(options), .session = t->daemon->session, .domain = domain, .rules = rules,
	};
	unsigned n_exclusions = 0;

	for (unsigned i = 0; i < t->args->n_patterns; i++)
		if (t->args->patterns[i][0] == '!')
			exclusions[n_exclusions++] = t->args->patterns[i] + 1;
		else
			rules[options.n_rules++].pattern = t->args->patterns[i];
	if (!options.n_rules)
		rules[options.n_rules++].pattern = "*";
	for (unsigned i = 0; i < options.n_rules; i++)
		rules[i] = (struct waymark_ctl_rule){
			.size = sizeof(rules[i]), .pattern = rules[i].pattern, .exclusions = exclusions, .n_exclusions = n_exclusions,
		};
	return did(t, waymark_ctl_enable_event(t->daemon->ctl, &options, &t->daemon->result));
}

static int begin(void *data, pid_t pid)
{
	struct through *t = data;
	const struct waymark_ctl_domain domain = {
		.size = sizeof(domain), .kind = WAYMARK_CTL_PID, .follow = true, .pid = (uint64_t)pid,
	};
	int err;

	t->pid = pid;
	err = create(t);
	if (err >= 0)
		err = enable_channel(t, &domain);
	if (err >= 0)
		err = enable_events(t, &domain);
	if (err >= 0)
		err = did(t, waymark_ctl_start(t->daemon->ctl, t->daemon->session, &t->daemon->result));
	return err < 0 ? wmk_error_add(err, "the session daemon does not record; --private does without it") : 0;
}

/* ── until it ends, and then ─────────────────────────────────────────────────────────────────────────── */

/* Until the program has ended, and those that it started have too; these get a moment for it. True: some go on. */
static bool run_until_end(struct wmk_child *child, int grace_ms)
{
	struct pollfd signals = { .fd = child->signals, .events = POLLIN };
	uint64_t end;
	siginfo_t info;

	while (!child->ended) {
		poll(&signals, 1, -1);
		wmk_child_look(child);
	}
	end = wmk_clock_monotonic() + (uint64_t)grace_ms * 1000000;
	/* Orphans are ours (see run()): as long as there are children, some program runs. */
	while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0) {
		const uint64_t now = wmk_clock_monotonic();

		if (now >= end)
			return true;
		poll(&signals, 1, (int)((end - now) / 1000000) + 1);
		wmk_child_look(child);
	}
	return false;
}

/* daemon->result is then the session as it was at last. */
static int end_session(struct through *t)
{
	struct wmk_daemon *daemon = t->daemon;
	const struct wmk_cli_common common = { .session = daemon->session };
	struct wmk_daemon again;
	int err = wmk_daemon_did(daemon, waymark_ctl_stop(daemon->ctl, daemon->session, &daemon->result));

	if (err < 0 && err != -ENOENT && err != -EALREADY) {
		/* The daemon is gone, perhaps; the next one knows what the last one did. */
		err = wmk_daemon_open(&again, &common, WMK_DAEMON_SESSION);
		if (err >= 0) {
			waymark_ctl_close(daemon->ctl);
			*daemon = again;
			err = wmk_daemon_did(daemon, waymark_ctl_stop(daemon->ctl, daemon->session, &daemon->result));
		}
	}
	if (err < 0 && err != -EALREADY)
		return err;
	wmk_error_clear();
	wmk_daemon_drop(daemon);
	return wmk_daemon_did(daemon, waymark_ctl_destroy(daemon->ctl, daemon->session, &daemon->result));
}

/* A program that uses libwaymark leaves records in any case: what it has loaded. */
static void say_matches(const struct wmk_record_result *result, const struct waymark_ctl_session_info *session)
{
	if (!session->counts->records && !session->counts->lost) {
		wmk_record_not_instrumented(result);
		return;
	}
	for (unsigned c = 0; c < session->n_channels; c++)
		for (unsigned i = 0; i < session->channels[c]->n_rules; i++)
			if (!session->channels[c]->rules[i]->matched)
				wmk_cli_warn("no event matched -e '%s'", wmk_cli_clean(session->channels[c]->rules[i]->pattern));
}

static void counts_in(const struct waymark_ctl_counts *counts, struct wmk_consumer_stats *stats)
{
	*stats = (struct wmk_consumer_stats){
		.records = counts->records, .lost = counts->lost, .overwritten = counts->overwritten, .unwritten = counts->unwritten,
		.cut = counts->cut, .bytes = counts->bytes,
	};
	stats->lost_by_cause[WAYMARK_LOST_FULL] = counts->lost_full;
	stats->lost_by_cause[WAYMARK_LOST_MEMORY] = counts->lost_memory;
	stats->lost_by_cause[WAYMARK_LOST_SIZE] = counts->lost_size;
	stats->lost_by_cause[WAYMARK_LOST_RETRY] = counts->lost_retry;
}

/* 0 or -errno. */
static int summarize(struct through *t, struct wmk_record_result *result)
{
	const struct waymark_ctl_session_info *session = wmk_daemon_session(t->daemon);
	struct wmk_consumer_stats stats;

	if (!session)
		return wmk_error(-EPROTO, "the session daemon does not say what became of %s", t->daemon->session);
	counts_in(session->counts, &stats);
	result->stats = &stats;
	result->path = session->path;
	result->session = session;
	say_matches(result, session);
	if (result->running)
		wmk_cli_warn("a program that %s started went on when it ended, and was recorded until then", result->program);
	wmk_record_figures(result);
	result->stats = NULL;
	return 0;
}

int wmk_record_through(struct wmk_daemon *daemon, const struct wmk_record_args *args, const struct wmk_recording_options *options, char *path,
		       char **argv, int grace_ms)
{
	struct through t = { .args = args, .options = options, .daemon = daemon };
	struct wmk_child child;
	struct wmk_record_result result = { .args = args, .options = options, .child = &child, .program = argv[0] };
	int err = wmk_child_open(&child);

	/* What the program leaves behind is ours to wait for. */
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (err >= 0)
		err = wmk_child_start(&child, path, argv, NULL, begin, &t);
	if (err < 0) {
		wmk_cli_print_error();
		if (t.made && waymark_ctl_destroy(daemon->ctl, daemon->session, &daemon->result) < 0)
			wmk_cli_warn("the session %s is still there: `waymark destroy` ends it", daemon->session);
		wmk_child_close(&child);
		return WMK_CLI_FAILED;
	}
	result.running = run_until_end(&child, grace_ms);
	err = end_session(&t);
	if (err >= 0)
		err = summarize(&t, &result);
	if (err < 0) {
		wmk_error_add(err, "%s has ended, but what of it was recorded could not be completed", argv[0]);
		wmk_cli_print_error();
	}
	wmk_child_close(&child);
	return wmk_child_exit_status(&child);
}
