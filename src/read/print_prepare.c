/* SPDX-License-Identifier: MIT */
/*
 * print_prepare.c - prepare the text that all records of a class share (see print.h, print_state.h).
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "ctf/format_names.h"
#include "ctf/wide_number.h"
#include "read/print_state.h"

/* ── what is shown ───────────────────────────────────────────────────────────────────────────────────── */

struct scope_maker {
	struct wmk_print_trace *trace;
	const struct wmk_ctf_program *program;
	unsigned scope;            /* enum wmk_scope */
	bool is_ctf1;
	bool *shown;               /* for each operation */
};

/*
 * Return whether the field has a role that the reader uses. In CTF 1.8, only direct members of the packet context have
 * roles.
 */
static bool has_meaning(const struct scope_maker *maker, const struct wmk_ctf_op *op, unsigned depth)
{
	const unsigned heard = WMK_ROLE_BIT(WMK_ROLE_PACKET_SIZE) | WMK_ROLE_BIT(WMK_ROLE_CONTENT_SIZE) |
			       WMK_ROLE_BIT(WMK_ROLE_BEGIN) | WMK_ROLE_BIT(WMK_ROLE_END) | WMK_ROLE_BIT(WMK_ROLE_LOST) |
			       WMK_ROLE_BIT(WMK_ROLE_SEQUENCE);

	return maker->scope == WMK_SCOPE_PACKET_CONTEXT && !(maker->is_ctf1 && depth != 1) && op->roles & heard;
}

/*
 * Return whether other fields already show the value of an integer that is a length, or the selector of an optional
 * field that Waymark wrote.
 */
static bool is_implied(const struct scope_maker *maker, const struct wmk_ctf_op *op)
{
	static const char present[] = "_present";
	const struct wmk_ctf_op *ops = maker->program->ops, *next = &ops[op->next];
	const size_t len = op->name ? strlen(op->name) : 0;

	if (!op->save)
		return false;
	for (uint32_t i = op->next; i < maker->program->n_ops; i++)
		if (ops[i].ref == op->save && (ops[i].code == WMK_CTF_ARRAY || ops[i].code == WMK_CTF_TEXT ||
					       ops[i].code == WMK_CTF_BLOB))
			return true;
	return len >= sizeof(present) && op->code == WMK_CTF_ENUM && next->code == WMK_CTF_VARIANT &&
	       next->ref == op->save && strcmp(op->name + len - (sizeof(present) - 1), present) == 0;
}

/* Return whether the output shows the operation or a part of the operation. (WMK_CTF_TYPE_DEPTH bounds the depth.) */
static bool find_shown(struct scope_maker *maker, uint32_t at, unsigned depth)
{
	const struct wmk_ctf_op *ops = maker->program->ops, *op = &ops[at];
	const struct wmk_print_options *options = &maker->trace->print->options;
	bool shown = true;

	switch (op->code) {
	case WMK_CTF_INT:
	case WMK_CTF_ENUM:
		if (options->style == WMK_PRINT_COLUMNS) {
			shown = !op->type->clock && !has_meaning(maker, op, depth) && !is_implied(maker, op);
			break;
		}
		/* Show lengths and selectors, because a user cannot understand other values without them. */
		shown = op->save || (!op->type->clock && !has_meaning(maker, op, depth));
		break;
	case WMK_CTF_STRUCT:
	case WMK_CTF_ARRAY:
	case WMK_CTF_VARIANT:
	case WMK_CTF_OPTIONAL:
		shown = op->code == WMK_CTF_STRUCT && ops[at + 1].code == WMK_CTF_END;
		for (uint32_t i = at + 1; i < op->next && ops[i].code != WMK_CTF_END; i = ops[i].next)
			shown |= find_shown(maker, i, depth + 1);
		/* The output shows any option that a record selects. */
		for (uint32_t i = at + 1; op->code == WMK_CTF_VARIANT && shown && ops[i].code != WMK_CTF_END;
		     i = ops[i].next)
			maker->shown[i] = true;
		break;
	default:
		break;
	}
	maker->shown[at] = shown;
	return shown;
}

