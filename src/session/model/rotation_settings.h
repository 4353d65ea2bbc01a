/* SPDX-License-Identifier: MIT */
/* rotation_settings.h - the schedule of rotations, and the retention of closed chunks, in the settings of a session. */
#ifndef WMK_SESSION_ROTATION_SETTINGS_H
#define WMK_SESSION_ROTATION_SETTINGS_H

#include <stdint.h>

#include "wire/ctl.h"

/*
 * The interval in microseconds, and the size of the open chunk, at which the session is rotated. If retention is
 * limited, the interval is at most a tenth of the kept time, and the size is at most a tenth of the kept size. 0: none.
 */
uint64_t wmk_settings_rotate_us(const struct wmk_ctl_settings *settings);
uint64_t wmk_settings_chunk_max(const struct wmk_ctl_settings *settings);
/* -EINVAL with a cause chain: a value is out of range, or has no effect. */
int wmk_settings_rotation_check(const struct wmk_ctl_settings *settings);

#endif
