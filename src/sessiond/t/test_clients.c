/* SPDX-License-Identifier: MIT */
/*
 * test_clients.c - well-behaved and hostile clients of a session daemon: order, concurrency, limits, partial and
 * oversize frames, clients that never read or disconnect. Well-behaved clients are always answered.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "door.h"
#include "session/t/linger.h"
#include "sessiond/clients.h"
#include "session/apps/deferred_close.h"
#include "wire/ctl.h"

#define LIMIT_MS 30000
/* Request types of the tests. */
enum { ECHO = 0x300, BLOCK, BIG, SILENT };

static struct {
	struct sockaddr_un address;
	int listener, fds;
	struct wmk_clients *clients;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned at_work, most_at_work, begun, ended;
	bool open;                       /* BLOCK requests may continue */
	unsigned threads;
} scene = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static int open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void block(void)
{
	pthread_mutex_lock(&scene.lock);
	scene.begun++;
	scene.at_work++;
	if (scene.at_work > scene.most_at_work)
		scene.most_at_work = scene.at_work;
	pthread_cond_broadcast(&scene.changed);
	while (!scene.open)
		pthread_cond_wait(&scene.changed, &scene.lock);
	scene.at_work--;
	scene.ended++;
	pthread_cond_broadcast(&scene.changed);
	pthread_mutex_unlock(&scene.lock);
}

static void command(void *data, const struct wmk_peer *peer, const struct wmk_frame *frame, const void *body,
		    struct wmk_out *out)
{
	static const char big[900000];

	(void)data;
	if (peer->pid <= 0)
		abort();
	if (frame->type == BLOCK)
		block();
	if (frame->type == BIG)
		wmk_out_frame(out, (enum wmk_msg)WMK_CTL_REPLY, frame->request, big, sizeof(big), -1);
	else if (frame->type != SILENT)
		wmk_out_frame(out, (enum wmk_msg)WMK_CTL_REPLY, frame->request, body, frame->length, -1);
}

static void thread_begin(void *data)
{
	(void)data;
	__atomic_fetch_add(&scene.threads, 1, __ATOMIC_RELAXED);
}

static void thread_end(void *data)
{
	(void)data;
	__atomic_fetch_sub(&scene.threads, 1, __ATOMIC_RELAXED);
}

static void clients_open(uid_t daemon, unsigned max_clients, unsigned max_of_uid)
{
	const struct wmk_clients_options options = {
		.size = sizeof(options),
		.listener = scene.listener,
		.daemon = daemon,
		.max_clients = max_clients,
		.max_of_uid = max_of_uid,
		.ops = { .command = command, .thread_begin = thread_begin, .thread_end = thread_end },
	};

	scene.fds = open_fds();
	scene.at_work = scene.most_at_work = scene.begun = scene.ended = 0;
	scene.open = false;
	assert_int_equal(wmk_clients_open(&options, &scene.clients), 0);
}

/* Other threads close descriptors: wait for the expected number. */
static void expect_fds(int n)
{
	for (int ms = 0; open_fds() != n && ms < LIMIT_MS; ms++)
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	assert_int_equal(open_fds(), n);
}

static void go_on(void)
{
	pthread_mutex_lock(&scene.lock);
	scene.open = true;
	pthread_cond_broadcast(&scene.changed);
	pthread_mutex_unlock(&scene.lock);
}

static void clients_close(void)
{
	go_on();
	wmk_clients_close(scene.clients);
	assert_int_equal(__atomic_load_n(&scene.threads, __ATOMIC_RELAXED), 0);
	expect_fds(scene.fds);
}

/* ── a client ────────────────────────────────────────────────────────────────────────────────────────── */

struct client {
	int socket;
	struct wmk_in in;
	struct wmk_frame frame;
	const void *body;
};

static void client_open(struct client *client)
{
	memset(client, 0, sizeof(*client));
	client->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(client->socket >= 0);
	assert_int_equal(connect(client->socket, (struct sockaddr *)&scene.address, sizeof(scene.address)), 0);
}

static void client_close(struct client *client)
{
	wmk_in_free(&client->in);
	close(client->socket);
}

/* False: the buffer of the socket is full. */
static bool request_fits(struct client *client, uint16_t type, uint32_t number, const char *text)
{
	struct wmk_out out = { 0 };

	assert_int_equal(wmk_out_frame(&out, (enum wmk_msg)type, number, text, strlen(text), -1), 0);
	int sent = wmk_out_send(&out, client->socket);
	assert_true(sent == 0 || sent == 1 || sent == -EPIPE);   /* EPIPE: refused already */
	wmk_out_free(&out);
	return sent != 0;
}

