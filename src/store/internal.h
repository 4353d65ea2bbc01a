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

struct wmk_store {
	char *path;                /* of the whole trace, as given */
	int dir;                   /* of the metadata and streams */
	int index_dir;
	int metadata;
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

#endif
