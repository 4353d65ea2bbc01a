/* SPDX-License-Identifier: MIT */
/*
 * outlet_files.c - a trace's directory and metadata, made and written by the threads of its disk (disk.h).
 *
 * The session's lock is held by whoever asks, and every program that registers takes it: nobody waits longer than FILES_MS. What comes to
 * its end later is undone, so that an error says in any case that nothing of it is there.
 *
 * What an earlier daemon made needs no disk to go on: its rings are emptied by the consumer daemon. Where the disk does not answer, it is open
 * all the same, and its metadata is opened by the first work that comes to write to it.
 */
#include "session/outlet_inside.h"

#include "base/error.h"
#include "session/disk.h"
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILES_MS 2000                /* a shard waits for that once, however many sessions' disks hang, and with it programs that begin: 3 s at most, by default */

struct wmk_files {
	struct wmk_disk_work opening;
	atomic_uint refs;                /* the trace's, and one for each work */
	struct wmk_disk *disk;
	struct wmk_store *store;         /* the disk's threads', one work after the other; NULL: not open yet */
	char *path, *sub;
	uid_t uid;
	gid_t gid;
	bool restored;
};

/* Text for the metadata, on its way. */
struct text {
	struct wmk_disk_work work;
	struct wmk_files *files;
	bool replace;
	size_t len;
	char text[];
};

static void files_put(struct wmk_files *files)
{
	/* acq_rel: who is the last has seen what the others stored */
	if (atomic_fetch_sub_explicit(&files->refs, 1, memory_order_acq_rel) != 1)
		return;
	/* nothing of it stays that nobody has written to: the next one makes it anew */
	if (files->store)
		wmk_store_discard(files->store);
	if (files->disk)
		wmk_disk_put(files->disk);
	free(files->path);
	free(files->sub);
	free(files);
}

static struct wmk_files *files_hold(struct wmk_files *files)
{
	/* relaxed: the caller has one */
	atomic_fetch_add_explicit(&files->refs, 1, memory_order_relaxed);
	return files;
}

static struct wmk_files *files_new(struct wmk_disks *disks, const struct wmk_trace_info *info)
{
	struct wmk_files *files = calloc(1, sizeof(*files));

	if (!files) {
		wmk_error(-ENOMEM, "no memory for a trace");
		return NULL;
	}
	atomic_init(&files->refs, 1);
	files->uid = info->uid;
	files->gid = info->gid;
	files->restored = info->restored;
	files->path = strdup(info->path);
	files->sub = strdup(info->sub);
	files->disk = wmk_disk_get(disks, info->path, info->uid);
	if (files->path && files->sub && files->disk)
		return files;
	files_put(files);
	wmk_error(-ENOMEM, "no memory for a trace");
	return NULL;
}

/* ── opened ──────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * The session's first trace makes its directory, the others find it there. What is half made is that of a daemon which was killed before a
 * program heard of it. (In the place of a process's own trace there may be that of the program which it was before an exec.)
 */
static int make(struct wmk_files *files)
{
	int err = wmk_store_add(files->path, files->sub, &files->store);

	if (err == -ENOENT) {
		wmk_error_clear();
		err = wmk_store_create(files->path, files->sub, &files->store);
	}
	if (err == -EEXIST && strncmp(files->sub, WMK_SUB_PID, strlen(WMK_SUB_PID)) != 0) {
		wmk_error_clear();
		err = wmk_store_take_over(files->path, files->sub, &files->store);
	}
	return err;
}

/* In a thread of the disk. An earlier daemon's metadata is appended to. */
static int open_here(struct wmk_files *files)
{
	int err = wmk_store_as(files->uid, files->gid);

	if (err < 0)
		return err;
	err = files->restored ? wmk_store_open(files->path, files->sub, &files->store) : make(files);
	wmk_store_as_end();
	return err;
}

static int open_run(struct wmk_disk_work *work)
{
	return open_here((struct wmk_files *)(void *)work);
}

static void open_free(struct wmk_disk_work *work)
{
	files_put((struct wmk_files *)(void *)work);
}

int wmk_files_open(struct wmk_disks *disks, const struct wmk_trace_info *info, struct wmk_files **out)
{
	struct wmk_files *files = files_new(disks, info);

	if (!files)
		return -ENOMEM;
	files->opening = (struct wmk_disk_work){ .run = open_run, .free = open_free };
	files_hold(files);
	int err = wmk_disk_do(files->disk, &files->opening, FILES_MS);
	if (err == -ETIMEDOUT && files->restored) {
		wmk_error_clear();
		err = 0;
	}
	if (err < 0)
		files_put(files);
	else
		*out = files;
	return err;
}

void wmk_files_close(struct wmk_files *files)
{
	files_put(files);
}

/* ── metadata ────────────────────────────────────────────────────────────────────────────────────────── */

static int text_run(struct wmk_disk_work *work)
{
	const struct text *text = (struct text *)(void *)work;
	int err = text->files->store ? 0 : open_here(text->files);

	if (err < 0)
		return err;
	return text->replace ? wmk_store_metadata_replace(text->files->store, text->text, text->len) :
			       wmk_store_metadata(text->files->store, text->text, text->len);
}

/* (Metadata that was written anew says the same as what was there.) */
static void text_undo(struct wmk_disk_work *work)
{
	const struct text *text = (struct text *)(void *)work;

	if (!text->replace)
		wmk_store_metadata_cut(text->files->store, text->len);
}

static void text_free(struct wmk_disk_work *work)
{
	struct text *text = (struct text *)(void *)work;

	files_put(text->files);
	free(text);
}

int wmk_files_metadata(struct wmk_files *files, const char *words, size_t len, bool replace)
{
	struct text *text = malloc(sizeof(*text) + len);

	if (!text)
		return wmk_error(-ENOMEM, "no memory for metadata");
	text->work = (struct wmk_disk_work){ .run = text_run, .undo = text_undo, .free = text_free };
	text->files = files_hold(files);
	text->replace = replace;
	text->len = len;
	memcpy(text->text, words, len);
	return wmk_disk_do(files->disk, &text->work, FILES_MS);
}
