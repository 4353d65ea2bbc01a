/* SPDX-License-Identifier: MIT */
/*
 * app_barrier.c - a command's barrier over the applications of all shards (see tracing.h: session first, applications
 * second).
 *
 *     thread of a command                    thread of a shard
 *     post to each shard ──────────────────► reconcile each application with the session; send SYNC to those that got
 *                                            messages or are registering, after the messages that answer registration
 *     wait in short steps                    count the answers after each turn
 *        no change: post a check ──────────► find applications that are stopped or idle: stop waiting for them
 *
 * The barrier ends when every shard has reported. The shared struct barrier has its own lock, which is held briefly.
 */
#include "session/apps/app_barrier.h"

#include "base/clock.h"
#include "base/cond.h"
#include "base/error.h"
#include "session/apps/app_conn.h"
#include "session/apps/app_describe.h"
#include "session/apps/shard_watch.h"
#include "session/model/process_stat.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOOK_FIRST_MS 1
#define LOOK_MS 20
/* a thread that was woken runs or is runnable within this time, however busy the machine is */
#define REST_MS 50
#define THREADS_OF_ONE 64u           /* an application with more threads is never considered idle */
/* limit of threads inspected in one turn of a shard, because the shard has other work, too */
#define THREADS_AT_ONCE 256u
#define OTHERS_MS 1000u              /* deadline for applications of users other than root and the session's owner */

struct barrier {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct wmk_session *session;
	unsigned left;                   /* shards that have not reported */
	unsigned looking;                /* checks that are posted and have not run */
	bool late;                       /* the deadline has passed: report regardless of answers */
	bool others_late;                /* the deadline for other users' applications has passed */
	struct wmk_list *unanswered;
	struct wmk_arena *arena;
};

struct shard_barrier {
	struct wmk_shard_job apply, look;
	struct wmk_shard *shard;
	struct barrier_part part;
	bool reported;                   /* under the lock of the barrier */
};

static struct shard_barrier *round_of(struct barrier_part *part)
{
	return wmk_container_of(part, struct shard_barrier, part);
}

int wmk_app_ask(struct app *app, uint32_t number)
{
	/* While the application registers, its events are not enabled yet: the daemon sends SYNC at EVENTS_END. */
	int err = app->complete ? wmk_out_u32(&app->out, WMK_MSG_SYNC, number) : 0;

	if (err < 0)
		return err;
	app->sync_pending = !app->complete;
	if (!app->sync_first) {
		app->sync_first = number;
		app->sync_sent_at = wmk_clock_ms();
		app->idle_since = 0;
	}
	app->sync_sent = number;
	app->sent = false;
	wmk_app_flush(app);
	return 0;
}

bool wmk_app_answers(const struct app *app, uint32_t number)
{
	return app->state != APP_ADMITTED || app->sync_first == 0 || app->sync_first > number;
}

/* ── in the shard ────────────────────────────────────────────────────────────────────────────────────── */

static void report(struct barrier_part *part)
{
	struct barrier *u = part->update;

	pthread_mutex_lock(&u->lock);
	round_of(part)->reported = true;
	u->left--;
	pthread_cond_signal(&u->changed);
	pthread_mutex_unlock(&u->lock);
}

static bool all_answered(const struct wmk_shard *shard, uint32_t number)
{
	for (const struct app *app = shard->app; app; app = app->next)
		if (!wmk_app_answers(app, number))
			return false;
	return true;
}

static void part_remove(struct wmk_shard *shard, struct barrier_part *part)
{
	struct barrier_part **at = &shard->updates;

	while (*at != part)
		at = &(*at)->next;
	*at = part->next;
}

void wmk_barriers_check(struct wmk_shard *shard)
{
	for (struct barrier_part *part = shard->updates, *next; part; part = next) {
		next = part->next;
		if (all_answered(shard, part->number)) {
			part_remove(shard, part);
			report(part);
		}
	}
}

