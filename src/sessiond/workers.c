/* SPDX-License-Identifier: MIT */
/*
 * workers.c - threads that perform the requests of clients (see clients.h).
 */
#include "sessiond/clients.h"

#include "base/error.h"
#include "base/thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define WORKERS_MAX 64u

struct wmk_workers {
	struct wmk_workers_ops ops;
	pthread_mutex_t lock;
	pthread_cond_t some;             /* a job waits, or the end */
	struct wmk_job *waiting, *done;  /* waiting: oldest first */
	uid_t at_work[WORKERS_MAX];      /* users of the running jobs */
	unsigned n_at_work, max_at_work;
	bool for_root;
	bool ending;
	int eventfd;
	pthread_t threads[WORKERS_MAX];
	unsigned n;
};

static unsigned at_work_of(const struct wmk_workers *w, uid_t uid)
{
	unsigned n = 0;

	for (unsigned i = 0; i < w->n_at_work; i++)
		n += w->at_work[i] == uid;
	return n;
}

/*
 * True if the worker that is reserved for root is the only free worker. Requests of other users never run in the
 * reserved worker, even if slow requests occupy all other workers.
 */
static bool is_for_root(const struct wmk_workers *w)
{
	return w->for_root && w->n_at_work + 1 >= w->n;
}

/*
 * Return the oldest job of the user that has the fewest running jobs, or NULL if every user with queued jobs has
 * reached the limit.
 */
static struct wmk_job *choose(struct wmk_workers *w)
{
	struct wmk_job **best = NULL;
	unsigned fewest = w->max_at_work;

	for (struct wmk_job **at = &w->waiting; *at; at = &(*at)->next) {
		unsigned n = at_work_of(w, (*at)->uid);

		if (n < fewest && ((*at)->uid == 0 || !is_for_root(w))) {
			fewest = n;
			best = at;
		}
	}
	if (!best)
		return NULL;
	struct wmk_job *job = *best;
	*best = job->next;
	w->at_work[w->n_at_work++] = job->uid;
	return job;
}

static void finished(struct wmk_workers *w, struct wmk_job *job)
{
	const uint64_t one = 1;

	for (unsigned i = 0; i < w->n_at_work; i++)
		if (w->at_work[i] == job->uid) {
			w->at_work[i] = w->at_work[--w->n_at_work];
			break;
		}
	if (w->waiting)
		pthread_cond_signal(&w->some);   /* this user may run one more job */
	job->next = w->done;
	w->done = job;
	if (!job->next && write(w->eventfd, &one, sizeof(one)) < 0)
		abort();                 /* an open eventfd accepts this */
}

static void *worker_run(void *data)
{
	struct wmk_workers *w = data;

	if (w->ops.thread_begin)
		w->ops.thread_begin(w->ops.data);
	pthread_mutex_lock(&w->lock);
	for (;;) {
		struct wmk_job *job = w->ending ? NULL : choose(w);

		if (job) {
			pthread_mutex_unlock(&w->lock);
			w->ops.work(w->ops.data, job);
			wmk_error_clear();
			pthread_mutex_lock(&w->lock);
			finished(w, job);
		} else if (w->ending) {
			break;
		} else {
			pthread_cond_wait(&w->some, &w->lock);
		}
	}
	pthread_mutex_unlock(&w->lock);
	if (w->ops.thread_end)
		w->ops.thread_end(w->ops.data);
	return NULL;
}

int wmk_workers_open(unsigned n, unsigned max_at_work, bool for_root, const struct wmk_workers_ops *ops,
		     struct wmk_workers **out)
{
	struct wmk_workers *w = calloc(1, sizeof(*w));
	int err = 0;

	if (!w)
		return wmk_error(-ENOMEM, "no memory for the workers");
	w->ops = *ops;
	w->max_at_work = max_at_work;
	w->for_root = for_root;
	w->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->some, NULL);
	if (w->eventfd < 0)
		err = wmk_error(-errno, "cannot create the eventfd of the workers");
	while (err == 0 && w->n < n && w->n < WORKERS_MAX) {
		err = -wmk_thread_create(&w->threads[w->n], NULL, worker_run, w);
		if (err == 0)
			w->n++;
		else
			err = wmk_error(err, "cannot start a worker thread");
	}
	if (err < 0) {
		wmk_workers_close(w);
		return err;
	}
	*out = w;
	return 0;
}

void wmk_workers_close(struct wmk_workers *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->ending = true;
	pthread_cond_broadcast(&w->some);
	pthread_mutex_unlock(&w->lock);
	for (unsigned i = 0; i < w->n; i++)
		pthread_join(w->threads[i], NULL);
	if (w->eventfd >= 0)
		close(w->eventfd);
	pthread_cond_destroy(&w->some);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

void wmk_workers_give(struct wmk_workers *w, struct wmk_job *job)
{
	struct wmk_job **at = &w->waiting;

	job->next = NULL;
	pthread_mutex_lock(&w->lock);
	while (*at)
		at = &(*at)->next;
	*at = job;
	pthread_cond_signal(&w->some);
	pthread_mutex_unlock(&w->lock);
}

int wmk_workers_fd(const struct wmk_workers *w)
{
	return w->eventfd;
}

struct wmk_job *wmk_workers_done(struct wmk_workers *w)
{
	uint64_t n;

	if (read(w->eventfd, &n, sizeof(n)) < 0 && errno != EAGAIN)
		return NULL;
	pthread_mutex_lock(&w->lock);
	struct wmk_job *done = w->done;
	w->done = NULL;
	pthread_mutex_unlock(&w->lock);
	return done;
}
