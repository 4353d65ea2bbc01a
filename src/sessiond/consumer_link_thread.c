/* SPDX-License-Identifier: MIT */
/*
 * consumer_link_thread.c - the link thread: connects to waymark-consumerd or starts it, receives its answers, and
 * restarts it after a crash.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "sessiond/consumer_link_request.h"

#define HELLO_MS 10000             /* for a consumer to become ready */
#define DEATH_MS 2000              /* for a process to end after its socket has closed */
#define BEAT_MS 300                /* without a heartbeat for 2 s, writers assume that the reader crashed */
#define BACK_MS 60000              /* for a new consumer to resume all rings; until then the link sends heartbeats */
#define FAILURES_AT_ONCE 3u        /* restarts without a pause; also the limit of attempts for the first consumer */
#define FAILURES_MANY 30u          /* then report the failure, and retry less often */
#define PAUSE_MAX_MS 500
#define PAUSE_LONG_MS 5000

void wmk_link_wake(struct wmk_consumer_link *link)
{
	const uint64_t one = 1;

	/* If the write fails, the eventfd is already readable. */
	if (write(link->wake, &one, sizeof(one)) < 0)
		return;
}

/* Read a flag that other threads can set. */
static bool is_set(struct wmk_consumer_link *link, const bool *flag)
{
	pthread_mutex_lock(&link->lock);
	const bool set = *flag;
	pthread_mutex_unlock(&link->lock);
	return set;
}

static void drain_wake(struct wmk_consumer_link *link)
{
	uint64_t n;

	if (read(link->wake, &n, sizeof(n)) < 0)
		return;
}

/* End the link, because no other consumer daemon will be started. */
static void end(struct wmk_consumer_link *link, int err, const char *words, bool notify)
{
	pthread_mutex_lock(&link->lock);
	link->state = WMK_LINK_ENDED;
	link->end_err = err;
	wmk_error_format(link->end_words, sizeof(link->end_words), "%s", words);
	for (struct wmk_link_request *request = link->requests; request; request = request->next)
		pthread_cond_signal(&request->answered);
	pthread_cond_broadcast(&link->changed);
	pthread_mutex_unlock(&link->lock);
	if (notify && link->options.on_end)
		link->options.on_end(link->options.data, err, words);
}

/* ── connect, start ──────────────────────────────────────────────────────────────────────────────────── */

static void hang_up(struct wmk_consumer_link *link)
{
	pthread_mutex_lock(&link->lock);
	if (link->sock >= 0)
		close(link->sock);
	link->sock = -1;
	link->pid = 0;
	if (link->state == WMK_LINK_UP)
		link->state = WMK_LINK_DOWN;
	wmk_out_free(&link->out);
	pthread_mutex_unlock(&link->lock);
	wmk_consumerd_in_free(&link->in);
}

static void heartbeat(struct wmk_consumer_link *link)
{
	pthread_mutex_lock(&link->lock);
	wmk_replay_heartbeat(link);
	pthread_mutex_unlock(&link->lock);
}

/*
 * After the socket was closed, wait until the process has ended, so that the next consumer daemon finds the runtime
 * directory unused. `words` receives the reason why the process has ended.
 */
static void await_exit(struct wmk_consumer_link *link, char *words, size_t size)
{
	struct pollfd death = { .fd = link->pidfd, .events = POLLIN };
	int status;

	snprintf(words, size, "the consumer daemon has closed the connection");
	for (int ms = 0; link->pidfd >= 0 && ms < DEATH_MS && poll(&death, 1, BEAT_MS) == 0; ms += BEAT_MS)
		heartbeat(link);
	if (link->child && waitpid(link->child, &status, WNOHANG) == link->child) {
		link->child = 0;
		if (WIFSIGNALED(status))
			snprintf(words, size, "the consumer daemon was killed by signal %d (%s)", WTERMSIG(status),
				 strsignal(WTERMSIG(status)));
		else
			snprintf(words, size, "the consumer daemon ended with status %d", WEXITSTATUS(status));
	} else if (death.revents) {
		snprintf(words, size, "the consumer daemon has ended");
	}
	if (link->pidfd >= 0)
		close(link->pidfd);
	link->pidfd = -1;
}

