/* SPDX-License-Identifier: MIT */
/* app_channels.h - the channels of one application. */
#ifndef WMK_SESSION_APP_CHANNELS_H
#define WMK_SESSION_APP_CHANNELS_H

#include "session/apps/app.h"

bool wmk_app_channel_has(const struct app_channel *ch, uint32_t event);
int wmk_app_channel_set(struct app_channel *ch, uint32_t event);
void wmk_app_channel_unset(struct app_channel *ch, uint32_t event);
/* The hash of the filter that the application was sent for the event; 0: none. */
uint64_t wmk_app_channel_filter(const struct app_channel *ch, uint32_t event);
int wmk_app_channel_filter_set(struct app_channel *ch, uint32_t event, uint64_t hash);
/* The number of these rings on the connection, given if they have none; -errno. */
int wmk_app_channel_number(struct app *app, struct rings *rings);
uint8_t wmk_app_channel_flags(const struct rings *rings);
/* CHANNEL, unless it was sent. */
int wmk_app_channel_send(struct app *app, uint32_t number);
int wmk_app_channel_drop(struct app *app, uint32_t number);

/* Event `number` is not there any more. */
void wmk_app_event_gone(struct app *app, uint32_t number);
/* The application has these rings from an earlier daemon: messages about their channel are about these rings. */
int wmk_app_adopt_rings(struct app *app, struct rings *rings);
/* In a session of this user; (uid_t)-1: of anybody. */
bool wmk_app_event_is_enabled(const struct app *app, uint32_t number, uid_t whose);
/* Frees the claims that the dead process stood in; returns how many. */
unsigned wmk_app_free_claims(struct app *app);
/* The same process registers again: its claims in these rings are this application's to free. */
void wmk_app_inherit_claims(struct app *app, struct app *old);
void wmk_app_channels_free(struct app *app);

#endif
