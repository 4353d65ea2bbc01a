/* SPDX-License-Identifier: MIT */
/* app_describe.h - applications as the protocol shows them. */
#ifndef WMK_SESSION_APP_DESCRIBE_H
#define WMK_SESSION_APP_DESCRIBE_H

#include "session/apps/app.h"

/*
 * How applications are described. `known` NULL: without events; else with the events that `what` selects, and whether
 * sessions of the user `enabled_by` have enabled them.
 */
struct wmk_describing {
	struct wmk_arena *arena;
	const struct wmk_ctl_list_apps *what;
	uid_t enabled_by;
	struct wmk_described *known;
};
/* A class as it was described last, in the same arena; WMK_DESCRIBED of them, all zeros at first. */
#define WMK_DESCRIBED 256u
struct wmk_described {
	const struct class *class;
	struct wmk_ctl_event is;
};
/* In words. */
int wmk_app_describe(struct app *app, const struct wmk_describing *how, struct wmk_ctl_app *is);
/* Those of the class, with types in words, behind the fields that are there. */
int wmk_fields_describe(const struct wmk_event_class *event, struct wmk_ctl_event *is, struct wmk_arena *arena);

#endif
