/* SPDX-License-Identifier: MIT */
/* app_channels.h - the channels of one application. */
#ifndef WMK_SESSION_APP_CHANNELS_H
#define WMK_SESSION_APP_CHANNELS_H

#include "session/session_model.h"

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

#endif
