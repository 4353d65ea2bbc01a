/* SPDX-License-Identifier: MIT */
/* thread_state.c - see thread_state.h. */
#include "tracer/thread_state.h"

__thread struct wmk_thread wmk_thread;
