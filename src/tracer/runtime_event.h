/* SPDX-License-Identifier: MIT */
/*
 * runtime_event.h - events that are declared while the program runs. runtime.c exports them; the state dump uses them.
 */
#ifndef WMK_TRACER_RUNTIME_EVENT_H
#define WMK_TRACER_RUNTIME_EVENT_H

#include <stdbool.h>

#include <waymark/runtime.h>

/* A handle that is not declared: it records nothing. NULL with errno. */
struct waymark_event *wmk_runtime_event_make(const struct waymark_schema *schema);
/* `by_helper`: by the helper thread, which announces it to session daemons. 0 or -errno. Lock held. */
int wmk_runtime_event_declare(struct waymark_event *handle, const struct waymark_schema *schema, bool by_helper);
/* Lock held. */
void wmk_runtime_event_drop(struct waymark_event *handle);

#endif
