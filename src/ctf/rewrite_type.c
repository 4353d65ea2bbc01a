/* SPDX-License-Identifier: MIT */
/*
 * rewrite_type.c - write types as TSDL (see rewrite_tsdl.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ctf/format_names.h"
#include "ctf/tsdl_unknown.h"
#include "ctf/tsdl_unknown_field.h"
#include "ctf/rewrite_tsdl.h"
#include "ctf/wide_number.h"

static const struct wmk_ctf_op *op_at(const struct wmk_tsdl_writer *w, uint32_t at)
{
	return &w->parts.of[w->scope]->ops[at];
}

static void unsayable(struct wmk_tsdl_writer *w, const struct wmk_ctf_op *op, const char *what)
{
	if (w->err >= 0)
		w->err = wmk_error(-ENOTSUP, "CTF 1.8 cannot describe the field '%.60s': %s",
				   wmk_or_empty(op->name), what);
}

/* ── names ───────────────────────────────────────────────────────────────────────────────────────────── */

static const char *name_of(const struct wmk_tsdl_writer *w, unsigned scope, uint32_t at)
{
	return wmk_ctf_idents_of(&w->names[scope], at);
}

static bool is_kept(const struct wmk_tsdl_writer *w, unsigned scope, uint32_t at)
{
	return wmk_ctf_idents_restored(&w->names[scope], at) & WMK_IDENT_RESTORED;
}

static void note_name(struct wmk_tsdl_writer *w, uint32_t at, const char *ident)
{
	const char *name = wmk_or_empty(op_at(w, at)->name);

	if (w->decoder->class->major != 1 && !is_kept(w, w->scope, at) && strcmp(ident, name) != 0 &&
	    strcmp(ident + 1, name) != 0)
		w->lost |= 1u << WMK_CTF_LOST_NAME;
}

void wmk_tsdl_clock_ident(const struct wmk_tsdl_writer *w, const struct wmk_ctf_clock_class *clock,
			  char ident[WMK_CTF_IDENT])
{
	char suffix[32] = "";

	if (w->has_same_clocks)
		snprintf(suffix, sizeof(suffix), "_%td", clock - w->decoder->class->clocks + 1);
	wmk_ctf_ident(ident,
		      clock->name[0] >= '0' && clock->name[0] <= '9' ? "clock_"
		      : wmk_ctf_is_keyword(clock->name)              ? "_"
								     : "",
		      clock->name[0] ? clock->name : "clock", suffix);
}

/* Return the clock with this name; NULL if no clock or several clocks have this name. */
static const struct wmk_ctf_clock_class *clock_called(const struct wmk_tsdl_writer *w, const char *name)
{
	const struct wmk_ctf_class *class = w->decoder->class;
	const struct wmk_ctf_clock_class *found = NULL;

	for (uint32_t i = 0; i < class->n_clocks; i++) {
		if (strcmp(class->clocks[i].name, name) != 0)
			continue;
		if (found)
			return NULL;
		found = &class->clocks[i];
	}
	return found;
}

/*
 * Check the roles that the field's name cannot express in CTF 1.8. The name expresses the first role, and the mapping
 * to a clock expresses that the field is a time. The writer drops further roles of the field if readers can decode
 * records without them. The function reports an error if another field of the scope has a dropped role, because a
 * reader would use the other field. The writer drops the role of a content size without a report, because a packet
 * without a content size has no padding.
 */
static void note_roles(struct wmk_tsdl_writer *w, const struct wmk_ctf_op *op)
{
	const unsigned needed = WMK_ROLE_BIT(WMK_ROLE_STREAM_CLASS) | WMK_ROLE_BIT(WMK_ROLE_BEGIN);
	const unsigned rest = op->roles & (op->roles - 1u) & ~WMK_ROLE_BIT(WMK_ROLE_TIME);
	const struct wmk_ctf_program *program = w->parts.of[w->scope];
	bool is_taken = false;

	for (uint32_t i = 0; i < program->n_ops && rest; i++)
		is_taken |= program->ops[i].type != op->type && program->ops[i].roles & rest; /* (`op` may be a copy) */
	if (rest & needed || is_taken)
		unsayable(w, op, "it has several roles, but its name can express only one");
	if (rest & ~WMK_ROLE_BIT(WMK_ROLE_CONTENT_SIZE))
		w->lost |= 1u << WMK_CTF_LOST_ROLE;
}

/* ── numbers ─────────────────────────────────────────────────────────────────────────────────────────── */

