/* SPDX-License-Identifier: MIT */
/*
 * runtime.c - functions of include/waymark/runtime.h that start, wake or stop the helper thread.
 */
#include <errno.h>
#include <stdlib.h>

#include "tracer/compiler.h"
#include "tracer/helper_control.h"
#include "tracer/init.h"
#include "tracer/lock.h"
#include "tracer/runtime_event.h"
#include "tracer/tracer.h"

struct waymark_event WMK_EXPORT *waymark_event_register(const struct waymark_schema *schema)
{
	struct waymark_event *handle;
	int err;

	wmk_tracer_init();
	handle = wmk_runtime_event_make(schema);
	if (!handle || wmk_tracer.disabled)
		return handle;
	wmk_lock();
	err = wmk_runtime_event_declare(handle, schema, false);
	if (err == 0)
		wmk_helper_start(wmk_helper_has_daemon());
	wmk_unlock();
	if (err < 0) {
		free(handle);
		errno = -err;
		return NULL;
	}
	return handle;
}

void WMK_EXPORT waymark_event_unregister(struct waymark_event *handle)
{
	if (!handle)
		return;
	if (!wmk_tracer.disabled) {
		wmk_lock();
		wmk_runtime_event_drop(handle);
		wmk_helper_wake();
		wmk_unlock();
	}
	free(handle);
}

int WMK_EXPORT waymark_helper_stop(void)
{
	wmk_tracer_init();
	if (wmk_tracer.disabled)
		return 0;
	wmk_lock();
	wmk_helper_forbid();
	wmk_unlock();
	wmk_helper_halt(WMK_HELPER_ENDS);
	return 0;
}
