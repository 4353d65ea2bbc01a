/* SPDX-License-Identifier: MIT */
/*
 * test_rundir_lock.c - the runtime directory of a session daemon: ownership, the lock, modes of the sockets, sockets
 * from systemd, notification of the starter.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "session/t/linger.h"
#include "sessiond/rundir.h"

#define LIMIT_S 60

static const int nothing[WMK_SESSIOND_SOCKETS] = { -1, -1 };

struct scene {
	char parent[64], rundir[80];
};

static int scene_open(void **state)
{
	static struct scene scene;

	strcpy(scene.parent, "/tmp/waymark-place-XXXXXX");
	assert_non_null(mkdtemp(scene.parent));
	snprintf(scene.rundir, sizeof(scene.rundir), "%s/run", scene.parent);
	*state = &scene;
	wmk_error_clear();
	return 0;
}

static int scene_close(void **state)
{
	const struct scene *scene = *state;

	rmdir(scene->rundir);
	return rmdir(scene->parent);     /* fails unless it is empty */
}

static mode_t mode_of(const struct scene *scene, const char *name)
{
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", scene->rundir, name);
	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

static const char *words(void)
{
	static char text[512];

	return wmk_error_text(text, sizeof(text));
}

static int connected(const struct scene *scene, const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", scene->rundir, name);
	assert_true(fd >= 0);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
		close(fd);
		return -errno;
	}
	return fd;
}

static void runtime_directory_and_sockets_are_created_and_removed(void **state)
{
	const struct scene *scene = *state;
	const struct group *group = getgrnam(WMK_SESSIOND_GROUP);
	bool root = geteuid() == 0;
	struct wmk_sessiond_rundir place;

	assert_int_equal(wmk_sessiond_rundir_open(scene->rundir, nothing, &place), 0);
	assert_int_equal(mode_of(scene, ""), root ? 0755 : 0700);
	assert_int_equal(mode_of(scene, WMK_SESSIOND_PID_FILE), 0600);
	assert_int_equal(mode_of(scene, "app.sock"), root ? 0666 : 0600);
	assert_int_equal(mode_of(scene, "ctl.sock"), root && group ? 0660 : 0600);
	for (unsigned i = 0; i < WMK_SESSIOND_SOCKETS; i++) {
		int fd = connected(scene, i == WMK_SESSIOND_APP ? "app.sock" : "ctl.sock");

		assert_true(fd >= 0);
		close(fd);
	}
	wmk_sessiond_rundir_close(&place);
	assert_int_equal(access(scene->rundir, F_OK), -1);
}

/* A pending connection has sent a descriptor with a blocking close(): closing the directory does not wait for it. */
static void daemon_end_does_not_wait_for_pending_connections(void **state)
{
	const struct scene *scene = *state;
	struct wmk_sessiond_rundir place;
	int fd, peer, conn;

	if (!lingering(&fd, &peer))
		skip();
	assert_int_equal(wmk_sessiond_rundir_open(scene->rundir, nothing, &place), 0);
	conn = connected(scene, "app.sock");
	assert_true(conn >= 0);
	send_fds(conn, 'x', &fd, 1, 0);
	close(fd);
	alarm(LIMIT_S);
	wmk_sessiond_rundir_close(&place);
	alarm(0);
	close(peer);
	close(conn);
}

static void locked_runtime_directory_refuses_second_daemon(void **state)
{
	const struct scene *scene = *state;
	struct wmk_sessiond_rundir first, second;
	char pid[32];

	assert_int_equal(wmk_sessiond_rundir_open(scene->rundir, nothing, &first), 0);
	assert_int_equal(wmk_sessiond_rundir_open(scene->rundir, nothing, &second), -EBUSY);
	snprintf(pid, sizeof(pid), "process %ld", (long)getpid());
	assert_non_null(strstr(words(), pid));
	assert_true(connected(scene, "app.sock") >= 0);          /* the second left the sockets unchanged */
	wmk_sessiond_rundir_close(&first);
	assert_int_equal(wmk_sessiond_rundir_open(scene->rundir, nothing, &second), 0);
	wmk_sessiond_rundir_close(&second);
}

