/* SPDX-License-Identifier: MIT */
/*
 * record_daemon.c - `waymark record` where a session daemon runs: a session of its own there, narrowed to the program
 * and what it starts.
 *
 *     fork ──► create, enable-channel --pid --follow, enable-event, start ──► exec ──► the program's end ──► destroy
 *
 * Other sessions see the program meanwhile, and programs that were started with another environment, or set-id, are
 * recorded too. A daemon that ends meanwhile is started again at the end: the consumer has recorded on.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/utf8.h"
#include "cli/current.h"
#include "cli/path.h"
#include "cli/record_daemon.h"

#define PLACES_MAX 10000u          /* traces of programs of one name that began in one second */
#define TIMEOUT_MS 15000           /* for each request; the daemon's own deadlines are 10 s */
#define COMES_BACK_MS 5000         /* root's daemon, when it has died */
#define AGAIN_MS 50
#define KERNEL_CHANNEL "kernel"

struct through {
	const struct wmk_record_args *args;
	const struct wmk_recording_options *options;
	struct wmk_daemon *daemon;
	char rundir[256];                /* of the daemon that has the session: no other will do */
	bool made;                       /* the session is there, or may be */
	bool made_place;                 /* the trace's directory was not there before */
	/* what is in it is the trace's: it was absent, or the daemon has found it empty */
	bool ours;
	char path[PATH_MAX];
};

/* ── the connection: before the program begins, and when it has ended, not in between: a user has a few only ── */

static int connect_to(struct through *t, enum waymark_ctl_start start)
{
	const struct waymark_ctl_connect_options options = {
		.size = sizeof(options), .rundir = t->rundir, .start = start, .timeout_ms = TIMEOUT_MS,
	};
	int err = waymark_ctl_connect(&options, &t->daemon->ctl);

	if (err < 0)
		t->daemon->ctl = NULL;
	return wmk_daemon_did(t->daemon, err);
}

/* One of our own is started again when it is gone; root's comes by itself, if it does. */
static int reconnect(struct through *t)
{
	const uint64_t end = wmk_clock_monotonic() + (uint64_t)COMES_BACK_MS * 1000000;
	struct stat st;
	const bool own = stat(t->rundir, &st) == 0 && st.st_uid == geteuid();
	int err;

	waymark_ctl_close(t->daemon->ctl);
	while ((err = connect_to(t, own ? WAYMARK_CTL_START_IF_NONE : WAYMARK_CTL_START_NEVER)) < 0 && !own &&
	       wmk_clock_monotonic() < end) {
		wmk_error_clear();
		poll(NULL, 0, AGAIN_MS);
	}
	return err;
}

/* ── before the program begins ───────────────────────────────────────────────────────────────────────── */

/* What there is to warn of is said at the end. */
static int did(struct through *t, int rc)
{
	if (rc < 0)
		return wmk_daemon_did(t->daemon, rc);
	wmk_daemon_drop(t->daemon);
	return 0;
}

/* Two that begin in one second get two directories: each takes its own by making it. */
static int choose_place(struct through *t)
{
	const time_t now = time(NULL);
	char path[PATH_MAX];
	int err = -EEXIST;

	if (t->args->output) {
		err = wmk_cli_absolute_path(t->args->output, t->path, sizeof(t->path));
		t->made_place = err == 0 && access(t->path, F_OK) < 0;
		return err;
	}
	for (unsigned i = 1; err == -EEXIST && i <= PLACES_MAX; i++) {
		err = wmk_recording_default_path(t->options->name, now, i, path, sizeof(path));
		if (err >= 0)
			err = wmk_cli_absolute_path(path, t->path, sizeof(t->path));
		if (err >= 0)
			err = wmk_store_make_directory(t->path);
	}
	t->made_place = err == 0;
	if (err == 0)
		wmk_error_clear();       /* of places that were taken */
	return err;
}

/* The beginning of a program's name, as a session's may be: what is no UTF-8, or steers terminals, is a '?'. */
static void name_begin(const char *name, char *buf, size_t size)
{
	uint32_t code = 0;
	size_t n, len = 0;

	for (; *name; name += n ? n : 1) {
		n = wmk_utf8_next(name, strlen(name), &code);
		if (len + (n ? n : 1) >= size)
			break;
		const bool plain = n && code >= 0x20 && code != 0x7f;

		memcpy(buf + len, plain ? name : "?", plain ? n : 1);
		len += plain ? n : 1;
	}
	buf[len] = '\0';
}

