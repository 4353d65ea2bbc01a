/* SPDX-License-Identifier: MIT */
/*
 * consumer.c - what a consumer consists of: groups of streams, added, continued behind an earlier consumer, removed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cond.h"
#include "base/error.h"
#include "consumer/consumer_state.h"
#include "kernel/channel/syscall_reader.h"
#include "kernel/statedump/statedump_source.h"

#define MIN_US 1000u
#define MAX_US 100000u
#define DUMP_INSTANCE UINT32_MAX     /* its stream's number; those of CPUs are theirs */
/* numbers of system calls' streams by BPF begin here: not those of the CPUs' others */
#define SYSCALLS_INSTANCE 0x10000u

int wmk_consumer_open(const struct wmk_consumer_options *options, struct wmk_consumer **result)
{
	struct wmk_consumer *consumer;

	if ((options->max_us && options->max_us < options->min_us))
		return wmk_error(-EINVAL, "a consumer needs bounds of its timer in order");
	consumer = calloc(1, sizeof(*consumer));
	if (!consumer)
		return wmk_error(-ENOMEM, "no memory for a consumer");
	consumer->options = *options;
	if (!consumer->options.min_us)
		consumer->options.min_us = MIN_US;
	if (!consumer->options.max_us)
		consumer->options.max_us = consumer->options.min_us > MAX_US ? consumer->options.min_us : MAX_US;
	consumer->interval_us = consumer->options.min_us;
	consumer->work_end = &consumer->work;
	atomic_init(&consumer->wake, -1);
	pthread_mutex_init(&consumer->streams_lock, NULL);
	pthread_mutex_init(&consumer->lock, NULL);
	wmk_cond_init(&consumer->changed);
	wmk_cond_init(&consumer->heartbeat_changed);
	*result = consumer;
	return 0;
}

void wmk_consumer_set_output(struct wmk_consumer *consumer, struct wmk_output_trace *output)
{
	pthread_mutex_lock(&consumer->streams_lock);
	consumer->options.output = output;
	pthread_mutex_unlock(&consumer->streams_lock);
}

