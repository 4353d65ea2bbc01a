/* SPDX-License-Identifier: MIT */
/*
 * decode.h - decode programs: each structure of a stream is compiled once to a flat list of operations, which runs over
 * the bytes of a packet in place, without allocation and without a callback per field.
 *
 *     struct wmk_ctf_class ──wmk_ctf_compile()──► struct wmk_ctf_decoder
 *
 *     bytes of a packet   ┌ packet header, packet context: one walk, values by their role
 *                         ├ wmk_ctf_record()     event header: class and time; then the length of the record
 *                         │     wmk_ctf_skip()   only the length: parts of fixed size are one step; often the whole
 *                         └ wmk_ctf_walk_enter() + wmk_ctf_next()   value after value, to print or filter
 *
 * The contents of an operation (structure, array, variant) follow the operation. `next` is the index of the operation
 * after the contents:
 *
 *     0 STRUCT next=6 │ 1 INT "count" save=1 │ 2 SEQUENCE "items" ref=1 next=4 │ 3 INT │ 4 STRING "name" │ 5 END
 *
 * A value that another field depends on (a length, a selector) is kept in a register during the walk through a record.
 * Positions are in bits from the first bit of the packet; alignments of types are relative to the first bit, too.
 *
 * The bytes of a packet are not trusted: no position is beyond `end`, no count exceeds the number of bits that follow,
 * and loops over elements of zero bits are limited. Errors are -errno with a cause chain: -ENODATA if the bytes end
 * before the end of the value, -EPROTO for bytes that no valid producer writes. A decoder is immutable and usable by
 * any thread; a walk belongs to one thread.
 */
#ifndef WMK_CTF_DECODE_H
#define WMK_CTF_DECODE_H

#include "ctf/bits.h"
#include "ctf/class.h"

#define WMK_CTF_REGISTERS 64u
#define WMK_CTF_OPS_MAX 65536u     /* operations of one structure */

enum wmk_ctf_code {
	WMK_CTF_INT, WMK_CTF_FLOAT, WMK_CTF_BOOL, WMK_CTF_ENUM, WMK_CTF_FLAGS,
	WMK_CTF_STRING,        /* bytes up to a NUL */
	WMK_CTF_TEXT,          /* bytes, shown up to the first NUL; the length is `count` or in a register */
	WMK_CTF_BLOB,          /* bytes; the length as for TEXT */
	WMK_CTF_STRUCT,
	WMK_CTF_ARRAY,         /* the number of elements is `count` or in a register */
	WMK_CTF_VARIANT, WMK_CTF_OPTIONAL,
	WMK_CTF_END,           /* end of a STRUCT, ARRAY, VARIANT or OPTIONAL */
};

/* How wmk_ctf_next() handles an operation. All operations except WMK_CTF_ANYHOW have a fast path. */
enum wmk_ctf_ease {
	WMK_CTF_ANYHOW,
	WMK_CTF_PLAIN,         /* a number of whole bytes, member of a structure */
	WMK_CTF_BEGIN,         /* a structure: the root, or a member of one */
	WMK_CTF_CLOSE,         /* the END of a BEGIN */
	WMK_CTF_CHARS,         /* a string of bytes, member of a structure */
	WMK_CTF_DONE,          /* the end of the program; it has no code */
};

/*
 * One of the possible places of a value in a record. A value may have several possible places, and a record may contain
 * the value at none of them. The record contains the value at this place if every enclosing variant and optional field
 * has selected the option that contains the value.
 */
struct wmk_ctf_source {
	uint16_t reg;              /* register of the value */
	uint8_t scope;             /* enum wmk_scope of the value ... */
	uint32_t op;               /* ... and its operation in that scope */
	uint32_t n_passed;
	const struct wmk_ctf_passed {
		uint16_t reg;      /* register of a variant or optional field */
		uint32_t option;   /* the operation that must be selected */
	} *passed;
};

