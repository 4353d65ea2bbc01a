/* SPDX-License-Identifier: MIT */
/*
 * rig_link.c - see rig_link.h.
 */
#include "rig_link.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"

/*
 * Runtime directory of the open rig: after a failed test, the teardown ends its consumer daemon, which holds our
 * output.
 */
static char left[300];

int rig_link_teardown(void **state)
{
	char path[sizeof(left) + 20];
	FILE *file;
	int pid;

	(void)state;
	snprintf(path, sizeof(path), "%s/consumer.pid", left);
	file = *left ? fopen(path, "re") : NULL;
	if (file && fscanf(file, "%d", &pid) == 1 && pid > 0)
		kill(pid, SIGKILL);
	if (file)
		fclose(file);
	*left = '\0';
	return 0;
}

void rig_link_open(struct rig_link *r, const struct rig_shape *shape)
{
	struct rig_shape remote = *shape;

	rig_link_teardown(NULL);
	memset(r, 0, sizeof(*r));
	remote.remote = true;
	rig_open(&r->rig, &remote);
	snprintf(r->rundir, sizeof(r->rundir), "%s/run", r->rig.dir);
	snprintf(left, sizeof(left), "%s", r->rundir);
	r->trace = (struct wmk_consumerd_trace){
		.trace = 1, .path = r->rig.trace, .sub = r->rig.sub, .uid = getuid(), .gid = getgid()
	};
	memcpy(r->trace.uuid, r->rig.uuid, 16);
	r->rings = (struct wmk_consumerd_rings){
		.trace = 1, .rings = 1, .channel = "app", .start_ts = wmk_clock_monotonic()
	};
}

static void on_change(void *data, pid_t pid, const char *words)
{
	struct rig_link *r = data;

	if (pid && words[0])
		print_message("the next consumer: %s\n", words);
	__atomic_fetch_add(pid ? &r->returns : &r->deaths, 1, __ATOMIC_RELAXED);
}

static void on_end(void *data, int err, const char *words)
{
	struct rig_link *r = data;

	(void)words;
	__atomic_store_n(&r->end_err, err, __ATOMIC_RELAXED);
	__atomic_fetch_add(&r->ends, 1, __ATOMIC_RELEASE);
}

void rig_link_connect(struct rig_link *r)
{
	const struct wmk_consumer_link_options options = {
		.size = sizeof(options),
		.rundir = r->rundir,
		.program = getenv("WAYMARK_CONSUMERD"),
		.on_change = on_change,
		.on_end = on_end,
		.data = r,
	};
	char words[500];

	if (!options.program)
		fail_msg("WAYMARK_CONSUMERD does not say what is to be tested");
	if (mkdir(r->rundir, 0700) < 0)
		assert_int_equal(errno, EEXIST);
	if (wmk_consumer_link_open(&options, LINK_MS, &r->link) < 0)
		fail_msg("no link: %s", wmk_error_text(words, sizeof(words)));
	assert_true(wmk_consumer_link_pid(r->link) > 0);
}

void rig_link_add(struct rig_link *r)
{
	char words[500];

	if (wmk_consumer_link_trace_add(r->link, &r->trace, -1, LINK_MS) < 0 ||
	    wmk_consumer_link_rings_add(r->link, &r->rings, waymark_ring_set_fd(r->rig.set), LINK_MS) < 0)
		fail_msg("not added: %s", wmk_error_text(words, sizeof(words)));
}

struct wmk_counts rig_link_counts(struct rig_link *r)
{
	struct wmk_counts sum = { 0 };
	struct wmk_consumerd_report report;
	const struct wmk_consumerd_channel *channels;
	struct wmk_arena arena = { 0 };

	assert_int_equal(wmk_consumer_link_stats(r->link, r->trace.trace, 0, LINK_MS, &arena, &report), 0);
	channels = report.channels.items;
	for (uint32_t i = 0; i < report.channels.n; i++)
		wmk_counts_add(&sum, &channels[i].stats.counts);
	wmk_arena_free(&arena);
	return sum;
}

void rig_wait_gone(pid_t pid)
{
	struct pollfd gone = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };

	if (gone.fd < 0)
		return;
	if (poll(&gone, 1, LINK_MS) != 1)
		fail_msg("process %d does not end", (int)pid);
	close(gone.fd);
}

void rig_link_close(struct rig_link *r)
{
	if (r->link) {
		pid_t pid = wmk_consumer_link_pid(r->link);

		assert_int_equal(wmk_consumer_link_shutdown(r->link, LINK_MS), 0);
		wmk_consumer_link_close(r->link);
		rig_wait_gone(pid);
	}
	rig_close(&r->rig);
	*left = '\0';
}
