/* SPDX-License-Identifier: MIT */
/*
 * recording.c - build a recording of session, store, consumers and registration, and take it apart in the order that
 * loses no records.
 */
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock_plugin.h"
#include "base/container.h"
#include "base/error.h"
#include "base/sum.h"
#include "cli/recording.h"
#include "ctf/writer.h"
#include "kernel/tracefs/instance.h"
#include "kernel/channel/syscall_reader.h"
#include "kernel/proc/namespaces.h"

#define PROGRAM_CHANNEL "channel0"
#define KERNEL_CHANNEL "kernel"
#define APPS_MAX 16384u
#define SAME_SECOND_MAX 10000u

static int make_rundir(struct wmk_recording *rec)
{
	char parent[32];

	snprintf(parent, sizeof(parent), "/run/user/%u", (unsigned)getuid());
	if (access(parent, W_OK | X_OK) < 0)
		strcpy(parent, "/tmp");
	wmk_recording_remove_left(parent);
	snprintf(rec->rundir, sizeof(rec->rundir), "%s/waymark-record-XXXXXX", parent);
	if (!mkdtemp(rec->rundir)) {
		int err = -errno;

		rec->rundir[0] = '\0';
		return wmk_error(err, "cannot create a runtime directory in %s: %s", parent, strerror(-err));
	}
	return 0;
}

int wmk_recording_default_path(const char *program, time_t now, unsigned number, char *path, size_t size)
{
	int err = wmk_store_default_path(getenv("WAYMARK_TRACE_DIR"), getenv("HOME"), program, now, path, size);
	size_t len = err < 0 ? 0 : strlen(path);

	if (err >= 0 && number > 1 && (size_t)snprintf(path + len, size - len, "-%u", number) >= size - len)
		return wmk_error(-ENAMETOOLONG, "trace path too long: the maximum is %zu bytes", size - 1);
	return err;
}

/* The default name has the time in seconds. If the default name is in use, the name also gets a number. */
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

static int create_store(struct wmk_recording *rec, const struct wmk_recording_options *options)
{
	char sub[64];
	int err = wmk_store_sub_uid(getuid(), sub, sizeof(sub));

	if (err < 0)
		return err;
	if (!options->output)
		return make_default_store(rec, options, sub);
	if ((size_t)snprintf(rec->path, sizeof(rec->path), "%s", options->output) >= sizeof(rec->path))
		return wmk_error(-ENAMETOOLONG, "trace path too long: the maximum is %zu bytes", sizeof(rec->path) - 1);
	rec->made = access(rec->path, F_OK) < 0;
	return wmk_store_create(rec->path, sub, &rec->store);
}

static int make_store(struct wmk_recording *rec, const struct wmk_recording_options *options)
{
	int err = create_store(rec, options);

	if (err == 0)
		wmk_store_keep_free(rec->store, WMK_STORE_KEEP_FREE);
	return err;
}

/* ── the consumer port: a consumer for each channel, in this process ─────────────────────────────────── */

static int trace_open(void *data, const struct wmk_trace_info *info, void **trace)
{
	struct wmk_recording *rec = data;

	if (info->kernel) {
		memcpy(rec->kernel_uuid, info->uuid, sizeof(rec->kernel_uuid));
		*trace = &rec->kernel_store;
		int err = wmk_store_add(rec->path, info->sub, &rec->kernel_store);
		if (err == 0)
			wmk_store_keep_free(rec->kernel_store, WMK_STORE_KEEP_FREE);
		return err;
	}
	if (info->uid != getuid() || rec->traced)
		return wmk_error(-EPERM, "cannot record user %u without a session daemon: only user %u can be recorded",
				 (unsigned)info->uid, (unsigned)getuid());
	memcpy(rec->uuid, info->uuid, sizeof(rec->uuid));
	rec->traced = true;
	*trace = &rec->store;
	return 0;
}

/* A trace handle is a pointer to a store pointer in *rec. A ring handle is a pointer to a consumer pointer in *rec. */
static struct wmk_consumer *consumer_of(void *rings)
{
	return *(struct wmk_consumer **)rings;
}

static int metadata(void *trace, const char *text, size_t len)
{
	return wmk_store_metadata(*(struct wmk_store **)trace, text, len);
}

