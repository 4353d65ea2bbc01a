/* SPDX-License-Identifier: MIT */
/*
 * loader.c - loads and unloads a library with sites, while other threads record.
 *
 *     loader PLUGIN TURNS THREADS [copies...]     each further argument is a library that is loaded in turn with PLUGIN
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include "ledger.h"

static _Atomic int stop_now;

static void *thread(void *arg)
{
	uint32_t w = writer_new();
	(void)arg;
	while (!stop_now) {
		writer_emit(w);
		usleep(20);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	int n = argc > 3 ? atoi(argv[3]) : 0;
	uint64_t turns = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	ledger_map();
	uint32_t w = writer_new();
	for (int i = 0; i < n && i < 64; i++)
		if (pthread_create(&threads[i], NULL, thread, NULL))
			return 3;
	for (uint64_t i = 0; i < turns; i++) {
		int which = argc > 4 ? (int)(i % (uint64_t)(argc - 3)) : 0;
		const char *path = which ? argv[3 + which] : argv[1];
		void *library = dlopen(path, i % 2 ? RTLD_NOW : RTLD_LAZY | RTLD_GLOBAL);
		void (*emit)(uint32_t, int) = NULL;
		if (!library || !(*(void **)&emit = dlsym(library, "plugin_emit"))) {
			fprintf(stderr, "loader: %s\n", dlerror());
			return 4;
		}
		emit((uint32_t)i, i % 4 == 0);
		if (dlclose(library))
			return 5;
		writer_emit(w);
	}
	stop_now = 1;
	for (int i = 0; i < n && i < 64; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
