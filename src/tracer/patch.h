/* SPDX-License-Identifier: MIT */
/* patch.h - patch the code of sites. Lock held. */
#ifndef WMK_TRACER_PATCH_H
#define WMK_TRACER_PATCH_H

#include "tracer/event.h"

/* Store the reason why a site of the event cannot be patched; session daemons receive a report. */
void wmk_event_untraceable(struct wmk_event *event, const char *why);
/* Check the code of a site. Returns NULL if the site can be patched, or else the reason. */
const char *wmk_patch_check(const struct waymark_site *site);
/*
 * Mark an event, because the sites of the event may have to change. wmk_patch_flush() patches all marked events,
 * followed by one membarrier.
 */
void wmk_patch_later(struct wmk_event *event);
void wmk_patch_flush(void);

#endif
