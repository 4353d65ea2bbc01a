/* SPDX-License-Identifier: MIT */
/*
 * fixed_runs.c - measure a structure without its values: consecutive operations of fixed size are one step.
 *
 * In `struct making`, `known` is the guaranteed alignment of a position, and `bits` is the distance from this position
 * to the next operation. A value that needs no larger alignment than `known` is at a constant distance from this
 * position. Types with a size that depends on values (variants, LEB128, arrays of such types) are measured by a walk.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "ctf/bits.h"
#include "ctf/compile.h"

struct making {
	const struct wmk_ctf_op *ops;
	struct wmk_ctf_fixed_run *steps;
	uint32_t n;
	uint32_t known;            /* bits, a power of two */
	uint64_t bits;             /* bits after that position, not in a step yet */
	uint32_t align;            /* alignment before these bits; 1: none */
};

static void put(struct making *m, const struct wmk_ctf_fixed_run *step)
{
	m->steps[m->n++] = *step;
}

static void flush(struct making *m)
{
	if (m->bits || m->align > 1)
		put(m, &(struct wmk_ctf_fixed_run){ .code = WMK_CTF_STEP_ADD, .align = m->align, .bits = m->bits });
	m->bits = 0;
	m->align = 1;
}

/* The position now has the alignment `known`, for any size of the preceding operations. */
static void restart(struct making *m, uint32_t known)
{
	flush(m);
	m->known = known;
}

static void align(struct making *m, uint32_t to)
{
	if (to <= m->known) {
		m->bits = wmk_bits_align(m->bits, to);
		return;
	}
	flush(m);
	m->known = m->align = to;
}

uint64_t wmk_ctf_fixed_bits(const struct wmk_ctf_op *ops, uint32_t op)
{
	const uint64_t max = (uint64_t)1 << 40;
	uint64_t bits = 0, one, each;

	switch (ops[op].code) {
	case WMK_CTF_TEXT:
	case WMK_CTF_BLOB:
		return ops[op].ref ? 0 : (uint64_t)ops[op].count * 8;
	case WMK_CTF_STRUCT:
		for (uint32_t i = op + 1; ops[i].code != WMK_CTF_END; i = ops[i].next) {
			one = ops[i].save ? 0 : wmk_ctf_fixed_bits(ops, i);
			if (!one || bits > max)
				return 0;
			bits = wmk_bits_align(bits, ops[i].align) + one;
		}
		return bits;
	case WMK_CTF_ARRAY:
		one = ops[op].ref || !ops[op].count ? 0 : wmk_ctf_fixed_bits(ops, op + 1);
		each = wmk_bits_align(one, ops[op + 1].align);
		if (!one || each > max / ops[op].count)
			return 0;
		return each * (ops[op].count - 1) + one;
	case WMK_CTF_INT:
	case WMK_CTF_FLOAT:
	case WMK_CTF_BOOL:
	case WMK_CTF_ENUM:
	case WMK_CTF_FLAGS:
		return ops[op].width;
	default:
		return 0;
	}
}

/* Make one step for an array of elements of equal size without padding; a register contains the number of elements. */
static bool make_run(struct making *m, uint32_t i)
{
	const struct wmk_ctf_op *op = &m->ops[i];
	uint64_t bits = op->code == WMK_CTF_ARRAY ? wmk_ctf_fixed_bits(m->ops, i + 1) : 8;

	if (!op->ref || op->n_sources || !bits || (op->code == WMK_CTF_ARRAY && bits % m->ops[i + 1].align))
		return false;
	flush(m);
	put(m,
	    &(struct wmk_ctf_fixed_run){ .code = WMK_CTF_STEP_RUN, .reg = op->ref, .bits = bits, .align = op->align });
	m->known = op->code == WMK_CTF_ARRAY ? m->ops[i + 1].align : 8;
	return true;
}

static void make(struct making *m, uint32_t i)
{
	const struct wmk_ctf_op *op = &m->ops[i];
	uint64_t bits;

	if (op->code == WMK_CTF_STRUCT) {
		align(m, op->align);
		for (uint32_t j = i + 1; m->ops[j].code != WMK_CTF_END; j = m->ops[j].next)
			make(m, j);
		return;
	}
	if (op->save && op->width) {
		align(m, op->align);
		bits = m->bits;
		flush(m);
		put(m, &(struct wmk_ctf_fixed_run){ .code = WMK_CTF_STEP_VALUE, .op = i, .align = 1 });
		/*
		 * Derive the alignment after a value from the position before the value and from the size of the value.
		 */
		while (m->known > 1 && (bits + op->width) % m->known)
			m->known /= 2;
		return;
	}
	bits = wmk_ctf_fixed_bits(m->ops, i);
	if (bits) {
		align(m, op->align);
		m->bits += bits;
	} else if (op->code == WMK_CTF_STRING && op->type->encoding == WMK_ENCODING_UTF8) {
		flush(m);
		put(m, &(struct wmk_ctf_fixed_run){ .code = WMK_CTF_STEP_STRING, .op = i, .align = op->align });
		restart(m, 8);
	} else if ((op->code != WMK_CTF_ARRAY && op->code != WMK_CTF_TEXT && op->code != WMK_CTF_BLOB) ||
		   !make_run(m, i)) {
		flush(m);
		put(m, &(struct wmk_ctf_fixed_run){ .code = WMK_CTF_STEP_WALK, .op = i, .align = 1 });
		restart(m, 1);
	}
}

