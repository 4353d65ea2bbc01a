/* SPDX-License-Identifier: MIT */
/* record_snapshots.c - see record_snapshots.h. */
#include "cli/record_snapshots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/error.h"

/* The bits of wmk_record_snapshots.on: bit i stands for word i of WMK_RECORD_SNAPSHOT_WORDS. */
enum { ON_USR2 = 1, ON_CRASH = 2, ON_EXIT = 4, ON_LOSS = 8 };

#define APART_NS 10000000000u
#define CHECK_MS 1000

int wmk_record_snapshots_begin(struct wmk_record_snapshots *snapshots, const struct wmk_record_args *args,
			       const char *program)
{
	*snapshots = (struct wmk_record_snapshots){ .program = program };
	for (unsigned i = 0; i < args->snapshot_on.n; i++) {
		const int word = wmk_cli_choice(WMK_RECORD_SNAPSHOT_WORDS,
						"--snapshot-on: unknown word \"@\"; the words are: #",
						args->snapshot_on.items[i]);

		if (word < 0)
			return word;
		snapshots->on |= 1u << word;
	}
	if (!snapshots->on)
		return 0;
	if (args->private)
		return wmk_error(-EINVAL, "--snapshot-on needs a session daemon: omit --private");
	if (args->overwrite)
		return wmk_error(-EINVAL, "--snapshot-on already implies --overwrite: omit it");
	return 0;
}

int wmk_record_snapshots_wait_ms(const struct wmk_record_snapshots *snapshots)
{
	return snapshots->on & ON_LOSS ? CHECK_MS : -1;
}

/* True if the session has lost records since the previous check. */
static bool has_loss(struct wmk_record_snapshots *snapshots, struct wmk_daemon *daemon,
		     int (*connect)(void *data), void *data)
{
	const struct waymark_ctl_session_info *session;
	uint64_t lost = snapshots->lost;
	int err = connect(data);

	if (err >= 0)
		err = waymark_ctl_list_sessions(daemon->ctl, daemon->session, &daemon->result);
	session = err >= 0 ? wmk_daemon_session(daemon) : NULL;
	if (session)
		lost = session->counts->lost - session->counts->overwritten;
	wmk_daemon_drop(daemon);
	wmk_error_clear();
	const bool more = lost > snapshots->lost;

	snapshots->lost = lost;
	return more;
}

/*
 * True if the command may record a snapshot now. If APART_NS have not passed since the last snapshot, the function
 * counts an omitted snapshot.
 */
static bool is_apart(struct wmk_record_snapshots *snapshots)
{
	const uint64_t now = wmk_clock_monotonic();

	if (snapshots->last_ns && now - snapshots->last_ns < APART_NS) {
		snapshots->refused++;
		return false;
	}
	snapshots->last_ns = now;
	return true;
}

const char *wmk_record_snapshots_due(struct wmk_record_snapshots *snapshots, struct wmk_child *child,
				     struct wmk_daemon *daemon, int (*connect)(void *data), void *data)
{
	if (child->ended && WIFSIGNALED(child->status) && snapshots->on & ON_CRASH)
		return "crash";
	if (child->ended)
		return snapshots->on & ON_EXIT ? "exit" : NULL;
	while (snapshots->asked < child->n_kept) {
		snapshots->asked++;
		if (is_apart(snapshots))
			return "USR2";
	}
	if (snapshots->on & ON_LOSS && has_loss(snapshots, daemon, connect, data) && is_apart(snapshots))
		return "loss";
	return NULL;
}

static void add(struct wmk_record_snapshots *snapshots, const struct waymark_ctl_snapshot_info *info,
		const char *reason)
{
	struct wmk_record_snapshot *more = realloc(snapshots->made, (snapshots->n + 1) * sizeof(*more));

	if (!more)
		return;
	snapshots->made = more;
	more[snapshots->n++] = (struct wmk_record_snapshot){
		.path = strdup(info->path), .reason = reason, .records = info->records, .bytes = info->bytes,
		.overwritten = info->overwritten,
	};
}

void wmk_record_snapshots_take(struct wmk_record_snapshots *snapshots, const struct wmk_child *child,
			       struct wmk_daemon *daemon, const char *reason)
{
	const char *slash = strrchr(snapshots->program, '/');
	const struct waymark_ctl_snapshot_options options = {
		.size = sizeof(options), .session = daemon->session, .name = reason, .reason = reason,
		.program = slash ? slash + 1 : snapshots->program, .pid = (uint64_t)child->pid,
	};
	char words[8 * WMK_ERROR_LEN], bytes[32];
	const struct waymark_ctl_snapshot_info *info;

	if (wmk_daemon_did(daemon, waymark_ctl_snapshot_record(daemon->ctl, &options, &daemon->result)) < 0) {
		wmk_cli_warn("no snapshot (%s): %s", reason, wmk_error_text(words, sizeof(words)));
		wmk_error_clear();
		return;
	}
	info = waymark_ctl_result_snapshot(daemon->result);
	add(snapshots, info, reason);
	wmk_cli_note("snapshot (%s): %llu event record%s, %s in %s", reason, (unsigned long long)info->records,
		     wmk_cli_plural(info->records), wmk_cli_bytes_text(info->bytes, bytes, sizeof(bytes)),
		     wmk_cli_clean(info->path));
	wmk_daemon_drop(daemon);
}

static void print_json(const struct wmk_record_snapshots *snapshots, const struct wmk_record_result *result)
{
	struct wmk_cli_json json = { .out = stdout };

	wmk_cli_json_open(&json, NULL, '{');
	wmk_cli_json_text(&json, "program", result->program);
	wmk_cli_json_i64(&json, "status", wmk_child_exit_status(result->child));
	wmk_cli_json_open(&json, "snapshots", '[');
	for (unsigned i = 0; i < snapshots->n; i++) {
		const struct wmk_record_snapshot *one = &snapshots->made[i];

		wmk_cli_json_open(&json, NULL, '{');
		wmk_cli_json_text(&json, "path", one->path);
		wmk_cli_json_text(&json, "reason", one->reason);
		wmk_cli_json_u64(&json, "records", one->records);
		wmk_cli_json_u64(&json, "bytes", one->bytes);
		wmk_cli_json_u64(&json, "overwritten", one->overwritten);
		wmk_cli_json_close(&json, '}');
	}
	wmk_cli_json_close(&json, ']');
	wmk_cli_json_u64(&json, "refused", snapshots->refused);
	wmk_cli_json_close(&json, '}');
	putchar('\n');
}

void wmk_record_snapshots_print(const struct wmk_record_snapshots *snapshots, const struct wmk_record_result *result)
{
	const int status = result->child->status;

	if (WIFSIGNALED(status))
		wmk_cli_note("%s was killed by signal %d (%s)", result->program, WTERMSIG(status),
			     strsignal(WTERMSIG(status)));
	if (snapshots->refused)
		wmk_cli_note("%u more snapshot%s within 10 s of the previous snapshot, and not recorded",
			     snapshots->refused,
			     snapshots->refused == 1 ? " was requested" : "s were requested");
	if (!snapshots->n)
		wmk_cli_note("no snapshot was recorded");
	if (result->args->json)
		print_json(snapshots, result);
}

void wmk_record_snapshots_end(struct wmk_record_snapshots *snapshots)
{
	for (unsigned i = 0; i < snapshots->n; i++)
		free(snapshots->made[i].path);
	free(snapshots->made);
	snapshots->made = NULL;
}
