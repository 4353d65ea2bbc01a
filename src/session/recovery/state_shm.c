/* SPDX-License-Identifier: MIT */
/*
 * state_shm.c - a copy of the state beside rings in files (shm_path.h), for a recovery that has only these files.
 *
 * The copy describes the session as stopped, and without its kernel channels, because kernel buffers do not survive a
 * crash of the machine.
 */
#include "session/model/session_model.h"
#include "session/model/shm_path.h"
#include "session/recovery/state_entry.h"

#include "base/error.h"
#include "ctl/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHM_FRESH "new"

static bool is_kernels(const struct state_rings *rings)
{
	return strcmp(rings->sub, WMK_SUB_KERNEL) == 0;
}

static int json_copy(const struct wmk_session *session, const struct state_session *from)
{
	struct state_session is = *from;
	struct wmk_arena arena = { 0 };
	char *text = NULL;
	int err = 0;

	is.active = false;
	is.channels = is.rings = (struct wmk_list){ NULL, 0 };
	for (uint32_t i = 0; i < from->channels.n && err == 0; i++) {
		const struct state_channel *channel = (const struct state_channel *)from->channels.items + i;
		struct state_channel *to = channel->channel.domain.kind == WMK_DOMAIN_KERNEL
						   ? NULL
						   : wmk_arena_append(&arena, &is.channels, sizeof(*to));

		if (to)
			*to = *channel;
		else if (channel->channel.domain.kind != WMK_DOMAIN_KERNEL)
			err = wmk_error(-ENOMEM, "no memory to write the state of a session");
	}
	for (uint32_t i = 0; i < from->rings.n && err == 0; i++) {
		const struct state_rings *rings = (const struct state_rings *)from->rings.items + i;
		struct state_rings *to = is_kernels(rings) ? NULL : wmk_arena_append(&arena, &is.rings, sizeof(*to));

		if (to)
			*to = *rings;
		else if (!is_kernels(rings))
			err = wmk_error(-ENOMEM, "no memory to write the state of a session");
	}
	if (err == 0)
		err = wmk_json_text(&state_session_object, &is, WMK_JSON_SPARSE, &text);
	if (err == 0)
		err = wmk_state_bytes_write(session->shm, WMK_SHM_JSON, SHM_FRESH, text, strlen(text));
	free(text);
	wmk_arena_free(&arena);
	return err;
}

/* Copy a file from state/ to the directory of rings. Does nothing if the file does not exist. */
static int file_copy(const struct wmk_state *state, const struct wmk_session *session, const char *name, size_t max,
		     const char *to)
{
	uint8_t *bytes;
	long len = wmk_state_read_file(state->dir, name, max, &bytes);
	int err = len < 0 ? (int)len : wmk_state_bytes_write(session->shm, to, SHM_FRESH, bytes, (size_t)len);

	free(bytes);
	if (err == -ENOENT) {
		wmk_error_clear();
		err = 0;
	}
	return err;
}

int wmk_state_shm_ids(const struct wmk_state *state, struct state_entry *entry, const struct wmk_session *session)
{
	char name[STATE_NAME];

	if (entry->shm_ids >= 0)
		close(entry->shm_ids);
	wmk_state_file(name, entry->number, "ids");
	int err = file_copy(state, session, name, IDS_MAX, SHM_IDS);
	entry->shm_ids =
		err < 0 ? -1
			: openat(session->shm, SHM_IDS, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	return err < 0 || entry->shm_ids >= 0
		       ? err
		       : wmk_error(-errno, "cannot write the ids of events beside the rings");
}

int wmk_state_shm_write(const struct wmk_state *state, struct state_entry *entry, const struct wmk_session *session,
			const struct state_session *is)
{
	int err = 0;

	if (session->shm < 0 || state->recovered)
		return 0;
	if (entry->shm_ids < 0) {        /* first write of this daemon */
		err = file_copy(state, session, CLOCK_FILE, CLOCK_MAX, CLOCK_FILE);
		if (err == 0)
			err = wmk_state_shm_ids(state, entry, session);
	}
	return err == 0 ? json_copy(session, is) : err;
}
