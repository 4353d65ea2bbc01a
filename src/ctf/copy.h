/* SPDX-License-Identifier: MIT */
/*
 * copy.h - copy values from one packet to another, field by field. A copy changes the alignment of a value, but not the
 * bits of the value. The exporter of src/read uses these functions to write a trace again without some of its records.
 *
 * The functions return the errors of decode.h, -ENOMEM and -E2BIG, each with a cause chain. One thread for one object.
 */
#ifndef WMK_CTF_COPY_H
#define WMK_CTF_COPY_H

#include "ctf/decode.h"

#define WMK_CTF_OUT_MAX (1u << 30) /* bytes */

/* A packet that is being written. The structure starts zeroed; the owner frees `bytes`. */
struct wmk_ctf_out {
	uint8_t *bytes;            /* zero after `at` */
	size_t cap;
	uint64_t at;               /* bits */
};

/* The position of the last value that has a given role. */
struct wmk_ctf_spot {
	const struct wmk_ctf_op *op; /* NULL: no such value */
	uint64_t at, value;
	bool is_several;           /* the packet has several values with this role */
};

struct wmk_ctf_spots {
	struct wmk_ctf_spot of[WMK_ROLES];
	/*
	 * These bytes replace the packet's UUID if the UUID is an array of 16 integers (CTF 1.8). NULL: copy the UUID.
	 */
	const uint8_t *uuid;
};

/*
 * Copy all values of `program`, from the position of the walk. `spots` may be NULL. After an error, some values may
 * have been copied, and out->at is undefined.
 */
int wmk_ctf_copy(struct wmk_ctf_walk *walk, const struct wmk_ctf_program *program, struct wmk_ctf_out *out,
		 struct wmk_ctf_spots *spots);
/*
 * Overwrite the value at each position in `spots` with the new value of the same role in `values`. The function ignores
 * a role that has no position in the packet. -ENOTSUP: a value does not fit its bits, or the size of a field depends on
 * its value. -ENOTSUP also if a field has several roles with different values, or if the packet has several fields of
 * one role.
 */
int wmk_ctf_patch(struct wmk_ctf_out *out, const struct wmk_ctf_spots *spots, const uint64_t values[WMK_ROLES]);
/* Start a packet with the first `bits` bits of `from`; the rest of the last byte is zeroed. */
int wmk_ctf_out_begin(struct wmk_ctf_out *out, const uint8_t *from, uint64_t bits);
/* Remove everything after `at`. */
void wmk_ctf_out_cut(struct wmk_ctf_out *out, uint64_t at);

#endif
