/* SPDX-License-Identifier: MIT */
/* dlopen_check.h - determine whether a module was loaded with the program or by dlopen(). */
#ifndef WMK_TRACER_DLOPEN_CHECK_H
#define WMK_TRACER_DLOPEN_CHECK_H

#include <stdbool.h>

#include <waymark/detail/abi.h>

/* Returns true for a module that was loaded with the program. Calls the loader, so the lock must not be held. */
bool wmk_module_is_initial(const struct waymark_module *module);

#endif