/* ── how it is shown ─────────────────────────────────────────────────────────────────────────────────── */

static uint64_t low_bits(unsigned n)
{
	return n >= 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1;
}

/* The output shows a negative number as its bits, rounded up to whole digits. */
static uint8_t number_form(const struct wmk_ctf_op *op, struct wmk_print_op *how)
{
	const unsigned width = op->width ? op->width : 64;

	how->width = (uint8_t)(width < 64 ? width : 64);
	how->mask = UINT64_MAX;
	switch (op->code == WMK_CTF_FLAGS ? 16 : op->type->base) {
	case 2:
		return WMK_PRINT_BINARY;
	case 8:
		if (op->is_signed && width < 64)
			how->mask = low_bits((width + 2) / 3 * 3);
		return WMK_PRINT_OCTAL;
	case 16:
		how->mask = low_bits((width + 3) / 4 * 4);
		return WMK_PRINT_HEX;
	default:
		return op->is_signed ? WMK_PRINT_SIGNED : WMK_PRINT_UNSIGNED;
	}
}

static int op_form(const struct wmk_ctf_op *op, struct wmk_print_trace *trace, struct wmk_print_op *how)
{
	static const uint8_t forms[] = { [WMK_CTF_FLOAT] = WMK_PRINT_REAL,       [WMK_CTF_BOOL] = WMK_PRINT_BOOL,
					 [WMK_CTF_BLOB] = WMK_PRINT_BLOB,        [WMK_CTF_STRUCT] = WMK_PRINT_STRUCT,
					 [WMK_CTF_ARRAY] = WMK_PRINT_ARRAY,      [WMK_CTF_VARIANT] = WMK_PRINT_VARIANT,
					 [WMK_CTF_OPTIONAL] = WMK_PRINT_OPTIONAL };
	switch (op->code) {
	case WMK_CTF_INT:
	case WMK_CTF_FLAGS:
		how->number = number_form(op, how);
		how->form = wmk_ctf_may_be_wide(op) ? WMK_PRINT_WIDE : how->number;
		return 0;
	case WMK_CTF_ENUM:
		how->form = WMK_PRINT_ENUM;
		how->number = number_form(op, how);
		return wmk_print_labels_of(&trace->labels, op->type, op->is_signed,
					   trace->print->options.style == WMK_PRINT_COLUMNS, &how->labels);
	case WMK_CTF_STRING:
	case WMK_CTF_TEXT:
		how->form = op->type->encoding == WMK_ENCODING_UTF8 ? WMK_PRINT_STRING : WMK_PRINT_CHARACTERS;
		how->width = op->type->encoding;
		return 0;
	default:
		how->form = forms[op->code];
		return 0;
	}
}

/* Return the text that precedes a value: a prefix, a bracket or a quote. */
static const char *opening(const struct wmk_print_op *how)
{
	const uint8_t form = how->form == WMK_PRINT_WIDE ? how->number : how->form;
	static const char *const openings[] = {
		[WMK_PRINT_HEX] = "0x",     [WMK_PRINT_OCTAL] = "0",   [WMK_PRINT_BINARY] = "0b",
		[WMK_PRINT_ENUM] = "( ",    [WMK_PRINT_STRING] = "\"", [WMK_PRINT_CHARACTERS] = "\"",
		[WMK_PRINT_BLOB] = "{",     [WMK_PRINT_STRUCT] = "{",  [WMK_PRINT_ARRAY] = "[",
		[WMK_PRINT_VARIANT] = "{ ", [WMK_PRINT_OPTIONAL] = ""
	};

	return wmk_or_empty(openings[form]);
}

/* The container of the operation. */
struct text_level {
	uint32_t op;
	uint32_t shown;            /* number of previous members */
};

/*
 * Format the text before an operation for the style with columns. Members of the root structure are separated by
 * spaces. Commas separate all other members. (A packet is shown as one structure.)
 */
