/* SPDX-License-Identifier: MIT */
/*
 * probe_connect.c - waymark_connect(), waymark_disconnect(): see include/waymark/runtime.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tracer/init.h"
#include "tracer/lock.h"
#include "tracer/module.h"
#include "tracer/patch.h"
#include "tracer/probe.h"
#include "tracer/recorder.h"
#include "tracer/thread_state.h"
#include "tracer/tracer.h"

#define LEAVE_NS 5000000000u            /* limit of the wait for the grace period; each sleep ... */
#define LEAVE_STEP_NS 10000000u         /* ... counts at most this, because the process may be stopped meanwhile */
#define LEAVE_PAUSE_NS 20000

/* Find the name object of "provider:name"; with `make`, create it if necessary. NULL: *err has the reason. */
static struct wmk_name *find_name(const char *event, bool make, int *err)
{
	const char *colon = event ? strchr(event, ':') : NULL;
	struct wmk_name *name = NULL;

	*err = -EINVAL;
	if (!colon || colon == event || !colon[1] || colon - event > WMK_NAME_MAX || strlen(colon + 1) > WMK_NAME_MAX)
		return NULL;
	char *provider = strndup(event, (size_t)(colon - event));

	if (provider)
		name = wmk_name_get(provider, colon + 1, make);
	*err = make ? -ENOMEM : -ENOENT;
	free(provider);
	return name;
}

int WMK_EXPORT waymark_connect(const char *event, waymark_probe_fn fn, void *data)
{
	int err;

	if (!fn)
		return -EINVAL;
	wmk_tracer_init();
	if (wmk_tracer.disabled)
		return 0;
	wmk_lock();
	struct wmk_name *name = find_name(event, true, &err);

	if (name) {
		wmk_modules_scan();
		err = wmk_probe_connect(name, fn, data);
		wmk_patch_flush();
	}
	wmk_unlock();
	return err;
}

int WMK_EXPORT waymark_disconnect(const char *event, waymark_probe_fn fn, void *data)
{
	int err = -ENOENT;

	if (!fn)
		return -EINVAL;
	if (wmk_thread.in_probe)
		return -EDEADLK;
	if (wmk_tracer.disabled)
		return 0;
	wmk_lock();
	struct wmk_name *name = find_name(event, false, &err);

	if (!name || !wmk_probe_disconnect(name, fn, data)) {
		wmk_unlock();
		return name ? -ENOENT : err;
	}
	wmk_patch_flush();
	/* a removed recorder may need two grace periods: each call ends the previous one */
	bool over = wmk_reclaim();

	for (uint64_t waited = 0; waited < LEAVE_NS && !over;) {
		uint64_t before = wmk_clock_monotonic(), took;

		wmk_unlock();
		wmk_pause(LEAVE_PAUSE_NS);
		wmk_lock();
		over = wmk_reclaim();
		took = wmk_clock_monotonic() - before;
		waited += took < LEAVE_STEP_NS ? took : LEAVE_STEP_NS;
	}
	wmk_unlock();
	return over ? 0 : -ETIMEDOUT;
}
