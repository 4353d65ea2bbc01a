/* SPDX-License-Identifier: MIT */
/*
 * fuzz_conn.c - fuzz the messages of a session daemon to libwaymark: frames, channels and their rings, recorders,
 * filters. After each frame the program records all its events, with all recorders that exist then. All frames that it
 * sends must be valid. At the end no event is enabled, and no descriptor is open.
 *
 * A frame with the descriptor flag gets the descriptor that its request number selects. Two types of frames are not
 * sent. TYPE_CRASH: the session daemon crashes and the next one starts. TYPE_HEADER: its body overwrites the header of
 * the ring set FD_CHANGED.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <waymark/runtime.h>
#include <waymark/trace.h>

#include "ring/set.h"
#include "tracer/channel.h"
#include "tracer/conn.h"
#include "tracer/lock.h"
#include "tracer/module.h"
#include "tracer/patch.h"
#include "tracer/recorder.h"
#include "tracer/tracer.h"
#include "wire/t/peer.h"

#define TYPE_CRASH 0xffffu
#define TYPE_HEADER 0xfffeu

enum { FD_DISCARD, FD_OVERWRITE, FD_CHANGED, FD_PLUGIN, FD_SHORT, FD_UNSEALED, FD_PIPE, FD_NONE, FDS };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void fuzz_set_up(void);
void fuzz_clean_up(void);

static char dir[] = "/tmp/waymark-fuzz-XXXXXX";
static struct sockaddr_un address = { .sun_family = AF_UNIX };
static struct waymark_ring_set *sets[FD_SHORT];
static struct wmk_set_header header;         /* initial header of FD_CHANGED */
static struct {
	int listener, sock;                 /* -1: an invalid message has ended the connection */
	bool crashes;
	int fds[FDS];
	struct wmk_in in;
} fake_sessiond;

/*
 * Use no session daemon of this machine, and no helper thread: runs before the first module registers (constructors of
 * priority 101).
 */
static void use_no_daemon(void)
{
	setenv("WAYMARK_RUNDIR", "/nowhere", 1);
	waymark_helper_stop();
}

static void (*const first)(void) __attribute__((section(".init_array.00100"), used)) = use_no_daemon;

/* ── the application ───────────────────────────────────────────────────────────────────────────────────── */

static void record(void)
{
	static const int numbers[] = { 1, -2, 3 };
	static int n;

	n++;
	waymark(fuzz, number, n);
	waymark(fuzz, mixed, wm_named("small", (signed char)n), wm_named("text", "words"), wm_named("half", 0.5 * n),
		wm_named("seq", wm_seq(numbers, 3)), wm_named("raw", wm_bytes("\1\2\377", 3)));
	if (wm_enabled(fuzz, mixed))
		waymark_logf(INFO, "%s has %d", "it", n);
}

/* One iteration of the helper thread. Returns false if the connection must be closed. */
static bool iterate(struct wmk_conn *conn)
{
	int err = wmk_conn_input(conn);

	if (err == -ECONNREFUSED)
		wmk_orphans_remove(conn->endpoint, true);
	if (err == 0)
		err = wmk_conn_announce(conn);
	wmk_patch_flush();
	/* No thread is inside a record. */
	if (!wmk_reclaim() && !wmk_reclaim())
		abort();
	wmk_channels_map_ahead(0);
	if (err == 0)
		err = wmk_conn_report_problems(conn);
	if (err == 0 && conn->sync_wanted)
		err = wmk_conn_synced(conn);
	return err == 0 && wmk_conn_flush(conn) >= 0;
}

static void check_nothing_enabled(void)
{
	if (wmk_tracer.channels || wmk_tracer.dirty)
		abort();
	for (uint32_t i = 0; i < wmk_tracer.n_events; i++)
		if (wmk_tracer.events[i]->chain || wmk_tracer.events[i]->patched)
			abort();
}

/* ── the session daemon ────────────────────────────────────────────────────────────────────────────────── */

static void make_sets(void)
{
	struct waymark_ring_options ring = {
		.size = sizeof(ring), .subbuf_size = 4096, .n_subbufs = 4, .header_room = 96
	};

	for (unsigned i = 0; i < FD_SHORT; i++) {
		ring.mode = i == FD_DISCARD ? WAYMARK_RING_DISCARD : WAYMARK_RING_OVERWRITE;
		ring.clock = i == FD_DISCARD  ? WAYMARK_CLOCK_COUNTER
			     : i == FD_PLUGIN ? WAYMARK_CLOCK_PLUGIN
					      : WAYMARK_CLOCK_MONOTONIC;
		ring.uuid[0] = (uint8_t)i;
		if (waymark_ring_set_create(&ring, &sets[i]) != 0)
			abort();
		fake_sessiond.fds[i] = waymark_ring_set_fd(sets[i]);
	}
	header = *sets[FD_CHANGED]->header;
}

