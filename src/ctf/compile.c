/* SPDX-License-Identifier: MIT */
/*
 * compile.c - compile types to operations (see decode.h).
 *
 * The compiler compiles the structures in the order in which a stream contains them. A length or selector may be in any
 * preceding structure (field_ref.c).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ctf/build.h"
#include "ctf/field_ref.h"
#include "ctf/format_names.h"
#include "ctf/wide_number.h"

#define ALL_OPS_MAX (1u << 24)    /* limit for all operations of a trace */

struct decoder_memory {
	struct wmk_ctf_decoder decoder;
	struct wmk_scratch scratch;
};

/* ── operations ──────────────────────────────────────────────────────────────────────────────────────── */

static int grow(struct wmk_ctf_compiler *c, struct wmk_ctf_program_draft *code)
{
	uint32_t cap = code->cap ? 2 * code->cap : 16;
	struct wmk_ctf_op *ops;
	const char **names;

	if (code->n >= WMK_CTF_OPS_MAX)
		return wmk_error(-E2BIG, "%s has more than %u parts", c->what, WMK_CTF_OPS_MAX);
	if (++c->n_all > ALL_OPS_MAX)
		return wmk_error(-E2BIG, "the structures have more than %u parts in total", ALL_OPS_MAX);
	if (code->n < code->cap)
		return 0;
	ops = realloc(code->ops, cap * sizeof(*ops));
	if (ops)
		code->ops = ops;
	names = realloc(code->names, cap * sizeof(*names));
	if (names)
		code->names = names;
	if (!ops || !names)
		return wmk_error(-ENOMEM, "no memory to decode %s", c->what);
	code->cap = cap;
	return 0;
}

static int add(struct wmk_ctf_compiler *c, struct wmk_ctf_program_draft *code, uint8_t code_of,
	       const struct wmk_type *type, const char *name, uint32_t *index)
{
	int err = grow(c, code);

	if (err < 0)
		return err;
	*index = code->n;
	code->names[code->n] = name;
	code->ops[code->n] = (struct wmk_ctf_op){
		.code = code_of,
		.type = type,
		.name = wmk_ctf_shown_name(c->class, name),
		.next = code->n + 1,
		.align = type->align ? type->align : 8,
		.width = type->width,
		.is_signed = type->is_signed,
		.is_big = type->order == WMK_ORDER_BIG ||
			  (type->order == WMK_ORDER_NATIVE && c->class->order == WMK_ORDER_BIG),
		.is_reversed = type->is_reversed,
		.roles = type->roles,
	};
	code->n++;
	return 0;
}

/* Add the END operation for the operation at index `begin`, after all of its contents are compiled. */
static int end(struct wmk_ctf_compiler *c, struct wmk_ctf_program_draft *code, uint32_t begin)
{
	uint32_t index;
	int err = add(c, code, WMK_CTF_END, code->ops[begin].type, NULL, &index);

	if (err < 0)
		return err;
	code->ops[index].align = 1;
	code->ops[index].roles = 0;
	code->ops[begin].next = code->n;
	return 0;
}

/* ── types ───────────────────────────────────────────────────────────────────────────────────────────── */

static int compile_type(struct wmk_ctf_compiler *c, unsigned scope, const struct wmk_type *type, const char *name);