static void apply_run(struct wmk_shard *shard, struct wmk_shard_job *job)
{
	struct shard_barrier *round = wmk_container_of(job, struct shard_barrier, apply);
	uint32_t number = ++shard->sync;

	wmk_shard_update(shard, round->part.update->session);
	for (struct app *app = shard->app; app; app = app->next)
		if (app->state == APP_ADMITTED && (app->sent || app->sync_first || !app->complete))
			wmk_app_ask(app, number);
	round->part.number = number;
	round->part.next = shard->updates;
	shard->updates = &round->part;
	wmk_barriers_check(shard);
}

static bool is_stopped(const struct app *app)
{
	uint64_t start_time;
	pid_t parent;
	char state = 0;

	return wmk_process_stat(app->pid, &parent, &start_time, &state) && (state == 'T' || state == 't');
}

/*
 * True if no thread of the application has run or was runnable for a while. An idle application either has read its
 * SYNC already, or its socket has no room for the SYNC. The daemon cannot force an idle application to answer. (The
 * result is not valid for a later barrier, before which the application may run.)
 */
static bool is_asleep(struct app *app, unsigned *budget)
{
	const int64_t now = wmk_clock_ms();
	uint64_t turns;
	const bool rests = wmk_process_is_idle(app->pid, budget, &turns);

	if (!rests || !app->idle_since || turns != app->idle_turns) {
		app->idle_since = rests ? now : 0;
		app->idle_turns = turns;
	}
	return rests && now - app->idle_since >= REST_MS;
}

/*
 * True if the next step depends on the shard, not on the application: the application has sent data, or its socket has
 * room for queued data of the shard.
 */
static bool is_heard_next(const struct app *app)
{
	struct pollfd fd = { .fd = app->socket, .events = (short)(app->writing ? POLLIN | POLLOUT : POLLIN) };

	return poll(&fd, 1, 0) != 0;
}

/*
 * True if the application is stopped or idle. The function stores a positive result for this barrier and does not
 * repeat the test, so that the rest of `budget` is available for other applications. A thread needs time to become
 * idle. In the first LOOK_MS after a SYNC, the function therefore tests only whether the application is stopped.
 */
static bool is_held(struct app *app, uint32_t number, int64_t now, unsigned *budget)
{
	if ((int32_t)(app->held_barrier - number) >= 0 && app->held_barrier)
		return true;
	if (*budget == 0 || is_heard_next(app)) {
		app->idle_since = 0;
		return false;
	}
	unsigned threads = *budget < THREADS_OF_ONE ? *budget : THREADS_OF_ONE;
	const unsigned before = threads;
	const bool is = is_stopped(app) || (now - app->sync_sent_at >= LOOK_MS && is_asleep(app, &threads));

	*budget -= before - threads > 0 ? before - threads : 1;
	if (is)
		app->held_barrier = number;
	return is;
}

static bool is_of_others(const struct barrier *u, const struct app *app)
{
	return app->uid != 0 && app->uid != u->session->uid;
}

/*
 * True if an application may still answer soon. After an application has missed a whole deadline, no command waits for
 * the application until it answers in time again. If commands waited for an application that never answers, or always
 * answers late, this application would delay every command.
 */
static bool may_answer_soon(struct wmk_shard *shard, const struct barrier *u, uint32_t number, bool others_late)
{
	unsigned budget = THREADS_AT_ONCE;
	const int64_t now = wmk_clock_ms();
	bool left = false;

	for (struct app *app = shard->app; app; app = app->next) {
		if (wmk_app_answers(app, number) || app->missed || (others_late && is_of_others(u, app)) ||
		    is_held(app, number, now, &budget))
			continue;
		left = true;
		if (now - app->sync_sent_at < LOOK_MS)
			/* this application may answer soon; check the other applications after LOOK_MS */
			break;
	}
	return left;
}

