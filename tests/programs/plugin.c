/* SPDX-License-Identifier: MIT */
/* plugin.c - a shared library with sites of its own; loader.c loads it, calls it and unloads it, again and again. */
#include "ledger.h"

void plugin_emit(uint32_t turn, int wait);

/*
 * One record of plugin:called at least. A constructor that runs in dlopen() waits for nothing, so that the site may
 * still be disabled; with `wait`, pass it until it is enabled, and a few times more.
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
