/* SPDX-License-Identifier: MIT */
/*
 * desc.c - build an event class from the descriptor that the compiler put into an application: types, names, labels.
 */
#include "base/array.h"
#include "base/error.h"
#include "schema/format.h"
#include "schema/scratch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ── names ───────────────────────────────────────────────────────────────────────────────────────────── */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_word(char c)
{
	return is_letter(c) || (c >= '0' && c <= '9');
}

struct span {
	const char *s;
	size_t len;
};

static struct span trim(struct span t)
{
	while (t.len && strchr(" \t\n", t.s[0])) {
		t.s++;
		t.len--;
	}
	while (t.len && strchr(" \t\n", t.s[t.len - 1]))
		t.len--;
	return t;
}

static bool is_text(struct span t, const char *text)
{
	return t.len == strlen(text) && strncmp(t.s, text, t.len) == 0;
}

/* The parts of an expression such as wm_something(first, second, ...). */
struct wrapper {
	struct span name, first, second;   /* second: empty without a second argument */
};

/*
 * Split the expression `t` into the parts of a wrapper, such as wm_something(). Returns false if `t` is not exactly one
 * wrapper expression.
 */
static bool take_wrapper(struct span t, struct wrapper *wrapper)
{
	size_t open = 0, comma = 0, second = 0;
	int depth = 0;
	char quote = 0;

	while (open < t.len && is_word(t.s[open]))
		open++;
	if (t.len < 5 || strncmp(t.s, "wm_", 3) != 0 || open == t.len || t.s[open] != '(')
		return false;
	for (size_t i = open; i < t.len; i++) {
		char c = t.s[i];

		if (quote) {
			if (c == '\\')
				i++;
			else if (c == quote)
				quote = 0;
		} else if (c == '"' || c == '\'') {
			quote = c;
		} else if (c == '(' || c == '[' || c == '{') {
			depth++;
		} else if (c == ')' || c == ']' || c == '}') {
			if (--depth == 0 && i + 1 != t.len)
				return false;
		} else if (c == ',' && depth == 1) {
			if (!comma)
				comma = i;
			else if (!second)
				second = i;
		}
	}
	if (depth != 0)
		return false;
	wrapper->name = (struct span){ t.s, open };
	wrapper->first = trim((struct span){ t.s + open + 1, (comma ? comma : t.len - 1) - open - 1 });
	wrapper->second = (struct span){ NULL, 0 };
	if (comma)
		wrapper->second = trim((struct span){ t.s + comma + 1, (second ? second : t.len - 1) - comma - 1 });
	return true;
}

/*
 * Return the argument of a wrapper that names the field: the second argument of wm_field, wm_enum and similar wrappers,
 * and the first argument of other wrappers.
 */
static struct span naming_argument(const struct wrapper *wrapper)
{
	static const char *const names[] = { "wm_field", "wm_enum", "wm_flags", "wm_unit", "wm_media" };

	for (size_t i = 0; wrapper->second.len && i < WMK_ARRAY_LEN(names); i++)
		if (is_text(wrapper->name, names[i]))
			return wrapper->second;
	return wrapper->first;
}

/* Return the text between the quotes of a string literal; the result is empty if `t` is not a string literal. */
static struct span unquoted(struct span t)
{
	const char *end = t.len >= 2 && t.s[0] == '"' ? memchr(t.s + 1, '"', t.len - 1) : NULL;

	return end ? (struct span){ t.s + 1, (size_t)(end - t.s) - 1 } : (struct span){ NULL, 0 };
}

/*
 * Return the identifier at the end of `t` if `t` is an identifier or a member access; otherwise, return an empty span.
 */
static struct span last_member(struct span t)
{
	size_t at = t.len;

