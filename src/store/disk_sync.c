/* SPDX-License-Identifier: MIT */
/*
 * disk_sync.c - waits until files of a trace are on the disk. A relay acknowledges a packet only after the packet is on
 * the disk (docs/relay.md).
 */
#include "store/store_state.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

/* `at` may be a descriptor without permission to read or sync (O_PATH). */
static int sync_directory(int at)
{
	const int fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const int err = fd < 0 || fsync(fd) < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return err;
}

uint64_t wmk_store_metadata_bytes(struct wmk_store *store)
{
	pthread_mutex_lock(&store->lock);
	const uint64_t len = store->metadata_len;

	pthread_mutex_unlock(&store->lock);
	return len;
}

int wmk_store_sync(struct wmk_store *store)
{
	int err;

	pthread_mutex_lock(&store->lock);
	err = fdatasync(store->metadata) < 0 || (store->clock.fd >= 0 && fdatasync(store->clock.fd) < 0) ||
			      (store->relay_clock.fd >= 0 && fdatasync(store->relay_clock.fd) < 0)
		      ? -errno
		      : 0;
	pthread_mutex_unlock(&store->lock);
	if (err == 0)
		err = sync_directory(store->dir);
	if (err == 0)
		err = sync_directory(store->index_dir);
	return err < 0 ? wmk_error(err, "cannot write %.240s to the disk: %s", store->path, strerror(-err)) : 0;
}

int wmk_store_file_sync(const struct wmk_store_stream *stream)
{
	if (stream->fd >= 0 && fdatasync(stream->fd) < 0)
		return -errno;
	return stream->index >= 0 && fdatasync(stream->index) < 0 ? -errno : 0;
}

int wmk_store_stream_sync(struct wmk_store_stream *stream)
{
	int err = stream->sync_err;

	stream->synced = true;
	stream->sync_err = 0;
	if (err == 0)
		err = wmk_store_file_sync(stream);
	return err < 0 ? wmk_error(err, "cannot write stream %.60s in %.60s to the disk: %s", stream->name,
				   stream->store->path, strerror(-err))
		       : 0;
}