static int create(struct through *t, pid_t pid)
{
	const struct waymark_ctl_create_options options = { .size = sizeof(options),
							    .name = t->daemon->session,
							    .path = t->path,
							    .trace_format = t->options->trace_format,
							    .clock = t->options->clock,
							    .no_statedump = t->options->no_statedump };
	char program[65];
	int rc = choose_place(t);

	if (rc < 0)
		return rc;
	name_begin(t->options->name, program, sizeof(program));
	snprintf(t->daemon->session, sizeof(t->daemon->session), "record-%s-%d", program, (int)pid);
	rc = waymark_ctl_create(t->daemon->ctl, &options, &t->daemon->result);
	t->made = rc >= 0 || rc == -ETIMEDOUT;
	t->ours = rc >= 0 || t->made_place;
	return did(t, rc);
}

static int enable_channel(struct through *t, const struct waymark_ctl_domain *domain)
{
	const bool kernel = domain->kind == WAYMARK_CTL_KERNEL;
	const char *contexts[WMK_WIRE_CONTEXTS_MAX];
	struct waymark_ctl_channel_options options = {
		.size = sizeof(options),
		.session = t->daemon->session,
		.domain = domain,
		.name = kernel ? KERNEL_CHANNEL : NULL,
		.mode = t->args->overwrite ? WAYMARK_CTL_OVERWRITE : WAYMARK_CTL_DISCARD,
		.subbuf_size = t->options->subbuf_size,
		.n_subbufs = t->options->n_subbufs,
		.contexts = contexts,
		.call_arguments = kernel ? t->args->call_arguments : 0,
		.n_contexts =
			wmk_recording_contexts(t->options, kernel ? WMK_CONTEXT_KERNEL : WMK_CONTEXT_USER, contexts),
	};

	return did(t, waymark_ctl_enable_channel(t->daemon->ctl, &options, &t->daemon->result));
}

/* Patterns, from each of which those with a '!' in front are taken. */
static int enable_events(struct through *t, const struct waymark_ctl_domain *domain, const char *const *patterns,
			 unsigned n, const char *filter)
{
	struct waymark_ctl_rule rules[WMK_RECORD_PATTERNS_MAX + 1];
	const char *exclusions[WMK_RECORD_PATTERNS_MAX];
	struct waymark_ctl_events_options options = {
		.size = sizeof(options), .session = t->daemon->session, .domain = domain, .rules = rules,
	};
	unsigned n_exclusions = 0;

	for (unsigned i = 0; i < n; i++)
		if (patterns[i][0] == '!')
			exclusions[n_exclusions++] = patterns[i] + 1;
		else
			rules[options.n_rules++].pattern = patterns[i];
	if (!options.n_rules)
		rules[options.n_rules++].pattern = "*";
	for (unsigned i = 0; i < options.n_rules; i++)
		rules[i] = (struct waymark_ctl_rule){
			.size = sizeof(rules[i]),
			.pattern = rules[i].pattern,
			.exclusions = exclusions,
			.n_exclusions = n_exclusions,
			.filter = filter,
		};
	return did(t, waymark_ctl_enable_event(t->daemon->ctl, &options, &t->daemon->result));
}

/*
 * The domain is what descends from this very process: as a subreaper it stays an ancestor of all that the program
 * starts, whoever of those in between has ended. The kernel follows forks by itself, from the program on: it has been
 * forked already.
 */
static int begin(void *data, pid_t pid)
{
	struct through *t = data;
	const struct waymark_ctl_domain domain = {
		.size = sizeof(domain), .kind = WAYMARK_CTL_PID, .follow = true, .pid = (uint64_t)getpid(),
	}, kernel = {
		.size = sizeof(kernel), .kind = WAYMARK_CTL_KERNEL, .follow = t->args->program_only,
		.pid = t->args->program_only ? (uint64_t)pid : 0,
	};
	int err = create(t, pid);

	if (err >= 0)
		err = enable_channel(t, &domain);
	if (err >= 0)
		err = enable_events(t, &domain, t->args->patterns.items, t->args->patterns.n, t->args->filter);
	if (err >= 0 && t->args->kernel.n)
		err = enable_channel(t, &kernel);
	if (err >= 0 && t->args->kernel.n)
		err = enable_events(t, &kernel, t->args->kernel.items, t->args->kernel.n, t->args->kernel_filter);
	if (err >= 0)
		err = did(t, waymark_ctl_start(t->daemon->ctl, t->daemon->session, &t->daemon->result));
	if (err < 0)
		return wmk_error_add(err, "the session daemon does not record; --private does without it");
	waymark_ctl_close(t->daemon->ctl);
	t->daemon->ctl = NULL;
	return 0;
}

/* It could not be run. */
static void undo(struct through *t)
{
	char words[8 * WMK_ERROR_LEN];

	if (t->made && ((!t->daemon->ctl && reconnect(t) < 0) ||
			did(t, waymark_ctl_destroy(t->daemon->ctl, t->daemon->session, &t->daemon->result)) < 0))
		wmk_cli_warn("the session %s is still there: `waymark destroy %s` ends it (%s)", t->daemon->session,
			     t->daemon->session, wmk_error_text(words, sizeof(words)));
	if (t->ours)
		wmk_recording_discard(t->path, t->made_place);
}

