/* SPDX-License-Identifier: MIT */
/* test_apps.c - messages to well-behaved applications, their counters, and their end. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "client.h"
#include "ring/set.h"
#include "session/apps/app.h"
#include "session/apps/app_describe.h"

static void registered_application_receives_rings(void **state)
{
	struct place p;
	struct client a, b;
	struct wmk_welcome welcome;
	struct wmk_channel_msg channel;
	struct waymark_ring_set *set;
	struct wmk_shard_stats stats;
	struct wmk_app_info info;

	(void)state;
	place_prepare(&p);
	place_open(&p);
	client_connect(&a, &p);
	client_hello(&a, "first\n");
	assert_int_equal(client_next(&a, &p), WMK_MSG_WELCOME);
	assert_int_equal(wmk_welcome_decode(a.body, a.frame.length, &welcome), 0);
	assert_int_equal(welcome.abi, WMK_WIRE_ABI);
	assert_true(welcome.slot > 0 && welcome.generation > 0);
	uint32_t slot = welcome.slot;

	client_event(&a, 0, "shop", "paid", 1);
	client_event(&a, 1, "shop", "sent", 2);
	client_u32(&a, WMK_MSG_EVENTS_END, 7);
	assert_int_equal(client_next(&a, &p), WMK_MSG_CHANNEL);
	assert_int_equal(wmk_channel_decode(a.body, a.frame.length, &channel), 0);
	assert_int_equal(channel.field_limit, 256);
	assert_int_equal(channel.n_contexts, 1);
	assert_true(a.fd >= 0);
	assert_int_equal(waymark_ring_set_open(a.fd, &set), 0);
	waymark_ring_set_close(set);
	client_expect_enable(&a, &p, 0, 0, 0);
	client_expect_enable(&a, &p, 0, 1, 1);
	client_expect_u32(&a, &p, WMK_MSG_DONE, 7);

	/* A second application: one class is the same, one has the same name and other fields. */
	client_connect(&b, &p);
	client_hello(&b, "second");
	assert_int_equal(client_next(&b, &p), WMK_MSG_WELCOME);
	assert_int_equal(wmk_welcome_decode(b.body, b.frame.length, &welcome), 0);
	assert_true(welcome.slot != slot);
	client_event(&b, 5, "shop", "sent", 2);
	client_event(&b, 2, "shop", "paid", 2);
	client_u32(&b, WMK_MSG_EVENTS_END, 8);
	assert_int_equal(client_next(&b, &p), WMK_MSG_CHANNEL);
	client_expect_enable(&b, &p, 0, 5, 1);
	client_expect_enable(&b, &p, 0, 2, 2);
	client_expect_u32(&b, &p, WMK_MSG_DONE, 8);
	assert_int_equal(p.n_declared, 3);
	assert_string_equal(p.declared[2].name, "shop:paid");
	assert_int_equal(p.declared[2].fields, 2);

	/* Later events, one of them unregistered: its number is reused. The channel is not sent twice. */
	client_u32(&a, WMK_MSG_EVENT_GONE, 0);
	client_event(&a, 0, "shop", "late", 0);
	client_u32(&a, WMK_MSG_EVENTS_END, 9);
	client_expect_enable(&a, &p, 0, 0, 3);
	client_expect_u32(&a, &p, WMK_MSG_DONE, 9);

	wmk_shard_stats(p.apps, &stats);
	assert_int_equal(stats.apps_seen, 2);
	assert_int_equal(stats.apps_connected, 2);
	assert_int_equal(stats.apps_alive, 2);
	assert_int_equal(stats.events_seen, 4);
	assert_int_equal(stats.classes_enabled, 4);
	assert_true(wmk_shard_get(p.apps, 0, &info));
	assert_string_equal(info.name, "first?");
	assert_int_equal(info.pid, getpid());
	assert_int_equal(info.events, 3);
	assert_int_equal(info.enabled, 3);
	assert_true(wmk_shard_get(p.apps, 1, &info));
	assert_false(wmk_shard_get(p.apps, 2, &info));
	client_close(&a);
	client_close(&b);
	place_settle(&p);
	wmk_shard_stats(p.apps, &stats);
	assert_int_equal(stats.apps_connected, 0);
	assert_int_equal(stats.apps_alive, 2);       /* a closed socket does not mean that the process ended */
	place_close(&p);
}