/* Compile the contents of the operation at index `begin`, and add the END operation. */
static int compile_inside(struct wmk_ctf_compiler *c, unsigned scope, uint32_t begin, const struct wmk_type *type)
{
	struct wmk_ctf_program_draft *code = &c->codes[scope];
	int err = 0;

	if (code->depth >= WMK_CTF_TYPE_DEPTH)
		return wmk_error(-E2BIG, "%s has more than %u levels of nested types", c->what,
				 WMK_CTF_TYPE_DEPTH);
	code->ops[begin].next = 0;             /* open */
	code->open[code->depth++] = begin;
	for (uint32_t i = 0; type->members && i < type->count && err >= 0; i++)
		err = compile_type(c, scope, &type->members[i].type, type->members[i].name);
	if (!type->members && type->elem)
		err = compile_type(c, scope, type->elem, NULL);
	code->depth--;
	if (err >= 0)
		err = end(c, code, begin);
	/*
	 * A structure or an array has the largest alignment of its parts, because all of its parts are always present.
	 */
	if (err >= 0 && (code->ops[begin].code == WMK_CTF_STRUCT || code->ops[begin].code == WMK_CTF_ARRAY))
		for (uint32_t i = begin + 1; code->ops[i].code != WMK_CTF_END; i = code->ops[i].next)
			if (code->ops[i].align > code->ops[begin].align)
				code->ops[begin].align = code->ops[i].align;
	return err;
}

/*
 * Convert a range to the selector's signedness: both ends become int64_t if the selector is signed, and uint64_t
 * otherwise. `is_signed` is the signedness of the range. Returns false if the selector cannot have any value of the
 * range.
 */
static bool clip(bool is_signed, bool selector_is_signed, uint64_t *from, uint64_t *to)
{
	if (is_signed == selector_is_signed)
		return true;
	if (selector_is_signed) {
		if (*to > INT64_MAX)
			*to = INT64_MAX;
		return *from <= INT64_MAX;
	}
	if ((int64_t)*from < 0)
		*from = 0;
	return (int64_t)*to >= 0;
}

/* Make the list of choices: for each member of the variant, the selector values that select this member. */
static int make_choices(struct wmk_ctf_compiler *c, struct wmk_ctf_program_draft *code, uint32_t begin,
			const struct wmk_type *type, const struct wmk_type *selector)
{
	const struct wmk_label *labels = type->n_ranges ? type->ranges : selector->labels;
	const uint32_t n_labels = type->n_ranges                   ? type->n_ranges
				  : type->kind == WMK_TYPE_VARIANT ? selector->count
								   : 0;
	const bool is_signed = type->n_ranges ? type->is_signed : selector->is_signed;
	struct wmk_ctf_op *op = &code->ops[begin];
	struct wmk_ctf_choice *choices;

	/*
	 * A variant needs as many choices as its selector has labels, even if the metadata of the variant has only a
	 * few bytes. So the compiler limits the total number of choices of all variants.
	 */
	c->n_choices += n_labels;
	if (c->n_choices > WMK_CTF_CHOICES_MAX)
		return wmk_ctf_compile_error(c, type->ref,
					     "the selectors of all variants together have too many labels");
	choices = wmk_scratch_alloc(&c->scratch, wmk_ctf_choices_size(n_labels));
	if (!choices)
		return -ENOMEM;
	op->choices = choices;
	op->is_signed = selector->is_signed;
	for (uint32_t i = 0; i < n_labels; i++) {
		uint64_t from = (uint64_t)labels[i].from, to = (uint64_t)labels[i].to;
		uint32_t option = begin + 1;

		if (type->kind == WMK_TYPE_VARIANT && !wmk_ctf_find_member(c, code, begin, labels[i].name, &option))
			continue;
		if (clip(is_signed, selector->is_signed, &from, &to))
			choices[op->n_choices++] = (struct wmk_ctf_choice){ from, to, option };
	}
	if (wmk_ctf_search_limit_reached(c))
		return wmk_ctf_compile_error(c, type->ref,
					     "the selectors of all variants together have too many labels, or their "
					     "labels are too long");
	return wmk_ctf_choices_make_index(op, choices);
}

static void refer_to(struct wmk_ctf_op *op, const struct wmk_ctf_field_ref *to)
{
	_Static_assert(WMK_CTF_REGISTERS <= UINT8_MAX, "a register's number fits");
	op->ref = (uint8_t)to->reg;
	op->sources = to->sources;
	op->n_sources = to->n_sources;
}

