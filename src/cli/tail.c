/* SPDX-License-Identifier: MIT */
/*
 * tail.c - decide how long `view --follow` continues (see tail.h).
 *
 * A stopped session may still have records to write, because `stop` first waits for the applications and then writes.
 * Following ends when the session daemon reports that the stopped session has no more records to write. Following also
 * ends when no process holds the lock of the trace (after `destroy`). After a restart, the session daemon has no
 * information about whether records of a stopped session are still being written. After a restart of the session
 * daemon, following ends when the session has not recorded for WRITTEN ns, which is longer than `stop` can take. If the
 * session has never been started, following also ends after WRITTEN ns.
 */
#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/tail.h"
#include "sessiond/command.h"

#define MS UINT64_C(1000000)
#define ASK (500 * MS)                       /* the interval between queries of the session's state */
#define WRITTEN ((WMK_COMMAND_UPDATE_MS + 500) * MS)

/* The state of the session. IDLE: not started yet. -errno: the state is unknown, or the session does not exist. */
enum doing { STOPPED, IDLE, WRITES, RECORDS };

static int doing(struct wmk_tail *tail)
{
	struct wmk_daemon *daemon = &tail->daemon;
	const struct waymark_ctl_session_info *session;
	int err = tail->is_connected ? 0 : wmk_daemon_open(daemon, &tail->common, WMK_DAEMON_RUNNING);
	enum doing is;

	tail->is_connected = err >= 0;
	if (err >= 0)
		err = waymark_ctl_list_sessions(daemon->ctl, daemon->session, &daemon->result);
	if (err < 0)
		daemon->result = NULL;
	session = wmk_daemon_session(daemon);
	is = !session            ? STOPPED
	     : session->active   ? RECORDS
	     : session->stopping ? WRITES
	     : session->started  ? STOPPED
				 : IDLE;
	wmk_daemon_drop(daemon);
	/* After a restart of the daemon, the client needs a new connection. */
	if (err < 0 && err != -ENOENT) {
		waymark_ctl_close(daemon->ctl);
		daemon->ctl = NULL;
		tail->is_connected = false;
		tail->was_lost = true;
	}
	wmk_error_clear();
	return err < 0 ? err : (int)is;
}

static enum wmk_read_still ask(struct wmk_tail *tail)
{
	const int is = doing(tail);
	const uint64_t now = wmk_clock_monotonic();

	tail->asked = now;
	if (is == RECORDS) {
		tail->stopped = 0;
		tail->was_lost = false;
		return WMK_READ_GO_ON;
	}
	if (is >= 0 && !tail->stopped)
		tail->stopped = now;
	if (is == STOPPED && !tail->was_lost)
		return WMK_READ_OVER;
	return is != WRITES && tail->stopped && now - tail->stopped >= WRITTEN ? WMK_READ_OVER : WMK_READ_WHILE_WRITTEN;
}

static enum wmk_read_still still(void *data)
{
	struct wmk_tail *tail = data;
	struct signalfd_siginfo info;

	if (!tail->is_over && read(tail->follow.wake, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		tail->is_over = true;
		sigprocmask(SIG_SETMASK, &tail->before, NULL);
	}
	if (tail->is_over)
		return WMK_READ_OVER;
	if (!tail->common.session)
		return WMK_READ_WHILE_WRITTEN;
	if (!tail->asked || wmk_clock_monotonic() - tail->asked >= ASK)
		tail->still = ask(tail);
	return tail->still;
}

int wmk_tail_open(struct wmk_tail *tail, const char *session, uint64_t patience_ns)
{
	sigset_t set;

	memset(tail, 0, sizeof(*tail));
	tail->common.session = session;
	tail->follow = (struct wmk_read_follow){ .patience_ns = patience_ns, .still = still, .data = tail };
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, &tail->before);
	tail->follow.wake = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (tail->follow.wake >= 0)
		return 0;
	sigprocmask(SIG_SETMASK, &tail->before, NULL);
	return wmk_error(-errno, "cannot wait for signals");
}

void wmk_tail_close(struct wmk_tail *tail)
{
	if (tail->follow.wake >= 0)
		close(tail->follow.wake);
	if (tail->is_connected)
		waymark_ctl_close(tail->daemon.ctl);
	sigprocmask(SIG_SETMASK, &tail->before, NULL);
}
