/* SPDX-License-Identifier: MIT */
/*
 * file.h - ring sets in named files, in addition to those in sealed memory (docs/ring.md, "In a file").
 *
 * A ring set in a file outlives all processes. Unlike a memfd, a file cannot be sealed: any process that can write to a
 * file can truncate the file. An access to the mapping past the end of a truncated file raises SIGBUS. A process maps
 * the file of a ring set only if the file belongs to the user of the process, and no other user can open the file. A
 * reader also serves other users, so the reader must survive the truncation of a file. After a truncation, the mapping
 * of the reader becomes zero pages, which are not a valid ring (-EIO).
 *
 *     reader: fstat() at each check ─┬─ shorter than the set ───────────────► the mapping is replaced by zero pages
 *             access between checks ─┴─ SIGBUS ─► handler ──────────────────►
 */
#ifndef WMK_RING_FILE_H
#define WMK_RING_FILE_H

#include <waymark/ring.h>

/*
 * Create a set as waymark_ring_set_create() does, in the file `fd`, which must be empty, and open for reading and
 * writing. The function takes ownership of `fd`, also on failure.
 */
int wmk_ring_set_create_in(const struct waymark_ring_options *options, int fd, struct waymark_ring_set **set);
/*
 * Open a set as waymark_ring_set_open() and waymark_ring_set_open_reader() do, also if the set is in a file. -EPERM:
 * not a regular file of this process's user, or other users can open it. wmk_ring_set_open_reader_any() installs a
 * SIGBUS handler in this process. The handler passes a SIGBUS outside the mappings of ring sets to the previous
 * handler.
 */
int wmk_ring_set_open_any(int fd, struct waymark_ring_set **set);
int wmk_ring_set_open_reader_any(int fd, struct waymark_ring_set **set);

/* ── used by set.c and memory.c ── */
/* 0: sealed memory; 1: a file that may be mapped; -EPERM. */
int wmk_ring_file_kind(int fd);
/* Register the mapping of a reader with the SIGBUS handler. 0; -EMFILE: too many; -ENOMEM. */
int wmk_ring_file_guard(const struct waymark_ring_set *set);
void wmk_ring_file_unguard(const struct waymark_ring_set *set);
/*
 * Check the size of the file of the set. 0; -EIO: the file is shorter than the set, and zero pages replace the mapping.
 */
int wmk_ring_file_check_size(const struct waymark_ring_set *set);

#endif
