/* SPDX-License-Identifier: MIT */
/*
 * rig_link.h - what the tests of the link and of waymark-consumerd share: a ring set and a trace's directory
 * (consumer/t/rig.h), a waymark-consumerd in another process, the link to it.
 */
#ifndef WMK_DAEMONS_RIG_LINK_H
#define WMK_DAEMONS_RIG_LINK_H

#include "consumer/t/rig.h"
#include "sessiond/consumer_link.h"

#define LINK_MS 30000              /* for anything */

struct rig_link {
	struct rig rig;
	char rundir[300];
	struct wmk_consumer_link *link;
	struct wmk_consumerd_trace trace;
	struct wmk_consumerd_rings rings;
	/* Of the link's callbacks: atomic. */
	unsigned deaths, returns, ends;
	int end_err;
};

/* The program to test: the environment's WAYMARK_CONSUMERD. */
void rig_link_open(struct rig_link *r, const struct rig_shape *shape);
/* Open a link to what runs in the rig's runtime directory, or start one. */
void rig_link_connect(struct rig_link *r);
/* The trace and the rings. */
void rig_link_add(struct rig_link *r);
/* Counts of the trace, all channels summed up. */
struct wmk_counts rig_link_counts(struct rig_link *r);
/* Ends the consumer if there is a link; nothing of it may be left. */
void rig_link_close(struct rig_link *r);
/* For cmocka, behind the last test: the consumer that a failed test has left ends. */
int rig_link_teardown(void **state);
/* Wait until the process is gone; fails if it is not within LINK_MS. */
void rig_wait_gone(pid_t pid);

#endif