static bool is_integer(const struct wmk_type *type)
{
	return type->kind == WMK_TYPE_INT || type->kind == WMK_TYPE_ENUM;
}

/*
 * Return whether the operation may be mapped to the clock `clock`. Readers use the clock of the first mapped value in
 * the event header as the stream's clock. If the event header has no clock, readers use the clock of the first mapped
 * value in the packet context. If a value in an event header is mapped to a clock, readers interpret the value as a
 * time.
 */
static bool may_be_of(const struct wmk_tsdl_writer *w, const struct wmk_ctf_op *op,
		      const struct wmk_ctf_clock_class *clock)
{
	if (w->scope != WMK_SCOPE_PACKET_CONTEXT && w->scope != WMK_SCOPE_EVENT_HEADER)
		return true;
	if (w->scope == WMK_SCOPE_EVENT_HEADER && !(op->roles & WMK_ROLE_BIT(WMK_ROLE_TIME)))
		return false;
	return w->clock && (clock == w->clock || w->is_clock_told);
}

/*
 * Return the clock to which the operation is mapped, or NULL if the operation is not mapped. In CTF 2, an attribute
 * names the clock of the operation. If the operation cannot be mapped to the clock, the writer reports the attribute as
 * lost, like any other attribute.
 */
static const struct wmk_ctf_clock_class *said_clock(struct wmk_tsdl_writer *w, const struct wmk_ctf_op *op)
{
	const struct wmk_ctf_clock_class *clock = NULL;
	char *word = NULL;
	bool is_all = true;
	int err;

	if (!is_integer(op->type) || w->decoder->class->major == 1)
		return op->type->clock ? clock_called(w, op->type->clock) : NULL;
	err = wmk_tsdl_unknown_word(op->type->attributes, WMK_TSDL_UNKNOWN_CLOCK, &word, &is_all);
	if (err < 0 && w->err >= 0)
		w->err = err;
	if (word)
		clock = clock_called(w, word);
	free(word);
	if (clock && !may_be_of(w, op, clock))
		clock = NULL;
	if (op->type->attributes && !(clock && is_all))
		w->lost |= 1u << WMK_CTF_LOST_ATTRIBUTE;
	return clock;
}

/*
 * Write the mapping to a clock, `map = clock.c.value;`. If a time is not mapped to another clock, it is mapped to the
 * stream's clock.
 */
static void put_map(struct wmk_tsdl_writer *w, const struct wmk_ctf_op *op)
{
	const bool is_time =
		op->roles & (WMK_ROLE_BIT(WMK_ROLE_TIME) | WMK_ROLE_BIT(WMK_ROLE_BEGIN) | WMK_ROLE_BIT(WMK_ROLE_END));
	const struct wmk_ctf_clock_class *clock = said_clock(w, op);
	char ident[WMK_CTF_IDENT];

	if (!clock && is_time && w->scope <= WMK_SCOPE_EVENT_HEADER)
		clock = w->clock;
	if (!clock)
		return;
	wmk_tsdl_clock_ident(w, clock, ident);
	wmk_ctf_put(w->out, " map = clock.%s.value;", ident);
	w->is_clock_told |= clock == w->clock;
}

static void put_integer(struct wmk_tsdl_writer *w, const struct wmk_ctf_op *op)
{
	const unsigned base = op->type->base ? op->type->base : 10;

	note_roles(w, op);
	if (!op->width)
		unsayable(w, op, "it has no fixed size (LEB128)");
	if (op->is_reversed)
		unsayable(w, op, "its bit order differs from its byte order");
	wmk_ctf_put(w->out, "integer { size = %u; align = %u; signed = %s; byte_order = %s; base = %u;", op->width,
		    op->align, op->is_signed ? "true" : "false", op->is_big ? "be" : "le", base);
	put_map(w, op);
	wmk_ctf_put(w->out, " }");
}

/*
 * Find the member of the structure at `in` that readers select for `name`. Readers prefer a member with exactly this
 * name over a member with a name that differs only by a leading '_'. The search ends at operation `end`. The function
 * adds the cost of the search to the costs in `w`. 0: none.
 */
