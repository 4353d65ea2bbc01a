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

#define PAUSE_MS 4               /* at first; doubled so often: */
#define PAUSE_SHIFT_MAX 7
#define UNSIGNALLED_MS 1000      /* where no signal wakes it */
#define SLEEPLESS_MAX 1000       /* a signal handler may interrupt some pauses */

void wmk_poller_init(struct wmk_poller *poller, const _Atomic(uint32_t) *word, struct wmk_endpoint *endpoints,
		     unsigned n_endpoints)
{
	poller->wakeups = word;
	poller->endpoints = endpoints;
	poller->n_endpoints = n_endpoints;
	/* (a FIFO reports POLLHUP, which is always polled for) */
	for (unsigned i = 0; i < WMK_POLLER_FDS; i++)
		poller->fds[i] = (struct pollfd){ .fd = -1, .events = i < WMK_POLLER_FIFOS ? POLLIN : 0 };
	poller->in_vain = poller->sleepless = 0;
}

/* relaxed: who counted before this was a polling thread has done it under the lock; later ones send a signal too */
static bool is_woken(const struct wmk_poller *poller)
{
	return atomic_load_explicit(poller->wakeups, memory_order_relaxed) != poller->seen;
}

/* False: the signal cannot be read, and stays pending. */
static bool take_signals(int fd)
{
	struct signalfd_siginfo info;
	bool any = false;

	while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		any = true;
	return any;
}

/* True: something came, or `sleep` ms are over. */
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

/* Then each socket is treated as readable. False: nothing lets the thread wait. */
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
