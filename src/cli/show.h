/* SPDX-License-Identifier: MIT */
/*
 * show.h - sessions, channels and programs as people read them, on standard output.
 */
#ifndef WMK_CLI_SHOW_H
#define WMK_CLI_SHOW_H

#include <waymark/ctl.h>

#include <stdbool.h>

/* "120 records, 3 lost (40 overwritten by newer ones), 1.5 MB in PATH". */
void wmk_show_counts(const struct waymark_ctl_session_info *session);
/* A warning for each application that was not recorded, or in part only. */
void wmk_show_unrecorded(const struct waymark_ctl_session_info *session);
/* A warning for each channel that lost records, with the option that would have avoided it. */
void wmk_show_loss(const struct waymark_ctl_session_info *session);
/* One line for each session. `current`: marked; may be "". */
void wmk_show_sessions(const struct waymark_ctl_session_info *const *sessions, unsigned n, const char *current);
/* All of a session, or of one of its channels only (NULL: all). */
void wmk_show_session(const struct waymark_ctl_session_info *session, const char *channel);
/* What is in an event, a field in a line. */
void wmk_show_fields(const struct waymark_ctl_event_info *event);
/* Programs and their events; `fields`: with what is in them. */
void wmk_show_apps(const struct waymark_ctl_app_info *const *apps, unsigned n, bool fields);

#endif
