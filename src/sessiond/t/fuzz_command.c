/* SPDX-License-Identifier: MIT */
/*
 * fuzz_command.c - arbitrary bytes as requests of a client, with the real core. The input is a sequence of {type: one
 * byte, length: two bytes, body}. Each request gets exactly one answer with its number. After each input a well-behaved
 * client creates, starts and destroys a session.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session/t/nowhere.h"
#include "sessiond/command.h"
#include "wire/ctl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct wmk_commands commands = { .version = "fuzz", .rundir = "/nowhere" };

static void set_up(void)
{
	struct wmk_clocks clocks = { .preferred = WMK_CLOCK_MONOTONIC };
	const struct wmk_tracing_options options = { .size = sizeof(options), .consumer = &nowhere, .clocks = &clocks };

	wmk_tracing_thread_begin();
	if (wmk_clock_measure(WMK_CLOCK_MONOTONIC, &clocks.of[WMK_CLOCK_MONOTONIC]) != 0 ||
	    wmk_tracing_open(&options, &commands.tracing) != 0)
		abort();
	/* Act as root's daemon, which creates no rings before an application registers. */
	commands.daemon = 0;
}

static uint16_t request(uint16_t type, const void *body, size_t len)
{
	const struct wmk_peer peer = { .pid = 1, .uid = geteuid(), .gid = getegid(), .member = true };
	struct wmk_frame frame = {
		.type = type, .version = WMK_WIRE_VERSION, .length = (uint32_t)len, .request = 4711
	};
	struct wmk_out out = { 0 };

	wmk_commands_run(&commands, &peer, &frame, body, &out);
	if (out.len < sizeof(frame))
		abort();
	memcpy(&frame, out.buf, sizeof(frame));
	if (frame.request != 4711 || frame.length != out.len - sizeof(frame) ||
	    (frame.type != WMK_CTL_REPLY && frame.type != WMK_CTL_ERROR))
		abort();
	wmk_out_free(&out);
	return frame.type;
}

static void good(uint16_t type, const void *object)
{
	uint8_t *bytes;
	long len = wmk_object_encode(wmk_ctl_request_find(type)->request, object, &bytes);

	if (len < 0 || request(type, bytes, (size_t)len) != WMK_CTL_REPLY)
		abort();
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wmk_ctl_rule rule = { .pattern = "a:*" };

	if (!commands.tracing)
		set_up();
	for (size_t at = 0; size - at >= 3;) {
		size_t len = data[at + 1] | (size_t)data[at + 2] << 8;
		uint16_t type = (uint16_t)(WMK_CTL_VERSION + data[at] % 32);

		at += 3;
		if (len > size - at)
			len = size - at;
		uint8_t *exact = malloc(len ? len : 1);          /* exact size: the sanitizer detects overreads */
		if (!exact)
			abort();
		memcpy(exact, data + at, len);
		request(type, exact, len);
		free(exact);
		at += len;
	}
	good(WMK_CTL_DESTROY, &(struct wmk_ctl_session_name){ .session = "" });
	good(WMK_CTL_CREATE, &(struct wmk_ctl_create){ .name = "good", .path = "/tmp/waymark-fuzz-none/good" });
	good(WMK_CTL_ENABLE_EVENT, &(struct wmk_ctl_enable_event){ .session = "good", .rules = { &rule, 1 } });
	good(WMK_CTL_START, &(struct wmk_ctl_session_name){ .session = "good" });
	good(WMK_CTL_STOP, &(struct wmk_ctl_session_name){ .session = "good" });
	good(WMK_CTL_DESTROY, &(struct wmk_ctl_session_name){ .session = "good" });
	return 0;
}
