/* SPDX-License-Identifier: MIT */
/*
 * state_file.c - write the state of sessions (see state_file.h).
 *
 * A file is written under a new name and then renamed. Ids are appended, each with one write. The state therefore
 * survives any end of the process. (After the machine has crashed, there are no rings to take over.)
 */
#include "session/recovery/state_file.h"

#include "base/error.h"
#include "base/utf8.h"
#include "ctl/json.h"
#include "session/model/session_model.h"
#include "session/model/shm_path.h"
#include "session/recovery/state_entry.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ── description of the objects ──────────────────────────────────────────────────────────────────────── */

static const struct wmk_member channel_members[] = {
	WMK_MEMBER(U32, state_channel, stream_id),
	WMK_MEMBER(BOOL, state_channel, own),
	WMK_MEMBER(OBJECT, state_channel, channel, wmk_ctl_channel, wmk_ctl_channel_object),
};
static const struct wmk_object channel_object = WMK_OBJECT_OF("channel", state_channel, channel_members);

static const struct wmk_member rings_members[] = {
	WMK_MEMBER(U64, state_rings, id),
	WMK_MEMBER(U64, state_rings, uid),
	WMK_MEMBER(U64, state_rings, pid),
	WMK_MEMBER(U64, state_rings, start_time),
	WMK_MEMBER(U32, state_rings, stream_id),
	WMK_MEMBER(U32, state_rings, n_contexts),
	WMK_MEMBER(UUID, state_rings, uuid),
	WMK_MEMBER(TEXT, state_rings, sub, 255),
	WMK_MEMBER(UUID, state_rings, set),
	WMK_MEMBER(U64, state_rings, inode),
};
static const struct wmk_object rings_object = WMK_OBJECT_OF("rings", state_rings, rings_members);

static const struct wmk_member session_members[] = {
	WMK_MEMBER(U32, state_session, format),
	WMK_MEMBER(TEXT, state_session, name, WMK_CTL_NAME_MAX),
	WMK_MEMBER(TEXT, state_session, path, WMK_OBJECT_TEXT_MAX),
	WMK_MEMBER(TEXT, state_session, path_bytes, 2 * WMK_OBJECT_TEXT_MAX),
	WMK_MEMBER(TEXT, state_session, trace_name, WMK_CTL_NAME_MAX),
	WMK_MEMBER(U64, state_session, uid),
	WMK_MEMBER(U64, state_session, gid),
	WMK_MEMBER(U64, state_session, created),
	WMK_MEMBER(BOOL, state_session, active),
	WMK_MEMBER(BOOL, state_session, started),
	WMK_MEMBER(BOOL, state_session, all_users),
	WMK_CTL_SETTINGS_SIZE(state_session),
	WMK_MEMBER(BOOL, state_session, full),
	WMK_CTL_SETTINGS(state_session),
	WMK_MEMBER(OBJECT, state_session, trackers, wmk_ctl_trackers, wmk_ctl_trackers_object),
	WMK_MEMBER(LIST, state_session, channels, channel_object, 64),
	WMK_MEMBER(LIST, state_session, rings, rings_object, 65536),
	WMK_MEMBER(UUID, state_session, session_uuid),
	WMK_MEMBER(U64, state_session, chunk),
	WMK_MEMBER(U64, state_session, chunk_begin),
	WMK_MEMBER(U64, state_session, chunk_overlap),
	WMK_MEMBER(I64, state_session, chunk_offset_s),
	WMK_MEMBER(U64, state_session, chunk_offset),
	WMK_MEMBER(U64, state_session, before_overlap),
	WMK_MEMBER(I64, state_session, before_offset_s),
	WMK_MEMBER(U64, state_session, before_offset),
	WMK_MEMBER(TEXT, state_session, closed, WMK_CHUNK_NAME - 1),
	WMK_MEMBER(BOOL, state_session, closing),
};
const struct wmk_object state_session_object = WMK_OBJECT_OF("session", state_session, session_members);

int wmk_state_path_encode(struct state_session *is, struct wmk_arena *arena)
{
	const size_t len = strlen(is->path);

	if (wmk_utf8_is(is->path))
		return 0;
	char *hex = wmk_arena_alloc(arena, 2 * len + 1);
	if (!hex)
		return -ENOMEM;
	for (size_t i = 0; i < len; i++)
		snprintf(hex + 2 * i, 3, "%02x", (unsigned char)is->path[i]);
	is->path_bytes = hex;
	is->path = "";                   /* escaped as JSON it could exceed the limit of a string */
	return 0;
}

