/* SPDX-License-Identifier: MIT */
/*
 * labels.h - what finds the label of an enumeration's value, where there are too many to look at each for each record.
 * Internal to src/ctf; for compile.c.
 */
#ifndef WMK_CTF_LABELS_H
#define WMK_CTF_LABELS_H

#include "ctf/compile.h"

/* The enumerations of programs that are made. Starts from zeros. */
struct wmk_ctf_enums {
	struct wmk_ctf_op **ops;
	uint32_t n, cap;
};

/* Note those among `n` operations that have more than few labels; the operations stay where they are. -ENOMEM. */
int wmk_ctf_enums_note(struct wmk_ctf_enums *enums, struct wmk_ctf_op *ops, uint32_t n);
/* Give each of them what finds its labels, into scratch memory: once for all that have the same ones. -ENOMEM. */
int wmk_ctf_enums_order(struct wmk_ctf_enums *enums, struct wmk_scratch *scratch);
void wmk_ctf_enums_free(struct wmk_ctf_enums *enums);

#endif
