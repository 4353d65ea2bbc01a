/* SPDX-License-Identifier: MIT */
/*
 * copy_program.h - copy programs: how the bytes of a kernel's record become those of a payload. Internal to src/kernel;
 * kernel_event.c makes them, copy_program.c runs them.
 *
 * What lies side by side in both is one operation. All that an operation reads of the fixed part is below `min_len`,
 * all that it writes but what is in texts and sequences elsewhere is counted in `max_fixed`: neither is asked about
 * again while the program runs.
 */
#ifndef WMK_KERNEL_COPY_PROGRAM_H
#define WMK_KERNEL_COPY_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

enum wmk_kcopy_code {
	WMK_KCOPY_1, WMK_KCOPY_2, WMK_KCOPY_4, WMK_KCOPY_8,  /* so many bytes */
	WMK_KCOPY_BYTES,           /* `len` bytes */
	WMK_KCOPY_ADD,             /* `add` to the s32 that begins `back` bytes before the end of what is written */
	WMK_KCOPY_TEXT,            /* `len` bytes that hold a text, as a string */
	WMK_KCOPY_RWBS,            /* the same, as bits (event_names.h) */
	WMK_KCOPY_FAR_TEXT,        /* `place` says where the text is */
	WMK_KCOPY_FAR_ELEMENTS,    /* and elements, of `len` bytes each: a u32, how many, before them */
};

enum wmk_kcopy_place { WMK_KPLACE_LOC, WMK_KPLACE_REL, WMK_KPLACE_REST };

struct wmk_kcopy {
	uint8_t code, place;
	uint32_t from, len;
	uint32_t back;
	int32_t add;
};

#endif
