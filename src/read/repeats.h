/* SPDX-License-Identifier: MIT */
/*
 * repeats.h - count repeated messages: the first of a kind is printed at once, the others are counted, and the last
 * one is printed at the end with their number.
 *
 * A message is the calling thread's error chain. Two messages are of one kind if they differ only in digits. One
 * thread.
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
 * Count a message. Its kind is given by `words` without digits, and by the object `of`. True: it is the first of its
 * kind, and the caller prints it. False: it was counted, and the chain is empty.
 */
bool wmk_read_repeats_first(struct wmk_read_repeats *repeats, const void *of, const char *words);
/*
 * Print the counted messages by `tell`, which finds the chain in place; it is cleared after each. NULL: print nothing.
 * Afterwards all kinds are new.
 */
void wmk_read_repeats_end(struct wmk_read_repeats *repeats, void (*tell)(void *data, int err), void *data);

#endif
