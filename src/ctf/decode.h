/* SPDX-License-Identifier: MIT */
/*
 * decode.h - decode programs: each structure of a stream, compiled once into a flat list of operations, and run over
 * the bytes of a packet in place. No allocation, no call per field to who asks.
 *
 *     struct wmk_ctf_class ──wmk_ctf_compile()──► struct wmk_ctf_decoder
 *
 *     bytes of a packet   ┌ packet header, packet context: wmk_ctf_walk() once, values by their role
 *                         ├ wmk_ctf_record()     event header: which class, what time; then how long the record is
 *                         │     wmk_ctf_skip()   the length alone: what has a fixed size is one operation; of most events all has
 *                         └ wmk_ctf_walk() + wmk_ctf_next()   value after value, for who prints or filters
 *
 * An operation with something in it (structure, array, variant) is followed by what is in it; `next` is the one behind
 * that:
 *
 *     0 STRUCT next=6 │ 1 INT "count" save=1 │ 2 SEQUENCE "items" ref=1 next=4 │ 3 INT │ 4 STRING "name" │ 5 END
 *
 * A value that another depends on (a length, a selector) is kept in a register while the record is gone through.
 * Positions are bits from the packet's first; the alignment of types is relative to that.
 *
 * Nothing in the bytes is trusted: no position beyond `end`, no count without so many bits behind it, no endless loop
 * over elements of no size. Errors are -errno: -ENODATA when the bytes end before the value does, -EPROTO for what no
 * producer may write, with a cause chain. A decoder is immutable once made: any thread; a walk is one thread's.
 */
#ifndef WMK_CTF_DECODE_H
#define WMK_CTF_DECODE_H

#include "ctf/bits.h"
#include "ctf/class.h"

#define WMK_CTF_REGISTERS 64u
#define WMK_CTF_OPS_MAX 65536u     /* operations of one structure */

enum wmk_ctf_code {
	WMK_CTF_INT, WMK_CTF_FLOAT, WMK_CTF_BOOL, WMK_CTF_ENUM, WMK_CTF_FLAGS,
	WMK_CTF_STRING,        /* bytes to a NUL */
	WMK_CTF_TEXT,          /* so many bytes, shown up to the first NUL; the length is `count`, or a register's */
	WMK_CTF_BLOB,          /* so many bytes */
	WMK_CTF_STRUCT, WMK_CTF_ARRAY /* `count` elements, or a register's */, WMK_CTF_VARIANT, WMK_CTF_OPTIONAL,
	WMK_CTF_END,           /* of a STRUCT, ARRAY, VARIANT or OPTIONAL */
};

/* How wmk_ctf_next() goes over an operation. */
enum wmk_ctf_ease {
	WMK_CTF_ANYHOW,
	WMK_CTF_PLAIN,         /* a number of whole bytes in a structure */
	WMK_CTF_BEGIN,         /* a structure that is the whole, or in one */
	WMK_CTF_CLOSE,         /* the END of such */
	WMK_CTF_CHARS,         /* a string of bytes in a structure */
	WMK_CTF_DONE,          /* behind the whole: it has no code */
};

/* A place of a value that may stand in several, or be missing: it was read if all that was passed has been selected. */
struct wmk_ctf_source {
	uint16_t reg;              /* its register */
	uint8_t scope;             /* where it is: enum wmk_scope ... */
	uint32_t op;               /* ... and the operation there */
	uint32_t n_passed;
	const struct wmk_ctf_passed {
		uint16_t reg;      /* of a variant or optional field */
		uint32_t option;   /* the operation that it must have, in it */
	} *passed;
};

