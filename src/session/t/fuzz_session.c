/* SPDX-License-Identifier: MIT */
/*
 * fuzz_session.c - any bytes as an application, against the session code: frames, codecs, classes, ids. Afterwards, a
 * correct application is served, and confirms it by its answer.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "session/apps/app.h"
#include "session/apps/shard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void fuzz_set_up(void);
void fuzz_clean_up(void);

static char rundir[] = "/tmp/waymark-fuzz-XXXXXX";
static struct wmk_tracing *tracing;
static struct wmk_session *session;
static struct wmk_session_channel *channel;
static struct wmk_shard *apps;
static unsigned inputs;

static int something_open(void *data, const struct wmk_trace_info *info, void **trace)
{
	(void)info;
	*trace = &inputs;
	return data != NULL;
}

static int metadata(void *trace, const char *text, size_t len)
{
	(void)trace;
	return len == 0 || memchr(text, 0, len) ? -1 : 0;
}

static int rings_open(void *trace, const struct wmk_rings_info *info, struct waymark_ring_set *set, void **rings)
{
	(void)info;
	*rings = trace;
	return set == NULL;
}

static int nothing(void *rings, bool wait)
{
	(void)wait;
	return rings == NULL;
}

static int no_counts(void *rings, struct wmk_counts *counts, struct wmk_counts *earlier)
{
	(void)rings;
	(void)earlier;
	(void)counts;
	return 0;
}

static void no_answer(void *rings)
{
	if (!rings)
		abort();
}

static const struct wmk_consumer_port_ops output = {
	.trace_open = something_open,
	.metadata = metadata,
	.rings_open = rings_open,
	.rings_flush = nothing,
	.rings_stop = nothing,
	.rings_clear = nothing,
	.rings_counts = no_counts,
	.rings_wake = no_answer,
	.rings_close = no_answer,
	.trace_close = no_answer,
};

static int on_id(void *data, struct wmk_session *of, uint64_t rings_id, uint32_t id,
		 const struct wmk_event_class *event)
{
	(void)data;
	return of != session || rings_id == 0 || id > 1000000 || !event->provider;
}

static void session_make(void)
{
	static const struct wmk_session_options options = { .name = "fuzz", .path = "/nowhere",
							    .settings.no_statedump = true };
	static const char *const secret[] = { "p:secret*" };
	static const struct wmk_ctl_rule rule = { .pattern = "p:*", .exclusions = { (void *)(uintptr_t)secret, 1 } };
	const struct wmk_ctl_channel given = { .name = "c",
					       .settings.subbuf_size = 4096,
					       .settings.n_subbufs = 2,
					       .settings.field_limit = 100,
					       .rules = { (void *)(uintptr_t)&rule, 1 } };
	struct wmk_session_options mine = options;

	mine.uid = getuid();
	if (wmk_session_create(tracing, &mine, &session) != 0 || wmk_session_lock(session) != 0 ||
	    wmk_session_channel_add(session, &given, &channel) != 0 || wmk_session_start(session) != 0)
		abort();
	wmk_session_unlock(session);
}

static void channel_switch(bool on)
{
	if (wmk_session_lock(session) != 0)
		abort();
	wmk_session_channel_switch(channel, on);
	wmk_session_unlock(session);
	wmk_shard_update(apps, session);
}

/* Classes live as long as the wmk_tracing, so it is created again now and then. */
static void apps_restart(void)
{
	static const struct wmk_clocks clocks = {
		.of[WMK_CLOCK_MONOTONIC] = { .kind = WMK_CLOCK_MONOTONIC, .freq = 1000000000, .name = "monotonic" }
	};
	const struct wmk_tracing_options trace = {
		.size = sizeof(trace), .consumer = &output, .clocks = &clocks, .on_id = on_id
	};
	struct wmk_shard_options options = {
		.size = sizeof(options), .rundir = rundir, .max_events = 100, .max_bytes = 100000, .max_queue = 20000
	};

	wmk_shard_close(apps);
	wmk_session_put(session);
	wmk_tracing_close(tracing);
	apps = NULL;
	if (wmk_tracing_open(&trace, &tracing) != 0)
		abort();
	wmk_reattach_init(tracing);
	session_make();
	options.tracing = tracing;
	if (wmk_shard_open(&options, &apps) != 0)
		abort();
}

void fuzz_set_up(void)
{
	if (!mkdtemp(rundir))
		abort();
	wmk_tracing_thread_begin();
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
	for (int i = 0; i < 1000 && wmk_shard_run_once(apps, 0) > 0; i++)
		;
}

static void good_application(void)
{
	struct wmk_hello hello = { .abi = WMK_WIRE_ABI, .word_bits = 64, .name = "good" };
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
		channel_switch(inputs & 16);
		good_application();
	}
	close(sock);
	rest();
	return 0;
}
