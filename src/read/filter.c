/* SPDX-License-Identifier: MIT */
/*
 * filter.c - map names of a filter to operations of decode programs, and get their values by a walk (see filter.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/nearest.h"
#include "read/filter.h"
#include "read/record_scope.h"

/* An input of a filter program: an operation, and an index for each array that contains the operation. */
struct input_slot {
	uint8_t part;              /* enum wmk_read_record_scope */
	uint8_t n_arrays;
	uint16_t input;
	uint32_t op;
	/*
	 * the last operation at which the walk can reach the input: the input's own operation, or the last operation of
	 * the outermost array around the input
	 */
	uint32_t last;
	uint32_t index[WMK_FILTER_PATH_MAX];
};

/* The filter for one event class. */
struct compiled {
	struct wmk_filter_program *program; /* NULL: no record matches */
	uint32_t n_slots;
	struct input_slot slots[WMK_FILTER_INPUTS_MAX];
	uint32_t last[WMK_READ_SCOPES];      /* the last operation that is needed in each scope; 0: none */
	bool has_arrays;                    /* some inputs are elements of arrays */
};

struct wmk_read_filter {
	const struct wmk_filter_expr *expr;
	const struct wmk_ctf_stream_decoder *decoder;
	struct compiled **events;  /* in the order of the decoder's events */
	struct wmk_filter_values values;
};

/* ── names ───────────────────────────────────────────────────────────────────────────────────────────── */

/* The state of look_up(), which is the callback of the filter compiler. */
struct looking {
	const struct wmk_ctf_program *parts[WMK_READ_SCOPES];
	const char *event_name;
	struct input_slot slots[WMK_FILTER_INPUTS_MAX];
	uint32_t n_slots;
	char what[60];             /* description of the latest name that is not an operand */
};

static void begin_looking(struct looking *l, const struct wmk_ctf_stream_decoder *stream,
			  const struct wmk_ctf_event_decoder *event)
{
	for (unsigned part = 0; part < WMK_READ_SCOPES; part++)
		l->parts[part] = wmk_read_scope_program(stream, event, part);
	l->event_name = wmk_or_empty(event->class->name);
	l->n_slots = 0;
}

/* Find a member by its name; 0: the structure has no such member. */
static uint32_t member(const struct wmk_ctf_op *ops, uint32_t at, const char *name)
{
	for (uint32_t i = at + 1; ops[i].code != WMK_CTF_END; i = ops[i].next)
		if (ops[i].name && !strcmp(ops[i].name, name))
			return i;
	return 0;
}

/* Apply one step of a name at operation `at`; 0: no such member or element. */
static uint32_t step_from(const struct wmk_ctf_op *ops, uint32_t at, const struct wmk_filter_step *step,
			  struct input_slot *slot, bool *may_lack)
{
	const struct wmk_ctf_op *op = &ops[at];

	if (op->code == WMK_CTF_OPTIONAL) {
		*may_lack = true;
		return step_from(ops, at + 1, step, slot, may_lack);
	}
	if (step->name && (op->code == WMK_CTF_STRUCT || op->code == WMK_CTF_VARIANT)) {
		*may_lack |= op->code == WMK_CTF_VARIANT;
		return member(ops, at, step->name);
	}
	if (step->name || op->code != WMK_CTF_ARRAY || step->index > UINT32_MAX)
		return 0;
	if (!slot->n_arrays)
		slot->last = op->next - 1;
	slot->index[slot->n_arrays++] = (uint32_t)step->index;
	*may_lack |= op->ref || step->index >= op->count;
	return at + 1;
}

/* Describe the options of a variant, because the text of a record shows only the content of the selected option. */
static const char *variant(struct looking *l, const struct wmk_ctf_op *ops, uint32_t at)
{
	int len = snprintf(l->what, sizeof(l->what), "a variant of");

	for (uint32_t i = at + 1; ops[i].code != WMK_CTF_END && len < (int)sizeof(l->what); i = ops[i].next)
		len += snprintf(l->what + len, sizeof(l->what) - (size_t)len, " .%s", wmk_or_empty(ops[i].name));
	return l->what;
}