	while (at && is_word(t.s[at - 1]))
		at--;
	struct span name = { t.s + at, t.len - at };
	if (!name.len || !is_letter(name.s[0]))
		return (struct span){ NULL, 0 };
	if (at == 0)
		return name;
	struct span before = trim((struct span){ t.s, at });
	if (before.len > 2 && before.s[before.len - 1] == '>' && before.s[before.len - 2] == '-')
		return name;
	if (before.len < 2 || before.s[before.len - 1] != '.')
		return (struct span){ NULL, 0 };
	/* `1.f` is a number and not a member access, because the word before the dot begins with a digit. */
	before = trim((struct span){ before.s, before.len - 1 });
	at = before.len;
	while (at && is_word(before.s[at - 1]))
		at--;
	if (at < before.len && !is_letter(before.s[at]))
		return (struct span){ NULL, 0 };
	return name;
}

/* Derive the name of a field from the text of its argument, with the rule of docs/instrument.md. */
static struct span name_of_argument(const char *text)
{
	struct span t = trim((struct span){ text, strnlen(text, WMK_TEXT_MAX) });
	struct wrapper wrapper;

	for (int depth = 0; depth < WMK_DEPTH_MAX; depth++) {
		if (t.len >= 2 && t.s[0] == '"' && depth > 0)      /* wm_named("peer", ...) */
			return unquoted(t);
		if (!take_wrapper(t, &wrapper))
			return last_member(t);
		t = naming_argument(&wrapper);
	}
	return (struct span){ NULL, 0 };
}

/*
 * Return the text in the wrapper `which` of an argument, such as wm_unit("ms", ...) or wm_media("image/png", ...).
 * Returns NULL if the argument has no such wrapper, or if memory is short. If memory is short, the application records
 * the event without this text.
 */
static const char *said_in_argument(struct wmk_scratch *scratch, const char *text, const char *which)
{
	struct span t = trim((struct span){ text, strnlen(text, WMK_TEXT_MAX) });
	struct wrapper wrapper;

	for (int depth = 0; depth < WMK_DEPTH_MAX && take_wrapper(t, &wrapper); depth++) {
		if (is_text(wrapper.name, which)) {
			struct span given = unquoted(wrapper.first);

			return given.len && given.len <= WMK_NAME_MAX ? wmk_scratch_text(scratch, given.s, given.len)
								    : NULL;
		}
		t = is_text(wrapper.name, "wm_named") ? wrapper.second : naming_argument(&wrapper);
	}
	return NULL;
}

static bool name_taken(const struct wmk_field *fields, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(fields[i].name, name) == 0)
			return true;
	return false;
}

/*
 * Set the name of fields[i] to `name` as an identifier, or to argN. A suffix (_2, _3, and so on) makes the name unique.
 * Returns 0 or -ENOMEM.
 */
static int field_name(struct wmk_scratch *scratch, struct wmk_field *fields, size_t i, unsigned number,
		      struct span name, const char *suffix)
{
	char base[WMK_NAME_MAX + 1], unique[WMK_NAME_MAX + 1];

	if (name.len)
		snprintf(base, sizeof(base), "%s%.*s%s", is_letter(name.s[0]) ? "" : "_",
			 (int)(name.len < 200 ? name.len : 200), name.s, suffix);
	else
		snprintf(base, sizeof(base), "arg%u%s", number, suffix);
	for (char *c = base; *c; c++)
		if (!is_word(*c))
			*c = '_';
	strcpy(unique, base);
	for (unsigned k = 2; name_taken(fields, i, unique); k++)
		snprintf(unique, sizeof(unique), "%.240s_%u", base, k);
	fields[i].name = wmk_scratch_text(scratch, unique, strlen(unique));
	return fields[i].name ? 0 : -ENOMEM;
}

/* ── types ───────────────────────────────────────────────────────────────────────────────────────────── */

