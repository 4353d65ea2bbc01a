/* SPDX-License-Identifier: MIT */
/*
 * module.h - executables and libraries with sites. The helper thread, or a function that connects a probe, adds the
 * sites of new modules to their events. Lock held.
 */
#ifndef WMK_TRACER_MODULE_H
#define WMK_TRACER_MODULE_H

#include <waymark/detail/abi.h>

/*
 * Add the sites of new modules to their events, and create events that do not exist yet. A module is new if the module
 * has registered since the last call.
 */
void wmk_modules_scan(void);
/* Remove the sites of a module that is being unloaded. */
void wmk_module_forget(const struct waymark_module *module);

#endif
