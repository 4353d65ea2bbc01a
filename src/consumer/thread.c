/* SPDX-License-Identifier: MIT */
/*
 * thread.c - the consumer's thread: when it drains (drain.c), when and how long it sleeps.
 *
 * The consumer's thread sleeps on a futex for commands (`word`, changed by wmk_consumer_wake()) and on the rings of all
 * sets. The thread reads `word` before it takes queued work. The thread sleeps only while `word` still has the value
 * that it read. A command that is queued after the read does not wait for the timeout of the sleep.
 */
#include "consumer/thread.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "consumer/clock_sync.h"
#include "consumer/cpu_hotplug.h"
#include "consumer/drain.h"
#include "consumer/flush_timer.h"
#include "consumer/heartbeat.h"
#include "consumer/kernel_sleep.h"
#include "consumer/reclaim_timer.h"
#include "consumer/rotation.h"
#include "consumer/stream_counts.h"
#include "ring/request.h"

/* number of empty passes at the longest interval; after them, the thread sleeps until a writer wakes it */
#define EMPTY_PASSES 8u
#define FOLLOWED_US 10000u         /* limit of the interval while a live reader follows the trace */
#define RETRY_US 1000000           /* time until the thread requests memory again after a failure */
#define PUBLISH_NS 50000000u
#define STACK (256u * 1024)
#define NICE (-10)

void wmk_consumer_wake(struct wmk_consumer *consumer)
{
	/*
	 * Release: a thread that reads the new `word` also reads the queued command; pairs with the acquire in run().
	 */
	__atomic_fetch_add(&consumer->word, 1, __ATOMIC_RELEASE);
	/* Not FUTEX_PRIVATE: the thread waits for this word together with futexes of rings in shared memory. */
	syscall(SYS_futex, &consumer->word, FUTEX_WAKE, 1, NULL, NULL, 0);
	/* (W) acquire: the eventfd exists; pairs with (V) in consumer.c */
	int wake = atomic_load_explicit(&consumer->wake, memory_order_acquire);

	if (wake >= 0)
		eventfd_write(wake, 1);
}

static void sleep_on_word(struct wmk_consumer *consumer, uint32_t value, uint64_t us)
{
	struct timespec ts = { (time_t)(us / 1000000), (long)(us % 1000000) * 1000 };

	syscall(SYS_futex, &consumer->word, FUTEX_WAIT, value, &ts, NULL, 0);
}

/* Return the longest time between two passes before the deep sleep. */
static uint32_t longest_us(const struct wmk_consumer *consumer)
{
	return consumer->is_followed && consumer->options.max_us > FOLLOWED_US ? FOLLOWED_US : consumer->options.max_us;
}

/* Set the time until the next pass: halve the time if rings fill fast, double the time if no packet arrives. */
static void adapt(struct wmk_consumer *consumer, const struct wmk_drain_result *seen)
{
	const uint32_t most = longest_us(consumer);
	uint32_t us = consumer->interval_us;

	if (seen->full) {
		us = most;
	} else if (seen->most > 1) {
		us /= 2;
	} else if (!seen->packets) {
		us *= 2;
	}
	if (seen->more)
		us = 0;
	/*
	 * With a live reader, parts of sub-buffers are written often. The deep sleep then begins only after the last
	 * part is written.
	 */
	consumer->idle = seen->packets || (consumer->is_followed && seen->flushed) ? 0 : consumer->idle + (us >= most);
	consumer->interval_us = us < consumer->options.min_us ? consumer->options.min_us : us > most ? most : us;
}

/*
 * Sleep until a command, a writer, or the timeout ends the sleep. With `by_record`, a writer that commits any record
 * ends the sleep. Without `by_record`, only a writer that enters a sub-buffer ends the sleep. Returns false if the
 * thread cannot wait for writers (too many sets, old kernel, membarrier(2) refused).
 */
