/* SPDX-License-Identifier: MIT */
/* app_channels.h - the channels of one application. */
#ifndef WMK_SESSION_APP_CHANNELS_H
#define WMK_SESSION_APP_CHANNELS_H

#include "session/apps/app.h"

bool wmk_app_channel_has(const struct app_channel *ch, uint32_t event);
int wmk_app_channel_set(struct app_channel *ch, uint32_t event);
void wmk_app_channel_unset(struct app_channel *ch, uint32_t event);
/* Return the hash of the filter that was last sent to the application for this event; 0: no filter. */
uint64_t wmk_app_channel_filter(const struct app_channel *ch, uint32_t event);
int wmk_app_channel_filter_set(struct app_channel *ch, uint32_t event, uint64_t hash);
/*
 * Return the channel number of these rings on the connection, or -errno; the function assigns a number if the rings
 * have no number yet.
 */
int wmk_app_channel_number(struct app *app, struct rings *rings);
uint8_t wmk_app_channel_flags(const struct rings *rings);
/* Send CHANNEL for this number, unless CHANNEL was sent before. */
int wmk_app_channel_send(struct app *app, uint32_t number);
int wmk_app_channel_drop(struct app *app, uint32_t number);

/* Event `number` was unregistered. */
void wmk_app_event_gone(struct app *app, uint32_t number);
/*
 * Give the application a channel number for rings that it has reattached from an earlier daemon. Messages of the
 * connection refer to these rings by the channel number.
 */
int wmk_app_adopt_rings(struct app *app, struct rings *rings);
/* True if a session of user `owner` enables the event; (uid_t)-1: a session of any user. */
bool wmk_app_event_is_enabled(const struct app *app, uint32_t number, uid_t owner);
/* Frees the ring claims of a process that has ended, and returns their number. */
unsigned wmk_app_free_claims(struct app *app);
/* Called when the same process registers again: `app` takes over the rings, and frees their claims when `app` ends. */
void wmk_app_inherit_claims(struct app *app, struct app *old);
void wmk_app_channels_free(struct app *app);

#endif
