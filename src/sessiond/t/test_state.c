/* SPDX-License-Identifier: MIT */
/* test_state.c - sessions, channels, rules, rings and ids in state files, restored by the next session daemon. */
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "program.h"
#include "session/model/process_stat.h"
#include "session/model/session_model.h"
#include "session/recovery/state_file.h"
#include "state_rig.h"
#include "wire/ctl.h"

static void next_daemon_restores_sessions_and_event_ids(void **state)
{
	struct wmk_arena arena = { 0 };
	struct wmk_ctl_session is;
	struct program program;
	uint32_t ids[2];

	(void)state;
	daemon_open(held);
	assert_int_equal(scene.restored, 0);
	wmk_session_put(session_make("busy"));
	program_open(&program, scene.shards);
	assert_int_equal(program_enabled(&program), 2);
	memcpy(ids, program.ids, sizeof(ids));
	assert_int_not_equal(ids[0], ids[1]);
	program_close(&program);
	unsigned rings = output.n;
	const unsigned declared = events_in(output.text);

	assert_true(declared > 0);

	for (int round = 0; round < 3; round++) {
		daemon_close();
		output.reopened = 0;
		daemon_open(held);
		assert_int_equal(scene.restored, 1);
		assert_int_equal(output.reopened, rings);
		program_open(&program, scene.shards);
		assert_int_equal(program_enabled(&program), 2);
		assert_memory_equal(program.ids, ids, sizeof(ids));
		program_close(&program);
		assert_int_equal(output.n, rings);               /* no new rings */
		assert_int_equal(events_in(output.text), declared);       /* nothing is declared twice */
		assert_int_equal(output.fewer, 0);       /* the metadata is complete at every moment, for the case of a crash */
	}
	struct wmk_session *session = wmk_session_get(scene.tracing, getuid(), "busy");
	assert_non_null(session);
	assert_int_equal(wmk_session_lock(session), 0);
	assert_int_equal(wmk_session_describe(session, &is, &arena), 0);
	assert_true(is.active && is.started && is.trackers.pid);
	assert_int_equal(is.channels.n, 1);
	const struct wmk_ctl_channel *channel = is.channels.items;
	assert_string_equal(channel->name, "goods");
	assert_int_equal(channel->settings.subbuf_size, 8192);
	assert_string_equal(*(const char *const *)channel->contexts.items, "vtid");
	const struct wmk_ctl_rule *rule = channel->rules.items;
	assert_string_equal(rule->pattern, "shop:*");
	assert_int_equal(rule->level_op, WMK_LEVEL_AT_LEAST);
	wmk_session_destroy(session);
	wmk_session_unlock(session);
	wmk_session_finish(session, NULL, NULL);
	assert_int_equal(wmk_state_changed(scene.state, session, true), 0);
	wmk_session_put(session);
	wmk_arena_free(&arena);
	assert_int_equal(files(), 0);
	assert_int_equal(scene.said, 0);
	daemon_close();
	daemon_open(held);
	assert_int_equal(scene.restored, 0);
	daemon_close();
}

/* Metadata that is shorter than what was written is replaced completely, after a restart and when it is found stale. */
static void truncated_metadata_is_rewritten_after_restart(void **state)
{
	struct program program;

	(void)state;
	daemon_open(held);
	wmk_session_put(session_make("late"));
	program_open(&program, scene.shards);
	assert_int_equal(program_enabled(&program), 2);
	program_close(&program);
	daemon_close();
	const unsigned declared = events_in(output.text);

	assert_true(declared > 0);
	output.text[0] = '\0';           /* the consumer was killed before it wrote the text */
	daemon_open(held);
	assert_int_equal(scene.restored, 1);
	assert_int_equal(events_in(output.text), declared);
	struct wmk_session *session = wmk_session_get(scene.tracing, getuid(), "late");
	assert_non_null(session);
	output.text[0] = '\0';
	assert_int_equal(wmk_session_lock(session), 0);
	wmk_session_metadata_stale(session);
	wmk_session_unlock(session);
	assert_int_equal(events_in(output.text), declared);
	wmk_session_put(session);
	daemon_close();
}

