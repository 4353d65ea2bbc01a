/* SPDX-License-Identifier: MIT */
/* unrecorded.c - see unrecorded.h. */
#include "wire/unrecorded.h"

_Static_assert(WMK_UNRECORDED_REASONS == WMK_UNRECORDED_WAIT + 1, "one word for each number");

const char *const wmk_unrecorded_names[WMK_UNRECORDED_REASONS] = {
	[0] = "none",
#define WMK_UNRECORDED(identifier, number, word, in_part, sentence) [number] = (word),
#include "wire/unrecorded.def"
#undef WMK_UNRECORDED
};

const char *const wmk_unrecorded_messages[WMK_UNRECORDED_REASONS] = {
#define WMK_UNRECORDED(identifier, number, word, in_part, sentence) [number] = (sentence),
#include "wire/unrecorded.def"
#undef WMK_UNRECORDED
};

const bool wmk_unrecorded_in_part[WMK_UNRECORDED_REASONS] = {
#define WMK_UNRECORDED(identifier, number, word, in_part, sentence) [number] = (in_part),
#include "wire/unrecorded.def"
#undef WMK_UNRECORDED
};
