/* SPDX-License-Identifier: MIT */
/*
 * copy_program.h - a copy program converts the bytes of a kernel record to the bytes of a payload. Internal to
 * src/kernel: kernel_event.c makes copy programs, and copy_program.c runs copy programs.
 *
 * One operation copies fields that are adjacent both in the record and in the payload. In the fixed part of a record,
 * operations read only the first `min_len` bytes. Operations write at most `max_fixed` bytes, plus the content of texts
 * and sequences outside of the fixed part. One check of each limit before the program runs is therefore enough.
 */
#ifndef WMK_KERNEL_COPY_PROGRAM_H
#define WMK_KERNEL_COPY_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

enum wmk_kcopy_code {
	WMK_KCOPY_1, WMK_KCOPY_2, WMK_KCOPY_4, WMK_KCOPY_8,  /* 1, 2, 4 or 8 bytes */
	WMK_KCOPY_BYTES,           /* `len` bytes */
	/* adds `add` to the s32 in the output, which begins `back` bytes before the end of the output */
	WMK_KCOPY_ADD,
	WMK_KCOPY_TEXT,            /* a text in an array of `len` bytes, as a string */
	WMK_KCOPY_RWBS,            /* a text in an array of `len` bytes, as bits (event_names.h) */
	WMK_KCOPY_FAR_TEXT,        /* a text outside of the fixed part; `place`: how to locate it */
	/* elements of `len` bytes each outside of the fixed part; the number of elements precedes them as u32 */
	WMK_KCOPY_FAR_ELEMENTS,
};

enum wmk_kcopy_place { WMK_KPLACE_LOC, WMK_KPLACE_REL, WMK_KPLACE_REST };

struct wmk_kcopy {
	uint8_t code, place;
	uint32_t from, len;
	uint32_t back;
	int32_t add;
};

#endif
