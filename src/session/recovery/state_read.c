/* SPDX-License-Identifier: MIT */
/*
 * state_read.c - restore sessions from the state that an earlier daemon wrote (see state_file.h).
 */
#include "session/model/process_stat.h"
#include "session/model/session_model.h"
#include "session/model/session_report.h"
#include "session/model/shm_path.h"
#include "session/recovery/state_entry.h"
#include "session/recovery/state_file.h"

#include "base/error.h"
#include "ctl/json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Note the number of the rings, so that the number is not reused. */
static void number_seen(struct state_entry *entry, uint64_t rings)
{
	if (rings > entry->last_rings && rings < UINT64_MAX / 2)
		entry->last_rings = rings;
}

/*
 * Reserve the numbers of ended rings, too, because N.ids still has records with these numbers, and these records must
 * not apply to new rings.
 */
static void ids_seen(const struct wmk_state *state, struct state_entry *entry)
{
	char name[STATE_NAME];
	uint8_t *bytes;
	struct state_id head;

	wmk_state_file(name, entry->number, "ids");
	long len = wmk_state_read_file(state->dir, name, IDS_MAX, &bytes);
	for (size_t at = 0, size; len > 0 && (size = wmk_state_id_at(bytes, (size_t)len, at, &head)) != 0; at += size)
		number_seen(entry, head.rings);
	free(bytes);
	wmk_error_clear();
}

/* Check the format first: other formats have other members. A file without the member `format` has format 1. */
static int format_check(const char *text, size_t len)
{
	uint64_t format;
	const int err = wmk_json_number(text, len, "format", &format);

	if (err < 0 || format == STATE_FORMAT)
		return err;
	return wmk_errorx(-ENOTSUP,
			  "the state has format %llu of another session daemon version: this version reads format %u",
			  (unsigned long long)(format ? format : 1), STATE_FORMAT);
}

static int entry_read(struct wmk_state *state, uint64_t number, struct state_entry **out)
{
	struct state_entry *entry = calloc(1, sizeof(*entry));
	char name[STATE_NAME];
	uint8_t *text = NULL;

	if (!entry)
		return wmk_error(-ENOMEM, "no memory for a session's state");
	entry->number = number;
	entry->ids = entry->shm_ids = -1;
	wmk_state_file(name, number, "json");
	long len = wmk_state_read_file(state->dir, name, WMK_JSON_MAX, &text);
	entry->is = wmk_arena_alloc(&entry->arena, sizeof(*entry->is));
	int err = len < 0 ? (int)len : entry->is ? format_check((const char *)text, (size_t)len) : -ENOMEM;
	if (err == 0)
		err = wmk_json_read(&state_session_object, (const char *)text, (size_t)len, entry->is, &entry->arena);
	free(text);
	if (err == 0)
		err = wmk_state_path_decode(entry->is, &entry->arena);
	if (err < 0) {
		wmk_state_entry_free(entry);
		return err;
	}
	for (uint32_t i = 0; i < entry->is->rings.n; i++)
		number_seen(entry, ((const struct state_rings *)entry->is->rings.items)[i].id);
	ids_seen(state, entry);
	*out = entry;
	return 0;
}

/* Return N of the file name "N.<kind>"; 0: another name. */
static uint64_t number_in(const char *name, const char *kind)
{
	char *end, again[STATE_NAME];

	errno = 0;
	unsigned long long number = strtoull(name, &end, 10);
	if (errno || number == 0 || number >= UINT64_MAX / 2)
		return 0;
	wmk_state_file(again, number, kind);
	return strcmp(name, again) == 0 ? number : 0;
}

/*
 * Insert the newest session first: if two sessions have the same name, the older session was being destroyed when its
 * daemon was killed.
 */
static void entry_enter(struct wmk_state *state, struct state_entry *entry)
{
	struct state_entry **at = &state->entries;

	while (*at && (*at)->number > entry->number)
		at = &(*at)->next;
	entry->next = *at;
	*at = entry;
}

