/* SPDX-License-Identifier: MIT */
/*
 * repeats.h - messages that repeat: the first of a kind is printed when it comes, the others are counted, and the last
 * one is printed at the end with their number.
 *
 * A message is the calling thread's error chain. Two are of one kind if their words differ in digits only. One thread.
 */
#ifndef WMK_READ_REPEATS_H
#define WMK_READ_REPEATS_H

#include <stdbool.h>
#include <stdint.h>

#define WMK_READ_REPEATS_MAX 256u     /* kinds; a message of another kind is printed each time */

struct wmk_error_chain;

struct wmk_read_repeats {
	struct wmk_read_repeats_kind {
		uint64_t hash;
		uint64_t n;            /* messages after the first */
		struct wmk_error_chain *last; /* of these */
	} *kinds;
	uint32_t n_kinds;
};

/*
 * `words` make the kind, together with `of`: messages about two objects are never of one kind. True: it is the first
 * one, and the caller prints it. False: it is counted, and the chain is empty.
 */
bool wmk_read_repeats_first(struct wmk_read_repeats *repeats, const void *of, const char *words);
/*
 * Print what was counted, by `tell` with the chain in place, which is cleared after each; NULL: nothing is printed. All
 * kinds are new then.
 */
void wmk_read_repeats_end(struct wmk_read_repeats *repeats, void (*tell)(void *data, int err), void *data);

#endif