static uint32_t member_called(struct wmk_tsdl_writer *w, unsigned scope, uint32_t in, uint32_t end, const char *name)
{
	const struct wmk_ctf_op *ops = w->parts.of[scope]->ops;
	uint32_t near = 0, found = 0;
	uint64_t n_looked = 1, n_near = 0;

	for (uint32_t i = in + 1; i < end && ops[i].code != WMK_CTF_END && !found; i = ops[i].next, n_looked++) {
		const char *ident = name_of(w, scope, i);

		if (!strcmp(ident, name)) {
			found = i;
		} else if (!near && !strcmp(ident + (*ident == '_'), name + (*name == '_'))) {
			near = i;
			n_near = n_looked - 1;
		}
	}
	/* (readers search for the exact name first) */
	wmk_tsdl_count_labels(
		w, 0, (found ? n_looked - 1 : n_looked + (near ? n_near : n_looked - 1)) * wmk_tsdl_cost_of(name));
	return found ? found : near;
}

/* ── selectors ───────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Find a variant or optional field that the value at `at` selects: the first such field, or the next such field after
 * `after`. *scope becomes the scope of its program. NULL: none.
 */
static const struct wmk_ctf_op *selected_by(const struct wmk_tsdl_writer *w, uint32_t at,
					    const struct wmk_ctf_op *after, unsigned *scope)
{
	const uint16_t save = op_at(w, at)->save;
	uint32_t i = after ? (uint32_t)(after - w->parts.of[*scope]->ops) + 1 : 0;

	for (*scope = after ? *scope : 0; save && *scope < WMK_SCOPES; (*scope)++, i = 0)
		for (; i < w->parts.of[*scope]->n_ops; i++) {
			const struct wmk_ctf_op *op = &w->parts.of[*scope]->ops[i];

			if (op->ref == save && (op->code == WMK_CTF_VARIANT || op->code == WMK_CTF_OPTIONAL))
				return op;
		}
	return NULL;
}

/* Write the labels that turn a number into a selector: one label for each option, with the option's name. */
static void put_options(struct wmk_tsdl_writer *w, const struct wmk_ctf_op *selector, unsigned scope,
			const struct wmk_ctf_op *of)
{
	const uint64_t most = selector->width >= 64 ? UINT64_MAX : (UINT64_C(1) << selector->width) - 1;

	w->lost |= 1u << (of->code == WMK_CTF_OPTIONAL ? WMK_CTF_LOST_OPTIONAL : WMK_CTF_LOST_SELECTOR);
	if (of->code == WMK_CTF_OPTIONAL && !of->n_choices) {
		wmk_ctf_put_range(w->out, "absent", 0, 0, false, true);
		wmk_ctf_put_range(w->out, "present", 1, most, false, false);
		return;
	}
	if (of->code == WMK_CTF_VARIANT)
		wmk_tsdl_count_options(w, scope, of);
	for (uint32_t c = 0; c < of->n_choices && w->err >= 0; c++)
		wmk_ctf_put_range(w->out,
				  of->code == WMK_CTF_VARIANT ? name_of(w, scope, of->choices[c].op) : "present",
				  of->choices[c].from, of->choices[c].to, of->is_signed, c == 0);
	/* In TSDL, each value of the selector for which the optional field is absent would also need a label. */
	if (of->code == WMK_CTF_OPTIONAL)
		unsayable(w, of, "it is present only for some values of an integer");
}

/* Return whether the value at `at` selects only optional fields without ranges; such fields can share two labels. */
static bool are_optionals(const struct wmk_tsdl_writer *w, uint32_t at)
{
	unsigned scope;

	for (const struct wmk_ctf_op *of = selected_by(w, at, NULL, &scope); of; of = selected_by(w, at, of, &scope))
		if (of->code != WMK_CTF_OPTIONAL || of->n_choices)
			return false;
	return true;
}

