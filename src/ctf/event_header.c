/* SPDX-License-Identifier: MIT */
/*
 * event_header.c - decode an event header and find the size of its record.
 *
 * Usual headers consist of integers of fixed size. In a usual header, one integer may select one of a few options at
 * the end: integers of fixed size, or structures of them. Examples of usual headers are the headers of Waymark (4, 6 or
 * 13 bytes), the compact and the large header of LTTng, and a header with only an id and a time. For a usual header,
 * the decoder has a plan: the positions of the id and the time, for each value of the selector. The decoder reads the
 * values of an unusual header one by one. If the whole header fits into 64 bits, the decoder reads the header with one
 * load. If the rest of the record has a constant size, the decoder finds the end of the record from the loaded header.
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "ctf/bits.h"
#include "ctf/compile.h"
#include "ctf/wide_number.h"

#define CHOICES_MAX 8u

/* A number at a constant distance, in bits, from the start of the header; the width is 0 if there is no number. */
struct header_location {
	uint16_t at;
	uint8_t width;
	bool is_big;
};

/* A number within the first 64 bits of the header; the value is: word >> shift & mask. */
struct part {
	unsigned shift;
	uint64_t mask;             /* 0: no such number */
};

struct way {
	uint64_t from, to;         /* values of the selector */
	struct header_location id, time;
	uint16_t bits;             /* size of the header */
	/* the size is in whole bytes, and the numbers are in the first 64 bits, in one byte order */
	bool is_near;
	struct part near_id, near_time;
};

struct wmk_ctf_header_plan {
	uint32_t align;
	/* is_near: the selector is in the first 64 bits; is_big: byte order of the near parts */
	bool is_near, is_big;
	struct part near_selector;
	uint16_t save;             /* register of the selector; 0: none */
	struct header_location selector;
	unsigned n_ways;
	struct way ways[CHOICES_MAX];
};

/* ── making a plan ───────────────────────────────────────────────────────────────────────────────────── */

/*
 * Add the numbers of the operations from `i` to `behind` to the plan; the first number begins at bit `*bits` or later.
 */
static bool plan_numbers(const struct wmk_ctf_op *ops, uint32_t i, uint32_t behind, uint64_t *bits, struct way *way)
{
	for (; i < behind; i = ops[i].next) {
		const struct wmk_ctf_op *op = &ops[i];

		if ((op->code != WMK_CTF_INT && op->code != WMK_CTF_ENUM) || wmk_ctf_may_be_wide(op) ||
		    op->is_reversed || op->is_signed)
			return false;
		*bits = wmk_bits_align(*bits, op->align);
		if (*bits > 4096)
			return false;
		const struct header_location place = { (uint16_t)*bits, (uint8_t)op->width, op->is_big };

		if (op->roles & WMK_ROLE_BIT(WMK_ROLE_EVENT_CLASS))
			way->id = place;
		if (op->roles & WMK_ROLE_BIT(WMK_ROLE_TIME)) {
			if (way->time.width)
				return false;   /* no plan for several times, because each time advances the clock */
			way->time = place;
		}
		*bits += op->width;
	}
	return true;
}

static bool plan_variant(const struct wmk_ctf_op *ops, uint32_t variant, uint64_t bits, const struct way *before,
			 struct wmk_ctf_header_plan *plan)
{
	for (uint32_t i = 0; i < ops[variant].n_choices; i++) {
		const struct wmk_ctf_choice *choice = &ops[variant].choices[i];
		const struct wmk_ctf_op *option = &ops[choice->op];
		struct way *way = &plan->ways[plan->n_ways];
		uint64_t behind = wmk_bits_align(bits, option->align);

		if (plan->n_ways++ == CHOICES_MAX || option->align > plan->align)
			return false;
		*way = *before;
		way->from = choice->from;
		way->to = choice->to;
		if (!plan_numbers(ops, option->code == WMK_CTF_STRUCT ? choice->op + 1 : choice->op,
				  option->code == WMK_CTF_STRUCT ? option->next - 1 : option->next, &behind, way) ||
		    behind > 4096)
			return false;
		way->bits = (uint16_t)behind;
	}
	return plan->n_ways > 0;
}

