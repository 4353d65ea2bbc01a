/* SPDX-License-Identifier: MIT */
/*
 * helper.c - the one thread of the library in a program: it owns the sockets, in a descriptor table of its own.
 *
 *     started by a constructor, a fork's child, a run-time event ──► connects ──► sleeps in ppoll() on its sockets
 *     woken by a controller's message, or by tgkill(helper, 32): that signal is the C library's own, blocked here and nowhere sent to
 *     the process as a whole, so that a signalfd sees those that are meant for this thread and takes none of the program's
 *     ends when the last controller is gone; the next one who needs it starts another
 *
 * It makes no call of the loader and takes none of its locks: a constructor in dlopen() may hold those and wait for nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

#include "ring/writer.h"
#include "tracer/conn.h"
#include "tracer/helper.h"
#include "tracer/statedump.h"

#define WAKE_SIGNAL 32
#define STACK_BYTES (128u * 1024)
#define MAX_CONNS 2
#define LOOK_MIN_MS 1
#define LOOK_MAX_MS 100
#define RECLAIM_MS 5

/* Under the tracer's lock, but for `done`, which is a futex too. */
static struct {
	bool running;
	pid_t tid;              /* 0: it does not listen to signals yet */
	bool halt;              /* end now ... */
	bool keep;              /* ... and keep channels as orphans */
	bool missed;            /* halted, and could not be started again: children try */
	bool never;             /* waymark_helper_stop() was called */
	_Atomic(uint32_t) done; /* the batch for which all controllers have answered */
	_Atomic(uint32_t) late; /* a constructor has waited in vain for so many ms, and the program recorded on */
	struct wmk_conn conns[MAX_CONNS];
	unsigned n_conns;
} helper;
/* What is left of WAYMARK_REGISTER_TIMEOUT, for all constructors together. */
static int64_t wait_budget_ms = -1;

