/* SPDX-License-Identifier: MIT */
/*
 * clock_steps.c - observe steps of real time (see clock_steps.h). The timer is set to a time in the far future, but the
 * kernel cancels the timer when CLOCK_REALTIME is set (TFD_TIMER_CANCEL_ON_SET). Between steps, this costs nothing.
 */
#include "consumer/clock_steps.h"

#include <errno.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define NEVER_S ((time_t)1 << 33)        /* of the timer: seconds since 1970, in the year 2242 */

int wmk_clock_steps_open(void)
{
	const struct itimerspec never = { .it_value = { .tv_sec = NEVER_S } };
	int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK), err;

	if (fd < 0)
		return -errno;
	if (timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) == 0)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

bool wmk_clock_steps_read(int fd)
{
	uint64_t expired;

	/* ECANCELED: real time was set. The timer expires only if real time is set to a time after NEVER_S. */
	return read(fd, &expired, sizeof(expired)) > 0 || errno == ECANCELED;
}
