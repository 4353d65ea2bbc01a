/* SPDX-License-Identifier: MIT */
/*
 * core_hook.c - `waymark core-hook`: a core dump handler that records snapshots, and then passes the core dump to the
 * next handler.
 *
 *     kernel ──core──► core-hook ─┬─ a child: snapshots of all sessions that record the process, at most 2 s
 *                                 └─ then: the earlier handler or file
 *
 * --install writes core_pattern and keeps the earlier pattern in a file; --remove restores this pattern. The kernel
 * runs the hook as root, so the hook refuses a pattern file to which another user can write.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/core_pattern.h"
#include "cli/daemon.h"
#include "store/store.h"
#include "wire/wire.h"

#define SNAPSHOTS_S 2              /* limit of the time before the core is passed on */
#define PATTERN_MAX 128            /* bytes of core_pattern */
#define CORE_PATTERN "/proc/sys/kernel/core_pattern"
#define KEPT_FOLDER "/etc/waymark"
#define KEPT_PATTERN KEPT_FOLDER "/core-pattern"

struct core_hook_args {
	struct wmk_cli_common common;
	bool install, remove;
	const char *core_pattern, *kept;         /* NULL: the files above */
};

static uint64_t number_of(const struct wmk_core_values *values, char letter)
{
	const char *text = wmk_core_value(values, letter);

	return text ? strtoull(text, NULL, 10) : 0;
}

/* ── snapshots: in a child process ───────────────────────────────────────────────────────────────────── */

/*
 * Snapshots have kernel channels only if the session has no other output (docs/flight-recorder.md). The allow-list of
 * the session may exclude the process from kernel events.
 */
static bool kernel_records(const struct waymark_ctl_session_info *session, uint64_t pid)
{
	const struct waymark_ctl_trackers *trackers = session->trackers;

	if (!session->snapshot || !trackers->kernel_pid)
		return session->snapshot;
	for (unsigned i = 0; i < trackers->n_kernel_pids; i++)
		if (trackers->kernel_pids[i] == pid)
			return true;
	return false;
}

/*
 * True if a channel of the session can record the process that dumps core. `is_app`: the process is an application that
 * is registered with the daemon.
 */
static bool has_channel_for(const struct waymark_ctl_session_info *session, const struct wmk_core_values *values,
			    bool is_app)
{
	for (unsigned i = 0; i < session->n_channels; i++) {
		const struct waymark_ctl_channel_info *channel = session->channels[i];

		if (channel->domain == WAYMARK_CTL_KERNEL && kernel_records(session, number_of(values, 'P')))
			return true;
		if (channel->mode != WAYMARK_CTL_OVERWRITE || channel->domain == WAYMARK_CTL_KERNEL || !is_app)
			continue;
		if (channel->domain != WAYMARK_CTL_PID || channel->follow || channel->pid == number_of(values, 'P'))
			return true;
	}
	return false;
}

static bool records(const struct waymark_ctl_session_info *session, const struct wmk_core_values *values, bool is_app)
{
	const uint64_t uid = number_of(values, 'u');

	return session->active && *session->snapshot_path && (session->uid == uid || session->uid == 0) &&
	       has_channel_for(session, values, is_app);
}

static void snapshots_of(const char *rundir, const struct wmk_core_values *values)
{
	const struct waymark_ctl_connect_options connect = {
		.size = sizeof(connect), .rundir = rundir, .start = WAYMARK_CTL_START_NEVER,
		.timeout_ms = SNAPSHOTS_S * 1000,
	};
	const struct waymark_ctl_apps_options apps = { .size = sizeof(apps), .pid = number_of(values, 'P') };
	const struct waymark_ctl_session_info *const *sessions;
	const struct waymark_ctl_app_info *const *found;
	struct waymark_ctl_result *result = NULL;
	struct waymark_ctl *ctl;
	char reason[64];
	bool is_app = false;
	unsigned n;

	if (waymark_ctl_connect(&connect, &ctl) < 0)
		return;
	if (waymark_ctl_list_apps(ctl, &apps, &result) == 0)
		is_app = waymark_ctl_result_apps(result, &found) > 0;
	waymark_ctl_result_free(result);
	result = NULL;
	if (waymark_ctl_list_sessions(ctl, NULL, &result) == 0) {
		n = waymark_ctl_result_sessions(result, &sessions);
		snprintf(reason, sizeof(reason), "crash by signal %d", (int)number_of(values, 's'));
		for (unsigned i = 0; i < n; i++) {
			const struct waymark_ctl_snapshot_options options = {
				.size = sizeof(options), .session = sessions[i]->name, .name = "crash",
				.reason = reason, .program = wmk_core_value(values, 'e'),
				.pid = number_of(values, 'P'),
			};

			if (records(sessions[i], values, is_app))
				waymark_ctl_snapshot_record(ctl, &options, NULL);
		}
		waymark_ctl_result_free(result);
	}
	waymark_ctl_close(ctl);
}

