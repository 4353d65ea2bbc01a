/* SPDX-License-Identifier: MIT */
/*
 * quick.h - the numbers that prog_wait records for test_quick.c: values near the bounds of every size. Each has 64
 * bits, and is truncated for smaller sizes.
 */
#ifndef WMK_TRACER_T_QUICK_H
#define WMK_TRACER_T_QUICK_H

#define QUICK_VALUES { \
	0, 1, 2, 0x7e, 0x7f, 0x80, 0x81, 0xfe, 0xff, 0x100, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000, \
	0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffff8000, 0xffffffffffffff7f, \
	0xffffffffffffff80, 0xfffffffffffffffe, 0xffffffffffffffff, 0x123456789abcdef0 }

#endif