static int consumer_open(struct wmk_recording *rec, struct wmk_store *store, const uint8_t uuid[16], uint64_t start_ts,
			 struct wmk_consumer **consumer)
{
	struct wmk_consumer_options options = { .at_stop_only = rec->options->overwrite, .start_ts = start_ts,
						.flush_ns = WMK_CTL_FLUSH_DEFAULT_US * 1000ull };
	int err = wmk_output_directory_trace(store, uuid, &options.output);

	if (err < 0)
		return err;
	err = wmk_consumer_open(&options, consumer);
	if (err < 0)
		options.output->ops->close(options.output);
	return err;
}

/* Start a consumer. If the consumer cannot be started, or `err` is set, close the consumer. */
static int consumer_begin(struct wmk_recording *rec, unsigned channel, struct wmk_consumer *consumer, int err,
			  void **rings)
{
	if (err == 0)
		err = wmk_consumer_start(consumer);
	if (err < 0) {
		wmk_consumer_close(consumer);
		return err;
	}
	rec->consumers[channel] = consumer;
	*rings = &rec->consumers[channel];
	return 0;
}

static int rings_open(void *trace, const struct wmk_rings_info *info, struct waymark_ring_set *set, void **rings)
{
	struct wmk_recording *rec = wmk_container_of(trace, struct wmk_recording, store);
	const bool program = strcmp(info->channel, PROGRAM_CHANNEL) == 0;
	struct wmk_consumer *consumer;
	int err = consumer_open(rec, rec->store, rec->uuid, info->start_ts, &consumer);

	if (err < 0)
		return err;
	err = wmk_consumer_add_set(consumer, set, info->channel, info->stream_id);
	return consumer_begin(rec, program ? WMK_RECORDING_PROGRAM : WMK_RECORDING_STATEDUMP, consumer, err, rings);
}

static int kernel_open(void *trace, const struct wmk_rings_info *info, const struct wmk_kernel_info *kernel,
		       void **rings)
{
	struct wmk_recording *rec = wmk_container_of(trace, struct wmk_recording, kernel_store);
	uint8_t contexts[WMK_WIRE_CONTEXTS_MAX];
	const struct wmk_kreader_options options = { .instance = kernel->instance,
						     .contexts = contexts,
						     .n_contexts = kernel->n_contexts,
						     .only_pid = (int32_t)kernel->only_pid,
						     .alone = true };
	const struct wmk_consumer_set how = { .channel = info->channel,
					      .stream_id = info->stream_id,
					      .at_stop_only = rec->options->overwrite,
					      .start_ts = info->start_ts };
	struct wmk_consumer *consumer;

	for (unsigned i = 0; i < kernel->n_contexts; i++)
		contexts[i] = (uint8_t)kernel->contexts[i];
	int err = wmk_kreader_open(&options, &rec->kernel);

	if (err == 0)
		err = consumer_open(rec, rec->kernel_store, rec->kernel_uuid, info->start_ts, &consumer);
	if (err < 0)
		return err;
	err = wmk_consumer_add_kernel(consumer, rec->kernel, &how);
	return consumer_begin(rec, WMK_RECORDING_KERNEL, consumer, err, rings);
}

struct introduction {
	struct wmk_recording *rec;
	const struct wmk_kernel_info *kernel;
};

/* Runs in the thread of the consumer, which uses `events` for reading. */
static int introduce(void *arg)
{
	const struct introduction *intro = arg;
	const struct wmk_consumerd_event *events = intro->kernel->events;
	struct wmk_recording *rec = intro->rec;
	int err = 0;

	for (unsigned i = 0; i < intro->kernel->n_events && err == 0; i++) {
		const void *program;
		size_t len;

		wmk_consumerd_event_filter(&events[i], &program, &len);
		err = wmk_kreader_event(rec->kernel, events[i].system, events[i].name, events[i].id);
		if (err == 0)
			err = wmk_kreader_filter(rec->kernel, events[i].system, events[i].name, program, len,
						 events[i].changing);
	}
	const struct wmk_syscalls_wanted wanted = { .calls = intro->kernel->calls,
						  .bytes = intro->kernel->syscall_ring_bytes,
						  .pids = intro->kernel->syscall_pids,
						  .n_pids = WMK_CONSUMERD_PIDS,
						  .narrowed = intro->kernel->syscalls_narrowed };

	if (err == 0 && intro->kernel->n_calls == WMK_SYSCALLS_WORDS)
		err = wmk_kreader_calls(rec->kernel, &wanted);
	return err;
}

