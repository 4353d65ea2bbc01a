/* SPDX-License-Identifier: MIT */
/*
 * child.c - see child.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "cli/child.h"
#include "cli/process_state.h"

static const int passed_on[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };

/* Returns 0 if `path` can be executed, or else the reason as -errno. */
static int executable(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EACCES;
	return access(path, X_OK) < 0 ? -errno : 0;
}

int wmk_child_find(const char *name, char *path, size_t size)
{
	const char *dirs = getenv("PATH");
	int err, worst = -ENOENT;

	if (!*name)
		return wmk_error(-ENOENT, "the program's name is empty");
	if (strchr(name, '/')) {
		if ((size_t)snprintf(path, size, "%s", name) >= size)
			return wmk_error(-ENAMETOOLONG, "the program's name is too long: the maximum is %zu bytes",
					 size - 1);
		err = executable(path);
		return err < 0 ? wmk_error(err, "cannot run %s: %s", name, strerror(-err)) : 0;
	}
	for (dirs = dirs ? dirs : "/usr/local/bin:/usr/bin:/bin"; ; dirs++) {
		size_t len = strcspn(dirs, ":");

		if ((size_t)snprintf(path, size, "%.*s%s%s", (int)len, dirs, len ? "/" : "./", name) < size) {
			err = executable(path);
			if (err == 0)
				return 0;
			if (err == -EACCES)
				worst = err;
		}
		dirs += len;
		if (!*dirs)
			break;
	}
	if (worst == -EACCES)
		return wmk_error(worst, "cannot run %s: the file in PATH is not executable", name);
	return wmk_error(worst, "program %s not found in PATH%s%s", name,
			 access(name, X_OK) == 0 ? "; did you mean ./" : "", access(name, X_OK) == 0 ? name : "");
}

/*
 * Each application needs two descriptors. The usual limit of 1024 descriptors is meant for programs that use select(2).
 */
static void more_files(struct wmk_child *child)
{
	struct rlimit more;

	if (getrlimit(RLIMIT_NOFILE, &child->old_files) < 0) {
		child->old_files = (struct rlimit){ RLIM_INFINITY, RLIM_INFINITY };
		return;
	}
	more = (struct rlimit){ child->old_files.rlim_max, child->old_files.rlim_max };
	setrlimit(RLIMIT_NOFILE, &more);
}

int wmk_child_open(struct wmk_child *child)
{
	struct sigaction normal = { .sa_handler = SIG_DFL }, ignore = { .sa_handler = SIG_IGN };
	sigset_t set;

	memset(child, 0, sizeof(*child));
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (unsigned i = 0; i < WMK_ARRAY_LEN(passed_on); i++)
		sigaddset(&set, passed_on[i]);
	/*
	 * If the parent of this process ignores SIGCHLD, this process inherits the setting, and the kernel would
	 * discard the exit status of its child.
	 */
	sigaction(SIGCHLD, &normal, &child->old_chld);
	sigaction(SIGPIPE, &ignore, &child->old_pipe);
	/*
	 * If this process ignores SIGXFSZ, a write beyond the file size limit returns an error, instead of ending this
	 * process.
	 */
	sigaction(SIGXFSZ, &ignore, &child->old_xfsz);
	more_files(child);
	pthread_sigmask(SIG_BLOCK, &set, &child->old_mask);
	child->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (child->signals < 0)
		return wmk_error(-errno, "cannot receive signals: %s", strerror(errno));
	return 0;
}

/*
 * Runs in the new process, so it uses only functions that are safe after fork() in a multithreaded program. `shell` is
 * the argv that runs the file `path` as a shell script. The descriptor `go` becomes readable when the program may
 * start. Errors are written to `report`. Does not return.
 */
static void become(const struct wmk_child *child, char *path, char **argv, char **shell, int go, int report)
{
	char word;
	int err;

	if (read(go, &word, 1) != 1)
		_exit(127);              /* our parent has ended */

	sigaction(SIGCHLD, &child->old_chld, NULL);
	sigaction(SIGPIPE, &child->old_pipe, NULL);
	sigaction(SIGXFSZ, &child->old_xfsz, NULL);
	setrlimit(RLIMIT_NOFILE, &child->old_files);
	pthread_sigmask(SIG_SETMASK, &child->old_mask, NULL);
	execv(path, argv);
	/* Run a script without an interpreter line (#!) with the shell, as shells and execvp(3) do. */
	if (errno == ENOEXEC)
		execv(shell[0], shell);
	err = errno;
	while (write(report, &err, sizeof(err)) < 0 && errno == EINTR)
		;
	_exit(127);
}

