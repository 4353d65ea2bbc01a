/* SPDX-License-Identifier: MIT */
/*
 * archive.h - chunks of a trace on disk (see archive.c). Errors are -errno with a cause chain.
 */
#ifndef WMK_STORE_ARCHIVE_H
#define WMK_STORE_ARCHIVE_H

#include <stdint.h>

#include "store/store.h"

/*
 * Find the number of the chunk that the store's directory belongs to. A directory without metadata belongs to `open`.
 */
int wmk_store_chunk(struct wmk_store *store, uint64_t open, uint64_t *number);
/*
 * The epoch of a trace that a relay receives (docs/relay.md), in the file .epoch. 0: the file does not exist. After
 * wmk_store_set_epoch() returned 0, the epoch is on the disk.
 */
int wmk_store_epoch(struct wmk_store *store, uint32_t *epoch);
int wmk_store_set_epoch(struct wmk_store *store, uint32_t epoch);
/*
 * Store and read the journal of a rotation, in the directory of the open chunk. After wmk_store_journal_write() has
 * returned 0, the text is on the disk. wmk_store_journal_read() stores malloc'd text in *text. -ENOENT: no journal.
 */
int wmk_store_journal_write(struct wmk_store *store, const char *text, size_t len);
int wmk_store_journal_read(struct wmk_store *store, char **text);
/*
 * Move the journal from the closed chunk to the directory of the open chunk. The journal contains the position in each
 * source at which the open chunk begins. Idempotent; if it fails, the next call finds the journal in the closed chunk.
 */
void wmk_store_begins_take(struct wmk_store *store, const char *sub, const char *chunk);
int wmk_store_begins_read(struct wmk_store *store, char **text);
void wmk_store_begins_remove(struct wmk_store *store);

/*
 * Cut off torn packets and complete the indexes of all streams in a directory of an earlier process
 * (wmk_store_open()), before the trace ends. If the ring of a stream was not reattached, no call of
 * wmk_store_stream_open() has repaired the stream file. No stream of `store` may be open. `uuid`: of the open chunk.
 */
void wmk_store_repair(struct wmk_store *store, const uint8_t uuid[16]);

/*
 * Move `path`/`sub` to `path`/archives/.`chunk`/`sub`, with the rights of the calling thread. Returns 0 also if `sub`
 * does not exist, because an earlier process may have moved `sub`.
 */
int wmk_store_archive(const char *path, const char *sub, const char *chunk);
/* Rename `path`/archives/.`chunk` to `path`/archives/`chunk`, after all traces of the chunk were moved. Idempotent. */
int wmk_store_archive_end(const char *path, const char *chunk);
/* Find the last packet of a stream in a closed chunk. 1: found; 0: no such stream, or the stream has no packet. */
int wmk_store_archive_last(const struct wmk_store *store, const char *sub, const char *chunk, const char *stream,
			   const struct wmk_store_limits *limits, const uint8_t uuid[16], struct wmk_ctf_packet *last);

#endif
