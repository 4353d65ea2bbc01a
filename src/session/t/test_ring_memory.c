/* SPDX-License-Identifier: MIT */
/* test_ring_memory.c - quotas of memory for rings: of one owner, and of all owners except root. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "session/apps/app.h"
#include "world.h"

/* The rings of all sessions of one owner are counted together, as long as they exist. */
static void ring_memory_of_one_owner_is_limited(void **state)
{
	char words[320];
	struct world w;

	(void)state;
	world_prepare(&w);
	w.options.max_ring_bytes = (uint64_t)sysconf(_SC_NPROCESSORS_CONF) * 4096 * 2 * 2;       /* of two channels */
	world_open(&w, 1);
	const struct wmk_session_options other =
		{ .name = "theirs", .path = "/x", .uid = getuid() + 1, .all_users = true,
		  .settings.no_statedump = true };
	struct wmk_session *s = world_session(&w, "s"), *t = world_session(&w, "t"), *theirs;

	assert_int_equal(wmk_session_create(w.tracing, &other, &theirs), 0);
	world_add(s, "one", 0, "shop");
	world_add(s, "two", 1, "net");
	world_add(t, "one", 2, "shop");
	world_add(theirs, "one", 3, "shop");
	proc_start(0, 1, WORLD_ALL);
	world_start(&w, s);
	world_start(&w, t);
	world_start(&w, theirs);
	assert_int_equal(proc_enabled(1, 0), 0x407);
	assert_int_equal(proc_enabled(1, 1), 0x38);
	assert_null(proc_channel(1, 2));
	assert_int_equal(proc_enabled(1, 3), 0x407);     /* another owner has its own quota */
	assert_int_equal(wmk_session_lock(t), 0);
	assert_int_equal(wmk_session_trouble(t, words, sizeof(words)), -ENOBUFS);
	assert_non_null(strstr(words, "fewer sessions"));
	wmk_session_unlock(t);
	/* destroying a session uncharges its memory */
	world_destroy(&w, s);
	world_update(&w, t);
	assert_int_equal(proc_enabled(1, 2), 0x407);
	world_destroy(&w, t);
	world_destroy(&w, theirs);
	proc_kill(1);
	assert_null(w.tracing->owners);          /* no owner is left */
	world_close(&w);
}

/* The rings of all users except root are also charged together. */
static void ring_memory_of_all_users_is_limited(void **state)
{
	char words[320];
	struct world w;

	(void)state;
	world_prepare(&w);
	w.options.max_users_ring_bytes = (uint64_t)sysconf(_SC_NPROCESSORS_CONF) * 4096 * 2;     /* of one channel */
	world_open(&w, 1);
	const struct wmk_session_options options[2] = {
		{ .name = "a", .path = "/a", .uid = getuid() + 1, .all_users = true,
		  .settings.no_statedump = true },
		{ .name = "b", .path = "/b", .uid = getuid() + 2, .all_users = true,
		  .settings.no_statedump = true },
	};
	struct wmk_session *sessions[2];

	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(wmk_session_create(w.tracing, &options[i], &sessions[i]), 0);
		world_add(sessions[i], "one", i, "shop");
	}
	proc_start(0, 1, WORLD_ALL);
	world_start(&w, sessions[0]);
	world_start(&w, sessions[1]);
	assert_int_equal(proc_enabled(1, 0), 0x407);
	assert_null(proc_channel(1, 1));
	assert_int_equal(wmk_session_lock(sessions[1]), 0);
	assert_int_equal(wmk_session_trouble(sessions[1], words, sizeof(words)), -ENOBUFS);
	assert_non_null(strstr(words, "all users except root"));
	wmk_session_unlock(sessions[1]);
	world_destroy(&w, sessions[0]);
	world_update(&w, sessions[1]);
	assert_int_equal(proc_enabled(1, 1), 0x407);
	world_destroy(&w, sessions[1]);
	proc_kill(1);
	assert_int_equal(w.tracing->users_ring_bytes, 0);
	world_close(&w);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(ring_memory_of_one_owner_is_limited, procs_kill),
		cmocka_unit_test_teardown(ring_memory_of_all_users_is_limited, procs_kill),
	};

	procs_begin(argc, argv);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	procs_end();
	return failed;
}