static void snapshots(const struct wmk_core_values *values)
{
	const uid_t uid = (uid_t)number_of(values, 'u');
	char rundir[256];

	if (wmk_rundir(0, 1, rundir, sizeof(rundir)) >= 0)
		snapshots_of(rundir, values);
	if (uid != 0 && wmk_rundir_of(uid, NULL, rundir, sizeof(rundir)) >= 0)
		snapshots_of(rundir, values);
}

/*
 * Record the snapshots in a child process, which is killed after SNAPSHOTS_S seconds. If the child is killed, the
 * session daemon still completes each request that the child has sent.
 */
static void snapshots_in_time(const struct wmk_core_values *values)
{
	const struct timespec limit = { .tv_sec = SNAPSHOTS_S };
	sigset_t child;
	pid_t pid;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	pid = fork();
	if (pid == 0) {
		snapshots(values);
		_exit(0);
	}
	if (pid > 0 && sigtimedwait(&child, NULL, &limit) < 0)
		kill(pid, SIGKILL);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	sigprocmask(SIG_UNBLOCK, &child, NULL);
}

/* ── pass the core on ────────────────────────────────────────────────────────────────────────────────── */

/*
 * Read a pattern. `trusted`: the file must belong to root or to this user, and only the owner of the file may have
 * write permission.
 */
static int pattern_read(const char *path, bool trusted, char pattern[PATTERN_MAX + 1])
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return wmk_error(-errno, "cannot open %s: %s", path, strerror(errno));
	if (trusted && (fstat(fd, &st) < 0 || !wmk_rundir_file_is_trusted(&st, S_IFREG, geteuid()))) {
		close(fd);
		return wmk_error(-EPERM, "%s is not a file that only root can write", path);
	}
	n = read(fd, pattern, PATTERN_MAX);
	close(fd);
	if (n < 0)
		return wmk_error(-errno, "cannot read %s: %s", path, strerror(errno));
	pattern[n] = '\0';
	pattern[strcspn(pattern, "\n")] = '\0';
	return 0;
}

/*
 * Copy at most `limit` bytes of the core dump to a new file of the user. If a file of that name exists, it is removed
 * first.
 */
static int write_file(const char *path, uint64_t limit)
{
	char block[65536];
	ssize_t n = 0;
	int fd;

	if (unlink(path) < 0 && errno != ENOENT)
		return wmk_error(-errno, "cannot replace %s: %s", path, strerror(errno));
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return wmk_error(-errno, "cannot create %s: %s", path, strerror(errno));
	while (limit && (n = read(STDIN_FILENO, block, limit < sizeof(block) ? (size_t)limit : sizeof(block))) > 0) {
		limit -= (uint64_t)n;
		if (write(fd, block, (size_t)n) != n) {
			n = -1;
			break;
		}
	}
	const int err = n < 0 ? wmk_error(-EIO, "cannot write all of %s", path) : 0;

	close(fd);
	return err;
}

/*
 * If a process has changed its user or group ids (%d of core(5) is not 1), the hook writes its core dump to a file of
 * root, like the kernel.
 */
static int to_file(const char *pattern, const struct wmk_core_values *values)
{
	const bool own = number_of(values, 'd') == 1;
	const uid_t uid = own ? (uid_t)number_of(values, 'u') : geteuid();
	const gid_t gid = own ? (gid_t)number_of(values, 'g') : getegid();
	char path[PATH_MAX];
	int err = wmk_core_expand(pattern, values, true, path, sizeof(path));

	if (err < 0 || !number_of(values, 'c'))
		return err;
	err = wmk_store_identity_begin(uid, gid);
	if (err < 0)
		return err;
	err = write_file(path, number_of(values, 'c'));
	wmk_store_identity_end();
	return err;
}

static int pass_on(const char *kept, const struct wmk_core_values *values)
{
	char pattern[PATTERN_MAX + 1], *argv[WMK_CORE_ARGUMENTS_MAX + 1];
	int err = pattern_read(kept, true, pattern);

	if (err < 0)
		return err;
	if (pattern[0] == '/')
		return to_file(pattern, values);
	if (pattern[0] != '|')
		return wmk_error(-EINVAL, "the core pattern \"%.60s\" is not an absolute path or a handler: no core is "
				 "written", pattern);
	err = wmk_core_words(pattern + 1, values, argv);
	if (err < 0)
		return err;
	execv(argv[0], argv);
	err = wmk_error(-errno, "cannot run %s: %s", argv[0], strerror(errno));
	wmk_core_words_free(argv);
	return err;
}

static int hook(const struct core_hook_args *args, char **rest)
{
	struct wmk_core_values values;

	for (unsigned i = 0; i < WMK_CORE_VALUES; i++)
		values.of[i] = rest[i];
	snapshots_in_time(&values);
	return pass_on(args->kept ? args->kept : KEPT_PATTERN, &values) < 0 ? wmk_cli_failed() : 0;
}

/* ── install, remove ─────────────────────────────────────────────────────────────────────────────────── */

static int pattern_write(const char *path, const char *pattern, int flags)
{
	const int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | flags, 0644);
	const ssize_t n = fd < 0 ? -1 : write(fd, pattern, strlen(pattern));
	const int err = n == (ssize_t)strlen(pattern)
				? 0
				: wmk_error(n < 0 ? -errno : -EIO, "cannot write %s: %s", path, strerror(errno));

	if (fd >= 0)
		close(fd);
	return err;
}