static off_t size_of_ids(void)
{
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/state/1.ids", scene.dir);
	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

/* If the state file cannot be rewritten, the existing file and the session stay valid. */
static void state_file_is_kept_if_it_cannot_be_rewritten(void **state)
{
	char path[128];

	(void)state;
	daemon_open(held);
	wmk_session_put(session_make("stays"));
	daemon_close();
	snprintf(path, sizeof(path), "%s/state/1.new", scene.dir);
	assert_int_equal(mkdir(path, 0700), 0);
	for (unsigned round = 1; round < 3; round++) {
		daemon_open(held);
		assert_int_equal(scene.restored, 1);
		assert_int_equal(scene.said, round);
		daemon_close();
	}
	assert_int_equal(rmdir(path), 0);
	daemon_open(held);
	assert_int_equal(scene.restored, 1);
	assert_int_equal(scene.said, 2);
	daemon_close();
}

/* Ids of removed rings are purged from the file; needed ones stay for the next daemon, and more can be added. */
static void saved_event_ids_of_removed_rings_are_deleted(void **state)
{
	static const struct wmk_event_class gone = { .provider = "shop", .name = "gone", .kind = 1, .level = 6 };
	struct program program;
	uint32_t ids[2];

	(void)state;
	daemon_open(held);
	struct wmk_session *session = session_make("long");

	program_open(&program, scene.shards);
	assert_int_equal(program_enabled(&program), 2);
	memcpy(ids, program.ids, sizeof(ids));
	program_close(&program);
	const off_t needed = size_of_ids();

	assert_true(needed > 0);
	for (unsigned round = 0; round < 3; round++) {
		assert_int_equal(wmk_session_lock(session), 0);
		assert_int_equal(wmk_state_id(scene.state, session, 0, 0, &gone), 0);
		assert_int_equal(wmk_state_changed(scene.state, session, false), 0);
		assert_true(size_of_ids() > needed);             /* a small amount is not purged */
		for (uint32_t i = 0; size_of_ids() < (512 << 10); i++)
			assert_int_equal(wmk_state_id(scene.state, session, 0, i, &gone), 0);
		assert_int_equal(wmk_state_changed(scene.state, session, false), 0);
		assert_int_equal(size_of_ids(), needed);
		/* later ids are in the same file; the id of the rings is not assigned to others */
		assert_int_equal(wmk_state_id(scene.state, session, 1000 + round, 0, &gone), 0);
		assert_true(size_of_ids() > needed);
		wmk_session_unlock(session);
		wmk_session_put(session);
		daemon_close();
		daemon_open(held);
		assert_int_equal(scene.restored, 1);
		session = wmk_session_get(scene.tracing, getuid(), "long");
		assert_non_null(session);
		program_open(&program, scene.shards);
		assert_int_equal(program_enabled(&program), 2);
		assert_memory_equal(program.ids, ids, sizeof(ids));
		program_close(&program);
		assert_true(wmk_state_last_rings(scene.state) >= 1000 + round);
	}
	wmk_session_put(session);
	daemon_close();
	assert_int_equal(scene.said, 0);
}

/* Both daemons have ended: the sessions are restored, and their rings are awaited. */
static void restored_session_waits_for_its_rings(void **state)
{
	struct wmk_session *session;
	struct program program;
	char words[300];

	(void)state;
	daemon_open(held);
	wmk_session_put(session_make("lost"));
	program_open(&program, scene.shards);
	program_close(&program);
	const unsigned made = output.n;
	for (unsigned round = 1; round < 4; round++) {
		daemon_close();
		output.reopened = 0;
		daemon_open(held_nothing);
		assert_int_equal(scene.restored, 1);
		assert_int_equal(output.reopened, 0);
		session = wmk_session_get(scene.tracing, getuid(), "lost");
		assert_non_null(session);
		assert_int_equal(wmk_session_lock(session), 0);
		assert_int_equal(wmk_session_awaited(session, words, sizeof(words)), made * round);
		assert_non_null(strstr(words, "goods of user "));
		wmk_session_unlock(session);
		wmk_session_put(session);
		/* An application without these rings gets new ones. */
		program_open(&program, scene.shards);
		assert_int_equal(program_enabled(&program), 2);
		program_close(&program);
		assert_int_equal(output.n, made * (round + 1));
		assert_int_equal(output.rings[output.n - 1].stream_id / 64, round);
	}
	assert_int_equal(scene.said, 0);
	daemon_close();
	/* A session that has recorded nothing is restored, too. */
	daemon_open(held_nothing);
	wmk_session_put(session_make("fresh"));
	daemon_close();
	daemon_open(held_nothing);
	assert_int_equal(scene.restored, 2);
	daemon_close();
}

/* While a session is being destroyed, another session of its name is created, started and saved. It survives. */
static void session_is_kept_when_an_older_namesake_ends(void **state)
{
	struct wmk_session *old, *fresh;
	struct program program;
	uint32_t ids[2];

	(void)state;
	daemon_open(held);
	old = session_make("same");
	program_open(&program, scene.shards);
	assert_int_equal(wmk_session_lock(old), 0);
	wmk_session_destroy(old);
	wmk_session_unlock(old);
	assert_int_equal(wmk_tracing_update(scene.tracing, old, 5000, NULL, NULL), 0);
	fresh = session_make("same");
	assert_int_equal(program_enabled(&program), 4);           /* two events by each session */
	memcpy(ids, program.ids, sizeof(ids));
	assert_int_equal(files(), 4);
	wmk_session_finish(old, NULL, NULL);
	/* a thread that waited for the lock meanwhile saves nothing */
	assert_int_equal(wmk_state_changed(scene.state, old, false), 0);
	assert_int_equal(wmk_state_changed(scene.state, old, true), 0);
	assert_int_equal(files(), 2);
	assert_int_equal(wmk_state_changed(scene.state, old, false), 0);
	assert_int_equal(files(), 2);
	wmk_session_put(old);
	wmk_session_put(fresh);
	program_close(&program);
	daemon_close();
	daemon_open(held);
	assert_int_equal(scene.restored, 1);
	program_open(&program, scene.shards);
	assert_int_equal(program_enabled(&program), 2);
	assert_memory_equal(program.ids, ids, sizeof(ids));
	program_close(&program);
	/* The daemon is killed in between: both sessions are saved, and the later one is restored. */
	old = wmk_session_get(scene.tracing, getuid(), "same");
	assert_int_equal(wmk_session_lock(old), 0);
	wmk_session_destroy(old);
	wmk_session_unlock(old);
	fresh = session_make("same");
	assert_int_equal(wmk_session_lock(fresh), 0);
	assert_int_equal(wmk_session_stop(fresh), 0);
	assert_int_equal(wmk_state_changed(scene.state, fresh, false), 0);
	wmk_session_unlock(fresh);
	wmk_session_put(fresh);
	wmk_session_finish(old, NULL, NULL);     /* (frees it; its end is not saved) */
	wmk_session_put(old);
	daemon_close();
	daemon_open(held);
	assert_int_equal(scene.restored, 1);
	assert_int_equal(scene.said, 1);
	fresh = wmk_session_get(scene.tracing, getuid(), "same");
	assert_int_equal(wmk_session_start(fresh), 0);           /* it is the stopped one */
	wmk_session_put(fresh);
	daemon_close();
}

static void damage(const char *name, long at, const void *bytes, size_t len, long cut)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/state/%s", scene.dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	if (at < 0)
		at = lseek(fd, 0, SEEK_END);
	assert_int_equal(pwrite(fd, bytes, len, at), (ssize_t)len);
	if (cut >= 0)
		assert_int_equal(ftruncate(fd, cut), 0);
	close(fd);
}

