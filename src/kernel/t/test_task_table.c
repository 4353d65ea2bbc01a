/* SPDX-License-Identifier: MIT */
/*
 * test_task_table.c - the table of tasks: from events in any order, from a made-up /proc, within limits; and with the
 * tasks of this machine.
 */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "kernel/tasks/task_table.h"
#include "tree.h"

#define ALL 31u
#define THREAD (CLONE_THREAD | CLONE_VM | CLONE_SIGHAND)

struct run {
	struct tree tree;
	char proc[300];
	struct wmk_ktasks *tasks;
};

static int setup(void **state)
{
	struct run *run = calloc(1, sizeof(*run));

	assert_non_null(run);
	tree_make(&run->tree);
	snprintf(run->proc, sizeof(run->proc), "%s/proc", run->tree.dir);
	tree_dir(&run->tree, "proc");
	*state = run;
	return 0;
}

static int teardown(void **state)
{
	struct run *run = *state;

	wmk_ktasks_close(run->tasks);
	tree_remove(&run->tree);
	free(run);
	wmk_error_clear();
	return 0;
}

static void open_at(struct run *run, uint64_t now, uint32_t limit)
{
	assert_int_equal(wmk_ktasks_open(run->proc, now, limit, &run->tasks), 0);
}

static void put_task(struct run *run, int pid, int tid, const char *name, unsigned n_threads)
{
	char base[64], ids[16], tgids[16];
	const struct tree_task task = { .tid = tid,
					.pid = pid,
					.ppid = 1,
					.name = name,
					.state = 'S',
					.n_threads = n_threads,
					.prio = 15,
					.ids = ids,
					.tgids = tgids,
					.inum = 500 };

	snprintf(ids, sizeof(ids), "%d", tid);
	snprintf(tgids, sizeof(tgids), "%d", pid);
	snprintf(base, sizeof(base), "proc/%d/task/%d", pid, tid);
	tree_task(&run->tree, base, &task);
	snprintf(base, sizeof(base), "proc/%d", tid);
	/*
	 * In a real /proc, a thread other than the first has a directory that is not listed. Here it would be listed,
	 * so it has none.
	 */
	if (tid == pid)
		tree_task(&run->tree, base, &task);
}

/* Check `task`: it stays the same until the time it reports. */
static void same_until(struct run *run, int tid, uint64_t ts, const struct wmk_ktask *task)
{
	struct wmk_ktask last;
	const int err = wmk_ktasks_find(run->tasks, tid, 0, task->until - 1, WMK_KTASK_NAME, &last);

	assert_true(task->until > ts);
	assert_int_equal(err, task->known ? 0 : -ENOENT);
	assert_int_equal(last.known, task->known);
	assert_int_equal(last.pid, task->pid);
	assert_int_equal(last.ppid, task->ppid);
	/* That a task does not exist may be known since the first query. */
	assert_true(last.has_exited == task->has_exited || !task->known);
	assert_string_equal(last.procname, task->procname);
	assert_int_equal(last.until, task->until);
}

static void name_is(struct run *run, int tid, uint64_t ts, const char *name)
{
	struct wmk_ktask task;
	const int err = wmk_ktasks_find(run->tasks, tid, 0, ts, WMK_KTASK_NAME, &task);

	same_until(run, tid, ts, &task);
	if (!name) {
		if (err != -ENOENT || task.known)
			fail_msg("%d at %llu is %s", tid, (unsigned long long)ts, task.procname);
		return;
	}
	if (err || strcmp(task.procname, name) != 0)
		fail_msg("%d at %llu is %s, not %s (%d)", tid, (unsigned long long)ts, task.procname, name, err);
}

static void pid_is(struct run *run, int tid, uint64_t ts, int pid, int ppid)
{
	struct wmk_ktask task;

	assert_int_equal(wmk_ktasks_find(run->tasks, tid, 0, ts, WMK_KTASK_PID, &task), 0);
	assert_true(task.known & WMK_KTASK_PID);
	assert_int_equal(task.pid, pid);
	assert_int_equal(task.ppid, ppid);
}

