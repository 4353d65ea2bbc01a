/* SPDX-License-Identifier: MIT */
/*
 * filter.c - filters of enablers: made by control, see filter.h. What runs them is filter_run.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "tracer/filter_inside.h"

/* Instructions of a block: 16, 64, 256, 1024. */
#define CLASSES 4u
#define FIRST_CAPACITY 16u
#define PIECE (64u << 10)

static struct wmk_filter_block *free_blocks[CLASSES];

/* ── blocks ──────────────────────────────────────────────────────────────────────────────────────────── */

static size_t block_bytes(uint32_t capacity)
{
	/* as much again for the pool */
	const size_t bytes = sizeof(struct wmk_filter_block) + 2 * (size_t)capacity * sizeof(struct wmk_filter_insn);

	return (bytes + 63) & ~(size_t)63;
}

/* A piece of new blocks, which are there for good. */
static int more_blocks(unsigned class)
{
	const uint32_t capacity = FIRST_CAPACITY << 2 * class;
	const size_t bytes = block_bytes(capacity), size = bytes > PIECE ? bytes : PIECE;
	char *piece = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (piece == MAP_FAILED)
		return wmk_error(-ENOMEM, "no memory for filters");
	for (size_t at = 0; at + bytes <= size; at += bytes) {
		struct wmk_filter_block *block = (struct wmk_filter_block *)(void *)(piece + at);

		block->capacity = capacity;
		block->next_free = free_blocks[class];
		free_blocks[class] = block;
	}
	return 0;
}

static struct wmk_filter_block *block_get(uint32_t n_insns, uint32_t pool_bytes)
{
	uint32_t need = (pool_bytes + (uint32_t)sizeof(struct wmk_filter_insn) - 1) / (uint32_t)sizeof(struct wmk_filter_insn);
	unsigned class = 0;

	need = need > n_insns ? need : n_insns;
	while (class + 1 < CLASSES && FIRST_CAPACITY << 2 * class < need)
		class++;
	if (!free_blocks[class] && more_blocks(class) < 0)
		return NULL;
	struct wmk_filter_block *block = free_blocks[class];

	free_blocks[class] = block->next_free;
	return block;
}

void wmk_filter_block_free(struct wmk_filter_block *block)
{
	unsigned class = 0;

	if (!block)
		return;
	while (FIRST_CAPACITY << 2 * class < block->capacity)
		class++;
	block->next_free = free_blocks[class];
	free_blocks[class] = block;
}

/* Word by word, each store one: a recorder may still read here what the block was before. */
static void store(void *to, const void *from, size_t bytes)
{
	uint64_t *at = to, word;

	for (size_t i = 0; i < bytes; i += 8) {
		word = 0;
		memcpy(&word, (const char *)from + i, bytes - i < 8 ? bytes - i : 8);
		__atomic_store_n(at++, word, __ATOMIC_RELAXED);
	}
}

static void block_fill(struct wmk_filter_block *block, const struct wmk_filter_place *places, const struct wmk_filter_program *program, bool has_doubles)
{
	/* (T8) release: the fall of the guard that it had comes before; pairs with the acquire behind a run */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	store(block->places, places, program->n_inputs * sizeof(*places));
	store(block->insns, program->insns, program->n_insns * sizeof(*program->insns));
	store(&block->insns[block->capacity], program->pool, program->pool_bytes);
	wmk_propose(block->n_inputs, program->n_inputs);
	wmk_propose(block->n_insns, program->n_insns);
	wmk_propose(block->pool_bytes, program->pool_bytes);
	wmk_propose(block->has_doubles, has_doubles);
}

struct wmk_filter_block *wmk_filter_block_copy(const struct wmk_filter_block *block)
{
	struct wmk_filter_block *copy = block ? block_get(block->n_insns, block->pool_bytes) : NULL;

	if (!copy)
		return NULL;
	const struct wmk_filter_program program = { .n_inputs = block->n_inputs, .n_insns = block->n_insns, .pool_bytes = block->pool_bytes,
						    .insns = block->insns, .pool = (const char *)&block->insns[block->capacity] };

	block_fill(copy, block->places, &program, block->has_doubles);
	return copy;
}

/* Values of 64 bits, from `low` on round the circle: as many as `span` and one, or none. */
struct arc {
	uint64_t low, span;
	bool is_empty;
};

