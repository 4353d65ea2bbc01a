/* SPDX-License-Identifier: MIT */
/*
 * helper_thread.c - the thread of the library in an application. The helper thread owns the sockets, which are in the
 * descriptor table of the helper thread.
 *
 *     start: by a constructor, in a forked child, or for a run-time event
 *     nap:   a short wait on `wakeups`, so that a short program only pays for the thread
 *     loop:  poll() on the sockets and on the notify FIFOs of the endpoints (endpoint.h); an endpoint without a FIFO is
 *            retried from time to time
 *     wake:  by a session daemon, or by tgkill(helper, 32). Signal 32 belongs to the C library, and is blocked in the
 *            helper thread. Signal 32 is never sent to the whole process, so the signalfd of the helper thread reads
 *            no other signal
 *
 * The helper thread does not call the loader, and takes no lock of the loader. A constructor in dlopen() may hold locks
 * of the loader while it waits for the lock of libwaymark, which the helper thread may hold.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/faults.h"
#include "tracer/channel.h"
#include "tracer/helper_thread.h"
#include "tracer/lock.h"
#include "tracer/module.h"
#include "tracer/patch.h"
#include "tracer/process.h"
#include "tracer/recorder.h"
#include "tracer/register_wait.h"
#include "tracer/statedump.h"
#include "tracer/thread_start.h"

#define RECLAIM_MS 5
#define RECLAIM_MAX_MS 2000      /* shorter than the timeout of a session daemon for an answer */
#define NAP_MS 20

struct wmk_helper wmk_helper;

/* Returns true if waiting threads must be woken after the lock is released; the woken threads take the lock next. */
static bool publish_done(void)
{
	uint32_t done = wmk_helper.tried_changes;

	wmk_for_each_endpoint(endpoint) {
		struct wmk_conn *conn = &endpoint->conn;

		if (conn->sock < 0)
			continue;
		if (!conn->done_any && conn->unresponsive) {
			/* the wait may already have ended; then the report is superfluous */
			conn->was_skipped |= wmk_register_is_awaited();
			continue;
		}
		if (!conn->done_any)
			return false;
		if ((int32_t)(conn->done_batch - done) < 0)
			done = conn->done_batch;
	}
	return wmk_register_publish(done);
}

/*
 * thread_finish() is the last action of the helper thread under the lock. Another helper thread may be started after
 * thread_finish().
 */
static void thread_finish(void)
{
	wmk_for_each_endpoint(endpoint) {
		if (wmk_helper.user_changes)
			wmk_conn_report_user_change(&endpoint->conn);
		wmk_conn_close(&endpoint->conn, wmk_helper.keep);
		wmk_endpoint_close(endpoint);
	}
	wmk_channels_forget_fds(true);
	if (!wmk_helper.keep)
		wmk_orphans_remove(WMK_ENDPOINTS, true);
	wmk_patch_flush();
	wmk_reclaim();
	wmk_helper.running = wmk_helper.connected = wmk_helper.polls = false;
	wmk_helper.tid = 0;
	wmk_helper.n_endpoints = 0;
	wmk_helper.tried_changes = wmk_tracer.changes;
	if (publish_done())
		wmk_register_wake();
}

/* Register the thread as running. Return true if the helper thread skips its first wait (wmk_poller_nap()). */
static bool thread_begin(void)
{
	wmk_lock();
	wmk_helper.tid = (pid_t)syscall(SYS_gettid);
	wmk_helper.poller.seen = atomic_load_explicit(&wmk_helper.wakeups, memory_order_relaxed);
	bool hurry = wmk_helper.skip_nap || wmk_helper.halt || wmk_helper.retry_now;

	wmk_unlock();
	return hurry;
}

/* After note_wakeups(), each wake-up ends the next wait of the helper thread. */
static void note_wakeups(void)
{
	wmk_lock();
	wmk_helper.poller.seen = atomic_load_explicit(&wmk_helper.wakeups, memory_order_relaxed);
	wmk_unlock();
}

