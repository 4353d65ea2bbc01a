/* SPDX-License-Identifier: MIT */
/*
 * plan.c - convert the fields of a descriptor to the operations that turn (words, refs) into fragments of a record.
 *
 * The compiler stages scalars in runs of whole words and passes all other values by reference (abi.h). The plan of an
 * event is the list of its runs and references, in order. The plan of an event is made once, and is read on the
 * recording path.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "schema/format.h"
#include "tracer/plan.h"

#define OPS_MAX (2 * WAYMARK_MAX_FIELDS + 2)

uint32_t wmk_scalar_bytes(unsigned type)
{
	switch (type) {
	case WAYMARK_T_S8: case WAYMARK_T_U8: case WAYMARK_T_BOOL:
		return 1;
	case WAYMARK_T_S16: case WAYMARK_T_U16:
		return 2;
	case WAYMARK_T_S32: case WAYMARK_T_U32: case WAYMARK_T_FLOAT:
		return 4;
	case WAYMARK_T_S64: case WAYMARK_T_U64: case WAYMARK_T_DOUBLE: case WAYMARK_T_POINTER:
		return 8;
	default:
		return 0;
	}
}

struct plan_maker {
	struct wmk_op ops[OPS_MAX];
	unsigned n;
};

static int add_op(struct plan_maker *m, enum wmk_op_kind kind, uint32_t bytes)
{
	m->ops[m->n++] = (struct wmk_op){ .kind = kind, .bytes = bytes };
	return 0;
}

static int add_scalar(struct plan_maker *m, unsigned type)
{
	uint32_t bytes = wmk_scalar_bytes(type);

	if (!bytes)
		return wmk_error(-EINVAL, "type %u is not a scalar", type);
	if (m->n == 0 || m->ops[m->n - 1].kind != WMK_OP_RUN)
		add_op(m, WMK_OP_RUN, 0);
	struct wmk_op *op = &m->ops[m->n - 1];

	op->bytes += bytes;
	op->words = (uint16_t)((op->bytes + 7) / 8);
	return 0;
}

static int add_elements(struct plan_maker *m, unsigned type, unsigned elem, uint32_t count)
{
	uint32_t bytes = wmk_scalar_bytes(elem);

	if (!bytes)
		return wmk_error(-EINVAL, "elements of type %u are not scalars", elem);
	if (type == WAYMARK_T_SEQ)
		return add_op(m, WMK_OP_SEQ, bytes);
	if (count > UINT32_MAX / bytes)
		return wmk_error(-EINVAL, "array of %u elements: more than %u bytes", count, UINT32_MAX);
	return add_op(m, WMK_OP_ARRAY, count * bytes);
}

static int add_field(struct plan_maker *m, unsigned type, unsigned elem, uint32_t count)
{
	switch (type) {
	case WAYMARK_T_STRING:
		return add_op(m, WMK_OP_STRING, 0);
	case WAYMARK_T_TEXT:
		return add_op(m, WMK_OP_TEXT, 0);
	case WAYMARK_T_BYTES:
		return add_op(m, WMK_OP_BLOB, 1);
	case WAYMARK_T_SEQ:
	case WAYMARK_T_ARRAY:
		return add_elements(m, type, elem, count);
	case WAYMARK_T_ENUM:
	case WAYMARK_T_FLAGS:
		return add_scalar(m, elem);
	default:
		return add_scalar(m, type);
	}
}

/*
 * A string with a precision is read only up to that length, as in printf(), so the string needs no NUL at its end. For
 * "%.*s", the int argument directly before the string is the limit of the string. The int argument is the last value of
 * the run before the string.
 */
static int bound_string(struct plan_maker *m, const struct wmk_format_arg *arg, uint8_t type_before)
{
	struct wmk_op *op = &m->ops[m->n - 1];

	if (arg->max_is_arg) {
		if (type_before != WAYMARK_T_S32 && type_before != WAYMARK_T_U32)
			return wmk_error(-EINVAL, "the argument for the precision of a string must be an int");
		op->kind = WMK_OP_STRING_ARG;
		op->bytes = op[-1].words * 8u - op[-1].bytes + 4;
	} else if (arg->max != UINT32_MAX) {
		op->kind = WMK_OP_STRING_MAX;
		op->bytes = arg->max;
	}
	return 0;
}