static void put_enum(struct wmk_tsdl_writer *w, uint32_t at)
{
	const struct wmk_ctf_op *op = op_at(w, at), *of;
	const struct wmk_type *type = op->type;
	struct wmk_ctf_op container = *op;
	bool is_first = true, is_own = true;
	unsigned scope;

	/* Keep the labels if they fit all variants; otherwise, replace them by labels with the names of the options. */
	for (of = selected_by(w, at, NULL, &scope); of; of = selected_by(w, at, of, &scope))
		is_own = is_own && op->code == WMK_CTF_ENUM && wmk_tsdl_are_labels(w, scope, of, type);
	of = selected_by(w, at, NULL, &scope);
	if (!of && op->code == WMK_CTF_INT) {
		put_integer(w, op);
		return;
	}
	container.code = WMK_CTF_INT;
	wmk_ctf_put(w->out, "enum : ");
	put_integer(w, &container);
	wmk_ctf_put(w->out, " {");
	if (op->code == WMK_CTF_BOOL && op->width > 64)
		unsayable(w, op, "it is a boolean of more than 64 bits");
	if (!is_own) {
		unsigned other = scope;

		put_options(w, op, scope, of);
		if (op->code == WMK_CTF_ENUM || (selected_by(w, at, of, &other) && !are_optionals(w, at)))
			unsayable(w, op, "it selects several variants, or its labels differ from the names of the "
					 "options");
	} else if (op->code == WMK_CTF_BOOL) {
		w->lost |= 1u << WMK_CTF_LOST_BOOL;
		wmk_ctf_put_range(w->out, "false", 0, 0, false, true);
		wmk_ctf_put_range(w->out, "true", 1, op->width >= 64 ? UINT64_MAX : (UINT64_C(1) << op->width) - 1,
				  false, false);
	} else {
		for (uint32_t i = 0; i < type->count; i++, is_first = false) {
			const char *label = wmk_or_empty(type->labels[i].name),
				   *written = wmk_tsdl_label_of(w, scope, of, label);

			w->lost |= (uint32_t)(written != label) << WMK_CTF_LOST_NAME;
			wmk_ctf_put_range(w->out, written, (uint64_t)type->labels[i].from, (uint64_t)type->labels[i].to,
				  type->is_signed, is_first);
		}
	}
	wmk_ctf_put(w->out, " }");
}

static void put_float(struct wmk_tsdl_writer *w, const struct wmk_ctf_op *op)
{
	const unsigned exponent = op->type->is_extended ? op->width - 64u : wmk_ctf_exponent_bits(op->width);

	if (op->is_reversed)
		unsayable(w, op, "its bit order differs from its byte order");
	wmk_ctf_put(w->out, "floating_point { exp_dig = %u; mant_dig = %u; align = %u; byte_order = %s; }", exponent,
		    op->width - exponent, op->align, op->is_big ? "be" : "le");
}

/* ── types ───────────────────────────────────────────────────────────────────────────────────────────── */

static void put_type(struct wmk_tsdl_writer *w, uint32_t at, unsigned depth);

/*
 * Return whether readers at `at` find `to` by its name alone. Readers search the enclosing structures from the
 * innermost to the outermost, then the preceding scopes from the latest to the first (section 7.3.2).
 */
static bool is_found_by_name(struct wmk_tsdl_writer *w, uint32_t at, const struct wmk_ctf_op_location *to)
{
	const char *name = name_of(w, to->scope, to->op);
	uint32_t around[WMK_CTF_TYPE_DEPTH + 1], found;

	for (unsigned i = wmk_ctf_op_parents(w->parts.of[w->scope]->ops, at, around); i-- > 0;)
		if (op_at(w, around[i])->code == WMK_CTF_STRUCT &&
		    (found = member_called(w, w->scope, around[i], at, name)))
			return to->scope == w->scope && found == to->op;
	for (unsigned scope = w->scope; scope-- > WMK_SCOPE_PACKET_HEADER;)
		if (w->parts.of[scope]->n_ops && (found = member_called(w, scope, 0, UINT32_MAX, name)))
			return to->scope == scope && found == to->op;
	return false;
}

/* Write a reference to a length or selector. (babeltrace2 does not accept a path for a selector.) */
static void put_ref(struct wmk_tsdl_writer *w, uint32_t at)
{
	const struct wmk_ctf_op_location from = { w->scope, at };
	struct wmk_ctf_op_location to;
	struct wmk_ctf_op_path way;

	if (w->err < 0)
		return;
	if (op_at(w, at)->n_sources) {
		unsayable(w, op_at(w, at), "it depends on a value in a variant or an optional field");
		return;
	}
	if (!wmk_ctf_op_of_register(&w->parts, op_at(w, at)->ref, &to)) {
		unsayable(w, op_at(w, at), "it depends on a value that does not exist");
		return;
	}
	w->err = wmk_ctf_op_path_to(&w->parts, &from, &to, &way);
	if (w->err < 0)
		return;
	if ((op_at(w, at)->code >= WMK_CTF_VARIANT || way.outwards) && is_found_by_name(w, at, &to)) {
		wmk_ctf_put(w->out, "%s", name_of(w, to.scope, to.op));
		return;
	}
	/* TSDL has no path that leads out of a structure, and a search by name alone finds another value. */
	if (way.outwards)
		unsayable(w, op_at(w, at), "it depends on a value outside of its array or variant");
	if (way.is_absolute)
		wmk_ctf_put(w->out, "%s", wmk_tsdl_scope_names[to.scope]);
	for (unsigned i = 0; i < way.n; i++)
		wmk_ctf_put(w->out, "%s%s", i || way.is_absolute ? "." : "", name_of(w, to.scope, way.ops[i]));
}