static bool sleep_on_rings(struct wmk_consumer *consumer, uint32_t word, int64_t us, bool by_record)
{
	const uint64_t begin = wmk_clock_monotonic();
	int woken = (by_record ? waymark_ring_sets_wait_record : waymark_ring_sets_wait)(
		consumer->watched, consumer->n_watched, &consumer->word, word, us);

	if (woken > 0) {
		consumer->idle = 0;
		consumer->interval_us = consumer->options.min_us;
	} else if (woken == 0 && (us < 0 || by_record) &&
		   wmk_clock_monotonic() - begin < WMK_CONSUMER_TIMER_US * 1000u &&
		   __atomic_load_n(&consumer->word, __ATOMIC_RELAXED) == word) {
		/*
		 * A process that can write to a ring set has woken the thread without a record, so the thread limits
		 * the rate of wakes.
		 */
		sleep_on_word(consumer, word, WMK_CONSUMER_TIMER_US);
	}
	return woken >= 0;
}

/*
 * Return the limit of the next sleep in us; -1: no limit. If the writers of a set do not wake the reader, the poll
 * interval of the set limits the sleep.
 */
static int64_t sleep_limit(const struct wmk_consumer *consumer, bool deep)
{
	const uint64_t now = wmk_clock_monotonic();
	const int64_t unread = !deep ? (int64_t)consumer->interval_us : consumer->unbacked ? RETRY_US : -1;
	const int64_t us = consumer->poll_us && (unread < 0 || unread > consumer->poll_us) ? consumer->poll_us : unread;
	const int64_t flush_us = consumer->flush_at > now ? (int64_t)((consumer->flush_at - now) / 1000) + 1 : 0;

	return consumer->flush_at == WMK_FLUSH_NEVER || (us >= 0 && us < flush_us) ? us : flush_us;
}

/* Return the limit of a deep sleep in us. The deep sleep also ends when the memory of a ring can be reclaimed. */
static int64_t reclaim_limit(const struct wmk_consumer *consumer, int64_t us)
{
	const uint64_t now = wmk_clock_monotonic();
	const int64_t reclaim_us =
		consumer->reclaim_at > now ? (int64_t)((consumer->reclaim_at - now) / 1000) + 1 : 0;

	return consumer->reclaim_at == WMK_RECLAIM_NEVER || (us >= 0 && us < reclaim_us) ? us : reclaim_us;
}

/*
 * Sleep until the next pass. A short sleep uses a timer, so that writers make no system call. A longer sleep ends when
 * a writer enters a sub-buffer, because a burst could fill the rings during the sleep. Writers cause at most one wake
 * per pass. A deep sleep begins when nothing is unread, and ends when a writer commits a record.
 */
static void sleep_until_next(struct wmk_consumer *consumer, uint32_t word)
{
	/*
	 * No deep sleep begins while a packet is refused: the record is already in the ring, so no writer would end the
	 * sleep.
	 */
	const bool deep = consumer->idle >= EMPTY_PASSES && !consumer->refused;
	const int64_t us = sleep_limit(consumer, deep);
	bool slept;

	if (deep)
		wmk_clock_sync(consumer, WMK_CLOCK_SYNC_IDLE_NS);
	if (consumer->n_polled) {
		wmk_kernel_sleep(consumer, deep, us);
		return;
	}
	if (consumer->stuck || (!deep && us <= WMK_CONSUMER_TIMER_US)) {
		/*
		 * If the disk is full, the flush interval of unwritten parts is already over, so flush_at must not end
		 * the sleep. The thread retries the parts only after it has written whole sub-buffers.
		 */
		sleep_on_word(consumer, word, consumer->stuck ? consumer->interval_us : (uint64_t)us);
		return;
	}
	if (deep)
		wmk_consumer_heartbeat_pause(consumer, true);
	slept = sleep_on_rings(consumer, word, deep ? reclaim_limit(consumer, us) : us,
			       deep && us < 0 && consumer->flushes);
	if (deep)
		wmk_consumer_heartbeat_pause(consumer, false);
	if (!slept)
		sleep_on_word(consumer, word,
			      us < 0 || us > WMK_CONSUMER_DEEP_US ? WMK_CONSUMER_DEEP_US : (uint64_t)us);
}