/* A daemon starts with all that a killed one has left. */
static void daemon_starts_in_runtime_directory_of_a_killed_daemon(void **state)
{
	const struct scene *scene = *state;
	struct wmk_sessiond_rundir place;
	int status;

	for (int round = 0; round < 5; round++) {
		pid_t pid = fork();

		if (pid == 0) {
			if (wmk_sessiond_rundir_open(scene->rundir, nothing, &place) == 0)
				raise(SIGKILL);
			_exit(1);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(wmk_sessiond_rundir_open(scene->rundir, nothing, &place), 0);
		int fd = connected(scene, "ctl.sock");
		assert_true(fd >= 0);
		close(fd);
		wmk_sessiond_rundir_close(&place);
	}
}

/* The daemon is killed while it starts a program: the child keeps the lock and the sockets for a short time. */
static void daemon_starts_while_child_of_killed_daemon_has_the_lock(void **state)
{
	const struct scene *scene = *state;
	const struct timespec moment = { .tv_nsec = 100000000 };
	struct wmk_sessiond_rundir place;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (wmk_sessiond_rundir_open(scene->rundir, nothing, &place) != 0)
			_exit(1);
		if (fork() == 0) {
			nanosleep(&moment, NULL);
			_exit(0);
		}
		raise(SIGKILL);
	}
	/* A zombie does not count as running. */
	assert_int_equal(waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
	if (wmk_sessiond_rundir_open(scene->rundir, nothing, &place) != 0)
		fail_msg("%s", words());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	wmk_sessiond_rundir_close(&place);
}

static void unsafe_runtime_directories_are_refused(void **state)
{
	const struct scene *scene = *state;
	bool root = geteuid() == 0;
	char elsewhere[96];
	struct wmk_sessiond_rundir place;

	assert_int_equal(mkdir(scene->rundir, 0700), 0);
	assert_int_equal(chmod(scene->rundir, 0777), 0);
	assert_int_equal(wmk_sessiond_rundir_open(scene->rundir, nothing, &place), -EACCES);
	assert_int_equal(chmod(scene->rundir, 0755), 0);
	int err = wmk_sessiond_rundir_open(scene->rundir, nothing, &place);
	assert_int_equal(err, root ? 0 : -EACCES);
	wmk_sessiond_rundir_close(&place);
	if (root) {
		assert_int_equal(chown(scene->rundir, 65534, 65534), 0);
		assert_int_equal(wmk_sessiond_rundir_open(scene->rundir, nothing, &place), -EACCES);
		assert_non_null(strstr(words(), "65534"));
	}
	snprintf(elsewhere, sizeof(elsewhere), "%s/link", scene->parent);
	assert_int_equal(symlink(scene->rundir, elsewhere), 0);
	assert_true(wmk_sessiond_rundir_open(elsewhere, nothing, &place) < 0);
	unlink(elsewhere);
}

/*
 * In place of the lock there is a symbolic or hard link to another file, a directory, or a FIFO. Nothing blocks, and
 * the other file is unchanged.
 */
static void lock_that_is_not_a_plain_file_is_refused(void **state)
{
	const struct scene *scene = *state;
	char lock[128], target[96];
	struct wmk_sessiond_rundir place;
	struct stat st;

	assert_int_equal(mkdir(scene->rundir, 0700), 0);
	snprintf(lock, sizeof(lock), "%s/%s", scene->rundir, WMK_SESSIOND_PID_FILE);
	snprintf(target, sizeof(target), "%s/target", scene->parent);
	int fd = open(target, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "precious", 8), 8);
	close(fd);
	assert_int_equal(symlink(target, lock), 0);
	assert_int_equal(wmk_sessiond_rundir_open(scene->rundir, nothing, &place), -ELOOP);
	unlink(lock);
	assert_int_equal(link(target, lock), 0);
	assert_int_equal(wmk_sessiond_rundir_open(scene->rundir, nothing, &place), -EACCES);
	assert_int_equal(stat(target, &st), 0);
	assert_int_equal(st.st_size, 8);
	unlink(lock);
	assert_int_equal(mkdir(lock, 0700), 0);
	assert_true(wmk_sessiond_rundir_open(scene->rundir, nothing, &place) < 0);
	rmdir(lock);
	assert_int_equal(mkfifo(lock, 0600), 0);
	assert_int_equal(wmk_sessiond_rundir_open(scene->rundir, nothing, &place), -EACCES);
	unlink(lock);
	unlink(target);
}

static int listener(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	/* the kernel chooses an abstract name */
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(sa_family_t)), 0);
	assert_int_equal(listen(fd, 5), 0);
	return fd;
}

