/* SPDX-License-Identifier: MIT */
/*
 * state_identities.c - the identity under which each application claims rings, kept for the next daemon (see
 * state_file.h).
 *
 *     identities       this daemon's applications, at the position of their slot; written before they receive it
 *     identities.old   living applications of earlier daemons, in any order
 *
 * A process is identified by its pid and birth (wmk_app_birth()) in its PID namespace. The session daemon cannot find a
 * process of another PID namespace by its pid, so the files do not contain the identities of such processes.
 */
#include "session/model/process_stat.h"
#include "session/model/session_model.h"
#include "session/recovery/state_entry.h"
#include "session/recovery/state_file.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_NOW "identities"
#define FILE_OLD "identities.old"
#define FILE_FRESH "identities.new"
#define FILE_MAX (8u << 20)

struct state_identity {
	uint32_t slot, generation;       /* slot 0: unused */
	uint64_t pid, birth, space;
};

/* Return the PID namespace of this process; 0: unknown. */
static uint64_t space_now(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

/* Pass one identity to `tracing`. Identities of processes that still run are kept for FILE_OLD. */
static int identity_take(struct state_identities *all, struct wmk_tracing *tracing, const struct state_identity *is)
{
	const struct wmk_identity identity = { .slot = is->slot, .generation = is->generation, .pid = (pid_t)is->pid,
					       .birth = is->birth };

	if (is->slot == 0 || is->pid == 0 || is->pid > INT32_MAX || is->space == 0 || is->space != space_now())
		return 0;
	int err = wmk_tracing_earlier_identities(tracing, &identity);
	if (err == -EINVAL) {
		wmk_error_clear();
		return 0;
	}
	if (err == 0 && wmk_process_lives(identity.pid, identity.birth))
		all->living[all->n_living++] = *is;
	return err;
}

static int file_read(struct wmk_state *state, struct wmk_tracing *tracing, const char *name)
{
	struct state_identities *all = &state->identities;
	uint8_t *bytes;
	long len = wmk_state_read_file(state->dir, name, FILE_MAX, &bytes);
	size_t n = len > 0 ? (size_t)len / sizeof(struct state_identity) : 0;
	int err = 0;

	if (len == -ENOENT) {
		wmk_error_clear();
		return 0;
	}
	if (n) {
		struct state_identity *more = realloc(all->living, (all->n_living + n) * sizeof(*more));

		if (more)
			all->living = more;
		else
			err = wmk_error(-ENOMEM, "no memory for the applications of an earlier daemon");
	}
	for (size_t i = 0; i < n && err == 0; i++) {
		struct state_identity is;

		memcpy(&is, bytes + i * sizeof(is), sizeof(is));
		err = identity_take(all, tracing, &is);
	}
	free(bytes);
	return len < 0 ? (int)len : err;
}

int wmk_state_identities(struct wmk_state *state, struct wmk_tracing *tracing)
{
	int err = file_read(state, tracing, FILE_OLD), now = file_read(state, tracing, FILE_NOW);

	return err < 0 ? err : now;
}

int wmk_state_identities_begin(struct wmk_state *state)
{
	struct state_identities *all = &state->identities;
	size_t len = all->n_living * sizeof(*all->living);
	int err = len ? wmk_state_bytes_write(state->dir, FILE_OLD, FILE_FRESH, all->living, len) : 0;

	if (len == 0)
		unlinkat(state->dir, FILE_OLD, 0);
	free(all->living);
	all->living = NULL;
	all->n_living = 0;
	all->space = space_now();
	if (err < 0)
		return err;
	/* Truncate FILE_NOW only after FILE_OLD has the identities from FILE_NOW of processes that still run. */
	all->fd = openat(state->dir, FILE_NOW, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	return all->fd >= 0 ? 0 : wmk_error(-errno, "cannot write the identities of applications (%s)", FILE_NOW);
}

void wmk_state_identity(struct wmk_state *state, const struct wmk_identity *is)
{
	const struct state_identity record = { .slot = is->slot, .generation = is->generation, .pid = (uint64_t)is->pid,
					       .birth = is->birth, .space = state->identities.space };

	/*
	 * If the write fails and the application ends while no daemon runs, the ring claims of the application are
	 * never freed.
	 */
	if (state->identities.fd >= 0 && is->pid > 0 &&
	    pwrite(state->identities.fd, &record, sizeof(record), (off_t)((is->slot - 1) * sizeof(record))) !=
		    (ssize_t)sizeof(record))
		return;
}

void wmk_state_identities_free(struct wmk_state *state)
{
	free(state->identities.living);
	if (state->identities.fd >= 0)
		close(state->identities.fd);
}
