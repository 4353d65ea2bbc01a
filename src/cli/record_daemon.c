/* SPDX-License-Identifier: MIT */
/*
 * record_daemon.c - `waymark record` with a running session daemon: use a temporary session. Its channel of
 * applications is restricted to the program and its descendants.
 *
 *     fork ──► create, enable-channel --pid --follow, enable-event, start ──► exec ──► the program's end ──► destroy
 *
 * Other sessions can record the program at the same time. The session also records applications that have another
 * environment or run a set-id program. If the session daemon ends during the recording, the consumer daemon continues
 * to record. When the program has ended, this command connects to the session daemon again. The command starts a new
 * session daemon if the session daemon belongs to this user. If the session daemon belongs to root, the command waits
 * until it is restarted.
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
#include "cli/record_snapshots.h"

#define PLACES_MAX 10000u          /* traces of one program name that begin in the same second */
#define TIMEOUT_MS 15000           /* for each request; the daemon's own deadlines are 10 s */
#define COMES_BACK_MS 5000         /* time to wait for the restart of root's daemon after a crash */
#define AGAIN_MS 50
#define KERNEL_CHANNEL "kernel"

struct through {
	const struct wmk_record_args *args;
	const struct wmk_recording_options *options;
	struct wmk_daemon *daemon;
	/* directory of the daemon that has the session: no other daemon has the session */
	char rundir[256];
	bool made;                       /* the session exists, or may exist */
	bool made_place;                 /* this command has created the trace directory */
	/* all files in the directory belong to the trace: this command created it, or the daemon found it empty */
	bool ours;
	char path[PATH_MAX];
	struct wmk_record_snapshots snapshots;
};

/* ── the connection: only before the program begins and after it has ended, as connections per user are limited ── */

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

/*
 * Connect again. If a session daemon of this user has ended, start a new session daemon. If root's session daemon has
 * ended, wait until it is restarted.
 */
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

/* Warnings are printed once at the end, instead of after each request. */
static int did(struct through *t, int rc)
{
	if (rc < 0)
		return wmk_daemon_did(t->daemon, rc);
	wmk_daemon_drop(t->daemon);
	return 0;
}

/*
 * Two recordings that start in the same second get two directories, because each recording creates its directory
 * exclusively.
 */
static int choose_place(struct through *t)
{
	const time_t now = time(NULL);
	char path[PATH_MAX];
	int err = -EEXIST;

	/* The session daemon chooses the spool. */
	if (t->args->url)
		return 0;
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
		wmk_error_clear();       /* errors about directories that already existed */
	return err;
}

/*
 * The first characters of a program's name become the name of a session; '?' replaces invalid UTF-8 and control
 * characters.
 */
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
							    .path = t->args->url ? NULL : t->path,
							    .url = t->args->url,
							    .spool_size = t->args->spool_size,
							    .trace_format = t->options->trace_format,
							    .clock = t->options->clock,
							    .no_statedump = t->options->no_statedump,
							    .snapshot = t->snapshots.on != 0 };
	char program[65];
	int rc = choose_place(t);

	if (rc < 0)
		return rc;
	name_begin(t->options->name, program, sizeof(program));
	snprintf(t->daemon->session, sizeof(t->daemon->session), "record-%s-%d", program, (int)pid);
	rc = waymark_ctl_create(t->daemon->ctl, &options, &t->daemon->result);
	t->made = rc >= 0 || rc == -ETIMEDOUT;
	t->ours = (rc >= 0 && !t->args->url) || t->made_place;
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

/* Create a rule for each pattern; a pattern with a leading '!' excludes events from all rules. */
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
 * The domain is restricted to this process and its descendants. Because this process is a subreaper, it stays an
 * ancestor of every process that the program starts, even if an intermediate process ends. In the kernel domain, the
 * first selected process is the program, which has already been forked. The kernel adds the children of the program
 * automatically.
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
		return wmk_error_add(err, "cannot record through the session daemon (--private records without it)");
	waymark_ctl_close(t->daemon->ctl);
	t->daemon->ctl = NULL;
	return 0;
}

/* If the program could not be run, remove the session and the trace. */
static void undo(struct through *t)
{
	char words[8 * WMK_ERROR_LEN];

	if (t->made && ((!t->daemon->ctl && reconnect(t) < 0) ||
			did(t, waymark_ctl_destroy(t->daemon->ctl, t->daemon->session, &t->daemon->result)) < 0))
		wmk_cli_warn("the session %s still exists: remove it with `waymark destroy %s` (%s)",
			     t->daemon->session, t->daemon->session, wmk_error_text(words, sizeof(words)));
	if (t->ours)
		wmk_recording_discard(t->path, t->made_place);
}

/* ── until the program ends, and after it ────────────────────────────────────────────────────────────── */

