/* SPDX-License-Identifier: MIT */
/* plugin.c - a shared library with sites of its own; loader.c loads it, calls it and unloads it, again and again. */
#include "board.h"

void plugin_emit(uint32_t writer, uint64_t n);

__attribute__((visibility("default"))) void plugin_emit(uint32_t writer, uint64_t n)
{
	board_map();
	for (uint64_t i = 0; i < n; i++)
		writer_emit(writer);
	waymark(plugin, called, writer, n);
}
