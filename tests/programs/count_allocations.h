/* SPDX-License-Identifier: MIT */
/* count_allocations.h - see count_allocations.c. */
#ifndef WMK_TESTS_COUNTED_H
#define WMK_TESTS_COUNTED_H

/* The number of allocations in this process so far. */
unsigned long counted_allocations(void);

#endif