/* End the barrier in this shard: list the applications that have not answered. */
static void leave(struct wmk_shard *shard, struct barrier *u, uint32_t number)
{
	for (struct app *app = shard->app; app; app = app->next) {
		struct wmk_ctl_app is, *listed;

		if (wmk_app_answers(app, number))
			continue;
		app->missed |= u->late || (u->others_late && is_of_others(u, app));
		if (u->unanswered && wmk_app_describe(app, &(struct wmk_describing){ .arena = u->arena }, &is) == 0 &&
		    (listed = wmk_arena_append(u->arena, u->unanswered, sizeof(*listed))) != NULL)
			*listed = is;
	}
}

static void look_run(struct wmk_shard *shard, struct wmk_shard_job *job)
{
	struct shard_barrier *round = wmk_container_of(job, struct shard_barrier, look);
	struct barrier *u = round->part.update;

	pthread_mutex_lock(&u->lock);
	const bool late = u->late, others_late = u->others_late;
	pthread_mutex_unlock(&u->lock);
	/* (only this thread sets `reported` while the shard is open) */
	const bool ends = !round->reported && (late || !may_answer_soon(shard, u, round->part.number, others_late));

	pthread_mutex_lock(&u->lock);
	if (ends) {
		leave(shard, u, round->part.number);
		part_remove(shard, &round->part);
		round->reported = true;
		u->left--;
	}
	u->looking--;
	pthread_cond_signal(&u->changed);
	pthread_mutex_unlock(&u->lock);  /* from here on the command's thread may return and free the barrier */
}

void wmk_barriers_abandon(struct wmk_shard *shard)
{
	while (shard->updates) {
		struct barrier_part *part = shard->updates;

		shard->updates = part->next;
		report(part);
	}
}

/* ── in the command's thread ─────────────────────────────────────────────────────────────────────────── */

static struct shard_barrier *rounds_post(struct wmk_tracing *tracing, struct barrier *u, unsigned *n)
{
	struct shard_barrier *rounds;

	pthread_mutex_lock(&tracing->lock);      /* keeps the shards open */
	*n = tracing->n_shards;
	rounds = calloc(*n + 1, sizeof(*rounds));
	u->left = *n;
	for (unsigned i = 0; rounds && i < *n; i++) {
		rounds[i].apply.run = apply_run;
		rounds[i].look.run = look_run;
		rounds[i].shard = tracing->shards[i];
		rounds[i].part.update = u;
		wmk_shard_post(rounds[i].shard, &rounds[i].apply);
	}
	pthread_mutex_unlock(&tracing->lock);
	return rounds;
}

/*
 * Wait until the barrier changes. Returns false if the barrier does not change within `ms`. The lock of the barrier is
 * held on entry and on return, and released while the function waits.
 */
static bool wait_a_moment(struct barrier *u, unsigned ms)
{
	const struct timespec end = wmk_deadline((int)ms);

	return pthread_cond_timedwait(&u->changed, &u->lock, &end) == 0;
}

static void look_at_all(struct barrier *u, struct shard_barrier *rounds, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (!rounds[i].reported) {       /* a shard cannot close before it has reported */
			u->looking++;
			wmk_shard_post(rounds[i].shard, &rounds[i].look);
		}
}

int wmk_tracing_update(struct wmk_tracing *tracing, struct wmk_session *session, int timeout_ms,
		       struct wmk_list *unanswered, struct wmk_arena *arena)
{
	struct barrier u = {
		.lock = PTHREAD_MUTEX_INITIALIZER, .session = session, .unanswered = unanswered, .arena = arena
	};
	const uint64_t begin = wmk_clock_monotonic();
	unsigned n, ms = LOOK_FIRST_MS;

	wmk_cond_init(&u.changed);
	struct shard_barrier *rounds = rounds_post(tracing, &u, &n);

