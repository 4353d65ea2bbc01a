/* SPDX-License-Identifier: MIT */
/* count_allocations.h - see count_allocations.c. */
#ifndef WMK_TESTS_COUNTED_H
#define WMK_TESTS_COUNTED_H

/* How often memory has been asked for in this process so far. */
unsigned long counted_allocations(void);

#endif