static int add_column_text(struct scope_maker *maker, struct wmk_print_scope *scope, struct text_level *in, uint32_t at,
			   struct wmk_print_words *words)
{
	static const uint8_t forms[] = { [WMK_PRINT_ENUM] = WMK_PRINT_LABEL,    [WMK_PRINT_STRUCT] = WMK_PRINT_GROUP,
					 [WMK_PRINT_ARRAY] = WMK_PRINT_LIST,    [WMK_PRINT_VARIANT] = WMK_PRINT_BARE,
					 [WMK_PRINT_OPTIONAL] = WMK_PRINT_MAYBE };
	const struct wmk_ctf_op *ops = maker->program->ops, *op = &ops[at];
	struct wmk_print_op *how = &scope->ops[at];
	const size_t begin = words->out->len;
	const uint8_t parent = in ? ops[in->op].code : WMK_CTF_END;
	const bool is_packet = maker->scope == WMK_SCOPE_PACKET_CONTEXT;
	int err = op_form(op, maker->trace, how);

	if (err < 0)
		return err;
	if (in && in->op == 0 && (maker->scope == WMK_SCOPE_COMMON_CONTEXT || maker->scope == WMK_SCOPE_CONTEXT) &&
	    (how->number = (uint8_t)wmk_print_taken(maker->program, op)) != 0) {
		how->form = WMK_PRINT_TAKEN;
		return words->err;
	}
	how->form = how->form <= WMK_PRINT_OPTIONAL && forms[how->form] ? forms[how->form] : how->form;
	how->is_element = parent == WMK_CTF_ARRAY;
	if (at == 0 && !is_packet)
		how->form = WMK_PRINT_BARE;
	if (parent == WMK_CTF_VARIANT && op->code == WMK_CTF_STRUCT && ops[at + 1].code == WMK_CTF_END) {
		how->form = WMK_PRINT_BARE;
		wmk_print_add(words, "<none>");
	}
	if (parent == WMK_CTF_STRUCT) {
		const bool is_root = in->op == 0 && !is_packet;

		wmk_print_add(words, is_root ? " " : in->shown ? ", " : "");
		in->shown++;
		wmk_print_add(words, scope->color ? WMK_PRINT_TEAL : "");
		wmk_print_add_name(words, wmk_or_empty(op->name));
		wmk_print_add(words, scope->color ? WMK_PRINT_PLAIN "=" : "=");
	}
	wmk_print_add(words, how->form == WMK_PRINT_GROUP  ? "{"
			     : how->form == WMK_PRINT_LIST ? "["
			     : how->form < WMK_PRINT_LABEL ? opening(how) : "");
	how->len = (uint32_t)(words->out->len - begin);
	return words->err;
}

/* Format the text that precedes operation `at`, except for its index in an array. */
static int add_text(struct scope_maker *maker, struct wmk_print_scope *scope, struct text_level *in, uint32_t at,
		    struct wmk_print_words *words)
{
	const struct wmk_ctf_op *op = &maker->program->ops[at];
	struct wmk_print_op *how = &scope->ops[at];
	const size_t begin = words->out->len;
	const uint8_t parent = in ? maker->program->ops[in->op].code : WMK_CTF_END;
	int err = op_form(op, maker->trace, how);

	if (err < 0)
		return err;
	how->is_element = parent == WMK_CTF_ARRAY;
	if (parent == WMK_CTF_STRUCT) {
		wmk_print_add(words, in->shown++ ? ", " : " ");
		if (scope->names && op->name) {
			wmk_print_add(words, scope->color ? WMK_PRINT_TEAL : "");
			wmk_print_add_name(words, op->name);
			wmk_print_add(words, scope->color ? WMK_PRINT_PLAIN " = " : " = ");
		}
	}
	wmk_print_add(words, opening(how));
	how->len = (uint32_t)(words->out->len - begin);
	return words->err;
}

