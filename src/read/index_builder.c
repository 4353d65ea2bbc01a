/* SPDX-License-Identifier: MIT */
/*
 * index_builder.c - write indexes of stream files (see index_builder.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "read/index_builder.h"
#include "read/write_all.h"

#define FOLDER "index"
#define KEPT_FIRST 1024u           /* bytes of entries in memory: the first allocation ... */
#define KEPT_MAX 65536u            /* ... and the maximum, at which they are written */

/* ── the directory ───────────────────────────────────────────────────────────────────────────────────── */

void wmk_read_index_folder_begin(struct wmk_read_index_folder *folder, const struct wmk_read_trace *of,
				 const char *path, int trace)
{
	*folder = (struct wmk_read_index_folder){ .path = path, .trace = trace, .dir = -1 };
	for (uint32_t i = 0; i < of->n_files; i++)
		if (strcmp(of->files[i], FOLDER) == 0)
			folder->is_taken = true;
}

/* The function follows no link, because it must only use a directory that this process has created. */
static int open_folder(struct wmk_read_index_folder *folder)
{
	const bool is_made = folder->dir < 0 && mkdirat(folder->trace, FOLDER, 0700) == 0;
	int err;

	if (is_made)
		folder->dir = openat(folder->trace, FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	err = errno;
	if (is_made && folder->dir < 0)
		unlinkat(folder->trace, FOLDER, AT_REMOVEDIR);
	return folder->dir < 0 ? wmk_error(-err, "cannot create the directory '" FOLDER "' in '%.200s'", folder->path)
			       : 0;
}

void wmk_read_index_folder_free(struct wmk_read_index_folder *folder)
{
	if (folder->dir < 0)
		return;
	close(folder->dir);
	folder->dir = -1;
	unlinkat(folder->trace, FOLDER, AT_REMOVEDIR);
}

/* ── entries ─────────────────────────────────────────────────────────────────────────────────────────── */

static void final_name(const struct wmk_read_index_builder *made, char name[NAME_MAX + 8])
{
	snprintf(name, NAME_MAX + 8, "%.*s.idx", NAME_MAX, made->file);
}

void wmk_read_index_builder_begin(struct wmk_read_index_builder *made, struct wmk_read_index_folder *folder,
			       const struct wmk_read_stream *of, const char *file)
{
	char name[NAME_MAX + 8];

	*made = (struct wmk_read_index_builder){
		.folder = folder, .file = file, .scale = of->scale, .begin = INT64_MIN, .end = INT64_MIN
	};
	snprintf(made->name, sizeof(made->name), ".%u", ++folder->number);
	final_name(made, name);
	made->is_off = folder->is_taken || !of->decoder->class->clock || strlen(name) > NAME_MAX;
}

static void forget(struct wmk_read_index_builder *made)
{
	if (made->is_there)
		unlinkat(made->folder->dir, made->name, 0);
	made->is_there = false;
	free(made->bytes);
	made->bytes = NULL;
	made->len = made->cap = 0;
}

void wmk_read_index_builder_drop(struct wmk_read_index_builder *made)
{
	forget(made);
	made->is_off = true;
}

/*
 * The function closes the file, because a second open descriptor for each stream could exceed the limit of the process.
 */
int wmk_read_index_builder_write(struct wmk_read_index_builder *made)
{
	int err = made->len ? open_folder(made->folder) : 0, fd;

	if (err < 0 || !made->len)
		return err;
	fd = openat(made->folder->dir, made->name,
		    O_WRONLY | O_NOFOLLOW | O_CLOEXEC | (made->is_there ? 0 : O_CREAT | O_EXCL), 0600);
	err = fd < 0 ? -errno : wmk_read_write_all(fd, made->bytes, made->len, made->written);
	if (fd >= 0) {
		made->is_there = true;
		if (close(fd) < 0 && err >= 0)
			err = -errno;
	}
	if (err < 0)
		return wmk_error(err, "cannot write the index of '%.240s' in '%.200s'", made->file, made->folder->path);
	made->written += made->len;
	made->len = 0;
	return 0;
}

/* Make room in memory for one more entry. */
static int room(struct wmk_read_index_builder *made)
{
	const size_t cap = made->cap ? 2 * made->cap : KEPT_FIRST;
	uint8_t *larger;

	if (made->len + WMK_CTF_INDEX_ENTRY <= made->cap)
		return 0;
	if (cap > KEPT_MAX)
		return wmk_read_index_builder_write(made);
	larger = realloc(made->bytes, cap);
	if (!larger)
		return wmk_error(-ENOMEM, "no memory for the index of '%.240s'", made->file);
	made->bytes = larger;
	made->cap = cap;
	return 0;
}

/*
 * Return whether the times of the packet do not precede the times of the previous packet. As unsigned clock values, the
 * start time must not exceed the end time, because readers compare these values. In ns, the start time and the end time
 * must not decrease from packet to packet.
 */
static bool rises(struct wmk_read_index_builder *made, const struct wmk_ctf_index_entry *entry)
{
	const int64_t begin = wmk_read_scale_ns(&made->scale, entry->begin_ts),
		      end = wmk_read_scale_ns(&made->scale, entry->end_ts);
	/* (0: the packet has no end, or a crash has left it open) */
	const bool is_so = entry->end_ts && entry->begin_ts <= entry->end_ts && begin <= end && begin >= made->begin &&
			   end >= made->end;

	made->begin = begin;
	made->end = end;
	return is_so;
}

int wmk_read_index_builder_add(struct wmk_read_index_builder *made, const struct wmk_ctf_index_entry *entry)
{
	int err;

	if (made->is_off)
		return 0;
	if (!rises(made, entry)) {
		wmk_read_index_builder_drop(made);
		return 0;
	}
	err = room(made);
	if (err < 0)
		return err;
	if (!made->len && !made->written) {
		wmk_ctf_index_head(made->bytes);
		made->len = WMK_CTF_INDEX_HEAD;
	}
	wmk_ctf_index_encode(made->bytes + made->len, entry);
	made->len += WMK_CTF_INDEX_ENTRY;
	return 0;
}

int wmk_read_index_builder_name(struct wmk_read_index_builder *made)
{
	char name[NAME_MAX + 8];

	if (!made->is_there)
		return 0;
	final_name(made, name);
	if (renameat(made->folder->dir, made->name, made->folder->dir, name) < 0)
		return wmk_error(-errno, "cannot rename the index of '%.240s' in '%.200s'", made->file,
				 made->folder->path);
	made->is_there = false;
	return 0;
}

void wmk_read_index_builder_free(struct wmk_read_index_builder *made)
{
	forget(made);
}
