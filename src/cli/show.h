/* SPDX-License-Identifier: MIT */
/*
 * show.h - print sessions, channels and applications as text on standard output.
 */
#ifndef WMK_CLI_SHOW_H
#define WMK_CLI_SHOW_H

#include <waymark/ctl.h>

#include <stdbool.h>

/* "120 records, 3 lost (40 overwritten by newer ones), 1.5 MB in PATH". */
void wmk_show_counts(const struct waymark_ctl_session_info *session);
/* Print a warning for each application that was not recorded, or was recorded only in part. */
void wmk_show_unrecorded(const struct waymark_ctl_session_info *session);
/*
 * Print the rotation schedule and the retention of a session, without a newline. Returns false, and prints nothing, if
 * the session has neither a schedule nor a retention.
 */
bool wmk_show_rotation(const struct waymark_ctl_session_info *session);
/* Print a warning for each channel that lost records, with the option that avoids the loss. */
void wmk_show_loss(const struct waymark_ctl_session_info *session);
/* Print one line for each session, and mark the session `current` ("": mark no session). */
void wmk_show_sessions(const struct waymark_ctl_session_info *const *sessions, unsigned n, const char *current);
/* Print a table of connections to relays, or nothing if there are no connections. */
void wmk_show_relays(const struct waymark_ctl_relay_info *const *relays, unsigned n);
/* Print a session with one of its channels (NULL: all channels). */
void wmk_show_session(const struct waymark_ctl_session_info *session, const char *channel);
/* Print the buffer memory of each channel (NULL: all channels). If there are several channels, also print the sum. */
void wmk_show_memory(const struct waymark_ctl_session_info *const *sessions, unsigned n, const char *channel);
/* Print the fields of an event, one per line. */
void wmk_show_fields(const struct waymark_ctl_event_info *event);
/* Print applications and their events; if `fields` is true, also print the fields of the events. */
void wmk_show_apps(const struct waymark_ctl_app_info *const *apps, unsigned n, bool fields);

#endif
