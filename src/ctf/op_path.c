/* SPDX-License-Identifier: MIT */
/*
 * op_path.c - find operations, and paths between them (see op_path.h).
 */
#include <errno.h>

#include "base/error.h"
#include "ctf/op_path.h"

struct wmk_ctf_scope_programs wmk_ctf_scope_programs_of(const struct wmk_ctf_decoder *decoder,
				      const struct wmk_ctf_stream_decoder *stream,
				      const struct wmk_ctf_event_decoder *event)
{
	static const struct wmk_ctf_program none;

	return (struct wmk_ctf_scope_programs){ {
		[WMK_SCOPE_NEAR] = &none,
		[WMK_SCOPE_PACKET_HEADER] = &decoder->packet_header,
		[WMK_SCOPE_PACKET_CONTEXT] = stream ? &stream->packet_context : &none,
		[WMK_SCOPE_EVENT_HEADER] = stream ? &stream->event_header : &none,
		[WMK_SCOPE_COMMON_CONTEXT] = stream ? &stream->event_context : &none,
		[WMK_SCOPE_CONTEXT] = event ? &event->context : &none,
		[WMK_SCOPE_PAYLOAD] = event ? &event->payload : &none,
	} };
}

bool wmk_ctf_op_of_register(const struct wmk_ctf_scope_programs *parts, uint16_t reg, struct wmk_ctf_op_location *place)
{
	for (unsigned scope = 0; scope < WMK_SCOPES; scope++)
		for (uint32_t i = 0; i < parts->of[scope]->n_ops; i++)
			if (parts->of[scope]->ops[i].save == reg) {
				*place = (struct wmk_ctf_op_location){ scope, i };
				return true;
			}
	return false;
}

const char *wmk_ctf_raw_name(const struct wmk_ctf_op *ops, uint32_t in, uint32_t op)
{
	uint32_t member = 0;

	for (uint32_t i = in + 1; i < op; i = ops[i].next)
		member++;
	return ops[in].type->members ? wmk_or_empty(ops[in].type->members[member].name) : "";
}

unsigned wmk_ctf_op_parents(const struct wmk_ctf_op *ops, uint32_t op, uint32_t around[WMK_CTF_TYPE_DEPTH + 1])
{
	unsigned n = 0;

	for (uint32_t at = 0; at != op;) {
		around[n++] = at++;
		while (ops[at].next <= op)
			at = ops[at].next;
	}
	return n;
}

/* Return whether all operations around[first] to around[n - 1] are structures. */
static bool is_plain(const struct wmk_ctf_op *ops, const uint32_t *around, unsigned first, unsigned n)
{
	for (unsigned i = first; i < n; i++)
		if (ops[around[i]].code != WMK_CTF_STRUCT)
			return false;
	return true;
}

static void enter(struct wmk_ctf_op_path *way, const uint32_t *around, unsigned first, unsigned n, uint32_t to)
{
	way->n = 0;
	for (unsigned i = first + 1; i < n; i++)
		way->ops[way->n++] = around[i];
	way->ops[way->n++] = to;
}

int wmk_ctf_op_path_to(const struct wmk_ctf_scope_programs *parts, const struct wmk_ctf_op_location *from,
		       const struct wmk_ctf_op_location *to, struct wmk_ctf_op_path *way)
{
	uint32_t out[WMK_CTF_TYPE_DEPTH + 1], in[WMK_CTF_TYPE_DEPTH + 1];
	const struct wmk_ctf_op *ops = parts->of[to->scope]->ops;
	const unsigned n_in = wmk_ctf_op_parents(ops, to->op, in);
	const unsigned n_out = from->scope == to->scope ? wmk_ctf_op_parents(ops, from->op, out) : 0;
	const bool has_root = is_plain(ops, in, 0, n_in);
	unsigned outwards = 0;

	*way = (struct wmk_ctf_op_path){ .is_absolute = has_root };
	/*
	 * The first choice is a path from the innermost structure around `from`. The second choice is a path from the
	 * root. The last choice is a path from an outer structure that contains both operations.
	 */
	for (unsigned i = n_out; i-- > 0 && !(outwards && has_root);) {
		if (i < n_in && in[i] == out[i] && is_plain(ops, in, i, n_in)) {
			*way = (struct wmk_ctf_op_path){ .outwards = outwards };
			enter(way, in, i, n_in, to->op);
			return 0;
		}
		outwards += ops[out[i]].code == WMK_CTF_STRUCT;
	}
	if (!has_root)
		return wmk_error(-ENOTSUP, "'%.60s' depends on '%.60s', but no field path leads to that field",
				 parts->of[from->scope]->ops[from->op].name ? parts->of[from->scope]->ops[from->op].name
									    : "",
				 wmk_or_empty(ops[to->op].name));
	enter(way, in, 0, n_in, to->op);
	return 0;
}

void wmk_ctf_op_path_through(const struct wmk_ctf_scope_programs *parts, const struct wmk_ctf_op_location *to,
			     struct wmk_ctf_op_path *way)
{
	const struct wmk_ctf_op *ops = parts->of[to->scope]->ops;
	uint32_t in[WMK_CTF_TYPE_DEPTH + 2];
	unsigned n = wmk_ctf_op_parents(ops, to->op, in);

	*way = (struct wmk_ctf_op_path){ .is_absolute = true };
	in[n++] = to->op;
	for (unsigned i = 1; i < n; i++)
		if (ops[in[i - 1]].code == WMK_CTF_STRUCT)
			way->ops[way->n++] = in[i];
}
