/* SPDX-License-Identifier: MIT */
/*
 * fake_ctl.h - a libwaymark-ctl without a daemon: logs the requests, and returns preset replies.
 */
#ifndef TESTS_FAKE_CTL_H
#define TESTS_FAKE_CTL_H

#include <waymark/ctl.h>

#define FAKE_MAX 8

struct fake {
	/* The requests: "start one; enable-event one chan a:* -x c level 1 4 0; ". */
	char asked[2048];
	unsigned connects, starts;           /* starts: connects that may start a daemon */
	/* The replies. */
	int rc;                              /* of requests other than lists */
	int kernel_rc;                       /* of waymark_ctl_list_kernel() */
	unsigned good;                       /* the number of track and untrack requests that succeed before rc */
	const char *error;
	const struct waymark_ctl_session_info *sessions[FAKE_MAX];
	unsigned n_sessions;
	const struct waymark_ctl_relay_info *relays[FAKE_MAX];
	unsigned n_relays;
	const struct waymark_ctl_app_info *apps[FAKE_MAX], *unanswered[FAKE_MAX];
	unsigned n_apps, n_unanswered;
	const struct waymark_ctl_event_info *events[FAKE_MAX];       /* of the kernel */
	const char *lacks[FAKE_MAX];
	unsigned n_events, n_lacks;
	const char *warnings[FAKE_MAX];
	unsigned n_warnings;
	unsigned results;                    /* not freed yet */
};
extern struct fake fake;

#endif
