/* SPDX-License-Identifier: MIT */
/* lib_loaded.c - a library with sites, which test programs load and unload. */
#include <waymark/trace.h>

void loaded_hit(unsigned n);
void loaded_hit(unsigned n)
{
	waymark(t, loaded, n);
}

/* Has a controller enabled it in the meantime? A library that is loaded waits for nobody. */
int loaded_on(void);
int loaded_on(void)
{
	return wm_enabled(t, loaded);
}