/* The daemon was killed while it wrote an id: the next one appends after the last complete id. */
static void incomplete_event_id_in_the_state_is_ignored(void **state)
{
	static const uint8_t half[20] = { 100, 0, 0, 0, 2 };
	struct program program;
	uint32_t ids[2];

	(void)state;
	daemon_open(held);
	wmk_session_put(session_make("busy"));
	program_open(&program, scene.shards);
	memcpy(ids, program.ids, sizeof(ids));
	program_close(&program);
	for (int round = 0; round < 2; round++) {
		daemon_close();
		damage("1.ids", -1, half, sizeof(half), -1);
		daemon_open(held);
		assert_int_equal(scene.restored, 1);
		program_open(&program, scene.shards);
		assert_memory_equal(program.ids, ids, sizeof(ids));
		program_close(&program);
	}
	daemon_close();
}

/* Invalid state files: the daemon starts, and ignores their content. */
#define OF_FORMAT "{\"format\": 3, "

static void invalid_state_files_are_ignored(void **state)
{
	static const char *const files_with_lies[] = {
		"", "{", "[]", OF_FORMAT "\"name\": 5}",
		OF_FORMAT "\"name\": \"../../etc\", \"path\": \"/x\"}",
		OF_FORMAT "\"name\": \"x\", \"path\": \"relative\"}",
		OF_FORMAT "\"name\": \"x\", \"path\": \"/x\", \"uid\": 4294967295}",
		OF_FORMAT "\"name\": \"x\", \"path\": \"/x\", \"unknown\": 1}",
		OF_FORMAT "\"name\": \"x\", \"path\": \"/x\","
			  "\"channels\": [{\"stream_id\": 5000, \"channel\": {\"name\": \"c\"}}]}",
		OF_FORMAT "\"name\": \"x\", \"path\": \"/x\","
			  "\"channels\": [{\"channel\": {\"name\": \"c\"}}, {\"channel\": {\"name\": \"d\"}}]}",
		OF_FORMAT "\"name\": \"x\", \"path\": \"/x\", \"rings\": [{\"id\": 1, \"sub\": \"../..\"}]}",
		OF_FORMAT "\"name\": \"x\", \"path\": \"/\xfc\"}",
		OF_FORMAT "\"name\": \"\xfc\", \"path\": \"/x\"}",
		OF_FORMAT "\"name\": \"x\", \"path_bytes\": \"2f7\"}",
		OF_FORMAT "\"name\": \"x\", \"path_bytes\": \"2f00\"}",
		OF_FORMAT "\"name\": \"x\", \"path\": \"/x\", \"path_bytes\": \"2f x\"}",
		OF_FORMAT "\"name\": \"x\", \"path\": \"/x\", \"path_bytes\": \"78\"}",
		OF_FORMAT "\"name\": \"x\", \"path\": \"/x\","
			  "\"rings\": [{\"id\": 18446744073709551615, \"pid\": 99999999999}]}",
	};
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/state", scene.dir);
	assert_int_equal(mkdir(path, 0700), 0);
	for (unsigned i = 0; i < sizeof(files_with_lies) / sizeof(files_with_lies[0]); i++) {
		scene.said = 0;
		damage("7.json", 0, files_with_lies[i], strlen(files_with_lies[i]), (long)strlen(files_with_lies[i]));
		daemon_open(held_nothing);
		if (scene.restored || scene.said != 1)
			fail_msg("%u sessions came of, and %u words were said to: %s", scene.restored, scene.said, files_with_lies[i]);
		daemon_close();
	}
	/* more channels than allowed, each of them the tracer's own */
	char many[8000] = OF_FORMAT "\"name\": \"x\", \"path\": \"/x\", \"channels\": [";
	for (unsigned i = 0; i < 40; i++)
		snprintf(many + strlen(many), sizeof(many) - strlen(many), "%s{\"stream_id\": %u, \"own\": true, \"channel\": {\"name\": \"c%u\"}}",
			 i ? ", " : "", i, i);
	strcat(many, "]}");
	scene.said = 0;
	damage("7.json", 0, many, strlen(many), (long)strlen(many));
	daemon_open(held_nothing);
	assert_int_equal(scene.restored, 0);
	assert_int_equal(scene.said, 1);
	daemon_close();
	damage("7.json", 0, "{", 1, 1);
	damage("18446744073709551616.json", 0, "{}", 2, 2);
	damage("-1.json", 0, "{}", 2, 2);
	daemon_open(held_nothing);
	wmk_session_put(session_make("beside"));         /* does not use the number of an existing file */
	daemon_close();
	daemon_open(held_nothing);
	assert_int_equal(scene.restored, 1);
	daemon_close();
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(wmk_state_open(scene.fd, NULL, NULL, NULL, &scene.state), -EACCES);
}

