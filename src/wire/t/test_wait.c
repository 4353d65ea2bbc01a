/* SPDX-License-Identifier: MIT */
/* test_wait.c - the wait page: made, taken over, waited on from other processes; and what must not be trusted. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "wire/wait.h"

static char dir[64], page_path[128];
static int dir_fd;

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/waymark-wait-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(page_path, sizeof(page_path), "%s/" WMK_WAIT_FILE, dir);
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir_fd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(page_path);
	close(dir_fd);
	return rmdir(dir);      /* nothing is left beside it */
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void goes_on(void **state)
{
	struct wmk_wait_page *page, *next;
	const struct wmk_wait_page *seen;
	mode_t mask = umask(077);
	struct stat st;

	(void)state;
	assert_int_equal(wmk_wait_open(dir, geteuid(), &seen), -ENOENT);
	assert_int_equal(wmk_wait_create(dir_fd, &page), 0);
	umask(mask);
	assert_int_equal(stat(page_path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(wmk_wait_open(dir, geteuid(), &seen), 0);
	uint32_t first = wmk_wait_generation(seen);

	wmk_wait_announce(page, 77, 12345);
	assert_int_equal(wmk_wait_generation(seen), first + 1);
	assert_int_equal(atomic_load(&seen->pid), 77);
	assert_int_equal(atomic_load(&seen->start), 12345);
	assert_int_equal(wmk_wait_dumps(seen), 0);
	wmk_wait_count_dumps(page, true);
	wmk_wait_count_dumps(page, true);
	wmk_wait_count_dumps(page, false);
	assert_int_equal(wmk_wait_dumps(seen), 1);
	wmk_wait_retire(page);
	assert_int_equal(atomic_load(&seen->pid), 0);
	wmk_wait_destroy(page);
	/* the next daemon takes the same page over, under those who look at it */
	assert_int_equal(wmk_wait_create(dir_fd, &next), 0);
	assert_int_equal(wmk_wait_dumps(seen), 0);
	wmk_wait_announce(next, 78, 1);
	assert_int_equal(wmk_wait_generation(seen), first + 2);
	wmk_wait_destroy(next);
	wmk_wait_close(seen);
}

/* A page that others may have opened to write is left to them; who waits on it is woken, and finds the new one. */
static void replaced(void **state)
{
	struct wmk_wait_page *page;
	const struct wmk_wait_page *old, *seen;

	(void)state;
	assert_int_equal(wmk_wait_create(dir_fd, &page), 0);
	wmk_wait_destroy(page);
	assert_int_equal(wmk_wait_open(dir, geteuid(), &old), 0);
	uint32_t was = wmk_wait_generation(old);

	assert_int_equal(chmod(page_path, 0666), 0);
	assert_int_equal(wmk_wait_open(dir, geteuid(), &seen), -EPERM);
	assert_int_equal(wmk_wait_create(dir_fd, &page), 0);
	assert_int_equal(wmk_wait_generation(old), was + 1);
	assert_int_equal(wmk_wait_open(dir, geteuid(), &seen), 0);
	uint32_t is = wmk_wait_generation(seen);

	assert_true(is != was);
	wmk_wait_announce(page, 1, 1);
	assert_int_equal(wmk_wait_generation(old), was + 1);
	assert_int_equal(wmk_wait_generation(seen), is + 1);
	wmk_wait_close(old);
	wmk_wait_close(seen);
	wmk_wait_destroy(page);
	/* what is no page at all */
	for (int i = 0; i < 3; i++) {
		unlink(page_path);
		if (i == 0)
			assert_int_equal(symlink("/etc/passwd", page_path), 0);
		else if (i == 1)
			assert_int_equal(mkfifo(page_path, 0644), 0);
		else
			close(open(page_path, O_CREAT | O_WRONLY, 0644));
		assert_int_equal(wmk_wait_create(dir_fd, &page), 0);
		wmk_wait_destroy(page);
		assert_int_equal(wmk_wait_open(dir, geteuid(), &seen), 0);
		wmk_wait_close(seen);
	}
	unlink(page_path);
	assert_int_equal(mkdir(page_path, 0755), 0);
	assert_true(wmk_wait_create(dir_fd, &page) < 0);
	assert_int_equal(rmdir(page_path), 0);
}

static void refused(const char *words)
{
	const struct wmk_wait_page *seen;

	assert_int_equal(wmk_wait_open(dir, geteuid(), &seen), words ? -EPERM : -ELOOP);
	if (words)
		assert_non_null(strstr(wmk_error_get(0), words));
}

static void hostile(void **state)
{
	struct wmk_wait_page *page;
	const struct wmk_wait_page *seen;
	char other[140];

	(void)state;
	assert_int_equal(wmk_wait_create(dir_fd, &page), 0);
	assert_int_equal(wmk_wait_open(dir, geteuid() + 1, &seen), -EPERM);
	assert_non_null(strstr(wmk_error_get(0), "somebody else"));
	chmod(page_path, 0664);
	refused("written by others");
	chmod(page_path, 0646);
	refused("written by others");
	chmod(page_path, 0644);
	assert_int_equal(truncate(page_path, WMK_WAIT_BYTES - 1), 0);
	refused("size");
	assert_int_equal(truncate(page_path, 0), 0);
	refused("size");
	assert_int_equal(truncate(page_path, WMK_WAIT_BYTES * 2), 0);
	refused("size");
	assert_int_equal(truncate(page_path, WMK_WAIT_BYTES), 0);
	refused("no such page");
	page->magic = WMK_WAIT_MAGIC;
	page->version = WMK_WAIT_VERSION + 1;
	refused("version");
	page->version--;
	snprintf(other, sizeof(other), "%s.other", page_path);
	assert_int_equal(rename(page_path, other), 0);
	assert_int_equal(symlink(other, page_path), 0);
	refused(NULL);
	unlink(page_path);
	assert_int_equal(mkfifo(page_path, 0644), 0);
	refused("plain file");
	unlink(page_path);
	assert_int_equal(mkdir(page_path, 0755), 0);
	refused("plain file");
	rmdir(page_path);
	/* a name may lead to it twice: what counts is whose it is */
	assert_int_equal(rename(other, page_path), 0);
	assert_int_equal(wmk_wait_open(dir, geteuid(), &seen), 0);
	wmk_wait_close(seen);
	wmk_wait_destroy(page);
}

typedef void (*wait_fn)(const struct wmk_wait_for pages[], const _Atomic(uint32_t) *word, uint32_t value, int64_t ms);

struct waiter {
	wait_fn wait;
	struct wmk_wait_for pages[WMK_WAIT_PAGES];
	_Atomic(uint32_t) word;
	_Atomic(bool) woken;
};

static void *sleeper(void *arg)
{
	struct waiter *w = arg;

	while (atomic_load(&w->word) == 0 && wmk_wait_generation(w->pages[1].page) == w->pages[1].generation)
		w->wait(w->pages, &w->word, 0, -1);
	atomic_store(&w->woken, true);
	return NULL;
}

/* Each of the words wakes; a value that has changed already is not slept on; time is bounded. */
static void wakes_by(wait_fn wait)
{
	struct waiter w = { .wait = wait };
	struct wmk_wait_page *page;
	pthread_t thread;

	assert_int_equal(wmk_wait_create(dir_fd, &page), 0);
	assert_int_equal(wmk_wait_open(dir, geteuid(), &w.pages[1].page), 0);
	for (int by_word = 0; by_word < 2; by_word++) {
		w.pages[1].generation = wmk_wait_generation(w.pages[1].page);
		atomic_store(&w.word, 0);
		atomic_store(&w.woken, false);
		assert_int_equal(pthread_create(&thread, NULL, sleeper, &w), 0);
		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
		assert_false(atomic_load(&w.woken));
		if (by_word) {
			atomic_store(&w.word, 1);
			syscall(SYS_futex, &w.word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
		} else {
			wmk_wait_announce(page, 1, 1);
		}
		pthread_join(thread, NULL);
	}
	double begin = seconds();

	wait(w.pages, &w.word, 0, 10000);               /* the word is 1 */
	w.pages[1].generation--;
	wait(w.pages, &w.word, 1, 10000);               /* the page is further */
	assert_true(seconds() - begin < 5);
	w.pages[1].generation++;
	begin = seconds();
	for (int i = 0; i < 1000 && seconds() - begin < 0.05; i++)
		wait(w.pages, &w.word, 1, 50);
	assert_true(seconds() - begin >= 0.05);
	w.pages[1].page = NULL;
	wait(w.pages, &w.word, 1, 10);
	wmk_wait_destroy(page);
	unlink(page_path);
}

static void wakes(void **state)
{
	(void)state;
	wakes_by(wmk_wait_on);
	wakes_by(wmk_wait_on_one);
}

/* Twenty processes, and a daemon that comes twenty times: each sees the last generation, whenever it looked. */
static void wakes_processes(void **state)
{
	enum { N = 20 };
	struct wmk_wait_page *page;
	pid_t pids[N];

	(void)state;
	assert_int_equal(wmk_wait_create(dir_fd, &page), 0);
	uint32_t last = atomic_load(&page->generation) + N;

	for (int i = 0; i < N; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			struct wmk_wait_for on[WMK_WAIT_PAGES] = { { 0 } };
			_Atomic(uint32_t) word = 0;

			alarm(60);      /* ends a child that misses a wake */
			if (wmk_wait_open(dir, geteuid(), &on[0].page) != 0)
				_exit(1);
			while ((on[0].generation = wmk_wait_generation(on[0].page)) != last)
				wmk_wait_on(on, &word, 0, -1);
			_exit(0);
		}
	}
	for (int i = 0; i < N; i++) {
		wmk_wait_announce(page, 1, 1);
		nanosleep(&(struct timespec){ .tv_nsec = 500000 }, NULL);
	}
	for (int i = 0; i < N; i++) {
		int status = -1;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	wmk_wait_destroy(page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(goes_on, setup, teardown), cmocka_unit_test_setup_teardown(replaced, setup, teardown),
		cmocka_unit_test_setup_teardown(hostile, setup, teardown), cmocka_unit_test_setup_teardown(wakes, setup, teardown),
		cmocka_unit_test_setup_teardown(wakes_processes, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