static const char *what_is(struct looking *l, const struct wmk_ctf_op *ops, uint32_t at)
{
	switch (ops[at].code) {
	case WMK_CTF_STRUCT: return "a structure";
	case WMK_CTF_ARRAY: return "an array";
	case WMK_CTF_VARIANT: return variant(l, ops, at);
	case WMK_CTF_BLOB: return "bytes";
	default: return "text in an encoding other than UTF-8";
	}
}

static bool found_in(struct looking *l, unsigned part, const struct wmk_filter_name *name,
		     struct wmk_filter_found *found)
{
	const struct wmk_ctf_op *ops = l->parts[part]->ops;
	struct input_slot slot = { .part = (uint8_t)part };
	uint32_t at = 0;

	for (unsigned i = 0; ops && i < name->n_steps; i++) {
		at = step_from(ops, at, &name->steps[i], &slot, &found->may_lack);
		if (!at)
			break;
	}
	if (!ops || !at) {
		found->may_lack = false;
		return false;
	}
	for (; ops[at].code == WMK_CTF_OPTIONAL; at++)
		found->may_lack = true;
	unsigned type = ops[at].code <= WMK_CTF_TEXT ? wmk_filter_type_of(ops[at].type) : WMK_FILTER_ABSENT;

	if (type == WMK_FILTER_ABSENT || (type == WMK_FILTER_TEXT && part == WMK_READ_OF_PACKET)) {
		found->no_operand = type == WMK_FILTER_TEXT ? "a text of the packet" : what_is(l, ops, at);
		if (!found->may_lack)
			return true;
		/* exists() can still test whether the record has the field. */
		type = WMK_FILTER_UNSIGNED;
	}
	slot.op = at;
	if (!slot.n_arrays)
		slot.last = at;
	for (slot.input = 0; slot.input < l->n_slots; slot.input++)
		if (!memcmp(&l->slots[slot.input], &slot, sizeof(slot)))
			break;
	if (slot.input == l->n_slots && l->n_slots < WMK_FILTER_INPUTS_MAX)
		l->slots[l->n_slots++] = slot;
	found->input = (struct wmk_filter_input){ (uint8_t)type,
						  part == WMK_READ_PAYLOAD ? WMK_FILTER_FIELD : WMK_FILTER_CONTEXT,
						  slot.input, 0 };
	wmk_filter_found_labels(found, ops[at].type);
	return true;
}

static void look_up(void *data, const struct wmk_filter_name *name, struct wmk_filter_found *found)
{
	static const uint8_t contexts[] = { WMK_READ_CONTEXT, WMK_READ_COMMON, WMK_READ_OF_PACKET };
	struct looking *l = data;
	bool is_there = false;

	if (name->scope == WMK_FILTER_EVENT) {
		found->text = l->event_name;
		return;
	}
	if (name->scope == WMK_FILTER_FIELD)
		is_there = found_in(l, WMK_READ_PAYLOAD, name, found);
	for (unsigned i = 0; name->scope == WMK_FILTER_CONTEXT && i < sizeof(contexts) && !is_there; i++)
		is_there = found_in(l, contexts[i], name, found);
}

/* ── programs ────────────────────────────────────────────────────────────────────────────────────────── */

static void offer(struct wmk_nearest *near, const struct wmk_ctf_program *program)
{
	const struct wmk_ctf_op *ops = program->ops;

	for (uint32_t i = 1; ops && ops[i].code != WMK_CTF_END; i = ops[i].next)
		if (ops[i].name)
			wmk_nearest_offer(near, ops[i].name);
}

