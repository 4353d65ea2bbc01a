/* SPDX-License-Identifier: MIT */
/* tracer.c - see tracer.h. */
#include "tracer/tracer.h"

WMK_FIRST_PAGE struct wmk_tracer wmk_tracer;
