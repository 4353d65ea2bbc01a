/* SPDX-License-Identifier: MIT */
/* filter.c - create the filters of recorders (filter.h). filter_run.c and filter_table.h evaluate them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "tracer/context.h"
#include "tracer/filter_table.h"

/* size classes of blocks: 16, 64, 256, 1024 instructions */
#define CLASSES 4u
#define FIRST_CAPACITY 16u
#define PIECE (64u << 10)

static struct wmk_filter_block *free_blocks[CLASSES];

/* ── blocks ──────────────────────────────────────────────────────────────────────────────────────────── */

static size_t block_bytes(uint32_t capacity)
{
	/* instructions, and the same size for the pool */
	const size_t bytes = sizeof(struct wmk_filter_block) + 2 * (size_t)capacity * sizeof(struct wmk_filter_insn) +
			     wmk_filter_branches_max(capacity) * sizeof(struct wmk_filter_branch);

	return (bytes + 63) & ~(size_t)63;
}

/* Map memory for new blocks; blocks are never unmapped. */
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
		block->branches = (struct wmk_filter_branch *)(void *)&block->insns[2 * capacity];
		block->pool = (const char *)&block->insns[capacity];
		block->pool_max = capacity * (uint32_t)sizeof(block->insns[0]);
		block->next_free = free_blocks[class];
		free_blocks[class] = block;
	}
	return 0;
}

static struct wmk_filter_block *block_get(uint32_t n_insns, uint32_t pool_bytes)
{
	uint32_t need =
		(pool_bytes + (uint32_t)sizeof(struct wmk_filter_insn) - 1) / (uint32_t)sizeof(struct wmk_filter_insn);
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

/* Copy by stores of single words, because a recording thread may still read the previous content of the block. */
static void store(void *to, const void *from, size_t bytes)
{
	uint64_t *at = to, word;

	for (size_t i = 0; i < bytes; i += 8) {
		word = 0;
		memcpy(&word, (const char *)from + i, bytes - i < 8 ? bytes - i : 8);
		__atomic_store_n(at++, word, __ATOMIC_RELAXED);
	}
}

static void block_fill(struct wmk_filter_block *block, const struct wmk_filter_location *places,
		       const struct wmk_filter_program *program, bool has_doubles,
		       const struct wmk_filter_branch *branches, uint32_t n_branches, bool is_short)
{
	/* (T8) release: the block's previous guard was invalidated before; pairs with the acquire after a run */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	store(block->places, places, program->n_inputs * sizeof(*places));
	store(block->insns, program->insns, program->n_insns * sizeof(*program->insns));
	store(&block->insns[block->capacity], program->pool, program->pool_bytes);
	store(block->branches, branches, n_branches * sizeof(*branches));
	block->n_branches = n_branches;
	block->is_short = is_short;
	wmk_write_guarded(block->n_inputs, program->n_inputs);
	wmk_write_guarded(block->n_insns, program->n_insns);
	wmk_write_guarded(block->pool_bytes, program->pool_bytes);
	wmk_write_guarded(block->has_doubles, has_doubles);
}

struct wmk_filter_block *wmk_filter_block_copy(const struct wmk_filter_block *block)
{
	struct wmk_filter_block *copy = block ? block_get(block->n_insns, block->pool_bytes) : NULL;

	if (!copy)
		return NULL;
	const struct wmk_filter_program program = { .n_inputs = block->n_inputs,
						    .n_insns = block->n_insns,
						    .pool_bytes = block->pool_bytes,
						    .insns = block->insns,
						    .pool = block->pool };

