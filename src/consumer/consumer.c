/* SPDX-License-Identifier: MIT */
/*
 * consumer.c - the consumer's thread and its commands: when to look (look.c does it), when to sleep, how deep.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/error.h"
#include "consumer/internal.h"
#include "store/store.h"

#define MIN_US 1000u
#define MAX_US 100000u
#define EMPTY_LOOKS 8u             /* at the longest interval, before the thread waits to be woken by a writer */
#define TIMER_US 4000u             /* longer sleeps can be ended by a writer */
#define MANY_SETS_US 10000u        /* who watches several sets has only the timer */
#define DEEP_SLEEP_US 1000000u     /* a writer can be killed between its commit and the wake: look anyway */
#define PUBLISH_NS 50000000u
#define NICE (-10)

/* Wait for a change of state, under `lock`. */
static void wait_us(struct wmk_consumer *consumer, uint64_t us)
{
	struct timespec ts;
	uint64_t end = wmk_consumer_now_ns() + us * 1000;

	ts.tv_sec = (time_t)(end / 1000000000u);
	ts.tv_nsec = (long)(end % 1000000000u);
	pthread_cond_timedwait(&consumer->changed, &consumer->lock, &ts);
}

int wmk_consumer_open(const struct wmk_consumer_options *options, struct wmk_consumer **result)
{
	struct wmk_consumer *consumer;
	pthread_condattr_t attr;

	if (!options->sink || (options->max_us && options->max_us < options->min_us))
		return wmk_error(-EINVAL, "a consumer needs a sink, and bounds of its timer in order");
	consumer = calloc(1, sizeof(*consumer));
	if (!consumer)
		return wmk_error(-ENOMEM, "no memory for a consumer");
	consumer->options = *options;
	if (!consumer->options.min_us)
		consumer->options.min_us = MIN_US;
	if (!consumer->options.max_us)
		consumer->options.max_us = consumer->options.min_us > MAX_US ? consumer->options.min_us : MAX_US;
	consumer->interval_us = consumer->options.min_us;
	pthread_mutex_init(&consumer->streams_lock, NULL);
	pthread_mutex_init(&consumer->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&consumer->changed, &attr);
	pthread_cond_init(&consumer->pulse, &attr);
	pthread_condattr_destroy(&attr);
	*result = consumer;
	return 0;
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

static int add_stream(struct wmk_consumer *consumer, struct wmk_source *source, const char *name, uint32_t stream_id,
		      uint64_t instance, uint32_t cpu)
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
	stream->source = source;
	stream->stream_id = stream_id;
	stream->instance = instance;
	stream->cpu = cpu;
	return 0;
}

int wmk_consumer_add_source(struct wmk_consumer *consumer, struct wmk_source *source, const char *name,
			    uint32_t stream_id, uint64_t instance, uint32_t cpu)
{
	int err;

	pthread_mutex_lock(&consumer->streams_lock);
	err = add_stream(consumer, source, name, stream_id, instance, cpu);
	pthread_mutex_unlock(&consumer->streams_lock);
	return err;
}

/* Where the trace says that an earlier consumer was. What that one released but did not write is not to be had. */
static int resume_stream(struct wmk_consumer *consumer, struct wmk_stream *stream)
{
	const struct wmk_sink_ops *ops = consumer->options.sink->ops;
	struct wmk_ctf_packet last = { 0 };
	int err, found = -ENOENT;

	if (ops->stream_resume)
		found = ops->stream_resume(consumer->options.sink, stream->name, NULL, &stream->out, &last);
	if (found == -ENOENT)
		wmk_error_clear();
	else if (found < 0)
		return found;
	consumer->now.streams += stream->out != NULL;
	if (found == 1) {
		if (last.stream_id != stream->stream_id || last.instance != stream->instance)
			return wmk_error(-EPROTO, "stream %.60s belongs to another ring", stream->name);
		stream->sequence = last.sequence + 1;
		stream->end_ts = last.end_ts;
		stream->end_pos = last.ring_position + last.content;
		stream->shown = stream->source_lost = last.lost;
		stream->cut = last.cut;
		consumer->now.packets += stream->sequence;
	}
	err = stream->source->ops->resume ? stream->source->ops->resume(stream->source, &last, &stream->taken) : 0;
	stream->written = stream->taken;
	if (err < 0)
		wmk_consumer_bury(consumer, stream, "the trace lacks the end of what was read from its ring", err);
	return 0;
}

static int add_ring(struct wmk_consumer *consumer, struct waymark_ring_set *set, uint32_t ring, const char *channel,
		    uint32_t stream_id)
{
	uint32_t cpus = waymark_ring_set_cpus(set);
	bool claim = ring >= cpus;
	struct wmk_source *source;
	char name[WMK_STREAM_NAME];
	int err = wmk_source_ring_open(set, ring, &source);

	if (err < 0)
		return err;
	snprintf(name, sizeof(name), "%s_%s%u", channel, claim ? "claim" : "", claim ? ring - cpus : ring);
	err = add_stream(consumer, source, name, stream_id, ring, claim ? WMK_CTF_CPU_NONE : ring);
	if (err < 0)
		source->ops->close(source);
	else if (consumer->options.resume)
		err = resume_stream(consumer, consumer->streams[consumer->n_streams - 1]);
	return err;
}

