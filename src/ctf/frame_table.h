/* SPDX-License-Identifier: MIT */
/*
 * frame_table.h - compressed stream files: frames of zstd, and the table of their sizes.
 *
 *     <stream>.zst   │ frame │ frame │ ... │ seek table │
 *                      └ whole packets: content size and checksum in the frame
 *
 * Each frame except the last one contains whole packets with FRAME_MIN or more bytes. The seek table is that of zstd's
 * "seekable format" (a skippable frame, so `zstd -d` decompresses the file):
 *
 *     u32 0x184D2A5E | u32 size of the rest | n × { u32 compressed size, u32 size of the content } |
 *     u32 n | u8 0 (no checksums here) | u32 0x8F92EAB1                                              little-endian
 *
 * The table is not trusted: wmk_ctf_frame_table_read() compares it with the size of the file. Each frame also declares
 * its own sizes, so wmk_ctf_frame_table_walk() can replace a damaged table.
 *
 * Errors are -errno with a cause chain. Any thread may use a table, but only one thread at a time.
 */
#ifndef WMK_CTF_FRAME_TABLE_H
#define WMK_CTF_FRAME_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define WMK_CTF_FRAME_SUFFIX ".zst"
#define WMK_CTF_FRAME_MIN (256u << 10)
/* maximum size of a frame's content, because a reader holds one frame in memory */
#define WMK_CTF_FRAME_MAX (256u << 20)
#define WMK_CTF_FRAMES_MAX (1u << 24)

struct wmk_ctf_frame {
	uint64_t at;               /* bytes: position in the file, ... */
	uint64_t content_at;       /* ... and the position of its content in the decompressed stream */
	uint32_t size, content;    /* bytes: compressed, and decompressed */
};

/* A table starts zeroed. */
struct wmk_ctf_frame_table {
	struct wmk_ctf_frame *frames;
	uint32_t n, cap;
	uint64_t size, content;    /* sums of all frames */
};

void wmk_ctf_frame_table_free(struct wmk_ctf_frame_table *table);
/* Append a frame. -E2BIG: there are too many frames, or the frame is too large. */
int wmk_ctf_frame_table_add(struct wmk_ctf_frame_table *table, uint64_t size, uint64_t content);
/* Make the bytes of the seek table; the caller frees the bytes. */
int wmk_ctf_frame_table_encode(const struct wmk_ctf_frame_table *table, uint8_t **bytes, size_t *len);
/* Read the table at the end of the file. -EPROTO: it is damaged or missing; `table` is then empty. */
int wmk_ctf_frame_table_read(int fd, struct wmk_ctf_frame_table *table);
/*
 * Make the table by reading the frames. The table ends before the first bytes that are not part of a complete frame.
 * The caller compares table->size with the size of the file. -ENOMEM, -EIO.
 */
int wmk_ctf_frame_table_walk(int fd, struct wmk_ctf_frame_table *table);

/* Return whether `name` is the name of a compressed stream file. */
int wmk_ctf_frame_is_name(const char *file);
/* Return the length of the name without the suffix of compressed files. */
size_t wmk_ctf_frame_plain_len(const char *file);

#endif
