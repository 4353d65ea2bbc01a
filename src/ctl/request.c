/* SPDX-License-Identifier: MIT */
/*
 * request.c - one request and its reply over the connection (see wire/ctl.h).
 *
 * The client checks only the owner of the socket, so messages of the daemon are not trusted. request.c limits the size
 * of messages from the daemon, and an invalid message closes the connection with an error. Each reply has the number of
 * its request, so a reply that arrives after the timeout is skipped.
 */
#include "ctl/connection.h"

#include "base/error.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NEVER UINT64_MAX
#define WORDS_MAX 1100u              /* bytes of an error from the daemon */

uint64_t wmk_ctl_deadline(int timeout_ms)
{
	struct timespec now;

	if (timeout_ms < 0)
		return NEVER;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000 + (uint64_t)timeout_ms + 1;
}

int wmk_ctl_left(uint64_t deadline)
{
	uint64_t now = wmk_ctl_deadline(0) - 1;

	return deadline == NEVER ? -1 : now >= deadline ? 0 : (int)(deadline - now);
}

/* Close the connection, because further messages on the connection cannot be interpreted. */
static int fail_connection(struct waymark_ctl *ctl, int err)
{
	if (ctl->socket >= 0)
		close(ctl->socket);
	ctl->socket = -1;
	return err;
}

static int wait_for(struct waymark_ctl *ctl, short events, uint64_t deadline)
{
	struct pollfd p = { .fd = ctl->socket, .events = events };

	for (;;) {
		int left = wmk_ctl_left(deadline), n = left == 0 ? 0 : poll(&p, 1, left);

		if (n > 0)
			return 0;
		if (n == 0)
			return wmk_error(-ETIMEDOUT, "the session daemon has not answered within %d ms",
					 ctl->timeout_ms);
		if (errno != EINTR)
			return wmk_error(-errno, "cannot wait for the session daemon");
	}
}

static int send_all(struct waymark_ctl *ctl, uint64_t deadline)
{
	for (;;) {
		int sent = wmk_out_send(&ctl->out, ctl->socket);

		/* A daemon that has closed the connection may have sent the reason before, so read the reply. */
		if (sent == 1 || sent == -EPIPE || sent == -ECONNRESET)
			return 0;
		if (sent < 0)
			return fail_connection(ctl, wmk_error(sent, "cannot send to the session daemon"));
		int err = wait_for(ctl, POLLOUT, deadline);
		if (err < 0)
			return fail_connection(ctl, err);         /* the request was sent in part */
	}
}

/* ── receive ─────────────────────────────────────────────────────────────────────────────────────────── */

/* Receive the next frame of a reply. -ETIMEDOUT keeps the connection; other errors close it. */
static int receive_frame(struct waymark_ctl *ctl, uint64_t deadline, struct wmk_frame *frame, const void **body)
{
	for (;;) {
		int fd, got = wmk_in_frame(&ctl->in, frame, body, &fd);

		if (fd >= 0)
			close(fd);               /* replies have no descriptors */
		if (got < 0)
			return fail_connection(ctl, got);
		if (got == 1 &&
		    (frame->request == ctl->request || (frame->request == 0 && frame->type == WMK_CTL_ERROR)))
			return 0;
		if (got == 1 && (int32_t)(ctl->request - frame->request) > 0)
			continue;                /* a late reply to an earlier request */
		if (got == 1)
			return fail_connection(ctl,
				      wmk_error(-EPROTO, "the session daemon answers request %u, which was not sent",
						frame->request));
		int err = wait_for(ctl, POLLIN, deadline);
		if (err < 0)
			return err;
		got = wmk_in_receive(&ctl->in, ctl->socket);
		if (got == 0)
			return fail_connection(ctl,
					       wmk_error(-ECONNRESET, "the session daemon has closed the connection"));
		if (got < 0 && got != -EAGAIN)
			return fail_connection(ctl, wmk_error(got, "cannot receive from the session daemon"));
	}
}

/*
 * Use wmk_errorx(), which does not append the text of strerror(), because the daemon's message already contains this
 * text if it is useful.
 */
int wmk_ctl_error_chain(int err, char *words)
{
	bool first = true;
	char *at;

	do {
		at = words + strlen(words);
		while (at > words && !(at[0] == ':' && at[1] == ' '))
			at--;
		const char *sentence = at > words ? at + 2 : at;

		/* If the line was truncated, it may end in a colon. */
		if (*sentence) {
			(first ? wmk_errorx : wmk_error_add)(err, "%s", sentence);
			first = false;
		}
		*at = '\0';
	} while (at > words);
	return first ? wmk_error(err, "the session daemon reports an error without a message") : err;
}

static int daemon_error(struct waymark_ctl *ctl, const void *body, size_t len)
{
#ifdef WMK_PLANTED_BUG_CTL_REPLY             /* the fuzzer must find this */
	char text[WORDS_MAX / 10];
#else
	char text[WORDS_MAX];
#endif
	int number, err = wmk_error_msg_decode(body, len, &number, text, WORDS_MAX);

	return err < 0 ? fail_connection(ctl, err) : wmk_ctl_error_chain(-number, text);
}