/* An event that cannot be declared is not enabled; the next application with it tries again. */
static void undeclared_event_is_not_enabled(void **state)
{
	struct place p;
	struct client a, b;

	(void)state;
	place_prepare(&p);
	place_open(&p);
	p.refuse = -ENOSPC;
	client_connect(&a, &p);
	client_hello(&a, "x");
	assert_int_equal(client_next(&a, &p), WMK_MSG_WELCOME);
	client_event(&a, 0, "p", "e0", 1);
	client_u32(&a, WMK_MSG_EVENTS_END, 1);
	client_expect_u32(&a, &p, WMK_MSG_DONE, 1);
	assert_int_equal(p.asked, 1);
	p.refuse = 0;
	client_register(&b, &p, "y", 1);
	assert_int_equal(p.n_declared, 1);
	assert_int_equal(p.declared[0].id, 0);
	client_close(&a);
	client_close(&b);
	place_close(&p);
}

/* All events of an application are declared in one piece; if one cannot be declared, the others are declared singly. */
static void events_are_declared_in_one_batch(void **state)
{
	struct place p;
	struct client a, b;

	(void)state;
	place_prepare(&p);
	place_open(&p);
	client_register(&a, &p, "x", 5);
	assert_int_equal(p.n_declared, 5);
	assert_int_equal(p.pieces, 1);
	p.refuse = -ENOSPC;
	p.refuse_from = 7;
	client_connect(&b, &p);
	client_hello(&b, "y");
	assert_int_equal(client_next(&b, &p), WMK_MSG_WELCOME);
	for (uint32_t i = 0; i < 4; i++) {
		char name[8];

		snprintf(name, sizeof(name), "late%u", i);
		client_event(&b, i, "p", name, 1);
	}
	client_u32(&b, WMK_MSG_EVENTS_END, 1);
	assert_int_equal(client_next(&b, &p), WMK_MSG_CHANNEL);
	assert_int_equal(client_next(&b, &p), WMK_MSG_ENABLE);
	assert_int_equal(client_next(&b, &p), WMK_MSG_ENABLE);
	client_expect_u32(&b, &p, WMK_MSG_DONE, 1);
	assert_int_equal(p.pieces, 3);
	client_close(&a);
	client_close(&b);
	place_close(&p);
}

static void change_of_enabled_events_is_confirmed_by_applications(void **state)
{
	struct place p;
	struct client a, b;
	struct wmk_app_info info;

	(void)state;
	place_prepare(&p);
	place_open(&p);
	client_register(&a, &p, "a", 2);
	client_register(&b, &p, "b", 1);
	place_switch(&p, false);
	assert_int_equal(wmk_shard_sync(p.apps, 0), 2);
	assert_true(wmk_shard_unanswered(p.apps, 1, &info));
	assert_int_equal(client_next(&a, &p), WMK_MSG_DISABLE);
	assert_int_equal(client_next(&a, &p), WMK_MSG_DISABLE);
	assert_int_equal(client_next(&a, &p), WMK_MSG_SYNC);
	client_u32(&a, WMK_MSG_SYNCED, 99);              /* a number that was not sent */
	client_u32(&a, WMK_MSG_SYNCED, 1);
	place_settle(&p);
	assert_true(wmk_shard_unanswered(p.apps, 0, &info));
	assert_string_equal(info.name, "b");
	assert_false(wmk_shard_unanswered(p.apps, 1, &info));
	client_u32(&a, WMK_MSG_SYNCED, 2);
	client_u32(&b, WMK_MSG_SYNCED, 2);
	assert_int_equal(wmk_shard_sync(p.apps, 5000), 0);
	/*
	 * An application that registers while the channel is off gets no events; after "on" all have the ids they had.
	 */
	client_close(&b);
	client_connect(&b, &p);
	client_hello(&b, "late");
	assert_int_equal(client_next(&b, &p), WMK_MSG_WELCOME);
	client_event(&b, 0, "p", "e1", 1);
	client_u32(&b, WMK_MSG_EVENTS_END, 3);
	client_expect_u32(&b, &p, WMK_MSG_DONE, 3);
	place_switch(&p, true);
	assert_int_equal(client_next(&b, &p), WMK_MSG_CHANNEL);
	client_expect_enable(&b, &p, 0, 0, 1);
	/* an application that closes its socket instead of answering is not waited for */
	client_close(&a);
	client_u32(&b, WMK_MSG_SYNCED, 3);
	assert_int_equal(wmk_shard_sync(p.apps, 5000), 0);
	client_close(&b);
	place_close(&p);
}

