/* SPDX-License-Identifier: MIT */
/*
 * op_path.h - finds operations in the programs of a record: the source of a register's value, its parents, and the
 * path from one operation to another. Internal to src/ctf; rewrite.h uses it.
 */
#ifndef WMK_CTF_OP_PATH_H
#define WMK_CTF_OP_PATH_H

#include "ctf/decode.h"

/*
 * The programs of an event class and of its stream and trace, by enum wmk_scope. For a stream without an event class,
 * the programs of the event are empty.
 */
struct wmk_ctf_scope_programs {
	const struct wmk_ctf_program *of[WMK_SCOPES];
};

struct wmk_ctf_op_location {
	unsigned scope;
	uint32_t op;
};

/* The programs of a stream and of one of its event classes (NULL: none). */
struct wmk_ctf_scope_programs wmk_ctf_scope_programs_of(const struct wmk_ctf_decoder *decoder,
				      const struct wmk_ctf_stream_decoder *stream,
				      const struct wmk_ctf_event_decoder *event);
/* Find the operation that sets a register. False: none. */
bool wmk_ctf_op_of_register(const struct wmk_ctf_scope_programs *parts, uint16_t reg,
			    struct wmk_ctf_op_location *place);
/* The name of a member or option `op` of the operation `in`, as in the metadata that was read: with TSDL's '_'. */
const char *wmk_ctf_raw_name(const struct wmk_ctf_op *ops, uint32_t in, uint32_t op);
/* The operations that contain `op`, the root first; returns their number. */
unsigned wmk_ctf_op_parents(const struct wmk_ctf_op *ops, uint32_t op, uint32_t around[WMK_CTF_TYPE_DEPTH + 1]);

/*
 * A path from the operation `from` to `to`, on which `from` depends. The path leads out of `outwards` structures around
 * `from` and then into members by name. If is_absolute is set, the path starts at the root of the scope of `to`
 * instead. `ops` are the `n` operations that the path enters; the last one is `to`. -ENOTSUP: the path leads through an
 * array, a variant or an optional field that does not contain `from`.
 */
struct wmk_ctf_op_path {
	bool is_absolute;
	unsigned outwards, n;
	uint32_t ops[WMK_CTF_TYPE_DEPTH + 1];
};

/*
 * The path to a value with several sources (struct wmk_ctf_source). The path starts at the root and consists of the
 * names of the members that contain the value. Variants, optional fields and arrays add no name.
 */
void wmk_ctf_op_path_through(const struct wmk_ctf_scope_programs *parts, const struct wmk_ctf_op_location *to,
			     struct wmk_ctf_op_path *way);
int wmk_ctf_op_path_to(const struct wmk_ctf_scope_programs *parts, const struct wmk_ctf_op_location *from,
		       const struct wmk_ctf_op_location *to, struct wmk_ctf_op_path *way);

#endif