static void request(struct client *client, uint16_t type, uint32_t number, const char *text)
{
	assert_true(request_fits(client, type, number, text));
}

/* Returns the type of the next frame; 0: the connection is closed. */
static int next(struct client *client)
{
	for (;;) {
		struct pollfd pollfd = { .fd = client->socket, .events = POLLIN };
		int fd, got = wmk_in_frame(&client->in, &client->frame, &client->body, &fd);

		assert_true(got >= 0);
		if (got == 1)
			return client->frame.type;
		assert_int_equal(poll(&pollfd, 1, LIMIT_MS), 1);
		if (wmk_in_receive(&client->in, client->socket) != 1)
			return 0;
	}
}

static void expect_reply(struct client *client, uint32_t number, const char *text)
{
	assert_int_equal(next(client), WMK_CTL_REPLY);
	assert_int_equal(client->frame.request, number);
	assert_int_equal(client->frame.length, strlen(text));
	assert_memory_equal(client->body, text, strlen(text));
}

static void expect_error(struct client *client, int err, const char *words)
{
	char text[1024];
	int number = 0;

	assert_int_equal(next(client), WMK_CTL_ERROR);
	assert_int_equal(wmk_error_msg_decode(client->body, client->frame.length, &number, text, sizeof(text)), 0);
	assert_int_equal(number, err);
	if (!strstr(text, words))
		fail_msg("'%s' is not in: %s", words, text);
}

static void a_good_client_is_answered(void)
{
	struct client good;

	client_open(&good);
	request(&good, ECHO, 7, "hello");
	expect_reply(&good, 7, "hello");
	client_close(&good);
}

static void wait_for(unsigned begun)
{
	pthread_mutex_lock(&scene.lock);
	while (scene.begun < begun)
		pthread_cond_wait(&scene.changed, &scene.lock);
	pthread_mutex_unlock(&scene.lock);
}

/* ── tests ───────────────────────────────────────────────────────────────────────────────────────────── */

static void requests_of_one_client_are_answered_in_order(void **state)
{
	struct client client;
	char text[32];

	(void)state;
	clients_open(geteuid(), 0, 0);
	client_open(&client);
	for (uint32_t i = 0; i < 200; i++) {
		snprintf(text, sizeof(text), "request %u", i);
		request(&client, ECHO, i, text);
	}
	for (uint32_t i = 0; i < 200; i++) {
		snprintf(text, sizeof(text), "request %u", i);
		expect_reply(&client, i, text);
	}
	client_close(&client);
	clients_close();
}

static void requests_of_different_clients_run_concurrently(void **state)
{
	struct client slow[3], two;

	(void)state;
	clients_open(geteuid(), 0, 0);
	for (unsigned i = 0; i < 3; i++) {
		client_open(&slow[i]);
		request(&slow[i], BLOCK, i, "slow");
	}
	wait_for(3);                     /* all three run concurrently */
	/* In root's daemon one worker is left for users other than this one; otherwise this user gets all four. */
	if (geteuid() != 0)
		a_good_client_is_answered();
	client_open(&two);
	request(&two, BLOCK, 1, "first");
	request(&two, ECHO, 2, "second");
	go_on();
	expect_reply(&two, 1, "first");
	expect_reply(&two, 2, "second");
	for (unsigned i = 0; i < 3; i++) {
		expect_reply(&slow[i], i, "slow");
		client_close(&slow[i]);
	}
	client_close(&two);
	assert_true(scene.most_at_work >= 3);
	clients_close();
}

