/* SPDX-License-Identifier: MIT */
/*
 * test_start.c - the control library starts a session daemon: this program itself, which behaves as $FAKE_DAEMON says
 * if that is set.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include <waymark/ctl.h>

#include "fake.h"

#define LEAKED 50                        /* a descriptor of the test that no daemon should inherit */

/* ── the fake daemon ─────────────────────────────────────────────────────────────────────────────────── */

/* Return what a clean start lacks; "" if nothing. */
static const char *missing(void)
{
	struct stat null, st;
	sigset_t blocked;
	char cwd[8];

	sigprocmask(SIG_SETMASK, NULL, &blocked);
	if (getsid(0) == atoi(getenv("TEST_SESSION")))
		return "a session of its own";
	if (fcntl(LEAKED, F_GETFD) >= 0)
		return "the descriptors closed";
	if (!getcwd(cwd, sizeof(cwd)) || strcmp(cwd, "/") != 0)
		return "the root directory";
	if (sigismember(&blocked, SIGUSR1) || signal(SIGUSR2, SIG_DFL) != SIG_DFL)
		return "signals as usual";
	if (getenv("NOTIFY_SOCKET"))
		return "a clean environment";
	stat("/dev/null", &null);
	for (int fd = 0; fd < 3; fd++)
		if (fstat(fd, &st) != 0 || st.st_rdev != null.st_rdev)
			return "stdio on /dev/null";
	return "";
}

static void say(const char *words)
{
	int fd = atoi(getenv("WAYMARK_READY_FD"));

	if (write(fd, words, strlen(words)) != (ssize_t)strlen(words))
		_exit(1);
	close(fd);
}

static int fake_daemon(const char *how)
{
	struct fake fake = { .stop = { -1, -1 } };
	const char *rundir = getenv("WAYMARK_RUNDIR");

	alarm(60);                       /* ends even if the test crashes */
	pthread_mutex_init(&fake.lock, NULL);
	if (strcmp(how, "fails") == 0)
		say("!the lock is held: by process 7");
	if (strcmp(how, "dies") == 0 || strcmp(how, "fails") == 0)
		return 1;
	if (strcmp(how, "is mute") == 0) {       /* until the library stops waiting */
		struct pollfd p = { .fd = atoi(getenv("WAYMARK_READY_FD")) };

		return poll(&p, 1, -1) < 0;
	}
	fake.version = missing();
	strcpy(fake.dir, rundir);
	int listener = fake_listen(rundir, (uid_t)-1);
	if (strcmp(how, "is second") == 0)       /* report that another daemon listens already */
		say("!a daemon runs there");
	else
		say("+");
	int sock = accept(listener, NULL, NULL);
	fake_serve(&fake, sock);
	return 0;
}

/* ── tests ───────────────────────────────────────────────────────────────────────────────────────────── */

static char dir[64], self[4096];

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/wmk-ctl-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/" WMK_CTL_SOCKET, dir);
	unlink(path);
	unsetenv("FAKE_DAEMON");
	return rmdir(dir);
}

static int start(const char *how, const char *program, int timeout_ms, struct waymark_ctl **ctl)
{
	const struct waymark_ctl_connect_options options = {
		.size = sizeof(options), .rundir = dir, .program = program, .timeout_ms = timeout_ms,
	};

	setenv("FAKE_DAEMON", how, 1);
	return waymark_ctl_connect(&options, ctl);
}

static void assert_says(const char *what)
{
	char text[1400];

	if (!strstr(waymark_ctl_error_text(text, sizeof(text)), what))
		fail_msg("'%s' does not say '%s'", text, what);
}

static void on_signal(int sig)
{
	(void)sig;
}