static void find_endpoints(void)
{
	wmk_lock();
	wmk_helper.n_endpoints = 0;
	while (wmk_helper.n_endpoints < WMK_ENDPOINTS &&
	       wmk_endpoint_find(wmk_helper.n_endpoints, &wmk_helper.endpoints[wmk_helper.n_endpoints])) {
		struct wmk_endpoint *endpoint = &wmk_helper.endpoints[wmk_helper.n_endpoints++];

		endpoint->retry_at = endpoint->backoff = 0;
		endpoint->retry_ms = 0;
		endpoint->conn.sock = endpoint->notify = -1;
	}
	wmk_helper.polls = true;
	wmk_unlock();
}

/* Return true if there is a new connection to a session daemon. */
static bool connect_endpoints(int64_t now)
{
	bool connected = false;

	wmk_lock();
	wmk_for_each_endpoint(endpoint) {
		if (wmk_helper.halt)
			break;
		if (wmk_helper.retry_now && endpoint->conn.sock < 0)
			endpoint->retry_at = 0;
		if (wmk_endpoint_is_due(endpoint, now))
			connected |= wmk_endpoint_connect(endpoint, now);
	}
	wmk_helper.retry_now = false;
	wmk_helper.tried_changes = wmk_tracer.changes;
	wmk_unlock();
	return connected;
}

static void endpoint_input(struct wmk_endpoint *endpoint, bool ready, uint32_t late, int64_t now)
{
	struct wmk_conn *conn = &endpoint->conn;
	int err = ready && wmk_conn_may_read(conn) ? wmk_conn_input(conn) : 0;

	if (late)
		conn->late_ms = late;
	if (conn->sync_wanted && conn->sync_at == 0)
		conn->sync_at = now;
	if (err == -ECONNREFUSED)
		/* a session daemon that has refused the application does not use the orphans */
		wmk_orphans_remove(endpoint->index, true);
	if (err < 0 || wmk_conn_announce(conn) < 0)
		wmk_endpoint_lost(endpoint, now);
	else if (!conn->done_any)
		wmk_endpoint_check_peer(endpoint, now, wmk_tracer.register_ms);
}

/*
 * Send reports and queued messages. Returns true if the endpoint is still connected; *events: the events to poll for.
 */
static bool endpoint_output(struct wmk_endpoint *endpoint, bool reclaimed, short *events, int64_t now)
{
	struct wmk_conn *conn = &endpoint->conn;
	bool synced = conn->sync_wanted && (reclaimed || now - conn->sync_at >= RECLAIM_MAX_MS);
	int sent = 0;

	if (wmk_conn_report_problems(conn) < 0 || (synced && wmk_conn_synced(conn) < 0) ||
	    (sent = wmk_conn_flush(conn)) < 0) {
		wmk_endpoint_lost(endpoint, now);
		return false;
	}
	*events = (short)((wmk_conn_may_read(conn) ? POLLIN : 0) | (sent == 0 ? POLLOUT : 0));
	return true;
}

/*
 * True if the helper thread must check again soon, because a thread inside a record may still use removed recorders.
 * The time of these checks is limited, because a signal handler may have left a record by siglongjmp(): the library
 * then counts the thread permanently. When the time limit is over, the library keeps the removed recorders as long as
 * the thread is counted.
 */
static bool is_patient(bool reclaimed, int64_t now)
{
	static int64_t since;   /* 0: no such thread */
	bool asked = false;

	since = reclaimed ? 0 : since ? since : now;
	wmk_for_each_endpoint(endpoint)
		asked |= endpoint->conn.sock >= 0 && endpoint->conn.sync_wanted;
	return !reclaimed && (asked || now - since < RECLAIM_MAX_MS);
}

