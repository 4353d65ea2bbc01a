/* SPDX-License-Identifier: MIT */
/*
 * op_path.h - finds operations in the programs of a record: the source of a register's value, its parents, and the
 * path from one operation to another. Internal to src/ctf; rewrite.h uses it.
 */
#ifndef WMK_CTF_OP_PATH_H
#define WMK_CTF_OP_PATH_H

#include "ctf/decode.h"

/*
 * The programs of one event class, and of its stream and trace, by enum wmk_scope. Those of an event are empty where a
 * stream's parts are meant.
 */
struct wmk_ctf_scope_programs {
	const struct wmk_ctf_program *of[WMK_SCOPES];
};

struct wmk_ctf_op_location {
	unsigned scope;
	uint32_t op;
};

/* Of a stream, and of one event class of it (NULL: none). */
struct wmk_ctf_scope_programs wmk_ctf_scope_programs_of(const struct wmk_ctf_decoder *decoder,
				      const struct wmk_ctf_stream_decoder *stream,
				      const struct wmk_ctf_event_decoder *event);
/* The operation that sets the register. False: none does. */
bool wmk_ctf_op_of_register(const struct wmk_ctf_scope_programs *parts, uint16_t reg,
			    struct wmk_ctf_op_location *place);
/* The name that a member, or option, of what is at `in` has in the metadata that was read: with TSDL's '_' in front. */
const char *wmk_ctf_raw_name(const struct wmk_ctf_op *ops, uint32_t in, uint32_t op);
/* The operations around `op`, the root first: how many. */
unsigned wmk_ctf_op_parents(const struct wmk_ctf_op *ops, uint32_t op, uint32_t around[WMK_CTF_TYPE_DEPTH + 1]);

/*
 * The way from `from` (an operation that depends on it) to `to`. `outwards` structures of those around `from` are left,
 * then members are entered by name; or, where is_absolute, from the root of to's scope. `ops` are what is entered, `n`
 * of them, `to` the last. -ENOTSUP: it leads through an array, a variant or an optional that is not around `from`.
 */
struct wmk_ctf_op_path {
	bool is_absolute;
	unsigned outwards, n;
	uint32_t ops[WMK_CTF_TYPE_DEPTH + 1];
};

/*
 * To a value that several may stand for (struct wmk_ctf_source): from the root, by the names on it; variants, optional
 * fields and arrays have none of their own.
 */
void wmk_ctf_op_path_through(const struct wmk_ctf_scope_programs *parts, const struct wmk_ctf_op_location *to,
			     struct wmk_ctf_op_path *way);
int wmk_ctf_op_path_to(const struct wmk_ctf_scope_programs *parts, const struct wmk_ctf_op_location *from,
		       const struct wmk_ctf_op_location *to, struct wmk_ctf_op_path *way);

#endif