struct wmk_ctf_op {
	uint8_t code;              /* enum wmk_ctf_code */
	uint8_t is_signed, is_big, is_reversed;
	uint16_t width;            /* bits of a number; 0: LEB128 */
	uint8_t ref;               /* the register of its length or selector; 0: `count` */
	/*
	 * its value goes into this register; of a VARIANT, OPTIONAL: the operation that was selected in it, or 0; 0:
	 * nowhere
	 */
	uint8_t save;
	uint16_t roles;            /* WMK_ROLE_BIT() of each */
	uint8_t ease;              /* enum wmk_ctf_ease */
	uint8_t shift;             /* of what is PLAIN: 64 - width (worked out each time it costs 5 % of a walk) */
	uint32_t align;            /* bits */
	uint32_t count;            /* of what is CLOSE: so many operations before it was the BEGIN */
	uint32_t next;             /* the operation behind it and all that is in it */
	const char *name;          /* of the field, as it is shown; NULL for an element of an array */
	const struct wmk_type *type;
	union {
		const struct wmk_ctf_choice *choices; /* VARIANT, OPTIONAL: `n_choices`, the first that fits counts */
		/* ENUM: what finds one of many; NULL: they are looked at */
		const struct wmk_ctf_selector_index *labels;
	};
	uint32_t n_choices, n_sources;
	/* n_sources, if not 0: the value of the one that is there is put into `ref` before it is needed */
	const struct wmk_ctf_source *sources;
};

/*
 * These values of the selector, from `from` to `to` (as int64_t where `is_signed` of the VARIANT), select the operation
 * `op`.
 */
struct wmk_ctf_choice {
	uint64_t from, to;
	uint32_t op;
};

struct wmk_ctf_program {
	/* the first is a STRUCT, behind the last is one that is DONE; NULL where the class has none */
	const struct wmk_ctf_op *ops;
	uint32_t n_ops;
	/* how skip goes: see skip.c */
	const struct wmk_ctf_fixed_run *steps;
	uint32_t n_steps;
	/*
	 * of one step at most: so many bits from the next place of that alignment on (which is `fixed_mask` + 1); else
	 * it
	 *  `varies`
	 */
	bool varies;
	uint32_t fixed_mask;
	uint64_t fixed_bits;
	/* of numbers that may begin or end within a byte: 1, little-endian ones are there; 2, big-endian ones; 3 */
	uint8_t bit_orders;
};

struct wmk_ctf_event_decoder {
	const struct wmk_ctf_event_class *class;
	struct wmk_ctf_program context, payload;
	uint64_t id;
	/*
	 * How far it is behind the header, from a whole byte on, where nothing before varies: to the context and the
	 * payload;
	 *  to the end.
	 */
	bool is_constant_before, is_constant;
	bool ends_in_text;         /* what varies is a string, which is the last */
	uint64_t to_context, to_payload, to_end /* or to that string */;
};

struct wmk_ctf_stream_decoder {
	const struct wmk_ctf_stream_class *class;
	struct wmk_ctf_program packet_context, event_header, event_context;
	/* a quicker way through the usual event headers, or NULL; see event_header.c */
	const struct wmk_ctf_header_plan *plan;
	const struct wmk_ctf_event_decoder *events; /* as in the class */
	uint32_t n_events;
	bool is_dense;             /* event i has the id i */
};

struct wmk_ctf_decoder {
	const struct wmk_ctf_class *class;
	struct wmk_ctf_program packet_header;
	const struct wmk_ctf_stream_decoder *streams; /* as in the class */
	uint32_t n_streams;
};

/*
 * Compile all of `class`, which must live longer. -EPROTO: a length or selector is not there, stands behind what it is
 * for, or is no integer; -E2BIG: more operations, registers or depth than there may be. `name` is for errors.
 */
int wmk_ctf_compile(const struct wmk_ctf_class *class, const char *name, struct wmk_ctf_decoder **decoder);
void wmk_ctf_decoder_free(struct wmk_ctf_decoder *decoder);

/* ── bytes ───────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * A part of a packet. `bytes` is where the packet's first byte is, or would be: only what lies between `from` and `end`
 * is ever touched. `from` and `end` are bits.
 */
struct wmk_ctf_bytes {
	const uint8_t *bytes;
	uint64_t from, end;
};

struct wmk_ctf_item {
	const struct wmk_ctf_op *op;
	bool is_end;               /* of op, a STRUCT, ARRAY, VARIANT or OPTIONAL */
	/*
	 * INT, ENUM, FLAGS: 64 bits cannot tell it. `value` is the nearest that they can; wide_number.h has all of it
	 */
	bool is_wide;
	union {
		/* INT, BOOL, ENUM, FLAGS; the count of an ARRAY; whether an OPTIONAL has a value; ... */
		uint64_t u;
		int64_t i;             /* ... where op->is_signed */
		double f;
	} value;
	/*
	 * STRING, TEXT, BLOB: `len` bytes in the packet, no NUL among a STRING's or TEXT's. Of numbers that may be
	 * wide: the
	 *  packet, and their bits.
	 */
	const char *text;
	size_t len;
	uint64_t at;               /* bits: where it begins */
};

