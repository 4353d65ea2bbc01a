/* SPDX-License-Identifier: MIT */
/*
 * daemon.c - see daemon.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>

#include "base/error.h"
#include "base/nearest.h"
#include "cli/current.h"
#include "cli/daemon.h"

#define UNANSWERED_MAX 8
/* limit of the time to connect, and of the time for the answer, if the command also works without a daemon */
#define HERE_MS 2000

bool wmk_cli_no_sessiond;

/* Return whether the error text of the library ends with the strerror text for this error. */
static bool has_system_words(int err)
{
	char text[WMK_ERROR_DEPTH * WMK_ERROR_LEN];
	const char *words = strerrordesc_np(-err);
	const size_t len = strlen(waymark_ctl_error_text(text, sizeof(text))), n = words ? strlen(words) : 0;

	return n && len >= n && strcmp(text + len - n, words) == 0;
}

/*
 * Copy the messages of the library to the cause chain of this thread, innermost first. If the error text of the library
 * does not end with the strerror text, wmk_error_text() must not append the strerror text.
 */
static int take_error(int err)
{
	char sentences[WMK_ERROR_DEPTH][WMK_ERROR_LEN];
	unsigned n = 0;
	const char *sentence;

	while (n < WMK_ERROR_DEPTH && (sentence = waymark_ctl_error(n)))
		snprintf(sentences[n++], WMK_ERROR_LEN, "%s", sentence);
	if (!n)
		return wmk_error(err, "the session daemon refused the request");
	(has_system_words(err) ? wmk_error : wmk_errorx)(err, "%s", sentences[--n]);
	while (n)
		wmk_error_add(err, "%s", sentences[--n]);
	return err;
}

/* Select the given session, or else the current session if `need` requires a session. */
static int choose_session(struct wmk_daemon *daemon, const struct wmk_cli_common *args, enum wmk_daemon_need need)
{
	int err;

	if (args->session) {
		if ((size_t)snprintf(daemon->session, sizeof(daemon->session), "%s", args->session) >=
		    sizeof(daemon->session))
			return wmk_error(-ENAMETOOLONG, "the name of the session is too long: the maximum is %zu bytes",
					 sizeof(daemon->session) - 1);
		return 0;
	}
	if (need != WMK_DAEMON_SESSION)
		return 0;
	err = wmk_current_get(daemon->session, sizeof(daemon->session));
	if (err == -ENOENT)
		return wmk_error(-EINVAL,
				 "there is no current session: create one with `waymark create`, or select one of "
				 "`waymark list` with `waymark set-session`");
	return err;
}

int wmk_daemon_open(struct wmk_daemon *daemon, const struct wmk_cli_common *args, enum wmk_daemon_need need)
{
	struct waymark_ctl_connect_options options = {
		.size = sizeof(options),
		.start = wmk_cli_no_sessiond || need == WMK_DAEMON_RUNNING ? WAYMARK_CTL_START_NEVER
									   : WAYMARK_CTL_START_IF_NONE,
		.timeout_ms = need == WMK_DAEMON_RUNNING ? HERE_MS : 0,
	};
	int err;

	memset(daemon, 0, sizeof(*daemon));
	daemon->channel = args->channel;
	err = choose_session(daemon, args, need);
	if (err < 0)
		return err;
	err = waymark_ctl_connect(&options, &daemon->ctl);
	if (err < 0) {
		daemon->ctl = NULL;
		take_error(err);
		if (wmk_cli_no_sessiond && (err == -ENOENT || err == -ECONNREFUSED))
			wmk_error_add(err, "no session daemon runs, and -n disables its start");
	}
	return err;
}

int wmk_daemon_recover(struct wmk_daemon *daemon, const char *rundir, const char *path)
{
	const struct waymark_ctl_connect_options options = {
		.size = sizeof(options), .start = WAYMARK_CTL_START_IF_NONE, .rundir = rundir, .recover = path
	};

	memset(daemon, 0, sizeof(*daemon));
	int err = waymark_ctl_connect(&options, &daemon->ctl);
	if (err < 0) {
		daemon->ctl = NULL;
		take_error(err);
	}
	return err;
}

/* ── unknown objects ─────────────────────────────────────────────────────────────────────────────────── */

