/* SPDX-License-Identifier: MIT */
/*
 * labels.h - index of an enumeration's labels, for enumerations with too many labels for a linear search per record.
 * Internal to src/ctf; compile.c uses these functions.
 */
#ifndef WMK_CTF_LABELS_H
#define WMK_CTF_LABELS_H

#include "ctf/compile.h"

/* The enumerations of all programs that the compiler compiles. Starts zeroed. */
struct wmk_ctf_enums {
	struct wmk_ctf_op **ops;
	uint32_t n, cap;
};

/* Add each of the `n` operations that has many labels to the list; the operations must not move in memory. -ENOMEM. */
int wmk_ctf_enums_note(struct wmk_ctf_enums *enums, struct wmk_ctf_op *ops, uint32_t n);
/* Make an index in scratch memory for each enumeration of the list; equal sets of labels share an index. -ENOMEM. */
int wmk_ctf_enums_order(struct wmk_ctf_enums *enums, struct wmk_scratch *scratch);
void wmk_ctf_enums_free(struct wmk_ctf_enums *enums);

#endif
