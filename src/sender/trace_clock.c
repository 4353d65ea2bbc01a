/* SPDX-License-Identifier: MIT */
/* trace_clock.c - send the sync points of one trace (see trace_clock.h). */
#include "sender/trace_clock.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"

static int send_point(struct wmk_relay_link *link, const struct wmk_relay_clock *is, long *sent)
{
	int err = wmk_relay_link_data(link, WMK_RELAY_CLOCK_POINT, is);

	*sent += WMK_CLOCK_POINT_BYTES;
	return err;
}

static int send_local(struct wmk_trace_clock *clock, struct wmk_relay_link *link, int fd,
		      const struct wmk_clock_head *head, long *sent)
{
	struct wmk_relay_clock is = { .uuid = head->uuid, .relay = "" };
	uint8_t bytes[WMK_CLOCK_POINT_BYTES];
	int err = 0;

	if (clock->len < WMK_CLOCK_FILE_HEAD)
		clock->len = WMK_CLOCK_FILE_HEAD;
	while (err == 0 && pread(fd, bytes, sizeof(bytes), (off_t)clock->len) == (ssize_t)sizeof(bytes)) {
		wmk_clock_point_decode(bytes, &is.point);
		err = send_point(link, &is, sent);
		clock->len += sizeof(bytes);
	}
	return err;
}

/* Send the new clock measurements as sync points. The caller omits idle traces. */
static int send_measured(struct wmk_trace_clock *clock, struct wmk_relay_link *link,
			 struct wmk_clock_exchange *exchange, const struct wmk_clock_head *head, long *sent)
{
	struct wmk_clock_measurement made;
	struct wmk_relay_clock is = { .uuid = head->uuid, .relay = made.relay };
	int err = 0;

	while (err == 0 && wmk_clock_exchange_get(exchange, &clock->measured, &made)) {
		clock->measured++;
		clock->is_idle = true;
		is.point = made.of[head->kind - 1];
		if (is.point.uncertainty_ns)
			err = send_point(link, &is, sent);
	}
	return err;
}

long wmk_trace_clock_send(struct wmk_trace_clock *clock, struct wmk_relay_link *link, int dir,
			  struct wmk_clock_exchange *exchange)
{
	uint8_t bytes[WMK_CLOCK_FILE_HEAD];
	struct wmk_clock_head head;
	int fd = openat(dir, WMK_CLOCK_FILE, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC), err = 0;
	long sent = 0;

	if (fd < 0)
		return 0;
	if (pread(fd, bytes, sizeof(bytes), 0) == (ssize_t)sizeof(bytes) &&
	    wmk_clock_head_decode(bytes, sizeof(bytes), &head) == 0) {
		err = send_local(clock, link, fd, &head, &sent);
		if (err == 0 && exchange && !clock->is_idle && wmk_clock_exchange_has(exchange, &head))
			err = send_measured(clock, link, exchange, &head, &sent);
	}
	close(fd);
	return err < 0 ? err : sent;
}