int wmk_state_path_decode(struct state_session *is, struct wmk_arena *arena)
{
	const size_t len = strlen(is->path_bytes);
	unsigned byte = 1;

	if (len == 0)
		return 0;
	char *path = wmk_arena_alloc(arena, len / 2 + 1);
	if (!path)
		return -ENOMEM;
	for (size_t i = 0; i < len && byte; i += 2) {
		if (strspn(is->path_bytes + i, "0123456789abcdef") < 2 || sscanf(is->path_bytes + i, "%2x", &byte) != 1)
			byte = 0;
		path[i / 2] = (char)byte;
	}
	is->path = path;
	return byte ? 0 : wmk_error(-EINVAL, "path_bytes is not a path in hexadecimal");
}

/* ── shared with state_*.c ───────────────────────────────────────────────────────────────────────────── */

void wmk_state_file(char name[STATE_NAME], uint64_t number, const char *kind)
{
	snprintf(name, STATE_NAME, "%" PRIu64 ".%s", number, kind);
}

void wmk_state_report(const struct wmk_state *state, const char *format, ...)
{
	char words[600];
	va_list args;

	if (!state->say)
		return;
	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	state->say(state->data, words);
}

void wmk_state_entry_free(struct state_entry *entry)
{
	if (entry->ids >= 0)
		close(entry->ids);
	if (entry->shm_ids >= 0)
		close(entry->shm_ids);
	wmk_arena_free(&entry->arena);
	free(entry);
}

void wmk_state_forget(struct wmk_state *state, struct state_entry *entry)
{
	char name[STATE_NAME];

	wmk_state_file(name, entry->number, "json");
	unlinkat(state->dir, name, 0);
	wmk_state_file(name, entry->number, "ids");
	unlinkat(state->dir, name, 0);
	wmk_state_entry_free(entry);
}

/* ── write a session's file ──────────────────────────────────────────────────────────────────────────── */

struct gathering {
	struct state_session *is;
	struct wmk_arena *arena;
	uint64_t last_rings;
};

static int gather_channel(void *data, const struct wmk_ctl_channel *is, uint32_t stream_id, bool own)
{
	struct gathering *g = data;
	struct state_channel *made = wmk_arena_append(g->arena, &g->is->channels, sizeof(*made));

	if (!made)
		return -ENOMEM;
	made->stream_id = stream_id;
	made->own = own;
	made->channel = *is;             /* its pointers refer to the session, which is locked */
	return 0;
}

static int gather_rings(void *data, const struct wmk_restored_rings *is)
{
	struct gathering *g = data;
	struct state_rings *made = wmk_arena_append(g->arena, &g->is->rings, sizeof(*made));

	if (!made)
		return -ENOMEM;
	*made = (struct state_rings){ .id = is->id, .uid = is->uid, .pid = (uint64_t)is->pid,
				      .start_time = is->start_time, .stream_id = is->stream_id, .sub = is->sub,
				      .inode = is->inode, .n_contexts = is->n_contexts };
	memcpy(made->uuid, is->uuid, sizeof(made->uuid));
	memcpy(made->set, is->set_uuid, sizeof(made->set));
	if (is->id > g->last_rings)
		g->last_rings = is->id;
	return 0;
}

int wmk_state_file_write(const struct wmk_state *state, const char *name, const char *fresh, const char *text)
{
	return wmk_state_bytes_write(state->dir, name, fresh, text, strlen(text));
}

int wmk_state_write(struct wmk_state *state, struct state_entry *entry, struct wmk_session *session)
{
	struct state_session is = {
		.format = STATE_FORMAT,
		.name = session->name,
		.path = session->path,
		.trace_name = session->trace_name,
		.uid = session->uid,
		.gid = session->gid,
		.created = session->created,
		.active = session->active,
		.started = session->started,
		.all_users = session->all_users,
		.settings = session->settings,
		.full = session->full,
		.trackers = session->trackers,
		.chunk = session->chunk.number,
		.chunk_begin = session->chunk.begin,
		.chunk_overlap = session->chunk.overlap_ns,
		.chunk_offset_s = session->chunk.offset_s,
		.chunk_offset = session->chunk.offset,
		.before_overlap = session->chunk.before.overlap_ns,
		.before_offset_s = session->chunk.before.offset_s,
		.before_offset = session->chunk.before.offset,
		.closed = session->chunk.closed,
		.closing = session->chunk.closing,
	};
	struct wmk_arena arena = { 0 };
	struct gathering g = { &is, &arena, entry->last_rings };
	char name[STATE_NAME], fresh[STATE_NAME], *text = NULL;
	int err = wmk_state_path_encode(&is, &arena);

	memcpy(is.session_uuid, session->chunk.session_uuid, sizeof(is.session_uuid));
	if (err == 0)
		err = wmk_session_each_channel(session, gather_channel, &g);
	if (err == 0)
		err = wmk_session_each_rings(session, gather_rings, &g);
	if (err == 0)
		err = wmk_json_text(&state_session_object, &is, WMK_JSON_SPARSE, &text);
	wmk_state_file(name, entry->number, "json");
	wmk_state_file(fresh, entry->number, "new");
	if (err == 0)
		err = wmk_state_file_write(state, name, fresh, text);
	if (err == 0) {
		entry->last_rings = g.last_rings;
		wmk_state_ids_tidy(state, entry, session, &is);
		err = wmk_state_shm_write(state, entry, session, &is);
	}
	free(text);
	wmk_arena_free(&arena);
	return err;
}

