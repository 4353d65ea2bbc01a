/* SPDX-License-Identifier: MIT */
/*
 * disk.c - threads that wait for disks in the place of others (see disk.h).
 *
 *     disks->waiting ─► disk ─► disk      that have work, and no thread at it
 *                        └─ first ─► work ─► work
 *
 * A thread takes a disk, does its first work, and puts it back at the end if there is more. There are as many threads as disks had work at
 * one time, WMK_DISK_THREADS at most. Each that hangs has a disk of its own, and of one owner WMK_DISK_THREADS_OF_ONE may be at work: so those
 * of others' disks stay free, whatever hangs of his.
 *
 * `silences` counts how often one of an owner's was waited for in vain as long as anybody would. Which of his others are on the same disk nobody knows:
 * those that have answered since then are not, or it answers again. One that has is remembered for that when nobody uses it any more, or it would be
 * as new each time. Another owner's are waited for as ever: nobody can make them distrusted.
 */
#include "session/disk.h"

#include "base/cond.h"
#include "base/error.h"
#include "base/faults.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define STACK (256u << 10)
#define REMEMBERED 64u

/* Of all disks of one user. */
struct owner {
	struct owner *next;
	uid_t uid;
	unsigned n_disks, n_waiting, busy, n_late, silences;
	unsigned n_remembered;           /* disks without a reference */
};

struct wmk_disk {
	struct wmk_disk *next;           /* of all */
	struct wmk_disk *next_waiting;
	struct wmk_disks *disks;
	struct owner *owner;
	char *path;
	unsigned refs;                   /* a thread that is at work has one, too */
	struct wmk_disk_work *first, **last;
	bool at_work;                    /* or among the waiting */
	bool running;                    /* it is at work that is not in line any more */
	bool late;                       /* somebody has waited in vain for work that is to end yet */
	unsigned heard;                  /* how many silences of its owner's there had been when it answered last; 0: it has not */
	pthread_cond_t answered;
};

struct wmk_disks {
	struct wmk_disks_options options;
	pthread_mutex_t lock;            /* of all below, and of all disks */
	pthread_cond_t some, ended;
	struct owner *owners;
	struct wmk_disk *all, *waiting, **waiting_end;
	unsigned n_threads, n_idle;
	bool ending, left;               /* left: whoever ends last frees it */
};

/* ── disks ───────────────────────────────────────────────────────────────────────────────────────────── */

/* Locked, as all of these. NULL: no memory. */
static struct owner *owner_get(struct wmk_disks *disks, uid_t uid)
{
	struct owner *owner = disks->owners;

	while (owner && owner->uid != uid)
		owner = owner->next;
	if (!owner && (owner = calloc(1, sizeof(*owner))) != NULL) {
		owner->uid = uid;
		owner->silences = 1;
		owner->next = disks->owners;
		disks->owners = owner;
	}
	if (owner)
		owner->n_disks++;
	return owner;
}

static void owner_put(struct wmk_disks *disks, struct owner *owner)
{
	struct owner **at = &disks->owners;

	if (--owner->n_disks)
		return;
	while (*at != owner)
		at = &(*at)->next;
	*at = owner->next;
	free(owner);
}

static void disk_free(struct wmk_disk *disk)
{
	struct wmk_disk **at = &disk->disks->all;

	while (*at != disk)
		at = &(*at)->next;
	*at = disk->next;
	owner_put(disk->disks, disk->owner);
	pthread_cond_destroy(&disk->answered);
	free(disk->path);
	free(disk);
}

static void disk_put(struct wmk_disk *disk)
{
	struct owner *owner = disk->owner;

	if (--disk->refs)
		return;
	if (owner->n_late > 0 && disk->heard == owner->silences && owner->n_remembered < REMEMBERED)
		owner->n_remembered++;
	else
		disk_free(disk);
}

/* Those without a reference: there is no silence any more, or a new one. (The owner has another disk: that one.) */
static void forget(struct wmk_disks *disks, struct owner *owner)
{
	for (struct wmk_disk *disk = disks->all, *next; disk && owner->n_remembered; disk = next) {
		next = disk->next;
		if (disk->owner == owner && disk->refs == 0) {
			owner->n_remembered--;
			disk_free(disk);
		}
	}
}

static struct wmk_disk *disk_new(struct wmk_disks *disks, const char *path, uid_t uid)
{
	struct wmk_disk *disk = calloc(1, sizeof(*disk));

	if (!disk || !(disk->path = strdup(path)) || !(disk->owner = owner_get(disks, uid))) {
		if (disk)
			free(disk->path);
		free(disk);
		wmk_error(-ENOMEM, "no memory for a trace's disk");
		return NULL;
	}
	disk->disks = disks;
	disk->last = &disk->first;
	wmk_cond_init(&disk->answered);
	disk->next = disks->all;
	disks->all = disk;
	return disk;
}

struct wmk_disk *wmk_disk_get(struct wmk_disks *disks, const char *path, uid_t owner)
{
	struct wmk_disk *disk;

