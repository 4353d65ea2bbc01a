/* SPDX-License-Identifier: MIT */
/* runtime_event.h - events that are declared at run time. runtime.c exports them; the state dump uses them. */
#ifndef WMK_TRACER_RUNTIME_EVENT_H
#define WMK_TRACER_RUNTIME_EVENT_H

#include <stdbool.h>

#include <waymark/runtime.h>

/* Create a handle that is not declared yet, and that records nothing. NULL: see errno. No lock. */
struct waymark_event *wmk_runtime_event_make(const struct waymark_schema *schema);
/*
 * Declare the event. With `by_helper`, the helper thread calls the function, and the helper thread itself announces the
 * event to session daemons. Returns 0 or -errno. Lock held.
 */
int wmk_runtime_event_declare(struct waymark_event *handle, const struct waymark_schema *schema, bool by_helper);
/* Remove the event of the handle. Lock held. */
void wmk_runtime_event_drop(struct waymark_event *handle);

#endif