/* A SYNC during the registration is sent after it, when the events are enabled. */
static void sync_is_sent_after_registration(void **state)
{
	struct place p;
	struct client a;
	struct wmk_app_info info;

	(void)state;
	place_prepare(&p);
	place_open(&p);
	client_connect(&a, &p);
	client_hello(&a, "a");
	assert_int_equal(client_next(&a, &p), WMK_MSG_WELCOME);
	assert_int_equal(wmk_shard_sync(p.apps, 0), 1);
	assert_int_equal(wmk_shard_sync(p.apps, 0), 1);
	client_event(&a, 0, "p", "e0", 1);
	client_u32(&a, WMK_MSG_EVENTS_END, 7);
	assert_int_equal(client_next(&a, &p), WMK_MSG_CHANNEL);
	client_expect_enable(&a, &p, 0, 0, 0);
	client_expect_u32(&a, &p, WMK_MSG_DONE, 7);
	assert_true(wmk_shard_unanswered(p.apps, 0, &info));
	client_expect_u32(&a, &p, WMK_MSG_SYNC, 2);
	client_u32(&a, WMK_MSG_SYNCED, 2);
	place_settle(&p);
	assert_false(wmk_shard_unanswered(p.apps, 0, &info));
	/* only now */
	client_event(&a, 1, "p", "e1", 1);
	client_u32(&a, WMK_MSG_EVENTS_END, 8);
	client_expect_enable(&a, &p, 0, 1, 1);
	client_expect_u32(&a, &p, WMK_MSG_DONE, 8);
	client_event(&a, 2, "p", "e2", 1);
	client_u32(&a, WMK_MSG_EVENTS_END, 9);
	client_expect_enable(&a, &p, 0, 2, 2);
	client_close(&a);
	place_close(&p);
}

