/* SPDX-License-Identifier: MIT */
/*
 * frame_writer.c - write compressed stream files (see frame_writer.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

#include "base/error.h"
#include "ctf/frame_table.h"
#include "ctf/frame_writer.h"

struct wmk_ctf_frame_writer {
	int fd;
	ZSTD_CCtx *context;
	struct wmk_ctf_frame_table table;
	uint8_t *out;
	size_t cap;
};

int wmk_ctf_frame_writer_open(int fd, struct wmk_ctf_frame_writer **writer)
{
	struct wmk_ctf_frame_writer *made = calloc(1, sizeof(*made));

	if (made)
		made->context = ZSTD_createCCtx();
	if (!made || !made->context ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(made->context, ZSTD_c_compressionLevel, WMK_CTF_FRAME_LEVEL)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(made->context, ZSTD_c_checksumFlag, 1))) {
		wmk_ctf_frame_writer_free(made);
		return wmk_error(-ENOMEM, "no memory to compress");
	}
	made->fd = fd;
	*writer = made;
	return 0;
}

static int write_all(const struct wmk_ctf_frame_writer *writer, const uint8_t *bytes, size_t len, uint64_t at)
{
	for (size_t done = 0; done < len;) {
		const ssize_t n = pwrite(writer->fd, bytes + done, len - done, (off_t)(at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return wmk_error(n < 0 ? -errno : -EIO, "cannot write a compressed file");
		done += (size_t)n;
	}
	return 0;
}

int wmk_ctf_frame_writer_add(struct wmk_ctf_frame_writer *writer, const void *packets, size_t len)
{
	const size_t need = ZSTD_compressBound(len);
	size_t size;
	int err;

	if (len > WMK_CTF_FRAME_MAX)
		return wmk_error(-E2BIG, "a frame of %zu bytes exceeds the limit of %u", len, WMK_CTF_FRAME_MAX);
	if (need > writer->cap) {
		free(writer->out);
		writer->out = malloc(need);
		writer->cap = writer->out ? need : 0;
		if (!writer->out)
			return wmk_error(-ENOMEM, "no memory to compress %zu bytes", len);
	}
	size = ZSTD_compress2(writer->context, writer->out, writer->cap, packets, len);
	if (ZSTD_isError(size))
		return wmk_error(-EIO, "cannot compress %zu bytes: %s", len, ZSTD_getErrorName(size));
	err = write_all(writer, writer->out, size, writer->table.size);
	return err < 0 ? err : wmk_ctf_frame_table_add(&writer->table, size, len);
}

int wmk_ctf_frame_writer_end(struct wmk_ctf_frame_writer *writer, uint64_t *size)
{
	uint8_t *bytes;
	size_t len;
	int err = wmk_ctf_frame_table_encode(&writer->table, &bytes, &len);

	if (err >= 0)
		err = write_all(writer, bytes, len, writer->table.size);
	free(bytes);
	*size = writer->table.size + len;
	return err;
}

void wmk_ctf_frame_writer_free(struct wmk_ctf_frame_writer *writer)
{
	if (!writer)
		return;
	ZSTD_freeCCtx(writer->context);
	wmk_ctf_frame_table_free(&writer->table);
	free(writer->out);
	free(writer);
}
