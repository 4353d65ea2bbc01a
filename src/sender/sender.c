/* SPDX-License-Identifier: MIT */
/*
 * sender.c - the thread that sends a spool (see sender.h). The consumer daemon or a message of the relay wakes the
 * thread. After an error, the thread tries again: at first after 100 ms, later after up to 2 s.
 */
#include "sender/sender.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cond.h"
#include "base/error.h"
#include "base/thread.h"
#include "sender/spool_dir.h"
#include "sender/spool_sync.h"
#include "sender/trace_sender.h"
#include "store/spool.h"
#include "wire/relay.h"

#define RETRY_MIN_MS 100
#define RETRY_MAX_MS 2000
#define BATCH_MS 2                 /* shortest time between two passes */
#define COUNT_NS 1000000000u
#define SECOND_MS 1001             /* a little longer than COUNT_NS and SYNC_NS */
#define SYNC_NS 1000000000u         /* data of this age is synchronized if the relay has not acknowledged it */
#define SILENT_NS 30000000000u     /* the relay is connected, but acknowledges nothing */
#define POLLED_MAX 64u             /* connections that end the sleep; other messages wait for the next pass */

struct wmk_sender {
	struct wmk_sender_options is;      /* path and url are copies */
	struct wmk_trace_sender_options traces;
	char host[WMK_PEER_NAME_MAX];
	pthread_t thread;
	int wake;                          /* an eventfd */
	atomic_bool stop, look;            /* relaxed: the eventfd orders them */
	pthread_mutex_t lock;
	pthread_cond_t changed;            /* signalled when `removed` is set */
	bool ending;                       /* the session has ended: no trace will be added to the spool */
	bool ended;                        /* the relay has everything: the sender removes the spool */
	bool removed;                      /* the spool was removed */
	void (*removed_to)(void *data);
	void *removed_data;
	struct wmk_sender_state state;
	/* the sender's thread */
	struct wmk_spool spool;
	bool is_open, noted;
	int locked;                        /* descriptor that locks the spool; -1: not locked */
	uint64_t counted_ns, spooled;      /* bytes of all files of the spool, and the time of the count */
	uint64_t behind;                   /* bytes not acknowledged at the last state_set(); 0: error */
	bool passing;                      /* a pass has not ended */
	bool uncounted;                    /* `spooled` is older than the last pass */
	uint64_t synced_ns;                /* time of the last synchronization of the spool: monotonic, and real */
	time_t synced_at;
	/* for the sender of the other side (wmk_spool_other()), or for the last measurement of the relay's clock */
	bool waits;
	int retry_ms;                      /* 0: the last pass has succeeded */
};

/* ── in the sender's thread ──────────────────────────────────────────────────────────────────────────── */

static uint64_t bytes_behind(const struct wmk_sender *sender)
{
	uint64_t behind = 0;

	for (struct wmk_spool_trace *trace = sender->spool.traces; trace; trace = trace->next)
		behind += trace->data ? wmk_trace_sender_behind(trace->data) : 0;
	return behind;
}

/*
 * True if the relay has acknowledged data since the latest error. A new connection does not count as an
 * acknowledgement, because the relay may refuse the data again.
 */
static bool is_served(struct wmk_sender *sender, uint64_t behind, int err)
{
	const bool served = err == 0 && ((behind == 0 && !sender->passing) || behind < sender->behind);

	sender->behind = err < 0 ? 0 : behind;
	return served;
}

static void state_set(struct wmk_sender *sender, bool connected, int err)
{
	const uint64_t now = wmk_clock_monotonic(), behind = bytes_behind(sender);
	char words[sizeof(sender->state.error)] = "";

	/* Reading the error text needs no lock, because only this thread changes the text. */
	if (err < 0)
		wmk_error_text(words, sizeof(words));
	if (!is_served(sender, behind, err) && err == 0)
		memcpy(words, sender->state.error, sizeof(words));
	wmk_error_clear();
	/* Count the bytes of the spool's files at most once a second. */
	sender->uncounted = sender->is_open && now - sender->counted_ns <= COUNT_NS;
	if (sender->is_open && !sender->uncounted) {
		if (wmk_store_usage(sender->is.path, &sender->spooled) < 0)
			wmk_error_clear();
		sender->counted_ns = now;
	}
	if (words[0] && sender->is.log && strcmp(words, sender->state.error) != 0)
		sender->is.log(sender->is.data, words);
	pthread_mutex_lock(&sender->lock);
	sender->state.connected = connected;
	sender->state.behind = connected ? behind : sender->spooled;
	sender->state.spooled = sender->spooled;
	memcpy(sender->state.error, words, sizeof(words));
	pthread_mutex_unlock(&sender->lock);
}