static void state_files_of_other_formats_are_refused(void **state)
{
	static const struct {
		const char *text, *words;
	} files[] = {
		{ "{\"name\": \"x\", \"path\": \"/x\", \"statedump\": true}", "the state has format 1" },
		{ "{\"format\": 4, \"name\": \"x\", \"path\": \"/x\"}", "the state has format 4" },
		{ "{\"format\": 3, \"name\": \"x\", \"path\": \"/x\", \"statedump\": true}", "statedump" },
	};
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/state", scene.dir);
	assert_int_equal(mkdir(path, 0700), 0);
	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		damage("7.json", 0, files[i].text, strlen(files[i].text), (long)strlen(files[i].text));
		daemon_open(held_nothing);
		assert_int_equal(scene.restored, 0);
		if (!strstr(scene.words, files[i].words))
			fail_msg("not in the words '%s': %s", scene.words, files[i].words);
		daemon_close();
	}
}

static void assert_identity(unsigned i, const struct wmk_identity *was)
{
	const struct wmk_identity *is = &scene.tracing->before[i];

	assert_true(is->slot == was->slot && is->generation == was->generation && is->pid == was->pid && is->birth == was->birth);
}

/* Each daemon reads the identities of applications of earlier daemons, and drops those of ended processes. */
static void identities_of_running_processes_survive_a_restart(void **state)
{
	uint64_t junk[64];
	char process_state;
	pid_t parent;

	(void)state;
	daemon_open(held);
	assert_int_equal(scene.tracing->n_before, 0);
	struct wmk_identity child = { .slot = 9, .generation = 5, .pid = fork() }, self = { .slot = 3, .generation = 7, .pid = getpid() };
	if (child.pid == 0) {
		alarm(20);               /* in case the test fails before it kills this process */
		pause();
		_exit(0);
	}
	/* (birth is the inode of the pidfd if the kernel supports that, else the start time; both must be recognized) */
	int pidfd = (int)syscall(SYS_pidfd_open, child.pid, 0);

	assert_true(pidfd >= 0);
	assert_true(wmk_process_stat(child.pid, &parent, &child.birth, &process_state));
	if (wmk_pidfd_birth(pidfd))
		child.birth = wmk_pidfd_birth(pidfd);
	close(pidfd);
	assert_true(wmk_process_stat(self.pid, &parent, &self.birth, &process_state));
	assert_true(wmk_process_lives(child.pid, child.birth) && wmk_process_lives(self.pid, self.birth));
	assert_false(wmk_process_lives(child.pid, child.birth ^ 1));
	wmk_state_identity(scene.state, &child);
	wmk_state_identity(scene.state, &(struct wmk_identity){ .slot = 3, .generation = 6, .pid = child.pid, .birth = 1 });
	wmk_state_identity(scene.state, &self);          /* the next user of the slot */
	daemon_close();
	daemon_open(held);
	assert_int_equal(scene.tracing->n_before, 2);
	assert_identity(0, &self);
	assert_identity(1, &child);
	self.generation = 8;             /* another identity, from this daemon */
	wmk_state_identity(scene.state, &self);
	assert_int_equal(kill(child.pid, SIGKILL), 0);
	assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
	daemon_close();
	for (unsigned round = 0; round < 2; round++) {
		daemon_open(held);       /* the first one still reads the identity of the ended process */
		assert_int_equal(scene.tracing->n_before, 3 - round);
		assert_int_equal(scene.tracing->before[0].generation, 7);
		assert_int_equal(scene.tracing->before[2 - round].generation, 8);
		daemon_close();
	}
	/* arbitrary content */
	memset(junk, 0xff, sizeof(junk));
	damage("identities", 0, junk, sizeof(junk), (long)sizeof(junk));
	memset(junk, 1, sizeof(junk));
	damage("identities.old", 0, junk, sizeof(junk), (long)sizeof(junk) - 3);
	daemon_open(held);
	assert_int_equal(scene.tracing->n_before, 0);
	daemon_close();
	assert_int_equal(scene.said, 0);
}

