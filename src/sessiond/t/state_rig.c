/* SPDX-License-Identifier: MIT */
/*
 * state_rig.c - see state_rig.h.
 */
#include "state_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "session/model/session_model.h"
#include "session/recovery/state_file.h"
#include "sessiond/shards.h"

/* ── a consumer that keeps the rings, as a consumer daemon does ──────────────────────────────────────── */

struct state_consumer output;

static int trace_open(void *data, const struct wmk_trace_info *info, void **trace)
{
	(void)data;
	memcpy(output.uuid, info->uuid, sizeof(output.uuid));
	*trace = &output;
	return 0;
}

static int metadata(void *trace, const char *text, size_t len)
{
	(void)trace;
	size_t at = strlen(output.text);

	assert_true(at + len < sizeof(output.text));
	memcpy(output.text + at, text, len);
	output.text[at + len] = '\0';
	return 0;
}

unsigned events_in(const char *text)
{
	unsigned n = 0;

	while ((text = strstr(text, "event {")) != NULL) {
		text += 7;
		n++;
	}
	return n;
}

static int metadata_replace(void *trace, const char *text, size_t len, bool wait)
{
	const unsigned before = events_in(output.text);

	(void)trace;
	(void)wait;
	assert_true(len < sizeof(output.text));
	memcpy(output.text, text, len);
	output.text[len] = '\0';
	output.fewer += events_in(output.text) < before;
	return 0;
}

static int rings_open(void *trace, const struct wmk_rings_info *info, struct waymark_ring_set *set, void **rings)
{
	(void)trace;
	*rings = &output;
	if (info->restored) {
		output.reopened++;
		return 0;
	}
	if (output.n == KEPT_MAX)
		abort();
	struct kept *kept = &output.rings[output.n++];
	memcpy(kept->uuid, output.uuid, sizeof(kept->uuid));
	kept->stream_id = info->stream_id;
	kept->fd = fcntl(waymark_ring_set_fd(set), F_DUPFD_CLOEXEC, 3);
	return 0;
}

static int rings_nothing(void *rings, bool wait) { (void)rings; (void)wait; return 0; }
static int rings_counts(void *rings, struct wmk_counts *counts, struct wmk_counts *earlier)
{
	(void)rings, (void)counts, (void)earlier;
	return 0;
}

static void rings_done(void *rings) { (void)rings; }

static const struct wmk_consumer_port_ops ops = {
	.trace_open = trace_open,
	.metadata = metadata,
	.metadata_replace = metadata_replace,
	.rings_open = rings_open,
	.rings_flush = rings_nothing,
	.rings_stop = rings_nothing,
	.rings_clear = rings_nothing,
	.rings_counts = rings_counts,
	.rings_wake = rings_done,
	.rings_close = rings_done,
	.trace_close = rings_done,
};

int held(void *data, const uint8_t uuid[16], uint32_t stream_id)
{
	(void)data;
	for (unsigned i = 0; i < output.n; i++)
		if (memcmp(output.rings[i].uuid, uuid, 16) == 0 && output.rings[i].stream_id == stream_id)
			return output.rings[i].fd;
	return -1;
}

int held_nothing(void *data, const uint8_t uuid[16], uint32_t stream_id)
{
	(void)data;
	(void)uuid;
	(void)stream_id;
	return -1;
}

/* ── a daemon ────────────────────────────────────────────────────────────────────────────────────────── */

struct state_scene scene;

static void say(void *data, const char *words)
{
	(void)data;
	snprintf(scene.words, sizeof(scene.words), "%s", words);
	scene.said++;
}

static int on_id(void *data, struct wmk_session *session, uint64_t rings_id, uint32_t id,
		 const struct wmk_event_class *event)
{
	(void)data;
	return wmk_state_id(scene.state, session, rings_id, id, event);
}

void daemon_open(wmk_state_held *holding)
{
	struct wmk_clocks clocks = { .preferred = WMK_CLOCK_MONOTONIC };
	struct wmk_tracing_options options = {
		.size = sizeof(options), .consumer = &ops, .clocks = &clocks, .on_id = on_id
	};

	assert_int_equal(wmk_clock_measure(WMK_CLOCK_MONOTONIC, &clocks.of[WMK_CLOCK_MONOTONIC]), 0);
	assert_int_equal(wmk_state_open(scene.fd, NULL, say, NULL, &scene.state), 0);
	options.first_rings_id = wmk_state_last_rings(scene.state);
	assert_int_equal(wmk_tracing_open(&options, &scene.tracing), 0);
	wmk_reattach_init(scene.tracing);
	assert_int_equal(wmk_state_identities(scene.state, scene.tracing), 0);
	scene.restored = wmk_state_restore(scene.state, scene.tracing, holding, NULL, NULL);
	assert_int_equal(wmk_state_identities_begin(scene.state), 0);
	assert_int_equal(wmk_shards_open(scene.tracing, 1, &scene.shards), 0);
}

void daemon_close(void)
{
	wmk_shards_close(scene.shards);
	wmk_tracing_close(scene.tracing);
	wmk_state_close(scene.state);
}

int scene_open(void **state)
{
	(void)state;
	memset(&scene, 0, sizeof(scene));
	memset(&output, 0, sizeof(output));
	strcpy(scene.dir, "/tmp/waymark-state-XXXXXX");
	assert_non_null(mkdtemp(scene.dir));
	scene.fd = open(scene.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	wmk_tracing_thread_begin();
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	return remove(path);
}

int scene_close(void **state)
{
	(void)state;
	wmk_tracing_thread_end();
	close(scene.fd);
	for (unsigned i = 0; i < output.n; i++)
		close(output.rings[i].fd);
	return nftw(scene.dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Create and start a session with a channel for shop:*. */
struct wmk_session *session_make(const char *name)
{
	char path[80];
	const struct wmk_session_options options = { .name = name, .path = path, .uid = geteuid(), .gid = getegid() };
	const struct wmk_ctl_rule rule = { .pattern = "shop:*", .level_op = WMK_LEVEL_AT_LEAST, .level = 6 };
	const char *context = "vtid";
	const struct wmk_ctl_channel channel = {
		.name = "goods",
		.settings.subbuf_size = 8192,
		.settings.n_subbufs = 4,
		.contexts = { &context, 1 },
		.rules = { (void *)(uintptr_t)&rule, 1 },
	};
	uint64_t pid = (uint64_t)getpid();
	const struct wmk_ctl_track track = { .kind = WMK_TRACK_PID, .ids = { &pid, 1 } };
	struct wmk_session_channel *made;
	struct wmk_session *session;

	snprintf(path, sizeof(path), "/nowhere/%s", name);
	assert_int_equal(wmk_session_create(scene.tracing, &options, &session), 0);
	assert_int_equal(wmk_session_lock(session), 0);
	assert_int_equal(wmk_session_channel_add(session, &channel, &made), 0);
	assert_int_equal(wmk_session_track(session, &track, true), 0);
	assert_int_equal(wmk_session_start(session), 0);
	assert_int_equal(wmk_state_changed(scene.state, session, false), 0);
	wmk_session_unlock(session);
	assert_int_equal(wmk_tracing_update(scene.tracing, session, 5000, NULL, NULL), 0);
	return session;
}

int files(void)
{
	char path[128];
	int n = 0;

	for (int i = 1; i < 20; i++)
		for (int kind = 0; kind < 3; kind++) {
			static const char *const kinds[] = { "json", "ids", "new" };

			snprintf(path, sizeof(path), "%s/state/%d.%s", scene.dir, i, kinds[kind]);
			n += access(path, F_OK) == 0;
		}
	return n;
}
