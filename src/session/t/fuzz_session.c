/* SPDX-License-Identifier: MIT */
/*
 * fuzz_session.c - any bytes as an application, against the whole of the session's half: frames, codecs, classes,
 * ids. Whatever it said, an application that behaves is served next to it, and says so by its answer.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "session/apps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void fuzz_set_up(void);
void fuzz_clean_up(void);

static char rundir[] = "/tmp/waymark-fuzz-XXXXXX";
static struct waymark_ring_set *set;
static struct wmk_apps *apps;
static unsigned inputs;

static int on_event_class(void *data, unsigned channel, uint32_t id, const struct wmk_event_class *event)
{
	(void)data;
	return channel != 0 || id > 1000000 || !event->provider;
}

static void apps_restart(void)
{
	static const char *const patterns[] = { "p:*", "!p:secret*" };
	const struct wmk_apps_channel channel = {
		.set = set, .field_limit = 100, .patterns = patterns, .n_patterns = 2
	};
	const struct wmk_apps_options options = { .size = sizeof(options),
						  .rundir = rundir,
						  .channels = &channel,
						  .n_channels = 1,
						  .max_events = 100,
						  .max_bytes = 100000,
						  .max_queue = 20000,
						  .ops = { .on_event_class = on_event_class } };

	wmk_apps_close(apps);
	apps = NULL;
	if (wmk_apps_open(&options, &apps) != 0)
		abort();
}

void fuzz_set_up(void)
{
	if (!mkdtemp(rundir))
		abort();
}

void fuzz_clean_up(void)
{
	char path[sizeof(rundir) + sizeof(WMK_APP_SOCKET) + 1];

	snprintf(path, sizeof(path), "%s/%s", rundir, WMK_APP_SOCKET);
	unlink(path);
	rmdir(rundir);
}

static int connected(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", rundir, WMK_APP_SOCKET);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		abort();
	return fd;
}

static void rest(void)
{
	for (int i = 0; i < 1000 && wmk_apps_run_once(apps, 0) > 0; i++)
		;
}

static void good_application(void)
{
	struct wmk_hello hello = { .abi = WAYMARK_ABI_VERSION, .word_bits = 64, .name = "good" };
	struct wmk_out out = { 0 };
	struct wmk_in in = { 0 };
	struct wmk_frame frame;
	const void *body;
	int fd, sock = connected(), done = 0;

	if (wmk_out_hello(&out, &hello) != 0 || wmk_out_u32(&out, WMK_MSG_EVENTS_END, 1) != 0 ||
	    wmk_out_send(&out, sock) != 1)
		abort();
	rest();
	while (wmk_in_receive(&in, sock) == 1)
		while (wmk_in_frame(&in, &frame, &body, &fd) == 1)
			done = frame.type == WMK_MSG_DONE;
	if (!done)
		abort();
	wmk_in_free(&in);
	wmk_out_free(&out);
	close(sock);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct waymark_ring_options ring = {
		.size = sizeof(ring), .subbuf_size = 4096, .n_subbufs = 2, .n_cpus = 1
	};

	if (!set) {
		if (waymark_ring_set_create(&ring, &set) != 0)
			abort();
	}
	if (inputs++ % 1000 == 0)
		apps_restart();
	int sock = connected();
	for (size_t at = 0; at < size;) {
		ssize_t n = send(sock, data + at, size - at, MSG_DONTWAIT | MSG_NOSIGNAL);

		rest();
		if (n <= 0)
			break;
		at += (size_t)n;
	}
	if (inputs % 16 == 0) {
		wmk_apps_channel_switch(apps, 0, inputs & 16);
		good_application();
	}
	close(sock);
	rest();
	return 0;
}