/* Wait for the greeting that the consumer daemon sends. 0 or -errno. */
static int await_greeting(struct wmk_consumer_link *link)
{
	const int64_t until = wmk_clock_ms() + HELLO_MS;
	struct wmk_frame frame;
	const void *body;
	size_t len;
	int got, fd;

	while (wmk_clock_ms() < until) {
		struct pollfd fds[] = { { .fd = link->wake, .events = POLLIN },
					{ .fd = link->sock, .events = POLLIN } };

		if (poll(fds, 2, BEAT_MS) == 0)
			heartbeat(link);
		if (fds[0].revents) {
			drain_wake(link);
			if (is_set(link, &link->closing))
				return -ECANCELED;
		}
		if (!fds[1].revents)
			continue;
		got = wmk_in_receive(&link->in.frames, link->sock);
		if (got == 0)
			return wmk_error(-EPIPE,
					 "the consumer daemon closed the connection before it reported readiness");
		if (got < 0 && got != -EAGAIN)
			return wmk_error(got, "cannot receive the readiness of the consumer daemon");
		got = wmk_consumerd_in_next(&link->in, &frame, &body, &len, &fd);
		if (got == 1 && fd >= 0)
			close(fd);
		if (got != 0)
			return got == 1 && frame.type == WMK_CONSUMERD_HELLO
				       ? 0
				       : wmk_error(-EPROTO, "unexpected message instead of the consumer daemon's "
							    "greeting");
	}
	return wmk_error(-ETIMEDOUT, "the consumer daemon is not ready after %d s", HELLO_MS / 1000);
}

/*
 * Send a new consumer daemon the traces and rings that the previous consumer daemon held, and then the unanswered
 * requests.
 */
static int replay(struct wmk_consumer_link *link, pid_t pid)
{
	struct wmk_link_request *request, *next;
	int err;

	pthread_mutex_lock(&link->lock);
	for (request = link->requests; request; request = next) {
		next = request->next;
		if (request->again)
			wmk_link_answered(link, request);
	}
	for (request = link->requests; request; request = request->next) {
		request->sent = false;
		wmk_link_drop_held(request);
	}
	link->again_words[0] = '\0';
	err = wmk_replay_send(link);
	if (err >= 0) {
		link->pid = pid;
		link->state = WMK_LINK_UP;
		wmk_link_pump(link);
		pthread_cond_broadcast(&link->changed);
	}
	pthread_mutex_unlock(&link->lock);
	return err;
}

static int connect_or_start(struct wmk_consumer_link *link)
{
	char words[300];
	pid_t pid = wmk_link_connect(link);
	int err;

	if (pid < 0)
		pid = wmk_link_start(link);
	if (pid < 0)
		return (int)pid;
	err = wmk_link_greet(link);
	if (err >= 0)
		err = await_greeting(link);
	if (err >= 0)
		err = replay(link, pid);
	if (err < 0) {
		hang_up(link);
		if (err != -ECANCELED)
			await_exit(link, words, sizeof(words));
	}
	return err;
}

/* ── receive ─────────────────────────────────────────────────────────────────────────────────────────── */

static struct wmk_link_request *request_of(struct wmk_consumer_link *link, const struct wmk_frame *frame)
{
	struct wmk_link_request *request = link->requests;

	while (request && (!request->sent || request->number != frame->request))
		request = request->next;
	return request;
}

static void answer(struct wmk_consumer_link *link, const struct wmk_frame *frame, const void *body, size_t len)
{
	struct wmk_link_request *request = request_of(link, frame);
	int number = EPROTO;

	if (!request)
		return;
	if (frame->type == WMK_CONSUMERD_ERROR) {
		if (wmk_error_msg_decode(body, len, &number, request->words, sizeof(request->words)) < 0)
			wmk_error_text(request->words, sizeof(request->words));
		request->err = -number;
		if (request->again && !link->again_words[0])
			wmk_error_format(link->again_words, sizeof(link->again_words), "%.299s", request->words);
	} else {
		request->reply = malloc(len + 1);
		if (request->reply) {
			memcpy(request->reply, body, len);
			request->reply_len = len;
		} else {
			request->err = -ENOMEM;
			snprintf(request->words, sizeof(request->words), "no memory for the consumer daemon's answer");
		}
	}
	link->answers++;
	link->shut |= request->type == WMK_CONSUMERD_SHUTDOWN && request->err == 0;
	wmk_replay_answered(link, request);
	wmk_link_answered(link, request);
}