static int compile_selected(struct wmk_ctf_compiler *c, unsigned scope, const struct wmk_type *type, const char *name)
{
	const uint8_t code_of = type->kind == WMK_TYPE_VARIANT ? WMK_CTF_VARIANT : WMK_CTF_OPTIONAL;
	struct wmk_ctf_program_draft *code = &c->codes[scope];
	const struct wmk_type *selected_by;
	struct wmk_ctf_field_ref selector;
	uint32_t begin;
	int err;

	if (!type->ref)
		return wmk_ctf_compile_error(c, NULL, "the variant '%.60s' has no selector", wmk_or_empty(name));
	err = wmk_ctf_field_ref_resolve(c, scope, type->ref, "selector", &selector);
	if (err < 0)
		return err;
	selected_by = selector.type;
	if (type->kind == WMK_TYPE_VARIANT && !type->n_ranges && selected_by->kind != WMK_TYPE_ENUM)
		return wmk_ctf_compile_error(c, type->ref, "the selector of variant '%.60s' is not an enumeration",
					     wmk_or_empty(name));
	if (type->kind == WMK_TYPE_VARIANT && selected_by->kind == WMK_TYPE_BOOL)
		return wmk_ctf_compile_error(c, type->ref, "the selector of variant '%.60s' is a boolean",
					     wmk_or_empty(name));
	if (type->kind == WMK_TYPE_OPTIONAL && !type->n_ranges && selected_by->kind != WMK_TYPE_BOOL)
		return wmk_ctf_compile_error(
			c, type->ref,
			"the selector of optional field '%.60s' is an integer, but no ranges are given",
			wmk_or_empty(name));
	err = add(c, code, code_of, type, name, &begin);
	if (err < 0)
		return err;
	refer_to(&code->ops[begin], &selector);
	err = compile_inside(c, scope, begin, type);
	return err < 0 ? err : make_choices(c, code, begin, type, selected_by);
}

static int compile_array(struct wmk_ctf_compiler *c, unsigned scope, const struct wmk_type *type, const char *name)
{
	const bool is_flat = type->is_text || type->kind == WMK_TYPE_BLOB;
	struct wmk_ctf_field_ref length = { .reg = 0 };
	uint32_t begin;
	int err = 0;

	if (type->kind == WMK_TYPE_SEQUENCE && !type->ref)
		return wmk_ctf_compile_error(c, NULL, "the sequence '%.60s' has no length", wmk_or_empty(name));
	if (type->ref)
		err = wmk_ctf_field_ref_resolve(c, scope, type->ref, "length", &length);
	if (err >= 0 && length.reg && length.type->is_signed)
		return wmk_ctf_compile_error(c, type->ref, "the length of '%.60s' is a signed integer",
					     wmk_or_empty(name));
	if (err >= 0 && length.reg && length.type->kind == WMK_TYPE_BOOL)
		return wmk_ctf_compile_error(c, type->ref, "the length of '%.60s' is a boolean", wmk_or_empty(name));
	if (err >= 0)
		err = add(c, &c->codes[scope],
			  type->kind == WMK_TYPE_BLOB ? WMK_CTF_BLOB
			  : is_flat                   ? WMK_CTF_TEXT
						      : WMK_CTF_ARRAY,
			  type, name, &begin);
	if (err < 0)
		return err;
	refer_to(&c->codes[scope].ops[begin], &length);
	c->codes[scope].ops[begin].count = length.reg ? 0 : type->count;
	return is_flat ? 0 : compile_inside(c, scope, begin, type);
}