static void tasks_are_read_from_proc(void **state)
{
	struct run *run = *state;
	struct wmk_ktask task;
	struct wmk_ktasks_counts counts;

	put_task(run, 10, 10, "first) (", 2);
	put_task(run, 10, 11, "second", 2);
	open_at(run, 1000, 0);
	wmk_ktasks_counts(run->tasks, &counts);
	assert_int_equal(counts.tasks, 2);
	/* A task that exists now is taken to have existed before. */
	name_is(run, 10, 1, "first) (");
	name_is(run, 11, 5000, "second");
	pid_is(run, 11, 1, 10, 1);
	name_is(run, 12, 5000, NULL);
	assert_int_equal(wmk_ktasks_find(run->tasks, 10, 0, 3000, ALL, &task), 0);
	assert_int_equal(task.known, ALL);
	assert_int_equal(task.prio, 15);
	assert_int_equal(task.vtid, 10);
	assert_int_equal(task.vpid, 10);
	assert_int_equal(task.ns[WMK_KNS_PID], 500);
	assert_int_equal(task.ns[WMK_KNS_UTS], 507);
	assert_int_equal(wmk_ktasks_find(run->tasks, 0, 3, 3000, ALL, &task), 0);
	assert_string_equal(task.procname, "swapper/3");
	assert_int_equal(task.pid, 0);
	assert_int_equal(task.prio, 20);
	wmk_ktasks_counts(run->tasks, &counts);
	assert_int_equal(counts.proc_reads, 1);
}

enum note { FORK, RENAME, EXIT, EXEC, NOTES };
struct noted {
	enum note note;
	uint64_t ts;
	int tid, other;
	const char *name, *old;
	uint64_t flags;
};

static void note(struct run *run, const struct noted *what)
{
	char comm[WMK_KPROC_NAME] = "", old[WMK_KPROC_NAME] = "";

	snprintf(comm, sizeof(comm), "%s", what->name ? what->name : "");
	snprintf(old, sizeof(old), "%s", what->old ? what->old : "");
	switch (what->note) {
	case FORK:
		assert_int_equal(wmk_ktasks_note_fork(run->tasks, what->ts, what->other, what->tid, comm, what->flags),
				 0);
		break;
	case RENAME:
		assert_int_equal(wmk_ktasks_note_rename(run->tasks, what->ts, what->tid, what->old ? old : NULL, comm),
				 0);
		break;
	case EXIT:
		assert_int_equal(wmk_ktasks_note_exit(run->tasks, what->ts, what->tid), 0);
		break;
	default:
		assert_int_equal(wmk_ktasks_note_exec(run->tasks, what->ts, what->tid, what->other), 0);
	}
}

/*
 * Events from 20 to 100 were lost: tasks are as in /proc at the second walk, from 100 on until the next event.
 */
