/* SPDX-License-Identifier: MIT */
/*
 * compress_directory.h - replace a directory with traces by a copy with compressed stream files (ctf/frame_table.h).
 *
 *     parent/NAME/            the traces; complete and readable at any time
 *     parent/.NAME.compress/  the copy, then the plain directory until it is removed; hidden from readers
 *
 * The copy is on disk before one rename exchanges the two directories. So a crash at any time leaves the plain or the
 * compressed traces at NAME. The next call removes what a crash has left at the hidden name.
 *
 * Stream files (CTF 1.8.3, section 3) become NAME.zst; all other files are copied. A frame has whole packets: their
 * sizes are taken from the index. Bytes that the index lacks are in the last frame.
 *
 * Errors are -errno with a cause chain; the directory is then unchanged. Any thread; the caller's rights are used.
 */
#ifndef WMK_STORE_COMPRESS_DIRECTORY_H
#define WMK_STORE_COMPRESS_DIRECTORY_H

#include <stdint.h>

struct wmk_compress_result {
	uint32_t streams;          /* number of files that were compressed; 0: the directory was not replaced */
	uint64_t plain, compressed; /* bytes of these files */
};

/*
 * No process may write to the traces. -EBUSY: another process compresses the directory. -ENOTSUP: a large file has no
 * index, or the file system cannot exchange directories.
 */
int wmk_compress_directory(int parent, const char *name, struct wmk_compress_result *result);
/*
 * Compress all closed chunks of a session (docs/rotation.md): the directories in `path`/archives that are not
 * compressed yet. An error does not prevent the others; the last one is returned.
 */
int wmk_compress_chunks(const char *path);

#endif
