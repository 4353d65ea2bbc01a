/* SPDX-License-Identifier: MIT */
/* plugin.c - a shared library with its own sites; loader.c loads it, calls it and unloads it, repeatedly. */
#include "ledger.h"

void plugin_emit(uint32_t turn, int wait);

/*
 * Make at least one record of plugin:called. A constructor that runs in dlopen() does not wait, so the site may still
 * be disabled. With `wait`, pass it until it is enabled, and a few times more.
 */
__attribute__((visibility("default"))) void plugin_emit(uint32_t turn, int wait)
{
	for (int i = 0, more = 3; i < 5000 && more; i++) {
		waymark(plugin, called, turn, wait);
		if (!wait)
			break;
		if (wm_enabled(plugin, called))
			more--;
		usleep(1000);
	}
}