/* Return the time in ms until an endpoint needs attention; INT64_MAX: unlimited. */
static int64_t endpoints_sleep(int64_t now)
{
	int64_t until = INT64_MAX;

	wmk_for_each_endpoint(endpoint) {
		int64_t at = endpoint->conn.sock < 0   ? endpoint->retry_at
			     : endpoint->conn.done_any ? INT64_MAX
						       : endpoint->conn.check_peer_at;

		if (!endpoint->dir[0])
			continue;
		until = at < until ? at : until;
	}
	return until == INT64_MAX ? until : until > now ? until - now : 0;
}

/*
 * Do all work of the helper thread that needs the lock. The helper thread calls this function once in each iteration of
 * its loop. Returns the time to sleep in ms; -1: no limit; -2: the helper thread must end.
 */
static int thread_turn(struct pollfd *fds, int *period, int64_t *next_look)
{
	uint32_t late = wmk_register_take_late();
	int64_t now = wmk_clock_ms();
	bool reclaimed;

	wmk_lock();
	bool talks = wmk_tracer.channels != NULL;

	wmk_for_each_endpoint(endpoint)
		talks |= endpoint->conn.sock >= 0;
	if (talks)
		wmk_modules_scan();
	wmk_for_each_endpoint(endpoint) {
		if (endpoint->conn.sock >= 0)
			endpoint_input(endpoint, fds[endpoint->index].revents != 0, late, now);
		fds[endpoint->index].revents = 0;
	}
	wmk_patch_flush();
	reclaimed = wmk_reclaim() || wmk_reclaim();
	wmk_helper.connected = false;
	wmk_for_each_endpoint(endpoint)
		if (endpoint->conn.sock >= 0)
			wmk_helper.connected |=
				endpoint_output(endpoint, reclaimed, &fds[endpoint->index].events, now);
	if (now >= *next_look || *period < 0) {
		*period = wmk_channels_map_ahead(*period);
		*next_look = now + *period;
	}
	bool end = wmk_helper.halt;
	int64_t sleep = endpoints_sleep(now);

	if (*period >= 0 && sleep > *next_look - now)
		sleep = *next_look - now;
	if (is_patient(reclaimed, now) && sleep > RECLAIM_MS)
		sleep = RECLAIM_MS;
	const int64_t unmap = wmk_recorder_unmap_channels(now);

	sleep = unmap < sleep ? unmap : sleep;
	if (end)
		thread_finish();
	wmk_unlock();
	return end ? -2 : sleep == INT64_MAX ? -1 : (int)sleep;
}

/* True if a connected session daemon has not answered yet. Only this thread changes connections. */
static bool is_unanswered(const struct wmk_endpoint *endpoint)
{
	return endpoint->conn.sock >= 0 && !endpoint->conn.done_any;
}

static bool is_any_unanswered(void)
{
	wmk_for_each_endpoint(endpoint)
		if (is_unanswered(endpoint))
			return true;
	return false;
}

static bool is_dump_wanted(void)
{
	wmk_for_each_endpoint(endpoint)
		if (is_unanswered(endpoint) && wmk_endpoint_wants_dump(endpoint))
			return true;
	return false;
}

/*
 * Record the loaded objects before main() starts: a program may crash at once, and the trace needs the objects to
 * resolve addresses. While a thread waits for registration, no objects are loaded. The helper thread makes the list of
 * objects while the session daemon prepares its answer. Once no thread waits for registration, the list of objects is
 * outdated.
 */
static void dump_state(bool is_new)
{
	/* a thread that begins to wait later is handled in the next iteration */
	const bool is_waited_for = wmk_register_is_awaited();
	const bool answered = !is_any_unanswered();

	if (is_new && is_waited_for && is_dump_wanted())
		wmk_statedump_prepare();
	else if (!is_waited_for)
		wmk_statedump_forget();
	wmk_statedump_record();
	if (answered)
		wmk_statedump_forget();
}

