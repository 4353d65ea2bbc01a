/* SPDX-License-Identifier: MIT */
/*
 * daemon_start.c - start a session daemon if none runs, and wait until it listens.
 *
 *     caller ──_Fork──► child ──_Fork──► grandchild: new session, no terminal, exec
 *        │                └─ exits at once, so this process has no child that another wait() could see
 *        └◄── pipe with number $WAYMARK_READY_FD: one byte when the daemon listens,
 *             '!' and a message if it failed, end of file if it crashed
 *
 * The child and the grandchild are copies of a process that may have other threads, so they call only async-signal-safe
 * functions. _Fork() also skips the handlers of pthread_atfork(), which are for children that continue.
 */
#include "ctl/connection.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "waymark-sessiond"
#define READY_FD 3
#define WORDS_MAX 1024
#define FDS_MAX 4096

/* ── find the program ────────────────────────────────────────────────────────────────────────────────── */

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static bool beside_us(char *buf, size_t size)
{
	ssize_t len = readlink("/proc/self/exe", buf, size - 1);

	if (len <= 0)
		return false;
	buf[len] = '\0';
	char *slash = strrchr(buf, '/');
	if (!slash || (size_t)(slash - buf) + sizeof("/" PROGRAM) > size)
		return false;
	strcpy(slash + 1, PROGRAM);
	return is_program(buf);
}

static bool in_path(char *buf, size_t size)
{
	const char *path = secure_getenv("PATH");

	for (const char *at = path ? path : "/usr/bin:/bin"; *at;) {
		size_t len = strcspn(at, ":");

		/* Skip empty and relative entries of PATH, because these entries depend on the working directory. */
		if (*at == '/' && snprintf(buf, size, "%.*s/" PROGRAM, (int)len, at) < (int)size && is_program(buf))
			return true;
		at += len + (at[len] == ':');
	}
	return false;
}

/* Find the daemon's program; `buf` has PATH_MAX bytes. */
static int program_find(const char *named, char *buf, size_t size)
{
	const char *environment = secure_getenv("WAYMARK_SESSIOND");

	if (!named || !*named)
		named = environment && *environment ? environment : NULL;
	if (named) {
		/* The path must be absolute, because the daemon starts in another directory. */
		if (!realpath(named, buf))
			return wmk_error(-errno, "cannot start the session daemon %s", named);
		return is_program(buf)
			       ? 0
			       : wmk_errorx(-EACCES, "cannot start the session daemon %s: not an executable file",
					    named);
	}
	if (beside_us(buf, size) || in_path(buf, size))
		return 0;
	return wmk_errorx(-ENOENT, "no session daemon runs, and the program " PROGRAM
				   " is neither beside this program nor in PATH: install it, or "
				   "set WAYMARK_SESSIOND");
}

/* ── make its environment ────────────────────────────────────────────────────────────────────────────── */

/*
 * Copy the environment of this process, except variables that are meant only for this process. NULL: no memory. `added`
 * is not copied.
 */
static char **environment_make(char *const *added, unsigned n_added, bool own_rundir)
{
	static const char *const dropped[] = { "WAYMARK_READY_FD=", "NOTIFY_SOCKET=",  "LISTEN_PID=",
					       "LISTEN_FDS=",       "LISTEN_FDNAMES=", "WAYMARK_RUNDIR=" };
	size_t n = 0, kept = 0;

	while (environ && environ[n])
		n++;
	char **environment = calloc(n + n_added + 1, sizeof(*environment));
	for (size_t i = 0; environment && i < n; i++) {
		bool drop = false;

		for (unsigned j = 0; j < WMK_ARRAY_LEN(dropped) - !own_rundir; j++)
			drop |= strncmp(environ[i], dropped[j], strlen(dropped[j])) == 0;
		if (!drop)
			environment[kept++] = environ[i];
	}
	for (unsigned i = 0; environment && i < n_added; i++)
		environment[kept++] = added[i];
	return environment;
}

/* ── child and grandchild ────────────────────────────────────────────────────────────────────────────── */

struct launch {
	const char *program;
	const char *recover;         /* argument of --recover, or NULL */
	char **environment;
	int null, pipe;              /* become the daemon's stdin to stderr, and READY_FD */
	sigset_t none;
};

static void report_failure(int fd, const char *what, int number)
{
	const char *words = strerrordesc_np(number);
	const char *parts[] = { "!", what, ": ", words ? words : "unknown error" };

	for (unsigned i = 0; i < 4; i++)
		if (write(fd, parts[i], strlen(parts[i])) < 0)
			return;
}

