/* SPDX-License-Identifier: MIT */
/*
 * archive.h - chunks of a trace on disk (see archive.c). Errors are -errno with a cause chain.
 */
#ifndef WMK_STORE_ARCHIVE_H
#define WMK_STORE_ARCHIVE_H

#include <stdint.h>

#include "store/store.h"

/*
 * Get the number of the chunk to which the store's directory belongs. If the directory has no metadata, it belongs to
 * the chunk `open`.
 */
int wmk_store_chunk(struct wmk_store *store, uint64_t open, uint64_t *number);
/*
 * The file .epoch stores the epoch of a trace that a relay receives (docs/relay.md). 0: the file does not exist. After
 * wmk_store_set_epoch() has returned 0, the epoch is on the disk.
 */
int wmk_store_epoch(struct wmk_store *store, uint32_t *epoch);
int wmk_store_set_epoch(struct wmk_store *store, uint32_t epoch);
/*
 * These functions write and read the journal of a rotation in the directory of the open chunk. After
 * wmk_store_journal_write() has returned 0, the text is on the disk. wmk_store_journal_read() stores malloc'd text in
 * *text. -ENOENT: no journal.
 */
int wmk_store_journal_write(struct wmk_store *store, const char *text, size_t len);
int wmk_store_journal_read(struct wmk_store *store, char **text);
/*
 * Move the journal from the closed chunk to the directory of the open chunk. The journal contains the position in each
 * source where the records of the open chunk begin. The call can be repeated; if it fails, the next call finds the
 * journal in the closed chunk.
 */
void wmk_store_begins_take(struct wmk_store *store, const char *sub, const char *chunk);
int wmk_store_begins_read(struct wmk_store *store, char **text);
void wmk_store_begins_remove(struct wmk_store *store);

/*
 * For all streams in a directory of an earlier process (wmk_store_open()), remove incomplete packets and complete the
 * indexes, before the trace ends. The repair is needed if the ring of a stream was not reattached, because
 * wmk_store_stream_open() was not called for the stream file. No stream of `store` may be open. `uuid`: of the open
 * chunk.
 */
void wmk_store_repair(struct wmk_store *store, const uint8_t uuid[16]);

/*
 * Move `path`/`sub` to `path`/archives/.`chunk`/`sub`, with the rights of the calling thread. Also returns 0 if `sub`
 * does not exist, because an earlier process may have moved `sub`.
 */
int wmk_store_archive(const char *path, const char *sub, const char *chunk);
/* Rename `path`/archives/.`chunk` to `path`/archives/`chunk`, after all traces of the chunk were moved. Idempotent. */
int wmk_store_archive_end(const char *path, const char *chunk);
/* Find the last packet of a stream in a closed chunk. 1: found; 0: no such stream, or the stream has no packet. */
int wmk_store_archive_last(const struct wmk_store *store, const char *sub, const char *chunk, const char *stream,
			   const struct wmk_store_limits *limits, const uint8_t uuid[16], struct wmk_ctf_packet *last);

#endif
