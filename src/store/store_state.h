/* SPDX-License-Identifier: MIT */
/*
 * store_state.h - structures and functions that the files of src/store share.
 */
#ifndef WMK_STORE_STORE_STATE_H
#define WMK_STORE_STORE_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "store/direct_io.h"
#include "store/store.h"

struct wmk_file_identity;

/* The file .clock or .clock.relay, which is opened when its first point is written. Under the store's lock. */
struct wmk_store_clock {
	int fd;                    /* -1: not open */
	uint64_t len;              /* size of the begin of the file and its whole points, in bytes; 0: no point */
	uint64_t last;             /* clock value of the last point */
};

struct wmk_store {
	char *path;                /* of the whole trace, as passed by the caller */
	char *sub;                 /* path below `path`; NULL: the directory already existed */
	int dir;                   /* of the metadata and streams */
	int index_dir;
	int metadata;
	int live;                  /* the file .live (followed.h), which the close removes; -1: none */
	struct wmk_file_identity *identity; /* identity for the store's files; NULL: the identity of the thread */
	uint64_t metadata_len;     /* bytes of whole declarations */
	struct wmk_store_clock clock, relay_clock;
	pthread_mutex_t lock;      /* protects metadata, metadata_len, clock, relay_clock */
	struct wmk_direct_rates rates;
	_Atomic uint64_t bytes;    /* bytes in all files; for reports: relaxed */
	struct wmk_store_budget *budget;  /* owned by the caller; NULL: no limit */
	uint64_t keep_free;        /* bytes of the file system; 0: no reserve */
	/* bytes that all threads have written since the last check of free space; a count: relaxed */
	_Atomic uint64_t unchecked;
};

#define WMK_STORE_NAME 288
#define WMK_STORE_STREAM_NAME_MAX 220u

struct wmk_store_stream {
	struct wmk_store *store;
	char name[WMK_STORE_STREAM_NAME_MAX + 1];
	struct wmk_store_limits limits;   /* size 0: one file */
	uint64_t number;           /* number of the current file */
	uint64_t others, others_index;    /* bytes of its other files; bytes of their indexes when it was opened */
	bool full;                 /* the next packet begins a new file; set by wmk_store_stream_prepare() */
	int fd, index;             /* index: -1 after an error */
	uint64_t len, index_len;   /* bytes of whole packets, of their index entries */
	uint64_t last;             /* offset of the last packet */
	struct wmk_direct direct;
	bool synced;               /* wmk_store_stream_sync() was called: sync a file before it is closed */
	int sync_err;              /* such a sync has failed; reported by the next wmk_store_stream_sync() */
};
/* stream.c: the file has the whole packet at its end: add the packet to the index and the counts. */
void wmk_store_packet_written(struct wmk_store_stream *stream, const struct wmk_ctf_packet *packet);
/* disk_sync.c: write the current file and its index to the disk. 0 or -errno. */
int wmk_store_file_sync(const struct wmk_store_stream *stream);

/* budget.c: add `more` bytes (may be negative) to the counts of the store and the budget. */
void wmk_store_add_bytes(struct wmk_store *store, int64_t more);
/*
 * Like wmk_store_add_bytes(), for files that existed before the store was opened. Only the budget counts files that
 * existed before the store was opened.
 */
void wmk_store_budget_add(struct wmk_store *store, int64_t more);
/*
 * Reserve `bytes` of the budget for the following write. wmk_store_budget_release() returns the reservation once the
 * write is counted. `deleted` is the number of bytes that the caller will delete after it has written `bytes`. 0, else
 * -EDQUOT.
 */
int wmk_store_budget_reserve(struct wmk_store *store, uint64_t bytes, uint64_t deleted);
void wmk_store_budget_release(struct wmk_store *store, uint64_t bytes);
/* Check that the disk's reserve stays free if `bytes` more are written: returns 0 or -ENOSPC. */
int wmk_store_check_free(struct wmk_store *store, uint64_t bytes);
/*
 * While a thread holds the budget lock, no measurement runs, and no other stream starts a new file. Hold the budget
 * lock only for a short time.
 */
void wmk_store_budget_lock(struct wmk_store *store);
void wmk_store_budget_unlock(struct wmk_store *store);

/* stream_files.c: the files of one stream. `name`: WMK_STORE_NAME bytes. */
void wmk_store_file_name(const struct wmk_store_stream *stream, uint64_t number, char *name);
void wmk_store_index_name(const struct wmk_store_stream *stream, uint64_t number, char *name);
/*
 * The name of the new file that will replace the only file of a stream; readers ignore the new file.
 * wmk_store_next_remove() removes such a file if a crash has left one.
 */
void wmk_store_next_name(const struct wmk_store_stream *stream, char *name);
void wmk_store_next_remove(const struct wmk_store_stream *stream);
/*
 * Replace the only file of a stream by the file wmk_store_next_name(), and subtract the size of the old file from the
 * counts. 0 or -errno.
 */
int wmk_store_file_replace(struct wmk_store_stream *stream);
/*
 * Remove a file and its index, if they exist, and subtract their sizes from the counts. Returns the size of the removed
 * stream file.
 */
uint64_t wmk_store_file_remove(struct wmk_store_stream *stream, uint64_t number);
/*
 * Get the range of the file numbers of a stream in this directory: returns the upper bound (exclusive), and stores the
 * lower bound. 0: no file.
 */
uint64_t wmk_store_file_numbers(int dir, const char *stream, uint64_t *first);
/* Remove all files. 0 or the first -errno. */
int wmk_store_files_remove(struct wmk_store_stream *stream);
/* Remove a file that existed before the store was opened; only the budget counts the file. The file may be absent. */
void wmk_store_remove_uncounted(struct wmk_store *store, int dir, const char *name);
/*
 * Find the newest file, and set stream->number and the byte count of the other files. If a newer file has no packet,
 * that file is removed. -ENOENT: no file; -EPROTO: it belongs to another trace.
 */
int wmk_store_find_newest(struct wmk_store_stream *stream, const uint8_t uuid[16]);

/*
 * Write all of `iov` at `offset`, or truncate the file to `offset` and return -errno. The iovecs are not changed. The
 * function continues after a signal or a short write.
 */
int wmk_store_write_whole(int fd, const struct iovec *iov, int n, uint64_t offset);

/*
 * Enter an identity. Returns 1; 0 if nothing changes (`identity` is NULL, or the thread already has this identity); or
 * -errno. Pass the value to wmk_file_identity_leave().
 */
int wmk_file_identity_enter(struct wmk_file_identity *identity);
void wmk_file_identity_leave(int entered);
/* Return the uid that owns the files of this identity. */
uid_t wmk_file_identity_uid(const struct wmk_file_identity *identity);
/*
 * Return a reference to the identity of this thread; release the reference with wmk_file_identity_unref(). NULL means
 * that the thread has the identity of the process.
 */
struct wmk_file_identity *wmk_file_identity_ref(void);
void wmk_file_identity_unref(struct wmk_file_identity *identity);

#endif
