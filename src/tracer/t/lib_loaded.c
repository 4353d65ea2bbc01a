/* SPDX-License-Identifier: MIT */
/* lib_loaded.c - a library with sites, which test programs load and unload. */
#include <waymark/trace.h>

void loaded_hit(unsigned n);
void loaded_hit(unsigned n)
{
	waymark(t, loaded, n);
}

/* Whether a session daemon has enabled the event. A constructor in dlopen() does not wait for that. */
int loaded_on(void);
int loaded_on(void)
{
	return wm_enabled(t, loaded);
}
