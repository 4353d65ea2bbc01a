/* SPDX-License-Identifier: MIT */
/* clock_steps.h - a descriptor that becomes readable when real time is set, or after a resume from suspend. */
#ifndef WMK_CONSUMER_CLOCK_STEPS_H
#define WMK_CONSUMER_CLOCK_STEPS_H

#include <stdbool.h>

/* Returns a descriptor, which the caller closes, or -errno if steps of real time cannot be observed. */
int wmk_clock_steps_open(void);
/*
 * The caller calls wmk_clock_steps_read() when the descriptor is readable. Returns true if real time was set since the
 * last call.
 */
bool wmk_clock_steps_read(int fd);

#endif