int wmk_daemon_check_channel(const struct waymark_ctl_session_info *session, const char *name)
{
	struct wmk_nearest near;
	char names[80];

	wmk_nearest_init(&near, name);
	for (unsigned i = 0; i < session->n_channels; i++) {
		if (strcmp(session->channels[i]->name, name) == 0)
			return 0;
		wmk_nearest_offer(&near, session->channels[i]->name);
	}
	if (near.n)
		return wmk_error(-EINVAL, "session %.40s has no channel \"%.40s\"; did you mean: %s?", session->name,
				 name, wmk_nearest_text(&near, names, sizeof(names)));
	return wmk_error(-EINVAL,
			 "session %.40s has no channel \"%.40s\"; `waymark list %.40s` lists its channels",
			 session->name, name, session->name);
}

/*
 * A request failed with -ENOENT. If the session is unknown, the error message of the daemon already names the session.
 * If the session exists, the channel is unknown, so replace the cause chain by a message about the channel.
 */
static void explain_missing(struct wmk_daemon *daemon)
{
	const struct waymark_ctl_session_info *const *sessions;
	struct waymark_ctl_result *result;

	if (!daemon->session[0] || !daemon->channel ||
	    waymark_ctl_list_sessions(daemon->ctl, daemon->session, &result) < 0)
		return;
	if (waymark_ctl_result_sessions(result, &sessions))
		wmk_daemon_check_channel(sessions[0], daemon->channel);
	waymark_ctl_result_free(result);
}

/* ── results ─────────────────────────────────────────────────────────────────────────────────────────── */

static void say_unanswered(const struct waymark_ctl_result *result)
{
	const struct waymark_ctl_app_info *const *apps;
	unsigned n = waymark_ctl_result_unanswered(result, &apps);
	char list[1024] = "";
	size_t len = 0;

	if (!n)
		return;
	for (unsigned i = 0; i < n && i < UNANSWERED_MAX && len < sizeof(list); i++)
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%.64s (pid %llu)", i ? ", " : "",
					wmk_cli_clean(apps[i]->name), (unsigned long long)apps[i]->pid);
	if (n > UNANSWERED_MAX && len < sizeof(list))
		snprintf(list + len, sizeof(list) - len, " and %u more", n - UNANSWERED_MAX);
	wmk_cli_warn("%u application%s not confirmed the change yet, and will apply it as soon as %s can: %s", n,
		     n == 1 ? " has" : "s have", n == 1 ? "it" : "they", list);
}

int wmk_daemon_did(struct wmk_daemon *daemon, int rc)
{
	const char *const *warnings;
	unsigned n;

	if (rc < 0) {
		daemon->result = NULL;
		take_error(rc);
		if (rc == -ENOENT)
			explain_missing(daemon);
		return rc;
	}
	if (!daemon->result)
		return 0;
	n = waymark_ctl_result_warnings(daemon->result, &warnings);
	for (unsigned i = 0; i < n; i++)
		wmk_cli_warn("%s", wmk_cli_clean(warnings[i]));
	say_unanswered(daemon->result);
	return 0;
}

void wmk_daemon_drop(struct wmk_daemon *daemon)
{
	waymark_ctl_result_free(daemon->result);
	daemon->result = NULL;
}

static int print_json(const struct waymark_ctl_result *result)
{
	const int err = waymark_ctl_result_print_json(result, stdout);

	if (err == 0)
		return 0;
	if (!ferror(stdout))
		return take_error(err);
	/*
	 * Report the error here, where the cause is known. Discard the buffered output, so that main() does not report
	 * the same error again when main() flushes the output.
	 */
	clearerr(stdout);
	__fpurge(stdout);
	return wmk_error(err, "cannot write to standard output: %s", strerror(-err));
}

int wmk_daemon_close(struct wmk_daemon *daemon, const struct wmk_cli_common *args, int err)
{
	if (err >= 0 && args->json && daemon->result)
		err = print_json(daemon->result);
	wmk_daemon_drop(daemon);
	waymark_ctl_close(daemon->ctl);
	daemon->ctl = NULL;
	return err < 0 ? wmk_cli_failed() : 0;
}

const struct waymark_ctl_session_info *wmk_daemon_session(const struct wmk_daemon *daemon)
{
	const struct waymark_ctl_session_info *const *sessions;

	return daemon->result && waymark_ctl_result_sessions(daemon->result, &sessions) ? sessions[0] : NULL;
}

struct waymark_ctl_domain wmk_daemon_domain(const struct wmk_cli_common *args)
{
	return (struct waymark_ctl_domain){
		.size = sizeof(struct waymark_ctl_domain),
		.kind = args->kernel ? WAYMARK_CTL_KERNEL
			: args->pid  ? WAYMARK_CTL_PID
			: args->exec ? WAYMARK_CTL_EXEC
				     : WAYMARK_CTL_USER,
		.follow = args->follow,
		.pid = args->pid,
		.exec = args->exec,
	};
}