static void set_up(void)
{
	int ends[2];

	waymark_helper_stop();          /* again for each forked child */
	make_sets();
	fake_sessiond.fds[FD_SHORT] = memfd_create("short", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	fake_sessiond.fds[FD_UNSEALED] = memfd_create("unsealed", MFD_CLOEXEC);
	fake_sessiond.fds[FD_NONE] = -1;
	if (pipe2(ends, O_CLOEXEC) != 0 ||
	    write(fake_sessiond.fds[FD_SHORT], &header, sizeof(header)) != sizeof(header) ||
	    fcntl(fake_sessiond.fds[FD_SHORT], F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0 ||
	    write(fake_sessiond.fds[FD_UNSEALED], &header, sizeof(header)) != sizeof(header))
		abort();
	fake_sessiond.fds[FD_PIPE] = ends[0];
	wmk_lock();
	wmk_modules_scan();
	wmk_unlock();
}

static void open_conn(struct wmk_conn *conn)
{
	if (wmk_conn_open(conn, address.sun_path, 0) != 0)
		abort();
	fake_sessiond.sock = accept4(fake_sessiond.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fake_sessiond.sock < 0)
		abort();
	fake_sessiond.crashes = false;
}

static int check_event(const void *body, size_t len)
{
	struct wmk_event_class *class;
	const void *encoded;
	size_t encoded_len;
	uint32_t number;

	if (wmk_event_msg_decode(body, len, &number, &encoded, &encoded_len) < 0 ||
	    wmk_event_decode(encoded, encoded_len, &class) < 0)
		return -EPROTO;
	wmk_event_class_free(class);
	return number < wmk_tracer.n_events ? 0 : -EPROTO;
}

static int check_message(const struct wmk_frame *frame, const void *body)
{
	struct wmk_rings_msg rings;
	struct wmk_hello hello;
	char words[1100];
	uint32_t number;
	int why;

	switch (frame->type) {
	case WMK_MSG_HELLO:
		return wmk_hello_decode(body, frame->length, &hello);
	case WMK_MSG_EVENT:
		return check_event(body, frame->length);
	case WMK_MSG_EVENTS_END:
	case WMK_MSG_SYNCED:
		return wmk_u32_decode(body, frame->length, &number);
	case WMK_MSG_UNRECORDED:
		return wmk_unrecorded_decode(body, frame->length, &(struct wmk_unrecorded_msg){ 0 });
	case WMK_MSG_RINGS:
		return wmk_rings_decode(body, frame->length, &rings);
	case WMK_MSG_ERROR:
		return wmk_error_msg_decode(body, frame->length, &why, words, sizeof(words));
	default:
		return -EPROTO;
	}
}

static void receive(void)
{
	struct wmk_frame frame;
	const void *body;
	int fd, got;

	while (wmk_in_receive(&fake_sessiond.in, fake_sessiond.sock) == 1) {
		while ((got = wmk_in_frame(&fake_sessiond.in, &frame, &body, &fd)) == 1) {
			if (check_message(&frame, body) < 0 || (fd >= 0) != (frame.type == WMK_MSG_RINGS))
				abort();
			if (fd >= 0)
				close(fd);
		}
		if (got < 0)
			abort();
	}
}

/*
 * Process one frame, or all remaining bytes if they are not a frame. Without a connection they are dropped. Returns the
 * number of bytes.
 */
static size_t process_frame(const uint8_t *data, size_t size)
{
	struct wmk_frame frame = { 0 };
	size_t len = size;

	if (size >= sizeof(frame)) {
		memcpy(&frame, data, sizeof(frame));
		if (frame.length <= size - sizeof(frame))
			len = sizeof(frame) + frame.length;
	}
	if (frame.type == TYPE_HEADER && len - sizeof(frame) == frame.length)
		memcpy(sets[FD_CHANGED]->header, data + sizeof(frame),
		       frame.length < sizeof(header) ? frame.length : sizeof(header));
	else if (frame.type == TYPE_CRASH)
		fake_sessiond.crashes = true;
	else if (fake_sessiond.sock >= 0)
		return peer_send(fake_sessiond.sock, data, size, fake_sessiond.fds, FDS);
	return len;
}

static void close_conn(struct wmk_conn *conn, bool keep)
{
	wmk_conn_close(conn, keep);
	receive();
	wmk_in_free(&fake_sessiond.in);
	close(fake_sessiond.sock);
	fake_sessiond.sock = -1;
}

/* ── the fuzzer ──────────────────────────────────────────────────────────────────────────────────────── */

void fuzz_set_up(void)
{
	if (!mkdtemp(dir))
		abort();
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", dir, WMK_APP_SOCKET);
	fake_sessiond.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fake_sessiond.listener < 0 ||
	    bind(fake_sessiond.listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
	    listen(fake_sessiond.listener, 1) != 0)
		abort();
}

void fuzz_clean_up(void)
{
	unlink(address.sun_path);
	rmdir(dir);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wmk_conn conn;

	if (!sets[0])
		set_up();
	*sets[FD_CHANGED]->header = header;
	wmk_lock();
	open_conn(&conn);
	for (size_t at = 0; at < size;) {
		at += process_frame(data + at, size - at);
		if (fake_sessiond.sock >= 0) {
			const bool is_of_use = iterate(&conn) && !fake_sessiond.crashes;

			receive();
			if (!is_of_use)
				close_conn(&conn, conn.persist);
		}
		if (fake_sessiond.crashes)
			open_conn(&conn);
		record();
	}
	if (fake_sessiond.sock >= 0)
		close_conn(&conn, false);
	wmk_orphans_remove(WMK_ENDPOINTS, true);
	wmk_patch_flush();
	if (!wmk_reclaim() && !wmk_reclaim())
		abort();
	wmk_unlock();
	check_nothing_enabled();
	record();
	peer_count_descriptors();
	return 0;
}
