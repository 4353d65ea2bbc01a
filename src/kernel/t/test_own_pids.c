/* SPDX-License-Identifier: MIT */
/*
 * test_own_pids.c - recognize the tracer's own processes and threads; names of system call events for a consumer
 * daemon.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "kernel/channel/syscall_reader.h"
#include "kernel/proc/own_pids.h"

static unsigned found(void *data, pid_t pids[WMK_KOWN_PIDS])
{
	pids[0] = getpid();
	pids[1] = *(pid_t *)data;
	return pids[1] ? 2 : 1;
}

struct thread {
	pthread_barrier_t begun, end;
	pid_t tid;
	struct wmk_kown_time since;
	bool ends;
};

static void *thread(void *arg)
{
	struct thread *t = arg;

	t->tid = (pid_t)syscall(SYS_gettid);
	pthread_barrier_wait(&t->begun);
	pthread_barrier_wait(&t->end);
	return NULL;
}

/* All threads of this process and of another one; a change of the list of processes is noticed. */
static void threads_of_waymark_processes_are_recognized_after_refresh(void **state)
{
	struct wmk_kown *own = calloc(1, sizeof(*own));
	struct thread t;
	pthread_t id;
	pid_t other = 0;

	(void)state;
	assert_non_null(own);
	pthread_barrier_init(&t.begun, NULL, 2);
	pthread_barrier_init(&t.end, NULL, 2);
	assert_int_equal(pthread_create(&id, NULL, thread, &t), 0);
	pthread_barrier_wait(&t.begun);
	wmk_kown_init(own, NULL, NULL, false);
	assert_true(own->n_pids == 1 && wmk_kown_has(own, getpid(), 1) && wmk_kown_has(own, t.tid, 1));
	assert_false(wmk_kown_has(own, getppid(), 1));
	assert_false(wmk_kown_has(own, 0, 1));
	assert_false(wmk_kown_has(own, -1, 1));
	wmk_kown_init(own, found, &other, false);
	assert_false(wmk_kown_has(own, getppid(), 1));
	const uint32_t version = own->version;
	other = getppid();
	own->refreshed = 1;              /* the last scan was long ago */
	wmk_kown_refresh(own);
	assert_true(own->version != version && wmk_kown_has(own, getppid(), 1) && wmk_kown_has(own, t.tid, 1));
	other = 0;
	wmk_kown_refresh(own);           /* too early for another scan */
	assert_true(wmk_kown_has(own, getppid(), 1));
	pthread_barrier_wait(&t.end);
	pthread_join(id, NULL);
	pthread_barrier_destroy(&t.begun);
	pthread_barrier_destroy(&t.end);
	free(own);
}

static void *short_thread(void *arg)
{
	struct thread *t = arg;

	t->since = wmk_kown_now();
	t->tid = (pid_t)syscall(SYS_gettid);
	wmk_kown_thread_begins(t->since);
	if (t->ends)
		wmk_kown_thread_ends(t->since);
	return NULL;
}

/*
 * A thread that has ended when its records are read is recognized by both clocks, only during its lifetime. Also: a
 * thread that did not announce its end, and more threads than the table holds.
 */
static void ended_waymark_thread_is_recognized_only_in_its_lifetime(void **state)
{
	struct wmk_kown *own = calloc(1, sizeof(*own));
	const struct wmk_kown_time before = wmk_kown_now();
	struct thread t = { .ends = true };
	pthread_t id;

	(void)state;
	assert_non_null(own);
	for (int is_counter = 0; is_counter < 2; is_counter++) {
		wmk_kown_init(own, NULL, NULL, is_counter);
		for (unsigned i = 0; i < 2 * WMK_KOWN_SPANS; i++) {
			assert_int_equal(pthread_create(&id, NULL, short_thread, &t), 0);
			pthread_join(id, NULL);
		}
		const uint64_t at = is_counter ? t.since.counter : t.since.monotonic;

		wmk_kown_refresh(own);
		assert_false(wmk_kown_has(own, t.tid, is_counter ? before.counter : before.monotonic));
		assert_true(wmk_kown_has(own, t.tid, at));
		assert_false(wmk_kown_has(own, t.tid, at + (UINT64_C(1) << 40)));
		assert_false(wmk_kown_has(own, getppid(), at));
	}
	t.ends = false;
	assert_int_equal(pthread_create(&id, NULL, short_thread, &t), 0);
	pthread_join(id, NULL);
	wmk_kown_refresh(own);
	assert_true(wmk_kown_has(own, t.tid, UINT64_MAX));
	free(own);
}

static pid_t of_file(const char *path, const char *text, const char *comm)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
	return wmk_kown_of_file(path, comm);
}

static void pid_file_is_ignored_if_its_process_has_another_name(void **state)
{
	char path[] = "/tmp/test-own-XXXXXX", text[64], comm[32] = "";
	const int fd = mkstemp(path);
	FILE *file = fopen("/proc/self/comm", "r");

	(void)state;
	assert_true(fd >= 0 && file && fgets(comm, sizeof(comm), file));
	fclose(file);
	close(fd);
	comm[strcspn(comm, "\n")] = '\0';
	snprintf(text, sizeof(text), "%d\n", (int)getpid());
	assert_int_equal(of_file(path, text, comm), getpid());
	assert_int_equal(of_file(path, text, "another"), 0);
	assert_int_equal(of_file(path, "", comm), 0);
	assert_int_equal(of_file(path, "x", comm), 0);
	assert_int_equal(of_file(path, "-5\n", comm), 0);
	assert_int_equal(of_file(path, "99999999999999999999\n", comm), 0);
	unlink(path);
	assert_int_equal(wmk_kown_of_file(path, comm), 0);
}

static void generated_syscall_event_names_are_parsed_back(void **state)
{
	static const char *const wrong[] = { "",
					     "_",
					     "native_entry_",
					     "native_entry_512",
					     "native_entry_-1",
					     "native_entry_007",
					     "native_entry_7x",
					     "other_entry_7",
					     "native_exit",
					     "compat_7",
					     "native_entry_18446744073709551623" };
	char name[WMK_SYSCALLS_EVENT_NAME];
	enum wmk_kabi abi;
	unsigned number;
	bool is_exit;

	(void)state;
	for (unsigned i = 0; i < WMK_SYSCALLS_ABIS * WMK_SYSCALLS_NUMBERS * 2; i++) {
		wmk_syscalls_event_name((enum wmk_kabi)(i % 2), i / 4, i / 2 % 2, name);
		assert_int_equal(wmk_syscalls_event_parse(name, &abi, &number, &is_exit), 0);
		assert_true(abi == i % 2 && number == i / 4 && is_exit == i / 2 % 2);
	}
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		if (wmk_syscalls_event_parse(wrong[i], &abi, &number, &is_exit) != -EINVAL)
			fail_msg("'%s' is taken for an event", wrong[i]);
		wmk_error_clear();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(threads_of_waymark_processes_are_recognized_after_refresh),
					    cmocka_unit_test(ended_waymark_thread_is_recognized_only_in_its_lifetime),
					    cmocka_unit_test(pid_file_is_ignored_if_its_process_has_another_name),
					    cmocka_unit_test(generated_syscall_event_names_are_parsed_back) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