/* For markers and text events, add the staged types, and the string limits from the format. */
static int add_arguments(struct plan_maker *m, const struct waymark_desc *desc)
{
	struct wmk_format_arg args[WAYMARK_MAX_FIELDS];
	int err = 0, n = desc->text ? wmk_format_parse(desc->text, args, WAYMARK_MAX_FIELDS) : -EINVAL;

	if (n < 0)
		return n;
	if ((uint32_t)n != desc->n_fields)
		return wmk_error(-EINVAL, "the format has %d conversions, but there are %u arguments", n,
				 desc->n_fields);
	for (int i = 0; i < n && !err; i++) {
		err = add_field(m, desc->arg_types[i], 0, 0);
		if (!err && m->ops[m->n - 1].kind == WMK_OP_STRING)
			err = bound_string(m, &args[i], i ? desc->arg_types[i - 1] : WAYMARK_T_NONE);
	}
	return err;
}

/* An event with at most one run, followed by one reference, has a fast path in record.c. */
static void find_tail(struct wmk_event *event, const struct wmk_op *ops, unsigned n)
{
	bool run = n > 0 && ops[0].kind == WMK_OP_RUN;
	const struct wmk_op *last = &ops[run];

	event->run_bytes = run ? ops[0].bytes : 0;
	event->tail = WMK_OP_RUN;
	/* a string with a precision is not a tail */
	if (n != 1u + run || (last->kind != WMK_OP_STRING && last->kind < WMK_OP_TEXT))
		return;
	event->tail = last->kind;
	event->tail_bytes = last->bytes;
	event->tail_shift = last->kind == WMK_OP_SEQ ? (uint8_t)__builtin_ctz(last->bytes) : 0;
}

/* Find the values that filters need: the operation of each reference, and the number of words. */
static int find_refs(struct wmk_event *event, const struct plan_maker *m)
{
	struct wmk_event_ref refs[OPS_MAX];
	unsigned words = 0, n = 0;

	for (unsigned i = 0; i < m->n; i++) {
		words += m->ops[i].words;
		if (m->ops[i].kind == WMK_OP_STRING || m->ops[i].kind == WMK_OP_TEXT)
			event->text_refs |= 1u << n;
		if (m->ops[i].kind >= WMK_OP_STRING)
			refs[n++] = (struct wmk_event_ref){ (uint16_t)i, (uint16_t)words };
	}
	event->n_words = words;
	event->n_refs = (uint16_t)n;
	event->refs = calloc(n ? n : 1, sizeof(refs[0]));
	if (event->refs)
		memcpy(event->refs, refs, n * sizeof(refs[0]));
	return event->refs ? 0 : -ENOMEM;
}

int wmk_plan_make(struct wmk_event *event, const struct waymark_desc *desc)
{
	struct plan_maker m = { .n = 0 };
	int err = 0;

	if (desc->n_fields > WAYMARK_MAX_FIELDS)
		return wmk_error(-EINVAL, "%u fields, at most %d are allowed", desc->n_fields, WAYMARK_MAX_FIELDS);
	if (desc->kind == WAYMARK_KIND_TEXT)
		add_op(&m, WMK_OP_ZERO, 1);
	const bool by_format = wmk_kind_has_format(desc->kind);

	if (by_format)
		err = add_arguments(&m, desc);
	for (uint32_t i = 0; !by_format && i < desc->n_fields && !err; i++)
		err = add_field(&m, desc->fields[i].type, desc->fields[i].elem, desc->fields[i].count);
	if (err)
		return err;
	event->ops = calloc(m.n ? m.n : 1, sizeof(m.ops[0]));
	if (!event->ops || find_refs(event, &m) < 0)
		return wmk_error(-ENOMEM, "out of memory for the %u operations of an event", m.n);
	memcpy(event->ops, m.ops, m.n * sizeof(m.ops[0]));
	event->n_ops = (uint16_t)m.n;
	event->plain = m.n == 0 || (m.n == 1 && m.ops[0].kind == WMK_OP_RUN);
	find_tail(event, m.ops, m.n);
	return 0;
}
