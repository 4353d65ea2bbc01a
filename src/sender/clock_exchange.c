/* SPDX-License-Identifier: MIT */
/* clock_exchange.c - measure the clocks of the relay (see clock_exchange.h). */
#include "sender/clock_exchange.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/cond.h"
#include "base/error.h"
#include "base/thread.h"
#include "sender/relay_link.h"
#include "store/store.h"

#define EXCHANGES 8
#define INTERVAL_MS 10000
#define LAST_MS 2000
#define KEPT 60u                           /* measurements: 10 minutes */

enum last_state { LAST_NONE, LAST_WANTED, LAST_DONE };

struct wmk_clock_exchange {
	struct wmk_clock_exchange_options is;
	struct wmk_clocks clocks;
	pthread_t thread;
	atomic_bool stop;                  /* relaxed: the lock orders it */
	struct wmk_relay_link *link;       /* used by the thread only */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum last_state last;
	int64_t last_ms;                   /* LAST_WANTED: since this time */
	uint64_t n;                        /* number of the next measurement, from 0 */
	struct wmk_clock_measurement kept[KEPT];     /* measurement `i` at i % KEPT */
};

bool wmk_clock_exchange_compute(const struct wmk_clock_readings *before, const struct wmk_relay_times *times,
				const struct wmk_clock_readings *after, struct wmk_clock_measurement *made)
{
	const uint64_t elapsed = after->monotonic_ns - before->monotonic_ns,
		       remote = times->sent_ns - times->received_ns;

	memset(made, 0, sizeof(*made));
	if (after->monotonic_ns < before->monotonic_ns || times->sent_ns < times->received_ns || remote > elapsed ||
	    times->real_ns < remote || !times->uuid[0])
		return false;
	const uint64_t uncertainty = (elapsed - remote) / 2 + 1;

	if (uncertainty > UINT32_MAX)
		return false;
	snprintf(made->relay, sizeof(made->relay), "%s", times->uuid);
	for (unsigned i = 0; i < WMK_CLOCK_KINDS; i++) {
		/*
		 * If a counter decreases between two readings, it differs between CPUs, and no trace uses it as its
		 * clock.
		 */
		if (after->of[i] < before->of[i])
			continue;
		made->of[i] = (struct wmk_clock_point){
			.value = before->of[i] + (after->of[i] - before->of[i]) / 2,
			.monotonic_ns = times->received_ns + remote / 2,
			.real_ns = times->real_ns - remote / 2,
			.uncertainty_ns = (uint32_t)uncertainty,
		};
	}
	return true;
}

/* ── the thread ──────────────────────────────────────────────────────────────────────────────────────── */

/*
 * read_before() reads CLOCK_MONOTONIC before the trace clocks, and read_after() reads CLOCK_MONOTONIC after the trace
 * clocks. Therefore, all readings of the trace clocks, and the request, lie between two readings of CLOCK_MONOTONIC.
 */
static void read_before(const struct wmk_clock_exchange *exchange, struct wmk_clock_readings *made)
{
	made->monotonic_ns = wmk_clock_monotonic();
	for (unsigned i = 0; i < WMK_CLOCK_KINDS; i++)
		made->of[i] = wmk_clocks_now(&exchange->clocks, (enum wmk_clock_kind)i);
}

static void read_after(const struct wmk_clock_exchange *exchange, struct wmk_clock_readings *made)
{
	for (unsigned i = 0; i < WMK_CLOCK_KINDS; i++)
		made->of[i] = wmk_clocks_now(&exchange->clocks, (enum wmk_clock_kind)i);
	made->monotonic_ns = wmk_clock_monotonic();
}

/* 1: *best is a measurement; 0: no exchange was usable; -errno with a cause chain. */
static int measure(struct wmk_clock_exchange *exchange, struct wmk_clock_measurement *best)
{
	bool found = false;
	int err = 0;

	for (int i = 0; i < EXCHANGES && err >= 0; i++) {
		struct wmk_clock_readings before, after;
		struct wmk_clock_measurement one;
		struct wmk_relay_times times;

		read_before(exchange, &before);
		err = wmk_relay_link_request(exchange->link, WMK_RELAY_CLOCK, NULL, &times);
		read_after(exchange, &after);
		if (err < 0 || !wmk_clock_exchange_compute(&before, &times, &after, &one))
			continue;
		if (!found || one.of[0].uncertainty_ns < best->of[0].uncertainty_ns)
			*best = one;
		found = true;
	}
	return err < 0 ? err : found;
}

/* keep() discards measurements that belong to another relay, or to the time before a restart of the relay's machine. */
static void keep(struct wmk_clock_exchange *exchange, const struct wmk_clock_measurement *made)
{
	if (exchange->n && strcmp(exchange->kept[(exchange->n - 1) % KEPT].relay, made->relay) != 0)
		memset(exchange->kept, 0, sizeof(exchange->kept));
	exchange->kept[exchange->n++ % KEPT] = *made;
}

static int attempt(struct wmk_clock_exchange *exchange, struct wmk_clock_measurement *made)
{
	int err = exchange->link ? 0 : wmk_relay_link_open(exchange->is.url, exchange->is.host, &exchange->stop,
							   &exchange->link);

	if (err == 0)
		err = measure(exchange, made);
	if (err < 0) {
		/* No report is needed here, because the connections of the traces report the errors of the relay. */
		wmk_error_clear();
		wmk_relay_link_close(exchange->link);
		exchange->link = NULL;
	}
	return err;
}