static bool wait_for_events(int sleep)
{
	const bool can_wait = wmk_poller_wait(&wmk_helper.poller, sleep);

	wmk_for_each_endpoint(endpoint) {
		if (!wmk_helper.poller.fds[WMK_POLLER_FIFOS + endpoint->index].revents)
			continue;
		wmk_lock();
		wmk_endpoint_notified(endpoint);
		wmk_unlock();
	}
	return can_wait;
}

/*
 * End the helper thread, because the helper thread cannot wait for events. Report this reason to all connected session
 * daemons, and disable the events that the session daemons enabled.
 */
static void give_up(void)
{
	wmk_lock();
	wmk_for_each_endpoint(endpoint) {
		struct wmk_conn *conn = &endpoint->conn;

		if (conn->sock >= 0 && wmk_conn_unrecorded(conn, WMK_UNRECORDED_WAIT, 0, UINT32_MAX) == 0)
			wmk_conn_flush(conn);
	}
	thread_finish();
	wmk_unlock();
}

static void thread_run(void)
{
	const uint64_t wake = WMK_SIGNAL(WMK_SIGNAL_CANCEL);
	int period = -1, sleep;
	int64_t next_look = 0;
	bool registered = false;

	if (!thread_begin())
		wmk_poller_nap(&wmk_helper.wakeups, wmk_helper.poller.seen, NAP_MS);
	if (!wmk_process_unshare_files()) {
		wmk_lock();
		wmk_endpoints_report(WMK_UNRECORDED_DESCRIPTOR_TABLE, 0);
		thread_finish();
		wmk_unlock();
		return;
	}
	find_endpoints();
	wmk_poller_init(&wmk_helper.poller, &wmk_helper.wakeups, wmk_helper.endpoints, wmk_helper.n_endpoints);
	do {
		note_wakeups();
		const bool is_new = connect_endpoints(wmk_clock_ms());

		/* opened after the connections, which need a descriptor more if few are left */
		if (wmk_helper.is_signalled && wmk_helper.poller.fds[WMK_POLLER_SIGNAL].fd < 0)
			wmk_helper.poller.fds[WMK_POLLER_SIGNAL].fd =
				(int)syscall(SYS_signalfd4, -1, &wake, sizeof(wake), SFD_NONBLOCK | SFD_CLOEXEC);
		if (is_new && !registered) {
			wmk_statedump_register();
			registered = true;
		}
		sleep = thread_turn(wmk_helper.poller.fds, &period, &next_look);
		if (sleep == -2)
			break;
		if (registered)
			dump_state(is_new);
		wmk_lock();
		const bool published = publish_done();

		wmk_unlock();
		if (published)
			wmk_register_wake();
	} while (wait_for_events(sleep));
	if (sleep != -2)
		give_up();
}

void *wmk_helper_thread_main(void *arg)
{
	const uint64_t blocked = ~(WMK_SIGNALS_FAULTS | WMK_SIGNAL(WMK_SIGNAL_SETID));

	(void)arg;
	prctl(PR_SET_NAME, "waymark", 0, 0, 0);
	/* raw system call: the C library's function excludes its own signals */
	wmk_helper.is_signalled = syscall(SYS_rt_sigprocmask, SIG_SETMASK, &blocked, NULL, sizeof(blocked)) == 0;
	wmk_thread_started();
	thread_run();
	return NULL;
}

void wmk_helper_thread_after_fork(bool may_free)
{
	wmk_for_each_channel(channel)
		channel->conn = NULL;
	wmk_channels_forget_fds(false);
	wmk_for_each_endpoint(endpoint) {
		struct wmk_conn *conn = &endpoint->conn;

		if (may_free) {
			free(conn->announced);
			free(conn->out.buf);
			free(conn->in.buf);
		}
		memset(conn, 0, sizeof(*conn));
		conn->sock = -1;
	}
	wmk_helper.n_endpoints = 0;
	wmk_helper.running = wmk_helper.connected = wmk_helper.polls = wmk_helper.retry_now = false;
	wmk_helper.tid = 0;
}
