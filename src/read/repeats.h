/* SPDX-License-Identifier: MIT */
/*
 * repeats.h - count repeated messages. The caller prints the first message of each kind at once, and struct
 * wmk_read_repeats counts the others. At the end, the last message of each kind is printed together with the number of
 * counted messages.
 *
 * A message is the calling thread's error chain. Two messages are of the same kind if they differ only in digits. One
 * thread.
 */
#ifndef WMK_READ_REPEATS_H
#define WMK_READ_REPEATS_H

#include <stdbool.h>
#include <stdint.h>

#include "read/trace.h"

#define WMK_READ_REPEATS_MAX 256u     /* maximum number of kinds; a message of any further kind is printed each time */

struct wmk_error_chain;

struct wmk_read_repeats {
	struct wmk_read_repeats_kind {
		uint64_t hash;
		uint64_t n;            /* messages after the first */
		struct wmk_error_chain *last; /* the last of these messages */
	} *kinds;
	uint32_t n_kinds;
};

/*
 * Count a message. Messages are of the same kind if the object `of` is the same and `words` differ only in digits.
 * Returns true if the message is the first of its kind; the caller then prints the message. Returns false if the
 * message was counted; the error chain of the calling thread is then empty.
 */
bool wmk_read_repeats_first(struct wmk_read_repeats *repeats, const void *of, const char *words);
/*
 * Print the counted messages. For each message, the function stores the message as the error chain of the calling
 * thread, calls `tell`, and clears the chain. NULL: print nothing. Afterwards no kind is known.
 */
void wmk_read_repeats_end(struct wmk_read_repeats *repeats, void (*tell)(void *data, int err), void *data);
/*
 * Report each deviation of a trace's metadata from the specification once. (A followed trace is opened again when it
 * grows.)
 */
void wmk_read_repeats_warnings(struct wmk_read_repeats *seen, const struct wmk_read_trace *trace,
			       void (*report)(void *data, int err), void *data);

#endif
