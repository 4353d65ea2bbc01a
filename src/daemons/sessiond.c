/* SPDX-License-Identifier: MIT */
/*
 * sessiond.c - waymark-sessiond: options and environment of the session daemon. sessiond/server.h implements it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "sessiond/server.h"
#include "wire/sessions_dir.h"
#include "wire/wire.h"

#define LOW_NUMBERS 64

static const char usage[] =
	"usage: waymark-sessiond [--rundir DIRECTORY] [--consumerd PROGRAM] [--limits FILE] [--recover DIRECTORY] "
	"[--background]\n       waymark-sessiond --version | --help\n\n"
	"Control tracing sessions of applications and the kernel: one session daemon per user,\n"
	"and one of root for all users.\n"
	"\n  --rundir DIRECTORY     the runtime directory ($WAYMARK_RUNDIR, else /run/waymark for root, "
	"/run/user/UID/waymark,\n                         /tmp/waymark-UID)\n"
	"  --consumerd PROGRAM    the consumer daemon (waymark-consumerd in the directory of this program)\n"
	"  --limits FILE          the file of limits, see waymark-sessiond(8) (" WAYMARK_LIMITS
	", which is optional)\n"
	"  --recover DIRECTORY    take over only the session with ring files in DIRECTORY; used by "
	"`waymark recover`\n  --background           return when the daemon listens, and continue without a terminal\n";

struct options {
	const char *rundir, *consumerd, *limits, *recover;
	bool background;
};

/* Relative paths are rejected, because the daemon changes its working directory. */
static bool is_relative(const char *path)
{
	return path && *path != '/';
}

static const char *value_of(char **argv, int *i, const char *name)
{
	size_t len = strlen(name);

	if (strncmp(argv[*i], name, len) != 0)
		return NULL;
	if (argv[*i][len] == '=')
		return argv[*i] + len + 1;
	return argv[*i][len] == '\0' && argv[*i + 1] ? argv[++*i] : NULL;
}

/* Returns 0 to continue, else the exit status; a negative value means exit status 0. */
static int options_parse(char **argv, struct options *options)
{
	const char *value;

	for (int i = 1; argv[i]; i++) {
		if ((value = value_of(argv, &i, "--rundir")) != NULL)
			options->rundir = value;
		else if ((value = value_of(argv, &i, "--consumerd")) != NULL)
			options->consumerd = value;
		else if ((value = value_of(argv, &i, "--limits")) != NULL)
			options->limits = value;
		else if ((value = value_of(argv, &i, "--recover")) != NULL)
			options->recover = value;
		else if (strcmp(argv[i], "--background") == 0)
			options->background = true;
		else if (strcmp(argv[i], "--version") == 0)
			return printf("waymark-sessiond %s\n", WAYMARK_VERSION) > 0 ? -1 : 1;
		else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return fputs(usage, stdout) >= 0 ? -1 : 1;
		else {
			fprintf(stderr, "waymark-sessiond: unknown option '%s', or its value is missing\n%s", argv[i],
				usage);
			return 2;
		}
	}
	if (is_relative(options->rundir) || is_relative(options->consumerd) || is_relative(options->limits) ||
	    is_relative(options->recover)) {
		fputs("waymark-sessiond: --rundir, --consumerd, --limits and --recover take absolute paths\n", stderr);
		return 2;
	}
	return 0;
}

static int consumerd_beside(char *path, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", path, size - 1);
	char *slash;

	if (n <= 0)
		return wmk_error(-errno,
				 "cannot find the directory of this program: give the consumer daemon (--consumerd)");
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (!slash || (size_t)(slash + 1 - path) + sizeof("waymark-consumerd") > size)
		return wmk_error(-ENAMETOOLONG, "the path of this program is too long");
	strcpy(slash + 1, "waymark-consumerd");
	return 0;
}

static void say(void *data, const char *words)
{
	(void)data;
	fprintf(stderr, "waymark-sessiond: %s\n", words);
}

/*
 * Fork. The parent waits until the child listens, and prints the error that the child reports. Returns true in the
 * child; the parent's exit status is in *status.
 */