static int compile_number(struct wmk_ctf_compiler *c, unsigned scope, const struct wmk_type *type, const char *name)
{
	static const uint8_t codes[] = { [WMK_TYPE_INT] = WMK_CTF_INT,
					 [WMK_TYPE_FLOAT] = WMK_CTF_FLOAT,
					 [WMK_TYPE_BOOL] = WMK_CTF_BOOL,
					 [WMK_TYPE_ENUM] = WMK_CTF_ENUM,
					 [WMK_TYPE_FLAGS] = WMK_CTF_FLAGS };
	uint32_t index;

	if (type->is_variable ? type->kind == WMK_TYPE_FLOAT : !type->width || type->width > WMK_CTF_WIDTH_MAX)
		return wmk_ctf_compile_error(c, NULL, "unsupported number of %u bits", type->width);
	if (type->kind == WMK_TYPE_FLOAT && !type->is_extended && !wmk_ctf_exponent_bits(type->width))
		return wmk_ctf_compile_error(c, NULL, "unsupported floating point number of %u bits", type->width);
	int err = add(c, &c->codes[scope], codes[type->kind], type, name, &index);

	if (err >= 0 && type->is_variable)
		c->codes[scope].ops[index].width = 0;
	return err;
}

static int compile_type(struct wmk_ctf_compiler *c, unsigned scope, const struct wmk_type *type, const char *name)
{
	uint32_t index;
	int err;

	switch (type->kind) {
	case WMK_TYPE_STRING:
		return add(c, &c->codes[scope], WMK_CTF_STRING, type, name, &index);
	case WMK_TYPE_ARRAY:
	case WMK_TYPE_SEQUENCE:
	case WMK_TYPE_BLOB:
		return compile_array(c, scope, type, name);
	case WMK_TYPE_STRUCT:
		err = add(c, &c->codes[scope], WMK_CTF_STRUCT, type, name, &index);
		return err < 0 ? err : compile_inside(c, scope, index, type);
	case WMK_TYPE_VARIANT:
	case WMK_TYPE_OPTIONAL:
		return compile_selected(c, scope, type, name);
	default:
		return compile_number(c, scope, type, name);
	}
}

/* ── roles ───────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Assign roles to the values of CTF 1.8 by their names. If several values have the same name, all of them get the role,
 * and a reader uses the last value.
 */
static void give_roles(const struct wmk_ctf_compiler *c, unsigned scope, struct wmk_ctf_program_draft *code)
{
	for (uint32_t i = 0; c->class->major == 1 && i < code->n; i++)
		for (unsigned role = 1; role < WMK_ROLES; role++)
			if (wmk_ctf_roles[role].scope == scope && code->ops[i].name &&
			    strcmp(code->ops[i].name, wmk_ctf_roles[role].tsdl) == 0 &&
			    (code->ops[i].code == WMK_CTF_INT || code->ops[i].code == WMK_CTF_ENUM ||
			     code->ops[i].code == WMK_CTF_ARRAY))
				code->ops[i].roles = WMK_ROLE_BIT(role);
	/*
	 * In an event header, each value that is mapped to a clock has the role of the record's time. A value that is
	 * mapped to a clock may also have the role of the event's id.
	 */
	for (uint32_t i = 0; scope == WMK_SCOPE_EVENT_HEADER && c->class->major == 1 && i < code->n; i++)
		if (code->ops[i].type->clock && (code->ops[i].code == WMK_CTF_INT || code->ops[i].code == WMK_CTF_ENUM))
			code->ops[i].roles |= WMK_ROLE_BIT(WMK_ROLE_TIME);
}

/* ── the whole ───────────────────────────────────────────────────────────────────────────────────────── */

static int compile_scope(struct wmk_ctf_compiler *c, unsigned scope, const struct wmk_type *type)
{
	struct wmk_ctf_program_draft *code = &c->codes[scope];
	int err;

	code->n = 0;
	code->depth = 0;
	if (!type)
		return 0;
	err = compile_type(c, scope, type, NULL);
	if (err < 0)
		code->n = 0;
	else
		give_roles(c, scope, code);
	return err;
}