/*
 * Return whether the operation is an array. The elements of an array of arrays get a named type, because readers differ
 * on the meaning of `a[2][3]`.
 */
static bool is_array(const struct wmk_ctf_op *op)
{
	return op->code == WMK_CTF_TEXT || op->code == WMK_CTF_BLOB || op->code == WMK_CTF_ARRAY;
}

/* Write the type of an array's elements. */
static void put_element(struct wmk_tsdl_writer *w, uint32_t at, unsigned depth)
{
	const struct wmk_ctf_op *op = op_at(w, at);
	const bool is_utf8 = op->code == WMK_CTF_TEXT && op->type->encoding == WMK_ENCODING_UTF8;

	if (op->code == WMK_CTF_BLOB && op->type->media)
		w->lost |= 1u << WMK_CTF_LOST_MEDIA;
	if (op->code == WMK_CTF_TEXT && !is_utf8)
		unsayable(w, op, "its text is not UTF-8");
	if (op->code != WMK_CTF_ARRAY && op->type->elem && op->type->elem->clock)
		w->lost |= 1u << WMK_CTF_LOST_CLOCK;
	if (op->code != WMK_CTF_ARRAY)
		wmk_ctf_put(w->out, "integer { size = 8; align = 8; signed = false; byte_order = le; base = 10;%s }",
			    is_utf8 ? " encoding = UTF8;" : "");
	else
		put_type(w, at + 1, depth);
}

/* Report attributes as lost; put_map() reports the attributes of integers. */
static void note_attributes(struct wmk_tsdl_writer *w, uint32_t at)
{
	const struct wmk_type *type = op_at(w, at)->type;
	const char *known = type->is_extended ? WMK_TSDL_UNKNOWN_OF_LONG_DOUBLE : "";

	if ((type->attributes && !is_integer(type) && strcmp(type->attributes, known) != 0) ||
	    (type->field_attributes && wmk_ctf_idents_restored(&w->names[w->scope], at) != WMK_IDENT_RESTORED))
		w->lost |= 1u << WMK_CTF_LOST_ATTRIBUTE;
}

/* Write a member as `type name;` or `type name[length];`, or as a typedef in the same form. */
static void put_member(struct wmk_tsdl_writer *w, uint32_t at, const char *name, unsigned depth, bool is_typedef)
{
	const struct wmk_ctf_op *op = op_at(w, at);
	const bool is_nested = op->code == WMK_CTF_ARRAY && is_array(op_at(w, at + 1));
	const unsigned least = op->code == WMK_CTF_ARRAY ? op_at(w, at + 1)->align : is_array(op) ? 8 : op->align;
	char inner[32];

	note_attributes(w, at);
	if (op->align > least)
		unsayable(w, op, "it is an array with a larger alignment than its elements");
	snprintf(inner, sizeof(inner), "elements_%u", w->n_types);
	if (is_nested) {
		w->n_types++;
		put_member(w, at + 1, inner, depth, true);
	}
	wmk_ctf_put_indent(w->out, depth);
	if (is_typedef)
		wmk_ctf_put(w->out, "typedef ");
	if (is_nested)
		wmk_ctf_put(w->out, "%s", inner);
	else if (is_array(op))
		put_element(w, at, depth);
	else
		put_type(w, at, depth);
	wmk_ctf_put(w->out, " %s", name);
	if (is_array(op) && op->ref) {
		wmk_ctf_put(w->out, "[");
		put_ref(w, at);
		wmk_ctf_put(w->out, "]");
	} else if (is_array(op)) {
		wmk_ctf_put(w->out, "[%" PRIu32 "]", op->count);
	}
	wmk_ctf_put(w->out, ";\n");
}

/* Write the members or options of the operation at `at`. */
static void put_members(struct wmk_tsdl_writer *w, uint32_t at, unsigned depth)
{
	for (uint32_t i = at + 1; op_at(w, i)->code != WMK_CTF_END && w->err >= 0; i = op_at(w, i)->next) {
		note_name(w, i, name_of(w, w->scope, i));
		put_member(w, i, name_of(w, w->scope, i), depth, false);
	}
}

