/* SPDX-License-Identifier: MIT */
/*
 * state_entry.h - private to state*.c: a session as it stands in a file.
 */
#ifndef WMK_SESSION_STATE_ENTRY_H
#define WMK_SESSION_STATE_ENTRY_H

#include <pthread.h>

#include "session/recovery/state_file.h"
#include "wire/ctl.h"

#define STATE_DIR "state"
#define STATE_FORMAT 2u              /* of N.json; a session daemon reads no other */
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
	/* of a path that is not UTF-8, in hexadecimal: names are, paths may hold any bytes */
	const char *path_bytes;
	uint64_t uid, gid, created;
	bool active, started, all_users, full;
	struct wmk_ctl_settings settings;
	struct wmk_ctl_trackers trackers;
	struct wmk_list channels;        /* of struct state_channel */
	struct wmk_list rings;           /* of struct state_rings */
};
extern const struct wmk_object state_session_object;

/* In N.ids, followed by `len` bytes of an encoded event class. */
struct state_id {
	uint32_t len, id;
	uint64_t rings;
};

/* A session with files: one that was read and not restored yet (`is`), or one that is there. */
struct state_entry {
	struct state_entry *next;
	uint64_t number;
	/* NULL: not restored yet. (Not its name: another may have that while this one ends) */
	const struct wmk_session *session;
	int ids;                         /* N.ids, to append to; -1: not open */
	int shm_ids;                     /* likewise, of the copy beside rings in files */
	off_t ids_kept;                  /* bytes of it that were needed when it was tidied */
	uint64_t last_rings;             /* the highest number that stands in N.json */
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
	char *recovered;                 /* it is beside rings in files, which is its path: `waymark recover` */
	void (*say)(void *data, const char *words);
	void *data;
	pthread_mutex_t lock;            /* of the list and of `next`; an entry is its session's lock's */
	struct state_entry *entries;
	uint64_t next;
	struct state_identities identities;
};

/* ── state_io.c ── */
/* All of a plain file of at most `max` bytes, malloc'd; its length, or -errno. */
long wmk_state_read_file(int dir, const char *name, size_t max, uint8_t **bytes);
/* All of the file `name` in the directory `dir` at once: by way of the file `fresh`. */
int wmk_state_bytes_write(int dir, const char *name, const char *fresh, const void *bytes, size_t len);

/* ── state_file.c ── */
void wmk_state_file(char name[STATE_NAME], uint64_t number, const char *kind);
/* Its files go, and it. Out of the list already. */
void wmk_state_forget(struct wmk_state *state, struct state_entry *entry);
int wmk_state_file_write(const struct wmk_state *state, const char *name, const char *fresh, const char *text);
/* What JSON cannot tell of the path goes into path_bytes; and back. */
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
/* The record that stands at `at`: its length, head and all; 0: no whole one. */
size_t wmk_state_id_at(const uint8_t *bytes, size_t len, size_t at, struct state_id *head);
/* N.json has just been written: what is not of its rings may go. Locked. */
void wmk_state_ids_tidy(struct wmk_state *state, struct state_entry *entry, const struct wmk_session *session,
			const struct state_session *is);

/* ── state_shm.c ── */
#define SHM_IDS "1.ids"
/* The copy beside the session's rings, if these are files. Locked; `is` has just been written. */
int wmk_state_shm_write(const struct wmk_state *state, struct state_entry *entry, const struct wmk_session *session,
			const struct state_session *is);
/* N.ids was written anew. */
int wmk_state_shm_ids(const struct wmk_state *state, struct state_entry *entry, const struct wmk_session *session);

/* ── state_clock.c ── */
#define CLOCK_FILE "clock.json"
#define CLOCK_MAX 4096u              /* bytes of the file */

/* ── state_identities.c ── */
void wmk_state_identities_free(struct wmk_state *state);

/* ── state_read.c ── */
int wmk_state_read_all(struct wmk_state *state);

#endif