static void *run(void *arg)
{
	struct wmk_clock_exchange *exchange = arg;
	struct wmk_clock_measurement made;

	/* (without these rights, a certificate cannot be read, and no connection is made) */
	if (wmk_store_identity_begin(exchange->is.uid, exchange->is.gid) < 0)
		wmk_error_clear();
	pthread_mutex_lock(&exchange->lock);
	while (!atomic_load_explicit(&exchange->stop, memory_order_relaxed)) {
		const bool is_last = exchange->last == LAST_WANTED;
		struct timespec end;
		int got, err = 0;

		pthread_mutex_unlock(&exchange->lock);
		got = attempt(exchange, &made);
		pthread_mutex_lock(&exchange->lock);
		if (got > 0)
			keep(exchange, &made);
		if (is_last && exchange->last == LAST_WANTED)
			exchange->last = LAST_DONE;
		pthread_mutex_unlock(&exchange->lock);
		exchange->is.measured(exchange->is.data);
		pthread_mutex_lock(&exchange->lock);
		end = wmk_deadline(INTERVAL_MS);
		while (err == 0 && exchange->last != LAST_WANTED &&
		       !atomic_load_explicit(&exchange->stop, memory_order_relaxed))
			err = pthread_cond_timedwait(&exchange->changed, &exchange->lock, &end);
	}
	pthread_mutex_unlock(&exchange->lock);
	wmk_relay_link_close(exchange->link);
	wmk_store_identity_end();
	return NULL;
}

/* ── in other threads ────────────────────────────────────────────────────────────────────────────────── */

bool wmk_clock_exchange_get(struct wmk_clock_exchange *exchange, uint64_t *number, struct wmk_clock_measurement *made)
{
	bool found = false;

	pthread_mutex_lock(&exchange->lock);
	if (exchange->n > KEPT && *number < exchange->n - KEPT)
		*number = exchange->n - KEPT;
	for (; *number < exchange->n && !found; *number += !found) {
		*made = exchange->kept[*number % KEPT];
		found = made->relay[0];
	}
	pthread_mutex_unlock(&exchange->lock);
	return found;
}

bool wmk_clock_exchange_has(const struct wmk_clock_exchange *exchange, const struct wmk_clock_head *head)
{
	const enum wmk_clock_kind kind = (enum wmk_clock_kind)(head->kind - 1);
	char uuid[WMK_CLOCK_UUID];

	if (head->kind == 0 || head->kind > WMK_CLOCK_KINDS ||
	    (kind == WMK_CLOCK_PLUGIN && !exchange->clocks.plugin_now))
		return false;
	wmk_clocks_uuid(&exchange->clocks, kind, uuid);
	return strcmp(uuid, head->uuid) == 0;
}

bool wmk_clock_exchange_last(struct wmk_clock_exchange *exchange, bool wanted)
{
	bool done;

	pthread_mutex_lock(&exchange->lock);
	if (!wanted) {
		exchange->last = LAST_NONE;
	} else if (exchange->last == LAST_NONE) {
		exchange->last = LAST_WANTED;
		exchange->last_ms = wmk_clock_ms();
		pthread_cond_signal(&exchange->changed);
	}
	done = exchange->last == LAST_DONE ||
	       (exchange->last == LAST_WANTED && wmk_clock_ms() - exchange->last_ms > LAST_MS);
	pthread_mutex_unlock(&exchange->lock);
	return done;
}

static void exchange_free(struct wmk_clock_exchange *exchange)
{
	pthread_mutex_destroy(&exchange->lock);
	pthread_cond_destroy(&exchange->changed);
	free(exchange);
}

int wmk_clock_exchange_open(const struct wmk_clock_exchange_options *options, struct wmk_clock_exchange **result)
{
	struct wmk_clock_exchange *exchange = calloc(1, sizeof(*exchange));
	int err;

	if (!exchange)
		return wmk_error(-ENOMEM, "no memory for the clock of the relay");
	exchange->is = *options;
	/* (as in the consumer: a plug-in that cannot be loaded has no points) */
	if (wmk_clocks_prepare(&exchange->clocks) < 0)
		wmk_error_clear();
	pthread_mutex_init(&exchange->lock, NULL);
	wmk_cond_init(&exchange->changed);
	err = -wmk_thread_create(&exchange->thread, NULL, run, exchange);
	if (err < 0) {
		exchange_free(exchange);
		return wmk_error(err, "cannot start the thread that measures the clock of the relay: %s",
				 strerror(-err));
	}
	pthread_setname_np(exchange->thread, "wmk-clock");
	*result = exchange;
	return 0;
}

void wmk_clock_exchange_close(struct wmk_clock_exchange *exchange)
{
	if (!exchange)
		return;
	pthread_mutex_lock(&exchange->lock);
	atomic_store_explicit(&exchange->stop, true, memory_order_relaxed);
	pthread_cond_signal(&exchange->changed);
	pthread_mutex_unlock(&exchange->lock);
	pthread_join(exchange->thread, NULL);
	exchange_free(exchange);
}