/* Update the reported state during a long pass. */
static void on_progress(void *data)
{
	state_set(data, true, 0);
}

static void on_measured(void *data)
{
	wmk_sender_wake(data);
}

/*
 * Start measuring the relay's clock when the session has traces. A spool of an ended session uses the clock of an
 * earlier time or boot, so the sender makes no measurements for such a spool. Without measurements, the order of
 * records from several hosts is less certain.
 */
static void open_exchange(struct wmk_sender *sender)
{
	const struct wmk_clock_exchange_options options = { .url = &sender->traces.url, .host = sender->traces.host,
							    .uid = sender->is.uid, .gid = sender->is.gid,
							    .measured = on_measured, .data = sender };

	if (sender->traces.exchange || sender->traces.ending || !sender->spool.traces)
		return;
	if (wmk_clock_exchange_open(&options, &sender->traces.exchange) < 0)
		wmk_error_clear();
}

/*
 * At the end of the session, wait for the last clock measurement. Returns true if the measurement was made, has failed,
 * or took more than 2 s.
 */
static bool is_measured(struct wmk_sender *sender)
{
	return !sender->traces.exchange || wmk_clock_exchange_last(sender->traces.exchange, sender->traces.ending);
}

/* The spool may not exist yet, because the consumer daemon creates the spool together with the first trace. */
static int open_spool(struct wmk_sender *sender)
{
	int err;

	if (sender->is_open)
		return 0;
	err = wmk_spool_open(sender->is.path, sender->is.kernel, &sender->spool);
	sender->is_open = err == 0;
	if (err == -ENOENT) {
		wmk_error_clear();
		return 0;
	}
	if (err == 0)
		sender->locked = wmk_store_spool_begin(sender->spool.root, sender->is.url, sender->is.kernel);
	if (err == 0 && sender->locked < 0) {
		err = sender->locked;
		wmk_spool_close(&sender->spool);
		sender->is_open = false;
	}
	return err;
}

/* Create or remove the file .ended in the spool. */
static int note_end(struct wmk_sender *sender)
{
	int err = 0;

	if (sender->noted != sender->traces.ending)
		err = wmk_store_spool_note_end(sender->spool.root, sender->traces.ending);
	if (err == 0)
		sender->noted = sender->traces.ending;
	return err;
}

/* removed() may take the rights of an owner itself, so this thread must give them up before the call. */
static void call_removed(struct wmk_sender *sender)
{
	wmk_store_identity_end();
	pthread_mutex_lock(&sender->lock);
	if (sender->removed_to)
		sender->removed_to(sender->removed_data);
	pthread_mutex_unlock(&sender->lock);
	wmk_store_identity_begin(sender->is.uid, sender->is.gid);
}

static int pass_trace(struct wmk_sender *sender, struct wmk_spool_trace *trace)
{
	int err;

	if (!trace->data && trace->chunks)
		trace->data = wmk_trace_sender_new(&sender->traces, trace);
	if (!trace->data)
		return trace->chunks ? wmk_error_number() : 0;
	err = wmk_trace_sender_pass(trace->data);
	if (err == 0)
		err = wmk_trace_sender_receive(trace->data);
	if (err > 0)
		call_removed(sender);
	if (err >= 0 && wmk_trace_sender_waits_ns(trace->data) > SILENT_NS) {
		wmk_error(-ETIMEDOUT, "the relay has acknowledged nothing for 30 s");
		err = wmk_trace_sender_disconnect(trace->data, -ETIMEDOUT);
	}
	return err < 0 ? err : 0;
}

/* True if the relay has closed all traces of the closed chunk `name`. Stores one of the traces in *last. */
static bool is_archived(const struct wmk_sender *sender, const char *name, struct wmk_spool_trace **last)
{
	for (struct wmk_spool_trace *trace = sender->spool.traces; trace; trace = trace->next)
		for (struct wmk_spool_chunk *chunk = trace->chunks; chunk; chunk = chunk->next) {
			if (strcmp(chunk->name, name) != 0)
				continue;
			if (!chunk->complete || !trace->data ||
			    !wmk_trace_sender_has_rotated(trace->data, chunk->number))
				return false;
			*last = trace;
		}
	return true;
}

static void set_archived(struct wmk_sender *sender, const char *name)
{
	for (struct wmk_spool_trace *trace = sender->spool.traces; trace; trace = trace->next)
		for (struct wmk_spool_chunk *chunk = trace->chunks; chunk; chunk = chunk->next)
			chunk->archived |= strcmp(chunk->name, name) == 0;
}