/* The clocks of a daemon after the measurement `measured`. */
static struct wmk_clocks clocks_of(const struct wmk_clocks *measured)
{
	struct wmk_clocks clocks = *measured;

	assert_int_equal(wmk_state_open(scene.fd, NULL, NULL, NULL, &scene.state), 0);
	assert_int_equal(wmk_state_clocks(scene.state, &clocks), 0);
	wmk_state_close(scene.state);
	return clocks;
}

static struct wmk_clock clock_made(enum wmk_clock_kind kind, uint64_t freq, uint64_t offset)
{
	struct wmk_clock clock = { .freq = freq, .offset_s = -(int64_t)offset, .offset = offset, .precision = 9,
				   .uuid = "here" };

	wmk_clock_label(kind, &clock);
	return clock;
}

/* Compare the members: the padding is undefined. */
static bool clock_equals(const struct wmk_clock *a, const struct wmk_clock *b)
{
	return a->kind == b->kind && a->freq == b->freq && a->offset_s == b->offset_s && a->offset == b->offset &&
	       a->precision == b->precision && !strcmp(a->uuid, b->uuid) && !strcmp(a->name, b->name);
}

static bool clocks_equal(const struct wmk_clocks *a, const struct wmk_clocks *b)
{
	return clock_equals(&a->of[WMK_CLOCK_COUNTER], &b->of[WMK_CLOCK_COUNTER]) &&
	       clock_equals(&a->of[WMK_CLOCK_MONOTONIC], &b->of[WMK_CLOCK_MONOTONIC]);
}