static bool plan_header(const struct wmk_ctf_program *header, struct wmk_ctf_header_plan *plan)
{
	const struct wmk_ctf_op *ops = header->ops;
	struct way before = { .to = UINT64_MAX };
	uint32_t i, selector = 0;
	uint64_t bits = 0;

	if (!header->n_ops)
		return false;
	plan->align = ops[0].align;
	for (i = 1; ops[i].code != WMK_CTF_END && ops[i].code != WMK_CTF_VARIANT; i = ops[i].next) {
		if (ops[i].save && selector)
			return false;
		if (!plan_numbers(ops, i, ops[i].next, &bits, &before))
			return false;
		if (ops[i].save) {
			selector = i;
			plan->selector = (struct header_location){ (uint16_t)(bits - ops[i].width),
								   (uint8_t)ops[i].width, ops[i].is_big };
			plan->save = ops[i].save;
		}
	}
	if (ops[i].code == WMK_CTF_END) {
		before.bits = (uint16_t)bits;
		plan->ways[plan->n_ways++] = before;
		return true;
	}
	/* A plan supports neither references from a payload into the variant nor fields after the variant. */
	for (uint32_t j = i; j < ops[i].next; j++)
		if (ops[j].save)
			return false;
	return ops[ops[i].next].code == WMK_CTF_END && selector && ops[i].ref == ops[selector].save &&
	       !ops[i].is_signed && plan_variant(ops, i, bits, &before, plan);
}

static bool near_part(const struct header_location *place, bool is_big, struct part *part)
{
	if (!place->width)
		return true;
	part->mask = wmk_bits_mask(place->width);
	part->shift = is_big ? 64u - place->at - place->width : place->at;
	return place->at + place->width <= 64 && place->is_big == is_big;
}

static void plan_near(struct wmk_ctf_header_plan *plan)
{
	/* (a near header has an id; a stream with one event class may have none) */
	plan->is_big = plan->selector.width ? plan->selector.is_big : plan->ways[0].id.is_big;
	plan->is_near = plan->align % 8 == 0 && near_part(&plan->selector, plan->is_big, &plan->near_selector);
	for (unsigned i = 0; i < plan->n_ways; i++) {
		struct way *way = &plan->ways[i];

		way->is_near = plan->is_near && way->id.width && way->bits % 8 == 0 &&
			       near_part(&way->id, plan->is_big, &way->near_id) &&
			       near_part(&way->time, plan->is_big, &way->near_time);
	}
}

int wmk_ctf_header_plan_make(struct wmk_scratch *scratch, struct wmk_ctf_stream_decoder *stream)
{
	struct wmk_ctf_header_plan plan = { .align = 1 }, *kept;

	if (!plan_header(&stream->event_header, &plan))
		return 0;
	plan_near(&plan);
	kept = wmk_scratch_alloc(scratch, sizeof(*kept));
	if (!kept)
		return -ENOMEM;
	*kept = plan;
	stream->plan = kept;
	return 0;
}

/* ── headers ─────────────────────────────────────────────────────────────────────────────────────────── */

struct header {
	uint64_t id, time;         /* clock value; initially that of the previous record */
	bool has_id, has_time;
};

static inline uint64_t get(const struct wmk_ctf_walk *walk, uint64_t begin, const struct header_location *place)
{
	return wmk_bits_get(walk->in.bytes, begin + place->at, place->width, place->is_big, walk->in.end);
}

static int planned(const struct wmk_ctf_header_plan *plan, struct wmk_ctf_walk *walk, struct header *header)
{
	const struct way *way = plan->ways;
	uint64_t selector = 0, begin;

	begin = wmk_bits_align(walk->at, plan->align);
	if (plan->save) {
		if (begin + plan->selector.at + plan->selector.width > walk->in.end)
			return -ENODATA;
		selector = get(walk, begin, &plan->selector);
		walk->registers[plan->save] = selector;
	}
	while (selector < way->from || selector > way->to)
		if (++way == plan->ways + plan->n_ways)
			return wmk_error(-EPROTO,
					 "the selector of the event header at byte %" PRIu64 " is %" PRIu64
					 ", which selects no option",
					 begin / 8, selector);
	if (begin + way->bits > walk->in.end)
		return -ENODATA;
	header->has_id = way->id.width;
	if (way->id.width)
		header->id = get(walk, begin, &way->id);
	if (way->time.width)
		header->time = wmk_ctf_time(header->time, get(walk, begin, &way->time), way->time.width);
	walk->at = begin + way->bits;
	return 0;
}