static void second_scan_of_proc_corrects_the_tasks_after_lost_events(void **state)
{
	struct run *run = *state;

	put_task(run, 10, 10, "shell", 1);
	put_task(run, 40, 40, "same", 1);
	put_task(run, 41, 41, "old", 1);
	open_at(run, 5, 0);
	note(run, &(struct noted){ FORK, 10, 11, 10, "shell", NULL, 0 });
	note(run, &(struct noted){ RENAME, 12, 11, 0, "cc", "shell", 0 });
	note(run, &(struct noted){ FORK, 14, 12, 10, "shell", NULL, 0 });
	note(run, &(struct noted){ EXIT, 16, 12, 0, NULL, NULL, 0 });
	/*
	 * lost: 10 and 11 are renamed, 13 begins, 12 is reused; events since: 14 begins, 11 is renamed once more, and
	 * so is 41
	 */
	put_task(run, 10, 10, "init", 1);
	put_task(run, 11, 11, "ld", 1);
	put_task(run, 12, 12, "make", 1);
	put_task(run, 13, 13, "as", 1);
	put_task(run, 14, 14, "sh", 1);
	put_task(run, 41, 41, "new", 1);
	note(run, &(struct noted){ FORK, 110, 14, 10, "init", NULL, 0 });
	note(run, &(struct noted){ RENAME, 112, 14, 0, "sh", "init", 0 });
	note(run, &(struct noted){ RENAME, 115, 11, 0, "ld", "as", 0 });
	note(run, &(struct noted){ RENAME, 120, 41, 0, "new", NULL, 0 });
	assert_int_equal(wmk_ktasks_rescan(run->tasks, 100), 0);
	name_is(run, 10, 99, "shell");
	name_is(run, 10, 100, "init");
	pid_is(run, 11, 105, 11, 10);            /* the parent was known: /proc does not replace it */
	name_is(run, 11, 13, "cc");
	name_is(run, 11, 114, "as");
	name_is(run, 11, 116, "ld");
	name_is(run, 12, 15, "shell");
	name_is(run, 12, 101, "make");
	pid_is(run, 12, 101, 12, 1);
	name_is(run, 13, 101, "as");
	name_is(run, 14, 111, "init");
	pid_is(run, 14, 113, 14, 10);
	name_is(run, 40, 200, "same");
	/* renamed after the walk, by a kernel that does not record the old name: the known name remains */
	name_is(run, 41, 105, "old");
	name_is(run, 41, 125, "new");
	/* a task that was renamed between the walk and its event */
	note(run, &(struct noted){ RENAME, 140, 10, 0, "init", "shell", 0 });
	name_is(run, 10, 139, "shell");
	name_is(run, 10, 140, "init");
	/* (a task with the same name gets no new version) */
	struct wmk_ktasks_counts before, after;

	wmk_ktasks_counts(run->tasks, &before);
	assert_int_equal(wmk_ktasks_rescan(run->tasks, 300), 0);
	wmk_ktasks_counts(run->tasks, &after);
	assert_int_equal(after.versions, before.versions);
}

/* A task, another one of the same number, threads: six events in each of their 720 orders. */
static void task_table_is_independent_of_the_order_of_events(void **state)
{
	static const struct noted story[] = {
		{ FORK, 100, 20, 10, "sh", NULL, 0 },
		{ RENAME, 200, 20, 0, "ls", "sh", 0 },
		{ FORK, 250, 21, 20, "ls", NULL, THREAD },
		{ EXIT, 300, 20, 0, NULL, NULL, 0 },
		{ FORK, 400, 20, 11, "again", NULL, CLONE_PARENT },
		{ FORK, 450, 22, 21, "ls", NULL, THREAD },
	};
	unsigned order[6], orders = 0;

	put_task(*state, 10, 10, "bash", 1);
	put_task(*state, 11, 11, "init", 1);
	for (unsigned code = 0; code < 46656; code++) {
		struct run *run = *state;
		unsigned used = 0, rest = code;

		for (unsigned i = 0; i < 6; i++, rest /= 6)
			used |= 1u << (order[i] = rest % 6);
		if (used != 63)
			continue;
		open_at(run, 50, 0);
		for (unsigned i = 0; i < 6; i++)
			note(run, &story[order[i]]);
		name_is(run, 20, 99, NULL);
		name_is(run, 20, 100, "sh");
		name_is(run, 20, 199, "sh");
		name_is(run, 20, 200, "ls");
		name_is(run, 20, 300, "ls");
		name_is(run, 20, 399, "ls");
		name_is(run, 20, 400, "again");
		pid_is(run, 20, 150, 20, 10);
		pid_is(run, 20, 350, 20, 10);
		pid_is(run, 20, 450, 20, 1);
		pid_is(run, 21, 260, 20, 10);
		pid_is(run, 22, 500, 20, 10);
		wmk_ktasks_close(run->tasks);
		run->tasks = NULL;
		orders++;
	}
	assert_int_equal(orders, 720);
}