static int kernel_events(void *rings, const struct wmk_rings_info *info, const struct wmk_kernel_info *kernel)
{
	struct wmk_recording *rec = wmk_container_of(rings, struct wmk_recording, consumers[WMK_RECORDING_KERNEL]);
	struct introduction intro = { rec, kernel };
	const struct wmk_consumer_set how = { .channel = info->channel,
					      .stream_id = info->stream_id,
					      .start_ts = info->start_ts,
					      .statedump = kernel->statedump };
	int err = wmk_consumer_run_work(consumer_of(rings), introduce, &intro);

	/* from now on, system calls have their own streams */
	if (err == 1)
		err = wmk_consumer_add_syscalls(consumer_of(rings), rec->kernel, &how);
	return err < 0 || !kernel->statedump ? err : wmk_consumer_dump(consumer_of(rings), rec->kernel, &how);
}

static int rings_flush(void *rings, bool wait)
{
	(void)wait;
	return wmk_consumer_flush(consumer_of(rings));
}

static int rings_stop(void *rings, bool wait)
{
	(void)wait;
	return wmk_consumer_stop(consumer_of(rings));
}

static int rings_clear(void *rings, bool wait)
{
	(void)wait, (void)rings;
	return wmk_error(-ENOTSUP, "cannot clear a recording while its program runs");
}

static int rings_counts(void *rings, struct wmk_counts *counts, struct wmk_counts *earlier)
{
	struct wmk_consumer_stats stats;

	(void)earlier;
	wmk_consumer_stats(consumer_of(rings), &stats);
	wmk_sum_add(&counts->records, stats.counts.records);
	wmk_sum_add(&counts->lost, stats.counts.lost);
	return 0;
}

static void rings_wake(void *rings)
{
	wmk_consumer_wake(consumer_of(rings));
}

static void rings_close(void *rings)
{
	wmk_consumer_close(consumer_of(rings));
	*(struct wmk_consumer **)rings = NULL;
}

/* (the stores are closed together with the recording) */
static void trace_close(void *trace)
{
	(void)trace;
}

static const struct wmk_consumer_port_ops consumer_ops = {
	.trace_open = trace_open,
	.metadata = metadata,
	.rings_open = rings_open,
	.kernel_open = kernel_open,
	.kernel_events = kernel_events,
	.rings_flush = rings_flush,
	.rings_stop = rings_stop,
	.rings_clear = rings_clear,
	.rings_counts = rings_counts,
	.rings_wake = rings_wake,
	.rings_close = rings_close,
	.trace_close = trace_close,
};

/* ── the session ─────────────────────────────────────────────────────────────────────────────────────── */