/* If the relay has closed all traces of a chunk, close the chunk at the relay. */
static int archive_chunks(struct wmk_sender *sender)
{
	struct wmk_spool_trace *last = NULL;
	enum wmk_spool_other other;
	int err = 0;

	sender->waits = false;
	for (struct wmk_spool_trace *trace = sender->spool.traces; trace; trace = trace->next)
		for (struct wmk_spool_chunk *chunk = trace->chunks; chunk && err == 0; chunk = chunk->next) {
			if (!chunk->complete || chunk->archived || !is_archived(sender, chunk->name, &last))
				continue;
			other = wmk_spool_other(&sender->spool, chunk->name);
			sender->waits |= other == WMK_SPOOL_OTHER_SENDS;
			if (other == WMK_SPOOL_OTHER_SENDS)
				continue;
			if (other == WMK_SPOOL_OTHER_DONE)
				err = wmk_trace_sender_output(last->data, WMK_RELAY_ARCHIVE_END, "", chunk->name);
			if (err == 0)
				set_archived(sender, chunk->name);
		}
	return err;
}

/*
 * Remove one closed chunk that the relay has completely. The newest closed chunk is kept, because a consumer daemon
 * that continues a stream reads the last packet of the stream from this chunk (wmk_store_archive_last()). True: a
 * directory was removed.
 */
static bool remove_chunks(struct wmk_sender *sender)
{
	for (struct wmk_spool_trace *trace = sender->spool.traces; trace; trace = trace->next) {
		const struct wmk_spool_chunk *chunk = trace->chunks;

		if (chunk && chunk->archived && chunk->next && chunk->next->archived &&
		    wmk_spool_other(&sender->spool, chunk->name) == WMK_SPOOL_OTHER_DONE) {
			wmk_spool_remove_chunk(&sender->spool, chunk->name);
			return true;
		}
	}
	return false;
}

/*
 * After an error, the next pass calls look() again, because the sender must have found all traces of the spool before
 * it ends.
 */
static int look(struct wmk_sender *sender)
{
	int err = wmk_spool_scan(&sender->spool);

	if (err < 0)
		atomic_store_explicit(&sender->look, true, memory_order_relaxed);
	return err;
}

static int pass(struct wmk_sender *sender)
{
	int err = open_spool(sender), first = 0;
	struct stat st;
	char words[sizeof(sender->state.error)] = "";

	if (err == 0 && !sender->is_open)
		return 0;
	/* The user has removed the spool directory. */
	if (err == 0 && sender->traces.ending && fstat(sender->spool.root, &st) == 0 && st.st_nlink == 0) {
		wmk_spool_forget(&sender->spool);
		return 0;
	}
	if (err == 0)
		err = note_end(sender);
	if (err == 0 && atomic_exchange_explicit(&sender->look, false, memory_order_relaxed))
		err = look(sender);
	if (err == 0)
		open_exchange(sender);
	for (struct wmk_spool_trace *trace = sender->spool.traces; trace && err == 0; trace = trace->next) {
		int failed = pass_trace(sender, trace);

		/* If one trace has an error, continue with the other traces. */
		if (failed < 0 && first == 0) {
			first = failed;
			wmk_error_text(words, sizeof(words));
		}
		wmk_error_clear();
	}
	if (err == 0 && first < 0)
		return wmk_errorx(first, "%s", words);
	if (err == 0)
		err = archive_chunks(sender);
	while (err == 0 && remove_chunks(sender))
		err = look(sender);
	return err;
}

static bool is_done(const struct wmk_sender *sender)
{
	for (struct wmk_spool_trace *trace = sender->spool.traces; trace; trace = trace->next)
		if (trace->chunks && (!trace->data || !wmk_trace_sender_is_done(trace->data)))
			return false;
	for (struct wmk_spool_trace *trace = sender->spool.traces; trace; trace = trace->next)
		for (const struct wmk_spool_chunk *chunk = trace->chunks; chunk; chunk = chunk->next)
			if (chunk->complete && !chunk->archived)
				return false;
	return true;
}

/* End the sender, because the relay has all data. False: wmk_sender_continue() was called meanwhile. */
static bool end(struct wmk_sender *sender)
{
	bool ended;

	pthread_mutex_lock(&sender->lock);
	ended = sender->ended = sender->ending;
	pthread_mutex_unlock(&sender->lock);
	return ended;
}

