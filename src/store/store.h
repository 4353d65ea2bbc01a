/* SPDX-License-Identifier: MIT */
/*
 * store.h - a trace directory on disk: the directory, its metadata, and stream files with their indexes.
 *
 *     <trace>/ust/uid/<uid>/64-bit/
 *         metadata                    wmk_store_metadata(): one write per declaration, truncated if it fails
 *         <channel>_<cpu>             wmk_store_stream_*(): whole packets only
 *         <channel>_claim<k>          or <channel>_<cpu>_0, _1, ... if their size is limited
 *         index/<stream>.idx          LTTng's format
 *
 *         .live                       for live readers (followed.h); wmk_store_close() removes it, so it remains after
 *                                     a crash
 *         .clock, .clock.relay        wmk_store_clock_point(): sync points of the clock
 *
 * Directories have mode 0700, files 0600. Directories and files belong to the user of the process, or to the user that
 * wmk_store_identity_begin() has set. path.h defines which links in a path are followed. Errors are -errno with a cause
 * chain that names the path. Unless stated otherwise, only one thread at a time may use an object.
 */
#ifndef WMK_STORE_STORE_H
#define WMK_STORE_STORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/clock_point.h"
#include "ctf/writer.h"

/*
 * Store the default path of a trace in `path`: the directory $WAYMARK_TRACE_DIR (`trace_dir`, may be NULL) or
 * ~/waymark-traces, and the name <session>-<YYYYmmdd-HHMMSS> in local time. -ENAMETOOLONG; -ENOENT without trace_dir
 * and home; -EINVAL if the name of the session is empty, "." or "..", or has a '/'.
 */
int wmk_store_default_path(const char *trace_dir, const char *home, const char *session, int64_t realtime_s,
			   char *path, size_t size);

struct wmk_store;

/*
 * Create the directory `path` with its missing parents (or use `path` if it is an empty directory). After creating
 * `path`, the function creates `sub` below `path`, for example "ust/uid/1000/64-bit" from wmk_store_sub_uid().
 * -ENOTEMPTY if the directory is not empty; -ENOTDIR, -ELOOP, -EACCES, ... If the function fails, it removes the parts
 * of `sub` that it has created. The caller owns *store: wmk_store_close().
 */
int wmk_store_create(const char *path, const char *sub, struct wmk_store **store);
/*
 * Create only the directory `path` with its missing parents. Another process later creates the trace in this directory.
 * -EEXIST.
 */
int wmk_store_make_directory(const char *path);
/* 0 if `path` does not exist or is an empty directory, else -ENOTEMPTY, -ENOTDIR, -ELOOP, -EACCES, ... */
int wmk_store_check_path(const char *path);
/* Create a further directory `sub` in an existing trace, for another user or another process. -EEXIST. */
int wmk_store_add(const char *path, const char *sub, struct wmk_store **store);
/*
 * Complete the directory `sub` after a crash of the process that created it or wrote its first declarations. The
 * completed `sub` is the same as a newly created `sub`. -EEXIST: `sub` belongs to another user, has a stream, or has
 * metadata that another process has open for writing. -EEXIST also if one of these conditions cannot be checked.
 */
int wmk_store_take_over(const char *path, const char *sub, struct wmk_store **store);
/* Open a directory that wmk_store_create() has created, in order to append to its metadata and streams. */
int wmk_store_open(const char *path, const char *sub, struct wmk_store **store);
void wmk_store_close(struct wmk_store *store);
/*
 * Like wmk_store_close(). If neither a declaration nor a stream was written, the function also removes all directories
 * and files that were created below `path`. After wmk_store_discard(), the trace can be created again.
 */
void wmk_store_discard(struct wmk_store *store);
int wmk_store_sub_uid(uid_t uid, char *sub, size_t size);
const char *wmk_store_path(const struct wmk_store *store);      /* of the whole trace, as passed by the caller */

/*
 * Append a declaration to the metadata with a single write. If the declaration is written only in part, the store
 * truncates the file and returns -errno. The trace stays readable without this declaration, but the caller must not
 * write records of the declared event. Thread-safe.
 */
int wmk_store_metadata(struct wmk_store *store, const char *text, size_t len);
/*
 * Like wmk_store_metadata(), but writes at a given offset, so that the next process can repeat the write after a crash.
 * A file with at least offset + len bytes already contains the declaration. A file that ends between `offset` and
 * offset + len contains an incomplete declaration, which the store overwrites. -ESTALE: the file is shorter than the
 * offset.
 */