static void close_at_exec(void)
{
	if (close_range(READY_FD + 1, ~0u, CLOSE_RANGE_CLOEXEC) == 0)
		return;
	for (int fd = READY_FD + 1; fd < FDS_MAX; fd++)  /* before Linux 5.11 */
		fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* Runs in the grandchild. Does not return. */
static void daemon_become(const struct launch *l)
{
	struct sigaction normal = { .sa_handler = SIG_DFL };
	char option[] = "--recover";
	char *argv[] = { (char *)(uintptr_t)l->program, l->recover ? option : NULL, (char *)(uintptr_t)l->recover,
			 NULL };

	for (int sig = 1; sig < 65; sig++)
		sigaction(sig, &normal, NULL);
	sigprocmask(SIG_SETMASK, &l->none, NULL);
	/*
	 * Both descriptors are greater than READY_FD (move_above()), so no dup2() overwrites a descriptor that is still
	 * needed.
	 */
	if (chdir("/") == 0 && dup2(l->null, 0) >= 0 && dup2(l->null, 1) >= 0 && dup2(l->null, 2) >= 0 &&
	    dup2(l->pipe, READY_FD) >= 0) {
		close_at_exec();
		execve(l->program, argv, l->environment);
	}
	report_failure(READY_FD, "cannot run the session daemon", errno);
	_exit(127);
}

static int launch(const struct launch *l)
{
	sigset_t all, before;

	sigfillset(&all);            /* no signal handler of the program runs in a child */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid_t child = _Fork();
	if (child == 0) {
		setsid();
		pid_t daemon = _Fork();
		if (daemon == 0)
			daemon_become(l);
		if (daemon < 0)
			report_failure(l->pipe, "cannot create a process for the session daemon", errno);
		_exit(0);
	}
	int err = child < 0 ? -errno : 0;
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;                        /* ECHILD: SIGCHLD is ignored, and the kernel has reaped the child */
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err < 0 ? wmk_error(err, "cannot create a process for the session daemon") : 0;
}

/* ── wait until it listens ───────────────────────────────────────────────────────────────────────────── */

/*
 * Read until end of file, until a first byte other than '!', or until the buffer is full. Returns the length,
 * -ETIMEDOUT or -errno.
 */
static ssize_t ready_read(int fd, char *words, size_t size, uint64_t deadline)
{
	size_t len = 0;

	while (len < size && (len == 0 || words[0] == '!')) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int left = wmk_ctl_left(deadline), n = left == 0 ? 0 : poll(&p, 1, left);

		if (n == 0)
			return -ETIMEDOUT;
		ssize_t got = n < 0 ? -1 : read(fd, words + len, size - len);
		if (got == 0)
			break;
		if (got < 0 && errno != EINTR)
			return -errno;
		len += got > 0 ? (size_t)got : 0;
	}
	return (ssize_t)len;
}

static int ready_wait(int fd, const char *program, uint64_t deadline)
{
	char words[WORDS_MAX];
	ssize_t len = ready_read(fd, words, sizeof(words) - 1, deadline);

	if (len == -ETIMEDOUT)
		return wmk_error(-ETIMEDOUT, "the session daemon %s was not ready before the timeout", program);
	if (len < 0)
		return wmk_error((int)len, "cannot wait for the session daemon %s", program);
	if (len > 0 && words[0] != '!')
		return 0;
	words[len] = '\0';
	for (ssize_t i = 0; i < len; i++)
		if ((unsigned char)words[i] < 0x20 || words[i] == 0x7f)
			words[i] = ' ';
	if (len > 1)
		return wmk_error_add(wmk_errorx(-ECHILD, "%s", words + 1), "the session daemon %s did not start",
				     program);
	return wmk_error(-ECHILD, "the session daemon %s exited without a message before it was ready", program);
}

/*
 * Move a descriptor above READY_FD. A new descriptor can be equal to READY_FD, or less if this program has closed its
 * standard descriptors.
 */
static int move_above(int fd)
{
	int copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, READY_FD + 1);

	if (fd >= 0)
		close(fd);
	return copy;
}

int wmk_ctl_daemon_start(const char *program, const char *rundir, const char *recover, uint64_t deadline)
{
	char path[PATH_MAX], rundir_setting[PATH_MAX];
	char number[] = "WAYMARK_READY_FD=3";
	char *added[] = { number, rundir_setting };
	struct launch l = { .program = path, .recover = recover, .null = -1, .pipe = -1 };
	int ready[2] = { -1, -1 };

	sigemptyset(&l.none);
	int err = program_find(program, path, sizeof(path));
	if (err < 0)
		return err;
	snprintf(rundir_setting, sizeof(rundir_setting), "WAYMARK_RUNDIR=%s", rundir ? rundir : "");
	l.environment = environment_make(added, rundir ? 2 : 1, rundir);
	l.null = move_above(open("/dev/null", O_RDWR | O_CLOEXEC));
	if (pipe2(ready, O_CLOEXEC) == 0)
		l.pipe = move_above(ready[1]);
	if (!l.environment || l.null < 0 || l.pipe < 0)
		err = wmk_error(l.environment ? -errno : -ENOMEM, "cannot start a session daemon");
	if (err == 0)
		err = launch(&l);
	if (l.pipe >= 0)
		close(l.pipe);           /* so that the end of the daemon causes an end of file */
	if (err == 0)
		err = ready_wait(ready[0], path, deadline);
	if (l.null >= 0)
		close(l.null);
	if (ready[0] >= 0)
		close(ready[0]);
	free(l.environment);
	return err;
}
