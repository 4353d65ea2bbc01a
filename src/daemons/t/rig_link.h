/* SPDX-License-Identifier: MIT */
/*
 * rig_link.h - shared by the tests of the link and of waymark-consumerd: a ring set, a trace directory
 * (consumer/t/rig.h), a waymark-consumerd process, and the link to it.
 */
#ifndef WMK_DAEMONS_RIG_LINK_H
#define WMK_DAEMONS_RIG_LINK_H

#include "consumer/t/rig.h"
#include "sessiond/consumer_link.h"

#define LINK_MS 30000              /* timeout of every operation */

struct rig_link {
	struct rig rig;
	char rundir[300];
	struct wmk_consumer_link *link;
	struct wmk_consumerd_trace trace;
	struct wmk_consumerd_rings rings;
	/* Counted by the link's callbacks: atomic. */
	unsigned deaths, returns, ends;
	int end_err;
};

/* Start the program to test, from the environment variable WAYMARK_CONSUMERD. */
void rig_link_open(struct rig_link *r, const struct rig_shape *shape);
/* Open a link to the consumer daemon of the rig's runtime directory; starts one if none runs. */
void rig_link_connect(struct rig_link *r);
/* Add the trace and the rings. */
void rig_link_add(struct rig_link *r);
/* Sum of the counts of all channels of the trace. */
struct wmk_counts rig_link_counts(struct rig_link *r);
/* End the consumer daemon if there is a link, and check that it leaves nothing. */
void rig_link_close(struct rig_link *r);
/* For cmocka, after the last test: end the consumer daemon of a failed test. */
int rig_link_teardown(void **state);
/* Wait until the process has ended; fails after LINK_MS. */
void rig_wait_gone(pid_t pid);

#endif