static uint8_t bit_orders(const struct wmk_ctf_program *program)
{
	uint8_t found = 0;

	for (uint32_t i = 0; i < program->n_ops; i++) {
		const struct wmk_ctf_op *op = &program->ops[i];

		if (op->code <= WMK_CTF_FLAGS && op->width && (op->width % 8 || op->align < 8))
			found |= op->is_big ? 2 : 1;
	}
	return found;
}

int wmk_ctf_fixed_runs_make(struct wmk_scratch *scratch, struct wmk_ctf_program *program)
{
	struct making m = { .ops = program->ops, .known = 1, .align = 1 };

	if (!program->n_ops)
		return 0;
	/*
	 * An operation causes at most three steps: the bits before the operation, the alignment, and the operation
	 * itself. The program may end with one more step, for the bits after the last operation.
	 */
	m.steps = wmk_scratch_alloc(scratch, (3 * (size_t)program->n_ops + 1) * sizeof(*m.steps));
	if (!m.steps)
		return -ENOMEM;
	make(&m, 0);
	flush(&m);
	program->steps = m.steps;
	program->n_steps = m.n;
	program->bit_orders = bit_orders(program);
	program->varies = m.n > 1 || (m.n == 1 && m.steps[0].code != WMK_CTF_STEP_ADD);
	if (m.n && !program->varies) {
		program->fixed_mask = m.steps[0].align - 1;
		program->fixed_bits = m.steps[0].bits;
	}
	return 0;
}

/* Return whether the part has a constant size if it begins at a byte boundary. */
static bool is_constant(const struct wmk_ctf_program *program)
{
	return !program->varies && program->fixed_mask < 8;
}

/*
 * Return whether the part has a constant size if it begins at a byte boundary, except for a string at its end. If the
 * result is true, the function advances *to to the start of the string.
 */
static bool ends_in_text(const struct wmk_ctf_program *program, uint64_t *to)
{
	const struct wmk_ctf_fixed_run *last;

	if (program->n_steps < 1 || program->n_steps > 2)
		return false;
	last = &program->steps[program->n_steps - 1];
	if (last->code != WMK_CTF_STEP_STRING || last->align > 8)
		return false;
	if (program->n_steps == 2) {
		if (program->steps->code != WMK_CTF_STEP_ADD || program->steps->align > 8)
			return false;
		*to = wmk_bits_align(*to + program->steps->bits, 8);
	}
	return true;
}

void wmk_ctf_measure_event(const struct wmk_ctf_program *common, struct wmk_ctf_event_decoder *event)
{
	event->to_context = common->fixed_bits;
	event->to_payload = event->to_context + event->context.fixed_bits;
	event->to_end = event->to_payload + event->payload.fixed_bits;
	event->is_constant_before = is_constant(common) && is_constant(&event->context) && event->to_context % 8 == 0 &&
				    event->to_payload % 8 == 0;
	event->is_constant = event->is_constant_before && is_constant(&event->payload);
	event->ends_in_text = event->is_constant_before && ends_in_text(&event->payload, &event->to_end);
}

/* ── running them ────────────────────────────────────────────────────────────────────────────────────── */

static int run(struct wmk_ctf_walk *walk, const struct wmk_ctf_fixed_run *step)
{
	const uint64_t n = walk->registers[step->reg];

	if (walk->at > walk->in.end || n > (walk->in.end - walk->at) / step->bits)
		return -ENODATA;
	walk->at += n * step->bits;
	return 0;
}

/* Run a step of variable size: the size depends on values in the packet. */
static __attribute__((noinline)) int by_values(struct wmk_ctf_walk *walk, const struct wmk_ctf_program *program,
					       const struct wmk_ctf_fixed_run *step)
{
	uint64_t value;

	switch (step->code) {
	case WMK_CTF_STEP_VALUE:
		return wmk_ctf_number(walk, &program->ops[step->op], &value);
	case WMK_CTF_STEP_RUN:
		return run(walk, step);
	default:
		return wmk_ctf_walk_over(walk, program->ops, step->op);
	}
}

int wmk_ctf_skip(struct wmk_ctf_walk *walk, const struct wmk_ctf_program *program)
{
	const struct wmk_ctf_fixed_run *step = program->steps, *behind = step + program->n_steps;
	const uint64_t end = walk->in.end;
	uint64_t at = walk->at;

	for (; step < behind; step++) {
		at = wmk_bits_align(at, step->align);
		if (step->code == WMK_CTF_STEP_ADD) {
			at += step->bits;
			if (at > end)
				return -ENODATA;
		} else if (step->code == WMK_CTF_STEP_STRING) {
			if (at > end)
				return -ENODATA;
			const uint64_t room = (end - at) / 8, len = wmk_bits_text(walk->in.bytes + at / 8, room);

			if (len == room)
				return -ENODATA;
			walk->text_at = at;
			walk->text_len = len;
			at += (len + 1) * 8;
		} else {
			walk->at = at;
			int err = by_values(walk, program, step);

			if (err < 0)
				return err;
			at = walk->at;
		}
	}
	walk->at = at;
	/* (the alignment of a field without a size may be beyond the end) */
	return at > end ? -ENODATA : 0;
}
