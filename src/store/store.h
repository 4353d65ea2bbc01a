/* SPDX-License-Identifier: MIT */
/*
 * store.h - a trace directory on disk: made without following links, metadata that grows, stream files with their
 * index.
 *
 *     <trace>/ust/uid/<uid>/64-bit/
 *         metadata                    wmk_store_metadata(): one write per declaration, cut back if it fails
 *         <channel>_<cpu>             wmk_store_stream_*(): whole packets only
 *         <channel>_claim<k>          or <channel>_<cpu>_0, _1, ... where their size is limited
 *         index/<stream>.idx          LTTng's format
 *
 *         .live                       empty; removed by wmk_store_close(), so it remains after a crash
 *
 * Directories are 0700, files 0600, owned by whoever runs this, or for whom (wmk_store_identity_begin()). Links on the
 * way are followed as path.h says. Errors are -errno with a cause chain that names the path. One thread at a time per
 * object, except where said.
 */
#ifndef WMK_STORE_STORE_H
#define WMK_STORE_STORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "ctf/writer.h"

/*
 * The default place of a trace: $WAYMARK_TRACE_DIR (`trace_dir`, may be NULL) or ~/waymark-traces, then
 * <session>-<YYYYmmdd-HHMMSS> in local time. Writes it to `path`. -ENAMETOOLONG; -ENOENT when there is neither a
 * trace_dir nor a home; -EINVAL when the session's name is empty, "." or "..", or holds '/'.
 */
int wmk_store_default_path(const char *trace_dir, const char *home, const char *session, int64_t realtime_s,
			   char *path, size_t size);

struct wmk_store;

/*
 * Make (or take, if it is an empty directory) `path`, its missing parents, and `sub` beneath it
 * ("ust/uid/1000/64-bit" from wmk_store_sub_uid()). -ENOTEMPTY when something is in it, -ENOTDIR, -ELOOP, -EACCES,
 * ... . When it fails, what it has made of `sub` is gone again. *store is the caller's: wmk_store_close().
 */
int wmk_store_create(const char *path, const char *sub, struct wmk_store **store);
/*
 * Make the directory `path` alone, with its missing parents, for a trace that somebody else will make. -EEXIST when it
 * is there.
 */
int wmk_store_make_directory(const char *path);
/* One more `sub` in a trace that is there (another user's, another program's). -EEXIST when it is there too. */
int wmk_store_add(const char *path, const char *sub, struct wmk_store **store);
/*
 * The same where somebody was killed while he made that `sub`, or wrote its first declarations: all is as if it had
 * just been made. -EEXIST: it is another user's, somebody lives who has it open to write declarations, a stream was
 * begun, or that cannot be told.
 */
int wmk_store_take_over(const char *path, const char *sub, struct wmk_store **store);
/* Open a directory that wmk_store_create() made, to go on with it (metadata and streams are appended to). */
int wmk_store_open(const char *path, const char *sub, struct wmk_store **store);
void wmk_store_close(struct wmk_store *store);
/*
 * The same, but what was made below `path` for it goes, if no declaration and no stream was written: it can be made
 * again.
 */
void wmk_store_discard(struct wmk_store *store);
int wmk_store_sub_uid(uid_t uid, char *sub, size_t size);
const char *wmk_store_path(const struct wmk_store *store);      /* of the whole trace, as given */

/*
 * Append a declaration to the metadata, in one write. If it cannot be written whole the file is cut back, and -errno
 * returned: the trace stays readable without the declaration, so records of that event must not follow. Thread-safe.
 */
int wmk_store_metadata(struct wmk_store *store, const char *text, size_t len);
/*
 * The same at this offset, as the writer counts: it may be repeated after a crash, by the next process that opens the
 * file. A file that is longer than offset + len has the declaration; one that is longer than the offset ends in a torn
 * one, which is cut off. -ESTALE: the file is shorter than the offset.
 */
int wmk_store_metadata_at(struct wmk_store *store, uint64_t offset, const char *text, size_t len);
/*
 * `words` for people, as a comment behind what is there; nothing where the metadata is JSON, which has none. 0 or
 * -errno. Thread-safe.
 */