/* Store one item of the answer to a LIST request. */
static void held(struct wmk_consumer_link *link, const struct wmk_frame *frame, const void *body, size_t len, int *fd)
{
	struct wmk_link_request *request = request_of(link, frame);
	struct wmk_link_held *grown;

	if (!request || request->type != WMK_CONSUMERD_LIST)
		return;
	grown = realloc(request->held, (request->n_held + 1) * sizeof(*grown));
	if (!grown)
		return;
	request->held = grown;
	if (wmk_object_decode(&wmk_consumerd_list_item_object, body, len, &grown[request->n_held].is,
			      &request->arena) < 0) {
		wmk_error_clear();
		return;
	}
	/* (a trace has a descriptor only if it has a budget page) */
	if (grown[request->n_held].is.rings.rings != 0 && *fd < 0)
		return;
	grown[request->n_held++].fd = *fd;
	*fd = -1;
}

/* FULL and REQUESTED. */
static void report_path(const struct wmk_consumer_link *link, const void *body, size_t len,
			void (*callback)(void *data, const char *path))
{
	struct wmk_consumerd_full is;
	struct wmk_arena arena = { 0 };

	if (wmk_object_decode(&wmk_consumerd_full_object, body, len, &is, &arena) < 0)
		wmk_error_clear();
	else if (callback)
		callback(link->options.data, is.path);
	wmk_arena_free(&arena);
}

/* 0: continue; -ECONNABORTED: the link has ended; another -errno: the connection has ended. */
static int receive(struct wmk_consumer_link *link)
{
	struct wmk_frame frame;
	const void *body;
	size_t len;
	int got = wmk_in_receive(&link->in.frames, link->sock), taken, fd;

	if (got == -EAGAIN)
		return 0;
	while ((taken = wmk_consumerd_in_next(&link->in, &frame, &body, &len, &fd)) == 1) {
		pthread_mutex_lock(&link->lock);
		if (frame.type == WMK_CONSUMERD_REPLY || frame.type == WMK_CONSUMERD_ERROR)
			answer(link, &frame, body, len);
		else if (frame.type == WMK_CONSUMERD_LIST_ITEM)
			held(link, &frame, body, len, &fd);
		pthread_mutex_unlock(&link->lock);
		if (fd >= 0)
			close(fd);
		if (frame.type == WMK_CONSUMERD_FULL)
			report_path(link, body, len, link->options.on_full);
		if (frame.type == WMK_CONSUMERD_REQUESTED)
			report_path(link, body, len, link->options.on_requested);
		if (frame.type == WMK_CONSUMERD_RESTARTED)
			report_path(link, body, len, link->options.on_restarted);
		if (frame.type == WMK_CONSUMERD_CHUNK_DUE && link->options.on_due)
			link->options.on_due(link->options.data);
		if (frame.type == WMK_CONSUMERD_REPLACED)
			return -ECONNABORTED;
	}
	return taken < 0 ? taken : got > 0 ? 0 : got < 0 ? got : -EPIPE;
}

/* True if a new consumer daemon holds all traces and rings that the previous consumer daemon held. */
static bool is_back(struct wmk_consumer_link *link, char *words, size_t size)
{
	bool back;

	pthread_mutex_lock(&link->lock);
	back = link->again == 0;
	wmk_error_format(words, size, "%s", link->again_words);
	pthread_mutex_unlock(&link->lock);
	return back;
}

/*
 * Serve the connection until it breaks (returns -errno), another session daemon takes the link over (-ECONNABORTED), or
 * the link is closed (0). *useful: data was received.
 */
