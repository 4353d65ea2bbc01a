/* SPDX-License-Identifier: MIT */
/*
 * fuzz_state.c - any bytes in the state files that a session daemon leaves to the next one. The first byte of an input
 * selects the file, the rest is its content. The next daemon reads the files, restores sessions, and continues; an
 * invalid file affects nothing else.
 */
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "nowhere.h"
#include "session/model/session_model.h"
#include "session/recovery/state_entry.h"
#include "session/recovery/state_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void fuzz_set_up(void);
void fuzz_clean_up(void);

static const char good[] =
	"{ \"format\": 3, \"name\": \"good\", \"clock\": \"monotonic\", \"no_statedump\": true, "
	"\"path\": \"/nowhere/good\", \"active\": true, \"started\": true, \"channels\": [ { \"channel\": { \"name\": "
	"\"goods\", "
	"\"subbuf_size\": 8192, \"n_subbufs\": 4, \"rules\": [ { \"pattern\": \"shop:*\", \"enabled\": true } ], "
	"\"enabled\": true } } ], "
	"\"rings\": [ { \"id\": 1, \"uuid\": \"4d2c0ccd-a74e-4328-a2d4-57ab2d8fcb80\", \"sub\": \"ust/uid/0/64-bit\", "
	"\"set\": \"9c569545-c2b4-417d-a608-8db3ebc7631b\", \"inode\": 4679178 } ] }\n";

static const char good_clocks[] = "{ \"clocks\": [ { \"kind\": 0, \"freq\": 1000000000 } ] }\n";

static char place[] = "/dev/shm/waymark-fuzz-state-XXXXXX";     /* in memory: a disk is slow */
static int rundir = -1;

static int held(void *data, const uint8_t uuid[16], uint32_t stream_id)
{
	(void)data;
	(void)uuid;
	(void)stream_id;
	return -1;
}

/* ── files ───────────────────────────────────────────────────────────────────────────────────────────── */

void fuzz_set_up(void)
{
	if (!mkdtemp(place))
		abort();
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	return remove(path);
}

void fuzz_clean_up(void)
{
	nftw(place, remove_one, 4, FTW_DEPTH | FTW_PHYS);
}

static void put(const char *name, const void *bytes, size_t len)
{
	char path[64];

	snprintf(path, sizeof(path), "state/%s", name);
	int fd = openat(rundir, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
		abort();
	close(fd);
}

static void empty(void)
{
	static const char *const names[] = { "1.json", "1.ids",      "1.new",          "2.json",         "2.ids",
					     "2.new",  "identities", "identities.old", "identities.new", "clock.json" };
	char path[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "state/%s", names[i]);
		unlinkat(rundir, path, 0);
	}
}

/* ── the next daemon ─────────────────────────────────────────────────────────────────────────────────── */

/* Return the number of sessions of the next daemon. */
static unsigned next_daemon(const char *recovered)
{
	struct wmk_clocks clocks = {
		.of[WMK_CLOCK_MONOTONIC] = { .kind = WMK_CLOCK_MONOTONIC, .freq = 1000000000, .name = "monotonic" }
	};
	struct wmk_tracing_options options = {
		.size = sizeof(options), .consumer = &nowhere, .clocks = &clocks, .max_apps = 16
	};
	struct wmk_tracing *tracing;
	struct wmk_state *state;

	/* a directory of rings in files without a session is rejected */
	if (wmk_state_open(rundir, recovered, NULL, NULL, &state) < 0)
		abort();
	wmk_state_clocks(state, &clocks);
	options.first_rings_id = wmk_state_last_rings(state);
	if (wmk_tracing_open(&options, &tracing) < 0)
		abort();
	wmk_reattach_init(tracing);
	wmk_state_identities(state, tracing);
	const unsigned restored = wmk_state_restore(state, tracing, held, NULL, NULL);
	if (wmk_state_identities_begin(state) < 0)
		abort();
	wmk_tracing_close(tracing);
	wmk_state_close(state);
	wmk_error_clear();
	return restored;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "1.json", "1.ids", "identities", "identities.old", "clock.json" };
	const unsigned which = size ? data[0] % 128 % 5 : 0;
	char path[sizeof(place) + 16];
	const char *recovered = size && data[0] >= 128 ? path : NULL;

	if (rundir < 0) {
		wmk_tracing_thread_begin();
		rundir = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (rundir < 0 || (mkdirat(rundir, "state", 0700) != 0 && faccessat(rundir, "state", F_OK, 0) != 0))
			abort();
	}
	empty();
	put("1.json", good, sizeof(good) - 1);
	put("clock.json", good_clocks, sizeof(good_clocks) - 1);
	if (size)
		put(names[which], data + 1, size - 1);
	snprintf(path, sizeof(path), "%s/state", place);
	const unsigned restored = next_daemon(recovered);

	/* an invalid file of a session may end that session; so may its only copy of the clock, in a recovery */
	if (which > 1 && restored != 1 && !(which == 4 && recovered))
		abort();
	/* the daemon after that restores the same sessions */
	if (next_daemon(recovered) != restored)
		abort();
	return 0;
}