int wmk_store_comment(struct wmk_store *store, const char *words);
/* This instead of what the file holds: whole, or nothing has changed. Thread-safe. */
int wmk_store_metadata_replace(struct wmk_store *store, const char *text, size_t len);
/* Bytes in all files: metadata, streams, indexes. Thread-safe. */
uint64_t wmk_store_bytes(const struct wmk_store *store);

/*
 * For root's daemons: until wmk_store_identity_end() the calling thread makes, opens and removes files with the rights
 * of `uid` (his groups are looked up; `gid` is the first of them), and they are his. A store that is made or opened
 * meanwhile keeps these rights: it takes them again by itself, in any thread, whenever it opens or removes a file.
 * Nothing to do when `uid` is who we are. -EPERM: we may not; -EBUSY:
 * this thread acts for somebody already.
 */
int wmk_store_identity_begin(uid_t uid, gid_t gid);
void wmk_store_identity_end(void);

/*
 * The budget of a directory: bytes that all files below it may have, written by two processes at most:
 *
 *     side 0    everything below `path` but...        waymark-consumerd of applications
 *     side 1    ...what is in `path`/kernel           waymark-consumerd of kernel channels
 *
 * Each process counts the files of its side, and publishes its count on a page that both map. No process writes to the
 * count of a process that runs, so a crash leaves at most a reservation there, until the next process of that side
 * measures its files. What the page says of the other side is not trusted: a count above `max` is `max`.
 *
 * Stores that share a budget count there what they write, and a packet with records that would make it more is refused:
 * -EDQUOT. (Where several threads or both processes write at the edge, one that would just have fitted may be.) A
 * packet without any, which tells how many were lost, is not refused, nor the head of an index: so much may be above.
 * The budget is the caller's, and outlives the stores.
 */
#define WMK_STORE_SIDES 2u
#define WMK_STORE_SIDE_1 "kernel"
struct wmk_store_budget_page {
	_Atomic uint64_t counts[WMK_STORE_SIDES];        /* used and reserved bytes + 1; 0: not measured yet */
};
struct wmk_store_budget {
	uint64_t max;
	struct wmk_store_budget_page *page;      /* NULL: one process writes both sides */
	unsigned side;                   /* of this process */
	bool published;                  /* the count on the page is this process's */
	_Atomic uint64_t used;           /* relaxed: a count of what is in the files of this process's side */
	_Atomic uint64_t reserved;          /* by packets that are being written */
	/* the caller's to make: held while files go, and while what is there is measured */
	pthread_mutex_t lock;
	/* From the writing thread, with each packet that is refused. */
	void (*full)(void *data);
	void *data;
};
/*
 * A page for both processes, sealed: a descriptor, the caller's, or -errno. Mapped from a descriptor of unknown origin:
 * -EINVAL if it is not such a page. Unmapped with NULL: nothing to do.
 */
int wmk_store_budget_page_make(void);
int wmk_store_budget_page_map(int fd, struct wmk_store_budget_page **page);
void wmk_store_budget_page_unmap(struct wmk_store_budget_page *page);
/*
 * For a store that has no stream open yet. Its metadata counts too, and is never refused. `measured`: what the files
 * hold by now is in the budget already.
 */
void wmk_store_set_budget(struct wmk_store *store, struct wmk_store_budget *budget, bool measured);
/*
 * What is below `path` by now, with the rights of the calling thread, in the place of what was counted: the first time,
 * and when files have gone that no store removed. What others write meanwhile may be counted twice, until the next
 * measure, never not at all. With a page, the first time is before any store shares the budget; the other side is
 * measured if it was not yet. 0 or -errno.
 */
int wmk_store_measure(struct wmk_store_budget *budget, const char *path);
/*
 * Bytes of all plain files below `path`, which is there, with the rights of the calling thread; no link is followed. 0
 * or -errno.
 */
int wmk_store_usage(const char *path, uint64_t *bytes);

/*
 * Of the file system that the files are on `bytes` stay free, or a twentieth of it where that is less: a packet with
 * records that would take of these is refused, -ENOSPC. Looked at once in a mebibyte, then at each packet while it is
 * so. 0, as in a new store: no such thing. Before a stream is open.
 */
void wmk_store_keep_free(struct wmk_store *store, uint64_t bytes);
/* What recording leaves to the rest of the machine, unless its administrator says otherwise. */
#define WMK_STORE_KEEP_FREE (256ull << 20)