/* Append to an array of pointers, under streams_lock. */
static int push(void ***array, size_t *n, void *item)
{
	void **grown = realloc(*array, (*n + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	grown[(*n)++] = item;
	*array = grown;
	return 0;
}

static void pull(void **array, size_t *n, const void *item)
{
	size_t i = 0;

	while (i < *n && array[i] != item)
		i++;
	if (i == *n)
		return;
	memmove(&array[i], &array[i + 1], (*n - i - 1) * sizeof(*array));
	(*n)--;
}

struct wmk_group *wmk_consumer_group(struct wmk_consumer *consumer, const void *from)
{
	for (size_t i = 0; i < consumer->n_groups; i++)
		if (consumer->groups[i]->from == from)
			return consumer->groups[i];
	return NULL;
}

static struct wmk_group *add_group(struct wmk_consumer *consumer, const void *from)
{
	struct wmk_group *group = calloc(1, sizeof(*group));

	if (!group || push((void ***)&consumer->groups, &consumer->n_groups, group) < 0) {
		free(group);
		wmk_error(-ENOMEM, "no memory for another channel");
		return NULL;
	}
	group->from = from;
	group->start_ts = consumer->options.start_ts;
	return group;
}

static int add_stream(struct wmk_consumer *consumer, struct wmk_group *group, struct wmk_source *source,
		      const char *name, uint32_t stream_id, uint64_t instance, uint32_t cpu)
{
	struct wmk_stream *stream;

	if (strlen(name) >= sizeof(stream->name))
		return wmk_error(-EINVAL, "the name of stream %.60s... is too long", name);
	if (consumer->ended)
		return wmk_error(-ESHUTDOWN, "the consumer has been stopped");
	stream = calloc(1, sizeof(*stream));
	if (!stream || push((void ***)&consumer->streams, &consumer->n_streams, stream) < 0) {
		free(stream);
		return wmk_error(-ENOMEM, "no memory for stream %.60s", name);
	}
	strcpy(stream->name, name);
	stream->group = group;
	stream->source = source;
	stream->stream_id = stream_id;
	stream->instance = instance;
	stream->cpu = cpu;
	return 0;
}

int wmk_consumer_add_source(struct wmk_consumer *consumer, struct wmk_source *source, const char *name,
			    uint32_t stream_id, uint64_t instance, uint32_t cpu)
{
	struct wmk_group *group;
	int err;

	pthread_mutex_lock(&consumer->streams_lock);
	group = wmk_consumer_group(consumer, NULL);
	if (!group)
		group = add_group(consumer, NULL);
	if (group)
		group->at_stop_only = consumer->options.at_stop_only;
	err = group ? add_stream(consumer, group, source, name, stream_id, instance, cpu) : -ENOMEM;
	pthread_mutex_unlock(&consumer->streams_lock);
	return err;
}

static void forget_stream(struct wmk_consumer *consumer, struct wmk_stream *stream)
{
	if (stream->out)
		consumer->options.output->ops->stream_close(stream->out);
	stream->source->ops->close(stream->source);
	free(stream);
}

void wmk_consumer_drop_group(struct wmk_consumer *consumer, struct wmk_group *group)
{
	struct wmk_consumer_stats last;
	size_t kept = 0;

	wmk_consumer_sum(consumer, group, &last);
	last.counts.bytes = 0; /* the output counts them */
	wmk_consumer_stats_add(&consumer->gone, &last);
	for (size_t i = 0; i < consumer->n_streams; i++) {
		if (consumer->streams[i]->group == group)
			forget_stream(consumer, consumer->streams[i]);
		else
			consumer->streams[kept++] = consumer->streams[i];
	}
	consumer->n_streams = kept;
	pthread_mutex_lock(&consumer->lock);
	pull((void **)consumer->sets, &consumer->n_sets, group->from);
	pthread_mutex_unlock(&consumer->lock);
	pull((void **)consumer->groups, &consumer->n_groups, group);
	wmk_cpu_hotplug_close(group->cpus);
	free(group);
}

/* ── behind an earlier consumer ──────────────────────────────────────────────────────────────────────── */

int wmk_consumer_restart_stream(struct wmk_consumer *consumer, struct wmk_stream *stream)
{
	const struct wmk_output_trace_ops *ops = consumer->options.output->ops;
	int err;

	if (!stream->source->ops->clear || !ops->stream_remove)
		return wmk_error(-ENOTSUP, "stream %.60s cannot be cleared", stream->name);
	if (stream->out)
		ops->stream_close(stream->out);
	stream->out = NULL;
	stream->sequence = stream->taken = stream->written = stream->packet_pos = 0;
	stream->source_lost = stream->lost_written = 0;
	stream->cut = stream->cut_written = stream->bytes = 0;
	memset(stream->causes, 0, sizeof(stream->causes));
	stream->stuck = false;
	/*
	 * What could not be gone on with is over; a source that lied, and is none to begin anew with either, is dead
	 * once more, and that is told.
	 */
	stream->failed = false;
	/* The ring first: whoever goes on behind us if we die in between finds out that the files are older. */
	err = stream->source->ops->clear(stream->source, &stream->end_pos, &stream->end_ts);
	if (err < 0)
		wmk_consumer_fail_stream(consumer, stream, "its ring cannot be cleared", err);
	return ops->stream_remove(consumer->options.output, stream->name, &stream->group->limits);
}

/*
 * The file of an earlier consumer: 1, 0 or -ENOENT as stream_resume(), or -errno: it is none to go on with, and not
 * ours to write to.
 */
static int resume_file(struct wmk_consumer *consumer, struct wmk_stream *stream, struct wmk_ctf_packet *last)
{
	const struct wmk_output_trace_ops *ops = consumer->options.output->ops;
	int found = -ENOENT;

	if (ops->stream_resume)
		found = ops->stream_resume(consumer->options.output, stream->name, &stream->group->limits, &stream->out,
					   last);
	if (found == 1 && (last->stream_id != stream->stream_id || last->instance != stream->instance)) {
		ops->stream_close(stream->out);
		stream->out = NULL;
		found = wmk_error(-EPROTO, "stream %.60s belongs to another ring", stream->name);
	}
	return found;
}

static void report_gap(struct wmk_consumer *consumer, struct wmk_stream *stream)
{
	struct wmk_consumer_stats *now = &stream->group->now;
	char words[WMK_STREAM_NAME + 120];

	snprintf(words, sizeof(words),
		 "stream %s: whoever read it has died, and what he had not written is lost: nobody knows how many "
		 "records",
		 stream->name);
	now->counts.gaps++;
	if (!now->words[0])
		snprintf(now->words, sizeof(now->words), "%.*s", (int)sizeof(now->words) - 1, words);
	if (consumer->options.output->ops->note)
		consumer->options.output->ops->note(consumer->options.output, words);
}

/*
 * Where the trace says that an earlier consumer was. What that one released but did not write is not to be had.
 * Whatever is wrong with it is wrong with this stream alone.
 */
static void resume_stream(struct wmk_consumer *consumer, struct wmk_stream *stream)
{
	struct wmk_ctf_packet last = { 0 };
	int found = resume_file(consumer, stream, &last), err;

	if (found < 0)
		wmk_error_clear();
	if (found < 0 && found != -ENOENT) {
		wmk_consumer_fail_stream(consumer, stream, "its file is none to go on with", found);
		return;
	}
	stream->group->now.counts.streams += stream->out != NULL;
	if (found == 1) {
		stream->sequence = last.sequence + 1;
		stream->end_ts = last.end_ts;
		stream->lost_written = stream->source_lost = last.lost;
		stream->packet_pos = last.ring_position;
		stream->cut = stream->cut_written = last.cut;
		stream->group->now.counts.packets += stream->sequence;
	}
	err = stream->source->ops->resume
		      ? stream->source->ops->resume(stream->source, &last, &stream->taken, &stream->end_pos)
		      : 0;
	/* Of a stream of which nothing is left, all that was in it is lost, and counted. */
	stream->written = err > 0 && found != 1 ? 0 : stream->taken;
	if (err > 0 && found == 1)
		report_gap(consumer, stream);
	if (err < 0)
		wmk_consumer_fail_stream(consumer, stream,
				  err == -EIO ? "its ring is corrupt"
					      : "the trace lacks the end of what was read from its ring",
				  err);
}

/* The same, but all that there was by now goes. (It is opened first, so that what goes is counted.) */
static void resume_cleared(struct wmk_consumer *consumer, struct wmk_stream *stream)
{
	struct wmk_ctf_packet last;
	int err;

	if (resume_file(consumer, stream, &last) < 0)
		wmk_error_clear();
	err = wmk_consumer_restart_stream(consumer, stream);
	if (err < 0)
		wmk_stream_write_failed(stream, err);
}

/* ── sets ────────────────────────────────────────────────────────────────────────────────────────────── */

int wmk_consumer_add_stream(struct wmk_consumer *consumer, struct wmk_group *group, struct wmk_source *source,
			    const char *name, uint32_t instance, uint32_t cpu, const struct wmk_consumer_set *how)
{
	int err = add_stream(consumer, group, source, name, how->stream_id, instance, cpu);

	if (err < 0)
		source->ops->close(source);
	else if (how->resume && how->clear)
		resume_cleared(consumer, consumer->streams[consumer->n_streams - 1]);
	else if (how->resume)
		resume_stream(consumer, consumer->streams[consumer->n_streams - 1]);
	return err;
}

static int add_ring(struct wmk_consumer *consumer, struct wmk_group *group, struct waymark_ring_set *set, uint32_t ring,
		    const struct wmk_consumer_set *how)
{
	uint32_t cpus = waymark_ring_set_cpus(set);
	bool claim = ring >= cpus;
	struct wmk_source *source;
	char name[WMK_STREAM_NAME];
	int err = wmk_source_ring_open(set, ring, &source);

	if (err < 0)
		return err;
	snprintf(name, sizeof(name), "%s_%s%u", how->channel, claim ? "claim" : "", claim ? ring - cpus : ring);
	return wmk_consumer_add_stream(consumer, group, source, name, ring, claim ? WMK_CTF_CPU_NONE : ring, how);
}

uint32_t wmk_consumer_header_room(uint32_t subbuf_size)
{
	/* A sub-buffer begins at a page with 64 bytes of its own: the packet's header then begins at 512. */
	return subbuf_size >= WMK_STORE_DIRECT_MIN ? WMK_STORE_ALIGN - 64 + WMK_CTF_PACKET_ROOM : WMK_CTF_PACKET_ROOM;
}

static struct wmk_group *add_group_of(struct wmk_consumer *consumer, const void *from,
				      const struct wmk_consumer_set *how)
{
	struct wmk_group *group = add_group(consumer, from);

	if (!group)
		return NULL;
	group->at_stop_only = how->at_stop_only;
	group->keep = how->keep;
	group->budget = how->budget;
	group->start_ts = how->start_ts;
	if (how->limits)
		group->limits = *how->limits;
	return group;
}

/* Nothing of it was there. */
static void undo_group(struct wmk_consumer *consumer, struct wmk_group *group, const struct wmk_consumer_stats *before)
{
	wmk_consumer_drop_group(consumer, group);
	consumer->gone = *before;
}

static int add_rings(struct wmk_consumer *consumer, struct waymark_ring_set *set, const struct wmk_consumer_set *how)
{
	struct wmk_group *group = add_group_of(consumer, set, how);
	const struct wmk_consumer_stats before = consumer->gone;
	int err = group ? 0 : -ENOMEM;

	if (!group)
		return err;
	for (uint32_t ring = 0; ring < waymark_ring_set_rings(set) && err >= 0; ring++)
		err = add_ring(consumer, group, set, ring, how);
	pthread_mutex_lock(&consumer->lock); /* the heart looks at the sets */
	if (err >= 0 && push((void ***)&consumer->sets, &consumer->n_sets, set) < 0)
		err = wmk_error(-ENOMEM, "no memory for another ring set");
	pthread_mutex_unlock(&consumer->lock);
	if (err >= 0 && consumer->running && waymark_ring_set_options(set)->block_us != 0)
		err = wmk_consumer_heartbeat_start(consumer);
	if (err < 0)
		undo_group(consumer, group, &before);
	return err;
}

int wmk_consumer_add(struct wmk_consumer *consumer, struct waymark_ring_set *set, const struct wmk_consumer_set *how)
{
	int err;

	if (waymark_ring_set_options(set)->header_room < WMK_CTF_PACKET_ROOM ||
	    strlen(how->channel) > WMK_STREAM_NAME - 32)
		return wmk_error(-EINVAL, "channel %.60s: its name is too long, or its rings leave no room for headers",
				 how->channel);
	pthread_mutex_lock(&consumer->streams_lock);
	err = add_rings(consumer, set, how);
	pthread_mutex_unlock(&consumer->streams_lock);
	wmk_consumer_wake(consumer);
	return err < 0 ? wmk_error_add(err, "cannot consume channel %.60s", how->channel) : 0;
}

/* ── kernel channels ─────────────────────────────────────────────────────────────────────────────────── */

/* Those that are there; the others may come later (cpu_hotplug.c). */
static int add_cpus(struct wmk_consumer *consumer, struct wmk_kreader *reader, const struct wmk_consumer_set *how)
{
	struct wmk_group *group = add_group_of(consumer, reader, how);
	const struct wmk_consumer_stats before = consumer->gone;
	int err = group ? 0 : -ENOMEM;

	if (err == 0)
		err = wmk_cpu_hotplug_open(reader, how, &group->cpus);
	if (err == 0)
		err = wmk_consumer_add_online_cpus(consumer, group);
	if (err < 0 && group)
		undo_group(consumer, group, &before);
	return err;
}

static int add_syscall_rings(struct wmk_consumer *consumer, struct wmk_group *group, struct wmk_kreader *reader,
			      const struct wmk_consumer_set *how)
{
	int err = 0;

	for (unsigned ring = 0; err >= 0 && ring < wmk_kreader_rings(reader); ring++) {
		struct wmk_source *source;
		char name[WMK_STREAM_NAME];

		err = wmk_syscall_stream_open(reader, ring, &source);
		if (err == 0) {
			snprintf(name, sizeof(name), "%s_calls_%u", how->channel, ring);
			err = wmk_consumer_add_stream(consumer, group, source, name, SYSCALLS_INSTANCE + ring, ring,
						      how);
		}
	}
	return err;
}

int wmk_consumer_add_syscalls(struct wmk_consumer *consumer, struct wmk_kreader *reader,
			   const struct wmk_consumer_set *how)
{
	struct wmk_group *group;
	int err;

	pthread_mutex_lock(&consumer->streams_lock);
	group = wmk_consumer_group(consumer, reader);
	err = group ? add_syscall_rings(consumer, group, reader, how)
		    : wmk_error(-ENOENT, "there is no such kernel channel");
	pthread_mutex_unlock(&consumer->streams_lock);
	wmk_consumer_wake(consumer);
	return err < 0 ? wmk_error_add(err, "cannot consume the system calls of the kernel channel %.60s", how->channel)
		       : 0;
}

static int add_dump(struct wmk_consumer *consumer, struct wmk_group *group, struct wmk_kreader *reader,
		    const struct wmk_consumer_set *how)
{
	struct wmk_source *source;
	char name[WMK_STREAM_NAME];
	int err = wmk_kreader_dumper(reader, &source);

	if (err < 0)
		return err;
	snprintf(name, sizeof(name), "%s_statedump", how->channel);
	err = wmk_consumer_add_stream(consumer, group, source, name, DUMP_INSTANCE, WMK_CTF_CPU_NONE, how);
	if (err < 0)
		return err;
	consumer->streams[consumer->n_streams - 1]->dump = true;
	group->dump = source;
	return 0;
}

int wmk_consumer_dump(struct wmk_consumer *consumer, struct wmk_kreader *reader, const struct wmk_consumer_set *how)
{
	struct wmk_group *group;
	int err = 0;

	pthread_mutex_lock(&consumer->streams_lock);
	group = wmk_consumer_group(consumer, reader);
	if (!group)
		err = wmk_error(-ENOENT, "this channel is not consumed here");
	if (err == 0 && !group->dump)
		err = add_dump(consumer, group, reader, how);
	if (err == 0)
		err = wmk_kdumper_begin(group->dump, how->statedump);
	pthread_mutex_unlock(&consumer->streams_lock);
	wmk_consumer_wake(consumer);
	return err < 0 ? wmk_error_add(err, "the state of the machine is not in channel %.60s", how->channel) : 0;
}

/*
 * From here on the thread sleeps in poll(): under streams_lock, and nudged afterwards, it may sleep elsewhere just now.
 */
static int make_wake(struct wmk_consumer *consumer)
{
	int fd;

	/* relaxed: under the lock under which it is made */
	if (atomic_load_explicit(&consumer->wake, memory_order_relaxed) >= 0)
		return 0;
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd < 0)
		return wmk_error(-errno, "cannot make what wakes a consumer");
	/* (V) release: the descriptor is there before its number; pairs with (W) in thread.c. Who nudges before he sees it wakes by the word, and the
	 * nudge after this one by both. */
	atomic_store_explicit(&consumer->wake, fd, memory_order_release);
	return 0;
}

int wmk_consumer_add_kernel(struct wmk_consumer *consumer, struct wmk_kreader *reader,
			    const struct wmk_consumer_set *how)
{
	int err;

	if (strlen(how->channel) > WMK_STREAM_NAME - 32)
		return wmk_error(-EINVAL, "channel %.60s: its name is too long", how->channel);
	pthread_mutex_lock(&consumer->streams_lock);
	err = make_wake(consumer);
	if (err == 0)
		err = add_cpus(consumer, reader, how);
	pthread_mutex_unlock(&consumer->streams_lock);
	wmk_consumer_wake(consumer);
	return err < 0 ? wmk_error_add(err, "cannot consume the kernel channel %.60s", how->channel) : 0;
}

int wmk_consumer_add_set(struct wmk_consumer *consumer, struct waymark_ring_set *set, const char *channel,
			 uint32_t stream_id)
{
	const struct wmk_consumer_set how = {
		.channel = channel, .stream_id = stream_id, .at_stop_only = consumer->options.at_stop_only,
		.resume = consumer->options.resume, .start_ts = consumer->options.start_ts,
	};

	return wmk_consumer_add(consumer, set, &how);
}

void wmk_consumer_close(struct wmk_consumer *consumer)
{
	if (!consumer)
		return;
	wmk_consumer_join(consumer);
	while (consumer->n_groups)
		wmk_consumer_drop_group(consumer, consumer->groups[0]);
	if (consumer->options.output)
		consumer->options.output->ops->close(consumer->options.output);
	pthread_cond_destroy(&consumer->changed);
	pthread_cond_destroy(&consumer->heartbeat_changed);
	pthread_mutex_destroy(&consumer->lock);
	pthread_mutex_destroy(&consumer->streams_lock);
	free(consumer->streams);
	free(consumer->groups);
	free(consumer->sets);
	free(consumer->watched);
	free(consumer->polled);
	if (atomic_load_explicit(&consumer->wake, memory_order_relaxed) >= 0)
		close(atomic_load_explicit(&consumer->wake, memory_order_relaxed));
	free(consumer);
}
