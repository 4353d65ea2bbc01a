/* SPDX-License-Identifier: MIT */
/*
 * fuzz_frames.c - any bytes as a compressed stream file. The reader must not crash, and must end. The seek table is
 * accepted only if it matches the file. A byte of the stream is the same wherever a read begins. Without an error, all
 * bytes up to the reported size can be read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "ctf/frame_reader.h"
#include "ctf/frame_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FRAMES 4096u               /* bounds the time of one input */
#define READ 512u

static void must(bool so)
{
	if (!so)
		abort();
}

static void check_table(int fd, size_t size)
{
	struct wmk_ctf_frame_table table;
	uint64_t at = 0, content_at = 0;

	if (wmk_ctf_frame_table_read(fd, &table) < 0) {
		must(table.n == 0 && !table.frames);
		return;
	}
	for (uint32_t i = 0; i < table.n; i++) {
		must(table.frames[i].at == at && table.frames[i].content_at == content_at);
		at += table.frames[i].size;
		content_at += table.frames[i].content;
	}
	must(at == table.size && content_at == table.content && at + 17 + 8 * (uint64_t)table.n == size);
	wmk_ctf_frame_table_free(&table);
}

/* Check that the bytes at `at` are the same if the read begins one byte later, after another frame was read. */
static void check_again(struct wmk_ctf_frames *frames, uint64_t at, const uint8_t *bytes, size_t len)
{
	uint8_t other[READ], first;

	if (len < 2 || wmk_ctf_frames_read(frames, &first, 1, 0) < 0)
		return;
	must(wmk_ctf_frames_read(frames, other, len - 1, at + 1) == (ssize_t)len - 1);
	must(memcmp(other, bytes + 1, len - 1) == 0);
}

static void read_all(struct wmk_ctf_frames *frames)
{
	uint64_t at = 0, sum = 0;
	uint8_t bytes[READ];
	bool is_whole = true;

	for (unsigned i = 0; i < FRAMES; i++) {
		const ssize_t n = wmk_ctf_frames_read(frames, bytes, sizeof(bytes), at);

		if (n == 0) {
			must(at >= wmk_ctf_frames_size(frames) && (!is_whole || sum == wmk_ctf_frames_size(frames)));
			return;
		}
		if (n < 0) {
			must(n == -EBADMSG || n == -ENOMEM);
			must(wmk_ctf_frames_after(frames, at) > at);
			at = wmk_ctf_frames_after(frames, at);
			is_whole = false;
			continue;
		}
		must(n <= (ssize_t)sizeof(bytes) && at + (uint64_t)n <= wmk_ctf_frames_after(frames, at));
		if (i % 16 == 0)
			check_again(frames, at, bytes, (size_t)n);
		at += (uint64_t)n;
		sum += (uint64_t)n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wmk_ctf_frames *frames;
	int fd = memfd_create("frames", MFD_CLOEXEC), err;

	must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	check_table(fd, size);
	if (wmk_ctf_frames_open(fd, &frames) >= 0) {
		read_all(frames);
		/* Damage of the table is reported once. */
		err = wmk_ctf_frames_take_damage(frames);
		must((err == 0 || err == -EBADMSG) && wmk_ctf_frames_take_damage(frames) == 0);
		wmk_ctf_frames_close(frames);
	}
	wmk_error_clear();
	close(fd);
	return 0;
}