static int connect_again(void *data)
{
	struct through *t = data;

	return t->daemon->ctl ? 0 : reconnect(t);
}

/* Record the snapshots that are due now. The connection to the daemon is open only during this call. */
static void look_for_snapshots(struct through *t, struct wmk_child *child)
{
	const char *reason;
	char words[8 * WMK_ERROR_LEN];

	if (!t->snapshots.on)
		return;
	reason = wmk_record_snapshots_due(&t->snapshots, child, t->daemon, connect_again, t);
	if (reason && connect_again(t) >= 0) {
		wmk_record_snapshots_take(&t->snapshots, child, t->daemon, reason);
	} else if (reason) {
		wmk_cli_warn("no snapshot (%s): %s", reason, wmk_error_text(words, sizeof(words)));
		wmk_error_clear();
	}
	waymark_ctl_close(t->daemon->ctl);
	t->daemon->ctl = NULL;
}

/* Wait until the program has ended, then wait up to `grace_ms` for its descendants. True: some descendants continue. */
static bool run_until_end(struct through *t, struct wmk_child *child, bool had_children, int grace_ms)
{
	struct pollfd signals = { .fd = child->signals, .events = POLLIN };
	uint64_t end;
	siginfo_t info;

	while (!child->ended) {
		poll(&signals, 1, wmk_record_snapshots_wait_ms(&t->snapshots));
		wmk_child_handle_signals(child);
		look_for_snapshots(t, child);
	}
	end = wmk_clock_monotonic() + (uint64_t)grace_ms * 1000000;
	/*
	 * If this process had no children before, each of its children is the program or a descendant of the program.
	 */
	while (!had_children && waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0) {
		const uint64_t now = wmk_clock_monotonic();

		if (now >= end)
			return true;
		poll(&signals, 1, (int)((end - now) / 1000000) + 1);
		wmk_child_handle_signals(child);
	}
	return false;
}

/* Stop and destroy the session. daemon->result is then its final state. */
static int end_session(struct through *t)
{
	struct wmk_daemon *daemon = t->daemon;
	int err = reconnect(t);

	if (err >= 0)
		err = wmk_daemon_did(daemon, waymark_ctl_destroy(daemon->ctl, daemon->session, &daemon->result));
	if (err == -ENOENT)
		return wmk_error(-ENOENT, "the session %s no longer exists: another client has destroyed it",
				 daemon->session);
	return err < 0 ? wmk_error_add(err, "the session %s may still exist: remove it with `waymark destroy %s`",
				       daemon->session, daemon->session)
		       : 0;
}

/*
 * Every application records at least its state dump: the list of its loaded objects. Therefore, if the trace has no
 * records, the program is not instrumented.
 */
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
		return wmk_error(-EPROTO, "the session daemon did not return the counts of %s", t->daemon->session);
	counts_in(session->counts, &counts);
	result->counts = &counts;
	result->session = session;
	say_matches(result, session);
	if (result->running)
		wmk_cli_warn("%s has ended, but a descendant continues to run and is no longer recorded",
			     result->program);
	if (t->snapshots.on)
		wmk_record_snapshots_print(&t->snapshots, result);
	else
		wmk_record_figures(result);
	return 0;
}

int wmk_record_through(struct wmk_daemon *daemon, const struct wmk_record_args *args,
		       const struct wmk_recording_options *options, char *path, char **argv, int grace_ms)
{
	struct through t = { .args = args, .options = options, .daemon = daemon };
	struct wmk_child child = { .signals = -1 };
	struct wmk_record_result result = {
		.args = args, .options = options, .child = &child, .program = argv[0], .path = t.path
	};
	siginfo_t info;
	const bool had_children = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
	int err = wmk_record_snapshots_begin(&t.snapshots, args, argv[0]);

	if (err >= 0)
		err = wmk_child_open(&child);
	child.kept = t.snapshots.on ? SIGUSR2 : 0;       /* if the option lacks the word USR2, SIGUSR2 has no effect */
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
	result.running = run_until_end(&t, &child, had_children, grace_ms);
	err = end_session(&t);
	if (err >= 0)
		err = summarize(&t, &result);
	if (err < 0) {
		wmk_error_add(err, "%s has ended, but its trace could not be completed", argv[0]);
		wmk_record_failed(&result);
	}
	if (!t.snapshots.on && !args->url)
		wmk_recorded_set(t.path);
	else if (t.snapshots.n)
		wmk_recorded_set(t.snapshots.made[t.snapshots.n - 1].path);
	else if (t.ours)
		wmk_recording_discard(t.path, t.made_place);
	wmk_record_snapshots_end(&t.snapshots);
	wmk_child_close(&child);
	return wmk_child_exit_status(&child);
}
