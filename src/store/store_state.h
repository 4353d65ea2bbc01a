/* SPDX-License-Identifier: MIT */
/*
 * store_state.h - the store and its streams, as the files of src/store see them.
 */
#ifndef WMK_STORE_STORE_STATE_H
#define WMK_STORE_STORE_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "store/direct_io.h"
#include "store/store.h"

struct wmk_file_identity;

struct wmk_store {
	char *path;                /* of the whole trace, as given */
	char *sub;                 /* beneath it; NULL: it was there already */
	int dir;                   /* of the metadata and streams */
	int index_dir;
	int metadata;
	bool is_live;              /* it has the file that says so, which it removes when it is closed */
	struct wmk_file_identity *identity; /* with which its files are made; NULL: the thread's own */
	uint64_t metadata_len;     /* of whole declarations */
	pthread_mutex_t lock;      /* metadata, metadata_len */
	struct wmk_direct_rates rates;
	_Atomic uint64_t bytes;    /* in all files; a count for people: relaxed */
	struct wmk_store_budget *budget;  /* the caller's; NULL: no limit */
	uint64_t keep_free;        /* of the file system; 0: nothing */
	/* bytes written since that was looked at, by all writing threads; a count: relaxed */
	_Atomic uint64_t unchecked;
};

#define WMK_STORE_NAME 288
#define WMK_STORE_STREAM_NAME_MAX 220u

struct wmk_store_stream {
	struct wmk_store *store;
	char name[WMK_STORE_STREAM_NAME_MAX + 1];
	struct wmk_store_limits limits;   /* size 0: one file */
	uint64_t number;           /* of the file that is written to */
	uint64_t others, others_index;    /* bytes of its other files; of their indexes when it was opened */
	bool full;                 /* the next packet begins a new file: decided when it was placed */
	int fd, index;             /* index: -1 once it could not be kept true */
	uint64_t len, index_len;   /* of whole packets, of their entries */
	uint64_t last;             /* where the last packet begins */
	struct wmk_direct direct;
};

/* budget.c: so many bytes more are there, or fewer. */
void wmk_store_add_bytes(struct wmk_store *store, int64_t more);
/* The same of what was there when the store was opened: the budget alone has it. */
void wmk_store_budget_add(struct wmk_store *store, int64_t more);
/*
 * Reserves `bytes` of the budget for a write that follows; wmk_store_budget_release() returns the reservation once the
 * write is counted. `going`: bytes that are deleted after that write. 0, else -EDQUOT.
 */
int wmk_store_budget_reserve(struct wmk_store *store, uint64_t bytes, uint64_t deleted);
void wmk_store_budget_release(struct wmk_store *store, uint64_t bytes);
/* So many more leave what is to stay free on the disk: 0, else -ENOSPC. */
int wmk_store_check_free(struct wmk_store *store, uint64_t bytes);
/*
 * What goes is not measured meanwhile. For as long as that takes: who holds it keeps others from rotating their files.
 */
void wmk_store_budget_lock(struct wmk_store *store);
void wmk_store_budget_unlock(struct wmk_store *store);

/*
 * store.c: each entry but "." and "..". Takes the descriptor (or a -errno, which it returns); the first value that is
 * not 0 ends it.
 */
int wmk_store_each_entry(int dir, int (*one)(void *data, int at, const char *name), void *data);

/* stream_files.c: the files of one stream. `name`: WMK_STORE_NAME bytes. */
void wmk_store_file_name(const struct wmk_store_stream *stream, uint64_t number, char *name);
void wmk_store_index_name(const struct wmk_store_stream *stream, uint64_t number, char *name);
/*
 * Of the file that is about to take the only one's place; readers pass over it. Removed: what one who was killed has
 * left of it.
 */
void wmk_store_next_name(const struct wmk_store_stream *stream, char *name);
void wmk_store_next_remove(const struct wmk_store_stream *stream);
/* It takes the place. 0 or -errno. The store's bytes are less by what was there. */
int wmk_store_file_replace(struct wmk_store_stream *stream);
/* Removes a file and its index, if they are there; returns how long the file was. The store's bytes are less then. */
uint64_t wmk_store_file_remove(struct wmk_store_stream *stream, uint64_t number);
/* All of them. 0 or the first -errno. */
int wmk_store_files_remove(struct wmk_store_stream *stream);
/* Removes what a store found there when it was opened: the budget alone has it. Nothing to do when it is not there. */
void wmk_store_remove_uncounted(struct wmk_store *store, int dir, const char *name);
/*
 * Which file was written last: stream->number, and the bytes of the others. A newer one without a packet is removed.
 * -ENOENT: there is none; -EPROTO: it is another trace's.
 */
int wmk_store_find_newest(struct wmk_store_stream *stream, const uint8_t uuid[16]);

/*
 * Write all of `iov` at `offset`, or cut the file back to `offset` and return -errno. The iovecs are not changed. A
 * signal or a short write is continued.
 */
int wmk_store_write_whole(int fd, const struct iovec *iov, int n, uint64_t offset);

/*
 * Act with these rights: 1, or 0 when there is nothing to do (NULL, or the thread does already), or -errno. Then leave
 * with that value.
 */
int wmk_file_identity_enter(struct wmk_file_identity *identity);
void wmk_file_identity_leave(int entered);
/* Whose files are ours. */
uid_t wmk_file_identity_uid(const struct wmk_file_identity *identity);
/* Those with which this thread acts, NULL if they are its own: the caller's, until wmk_file_identity_unref(). */
struct wmk_file_identity *wmk_file_identity_ref(void);
void wmk_file_identity_unref(struct wmk_file_identity *identity);

#endif
