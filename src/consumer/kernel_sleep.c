/* SPDX-License-Identifier: MIT */
/*
 * kernel_sleep.c - sleep in poll(), for kernel channels.
 *
 * Usually the kernel wakes the consumer's thread when a quarter of a buffer is filled. A consumer's thread that sleeps
 * because nothing is unread *arms* its sources: the kernel then wakes the thread with the first record, so that the
 * flush interval of the channel can begin. When the consumer's thread wakes, it disarms the sources.
 *
 *     passes ──nothing unread──► arm ── poll ──first record──► disarm, flush ──► passes on a timer
 *                                 ▲                │ only records of the tracer's own threads (`fruitless`)
 *                                 └── one interval ┘
 *
 * The sleep itself causes kernel records, for example of the system calls of the consumer's thread. A record that the
 * sleep causes wakes the thread, but no packet contains the record, because the tracer's own records are left out. The
 * last arrow of the diagram (one interval) limits the rate of wakes by such records.
 */
#include "consumer/kernel_sleep.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "base/error.h"
#include "consumer/cpu_hotplug.h"
#include "consumer/thread.h"

/*
 * If `first` is true, arm the sources; otherwise disarm the sources. 0: done; 1: a source has a record already; -errno:
 * not possible.
 */
static int arm(struct wmk_consumer *consumer, bool first)
{
	int result = 0;

	pthread_mutex_lock(&consumer->streams_lock);
	for (size_t i = 0; i < consumer->n_streams; i++) {
		struct wmk_stream *stream = consumer->streams[i];

		if (!stream->source->ops->arm || stream->failed || !stream->group->flush_ns ||
		    wmk_stream_is_at_stop_only(stream))
			continue;
		const int ret = stream->source->ops->arm(stream->source, first);

		if (ret < 0)
			wmk_error_clear();
		if (result >= 0 && ret)
			result = ret;
	}
	pthread_mutex_unlock(&consumer->streams_lock);
	return result;
}

static void shorten(int *ms, uint64_t most_us)
{
	const int most = (int)((most_us + 999) / 1000);

	if (*ms < 0 || *ms > most)
		*ms = most;
}

/*
 * A command or a filled buffer ends the sleep of the consumer's thread. While packets cannot be written (`stuck`,
 * `refused`), the buffers stay full, so the consumer's thread does not pass the buffers to poll(): poll() would return
 * at once. A wake that came before this pass causes one more pass, so no command is missed.
 */
void wmk_kernel_sleep(struct wmk_consumer *consumer, bool deep, int64_t us)
{
	const bool brief = !deep && us <= WMK_CONSUMER_TIMER_US,
		   alone = brief || consumer->stuck || consumer->refused,
		   idle = deep && us < 0 && consumer->flushes && !alone;
	const unsigned first = 1 + consumer->n_followed;
	int ms = us >= 0 ? (int)((us + 999) / 1000) : -1;
	bool ready = false;
	eventfd_t count;

	if (deep && consumer->awaits_cpus)
		shorten(&ms, WMK_CPU_HOTPLUG_MS * 1000u);
	for (unsigned i = 1; i < first && consumer->follows_in_vain; i++)
		consumer->polled[i].fd = -1;
	if (consumer->follows_in_vain)
		shorten(&ms, WMK_CONSUMER_DEEP_US);
	const int armed = idle && !consumer->fruitless ? arm(consumer, true) : -1;

	if (armed > 0)
		ms = 0;
	else if (idle && armed < 0)
		shorten(&ms, consumer->flush_least_ns / 1000);
	poll(consumer->polled, brief ? 1 : alone ? first : consumer->n_polled, ms);
	consumer->follow_woke = false;
	for (unsigned i = 1; i < first && !brief; i++)
		consumer->follow_woke |= consumer->polled[i].revents != 0;
	if (consumer->polled[0].revents)
		eventfd_read(consumer->polled[0].fd, &count);
	for (unsigned i = first; !alone && i < consumer->n_polled; i++)
		ready |= consumer->polled[i].revents != 0;
	if (armed >= 0)
		arm(consumer, false);
	ready |= armed > 0;
	if (ready) {
		consumer->idle = 0;
		consumer->interval_us = consumer->options.min_us;
	}
	consumer->fruitless = ready && armed >= 0;
	consumer->source_woke = ready || (idle && armed < 0);
}

void wmk_kernel_watch(struct wmk_consumer *consumer)
{
	const int wake = atomic_load_explicit(&consumer->wake, memory_order_relaxed);
	struct pollfd *grown =
		wake < 0 ? NULL : realloc(consumer->polled, (2 * consumer->n_streams + 1) * sizeof(*grown));

	consumer->n_polled = 0;
	if (!grown)
		return;
	consumer->polled = grown;
	grown[consumer->n_polled++] = (struct pollfd){ .fd = wake, .events = POLLIN };
	for (size_t i = 0; i < consumer->n_streams; i++) {
		struct wmk_stream *stream = consumer->streams[i];
		const int fd = stream->source->ops->follow_fd && !stream->failed
				       ? stream->source->ops->follow_fd(stream->source)
				       : -1;

		if (fd >= 0)
			grown[consumer->n_polled++] = (struct pollfd){ .fd = fd, .events = POLLIN };
	}
	consumer->n_followed = consumer->n_polled - 1;
	for (size_t i = 0; i < consumer->n_streams; i++) {
		struct wmk_stream *stream = consumer->streams[i];

		if (stream->source->ops->fd && !stream->failed && !wmk_stream_is_at_stop_only(stream))
			grown[consumer->n_polled++] =
				(struct pollfd){ .fd = stream->source->ops->fd(stream->source), .events = POLLIN };
	}
}
