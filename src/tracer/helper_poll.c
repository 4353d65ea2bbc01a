/* SPDX-License-Identifier: MIT */
/* helper_poll.c - see helper_poll.h. */
#include <linux/futex.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "tracer/helper_poll.h"

#define PAUSE_MS 4               /* at first; doubled so often: */
#define PAUSE_SHIFT_MAX 7
#define UNSIGNALLED_MS 1000      /* where no signal wakes it */
#define SLEEPLESS_MAX 1000       /* a signal handler may interrupt some pauses */

void wmk_poller_init(struct wmk_poller *rest, const _Atomic(uint32_t) *word, struct wmk_endpoint *endpoints,
		     unsigned n_endpoints)
{
	rest->word = word;
	rest->endpoints = endpoints;
	rest->n_endpoints = n_endpoints;
	/* (a FIFO reports POLLHUP, which is always polled for) */
	for (unsigned i = 0; i < WMK_POLLER_FDS; i++)
		rest->fds[i] = (struct pollfd){ .fd = -1, .events = i < WMK_POLLER_FIFOS ? POLLIN : 0 };
	rest->in_vain = rest->sleepless = 0;
}

/* relaxed: who counted before this was a polling thread has done it under the lock; later ones send a signal too */
static bool is_told(const struct wmk_poller *rest)
{
	return atomic_load_explicit(rest->word, memory_order_relaxed) != rest->heard;
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
static bool wait_polling(struct wmk_poller *rest, int sleep)
{
	const int64_t begin = wmk_clock_ms();
	struct pollfd *fds = rest->fds, *wake = &fds[WMK_POLLER_SIGNAL];
	bool came = false;

	for (unsigned i = 0; i < WMK_ENDPOINTS; i++) {
		fds[i].fd = i < rest->n_endpoints ? rest->endpoints[i].conn.sock : -1;
		fds[WMK_POLLER_FIFOS + i].fd = i < rest->n_endpoints ? rest->endpoints[i].notify : -1;
	}
	for (unsigned i = 0; i < WMK_POLLER_FDS; i++)
		fds[i].revents = 0;
	if (wake->fd < 0 && (sleep < 0 || sleep > UNSIGNALLED_MS))
		sleep = UNSIGNALLED_MS;
	if (is_told(rest))
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
static bool pause_refused(struct wmk_poller *rest)
{
	const int64_t begin = wmk_clock_ms(), ms = PAUSE_MS << rest->in_vain;
	int64_t left;

	if (rest->in_vain < PAUSE_SHIFT_MAX)
		rest->in_vain++;
	wmk_poller_nap(rest->word, rest->heard, ms);
	left = ms - (wmk_clock_ms() - begin);
	if (!is_told(rest) && left > 0)
		wmk_pause((long)left * 1000000);
	for (unsigned i = 0; i < rest->n_endpoints; i++)
		rest->fds[i].revents = POLLIN;
	rest->sleepless = is_told(rest) || wmk_clock_ms() - begin >= ms ? 0 : rest->sleepless + 1;
	return rest->sleepless <= SLEEPLESS_MAX;
}

bool wmk_poller_wait(struct wmk_poller *rest, int sleep)
{
	if (!wait_polling(rest, sleep))
		return pause_refused(rest);
	rest->in_vain = rest->sleepless = 0;
	return true;
}
