/* SPDX-License-Identifier: MIT */
/*
 * test_clients.c - clients of a session daemon, well-behaved and hostile: order, side by side, limits, half and
 * oversize frames, who never reads, who vanishes. Whatever they do, a client that behaves is answered.
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
/* Requests of the tests. */
enum { ECHO = 0x300, BLOCK, BIG, SILENT };

static struct {
	struct sockaddr_un address;
	int listener, fds;
	struct wmk_clients *clients;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned at_work, most_at_work, begun, ended;
	bool open;                       /* those that BLOCK may go on */
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

/* What is closed by others is, in a moment. */
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

/* False: the socket's buffer is full. */
static bool request_fits(struct client *client, uint16_t type, uint32_t number, const char *text)
{
	struct wmk_out out = { 0 };

	assert_int_equal(wmk_out_frame(&out, (enum wmk_msg)type, number, text, strlen(text), -1), 0);
	int sent = wmk_out_send(&out, client->socket);
	assert_true(sent == 0 || sent == 1 || sent == -EPIPE);   /* EPIPE: turned away already */
	wmk_out_free(&out);
	return sent != 0;
}

static void request(struct client *client, uint16_t type, uint32_t number, const char *text)
{
	assert_true(request_fits(client, type, number, text));
}

/* The type of the next frame; 0: the connection is closed. */
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

static void requests_of_one_are_answered_in_order(void **state)
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

static void those_of_different_ones_run_side_by_side(void **state)
{
	struct client slow[3], two;

	(void)state;
	clients_open(geteuid(), 0, 0);
	for (unsigned i = 0; i < 3; i++) {
		client_open(&slow[i]);
		request(&slow[i], BLOCK, i, "slow");
	}
	wait_for(3);                     /* all three at a time */
	/* In root's daemon one worker is left for others than this user; in a user's all four are his. */
	if (geteuid() != 0)
		a_good_client_is_answered();
	client_open(&two);
	request(&two, BLOCK, 1, "first");
	request(&two, ECHO, 2, "second");
	pthread_mutex_lock(&scene.lock);
	scene.open = true;
	pthread_cond_broadcast(&scene.changed);
	pthread_mutex_unlock(&scene.lock);
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

static void one_users_slow_commands_hold_up_no_others(void **state)
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
	if (pid == 0) {                  /* not a member: the refusal is a worker's, too */
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
		client_close(&slow[i]);  /* they go while they are at work or wait */
	clients_close();
}

static void strangers_are_refused(void **state)
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
			expect_error(&other, EACCES, daemon ? "from user 1 only" : "members of the group");
			_exit(next(&other) == 0 ? 0 : 2);        /* and closed */
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
		a_good_client_is_answered();     /* root may, in everybody's daemon */
		clients_close();
	}
}

static void limits_are_told(void **state)
{
	struct client client[41];

	(void)state;
	clients_open(geteuid(), 0, 0);
	for (unsigned i = 0; i < 41; i++)
		client_open(&client[i]);
	for (unsigned i = 32; i < 41; i++) {
		expect_error(&client[i], EAGAIN, "no more may be");
		assert_int_equal(next(&client[i]), 0);
		client_close(&client[i]);
	}
	for (unsigned i = 0; i < 32; i++) {
		request(&client[i], ECHO, i, "still here");
		expect_reply(&client[i], i, "still here");
	}
	client_close(&client[0]);
	/* Its place is free as soon as its end was heard. */
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

/* The number of clients of others is none of theirs whose daemon it is (test_unrelated_clients.c has the others). */
static void three_hundred_connections(void **state)
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

static void hostile_frames(void **state)
{
	struct wmk_frame frame = { .type = ECHO, .version = WMK_WIRE_VERSION, .length = WMK_FRAME_MAX + 1 };
	struct client client;

	(void)state;
	clients_open(geteuid(), 0, 0);
	client_open(&client);            /* too long */
	assert_int_equal(send(client.socket, &frame, sizeof(frame), 0), sizeof(frame));
	expect_error(&client, EPROTO, "may be");
	assert_int_equal(next(&client), 0);
	client_close(&client);

	frame.length = 0;
	frame.version = WMK_WIRE_VERSION + 1;
	client_open(&client);            /* another version */
	assert_int_equal(send(client.socket, &frame, sizeof(frame), 0), sizeof(frame));
	expect_error(&client, EPROTONOSUPPORT, "version");
	assert_int_equal(next(&client), 0);
	client_close(&client);

	client_open(&client);            /* half a frame, then nothing; then the end */
	assert_int_equal(send(client.socket, &frame, 7, 0), 7);
	a_good_client_is_answered();
	client_close(&client);

	client_open(&client);            /* a request that nobody answers */
	request(&client, SILENT, 1, "");
	assert_int_equal(next(&client), 0);
	client_close(&client);
	clients_close();
}

/* Who asks for a megabyte again and again and reads nothing makes us keep one of them. */
static void who_never_reads(void **state)
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
		client_open(&gone);      /* asks and goes */
		request(&gone, BIG, 1, "");
		client_close(&gone);
	}
	a_good_client_is_answered();
	getrusage(RUSAGE_SELF, &usage[1]);
	assert_true(usage[1].ru_maxrss - usage[0].ru_maxrss < 64 * 1024);
	for (unsigned i = 0; i < 20; i++) {      /* and when it reads, all is there, in order */
		assert_int_equal(next(&client), WMK_CTL_REPLY);
		assert_int_equal(client.frame.request, i);
		assert_int_equal(client.frame.length, 900000);
	}
	client_close(&client);
	clients_close();
}

/* Frames without end: each is answered, nobody else waits. */
static void endless_frames(void **state)
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

/* Who may not come has sent a descriptor already whose close() waits. */
static void who_is_turned_away_is_not_waited_for(void **state)
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

/* False: the connection is closed already. */
static bool request_with(struct client *client, struct wmk_out *out, int fd)
{
	assert_int_equal(wmk_out_frame(out, (enum wmk_msg)ECHO, 1, "x", 1, fd), 0);
	const int sent = wmk_out_send(out, client->socket);

	assert_true(sent == 1 || sent == -EPIPE);
	close(fd);
	return sent == 1;
}

/* Requests with descriptors that cannot be closed: he is heard until there are too many. */
static void who_fills_our_table_is_not_heard(void **state)
{
	enum { HANG = WMK_CLOSER_THREADS_OF_ONE, ENOUGH = 2 * WMK_CLOSER_FULL };
	struct wmk_out out = { 0 };
	struct client client;
	int fd, peers[HANG];
	struct rlimit files;
	unsigned n = 0;

	(void)state;
	if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur < 4 * WMK_CLOSER_FULL)
		skip();
	clients_open(geteuid(), 0, 0);
	client_open(&client);
	/* While he is at work nothing more is read of him: the last who has them is the message. */
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
	expect_fds(before + HANG);       /* (a close() begins with taking it out of the table) */
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
		cmocka_unit_test(requests_of_one_are_answered_in_order),
		cmocka_unit_test(those_of_different_ones_run_side_by_side),
		cmocka_unit_test(one_users_slow_commands_hold_up_no_others), cmocka_unit_test(strangers_are_refused),
		cmocka_unit_test(limits_are_told), cmocka_unit_test(three_hundred_connections),
		cmocka_unit_test(hostile_frames), cmocka_unit_test(who_never_reads), cmocka_unit_test(endless_frames),
		cmocka_unit_test(who_is_turned_away_is_not_waited_for),
		cmocka_unit_test(who_fills_our_table_is_not_heard),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
