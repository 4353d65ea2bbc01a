/* SPDX-License-Identifier: MIT */
/*
 * spool_dir.c - finds and removes the files of a spool (see spool_dir.h).
 */
#include "sender/spool_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "store/spool.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define FILE_FLAGS (O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
#define DEPTH_MAX 8u
#define KERNEL "kernel"
#define ARCHIVES "archives"
#define PROCESS_SUB "ust/pid/"
#define CLEARED_SENT ".cleared.sent"

/* ── entries ─────────────────────────────────────────────────────────────────────────────────────────── */

int wmk_spool_each_entry(int dir, int (*one)(void *data, int at, const char *name), void *data)
{
	int again = openat(dir, ".", DIR_FLAGS), err = 0;
	DIR *entries = again < 0 ? NULL : fdopendir(again);
	const struct dirent *entry;

	if (!entries) {
		err = -errno;
		if (again >= 0)
			close(again);
		return err;
	}
	while (err == 0 && (entry = readdir(entries)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			err = one(data, dir, entry->d_name);
	closedir(entries);
	return err;
}

struct directories {
	int (*one)(void *data, const char *name, int dir);
	void *data;
};

static int visit_directory(void *data, int at, const char *name)
{
	const struct directories *all = data;
	int dir = openat(at, name, DIR_FLAGS), err = dir < 0 ? 0 : all->one(all->data, name, dir);

	if (dir >= 0)
		close(dir);
	return err;
}

int wmk_spool_each_directory(int at, int (*one)(void *data, const char *name, int dir), void *data)
{
	struct directories all = { one, data };

	return wmk_spool_each_entry(at, visit_directory, &all);
}

/* ── traces ──────────────────────────────────────────────────────────────────────────────────────────── */

/* The current position while walking through the directories of a spool. */
struct spool_walk {
	struct wmk_spool *spool;
	const char *archive;               /* name of the closed chunk; "": none */
	bool complete;
	unsigned depth;
	char sub[WMK_SPOOL_SUB];
};

static ssize_t read_small(int dir, const char *name, void *bytes, size_t size)
{
	int fd = openat(dir, name, FILE_FLAGS);
	ssize_t n = fd < 0 ? -1 : pread(fd, bytes, size, 0);

	if (fd >= 0)
		close(fd);
	return n;
}

/*
 * Read the number of a chunk from its directory. Returns false if the consumer daemon is still creating the directory,
 * and has not written the number yet. The consumer daemon first writes the file .chunk, which chunk 0 does not have,
 * and then the file .uuid. So look for .uuid first.
 */
static bool number_of(int dir, uint64_t *number)
{
	const bool is_complete = faccessat(dir, WMK_SPOOL_UUID, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	char text[32];
	ssize_t n = read_small(dir, ".chunk", text, sizeof(text) - 1);

	*number = 0;
	if (n <= 0)
		return is_complete;
	text[n] = '\0';
	*number = strtoull(text, NULL, 10);
	return true;
}

static struct wmk_spool_trace *trace_of(struct wmk_spool *spool, const char *sub, int dir)
{
	struct wmk_spool_trace *trace = spool->traces;

	while (trace && strcmp(trace->sub, sub) != 0)
		trace = trace->next;
	if (trace)
		return trace;
	trace = calloc(1, sizeof(*trace));
	/* A trace without the file .uuid has no packets yet. */
	if (!trace || read_small(dir, WMK_SPOOL_UUID, trace->uuid, sizeof(trace->uuid)) !=
			      (ssize_t)sizeof(trace->uuid)) {
		spool->failed |= !trace;
		free(trace);
		return NULL;
	}
	snprintf(trace->sub, sizeof(trace->sub), "%s", sub);
	trace->next = spool->traces;
	spool->traces = trace;
	return trace;
}

static void chunk_set(struct wmk_spool_chunk *chunk, const struct spool_walk *at)
{
	chunk->seen = true;
	chunk->complete = at->complete;
	snprintf(chunk->name, sizeof(chunk->name), "%s", at->archive);
}

/* Add the directory `dir`. Takes over the descriptor. */
static void chunk_found(const struct spool_walk *at, int dir)
{
	struct wmk_spool_trace *trace = trace_of(at->spool, at->sub, dir);
	struct wmk_spool_chunk *chunk, **place;
	uint64_t number;
	bool has_number;
	struct stat st;

	if (!trace || fstat(dir, &st) < 0) {
		close(dir);
		return;
	}
	for (chunk = trace->chunks; chunk; chunk = chunk->next)
		if (chunk->device == st.st_dev && chunk->inode == st.st_ino) {
			chunk_set(chunk, at);
			close(dir);
			return;
		}
	/*
	 * If the directory has no number yet, the next scan finds the chunk; the consumer daemon requests a scan when
	 * the directory is complete.
	 */
	has_number = number_of(dir, &number);
	chunk = has_number ? calloc(1, sizeof(*chunk)) : NULL;
	if (!chunk) {
		at->spool->failed |= has_number;
		close(dir);
		return;
	}
	chunk->dir = dir;
	chunk->device = st.st_dev;
	chunk->inode = st.st_ino;
	chunk->number = number;
	chunk_set(chunk, at);
	for (place = &trace->chunks; *place && (*place)->number < chunk->number; place = &(*place)->next)
		continue;
	chunk->next = *place;
	*place = chunk;
}

static int enter(void *data, int at, const char *name);

/* A directory that contains metadata is a chunk of a trace. Other directories can contain traces at a deeper level. */
static void visit(struct spool_walk *at, int dir)
{
	struct stat st;

	if (fstatat(dir, "metadata", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)) {
		chunk_found(at, dir);
		return;
	}
	if (at->depth < DEPTH_MAX)
		wmk_spool_each_entry(dir, enter, at);
	close(dir);
}

static int enter(void *data, int at, const char *name)
{
	struct spool_walk *walk = data, inner = *walk;
	const size_t len = strlen(walk->sub);
	int dir = name[0] == '.' ? -1 : openat(at, name, DIR_FLAGS);

	if (dir < 0)
		return 0;
	inner.depth++;
	if ((size_t)snprintf(inner.sub + len, sizeof(inner.sub) - len, "%s%s", len ? "/" : "", name) >=
	    sizeof(inner.sub) - len)
		close(dir);
	else
		visit(&inner, dir);
	return 0;
}

static int enter_own(void *data, int at, const char *name)
{
	const struct spool_walk *walk = data;

	return walk->spool->kernel == (strcmp(name, KERNEL) == 0) ? enter(data, at, name) : 0;
}

/* Enter the directory of one closed chunk, which is NAME, or .NAME while a rotation moves traces into it. */
static int enter_archive(void *data, int at, const char *name)
{
	struct spool_walk walk = { .spool = data, .archive = name + (name[0] == '.'), .complete = name[0] != '.',
			     .depth = 2 };
	int dir = openat(at, name, DIR_FLAGS);

	if (dir < 0)
		return 0;
	wmk_spool_each_entry(dir, enter_own, &walk);
	close(dir);
	return 0;
}

static int enter_root(void *data, int at, const char *name)
{
	struct wmk_spool *spool = data;
	struct spool_walk walk = { .spool = spool, .archive = "", .depth = 0 };
	int dir;

	if (strcmp(name, ARCHIVES) != 0)
		return enter_own(&walk, at, name);
	dir = openat(at, name, DIR_FLAGS);
	if (dir >= 0) {
		wmk_spool_each_entry(dir, enter_archive, spool);
		close(dir);
	}
	return 0;
}

static void chunk_free(struct wmk_spool_chunk *chunk)
{
	close(chunk->dir);
	free(chunk);
}

int wmk_spool_scan(struct wmk_spool *spool)
{
	struct wmk_spool_trace *trace;
	int err;

	spool->failed = false;
	for (trace = spool->traces; trace; trace = trace->next)
		for (struct wmk_spool_chunk *chunk = trace->chunks; chunk; chunk = chunk->next)
			chunk->seen = false;
	err = wmk_spool_each_entry(spool->root, enter_root, spool);
	if (err < 0 || spool->failed)
		return wmk_error(err < 0 ? err : -ENOMEM, "cannot read the spool");
	for (trace = spool->traces; trace; trace = trace->next)
		for (struct wmk_spool_chunk **at = &trace->chunks, *chunk; (chunk = *at);) {
			if (chunk->seen) {
				at = &chunk->next;
				continue;
			}
			*at = chunk->next;
			chunk_free(chunk);
		}
	return 0;
}

int wmk_spool_open(const char *path, bool kernel, struct wmk_spool *spool)
{
	memset(spool, 0, sizeof(*spool));
	spool->kernel = kernel;
	spool->root = wmk_store_spool_directory(path);
	return spool->root < 0 ? wmk_error(spool->root, "cannot open the spool %.240s: %s", path,
					   strerror(-spool->root))
			       : 0;
}

void wmk_spool_forget(struct wmk_spool *spool)
{
	for (struct wmk_spool_trace *trace = spool->traces; trace; trace = trace->next)
		for (struct wmk_spool_chunk *chunk; (chunk = trace->chunks);) {
			trace->chunks = chunk->next;
			chunk_free(chunk);
		}
}

void wmk_spool_close(struct wmk_spool *spool)
{
	wmk_spool_forget(spool);
	for (struct wmk_spool_trace *trace = spool->traces, *next; trace; trace = next) {
		next = trace->next;
		free(trace);
	}
	spool->traces = NULL;
	if (spool->root >= 0)
		close(spool->root);
	spool->root = -1;
}

/* ── streams ─────────────────────────────────────────────────────────────────────────────────────────── */

/* Split the name <stream>_<number>. Returns false if the name does not have the form <stream>_<number>. */
static bool split(const char *name, char stream[WMK_SPOOL_NAME], uint64_t *number)
{
	const char *line = strrchr(name, '_');
	char *end;

	if (name[0] == '.' || !line || line == name || strlen(name) >= WMK_SPOOL_NAME || line[1] < '0' || line[1] > '9')
		return false;
	*number = strtoull(line + 1, &end, 10);
	if (*end)
		return false;
	snprintf(stream, WMK_SPOOL_NAME, "%.*s", (int)(line - name), name);
	return true;
}

struct first_files {
	struct first_file {
		char name[WMK_SPOOL_NAME];
		uint64_t first;
	} *files;
	size_t n;
};

static int first_add(void *data, int at, const char *name)
{
	struct first_files *found = data;
	struct first_file *grown;
	char stream[WMK_SPOOL_NAME];
	uint64_t number;

	(void)at;
	if (!split(name, stream, &number))
		return 0;
	for (size_t i = 0; i < found->n; i++)
		if (strcmp(found->files[i].name, stream) == 0) {
			if (number < found->files[i].first)
				found->files[i].first = number;
			return 0;
		}
	grown = realloc(found->files, (found->n + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	found->files = grown;
	strcpy(grown[found->n].name, stream);
	grown[found->n++].first = number;
	return 0;
}

int wmk_spool_each_stream(const struct wmk_spool_chunk *chunk, int (*one)(void *data, const char *name, uint64_t first),
			  void *data)
{
	struct first_files found = { 0 };
	int err = wmk_spool_each_entry(chunk->dir, first_add, &found);

	for (size_t i = 0; i < found.n && err == 0; i++)
		err = one(data, found.files[i].name, found.files[i].first);
	free(found.files);
	return err;
}

static void file_name(char text[WMK_SPOOL_NAME + 32], const char *name, uint64_t number, const char *end)
{
	snprintf(text, WMK_SPOOL_NAME + 32, "%s_%llu%s", name, (unsigned long long)number, end);
}

int wmk_spool_file(const struct wmk_spool_chunk *chunk, const char *name, uint64_t number)
{
	char text[WMK_SPOOL_NAME + 32];
	int fd;

	file_name(text, name, number, "");
	fd = openat(chunk->dir, text, FILE_FLAGS);
	return fd < 0 ? -errno : fd;
}

int wmk_spool_packet(int file, uint64_t offset, struct wmk_ctf_packet *packet)
{
	uint8_t room[WMK_CTF_PACKET_ROOM], trailer[WMK_CTF_TRAILER];
	uint64_t size;

	if (pread(file, room, sizeof(room), (off_t)offset) != (ssize_t)sizeof(room))
		return 0;
	/* Any UUID is accepted here: the sender does not verify that the packet has the UUID of its chunk. */
	if (wmk_ctf_packet_decode(room, room + WMK_CTF_PACKET_UUID_AT, packet) < 0) {
		wmk_error_clear();
		return 0;
	}
	size = wmk_ctf_packet_size(packet);
	if (pread(file, trailer, sizeof(trailer), (off_t)(offset + size - sizeof(trailer))) != (ssize_t)sizeof(trailer))
		return 0;
	return wmk_ctf_trailer_decode(trailer, packet);
}

bool wmk_spool_has_packet(const struct wmk_spool_chunk *chunk, const char *name, uint64_t number)
{
	const int file = wmk_spool_file(chunk, name, number);
	struct wmk_ctf_packet packet;
	const bool has = file >= 0 && wmk_spool_packet(file, 0, &packet) == 1;

	if (file >= 0)
		close(file);
	return has;
}

void wmk_spool_remove_file(const struct wmk_spool_chunk *chunk, const char *name, uint64_t number)
{
	char text[WMK_SPOOL_NAME + 32];
	int index = openat(chunk->dir, "index", DIR_FLAGS);

	file_name(text, name, number, ".idx");
	if (index >= 0) {
		unlinkat(index, text, 0);
		close(index);
	}
	file_name(text, name, number, "");
	unlinkat(chunk->dir, text, 0);
}

int wmk_spool_cleared(const struct wmk_spool_chunk *chunk, int (*one)(void *data, const char *name), void *data)
{
	char name[WMK_SPOOL_NAME];
	int fd = openat(chunk->dir, WMK_SPOOL_CLEARED, FILE_FLAGS), sent, err = 0;
	uint64_t offset = 0;
	ssize_t n;

	if (fd < 0)
		return errno == ENOENT ? 0 : wmk_error(-errno, "cannot read the spool");
	sent = openat(chunk->dir, CLEARED_SENT, O_RDWR | O_CREAT | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (sent < 0 || pread(sent, &offset, sizeof(offset), 0) < 0)
		err = wmk_error(-errno, "cannot read the spool");
	while (err == 0 && (n = pread(fd, name, sizeof(name) - 1, (off_t)offset)) > 0) {
		char *end = memchr(name, '\n', (size_t)n);

		if (!end)
			break;
		*end = '\0';
		err = one(data, name);
		if (err == 0) {
			offset += (uint64_t)(end - name) + 1;
			if (pwrite(sent, &offset, sizeof(offset), 0) != (ssize_t)sizeof(offset))
				err = wmk_error(-EIO, "cannot write the spool");
		}
	}
	if (sent >= 0)
		close(sent);
	close(fd);
	return err;
}

/* ── closed chunks ───────────────────────────────────────────────────────────────────────────────────── */

void wmk_spool_note(const struct wmk_spool_chunk *chunk, const char *note)
{
	int fd = openat(chunk->dir, note, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
}

bool wmk_spool_has_note(const struct wmk_spool_chunk *chunk, const char *note)
{
	struct stat st;

	return fstatat(chunk->dir, note, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

uint64_t wmk_spool_first_chunk(const struct wmk_spool_trace *trace)
{
	uint64_t number = trace->chunks->number;

	for (const struct wmk_spool_chunk *chunk = trace->chunks; chunk; chunk = chunk->next) {
		number = chunk->number;
		if (!wmk_spool_has_note(chunk, WMK_SPOOL_ROTATING))
			return number;
	}
	return number + 1;
}

bool wmk_spool_process(const struct wmk_spool_trace *trace, char name[WMK_SPOOL_SUB])
{
	const char *sub = trace->sub;

	if (strncmp(sub, PROCESS_SUB, strlen(PROCESS_SUB)) != 0)
		return false;
	sub += strlen(PROCESS_SUB);
	snprintf(name, WMK_SPOOL_SUB, "%.*s", (int)strcspn(sub, "/"), sub);
	return true;
}

static bool exists_below(const struct wmk_spool *spool, const char *name, const char *file)
{
	char path[WMK_SPOOL_NAME + 64];
	struct stat st;

	snprintf(path, sizeof(path), ARCHIVES "/%s/%s", name, file);
	return fstatat(spool->root, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

enum wmk_spool_other wmk_spool_other(const struct wmk_spool *spool, const char *name)
{
	if (spool->kernel)
		return exists_below(spool, name, "ust") ? WMK_SPOOL_OTHER_CLOSES : WMK_SPOOL_OTHER_DONE;
	return exists_below(spool, name, KERNEL) && !exists_below(spool, name, KERNEL "/" WMK_SPOOL_SENT)
		       ? WMK_SPOOL_OTHER_SENDS
		       : WMK_SPOOL_OTHER_DONE;
}

/* ── removal ─────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Remove regular files and directories. Files of other types are kept, together with the directories that contain them.
 */
static int remove_entry(void *data, int at, const char *name)
{
	const unsigned *depth = data;
	unsigned inner = *depth + 1;
	struct stat st;
	int dir;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (S_ISREG(st.st_mode))
		unlinkat(at, name, 0);
	dir = S_ISDIR(st.st_mode) && inner <= DEPTH_MAX ? openat(at, name, DIR_FLAGS) : -1;
	if (dir >= 0) {
		wmk_spool_each_entry(dir, remove_entry, &inner);
		close(dir);
		unlinkat(at, name, AT_REMOVEDIR);
	}
	return 0;
}

void wmk_spool_remove_chunk(struct wmk_spool *spool, const char *name)
{
	int archives = openat(spool->root, ARCHIVES, DIR_FLAGS);
	unsigned depth = 1;

	if (archives < 0)
		return;
	remove_entry(&depth, archives, name);
	close(archives);
}

struct spool_part {
	bool kernel;
	bool others;               /* the other consumer daemon has files */
};

static int remove_part(void *data, int at, const char *name)
{
	struct spool_part *part = data;
	unsigned depth = 0;

	if (strcmp(name, WMK_SPOOL_RELAY) == 0 || strcmp(name, WMK_SPOOL_ENDED) == 0)
		return 0;
	if (part->kernel == (strcmp(name, KERNEL) == 0))
		remove_entry(&depth, at, name);
	else
		part->others = true;
	return 0;
}

void wmk_spool_remove(struct wmk_spool *spool, const char *path)
{
	struct spool_part part = { .kernel = spool->kernel };

	wmk_spool_each_entry(spool->root, remove_part, &part);
	if (part.others)
		return;
	/* In this order: see wmk_store_spool_end(). */
	unlinkat(spool->root, WMK_SPOOL_RELAY, 0);
	unlinkat(spool->root, WMK_SPOOL_ENDED, 0);
	wmk_store_spool_remove(path);
}
