/* SPDX-License-Identifier: MIT */
/*
 * probe.h - probes: callbacks of the application for its events (include/waymark/runtime.h). A probe is a recorder
 * without a channel. Connections are stored by name, so an event that is registered later gets its probes.
 */
#ifndef WMK_TRACER_PROBE_H
#define WMK_TRACER_PROBE_H

#include <waymark/runtime.h>

#include "tracer/event.h"

/*
 * Connect to all events of the name, present and future. Returns 0; -EEXIST: already connected; -ENOMEM. Lock held; the
 * caller patches the sites.
 */
int wmk_probe_connect(struct wmk_name *name, waymark_probe_fn fn, void *data);
/*
 * Disconnect. Returns false if the probe was not connected. Lock held; the caller patches the sites, and waits for the
 * grace period.
 */
bool wmk_probe_disconnect(struct wmk_name *name, waymark_probe_fn fn, void *data);
/* Add the probes that were connected to the event's name before the event was registered. Lock held. */
void wmk_probes_attach(struct wmk_event *event);
/* Call the callback. On the recording path, within a grace-period section (wmk_ring_grace_enter()). */
void wmk_probe_call(struct wmk_event *event, waymark_probe_fn fn, void *data, const uint64_t *words,
		    const struct waymark_ref *refs) WMK_HIDDEN;

#endif
