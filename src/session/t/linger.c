/* SPDX-License-Identifier: MIT */
/* linger.c - a TCP socket that lingers, because its peer does not read (see linger.h). */
#include "linger.h"

#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "session/t/linger.h"

#include "session/apps/deferred_close.h"
#define LIMIT_S 60

void wait_not_full(unsigned uid)
{
	alarm(LIMIT_S);
	while (wmk_deferred_close_is_full(uid))
		sched_yield();
	alarm(0);
}

bool lingering(int *fd, int *peer)
{
	static const char bytes[65536];
	const struct linger linger = { 1, 1000000 };
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool can = listener >= 0 && bind(listener, (struct sockaddr *)&address, len) == 0 && listen(listener, 1) == 0 &&
		   getsockname(listener, (struct sockaddr *)&address, &len) == 0;

	*fd = can ? socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
	can = can && connect(*fd, (struct sockaddr *)&address, len) == 0;
	if (can) {
		*peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		assert_true(*peer >= 0);
		while (send(*fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
			;
		assert_int_equal(errno, EAGAIN);
		assert_int_equal(setsockopt(*fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	} else if (*fd >= 0) {
		close(*fd);
	}
	if (listener >= 0)
		close(listener);
	return can;
}

void send_fds(int to, char byte, const int *fds, unsigned n, int flags)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(LINGER_MANY * sizeof(int))];
	} control = { 0 };
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.bytes,
			      .msg_controllen = CMSG_SPACE(n * sizeof(int)) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(c), fds, n * sizeof(int));
	assert_int_equal(sendmsg(to, &msg, flags), 1);
}
