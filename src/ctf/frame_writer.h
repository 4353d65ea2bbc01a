/* SPDX-License-Identifier: MIT */
/*
 * frame_writer.h - write a compressed stream file (frame_table.h).
 *
 *     open ─► add, for each frame ─► end ─► free
 *
 * Errors are -errno with a cause chain; after an error, the caller may only call wmk_ctf_frame_writer_free(). One
 * thread.
 */
#ifndef WMK_CTF_FRAME_WRITER_H
#define WMK_CTF_FRAME_WRITER_H

#include <stddef.h>
#include <stdint.h>

#define WMK_CTF_FRAME_LEVEL 1      /* zstd's level; level 3 takes 1.5 times as long, and makes files 2 % smaller */

struct wmk_ctf_frame_writer;

/* `fd` refers to an empty file, which the caller closes. */
int wmk_ctf_frame_writer_open(int fd, struct wmk_ctf_frame_writer **writer);
/* Append a frame with these complete packets, which have at most WMK_CTF_FRAME_MAX bytes. */
int wmk_ctf_frame_writer_add(struct wmk_ctf_frame_writer *writer, const void *packets, size_t len);
/* Append the seek table; the caller calls this function after the last frame. *size: size of the file. */
int wmk_ctf_frame_writer_end(struct wmk_ctf_frame_writer *writer, uint64_t *size);
void wmk_ctf_frame_writer_free(struct wmk_ctf_frame_writer *writer);

#endif
