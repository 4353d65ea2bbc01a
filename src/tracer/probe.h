/* SPDX-License-Identifier: MIT */
/*
 * probe.h - probes: callbacks of the application for its events (include/waymark/runtime.h). A probe is a recorder
 * without a channel. Connections of probes are stored by event name, so an event that is registered later gets its
 * probes.
 */
#ifndef WMK_TRACER_PROBE_H
#define WMK_TRACER_PROBE_H

#include <waymark/runtime.h>

#include "tracer/event.h"

/*
 * Connect a probe to all present and future events of the name. Returns 0; -EEXIST: already connected; -ENOMEM. The
 * caller holds the lock, and patches the sites afterwards.
 */
int wmk_probe_connect(struct wmk_name *name, waymark_probe_fn fn, void *data);
/*
 * Disconnect. Returns false if the probe was not connected. The caller holds the lock, patches the sites, and waits for
 * the grace period.
 */
bool wmk_probe_disconnect(struct wmk_name *name, waymark_probe_fn fn, void *data);
/* Add the probes that were connected to the name of the event before the event was registered. Lock held. */
void wmk_probes_attach(struct wmk_event *event);
/* Call the callback. The call is on the recording path, within a grace-period section (wmk_ring_grace_enter()). */
void wmk_probe_call(struct wmk_event *event, waymark_probe_fn fn, void *data, const uint64_t *words,
		    const struct waymark_ref *refs) WMK_HIDDEN;

#endif