static void futex_wake(_Atomic(uint32_t) *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void futex_wait(_Atomic(uint32_t) *word, uint32_t value, int64_t ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &ts, NULL, 0);
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* ── where controllers are ───────────────────────────────────────────────────────────────────────────── */

#define PATH_BYTES 108

/* The socket of the i-th possible controller: false past the last. WAYMARK_RUNDIR leaves one; a set-id program has root's only. */
static bool controller_path(unsigned i, char path[PATH_BYTES])
{
	const char *dir = wmk_tracer.secure ? NULL : secure_getenv("WAYMARK_RUNDIR");
	uid_t uid = geteuid();
	uid_t whose = dir || i == 1 ? uid : 0;

	if (i > 1 || (i == 1 && (dir || uid == 0 || wmk_tracer.secure)))
		return false;
	int len = wmk_rundir(whose, dir != NULL, path, PATH_BYTES);

	if (len < 0 || (size_t)len + sizeof("/" WMK_APP_SOCKET) > PATH_BYTES)
		path[0] = '\0';
	else
		strcat(path, "/" WMK_APP_SOCKET);
	return true;
}

bool wmk_helper_wanted(void)
{
	char path[PATH_BYTES];

	if (helper.never)
		return false;
	if (helper.running)
		return true;
	for (unsigned i = 0; controller_path(i, path); i++)
		if (path[0] && access(path, F_OK) == 0)
			return true;
	return false;
}

/* ── the thread ──────────────────────────────────────────────────────────────────────────────────────── */

/*
 * A table of descriptors that no other thread sees. 0 to 2 lead to /dev/null: a pipe of the program's must not stay open because
 * this thread holds an end of it, and a library that writes to them must not meet our sockets.
 */
static bool private_descriptors(void)
{
	if (syscall(SYS_close_range, 0u, ~0u, CLOSE_RANGE_UNSHARE) != 0) {
		/* before Linux 5.9: a table of our own, then everything that may be open in it */
		long max = sysconf(_SC_OPEN_MAX);

		if (syscall(SYS_unshare, 0x400 /* CLONE_FILES */) != 0)
			return false;
		for (int fd = 0; fd < (max > 0 && max < 65536 ? max : 65536); fd++)
			close(fd);
	}
	for (int fd = 0; fd < 3; fd++)
		if (open("/dev/null", O_RDWR | O_CLOEXEC) != fd)
			return false;
	return true;
}

/* One look at the rings: map what comes next. Looks more often while they fill, less while nothing comes. */
static int look(int period)
{
	uint64_t filled = 0, room = 0;
	bool any = false;

	for (struct wmk_channel *channel = wmk_tracer.channels; channel; channel = channel->next) {
		if (!channel->enabled)
			continue;
		any = true;
		wmk_ring_set_map_ahead(channel->set);
		uint64_t position = wmk_channel_position(channel);

		filled = position - channel->looked > filled ? position - channel->looked : filled;
		room = waymark_ring_set_options(channel->set)->subbuf_size;
		channel->looked = position;
	}
	if (!any)
		return -1;
	if (period < 0)
		return LOOK_MIN_MS;
	if (filled > room / 2)
		period /= 2;
	else if (filled < room / 8)
		period *= 2;
	return period < LOOK_MIN_MS ? LOOK_MIN_MS : period > LOOK_MAX_MS ? LOOK_MAX_MS : period;
}

static void publish_done(void)
{
	uint32_t done = wmk_tracer.changes;

	for (unsigned i = 0; i < helper.n_conns; i++) {
		const struct wmk_conn *conn = &helper.conns[i];

		if (conn->sock < 0)
			continue;
		if (!conn->done_any)
			return;
		if ((int32_t)(conn->done_batch - done) < 0)
			done = conn->done_batch;
	}
	if (done != atomic_load_explicit(&helper.done, memory_order_relaxed)) {
		/* (T6) release: what is enabled comes before; pairs with the acquire in wmk_helper_wait() */
		atomic_store_explicit(&helper.done, done, memory_order_release);
		futex_wake(&helper.done);
	}
}

/* The last thing that the thread does under the lock: from here on another one may be started. */
static void finish(void)
{
	for (unsigned i = 0; i < helper.n_conns; i++)
		wmk_conn_close(&helper.conns[i], helper.keep);
	if (!helper.keep)
		wmk_orphans_remove();
	wmk_patch_flush();
	wmk_reclaim();
	helper.running = false;
	helper.tid = 0;
	helper.n_conns = 0;
	publish_done();
}

/* Everything that needs the lock, once a turn. Returns how long to sleep, in ms; -1: until something comes; -2: end. */
static int turn(struct pollfd *fds, int *period, int64_t *next_look)
{
	bool live = false, reclaimed;
	int64_t now = now_ms();

	wmk_lock();
	wmk_modules_scan();
	for (unsigned i = 0; i < helper.n_conns; i++) {
		struct wmk_conn *conn = &helper.conns[i];

		if (conn->sock < 0)
			continue;
		bool hungup = fds[i].revents && wmk_conn_input(conn) < 0;

		if (hungup || wmk_conn_announce(conn) < 0)
			wmk_conn_close(conn, false);
		fds[i].revents = 0;
	}
	wmk_patch_flush();
	reclaimed = wmk_reclaim() || wmk_reclaim();
	for (unsigned i = 0; i < helper.n_conns; i++) {
		struct wmk_conn *conn = &helper.conns[i];
		int sent = 0;

		if (conn->sock < 0)
			continue;
		if (wmk_conn_complain(conn, atomic_load_explicit(&helper.late, memory_order_relaxed)) < 0 ||
		    (conn->sync_wanted && reclaimed && wmk_conn_synced(conn) < 0) || (sent = wmk_conn_flush(conn)) < 0) {
			wmk_conn_close(conn, false);
			continue;
		}
		live = true;
		fds[i].events = (short)(POLLIN | (sent == 0 ? POLLOUT : 0));
	}
	publish_done();
	if (now >= *next_look || *period < 0) {
		*period = look(*period);
		*next_look = now + *period;
	}
	bool end = helper.halt || !live;

	if (end)
		finish();
	wmk_unlock();
	if (end)
		return -2;
	int sleep = *period < 0 ? -1 : (int)(*next_look - now);

	return !reclaimed && (sleep < 0 || sleep > RECLAIM_MS) ? RECLAIM_MS : sleep;
}

static void connect_all(void)
{
	char path[PATH_BYTES];

	wmk_lock();
	helper.tid = (pid_t)syscall(SYS_gettid);
	helper.n_conns = 0;
	for (unsigned i = 0; i < MAX_CONNS && controller_path(i, path); i++)
		if (!path[0] || wmk_conn_open(&helper.conns[helper.n_conns++], path) < 0)
			helper.n_conns--;
	wmk_unlock();
}

static void run(void)
{
	struct pollfd fds[MAX_CONNS + 1];
	struct signalfd_siginfo info;
	uint64_t wake = 1ull << (WAKE_SIGNAL - 1);
	int period = -1, sleep, sfd;
	int64_t next_look = 0;

	/* raw: the C library does not let its own signals be named */
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &wake, NULL, sizeof(wake));
	if (!private_descriptors()) {
		wmk_lock();
		finish();
		wmk_unlock();
		return;
	}
	sfd = (int)syscall(SYS_signalfd4, -1, &wake, sizeof(wake), SFD_NONBLOCK | SFD_CLOEXEC);
	wmk_statedump_register();
	connect_all();
	memset(fds, 0, sizeof(fds));
	for (unsigned i = 0; i < MAX_CONNS; i++)
		fds[i] = (struct pollfd){ .fd = i < helper.n_conns ? helper.conns[i].sock : -1, .events = POLLIN };
	fds[MAX_CONNS] = (struct pollfd){ .fd = sfd, .events = POLLIN };
	while ((sleep = turn(fds, &period, &next_look)) != -2) {
		wmk_statedump_turn();
		for (unsigned i = 0; i < MAX_CONNS; i++)
			fds[i].fd = i < helper.n_conns ? helper.conns[i].sock : -1;
		if (poll(fds, MAX_CONNS + 1, sleep) < 0)
			memset(&fds[0].revents, 0, sizeof(fds[0].revents));
		if (fds[MAX_CONNS].revents)
			while (read(sfd, &info, sizeof(info)) > 0)
				;
	}
}