struct wmk_ctf_op {
	uint8_t code;              /* enum wmk_ctf_code */
	uint8_t is_signed, is_big, is_reversed;
	uint16_t width;            /* bits of a number; 0: LEB128 */
	uint8_t ref;               /* register of the length or selector; 0: use `count` */
	/*
	 * Register for the value; 0: none. VARIANT and OPTIONAL store the operation that was selected, or 0.
	 */
	uint8_t save;
	uint16_t roles;            /* WMK_ROLE_BIT() of each */
	uint8_t ease;              /* enum wmk_ctf_ease */
	uint8_t shift;             /* PLAIN: 64 - width (computing it each time costs 5 % of a walk) */
	uint32_t align;            /* bits */
	uint32_t count;            /* CLOSE: distance to its BEGIN, in operations */
	uint32_t next;             /* the operation after this one and its contents */
	const char *name;          /* name of the field, as shown; NULL for an element of an array */
	const struct wmk_type *type;
	union {
		const struct wmk_ctf_choice *choices; /* VARIANT, OPTIONAL: `n_choices`; the first match counts */
		/* ENUM: index of the labels if there are many; NULL: linear search */
		const struct wmk_ctf_selector_index *labels;
	};
	uint32_t n_choices, n_sources;
	/* if n_sources is not 0: the value of the source that was read is copied to `ref` before it is needed */
	const struct wmk_ctf_source *sources;
};

/* Selector values from `from` to `to` (int64_t if the VARIANT's `is_signed` is set) select the operation `op`. */
struct wmk_ctf_choice {
	uint64_t from, to;
	uint32_t op;
};

struct wmk_ctf_program {
	/* the first is a STRUCT, a DONE follows the last; NULL if the class has no such structure */
	const struct wmk_ctf_op *ops;
	uint32_t n_ops;
	/* steps of wmk_ctf_skip(): see fixed_runs.c */
	const struct wmk_ctf_fixed_run *steps;
	uint32_t n_steps;
	/*
	 * A structure with at most one step of fixed size has `fixed_bits` bits. The `fixed_bits` bits begin at the
	 * next position with the alignment `fixed_mask` + 1. `varies` is set for a structure with more than one step,
	 * or with a step of variable size.
	 */
	bool varies;
	uint32_t fixed_mask;
	uint64_t fixed_bits;
	/* numbers that may begin or end within a byte: 1 little-endian, 2 big-endian, 3 both */
	uint8_t bit_orders;
};

struct wmk_ctf_event_decoder {
	const struct wmk_ctf_event_class *class;
	struct wmk_ctf_program context, payload;
	uint64_t id;
	/*
	 * Distances are in bits from the end of the header, which must be at a byte boundary. `to_context` and
	 * `to_payload` are valid if is_constant_before is set. `to_end` is valid if is_constant or ends_in_text is set.
	 * A distance is valid if all parts within the distance have a fixed size.
	 */
	bool is_constant_before, is_constant;
	/* the only part of variable size is a string at the end; to_end is the begin of the string */
	bool ends_in_text;
	uint64_t to_context, to_payload, to_end;
};

struct wmk_ctf_stream_decoder {
	const struct wmk_ctf_stream_class *class;
	struct wmk_ctf_program packet_context, event_header, event_context;
	/* a faster way to decode the usual event headers, or NULL; see event_header.c */
	const struct wmk_ctf_header_plan *plan;
	const struct wmk_ctf_event_decoder *events; /* in the order of the class */
	uint32_t n_events;
	bool is_dense;             /* the id of event i is i */
};

struct wmk_ctf_decoder {
	const struct wmk_ctf_class *class;
	struct wmk_ctf_program packet_header;
	const struct wmk_ctf_stream_decoder *streams; /* in the order of the class */
	uint32_t n_streams;
};

/*
 * Compile all of `class`, which must live longer than the decoder. -EPROTO: a length or selector does not exist, comes
 * after the field that needs it, or is not an integer. -E2BIG: too many operations or registers, or too deep. `name` is
 * for errors.
 */
int wmk_ctf_compile(const struct wmk_ctf_class *class, const char *name, struct wmk_ctf_decoder **decoder);
void wmk_ctf_decoder_free(struct wmk_ctf_decoder *decoder);

/* ── bytes ───────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * A part of a packet. `bytes` is the (possibly virtual) address of the packet's first byte. The decoder accesses only
 * the bytes between `from` and `end`, which are both in bits.
 */