/* Return the fast path for a member of a structure. */
static uint8_t ease_of(const struct wmk_ctf_op *op)
{
	const bool is_number = op->code == WMK_CTF_FLOAT ? op->width == 64 : op->code <= WMK_CTF_FLAGS;

	if (op->code == WMK_CTF_STRUCT)
		return WMK_CTF_BEGIN;
	if (op->code == WMK_CTF_STRING)
		return op->type->encoding == WMK_ENCODING_UTF8 ? WMK_CTF_CHARS : WMK_CTF_ANYHOW;
	return is_number && !wmk_ctf_may_be_wide(op) && op->width % 8 == 0 && op->align % 8 == 0 && !op->is_reversed
		       ? WMK_CTF_PLAIN
		       : WMK_CTF_ANYHOW;
}

/*
 * Mark the operations after which wmk_ctf_next() continues with the operation that follows in the list. The function
 * marks the root structure and all members of structures.
 */
static void make_easy(struct wmk_ctf_op *ops, uint32_t n)
{
	ops[n] = wmk_ctf_nothing;
	if (ops[0].code == WMK_CTF_STRUCT)
		ops[0].ease = WMK_CTF_BEGIN;
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t j = i + 1; ops[i].code == WMK_CTF_STRUCT && ops[j].code != WMK_CTF_END; j = ops[j].next) {
			ops[j].shift = (uint8_t)(64 - ops[j].width);
			ops[j].ease = ease_of(&ops[j]);
		}
		if (ops[i].ease == WMK_CTF_BEGIN) {
			struct wmk_ctf_op *end = &ops[ops[i].next - 1];

			end->ease = WMK_CTF_CLOSE;
			end->count = (uint32_t)(end - &ops[i]);
		}
	}
}

/* Copy a complete program to scratch memory, with its steps. */
static int keep(struct wmk_ctf_compiler *c, unsigned scope, struct wmk_ctf_program *program)
{
	const struct wmk_ctf_program_draft *code = &c->codes[scope];
	struct wmk_ctf_op *ops;

	*program = (struct wmk_ctf_program){ .ops = NULL };
	if (!code->n)
		return 0;
	ops = wmk_scratch_alloc(&c->scratch, ((size_t)code->n + 1) * sizeof(*ops));
	if (!ops)
		return -ENOMEM;
	memcpy(ops, code->ops, code->n * sizeof(*ops));
	make_easy(ops, code->n);
	program->ops = ops;
	program->n_ops = code->n;
	int err = wmk_ctf_enums_note(&c->enums, ops, code->n);

	return err < 0 ? err : wmk_ctf_fixed_runs_make(&c->scratch, program);
}

static int compile_event(struct wmk_ctf_compiler *c, const struct wmk_ctf_event_class *class,
			 struct wmk_ctf_event_decoder *event)
{
	int err;

	c->registers[2] = WMK_CTF_REGISTERS_EVENT;
	event->class = class;
	event->id = class->id;
	c->what = class->name ? class->name : "an event";
	c->line = class->line;
	c->column = class->column;
	err = compile_scope(c, WMK_SCOPE_CONTEXT, class->context);
	if (err >= 0)
		err = compile_scope(c, WMK_SCOPE_PAYLOAD, class->payload);
	if (err >= 0)
		err = keep(c, WMK_SCOPE_CONTEXT, &event->context);
	return err < 0 ? err : keep(c, WMK_SCOPE_PAYLOAD, &event->payload);
}

static int compile_stream(struct wmk_ctf_compiler *c, const struct wmk_ctf_stream_class *class,
			  struct wmk_ctf_stream_decoder *stream)
{
	const struct wmk_type *roots[WMK_SCOPES] = { [WMK_SCOPE_PACKET_CONTEXT] = class->packet_context,
		[WMK_SCOPE_EVENT_HEADER] = class->event_header, [WMK_SCOPE_COMMON_CONTEXT] = class->event_context };
	struct wmk_ctf_event_decoder *events =
		wmk_scratch_alloc(&c->scratch, (size_t) class->n_events * sizeof(*events));
	int err = events ? 0 : -ENOMEM;

