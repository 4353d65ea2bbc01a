/* SPDX-License-Identifier: MIT */
/*
 * recording.c - puts ring set, store, consumer and registration together, and takes them apart in the order that loses nothing.
 */
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/clock_plugin.h"
#include "base/error.h"
#include "cli/recording.h"
#include "ring/set.h"

#define FIELD_LIMIT 65536u
/* Memory that is there before the program starts; the rest follows as CPUs begin to record. */
#define PREFAULT_MAX (64ull << 20)
/* The state dump is a few hundred short records for each program. */
#define STATEDUMP_SUBBUF 65536u
#define STATEDUMP_SUBBUFS 4u
#define APPS_MAX 16384u
#define SAME_SECOND_MAX 10000u

static const char *const channel_names[] = { "channel0", "statedump" };

static int make_rundir(struct wmk_recording *rec)
{
	char parent[32];

	snprintf(parent, sizeof(parent), "/run/user/%u", (unsigned)getuid());
	if (access(parent, W_OK | X_OK) < 0)
		strcpy(parent, "/tmp");
	snprintf(rec->rundir, sizeof(rec->rundir), "%s/waymark-record-XXXXXX", parent);
	if (!mkdtemp(rec->rundir)) {
		int err = -errno;

		rec->rundir[0] = '\0';
		return wmk_error(err, "cannot make a runtime directory in %s: %s", parent, strerror(-err));
	}
	return 0;
}

static int make_uuid(uint8_t uuid[16])
{
	if (getrandom(uuid, 16, 0) != 16)
		return wmk_error(-errno, "no random numbers: %s", strerror(errno));
	uuid[6] = (uint8_t)((uuid[6] & 0x0f) | 0x40);
	uuid[8] = (uint8_t)((uuid[8] & 0x3f) | 0x80);
	return 0;
}

/*
 * The machine's clock; or the plug-in's, for which the programs get the same variable. They announce its name when they register, and
 * who has another clock is refused.
 */
static int choose_clock(struct wmk_recording *rec, struct wmk_clock *clock)
{
	const char *path = secure_getenv("WAYMARK_CLOCK_PLUGIN");
	struct waymark_clock_plugin plugin;

	if (!path || !*path)
		return wmk_clock_measure(wmk_clock_detect(), clock);
	int err = wmk_clock_plugin_open(path, &plugin);

	if (err < 0)
		return wmk_error_add(err, "WAYMARK_CLOCK_PLUGIN names a clock that cannot be used");
	wmk_clock_plugin_measure(&plugin, clock);
	rec->plugin_clock = plugin.now;
	return 0;
}

static int make_set(struct wmk_recording *rec, unsigned channel, const struct wmk_recording_options *options, enum wmk_clock_kind clock)
{
	bool own = channel == WMK_RECORDING_PROGRAM;
	struct waymark_ring_options ring = {
		.size = sizeof(ring),
		.subbuf_size = own ? options->subbuf_size : STATEDUMP_SUBBUF,
		.n_subbufs = own ? options->n_subbufs : STATEDUMP_SUBBUFS,
		.header_room = wmk_consumer_header_room(own ? options->subbuf_size : STATEDUMP_SUBBUF),
		.mode = own && options->overwrite ? WAYMARK_RING_OVERWRITE : WAYMARK_RING_DISCARD,
		.clock = (uint32_t)clock,
		.prefault = own ? PREFAULT_MAX : 0,
	};
	int err;

	memcpy(ring.uuid, rec->uuid, sizeof(ring.uuid));
	err = waymark_ring_set_create(&ring, &rec->channels[channel].set);
	if (err == 0)
		wmk_ring_set_plugin_clock(rec->channels[channel].set, rec->plugin_clock);
	return err < 0 ? wmk_error(err, "cannot make ring buffers of %u x %u bytes for each CPU: %s", ring.n_subbufs,
				   ring.subbuf_size, strerror(-err)) : 0;
}

/* The default name tells the second: who is not the first in it gets a number after it. */
static int make_default_store(struct wmk_recording *rec, const struct wmk_recording_options *options, const char *sub)
{
	size_t len;
	int err = wmk_store_default_path(getenv("WAYMARK_TRACE_DIR"), getenv("HOME"), options->name, time(NULL), rec->path,
					 sizeof(rec->path));

	if (err < 0)
		return err;
	len = strlen(rec->path);
	rec->made = true;
	err = wmk_store_create(rec->path, sub, &rec->store);
	for (unsigned i = 2; (err == -ENOTEMPTY || err == -EEXIST) && i <= SAME_SECOND_MAX; i++) {
		if ((size_t)snprintf(rec->path + len, sizeof(rec->path) - len, "-%u", i) >= sizeof(rec->path) - len)
			return wmk_error(-ENAMETOOLONG, "the path of the trace is too long");
		err = wmk_store_create(rec->path, sub, &rec->store);
	}
	return err;
}