/* The caller has already added the text at the start of the root structure to `words`. */
static int add_texts(struct scope_maker *maker, struct wmk_print_scope *scope, struct wmk_print_words *words)
{
	int (*const add)(struct scope_maker *, struct wmk_print_scope *, struct text_level *, uint32_t,
			 struct wmk_print_words *) = scope->is_compact ? add_column_text : add_text;
	struct text_level levels[WMK_CTF_TYPE_DEPTH + 1];
	const uint32_t begun = (uint32_t)words->out->len;
	unsigned depth = 0;
	int err = words->err;

	for (uint32_t i = 0; i < maker->program->n_ops && err >= 0; i++) {
		const struct wmk_ctf_op *op = &maker->program->ops[i];

		if (op->code == WMK_CTF_END) {
			depth--;
			continue;
		}
		if (maker->shown[i])
			err = add(maker, scope, depth ? &levels[depth - 1] : NULL, i, words);
		if (op->code < WMK_CTF_STRUCT)
			continue;
		if (depth > WMK_CTF_TYPE_DEPTH)
			return wmk_error(-E2BIG, "types are nested too deeply: the maximum is %u levels",
					 WMK_CTF_TYPE_DEPTH);
		levels[depth++] = (struct text_level){ .op = i };
	}
	scope->ops[0].len += begun;
	return err;
}

static void scope_free(struct wmk_print_scope *scope)
{
	free(scope->ops);
	free(scope->text);
	*scope = (struct wmk_print_scope){ .program = NULL };
}

static int make_texts(struct wmk_print_trace *trace, struct scope_maker *maker, bool first,
		      struct wmk_print_scope *scope)
{
	static const char padding[WMK_PRINT_PIECE];
	const uint8_t names = trace->print->options.names;
	struct wmk_print_text text = { .max = SIZE_MAX };
	struct wmk_print_words words = { .out = &text };
	size_t at = 0;
	int err;

	scope->is_compact = trace->print->options.style == WMK_PRINT_COLUMNS;
	scope->thread = &trace->print->columns.thread;
	wmk_print_add(&words, scope->is_compact ? (maker->scope == WMK_SCOPE_PACKET_CONTEXT ? " packet=" : "")
				 : first     ? ""
					     : ", ");
	if (!scope->is_compact && names & WMK_PRINT_NAME_SCOPE) {
		wmk_print_add(&words, wmk_tsdl_scope_names[maker->scope]);
		wmk_print_add(&words, " = ");
	}
	scope->color = trace->print->options.color;
	scope->names = !scope->is_compact &&
		       names & (maker->scope == WMK_SCOPE_PAYLOAD ? WMK_PRINT_NAME_PAYLOAD : WMK_PRINT_NAME_CONTEXT);
	err = add_texts(maker, scope, &words);
	wmk_print_add_bytes(&words, padding, sizeof(padding));
	scope->text = text.text;
	if (err < 0 || words.err < 0)
		return err < 0 ? err : words.err;
	for (uint32_t i = 0; i < maker->program->n_ops; i++) {
		scope->ops[i].text = text.text + at;
		at += scope->ops[i].len;
	}
	return 0;
}

/*
 * The caller must zero `scope` before the call. `first` is true for the first scope of the line. After a failure,
 * `scope` contains no memory that the caller must free.
 */
static int scope_make(struct wmk_print_trace *trace, unsigned which, const struct wmk_ctf_program *program, bool first,
		      struct wmk_print_scope *scope)
{
	struct scope_maker maker = {
		.trace = trace, .program = program, .scope = which, .is_ctf1 = trace->decoder->class->major == 1
	};
	int err = 0;

	if (!program->n_ops)
		return 0;
	maker.shown = calloc(program->n_ops, sizeof(*maker.shown));
	scope->ops = calloc(program->n_ops, sizeof(*scope->ops));
	if (!maker.shown || !scope->ops)
		err = wmk_error(-ENOMEM, "no memory for the text of %u fields", program->n_ops);
	else if (find_shown(&maker, 0, 0))
		err = make_texts(trace, &maker, first, scope);
	if (err >= 0 && maker.shown[0])
		scope->program = program;
	else
		scope_free(scope);
	free(maker.shown);
	return err;
}

/* ── the head of a line ──────────────────────────────────────────────────────────────────────────────── */

/* The separators depend on the shown parts and on the presence of a time, as in babeltrace2. */
struct head {
	struct wmk_print_words words;
	bool names;
	bool comma;                /* a time with its name precedes the head */
	bool any;                  /* a field was shown: ':' precedes the next one */
};