/* The walk saw the next task of the number, or the next name. */
static void events_before_the_proc_scan_correct_earlier_task_values(void **state)
{
	struct run *run = *state;

	put_task(run, 30, 30, "new", 1);
	put_task(run, 31, 31, "renamed", 1);
	put_task(run, 32, 32, "plain", 1);
	open_at(run, 1000, 0);
	note(run, &(struct noted){ FORK, 900, 30, 31, "child", NULL, 0 });
	note(run, &(struct noted){ RENAME, 950, 30, 0, "new", "child", 0 });
	name_is(run, 30, 899, NULL);
	name_is(run, 30, 900, "child");
	name_is(run, 30, 950, "new");
	name_is(run, 30, 2000, "new");
	note(run, &(struct noted){ RENAME, 800, 31, 0, "renamed", "before", 0 });
	name_is(run, 31, 799, "before");
	name_is(run, 31, 800, "renamed");
	pid_is(run, 31, 799, 31, 1);
	/* A rename after the walk which the walk has seen: as when a task is looked up before its event is noted. */
	note(run, &(struct noted){ RENAME, 1200, 32, 0, "plain", "once", 0 });
	name_is(run, 32, 1100, "once");
	name_is(run, 32, 1200, "plain");
	/* The number belonged to another task, which ended. */
	note(run, &(struct noted){ EXIT, 700, 32, 0, NULL, NULL, 0 });
	name_is(run, 32, 650, NULL);
	name_is(run, 32, 750, NULL);
	name_is(run, 32, 1300, "plain");
}

/* A thread other than the first executes a program: it takes the number of the first one, which had exited. */
static void thread_that_calls_exec_gets_the_tid_of_the_first_thread(void **state)
{
	struct run *run = *state;
	struct wmk_ktask task;

	put_task(run, 40, 40, "java", 2);
	put_task(run, 40, 41, "worker", 2);
	open_at(run, 10, 0);
	note(run, &(struct noted){ EXIT, 100, 40, 0, NULL, NULL, 0 });
	note(run, &(struct noted){ RENAME, 110, 40, 0, "ls", "worker", 0 });
	note(run, &(struct noted){ EXEC, 111, 40, 41, NULL, NULL, 0 });
	note(run, &(struct noted){ EXEC, 111, 42, 42, NULL, NULL, 0 });
	name_is(run, 40, 90, "java");
	name_is(run, 40, 120, "ls");
	assert_int_equal(wmk_ktasks_find(run->tasks, 40, 0, 90, WMK_KTASK_NAME, &task), 0);
	assert_int_equal(task.until, 100);
	assert_int_equal(wmk_ktasks_find(run->tasks, 40, 0, 120, WMK_KTASK_NAME, &task), 0);
	assert_int_equal(task.until, UINT64_MAX);
	pid_is(run, 40, 120, 40, 1);
	assert_int_equal(wmk_ktasks_find(run->tasks, 40, 0, 120, WMK_KTASK_NAME, &task), 0);
	assert_false(task.has_exited);
	assert_int_equal(wmk_ktasks_find(run->tasks, 41, 0, 120, WMK_KTASK_NAME, &task), 0);
	assert_true(task.has_exited);
	assert_int_equal(wmk_ktasks_find(run->tasks, 41, 0, 110, WMK_KTASK_NAME, &task), 0);
	assert_false(task.has_exited);
}

