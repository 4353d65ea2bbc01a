/* SPDX-License-Identifier: MIT */
/*
 * copy.h - values from one packet into another, field by field: what is moved is aligned anew, and bits stay what they
 * were. For who writes a trace that was read, with records left out.
 *
 * Errors: those of decode.h, -ENOMEM, -E2BIG, with a cause chain. One thread for one object.
 */
#ifndef WMK_CTF_COPY_H
#define WMK_CTF_COPY_H

#include "ctf/decode.h"

#define WMK_CTF_OUT_MAX (1u << 30) /* bytes */

/* A packet that is written. Starts from zeros; `bytes` is the owner's to free. */
struct wmk_ctf_out {
	uint8_t *bytes;            /* 0 beyond `at` */
	size_t cap;
	uint64_t at;               /* bits */
};

/* Where values with a role were put, the last of each. */
struct wmk_ctf_spot {
	const struct wmk_ctf_op *op; /* NULL: none was */
	uint64_t at, value;
	bool is_several;           /* another was before it */
};

struct wmk_ctf_spots {
	struct wmk_ctf_spot of[WMK_ROLES];
	/* Replaces the packet's UUID where that is an array of 16 integers (CTF 1.8). NULL: it is copied. */
	const uint8_t *uuid;
};

/*
 * All of `program`, on from where the walk is. `spots` may be NULL. What fails may have been copied in part: out->at
 * tells nothing then.
 */
int wmk_ctf_copy(struct wmk_ctf_walk *walk, const struct wmk_ctf_program *program, struct wmk_ctf_out *out,
		 struct wmk_ctf_spots *spots);
/*
 * Other values there, those of `values` by role; nothing where there is no spot. -ENOTSUP: one has not so many bits, or
 * its size depends on its value, or it has several roles whose values are not the same, or is not the only one of its
 * role.
 */
int wmk_ctf_patch(struct wmk_ctf_out *out, const struct wmk_ctf_spots *spots, const uint64_t values[WMK_ROLES]);
/* Begins anew with so many bits of `from`, behind which its last byte is 0. */
int wmk_ctf_out_begin(struct wmk_ctf_out *out, const uint8_t *from, uint64_t bits);
/* Take back what is behind `at`. */
void wmk_ctf_out_cut(struct wmk_ctf_out *out, uint64_t at);

#endif
