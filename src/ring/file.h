/* SPDX-License-Identifier: MIT */
/*
 * file.h - ring sets in files that have a name, beside those in sealed memory (docs/ring.md, "In a file").
 *
 * Such a set outlives all processes. But nobody can seal a file: whoever may write to it can cut it, and a mapping of
 * what is not there any more raises SIGBUS. So only a file that belongs to the user of the process, and that nobody
 * else may open, is mapped at all; and a reader, which serves others too, survives the cut: its mapping becomes zeros,
 * which no ring can be (-EIO).
 *
 *     reader: fstat() at each look ─┬─ shorter than the set ────────────────► the mapping is replaced by zero pages
 *             load or store between ┘ two looks: SIGBUS ─► handler ─────────►
 */
#ifndef WMK_RING_FILE_H
#define WMK_RING_FILE_H

#include <waymark/ring.h>

/*
 * As waymark_ring_set_create(), in the file `fd`, empty and open for reading and writing: the set's from here on, in
 * any case.
 */
int wmk_ring_set_create_in(const struct waymark_ring_options *options, int fd, struct waymark_ring_set **set);
/*
 * As waymark_ring_set_open() and waymark_ring_set_open_reader(), also of a set in a file: -EPERM where that is not a
 * plain file of this process's user that only he may open. A reader's installs a handler for SIGBUS in this process,
 * which passes on what is not about a set.
 */
int wmk_ring_set_open_any(int fd, struct waymark_ring_set **set);
int wmk_ring_set_open_reader_any(int fd, struct waymark_ring_set **set);

/* ── for set.c and memory.c ── */
/* 0: sealed memory; 1: a file that may be mapped; -EPERM. */
int wmk_ring_file_kind(int fd);
/* Survive SIGBUS in what is mapped for this reader. 0; -EMFILE: too many; -ENOMEM. */
int wmk_ring_file_guard(const struct waymark_ring_set *set);
void wmk_ring_file_unguard(const struct waymark_ring_set *set);
/* -EIO: it is shorter than the set: from here on the mapping has zeros alone. 0. */
int wmk_ring_file_look(const struct waymark_ring_set *set);

#endif
