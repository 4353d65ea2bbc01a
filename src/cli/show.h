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
/* Print a warning for each application that was not recorded, or only in part. */
void wmk_show_unrecorded(const struct waymark_ctl_session_info *session);
/*
 * Print the schedule of rotations and the retention of a session, without a newline. Returns false, and prints nothing,
 * if the session has neither a schedule nor a retention.
 */
bool wmk_show_rotation(const struct waymark_ctl_session_info *session);
/* Print a warning for each channel that lost records, with the option that avoids the loss. */
void wmk_show_loss(const struct waymark_ctl_session_info *session);
/* Print one line for each session; `current` is marked, "": none. */
void wmk_show_sessions(const struct waymark_ctl_session_info *const *sessions, unsigned n, const char *current);
/* Print a table of connections to relays; nothing if there are none. */
void wmk_show_relays(const struct waymark_ctl_relay_info *const *relays, unsigned n);
/* Print a session with one of its channels (NULL: all). */
void wmk_show_session(const struct waymark_ctl_session_info *session, const char *channel);
/* Print the memory of the buffers of each channel (NULL: all channels), and the sum of several channels. */
void wmk_show_memory(const struct waymark_ctl_session_info *const *sessions, unsigned n, const char *channel);
/* Print the fields of an event, one per line. */
void wmk_show_fields(const struct waymark_ctl_event_info *event);
/* Print applications and their events; `fields`: with the fields of the events. */
void wmk_show_apps(const struct waymark_ctl_app_info *const *apps, unsigned n, bool fields);

#endif
