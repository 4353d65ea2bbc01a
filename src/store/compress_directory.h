/* SPDX-License-Identifier: MIT */
/*
 * compress_directory.h - replace a directory with traces by a copy with compressed stream files (ctf/frame_table.h).
 *
 *     parent/NAME/            the traces; complete and readable at any time
 *     parent/.NAME.compress/  the copy, then the plain directory until it is removed; hidden from readers
 *
 * When the copy is completely on the disk, one rename exchanges the two directories. After a crash at any time, NAME
 * contains either the uncompressed or the compressed traces. If a crash has left a hidden directory, the next call
 * removes it.
 *
 * Stream files (CTF 1.8.3, section 3) become NAME.zst; all other files are copied. A frame has whole packets. The sizes
 * of the packets are taken from the index. Bytes without an index entry are stored in the last frame.
 *
 * Errors are -errno with a cause chain. If the function fails, the directory is unchanged. Any thread may call the
 * function, which uses the rights of the caller.
 */
#ifndef WMK_STORE_COMPRESS_DIRECTORY_H
#define WMK_STORE_COMPRESS_DIRECTORY_H

#include <stdint.h>

struct wmk_compress_result {
	uint32_t streams;          /* number of files that were compressed; 0: the directory was not replaced */
	uint64_t plain, compressed; /* bytes of these files, before and after compression */
};

/*
 * No process may be writing to the traces. -EBUSY: another process compresses the directory, or a reader has locked it
 * (store/retention.h). -ENOTSUP: a large file has no index, or the file system cannot exchange directories.
 */
int wmk_compress_directory(int parent, const char *name, struct wmk_compress_result *result);
/*
 * Compress all closed chunks of a session (docs/rotation.md) that are not yet compressed; these chunks are directories
 * in `path`/archives. After an error in one directory, the other directories are still compressed. Returns the last
 * error.
 */
int wmk_compress_chunks(const char *path);

#endif
