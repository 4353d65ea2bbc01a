/* SPDX-License-Identifier: MIT */
/* rotation_schedule.c - the thread that rotates sessions by their schedules (see rotation_schedule.h). */
#include "sessiond/rotation_schedule.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/cond.h"
#include "base/error.h"
#include "base/thread.h"

struct wmk_rotation_schedule {
	void (*log)(void *data, const char *words);
	void *data;
	struct wmk_tracing *tracing;
	pthread_t thread;
	bool started;
	pthread_mutex_t lock;            /* protects the fields below */
	pthread_cond_t some;
	bool woken, ending;
};

static bool is_ending(struct wmk_rotation_schedule *schedule)
{
	pthread_mutex_lock(&schedule->lock);
	const bool ending = schedule->ending;
	pthread_mutex_unlock(&schedule->lock);
	return ending;
}

/*
 * Rotate the session if its rotation is due. Takes over the reference. Returns the monotonic time at which the next
 * rotation is due.
 */
static uint64_t rotate_one(struct wmk_rotation_schedule *schedule, struct wmk_session *session)
{
	uint64_t next = UINT64_MAX;
	char words[600];
	int err;

	if (wmk_session_lock(session) == 0) {
		do
			err = wmk_session_rotate_scheduled(session, &next);
		while (err == 1 && !is_ending(schedule));
		if (err < 0 && schedule->log)
			schedule->log(schedule->data, wmk_error_text(words, sizeof(words)));
		wmk_session_unlock(session);
	}
	wmk_error_clear();
	wmk_session_put(session);
	return next;
}

static uint64_t rotate_all(struct wmk_rotation_schedule *schedule)
{
	struct wmk_session **all = NULL;
	const int n = wmk_session_get_all(schedule->tracing, &all);
	uint64_t first = UINT64_MAX;

	for (int i = 0; i < n; i++) {
		const uint64_t next = rotate_one(schedule, all[i]);

		first = next < first ? next : first;
	}
	free(all);
	wmk_error_clear();
	return first;
}

static void *run(void *data)
{
	struct wmk_rotation_schedule *schedule = data;

	wmk_tracing_thread_begin();
	pthread_mutex_lock(&schedule->lock);
	while (!schedule->ending) {
		schedule->woken = false;
		pthread_mutex_unlock(&schedule->lock);
		const uint64_t next = rotate_all(schedule);
		const struct timespec until = { .tv_sec = (time_t)(next / 1000000000),
						.tv_nsec = (long)(next % 1000000000) };

		pthread_mutex_lock(&schedule->lock);
		for (int err = 0; !schedule->woken && !schedule->ending && err != ETIMEDOUT;)
			err = next == UINT64_MAX
				      ? pthread_cond_wait(&schedule->some, &schedule->lock)
				      : pthread_cond_timedwait(&schedule->some, &schedule->lock, &until);
	}
	pthread_mutex_unlock(&schedule->lock);
	wmk_tracing_thread_end();
	return NULL;
}

int wmk_rotation_schedule_open(void (*log)(void *data, const char *words), void *data,
			       struct wmk_rotation_schedule **out)
{
	struct wmk_rotation_schedule *schedule = calloc(1, sizeof(*schedule));

	if (!schedule)
		return wmk_error(-ENOMEM, "no memory for the schedule of rotations");
	schedule->log = log;
	schedule->data = data;
	pthread_mutex_init(&schedule->lock, NULL);
	wmk_cond_init(&schedule->some);
	*out = schedule;
	return 0;
}

int wmk_rotation_schedule_start(struct wmk_rotation_schedule *schedule, struct wmk_tracing *tracing)
{
	schedule->tracing = tracing;
	const int err = wmk_thread_create(&schedule->thread, NULL, run, schedule);

	schedule->started = err == 0;
	return err ? wmk_error(-err, "cannot start the thread of scheduled rotations") : 0;
}

void wmk_rotation_schedule_wake(struct wmk_rotation_schedule *schedule)
{
	pthread_mutex_lock(&schedule->lock);
	schedule->woken = true;
	pthread_cond_signal(&schedule->some);
	pthread_mutex_unlock(&schedule->lock);
}

void wmk_rotation_schedule_end(struct wmk_rotation_schedule *schedule)
{
	if (!schedule)
		return;
	pthread_mutex_lock(&schedule->lock);
	schedule->ending = true;
	pthread_cond_signal(&schedule->some);
	pthread_mutex_unlock(&schedule->lock);
	if (schedule->started)
		pthread_join(schedule->thread, NULL);
	schedule->started = false;
}

void wmk_rotation_schedule_close(struct wmk_rotation_schedule *schedule)
{
	if (!schedule)
		return;
	wmk_rotation_schedule_end(schedule);
	pthread_cond_destroy(&schedule->some);
	pthread_mutex_destroy(&schedule->lock);
	free(schedule);
}

void wmk_rotation_schedule_unfinished(struct wmk_tracing *tracing, struct wmk_reaper *reaper)
{
	struct wmk_session **all = NULL;
	int n = wmk_session_get_all(tracing, &all);

	for (int i = 0; i < n; i++) {
		if (wmk_session_rotating(all[i]))
			wmk_reaper_notify_stale(reaper, wmk_session_path(all[i]));
		wmk_session_put(all[i]);
	}
	free(all);
}