/* Report a name that no event class has. */
static int no_such_name(const struct wmk_filter_expr *expr, unsigned number,
			const struct wmk_ctf_decoder *const *decoders, uint32_t n)
{
	const struct wmk_filter_name *name = wmk_filter_name_of(expr, number);
	struct wmk_nearest near;
	char names[80], what[160];

	wmk_nearest_init(&near, name->steps[0].name);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t s = 0; s < decoders[i]->n_streams; s++) {
			const struct wmk_ctf_stream_decoder *stream = &decoders[i]->streams[s];

			for (uint32_t e = 0; e < stream->n_events; e++)
				for (unsigned part = 0; part < WMK_READ_SCOPES; part++)
					if ((part == WMK_READ_PAYLOAD) == (name->scope == WMK_FILTER_FIELD))
						offer(&near, wmk_read_scope_program(stream, &stream->events[e], part));
		}
	wmk_nearest_text(&near, names, sizeof(names));
	snprintf(what, sizeof(what), "no event of the traces has such a %s%s%s",
		 name->scope == WMK_FILTER_FIELD ? "field" : "context", names[0] ? "; near is " : "", names);
	return wmk_filter_name_wrong(expr, number, what);
}

static int try_all(struct wmk_filter_fit *fit, const struct wmk_ctf_decoder *decoder)
{
	struct looking l;
	int err = 0;

	for (uint32_t s = 0; s < decoder->n_streams; s++)
		for (uint32_t e = 0; e < decoder->streams[s].n_events && err >= 0; e++) {
			begin_looking(&l, &decoder->streams[s], &decoder->streams[s].events[e]);
			err = wmk_filter_fit_try(fit, look_up, &l, l.event_name);
		}
	return err;
}

int wmk_read_filter_check(const struct wmk_filter_expr *expr, const struct wmk_ctf_decoder *const *decoders, uint32_t n)
{
	struct wmk_filter_fit fit;
	int missing, err = wmk_filter_fit_begin(&fit, expr), fits;

	for (uint32_t i = 0; i < n && err >= 0; i++)
		err = try_all(&fit, decoders[i]);
	fits = wmk_filter_fit_end(&fit, &missing);
	if (err < 0)
		return wmk_error_get(0) ? err : wmk_error(err, "the filter cannot be checked");
	return missing >= 0 ? no_such_name(expr, (unsigned)missing, decoders, n) : fits;
}

int wmk_read_filter_create(const struct wmk_filter_expr *expr, const struct wmk_ctf_stream_decoder *decoder,
			   struct wmk_read_filter **filter)
{
	struct wmk_read_filter *made = calloc(1, sizeof(*made));

	if (made)
		made->events = calloc(decoder->n_events ? decoder->n_events : 1, sizeof(made->events[0]));
	if (!made || !made->events) {
		free(made);
		return wmk_error(-ENOMEM, "no memory for a filter");
	}
	made->expr = expr;
	made->decoder = decoder;
	*filter = made;
	return 0;
}

void wmk_read_filter_free(struct wmk_read_filter *filter)
{
	if (!filter)
		return;
	for (uint32_t i = 0; i < filter->decoder->n_events; i++)
		if (filter->events[i]) {
			wmk_filter_program_free(filter->events[i]->program);
			free(filter->events[i]);
		}
	free(filter->events);
	free(filter);
}

/*
 * Compile the filter for an event class, at its first record. In this function, a filter that does not fit the class is
 * not an error.
 */
static int compile(struct wmk_read_filter *filter, const struct wmk_ctf_event_decoder *event, struct compiled **result)
{
	struct compiled *made = calloc(1, sizeof(*made));
	struct looking l;
	int err;

	if (!made)
		return wmk_error(-ENOMEM, "no memory for a filter");
	begin_looking(&l, filter->decoder, event);
	err = wmk_filter_compile(&filter->expr, 1, look_up, &l, WMK_FILTER_LAX, &made->program);
	if (err < 0 && err != -EINVAL) {
		free(made);
		return err;
	}
	wmk_error_clear();
	/*
	 * Each input of the program has one slot, in the order of the inputs. If only exists() uses a name, the name
	 * may have no slot.
	 */
	for (uint32_t i = 0; made->program && i < made->program->n_inputs; i++) {
		struct input_slot *slot = &made->slots[made->n_slots++];

		*slot = l.slots[made->program->inputs[i].number];
		slot->input = (uint16_t)i;
		made->has_arrays = made->has_arrays || slot->n_arrays;
		if (made->last[slot->part] < slot->last)
			made->last[slot->part] = slot->last;
	}
	*result = made;
	return 0;
}