static bool scalar(enum waymark_type from, unsigned flags, struct wmk_type *type)
{
	static const struct { uint8_t kind, width, is_signed; } table[] = {
		[WAYMARK_T_S8] = { WMK_TYPE_INT, 8, 1 },    [WAYMARK_T_U8] = { WMK_TYPE_INT, 8, 0 },
		[WAYMARK_T_S16] = { WMK_TYPE_INT, 16, 1 },  [WAYMARK_T_U16] = { WMK_TYPE_INT, 16, 0 },
		[WAYMARK_T_S32] = { WMK_TYPE_INT, 32, 1 },  [WAYMARK_T_U32] = { WMK_TYPE_INT, 32, 0 },
		[WAYMARK_T_S64] = { WMK_TYPE_INT, 64, 1 },  [WAYMARK_T_U64] = { WMK_TYPE_INT, 64, 0 },
		[WAYMARK_T_BOOL] = { WMK_TYPE_BOOL, 8, 0 },
		[WAYMARK_T_FLOAT] = { WMK_TYPE_FLOAT, 32, 1 }, [WAYMARK_T_DOUBLE] = { WMK_TYPE_FLOAT, 64, 1 },
		[WAYMARK_T_POINTER] = { WMK_TYPE_INT, 64, 0 },
	};

	if (from == WAYMARK_T_NONE || from > WAYMARK_T_POINTER)
		return false;
	type->kind = table[from].kind;
	type->width = table[from].width;
	type->is_signed = table[from].is_signed;
	type->order = flags & WAYMARK_F_BE ? WMK_ORDER_BIG : WMK_ORDER_NATIVE;
	type->base = flags & WAYMARK_F_HEX || from == WAYMARK_T_POINTER ? 16 : flags & WAYMARK_F_OCT ? 8 : 10;
	return true;
}