/*
 * List the sets on which the thread sleeps: writers of these sets wake the reader. If no memory is available for the
 * list, the thread drains every 100 ms, as with too many sets.
 */
void wmk_consumer_watch(struct wmk_consumer *consumer)
{
	wmk_kernel_watch(consumer);
	struct waymark_ring_set **grown = realloc(consumer->watched, (consumer->n_sets + 1) * sizeof(*grown));

	consumer->n_watched = WAYMARK_RING_WAIT_SETS + 1;
	if (!grown)
		return;
	consumer->watched = grown;
	consumer->n_watched = 0;
	consumer->poll_us = 0;
	for (size_t i = 0; i < consumer->n_sets; i++) {
		uint32_t us = waymark_ring_set_options(consumer->sets[i])->poll_us;

		if (us && us < consumer->options.min_us)         /* an application can forge it */
			us = consumer->options.min_us;
		if (!us)
			grown[consumer->n_watched++] = consumer->sets[i];
		else if (!consumer->poll_us || us < consumer->poll_us)
			consumer->poll_us = us;
	}
}

/* Report new requests of applications for snapshots. */
static void report_requests(const struct wmk_consumer *consumer)
{
	for (size_t i = 0; consumer->options.requested && i < consumer->n_sets; i++) {
		const uint64_t id = wmk_ring_requested(consumer->sets[i]);

		if (id != 0 && id != consumer->sets[i]->reported_request)
			consumer->options.requested(consumer->options.data);
		consumer->sets[i]->reported_request = id;
	}
}

static void drain_and_publish(struct wmk_consumer *consumer, enum wmk_drain_mode how, struct wmk_drain_result *seen,
			     uint64_t *published)
{
	pthread_mutex_lock(&consumer->streams_lock);
	wmk_consumer_maintain(consumer);
	report_requests(consumer);
	wmk_consumer_cut_expire(consumer, how == WMK_DRAIN_END);
	consumer->awaits_cpus = wmk_consumer_check_cpus(consumer, how == WMK_DRAIN_END);
	wmk_consumer_drain(consumer, how, NULL, false, seen);
	if (how == WMK_DRAIN_WHOLE)
		wmk_consumer_flush_due(consumer, seen);
	if (how == WMK_DRAIN_WHOLE)
		wmk_consumer_reclaim_due(consumer);
	wmk_consumer_watch(consumer);
	consumer->follows_in_vain = consumer->follow_woke && !seen->followed;
	consumer->stuck = seen->full;
	consumer->refused = seen->err < 0;
	/* Retry metadata that could not be written, even if no packet waits for the metadata. */
	if (consumer->options.ready && consumer->options.ready(consumer->options.data) < 0) {
		consumer->refused = true;
		wmk_error_clear();
	}
	wmk_clock_sync(consumer, how == WMK_DRAIN_END ? 0 : WMK_CLOCK_SYNC_NS);
	consumer->ended |= how == WMK_DRAIN_END;
	if (how != WMK_DRAIN_WHOLE || wmk_clock_monotonic() - *published > PUBLISH_NS) {
		wmk_consumer_publish(consumer);
		*published = wmk_clock_monotonic();
	}
	pthread_mutex_unlock(&consumer->streams_lock);
}

/* Carry out all queued work. */
static void run_work(struct wmk_consumer *consumer)
{
	struct wmk_consumer_work *work, *next;

	pthread_mutex_lock(&consumer->lock);
	work = consumer->work;
	consumer->work = NULL;
	consumer->work_end = &consumer->work;
	pthread_mutex_unlock(&consumer->lock);
	for (; work; work = next) {
		next = work->next;
		work->function(work->arg);
		free(work);
	}
}