/* {"/bin/sh", path, argv[1], ...}; free() it. */
static char **shell_arguments(char *path, char **argv)
{
	static char name[] = "/bin/sh";
	char **shell;
	size_t n = 0;

	while (argv[n])
		n++;
	shell = calloc(n + 2, sizeof(*shell));
	if (shell) {
		memcpy(shell + 1, argv, n * sizeof(*shell));
		shell[0] = name;
		shell[1] = path;
	}
	return shell;
}

/* Return a terminating signal that arrived before the program existed, or 0 if there was no such signal. */
static int interrupted(const struct wmk_child *child)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t pending;

	sigpending(&pending);
	for (unsigned i = 0; i < WMK_ARRAY_LEN(ends); i++) {
		struct sigaction action;

		if (sigismember(&pending, ends[i]) == 1 && sigismember(&child->old_mask, ends[i]) == 0 &&
		    sigaction(ends[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			return ends[i];
	}
	return 0;
}

/*
 * Read the report of the new process: 0 if exec succeeded, or the errno of exec. A successful exec closes the pipe
 * without a report.
 */
static int hear_report(int fd)
{
	int err = 0;
	ssize_t n;

	do {
		n = read(fd, &err, sizeof(err));
	} while (n < 0 && errno == EINTR);
	return n == sizeof(err) ? err : 0;
}

int wmk_child_start(struct wmk_child *child, char *path, char **argv, const char *rundir,
		    int (*before)(void *data, pid_t pid), void *data)
{
	char **shell = shell_arguments(path, argv);
	int go[2] = { -1, -1 }, report[2] = { -1, -1 }, err = 0, refused = 0;

	if (interrupted(child)) {
		free(shell);
		return wmk_error(-EINTR, "interrupted before %s was started", argv[0]);
	}
	if (!shell || (rundir && setenv("WAYMARK_RUNDIR", rundir, 1) < 0) || pipe2(go, O_CLOEXEC) < 0 ||
	    pipe2(report, O_CLOEXEC) < 0)
		err = errno;
	child->pid = err ? -1 : fork();
	if (child->pid == 0) {
		close(go[1]);
		become(child, path, argv, shell, go[0], report[1]);
	}
	if (!err && child->pid < 0)
		err = errno;
	free(shell);
	close(go[0]);
	close(report[1]);
	if (!err) {
		refused = before(data, child->pid);
		if (refused >= 0 && write(go[1], "", 1) == 1)
			err = hear_report(report[0]);
	}
	close(go[1]);
	if (child->pid > 0 && (err || refused < 0))
		waitpid(child->pid, &child->status, 0);
	close(report[0]);
	if (err || refused < 0)
		child->pid = 0;
	if (err)
		return wmk_error(-err, "cannot run %s: %s", path, strerror(err));
	return refused < 0 ? refused : 0;
}

static void reap(struct wmk_child *child)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == child->pid) {
			child->ended = true;
			child->status = status;
		}
	}
}

static bool descends_from_us(pid_t pid)
{
	pid_t us = getpid();

	for (unsigned i = 0; pid > 1 && i < 256; i++) {
		pid = wmk_proc_parent(pid);
		if (pid == us)
			return true;
	}
	return false;
}

void wmk_child_handle_signals(struct wmk_child *child)
{
	struct signalfd_siginfo info;

	while (read(child->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			reap(child);
		else if ((int)info.ssi_signo == child->kept)
			child->n_kept++;
		else if (info.ssi_code <= 0 && child->pid && !child->ended && !descends_from_us((pid_t)info.ssi_pid))
			/*
			 * forward only signals from processes: the kernel sends its signals to our whole process group
			 */
			kill(child->pid, (int)info.ssi_signo);
	}
}

int wmk_child_exit_status(const struct wmk_child *child)
{
	return WIFSIGNALED(child->status) ? 128 + WTERMSIG(child->status) : WEXITSTATUS(child->status);
}

void wmk_child_close(struct wmk_child *child)
{
	if (child->signals >= 0)
		close(child->signals);
	child->signals = -1;
}
