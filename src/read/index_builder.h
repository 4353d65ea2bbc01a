/* SPDX-License-Identifier: MIT */
/*
 * index_builder.h - write the index of a stream file together with the file (index.h). Internal to src/read.
 *
 *     folder_begin ─► begin, for each stream ─► add, after each packet ... ─► write, of all streams ─► name, of all
 *                  ─► free ─► folder_free
 *
 * An index gets its final name only after all files of the trace are complete. So an error or a crash never leaves an
 * index that lacks packets. Until all files of the trace are complete, at most 64 KiB of index entries are in memory.
 * Older entries are in a file with a temporary name, and readers do not open this file.
 *
 * The exporter writes no index if packets do not declare their size, their start time and their end time. If the times
 * decrease from one packet to the next, a binary search would fail, so the exporter writes no index. Neither case is an
 * error.
 *
 * Errors are -errno with a cause chain. One thread.
 */
#ifndef WMK_READ_INDEX_BUILDER_H
#define WMK_READ_INDEX_BUILDER_H

#include "ctf/writer.h"
#include "read/trace.h"

/* The subdirectory `index` of a trace. The exporter creates the directory together with the first file in it. */
struct wmk_read_index_folder {
	const char *path;          /* path of the output directory, for errors */
	int trace;                 /* descriptor of the trace's directory; the caller owns `path` and `trace` */
	int dir;                   /* -1: not created yet */
	bool is_taken;             /* a stream file has this name: no indexes are written */
	unsigned number;           /* number of the latest stream */
};

struct wmk_read_index_builder {
	struct wmk_read_index_folder *folder;
	const char *file;          /* the stream file's name; owned by the caller */
	char name[16];             /* the temporary name of the index */
	bool is_off;               /* no index is written */
	bool is_there;             /* the file with the temporary name exists */
	struct wmk_read_scale scale;
	int64_t begin, end;        /* ns: of the previous packet */
	uint8_t *bytes;            /* the first `len` bytes belong at byte `written` of the file */
	size_t len, cap;
	uint64_t written;
};

void wmk_read_index_folder_begin(struct wmk_read_index_folder *folder, const struct wmk_read_trace *of,
				 const char *path, int trace);
/* The function removes the directory if the directory is empty. */
void wmk_read_index_folder_free(struct wmk_read_index_folder *folder);

/*
 * Start an index; the stream `of` must be at its first packet. For a stream without a clock, the exporter writes no
 * index.
 */
void wmk_read_index_builder_begin(struct wmk_read_index_builder *made, struct wmk_read_index_folder *folder,
			       const struct wmk_read_stream *of, const char *file);
/* Add the entry of a packet that the exporter has written. end_ts 0: the packet has no end. */
int wmk_read_index_builder_add(struct wmk_read_index_builder *made, const struct wmk_ctf_index_entry *entry);
/* Drop the index, because a packet does not declare the values of an entry. */
void wmk_read_index_builder_drop(struct wmk_read_index_builder *made);
/* Write the remaining entries; the caller calls this function after the last packet. */
int wmk_read_index_builder_write(struct wmk_read_index_builder *made);
/* Rename the index to its final name; the caller calls this function after it has written all files. */
int wmk_read_index_builder_name(struct wmk_read_index_builder *made);
/* Remove an index that does not have its final name yet. The function has no effect on a zeroed builder. */
void wmk_read_index_builder_free(struct wmk_read_index_builder *made);

#endif