static int walked(const struct wmk_ctf_program *program, struct wmk_ctf_walk *walk, struct header *header)
{
	struct wmk_ctf_item item;

	wmk_ctf_walk_enter_passing(walk, program);
	while (wmk_ctf_next(walk, &item)) {
		if (item.is_end || item.op->code > WMK_CTF_ENUM)
			continue;
		if (item.is_wide && item.op->roles)
			return wmk_error(-EPROTO,
					 "the id or time in an event header has more than 64 bits, at byte %" PRIu64,
					 item.at / 8);
		if (item.op->roles & WMK_ROLE_BIT(WMK_ROLE_EVENT_CLASS)) {
			header->id = item.value.u;
			header->has_id = true;
		}
		/*
		 * (each time advances the clock; a LEB128 time has the width of the bits that were read: CTF 2, section
		 * 6.3)
		 */
		if (item.op->roles & WMK_ROLE_BIT(WMK_ROLE_TIME)) {
			header->time = wmk_ctf_time(header->time, item.value.u,
						    item.op->width ? item.op->width : (unsigned)item.len);
			header->has_time = true;
		}
	}
	return walk->err;
}

int wmk_ctf_header_time(const struct wmk_ctf_program *program, struct wmk_ctf_walk *walk, uint64_t *time)
{
	struct header header = { .time = *time };
	int err = walked(program, walk, &header);

	*time = header.time;
	return err < 0 ? err : header.has_time;
}

/* ── records ─────────────────────────────────────────────────────────────────────────────────────────── */