struct wmk_ctf_level {
	uint32_t op;               /* the ARRAY, or whatever is open */
	uint32_t n_empty;          /* the walk's, where the last element began */
	uint64_t left;             /* elements to come */
	uint64_t at;               /* bits: where the last one began */
};

struct wmk_ctf_walk {
	struct wmk_ctf_bytes in;
	uint64_t at;               /* bits: behind what was given */
	const struct wmk_ctf_op *ops;
	uint32_t op;
	uint32_t n_empty;          /* operations for elements of no size so far */
	/* (not beside `op`: a compiler that counts on both at once would wait for what was stored into one) */
	uint32_t depth;
	int err;
	bool is_passing;           /* nobody wants an array's elements of no size, but the first */
	/*
	 * Where a string begins that was passed over to find the end, and how many bytes it has: who takes it need not
	 * look
	 *  for its end again. It is so as long as the packet is the same, whatever else was read of it.
	 */
	uint64_t text_at, text_len;
	struct wmk_ctf_level levels[WMK_CTF_TYPE_DEPTH + 1];
	uint64_t registers[WMK_CTF_REGISTERS];
};

#define WMK_CTF_NO_TEXT UINT64_MAX /* text_at: no string was passed over */

/* Begin with a new packet, or a new record: no register has a value. */
void wmk_ctf_walk_begin(struct wmk_ctf_walk *walk, const struct wmk_ctf_bytes *in, uint64_t at);

/* What a class has that has no such structure. */
extern const struct wmk_ctf_op wmk_ctf_nothing;

/* Go through `program` from where the walk is. Registers stay: a payload's length may stand in a header. */
static inline void wmk_ctf_walk_enter(struct wmk_ctf_walk *walk, const struct wmk_ctf_program *program)
{
	walk->ops = program->ops ? program->ops : &wmk_ctf_nothing;
	walk->op = walk->depth = walk->n_empty = 0;
	walk->err = 0;
	walk->is_passing = false;
}

/*
 * The same for who wants values by role or name: of an array's elements that have no size, and so are all the same, the
 * first is given.
 */
static inline void wmk_ctf_walk_enter_passing(struct wmk_ctf_walk *walk, const struct wmk_ctf_program *program)
{
	wmk_ctf_walk_enter(walk, program);
	walk->is_passing = true;
}

/* wmk_ctf_next() of any operation but what is DONE. */
bool wmk_ctf_next_any(struct wmk_ctf_walk *walk, struct wmk_ctf_item *item);

/*
 * What changes with every value. Who goes through a whole program in one loop keeps it in a variable of its own, so
 * that a processor need not wait for what it has just stored:
 *
 *     struct wmk_ctf_pace pace = wmk_ctf_pace_begin(walk, program);
 *
 *     while (wmk_ctf_pace_next(&pace, walk, &item))
 *
 * Of the walk, `op` and `at` are old meanwhile; they are right again when all was given, and `err` is always.
 */
struct wmk_ctf_pace {
	const struct wmk_ctf_op *op;
	uint64_t at;
};

static inline struct wmk_ctf_pace wmk_ctf_pace_begin(struct wmk_ctf_walk *walk, const struct wmk_ctf_program *program)
{
	wmk_ctf_walk_enter(walk, program);
	return (struct wmk_ctf_pace){ walk->ops, walk->at };
}

/* What is not easy, and the end. */
static inline bool wmk_ctf_pace_any(struct wmk_ctf_pace *pace, struct wmk_ctf_walk *walk, struct wmk_ctf_item *item)
{
	struct wmk_ctf_item any; /* (one whose address is told lies in memory; `item` need not) */

	walk->op = (uint32_t)(pace->op - walk->ops);
	walk->at = pace->at;
	if (pace->op->ease == WMK_CTF_DONE || !wmk_ctf_next_any(walk, &any))
		return false;
	*pace = (struct wmk_ctf_pace){ walk->ops + walk->op, walk->at };
	*item = any;
	return true;
}

