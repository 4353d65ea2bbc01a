/* SPDX-License-Identifier: MIT */
/*
 * unrecorded.h - reasons why an application is not recorded (unrecorded.def), for applications, daemons and clients.
 */
#ifndef WMK_WIRE_UNRECORDED_H
#define WMK_WIRE_UNRECORDED_H

#include <stdbool.h>

enum wmk_unrecorded {
#define WMK_UNRECORDED(identifier, number, word, in_part, sentence) WMK_UNRECORDED_##identifier = (number),
#include "wire/unrecorded.def"
#undef WMK_UNRECORDED
};

/* These arrays are indexed by the reason; reasons start at 1. */
#define WMK_UNRECORDED_REASONS 19
extern const char *const wmk_unrecorded_names[WMK_UNRECORDED_REASONS];
extern const char *const wmk_unrecorded_messages[WMK_UNRECORDED_REASONS];
extern const bool wmk_unrecorded_in_part[WMK_UNRECORDED_REASONS];

#endif