int wmk_store_metadata_at(struct wmk_store *store, uint64_t offset, const char *text, size_t len);
/*
 * Append `words` to the metadata as a comment. The function has no effect on JSON metadata, because JSON has no
 * comments. Returns 0 or -errno. Thread-safe.
 */
int wmk_store_comment(struct wmk_store *store, const char *words);
/* Replace the metadata as a whole. On failure, it is unchanged. Thread-safe. */
int wmk_store_metadata_replace(struct wmk_store *store, const char *text, size_t len);
/*
 * Append a sync point to the file .clock or, if head->relay is not empty, to the file .clock.relay. The first sync
 * point creates the file. A point is written only if it is later than the last point of the file. After a failure, the
 * file contains only complete points, and the trace is readable. If .clock.relay contains points of another relay or
 * boot, the file is emptied first. -ESTALE: .clock has points of another clock, such as the clock of an earlier boot.
 * Thread-safe.
 */
int wmk_store_clock_point(struct wmk_store *store, const struct wmk_clock_head *head,
			  const struct wmk_clock_point *point);
/* Return the total size of all files in bytes: metadata, streams and indexes. Thread-safe. */
uint64_t wmk_store_bytes(const struct wmk_store *store);
/* Return the size of the metadata in bytes. Thread-safe. */
uint64_t wmk_store_metadata_bytes(struct wmk_store *store);
/*
 * Wait until the metadata, the sync points and the names of all files are on the disk. If the function returns 0, a
 * reset of the machine does not lose the written data. -errno, also for errors of earlier writes that the kernel
 * reports only now.
 */
int wmk_store_sync(struct wmk_store *store);

/*
 * For daemons of root: the calling thread acts as the user `uid` until wmk_store_identity_end(). The thread creates,
 * opens and removes files with the rights of `uid` and of the groups of `uid`, and new files belong to `uid`. `gid` is
 * the primary group. If a store is created or opened before wmk_store_identity_end(), the store keeps the identity of
 * `uid`. In any thread, the store uses the identity of `uid` to open and remove files. The function has no effect if
 * `uid` is the user of the process. -EPERM: not permitted; -EBUSY: this thread already has another identity.
 */
int wmk_store_identity_begin(uid_t uid, gid_t gid);
void wmk_store_identity_end(void);

/*
 * The budget of a directory: bytes that all files below it may have, written by two processes at most:
 *
 *     side 0    all files below `path` that are not of side 1                 waymark-consumerd of applications
 *     side 1    all files in `path`/kernel and `path`/archives/NAME/kernel    waymark-consumerd of kernel channels
 *
 * Each of the two processes counts the files of its side, and publishes its count on a page that both processes map. A
 * process never writes to the count of the other process while that process runs. If a process crashes, its count may
 * still include a reservation. The next process of the same side removes the reservation of the crashed process when it
 * measures the files of the side. A process does not trust the count of the other side: a count above `max` is treated
 * as `max`.
 *
 * Each store that shares a budget adds the number of written bytes to the count of the budget. If a packet with records
 * would exceed the budget, the packet is refused with -EDQUOT. Near the limit, concurrent writes of several threads or
 * of both processes may cause the refusal of a packet that would just fit. A packet without records reports lost
 * records, so the store never refuses such a packet. The store also never refuses the header of an index. Packets
 * without records, and index headers, may therefore exceed the budget. The caller owns the budget, which must outlive
 * the stores.
 */