static void drop_stream(struct wmk_consumer *consumer)
{
	struct wmk_stream *stream = consumer->streams[--consumer->n_streams];

	if (stream->out)
		consumer->options.sink->ops->stream_close(stream->out);
	stream->source->ops->close(stream->source);
	free(stream);
}

uint32_t wmk_consumer_header_room(uint32_t subbuf_size)
{
	/* A sub-buffer begins at a page with 64 bytes of its own: the packet's header then begins at 512. */
	return subbuf_size >= WMK_STORE_DIRECT_MIN ? WMK_STORE_ALIGN - 64 + WMK_CTF_PACKET_ROOM : WMK_CTF_PACKET_ROOM;
}

int wmk_consumer_add_set(struct wmk_consumer *consumer, struct waymark_ring_set *set, const char *channel,
			 uint32_t stream_id)
{
	size_t before;
	uint32_t ring;
	int err = 0;

	if (waymark_ring_set_options(set)->header_room < WMK_CTF_PACKET_ROOM || strlen(channel) > WMK_STREAM_NAME - 32)
		return wmk_error(-EINVAL, "channel %.60s: its name is too long, or its rings leave no room for headers",
				 channel);
	pthread_mutex_lock(&consumer->streams_lock);
	before = consumer->n_streams;
	for (ring = 0; ring < waymark_ring_set_rings(set) && err >= 0; ring++)
		err = add_ring(consumer, set, ring, channel, stream_id);
	pthread_mutex_lock(&consumer->lock); /* the heart looks at the sets */
	if (err >= 0 && push((void ***)&consumer->sets, &consumer->n_sets, set) < 0)
		err = wmk_error(-ENOMEM, "no memory for another ring set");
	pthread_mutex_unlock(&consumer->lock);
	while (err < 0 && consumer->n_streams > before)
		drop_stream(consumer);
	pthread_mutex_unlock(&consumer->streams_lock);
	return err < 0 ? wmk_error_add(err, "cannot consume channel %.60s", channel) : 0;
}

/* ── the thread ──────────────────────────────────────────────────────────────────────────────────────── */

/* How long until the next look: half as long when rings fill fast, twice as long when nothing comes. */
static void adapt(struct wmk_consumer *consumer, const struct wmk_look_result *seen)
{
	uint32_t us = consumer->interval_us;

	if (seen->err < 0) {
		us = consumer->options.max_us;
	} else if (seen->most > 1) {
		us /= 2;
	} else if (!seen->packets) {
		us *= 2;
	}
	if (seen->more)
		us = 0;
	consumer->idle = seen->packets ? 0 : consumer->idle + (us >= consumer->options.max_us);
	consumer->interval_us = us < consumer->options.min_us ? consumer->options.min_us :
				us > consumer->options.max_us ? consumer->options.max_us : us;
}

/*
 * Until the next look, under `lock`, which it lets go. Short: by the timer, and writers make no system call. Longer:
 * a writer that enters a sub-buffer ends it, or a burst would fill the rings meanwhile. That is one wake in a look at
 * most.
 */
static void rest(struct wmk_consumer *consumer)
{
	const bool deep = consumer->idle >= EMPTY_LOOKS;
	const uint64_t us = deep ? DEEP_SLEEP_US : consumer->interval_us;

	if (consumer->many || !consumer->only || us <= TIMER_US || consumer->now.stuck) {
		wait_us(consumer, consumer->many && us > MANY_SETS_US ? MANY_SETS_US : consumer->interval_us);
		return;
	}
	consumer->asleep = consumer->only;
	if (deep)
		wmk_consumer_heart_rest(consumer, true);
	pthread_mutex_unlock(&consumer->lock);
	if (waymark_ring_set_wait(consumer->only, us) > 0) {
		consumer->idle = 0;
		consumer->interval_us = consumer->options.min_us;
	}
	pthread_mutex_lock(&consumer->lock);
	consumer->asleep = NULL;
	if (deep)
		wmk_consumer_heart_rest(consumer, false);
}

static void look_and_publish(struct wmk_consumer *consumer, enum wmk_look how, struct wmk_look_result *seen,
			     uint64_t *published)
{
	pthread_mutex_lock(&consumer->streams_lock);
	consumer->only = consumer->n_sets == 1 ? consumer->sets[0] : NULL;
	consumer->many = consumer->n_sets > 1;
	wmk_consumer_tend(consumer);
	if (how == WMK_LOOK_WHOLE && consumer->options.at_stop_only)
		memset(seen, 0, sizeof(*seen));
	else
		wmk_consumer_look(consumer, how, seen);
	consumer->ended |= how == WMK_LOOK_END;
	if (how != WMK_LOOK_WHOLE || wmk_consumer_now_ns() - *published > PUBLISH_NS) {
		wmk_consumer_publish(consumer);
		*published = wmk_consumer_now_ns();
	}
	pthread_mutex_unlock(&consumer->streams_lock);
}