struct joined {
	uint8_t *bytes;
	size_t len;
};

static int join(struct waymark_ctl *ctl, struct joined *joined, const void *body, size_t len)
{
	if (len > WMK_OBJECT_MAX - joined->len)
		return fail_connection(ctl,
			      wmk_error(-EPROTO, "the session daemon's answer has more than %u bytes", WMK_OBJECT_MAX));
	uint8_t *bytes = realloc(joined->bytes, joined->len + len + 1);
	if (!bytes)
		return fail_connection(ctl,
				       wmk_error(-ENOMEM, "no memory for an answer of %zu bytes", joined->len + len));
	if (len)
		memcpy(bytes + joined->len, body, len);
	joined->bytes = bytes;
	joined->len += len;
	return 0;
}

static int take_reply(struct waymark_ctl *ctl, const struct wmk_request_type *command, const struct joined *reply,
		      struct waymark_ctl_result **out)
{
	struct waymark_ctl_result *result = wmk_ctl_result_new(command->reply);

	if (!result)
		return -ENOMEM;
	int err = wmk_object_decode(command->reply, reply->bytes, reply->len, result->object, &result->objects);
	if (err == -EPROTO)
		fail_connection(ctl, err);
	if (err == 0)
		err = wmk_ctl_result_finish(result);
	if (err == 0 && out)
		*out = result;
	else
		waymark_ctl_result_free(result);
	return err;
}

static int receive_reply(struct waymark_ctl *ctl, const struct wmk_request_type *command, uint64_t deadline,
			 struct waymark_ctl_result **result)
{
	struct joined joined = { 0 };
	struct wmk_frame frame;
	const void *body;
	int err;

	do {
		err = receive_frame(ctl, deadline, &frame, &body);
		if (err == 0 && frame.type == WMK_CTL_ERROR)
			err = daemon_error(ctl, body, frame.length);
		else if (err == 0 && frame.type != WMK_CTL_REPLY && frame.type != WMK_OBJECT_PART)
			err = fail_connection(ctl,
					      wmk_error(-EPROTO, "the session daemon answers with a message of type %u",
							frame.type));
		else if (err == 0)
			err = join(ctl, &joined, body, frame.length);
	} while (err == 0 && frame.type == WMK_OBJECT_PART);
	if (err == 0)
		err = take_reply(ctl, command, &joined, result);
	free(joined.bytes);
	return err;
}

int wmk_ctl_request(struct waymark_ctl *ctl, uint16_t type, const void *request, struct waymark_ctl_result **result)
{
	const struct wmk_request_type *command = wmk_ctl_request_find(type);
	uint64_t deadline = wmk_ctl_deadline(ctl->timeout_ms);
	uint8_t *bytes;

	if (result)
		*result = NULL;
	wmk_error_clear();
	if (ctl->socket < 0)
		return wmk_error(-ENOTCONN, "the connection to the session daemon was lost earlier: connect again");
	long len = wmk_object_encode(command->request, request, &bytes);
	if (len < 0)
		return (int)len;
	if (++ctl->request == 0)
		ctl->request = 1;        /* 0 marks errors that the daemon sends without a request */
	int err = wmk_out_frame(&ctl->out, (enum wmk_msg)type, ctl->request, bytes, (size_t)len, -1);
	free(bytes);
	if (err == 0)
		err = send_all(ctl, deadline);
	if (err == 0)
		err = receive_reply(ctl, command, deadline, result);
	return err < 0 ? wmk_error_add(err, "the command '%s' failed", command->name) : 0;
}

int wmk_ctl_wait_for_end(struct waymark_ctl *ctl)
{
	uint64_t deadline = wmk_ctl_deadline(ctl->timeout_ms);
	char rest[256];
	ssize_t n;

	do {
		int err = wait_for(ctl, POLLIN, deadline);

		if (err < 0)
			return wmk_error_add(err, "the session daemon has not ended yet");
		n = recv(ctl->socket, rest, sizeof(rest), MSG_DONTWAIT);
	} while (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)));
	return fail_connection(ctl, 0);
}

int wmk_ctl_options(void *to, size_t size, const void *from, const char *what, struct waymark_ctl_result **result)
{
	size_t given;

	if (result)
		*result = NULL;
	memset(to, 0, size);
	if (!from)
		return wmk_error(-EINVAL, "%s: no options are given", what);
	memcpy(&given, from, sizeof(given));
	if (given < sizeof(given) || given > 65536)
		return wmk_error(-EINVAL, "%s: the options have an invalid 'size'", what);
	for (size_t i = size; i < given; i++)
		if (((const uint8_t *)from)[i])
			return wmk_error(-EINVAL, "%s: options are set that this version of the library does not know",
					 what);
	memcpy(to, from, given < size ? given : size);
	return 0;
}