int wmk_state_read_all(struct wmk_state *state)
{
	int fd = openat(state->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *file;
	char words[400];

	if (!dir) {
		int err = wmk_error(-errno, "cannot list the state directory");

		if (fd >= 0)
			close(fd);
		return err;
	}
	while ((file = readdir(dir)) != NULL) {
		uint64_t number = number_in(file->d_name, "json"), ids = number_in(file->d_name, "ids");
		struct state_entry *entry = NULL;

		if (number >= state->next)
			state->next = number + 1;
		if (ids >= state->next)
			state->next = ids + 1;
		if (number == 0)
			continue;
		if (entry_read(state, number, &entry) < 0) {
			wmk_state_report(state, "cannot read the session in %s (the file is kept): %s", file->d_name,
				      wmk_error_text(words, sizeof(words)));
			wmk_error_clear();
			continue;
		}
		entry_enter(state, entry);
	}
	closedir(dir);
	return 0;
}

/* ── sessions ────────────────────────────────────────────────────────────────────────────────────────── */

static int channels_restore(const struct state_session *is, struct wmk_session *session)
{
	int err = 0;

	for (uint32_t i = 0; i < is->channels.n && err == 0; i++) {
		const struct state_channel *c = (const struct state_channel *)is->channels.items + i;

		err = wmk_session_restore_channel(session, &c->channel, c->stream_id, c->own);
	}
	return err;
}

/* Queries to the consumer daemon about rings. */
struct state_consumer {
	wmk_state_held *held;
	wmk_rings_gone *gone;
	void *data;
};

/*
 * True if the process has ended and the consumer daemon holds no rings of its trace. If the result is true, the
 * consumer daemon has written the trace, and the session daemon was killed before it updated the state.
 */
static bool is_over(const struct state_session *is, const struct state_rings *r, const struct state_consumer *consumer)
{
	if (r->pid == 0 || wmk_process_lives((pid_t)r->pid, r->start_time))
		return false;
	for (uint32_t i = 0; i < is->rings.n; i++) {
		const struct state_rings *other = (const struct state_rings *)is->rings.items + i;

		if (memcmp(other->uuid, r->uuid, sizeof(r->uuid)) == 0 &&
		    consumer->held(consumer->data, other->uuid, other->stream_id) != -ENOENT)
			return false;
	}
	return true;
}

/*
 * True if the rings belong to a process, and the consumer daemon has released the rings and has their counts. A true
 * result shows that the earlier session daemon ended before it received the counts. Adds the counts to the channel.
 */
static bool is_counted(const struct state_rings *r, struct wmk_session *session, const struct state_consumer *consumer)
{
	return r->pid != 0 && consumer->gone && consumer->held(consumer->data, r->uuid, r->stream_id) == -ENOENT &&
	       wmk_session_restore_gone(session, r->uuid, r->stream_id, consumer->gone, consumer->data) == 0;
}

static int rings_restore_one(const struct state_session *is, const struct state_rings *r, struct wmk_session *session,
			     const struct state_consumer *consumer)
{
	struct wmk_restored_rings rings = { .id = r->id,
					    .stream_id = r->stream_id,
					    .uid = (uid_t)r->uid,
					    .pid = (pid_t)r->pid,
					    .start_time = r->start_time,
					    .sub = r->sub,
					    .inode = r->inode,
					    .n_contexts = r->n_contexts };

	memcpy(rings.uuid, r->uuid, sizeof(rings.uuid));
	memcpy(rings.set_uuid, r->set, sizeof(rings.set_uuid));
	if (r->uid >= UINT32_MAX || r->pid > INT32_MAX)
		return wmk_error(-EINVAL, "invalid user %llu or process %llu", (unsigned long long)r->uid,
				 (unsigned long long)r->pid);
	if (is_counted(r, session, consumer) || is_over(is, r, consumer))
		return 0;
	int fd = consumer->held(consumer->data, r->uuid, r->stream_id);
	return wmk_session_restore_rings(session, &rings, fd >= 0 ? fd : -1);
}

/*
 * Returns the first error if no rings can be restored. If some of the rings can be restored, the function reports the
 * errors of the other rings, and the session continues.
 */
static int rings_restore(const struct wmk_state *state, const struct state_session *is, struct wmk_session *session,
			 const struct state_consumer *consumer)
{
	uint32_t failed = 0;
	int first = 0;
	char words[400] = "";

	for (uint32_t i = 0; i < is->rings.n; i++) {
		int err = rings_restore_one(is, (const struct state_rings *)is->rings.items + i, session, consumer);

		if (err >= 0)
			continue;
		if (failed++ == 0) {
			wmk_error_text(words, sizeof(words));
			first = err;
			if (state->recovered)    /* a recovery has no log that a user reads */
				wmk_session_report(session, err, "cannot take over all rings of the session");
		}
		wmk_error_clear();
	}
	if (failed && failed == is->rings.n)
		return wmk_error(first, "cannot take over any ring of the session: %.200s", words);
	if (failed)
		wmk_state_report(state, "session %.100s: %u of its %u rings cannot be taken over: %s", is->name, failed,
				 is->rings.n, words);
	return 0;
}

static int id_restore(struct wmk_session *session, const struct state_id *head, const uint8_t *bytes)
{
	struct wmk_event_class *event;
	int err = wmk_event_decode(bytes, head->len, &event);

	return err < 0 ? err : wmk_session_restore_id(session, head->rings, head->id, event);
}

/*
 * True if a later record replaces this record. If two records of the same rings have one id, the later record is valid.
 * No other record of these rings separates the two records, so the function compares only the next record of these
 * rings.
 */
static bool superseded(const uint8_t *bytes, size_t len, const struct state_id *head)
{
	struct state_id next;

	for (size_t at = 0, size; (size = wmk_state_id_at(bytes, len, at, &next)) != 0; at += size)
		if (next.rings == head->rings)
			return next.id == head->id;
	return false;
}

/*
 * Restore ids up to the first incomplete record. The writer of an incomplete record was killed, and no application
 * received the id of that record. The function truncates the file before the incomplete record, so that the session
 * daemon can append records.
 */
static int ids_restore(struct wmk_state *state, struct state_entry *entry, struct wmk_session *session)
{
	char name[STATE_NAME];
	uint8_t *bytes;
	size_t at = 0, size;
	struct state_id head;
	int err = 0;

	wmk_state_file(name, entry->number, "ids");
	long len = wmk_state_read_file(state->dir, name, IDS_MAX, &bytes);
	if (len == -ENOENT) {
		wmk_error_clear();
		return 0;
	}
	while (len > 0 && (size = wmk_state_id_at(bytes, (size_t)len, at, &head)) != 0) {
		const uint8_t *event = bytes + at + sizeof(head);

		at += size;
		int one = superseded(bytes + at, (size_t)len - at, &head) ? 0 : id_restore(session, &head, event);
		if (one == -ENOENT)      /* a record of ended rings */
			wmk_error_clear();
		else if (one < 0 && err == 0)
			err = one;
	}
	free(bytes);
	if (len >= 0) {
		entry->ids = openat(state->dir, name, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
		if (entry->ids < 0 || ((size_t)len > at && ftruncate(entry->ids, (off_t)at) != 0))
			err = wmk_error(-errno, "cannot append to %s", name);
	}
	return len < 0 ? (int)len : err;
}

/* End the partly restored session. */
static void give_up(struct wmk_tracing *tracing, struct wmk_session *session)
{
	(void)tracing;
	if (wmk_session_restore_end(session) == 0 && wmk_session_lock(session) == 0) {
		wmk_session_destroy(session);
		wmk_session_unlock(session);
		wmk_session_finish(session, NULL, NULL);
	}
}

/*
 * Recover all rings or none: a later recovery could not find the other rings. A recovery locks the rings before the
 * directory, so a daemon that takes over a running session never finds the directory locked.
 */
static int recovered_check(const struct wmk_state *state, const struct state_session *is)
{
	int err = 0;

	for (uint32_t i = 0; state->recovered && i < is->rings.n && err == 0; i++) {
		int fd = wmk_shm_file_open(state->dir, ((const struct state_rings *)is->rings.items)[i].id, true);

		err = fd == -EBUSY ? fd : 0;
		if (fd >= 0)
			close(fd);
		else if (err == 0)
			wmk_error_clear();
	}
	return err < 0 || !state->recovered ? err : wmk_shm_lock(state->dir, true);
}

static int session_restore(struct wmk_state *state, struct state_entry *entry, struct wmk_tracing *tracing,
			   const struct state_consumer *consumer)
{
	const struct state_session *is = entry->is;
	struct wmk_session_options options = {
		.name = is->name,
		.path = is->path,
		.uid = (uid_t)is->uid,
		.gid = (gid_t)is->gid,
		.all_users = is->all_users,
		.trace_name = *is->trace_name ? is->trace_name : NULL,
		.settings = is->settings,
		.shm = WMK_SHM_THERE,
	};
	struct wmk_session_chunk chunk = { .number = is->chunk,
					   .begin = is->chunk_begin,
					   .overlap_ns = is->chunk_overlap,
					   .offset_s = is->chunk_offset_s,
					   .offset = is->chunk_offset,
					   .before = { is->before_overlap, is->before_offset_s, is->before_offset },
					   .closing = is->closing };
	const struct wmk_ctl_session as = { .created = is->created,
					    .active = is->active,
					    .started = is->started,
					    .full = is->full,
					    .trackers = is->trackers };
	struct wmk_session *session;
	char words[400];

	memcpy(chunk.session_uuid, is->session_uuid, sizeof(chunk.session_uuid));
	snprintf(chunk.closed, sizeof(chunk.closed), "%s", is->closed);
	options.chunk = &chunk;
	int err = is->uid >= UINT32_MAX || is->gid >= UINT32_MAX ? wmk_error(-EINVAL, "invalid uid or gid of its owner")
								 : recovered_check(state, is);

	if (state->recovered) {
		options.settings.shm_path = state->recovered;
		options.shm = WMK_SHM_RECOVERED;
		options.settings.snapshot = false;       /* the records in the rings are written to the trace */
	}
	if (err == 0)
		err = wmk_session_restore(tracing, &options, &as, &session);
	if (err < 0)
		return err;
	err = channels_restore(is, session);
	if (err == 0)
		err = rings_restore(state, is, session, consumer);
	if (err == 0)
		err = ids_restore(state, entry, session);
	entry->session = session;
	/*
	 * If the state cannot be written again, the old file stays and the session continues. (A recovery does not
	 * change the file: it describes all rings until the recovery is over.)
	 */
	if (err == 0 && !state->recovered && wmk_state_write(state, entry, session) < 0) {
		wmk_state_report(state, "session %.100s continues, but its state cannot be written: %s", is->name,
			      wmk_error_text(words, sizeof(words)));
		wmk_error_clear();
	}
	if (err < 0) {

		wmk_error_text(words, sizeof(words));
		give_up(tracing, session);
		wmk_error(err, "%.300s", words);
	} else {
		err = wmk_session_restore_end(session);
	}
	wmk_session_put(session);
	return err;
}

unsigned wmk_state_restore(struct wmk_state *state, struct wmk_tracing *tracing, wmk_state_held *held,
			   wmk_rings_gone *gone, void *data)
{
	const struct state_consumer consumer = { held, gone, data };
	char words[400];
	unsigned n = 0;

	for (struct state_entry **at = &state->entries; *at;) {
		struct state_entry *entry = *at;

		if (!entry->is || session_restore(state, entry, tracing, &consumer) == 0) {
			n += entry->is != NULL;
			entry->is = NULL;
			wmk_arena_free(&entry->arena);
			at = &entry->next;
			continue;
		}
		wmk_state_report(state, "session %.100s cannot be taken over and ends: %s", entry->is->name,
			      wmk_error_text(words, sizeof(words)));
		wmk_error_clear();
		*at = entry->next;
		if (state->recovered)
			wmk_state_entry_free(entry);     /* the files stay for an investigation */
		else
			wmk_state_forget(state, entry);
	}
	return n;
}
