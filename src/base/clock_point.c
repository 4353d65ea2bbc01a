/* SPDX-License-Identifier: MIT */
/* clock_point.c - measure sync points, and their bytes in the file .clock (see clock_point.h). */
#include "base/clock_point.h"

#include "base/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ATTEMPTS 16
#define VERSION 1u
#define UUID_AT 16u
#define KIND_AT 60u
#define RELAY_AT 64u
#define HOST_AT 112u

static const char magic[8] = { 'w', 'm', 'k', 'c', 'l', 'o', 'c', 'k' };
static const char relay_magic[8] = { 'w', 'm', 'k', 'r', 'e', 'l', 'a', 'y' };

_Static_assert(HOST_AT + WMK_PEER_NAME_MAX <= WMK_CLOCK_RELAY_HEAD, "HOST fits into the header");

int wmk_clocks_prepare(struct wmk_clocks *clocks)
{
	const char *path = secure_getenv("WAYMARK_CLOCK_PLUGIN");
	struct waymark_clock_plugin plugin;
	int err;

	memset(clocks, 0, sizeof(*clocks));
	clocks->ahead = wmk_clock_offsets().monotonic;
	if (!path || !*path)
		return 0;
	err = wmk_clock_plugin_open(path, &plugin);
	if (err < 0)
		return err;
	clocks->plugin_now = plugin.now;
	snprintf(clocks->of[WMK_CLOCK_PLUGIN].uuid, WMK_CLOCK_UUID, "%.36s", plugin.uuid ? plugin.uuid : "");
	return 0;
}

void wmk_clocks_uuid(const struct wmk_clocks *clocks, enum wmk_clock_kind kind, char uuid[WMK_CLOCK_UUID])
{
	int fd;
	ssize_t n = 0;

	memset(uuid, 0, WMK_CLOCK_UUID);
	if (kind == WMK_CLOCK_PLUGIN) {
		memcpy(uuid, clocks->of[kind].uuid, WMK_CLOCK_UUID);
		return;
	}
	fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, uuid, WMK_CLOCK_UUID - 1);
		close(fd);
	}
	if (n != (ssize_t)WMK_CLOCK_UUID - 1)
		memset(uuid, 0, WMK_CLOCK_UUID);
}

static uint64_t realtime_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/*
 * The readings are nested. The function reads, in this order: real time, CLOCK_MONOTONIC, the trace clock,
 * CLOCK_MONOTONIC, real time. The outer width is the difference between the two readings of real time. Half of this
 * outer width bounds the errors of monotonic_ns and real_ns. If real time is set between its two readings, the outer
 * width is large or negative. The width is unsigned, so a negative width becomes a large number. wmk_clock_point_take()
 * uses the attempt with the smallest width, and so rejects attempts during which real time was set.
 */
void wmk_clock_point_take(const struct wmk_clocks *clocks, enum wmk_clock_kind kind, struct wmk_clock_point *point)
{
	uint64_t best = UINT64_MAX;

	memset(point, 0, sizeof(*point));
	for (int i = 0; i < ATTEMPTS; i++) {
		const uint64_t real = realtime_ns(), monotonic = wmk_clock_monotonic(),
			       value = wmk_clocks_now(clocks, kind),
			       monotonic_width = wmk_clock_monotonic() - monotonic, width = realtime_ns() - real;

		if (i && width >= best)
			continue;
		best = width;
		point->value = value;
		point->monotonic_ns = monotonic + monotonic_width / 2 - (uint64_t)clocks->ahead;
		point->real_ns = real + width / 2;
	}
	best = best / 2 + 1;
	point->uncertainty_ns = best > UINT32_MAX ? UINT32_MAX : (uint32_t)best;
}

size_t wmk_clock_head_encode(const struct wmk_clock_head *head, uint8_t bytes[WMK_CLOCK_RELAY_HEAD])
{
	const bool is_relay = head->relay[0];

	memset(bytes, 0, WMK_CLOCK_RELAY_HEAD);
	memcpy(bytes, is_relay ? relay_magic : magic, sizeof(magic));
	wmk_put32(bytes + 8, VERSION);
	wmk_put32(bytes + 12, WMK_CLOCK_POINT_BYTES);
	memcpy(bytes + UUID_AT, head->uuid, strnlen(head->uuid, WMK_CLOCK_UUID - 1));
	wmk_put32(bytes + KIND_AT, head->kind);
	memcpy(bytes + RELAY_AT, head->relay, strnlen(head->relay, WMK_CLOCK_UUID - 1));
	memcpy(bytes + HOST_AT, head->host, strnlen(head->host, WMK_PEER_NAME_MAX - 1));
	return is_relay ? WMK_CLOCK_RELAY_HEAD : WMK_CLOCK_FILE_HEAD;
}

int wmk_clock_head_decode(const uint8_t *bytes, size_t len, struct wmk_clock_head *head)
{
	const bool is_relay = len == WMK_CLOCK_RELAY_HEAD;

	memset(head, 0, sizeof(*head));
	if (memcmp(bytes, is_relay ? relay_magic : magic, sizeof(magic)) != 0 || wmk_get32(bytes + 8) != VERSION ||
	    wmk_get32(bytes + 12) != WMK_CLOCK_POINT_BYTES)
		return -EPROTO;
	memcpy(head->uuid, bytes + UUID_AT, WMK_CLOCK_UUID - 1);
	head->kind = wmk_get32(bytes + KIND_AT);
	if (!is_relay)
		return 0;
	memcpy(head->relay, bytes + RELAY_AT, WMK_CLOCK_UUID - 1);
	memcpy(head->host, bytes + HOST_AT, WMK_PEER_NAME_MAX - 1);
	return head->relay[0] ? 0 : -EPROTO;
}

void wmk_clock_point_encode(const struct wmk_clock_point *point, uint8_t bytes[WMK_CLOCK_POINT_BYTES])
{
	wmk_put64(bytes, point->value);
	wmk_put64(bytes + 8, point->monotonic_ns);
	wmk_put64(bytes + 16, point->real_ns);
	wmk_put32(bytes + 24, point->uncertainty_ns);
	wmk_put32(bytes + 28, point->flags);
}

void wmk_clock_point_decode(const uint8_t bytes[WMK_CLOCK_POINT_BYTES], struct wmk_clock_point *point)
{
	point->value = wmk_get64(bytes);
	point->monotonic_ns = wmk_get64(bytes + 8);
	point->real_ns = wmk_get64(bytes + 16);
	point->uncertainty_ns = wmk_get32(bytes + 24);
	point->flags = wmk_get32(bytes + 28);
}
