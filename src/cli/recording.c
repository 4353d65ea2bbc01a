/* SPDX-License-Identifier: MIT */
/*
 * recording.c - puts ring set, store, consumer and registration together, and takes them apart in the order that loses nothing.
 */
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock_plugin.h"
#include "base/error.h"
#include "cli/recording.h"

#define PROGRAM_CHANNEL "channel0"
#define APPS_MAX 16384u
#define SAME_SECOND_MAX 10000u

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

int wmk_recording_default_path(const char *program, time_t now, unsigned number, char *path, size_t size)
{
	int err = wmk_store_default_path(getenv("WAYMARK_TRACE_DIR"), getenv("HOME"), program, now, path, size);
	size_t len = err < 0 ? 0 : strlen(path);

	if (err >= 0 && number > 1 && (size_t)snprintf(path + len, size - len, "-%u", number) >= size - len)
		return wmk_error(-ENAMETOOLONG, "the path of the trace is too long");
	return err;
}

/* The default name tells the second: who is not the first in it gets a number after it. */
static int make_default_store(struct wmk_recording *rec, const struct wmk_recording_options *options, const char *sub)
{
	const time_t now = time(NULL);
	int err = -ENOTEMPTY;

	for (unsigned i = 1; (err == -ENOTEMPTY || err == -EEXIST) && i <= SAME_SECOND_MAX; i++) {
		int named = wmk_recording_default_path(options->name, now, i, rec->path, sizeof(rec->path));

		if (named < 0)
			return named;
		rec->made = true;
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

/* ── the outlet: a consumer for each channel, in this process ────────────────────────────────────────── */

static int trace_open(void *data, const struct wmk_trace_info *info, void **trace)
{
	struct wmk_recording *rec = data;

	if (info->uid != getuid() || rec->traced)
		return wmk_error(-EPERM, "one user's programs are recorded here, user %u's", (unsigned)getuid());
	memcpy(rec->uuid, info->uuid, sizeof(rec->uuid));
	rec->traced = true;
	*trace = rec;
	return 0;
}

static int metadata(void *trace, const char *text, size_t len)
{
	return wmk_store_metadata(((struct wmk_recording *)trace)->store, text, len);
}

static int rings_open(void *trace, const struct wmk_rings_info *info, struct waymark_ring_set *set, void **rings)
{
	struct wmk_recording *rec = trace;
	struct wmk_consumer_options options = { .at_stop_only = rec->options->overwrite, .start_ts = info->start_ts };
	struct wmk_consumer *consumer;
	int err = wmk_sink_directory_open(rec->store, rec->uuid, &options.sink);

	if (err < 0)
		return err;
	err = wmk_consumer_open(&options, &consumer);
	if (err < 0) {
		options.sink->ops->close(options.sink);
		return err;
	}
	err = wmk_consumer_add_set(consumer, set, info->channel, info->stream_id);
	if (err == 0)
		err = wmk_consumer_start(consumer);
	if (err < 0) {
		wmk_consumer_close(consumer);
		return err;
	}
	*rings = rec->consumers[info->stream_id] = consumer;
	return 0;
}

static int rings_flush(void *rings)
{
	return wmk_consumer_flush(rings);
}

static int rings_stop(void *rings)
{
	return wmk_consumer_stop(rings);
}

static int rings_clear(void *rings)
{
	(void)rings;
	return wmk_error(-ENOTSUP, "what is recorded of one program's run is not cleared on the way");
}

static int rings_counts(void *rings, struct wmk_ctl_counts *counts)
{
	struct wmk_consumer_stats stats;

	wmk_consumer_stats(rings, &stats);
	counts->records += stats.records;
	counts->lost += stats.lost;
	return 0;
}

static void rings_poke(void *rings)
{
	wmk_consumer_poke(rings);
}

static void rings_close(void *rings)
{
	wmk_consumer_close(rings);
}

static void trace_close(void *trace)
{
	((struct wmk_recording *)trace)->traced = false;
}

static const struct wmk_outlet_ops outlet_ops = {
	.trace_open = trace_open, .metadata = metadata, .rings_open = rings_open, .rings_flush = rings_flush, .rings_stop = rings_stop,
	.rings_clear = rings_clear, .rings_counts = rings_counts, .rings_poke = rings_poke, .rings_close = rings_close,
	.trace_close = trace_close,
};

/* ── the session ─────────────────────────────────────────────────────────────────────────────────────── */

/* Patterns with a '!' in front are excluded from what all others name. */
static int add_rules(struct wmk_session_channel *channel, const struct wmk_recording_options *options)
{
	const char **excluded = calloc(options->n_patterns + 1, sizeof(*excluded));
	struct wmk_ctl_rule rule = { .exclusions = { excluded, 0 }, .filter = options->filter };
	bool any = false;
	int err = excluded ? 0 : wmk_error(-ENOMEM, "no memory for the patterns");

	for (unsigned i = 0; err == 0 && i < options->n_patterns; i++)
		if (options->patterns[i][0] == '!')
			excluded[rule.exclusions.n++] = options->patterns[i] + 1;
	for (unsigned i = 0; err == 0 && i < options->n_patterns; i++) {
		rule.pattern = options->patterns[i];
		if (rule.pattern[0] == '!')
			continue;
		err = wmk_session_rule_add(channel, &rule);
		any = true;
	}
	rule.pattern = "*";
	if (err == 0 && !any)
		err = wmk_session_rule_add(channel, &rule);
	free(excluded);
	return err;
}

/* Locked. */
static int fill_session(struct wmk_recording *rec, const struct wmk_recording_options *options)
{
	const char *contexts[WMK_WIRE_CONTEXTS_MAX];
	const struct wmk_ctl_channel given = {
		.name = PROGRAM_CHANNEL, .mode = options->overwrite ? WMK_MODE_OVERWRITE : WMK_MODE_DISCARD,
		.subbuf_size = options->subbuf_size, .n_subbufs = options->n_subbufs, .contexts = { contexts, options->n_contexts },
	};
	struct wmk_session_channel *channel;

	for (unsigned i = 0; i < options->n_contexts; i++)
		contexts[i] = wmk_ctf_context(options->contexts[i])->field.name;
	int err = wmk_session_channel_add(rec->session, &given, &channel);

	if (err == 0)
		err = add_rules(channel, options);
	if (err == 0)
		err = wmk_session_start(rec->session);
	/* before the program runs: what cannot be made is said, and its first record finds memory */
	return err < 0 ? err : wmk_session_prepare(rec->session, getuid());
}

static int open_session(struct wmk_recording *rec, const struct wmk_recording_options *options)
{
	char path[sizeof(rec->path)];
	const struct wmk_session_options session = {
		.name = "record", .path = realpath(rec->path, path), .uid = getuid(), .gid = getgid(), .statedump = true,
		.trace_name = options->name, .trace_format = options->trace_format,
	};
	int err = session.path ? wmk_session_create(rec->tracing, &session, &rec->session) :
				 wmk_error(-errno, "cannot find %.200s: %s", rec->path, strerror(errno));

	if (err < 0)
		return err;
	err = wmk_session_lock(rec->session);
	if (err == 0) {
		err = fill_session(rec, options);
		wmk_session_unlock(rec->session);
	}
	return err;
}

static int open_parts(struct wmk_recording *rec, const struct wmk_recording_options *options)
{
	struct wmk_tracing_options tracing = { .size = sizeof(tracing), .outlet = &outlet_ops, .outlet_data = rec, .clock = &rec->clock };
	struct wmk_apps_options apps = { .size = sizeof(apps), .keep = true, .on_app = options->on_app, .data = options->data };
	int err = wmk_clock_choose(&rec->clock, &rec->plugin_clock);

	if (err >= 0)
		err = make_rundir(rec);
	if (err >= 0)
		err = make_store(rec, options);
	if (err < 0)
		return err;
	tracing.plugin_clock = rec->plugin_clock;
	tracing.max_apps = APPS_MAX;
	tracing.max_ring_bytes = UINT64_MAX;     /* what was asked for is tried */
	err = wmk_tracing_open(&tracing, &rec->tracing);
	if (err >= 0)
		err = open_session(rec, options);
	apps.tracing = rec->tracing;
	apps.rundir = rec->rundir;
	apps.max_apps = APPS_MAX;
	return err < 0 ? err : wmk_apps_open(&apps, &rec->apps);
}

int wmk_recording_open(const struct wmk_recording_options *options, struct wmk_recording **out)
{
	struct wmk_recording *rec = calloc(1, sizeof(*rec));
	int err;

	if (!rec)
		return wmk_error(-ENOMEM, "no memory for a recording");
	rec->options = options;
	wmk_tracing_thread_begin();
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

	wmk_consumer_stats(rec->consumers[channel], &one);
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

/* Nothing is recorded any more, as far as programs answer. */
static int stop_session(struct wmk_recording *rec, int ms)
{
	struct wmk_apps_stats apps;
	int unanswered = 0;

	wmk_apps_stats(rec->apps, &apps);
	if (wmk_session_lock(rec->session) < 0)
		return 0;
	wmk_session_stop(rec->session);
	rec->metadata_error = wmk_session_trouble(rec->session, rec->metadata_words, sizeof(rec->metadata_words));
	wmk_session_unlock(rec->session);
	if (apps.apps_connected) {
		wmk_apps_update(rec->apps, rec->session);
		unanswered = wmk_apps_sync(rec->apps, ms);
	}
	return unanswered;
}

unsigned wmk_recording_stop(struct wmk_recording *rec, int ms)
{
	int unanswered = stop_session(rec, ms);

	for (unsigned i = 0; i < WMK_RECORDING_CHANNELS; i++) {
		if (wmk_consumer_stop(rec->consumers[i]) < 0 && !rec->failure[0])
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
void wmk_recording_discard(const char *path, bool made)
{
	nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	if (made)
		rmdir(path);
}

void wmk_recording_close(struct wmk_recording *rec)
{
	if (!rec)
		return;
	wmk_apps_close(rec->apps);
	wmk_session_put(rec->session);
	wmk_tracing_close(rec->tracing);
	wmk_tracing_thread_end();
	if (rec->store) {
		wmk_store_close(rec->store);
		if (!rec->keep)
			wmk_recording_discard(rec->path, rec->made);
	}
	if (rec->rundir[0])
		rmdir(rec->rundir);
	free(rec);
}