/* A process is killed while it holds a claim: the pidfd reports the end, and the claim is freed. */
static void killed_process_frees_claims(void **state)
{
	struct place p;
	struct wmk_shard_stats stats;
	struct wmk_app_info info;
	int pipes[2], status;
	char byte = 0;

	(void)state;
	place_prepare(&p);
	place_open(&p);
	assert_int_equal(pipe(pipes), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct client c;
		struct wmk_channel_msg channel;
		struct wmk_welcome welcome = { 0 };
		struct waymark_ring_set *set;
		const void *body;
		int step = 0;

		client_connect(&c, &p);
		client_hello(&c, "victim");
		client_event(&c, 0, "p", "e0", 1);
		client_u32(&c, WMK_MSG_EVENTS_END, 1);
		while (step < 2) {
			while (wmk_in_frame(&c.in, &c.frame, &body, &c.fd) == 1) {
				if (c.frame.type == WMK_MSG_WELCOME &&
				    wmk_welcome_decode(body, c.frame.length, &welcome) == 0)
					step++;
				if (c.frame.type == WMK_MSG_CHANNEL &&
				    wmk_channel_decode(body, c.frame.length, &channel) == 0) {
					if (waymark_ring_set_open(c.fd, &set) != 0)
						_exit(1);
					waymark_ring_set_identity(set, welcome.slot, welcome.generation);
					set->ring[waymark_ring_set_cpus(set)].ctl->claim = set->identity;
					step++;
				}
			}
			int came = wmk_in_receive(&c.in, c.socket);
			if (came != 1 && came != -EAGAIN)
				_exit(2);
			usleep(1000);
		}
		if (write(pipes[1], "x", 1) != 1)
			_exit(3);
		pause();
		_exit(4);
	}
	assert_true(pid > 0);
	while (wmk_shard_get(p.apps, 0, &info) == false || info.enabled == 0)
		assert_true(wmk_shard_run_once(p.apps, 5000) > 0);
	place_settle(&p);
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	wmk_shard_stats(p.apps, &stats);
	assert_int_equal(stats.apps_dead, 0);
	assert_true(info.alive);
	assert_int_equal(info.pid, pid);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	place_settle(&p);
	wmk_shard_stats(p.apps, &stats);
	assert_int_equal(stats.apps_dead, 1);
	assert_int_equal(stats.apps_alive, 0);
	assert_int_equal(stats.claims_freed, 1);
	assert_int_equal(p.sets[0]->ring[waymark_ring_set_cpus(p.sets[0])].ctl->claim, 0);
	assert_true(wmk_shard_get(p.apps, 0, &info));
	assert_false(info.alive);
	assert_false(info.connected);
	close(pipes[0]);
	close(pipes[1]);
	place_close(&p);
}

/* A child before execve() has copies of all descriptors: no event of a closed one may arrive, its data is freed. */
static void descriptors_copied_to_a_child_cause_no_events(void **state)
{
	struct place p;
	struct client c;
	struct wmk_app_info info;
	struct wmk_shard_stats stats;

	(void)state;
	place_prepare(&p);
	place_open(&p);
	const pid_t program = fork();
	if (program == 0) {
		client_connect(&c, &p);
		client_hello(&c, "gone");
		client_u32(&c, WMK_MSG_EVENTS_END, 1);
		_exit(pause());
	}
	assert_true(program > 0);
	while (!wmk_shard_get(p.apps, 0, &info))
		assert_true(wmk_shard_run_once(p.apps, 5000) > 0);
	const pid_t child = fork();
	if (child == 0) {
		alarm(60);
		_exit(pause());
	}
	assert_true(child > 0);
	assert_int_equal(kill(program, SIGKILL), 0);
	assert_int_equal(waitpid(program, NULL, 0), program);
	place_settle(&p);
	wmk_shard_stats(p.apps, &stats);
	assert_int_equal(stats.apps_dead, 1);
	assert_int_equal(stats.apps_connected, 0);
	assert_int_equal(wmk_shard_run_once(p.apps, 0), 0);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	place_close(&p);
}