static void *helper_main(void *arg)
{
	(void)arg;
	prctl(PR_SET_NAME, "waymark", 0, 0, 0);
	run();
	return NULL;
}

/* ── the others' side ────────────────────────────────────────────────────────────────────────────────── */

void wmk_helper_wake(void)
{
	if (helper.tid)
		syscall(SYS_tgkill, getpid(), helper.tid, WAKE_SIGNAL);
}

/*
 * What patching and grace periods use later. With one thread the kernel only notes it; with several it waits for a grace period of
 * its own, 10 ms and more, which a program that starts under a session would feel.
 */
static void register_membarriers(void)
{
#if __has_include(<sys/single_threaded.h>)
	if (!__libc_single_threaded)
		return;
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, 0, 0);
#endif
}

static int start_thread(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, before;
	int err = EAGAIN;

	register_membarriers();
	/* the mask is inherited, and so in force from the thread's first instruction */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	/* a program with much thread-local storage needs a larger stack for it */
	for (size_t size = STACK_BYTES; err != 0 && size <= STACK_BYTES * 64; size *= 8) {
		pthread_attr_init(&attr);
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		pthread_attr_setstacksize(&attr, size);
		err = pthread_create(&thread, &attr, helper_main, NULL);
		pthread_attr_destroy(&attr);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}

int wmk_helper_start(void)
{
	if (helper.never)
		return -ESHUTDOWN;
	if (helper.running) {
		wmk_helper_wake();
		return 0;
	}
	helper.halt = helper.keep = false;
	helper.running = true;
	int err = start_thread();

	if (err < 0)
		helper.running = false;
	return err;
}

bool wmk_helper_halt(bool keep)
{
	const struct timespec moment = { .tv_nsec = 50000 };
	pid_t tid;

	wmk_lock();
	if (!helper.running) {
		wmk_unlock();
		return false;
	}
	helper.halt = true;
	helper.keep = keep;
	wmk_helper_wake();
	while ((tid = helper.tid) == 0 && helper.running) {
		wmk_unlock();
		nanosleep(&moment, NULL);
		wmk_lock();
	}
	wmk_unlock();
	/* The kernel counts the thread until it is gone altogether; unshare(CLONE_NEWUSER) asks the kernel. */
	for (int i = 0; tid && i < 100000 && syscall(SYS_tgkill, getpid(), tid, 0) == 0; i++)
		nanosleep(&moment, NULL);
	return true;
}

void wmk_helper_resume(void)
{
	wmk_lock();
	helper.missed = wmk_helper_start() < 0 && !helper.never;
	wmk_unlock();
}

void wmk_helper_forbid(void)
{
	helper.never = true;
}

bool wmk_helper_after_fork(bool may_free)
{
	bool had = helper.running || helper.missed;
	struct wmk_channel *channel;

	for (channel = wmk_tracer.channels; channel; channel = channel->next)
		channel->conn = NULL;
	for (unsigned i = 0; i < helper.n_conns; i++) {
		if (may_free) {
			free(helper.conns[i].announced);
			free(helper.conns[i].out.buf);
			free(helper.conns[i].in.buf);
		}
		memset(&helper.conns[i], 0, sizeof(helper.conns[i]));
		helper.conns[i].sock = -1;
	}
	helper.n_conns = 0;
	helper.running = helper.missed = false;
	helper.tid = 0;
	atomic_store_explicit(&helper.late, 0, memory_order_relaxed);   /* told, or to be told, by the parent */
	return had;
}

static int64_t register_timeout_ms(void)
{
	const char *text = wmk_tracer.secure ? NULL : secure_getenv("WAYMARK_REGISTER_TIMEOUT");
	char *end;
	long ms = text ? strtol(text, &end, 10) : 3000;

	return text && (end == text || *end || ms < 0) ? 3000 : ms > 3600000 ? 3600000 : ms;
}

void wmk_helper_wait(uint32_t change)
{
	int64_t begin = now_ms(), left;
	uint32_t done;

	if (wait_budget_ms < 0)
		wait_budget_ms = register_timeout_ms();
	while ((int32_t)((done = atomic_load_explicit(&helper.done, memory_order_acquire)) - change) < 0) { /* (T6) */
		left = wait_budget_ms - (now_ms() - begin);
		if (left <= 0) {
			/* (who waits for nothing has asked for that) */
			atomic_store_explicit(&helper.late, (uint32_t)register_timeout_ms(), memory_order_relaxed);
			break;
		}
		futex_wait(&helper.done, done, left);
	}
	left = wait_budget_ms - (now_ms() - begin);
	wait_budget_ms = left > 0 ? left : 0;
}
