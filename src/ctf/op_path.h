/* SPDX-License-Identifier: MIT */
/*
 * op_path.h - finds operations in the programs of a record: the source of a register's value, its parents, and the
 * path from one operation to another. Internal to src/ctf; the writers of metadata use these functions.
 */
#ifndef WMK_CTF_OP_PATH_H
#define WMK_CTF_OP_PATH_H

#include "ctf/decode.h"

/*
 * The programs of an event class, its stream and its trace, indexed by enum wmk_scope. For a stream without an event
 * class, the two programs of the event class are empty.
 */
struct wmk_ctf_scope_programs {
	const struct wmk_ctf_program *of[WMK_SCOPES];
};

struct wmk_ctf_op_location {
	unsigned scope;
	uint32_t op;
};

/* Return the programs of a stream and of one event class of the stream (NULL: no event class). */
struct wmk_ctf_scope_programs wmk_ctf_scope_programs_of(const struct wmk_ctf_decoder *decoder,
				      const struct wmk_ctf_stream_decoder *stream,
				      const struct wmk_ctf_event_decoder *event);
/* Return the operation that sets a given register. False: none. */
bool wmk_ctf_op_of_register(const struct wmk_ctf_scope_programs *parts, uint16_t reg,
			    struct wmk_ctf_op_location *place);
/*
 * Return the name of the member or option `op` of the operation `in`, as in the metadata that was read: a name from
 * TSDL keeps its '_'.
 */
const char *wmk_ctf_raw_name(const struct wmk_ctf_op *ops, uint32_t in, uint32_t op);
/* Get the operations that contain `op`, the root first; the function returns their number. */
unsigned wmk_ctf_op_parents(const struct wmk_ctf_op *ops, uint32_t op, uint32_t around[WMK_CTF_TYPE_DEPTH + 1]);

/*
 * A path from the operation `from` to the operation `to`; the operation `from` needs the value of `to`. The path leaves
 * `outwards` structures around `from`, and then enters members by their names. If is_absolute is set, the path starts
 * at the root of the scope of `to` instead. `ops` contains the `n` operations that the path enters; the last operation
 * is `to`. -ENOTSUP: the path leads through an array, a variant or an optional field that does not contain `from`.
 */
struct wmk_ctf_op_path {
	bool is_absolute;
	unsigned outwards, n;
	uint32_t ops[WMK_CTF_TYPE_DEPTH + 1];
};

/*
 * Get the path to a value with several sources (struct wmk_ctf_source). The path starts at the root and consists of the
 * names of the members that contain the value. Variants, optional fields and arrays add no name.
 */
void wmk_ctf_op_path_through(const struct wmk_ctf_scope_programs *parts, const struct wmk_ctf_op_location *to,
			     struct wmk_ctf_op_path *way);
int wmk_ctf_op_path_to(const struct wmk_ctf_scope_programs *parts, const struct wmk_ctf_op_location *from,
		       const struct wmk_ctf_op_location *to, struct wmk_ctf_op_path *way);

#endif