struct wmk_ctf_bytes {
	const uint8_t *bytes;
	uint64_t from, end;
};

struct wmk_ctf_item {
	const struct wmk_ctf_op *op;
	bool is_end;               /* end of `op`, a STRUCT, ARRAY, VARIANT or OPTIONAL */
	/*
	 * For INT, ENUM and FLAGS: is_wide is true if the value does not fit 64 bits. `value` is the nearest 64-bit
	 * value; wide_number.h has all bits
	 */
	bool is_wide;
	union {
		/*
		 * The value of an INT, BOOL, ENUM or FLAGS; the number of elements of an ARRAY; 1 or 0 for an OPTIONAL
		 * with or without a value.
		 */
		uint64_t u;
		int64_t i;             /* ... if op->is_signed */
		double f;
	} value;
	/*
	 * For STRING, TEXT and BLOB, `text` points to `len` bytes in the packet; the bytes of a STRING or TEXT contain
	 * no NUL. For numbers that may be wide, `text` is the address of the packet, and `len` is the number of bits.
	 */
	const char *text;
	size_t len;
	uint64_t at;               /* bits: its position */
};

struct wmk_ctf_level {
	uint32_t op;               /* the open ARRAY or other container */
	uint32_t n_empty;          /* value of the walk's n_empty at the begin of the last element */
	uint64_t left;             /* remaining elements */
	uint64_t at;               /* bits: position of the last element */
};

struct wmk_ctf_walk {
	struct wmk_ctf_bytes in;
	uint64_t at;               /* bits: after the last item */
	const struct wmk_ctf_op *ops;
	uint32_t op;
	uint32_t n_empty;          /* operations so far for elements without a size */
	/* (not next to `op`: a compiler that updates both with one access would stall on the preceding store) */
	uint32_t depth;
	int err;
	bool is_passing;           /* return only the first element of an array of elements without a size */
	/*
	 * The position and the length in bytes of a string that the decoder skipped to find the end of the record. A
	 * walk uses text_len when it reads the string at text_at, and does not search for the end of the string again.
	 * The position and the length are valid as long as the walk stays in the same packet.
	 */
	uint64_t text_at, text_len;
	struct wmk_ctf_level levels[WMK_CTF_TYPE_DEPTH + 1];
	uint64_t registers[WMK_CTF_REGISTERS];
};

#define WMK_CTF_NO_TEXT UINT64_MAX /* text_at: no string was skipped */

/* Start a walk at a new packet or record; all registers are empty. */
void wmk_ctf_walk_begin(struct wmk_ctf_walk *walk, const struct wmk_ctf_bytes *in, uint64_t at);

/* The empty program, which stands for a structure that the class does not define. */
extern const struct wmk_ctf_op wmk_ctf_nothing;

/*
 * Start `program` at the position of the walk. The function keeps the values of the registers, because a field of a
 * header may be the length of a field of the payload.
 */
static inline void wmk_ctf_walk_enter(struct wmk_ctf_walk *walk, const struct wmk_ctf_program *program)
{
	walk->ops = program->ops ? program->ops : &wmk_ctf_nothing;
	walk->op = walk->depth = walk->n_empty = 0;
	walk->err = 0;
	walk->is_passing = false;
}

/*
 * Start `program` for a search for values by role or name. Array elements of zero bits are all equal, so the walk
 * returns only the first element.
 */
static inline void wmk_ctf_walk_enter_passing(struct wmk_ctf_walk *walk, const struct wmk_ctf_program *program)
{
	wmk_ctf_walk_enter(walk, program);
	walk->is_passing = true;
}

/* wmk_ctf_next() for any operation except DONE. */
bool wmk_ctf_next_any(struct wmk_ctf_walk *walk, struct wmk_ctf_item *item);