/* Begin a field; the caller then adds the value of the field. */
static void head_field(struct head *head, const char *name)
{
	if (head->comma)
		wmk_print_add(&head->words, ", ");
	if (head->names) {
		wmk_print_add(&head->words, name);
		wmk_print_add(&head->words, " = ");
	} else if (head->any) {
		wmk_print_add(&head->words, ":");
	}
	head->any = true;
}

/* Find the last environment entry with this name, as other readers do; NULL: no such entry. */
const struct wmk_ctf_env_entry *wmk_print_env(const struct wmk_ctf_class *class, const char *name)
{
	for (uint32_t i = class->n_env; i-- > 0;)
		if (strcmp(class->env[i].name, name) == 0)
			return &class->env[i];
	return NULL;
}

static void head_env(struct head *head, const struct wmk_ctf_class *class, const char *name, const char *shown)
{
	const struct wmk_ctf_env_entry *entry = wmk_print_env(class, name);
	const bool is_vpid = strcmp(name, "vpid") == 0;

	if (!entry)
		return;
	head_field(head, shown);
	wmk_print_add(&head->words, is_vpid ? "(" : "");
	if (entry->text)
		wmk_print_add_name(&head->words, entry->text);
	else
		wmk_print_add_number(&head->words, entry->number);
	wmk_print_add(&head->words, is_vpid ? ")" : "");
}

static void head_level(struct head *head, const struct wmk_ctf_event_class *class)
{
	static const char *const levels[] = { "EMERG",          "ALERT",         "CRIT",         "ERR",
					      "WARNING",        "NOTICE",        "INFO",         "DEBUG_SYSTEM",
					      "DEBUG_PROGRAM",  "DEBUG_PROCESS", "DEBUG_MODULE", "DEBUG_UNIT",
					      "DEBUG_FUNCTION", "DEBUG_LINE",    "DEBUG" };

	if (class->level < 0 || (size_t)class->level >= WMK_ARRAY_LEN(levels))
		return;
	head_field(head, "loglevel");
	wmk_print_add(&head->words, "TRACE_");
	wmk_print_add(&head->words, levels[class->level]);
	wmk_print_add(&head->words, " (");
	wmk_print_add_number(&head->words, class->level);
	wmk_print_add(&head->words, ")");
}

static void head_trace(struct head *head, const char *name)
{
	wmk_print_add(&head->words, head->comma ? ", " : "");
	wmk_print_add(&head->words, head->names ? "trace = " : "");
	wmk_print_add_name(&head->words, name);
	wmk_print_add(&head->words, head->names ? ", " : "");
}

static int head_make(const struct wmk_print_trace *trace, bool has_time, const struct wmk_ctf_event_class *event,
		     struct wmk_print_text *text)
{
	static const struct {
		uint8_t field;
		const char *name, *shown;
	} envs[] = {
		{ WMK_PRINT_FIELD_HOSTNAME, "hostname", "trace:hostname" },
		{ WMK_PRINT_FIELD_DOMAIN, "domain", "trace:domain" },
		{ WMK_PRINT_FIELD_PROCNAME, "procname", "trace:procname" },
		{ WMK_PRINT_FIELD_VPID, "vpid", "trace:vpid" },
	};
	const struct wmk_print_options *options = &trace->print->options;
	struct head head = { .words.out = text, .names = options->names & WMK_PRINT_NAME_HEADER };

	head.comma = head.names && has_time;
	if (options->fields & WMK_PRINT_FIELD_TRACE && trace->name)
		head_trace(&head, trace->name);
	for (size_t i = 0; i < WMK_ARRAY_LEN(envs); i++)
		if (options->fields & envs[i].field)
			head_env(&head, trace->decoder->class, envs[i].name, envs[i].shown);
	if (options->fields & WMK_PRINT_FIELD_LEVEL)
		head_level(&head, event);
	if (options->fields & WMK_PRINT_FIELD_EMF && event->emf_uri && event->emf_uri[0]) {
		head_field(&head, "model.emf.uri");
		wmk_print_add_name(&head.words, event->emf_uri);
	}
	if (!head.names && head.any)
		wmk_print_add(&head.words, " ");
	wmk_print_add(&head.words, head.comma ? ", " : "");
	wmk_print_add(&head.words, head.names ? "name = " : "");
	wmk_print_add(&head.words, options->color ? WMK_PRINT_BOLD : "");
	wmk_print_add_name(&head.words, event->name && event->name[0] ? event->name : "<unknown>");
	wmk_print_add(&head.words, options->color ? WMK_PRINT_PLAIN : "");
	wmk_print_add(&head.words, head.names ? ", " : ": ");
	return head.words.err;
}