static void put_selected(struct wmk_tsdl_writer *w, uint32_t at, unsigned depth)
{
	const struct wmk_ctf_op *selector;
	struct wmk_ctf_op_location place;

	/*
	 * The writer writes a selector in a structure of the stream before it knows the events of the stream. So a
	 * selector in a structure of the stream must already have labels that select the options of the variant.
	 */
	if (wmk_ctf_op_of_register(&w->parts, op_at(w, at)->ref, &place) &&
	    ((place.scope < WMK_SCOPE_CONTEXT && w->scope >= WMK_SCOPE_CONTEXT) ||
	     (place.scope == WMK_SCOPE_PACKET_HEADER && w->scope != place.scope))) {
		selector = &w->parts.of[place.scope]->ops[place.op];
		if (selector->code != WMK_CTF_ENUM || !wmk_tsdl_are_labels(w, w->scope, op_at(w, at), selector->type))
			unsayable(w, op_at(w, at), "its selector is in a structure of the stream and has no labels for "
						   "the options");
	}
	wmk_ctf_put(w->out, "variant <");
	put_ref(w, at);
	wmk_ctf_put(w->out, "> {\n");
	if (op_at(w, at)->code == WMK_CTF_VARIANT) {
		put_members(w, at, depth + 1);
	} else {
		wmk_ctf_put_indent(w->out, depth + 1);
		wmk_ctf_put(w->out, "struct { } absent;\n");
		wmk_tsdl_count_labels(w, 2, 3);
		put_member(w, at + 1, "present", depth + 1, false);
	}
	wmk_ctf_put_indent(w->out, depth);
	wmk_ctf_put(w->out, "}");
}

static void put_struct(struct wmk_tsdl_writer *w, uint32_t at, unsigned depth)
{
	wmk_ctf_put(w->out, "struct {\n");
	put_members(w, at, depth + 1);
	wmk_ctf_put_indent(w->out, depth);
	wmk_ctf_put(w->out, "} align(%u)", op_at(w, at)->align);
}

static void put_type(struct wmk_tsdl_writer *w, uint32_t at, unsigned depth)
{
	const struct wmk_ctf_op *op = op_at(w, at);

	note_attributes(w, at);
	switch (op->code) {
	case WMK_CTF_STRUCT:
		put_struct(w, at, depth);
		break;
	case WMK_CTF_VARIANT:
	case WMK_CTF_OPTIONAL:
		put_selected(w, at, depth);
		break;
	case WMK_CTF_STRING:
		if (op->type->encoding != WMK_ENCODING_UTF8)
			unsayable(w, op, "its text is not UTF-8");
		wmk_ctf_put(w->out, "string");
		break;
	case WMK_CTF_FLOAT:
		put_float(w, op);
		break;
	case WMK_CTF_FLAGS:
		if (op->type->count)
			w->lost |= 1u << WMK_CTF_LOST_FLAGS;
		put_integer(w, op);
		break;
	default:
		put_enum(w, at);
		break;
	}
}

void wmk_tsdl_begin(struct wmk_tsdl_writer *w, const struct wmk_ctf_stream_decoder *stream,
		    const struct wmk_ctf_event_decoder *event, unsigned first, unsigned last)
{
	w->parts = wmk_ctf_scope_programs_of(w->decoder, stream, event);
	wmk_tsdl_options_free(&w->options);
	for (unsigned scope = first; scope <= last && w->err >= 0; scope++)
		w->err = wmk_ctf_idents_make(&w->names[scope], &w->parts, scope, w->decoder->class->major == 1);
}

void wmk_tsdl_put_root(struct wmk_tsdl_writer *w, enum wmk_scope scope, const char *name)
{
	const struct wmk_ctf_program *header = w->parts.of[WMK_SCOPE_EVENT_HEADER];

	w->scope = scope;
	w->is_clock_told = false;
	for (uint32_t i = 0; scope == WMK_SCOPE_PACKET_CONTEXT && i < header->n_ops; i++)
		w->is_clock_told |= header->ops[i].roles & WMK_ROLE_BIT(WMK_ROLE_TIME);
	if (!w->parts.of[scope]->n_ops || w->err < 0)
		return;
	wmk_ctf_put(w->out, "\t%s := ", name);
	put_type(w, 0, 1);
	wmk_ctf_put(w->out, ";\n");
}
