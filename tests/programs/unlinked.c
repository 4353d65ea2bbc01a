/* SPDX-License-Identifier: MIT */
/*
 * unlinked.c - not linked with libwaymark: it loads a library with sites, and its first thread ends before the process.
 *
 *     unlinked PLUGIN exit|cancel [wait until it is traced]
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void (*emit)(uint32_t, int);
static pthread_t first;
static int cancels;

static void *outlive(void *arg)
{
	char path[64], state = 0;

	(void)arg;
	if (cancels && pthread_cancel(first) != 0)
		exit(1);
	/* until the first thread has ended */
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", getpid());
	for (int i = 0; i < 30000 && state != 'Z'; i++) {
		FILE *stat = fopen(path, "r");

		if (!stat || fscanf(stat, "%*d %*s %c", &state) != 1)
			exit(2);
		fclose(stat);
		usleep(1000);
	}
	emit(1000, 0);
	return NULL;
}

int main(int argc, char **argv)
{
	void *library = argc >= 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
	pthread_t thread;

	if (!library || !(*(void **)&emit = dlsym(library, "plugin_emit"))) {
		fprintf(stderr, "unlinked: %s\n", argc >= 3 ? dlerror() : "unlinked PLUGIN exit|cancel [wait]");
		return 3;
	}
	emit(1, argc > 3);
	first = pthread_self();
	cancels = strcmp(argv[2], "cancel") == 0;
	if (pthread_create(&thread, NULL, outlive, NULL) != 0)
		return 4;
	if (!cancels)
		pthread_exit(NULL);
	for (;;)
		pause();
}
