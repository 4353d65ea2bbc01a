/* SPDX-License-Identifier: MIT */
/*
 * syscall_follow.c - selects the processes in which BPF records system calls (see syscall_reader.h).
 *
 * A channel that records one process has a tracefs instance. The instance's file set_event_pid lists the threads of the
 * process and of its descendants. The kernel keeps set_event_pid up to date as long as the instance exists. While the
 * BPF program is attached, the program adds new child processes to its set of processes. syscall_follow.c reads
 * set_event_pid to find the processes that began before the program was attached.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "kernel/channel/syscall_set.h"
#include "kernel/proc/procfs.h"
#include "kernel/tracefs/tracefs.h"

/* maximum number of reads of set_event_pid; unless processes start continuously, the last read finds no new process */
#define PASSES 64u

struct processes {
	struct wmk_kproc_lines lines;
	struct wmk_kproc_status status;
	pid_t *pids;
	uint32_t n, cap;
};

/* Returns the process of a thread; 0: the thread has exited. */
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
	more = wmk_array_room(found->pids, found->n, &found->cap, sizeof(*more));
	if (!more)
		return wmk_error(-ENOMEM, "cannot store the recorded processes: no memory");
	found->pids = more;
	more[found->n++] = pid;
	return 1;
}

/* Adds the processes of set_event_pid that BPF does not record yet, and returns the number of these processes. */
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
	int err = found ? 1 : wmk_error(-ENOMEM, "cannot store the recorded processes: no memory");

	/*
	 * A process that BPF does not record yet may start another process: the next read of the file returns the new
	 * process.
	 */
	for (unsigned i = 0; i < PASSES && err > 0; i++)
		err = follow_new(reader, found);
	if (found)
		free(found->pids);
	free(found);
	return err < 0 ? err : 0;
}