/* Passes the sockets as descriptors 3 and 4 to a child, as systemd does. 0: the result was `wanted`. */
static int inherited_in_child(int first, int second, const char *names, const char *pid, int wanted)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		char text[16];
		int inherited[WMK_SESSIOND_SOCKETS];
		int high[2] = { fcntl(first, F_DUPFD, 20), fcntl(second, F_DUPFD, 20) };

		if (dup2(high[0], 3) != 3 || dup2(high[1], 4) != 4)
			_exit(10);
		snprintf(text, sizeof(text), "%ld", (long)getpid());
		setenv("LISTEN_PID", pid ? pid : text, 1);
		setenv("LISTEN_FDS", "2", 1);
		setenv("LISTEN_FDNAMES", names, 1);
		if (wmk_sessiond_rundir_inherited(inherited) != wanted)
			_exit(11);
		if (getenv("LISTEN_FDS") || getenv("LISTEN_PID"))
			_exit(12);
		if (wanted == 0 && !pid && (inherited[WMK_SESSIOND_CTL] != 3 || inherited[WMK_SESSIOND_APP] != 4 ||
					    !(fcntl(3, F_GETFD) & FD_CLOEXEC) || !(fcntl(4, F_GETFL) & O_NONBLOCK)))
			_exit(13);
		if (pid && (inherited[WMK_SESSIOND_CTL] != -1 || inherited[WMK_SESSIOND_APP] != -1))
			_exit(14);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void invalid_sockets_from_systemd_are_refused(void **state)
{
	int a = listener(), b = listener(), null = open("/dev/null", O_RDONLY), pair[2];
	int datagram = socket(AF_UNIX, SOCK_DGRAM, 0), inet = socket(AF_INET, SOCK_STREAM, 0);

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(inherited_in_child(a, b, "ctl:app", NULL, 0), 0);
	assert_int_equal(inherited_in_child(a, b, "ctl:app", "1", 0), 0);           /* LISTEN_PID of another process */
	assert_int_equal(inherited_in_child(a, b, "ctl:ctl", NULL, -EINVAL), 0);
	assert_int_equal(inherited_in_child(a, b, "ctl", NULL, -EINVAL), 0);
	assert_int_equal(inherited_in_child(a, b, "ctl:health", NULL, -EINVAL), 0);
	assert_int_equal(inherited_in_child(a, null, "ctl:app", NULL, -EINVAL), 0);
	assert_int_equal(inherited_in_child(a, pair[0], "ctl:app", NULL, -EINVAL), 0);
	assert_int_equal(inherited_in_child(a, datagram, "ctl:app", NULL, -EINVAL), 0);
	if (inet >= 0)
		assert_int_equal(inherited_in_child(a, inet, "ctl:app", NULL, -EINVAL), 0);
	int fds[] = { a, b, null, pair[0], pair[1], datagram, inet };
	for (unsigned i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* A passed socket is used without a change, and its file stays. */
static void socket_from_systemd_is_used_unchanged(void **state)
{
	const struct scene *scene = *state;
	int inherited[WMK_SESSIOND_SOCKETS] = { -1, listener() };
	struct wmk_sessiond_rundir place;

	assert_int_equal(wmk_sessiond_rundir_open(scene->rundir, inherited, &place), 0);
	assert_int_equal(place.sockets[WMK_SESSIOND_CTL], inherited[WMK_SESSIOND_CTL]);
	assert_int_equal(connected(scene, "ctl.sock"), -ENOENT);
	wmk_sessiond_rundir_close(&place);
	/* (another thread closes it soon) */
	alarm(LIMIT_S);
	while (fcntl(inherited[WMK_SESSIOND_CTL], F_GETFD) != -1)
		sched_yield();
	alarm(0);
}

static void starter_is_notified_of_readiness_and_of_failure(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int pipes[2], box = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	struct wmk_sessiond_rundir_starter starter;
	char text[256];

	(void)state;
	int n = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "waymark-test-%ld", (long)getpid());
	assert_int_equal(bind(box, (struct sockaddr *)&address,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)),
			 0);
	for (int failing = 0; failing < 2; failing++) {
		assert_int_equal(pipe(pipes), 0);
		snprintf(text, sizeof(text), "%d", pipes[1]);
		setenv("WAYMARK_READY_FD", text, 1);
		snprintf(text, sizeof(text), "@%s", address.sun_path + 1);
		setenv("NOTIFY_SOCKET", text, 1);
		wmk_sessiond_rundir_starter(&starter);
		assert_null(getenv("WAYMARK_READY_FD"));
		wmk_sd_notify(&starter, failing ? NULL : "READY=1", failing ? "no room" : NULL);
		memset(text, 0, sizeof(text));
		assert_true(read(pipes[0], text, sizeof(text) - 1) > 0);
		assert_string_equal(text, failing ? "!no room" : "+");
		assert_int_equal(read(pipes[0], text, 1), 0);    /* closed */
		memset(text, 0, sizeof(text));
		assert_int_equal(recv(box, text, sizeof(text), 0) > 0, !failing);
		assert_string_equal(text, failing ? "" : "READY=1");
		close(pipes[0]);
	}
	close(box);
	setenv("WAYMARK_READY_FD", "12x", 1);
	setenv("NOTIFY_SOCKET", "relative", 1);
	wmk_sessiond_rundir_starter(&starter);
	assert_int_equal(starter.ready, -1);
	assert_string_equal(starter.notify, "");
	wmk_sd_notify(&starter, "READY=1", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(runtime_directory_and_sockets_are_created_and_removed, scene_open,
						scene_close),
		cmocka_unit_test_setup_teardown(daemon_end_does_not_wait_for_pending_connections, scene_open,
						scene_close),
		cmocka_unit_test_setup_teardown(locked_runtime_directory_refuses_second_daemon, scene_open,
						scene_close),
		cmocka_unit_test_setup_teardown(daemon_starts_in_runtime_directory_of_a_killed_daemon, scene_open,
						scene_close),
		cmocka_unit_test_setup_teardown(daemon_starts_while_child_of_killed_daemon_has_the_lock, scene_open,
						scene_close),
		cmocka_unit_test_setup_teardown(unsafe_runtime_directories_are_refused, scene_open, scene_close),
		cmocka_unit_test_setup_teardown(lock_that_is_not_a_plain_file_is_refused, scene_open, scene_close),
		cmocka_unit_test(invalid_sockets_from_systemd_are_refused),
		cmocka_unit_test_setup_teardown(socket_from_systemd_is_used_unchanged, scene_open, scene_close),
		cmocka_unit_test(starter_is_notified_of_readiness_and_of_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