static int take_labels(struct wmk_scratch *scratch, const struct waymark_field *from, struct wmk_type *type)
{
	const struct waymark_labels *labels = from->labels;

	if (!labels || labels->count == 0)
		return 0;        /* an enumeration without labels is recorded as an integer */
	if (labels->count > WMK_LABELS_MAX || !labels->label)
		return wmk_error(-EINVAL, "%u labels: at most %u are allowed", labels->count, WMK_LABELS_MAX);
	struct wmk_label *copy = wmk_scratch_alloc(scratch, labels->count * sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	for (uint32_t i = 0; i < labels->count; i++)
		copy[i] = (struct wmk_label){ labels->label[i].name, labels->label[i].from, labels->label[i].to };
	type->kind = from->type == WAYMARK_T_ENUM ? WMK_TYPE_ENUM : WMK_TYPE_FLAGS;
	type->count = labels->count;
	type->labels = copy;
	return 0;
}

static int take_type(struct wmk_scratch *scratch, const struct waymark_field *from, struct wmk_type *type)
{
	struct wmk_type *elem;

	switch (from->type) {
	case WAYMARK_T_STRING:
	case WAYMARK_T_TEXT:
		type->kind = WMK_TYPE_STRING;
		return 0;
	case WAYMARK_T_BYTES:
		type->kind = WMK_TYPE_BLOB;
		type->media = from->media;
		return 0;
	case WAYMARK_T_SEQ:
	case WAYMARK_T_ARRAY:
		elem = wmk_scratch_alloc(scratch, sizeof(*elem));
		if (!elem)
			return -ENOMEM;
		if (!scalar(from->elem, from->flags, elem))
			return wmk_error(-EINVAL, "unsupported elements of type %u", from->elem);
		type->kind = from->type == WAYMARK_T_SEQ ? WMK_TYPE_SEQUENCE : WMK_TYPE_ARRAY;
		type->count = from->type == WAYMARK_T_SEQ ? 0 : from->count;
		type->elem = elem;
		return 0;
	case WAYMARK_T_ENUM:
	case WAYMARK_T_FLAGS:
		if (!scalar(from->elem, from->flags, type) || type->kind == WMK_TYPE_FLOAT)
			return wmk_error(-EINVAL, "an enumeration of unsupported type %u", from->elem);
		return take_labels(scratch, from, type);
	default:
		return scalar(from->type, from->flags, type)
			       ? 0
			       : wmk_error(-EINVAL, "unknown type, number %u", from->type);
	}
}

static int take_fields(struct wmk_scratch *scratch, const struct waymark_desc *desc, struct wmk_field *fields)
{
	for (unsigned i = 0; i < desc->n_fields; i++) {
		const struct waymark_field *from = &desc->fields[i];
		struct span name = { NULL, 0 };

		if (from->name)
			name = from->flags & WAYMARK_F_NAMED ? (struct span){ from->name, strlen(from->name) }
							     : name_of_argument(from->name);
		int err = field_name(scratch, fields, i, i + 1, name, "");
		if (err == 0)
			err = take_type(scratch, from, &fields[i].type);
		if (err < 0)
			return wmk_error_add(err, "field %u", i + 1);
		fields[i].unit = from->unit;
		if (!from->name || from->flags & WAYMARK_F_NAMED)
			continue;
		if (!from->unit)
			fields[i].unit = said_in_argument(scratch, from->name, "wm_unit");
		if (from->type == WAYMARK_T_BYTES && !from->media)
			fields[i].type.media = said_in_argument(scratch, from->name, "wm_media");
	}
	return 0;
}

/* ── markers and text ────────────────────────────────────────────────────────────────────────────────── */

/*
 * Set the type of a field that records an argument of the staged type `staged` for the conversion `arg`. The argument
 * determines the width; the format string determines the sign and the base.
 */
static int argument_type(const struct wmk_format_arg *arg, uint8_t staged, unsigned number, struct wmk_type *type)
{
	bool is_float = staged == WAYMARK_T_FLOAT || staged == WAYMARK_T_DOUBLE;
	bool is_int = staged >= WAYMARK_T_S8 && staged <= WAYMARK_T_BOOL;
	bool is_string = staged == WAYMARK_T_STRING || staged == WAYMARK_T_TEXT;

	if (arg->class == WMK_FORMAT_STRING && is_string) {
		type->kind = WMK_TYPE_STRING;
		return 0;
	}
	bool fits = arg->class == WMK_FORMAT_FLOAT ? is_float
		    : arg->class == WMK_FORMAT_INT ? is_int
						   : staged == WAYMARK_T_POINTER;
	if (!fits)
		return wmk_error(-EINVAL,
				 arg->class == WMK_FORMAT_POINTER && is_string
					 ? "argument %u is a char pointer and is printed by %%p: cast it to void *"
					 : "argument %u is not of the type that the format prints",
				 number);
	scalar(staged, 0, type);
	if (is_int && staged != WAYMARK_T_BOOL) {
		type->is_signed = arg->is_signed;
		type->base = arg->base;
	}
	return 0;
}

static int take_arguments(struct wmk_scratch *scratch, const struct waymark_desc *desc, struct wmk_field *fields,
			  size_t first)
{
	struct wmk_format_arg args[WAYMARK_MAX_FIELDS];
	int n = wmk_format_parse(desc->text, args, WAYMARK_MAX_FIELDS);

	if (n < 0)
		return n;
	if ((uint32_t)n != desc->n_fields || (n && !desc->arg_types))
		return wmk_error(-EINVAL, "the format has %d arguments, but the call has %u", n, desc->n_fields);
	for (unsigned i = 0; i < (unsigned)n; i++) {
		struct span name = { args[i].name, args[i].name_len };
		int err = field_name(scratch, fields, first + i, i + 1, name, args[i].suffix);

		if (err == 0)
			err = argument_type(&args[i], desc->arg_types[i], i + 1, &fields[first + i].type);
		if (err < 0)
			return err;
	}
	return 0;
}

/*
 * Set up the field `msg`, which is an enumeration of one byte with one value. The format string is the label of this
 * value. A format string of more than WMK_NAME_MAX bytes is cut between two characters.
 */
static int message_field(struct wmk_scratch *scratch, const char *format, struct wmk_field *field)
{
	struct wmk_label *label = wmk_scratch_alloc(scratch, sizeof(*label));
	size_t len = strlen(format);

	if (!label)
		return -ENOMEM;
	if (len > WMK_NAME_MAX)
		for (len = WMK_NAME_MAX; len && (format[len] & 0xc0) == 0x80; len--)
			;
	label->name = wmk_scratch_text(scratch, format, len);
	if (!label->name)
		return -ENOMEM;
	field->name = "msg";
	field->type = (struct wmk_type){ .kind = WMK_TYPE_ENUM, .width = 8, .base = 10, .count = 1, .labels = label };
	return 0;
}

/* Return "<file>_<line>": the base name of the file, with '_' instead of characters that a name cannot contain. */
static char *text_name(struct wmk_scratch *scratch, const struct waymark_desc *desc)
{
	const char *file = desc->file ? desc->file : "unknown", *slash = strrchr(file, '/');
	char name[WMK_NAME_MAX + 1];

	snprintf(name, sizeof(name), "%.200s_%u", slash ? slash + 1 : file, desc->line);
	for (char *c = name; *c; c++)
		if (*c < 0x21 || *c > 0x7e || *c == '"' || *c == '\\')
			*c = '_';
	return wmk_scratch_text(scratch, name, strlen(name));
}

/* ── the class ───────────────────────────────────────────────────────────────────────────────────────── */

static int take_desc(struct wmk_scratch *scratch, const struct waymark_desc *desc, struct wmk_event_class *draft)
{
	size_t first = desc->kind == WAYMARK_KIND_TEXT;
	struct wmk_field *fields;
	int err = 0;

	if (desc->n_fields > WAYMARK_MAX_FIELDS)
		return wmk_error(-EINVAL, "%u fields: at most %u are allowed", desc->n_fields, WAYMARK_MAX_FIELDS);
	fields = wmk_scratch_alloc(scratch, (desc->n_fields + first) * sizeof(*fields));
	if (!fields)
		return -ENOMEM;
	if (!wmk_kind_has_format(desc->kind)) {
		if (desc->n_fields && !desc->fields)
			return wmk_error(-EINVAL, "%u fields without descriptions", desc->n_fields);
		err = take_fields(scratch, desc, fields);
	} else {
		if (!desc->text || strnlen(desc->text, WMK_TEXT_MAX + 1) > WMK_TEXT_MAX)
			return wmk_error(-EINVAL, "no format, or a format of more than %u bytes", WMK_TEXT_MAX);
		draft->format = desc->text;
		if (desc->kind == WAYMARK_KIND_TEXT)
			err = message_field(scratch, desc->text, &fields[0]);
		if (err == 0)
			err = take_arguments(scratch, desc, fields, first);
	}
	draft->fields = fields;
	draft->n_fields = (uint16_t)(desc->n_fields + first);
	return err;
}

int wmk_event_from_desc(const struct waymark_desc *desc, struct wmk_event_class **event)
{
	struct wmk_scratch scratch = { NULL };
	struct wmk_event_class draft = { .provider = desc->provider,
					 .name = desc->name,
					 .file = desc->file,
					 .function = desc->function,
					 .line = desc->line,
					 .kind = desc->kind,
					 .level = desc->level };
	int err = 0;

	if (!wmk_kind_has_class(desc->kind))
		return wmk_error(-EINVAL,
				 "kind %u has no event class: the kind is unknown, or a guard (records nothing)",
				 desc->kind);
	if (desc->kind == WAYMARK_KIND_MARKER && (!draft.provider || !*draft.provider))
		draft.provider = "marker";
	if (desc->kind == WAYMARK_KIND_TEXT) {
		draft.provider = draft.provider && *draft.provider ? draft.provider : "text";
		if (!draft.name || !*draft.name)
			err = (draft.name = text_name(&scratch, desc)) ? 0 : -ENOMEM;
	}
	if (err == 0 && draft.provider && !*draft.provider)
		err = wmk_error(-EINVAL, "the name of the provider is empty: only kernel events have no provider");
	if (err == 0)
		err = take_desc(&scratch, desc, &draft);
	if (err == 0 && wmk_class_check(&draft) < 0)
		err = -EINVAL;
	if (err == 0)
		err = wmk_class_clone(&draft, event);
	wmk_scratch_free(&scratch);
	if (err < 0)
		wmk_error_add(err, "event %.60s:%.60s", draft.provider ? draft.provider : "?",
			      desc->name ? desc->name : "?");
	return err;
}
