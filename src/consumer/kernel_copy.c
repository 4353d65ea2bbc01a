/* SPDX-License-Identifier: MIT */
/* kernel_copy.c - copies of kernel channels for snapshots (see kernel_copy.h). */
#include "consumer/kernel_copy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "consumer/source_copy.h"
#include "consumer/streams.h"
#include "consumer/thread.h"
#include "kernel/channel/channel_reader.h"
#include "kernel/statedump/statedump_source.h"

struct copied_stream {
	struct wmk_source *source;         /* NULL: the stream was added to a consumer */
	char name[WMK_STREAM_NAME];
	uint32_t instance, cpu;
};

struct wmk_kernel_copy {
	struct copied_stream *streams;
	size_t n_streams;
	struct wmk_source *dump;           /* NULL: no state dump, or it was added to a consumer */
	uint64_t missed;                   /* number of records that were overwritten or are beyond the limit */
};

/* Arguments of take_all(). */
struct taking {
	struct wmk_consumer *consumer;
	struct wmk_kreader *const *reader;
	const struct wmk_consumer_set *how;
	struct wmk_kernel_copy *copy;
};

static int take_stream(struct wmk_kernel_copy *copy, struct wmk_stream *stream, uint64_t max_bytes)
{
	struct copied_stream *made = &copy->streams[copy->n_streams];
	struct wmk_packet last = { .records = stream->taken };
	uint64_t missed;
	int err = wmk_source_copy_take(stream->source, max_bytes, &last, &made->source, &missed);

	/* as in a drain pass: the records do not count as lost */
	stream->written += last.records - stream->taken;
	stream->taken = last.records;
	if (last.end) {
		stream->end_ts = last.end_ts;
		stream->end_pos = last.end;
		stream->packet_pos = last.position;
	}
	if (err < 0)
		return err;
	snprintf(made->name, sizeof(made->name), "%s", stream->name);
	made->instance = (uint32_t)stream->instance;
	made->cpu = stream->cpu;
	wmk_sum_add(&copy->missed, missed);
	copy->n_streams++;
	return 0;
}

static int take_dump(struct wmk_kernel_copy *copy, const struct wmk_kreader *reader, uint64_t number)
{
	int err = wmk_kreader_dumper(reader, &copy->dump);

	if (err == 0)
		return wmk_kdumper_begin(copy->dump, number);
	copy->dump = NULL;
	/* only one channel of a session has the state dump */
	if (err == -ENOENT) {
		wmk_error_clear();
		return 0;
	}
	return err;
}

/* The function runs in the consumer's thread, under streams_lock. */
static int take_all(void *arg)
{
	const struct taking *taking = arg;
	struct wmk_consumer *consumer = taking->consumer;
	const struct wmk_group *group = *taking->reader ? wmk_streams_find_group(consumer, *taking->reader) : NULL;
	struct wmk_kernel_copy *copy = taking->copy;
	int err = 0;

	if (!group)
		return wmk_error(-ENOENT, "the channel has ended");
	copy->streams = calloc(consumer->n_streams + 1, sizeof(*copy->streams));
	if (!copy->streams)
		return wmk_error(-ENOMEM, "no memory for a copy of a kernel channel");
	for (size_t i = 0; i < consumer->n_streams && err == 0; i++) {
		struct wmk_stream *stream = consumer->streams[i];

		if (stream->group == group && !stream->dump && !stream->failed)
			err = take_stream(copy, stream, taking->how->copy_max);
	}
	return err == 0 && taking->how->statedump ? take_dump(copy, *taking->reader, taking->how->statedump) : err;
}

int wmk_kernel_copy_take(struct wmk_consumer *consumer, struct wmk_kreader *const *reader,
			 const struct wmk_consumer_set *how, struct wmk_kernel_copy **copy)
{
	struct wmk_kernel_copy *made = calloc(1, sizeof(*made));
	struct taking taking = { consumer, reader, how, made };

	if (!made)
		return wmk_error(-ENOMEM, "no memory for a copy of a kernel channel");
	const int err = wmk_consumer_run_work(consumer, take_all, &taking);

	if (err < 0) {
		wmk_kernel_copy_free(made);
		return wmk_error_add(err, "cannot copy the kernel channel %.60s", how->channel);
	}
	*copy = made;
	return 0;
}

static int add_all(struct wmk_consumer *consumer, struct wmk_group *group, struct wmk_kernel_copy *copy,
		   const struct wmk_consumer_set *how)
{
	char name[WMK_STREAM_NAME];
	int err = 0;

	wmk_sum_add(&group->now.counts.overwritten, copy->missed);
	for (size_t i = 0; i < copy->n_streams && err >= 0; i++) {
		struct copied_stream *is = &copy->streams[i];

		err = wmk_streams_add(consumer, group, is->source, is->name, is->instance, is->cpu, how);
		is->source = NULL;
	}
	if (err < 0 || !copy->dump)
		return err;
	snprintf(name, sizeof(name), "%.*s_statedump", (int)(sizeof(name) - 16), how->channel);
	group->dump = copy->dump;
	copy->dump = NULL;
	err = wmk_streams_add(consumer, group, group->dump, name, WMK_DUMP_INSTANCE, WMK_CTF_CPU_NONE, how);
	if (err >= 0)
		consumer->streams[consumer->n_streams - 1]->dump = true;
	return err;
}

int wmk_kernel_copy_add(struct wmk_consumer *consumer, struct wmk_kernel_copy *copy,
			const struct wmk_consumer_set *how)
{
	struct wmk_group *group;
	int err = -ENOMEM;

	pthread_mutex_lock(&consumer->streams_lock);
	group = wmk_streams_add_group_of(consumer, copy, how);
	if (group)
		err = add_all(consumer, group, copy, how);
	if (group && err < 0)
		wmk_streams_remove_group(consumer, group);
	pthread_mutex_unlock(&consumer->streams_lock);
	wmk_consumer_wake(consumer);
	return err < 0 ? wmk_error_add(err, "cannot write the copy of the kernel channel %.60s", how->channel) : 0;
}

void wmk_kernel_copy_free(struct wmk_kernel_copy *copy)
{
	if (!copy)
		return;
	for (size_t i = 0; i < copy->n_streams; i++)
		if (copy->streams[i].source)
			copy->streams[i].source->ops->close(copy->streams[i].source);
	if (copy->dump)
		copy->dump->ops->close(copy->dump);
	free(copy->streams);
	free(copy);
}