	pthread_mutex_lock(&disks->lock);
	for (disk = disks->all; disk && (disk->owner->uid != owner || strcmp(disk->path, path) != 0);)
		disk = disk->next;
	if (!disk)
		disk = disk_new(disks, path, owner);
	if (disk && disk->refs++ == 0 && disk->heard)
		disk->owner->n_remembered--;
	pthread_mutex_unlock(&disks->lock);
	return disk;
}

void wmk_disk_put(struct wmk_disk *disk)
{
	struct wmk_disks *disks = disk->disks;

	pthread_mutex_lock(&disks->lock);
	disk_put(disk);
	pthread_mutex_unlock(&disks->lock);
}

/* ── the threads ─────────────────────────────────────────────────────────────────────────────────────── */

static void wait_in_line(struct wmk_disk *disk)
{
	struct wmk_disks *disks = disk->disks;

	disk->at_work = true;
	disk->refs++;
	disk->next_waiting = NULL;
	*disks->waiting_end = disk;
	disks->waiting_end = &disk->next_waiting;
	disk->owner->n_waiting++;
	pthread_cond_signal(&disks->some);
}

/* The first whose owner may have one more thread; NULL: there is none. */
static struct wmk_disk *next_in_line(struct wmk_disks *disks)
{
	struct wmk_disk **at = &disks->waiting;

	while (*at && (*at)->owner->busy >= WMK_DISK_THREADS_OF_ONE)
		at = &(*at)->next_waiting;
	struct wmk_disk *disk = *at;
	if (!disk)
		return NULL;
	*at = disk->next_waiting;
	if (!*at)
		disks->waiting_end = at;
	disk->owner->n_waiting--;
	disk->owner->busy++;
	return disk;
}

/* How many of them could be taken now. */
static unsigned n_due(const struct wmk_disks *disks)
{
	unsigned n = 0;

	for (const struct owner *owner = disks->owners; owner; owner = owner->next) {
		const unsigned room = WMK_DISK_THREADS_OF_ONE - owner->busy;

		n += owner->n_waiting < room ? owner->n_waiting : room;
	}
	return n;
}

/* `silent`: nobody would have waited longer. */
static void late_begin(struct wmk_disk *disk, bool silent)
{
	disk->late = true;
	disk->owner->n_late++;
	if (silent) {
		disk->owner->silences++;
		forget(disk->disks, disk->owner);
	}
}

static void late_end(struct wmk_disk *disk)
{
	if (!disk->late)
		return;
	disk->late = false;
	if (--disk->owner->n_late == 0)
		forget(disk->disks, disk->owner);
}

/* Unlocks meanwhile. */
static void work_undo(struct wmk_disk *disk, struct wmk_disk_work *work, int result)
{
	struct wmk_disks *disks = disk->disks;

	pthread_mutex_unlock(&disks->lock);
	if (result == 0 && work->undo)
		work->undo(work);
	work->free(work);
	wmk_error_clear();
	pthread_mutex_lock(&disks->lock);
	late_end(disk);
	if (disks->options.ready)
		disks->options.ready(disks->options.data, disk->path);
}

/* Locked, but while it runs. (A disk's work is done here, by one thread at a time.) */
static void work_at(struct wmk_disk *disk)
{
	struct wmk_disks *disks = disk->disks;
	struct wmk_disk_work *work = disk->first;

	disk->first = work->next;
	if (!disk->first)
		disk->last = &disk->first;
	disk->running = true;
	pthread_mutex_unlock(&disks->lock);
	int result = work->run(work);
	pthread_mutex_lock(&disks->lock);
	disk->running = false;
	disk->heard = disk->owner->silences;
	if (work->abandoned) {
		work_undo(disk, work, result);
	} else {
		work->result = result;
		work->chain = wmk_error_take();
		work->done = true;
		pthread_cond_broadcast(&disk->answered);
	}
}

static void serve(struct wmk_disk *disk)
{
	if (disk->first)                 /* else it was taken back */
		work_at(disk);
	disk->at_work = false;
	disk->owner->busy--;
	if (disk->first)
		wait_in_line(disk);
	disk_put(disk);
}

static void disks_free(struct wmk_disks *disks)
{
	for (struct owner *owner = disks->owners, *next; owner; owner = next) {
		next = owner->next;      /* (who has a disk in use has another reason to be) */
		forget(disks, owner);
	}
	pthread_cond_destroy(&disks->some);
	pthread_cond_destroy(&disks->ended);
	pthread_mutex_destroy(&disks->lock);
	free(disks);
}

static void *thread_run(void *data)
{
	struct wmk_disks *disks = data;
	struct wmk_disk *disk;

	pthread_setname_np(pthread_self(), "wmk-disk");
	pthread_mutex_lock(&disks->lock);
	while ((disk = next_in_line(disks)) != NULL || !disks->ending) {
		if (disk) {
			serve(disk);
		} else {
			disks->n_idle++;
			pthread_cond_wait(&disks->some, &disks->lock);
			disks->n_idle--;
		}
	}
	bool last = --disks->n_threads == 0 && disks->left;
	pthread_cond_signal(&disks->ended);
	pthread_mutex_unlock(&disks->lock);
	if (last)
		disks_free(disks);
	return NULL;
}

