/* SPDX-License-Identifier: MIT */
/*
 * show_item.h - for tests: print a payload as text by the reader of its class: "a=1 s="x" list[2]{ =1 =2 } ".
 */
#ifndef WMK_KERNEL_T_SHOW_ITEM_H
#define WMK_KERNEL_T_SHOW_ITEM_H

#include "ctf/t/show.h"
#include "kernel/t/decode.h"

/* Print a payload of `n` bytes; asserts that the class ends exactly there. */
static inline void show_payload(const struct decoded *decoded, const uint8_t *bytes, size_t n, char *text, size_t size)
{
	struct wmk_ctf_bytes in = { bytes, 0, n * 8 };
	struct wmk_ctf_walk walk;

	wmk_ctf_walk_begin(&walk, &in, 0);
	assert_int_equal(show(&walk, decoded_payload(decoded), text, size), 0);
	assert_int_equal(walk.at, n * 8);
}

#endif