/* As wmk_ctf_next(). A plain number is one load, where eight bytes of the packet are there from its begin on. */
static inline bool wmk_ctf_pace_next(struct wmk_ctf_pace *pace, struct wmk_ctf_walk *walk, struct wmk_ctf_item *item)
{
	const struct wmk_ctf_op *op = pace->op;
	const uint64_t at = wmk_bits_align(pace->at, op->align);

	/* (one test after the other is quicker here than a table of jumps) */
	*item = (struct wmk_ctf_item){ .is_end = op->ease == WMK_CTF_CLOSE };
	if (op->ease == WMK_CTF_PLAIN && (int64_t)(walk->in.end - at) >= 64) {
		item->value.u = wmk_bits_load(walk->in.bytes, at, op->shift, op->is_big, op->is_signed);
		walk->registers[op->save] = item->value.u;     /* (0 is nobody's) */
		pace->at = at + op->width;
	} else if (op->ease == WMK_CTF_CHARS && at == walk->text_at) {
		item->text = (const char *)walk->in.bytes + at / 8;
		item->len = walk->text_len;
		pace->at = at + (walk->text_len + 1) * 8;
	} else if (op->ease == WMK_CTF_BEGIN) {
		walk->levels[walk->depth++].op = (uint32_t)(op - walk->ops);
		pace->at = at;
	} else if (item->is_end) {
		walk->depth--;
	} else {
		return wmk_ctf_pace_any(pace, walk, item);
	}
	item->op = item->is_end ? op - op->count : op;
	item->at = at;
	pace->op = op + 1;
	return true;
}

/*
 * The next item: true. False: all of the program was given (walk->err 0, and walk->at is behind it), or walk->err tells
 * what is wrong. A program without operations gives nothing. The first item is the structure itself, the last its end.
 */
static inline bool wmk_ctf_next(struct wmk_ctf_walk *walk, struct wmk_ctf_item *item)
{
	struct wmk_ctf_pace pace = { &walk->ops[walk->op], walk->at };

	if (!wmk_ctf_pace_next(&pace, walk, item))
		return false;
	walk->op = (uint32_t)(pace.op - walk->ops);
	walk->at = pace.at;
	return true;
}

/* Over all of the program, values into registers only. */
int wmk_ctf_skip(struct wmk_ctf_walk *walk, const struct wmk_ctf_program *program);

/*
 * Bits of an operation of fixed size and all that is in it, from an aligned place; 0: its size is not fixed, or it is
 * 0, or very large.
 */
uint64_t wmk_ctf_fixed_bits(const struct wmk_ctf_op *ops, uint32_t op);

/* The label of an ENUM's value: the first that has it; NULL where none has. */
const char *wmk_ctf_label(const struct wmk_ctf_item *item);

/* ── records ─────────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_ctf_record {
	const struct wmk_ctf_event_decoder *event;
	uint64_t time;             /* clock value; the one before when the header has none */
	uint64_t at;               /* bits: of the event header, ... */
	uint64_t common_at, context_at, payload_at; /* ... and of the other parts */
	uint64_t end;
	struct wmk_ctf_walk walk;  /* registers of the header are kept in it */
};

/*
 * The record that begins at `at`. record->time must be the one before in this stream (of the first, the packet's
 * beginning): a header may have the time's last bits only; record->event that of any record before in this stream, or
 * NULL. -ENODATA: it does not end within the bytes. -EPROTO: an id that no event has.
 */
int wmk_ctf_record(const struct wmk_ctf_stream_decoder *stream, const struct wmk_ctf_bytes *in, uint64_t at,
		   struct wmk_ctf_record *record);

/* The time that the event header says where the walk is, if the record before was at *time: 1; 0: it says none. */
int wmk_ctf_header_time(const struct wmk_ctf_program *header, struct wmk_ctf_walk *walk, uint64_t *time);

/* `value`, of `width` bits, as the last bits of a time that is `before` or later. */
static inline uint64_t wmk_ctf_time(uint64_t before, uint64_t value, unsigned width)
{
	if (width >= 64)
		return value;
	uint64_t mask = ((uint64_t)1 << width) - 1, time = (before & ~mask) | (value & mask);

	return time < before ? time + mask + 1 : time;
}

#endif