/* Close the traces at the relay, and remove the spool. */
static void finish(struct wmk_sender *sender)
{
	for (struct wmk_spool_trace *trace = sender->spool.traces; trace; trace = trace->next)
		if (trace->data && wmk_trace_sender_finish(trace->data) < 0)
			wmk_error_clear();
	if (sender->is_open)
		wmk_spool_remove(&sender->spool, sender->is.path);
	pthread_mutex_lock(&sender->lock);
	sender->removed = true;
	sender->state = (struct wmk_sender_state){ .ending = true };
	pthread_cond_broadcast(&sender->changed);
	pthread_mutex_unlock(&sender->lock);
}

/*
 * Return the longest time for which a trace has waited for an acknowledgement; UINT64_MAX if the sender is not
 * connected.
 */
static uint64_t waits_ns(const struct wmk_sender *sender)
{
	uint64_t longest = sender->retry_ms ? UINT64_MAX : 0;

	for (struct wmk_spool_trace *trace = sender->spool.traces; trace; trace = trace->next) {
		const uint64_t ns = trace->data ? wmk_trace_sender_waits_ns(trace->data) : 0;

		longest = ns > longest ? ns : longest;
	}
	return longest;
}

/* Once a second, write data to the disk that the relay will not acknowledge soon. */
static void sync_spool(struct wmk_sender *sender)
{
	const uint64_t now = wmk_clock_monotonic();
	const time_t at = time(NULL);

	if (!sender->is_open || now - sender->synced_ns < SYNC_NS || waits_ns(sender) < SYNC_NS)
		return;
	/*
	 * Include files that were modified up to one second before the last call, because the timestamp of a write can
	 * be slightly too early.
	 */
	wmk_spool_sync(&sender->spool, sender->synced_at - 1);
	sender->synced_ns = now;
	sender->synced_at = at;
}

static void sleep_until_next(struct wmk_sender *sender)
{
	struct pollfd fds[1 + POLLED_MAX] = { { .fd = sender->wake, .events = POLLIN } };
	unsigned n = 1;
	uint64_t count;

	for (struct wmk_spool_trace *trace = sender->spool.traces; trace && n <= POLLED_MAX; trace = trace->next)
		if (trace->data && wmk_trace_sender_socket(trace->data) >= 0)
			fds[n++] = (struct pollfd){ .fd = wmk_trace_sender_socket(trace->data), .events = POLLIN };
	/* During the delay after an error, a wake-up because of new packets does not shorten the delay. */
	if (sender->retry_ms) {
		const uint64_t end = wmk_clock_monotonic() + (uint64_t)sender->retry_ms * 1000000;

		for (uint64_t now; (now = wmk_clock_monotonic()) < end &&
				   !atomic_load_explicit(&sender->stop, memory_order_relaxed);) {
			poll(fds, 1, (int)((end - now) / 1000000) + 1);
			if (read(sender->wake, &count, sizeof(count)) < 0)
				continue;
		}
		return;
	}
	poll(fds, n, sender->waits ? RETRY_MIN_MS : sender->uncounted || waits_ns(sender) ? SECOND_MS : -1);
	if (read(sender->wake, &count, sizeof(count)) < 0)
		return;
	poll(NULL, 0, BATCH_MS);
}

static void *run(void *arg)
{
	struct wmk_sender *sender = arg;
	bool done = false, measured;
	int err = wmk_store_identity_begin(sender->is.uid, sender->is.gid);

	while (!done && !atomic_load_explicit(&sender->stop, memory_order_relaxed)) {
		pthread_mutex_lock(&sender->lock);
		sender->traces.ending = sender->ending;
		pthread_mutex_unlock(&sender->lock);
		/* (asked before the pass, which then sends the last measurement) */
		measured = is_measured(sender);
		sender->passing = true;
		if (err >= 0)
			err = pass(sender);
		sender->passing = false;
		sender->retry_ms = err == 0 ? 0 : sender->retry_ms == 0 ? RETRY_MIN_MS
			: sender->retry_ms * 2 < RETRY_MAX_MS ? sender->retry_ms * 2 : RETRY_MAX_MS;
		state_set(sender, err == 0 && sender->spool.traces, err);
		sender->waits |= sender->traces.ending && !measured;
		done = err == 0 && sender->traces.ending && measured && is_done(sender) && end(sender);
		if (!done)
			sync_spool(sender);
		if (done)
			finish(sender);
		else
			sleep_until_next(sender);
		err = 0;
	}
	wmk_clock_exchange_close(sender->traces.exchange);
	for (struct wmk_spool_trace *trace = sender->spool.traces; trace; trace = trace->next)
		wmk_trace_sender_free(trace->data);
	if (sender->is_open)
		wmk_spool_close(&sender->spool);
	if (sender->locked >= 0)
		close(sender->locked);
	wmk_store_identity_end();
	if (done && sender->is.done)
		sender->is.done(sender->is.data);
	return NULL;
}

