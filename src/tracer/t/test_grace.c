/* SPDX-License-Identifier: MIT */
/*
 * test_grace.c - while sixteen threads record: events are enabled and disabled, the channel is removed and created
 * again, a library is loaded and unloaded, probes are connected and disconnected. The program must not crash, and each
 * record in the rings must be one that was made.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "tracer/t/fake_sessiond.h"
#include "tracer/t/run.h"

struct seen {
	unsigned long small, text, loaded, handler, wrong;
};

static void look(void *data, uint32_t ring, uint64_t ts, const char *text)
{
	struct seen *seen = data;
	unsigned long me, n;
	char word[20];
	int end = 0;

	(void)ring;
	(void)ts;
	if (sscanf(text, "t:small me=%lu n=%lu%n", &me, &n, &end) == 2 && me < 16 && !text[end])
		seen->small++;
	else if (sscanf(text, "t:text me=%lu text=\"%19[a-z ]\" n=%lu%n", &me, word, &n, &end) == 3 &&
		 !strcmp(word, "some text") && !text[end])
		seen->text++;
	else if (sscanf(text, "t:loaded n=%lu%n", &n, &end) == 1 && !text[end])
		seen->loaded++;
	else if (!strcmp(text, "t:in_handler number=14"))
		seen->handler++;
	else if (seen->wrong++ < 5)
		fprintf(stderr, "not what was recorded: %s\n", text);
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

static unsigned rounds(unsigned full)
{
	const char *percent = getenv("WMK_ROUNDS_PERCENT");
	unsigned n = full * (percent ? (unsigned)atoi(percent) : 10) / 100;

	return n ? n : 1;
}

static bool all_seen(const struct seen *seen)
{
	return seen->small > 0 && seen->text > 0 && seen->loaded > 0 && seen->handler > 0;
}

/* Start prog_busy. It ends when *end is closed. */
static pid_t busy_start(int *end)
{
	char self[PATH_MAX], library[PATH_MAX + 32];
	int ends[2];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	assert_true(len > 0);
	self[len] = '\0';
	*strrchr(self, '/') = '\0';
	snprintf(library, sizeof(library), "%s/libloaded.so", self);
	assert_int_equal(pipe(ends), 0);
	int saved = dup(0);

	dup2(ends[0], 0);
	pid_t pid = run_start((const char *[]){ "prog_busy", library, NULL });

	dup2(saved, 0);
	close(saved);
	close(ends[0]);
	*end = ends[1];
	return pid;
}

static void recorders_can_be_changed_while_threads_record(void **state)
{
	struct fake_sessiond_options options = { .prefix = "t:", .subbuf_size = 1 << 15, .n_subbufs = 8 };
	struct fake_sessiond *c = fake_sessiond_start(run_make_dir(), &options);
	struct seen seen = { 0 };
	int end;

	(void)state;
	pid_t pid = busy_start(&end);

	assert_true(fake_sessiond_wait_done(c, 1));
	/*
	 * At least this number of rounds, and until each kind of record was read: the scheduler decides which kinds a
	 * round has.
	 */
	for (unsigned i = 0; i < rounds(100) || (!all_seen(&seen) && i < 2000); i++) {
		assert_true(fake_sessiond_disable_all(c));
		assert_true(fake_sessiond_enable_all(c));
		pause_ms(2);
		assert_true(fake_sessiond_channel_remove(c));
		assert_true(fake_sessiond_channel_add(c));
		pause_ms(2);
		assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
		assert_true(fake_sessiond_read(c, look, &seen, NULL, NULL) >= 0);
	}
	close(end);
	assert_int_equal(run_wait(pid), 0);
	assert_true(fake_sessiond_read(c, look, &seen, NULL, NULL) >= 0);
	assert_int_equal(seen.wrong, 0);
	if (!all_seen(&seen))
		fail_msg("records seen: %lu small, %lu text, %lu of the library, %lu of the handler", seen.small,
			 seen.text, seen.loaded, seen.handler);
	fake_sessiond_free(c);
	run_remove_dir();
}

/* The number of mappings of ring sets in the process. */
static unsigned mappings_of_rings(pid_t pid)
{
	char path[64], line[512];
	unsigned n = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		n += strstr(line, "memfd:waymark-ring") != NULL;
	fclose(f);
	return n;
}

/* A thread may wait for a page fault of the rings when they are removed. So they are unmapped later than SYNC. */
static void removed_rings_are_unmapped_after_one_second(void **state)
{
	struct fake_sessiond_options options = { .prefix = "t:", .subbuf_size = 1 << 15, .n_subbufs = 8 };
	struct fake_sessiond *c = fake_sessiond_start(run_make_dir(), &options);
	struct timespec removed, unmapped;
	int end;

	(void)state;
	pid_t pid = busy_start(&end);

	assert_true(fake_sessiond_wait_done(c, 1));
	clock_gettime(CLOCK_MONOTONIC, &removed);
	assert_true(fake_sessiond_channel_remove(c));
	for (unsigned i = 0; i < 10000 && mappings_of_rings(pid) > 0; i++)
		pause_ms(1);
	clock_gettime(CLOCK_MONOTONIC, &unmapped);
	assert_int_equal(mappings_of_rings(pid), 0);
	assert_true(unmapped.tv_sec - removed.tv_sec + (unmapped.tv_nsec - removed.tv_nsec) / 1e9 >= 1);
	close(end);
	assert_int_equal(run_wait(pid), 0);
	fake_sessiond_free(c);
	run_remove_dir();
}

/* The session daemon crashes: its events are disabled, and the program continues. */
static void application_continues_when_the_session_daemon_crashes(void **state)
{
	struct fake_sessiond_options options = { .prefix = "t:", .subbuf_size = 1 << 16, .n_subbufs = 4 };
	struct fake_sessiond *c = fake_sessiond_start(run_make_dir(), &options);
	int end;

	(void)state;
	pid_t pid = busy_start(&end);

	assert_true(fake_sessiond_wait_done(c, 1));
	pause_ms(20);
	fake_sessiond_stop(c);
	pause_ms(50);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
	close(end);
	assert_int_equal(run_wait(pid), 0);
	fake_sessiond_free(c);
	run_remove_dir();
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(recorders_can_be_changed_while_threads_record),
					    cmocka_unit_test(removed_rings_are_unmapped_after_one_second),
					    cmocka_unit_test(application_continues_when_the_session_daemon_crashes) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