static unsigned count_descriptors(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 4096; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* A process that registers repeatedly (exec, seteuid) holds one slot. */
static void repeated_registration_leaks_nothing(void **state)
{
	struct place p;
	struct client c;
	struct wmk_shard_stats stats;
	unsigned before = 0;

	(void)state;
	place_prepare(&p);
	p.options.max_apps = p.max_apps = 3;
	place_open(&p);
	for (int i = 0; i < 20; i++) {
		client_register(&c, &p, "again", 1);
		client_close(&c);
		place_settle(&p);
		if (i == 0)
			before = count_descriptors();
	}
	assert_int_equal(count_descriptors(), before);
	wmk_shard_stats(p.apps, &stats);
	assert_int_equal(stats.apps_seen, 20);
	assert_int_equal(stats.apps_alive, 1);
	assert_int_equal(stats.apps_refused, 0);
	place_close(&p);
}

/* exec() frees the claims of the process; the same program on another connection changes nothing. */
static void exec_frees_claims(void **state)
{
	struct place p;
	struct client first, again, next;
	struct wmk_shard_stats stats;
	struct waymark_ring_set *set;
	struct wmk_welcome welcome;
	struct wmk_app_info info;

	(void)state;
	place_prepare(&p);
	place_open(&p);
	client_connect(&first, &p);
	client_hello_image(&first, "before", 5);
	assert_int_equal(client_next(&first, &p), WMK_MSG_WELCOME);
	assert_int_equal(wmk_welcome_decode(first.body, first.frame.length, &welcome), 0);
	client_event(&first, 0, "p", "e0", 1);
	client_u32(&first, WMK_MSG_EVENTS_END, 1);
	assert_int_equal(client_next(&first, &p), WMK_MSG_CHANNEL);
	assert_int_equal(client_next(&first, &p), WMK_MSG_ENABLE);
	assert_int_equal(client_next(&first, &p), WMK_MSG_DONE);
	assert_int_equal(waymark_ring_set_open(waymark_ring_set_fd(p.sets[0]), &set), 0);
	waymark_ring_set_identity(set, welcome.slot, welcome.generation);
	uint64_t *claim = &p.sets[0]->ring[waymark_ring_set_cpus(set) + 3].ctl->claim;
	*claim = set->identity;

	client_connect(&again, &p);
	client_hello_image(&again, "before", 5);
	assert_int_equal(client_next(&again, &p), WMK_MSG_WELCOME);
	wmk_shard_stats(p.apps, &stats);
	assert_int_equal(stats.claims_freed, 0);
	assert_int_equal(*claim, set->identity);
	assert_int_equal(stats.apps_alive, 2);

	client_connect(&next, &p);
	client_hello_image(&next, "after", 6);
	assert_int_equal(client_next(&next, &p), WMK_MSG_WELCOME);
	wmk_shard_stats(p.apps, &stats);
	assert_int_equal(stats.claims_freed, 1);
	assert_int_equal(*claim, 0);
	assert_int_equal(stats.apps_alive, 1);
	assert_int_equal(stats.apps_dead, 2);
	for (unsigned i = 0; i < 3; i++) {
		assert_true(wmk_shard_get(p.apps, i, &info));
		assert_int_equal(info.alive, i == 2);
		assert_int_equal(info.connected, i == 2);
	}
	client_close(&first);
	client_close(&again);
	client_close(&next);
	place_settle(&p);
	waymark_ring_set_close(set);
	place_close(&p);
}

/* An application that ends before the shard reads its registration is counted. */
static void application_that_ends_early_is_counted(void **state)
{
	struct place p;
	struct wmk_shard_stats stats;
	int status;

	(void)state;
	place_prepare(&p);
	place_open(&p);
	pid_t pid = fork();
	if (pid == 0) {
		struct client c;

		client_connect(&c, &p);
		client_hello(&c, "short");
		client_event(&c, 0, "p", "e0", 1);
		client_u32(&c, WMK_MSG_EVENTS_END, 1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	place_settle(&p);
	wmk_shard_stats(p.apps, &stats);
	assert_int_equal(stats.apps_seen, 1);
	assert_int_equal(stats.events_seen, 1);
	assert_int_equal(stats.apps_alive, 0);
	assert_int_equal(stats.apps_connected, 0);
	place_close(&p);
}

static void test_unsafe_rundir_is_refused(void **state)
{
	struct place p, q;

	(void)state;
	place_prepare(&p);
	place_prepare(&q);
	assert_int_equal(chmod(p.rundir, 0755), 0);
	assert_int_equal(place_try(&p), -EACCES);
	assert_int_equal(chmod(p.rundir, 0700), 0);
	place_open(&p);
	/* a process listens there; after its end the socket is replaced */
	q.options.rundir = p.rundir;
	assert_int_equal(place_try(&q), -EADDRINUSE);
	char path[128];
	snprintf(path, sizeof(path), "%s/%s", p.rundir, WMK_APP_SOCKET);
	assert_int_equal(access(path, F_OK), 0);
	wmk_shard_close(p.apps);
	assert_int_equal(access(path, F_OK), -1);
	pid_t pid = fork();
	if (pid == 0) {
		place_open(&p);
		_exit(0);        /* the socket remains */
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(access(path, F_OK), 0);
	place_open(&p);
	/* a directory that was created is removed */
	char fresh[128];
	snprintf(fresh, sizeof(fresh), "%s/fresh", q.rundir);
	q.options.rundir = fresh;
	place_open(&q);
	assert_int_equal(access(fresh, F_OK), 0);
	place_close(&q);
	place_close(&p);
	/* a symbolic link is not followed */
	place_prepare(&p);
	place_prepare(&q);
	snprintf(path, sizeof(path), "%s/link", p.rundir);
	assert_int_equal(symlink(q.rundir, path), 0);
	p.options.rundir = path;
	assert_int_equal(place_try(&p), -ENOTDIR);
	unlink(path);
	p.apps = q.apps = NULL;
	place_close(&p);
	place_close(&q);
}

/* Lists of events are right for each application, also with more classes than the description cache holds. */
static void application_list_is_complete(void **state)
{
	const struct wmk_ctl_rule none = { .pattern = "nothing:*", .enabled = true };
	struct wmk_described known[WMK_DESCRIBED] = { 0 };
	const struct wmk_ctl_list_apps what = { .events = true, .pattern = "" };
	struct wmk_arena arena = { 0 };
	const struct wmk_describing how = { .arena = &arena, .what = &what, .enabled_by = (uid_t)-1, .known = known };
	struct client clients[4];
	struct place p;
	char name[16];

	(void)state;
	place_prepare(&p);
	p.given[0].rules = place_rules(&none, 1);
	place_open(&p);
	for (unsigned i = 0; i < 4; i++) {
		client_connect(&clients[i], &p);
		client_hello(&clients[i], "many");
		assert_int_equal(client_next(&clients[i], &p), WMK_MSG_WELCOME);
		for (unsigned k = 0; k < 2 * WMK_DESCRIBED; k++) {
			snprintf(name, sizeof(name), "e%u", i < 2 ? k : (i - 1) * WMK_DESCRIBED + k);
			client_event(&clients[i], k, i < 3 ? "p" : "q", name, k % 3);
		}
		client_u32(&clients[i], WMK_MSG_EVENTS_END, 1);
		client_expect_u32(&clients[i], &p, WMK_MSG_DONE, 1);
	}
	unsigned n_apps = 0;

	for (struct app *app = p.apps->app; app; app = app->next, n_apps++) {
		struct wmk_ctl_app is;
		const unsigned i = 3 - n_apps;             /* (the latest is first) */

		assert_int_equal(wmk_app_describe(app, &how, &is), 0);
		assert_int_equal(is.events.n, 2 * WMK_DESCRIBED);
		for (unsigned k = 0; k < is.events.n; k++) {
			const struct wmk_ctl_event *event = (const struct wmk_ctl_event *)is.events.items + k;

			snprintf(name, sizeof(name), "e%u", i < 2 ? k : (i - 1) * WMK_DESCRIBED + k);
			assert_string_equal(event->name, name);
			assert_string_equal(event->provider, i < 3 ? "p" : "q");
			assert_int_equal(event->fields.n, k % 3);
			assert_false(event->enabled);
		}
	}
	assert_int_equal(n_apps, 4);
	wmk_arena_free(&arena);
	for (unsigned i = 0; i < 4; i++)
		client_close(&clients[i]);
	place_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(repeated_registration_leaks_nothing),
		cmocka_unit_test(change_of_enabled_events_is_confirmed_by_applications),
		cmocka_unit_test(descriptors_copied_to_a_child_cause_no_events), cmocka_unit_test(exec_frees_claims),
		cmocka_unit_test(events_are_declared_in_one_batch), cmocka_unit_test(undeclared_event_is_not_enabled),
		cmocka_unit_test(sync_is_sent_after_registration), cmocka_unit_test(test_unsafe_rundir_is_refused),
		cmocka_unit_test(application_list_is_complete), cmocka_unit_test(registered_application_receives_rings),
		cmocka_unit_test(application_that_ends_early_is_counted), cmocka_unit_test(killed_process_frees_claims),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
