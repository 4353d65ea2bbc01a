/* SPDX-License-Identifier: MIT */
/*
 * idle_compression.c - compress closed chunks at idle priority (see idle_compression.h).
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/thread.h"
#include "consumer/idle_compression.h"
#include "store/compress_directory.h"
#include "store/store.h"

/* The values are from linux/ioprio.h, which some C libraries lack. */
#define IO_OF_THREAD 1
#define IO_IDLE (3 << 13)

struct compression {
	uid_t uid;
	gid_t gid;
	void (*log)(const char *words);
	char path[];
};

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

/* If a priority cannot be set, the thread keeps the priority of the process. */
static void become_idle(void)
{
	const struct sched_param none = { .sched_priority = 0 };

	sched_setscheduler(0, SCHED_IDLE, &none);
	syscall(SYS_ioprio_set, IO_OF_THREAD, 0, IO_IDLE);
}

static void *run(void *arg)
{
	struct compression *compression = arg;
	char words[600];
	int err;

	become_idle();
	pthread_mutex_lock(&one_at_a_time);
	err = wmk_store_identity_begin(compression->uid, compression->gid);
	if (err >= 0) {
		err = wmk_compress_chunks(compression->path);
		wmk_store_identity_end();
	}
	pthread_mutex_unlock(&one_at_a_time);
	if (err < 0 && compression->log)
		compression->log(wmk_error_text(words, sizeof(words)));
	wmk_error_clear();
	free(compression);
	return NULL;
}

int wmk_idle_compression_start(const char *path, uid_t uid, gid_t gid, void (*log)(const char *words))
{
	struct compression *compression = malloc(sizeof(*compression) + strlen(path) + 1);
	pthread_t thread;
	int err;

	if (!compression)
		return wmk_error(-ENOMEM, "no memory to compress chunks");
	*compression = (struct compression){ .uid = uid, .gid = gid, .log = log };
	strcpy(compression->path, path);
	err = wmk_thread_create(&thread, NULL, run, compression);
	if (err) {
		free(compression);
		return wmk_error(-err, "cannot start a thread to compress chunks");
	}
	pthread_detach(thread);
	return 0;
}
