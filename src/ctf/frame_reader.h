/* SPDX-License-Identifier: MIT */
/*
 * frame_reader.h - read a compressed stream file (frame_table.h) like a plain file.
 *
 *     pread(fd, to, len, at)   ─►   wmk_ctf_frames_read(frames, to, len, at)
 *     fstat(fd).st_size        ─►   wmk_ctf_frames_size(frames)
 *
 * One decompressed frame at a time is in memory: the first read of a frame decompresses it and checks its checksum. So
 * wmk_ctf_frames_read() never returns bytes of a damaged frame. Errors are -errno with a cause chain. One thread.
 */
#ifndef WMK_CTF_FRAME_READER_H
#define WMK_CTF_FRAME_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct wmk_ctf_frames;

/*
 * The file stays open while the reader is in use; the caller closes the file. A damaged seek table is not an error: the
 * reader reads the frames from the beginning of the file (wmk_ctf_frames_take_damage()).
 */
int wmk_ctf_frames_open(int fd, struct wmk_ctf_frames **frames);
void wmk_ctf_frames_close(struct wmk_ctf_frames *frames);
/*
 * Read up to `len` bytes at position `at` of the decompressed stream, from one frame. Returns their number; 0: the end.
 * -EBADMSG: the frame is damaged; the message names its number and its position.
 */
ssize_t wmk_ctf_frames_read(struct wmk_ctf_frames *frames, void *to, size_t len, uint64_t at);
uint64_t wmk_ctf_frames_size(const struct wmk_ctf_frames *frames);
/*
 * Return the start of the frame after the frame that contains byte `at` of the decompressed stream. If `at` is in the
 * last frame, the result is the end of the stream.
 */
uint64_t wmk_ctf_frames_after(const struct wmk_ctf_frames *frames, uint64_t at);
/* Return the start of the last frame, or 0 if the file has no frames. */
uint64_t wmk_ctf_frames_last(const struct wmk_ctf_frames *frames);
/*
 * -EBADMSG with a cause chain: the seek table is damaged; the function reports this only once. 0: no damage is known,
 * or it was already reported.
 */
int wmk_ctf_frames_take_damage(struct wmk_ctf_frames *frames);

#endif
