/* SPDX-License-Identifier: MIT */
/*
 * commands.c - commands to a consumer. The consumer's thread carries out commands between drain passes. The thread that
 * issues a command waits until the command is done.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "consumer/clock_sync.h"
#include "consumer/cpu_hotplug.h"
#include "consumer/drain.h"
#include "consumer/reclaim_timer.h"
#include "consumer/stream_counts.h"
#include "consumer/streams.h"
#include "consumer/thread.h"

struct command {
	struct wmk_consumer *consumer;
	int (*carry_out)(struct command *command);         /* under streams_lock */
	const void *from;
	int (*function)(void *arg);
	void *arg;
	struct wmk_consumer_stats *stats;
	uint64_t idle_ns;
	int err;
	struct wmk_error_chain *why;
	bool done;
};

static void carry_out(void *arg)
{
	struct command *command = arg;
	struct wmk_consumer *consumer = command->consumer;
	int err;

	pthread_mutex_lock(&consumer->streams_lock);
	wmk_consumer_maintain(consumer);
	wmk_consumer_check_cpus(consumer, true);
	err = command->carry_out(command);
	wmk_consumer_publish(consumer);
	pthread_mutex_unlock(&consumer->streams_lock);
	pthread_mutex_lock(&consumer->lock);
	command->err = err;
	command->why = err < 0 ? wmk_error_take() : NULL;
	command->done = true;
	pthread_cond_broadcast(&consumer->changed);
	pthread_mutex_unlock(&consumer->lock);
}

/*
 * Run the command in the consumer's thread, and wait until the command is done. If the calling thread is the consumer's
 * thread, or if the consumer's thread does not run, the calling thread runs the command.
 */
static int command(struct command *command)
{
	struct wmk_consumer *consumer = command->consumer;
	int err;

	if (!consumer->running || pthread_equal(pthread_self(), consumer->thread)) {
		carry_out(command);
		wmk_error_give(command->why);
		return command->err;
	}
	err = wmk_consumer_queue_work(consumer, carry_out, command);
	if (err < 0)
		return err;
	pthread_mutex_lock(&consumer->lock);
	while (!command->done)
		pthread_cond_wait(&consumer->changed, &consumer->lock);
	pthread_mutex_unlock(&consumer->lock);
	wmk_error_give(command->why);
	return command->err;
}

static int do_work(struct command *command)
{
	return command->function(command->arg);
}

int wmk_consumer_run_work(struct wmk_consumer *consumer, int (*function)(void *arg), void *arg)
{
	struct command work = { .consumer = consumer, .carry_out = do_work, .function = function, .arg = arg };

	return command(&work);
}

static int incomplete(int err)
{
	return err < 0 ? wmk_error(err, "some records could not be written: %s", strerror(-err)) : 0;
}

static int do_flush(struct command *command)
{
	struct wmk_drain_result seen;

	wmk_consumer_drain(command->consumer, WMK_DRAIN_FLUSH, NULL, false, &seen);
	return seen.err;
}

int wmk_consumer_flush(struct wmk_consumer *consumer)
{
	struct command flush = { .consumer = consumer, .carry_out = do_flush };

	if (!consumer->running || consumer->options.at_stop_only)
		return wmk_error(-EINVAL, "cannot flush: this consumer writes only when it is stopped");
	return incomplete(command(&flush));
}

static int do_settle(struct command *command)
{
	const struct wmk_group *group = command->from ? wmk_streams_find_group(command->consumer, command->from) : NULL;
	struct wmk_drain_result seen;

	if (command->from && !group)
		return -ENOENT;
	wmk_consumer_drain(command->consumer, WMK_DRAIN_FLUSH, group, true, &seen);
	wmk_clock_sync(command->consumer, 0);
	return seen.err;
}

static int unknown(void)
{
	return wmk_error(-ENOENT, "no such channel in this consumer");
}

int wmk_consumer_settle(struct wmk_consumer *consumer, const void *from)
{
	struct command settle = { .consumer = consumer, .carry_out = do_settle, .from = from };
	int err = command(&settle);

	return err == -ENOENT ? unknown() : incomplete(err);
}

