/* SPDX-License-Identifier: MIT */
/*
 * module.h - executables and libraries that hold sites. Their sites are turned into events when they are needed: by the
 * helper thread, or for a probe. All with the lock held.
 */
#ifndef WMK_TRACER_MODULE_H
#define WMK_TRACER_MODULE_H

#include <waymark/detail/abi.h>

/* Turn the sites of modules that registered since the last call into events. */
void wmk_modules_scan(void);
/* Undo that for a module that goes. */
void wmk_module_forget(const struct waymark_module *module);

#endif
