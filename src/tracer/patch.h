/* SPDX-License-Identifier: MIT */
/*
 * patch.h - the code of sites. All with the lock held.
 */
#ifndef WMK_TRACER_PATCH_H
#define WMK_TRACER_PATCH_H

#include "tracer/event.h"

/* Note that a site of the event cannot be patched, and why; session daemons get a report. */
void wmk_event_untraceable(struct wmk_event *event, const char *why);
/* Is this site's code as its kind requires? NULL, or why not. */
const char *wmk_patch_check(const struct waymark_site *site);
/*
 * Note that the event's sites may have to change; wmk_patch_flush() changes those of all such events, then one
 * membarrier.
 */
void wmk_patch_later(struct wmk_event *event);
void wmk_patch_flush(void);

#endif