#define WMK_STORE_SIDES 2u
#define WMK_STORE_SIDE_1 "kernel"
struct wmk_store_budget_page {
	_Atomic uint64_t counts[WMK_STORE_SIDES];        /* used and reserved bytes + 1; 0: not measured yet */
	/*
	 * The size of the open chunk (docs/rotation.md) is the sum of the counts minus `closed`, the size of the closed
	 * chunks in bytes. chunk_max: when the open chunk has this size, `due` is set and the session daemon is
	 * notified once; 0: never. The session daemon sets chunk_max and `closed`, and resets `due`. The consumer
	 * daemon corrects `closed` after it has deleted chunks.
	 */
	_Atomic uint64_t closed, chunk_max, due;
};
struct wmk_store_budget {
	uint64_t max;
	struct wmk_store_budget_page *page;      /* NULL: one process writes both sides */
	unsigned side;                   /* of this process */
	bool published;                  /* the page has this process's count */
	_Atomic uint64_t used;           /* relaxed: bytes in the files of the side of this process */
	_Atomic uint64_t written;        /* relaxed: the sum of all changes of `used`, except those by measuring */
	_Atomic uint64_t reserved;          /* bytes reserved for packets that are being written */
	/* the caller initializes the lock; held while files are removed or measured */
	pthread_mutex_t lock;
	/* Called from the writing thread for each refused packet. */
	void (*full)(void *data);
	/* Called from the writing thread when the open chunk has reached chunk_max. */
	void (*due)(void *data);
	void *data;
};
/*
 * wmk_store_budget_page_make() makes a sealed page for both processes, and returns -errno or a descriptor that the
 * caller owns. wmk_store_budget_page_map() maps a page from an untrusted descriptor. -EINVAL: the descriptor is not a
 * sealed budget page. wmk_store_budget_page_unmap() unmaps the page; NULL is allowed.
 */
int wmk_store_budget_page_make(void);
int wmk_store_budget_page_map(int fd, struct wmk_store_budget_page **page);
void wmk_store_budget_page_unmap(struct wmk_store_budget_page *page);
/*
 * Only the session daemon calls wmk_store_chunk_is_due() and wmk_store_chunk_end(). wmk_store_chunk_is_due() sets
 * chunk_max, and resets `due`. wmk_store_chunk_is_due() returns true if the open chunk already has chunk_max bytes; the
 * next notification then follows after a rotation. wmk_store_chunk_end() ends the open chunk.
 */
bool wmk_store_chunk_is_due(struct wmk_store_budget_page *page, uint64_t chunk_max);
void wmk_store_chunk_end(struct wmk_store_budget_page *page);
/*
 * Set the budget of a store, which must not have open streams. The budget also counts the store's metadata, but writes
 * to the metadata are never refused. `measured` is true if the budget already includes the existing files.
 */
void wmk_store_set_budget(struct wmk_store *store, struct wmk_store_budget *budget, bool measured);
/*
 * Measure the files below `path` with the rights of the calling thread, and replace the count of the budget by the
 * result. Call this function before any store shares the budget, and after files were removed without the use of a
 * store. Bytes that other threads write during the measurement may be counted twice until the next measurement. If the
 * budget has a page, the files of the other side are also measured, unless the process of the other side has already
 * published its count. Returns 0 or -errno.
 */
int wmk_store_measure(struct wmk_store_budget *budget, const char *path);
/*
 * Like wmk_store_measure(), for use after closed chunks were deleted. The function also subtracts the bytes of the
 * deleted chunks from `closed` in the page.
 */
int wmk_store_measure_deleted(struct wmk_store_budget *budget, const char *path);
/*
 * Store the total size of all regular files below `path`, which must exist, in *bytes. The function uses the rights of
 * the calling thread, and does not follow links. Returns 0 or -errno.
 */
int wmk_store_usage(const char *path, uint64_t *bytes);

/*
 * Keep free space on the file system: `bytes`, or a twentieth of the file system's size if that is less. If a packet
 * with records would use this reserve, the packet is refused with -ENOSPC. The free space is checked once for each
 * mebibyte of writes; when little space is free, it is checked for each packet. 0 (the default): no reserve. Call this
 * function before a stream is opened.
 */
void wmk_store_keep_free(struct wmk_store *store, uint64_t bytes);
/* The default reserve, which limits.conf can override. */
#define WMK_STORE_KEEP_FREE (256ull << 20)

/*
 * Call `one` with the name of each per-process trace in `path`/ust/pid (<name>-<pid>-<date>). The function runs with
 * the rights of the calling thread. Returns 0 (even if no trace exists), -errno, or the first value other than 0 that
 * `one` returned.
 */
int wmk_store_each_process(const char *path, int (*one)(void *data, const char *name), void *data);
/*
 * Remove the per-process trace `name`; only directories and regular files are removed. No process may have the trace
 * open. The function also returns 0 if the trace does not exist.
 */
int wmk_store_remove_process(const char *path, const char *name);

