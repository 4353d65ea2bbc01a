/* SPDX-License-Identifier: MIT */
/*
 * test_frame.c - frames and descriptors over a real socket: whole frames, pieces of frames, many frames, and frames of
 * a hostile peer.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "wire/wire.h"

struct link {
	int pair[2];
	struct wmk_out out;
	struct wmk_in in;
	int fds_before;
};

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

static int setup(void **state)
{
	struct link *l = calloc(1, sizeof(*l));

	l->fds_before = open_fds();
	*state = l;
	return socketpair(AF_UNIX, SOCK_STREAM, 0, l->pair);
}

static int teardown(void **state)
{
	struct link *l = *state;
	int before = l->fds_before;

	wmk_out_free(&l->out);
	wmk_in_free(&l->in);
	close(l->pair[0]);
	close(l->pair[1]);
	free(l);
	return open_fds() == before ? 0 : -1;        /* no descriptor is left open, whatever was received */
}

static void test_frames_arrive_in_order(void **state)
{
	struct link *l = *state;
	struct wmk_frame frame;
	const void *body;
	int fd;

	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(wmk_out_u32(&l->out, WMK_MSG_DONE, i), 0);
	assert_int_equal(wmk_out_send(&l->out, l->pair[0]), 1);
	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t value;

		while (wmk_in_frame(&l->in, &frame, &body, &fd) == 0)
			assert_int_equal(wmk_in_receive(&l->in, l->pair[1]), 1);
		assert_int_equal(frame.type, WMK_MSG_DONE);
		assert_int_equal(fd, -1);
		assert_int_equal(wmk_u32_decode(body, frame.length, &value), 0);
		assert_int_equal(value, i);
	}
	assert_int_equal(wmk_in_frame(&l->in, &frame, &body, &fd), 0);
	assert_int_equal(wmk_in_receive(&l->in, l->pair[1]), -EAGAIN);
	shutdown(l->pair[0], SHUT_WR);
	assert_int_equal(wmk_in_receive(&l->in, l->pair[1]), 0);
}

/*
 * Each descriptor arrives with its own frame, among frames without descriptors, through a socket that is full at times.
 */
static void test_descriptors_arrive_with_their_frames(void **state)
{
	enum { N = 500 };
	struct link *l = *state;
	struct wmk_frame frame;
	const void *body;
	uint32_t queued = 0, got = 0;
	static char filler[3000];

	while (got < N) {
		while (queued < N && l->out.n_fds < 20) {
			int fd = queued % 3 == 0 ? memfd_create("x", MFD_CLOEXEC) : -1;

			if (fd >= 0)
				assert_int_equal(ftruncate(fd, queued + 1), 0);
			memcpy(filler, &queued, sizeof(queued));
			assert_int_equal(wmk_out_frame(&l->out, WMK_MSG_CHANNEL, queued, filler, 4 + queued * 5, fd),
					 0);
			if (fd >= 0)
				close(fd);
			queued++;
		}
		assert_true(wmk_out_send(&l->out, l->pair[0]) >= 0);
		int fd, err = wmk_in_receive(&l->in, l->pair[1]);
		assert_true(err == 1 || err == -EAGAIN);
		while ((err = wmk_in_frame(&l->in, &frame, &body, &fd)) == 1) {
			assert_int_equal(frame.request, got);
			assert_int_equal(frame.length, 4 + got * 5);
			assert_memory_equal(body, &got, 4);
			assert_int_equal(fd >= 0, got % 3 == 0);
			if (fd >= 0) {
				struct stat st;

				assert_int_equal(fstat(fd, &st), 0);
				assert_int_equal(st.st_size, got + 1);
				close(fd);
			}
			got++;
		}
		assert_int_equal(err, 0);
	}
}

/* A descriptor of a file of `n` + 1 bytes. */
static int numbered(uint32_t n)
{
	int fd = memfd_create("x", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, n + 1), 0);
	return fd;
}

/* Take the received frames in order, and check that each has its own descriptor. */
static uint32_t take_all(struct link *l, uint32_t got, const uint8_t *with_fd)
{
	struct wmk_frame frame;
	const void *body;
	struct stat st;
	int fd, err;

	while ((err = wmk_in_frame(&l->in, &frame, &body, &fd)) == 1) {
		assert_int_equal(frame.request, got);
		assert_int_equal(fd >= 0, with_fd[got]);
		if (fd >= 0) {
			assert_int_equal(fstat(fd, &st), 0);
			assert_int_equal(st.st_size, got + 1);
			close(fd);
		}
		got++;
	}
	assert_int_equal(err, 0);
	return got;
}

/*
 * Frames of any length, with and without descriptors, over sockets of any size, sent and received in pieces: each
 * descriptor arrives with its own frame.
 */
