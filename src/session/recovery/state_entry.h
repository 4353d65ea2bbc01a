/* SPDX-License-Identifier: MIT */
/*
 * state_entry.h - private to state*.c: the objects in state files, and the sessions that have files.
 */
#ifndef WMK_SESSION_STATE_ENTRY_H
#define WMK_SESSION_STATE_ENTRY_H

#include <pthread.h>

#include "session/recovery/state_file.h"
#include "wire/ctl.h"

#define STATE_DIR "state"
#define STATE_FORMAT 3u              /* of N.json; other formats are rejected */
#define STATE_NAME 40                /* "18446744073709551615.json" */

struct state_channel {
	uint32_t stream_id;
	bool own;
	struct wmk_ctl_channel channel;
};

struct state_rings {
	uint64_t id, uid, pid, start_time, inode;
	uint32_t stream_id, n_contexts;
	uint8_t uuid[16], set[16];
	const char *sub;
};

struct state_session {
	uint32_t format;                 /* STATE_FORMAT */
	const char *name, *path, *trace_name;
	/* a path that is not UTF-8, in hexadecimal: names are UTF-8, paths may contain any bytes */
	const char *path_bytes;
	uint64_t uid, gid, created;
	bool active, started, all_users, full;
	struct wmk_ctl_settings settings;
	struct wmk_ctl_trackers trackers;
	struct wmk_list channels;        /* of struct state_channel */
	struct wmk_list rings;           /* of struct state_rings */
	uint8_t session_uuid[16];
	uint64_t chunk, chunk_begin, chunk_overlap, chunk_offset;
	uint64_t before_overlap, before_offset;
	int64_t chunk_offset_s, before_offset_s;
	const char *closed;
	bool closing;
};
extern const struct wmk_object state_session_object;

/* Header of a record in N.ids; `len` bytes of an encoded event class follow. */
struct state_id {
	uint32_t len, id;
	uint64_t rings;
};

/*
 * A session with files. `is`: the content of N.json until the session is restored; else NULL. `session`: set by the
 * restore or the creation.
 */
struct state_entry {
	struct state_entry *next;
	uint64_t number;
	/*
	 * NULL: not restored yet. (Sessions are compared by address: two sessions may have one name while one of the
	 * two ends.)
	 */
	const struct wmk_session *session;
	int ids;                         /* N.ids, to append to; -1: not open */
	int shm_ids;                     /* likewise, the copy beside rings in files */
	off_t ids_kept;                  /* length of N.ids after its last cleanup */
	uint64_t last_rings;             /* highest number of rings in N.json */
	struct state_session *is;        /* in the arena */
	struct wmk_arena arena;
};

/* state_identities.c */
struct state_identity;
struct state_identities {
	struct state_identity *living;   /* of earlier daemons */
	size_t n_living;
	uint64_t space;
	int fd;                          /* -1: not begun */
};

struct wmk_state {
	int dir;
	char *recovered;                 /* `waymark recover`: path of the directory of rings that is read; else NULL */
	void (*say)(void *data, const char *words);
	void *data;
	pthread_mutex_t lock;            /* protects the list and `next`; the session's lock protects an entry */
	struct state_entry *entries;
	uint64_t next;
	struct state_identities identities;
};

/* ── state_io.c ── */
/* Read a regular file of at most `max` bytes into malloc'd memory. Returns its length or -errno. */
long wmk_state_read_file(int dir, const char *name, size_t max, uint8_t **bytes);
/* Replace the file `name` in directory `dir` atomically: write the file `fresh`, then rename this file. */
int wmk_state_bytes_write(int dir, const char *name, const char *fresh, const void *bytes, size_t len);

/* ── state_file.c ── */
void wmk_state_file(char name[STATE_NAME], uint64_t number, const char *kind);
/* Remove the entry's files, and free the entry. The entry is in no list any more. */
void wmk_state_forget(struct wmk_state *state, struct state_entry *entry);
int wmk_state_file_write(const struct wmk_state *state, const char *name, const char *fresh, const char *text);
/*
 * wmk_state_path_encode() moves a path that is not UTF-8 from `path` to `path_bytes`; wmk_state_path_decode() moves the
 * path back.
 */
int wmk_state_path_encode(struct state_session *is, struct wmk_arena *arena);
int wmk_state_path_decode(struct state_session *is, struct wmk_arena *arena);
/* Write N.json. Locked. */
int wmk_state_write(struct wmk_state *state, struct state_entry *entry, struct wmk_session *session);
/* NULL with a cause chain. */
struct state_entry *wmk_state_entry_for(struct wmk_state *state, const struct wmk_session *session);
void wmk_state_report(const struct wmk_state *state, const char *format, ...) __attribute__((format(printf, 2, 3)));
void wmk_state_entry_free(struct state_entry *entry);

/* ── state_ids.c ── */
#define IDS_MAX (256u << 20)         /* bytes of N.ids */
/* Parse the record at offset `at`. Returns the length of the record with its header; 0: the record is incomplete. */
size_t wmk_state_id_at(const uint8_t *bytes, size_t len, size_t at, struct state_id *head);
/* After N.json was written: remove records of other rings from N.ids if the file has grown. Locked. */
void wmk_state_ids_tidy(struct wmk_state *state, struct state_entry *entry, const struct wmk_session *session,
			const struct state_session *is);

/* ── state_shm.c ── */
#define SHM_IDS "1.ids"
/*
 * If the session has rings in files, write a copy of the state beside these files. `is` was just written to N.json.
 * Locked.
 */
int wmk_state_shm_write(const struct wmk_state *state, struct state_entry *entry, const struct wmk_session *session,
			const struct state_session *is);
/* Copy N.ids again, after N.ids was replaced. */
int wmk_state_shm_ids(const struct wmk_state *state, struct state_entry *entry, const struct wmk_session *session);

/* ── state_clock.c ── */
#define CLOCK_FILE "clock.json"
#define CLOCK_MAX 4096u              /* bytes of the file */

/* ── state_identities.c ── */
void wmk_state_identities_free(struct wmk_state *state);

/* ── state_read.c ── */
int wmk_state_read_all(struct wmk_state *state);

#endif