/* Columns show only the name. */
static int name_make(const struct wmk_print_trace *trace, const struct wmk_ctf_event_class *class,
		     struct wmk_print_event *event)
{
	const struct wmk_print_options *options = &trace->print->options;
	struct wmk_print_words words = { .out = &event->head };
	size_t begin;

	wmk_print_add(&words, options->color ? WMK_PRINT_BOLD : "");
	begin = event->head.len;
	wmk_print_add_name(&words, class->name && class->name[0] ? class->name : "<unknown>");
	if (words.err >= 0)
		event->width = wmk_print_width(event->head.text + begin, event->head.len - begin);
	wmk_print_add(&words, options->color ? WMK_PRINT_PLAIN : "");
	event->is_hidden = !options->all && wmk_print_is_statedump(class->name);
	return words.err;
}

/* ── classes ─────────────────────────────────────────────────────────────────────────────────────────── */

static void event_free(struct wmk_print_event *event)
{
	if (!event)
		return;
	wmk_print_text_free(&event->head);
	scope_free(&event->context);
	scope_free(&event->payload);
	free(event);
}

int wmk_print_event_make(struct wmk_print_trace *trace, const struct wmk_print_class *class,
			 const struct wmk_ctf_event_decoder *decoder, struct wmk_print_event **made)
{
	struct wmk_print_event *event = calloc(1, sizeof(*event));
	bool first = !class->packet_context.program && !class->event_context.program;
	int err;

	if (!event)
		return wmk_error(-ENOMEM, "no memory for the text of an event class");
	if (trace->print->options.style == WMK_PRINT_COLUMNS)
		err = name_make(trace, decoder->class, event);
	else
		err = head_make(trace, class->scale.is_there, decoder->class, &event->head);
	if (err >= 0)
		err = scope_make(trace, WMK_SCOPE_CONTEXT, &decoder->context, first, &event->context);
	first = first && !event->context.program;
	if (err >= 0)
		err = scope_make(trace, WMK_SCOPE_PAYLOAD, &decoder->payload, first, &event->payload);
	if (err < 0) {
		event_free(event);
		return err;
	}
	*made = event;
	return 0;
}

int wmk_print_class_make(struct wmk_print_trace *trace, const struct wmk_ctf_stream_decoder *decoder,
			 struct wmk_print_class *class)
{
	const struct wmk_print_options *options = &trace->print->options;
	int err = 0;

	if (options->style == WMK_PRINT_BABELTRACE || options->all)
		err = scope_make(trace, WMK_SCOPE_PACKET_CONTEXT, &decoder->packet_context, true,
				 &class->packet_context);

	if (err >= 0)
		err = scope_make(trace, WMK_SCOPE_COMMON_CONTEXT, &decoder->event_context,
				 !class->packet_context.program, &class->event_context);
	class->events = calloc(decoder->n_events ? decoder->n_events : 1, sizeof(struct wmk_print_event *));
	if (err >= 0 && !class->events)
		err = wmk_error(-ENOMEM, "no memory for the text of %u event classes", decoder->n_events);
	wmk_print_scale_make(&class->scale, decoder->class->clock);
	class->scale.points = decoder->class->clock ? trace->points : NULL;
	class->decoder = decoder;
	if (err < 0)
		wmk_print_class_free(class);
	return err;
}

void wmk_print_class_free(struct wmk_print_class *class)
{
	for (uint32_t i = 0; class->events && i < class->decoder->n_events; i++)
		event_free(class->events[i]);
	free(class->events);
	scope_free(&class->packet_context);
	scope_free(&class->event_context);
	*class = (struct wmk_print_class){ .decoder = NULL };
}
