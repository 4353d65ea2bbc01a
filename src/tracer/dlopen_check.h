/* SPDX-License-Identifier: MIT */
/* dlopen_check.h - determine whether a module was loaded with the program or by dlopen(). */
#ifndef WMK_TRACER_DLOPEN_CHECK_H
#define WMK_TRACER_DLOPEN_CHECK_H

#include <stdbool.h>

#include <waymark/detail/abi.h>

/*
 * Returns true for a module that was loaded with the program. The function calls the loader, so the caller must not
 * hold the lock.
 */
bool wmk_module_is_initial(const struct waymark_module *module);

#endif