/* Which values make the jump. False: it is another instruction. */
static bool bounds_of(const struct wmk_filter_insn *insn, struct arc *arc)
{
	const uint64_t value = insn->value.u, least = (uint64_t)INT64_MIN;
	bool is_less = false;

	if (insn->a != 0 || insn->b != WMK_FILTER_IMMEDIATE)
		return false;
	switch (insn->op) {
	case WMK_FILTER_JEQ: case WMK_FILTER_JNE:
		*arc = (struct arc){ .low = value };
		return true;
	case WMK_FILTER_JLT: case WMK_FILTER_JNLT:
		is_less = true;
		__attribute__((fallthrough));
	case WMK_FILTER_JLE: case WMK_FILTER_JNLE:
		*arc = (struct arc){ .low = least, .span = value - is_less - least, .is_empty = is_less && value == least };
		return true;
	case WMK_FILTER_JLT_U: case WMK_FILTER_JNLT_U:
		is_less = true;
		__attribute__((fallthrough));
	case WMK_FILTER_JLE_U: case WMK_FILTER_JNLE_U:
		*arc = (struct arc){ .low = 0, .span = value - is_less, .is_empty = is_less && value == 0 };
		return true;
	default:
		return false;
	}
}

/*
 * The values of the arc that a number of `bits`, fewer than 64, can have, from `least` on: an arc as well, on the circle of 2^bits. What reaches
 * round the greater circle and comes in again at `least` goes on there without a gap.
 */
static void arc_of_number(const struct arc *arc, unsigned bits, uint64_t least, uint64_t *low, uint64_t *count)
{
	const uint64_t all = 1ull << bits, from = arc->low - least, past = from + arc->span;
	const bool is_round = past < from;

	*low = from < all ? arc->low : least;
	*count = 0;
	if (arc->is_empty)
		return;
	if (from < all)
		*count = is_round ? all - from : (past < all ? past : all - 1) - from + 1;
	if (is_round)
		*count += past < all ? past + 1 : all;
	*low &= all - 1;
}

/* The least and the number of values that are wanted, at the top of 64 bits. False: all are. */
static bool quick_bounds(const struct arc *arc, bool except, unsigned bits, bool is_signed, struct wmk_filter_quick *quick)
{
	uint64_t low = arc->low, count = arc->is_empty ? 0 : arc->span + 1;
	bool all = !count && !arc->is_empty;

	if (bits < 64) {
		arc_of_number(arc, bits, is_signed ? -(1ull << (bits - 1)) : 0, &low, &count);
		all = count == 1ull << bits;
	}
	if (except) {
		const bool none = count == 0 && !all;

		low += count;
		count = all ? 0 : (bits < 64 ? 1ull << bits : 0) - count;
		all = none;
	}
	quick->low = low << (64 - bits);
	quick->count = all ? 0 : count << (64 - bits);
	return !all;
}

/* [jump if ..., to the third] [return one thing] [return the other] */
void wmk_filter_quicken(const struct wmk_filter_block *block, struct wmk_filter_quick *quick)
{
	const struct wmk_filter_insn *insns = block->insns;
	const struct wmk_filter_place *place = block->places;
	struct arc arc;

	*quick = (struct wmk_filter_quick){ 0 };
	if (block->n_insns != 3 || block->n_inputs != 1 || place->kind != WMK_PLACE_WORDS || place->is_double || place->is_swapped ||
	    place->at > UINT16_MAX - 8 || insns[1].op != WMK_FILTER_RETURN || insns[2].op != WMK_FILTER_RETURN || insns[0].to != 2 ||
	    !insns[1].value.u == !insns[2].value.u || !bounds_of(&insns[0], &arc))
		return;
	/* Of two twins the second jumps outside the bounds. */
	const bool except = ((insns[0].op - WMK_FILTER_JEQ) & 1) != !insns[2].value.u;

	if (!quick_bounds(&arc, except, 8u * place->bytes, place->is_signed, quick))
		return;
	/* A word as it was staged, or, across two of them, what ends where the number does. */
	const unsigned end = place->at + place->bytes, eight = (place->at | 7) + 1;

	quick->how = end <= eight ? eight | 8 * (eight - end) << 16 : end;
}

/* ── places ──────────────────────────────────────────────────────────────────────────────────────────── */

static unsigned scalar_bits(const struct wmk_type *type)
{
	return type->kind == WMK_TYPE_BOOL ? 8 : type->width;
}

/* How a scalar lies in memory. */
static int scalar_place(const struct wmk_type *type, struct wmk_filter_place *place)
{
	const unsigned bits = scalar_bits(type);

	if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
		return -EPROTO;
	place->bytes = (uint8_t)(bits / 8);
	place->is_signed = type->is_signed;
	place->is_double = type->kind == WMK_TYPE_FLOAT;
	place->is_swapped = type->order != WMK_ORDER_NATIVE && type->order != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? WMK_ORDER_BIG : WMK_ORDER_LITTLE);
	return place->is_double && bits < 32 ? -EPROTO : 0;
}

