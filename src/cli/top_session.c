/* SPDX-License-Identifier: MIT */
/*
 * top_session.c - see top_session.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "cli/daemon.h"
#include "cli/record.h"
#include "cli/top_session.h"

/*
 * Each file holds several sub-buffers of the default size, so the follower has time to read a file before the file is
 * replaced.
 */
#define FILE_SIZE (UINT64_C(16) << 20)
#define FILES 4u

static const char *const user_contexts[] = { "vpid", "vtid", "procname" };
static const char *const kernel_contexts[] = { "pid", "tid", "procname" };

/* Warnings about event patterns that match no existing event are not printed. */
static int did(struct wmk_daemon *daemon, int rc)
{
	if (rc < 0)
		return wmk_daemon_did(daemon, rc);
	wmk_daemon_drop(daemon);
	return 0;
}

static int enable(struct wmk_daemon *daemon, const char *session, const struct waymark_ctl_domain *domain,
		  const char *const *contexts, const char *const *patterns, unsigned n)
{
	struct waymark_ctl_rule rules[WMK_RECORD_PATTERNS_MAX];
	const char *name = domain->kind == WAYMARK_CTL_KERNEL ? "top-kernel" : "top";
	const struct waymark_ctl_channel_options channel = {
		.size = sizeof(channel), .session = session, .domain = domain, .name = name,
		.tracefile_size = FILE_SIZE, .tracefile_count = FILES, .contexts = contexts, .n_contexts = 3,
	};
	const struct waymark_ctl_events_options events = {
		.size = sizeof(events), .session = session, .domain = domain, .channel = name, .rules = rules,
		.n_rules = n,
	};
	int err;

	for (unsigned i = 0; i < n; i++)
		rules[i] = (struct waymark_ctl_rule){ .size = sizeof(rules[i]), .pattern = patterns[i] };
	err = did(daemon, waymark_ctl_enable_channel(daemon->ctl, &channel, &daemon->result));
	return err < 0 ? err : did(daemon, waymark_ctl_enable_event(daemon->ctl, &events, &daemon->result));
}

static int enable_all(struct wmk_daemon *daemon, const char *session)
{
	const struct waymark_ctl_domain user = { .size = sizeof(user), .kind = WAYMARK_CTL_USER },
					kernel = { .size = sizeof(kernel), .kind = WAYMARK_CTL_KERNEL };
	struct wmk_record_patterns patterns = { .n = 0 };
	static const char *const all[] = { "*" };
	int err = enable(daemon, session, &user, user_contexts, all, 1);

	if (err < 0 || geteuid() != 0)
		return err;
	err = wmk_record_preset(&patterns, WMK_PRESET_SCHED);
	if (err >= 0)
		err = wmk_record_preset(&patterns, WMK_PRESET_SYSCALLS);
	if (err >= 0)
		err = wmk_record_preset(&patterns, WMK_PRESET_IO);
	return err < 0 ? err : enable(daemon, session, &kernel, kernel_contexts, patterns.items, patterns.n);
}

int wmk_top_session_begin(struct wmk_top_session *session)
{
	const char *parent = getenv("TMPDIR");
	const struct wmk_cli_common common = { .session = NULL };
	struct waymark_ctl_create_options options = { .size = sizeof(options), .name = session->name,
						      .path = session->path };
	struct wmk_daemon daemon;
	int err;

	memset(session, 0, sizeof(*session));
	snprintf(session->name, sizeof(session->name), "top-%d", (int)getpid());
	snprintf(session->path, sizeof(session->path), "%.4000s/waymark-top-XXXXXX",
		 parent && *parent == '/' ? parent : "/tmp");
	session->made_place = mkdtemp(session->path) != NULL;
	if (!session->made_place)
		return wmk_error(-errno, "cannot create the directory '%.200s'", session->path);
	err = wmk_daemon_open(&daemon, &common, WMK_DAEMON_ANY);
	if (err >= 0) {
		err = waymark_ctl_create(daemon.ctl, &options, &daemon.result);
		session->made = err >= 0 || err == -ETIMEDOUT;
		err = did(&daemon, err);
	}
	if (err >= 0)
		err = enable_all(&daemon, session->name);
	if (err >= 0)
		err = did(&daemon, waymark_ctl_start(daemon.ctl, session->name, &daemon.result));
	wmk_daemon_close(&daemon, &common, 0);
	return err < 0 ? wmk_error_add(err, "cannot create a session for `waymark top`") : 0;
}

void wmk_top_session_end(struct wmk_top_session *session)
{
	struct wmk_error_chain *chain = wmk_error_take();
	const struct wmk_cli_common common = { .session = NULL };
	char words[8 * WMK_ERROR_LEN];
	struct wmk_daemon daemon;
	int err;

	if (session->made) {
		err = wmk_daemon_open(&daemon, &common, WMK_DAEMON_RUNNING);
		if (err >= 0)
			err = did(&daemon, waymark_ctl_destroy(daemon.ctl, session->name, &daemon.result));
		if (err < 0)
			wmk_cli_warn("the session %s still exists: remove it with `waymark destroy %s` (%s)",
				     session->name, session->name, wmk_error_text(words, sizeof(words)));
		wmk_error_clear();
		wmk_daemon_close(&daemon, &common, 0);
	}
	if (session->made_place)
		wmk_recording_discard(session->path, true);
	wmk_error_give(chain);
}
