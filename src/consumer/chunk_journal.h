/* SPDX-License-Identifier: MIT */
/*
 * chunk_journal.h - the journal of a rotation: the name of the chunk that ends, and the cut of each source, as text.
 * The last journal of a rotation is also a file of the next chunk: it contains the positions at which the sources begin
 * the next chunk.
 *
 *     waymark-rotation 2
 *     chunk <number of the next chunk> <name>
 *     cut <position> <time> <records> <stream>         (struct wmk_ring_cut, ring/packet_source.h)
 *     ...
 *     counts <each count of counts.def> <channel>      (last journal only: of all closed chunks)
 *     ...
 *     end
 *
 * Pure functions on memory. The journal is a file of the trace directory, which belongs to a user, so its content is
 * not trusted.
 */
#ifndef WMK_CONSUMER_CHUNK_JOURNAL_H
#define WMK_CONSUMER_CHUNK_JOURNAL_H

#include <stddef.h>

#include "ring/set.h"
#include "wire/counts.h"

struct wmk_chunk_cut {
	struct wmk_ring_cut cut;
	char *stream;
};

struct wmk_chunk_counts {
	struct wmk_counts counts;
	char *channel;
};

/* The caller initialises a journal with zeros. */
struct wmk_chunk_journal {
	struct wmk_chunk_cut *cuts;
	size_t n;
	struct wmk_chunk_counts *counts;
	size_t n_counts;
};

/* Append to malloc'd text. 0 or -ENOMEM. */
int wmk_chunk_journal_begin(char **text, uint64_t chunk, const char *name);
int wmk_chunk_journal_add(char **text, const char *stream, const struct wmk_ring_cut *cut);
int wmk_chunk_journal_counts(char **text, const char *channel, const struct wmk_counts *counts);
int wmk_chunk_journal_end(char **text);
/*
 * Read a journal. -EINVAL: the text is incomplete, or it is not the journal of that chunk. `journal` is then empty.
 * -ENOMEM.
 */
int wmk_chunk_journal_parse(const char *text, uint64_t chunk, struct wmk_chunk_journal *journal);
/* Return the cut of a stream, or NULL if the journal has no cut of the stream. */
const struct wmk_ring_cut *wmk_chunk_journal_find(const struct wmk_chunk_journal *journal, const char *stream);
/* Return the counts of `channel` in the journal. NULL: the journal has none. */
const struct wmk_counts *wmk_chunk_journal_find_counts(const struct wmk_chunk_journal *journal, const char *channel);
void wmk_chunk_journal_free(struct wmk_chunk_journal *journal);

#endif