static int make_store(struct wmk_recording *rec, const struct wmk_recording_options *options)
{
	char sub[64];
	int err = wmk_store_sub_uid(getuid(), sub, sizeof(sub));

	if (err < 0)
		return err;
	if (!options->output)
		return make_default_store(rec, options, sub);
	if ((size_t)snprintf(rec->path, sizeof(rec->path), "%s", options->output) >= sizeof(rec->path))
		return wmk_error(-ENAMETOOLONG, "the name of the trace directory is too long");
	rec->made = access(rec->path, F_OK) < 0;
	return wmk_store_create(rec->path, sub, &rec->store);
}

/* Whose objects they are, whatever the user asked for. (The thread that says it is libwaymark's own: its name tells nothing.) */
static const uint8_t statedump_contexts[] = { WMK_CTX_VPID };

static int stream_text(struct wmk_ctf_text *text, unsigned channel, const uint8_t *numbers, unsigned n)
{
	const struct wmk_field *contexts[WMK_WIRE_CONTEXTS_MAX];

	for (unsigned i = 0; i < n; i++)
		contexts[i] = &wmk_ctf_context(numbers[i])->field;
	return wmk_ctf_stream_text(text, channel, contexts, n);
}

static int write_metadata(struct wmk_recording *rec, const struct wmk_recording_options *options, const struct wmk_clock *clock)
{
	char created[32], host[65] = "", uid[16];
	struct wmk_ctf_trace trace = {
		.name = options->name,
		.created = created,
		.domain = "ust",
		.hostname = host,
		.buffering = "uid",
		.buffering_id = uid,
		.clock = clock,
	};
	struct wmk_ctf_text text = { 0 };
	time_t now = time(NULL);
	struct tm tm;
	int err;

	memcpy(trace.uuid, rec->uuid, sizeof(trace.uuid));
	snprintf(uid, sizeof(uid), "%u", (unsigned)getuid());
	gethostname(host, sizeof(host) - 1);
	localtime_r(&now, &tm);
	strftime(created, sizeof(created), "%Y%m%dT%H%M%S%z", &tm);
	err = wmk_ctf_trace_text(&text, &trace);
	if (err >= 0)
		err = stream_text(&text, WMK_RECORDING_PROGRAM, options->contexts, options->n_contexts);
	if (err >= 0)
		err = stream_text(&text, WMK_RECORDING_STATEDUMP, statedump_contexts, sizeof(statedump_contexts));
	if (err >= 0)
		err = wmk_store_metadata(rec->store, text.text, text.len);
	wmk_ctf_text_free(&text);
	return err < 0 ? err : 0;
}

static int start_consumer(struct wmk_recording *rec, unsigned channel, const struct wmk_recording_options *options,
			  const struct wmk_clock *clock)
{
	struct wmk_recording_channel *ch = &rec->channels[channel];
	struct wmk_consumer_options consumer = {
		.at_stop_only = options->overwrite,
		.start_ts = rec->plugin_clock ? rec->plugin_clock() :
			    clock->kind == WMK_CLOCK_COUNTER ? wmk_clock_counter() : wmk_clock_monotonic(),
	};
	int err = wmk_sink_directory_open(rec->store, rec->uuid, &consumer.sink);

	if (err < 0)
		return err;
	err = wmk_consumer_open(&consumer, &ch->consumer);
	if (err < 0) {
		consumer.sink->ops->close(consumer.sink);
		return err;
	}
	err = wmk_consumer_add_set(ch->consumer, ch->set, channel_names[channel], channel);
	return err < 0 ? err : wmk_consumer_start(ch->consumer);
}

/* An event is on disk before any program hears of its id. */
static int declare_event(void *data, unsigned channel, uint32_t id, const struct wmk_event_class *event)
{
	struct wmk_recording *rec = data;
	struct wmk_ctf_text text = { 0 };
	int err = wmk_ctf_event_text(&text, channel, id, event);

	if (err >= 0)
		err = wmk_store_metadata(rec->store, text.text, text.len);
	wmk_ctf_text_free(&text);
	if (err < 0 && !rec->metadata_error) {
		rec->metadata_error = err;
		snprintf(rec->metadata_words, sizeof(rec->metadata_words), "%s:%s is not recorded: ", event->provider, event->name);
		wmk_error_text(rec->metadata_words + strlen(rec->metadata_words),
			       sizeof(rec->metadata_words) - strlen(rec->metadata_words));
	}
	return err < 0 ? err : 0;
}

static void report_app(void *data, const struct wmk_app_info *info)
{
	const struct wmk_recording *rec = data;

	if (rec->options->on_app)
		rec->options->on_app(rec->options->data, info);
}