static void slow_commands_of_one_user_do_not_delay_others(void **state)
{
	struct client slow[8];
	int status;

	(void)state;
	if (geteuid() != 0)
		skip();
	clients_open(0, 0, 0);
	for (unsigned i = 0; i < 8; i++) {
		client_open(&slow[i]);
		request(&slow[i], BLOCK, i, "slow");
	}
	wait_for(3);
	pid_t pid = fork();
	if (pid == 0) {                  /* not a member: a worker refuses it */
		struct client other;

		if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
			_exit(1);
		client_open(&other);
		request(&other, ECHO, 1, "x");
		_exit(next(&other) == WMK_CTL_ERROR ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(scene.begun, 3);
	for (unsigned i = 0; i < 8; i++)
		client_close(&slow[i]);  /* they disconnect while their requests run or wait */
	clients_close();
}

static void clients_without_permission_are_refused(void **state)
{
	int status;

	(void)state;
	if (geteuid() != 0)
		skip();
	for (uid_t daemon = 0; daemon < 2; daemon++) {
		clients_open(daemon, 0, 0);
		pid_t pid = fork();
		if (pid == 0) {
			struct client other;

			if (setgroups(0, NULL) || setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
				_exit(1);
			client_open(&other);
			request(&other, ECHO, 1, "x");
			expect_error(&other, EACCES, daemon ? "only from user 1" : "members of the group");
			_exit(next(&other) == 0 ? 0 : 2);        /* closed afterwards */
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
		a_good_client_is_answered();     /* root may use every daemon */
		clients_close();
	}
}

static void client_above_the_limit_gets_an_error(void **state)
{
	struct client client[41];

	(void)state;
	clients_open(geteuid(), 0, 0);
	for (unsigned i = 0; i < 41; i++)
		client_open(&client[i]);
	for (unsigned i = 32; i < 41; i++) {
		expect_error(&client[i], EAGAIN, "too many clients");
		assert_int_equal(next(&client[i]), 0);
		client_close(&client[i]);
	}
	for (unsigned i = 0; i < 32; i++) {
		request(&client[i], ECHO, i, "still here");
		expect_reply(&client[i], i, "still here");
	}
	client_close(&client[0]);
	/* Its place becomes free once the daemon has noticed the close. */
	for (;;) {
		client_open(&client[0]);
		request(&client[0], ECHO, 1, "in");
		if (next(&client[0]) == WMK_CTL_REPLY)
			break;
		client_close(&client[0]);
	}
	for (unsigned i = 0; i < 32; i++)
		client_close(&client[i]);
	clients_close();
}

/* The limit of foreign clients does not apply to the daemon's user (see test_unrelated_clients.c). */
static void daemon_user_may_have_300_clients(void **state)
{
	static struct client client[300];

	(void)state;
	clients_open(geteuid(), 0, 1000);
	for (unsigned i = 0; i < 300; i++)
		client_open(&client[i]);
	for (unsigned i = 0; i < 300; i++) {
		request(&client[i], ECHO, i, "x");
		expect_reply(&client[i], i, "x");
	}
	for (unsigned i = 0; i < 300; i++)
		client_close(&client[i]);
	clients_close();
}

static void invalid_frames_close_the_connection(void **state)
{
	struct wmk_frame frame = { .type = ECHO, .version = WMK_WIRE_VERSION, .length = WMK_FRAME_MAX + 1 };
	struct client client;

	(void)state;
	clients_open(geteuid(), 0, 0);
	client_open(&client);            /* too long */
	assert_int_equal(send(client.socket, &frame, sizeof(frame), 0), sizeof(frame));
	expect_error(&client, EPROTO, "exceeds the limit");
	assert_int_equal(next(&client), 0);
	client_close(&client);

	frame.length = 0;
	frame.version = WMK_WIRE_VERSION + 1;
	client_open(&client);            /* another version */
	assert_int_equal(send(client.socket, &frame, sizeof(frame), 0), sizeof(frame));
	expect_error(&client, EPROTONOSUPPORT, "version");
	assert_int_equal(next(&client), 0);
	client_close(&client);

	client_open(&client);            /* half a frame, then a close */
	assert_int_equal(send(client.socket, &frame, 7, 0), 7);
	a_good_client_is_answered();
	client_close(&client);

	client_open(&client);            /* a request without an answer */
	request(&client, SILENT, 1, "");
	assert_int_equal(next(&client), 0);
	client_close(&client);
	clients_close();
}

/* A client that requests a megabyte repeatedly and never reads makes the daemon keep one reply. */
static void client_that_never_reads_uses_memory_of_one_reply(void **state)
{
	struct client client, gone;
	struct rusage usage[2];

	(void)state;
	clients_open(geteuid(), 0, 0);
	client_open(&client);
	getrusage(RUSAGE_SELF, &usage[0]);
	for (unsigned i = 0; i < 1000 && request_fits(&client, BIG, i, ""); i++)
		;
	for (unsigned i = 0; i < 25; i++) {
		client_open(&gone);      /* requests and disconnects */
		request(&gone, BIG, 1, "");
		client_close(&gone);
	}
	a_good_client_is_answered();
	getrusage(RUSAGE_SELF, &usage[1]);
	assert_true(usage[1].ru_maxrss - usage[0].ru_maxrss < 64 * 1024);
	for (unsigned i = 0; i < 20; i++) {      /* once it reads, all replies arrive in order */
		assert_int_equal(next(&client), WMK_CTL_REPLY);
		assert_int_equal(client.frame.request, i);
		assert_int_equal(client.frame.length, 900000);
	}
	client_close(&client);
	clients_close();
}

/* Each of many frames is answered, and other clients are not delayed. */
static void many_requests_of_one_client_do_not_delay_others(void **state)
{
	struct wmk_out out = { 0 };
	struct client client;

	(void)state;
	clients_open(geteuid(), 0, 0);
	client_open(&client);
	for (uint32_t i = 0; i < 20000; i++)
		assert_int_equal(wmk_out_frame(&out, (enum wmk_msg)ECHO, i, "x", 1, -1), 0);
	int sent = wmk_out_send(&out, client.socket);
	assert_true(sent >= 0);
	a_good_client_is_answered();
	client_close(&client);
	wmk_out_free(&out);
	a_good_client_is_answered();
	clients_close();
}

/* A refused client has sent a descriptor with a blocking close(): others are not delayed. */
static void blocking_close_of_refused_client_does_not_delay_others(void **state)
{
	struct client first, second;
	int fd, peer;

	(void)state;
	if (!lingering(&fd, &peer))
		skip();
	client_open(&first);
	client_open(&second);
	send_fds(second.socket, 'x', &fd, 1, 0);
	close(fd);
	clients_open(geteuid(), 0, 1);
	expect_error(&second, EAGAIN, "clients of user");
	request(&first, ECHO, 1, "hello");
	expect_reply(&first, 1, "hello");
	client_close(&first);
	client_close(&second);
	scene.fds -= 2;
	clients_close();
	close(peer);
}

/* False: the connection is closed. */
static bool request_with(struct client *client, struct wmk_out *out, int fd)
{
	assert_int_equal(wmk_out_frame(out, (enum wmk_msg)ECHO, 1, "x", 1, fd), 0);
	const int sent = wmk_out_send(out, client->socket);

	assert_true(sent == 1 || sent == -EPIPE);
	close(fd);
	return sent == 1;
}

/* A client sends requests with descriptors that block close(): it is served up to the limit. */
static void client_with_too_many_descriptors_is_disconnected(void **state)
{
	enum { HANG = WMK_DEFERRED_CLOSE_THREADS_OF_ONE, ENOUGH = 2 * WMK_DEFERRED_CLOSE_FULL };
	struct wmk_out out = { 0 };
	struct client client;
	int fd, peers[HANG];
	struct rlimit files;
	unsigned n = 0;

	(void)state;
	if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur < 4 * WMK_DEFERRED_CLOSE_FULL)
		skip();
	clients_open(geteuid(), 0, 0);
	client_open(&client);
	/* While its request runs, nothing more is read, so the messages hold the last references to the descriptors. */
	request(&client, BLOCK, 0, "");
	wait_for(1);
	const int before = open_fds();

	for (unsigned i = 0; i < HANG; i++) {
		if (!lingering(&fd, &peers[i])) {
			assert_int_equal(i, 0);
			client_close(&client);
			clients_close();
			skip();
		}
		assert_true(request_with(&client, &out, fd));
	}
	go_on();
	for (unsigned i = 0; i < 1 + HANG; i++)
		assert_int_equal(next(&client), WMK_CTL_REPLY);
	expect_fds(before + HANG);       /* (close() removes the number from the table before it blocks) */
	do {
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		assert_true(fd >= 0);
	} while (request_with(&client, &out, fd) && next(&client) == WMK_CTL_REPLY && ++n < ENOUGH);
	assert_in_range(n, 2, ENOUGH - 1);
	assert_true(wmk_deferred_close_is_full(geteuid()));
	client_close(&client);
	for (unsigned i = 0; i < HANG; i++)
		close(peers[i]);
	wait_not_full(geteuid());
	a_good_client_is_answered();
	wmk_out_free(&out);
	clients_close();
}

static int set_up(void **state)
{
	struct rlimit files;

	(void)state;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	scene.listener = door_open(&scene.address, "clients");
	return scene.listener < 0;
}

static int tear_down(void **state)
{
	(void)state;
	return close(scene.listener);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_of_one_client_are_answered_in_order),
		cmocka_unit_test(requests_of_different_clients_run_concurrently),
		cmocka_unit_test(slow_commands_of_one_user_do_not_delay_others),
		cmocka_unit_test(clients_without_permission_are_refused),
		cmocka_unit_test(client_above_the_limit_gets_an_error),
		cmocka_unit_test(daemon_user_may_have_300_clients),
		cmocka_unit_test(invalid_frames_close_the_connection),
		cmocka_unit_test(client_that_never_reads_uses_memory_of_one_reply),
		cmocka_unit_test(many_requests_of_one_client_do_not_delay_others),
		cmocka_unit_test(blocking_close_of_refused_client_does_not_delay_others),
		cmocka_unit_test(client_with_too_many_descriptors_is_disconnected),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