/* A task that ended before a query has its parent's values, except for new namespaces. */
static void task_that_ended_before_the_query_gets_values_of_its_parent(void **state)
{
	struct run *run = *state;
	struct wmk_ktask task;

	put_task(run, 50, 50, "make", 1);
	open_at(run, 10, 0);
	note(run, &(struct noted){ FORK, 100, 51, 50, "make", NULL, CLONE_NEWNET | CLONE_VFORK });
	note(run, &(struct noted){ EXIT, 110, 51, 0, NULL, NULL, 0 });
	note(run, &(struct noted){ FORK, 105, 52, 51, "cc", NULL, 0 });
	note(run, &(struct noted){ EXIT, 108, 52, 0, NULL, NULL, 0 });
	note(run, &(struct noted){ FORK, 105, 53, 50, "box", NULL, CLONE_NEWPID });
	assert_int_equal(wmk_ktasks_find(run->tasks, 52, 0, 106, ALL, &task), 0);
	assert_int_equal(task.known, ALL);
	assert_int_equal(task.prio, 15);
	assert_int_equal(task.pid, 52);
	assert_int_equal(task.ppid, 51);
	assert_int_equal(task.vtid, 52);
	assert_int_equal(task.vpid, 52);
	assert_int_equal(task.ns[WMK_KNS_MNT], 504);
	assert_int_equal(task.ns[WMK_KNS_NET], 0);
	assert_int_equal(wmk_ktasks_find(run->tasks, 53, 0, 106, ALL, &task), 0);
	assert_int_equal(task.known, ALL & ~WMK_KTASK_VIRTUAL);
	assert_int_equal(task.ns[WMK_KNS_PID], 0);
	/* A task of that number exists by now, but in another process. */
	put_task(run, 54, 54, "other", 1);
	note(run, &(struct noted){ FORK, 120, 54, 50, "thread", NULL, THREAD });
	assert_int_equal(wmk_ktasks_find(run->tasks, 54, 0, 130, ALL, &task), 0);
	assert_int_equal(task.pid, 50);
	assert_int_equal(task.vpid, 50);
	assert_string_equal(task.procname, "thread");
}

/* A task without events is looked up in /proc, once. */
static void task_without_events_is_looked_up_once(void **state)
{
	struct run *run = *state;
	struct wmk_ktasks_counts counts;

	open_at(run, 10, 0);
	put_task(run, 60, 60, "late", 1);
	name_is(run, 60, 100, "late");
	name_is(run, 60, 50, "late");
	name_is(run, 60, 200, "late");
	pid_is(run, 60, 100, 60, 1);
	wmk_ktasks_counts(run->tasks, &counts);
	assert_int_equal(counts.proc_reads, 1);
	name_is(run, 61, 100, NULL);
	put_task(run, 61, 61, "too late", 1);
	name_is(run, 61, 50, NULL);
	name_is(run, 61, 150, NULL);
	note(run, &(struct noted){ FORK, 160, 61, 60, "at last", NULL, 0 });
	name_is(run, 61, 170, "at last");
	/* No task has a negative number. */
	name_is(run, -1, 170, NULL);
}

/* Parents that are unknown, or parents of each other. */
static void look_up_ends_for_unknown_and_cyclic_parent_tasks(void **state)
{
	struct run *run = *state;
	struct wmk_ktask task;

	open_at(run, 10, 0);
	note(run, &(struct noted){ FORK, 100, 70, 71, "a", NULL, THREAD });
	note(run, &(struct noted){ FORK, 100, 71, 70, "b", NULL, THREAD });
	assert_int_equal(wmk_ktasks_find(run->tasks, 70, 0, 110, ALL, &task), 0);
	assert_int_equal(task.known, WMK_KTASK_NAME);
	note(run, &(struct noted){ FORK, 100, 72, 72, "own", NULL, 0 });
	assert_int_equal(wmk_ktasks_find(run->tasks, 72, 0, 110, ALL, &task), 0);
	assert_int_equal(task.pid, 72);
	assert_int_equal(task.ppid, 0);
	note(run, &(struct noted){ FORK, 100, 73, 4711, "orphan", NULL, 0 });
	pid_is(run, 73, 120, 73, 0);
	for (int tid = 100; tid < 200; tid++)
		note(run, &(struct noted){ FORK, (uint64_t)tid, tid, tid - 1, "chain", NULL, THREAD });
	assert_int_equal(wmk_ktasks_find(run->tasks, 199, 0, 300, ALL, &task), 0);
	assert_int_equal(task.known, WMK_KTASK_NAME);
}