static int open_apps(struct wmk_recording *rec, const struct wmk_recording_options *options, const struct wmk_clock *clock)
{
	static const char *const nothing[] = { "!*" };
	struct wmk_apps_channel channels[WMK_RECORDING_CHANNELS] = {
		[WMK_RECORDING_PROGRAM] = {
			.set = rec->channels[WMK_RECORDING_PROGRAM].set,
			.field_limit = FIELD_LIMIT,
			.n_contexts = options->n_contexts,
			.patterns = options->patterns,
			.n_patterns = options->n_patterns,
		},
		[WMK_RECORDING_STATEDUMP] = {
			.set = rec->channels[WMK_RECORDING_STATEDUMP].set,
			.field_limit = FIELD_LIMIT,
			.n_contexts = sizeof(statedump_contexts),
			.patterns = nothing,
			.n_patterns = 1,
			.statedump = true,
		},
	};
	struct wmk_apps_options apps = {
		.size = sizeof(apps),
		.rundir = rec->rundir,
		.channels = channels,
		.n_channels = WMK_RECORDING_CHANNELS,
		.max_apps = APPS_MAX,
		.clock = rec->plugin_clock ? clock->name : "",
		.ops = { .on_event_class = declare_event, .on_app = report_app, .data = rec },
	};

	memcpy(channels[WMK_RECORDING_PROGRAM].contexts, options->contexts, sizeof(channels[0].contexts));
	memcpy(channels[WMK_RECORDING_STATEDUMP].contexts, statedump_contexts, sizeof(statedump_contexts));
	return wmk_apps_open(&apps, &rec->apps);
}

static int open_parts(struct wmk_recording *rec, const struct wmk_recording_options *options)
{
	struct wmk_clock clock;
	int err = choose_clock(rec, &clock);

	if (err < 0)
		return err;
	err = make_uuid(rec->uuid);
	if (err >= 0)
		err = make_rundir(rec);
	for (unsigned i = 0; i < WMK_RECORDING_CHANNELS && err >= 0; i++)
		err = make_set(rec, i, options, clock.kind);
	if (err >= 0)
		err = make_store(rec, options);
	if (err >= 0)
		err = write_metadata(rec, options, &clock);
	for (unsigned i = 0; i < WMK_RECORDING_CHANNELS && err >= 0; i++)
		err = start_consumer(rec, i, options, &clock);
	if (err >= 0)
		err = open_apps(rec, options, &clock);
	return err;
}

int wmk_recording_open(const struct wmk_recording_options *options, struct wmk_recording **out)
{
	struct wmk_recording *rec = calloc(1, sizeof(*rec));
	int err;

	if (!rec)
		return wmk_error(-ENOMEM, "no memory for a recording");
	rec->options = options;
	err = open_parts(rec, options);
	if (err < 0) {
		wmk_recording_close(rec);
		return err;
	}
	*out = rec;
	return 0;
}

static void add_stats(struct wmk_recording *rec, unsigned channel)
{
	struct wmk_consumer_stats one, *sum = &rec->stats;

	wmk_consumer_stats(rec->channels[channel].consumer, &one);
	if (channel == WMK_RECORDING_STATEDUMP)
		rec->statedump_records = one.records;
	sum->records += one.records;
	sum->lost += one.lost;
	for (unsigned i = 0; i < WAYMARK_LOST_CAUSES; i++)
		sum->lost_by_cause[i] += one.lost_by_cause[i];
	sum->overwritten += one.overwritten;
	sum->unwritten += one.unwritten;
	sum->cut += one.cut;
	sum->packets += one.packets;
	sum->writing_us += one.writing_us;
	sum->behind_us += one.behind_us;
	sum->behind_bytes += one.behind_bytes;
	sum->streams += one.streams;
	if (!sum->words[0])
		memcpy(sum->words, one.words, sizeof(sum->words));
}

unsigned wmk_recording_stop(struct wmk_recording *rec, int ms)
{
	struct wmk_apps_stats apps;
	int unanswered = 0;

	wmk_apps_stats(rec->apps, &apps);
	if (apps.apps_connected) {
		for (unsigned i = 0; i < WMK_RECORDING_CHANNELS; i++)
			wmk_apps_channel_switch(rec->apps, i, false);
		unanswered = wmk_apps_sync(rec->apps, ms);
	}
	for (unsigned i = 0; i < WMK_RECORDING_CHANNELS; i++) {
		if (wmk_consumer_stop(rec->channels[i].consumer) < 0 && !rec->failure[0])
			wmk_error_text(rec->failure, sizeof(rec->failure));
		add_stats(rec, i);
	}
	rec->stats.bytes = wmk_store_bytes(rec->store);
	return unanswered > 0 ? (unsigned)unanswered : 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	return where->level ? remove(path) : 0;
}

/* The program did not run: no almost empty trace stays behind. All that is in the directory is ours, since it was empty. */
static void discard(const struct wmk_recording *rec)
{
	nftw(rec->path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	if (rec->made)
		rmdir(rec->path);
}

void wmk_recording_close(struct wmk_recording *rec)
{
	if (!rec)
		return;
	if (rec->apps)
		wmk_apps_close(rec->apps);
	for (unsigned i = 0; i < WMK_RECORDING_CHANNELS; i++) {
		if (!rec->channels[i].consumer)
			continue;
		wmk_consumer_stop(rec->channels[i].consumer);
		wmk_consumer_close(rec->channels[i].consumer);
	}
	if (rec->store) {
		wmk_store_close(rec->store);
		if (!rec->keep)
			discard(rec);
	}
	for (unsigned i = 0; i < WMK_RECORDING_CHANNELS; i++)
		if (rec->channels[i].set)
			waymark_ring_set_close(rec->channels[i].set);
	if (rec->rundir[0])
		rmdir(rec->rundir);
	free(rec);
}
