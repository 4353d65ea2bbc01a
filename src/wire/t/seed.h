/* SPDX-License-Identifier: MIT */
/* seed.h - the object of a seed in corpus-object. */
#ifndef WMK_WIRE_T_SEED_H
#define WMK_WIRE_T_SEED_H

#include "wire/object.h"

/* The first byte of a seed selects its object: any request or reply of clients, or an object of a consumer daemon. */
const struct wmk_object *seed_object(uint8_t first);

#endif