static int own_pattern(char pattern[PATTERN_MAX])
{
	char program[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
	size_t len;

	if (n < 0)
		return wmk_error(-errno, "cannot find the path of this program: %s", strerror(errno));
	program[n] = '\0';
	len = (size_t)snprintf(pattern, PATTERN_MAX, "|%s core-hook --", program);
	for (unsigned i = 0; i < WMK_CORE_VALUES && len < PATTERN_MAX; i++)
		len += (size_t)snprintf(pattern + len, PATTERN_MAX - len, " %%%c", WMK_CORE_LETTERS[i]);
	return len < PATTERN_MAX ? 0 : wmk_error(-ENAMETOOLONG, "the path %s is too long: core_pattern has %d bytes",
						 program, PATTERN_MAX);
}

static int install(const char *core_pattern, const char *kept)
{
	char before[PATTERN_MAX + 1], own[PATTERN_MAX], there[PATTERN_MAX + 1];
	int err = own_pattern(own);

	if (err == 0 && strcmp(kept, KEPT_PATTERN) == 0 && mkdir(KEPT_FOLDER, 0755) < 0 && errno != EEXIST)
		err = wmk_error(-errno, "cannot make %s: %s", KEPT_FOLDER, strerror(errno));
	if (err == 0)
		err = pattern_read(core_pattern, false, before);
	if (err == 0 && strstr(before, " core-hook "))
		return wmk_error(-EALREADY, "the core hook is installed already: %s", before);
	if (err == 0)
		err = pattern_write(kept, before, O_CREAT | O_TRUNC);
	/*
	 * Check that the hook can read the saved pattern. If the hook could not read the saved pattern, all later core
	 * dumps would be lost.
	 */
	if (err == 0)
		err = pattern_read(kept, true, there);
	return err < 0 ? err : pattern_write(core_pattern, own, O_TRUNC);
}

static int restore(const char *core_pattern, const char *kept)
{
	char before[PATTERN_MAX + 1];
	int err = pattern_read(kept, true, before);

	if (err == 0)
		err = pattern_write(core_pattern, before, O_TRUNC);
	if (err == 0 && unlink(kept) < 0)
		err = wmk_error(-errno, "cannot remove %s: %s", kept, strerror(errno));
	return err;
}

static int run(void *data, char **rest, int n_rest)
{
	const struct core_hook_args *args = data;
	const char *core_pattern = args->core_pattern ? args->core_pattern : CORE_PATTERN;
	const char *kept = args->kept ? args->kept : KEPT_PATTERN;

	if (args->install && args->remove)
		return wmk_error(-EINVAL, "--install and --remove exclude each other: give one of them");
	if (args->install || args->remove) {
		if (n_rest)
			return wmk_error(-EINVAL, "unexpected argument: --install and --remove take no argument");
		return (args->install ? install : restore)(core_pattern, kept) < 0 ? wmk_cli_failed() : 0;
	}
	if (n_rest != (int)WMK_CORE_VALUES)
		return wmk_error(-EINVAL, "%d arguments given instead of %d: only the kernel runs this command "
					  "without options (use --install)",
				 n_rest, (int)WMK_CORE_VALUES);
	return hook(args, rest);
}

static const char *const details[] = {
	"`waymark core-hook --install`, as root, makes this command the handler of core dumps of the machine "
	"(/proc/sys/kernel/core_pattern), until a restart or --remove. The earlier pattern is kept in "
	"/etc/waymark/core-pattern.",
	"When a process dumps core, the hook records a snapshot of every active session that records it: sessions of "
	"root or of the user of the process, with a channel in overwrite mode and a snapshot output. In sessions of "
	"`create --snapshot`, a kernel channel suffices, unless `track -k` excludes the process. The snapshots are "
	"named crash-DATE-NUMBER, and their environment has the signal, the program and the process. After at most 2 "
	"seconds the core is passed on to the earlier handler, or written to the earlier file if that is an absolute "
	"path. A relative path is not supported: no core is written then.",
	NULL
};

static const struct wmk_cli_option options[] = {
	{ 0, "install", NULL, "Make this command the handler of core dumps.",
	  WMK_CLI_FLAG(struct core_hook_args, install) },
	{ 0, "remove", NULL, "Restore the earlier handler.", WMK_CLI_FLAG(struct core_hook_args, remove) },
	{ 0, "core-pattern", "FILE", "Use this file instead of /proc/sys/kernel/core_pattern.",
	  WMK_CLI_NAME(struct core_hook_args, core_pattern, "a file") },
	{ 0, "kept-pattern", "FILE", "Use this file instead of /etc/waymark/core-pattern.",
	  WMK_CLI_NAME(struct core_hook_args, kept, "a file") },
};

const struct wmk_cli_command wmk_cli_core_hook = {
	.name = "core-hook",
	.arguments = "[PID ...]",
	.summary = "Record snapshots when a process dumps core",
	.details = details,
	WMK_CLI_OPTIONS(options),
	.args_size = sizeof(struct core_hook_args),
	.run = run,
};
