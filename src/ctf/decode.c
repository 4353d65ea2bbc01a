/* SPDX-License-Identifier: MIT */
/*
 * decode.c - walk through a structure, value after value (see decode.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "ctf/bits.h"
#include "ctf/compile.h"
#include "ctf/wide_number.h"

/*
 * Limits for array elements of zero bits: the number of elements in one array, and the number of operations for all
 * such elements in a structure. A larger number of elements is an error, because an element of zero bits contains no
 * information but costs time.
 */
#define EMPTY_MAX 65536u
#define EMPTY_STEPS_MAX (16 * EMPTY_MAX)

const struct wmk_ctf_op wmk_ctf_nothing = { .ease = WMK_CTF_DONE, .align = 1 };

void wmk_ctf_walk_begin(struct wmk_ctf_walk *walk, const struct wmk_ctf_bytes *in, uint64_t at)
{
	walk->in = *in;
	walk->at = at;
	walk->ops = &wmk_ctf_nothing;
	walk->op = walk->depth = walk->n_empty = 0;
	walk->err = 0;
	walk->is_passing = false;
	walk->text_at = WMK_CTF_NO_TEXT;
	memset(walk->registers, 0, sizeof(walk->registers));
}

/* Return whether the packet has `bits` more bits. */
static inline bool has(const struct wmk_ctf_walk *walk, uint64_t bits)
{
	return walk->at <= walk->in.end && bits <= walk->in.end - walk->at;
}

/* ── values ──────────────────────────────────────────────────────────────────────────────────────────── */

int wmk_ctf_number(struct wmk_ctf_walk *walk, const struct wmk_ctf_op *op, uint64_t *value)
{
	struct wmk_ctf_item item;

	if (__builtin_expect(wmk_ctf_may_be_wide(op), 0)) {
		int err = wmk_ctf_wide_take(walk, op, &item);

		*value = err < 0 ? 0 : item.value.u;
		return err;
	}
#ifndef WMK_PLANTED_BUG_CTF_PACKET              /* a planted bug that the fuzzer must find */
	if (!has(walk, op->width))
		return -ENODATA;
#endif
	*value = wmk_bits_get(walk->in.bytes, walk->at, op->width, op->is_big, walk->in.end);
	if (op->is_reversed)
		*value = wmk_bits_reverse(*value, op->width);
	if (op->is_signed)
		*value = (uint64_t)wmk_bits_sign(*value, op->width);
	walk->at += op->width;
	if (op->save)
		walk->registers[op->save] = *value;
	return 0;
}

/* IEEE 754 binary16; not every compiler has a type for this format. */
static double half(uint64_t bits)
{
	const unsigned exponent = bits >> 10 & 0x1f, mantissa = bits & 0x3ff;
	double value = exponent ? mantissa + 1024 : mantissa;

	if (exponent == 0x1f)
		value = mantissa ? __builtin_nan("") : __builtin_inf();
	else
		value = __builtin_ldexp(value, (exponent ? (int)exponent : 1) - 25);
	return bits & 0x8000 ? -value : value;
}

