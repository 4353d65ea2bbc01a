/* SPDX-License-Identifier: MIT */
/*
 * frame_reader.c - read compressed stream files frame by frame (see frame_reader.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/error.h"
#include "ctf/frame_reader.h"
#include "ctf/frame_table.h"

#define NO_FRAME UINT32_MAX

struct wmk_ctf_frames {
	int fd;
	struct wmk_ctf_frame_table table;
	bool is_walked;            /* the table was made from the frames */
	bool is_damage_due;        /* the seek table is damaged, and the reader has not reported this yet */
	uint32_t held;             /* number of the frame in `content`, or NO_FRAME */
	uint8_t *content;
	size_t cap;
};

/*
 * Make a new table by reading the frames. The new table replaces the old table only if the new table reaches
 * `content_at`.
 */
static int walk(struct wmk_ctf_frames *frames, uint64_t content_at)
{
	struct wmk_ctf_frame_table table;
	int err = wmk_ctf_frame_table_walk(frames->fd, &table);

	frames->is_walked = true;
	if (err < 0)
		return err;
	if (table.content < content_at) {
		wmk_ctf_frame_table_free(&table);
		return 0;
	}
	wmk_ctf_frame_table_free(&frames->table);
	frames->table = table;
	frames->held = NO_FRAME;
	return 0;
}

int wmk_ctf_frames_open(int fd, struct wmk_ctf_frames **frames)
{
	struct wmk_ctf_frames *made = calloc(1, sizeof(*made));
	int err = made ? wmk_ctf_frame_table_read(fd, &made->table)
		       : wmk_error(-ENOMEM, "no memory for a compressed file");

	if (made) {
		made->fd = fd;
		made->held = NO_FRAME;
	}
	if (err == -EPROTO) {
		made->is_damage_due = true;
		wmk_error_clear();
		err = walk(made, 0);
	}
	if (err < 0) {
		wmk_ctf_frames_close(made);
		return err;
	}
	*frames = made;
	return 0;
}

void wmk_ctf_frames_close(struct wmk_ctf_frames *frames)
{
	if (!frames)
		return;
	wmk_ctf_frame_table_free(&frames->table);
	free(frames->content);
	free(frames);
}

/*
 * Return the number of the frame that contains byte `at`, or table.n if `at` is at or after the end of the last frame.
 */
static uint32_t find(const struct wmk_ctf_frames *frames, uint64_t at)
{
	const struct wmk_ctf_frame_table *table = &frames->table;
	uint32_t low = 0, high = table->n;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (table->frames[middle].content_at + table->frames[middle].content <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int bad(const struct wmk_ctf_frames *frames, uint32_t number, const char *words)
{
	const struct wmk_ctf_frame *frame = &frames->table.frames[number];

	return wmk_error(-EBADMSG, "frame %u, at byte %llu of the compressed file, is damaged: %s; its %u bytes of "
			 "packets are skipped", number, (unsigned long long)frame->at, words, frame->content);
}

/* Decompress a frame of `n` bytes. Returns the size of the decompressed content, or -errno. */
static int64_t decompress(struct wmk_ctf_frames *frames, uint32_t number, const uint8_t *bytes, size_t n)
{
	const struct wmk_ctf_frame *frame = &frames->table.frames[number];
	const unsigned long long declared = ZSTD_getFrameContentSize(bytes, n);
	size_t content = frame->content, got;

	if (declared <= WMK_CTF_FRAME_MAX && declared > content)
		content = (size_t)declared;
	if (content > frames->cap || !frames->content) {
		uint8_t *larger = realloc(frames->content, content ? content : 1);

		if (!larger)
			return wmk_error(-ENOMEM, "no memory for a frame of %zu bytes", content);
		frames->content = larger;
		frames->cap = content;
	}
	got = ZSTD_decompress(frames->content, content, bytes, n);
	return ZSTD_isError(got) ? bad(frames, number, ZSTD_getErrorName(got)) : (int64_t)got;
}

/* Load frame `number` into memory. 0: done; 1: the table had another size for this frame, and a new table was made. */
static int hold(struct wmk_ctf_frames *frames, uint32_t number)
{
	const struct wmk_ctf_frame frame = frames->table.frames[number];
	int64_t got = -EBADMSG;
	struct stat st;
	uint8_t *bytes;
	size_t n = 0;

	frames->held = NO_FRAME;
	if (fstat(frames->fd, &st) < 0 || (uint64_t)st.st_size < frame.at + frame.size)
		return bad(frames, number, "the file ends before it");
	bytes = malloc(frame.size);
	if (!bytes)
		return wmk_error(-ENOMEM, "no memory for a frame of %u bytes", frame.size);
	while (n < frame.size) {
		const ssize_t now = pread(frames->fd, bytes + n, frame.size - n, (off_t)(frame.at + n));

		if (now < 0 && errno == EINTR)
			continue;
		if (now <= 0)
			break;
		n += (size_t)now;
	}
	got = n < frame.size ? bad(frames, number, "it cannot be read") : decompress(frames, number, bytes, n);
	free(bytes);
	if (got < 0)
		return (int)got;
	if ((uint64_t)got != frame.content) {
		/* The frame itself is valid, so the table's entry for the frame is wrong. */
		if (frames->is_walked)
			return bad(frames, number, "its size contradicts its content");
		frames->is_damage_due = true;
		got = walk(frames, frame.content_at);
		return got < 0 ? (int)got : 1;
	}
	frames->held = number;
	return 0;
}

ssize_t wmk_ctf_frames_read(struct wmk_ctf_frames *frames, void *to, size_t len, uint64_t at)
{
	const struct wmk_ctf_frame *frame;
	uint32_t number = 0;
	int got = 1;

	while (got > 0) {
		number = find(frames, at);
		if (number == frames->table.n)
			return 0;
		got = number == frames->held ? 0 : hold(frames, number);
	}
	if (got < 0)
		return got;
	frame = &frames->table.frames[number];
	at -= frame->content_at;
	if (len > frame->content - at)
		len = frame->content - at;
	memcpy(to, frames->content + at, len);
	return (ssize_t)len;
}

uint64_t wmk_ctf_frames_size(const struct wmk_ctf_frames *frames)
{
	return frames->table.content;
}

uint64_t wmk_ctf_frames_after(const struct wmk_ctf_frames *frames, uint64_t at)
{
	const uint32_t number = find(frames, at);

	return number + 1 < frames->table.n ? frames->table.frames[number + 1].content_at : frames->table.content;
}

uint64_t wmk_ctf_frames_last(const struct wmk_ctf_frames *frames)
{
	return frames->table.n ? frames->table.frames[frames->table.n - 1].content_at : 0;
}

int wmk_ctf_frames_take_damage(struct wmk_ctf_frames *frames)
{
	if (!frames->is_damage_due)
		return 0;
	frames->is_damage_due = false;
	return wmk_error(-EBADMSG,
			 "the seek table of the compressed file is damaged: %u frames in its first %llu bytes are read",
			 frames->table.n, (unsigned long long)frames->table.size);
}
