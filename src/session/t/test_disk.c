/* SPDX-License-Identifier: MIT */
/*
 * test_disk.c - disks that answer, hang, and answer again: played by work that waits until the test lets it go on.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/error.h"
#include "session/disk.h"

#define LONG_MS 60000
#define SHORT_MS 20

/* Seen by the test's thread and those of the disks. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct seen {
	unsigned begun, ended, undone, freed, ready;
	char order[256];
	char path[32];
} seen;

struct job {
	struct wmk_disk_work work;
	char name;
	int result;
	bool hangs;                      /* until it is let go; under `lock` */
};

static void count(unsigned *what)
{
	pthread_mutex_lock(&lock);
	++*what;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void wait_for(const unsigned *what, unsigned n)
{
	pthread_mutex_lock(&lock);
	while (*what < n)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static unsigned so_far(const unsigned *what)
{
	pthread_mutex_lock(&lock);
	const unsigned n = *what;
	pthread_mutex_unlock(&lock);
	return n;
}

static void assert_order(const char *order)
{
	pthread_mutex_lock(&lock);
	assert_string_equal(seen.order, order);
	pthread_mutex_unlock(&lock);
}

static int job_run(struct wmk_disk_work *work)
{
	struct job *job = (struct job *)(void *)work;

	count(&seen.begun);
	pthread_mutex_lock(&lock);
	strncat(seen.order, &job->name, 1);
	while (job->hangs)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	count(&seen.ended);
	if (job->result == 0)
		return 0;
	wmk_error(job->result, "the file '%c'", job->name);
	return wmk_error_add(job->result, "it failed");
}

static void job_undo(struct wmk_disk_work *work)
{
	(void)work;
	count(&seen.undone);
}

static void job_free(struct wmk_disk_work *work)
{
	free(work);
	count(&seen.freed);
}

static struct job *job_new(char name, int result, bool hangs)
{
	struct job *job = calloc(1, sizeof(*job));

	*job = (struct job){ { .run = job_run, .undo = job_undo, .free = job_free }, name, result, hangs };
	return job;
}

static int do_job(struct wmk_disk *disk, char name, int result, int ms)
{
	return wmk_disk_do(disk, &job_new(name, result, false)->work, ms);
}

/* One for which nobody waits any more, and which has begun where there is a thread for it. */
static struct job *job_hang(struct wmk_disk *disk, int result, bool begins)
{
	const unsigned begun = so_far(&seen.begun);
	struct job *job = job_new('h', result, true);

	assert_int_equal(wmk_disk_do(disk, &job->work, SHORT_MS), -ETIMEDOUT);
	if (begins)
		wait_for(&seen.begun, begun + 1);
	return job;
}

/* Where another one hangs, this one may have to show first that it answers: once, however slow the machine is. */
static void do_surely(struct wmk_disk *disk, char name)
{
	const unsigned ready = so_far(&seen.ready);

	if (do_job(disk, name, 0, LONG_MS) == 0)
		return;
	wait_for(&seen.ready, ready + 1);
	assert_int_equal(do_job(disk, name, 0, LONG_MS), 0);
}

static void let_go(struct job *job)
{
	pthread_mutex_lock(&lock);
	job->hangs = false;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void on_ready(void *data, const char *path)
{
	assert_ptr_equal(data, &seen);
	pthread_mutex_lock(&lock);
	snprintf(seen.path, sizeof(seen.path), "%s", path);
	pthread_mutex_unlock(&lock);
	count(&seen.ready);
}

static struct wmk_disks *disks_open(void)
{
	const struct wmk_disks_options options = { .ready = on_ready, .data = &seen };
	struct wmk_disks *disks;

	memset(&seen, 0, sizeof(seen));
	assert_int_equal(wmk_disks_open(&options, &disks), 0);
	return disks;
}

static void test_in_time(void **state)
{
	struct wmk_disks *disks = disks_open();
	struct wmk_disk *disk = wmk_disk_get(disks, "/a", 1), *same = wmk_disk_get(disks, "/a", 1), *other = wmk_disk_get(disks, "/b", 1);
	char words[200];

	(void)state;
	assert_ptr_equal(disk, same);
	assert_ptr_not_equal(disk, other);
	assert_int_equal(do_job(disk, '1', 0, LONG_MS), 0);
	assert_int_equal(do_job(other, '2', 0, LONG_MS), 0);
	assert_int_equal(do_job(disk, '3', -ENOSPC, LONG_MS), -ENOSPC);
	assert_string_equal(wmk_error_text(words, sizeof(words)), "it failed: the file '3': No space left on device");
	assert_int_equal(do_job(disk, '4', -ETIMEDOUT, LONG_MS), -ETIMEDOUT);            /* the file system's own */
	assert_string_equal(wmk_error_get(0), "it failed");
	assert_int_equal(do_job(disk, '5', 0, LONG_MS), 0);
	assert_order("12345");
	assert_int_equal(so_far(&seen.freed), 5);
	assert_int_equal(so_far(&seen.undone) + so_far(&seen.ready), 0);
	wmk_disk_put(disk);
	wmk_disk_put(same);
	wmk_disk_put(other);
	wmk_disks_close(disks, LONG_MS);
}

static void test_hangs(void **state)
{
	struct wmk_disks *disks = disks_open();
	struct wmk_disk *disk = wmk_disk_get(disks, "/a", 1), *other = wmk_disk_get(disks, "/b", 1);
	struct job *job = job_hang(disk, 0, true);

	(void)state;
	assert_string_equal(wmk_error_get(0), "the disk of /a does not answer");
	assert_int_equal(so_far(&seen.begun), 1);
	/* nobody waits for it any more, not for a moment: this one would wait for as long as the test lasts */
	assert_int_equal(do_job(disk, '2', 0, LONG_MS), -ETIMEDOUT);
	assert_int_equal(so_far(&seen.freed), 1);
	assert_order("h");
	assert_int_equal(so_far(&seen.undone) + so_far(&seen.ready), 0);
	let_go(job);
	wait_for(&seen.ready, 1);
	assert_string_equal(seen.path, "/a");
	assert_int_equal(so_far(&seen.undone), 1);
	assert_int_equal(so_far(&seen.freed), 2);
	assert_int_equal(do_job(other, '3', 0, LONG_MS), 0);
	assert_int_equal(do_job(disk, '4', 0, LONG_MS), 0);
	assert_order("h34");
	/* what has failed needs no undoing */
	job = job_hang(disk, -EIO, true);
	let_go(job);
	wait_for(&seen.ready, 2);
	assert_int_equal(so_far(&seen.undone), 1);
	assert_int_equal(so_far(&seen.freed), 5);
	wmk_disk_put(disk);
	wmk_disk_put(other);
	wmk_disks_close(disks, LONG_MS);
}

struct waiter {
	struct wmk_disk *disk;
	struct job *job;
	int ms, err;
};

static void *wait_for_job(void *data)
{
	struct waiter *waiter = data;

	waiter->err = wmk_disk_do(waiter->disk, &waiter->job->work, waiter->ms);
	wmk_error_clear();
	return NULL;
}

/* Who waits behind one that is given up is given up with it, without having begun. */
static void test_behind(void **state)
{
	struct wmk_disks *disks = disks_open();
	struct wmk_disk *disk = wmk_disk_get(disks, "/a", 1);
	struct job *first = job_new('1', 0, true);
	struct waiter waiters[3];
	pthread_t threads[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		waiters[i] = (struct waiter){ disk, i ? job_new('2', 0, false) : first, i ? LONG_MS : 2000, 1 };
		assert_int_equal(pthread_create(&threads[i], NULL, wait_for_job, &waiters[i]), 0);
		if (i == 0)
			wait_for(&seen.begun, 1);
	}
	for (unsigned i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(waiters[i].err, -ETIMEDOUT);
	}
	assert_int_equal(so_far(&seen.begun), 1);
	assert_int_equal(so_far(&seen.freed), 2);
	let_go(first);
	wait_for(&seen.ready, 1);
	assert_int_equal(do_job(disk, '3', 0, LONG_MS), 0);
	assert_order("13");
	wmk_disk_put(disk);
	wmk_disks_close(disks, LONG_MS);
}

/* Waits for work at the disk as long as anybody does, which has begun. */
static void waiter_start(struct waiter *waiter, pthread_t *thread, struct wmk_disk *disk)
{
	const unsigned begun = so_far(&seen.begun);

	*waiter = (struct waiter){ disk, job_new('w', 0, true), LONG_MS, 1 };
	assert_int_equal(pthread_create(thread, NULL, wait_for_job, waiter), 0);
	wait_for(&seen.begun, begun + 1);
}

static void waiter_end(struct waiter *waiter, pthread_t thread)
{
	let_go(waiter->job);
	pthread_join(thread, NULL);
	assert_int_equal(waiter->err, 0);
}

/*
 * One has hung for as long as anybody waits: nobody waits so for the next ones of its owner, but for those that have answered since, and for others'. (The next
 * ones together take longer than the moment that those are not to have.)
 */
static void test_together(void **state)
{
	enum { N = 12 };
	struct wmk_disks *disks = disks_open();
	struct wmk_disk *all[N], *good[2] = { wmk_disk_get(disks, "/good", 1), wmk_disk_get(disks, "/new", 2) };
	struct waiter waiters[2];
	struct job *jobs[N];
	pthread_t threads[2];
	char path[32];

	(void)state;
	for (unsigned i = 0; i < N; i++) {
		snprintf(path, sizeof(path), "/%u", i);
		all[i] = wmk_disk_get(disks, path, 1);
	}
	jobs[0] = job_hang(all[0], 0, true);
	do_surely(good[0], 'g');
	for (unsigned i = 0; i < 2; i++)
		waiter_start(&waiters[i], &threads[i], good[i]);
	const unsigned before = so_far(&seen.begun);
	for (unsigned i = 1; i < N; i++) {
		jobs[i] = job_new('h', 0, true);
		assert_int_equal(wmk_disk_do(all[i], &jobs[i]->work, LONG_MS), -ETIMEDOUT);
	}
	wait_for(&seen.begun, before + N - 1);
	for (unsigned i = 0; i < 2; i++)
		waiter_end(&waiters[i], threads[i]);
	const unsigned ready = so_far(&seen.ready);
	for (unsigned i = 0; i < N; i++)
		let_go(jobs[i]);
	wait_for(&seen.ready, ready + N);
	for (unsigned i = 0; i < N; i++) {
		assert_int_equal(do_job(all[i], 'x', 0, LONG_MS), 0);
		wmk_disk_put(all[i]);
	}
	for (unsigned i = 0; i < 2; i++)
		wmk_disk_put(good[i]);
	wmk_disks_close(disks, LONG_MS);
}

/*
 * While another one of its owner's hangs, a disk is too slow for the moment that it has, and whoever wanted it has no use for it then. It answered in the end: who
 * comes again, as ready() told, waits for it as for any other.
 */
static void test_slow(void **state)
{
	enum { N = 4 };
	struct wmk_disks *disks = disks_open();
	struct wmk_disk *hung = wmk_disk_get(disks, "/hung", 1), *all[N], *slow = wmk_disk_get(disks, "/slow", 1);
	struct job *first = job_hang(hung, 0, true), *jobs[N], *job = job_new('s', 0, true);
	struct waiter waiter;
	pthread_t thread;
	char path[32];

	(void)state;
	assert_int_equal(wmk_disk_do(slow, &job->work, LONG_MS), -ETIMEDOUT);
	wmk_disk_put(slow);
	let_go(job);
	wait_for(&seen.ready, 1);
	/* (and when nothing of it is at work any more) */
	for (unsigned i = 0; i < N; i++) {
		snprintf(path, sizeof(path), "/%u", i);
		all[i] = wmk_disk_get(disks, path, 1);
	}
	slow = wmk_disk_get(disks, "/slow", 1);
	waiter_start(&waiter, &thread, slow);
	for (unsigned i = 0; i < N; i++) {
		jobs[i] = job_new('h', 0, true);
		assert_int_equal(wmk_disk_do(all[i], &jobs[i]->work, LONG_MS), -ETIMEDOUT);
	}
	waiter_end(&waiter, thread);
	const unsigned ready = so_far(&seen.ready);
	let_go(first);
	for (unsigned i = 0; i < N; i++)
		let_go(jobs[i]);
	wait_for(&seen.ready, ready + N + 1);
	wmk_disk_put(slow);
	wmk_disk_put(hung);
	for (unsigned i = 0; i < N; i++)
		wmk_disk_put(all[i]);
	wmk_disks_close(disks, LONG_MS);
}

/* More disks of one owner hang than there are threads for him: the next one's work is done when one of them answers; another owner's is at once. */
static void test_many(void **state)
{
	enum { N = WMK_DISK_THREADS_OF_ONE + 6 };
	struct wmk_disks *disks = disks_open();
	struct wmk_disk *all[N], *other = wmk_disk_get(disks, "/0", 2);
	struct job *jobs[N];
	char path[32];

	(void)state;
	for (unsigned i = 0; i < N; i++) {
		snprintf(path, sizeof(path), "/%u", i);
		all[i] = wmk_disk_get(disks, path, 1);
		jobs[i] = job_hang(all[i], 0, i < WMK_DISK_THREADS_OF_ONE);
	}
	assert_ptr_not_equal(all[0], other);
	do_surely(other, 'o');
	const unsigned others = so_far(&seen.ready);
	assert_int_equal(so_far(&seen.begun), WMK_DISK_THREADS_OF_ONE + 1 + others);
	for (unsigned i = 0; i < N; i++)
		let_go(jobs[i]);
	wait_for(&seen.ready, N + others);
	assert_int_equal(so_far(&seen.undone), N + others);
	for (unsigned i = 0; i < N; i++) {
		assert_int_equal(do_job(all[i], 'x', 0, LONG_MS), 0);
		wmk_disk_put(all[i]);
	}
	wmk_disk_put(other);
	wmk_disks_close(disks, LONG_MS);
}

/* A process ends though a disk hangs. */
static void test_closed(void **state)
{
	struct wmk_disks *disks = disks_open();
	struct wmk_disk *disk = wmk_disk_get(disks, "/a", 1);
	struct job *job = job_hang(disk, 0, true);       /* what hangs keeps what it needs */

	(void)state;
	wmk_disk_put(disk);
	wmk_disks_close(disks, SHORT_MS);
	let_go(job);
	wait_for(&seen.freed, 1);
	assert_int_equal(so_far(&seen.ready), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_time), cmocka_unit_test(test_hangs), cmocka_unit_test(test_behind),
		cmocka_unit_test(test_together), cmocka_unit_test(test_slow), cmocka_unit_test(test_many), cmocka_unit_test(test_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