static void started_daemon_inherits_nothing_from_the_client(void **state)
{
	struct waymark_ctl_result *result;
	struct waymark_ctl *ctl;
	char session[20];
	sigset_t usr1;

	(void)state;
	snprintf(session, sizeof(session), "%d", (int)getsid(0));
	setenv("TEST_SESSION", session, 1);
	setenv("NOTIFY_SOCKET", "/not/for/it", 1);
	assert_int_equal(dup2(0, LEAKED), LEAKED);
	signal(SIGUSR2, on_signal);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	assert_int_equal(start("listens", self, 0, &ctl), 0);
	assert_true(waymark_ctl_started(ctl));
	assert_string_equal(waymark_ctl_rundir(ctl), dir);
	assert_int_equal(waymark_ctl_version(ctl, &result), 0);
	assert_string_equal(waymark_ctl_result_version(result)->version, "");
	waymark_ctl_result_free(result);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);        /* the daemon is not a child of this process */
	assert_int_equal(errno, ECHILD);
	assert_int_equal(waymark_ctl_shutdown(ctl), 0);
	waymark_ctl_close(ctl);
	close(LEAKED);
	sigprocmask(SIG_UNBLOCK, &usr1, NULL);
	signal(SIGUSR2, SIG_DFL);
}

static void daemon_named_by_environment_starts_without_reaping_children(void **state)
{
	struct waymark_ctl *ctl;
	int status;

	(void)state;
	pid_t child = fork();
	if (child == 0)
		_exit(3);
	setenv("WAYMARK_SESSIOND", self, 1);
	assert_int_equal(start("listens", NULL, 0, &ctl), 0);
	unsetenv("WAYMARK_SESSIOND");
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(WEXITSTATUS(status), 3);
	assert_int_equal(waymark_ctl_shutdown(ctl), 0);
	waymark_ctl_close(ctl);
}

static void daemon_that_cannot_start_is_reported_with_reason(void **state)
{
	struct waymark_ctl *ctl;
	char path[128];

	(void)state;
	assert_int_equal(start("dies", self, 0, &ctl), -ECHILD);
	assert_says("exited without a message before it was ready");
	assert_int_equal(start("fails", self, 0, &ctl), -ECHILD);
	assert_says("did not start: the lock is held: by process 7");
	assert_null(ctl);
	assert_int_equal(start("is mute", self, 100, &ctl), -ETIMEDOUT);
	assert_says("was not ready before the timeout");
	assert_int_equal(start("listens", "/nowhere/sessiond", 0, &ctl), -ENOENT);
	assert_says("cannot start the session daemon /nowhere/sessiond");
	assert_int_equal(start("listens", "/etc/passwd", 0, &ctl), -EACCES);
	assert_says("not an executable file");
	snprintf(path, sizeof(path), "%s/empty", dir);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
	assert_true(fd >= 0 && write(fd, "#!/nowhere\n", 11) == 11);
	close(fd);
	assert_int_equal(start("listens", path, 0, &ctl), -ECHILD);
	assert_says("did not start: cannot run the session daemon: No such file or directory");
	unlink(path);
	setenv("PATH", "relative::/nowhere", 1);
	assert_int_equal(start("listens", NULL, 0, &ctl), -ENOENT);
	assert_says("the program waymark-sessiond is neither beside this program nor in PATH");
}

/* If two are started at once, the failure of the second is not an error. */
static void failed_start_is_no_error_if_another_daemon_runs(void **state)
{
	struct waymark_ctl *ctl;

	(void)state;
	assert_int_equal(start("is second", self, 0, &ctl), 0);
	assert_false(waymark_ctl_started(ctl));
	assert_int_equal(waymark_ctl_shutdown(ctl), 0);
	waymark_ctl_close(ctl);
}

#define WITH_DIR(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_DIR(started_daemon_inherits_nothing_from_the_client),
		WITH_DIR(daemon_named_by_environment_starts_without_reaping_children),
		WITH_DIR(daemon_that_cannot_start_is_reported_with_reason),
		WITH_DIR(failed_start_is_no_error_if_another_daemon_runs),
	};
	const char *how = getenv("FAKE_DAEMON");

	if (how)
		return fake_daemon(how);
	unsetenv("WAYMARK_RUNDIR");
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