static int thread_start(struct wmk_disks *disks)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK);
	wmk_signals_of_others(&all);                /* signals are the main thread's */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int err = -pthread_create(&thread, &attr, thread_run, disks);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	disks->n_threads += err == 0;
	return err;
}

/* Enough of them for those in line? Where no more can be had the others do it, later. */
static int threads_enough(struct wmk_disks *disks)
{
	int err = disks->n_idle < n_due(disks) && disks->n_threads < WMK_DISK_THREADS ? thread_start(disks) : 0;

	return err < 0 && disks->n_threads == 0 ? wmk_error(err, "cannot start a thread: %s", strerror(-err)) : 0;
}

/* ── work ────────────────────────────────────────────────────────────────────────────────────────────── */

static void take_back(struct wmk_disk *disk, struct wmk_disk_work *work)
{
	struct wmk_disk_work **at = &disk->first;

	while (*at != work)
		at = &(*at)->next;
	*at = work->next;
	if (!work->next)
		disk->last = at;
}

static bool is_queued(const struct wmk_disk *disk, const struct wmk_disk_work *work)
{
	const struct wmk_disk_work *one = disk->first;

	while (one && one != work)
		one = one->next;
	return one != NULL;
}

/* How long it is waited for, by who would wait `ms`. */
static int patience(const struct wmk_disk *disk, int ms)
{
	const unsigned n_late = disk->owner->n_late < 5 ? disk->owner->n_late : 5;
	const int moment = WMK_DISK_MOMENT_MS >> n_late;

	return n_late == 0 || disk->heard == disk->owner->silences || ms < moment ? ms : moment;
}

/* Locked. 0: it is done. -errno: it never will be; -EINPROGRESS: it is left to itself, at work or before. */
static int work_wait(struct wmk_disk *disk, struct wmk_disk_work *work, int ms)
{
	const int moment = patience(disk, ms);
	const struct timespec end = wmk_deadline(moment);
	int rc = 0;

	*disk->last = work;
	disk->last = &work->next;
	if (!disk->at_work)
		wait_in_line(disk);
	int err = threads_enough(disk->disks);
	while (err == 0 && !work->done && rc != ETIMEDOUT && !disk->late)
		rc = pthread_cond_timedwait(&disk->answered, &disk->disks->lock, &end);
	if (work->done)
		return 0;
	/* (behind another's work, which has its own time) */
	if ((err < 0 || disk->late || disk->running) && is_queued(disk, work)) {
		take_back(disk, work);
		return err < 0 ? err : -ETIMEDOUT;
	}
	/* Also one that waits for a thread yet: when it has ended, ready() is called. */
	work->abandoned = true;
	if (!disk->late)
		late_begin(disk, moment == ms);
	pthread_cond_broadcast(&disk->answered);         /* those behind it wait no longer either */
	return -EINPROGRESS;
}

int wmk_disk_do(struct wmk_disk *disk, struct wmk_disk_work *work, int ms)
{
	struct wmk_disks *disks = disk->disks;

	work->next = NULL;
	work->result = 0;
	work->done = work->abandoned = false;
	work->chain = NULL;
	pthread_mutex_lock(&disks->lock);
	int err = disk->late ? -ETIMEDOUT : work_wait(disk, work, ms);

	/* (what is in line may have found no thread before) */
	if (disk->late && threads_enough(disks) < 0)
		wmk_error_clear();
	pthread_mutex_unlock(&disks->lock);
	if (err == 0) {
		wmk_error_give(work->chain);
		err = work->result;
	} else if (err == -EINPROGRESS || err == -ETIMEDOUT) {
		if (err == -EINPROGRESS)
			work = NULL;             /* who is at it, or will be, frees it */
		err = wmk_error(-ETIMEDOUT, "the disk of %.100s does not answer", disk->path);
	}
	if (work)
		work->free(work);
	return err;
}

/* ── all ─────────────────────────────────────────────────────────────────────────────────────────────── */

int wmk_disks_open(const struct wmk_disks_options *options, struct wmk_disks **out)
{
	struct wmk_disks *disks = calloc(1, sizeof(*disks));

	if (!disks)
		return wmk_error(-ENOMEM, "no memory for the disks");
	disks->options = *options;
	disks->waiting_end = &disks->waiting;
	pthread_mutex_init(&disks->lock, NULL);
	wmk_cond_init(&disks->some);
	wmk_cond_init(&disks->ended);
	*out = disks;
	return 0;
}

void wmk_disks_close(struct wmk_disks *disks, int ms)
{
	const struct timespec end = wmk_deadline(ms);
	int rc = 0;

	if (!disks)
		return;
	pthread_mutex_lock(&disks->lock);
	disks->ending = true;
	pthread_cond_broadcast(&disks->some);
	while (disks->n_threads && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&disks->ended, &disks->lock, &end);
	/* A system call that does not return: the process ends with it. */
	bool left = disks->left = disks->n_threads != 0;
	disks->options.ready = NULL;
	pthread_mutex_unlock(&disks->lock);
	if (!left)
		disks_free(disks);
}