static double real(uint64_t bits, unsigned width)
{
	const uint32_t low = (uint32_t)bits;
	double value;
	float single;

	if (width == 16)
		return half(bits);
	if (width == 32) {
		memcpy(&single, &low, sizeof(single));
		return single;
	}
	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* Return the size in bytes of a code unit; the NUL that ends a text has the same size. */
static unsigned unit_of(unsigned encoding)
{
	return encoding == WMK_ENCODING_UTF8 ? 1 : encoding <= WMK_ENCODING_UTF16BE ? 2 : 4;
}

/* Return the number of bytes before the first U+0000 within `n` bytes, or `n` if there is no U+0000. */
static uint64_t text_length(const uint8_t *text, uint64_t n, unsigned encoding)
{
	const unsigned unit = unit_of(encoding);

	if (unit == 1)
		return wmk_bits_text(text, n);
	for (uint64_t i = 0; i + unit <= n; i += unit)
		if (!text[i] && !text[i + 1] && (unit == 2 || (!text[i + 2] && !text[i + 3])))
			return i;
	return n;
}

/* Read a text up to its NUL, which is as large as a code unit. */
static inline int string(struct wmk_ctf_walk *walk, const struct wmk_ctf_op *op, struct wmk_ctf_item *item)
{
	const unsigned unit = unit_of(op->type->encoding);
	const uint8_t *begin;
	uint64_t room, len;

	if (walk->at > walk->in.end)
		return -ENODATA;
	begin = walk->in.bytes + walk->at / 8;
	room = (walk->in.end - walk->at) / 8;
	len = text_length(begin, room, op->type->encoding);
	if (room - len < unit)
		return -ENODATA;
	item->text = (const char *)begin;
	item->len = (size_t)len;
	walk->at += (len + unit) * 8;
	return 0;
}

/* Read a number of bytes; a text ends at its first NUL. */
static int bytes(struct wmk_ctf_walk *walk, const struct wmk_ctf_op *op, struct wmk_ctf_item *item)
{
	const uint64_t n = op->ref ? walk->registers[op->ref] : op->count;

	if (walk->at > walk->in.end || n > (walk->in.end - walk->at) / 8)
		return -ENODATA;
	item->value.u = n;
	item->text = (const char *)walk->in.bytes + walk->at / 8;
	item->len = n;
	if (op->code == WMK_CTF_TEXT)
		item->len = text_length((const uint8_t *)item->text, n, op->type->encoding);
	walk->at += n * 8;
	return 0;
}

/* ── the walk ────────────────────────────────────────────────────────────────────────────────────────── */

const struct wmk_ctf_choice *wmk_ctf_variant_select(const struct wmk_ctf_op *op, uint64_t value)
{
	if (__builtin_expect(op->n_choices > WMK_CTF_CHOICES_FEW, 0))
		return wmk_ctf_variant_select_indexed(op, value);
	for (uint32_t i = 0; i < op->n_choices; i++) {
		const struct wmk_ctf_choice *choice = &op->choices[i];

		if (op->is_signed ? (int64_t)value >= (int64_t)choice->from && (int64_t)value <= (int64_t)choice->to :
				    value >= choice->from && value <= choice->to)
			return choice;
	}
	return NULL;
}

/*
 * Handle an array element of zero bits: the position of the walk after such an element equals its position before the
 * element. The walk reads no bits of the element, so all remaining elements equal this element. If is_passing is set,
 * the walk skips the remaining elements. The walk counts skipped operations as if it had run them, so that a walk with
 * is_passing rejects the same traces as a full walk.
 */
static int empty_element(struct wmk_ctf_walk *walk, struct wmk_ctf_level *level, const struct wmk_ctf_op *op)
{
	const uint64_t each = op->next - level->op, inside = walk->n_empty - level->n_empty;
	const uint64_t steps = walk->is_passing ? level->left * (each + inside) : each;

	if (level->left >= EMPTY_MAX || walk->n_empty + steps > EMPTY_STEPS_MAX)
		return wmk_error(
			-EPROTO,
			"the array '%.40s' has too many elements of size 0, at byte %" PRIu64,
			wmk_or_empty(op->name), walk->at / 8);
	walk->n_empty += (uint32_t)steps;
	if (walk->is_passing)
		level->left = 0;
	return 0;
}

/*
 * After the last operation of a child, select the operation with which the walk continues. `next` is the operation
 * after the child.
 */
static int advance(struct wmk_ctf_walk *walk, uint32_t next)
{
	struct wmk_ctf_level *level;
	const struct wmk_ctf_op *op;

	walk->op = next;
	if (!walk->depth)
		return 0;
	level = &walk->levels[walk->depth - 1];
	op = &walk->ops[level->op];
	if (op->code == WMK_CTF_STRUCT)
		return 0;
	if (op->code != WMK_CTF_ARRAY || !--level->left) {
		walk->op = op->next - 1;
		return 0;
	}
	if (walk->at == level->at) {
		int err = empty_element(walk, level, op);

		if (err < 0)
			return err;
	}
	level->at = walk->at;
	level->n_empty = walk->n_empty;
	walk->op = level->left ? level->op + 1 : op->next - 1;
	return 0;
}

/*
 * The operation must depend on a value with several sources. Find the source with a value in the record, and copy the
 * value to the operation's register.
 */
static int settle(struct wmk_ctf_walk *walk, const struct wmk_ctf_op *op)
{
	for (uint32_t i = 0; i < op->n_sources; i++) {
		const struct wmk_ctf_source *source = &op->sources[i];
		uint32_t n = 0;

		while (n < source->n_passed && walk->registers[source->passed[n].reg] == source->passed[n].option)
			n++;
		if (n == source->n_passed) {
			walk->registers[op->ref] = walk->registers[source->reg];
			return 0;
		}
	}
	return wmk_error(
		-EPROTO,
		"'%.40s' depends on a value in a variant or optional field that is absent, at byte %" PRIu64,
		wmk_or_empty(op->name), walk->at / 8);
}

/* Enter a variant or optional field; its register receives the selected operation, or 0. */
static int enter_selected(struct wmk_ctf_walk *walk, const struct wmk_ctf_op *op, struct wmk_ctf_item *item)
{
	const struct wmk_ctf_choice *choice = wmk_ctf_variant_select(op, walk->registers[op->ref]);
	uint32_t selected = choice ? choice->op : 0;

	if (op->code == WMK_CTF_OPTIONAL) {
		item->value.u = op->type->n_ranges ? choice != NULL : walk->registers[op->ref] != 0;
		selected = item->value.u ? walk->op : 0;
	} else if (!choice) {
		return wmk_error(-EPROTO,
				 "the selector '%.40s' of variant '%.40s' is %" PRId64
				 ", which selects no option, at byte %" PRIu64,
				 op->type->ref->n && op->type->ref->names[op->type->ref->n - 1]
					 ? op->type->ref->names[op->type->ref->n - 1]
					 : "",
				 wmk_or_empty(op->name), (int64_t)walk->registers[op->ref], walk->at / 8);
	}
	if (op->save)
		walk->registers[op->save] = selected;
	walk->op = selected ? selected : op->next - 1;
	return 0;
}

/* Enter an array, structure, variant or optional field. */
static int enter(struct wmk_ctf_walk *walk, const struct wmk_ctf_op *op, struct wmk_ctf_item *item)
{
	struct wmk_ctf_level *level = &walk->levels[walk->depth++];

	*level = (struct wmk_ctf_level){ .op = walk->op, .n_empty = walk->n_empty, .at = walk->at };
	item->value.u = 0;
	walk->op++;
	if (op->code == WMK_CTF_STRUCT)
		return 0;
	if (op->code != WMK_CTF_ARRAY)
		return enter_selected(walk, op, item);
	item->value.u = level->left = op->ref ? walk->registers[op->ref] : op->count;
	if (!level->left)
		walk->op = op->next - 1;
	return 0;
}

static int give(struct wmk_ctf_walk *walk, const struct wmk_ctf_op *op, struct wmk_ctf_item *item)
{
	uint64_t value;
	int err;

	if (__builtin_expect(wmk_ctf_may_be_wide(op), 0)) {
		err = wmk_ctf_wide_take(walk, op, item);
		return err < 0 ? err : advance(walk, op->next);
	}
	switch (op->code) {
	case WMK_CTF_INT:
	case WMK_CTF_BOOL:
	case WMK_CTF_ENUM:
	case WMK_CTF_FLAGS:
		err = wmk_ctf_number(walk, op, &item->value.u);
		break;
	case WMK_CTF_FLOAT:
		err = wmk_ctf_number(walk, op, &value);
		item->value.f = err < 0 ? 0 : real(value, op->width);
		break;
	case WMK_CTF_STRING:
		err = string(walk, op, item);
		break;
	case WMK_CTF_TEXT:
	case WMK_CTF_BLOB:
		err = op->n_sources ? settle(walk, op) : 0;
		if (err >= 0)
			err = bytes(walk, op, item);
		break;
	default:
		err = op->n_sources ? settle(walk, op) : 0;
		return err < 0 ? err : enter(walk, op, item);
	}
	return err < 0 ? err : advance(walk, op->next);
}

bool wmk_ctf_next_any(struct wmk_ctf_walk *walk, struct wmk_ctf_item *item)
{
	const struct wmk_ctf_op *op = &walk->ops[walk->op];

	item->is_wide = false;
	item->is_end = op->code == WMK_CTF_END;
	if (item->is_end) {
		item->op = &walk->ops[walk->levels[--walk->depth].op];
		item->at = walk->at;
		walk->err = advance(walk, item->op->next);
		return walk->err >= 0;
	}
	item->op = op;
	walk->at = item->at = wmk_bits_align(walk->at, op->align);
	if (op->ease == WMK_CTF_CHARS) {
		walk->err = string(walk, op, item);
		walk->op += walk->err >= 0;
		return walk->err >= 0;
	}
	walk->err = give(walk, op, item);
	return walk->err >= 0;
}

int wmk_ctf_walk_over(struct wmk_ctf_walk *walk, const struct wmk_ctf_op *ops, uint32_t op)
{
	struct wmk_ctf_item item;

	/* Treat the operation as a whole program, because the walk does not need the enclosing levels. */
	walk->ops = ops;
	walk->op = op;
	walk->depth = 0;
	walk->err = 0;
	walk->is_passing = true;
	const uint32_t behind = ops[op].next;

	do {
		const struct wmk_ctf_op *now = &ops[walk->op];

		if (now->code == WMK_CTF_END) {
			const uint32_t next = ops[walk->levels[--walk->depth].op].next;

			walk->err = advance(walk, next);
		} else {
			if (now->align > 1)
				walk->at = wmk_bits_align(walk->at, now->align);
			walk->err = give(walk, now, &item);
		}
	} while (walk->err >= 0 && (walk->depth || walk->op != behind));
	walk->is_passing = false;
	return walk->err;
}

const char *wmk_ctf_label(const struct wmk_ctf_item *item)
{
	const struct wmk_type *type = item->op->type;
	const uint64_t value = item->value.u;

	if (item->is_wide)
		return NULL;
	if (item->op->labels) {
		const uint32_t found = wmk_ctf_selector_index_find(item->op->labels, type->is_signed, value);

		return found ? type->labels[found - 1].name : NULL;
	}
	for (uint32_t i = 0; i < type->count; i++) {
		const struct wmk_label *label = &type->labels[i];

		if (type->is_signed ? (int64_t)value >= label->from && (int64_t)value <= label->to :
				      value >= (uint64_t)label->from && value <= (uint64_t)label->to)
			return label->name;
	}
	return NULL;
}