static void descriptors_arrive_with_their_frames_in_pieces_of_any_size(void **state)
{
	enum { N = 400 };
	static const unsigned longest[] = { 0, 40, 300, 5000, 20000 };
	static char filler[20001];
	unsigned seed = 1;

	(void)state;
	for (unsigned round = 0; round < 60; round++) {
		uint8_t with_fd[N];
		uint32_t queued = 0, got = 0;
		struct link *l;
		int small = 1;

		assert_int_equal(setup((void **)&l), 0);
		if (round % 3 == 0)      /* the minimum size that the kernel allows */
			assert_int_equal(setsockopt(l->pair[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
		while (got < N) {
			while (queued < N && l->out.n_fds < WMK_WIRE_FDS && wmk_out_queued(&l->out) < 30000 &&
			       rand_r(&seed) % 8) {
				with_fd[queued] = rand_r(&seed) % (1 + round % 5) == 0;
				int fd = with_fd[queued] ? numbered(queued) : -1;
				unsigned len = (unsigned)rand_r(&seed) % (longest[round / 3 % 5] + 1);

				assert_int_equal(wmk_out_frame(&l->out, WMK_MSG_CHANNEL, queued, filler, len, fd), 0);
				queued++;
				if (fd >= 0)
					close(fd);
			}
			if (rand_r(&seed) % 2)
				assert_true(wmk_out_send(&l->out, l->pair[0]) >= 0);
			if (rand_r(&seed) % 2)
				assert_in_range(wmk_in_receive(&l->in, l->pair[1]) + EAGAIN, 0, EAGAIN + 1);
			got = take_all(l, got, with_fd);
		}
		assert_int_equal(l->in.n_fds, 0);
		assert_int_equal(teardown((void **)&l), 0);
	}
}

/* A reply and its descriptors arrive in one piece, so that the receiver is woken once. */
static void frames_and_descriptors_sent_together_arrive_together(void **state)
{
	struct link *l = *state;
	const uint8_t with_fd[5] = { 0, 1, 0, 1, 0 };

	for (uint32_t i = 0; i < 5; i++) {
		int fd = with_fd[i] ? numbered(i) : -1;

		assert_int_equal(wmk_out_frame(&l->out, WMK_MSG_CHANNEL, i, "body", 5, fd), 0);
		if (fd >= 0)
			close(fd);
	}
	assert_int_equal(wmk_out_send(&l->out, l->pair[0]), 1);
	assert_int_equal(wmk_in_receive(&l->in, l->pair[1]), 1);
	assert_int_equal(take_all(l, 0, with_fd), 5);
	assert_int_equal(wmk_in_receive(&l->in, l->pair[1]), -EAGAIN);
}

/* Send a message of the largest size; its first part is sent byte by byte. A larger message is refused. */
static void test_largest_frame_is_sent_and_larger_refused(void **state)
{
	struct link *l = *state;
	uint8_t *big = calloc(1, WMK_FRAME_MAX + 1);
	struct wmk_frame frame;
	const void *body;
	int fd, err = 0;

	assert_non_null(big);
	big[WMK_FRAME_MAX - 1] = 77;
	assert_int_equal(wmk_out_frame(&l->out, WMK_MSG_EVENT, 0, big, WMK_FRAME_MAX + 1, -1), -EMSGSIZE);
	assert_int_equal(wmk_out_frame(&l->out, WMK_MSG_EVENT, 0, big, WMK_FRAME_MAX, -1), 0);
	for (int i = 0; i < 40; i++) {
		assert_int_equal(send(l->pair[0], l->out.buf + i, 1, 0), 1);
		assert_int_equal(wmk_in_receive(&l->in, l->pair[1]), 1);
		assert_int_equal(wmk_in_frame(&l->in, &frame, &body, &fd), 0);
	}
	assert_true(l->in.cap < 65536);
	l->out.sent = 40;
	while ((err = wmk_in_frame(&l->in, &frame, &body, &fd)) == 0) {
		assert_true(wmk_out_send(&l->out, l->pair[0]) >= 0);
		assert_int_equal(wmk_in_receive(&l->in, l->pair[1]), 1);
	}
	assert_int_equal(err, 1);
	assert_int_equal(frame.length, WMK_FRAME_MAX);
	assert_int_equal(((const uint8_t *)body)[WMK_FRAME_MAX - 1], 77);
	/* the large buffers are freed */
	assert_int_equal(wmk_in_receive(&l->in, l->pair[1]), -EAGAIN);
	assert_true(l->in.cap < 65536);
	assert_true(l->out.cap <= 65536);
	free(big);
}

static int take(struct link *l, const struct wmk_frame *frame, size_t len)
{
	struct wmk_frame got;
	const void *body;
	int fd;

	assert_int_equal(send(l->pair[0], frame, len, 0), (ssize_t)len);
	assert_int_equal(wmk_in_receive(&l->in, l->pair[1]), 1);
	return wmk_in_frame(&l->in, &got, &body, &fd);
}

static void test_invalid_frames_are_refused(void **state)
{
	const struct { struct wmk_frame frame; int err; const char *words; } table[] = {
		{ { WMK_FRAME_MAX + 1, WMK_MSG_HELLO, WMK_WIRE_VERSION, 0, 0 }, -EPROTO, "bytes" },
		{ { UINT32_MAX, WMK_MSG_HELLO, WMK_WIRE_VERSION, 0, 0 }, -EPROTO, "bytes" },
		{ { 0, WMK_MSG_HELLO, WMK_WIRE_VERSION + 1, 0, 0 }, -EPROTONOSUPPORT, "version" },
		{ { 0, WMK_MSG_HELLO, WMK_WIRE_VERSION, 0, 2 }, -EPROTO, "flags" },
		{ { 0, WMK_MSG_CHANNEL, WMK_WIRE_VERSION, 0, WMK_FRAME_FD }, -EPROTO, "descriptor" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct link *l;

		assert_int_equal(setup((void **)&l), 0);
		assert_int_equal(take(l, &table[i].frame, sizeof(struct wmk_frame)), table[i].err);
		assert_non_null(strstr(wmk_error_get(0), table[i].words));
		assert_int_equal(teardown((void **)&l), 0);
	}
	(void)state;
}

/*
 * Descriptors that no frame announces are closed, at the latest when all frames are taken. The number of kept
 * descriptors is limited.
 */
static void unannounced_descriptors_are_limited_and_closed(void **state)
{
	struct link *l = *state;
	struct wmk_frame plain = { 0, WMK_MSG_DONE, WMK_WIRE_VERSION, 0, 0 };
	const void *body;
	int fd, before = open_fds();

	for (int i = 0; i < 200; i++) {
		assert_int_equal(wmk_out_frame(&l->out, WMK_MSG_DONE, 0, NULL, 0, l->pair[0]), 0);
		memcpy(l->out.buf, &plain, sizeof(plain));          /* without WMK_FRAME_FD */
		assert_int_equal(wmk_out_send(&l->out, l->pair[0]), 1);
		assert_int_equal(wmk_in_receive(&l->in, l->pair[1]), 1);
		assert_true(open_fds() <= before + WMK_WIRE_FDS);
	}
	for (int i = 0; i < 200; i++) {
		assert_int_equal(wmk_in_frame(&l->in, &plain, &body, &fd), 1);
		assert_int_equal(fd, -1);
	}
	assert_int_equal(wmk_in_frame(&l->in, &plain, &body, &fd), 0);
	assert_int_equal(open_fds(), before);
}

static void test_queued_descriptors_are_limited(void **state)
{
	struct link *l = *state;

	for (int i = 0; i < WMK_WIRE_FDS; i++)
		assert_int_equal(wmk_out_frame(&l->out, WMK_MSG_CHANNEL, 0, NULL, 0, l->pair[0]), 0);
	assert_int_equal(wmk_out_frame(&l->out, WMK_MSG_CHANNEL, 0, NULL, 0, l->pair[0]), -EAGAIN);
	assert_int_equal(wmk_out_frame(&l->out, WMK_MSG_CHANNEL, 0, NULL, 0, 9999), -EAGAIN);
	/* frames that are not taken do not enlarge the buffer */
	int err = 1;
	for (int i = 0; i < 100000 && err == 1; i++) {
		struct wmk_frame plain = { 0, WMK_MSG_DONE, WMK_WIRE_VERSION, 0, 0 };

		send(l->pair[0], &plain, sizeof(plain), MSG_DONTWAIT);
		err = wmk_in_receive(&l->in, l->pair[1]);
	}
	assert_int_equal(err, -ENOBUFS);
	assert_true(l->in.cap <= 65536);
	/* the peer has closed the connection */
	close(l->pair[1]);
	l->pair[1] = -1;
	assert_int_equal(wmk_out_send(&l->out, l->pair[0]), -EPIPE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_frames_arrive_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_descriptors_arrive_with_their_frames, setup, teardown),
		cmocka_unit_test(descriptors_arrive_with_their_frames_in_pieces_of_any_size),
		cmocka_unit_test_setup_teardown(frames_and_descriptors_sent_together_arrive_together, setup, teardown),
		cmocka_unit_test_setup_teardown(test_largest_frame_is_sent_and_larger_refused, setup, teardown),
		cmocka_unit_test(test_invalid_frames_are_refused),
		cmocka_unit_test_setup_teardown(unannounced_descriptors_are_limited_and_closed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_queued_descriptors_are_limited, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
