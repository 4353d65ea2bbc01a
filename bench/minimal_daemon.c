/* SPDX-License-Identifier: MIT */
/*
 * minimal_daemon.c - the minimum of work of a session daemon for a registration: accept the connection, get its
 * credentials and a pidfd from the kernel, watch both, read once, and answer once with the descriptor of a ring set.
 * This is the lower bound for the figure of the session daemon. Events are not processed.
 *
 *     minimal_daemon RUNDIR        prints "ready", and runs until it is killed
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "wire/wire.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif
#define EVENTS 32
#define FDS_MAX 65536

static struct wmk_out answer;       /* as long as that of the session daemon: rings, 32 events, DONE */
static unsigned char seen[FDS_MAX]; /* 1: answered, or a pidfd */

static int prepare(void)
{
	const unsigned char zeros[64] = { 0 };
	int err = 0;

	for (unsigned i = 0; i < EVENTS && err == 0; i++)
		err = wmk_out_frame(&answer, WMK_MSG_ENABLE, 0, zeros, 12, -1);
	return err == 0 ? wmk_out_u32(&answer, WMK_MSG_DONE, 1) : err;
}

static int watch(int epoll, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return fd >= 0 && fd < FDS_MAX ? epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) : -1;
}

static void accept_app(int epoll, int listener)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), process = -1;

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
		exit(1);
	len = sizeof(process);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &process, &len) != 0 || watch(epoll, fd) != 0 ||
	    watch(epoll, process) != 0)
		exit(1);
	seen[fd] = 0;
	seen[process] = 1;
}

static void serve(int fd, int rings)
{
	static unsigned char buf[65536];
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { answer.buf, answer.len };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	if (seen[fd] || recv(fd, buf, sizeof(buf), MSG_DONTWAIT) <= 0) {
		close(fd);
		return;
	}
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &rings, sizeof(int));
	seen[fd] = 1;
	if (sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		close(fd);
}

int main(int argc, char **argv)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct epoll_event events[64];
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
	    epoll = epoll_create1(EPOLL_CLOEXEC);
	int rings = memfd_create("rings", MFD_CLOEXEC);

	if (argc != 2 || prepare() < 0 || rings < 0 ||
	    snprintf(address.sun_path, sizeof(address.sun_path), "%s/" WMK_APP_SOCKET, argv[1]) >=
		    (int)sizeof(address.sun_path) ||
	    bind(listener, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
	    listen(listener, SOMAXCONN) != 0 || watch(epoll, listener) != 0) {
		fprintf(stderr, "usage: %s RUNDIR (an empty directory)\n", argv[0]);
		return 2;
	}
	puts("ready");
	fflush(stdout);
	for (;;) {
		int n = epoll_wait(epoll, events, 64, -1);

		for (int i = 0; i < n; i++)
			if (events[i].data.fd == listener)
				accept_app(epoll, listener);
			else
				serve(events[i].data.fd, rings);
	}
}
