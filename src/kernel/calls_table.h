/* SPDX-License-Identifier: MIT */
/*
 * calls_table.h - private to calls.c: the table of the calls that are used most, and the numbers that the build makes from the kernel's headers.
 */
#ifndef WMK_KERNEL_CALLS_TABLE_H
#define WMK_KERNEL_CALLS_TABLE_H

#include <stdint.h>

struct wmk_kcall_number {
	uint16_t number;
	const char *name;
};

/* By number. Made by calls_numbers.py. */
extern const struct wmk_kcall_number wmk_kcall_native[], wmk_kcall_compat[];
extern const unsigned wmk_kcall_native_n, wmk_kcall_compat_n;

/*
 * One row per call: "name(kind name, kind:N name, ...) result". `N`: the argument, counted from 0, that has the length. A row that begins with
 * '*' is for 32-bit programs, where they differ.
 */
extern const char *const wmk_kcall_rows[];
extern const unsigned wmk_kcall_rows_n;

/* Calls that the kernel's tracer has by another name: the headers' first, by the name. */
extern const char *const wmk_kcall_aliases[][2];
extern const unsigned wmk_kcall_aliases_n;

#endif
