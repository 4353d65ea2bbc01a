/* SPDX-License-Identifier: MIT */
/*
 * internal.h - shared by the files of src/store.
 */
#ifndef WMK_STORE_INTERNAL_H
#define WMK_STORE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "store/direct.h"
#include "store/store.h"

struct wmk_rights;

struct wmk_store {
	char *path;                /* of the whole trace, as given */
	int dir;                   /* of the metadata and streams */
	int index_dir;
	int metadata;              /* -1: opened for streams alone */
	struct wmk_rights *rights; /* with which its files are made; NULL: the thread's own */
	uint64_t metadata_len;     /* of whole declarations */
	pthread_mutex_t lock;      /* metadata, metadata_len */
	struct wmk_direct_rates rates;
	_Atomic uint64_t bytes;    /* in all files; a count for people: relaxed */
};

/*
 * Write all of `iov` at `offset`, or cut the file back to `offset` and return -errno. The iovecs are not changed. A
 * signal or a short write is continued.
 */
int wmk_store_write_whole(int fd, const struct iovec *iov, int n, uint64_t offset);

/* Act with these rights: 1, or 0 when there is nothing to do (NULL, or the thread does already), or -errno. Then leave with that value. */
int wmk_rights_enter(struct wmk_rights *rights);
void wmk_rights_leave(int entered);
/* Those with which this thread acts, NULL if they are its own: the caller's, until wmk_rights_drop(). */
struct wmk_rights *wmk_rights_take(void);
void wmk_rights_drop(struct wmk_rights *rights);

#endif