/* ── values ──────────────────────────────────────────────────────────────────────────────────────────── */

/* An open structure or an open array of the walk; an array has the index of its current element. */
struct frame {
	uint32_t at;
	bool is_array;
};

static void take(struct wmk_read_filter *filter, const struct compiled *event, unsigned part, uint32_t op,
		 const struct wmk_ctf_item *item, const struct frame *frames, unsigned depth)
{
	for (uint32_t i = 0; i < event->n_slots; i++) {
		const struct input_slot *slot = &event->slots[i];
		unsigned n = 0;

		if (slot->op != op || slot->part != part)
			continue;
		for (unsigned d = 0; d < depth && n <= slot->n_arrays; d++) {
			if (!frames[d].is_array)
				continue;
			if (n == slot->n_arrays || frames[d].at != slot->index[n])
				n = WMK_FILTER_PATH_MAX;
			n++;
		}
		if (n != slot->n_arrays)
			continue;
		filter->values.lacking &= ~(UINT64_C(1) << slot->input);
		if (item->op->code == WMK_CTF_STRING || item->op->code == WMK_CTF_TEXT)
			filter->values.texts[slot->input] = (struct wmk_filter_text){ item->text, item->len };
		else if (item->op->code < WMK_CTF_BLOB)
			filter->values.numbers[slot->input] = item->value.u;
	}
}

/* Collect the inputs of one scope, up to the last operation that the program needs. */
static int gather(struct wmk_read_filter *filter, const struct compiled *event, unsigned part,
		  const struct wmk_ctf_program *program, struct wmk_ctf_walk *walk)
{
	struct frame frames[WMK_CTF_TYPE_DEPTH + 1];
	struct wmk_ctf_item item;
	unsigned depth = 0;

	if (event->has_arrays)
		wmk_ctf_walk_enter(walk, program);
	else
		wmk_ctf_walk_enter_passing(walk, program);
	while (wmk_ctf_next(walk, &item)) {
		const uint32_t op = (uint32_t)(item.op - program->ops);

		if (item.is_end) {
			depth--;
		} else {
			if (op > event->last[part])
				return 0;
			take(filter, event, part, op, &item, frames, depth);
			if (item.op->code >= WMK_CTF_STRUCT) {
				frames[depth++] = (struct frame){ 0, item.op->code == WMK_CTF_ARRAY };
				continue;
			}
		}
		if (depth)
			frames[depth - 1].at++;
	}
	return walk->err;
}

int wmk_read_filter_wants(struct wmk_read_filter *filter, const struct wmk_read_packet_head *head,
			  struct wmk_read_stream *stream)
{
	struct wmk_ctf_record *record = &stream->record;
	const struct wmk_ctf_event_decoder *event = record->event;
	struct compiled **at = &filter->events[event - filter->decoder->events];
	int err = *at ? 0 : compile(filter, event, at);

	if (err < 0 || !(*at)->program)
		return err;
	filter->values.lacking = ((*at)->n_slots == 64 ? 0 : UINT64_C(1) << (*at)->n_slots) - 1;
	for (uint32_t i = 0; i < (*at)->n_slots; i++) {
		filter->values.numbers[i] = 0;
		filter->values.texts[i] = (struct wmk_filter_text){ "", 0 };
	}
	if ((*at)->last[WMK_READ_OF_PACKET]) {
		struct wmk_ctf_walk walk = head->walk;

		walk.at = stream->packet.context_at;
		err = gather(filter, *at, WMK_READ_OF_PACKET, &filter->decoder->packet_context, &walk);
	}
	for (unsigned part = WMK_READ_COMMON; part < WMK_READ_SCOPES && err >= 0; part++) {
		if (!(*at)->last[part])
			continue;
		const struct wmk_ctf_program *program = wmk_read_scope_begin(stream, part);

		err = gather(filter, *at, part, program, &record->walk);
	}
	return err < 0 ? err : wmk_filter_run((*at)->program, &filter->values);
}