/*
 * The names of what is in `path`/ust/pid: traces of processes (<name>-<pid>-<date>), from the calling thread, with its
 * rights. Returns 0, also when there is none; -errno; or the first value other than 0 that `one` returned.
 */
int wmk_store_each_process(const char *path, int (*one)(void *data, const char *name), void *data);
/*
 * Remove one of them, which nobody has open: its files and directories, and nothing that is no plain file. 0 also when
 * it is not there.
 */
int wmk_store_remove_process(const char *path, const char *name);

/* ── streams ─────────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_store_stream;

/*
 * A stream in several files, <name>_0, <name>_1, ...: each of whole packets, and no more than `size` bytes of them
 * unless one alone is larger. At most `count` files: the oldest makes room for the next; a single one when the next has
 * its first packet, if there is room for both. 0: no limit; NULL or no size: one file, <name>.
 */
struct wmk_store_limits {
	uint64_t size, count;
};

/*
 * Create a stream's file and index. `name` ("app_0") must be a plain file name. -EEXIST; -ENOSPC etc. leave nothing
 * behind. *stream is the caller's: wmk_store_stream_close(); the store must outlive it.
 */
int wmk_store_stream_create(struct wmk_store *store, const char *name, const struct wmk_store_limits *limits,
			    struct wmk_store_stream **stream);
/*
 * Open one that exists, to go on: reads its packets' headers, cuts off what follows the last whole packet, rewrites
 * the index, or goes on without if that cannot be. *last is the last whole packet (content, ring_position, sequence,
 * lost ...); returns 1, or 0 when the file holds no packet (then *last is zeros), or -errno; -EPROTO, and the file is
 * left alone, when it begins with something else.
 */
int wmk_store_stream_open(struct wmk_store *store, const char *name, const struct wmk_store_limits *limits,
			  const uint8_t uuid[16], struct wmk_store_stream **stream, struct wmk_ctf_packet *last);
/* Remove a stream's files and indexes; none is open for writing. It may be that there are none. */
int wmk_store_stream_remove(struct wmk_store *store, const char *name, const struct wmk_store_limits *limits);
/*
 * Decide how the next packet lies in the file: sets packet->pad, before its header is encoded. Packets of 256 kB and
 * more end at a multiple of 4 kB, so that they can be written past the page cache, from the caller's memory to the
 * disk with no copy, where the file system and the alignment of that memory (WMK_STORE_ALIGN) allow it. Smaller ones
 * have no padding.
 */
void wmk_store_stream_prepare(struct wmk_store_stream *stream, struct wmk_ctf_packet *packet);
/*
 * How full the buffers are that are written to this stream, in percent: with time to spare it is tried out whether
 * packets are faster past the page cache or through it; without, the faster way is taken. A hint, for all streams of
 * the trace.
 */
void wmk_store_stream_pressure(struct wmk_store_stream *stream, uint32_t percent);
/* Alignment of the first iovec's base that direct writes want. */
#define WMK_STORE_ALIGN 512u
#define WMK_STORE_DIRECT_MIN (256u * 1024)
/*
 * Append one packet: `iov` holds header, content and padding, wmk_ctf_packet_size() bytes in all. All of it or
 * nothing: after a failure (-ENOSPC, -EDQUOT (also of the budget), -EFBIG, -EIO) the file is cut back to the last whole
 * packet and the same packet can be tried again.
 */
int wmk_store_stream_append(struct wmk_store_stream *stream, const struct iovec *iov, int n,
			    const struct wmk_ctf_packet *packet);
/*
 * Write another lost count into the last packet, in place: for a disk that has no room for one more packet, so that
 * no loss is invisible.
 * -ENOENT when there is no packet.
 */
int wmk_store_stream_amend(struct wmk_store_stream *stream, uint64_t lost);
/* Of all its files. */
uint64_t wmk_store_stream_bytes(const struct wmk_store_stream *stream);
/* -ENOENT with a cause chain: the file that is being written was removed, and what it has is lost when it is closed. */
int wmk_store_stream_check(const struct wmk_store_stream *stream);
/* Writes out what is pending and closes. Returns the first error that was met on the way. */
int wmk_store_stream_close(struct wmk_store_stream *stream);

#endif
