/* SPDX-License-Identifier: MIT */
/* daemon_signals.h - signals of a daemon with one server: SIGTERM and SIGINT end it. */
#ifndef WMK_DAEMONS_DAEMON_SIGNALS_H
#define WMK_DAEMONS_DAEMON_SIGNALS_H

#include <signal.h>

/* `stop` is async-signal-safe. The daemon ignores SIGHUP, SIGPIPE and SIGXFSZ: a failed write returns the error. */
static inline void wmk_daemon_catch_signals(void (*stop)(int number))
{
	const struct sigaction end = { .sa_handler = stop, .sa_flags = SA_RESTART }, ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGINT, &end, NULL);
	sigaction(SIGHUP, &ignore, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGXFSZ, &ignore, NULL);
}

#endif
