/* SPDX-License-Identifier: MIT */
/*
 * slow_request.c - a server that requests a snapshot when a request takes too long: slow_request [REQUESTS].
 *
 *     waymark create recorder --snapshot
 *     waymark enable-event 'server:*'
 *     waymark start
 *     slow_request 50
 *     waymark view
 *
 * The last request is slow. Its snapshot has the records of all requests before it, as far as the buffers hold them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <waymark/runtime.h>
#include <waymark/trace.h>

#define LIMIT_MS 20

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static void handle(int request, int ms)
{
	const double begin = now_ms();
	const struct timespec work = { 0, ms * 1000000L };

	waymark_begin(server, request, request);
	nanosleep(&work, NULL);
	waymark_end(server, request);
	/* Returns at once: a daemon copies the buffers. Without a flight recorder, the call has no effect. */
	if (now_ms() - begin > LIMIT_MS)
		waymark_snapshot("slow-request");
}

int main(int argc, char **argv)
{
	const int requests = argc > 1 ? atoi(argv[1]) : 50;

	for (int i = 1; i <= requests; i++)
		handle(i, i < requests ? 1 : 2 * LIMIT_MS);
	printf("%d requests\n", requests);
	return 0;
}
