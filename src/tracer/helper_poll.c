/* SPDX-License-Identifier: MIT */
/* helper_poll.c - see helper_poll.h. */
#include <linux/futex.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "tracer/helper_poll.h"
#include "tracer/lock.h"

#define PAUSE_MS 4               /* first pause; doubled at most this number of times: */
#define PAUSE_SHIFT_MAX 7
#define UNSIGNALLED_MS 1000      /* poll timeout if no signal wakes the thread */
#define SLEEPLESS_MAX 1000       /* limit of pauses in a row that end early; signal handlers may interrupt some */

void wmk_poller_init(struct wmk_poller *poller, const _Atomic(uint32_t) *word, struct wmk_endpoint *endpoints,
		     unsigned n_endpoints)
{
	poller->wakeups = word;
	poller->endpoints = endpoints;
	poller->n_endpoints = n_endpoints;
	/* FIFOs need no events in pollfd, because poll() always reports POLLHUP. */
	for (unsigned i = 0; i < WMK_POLLER_FDS; i++)
		poller->fds[i] = (struct pollfd){ .fd = -1, .events = i < WMK_POLLER_FIFOS ? POLLIN : 0 };
	poller->in_vain = poller->sleepless = 0;
}

/* relaxed: increments before the thread polled were made under the lock; a signal follows each later increment */
static bool is_woken(const struct wmk_poller *poller)
{
	return atomic_load_explicit(poller->wakeups, memory_order_relaxed) != poller->seen;
}

/* Read pending signals. Returns false if no signal is pending for the thread. */
static bool take_signals(int fd)
{
	struct signalfd_siginfo info;
	bool any = false;

	while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		any = true;
	return any;
}

/* Return true if a descriptor is ready, or if `sleep` ms have passed. */
static bool wait_polling(struct wmk_poller *poller, int sleep)
{
	const int64_t begin = wmk_clock_ms();
	struct pollfd *fds = poller->fds, *wake = &fds[WMK_POLLER_SIGNAL];
	bool came = false;

	for (unsigned i = 0; i < WMK_ENDPOINTS; i++) {
		fds[i].fd = i < poller->n_endpoints ? poller->endpoints[i].conn.sock : -1;
		fds[WMK_POLLER_FIFOS + i].fd = i < poller->n_endpoints ? poller->endpoints[i].notify : -1;
	}
	for (unsigned i = 0; i < WMK_POLLER_FDS; i++)
		fds[i].revents = 0;
	if (wake->fd < 0 && (sleep < 0 || sleep > UNSIGNALLED_MS))
		sleep = UNSIGNALLED_MS;
	if (is_woken(poller))
		sleep = 0;
	if (poll(fds, WMK_POLLER_FDS, sleep) < 0)
		for (unsigned i = 0; i < WMK_POLLER_FDS; i++)
			fds[i].revents = 0;
	for (unsigned i = 0; i < WMK_POLLER_FDS; i++)
		came |= &fds[i] != wake && fds[i].revents;
	if (wake->revents)
		came |= take_signals(wake->fd);
	return came || (sleep >= 0 && wmk_clock_ms() - begin >= sleep);
}

void wmk_poller_nap(const _Atomic(uint32_t) *word, uint32_t value, int64_t ms)
{
	const struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &ts, NULL, 0);
}

/*
 * Pause, then treat each socket as readable. Returns false after more than SLEEPLESS_MAX consecutive pauses that ended
 * early.
 */
static bool pause_after_refusal(struct wmk_poller *poller)
{
	const int64_t begin = wmk_clock_ms(), ms = PAUSE_MS << poller->in_vain;
	int64_t left;

	if (poller->in_vain < PAUSE_SHIFT_MAX)
		poller->in_vain++;
	wmk_poller_nap(poller->wakeups, poller->seen, ms);
	left = ms - (wmk_clock_ms() - begin);
	if (!is_woken(poller) && left > 0)
		wmk_pause((long)left * 1000000);
	for (unsigned i = 0; i < poller->n_endpoints; i++)
		poller->fds[i].revents = POLLIN;
	poller->sleepless = is_woken(poller) || wmk_clock_ms() - begin >= ms ? 0 : poller->sleepless + 1;
	return poller->sleepless <= SLEEPLESS_MAX;
}

bool wmk_poller_wait(struct wmk_poller *poller, int sleep)
{
	if (!wait_polling(poller, sleep))
		return pause_after_refusal(poller);
	poller->in_vain = poller->sleepless = 0;
	return true;
}
