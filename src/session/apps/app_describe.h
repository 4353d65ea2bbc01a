/* SPDX-License-Identifier: MIT */
/* app_describe.h - describe applications for the protocol. */
#ifndef WMK_SESSION_APP_DESCRIBE_H
#define WMK_SESSION_APP_DESCRIBE_H

#include "session/apps/app.h"

/*
 * How to describe applications. `known` NULL: without events. If `known` is not NULL, the description has the events
 * that `what` selects. An event is shown as enabled if a session of user `enabled_by` enables the event.
 */
struct wmk_describing {
	struct wmk_arena *arena;
	const struct wmk_ctl_list_apps *what;
	uid_t enabled_by;
	struct wmk_described *known;
};
/*
 * The latest description of a class in the same arena. The array has WMK_DESCRIBED entries, which are initially zero.
 */
#define WMK_DESCRIBED 256u
struct wmk_described {
	const struct class *class;
	struct wmk_ctl_event is;
};
/* Describe one application. 0 or -ENOMEM. */
int wmk_app_describe(struct app *app, const struct wmk_describing *how, struct wmk_ctl_app *is);
/* Append the fields of the class, with their types as text. */
int wmk_fields_describe(const struct wmk_event_class *event, struct wmk_ctl_event *is, struct wmk_arena *arena);

#endif