/* ── in other threads ────────────────────────────────────────────────────────────────────────────────── */

void wmk_sender_wake(struct wmk_sender *sender)
{
	eventfd_write(sender->wake, 1);
}

void wmk_sender_rescan(struct wmk_sender *sender)
{
	atomic_store_explicit(&sender->look, true, memory_order_relaxed);
	wmk_sender_wake(sender);
}

void wmk_sender_end(struct wmk_sender *sender)
{
	/*
	 * Set `look` before `ending`, because an ending sender removes the spool when it has sent all traces that it
	 * has found.
	 */
	atomic_store_explicit(&sender->look, true, memory_order_relaxed);
	pthread_mutex_lock(&sender->lock);
	sender->ending = sender->state.ending = true;
	pthread_mutex_unlock(&sender->lock);
	wmk_sender_wake(sender);
}

void wmk_sender_on_removed(struct wmk_sender *sender, void (*removed)(void *data), void *data)
{
	pthread_mutex_lock(&sender->lock);
	sender->removed_to = removed;
	sender->removed_data = data;
	pthread_mutex_unlock(&sender->lock);
}

bool wmk_sender_continue(struct wmk_sender *sender)
{
	bool continues;

	pthread_mutex_lock(&sender->lock);
	continues = !sender->ended;
	if (continues)
		sender->ending = sender->state.ending = false;
	pthread_mutex_unlock(&sender->lock);
	return continues;
}

void wmk_sender_wait(struct wmk_sender *sender, int ms)
{
	const struct timespec end = wmk_deadline(ms);

	wmk_sender_end(sender);
	pthread_mutex_lock(&sender->lock);
	while (!sender->removed && pthread_cond_timedwait(&sender->changed, &sender->lock, &end) == 0)
		continue;
	pthread_mutex_unlock(&sender->lock);
}

void wmk_sender_state(struct wmk_sender *sender, struct wmk_sender_state *state)
{
	pthread_mutex_lock(&sender->lock);
	*state = sender->state;
	pthread_mutex_unlock(&sender->lock);
}

static void sender_free(struct wmk_sender *sender)
{
	if (sender->wake >= 0)
		close(sender->wake);
	pthread_mutex_destroy(&sender->lock);
	pthread_cond_destroy(&sender->changed);
	free((char *)(uintptr_t)sender->is.path);
	free((char *)(uintptr_t)sender->is.url);
	free(sender);
}

int wmk_sender_open(const struct wmk_sender_options *options, struct wmk_sender **result)
{
	struct wmk_sender *sender = calloc(1, sizeof(*sender));
	int err;

	if (!sender)
		return wmk_error(-ENOMEM, "no memory for a sender");
	sender->is = *options;
	sender->is.path = strdup(options->path);
	sender->is.url = strdup(options->url);
	pthread_mutex_init(&sender->lock, NULL);
	wmk_cond_init(&sender->changed);
	sender->spool.root = sender->locked = -1;
	atomic_init(&sender->look, true);
	sender->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = !sender->is.path || !sender->is.url || sender->wake < 0
		      ? wmk_error(-ENOMEM, "no memory for a sender")
		      : wmk_relay_url_parse(options->url, &sender->traces.url);
	if (err >= 0) {
		wmk_relay_own_name(sender->host);
		sender->traces.host = sender->traces.url.host[0] ? sender->traces.url.host : sender->host;
		sender->traces.session = strrchr(sender->is.path, '/') + 1;
		sender->traces.stop = &sender->stop;
		sender->traces.progress = on_progress;
		sender->traces.data = sender;
		err = -wmk_thread_create(&sender->thread, NULL, run, sender);
		if (err < 0)
			wmk_error(err, "cannot start the thread of a sender: %s", strerror(-err));
	}
	if (err < 0) {
		sender_free(sender);
		return err;
	}
	pthread_setname_np(sender->thread, "wmk-sender");
	*result = sender;
	return 0;
}

void wmk_sender_close(struct wmk_sender *sender)
{
	if (!sender)
		return;
	atomic_store_explicit(&sender->stop, true, memory_order_relaxed);
	wmk_sender_wake(sender);
	pthread_join(sender->thread, NULL);
	sender_free(sender);
}