/* Add a rule for each pattern. Patterns with a leading '!' exclude events from all rules. */
static int add_rules(struct wmk_session_channel *channel, const char *const *patterns, unsigned n, const char *filter)
{
	const char **excluded = calloc(n + 1, sizeof(*excluded));
	struct wmk_ctl_rule rule = { .exclusions = { excluded, 0 }, .filter = filter };
	bool any = false;
	int err = excluded ? 0 : wmk_error(-ENOMEM, "no memory for the patterns");

	for (unsigned i = 0; err == 0 && i < n; i++)
		if (patterns[i][0] == '!')
			excluded[rule.exclusions.n++] = patterns[i] + 1;
	for (unsigned i = 0; err == 0 && i < n; i++) {
		rule.pattern = patterns[i];
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

unsigned wmk_recording_contexts(const struct wmk_recording_options *options, unsigned domain, const char **names)
{
	static const unsigned user[] = { WMK_CONTEXT_VPID, WMK_CONTEXT_VTID, WMK_CONTEXT_PROCNAME };
	static const unsigned kernel[] = { WMK_CONTEXT_PID, WMK_CONTEXT_TID, WMK_CONTEXT_PROCNAME };
	const unsigned *defaults = domain == WMK_CONTEXT_KERNEL ? kernel : user;
	unsigned n = 0;

	for (unsigned i = 0; i < options->n_contexts; i++)
		if (wmk_ctf_context(options->contexts[i])->domains & domain)
			names[n++] = wmk_ctf_context(options->contexts[i])->field.name;
	if (options->no_contexts || n)
		return n;
	for (unsigned i = 0; i < WMK_ARRAY_LEN(user); i++)
		names[n++] = wmk_ctf_context(defaults[i])->field.name;
	return n;
}

/* In the kernel domain, program_only selects all descendants of this process, because the program is its child. */
static int add_channel(struct wmk_recording *rec, const char *name, uint32_t domain,
		       struct wmk_session_channel **channel)
{
	const struct wmk_recording_options *options = rec->options;
	const bool own = domain == WMK_DOMAIN_KERNEL && options->program_only;
	const char *contexts[WMK_WIRE_CONTEXTS_MAX];
	const struct wmk_ctl_channel given = {
		.name = name,
		.domain = { .kind = domain, .pid = own ? (uint64_t)getpid() : 0, .follow = own },
		.settings.call_arguments = domain == WMK_DOMAIN_KERNEL ? options->call_arguments : 0,
		.settings.mode = options->overwrite ? WMK_MODE_OVERWRITE : WMK_MODE_DISCARD,
		.settings.subbuf_size = options->subbuf_size,
		.settings.n_subbufs = options->n_subbufs,
		.contexts = { contexts, wmk_recording_contexts(options,
							       domain == WMK_DOMAIN_KERNEL ? WMK_CONTEXT_KERNEL
											   : WMK_CONTEXT_USER,
							       contexts) },
	};

	return wmk_session_channel_add(rec->session, &given, channel);
}

/* Check that each pattern, including each exclusion, matches an event. */
static int check_kernel(struct wmk_recording *rec, const struct wmk_recording_options *options)
{
	struct wmk_ctl_rule *rules = calloc(options->n_kernel, sizeof(*rules));
	const struct wmk_list list = { rules, options->n_kernel };
	int err;

	if (!rules)
		return wmk_error(-ENOMEM, "no memory for the patterns");
	for (unsigned i = 0; i < options->n_kernel; i++) {
		const bool out = options->kernel[i][0] == '!';

		rules[i].pattern = options->kernel[i] + out;
		rules[i].place = "";
		rules[i].filter = out ? NULL : options->kernel_filter;
	}
	err = wmk_session_kernel_check(rec->session, &list);
	free(rules);
	return err;
}

static int add_kernel(struct wmk_recording *rec, const struct wmk_recording_options *options)
{
	struct wmk_session_channel *channel;
	int err = check_kernel(rec, options);

	if (err == 0)
		err = add_channel(rec, KERNEL_CHANNEL, WMK_DOMAIN_KERNEL, &channel);
	if (err == 0)
		err = add_rules(channel, options->kernel, options->n_kernel, options->kernel_filter);
	return err < 0 ? err : wmk_session_filters_check(channel, &wmk_session_channel_options(channel)->rules);
}

/* The session is locked. */
static int fill_session(struct wmk_recording *rec, const struct wmk_recording_options *options)
{
	struct wmk_session_channel *channel;
	int err = add_channel(rec, PROGRAM_CHANNEL, WMK_DOMAIN_USER, &channel);

	if (err == 0)
		err = add_rules(channel, options->patterns, options->n_patterns, options->filter);
	if (err == 0 && options->n_kernel)
		err = add_kernel(rec, options);
	if (err == 0)
		err = wmk_session_start(rec->session);
	/* Prepare the rings before the program runs, so that errors appear early and the first record is fast. */
	return err < 0 ? err : wmk_session_prepare(rec->session, getuid());
}

static int open_session(struct wmk_recording *rec, const struct wmk_recording_options *options)
{
	char path[sizeof(rec->path)];
	const struct wmk_session_options session = {
		.name = "record", .path = realpath(rec->path, path), .uid = getuid(), .gid = getgid(),
		.trace_name = options->name, .settings.no_statedump = options->no_statedump,
		.settings.trace_format = options->trace_format, .settings.clock = options->clock,
	};
	int err = session.path ? wmk_session_create(rec->tracing, &session, &rec->session) :
				 wmk_error(-errno, "cannot find %.200s: %s", rec->path, strerror(errno));

	if (err < 0)
		return err;
	err = wmk_session_lock(rec->session);
	if (err == 0) {
		err = fill_session(rec, options);
		if (!wmk_session_syscalls_warning(rec->session, rec->kernel_words, sizeof(rec->kernel_words)))
			rec->kernel_words[0] = '\0';
		wmk_session_unlock(rec->session);
	}
	return err;
}

static int open_parts(struct wmk_recording *rec, const struct wmk_recording_options *options)
{
	struct wmk_clocks clocks;
	struct wmk_tracing_options tracing = {
		.size = sizeof(tracing), .consumer = &consumer_ops, .consumer_data = rec, .clocks = &clocks
	};
	struct wmk_shard_options apps = {
		.size = sizeof(apps), .keep = true, .on_app = options->on_app, .data = options->data
	};
	char owner[WMK_KINSTANCE_OWNER];
	int err = wmk_kspaces_check_threads();

	if (err == 0)
		err = wmk_clocks_measure(&clocks);
	wmk_kinstance_owner_self(owner);
	tracing.kernel_owner = options->n_kernel ? owner : NULL;
	if (err >= 0)
		err = make_rundir(rec);
	if (err >= 0)
		err = make_store(rec, options);
	if (err < 0)
		return err;
	tracing.max_apps = APPS_MAX;
	tracing.max_ring_bytes = UINT64_MAX;     /* no limit: the user has chosen the size */
	err = wmk_tracing_open(&tracing, &rec->tracing);
	if (err >= 0)
		wmk_reattach_init(rec->tracing);
	if (err >= 0 && options->n_kernel)
		wmk_tracing_sweep(rec->tracing);         /* remove tracefs instances of killed recordings */
	if (err >= 0)
		err = open_session(rec, options);
	apps.tracing = rec->tracing;
	apps.rundir = rec->rundir;
	apps.max_apps = APPS_MAX;
	return err < 0 ? err : wmk_shard_open(&apps, &rec->apps);
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

	if (!rec->consumers[channel])
		return;
	wmk_consumer_stats(rec->consumers[channel], &one);
	if (channel == WMK_RECORDING_STATEDUMP)
		rec->statedump_records += one.counts.records;
	if (channel == WMK_RECORDING_KERNEL)
		rec->kernel_records = one.counts.records - one.counts.dumped;
	rec->statedump_records += one.counts.dumped;
	wmk_counts_add(&sum->counts, &one.counts);
	if (!sum->words[0])
		memcpy(sum->words, one.words, sizeof(sum->words));
}

/* Stop recording in all applications. Returns the number of applications that do not confirm in time. */
static int stop_session(struct wmk_recording *rec, int ms)
{
	struct wmk_shard_stats apps;
	int unanswered = 0;

	wmk_shard_stats(rec->apps, &apps);
	if (wmk_session_lock(rec->session) < 0)
		return 0;
	wmk_session_stop(rec->session);
	rec->metadata_error = wmk_session_trouble(rec->session, rec->metadata_words, sizeof(rec->metadata_words));
	wmk_session_unlock(rec->session);
	if (apps.apps_connected) {
		wmk_shard_update(rec->apps, rec->session);
		unanswered = wmk_shard_sync(rec->apps, ms);
	}
	return unanswered;
}

unsigned wmk_recording_stop(struct wmk_recording *rec, int ms)
{
	int unanswered = stop_session(rec, ms);

	for (unsigned i = 0; i < WMK_RECORDING_CHANNELS; i++) {
		if (rec->consumers[i] && wmk_consumer_stop(rec->consumers[i]) < 0 && !rec->failure[0])
			wmk_error_text(rec->failure, sizeof(rec->failure));
		add_stats(rec, i);
	}
	if (wmk_session_lock(rec->session) == 0) {
		wmk_session_unrecorded(rec->session, &rec->is, &rec->arena);
		wmk_session_unlock(rec->session);
	}
	rec->stats.counts.bytes = wmk_store_bytes(rec->store);
	if (rec->kernel_store)
		rec->stats.counts.bytes += wmk_store_bytes(rec->kernel_store);
	return unanswered > 0 ? (unsigned)unanswered : 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	return where->level ? remove(path) : 0;
}

/* Called if the program did not run, so that no empty trace remains. The recording owns all files in the directory. */
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
	wmk_shard_close(rec->apps);
	wmk_arena_free(&rec->arena);
	wmk_session_put(rec->session);
	wmk_tracing_close(rec->tracing);
	wmk_tracing_thread_end();
	if (rec->kernel)
		wmk_kreader_close(rec->kernel);
	if (rec->kernel_store)
		wmk_store_close(rec->kernel_store);
	if (rec->store) {
		wmk_store_close(rec->store);
		if (!rec->keep)
			wmk_recording_discard(rec->path, rec->made);
	}
	if (rec->rundir[0])
		rmdir(rec->rundir);
	free(rec);
}