static bool background(struct wmk_sessiond_rundir_starter *starter, int *status)
{
	char text[1024];
	int ends[2];

	*status = 1;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return false;
	pid_t pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		close(ends[0]);
		setsid();
		if (null >= 0 && (dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0))
			return false;
		if (starter->ready >= 0)
			close(starter->ready);
		starter->ready = ends[1];
		return true;
	}
	close(ends[1]);
	size_t n = 0;
	ssize_t got;
	while (pid > 0 && n < sizeof(text) - 1 && (got = read(ends[0], text + n, sizeof(text) - 1 - n)) != 0)
		if (got > 0)
			n += (size_t)got;
		else if (errno != EINTR)
			break;
	text[n] = '\0';
	if (text[0] == '+')
		*status = 0;
	else
		say(NULL, text[0] == '!' ? text + 1 : "it ended before it listened");
	wmk_sd_notify(starter, NULL, *status ? (text[0] == '!' ? text + 1 : "it ended before it listened") : NULL);
	return false;
}

/* Read the limits. A file that --limits names must exist. */
static int limits_load(const struct options *options, struct wmk_limits *limits)
{
	int err = wmk_limits_read(options->limits ? options->limits : WAYMARK_LIMITS, limits);

	if (err != -ENOENT || options->limits)
		return err;
	wmk_error_clear();
	return 0;
}

/*
 * Reserve the first 64 descriptors, so that no descriptor from an application is among them. The thread that starts the
 * consumer daemon unshares its descriptor table, and closes all descriptors above stdio
 * (sessiond/consumer_link_start.c). The kernel copies descriptor tables in words of 64 descriptors (dup_fd()). The
 * thread that unshares therefore gets copies of the first 64 descriptors, and closes these copies.
 */
static void keep_low_numbers(struct wmk_sessiond_rundir_starter *starter)
{
	/* the starter's descriptor stays open until the daemon listens, so move that descriptor above the range */
	const int ready = starter->ready >= 0 ? fcntl(starter->ready, F_DUPFD_CLOEXEC, LOW_NUMBERS) : -1;

	if (ready >= 0) {
		close(starter->ready);
		starter->ready = ready;
	}
	const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int fd = null;

	while (fd >= 0 && fd < LOW_NUMBERS)
		fd = fcntl(null, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (fd > null)
		close(fd);
}

static int run(const struct options *options, struct wmk_sessiond_rundir_starter *starter)
{
	char rundir[PATH_MAX], consumerd[PATH_MAX], sessions[PATH_MAX];
	int inherited[WMK_SESSIOND_SOCKETS];
	struct wmk_limits limits;
	struct wmk_server_options server = {
		.size = sizeof(server),
		.rundir = options->rundir,
		.version = WAYMARK_VERSION,
		.consumerd = options->consumerd,
		.recovered = options->recover,
		.inherited = inherited,
		.limits = &limits,
		.limits_file = options->limits ? options->limits : WAYMARK_LIMITS,
		.starter = starter,
		.say = options->background ? NULL : say,
	};
	int err = wmk_sessiond_rundir_inherited(inherited);

	if (err == 0)
		err = limits_load(options, &limits);
	if (err == 0 && !server.rundir) {
		err = wmk_rundir(geteuid(), 1, rundir, sizeof(rundir));
		server.rundir = rundir;
	}
	if (err >= 0 && !server.consumerd) {
		err = consumerd_beside(consumerd, sizeof(consumerd));
		server.consumerd = consumerd;
	}
	if (err < 0)
		return err;
	/* (a user without a home directory has no saved sessions) */
	if (wmk_sessions_dir(geteuid(), sessions, sizeof(sessions)) >= 0)
		server.sessions = sessions;
	wmk_error_clear();
	return wmk_server_run(&server);
}

int main(int argc, char **argv)
{
	struct wmk_sessiond_rundir_starter starter;
	struct options options = { NULL, NULL, NULL, NULL, false };
	char words[1024];
	int status = options_parse(argv, &options);

	(void)argc;
	if (status != 0)
		return status < 0 ? 0 : status;
	wmk_sessiond_rundir_starter(&starter);
	umask(077);
	if (chdir("/") != 0)
		return 1;
	if (options.background && !background(&starter, &status))
		return status;
	keep_low_numbers(&starter);
	int err = run(&options, &starter);
	if (err < 0) {
		wmk_error_text(words, sizeof(words));
		wmk_sd_notify(&starter, NULL, words);   /* no effect if the starter was notified already */
		say(NULL, words);
		return 1;
	}
	return 0;
}
