/* SPDX-License-Identifier: MIT */
/*
 * window.h - the window of a stream: the part of its file that is in memory. Internal to src/read; stream.c uses these
 * functions.
 *
 * Positions in a compressed file (ctf/frame_reader.h) are positions in the decompressed stream, as in an uncompressed
 * file.
 */
#ifndef WMK_READ_WINDOW_H
#define WMK_READ_WINDOW_H

#include <sys/types.h>

#include "read/trace.h"

/*
 * Move the start of the window to byte `at` of the file, which is in the window or after it, and fill the window.
 * Returns the number of bytes that the function has read, or -errno.
 */
ssize_t wmk_read_window_move(struct wmk_read_stream *stream, uint64_t at);
/* Extend the window by reading more of the file, from byte `from`. 1: bytes were read; 0: the file ends; -errno. */
int wmk_read_window_more(struct wmk_read_stream *stream, uint64_t from);
/* Set the range of bytes that the decoder may read, which ends at the end of the packet's content or of the window. */
void wmk_read_window_show(struct wmk_read_stream *stream);
/*
 * Read bytes of the file without the window. Returns the number of bytes that were read, or -errno with a cause chain.
 */
ssize_t wmk_read_window_get(struct wmk_read_stream *stream, void *to, size_t len, uint64_t at);
/* Report damage of the file as a whole that does not prevent reading. -errno, once; 0: none. */
int wmk_read_window_damage(struct wmk_read_stream *stream);

#endif