static int serve(struct wmk_consumer_link *link, bool notify, bool *useful)
{
	const int64_t until = wmk_clock_ms() + BACK_MS;
	int64_t next = 0;
	char words[300];
	bool queued;
	int err = 0;

	while (err == 0 && !is_set(link, &link->closing)) {
		const bool back = is_back(link, words, sizeof(words));

		/* Heartbeats are also required if several consumer daemons crash early, one after another. */
		if (!back && wmk_clock_ms() >= next && wmk_clock_ms() < until) {
			heartbeat(link);
			next = wmk_clock_ms() + BEAT_MS;
		}
		if (notify && back) {
			notify = false;
			if (link->options.on_change)
				link->options.on_change(link->options.data, link->pid, words);
		}
		pthread_mutex_lock(&link->lock);
		wmk_link_pump(link);
		queued = wmk_out_queued(&link->out) != 0;
		pthread_mutex_unlock(&link->lock);
		struct pollfd fds[] = { { .fd = link->wake, .events = POLLIN },
					{ .fd = link->sock, .events = (short)(POLLIN | (queued ? POLLOUT : 0)) } };

		if (poll(fds, 2, back || wmk_clock_ms() >= until ? -1 : BEAT_MS) < 0 && errno != EINTR)
			return -errno;
		if (fds[0].revents)
			drain_wake(link);
		if (fds[1].revents & (POLLIN | POLLHUP | POLLERR)) {
			err = receive(link);
			*useful |= err == 0;
		}
	}
	return err;
}

/* ── the thread ──────────────────────────────────────────────────────────────────────────────────────── */

/* Wait between failed attempts. */
static void pause_for(struct wmk_consumer_link *link, unsigned failures)
{
	const unsigned shift = failures - FAILURES_AT_ONCE;
	int left = failures <= FAILURES_AT_ONCE ? 0
		   : failures > FAILURES_MANY   ? PAUSE_LONG_MS
		   : shift > 6                  ? PAUSE_MAX_MS
						: 5 << shift;
	struct pollfd wake = { .fd = link->wake, .events = POLLIN };

	heartbeat(link);
	while (left > 0 && !is_set(link, &link->closing)) {
		const int64_t begin = wmk_clock_ms();

		if (poll(&wake, 1, left < PAUSE_MAX_MS ? left : PAUSE_MAX_MS) > 0)
			drain_wake(link);
		else if (left > PAUSE_MAX_MS)
			heartbeat(link);
		left -= (int)(wmk_clock_ms() - begin);
	}
}

/*
 * After the first successful start, the link retries without limit, because the cause of a failure may be temporary. A
 * failure may be temporary, for example because an update is replacing the program, or because no process can be
 * created.
 */
static void report_failures(struct wmk_consumer_link *link, unsigned failures, const char *words)
{
	char text[400];

	wmk_error_format(text, sizeof(text), "retrying every %d s: %.300s",
			 PAUSE_LONG_MS / 1000, words);
	if (failures == FAILURES_MANY && link->options.on_change)
		link->options.on_change(link->options.data, 0, text);
}

/*
 * Serve one consumer daemon, from the connection until the consumer daemon has ended. True: continue with another one.
 */
static bool serve_one(struct wmk_consumer_link *link, bool *lost, unsigned *failures)
{
	char words[300];
	bool useful = false;
	int err = connect_or_start(link);

	if (err == -ECANCELED)
		return false;
	if (err < 0) {
		wmk_error_text(words, sizeof(words));
		wmk_error_clear();
		++*failures;
		if (!*lost && *failures >= FAILURES_AT_ONCE) {
			end(link, err, words, false);
			return false;
		}
		report_failures(link, *failures, words);
		pause_for(link, *failures);
		return true;
	}
	err = serve(link, *lost, &useful);
	wmk_error_clear();
	if (is_set(link, &link->closing))
		return false;
	hang_up(link);
	await_exit(link, words, sizeof(words));
	if (is_set(link, &link->shut)) {
		end(link, -ESHUTDOWN, "it was shut down", false);
		return false;
	}
	if (err == -ECONNABORTED) {
		end(link, err, "another session daemon has taken over the consumer daemon", true);
		return false;
	}
	*lost = true;
	*failures = useful ? 0 : *failures + 1;
	if (link->options.on_change)
		link->options.on_change(link->options.data, 0, words);
	report_failures(link, *failures, words);
	if (*failures)
		pause_for(link, *failures);
	return true;
}

void *wmk_link_run(void *arg)
{
	struct wmk_consumer_link *link = arg;
	unsigned failures = 0;
	bool lost = false;

	while (!is_set(link, &link->closing) && serve_one(link, &lost, &failures))
		continue;
	hang_up(link);
	if (link->pidfd >= 0)
		close(link->pidfd);
	/*
	 * A consumer daemon that keeps running does not depend on the session daemon. A consumer daemon that has ended
	 * is reaped here, or else by init.
	 */
	if (link->child)
		waitpid(link->child, NULL, WNOHANG);
	return NULL;
}
