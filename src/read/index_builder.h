/* SPDX-License-Identifier: MIT */
/*
 * index_builder.h - the index of a stream file that is written, for who reads the trace then (index.h). Internal to
 * src/read.
 *
 *     folder_begin ─► begin, for each stream ─► add, behind each packet ... ─► write, of all streams ─► name, of all ─► free ─► folder_free
 *
 * An index has its name only when all files of the trace are whole: who fails or is killed before leaves none that
 * could tell too little. Up to then its entries are in memory, 64 KiB at most, and those before them in a file whose
 * name nobody looks for.
 *
 * There is none, and that is no error, where the packets do not tell their size and the times of their begin and end,
 * or where these do not rise from packet to packet, so that they could not be searched by halves.
 *
 * Errors are -errno with a cause chain. One thread.
 */
#ifndef WMK_READ_INDEX_BUILDER_H
#define WMK_READ_INDEX_BUILDER_H

#include "ctf/writer.h"
#include "read/trace.h"

/* The folder `index` of a trace. It is made when something comes into it. */
struct wmk_read_index_folder {
	const char *path;          /* of what all traces are written into, for errors */
	int trace;                 /* the trace's directory; both are the owner's */
	int dir;                   /* -1: not made yet */
	bool is_taken;             /* a stream's file is called so: there are no indexes */
	unsigned number;           /* of the stream that has begun last */
};

struct wmk_read_index_builder {
	struct wmk_read_index_folder *folder;
	const char *file;          /* the stream's; its owner's */
	char name[16];             /* what the index is called up to the end */
	bool is_off;               /* there will be none */
	bool is_there;             /* its file is, by that name */
	struct wmk_read_scale scale;
	int64_t begin, end;        /* ns: of the packet before */
	uint8_t *bytes;            /* `len` of them are to be written, behind `written` */
	size_t len, cap;
	uint64_t written;
};

void wmk_read_index_folder_begin(struct wmk_read_index_folder *folder, const struct wmk_read_trace *of,
				 const char *path, int trace);
/* Removes the folder if there is nothing in it. */
void wmk_read_index_folder_free(struct wmk_read_index_folder *folder);

/* `of` is at its first packet. Where it has no clock there will be no index. */
void wmk_read_index_builder_begin(struct wmk_read_index_builder *made, struct wmk_read_index_folder *folder,
			       const struct wmk_read_stream *of, const char *file);
/* The packet that has been written; an end of 0 is none. */
int wmk_read_index_builder_add(struct wmk_read_index_builder *made, const struct wmk_ctf_index_entry *entry);
/* A packet does not tell what an entry has: there will be none. */
void wmk_read_index_builder_drop(struct wmk_read_index_builder *made);
/* Behind the last packet: what is not written yet. */
int wmk_read_index_builder_write(struct wmk_read_index_builder *made);
/* All has been written: it gets its name. */
int wmk_read_index_builder_name(struct wmk_read_index_builder *made);
/* What has no name by now is removed. Nothing is done to what is zero. */
void wmk_read_index_builder_free(struct wmk_read_index_builder *made);

#endif