/* ── streams ─────────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_store_stream;

/*
 * These limits split a stream into several files: <name>_0, <name>_1, ... Each file contains complete packets, and has
 * at most `size` bytes, unless a single packet is larger, or packets without records follow in the only file. If the
 * stream already has `count` files, the next file replaces the oldest file. If `count` is 1, the file is replaced after
 * the next file has received its first packet, provided that the disk has space for both files. 0: no limit; NULL or no
 * size: one file, <name>.
 */
struct wmk_store_limits {
	uint64_t size, count;
};

/*
 * Create the stream file and the index of a stream. `name` must be a plain file name, for example "app_0". -EEXIST;
 * after -ENOSPC or another failure, no file is left. The caller owns *stream: wmk_store_stream_close(). The store must
 * outlive it.
 */
int wmk_store_stream_create(struct wmk_store *store, const char *name, const struct wmk_store_limits *limits,
			    struct wmk_store_stream **stream);
/*
 * Open an existing stream to append packets: read the headers of its packets, remove all bytes after the last complete
 * packet, and rewrite the index. If the index cannot be rewritten, the stream continues without an index. *last
 * receives the last complete packet (content, ring_position, sequence, lost ...). Returns 1; 0 if the file has no
 * packet (*last is then filled with zeros); or -errno. -EPROTO: the file begins with other data, and is unchanged.
 */
int wmk_store_stream_open(struct wmk_store *store, const char *name, const struct wmk_store_limits *limits,
			  const uint8_t uuid[16], struct wmk_store_stream **stream, struct wmk_ctf_packet *last);
/* Remove the files and indexes of a stream, if any exist. No process may have a file of the stream open for writing. */
int wmk_store_stream_remove(struct wmk_store *store, const char *name, const struct wmk_store_limits *limits);
/*
 * Set packet->pad of the next packet; call this before the header of the packet is encoded. Packets of 256 kB or more
 * are padded to end at a multiple of 4 kB. A packet of 256 kB or more can bypass the page cache without a copy, if the
 * file system permits direct I/O and the caller's memory is aligned to WMK_STORE_ALIGN. Smaller packets have no
 * padding.
 */
void wmk_store_stream_prepare(struct wmk_store_stream *stream, struct wmk_ctf_packet *packet);
/*
 * Set the fill level of this stream's buffers, in percent. While the buffers are not full, the store compares direct
 * I/O with the page cache. While the buffers are full, the store uses the faster one of direct I/O and the page cache.
 * The store applies this fill level to all streams of the trace.
 */
void wmk_store_stream_pressure(struct wmk_store_stream *stream, uint32_t percent);
/* The required alignment of the base of the first iovec, for direct I/O. */
#define WMK_STORE_ALIGN 512u
#define WMK_STORE_DIRECT_MIN (256u * 1024)
/*
 * Append one packet; `iov` contains header, content and padding, in total wmk_ctf_packet_size() bytes. Errors: -ENOSPC,
 * -EDQUOT (also of the budget), -EFBIG, -EIO. After a failure, the file is truncated to the last complete packet, and
 * the caller may append the same packet again.
 */
int wmk_store_stream_append(struct wmk_store_stream *stream, const struct iovec *iov, int n,
			    const struct wmk_ctf_packet *packet);
/*
 * Replace the count of lost records in the last packet, without appending a packet. If the disk has no space for
 * another packet, the caller reports lost records with this function. -ENOENT: no packet exists.
 */
int wmk_store_stream_amend(struct wmk_store_stream *stream, uint64_t lost);
/* Return the total size of all files of the stream in bytes. */
uint64_t wmk_store_stream_bytes(const struct wmk_store_stream *stream);
/* -ENOENT with a cause chain: the current file was removed, and its content will be lost when it is closed. */
int wmk_store_stream_check(const struct wmk_store_stream *stream);
/*
 * Wait until all packets and the index are on the disk (see wmk_store_sync()). After the first call, the stream also
 * synchronizes each full file before it closes the file. -errno: the packets since the last call may be lost.
 */
int wmk_store_stream_sync(struct wmk_store_stream *stream);
/* Write pending data and close. Returns the first error. */
int wmk_store_stream_close(struct wmk_store_stream *stream);

/*
 * Call `one` for each entry of a directory except "." and "..". Closes the descriptor `dir`; if `dir` is negative, the
 * function returns `dir` as the error. The first value other than 0 ends the loop and is returned.
 */
int wmk_store_each_entry(int dir, int (*one)(void *data, int at, const char *name), void *data);

#endif