static int do_remove(struct command *command)
{
	struct wmk_group *group = wmk_streams_find_group(command->consumer, command->from);
	struct wmk_drain_result seen;

	if (!group)
		return -ENOENT;
	wmk_consumer_drain(command->consumer, WMK_DRAIN_END, group, false, &seen);
	wmk_clock_sync(command->consumer, 0);
	if (command->stats)
		wmk_consumer_sum(command->consumer, group, command->stats);
	wmk_streams_remove_group(command->consumer, group);
	/* After a removal, the consumer's thread must not wait on the removed sets. */
	wmk_consumer_watch(command->consumer);
	return seen.err;
}

int wmk_consumer_remove(struct wmk_consumer *consumer, const void *from, struct wmk_consumer_stats *stats)
{
	struct command remove = { .consumer = consumer, .carry_out = do_remove, .from = from, .stats = stats };
	int err = command(&remove);

	return err == -ENOENT ? unknown() : incomplete(err);
}

static int do_clear(struct command *command)
{
	struct wmk_consumer *consumer = command->consumer;
	int first = 0;

	memset(&consumer->gone, 0, sizeof(consumer->gone));
	for (size_t i = 0; i < consumer->n_groups; i++) {
		memset(&consumer->groups[i]->now, 0, sizeof(consumer->groups[i]->now));
		memset(&consumer->groups[i]->earlier, 0, sizeof(consumer->groups[i]->earlier));
		memset(&consumer->groups[i]->ended, 0, sizeof(consumer->groups[i]->ended));
		consumer->groups[i]->writing_ns = consumer->groups[i]->behind_ns = 0;
	}
	for (size_t i = 0; i < consumer->n_streams; i++) {
		int err = wmk_streams_restart(consumer, consumer->streams[i]);

		if (err < 0 && first == 0)
			first = err;
	}
	return first;
}

int wmk_consumer_clear(struct wmk_consumer *consumer)
{
	struct command clear = { .consumer = consumer, .carry_out = do_clear };
	int err = command(&clear);

	return err < 0 ? wmk_error(err, "some streams could not be cleared: %s", strerror(-err)) : 0;
}

static int do_reclaim(struct command *command)
{
	const struct wmk_group *group = wmk_streams_find_group(command->consumer, command->from);
	struct wmk_drain_result seen;

	if (!group)
		return -ENOENT;
	wmk_consumer_drain(command->consumer, WMK_DRAIN_WHOLE, group, false, &seen);
	return wmk_group_reclaim(command->consumer, group, command->idle_ns);
}

int wmk_consumer_reclaim(struct wmk_consumer *consumer, const void *from, uint64_t idle_ns)
{
	struct command reclaim = { .consumer = consumer, .carry_out = do_reclaim, .from = from, .idle_ns = idle_ns };
	int err = command(&reclaim);

	if (err == -ENOENT)
		return unknown();
	if (err == -EOPNOTSUPP)
		return wmk_errorx(err, "the file system of the buffers cannot release parts of a file");
	return err < 0 ? wmk_error(err, "the memory of some buffers could not be given back: %s", strerror(-err)) : 0;
}

static int do_sum(struct command *command)
{
	const struct wmk_group *group = wmk_streams_find_group(command->consumer, command->from);

	if (!group)
		return -ENOENT;
	wmk_consumer_sum(command->consumer, group, command->stats);
	return 0;
}

int wmk_consumer_stats_of(struct wmk_consumer *consumer, const void *from, struct wmk_consumer_stats *stats)
{
	struct command sum = { .consumer = consumer, .carry_out = do_sum, .from = from, .stats = stats };

	return command(&sum) < 0 ? unknown() : 0;
}

struct clock_step {
	struct wmk_consumer *consumer;
	struct wmk_clock_point point;
};

static void write_clock_step(void *arg)
{
	struct clock_step *step = arg;

	wmk_clock_sync_write(step->consumer, &step->point);
	free(step);
}

void wmk_consumer_clock_stepped(struct wmk_consumer *consumer)
{
	struct clock_step *step = calloc(1, sizeof(*step));

	if (!step || !wmk_clock_sync_take(consumer, &step->point)) {
		free(step);
		return;
	}
	step->consumer = consumer;
	step->point.flags = WMK_CLOCK_POINT_STEP;
	if (wmk_consumer_queue_work(consumer, write_clock_step, step) < 0) {
		wmk_error_clear();
		free(step);
	}
}

void wmk_consumer_stats(struct wmk_consumer *consumer, struct wmk_consumer_stats *stats)
{
	pthread_mutex_lock(&consumer->lock);
	*stats = consumer->stats;
	pthread_mutex_unlock(&consumer->lock);
}