	pthread_mutex_lock(&u.lock);
	while (rounds && (u.left > 0 || u.looking > 0)) {
		if (wait_a_moment(&u, ms) || u.looking > 0)
			continue;
		ms = ms < LOOK_MS / 2 ? 2 * ms : LOOK_MS;
		const uint64_t waited_ms = (wmk_clock_monotonic() - begin) / 1000000;

		u.late = waited_ms >= (unsigned)timeout_ms;
		u.others_late = waited_ms >= OTHERS_MS;
		look_at_all(&u, rounds, n);
	}
	pthread_mutex_unlock(&u.lock);
	pthread_mutex_destroy(&u.lock);
	pthread_cond_destroy(&u.changed);
	free(rounds);
	return rounds ? 0 : wmk_error(-ENOMEM, "no memory to update the applications");
}

/* ── lists ───────────────────────────────────────────────────────────────────────────────────────────── */

struct app_listing {
	pthread_mutex_t lock;
	pthread_cond_t done;
	unsigned left;
	int err;
	uid_t user;
	struct wmk_list *apps;
	struct wmk_describing how;
};

struct list_job {
	struct wmk_shard_job job;
	struct app_listing *listing;
};

static int list_one(struct app_listing *l, struct app *app)
{
	const struct wmk_ctl_list_apps *what = l->how.what;
	struct wmk_ctl_app is, *listed;

	if (app->state != APP_ADMITTED || (l->user != (uid_t)-1 && app->uid != l->user) ||
	    (what->pid && what->pid != (uint64_t)app->pid))
		return 0;
	int err = wmk_app_describe(app, &l->how, &is);

	if (err < 0 || (what->pattern && *what->pattern && is.events.n == 0))
		return err;
	listed = wmk_arena_append(l->how.arena, l->apps, sizeof(*listed));
	if (!listed)
		return -ENOMEM;
	*listed = is;
	return 0;
}

static void list_run(struct wmk_shard *shard, struct wmk_shard_job *job)
{
	struct app_listing *l = wmk_container_of(job, struct list_job, job)->listing;

	pthread_mutex_lock(&l->lock);
	for (struct app *app = shard->app; app && l->err == 0; app = app->next)
		l->err = list_one(l, app);
	l->left--;
	pthread_cond_signal(&l->done);
	pthread_mutex_unlock(&l->lock);
}

int wmk_tracing_list_apps(struct wmk_tracing *tracing, const struct wmk_ctl_list_apps *what, uid_t user, uid_t owner,
			  struct wmk_list *apps, struct wmk_arena *arena)
{
	struct app_listing l = { .lock = PTHREAD_MUTEX_INITIALIZER,
			     .done = PTHREAD_COND_INITIALIZER,
			     .user = user,
			     .apps = apps,
			     .how = { .arena = arena, .what = what, .enabled_by = owner } };
	struct list_job *jobs;

	if (what->events) {
		l.how.known = calloc(WMK_DESCRIBED, sizeof(*l.how.known));
		if (!l.how.known)
			return wmk_error(-ENOMEM, "no memory to list the applications");
	}

	pthread_mutex_lock(&tracing->lock);
	jobs = calloc(tracing->n_shards + 1, sizeof(*jobs));
	l.left = jobs ? tracing->n_shards : 0;
	for (unsigned i = 0; i < l.left; i++) {
		jobs[i].job.run = list_run;
		jobs[i].listing = &l;
	}
	for (unsigned i = 0; jobs && i < tracing->n_shards; i++)
		wmk_shard_post(tracing->shards[i], &jobs[i].job);
	pthread_mutex_unlock(&tracing->lock);
	pthread_mutex_lock(&l.lock);
	while (l.left > 0)
		pthread_cond_wait(&l.done, &l.lock);
	pthread_mutex_unlock(&l.lock);
	pthread_mutex_destroy(&l.lock);
	pthread_cond_destroy(&l.done);
	free(jobs);
	free(l.how.known);
	return jobs ? l.err : wmk_error(-ENOMEM, "no memory to list the applications");
}