/* ── changes of sessions ─────────────────────────────────────────────────────────────────────────────── */

static struct state_entry **find(struct wmk_state *state, const struct wmk_session *session)
{
	struct state_entry **at = &state->entries;

	while (*at && (*at)->session != session)
		at = &(*at)->next;
	return at;
}

static struct state_entry *entry_make(struct wmk_state *state, const struct wmk_session *session)
{
	struct state_entry *entry = calloc(1, sizeof(*entry));

	if (!entry) {
		wmk_error(-ENOMEM, "no memory for a session's state");
		return NULL;
	}
	entry->session = session;
	entry->ids = entry->shm_ids = -1;
	entry->number = state->next++;
	entry->next = state->entries;
	state->entries = entry;
	return entry;
}

struct state_entry *wmk_state_entry_for(struct wmk_state *state, const struct wmk_session *session)
{
	pthread_mutex_lock(&state->lock);
	struct state_entry *entry = *find(state, session);
	if (!entry)
		entry = entry_make(state, session);
	pthread_mutex_unlock(&state->lock);
	return entry;
}

int wmk_state_changed(struct wmk_state *state, struct wmk_session *session, bool gone)
{
	struct state_entry *entry;

	/*
	 * The session was destroyed while its lock was released: the thread that destroyed the session removes the
	 * session's files.
	 */
	if (!gone && session->gone)
		return 0;
	if (!gone) {
		entry = wmk_state_entry_for(state, session);
		return entry ? wmk_state_write(state, entry, session) : -ENOMEM;
	}
	pthread_mutex_lock(&state->lock);
	struct state_entry **at = find(state, session);
	entry = *at;
	if (entry)
		*at = entry->next;
	pthread_mutex_unlock(&state->lock);
	if (entry && state->recovered)
		/* the copy of the state beside the rings stays as long as any file of these rings */
		wmk_state_entry_free(entry);
	else if (entry)
		wmk_state_forget(state, entry);
	if (session->shm >= 0)
		wmk_shm_remove(session->shm, session->settings.shm_path, session->recovered);
	return 0;
}

/* ── open and close ──────────────────────────────────────────────────────────────────────────────────── */

static int dir_open(int rundir, int *dir)
{
	struct stat st;

	if (mkdirat(rundir, STATE_DIR, 0700) != 0 && errno != EEXIST)
		return wmk_error(-errno, "cannot create the state directory");
	*dir = openat(rundir, STATE_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*dir < 0 || fstat(*dir, &st) != 0)
		return wmk_error(-errno, "cannot open the state directory");
	if (st.st_uid != geteuid() || (st.st_mode & 077))
		return wmk_errorx(-EACCES,
				  "the state directory belongs to user %u and has mode %04o: it must belong to the "
				  "daemon's user and have mode 0700",
				  (unsigned)st.st_uid, (unsigned)st.st_mode & 07777);
	return 0;
}

int wmk_state_open(int rundir, const char *recovered, void (*say)(void *data, const char *words), void *data,
		   struct wmk_state **out)
{
	struct wmk_state *state = calloc(1, sizeof(*state));

	if (!state)
		return wmk_error(-ENOMEM, "no memory for the state");
	pthread_mutex_init(&state->lock, NULL);
	state->dir = state->identities.fd = -1;
	state->say = say;
	state->data = data;
	state->next = 1;
	state->recovered = recovered ? strdup(recovered) : NULL;
	int err = recovered && !state->recovered ? wmk_error(-ENOMEM, "no memory for the state") :
		  recovered ? wmk_shm_open(recovered, &state->dir) : dir_open(rundir, &state->dir);
	if (err == 0)
		err = wmk_state_read_all(state);
	if (err < 0) {
		wmk_state_close(state);
		return err;
	}
	*out = state;
	return 0;
}

void wmk_state_close(struct wmk_state *state)
{
	if (!state)
		return;
	while (state->entries) {
		struct state_entry *entry = state->entries;

		state->entries = entry->next;
		wmk_state_entry_free(entry);
	}
	wmk_state_identities_free(state);
	if (state->dir >= 0)
		close(state->dir);
	pthread_mutex_destroy(&state->lock);
	free(state->recovered);
	free(state);
}

unsigned wmk_state_sessions(const struct wmk_state *state)
{
	unsigned n = 0;

	for (const struct state_entry *entry = state->entries; entry; entry = entry->next)
		n++;
	return n;
}

uint64_t wmk_state_last_rings(const struct wmk_state *state)
{
	uint64_t last = 0;

	for (const struct state_entry *entry = state->entries; entry; entry = entry->next)
		if (entry->last_rings > last)
			last = entry->last_rings;
	return last;
}