/* ── until it ends, and then ─────────────────────────────────────────────────────────────────────────── */

/* Until the program has ended, and those that it started have too; these get a moment for it. True: some go on. */
static bool run_until_end(struct wmk_child *child, bool had_children, int grace_ms)
{
	struct pollfd signals = { .fd = child->signals, .events = POLLIN };
	uint64_t end;
	siginfo_t info;

	while (!child->ended) {
		poll(&signals, 1, -1);
		wmk_child_look(child);
	}
	end = wmk_clock_monotonic() + (uint64_t)grace_ms * 1000000;
	/* As long as there are children, some program runs; unless they were there before. */
	while (!had_children && waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0) {
		const uint64_t now = wmk_clock_monotonic();

		if (now >= end)
			return true;
		poll(&signals, 1, (int)((end - now) / 1000000) + 1);
		wmk_child_look(child);
	}
	return false;
}

/* Stopped and destroyed: daemon->result is then the session as it was at last. */
static int end_session(struct through *t)
{
	struct wmk_daemon *daemon = t->daemon;
	int err = reconnect(t);

	if (err >= 0)
		err = wmk_daemon_did(daemon, waymark_ctl_destroy(daemon->ctl, daemon->session, &daemon->result));
	if (err == -ENOENT)
		return wmk_error(-ENOENT, "somebody else has destroyed the session %s", daemon->session);
	return err < 0 ? wmk_error_add(err, "the session %s may still be there: `waymark destroy %s` ends it",
				       daemon->session, daemon->session)
		       : 0;
}

/* A program that uses libwaymark leaves records in any case: what it has loaded. */
static void say_matches(const struct wmk_record_result *result, const struct waymark_ctl_session_info *session)
{
	wmk_record_missing(result);
	if (!session->counts->records && !session->counts->lost && !result->args->kernel.n && !session->n_unrecorded) {
		wmk_record_not_instrumented(result);
		return;
	}
	for (unsigned c = 0; c < session->n_channels && result->args->patterns.n; c++)
		for (unsigned i = 0; i < session->channels[c]->n_rules; i++)
			if (!session->channels[c]->rules[i]->matched)
				wmk_cli_warn("no event matched -e '%s'",
					     wmk_cli_clean(session->channels[c]->rules[i]->pattern));
}

static void counts_in(const struct waymark_ctl_counts *from, struct wmk_counts *counts)
{
	*counts = (struct wmk_counts){ 0 };
#define WMK_COUNT(name) counts->name = from->name;
#include "wire/counts.def"
}

static int summarize(struct through *t, struct wmk_record_result *result)
{
	const struct waymark_ctl_session_info *session = wmk_daemon_session(t->daemon);
	struct wmk_counts counts;

	if (!session)
		return wmk_error(-EPROTO, "the session daemon does not say what became of %s", t->daemon->session);
	counts_in(session->counts, &counts);
	result->counts = &counts;
	result->session = session;
	say_matches(result, session);
	if (result->running)
		wmk_cli_warn("a program that %s started went on when it ended, and is not recorded any more",
			     result->program);
	wmk_record_figures(result);
	return 0;
}

int wmk_record_through(struct wmk_daemon *daemon, const struct wmk_record_args *args,
		       const struct wmk_recording_options *options, char *path, char **argv, int grace_ms)
{
	struct through t = { .args = args, .options = options, .daemon = daemon };
	struct wmk_child child;
	struct wmk_record_result result = {
		.args = args, .options = options, .child = &child, .program = argv[0], .path = t.path
	};
	siginfo_t info;
	const bool had_children = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
	int err = wmk_child_open(&child);

	snprintf(t.rundir, sizeof(t.rundir), "%s", waymark_ctl_rundir(daemon->ctl));
	waymark_ctl_set_timeout(daemon->ctl, TIMEOUT_MS);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (err >= 0)
		err = wmk_child_start(&child, path, argv, NULL, begin, &t);
	if (err < 0) {
		wmk_cli_print_error();
		undo(&t);
		wmk_child_close(&child);
		return WMK_CLI_FAILED;
	}
	result.running = run_until_end(&child, had_children, grace_ms);
	err = end_session(&t);
	if (err >= 0)
		err = summarize(&t, &result);
	if (err < 0) {
		wmk_error_add(err, "%s has ended, but what was recorded of it could not be completed", argv[0]);
		wmk_record_failed(&result);
	}
	wmk_recorded_set(t.path);
	wmk_child_close(&child);
	return wmk_child_exit_status(&child);
}