static bool is_staged(const struct wmk_type *type)
{
	return type->kind == WMK_TYPE_INT || type->kind == WMK_TYPE_FLOAT || type->kind == WMK_TYPE_BOOL || type->kind == WMK_TYPE_ENUM ||
	       type->kind == WMK_TYPE_FLAGS;
}

/* Where the field `number` is: in words or behind a reference, as abi.h lays them out. `msg` of a text event is nowhere: it is 0. */
static void find(const struct wmk_event *event, uint32_t number, bool *is_msg, uint32_t *at, uint16_t *ref)
{
	uint32_t offset = 0;
	uint16_t n_refs = 0;
	const bool has_msg = event->n_ops && event->ops[0].kind == WMK_OP_ZERO;

	for (uint32_t i = has_msg; i < number; i++) {
		const struct wmk_type *type = &event->class->fields[i].type;

		if (is_staged(type)) {
			offset += scalar_bits(type) / 8;
		} else {
			offset = (offset + 7) & ~7u;
			n_refs++;
		}
	}
	*is_msg = has_msg && number == 0;
	*at = offset;
	*ref = n_refs;
}

static int field_place(const struct wmk_event *event, const struct wmk_filter_input *input, struct wmk_filter_place *place)
{
	const struct wmk_type *type;
	bool is_msg;
	uint32_t at;
	uint16_t ref;
	int err = 0;

	if (input->number >= event->class->n_fields)
		return -EPROTO;
	type = &event->class->fields[input->number].type;
	find(event, input->number, &is_msg, &at, &ref);
	place->at = at;
	place->ref = ref;
	if (is_staged(type)) {
		place->kind = is_msg ? WMK_PLACE_ZERO : WMK_PLACE_WORDS;
		err = scalar_place(type, place);
	} else if (type->kind == WMK_TYPE_STRING) {
		place->kind = WMK_PLACE_TEXT;
	} else if ((type->kind == WMK_TYPE_SEQUENCE || type->kind == WMK_TYPE_ARRAY) && is_staged(type->elem)) {
		place->kind = WMK_PLACE_ELEMENT;
		type = type->elem;
		err = scalar_place(type, place);
		/* (one that no memory has is behind the end of all) */
		if (__builtin_mul_overflow(input->index, (uint32_t)place->bytes, &place->at))
			place->at = UINT32_MAX;
	} else {
		return -EPROTO;
	}
	return err < 0 || wmk_filter_type_of(type) != input->type ? -EPROTO : 0;
}

static int context_place(const struct wmk_filter_input *input, struct wmk_filter_place *place)
{
	const struct wmk_context_desc *context = wmk_context_get(input->number);

	if (!context || context->filter_type != input->type)
		return -EPROTO;
	place->kind = WMK_PLACE_CONTEXT;
	place->at = input->number;
	return 0;
}

int wmk_filter_bind(const struct wmk_event *event, const void *bytes, size_t len, struct wmk_filter_block **block)
{
	struct wmk_filter_place places[WMK_FILTER_INPUTS_MAX] = { { 0 } };
	struct wmk_filter_program *program;
	bool has_doubles = false;
	int err = wmk_filter_decode(bytes, len, &program);

	if (err < 0)
		return err;
	for (uint32_t i = 0; i < program->n_inputs && err >= 0; i++) {
		const struct wmk_filter_input *input = &program->inputs[i];

		err = input->scope == WMK_FILTER_CONTEXT ? context_place(input, &places[i]) : field_place(event, input, &places[i]);
		if (err < 0)
			wmk_error(err, "input %u of a filter is not in %s:%s", i, event->class->provider, event->class->name);
		has_doubles |= input->type == WMK_FILTER_DOUBLE;
	}
	for (uint32_t i = 0; i < program->n_insns; i++)
		has_doubles |= program->insns[i].op == WMK_FILTER_TO_DOUBLE || program->insns[i].op == WMK_FILTER_TO_DOUBLE_U ||
			       program->insns[i].op == WMK_FILTER_CONST_DOUBLE;
	if (err >= 0) {
		*block = block_get(program->n_insns, program->pool_bytes);
		if (*block)
			block_fill(*block, places, program, has_doubles);
		else
			err = -ENOMEM;
	}
	wmk_filter_program_free(program);
	return err;
}
