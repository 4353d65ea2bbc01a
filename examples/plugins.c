/* SPDX-License-Identifier: MIT */
/*
 * plugins.c - a program that loads a library with its own events (report.c).
 *
 *     waymark record -- examples/plugins
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include <waymark/trace.h>

/*
 * dlopen() does not wait for the session daemon: the events of the library are enabled slightly later. If no session
 * records them, this program ends after five seconds.
 */
#define RECORDED 5
#define TURNS 500
#define PAUSE_US 10000

int main(void)
{
	const char *name = "libreport.so";
	void *library = dlopen(name, RTLD_NOW);
	bool (*report)(int turn) = NULL;

	if (library)
		*(void **)&report = dlsym(library, "report");
	if (!report) {
		fprintf(stderr, "plugins: %s\n", dlerror());
		return 1;
	}
	waymark(plugin, loaded, name);
	for (int turn = 0, recorded = 0; turn < TURNS && recorded < RECORDED; turn++) {
		recorded += report(turn);
		usleep(PAUSE_US);
	}
	dlclose(library);
	waymark(plugin, unloaded, name);
	return 0;
}