/*
 * The part of a walk's state that changes with every value. A loop through a whole program keeps this part in a local
 * variable, so that the processor does not wait for its own stores:
 *
 *     struct wmk_ctf_pace pace = wmk_ctf_pace_begin(walk, program);
 *
 *     while (wmk_ctf_pace_next(&pace, walk, &item))
 *
 * During the loop, walk->op and walk->at are stale. After the loop, walk->op and walk->at are valid again. walk->err is
 * always valid.
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

/* Handle operations without a fast path, and the end of the program. */
static inline bool wmk_ctf_pace_any(struct wmk_ctf_pace *pace, struct wmk_ctf_walk *walk, struct wmk_ctf_item *item)
{
	struct wmk_ctf_item any; /* (its address escapes, so it is in memory; *item may stay in registers) */

	walk->op = (uint32_t)(pace->op - walk->ops);
	walk->at = pace->at;
	if (pace->op->ease == WMK_CTF_DONE || !wmk_ctf_next_any(walk, &any))
		return false;
	*pace = (struct wmk_ctf_pace){ walk->ops + walk->op, walk->at };
	*item = any;
	return true;
}

/*
 * Like wmk_ctf_next(). The walk reads a plain number with one load if 8 bytes of the packet are readable from the start
 * of the number.
 */
static inline bool wmk_ctf_pace_next(struct wmk_ctf_pace *pace, struct wmk_ctf_walk *walk, struct wmk_ctf_item *item)
{
	const struct wmk_ctf_op *op = pace->op;
	const uint64_t at = wmk_bits_align(pace->at, op->align);

	/* (a chain of tests is faster here than a jump table) */
	*item = (struct wmk_ctf_item){ .is_end = op->ease == WMK_CTF_CLOSE };
	if (op->ease == WMK_CTF_PLAIN && (int64_t)(walk->in.end - at) >= 64) {
		item->value.u = wmk_bits_load(walk->in.bytes, at, op->shift, op->is_big, op->is_signed);
		walk->registers[op->save] = item->value.u;     /* (register 0 is unused) */
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
 * Get the next item. Returns false if the program is complete (walk->err is 0 and walk->at is its end), or if the walk
 * has failed with walk->err. A program without operations produces no items. The first item is the start of the root
 * structure, and the last item is the end of the root structure.
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

/* Skip a whole program; the walk reads only the values that need a register. */
int wmk_ctf_skip(struct wmk_ctf_walk *walk, const struct wmk_ctf_program *program);

/*
 * Return the size in bits of an operation with its contents, from an aligned position. 0: the size is not fixed, is 0
 * or is very large, or a member of a structure needs a register.
 */
uint64_t wmk_ctf_fixed_bits(const struct wmk_ctf_op *ops, uint32_t op);

/*
 * Return the label of an ENUM's value: the first label with a range that contains the value. NULL: no such label.
 */
const char *wmk_ctf_label(const struct wmk_ctf_item *item);

/* ── records ─────────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_ctf_record {
	const struct wmk_ctf_event_decoder *event;
	uint64_t time;             /* clock value; if the header has no time, the time of the previous record */
	uint64_t at;               /* bits: position of the event header */
	uint64_t common_at, context_at, payload_at; /* bits: positions of the other parts */
	uint64_t end;
	struct wmk_ctf_walk walk;  /* has the registers of the header */
};

/*
 * Decode the record at `at`. A header may contain only the low bits of the time. On entry, record->time is the time of
 * the previous record in this stream. For the first record, record->time is the start time of the packet. On entry,
 * record->event is the event class of any earlier record in this stream, or NULL. -ENODATA: the record does not end
 * within the bytes. -EPROTO: unknown event id.
 */
int wmk_ctf_record(const struct wmk_ctf_stream_decoder *stream, const struct wmk_ctf_bytes *in, uint64_t at,
		   struct wmk_ctf_record *record);

/*
 * Read the time from the event header at walk->at. On entry, *time is the time of the previous record. Returns 0 if the
 * header contains no time.
 */
int wmk_ctf_header_time(const struct wmk_ctf_program *header, struct wmk_ctf_walk *walk, uint64_t *time);

/* Return the first time that is not earlier than `before` and has `value` as its low `width` bits. */
static inline uint64_t wmk_ctf_time(uint64_t before, uint64_t value, unsigned width)
{
	if (width >= 64)
		return value;
	uint64_t mask = ((uint64_t)1 << width) - 1, time = (before & ~mask) | (value & mask);

	return time < before ? time + mask + 1 : time;
}

#endif