	c->registers[1] = WMK_CTF_REGISTERS_STREAM;
	stream->class = class;
	stream->events = events;
	stream->n_events = class->n_events;
	stream->is_dense = true;
	c->what = "a stream class";
	c->line = class->line;
	c->column = class->column;
	for (unsigned scope = WMK_SCOPE_PACKET_CONTEXT; scope <= WMK_SCOPE_COMMON_CONTEXT && err >= 0; scope++)
		err = compile_scope(c, scope, roots[scope]);
	/*
	 * Compile events before the shared structures are copied, because references in events determine which values
	 * of the shared structures need a register.
	 */
	for (uint32_t i = 0; i < class->n_events && err >= 0; i++) {
		err = compile_event(c, class->events[i], &events[i]);
		stream->is_dense = stream->is_dense && class->events[i]->id == i;
	}
	if (err >= 0)
		err = keep(c, WMK_SCOPE_PACKET_CONTEXT, &stream->packet_context);
	if (err >= 0)
		err = keep(c, WMK_SCOPE_EVENT_HEADER, &stream->event_header);
	if (err >= 0)
		err = keep(c, WMK_SCOPE_COMMON_CONTEXT, &stream->event_context);
	for (uint32_t i = 0; i < class->n_events && err >= 0; i++)
		wmk_ctf_measure_event(&stream->event_context, &events[i]);
	return err < 0 ? err : wmk_ctf_header_plan_make(&c->scratch, stream);
}

static int compile_all(struct wmk_ctf_compiler *c, struct wmk_ctf_decoder *decoder)
{
	struct wmk_ctf_stream_decoder *streams = wmk_scratch_alloc(&c->scratch, c->class->n_streams * sizeof(*streams));
	int err = streams ? 0 : -ENOMEM;

	decoder->class = c->class;
	decoder->streams = streams;
	decoder->n_streams = c->class->n_streams;
	c->registers[0] = 1;
	c->what = "the packet header";
	c->line = c->class->line;
	c->column = c->class->column;
	if (err >= 0)
		err = compile_scope(c, WMK_SCOPE_PACKET_HEADER, c->class->packet_header);
	for (uint32_t i = 0; i < c->class->n_streams && err >= 0; i++)
		err = compile_stream(c, c->class->streams[i], &streams[i]);
	if (err >= 0)
		err = keep(c, WMK_SCOPE_PACKET_HEADER, &decoder->packet_header);
	return err < 0 ? err : wmk_ctf_enums_order(&c->enums, &c->scratch);
}

int wmk_ctf_compile(const struct wmk_ctf_class *class, const char *name, struct wmk_ctf_decoder **decoder)
{
	char shown[WMK_CTF_SHORT];
	struct wmk_ctf_compiler c = { .class = class, .name = wmk_ctf_short_name(shown, name) };
	struct decoder_memory *whole = calloc(1, sizeof(*whole));
	int err = whole ? compile_all(&c, &whole->decoder) : wmk_error(-ENOMEM, "no memory to decode a trace");

	for (unsigned i = 0; i < WMK_SCOPES; i++) {
		free(c.codes[i].ops);
		free(c.codes[i].names);
	}
	wmk_ctf_enums_free(&c.enums);
	if (err < 0) {
		wmk_scratch_free(&c.scratch);
		free(whole);
		return wmk_error_add(err, "cannot compile a decoder for the metadata '%s'", shown);
	}
	whole->scratch = c.scratch;
	*decoder = &whole->decoder;
	return 0;
}

void wmk_ctf_decoder_free(struct wmk_ctf_decoder *decoder)
{
	struct decoder_memory *whole = (struct decoder_memory *)decoder;

	if (!whole)
		return;
	wmk_scratch_free(&whole->scratch);
	free(whole);
}