static void *run(void *arg)
{
	struct wmk_consumer *consumer = arg;
	struct wmk_drain_result seen;
	uint64_t published = 0;
	uint32_t word;
	bool waits;

	wmk_kown_thread_begins(consumer->thread_begun);
	/*
	 * On Linux, setpriority(PRIO_PROCESS, 0, ...) changes only the calling thread. Without the permission, the nice
	 * value does not change.
	 */
	if (getpriority(PRIO_PROCESS, 0) > NICE)
		setpriority(PRIO_PROCESS, 0, NICE);
	for (;;) {
		/* Acquire: pairs with the release of wmk_consumer_wake(). */
		word = __atomic_load_n(&consumer->word, __ATOMIC_ACQUIRE);
		run_work(consumer);
		waits = consumer->options.before_pass && consumer->options.before_pass(consumer->options.data) < 0;
		pthread_mutex_lock(&consumer->lock);
		bool stop = consumer->stop;
		pthread_mutex_unlock(&consumer->lock);
		if (stop)
			break;
		drain_and_publish(consumer, WMK_DRAIN_WHOLE, &seen, &published);
		consumer->refused |= waits;
		adapt(consumer, &seen);
		if (!seen.more)
			sleep_until_next(consumer, word);
	}
	drain_and_publish(consumer, WMK_DRAIN_END, &seen, &published);
	consumer->stop_err = seen.err;
	wmk_kown_thread_ends(consumer->thread_begun);
	return NULL;
}

static bool needs_heartbeat(struct wmk_consumer *consumer)
{
	bool needs = false;

	for (size_t i = 0; i < consumer->n_sets; i++)
		needs |= waymark_ring_set_options(consumer->sets[i])->block_us != 0;
	return needs;
}

int wmk_consumer_start(struct wmk_consumer *consumer)
{
	pthread_attr_t attr;
	int err = 0;

	if (consumer->running || consumer->ended)
		return wmk_error(-EINVAL, "the consumer was already started");
	if (needs_heartbeat(consumer))
		err = wmk_consumer_heartbeat_start(consumer);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	consumer->thread_begun = wmk_kown_now();
	if (err >= 0 && (err = -wmk_thread_create(&consumer->thread, &attr, run, consumer)) < 0) {
		wmk_consumer_heartbeat_stop(consumer);
		wmk_error(err, "cannot start the consumer's thread: %s", strerror(-err));
	}
	pthread_attr_destroy(&attr);
	if (err < 0)
		return err;
	pthread_setname_np(consumer->thread, "wmk-consumer");
	consumer->running = true;
	return 0;
}

void wmk_consumer_join(struct wmk_consumer *consumer)
{
	if (!consumer->running)
		return;
	pthread_mutex_lock(&consumer->lock);
	consumer->stop = true;
	pthread_mutex_unlock(&consumer->lock);
	wmk_consumer_wake(consumer);
	pthread_join(consumer->thread, NULL);
	consumer->running = false;
	wmk_consumer_heartbeat_stop(consumer);
	/* Carry out work that was queued after the thread's last pass. */
	run_work(consumer);
}

int wmk_consumer_stop(struct wmk_consumer *consumer)
{
	struct wmk_drain_result seen;
	uint64_t published = 0;

	if (consumer->running) {
		wmk_consumer_join(consumer);
	} else if (!consumer->ended) {
		drain_and_publish(consumer, WMK_DRAIN_END, &seen, &published);
		consumer->stop_err = seen.err;
	}
	if (consumer->stop_err < 0)
		return wmk_error(consumer->stop_err, "the trace is incomplete: %s", strerror(-consumer->stop_err));
	return 0;
}

int wmk_consumer_queue_work(struct wmk_consumer *consumer, void (*function)(void *arg), void *arg)
{
	struct wmk_consumer_work *work;

	if (!consumer->running) {
		function(arg);
		return 0;
	}
	work = calloc(1, sizeof(*work));
	if (!work)
		return wmk_error(-ENOMEM, "no memory for a command to the consumer");
	work->function = function;
	work->arg = arg;
	pthread_mutex_lock(&consumer->lock);
	*consumer->work_end = work;
	consumer->work_end = &work->next;
	pthread_mutex_unlock(&consumer->lock);
	wmk_consumer_wake(consumer);
	return 0;
}
