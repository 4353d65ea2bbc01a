/* SPDX-License-Identifier: MIT */
/*
 * syscall_table.h - private to syscall_info.c: the table of the calls that are used most, and the numbers that the
 * build makes from the kernel's headers.
 */
#ifndef WMK_KERNEL_SYSCALL_TABLE_H
#define WMK_KERNEL_SYSCALL_TABLE_H

#include <stdint.h>

struct wmk_syscall_number {
	uint16_t number;
	const char *name;
};

/* By number. Made by syscall_numbers.py. */
extern const struct wmk_syscall_number wmk_syscall_native[], wmk_syscall_compat[];
extern const unsigned wmk_syscall_native_n, wmk_syscall_compat_n;

/*
 * One row per call: "name(kind name, kind:N name, ...) result". `N`: the argument, counted from 0, that has the length.
 * A row that begins with '*' is for 32-bit programs, where they differ.
 */
extern const char *const wmk_syscall_rows[];
extern const unsigned wmk_syscall_rows_n;

/* Calls that the kernel's tracer has by another name: the headers' first, by the name. */
extern const char *const wmk_syscall_aliases[][2];
extern const unsigned wmk_syscall_aliases_n;

#endif