/* A clock file that cannot belong to this machine is ignored. */
static void file_is_ignored(const struct wmk_clocks *measured, const char *text)
{
	damage("clock.json", 0, text, strlen(text), (long)strlen(text));
	const struct wmk_clocks clocks = clocks_of(measured);

	if (!clocks_equal(&clocks, measured))
		fail_msg("believed: %s", text);
}

#define MADE(kind, freq, offset) [kind] = clock_made(kind, freq, offset)

/* Sessions keep the clocks of their first daemon if these are valid; without sessions the clocks are measured again. */
static void trace_clocks_are_kept_while_sessions_exist(void **state)
{
	static const char *const foreign[] = {
		"", "{}", "{\"clocks\": []}", "{\"kind\": 1, \"freq\": 1000000001, \"uuid\": \"here\"}",
		"{\"clocks\": [{\"kind\": 1, \"freq\": 0, \"uuid\": \"here\"}]}",
		"{\"clocks\": [{\"kind\": 1, \"freq\": 2000000000, \"uuid\": \"here\"}]}",
		"{\"clocks\": [{\"kind\": 2, \"freq\": 1000000001, \"uuid\": \"here\"}]}",
		"{\"clocks\": [{\"kind\": 1, \"freq\": 1000000001, \"offset\": 1000000001, \"uuid\": \"here\"}]}",
		"{\"clocks\": [{\"kind\": 1, \"freq\": 1000000001, \"uuid\": \"there\"}]}",
	};
	const struct wmk_clocks first = { .preferred = WMK_CLOCK_COUNTER,
					  .of = { MADE(WMK_CLOCK_MONOTONIC, 1000000000, 7),
						  MADE(WMK_CLOCK_COUNTER, 3000000001, 8) } };
	const struct wmk_clocks second = { .preferred = WMK_CLOCK_COUNTER,
					   .of = { MADE(WMK_CLOCK_MONOTONIC, 1000000000, 70),
						   MADE(WMK_CLOCK_COUNTER, 3000000002, 80) } };
	/* the kernel has stopped using the counter */
	const struct wmk_clocks without = { .preferred = WMK_CLOCK_MONOTONIC,
					    .of = { MADE(WMK_CLOCK_MONOTONIC, 1000000000, 700) } };
	struct wmk_clocks clocks;

	(void)state;
	clocks_of(&first);
	clocks = clocks_of(&second);
	assert_true(clocks.preferred == second.preferred && clocks_equal(&clocks, &second));
	clocks_of(&first);
	daemon_open(held);
	wmk_session_put(session_make("kept"));
	daemon_close();
	for (int i = 0; i < 2; i++) {
		clocks = clocks_of(&second);
		assert_true(clocks.preferred == first.preferred && clocks_equal(&clocks, &first));
	}
	clocks = clocks_of(&without);
	assert_true(clocks_equal(&clocks, &first));
	for (unsigned i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		file_is_ignored(&second, foreign[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(next_daemon_restores_sessions_and_event_ids, scene_open, scene_close),
		cmocka_unit_test_setup_teardown(truncated_metadata_is_rewritten_after_restart, scene_open, scene_close),
		cmocka_unit_test_setup_teardown(state_file_is_kept_if_it_cannot_be_rewritten, scene_open, scene_close),
		cmocka_unit_test_setup_teardown(saved_event_ids_of_removed_rings_are_deleted, scene_open, scene_close),
		cmocka_unit_test_setup_teardown(restored_session_waits_for_its_rings, scene_open, scene_close),
		cmocka_unit_test_setup_teardown(session_is_kept_when_an_older_namesake_ends, scene_open, scene_close),
		cmocka_unit_test_setup_teardown(incomplete_event_id_in_the_state_is_ignored, scene_open, scene_close),
		cmocka_unit_test_setup_teardown(invalid_state_files_are_ignored, scene_open, scene_close),
		cmocka_unit_test_setup_teardown(state_files_of_other_formats_are_refused, scene_open, scene_close),
		cmocka_unit_test_setup_teardown(identities_of_running_processes_survive_a_restart, scene_open,
						scene_close),
		cmocka_unit_test_setup_teardown(trace_clocks_are_kept_while_sessions_exist, scene_open, scene_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