static void *run(void *arg)
{
	struct wmk_consumer *consumer = arg;
	struct wmk_look_result seen;
	uint64_t flush = 0, published = 0;
	bool stop = false;

	/* Of this thread alone. Where it is not permitted, we have the share that everybody has. */
	if (getpriority(PRIO_PROCESS, 0) > NICE)
		setpriority(PRIO_PROCESS, 0, NICE);
	while (!stop) {
		look_and_publish(consumer, flush ? WMK_LOOK_FLUSH : WMK_LOOK_WHOLE, &seen, &published);
		adapt(consumer, &seen);
		pthread_mutex_lock(&consumer->lock);
		if (flush) {
			consumer->flush_done = flush;
			consumer->flush_err = seen.err;
			pthread_cond_broadcast(&consumer->changed);
		}
		if (!consumer->stop && consumer->flush_wanted == consumer->flush_done && !seen.more)
			rest(consumer);
		stop = consumer->stop;
		flush = consumer->flush_wanted == consumer->flush_done ? 0 : consumer->flush_wanted;
		pthread_mutex_unlock(&consumer->lock);
	}
	look_and_publish(consumer, WMK_LOOK_END, &seen, &published);
	consumer->stop_err = seen.err;
	return NULL;
}

int wmk_consumer_start(struct wmk_consumer *consumer)
{
	sigset_t all, before;
	int err;

	if (consumer->running || consumer->ended)
		return wmk_error(-EINVAL, "the consumer has been started before");
	/* Signals are for the thread that started us. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = wmk_consumer_heart_start(consumer);
	if (err >= 0 && (err = -pthread_create(&consumer->thread, NULL, run, consumer)) < 0) {
		wmk_consumer_heart_stop(consumer);
		wmk_error(err, "cannot start the consumer's thread: %s", strerror(-err));
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err < 0)
		return err;
	pthread_setname_np(consumer->thread, "wmk-consumer");
	consumer->running = true;
	return 0;
}

/* Under `lock`: have the thread see a command, wherever it sleeps. */
static void nudge(struct wmk_consumer *consumer)
{
	pthread_cond_broadcast(&consumer->changed);
	if (consumer->asleep)
		waymark_ring_set_wake(consumer->asleep);
}

int wmk_consumer_flush(struct wmk_consumer *consumer)
{
	uint64_t mine;
	int err;

	if (!consumer->running || consumer->options.at_stop_only)
		return wmk_error(-EINVAL, "this consumer does not write before it is stopped");
	pthread_mutex_lock(&consumer->lock);
	mine = ++consumer->flush_wanted;
	while (consumer->flush_done < mine) {
		nudge(consumer);
		wait_us(consumer, MIN_US);
	}
	err = consumer->flush_err;
	pthread_mutex_unlock(&consumer->lock);
	return err < 0 ? wmk_error(err, "not everything could be written: %s", strerror(-err)) : 0;
}

static void stop_thread(struct wmk_consumer *consumer)
{
	struct timespec ts;
	uint64_t end;

	do {
		pthread_mutex_lock(&consumer->lock);
		consumer->stop = true;
		nudge(consumer);
		pthread_mutex_unlock(&consumer->lock);
		/* It may have been on its way to sleep: nudge until it has gone. */
		clock_gettime(CLOCK_REALTIME, &ts);
		end = (uint64_t)ts.tv_nsec + MIN_US * 1000u;
		ts.tv_sec += (time_t)(end / 1000000000u);
		ts.tv_nsec = (long)(end % 1000000000u);
	} while (pthread_timedjoin_np(consumer->thread, NULL, &ts) == ETIMEDOUT);
	wmk_consumer_heart_stop(consumer);
	consumer->running = false;
}

int wmk_consumer_stop(struct wmk_consumer *consumer)
{
	struct wmk_look_result seen;
	uint64_t published = 0;

	if (consumer->running) {
		stop_thread(consumer);
	} else if (!consumer->ended) {
		look_and_publish(consumer, WMK_LOOK_END, &seen, &published);
		consumer->stop_err = seen.err;
	}
	if (consumer->stop_err < 0)
		return wmk_error(consumer->stop_err, "the trace is incomplete: %s", strerror(-consumer->stop_err));
	return 0;
}

void wmk_consumer_stats(struct wmk_consumer *consumer, struct wmk_consumer_stats *stats)
{
	pthread_mutex_lock(&consumer->lock);
	*stats = consumer->stats;
	pthread_mutex_unlock(&consumer->lock);
}

void wmk_consumer_close(struct wmk_consumer *consumer)
{
	if (!consumer)
		return;
	if (consumer->running)
		stop_thread(consumer);
	while (consumer->n_streams)
		drop_stream(consumer);
	consumer->options.sink->ops->close(consumer->options.sink);
	pthread_cond_destroy(&consumer->changed);
	pthread_cond_destroy(&consumer->pulse);
	pthread_mutex_destroy(&consumer->lock);
	pthread_mutex_destroy(&consumer->streams_lock);
	free(consumer->streams);
	free(consumer->sets);
	free(consumer);
}