static void task_history_beyond_its_limit_keeps_latest_and_running_tasks(void **state)
{
	struct run *run = *state;
	struct wmk_ktasks_counts counts;
	char name[16];

	open_at(run, 10, 200);
	/* One task with many names: the latest are kept. */
	note(run, &(struct noted){ FORK, 100, 80, 1, "n0", NULL, 0 });
	for (unsigned i = 1; i < 1000; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		note(run, &(struct noted){ RENAME, 100 + i, 80, 0, name, NULL, 0 });
	}
	wmk_ktasks_counts(run->tasks, &counts);
	assert_int_equal(counts.versions, WMK_KTASKS_HISTORY);
	assert_int_equal(counts.forgotten, 1000 - WMK_KTASKS_HISTORY);
	name_is(run, 80, 5000, "n999");
	name_is(run, 80, 1050, "n950");
	name_is(run, 80, 1000, "n936");
	pid_is(run, 80, 5000, 80, 0);
	/* Many tasks; one of a hundred is alive. */
	for (int tid = 1000; tid < 6000; tid++) {
		note(run, &(struct noted){ FORK, (uint64_t)tid, tid, 80, "t", NULL, 0 });
		if (tid % 100)
			note(run, &(struct noted){ EXIT, (uint64_t)tid, tid, 0, NULL, NULL, 0 });
		wmk_ktasks_counts(run->tasks, &counts);
		assert_in_range(counts.versions, 1, 200);
		name_is(run, tid, (uint64_t)tid, "t");
	}
	assert_in_range(counts.forgotten, 9000, 11000);
	unsigned living = 0;
	struct wmk_ktask task;

	for (int tid = 1000; tid < 6000; tid += 100)
		living += wmk_ktasks_find(run->tasks, tid, 0, 9000, WMK_KTASK_NAME, &task) == 0;
	/* Living tasks are dropped last. */
	assert_int_equal(living, 50);
	wmk_ktasks_close(run->tasks);
	open_at(run, 10, 1);
	for (unsigned i = 0; i < 100; i++)
		note(run, &(struct noted){ i % 3 ? RENAME : EXIT, i, (int)(80 + i / 50), 0, "x", NULL, 0 });
	wmk_ktasks_counts(run->tasks, &counts);
	assert_in_range(counts.versions, 1, 2);
}

/* This process, on this machine. */
static void task_table_finds_the_calling_process_with_all_values(void **state)
{
	struct wmk_ktasks *tasks;
	struct wmk_ktask task;
	struct stat st;
	char path[64];

	(void)state;
	assert_int_equal(wmk_ktasks_open(NULL, 1, 0, &tasks), 0);
	assert_int_equal(wmk_ktasks_find(tasks, getpid(), 0, 2, ALL, &task), 0);
	assert_int_equal(task.known, ALL);
	assert_int_equal(task.pid, getpid());
	assert_int_equal(task.ppid, getppid());
	assert_string_equal(task.procname, "test-kernel-tas");
	assert_int_equal(task.prio, 20 + getpriority(PRIO_PROCESS, 0));
	for (unsigned kind = 0; kind < WMK_KNS_KINDS; kind++) {
		snprintf(path, sizeof(path), "/proc/self/ns/%s", wmk_kns_names[kind]);
		assert_int_equal(task.ns[kind], stat(path, &st) == 0 ? st.st_ino : 0);
	}
	wmk_ktasks_close(tasks);
	assert_int_equal(wmk_ktasks_open("/nowhere", 1, 0, &tasks), -ENOENT);
	wmk_error_clear();
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(tasks_are_read_from_proc),
		T(second_scan_of_proc_corrects_the_tasks_after_lost_events),
		T(task_table_is_independent_of_the_order_of_events),
		T(events_before_the_proc_scan_correct_earlier_task_values),
		T(thread_that_calls_exec_gets_the_tid_of_the_first_thread),
		T(task_that_ended_before_the_query_gets_values_of_its_parent),
		T(task_without_events_is_looked_up_once),
		T(look_up_ends_for_unknown_and_cyclic_parent_tasks),
		T(task_history_beyond_its_limit_keeps_latest_and_running_tasks),
		cmocka_unit_test(task_table_finds_the_calling_process_with_all_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
