/* SPDX-License-Identifier: MIT */
/*
 * prog_busy.c - threads that record continuously, some in a library that is loaded and unloaded, some interrupted by
 * signal handlers that record, while a session daemon enables, disables and removes. Ends at the end of its standard
 * input. Prints the number of records that it has begun.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <waymark/runtime.h>
#include <waymark/trace.h>

static atomic_int stop;
/* The other threads pause: their records would fill the rings, and records of the library would be lost. */
static atomic_int quiet;

static void on_timer(int number)
{
	waymark(t, in_handler, number);
}

static void *record(void *arg)
{
	unsigned long n = 0, me = (unsigned long)arg;
	const char *text = "some text";

	while (!stop) {
		waymark(t, small, me, n);
		waymark(t, text, me, text, n);
		n++;
		/*
		 * Two threads pause only for `quiet`; the others leave CPU time to the session daemon and to each
		 * other.
		 */
		if (me >= 2 && n % 64 == 0)
			usleep(500);
		while (quiet && !stop)
			usleep(1000);
	}
	return (void *)n;
}

static void *load(void *arg)
{
	const char *path = arg;
	unsigned long n = 0, loads = 0;

	while (!stop) {
		void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		void (*hit)(unsigned);
		int (*on)(void);

		if (!library) {
			fprintf(stderr, "%s\n", dlerror());
			exit(9);
		}
		*(void **)&hit = dlsym(library, "loaded_hit");
		*(void **)&on = dlsym(library, "loaded_on");
		for (int i = 0; i < 200; i++, n++)
			hit((unsigned)n);
		/*
		 * Sometimes the library stays until a session daemon has enabled it, and longer; otherwise it is
		 * unloaded at any time.
		 */
		quiet = ++loads % 64 == 2;
		while (quiet && !on() && !stop)
			usleep(200);
		for (int i = 0; i < 200; i++, n++) {
			hit((unsigned)n);
			if (quiet || i == 0)
				usleep(500);
		}
		quiet = 0;
		dlclose(library);
	}
	return (void *)n;
}

static void probe(const struct waymark_probe_record *r, void *data)
{
	if (strcmp(r->provider, "t") || strcmp(r->name, "small") || r->n_fields != 2)
		abort();
	__atomic_fetch_add((unsigned long *)data, 1, __ATOMIC_RELAXED);
}

/* Connect and disconnect. After that, the probe must not access its data. */
static void *connect_probe(void *arg)
{
	unsigned long total = 0;

	(void)arg;
	while (!stop) {
		unsigned long *count = calloc(1, sizeof(*count));

		if (waymark_connect("t:small", probe, count) != 0)
			abort();
		usleep(1000);
		if (waymark_disconnect("t:small", probe, count) != 0)
			abort();
		total += *count;
		*count = 0;
		free(count);
	}
	return (void *)total;
}

int main(int argc, char **argv)
{
	pthread_t threads[18];
	struct itimerval timer = { { 0, 3000 }, { 0, 3000 } };
	unsigned long sum = 0;
	void *n;
	char byte;

	signal(SIGALRM, on_timer);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (unsigned long i = 0; i < 16; i++)
		pthread_create(&threads[i], NULL, record, (void *)i);
	pthread_create(&threads[16], NULL, load, argc > 1 ? argv[1] : NULL);
	pthread_create(&threads[17], NULL, connect_probe, NULL);
	while (read(0, &byte, 1) != 0)
		;
	stop = 1;
	for (int i = 0; i < 18; i++) {
		pthread_join(threads[i], &n);
		sum += (unsigned long)n;
	}
	return sum > 0 ? 0 : 1;
}
