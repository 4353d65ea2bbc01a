/* SPDX-License-Identifier: MIT */
/*
 * fake_ctl.h - libwaymark-ctl without a daemon: remembers what it was asked, answers what it was told to.
 */
#ifndef TESTS_FAKE_CTL_H
#define TESTS_FAKE_CTL_H

#include <waymark/ctl.h>

#define FAKE_MAX 8

struct fake {
	/* What was asked: calls one after the other, "start one; enable-event one chan a:* -x c level 1 4 0; ". */
	char asked[2048];
	unsigned connects, starts;           /* of these, allowed to start a daemon */
	/* What is answered. */
	int rc;                              /* of requests other than lists */
	int kernel_rc;                       /* of the kernel's */
	unsigned good;                       /* so many of track and untrack succeed before that */
	const char *error;
	const struct waymark_ctl_session_info *sessions[FAKE_MAX];
	unsigned n_sessions;
	const struct waymark_ctl_app_info *apps[FAKE_MAX], *unanswered[FAKE_MAX];
	unsigned n_apps, n_unanswered;
	const struct waymark_ctl_event_info *events[FAKE_MAX];       /* the kernel's */
	const char *lacks[FAKE_MAX];
	unsigned n_events, n_lacks;
	const char *warnings[FAKE_MAX];
	unsigned n_warnings;
	unsigned results;                    /* that were not freed */
};
extern struct fake fake;

#endif