	block_fill(copy, block->places, &program, block->has_doubles, block->branches, block->n_branches,
		   block->is_short);
	return copy;
}

/* ── locations ─────────────────────────────────────────────────────────────────────────────────────────── */

static unsigned scalar_bits(const struct wmk_type *type)
{
	return type->kind == WMK_TYPE_BOOL ? 8 : type->width;
}

/* Set the location of a scalar in memory. */
static int scalar_location(const struct wmk_type *type, struct wmk_filter_location *place)
{
	const unsigned bits = scalar_bits(type);

	if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
		return -EPROTO;
	place->bytes = (uint8_t)(bits / 8);
	place->is_signed = type->is_signed;
	place->is_double = type->kind == WMK_TYPE_FLOAT;
	place->is_swapped = type->order != WMK_ORDER_NATIVE &&
			    type->order != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? WMK_ORDER_BIG : WMK_ORDER_LITTLE);
	return place->is_double && bits < 32 ? -EPROTO : 0;
}

static bool is_staged(const struct wmk_type *type)
{
	return type->kind == WMK_TYPE_INT || type->kind == WMK_TYPE_FLOAT || type->kind == WMK_TYPE_BOOL ||
	       type->kind == WMK_TYPE_ENUM || type->kind == WMK_TYPE_FLAGS;
}

/*
 * Find the field with the index `number` in the words or in the references, in the layout of abi.h. The field `msg` of
 * a text event has no location, and its value is 0.
 */
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

static int field_location(const struct wmk_event *event, const struct wmk_filter_input *input,
		       struct wmk_filter_location *place)
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
		place->kind = is_msg ? WMK_LOCATION_ZERO : WMK_LOCATION_WORDS;
		err = scalar_location(type, place);
	} else if (type->kind == WMK_TYPE_STRING) {
		place->kind = WMK_LOCATION_TEXT;
	} else if ((type->kind == WMK_TYPE_SEQUENCE || type->kind == WMK_TYPE_ARRAY) && is_staged(type->elem)) {
		place->kind = WMK_LOCATION_ELEMENT;
		type = type->elem;
		err = scalar_location(type, place);
		/* an offset beyond 32 bits is past the end of every array */
		if (__builtin_mul_overflow(input->index, (uint32_t)place->bytes, &place->at))
			place->at = UINT32_MAX;
	} else {
		return -EPROTO;
	}
	return err < 0 || wmk_filter_type_of(type) != input->type ? -EPROTO : 0;
}

static int context_location(const struct wmk_filter_input *input, struct wmk_filter_location *place)
{
	const struct wmk_context_desc *context = wmk_context_get(input->number);

	if (!context || context->filter_type != input->type)
		return -EPROTO;
	place->kind = WMK_LOCATION_CONTEXT;
	place->at = input->number;
	return 0;
}

int wmk_filter_bind(const struct wmk_event *event, const void *bytes, size_t len, struct wmk_filter_block **block)
{
	struct wmk_filter_location places[WMK_FILTER_INPUTS_MAX] = { { 0 } };
	struct wmk_filter_program *program;
	struct wmk_filter_table table;
	bool has_doubles = false;
	int err = wmk_filter_decode(bytes, len, &program);

	if (err < 0)
		return err;
	for (uint32_t i = 0; i < program->n_inputs && err >= 0; i++) {
		const struct wmk_filter_input *input = &program->inputs[i];

		err = input->scope == WMK_FILTER_CONTEXT ? context_location(input, &places[i])
							 : field_location(event, input, &places[i]);
		if (err < 0)
			wmk_error(err, "input %u of a filter is not in %s:%s", i, event->class->provider,
				  event->class->name);
		has_doubles |= input->type == WMK_FILTER_DOUBLE;
	}
	for (uint32_t i = 0; i < program->n_insns; i++)
		has_doubles |= program->insns[i].op == WMK_FILTER_TO_DOUBLE ||
			       program->insns[i].op == WMK_FILTER_TO_DOUBLE_U ||
			       program->insns[i].op == WMK_FILTER_CONST_DOUBLE;
	if (err >= 0) {
		*block = block_get(program->n_insns, program->pool_bytes);
		if (*block) {
			wmk_filter_table_make(event, places, program, &table);
			block_fill(*block, places, program, has_doubles, table.branches, table.n, table.is_short);
		} else {
			err = -ENOMEM;
		}
	}
	wmk_filter_program_free(program);
	return err;
}
