/* SPDX-License-Identifier: MIT */
/* consumer.c - open and close a consumer; add ring sets and kernel channels. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cond.h"
#include "base/error.h"
#include "consumer/clock_restart.h"
#include "consumer/clock_sync.h"
#include "consumer/cpu_hotplug.h"
#include "consumer/heartbeat.h"
#include "consumer/source_copy.h"
#include "consumer/source_ring.h"
#include "consumer/streams.h"
#include "consumer/thread.h"
#include "kernel/channel/syscall_reader.h"
#include "kernel/statedump/statedump_source.h"

#define MIN_US 1000u
#define MAX_US 100000u
#define SYSCALLS_INSTANCE 0x10000u   /* first stream instance of BPF rings, above all CPU numbers */

int wmk_consumer_open(const struct wmk_consumer_options *options, struct wmk_consumer **result)
{
	struct wmk_consumer *consumer;

	if ((options->max_us && options->max_us < options->min_us))
		return wmk_error(-EINVAL, "the consumer's timer has a maximum of %u us below its minimum of %u us",
				 options->max_us, options->min_us);
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
	atomic_init(&consumer->clock.kind, -1);
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

int wmk_consumer_add_source(struct wmk_consumer *consumer, struct wmk_source *source, const char *name,
			    uint32_t stream_id, uint64_t instance, uint32_t cpu)
{
	struct wmk_group *group;
	int err;

	pthread_mutex_lock(&consumer->streams_lock);
	group = wmk_streams_find_group(consumer, NULL);
	if (!group)
		group = wmk_streams_add_group(consumer, NULL);
	if (group)
		group->at_stop_only = consumer->options.at_stop_only;
	err = group ? wmk_streams_add_source(consumer, group, source, name, stream_id, instance, cpu) : -ENOMEM;
	pthread_mutex_unlock(&consumer->streams_lock);
	return err;
}

/* ── sets ────────────────────────────────────────────────────────────────────────────────────────────── */

static int add_ring(struct wmk_consumer *consumer, struct wmk_group *group, struct waymark_ring_set *set, uint32_t ring,
		    const struct wmk_consumer_set *how)
{
	uint32_t cpus = waymark_ring_set_cpus(set);
	bool claim = ring >= cpus;
	struct wmk_source *source;
	char name[WMK_STREAM_NAME];
	uint64_t missed = 0;
	int err = how->copy ? wmk_source_copy_open(set, ring, how->copy_max, &source, &missed)
			    : wmk_source_ring_open(set, ring, &source);

	if (err < 0)
		return err;
	wmk_sum_add(&group->now.counts.overwritten, missed);
	snprintf(name, sizeof(name), "%s_%s%u", how->channel, claim ? "claim" : "", claim ? ring - cpus : ring);
	return wmk_streams_add(consumer, group, source, name, ring, claim ? WMK_CTF_CPU_NONE : ring, how);
}

uint32_t wmk_consumer_header_room(uint32_t subbuf_size)
{
	/*
	 * A sub-buffer begins at a page boundary and has a header of 64 bytes. The header_room follows the sub-buffer
	 * header, and the last WMK_CTF_PACKET_ROOM bytes of the header_room hold the packet header. With the
	 * header_room for direct I/O, the packet begins at offset 512 of the sub-buffer.
	 */
	return subbuf_size >= WMK_STORE_DIRECT_MIN ? WMK_STORE_ALIGN - 64 + WMK_CTF_PACKET_ROOM : WMK_CTF_PACKET_ROOM;
}

/* Remove a group that was added only in part. The counts of the group are dropped. */
static void undo_group(struct wmk_consumer *consumer, struct wmk_group *group, const struct wmk_consumer_stats *before)
{
	wmk_streams_remove_group(consumer, group);
	consumer->gone = *before;
}

static int add_rings(struct wmk_consumer *consumer, struct waymark_ring_set *set, const struct wmk_consumer_set *how)
{
	struct wmk_group *group = wmk_streams_add_group_of(consumer, set, how);
	const struct wmk_consumer_stats before = consumer->gone;
	int err = group ? 0 : -ENOMEM;

	if (!group)
		return err;
	group->is_next = !how->resume && !how->copy && wmk_clock_restart_awaits_chunk(consumer);
	for (uint32_t ring = 0; ring < waymark_ring_set_rings(set) && err >= 0; ring++)
		err = add_ring(consumer, group, set, ring, how);
	if (err >= 0 && !how->copy)
		err = wmk_streams_add_set(consumer, set);
	if (err >= 0 && !how->copy)
		wmk_clock_sync_begin(consumer, waymark_ring_set_options(set)->clock, how->at_stop_only);
	if (err >= 0 && !how->copy && consumer->running && waymark_ring_set_options(set)->block_us != 0)
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
		return wmk_error(-EINVAL,
				 "channel %.60s: the name is too long, or its rings have no room for packet headers",
				 how->channel);
	pthread_mutex_lock(&consumer->streams_lock);
	err = add_rings(consumer, set, how);
	pthread_mutex_unlock(&consumer->streams_lock);
	wmk_consumer_wake(consumer);
	return err < 0 ? wmk_error_add(err, "cannot consume channel %.60s", how->channel) : 0;
}

/* ── kernel channels ─────────────────────────────────────────────────────────────────────────────────── */

/* Add the CPUs that are online; other CPUs may come online later (cpu_hotplug.c). */
static int add_cpus(struct wmk_consumer *consumer, struct wmk_kreader *reader, const struct wmk_consumer_set *how)
{
	struct wmk_group *group = wmk_streams_add_group_of(consumer, reader, how);
	const struct wmk_consumer_stats before = consumer->gone;
	int err = group ? 0 : -ENOMEM;

	if (err == 0)
		err = wmk_cpu_hotplug_open(group, reader, how);
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
			err = wmk_streams_add(consumer, group, source, name, SYSCALLS_INSTANCE + ring, ring,
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
	group = wmk_streams_find_group(consumer, reader);
	err = group ? add_syscall_rings(consumer, group, reader, how)
		    : wmk_error(-ENOENT, "no such kernel channel in this consumer");
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
	err = wmk_streams_add(consumer, group, source, name, WMK_DUMP_INSTANCE, WMK_CTF_CPU_NONE, how);
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
	group = wmk_streams_find_group(consumer, reader);
	if (!group)
		err = wmk_error(-ENOENT, "no such kernel channel in this consumer");
	if (err == 0 && !group->dump)
		err = add_dump(consumer, group, reader, how);
	if (err == 0)
		err = wmk_kdumper_begin(group->dump, how->statedump);
	pthread_mutex_unlock(&consumer->streams_lock);
	wmk_consumer_wake(consumer);
	return err < 0 ? wmk_error_add(err, "cannot write a state dump to channel %.60s", how->channel) : 0;
}

/*
 * Create the eventfd, so that the consumer's thread sleeps in poll() instead of on the futex. Called under
 * streams_lock. The caller then calls wmk_consumer_wake(), because the consumer's thread may still sleep on the futex.
 */
static int make_wake(struct wmk_consumer *consumer)
{
	int fd;

	/* relaxed: only written under this lock */
	if (atomic_load_explicit(&consumer->wake, memory_order_relaxed) >= 0)
		return 0;
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd < 0)
		return wmk_error(-errno, "cannot create an eventfd for the consumer: %s", strerror(errno));
	/*
	 * (V) release: the eventfd exists before its number is visible; pairs with (W) in thread.c. A concurrent
	 * wmk_consumer_wake() that still reads -1 as the eventfd wakes only the futex. The caller of make_wake() then
	 * calls wmk_consumer_wake() again, which wakes both the futex and the eventfd.
	 */
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
	if (err == 0)
		wmk_clock_sync_begin(consumer, wmk_kreader_clock(reader), how->at_stop_only);
	pthread_mutex_unlock(&consumer->streams_lock);
	wmk_consumer_wake(consumer);
	return err < 0 ? wmk_error_add(err, "cannot consume the kernel channel %.60s", how->channel) : 0;
}

int wmk_consumer_add_set(struct wmk_consumer *consumer, struct waymark_ring_set *set, const char *channel,
			 uint32_t stream_id)
{
	const struct wmk_consumer_set how = {
		.channel = channel, .stream_id = stream_id, .at_stop_only = consumer->options.at_stop_only,
		.flush_ns = consumer->options.flush_ns,
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
		wmk_streams_remove_group(consumer, consumer->groups[0]);
	if (consumer->options.output)
		consumer->options.output->ops->close(consumer->options.output);
	pthread_cond_destroy(&consumer->changed);
	pthread_cond_destroy(&consumer->heartbeat_changed);
	pthread_mutex_destroy(&consumer->lock);
	pthread_mutex_destroy(&consumer->streams_lock);
	wmk_chunk_journal_free(&consumer->journal);
	wmk_chunk_journal_free(&consumer->begins);
	free(consumer->streams);
	free(consumer->groups);
	free(consumer->sets);
	free(consumer->watched);
	free(consumer->polled);
	if (atomic_load_explicit(&consumer->wake, memory_order_relaxed) >= 0)
		close(atomic_load_explicit(&consumer->wake, memory_order_relaxed));
	free(consumer);
}