static const struct wmk_ctf_event_decoder *event_of(const struct wmk_ctf_stream_decoder *stream, uint64_t id)
{
	uint32_t low = 0, high = stream->n_events;

	if (stream->is_dense)
		return id < stream->n_events ? &stream->events[id] : NULL;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (stream->events[middle].id == id)
			return &stream->events[middle];
		if (stream->events[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Return the end of a part of fixed size that follows the position `at`. */
static inline uint64_t behind(uint64_t at, const struct wmk_ctf_program *program)
{
	return ((at + program->fixed_mask) & ~(uint64_t)program->fixed_mask) + program->fixed_bits;
}

/* Skip a part of a record, of fixed or variable size. */
static inline int pass(struct wmk_ctf_walk *walk, const struct wmk_ctf_program *program)
{
	if (program->varies)
		return wmk_ctf_skip(walk, program);
	walk->at = behind(walk->at, program);
	return walk->at > walk->in.end ? -ENODATA : 0;
}

/* Measure the rest of a record from record->payload_at, which the caller has set. */
static __attribute__((noinline)) int payload_measured(const struct wmk_ctf_bytes *in, uint64_t time,
						      struct wmk_ctf_record *record)
{
	struct wmk_ctf_walk *walk = &record->walk;
	int err;

	walk->in = *in;
	walk->at = record->payload_at;
	walk->n_empty = 0;
	err = pass(walk, &record->event->payload);
	if (err < 0)
		return err;
	record->end = walk->at;
	record->time = time;
	return 0;
}

static inline int text_taken(uint64_t at, uint64_t len, uint64_t time, struct wmk_ctf_record *record)
{
	record->walk.text_at = at;
	record->walk.text_len = len;
	record->end = at + (len + 1) * 8;
	record->time = time;
	return 0;
}

/* Do the same as text_measured(), for a long string or a string near the end of the packet. */
static __attribute__((noinline)) int text_sought(const struct wmk_ctf_bytes *in, uint64_t at, uint64_t time,
						 struct wmk_ctf_record *record)
{
	uint64_t room, len;

	if (at > in->end)
		return -ENODATA;
	room = (in->end - at) / 8;
	len = wmk_bits_text(in->bytes + at / 8, room);
	return len == room ? -ENODATA : text_taken(at, len, time, record);
}

/*
 * Measure a record with a string at `at` as its last part. (All calls are tail calls, so that no register needs to be
 * saved.)
 */
static inline int text_measured(const struct wmk_ctf_bytes *in, uint64_t at, uint64_t time,
				struct wmk_ctf_record *record)
{
	const uint64_t len = at > in->end ? WMK_BITS_FAR : wmk_bits_text_near(in->bytes + at / 8, (in->end - at) / 8);

	return len == WMK_BITS_FAR ? text_sought(in, at, time, record) : text_taken(at, len, time, record);
}

/* Measure a record of the event class record->event; `at` is the end of the header. */
static __attribute__((noinline)) int measured(const struct wmk_ctf_stream_decoder *stream,
					      const struct wmk_ctf_bytes *in, uint64_t at, uint64_t time,
					      struct wmk_ctf_record *record)
{
	struct wmk_ctf_walk *walk = &record->walk;
	int err;

	walk->in = *in;
	walk->at = record->common_at = at;
	walk->n_empty = 0;
	err = pass(walk, &stream->event_context);
	record->context_at = walk->at;
	if (err >= 0)
		err = pass(walk, &record->event->context);
	record->payload_at = walk->at;
	return err < 0 ? err : payload_measured(in, time, record);
}

/* Decode a record that has a header of any form. */
static __attribute__((noinline)) int by_any_header(const struct wmk_ctf_stream_decoder *stream,
						   const struct wmk_ctf_bytes *in, uint64_t at,
						   struct wmk_ctf_record *record)
{
	struct wmk_ctf_walk *walk = &record->walk;
	struct header header = { .time = record->time };
	int err;

	walk->in = *in;
	walk->at = record->at = at;
	walk->n_empty = 0;
	err = stream->plan ? planned(stream->plan, walk, &header) : walked(&stream->event_header, walk, &header);
	if (err < 0)
		return err;
	/* A record without an event id belongs to the first event class of the stream. */
	if (!header.has_id && stream->n_events)
		header.id = stream->events[0].id;
	record->event = event_of(stream, header.id);
	if (!record->event)
		return wmk_error(-EPROTO,
				 "the record at byte %" PRIu64 " is of event %" PRIu64
				 ", which stream class %" PRIu64 " does not contain",
				 at / 8, header.id, stream->class->id);
	return measured(stream, in, walk->at, header.time, record);
}

static inline uint64_t part_of(uint64_t word, const struct part *part)
{
	return word >> part->shift & part->mask;
}

/* Measure a record with a header within 64 bits, which ends at the byte boundary `at`. */
static inline int behind_header(const struct wmk_ctf_stream_decoder *stream, const struct wmk_ctf_bytes *in,
				const struct wmk_ctf_event_decoder *event, uint64_t at, uint64_t time,
				struct wmk_ctf_record *record)
{
	const uint64_t end = at + event->to_end;

	record->event = event;
	if (!event->is_constant_before)
		return measured(stream, in, at, time, record);
	record->common_at = at;
	record->context_at = at + event->to_context;
	record->payload_at = at + event->to_payload;
	if (event->ends_in_text)
		return text_measured(in, end, time, record);
	if (!event->is_constant)
		return payload_measured(in, time, record);
	if (end > in->end)
		return -ENODATA;
	record->end = end;
	record->time = time;
	return 0;
}

/*
 * Measure a record with a header within 64 bits, if its event class differs from the event class of the previous
 * record.
 */
static __attribute__((noinline)) int of_event(const struct wmk_ctf_stream_decoder *stream,
					      const struct wmk_ctf_bytes *in, uint64_t id, uint64_t at, uint64_t time,
					      struct wmk_ctf_record *record)
{
	const struct wmk_ctf_event_decoder *event = event_of(stream, id);

	return event ? behind_header(stream, in, event, at, time, record)
		     : by_any_header(stream, in, record->at, record);
}

int wmk_ctf_record(const struct wmk_ctf_stream_decoder *stream, const struct wmk_ctf_bytes *in, uint64_t at,
		   struct wmk_ctf_record *record)
{
	const struct wmk_ctf_header_plan *plan = stream->plan;
	const struct wmk_ctf_event_decoder *before = record->event;
	uint64_t begin, word, selector, time, id;
	const struct way *way;

	/* The fast path for nearly all records; by_any_header() decodes the others. */
	if (!plan || !plan->is_near)
		return by_any_header(stream, in, at, record);
	begin = wmk_bits_align(at, plan->align);
	if ((int64_t)(in->end - begin) < 64)
		return by_any_header(stream, in, at, record);
	memcpy(&word, in->bytes + begin / 8, sizeof(word));
	word = plan->is_big ? be64toh(word) : le64toh(word);
	selector = part_of(word, &plan->near_selector);
	for (way = plan->ways; selector < way->from || selector > way->to;)
		if (++way == plan->ways + plan->n_ways)
			return by_any_header(stream, in, at, record);
	if (!way->is_near)
		return by_any_header(stream, in, at, record);
	time = (record->time & ~way->near_time.mask) | part_of(word, &way->near_time);
	time = time < record->time ? time + way->near_time.mask + 1 : time;
	record->walk.registers[plan->save] = selector;
	record->at = at;
	/*
	 * Most records have the same event class as the previous record. The code compares the id with the id of the
	 * previous record. A processor that predicts equal ids continues at the end of the record before it has loaded
	 * the id.
	 */
	id = part_of(word, &way->near_id);
	if (!before || before->id != id)
		return of_event(stream, in, id, begin + way->bits, time, record);
	return behind_header(stream, in, before, begin + way->bits, time, record);
}
