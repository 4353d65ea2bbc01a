/* SPDX-License-Identifier: MIT */
/*
 * recover.c - `waymark recover DIR`: take the records that remained in ring files (`create --shm-path DIR`), and write
 * them to their trace.
 *
 *     each session directory in DIR ──► start a session daemon with its own runtime directory, which takes the rings
 *                                       over (session/model/shm_path.h)
 *                                   ──► destroy the session: the consumer daemon continues the files of the trace, and
 *                                       the ring files are removed
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "cli/daemon.h"
#include "cli/path.h"
#include "cli/session.h"

#define MARK "1.json"
#define ENDS_MS 30000
#define DEPTH 2

static int is_session(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Remove a directory of ours. The directory contains only files that killed daemons have left. */
static void dir_remove(const char *path, unsigned depth)
{
	DIR *dir = opendir(path);
	char below[PATH_MAX];

	for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    (size_t)snprintf(below, sizeof(below), "%s/%s", path, entry->d_name) >= sizeof(below))
			continue;
		if (unlink(below) != 0 && depth > 1)
			dir_remove(below, depth - 1);
	}
	if (dir)
		closedir(dir);
	rmdir(path);
}

/* Stop the daemon of this connection, and wait until it has ended. */
static void end_daemon(struct wmk_daemon *daemon)
{
	const struct waymark_ctl_version_info *version;
	struct waymark_ctl_result *result;
	struct pollfd ended = { .fd = -1, .events = POLLIN };

	if (waymark_ctl_version(daemon->ctl, &result) >= 0) {
		version = waymark_ctl_result_version(result);
		ended.fd = (int)syscall(SYS_pidfd_open, (pid_t)version->pid, 0);
		waymark_ctl_result_free(result);
	}
	if (waymark_ctl_shutdown(daemon->ctl) >= 0 && ended.fd >= 0)
		poll(&ended, 1, ENDS_MS);
	if (ended.fd >= 0)
		close(ended.fd);
}

/* Recover one session. Returns 0, or -errno after it has printed the error. */
static int take(const struct wmk_cli_common *args, const char *path)
{
	char rundir[] = "/tmp/waymark-recover-XXXXXX";       /* short: paths of sockets are limited */
	struct wmk_daemon daemon = { 0 };
	char words[8 * WMK_ERROR_LEN];
	int err = mkdtemp(rundir) ? 0
				  : wmk_error(-errno, "cannot create a runtime directory in /tmp for a session daemon");

	if (err < 0) {
		wmk_cli_warn("%s", wmk_error_text(words, sizeof(words)));
		return err;
	}
	err = wmk_daemon_recover(&daemon, rundir, path);
	if (err == 0)
		err = wmk_daemon_did(&daemon, waymark_ctl_destroy(daemon.ctl, NULL, &daemon.result));
	if (err < 0) {
		wmk_error_add(err, "cannot recover %s (the directory is kept)", path);
		wmk_cli_warn("%s", wmk_cli_clean(wmk_error_text(words, sizeof(words))));
		wmk_error_clear();
	} else {
		wmk_session_tell_ends(&daemon, "recovered", !args->json);
		wmk_session_remember(&daemon);
	}
	if (daemon.ctl)
		end_daemon(&daemon);
	if (wmk_daemon_close(&daemon, args, 0) != 0 && err == 0)
		err = -EIO;
	if (err == 0 && access(path, F_OK) == 0) {
		wmk_cli_warn("%s is kept: not all of its records could be written. Remove the cause, then recover it "
			     "again",
			     wmk_cli_clean(path));
		err = -EIO;
	}
	dir_remove(rundir, DEPTH);
	return err;
}

/*
 * Delay signals until the daemon has ended, because the daemon holds the rings and only this process can stop the
 * daemon.
 */
static int recover_one(const struct wmk_cli_common *args, const char *path)
{
	static const int waiting[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t set, before;

	sigemptyset(&set);
	for (size_t i = 0; i < WMK_ARRAY_LEN(waiting); i++)
		sigaddset(&set, waiting[i]);
	sigprocmask(SIG_BLOCK, &set, &before);
	int err = take(args, path);
	fflush(stdout);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}

/*
 * Recover all sessions that have ring files in the directory. Returns the number of recovered sessions; *failed is the
 * first error of a session.
 */
static int recover_in(const struct wmk_cli_common *args, const char *dir, int *failed)
{
	struct dirent **entries = NULL;
	char path[PATH_MAX], mark[PATH_MAX];
	int n = scandir(dir, &entries, is_session, alphasort), found = 0;

	if (n < 0)
		return wmk_error(-errno, "cannot list %s", dir);
	for (int i = 0; i < n; i++) {
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, entries[i]->d_name) < sizeof(path) &&
		    (size_t)snprintf(mark, sizeof(mark), "%s/" MARK, path) < sizeof(mark) && access(mark, F_OK) == 0) {
			int err = recover_one(args, path);

			found++;
			*failed = *failed < 0 ? *failed : err;
		}
		free(entries[i]);
	}
	free(entries);
	return found;
}

static int run(void *data, char **rest, int n_rest)
{
	const struct wmk_cli_common *args = data;
	char dir[PATH_MAX], mark[PATH_MAX + sizeof(MARK)];
	int failed = 0, err, found = 0;

	if (n_rest != 1)
		return wmk_error(-EINVAL, "no directory given: give that of `waymark create --shm-path`");
	err = wmk_cli_absolute_path(rest[0], dir, sizeof(dir));
	if (err < 0)
		return wmk_cli_failed();
	snprintf(mark, sizeof(mark), "%s/" MARK, dir);
	if (access(mark, F_OK) == 0) {
		found = 1;
		failed = recover_one(args, dir);
	} else {
		found = recover_in(args, dir, &failed);
	}
	if (found == 0)
		found = wmk_error(-ENOENT, "nothing to recover: no ring files of a session in %s",
				  dir);
	return found < 0 ? wmk_cli_failed() : failed < 0;
}

static const char *const details[] = {
	"Recovers sessions that were created with --shm-path after their applications and daemons have ended without "
	"writing all records: they were killed, or the machine was restarted and DIR is on persistent memory. Appends "
	"the records that remained in the rings to the trace of the session, then removes the ring files.",
	"DIR is the directory of --shm-path, with all its sessions, or the directory of one session. If a process uses "
	"the rings of a session, the session is skipped: while applications or a daemon run, nothing is lost. In that "
	"case, `waymark list` starts the session daemon, which resumes all sessions.",
	NULL
};

static const struct wmk_cli_option options[] = { WMK_CLI_OPTION_JSON };

const struct wmk_cli_command wmk_cli_recover = {
	.name = "recover",
	.arguments = "DIR",
	.summary = "Write records that remained in ring files after a crash",
	.details = details,
	WMK_CLI_OPTIONS(options),
	.args_size = sizeof(struct wmk_cli_common),
	.run = run,
};
