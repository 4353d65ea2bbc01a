/* SPDX-License-Identifier: MIT */
/*
 * syscall_follow.c - which processes BPF records (see syscall_reader.h).
 *
 * The channel of one process: the instance has the threads of that process and of its descendants in set_event_pid,
 * which the kernel keeps up to date as long as the instance exists. BPF follows new processes by itself while it is
 * attached; what happened before it was attached is read from that file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "kernel/channel/syscall_set.h"
#include "kernel/proc/procfs.h"
#include "kernel/tracefs/tracefs.h"

/* of reading set_event_pid: one finds nothing new, unless processes are started all the time */
#define PASSES 64u

struct processes {
	struct wmk_kproc_lines lines;
	struct wmk_kproc_status status;
	pid_t *pids;
	unsigned n;
};

/* The process of a thread; 0: the thread has ended. */
static pid_t process_of(struct processes *found, long tid)
{
	return wmk_kproc_status_of(&found->lines, (int32_t)tid, &found->status) < 0 ? 0 : found->status.tgid;
}

static int add(struct processes *found, pid_t pid)
{
	pid_t *more;

	for (unsigned i = 0; i < found->n; i++)
		if (found->pids[i] == pid)
			return 0;
	more = realloc(found->pids, (found->n + 1) * sizeof(*more));
	if (!more)
		return wmk_error(-ENOMEM, "no memory for the processes that are recorded");
	found->pids = more;
	more[found->n++] = pid;
	return 1;
}

/* Follow the processes of set_event_pid that are not followed yet: how many. */
static int follow_new(const struct wmk_kreader *reader, struct processes *found)
{
	char *text;
	size_t len;
	int err = wmk_tracefs_read(reader->instance, "set_event_pid", &text, &len), n = 0;

	if (err < 0)
		return err;
	for (char *at = text, *end; err >= 0; at = end) {
		const long tid = strtol(at, &end, 10);
		const pid_t pid = end == at ? 0 : process_of(found, tid);

		if (end == at)
			break;
		if (pid <= 0 || (reader->only_pid && pid != reader->only_pid))
			continue;
		err = add(found, pid);
		if (err > 0)
			err = wmk_syscalls_follow(reader->calls->bpf, pid, true);
		n += err == 0;
	}
	free(text);
	return err < 0 ? err : n;
}

int wmk_syscall_set_follow(const struct wmk_kreader *reader)
{
	struct processes *found = calloc(1, sizeof(*found));
	int err = found ? 1 : wmk_error(-ENOMEM, "no memory for the processes that are recorded");

	/* A process that was started by one that is not followed yet is in the file the next time. */
	for (unsigned i = 0; i < PASSES && err > 0; i++)
		err = follow_new(reader, found);
	if (found)
		free(found->pids);
	free(found);
	return err < 0 ? err : 0;
}
