/* SPDX-License-Identifier: MIT */
/*
 * dlopen_check.h - was a module loaded with the program, or by dlopen()?
 */
#ifndef WMK_TRACER_DLOPEN_CHECK_H
#define WMK_TRACER_DLOPEN_CHECK_H

#include <stdbool.h>

#include <waymark/detail/abi.h>

/* Loaded with the program. Calls the loader: without the lock. */
bool wmk_module_is_initial(const struct waymark_module *module);

#endif
