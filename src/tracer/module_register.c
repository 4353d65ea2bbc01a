/* SPDX-License-Identifier: MIT */
/*
 * module_register.c - functions for the constructors and destructors of modules (detail/site.h). Without a session
 * daemon, the registration only links the module into a list.
 */
#include <stddef.h>

#include "tracer/dlopen_check.h"
#include "tracer/helper_control.h"
#include "tracer/init.h"
#include "tracer/lock.h"
#include "tracer/module.h"
#include "tracer/patch.h"
#include "tracer/register_wait.h"
#include "tracer/tracer.h"

void WMK_EXPORT waymark_module_register(struct waymark_module *m)
{
	wmk_tracer_init();
	const bool is_known = m->version == 1 ? m->size >= offsetof(struct waymark_module, entry) :
						m->version == WAYMARK_ABI_VERSION && m->size >= sizeof(*m);

	if (wmk_tracer.disabled || !is_known)
		return;
	wmk_lock();
	for (struct waymark_module *at = wmk_tracer.modules; at; at = at->next)
		if (at == m) {
			wmk_unlock();
			return;
		}
	m->priv = NULL;
	m->next = wmk_tracer.modules;
	wmk_tracer.modules = m;
	/* If an event is already enabled, the new sites of the event are enabled before the constructor returns. */
	if (wmk_tracer.n_probes || wmk_tracer.n_events) {
		wmk_modules_scan();
		wmk_patch_flush();
	}
	uint32_t change = ++wmk_tracer.changes;
	bool wait = wmk_helper_has_daemon();

	wait = wmk_helper_start(wait) == 0 && wait;
	wmk_unlock();
	if (wait && wmk_module_is_initial(m))
		wmk_register_wait(change);
}

void WMK_EXPORT waymark_module_unregister(struct waymark_module *m)
{
	struct waymark_module **at;

	/* a signal handler may call exit() while its thread has the lock */
	if (wmk_tracer.disabled || wmk_lock_is_mine())
		return;
	wmk_lock();
	for (at = &wmk_tracer.modules; *at && *at != m; at = &(*at)->next)
		;
	if (*at) {
		*at = m->next;
		if (m->priv) {
			wmk_module_forget(m);
			wmk_patch_flush();
			wmk_tracer.changes++;
			wmk_helper_wake();
		}
	}
	wmk_unlock();
}
