/* SPDX-License-Identifier: MIT */
/*
 * format_file.c - the parser of `format` files (see format_file.h).
 *
 *     name: sched_switch
 *     ID: 372
 *     format:
 *     	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
 *     	...
 *     	field:char prev_comm[16];	offset:8;	size:16;	signed:0;
 *     	field:__data_loc char[] name;	offset:24;	size:4;	signed:0;
 *
 *     print fmt: "prev_comm=%s ...", REC->prev_comm, ...
 *
 * The parser derives the form of a field from the declaration and the size of the field. The parser skips unknown lines
 * and attributes, because later kernels may add lines and attributes.
 */
#include "kernel/event/format_file.h"
#include "kernel/event/value_labels.h"

#include "base/array.h"
#include "base/error.h"
#include "base/scan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct parser {
	const char *system, *text, *end;
	struct wmk_kformat *format;
	struct wmk_kfield *fields;
	struct wmk_klabels room;       /* memory for labels and all texts */
	uint32_t n, most;
	uint32_t long_size;
	bool has_id;
};

static int wrong(const struct parser *parser, const char *at, const char *expected)
{
	unsigned line = 1, column = 1;

	for (const char *c = parser->text; c < at; c++) {
		column = *c == '\n' ? 1 : column + 1;
		line += *c == '\n';
	}
	return wmk_error(-EPROTO, "format of %.60s: line %u, column %u: expected %s", parser->system, line, column,
			 expected);
}

/* Parses text that contains only a number. */
static bool number(struct wmk_scan part, uint32_t *value)
{
	uint64_t number;

	wmk_scan_trim(&part);
	if (!wmk_scan_number(&part, 10, 999999999, &number) || part.at < part.end)
		return false;
	*value = (uint32_t)number;
	return true;
}

/*
 * Copies a text to the format's memory. Returns NULL if the memory is too small, although wmk_kformat_parse() allocates
 * enough memory for all texts.
 */
static const char *keep(struct parser *parser, const char *at, size_t len)
{
	char *copy = parser->room.text;

	if ((size_t)(parser->room.text_end - copy) <= len)
		return NULL;
	memcpy(copy, at, len);
	copy[len] = '\0';
	parser->room.text += len + 1;
	return copy;
}

static bool is_name(struct wmk_scan part)
{
	if (part.at == part.end || wmk_scan_is_digit(*part.at) || part.end - part.at > WMK_NAME_MAX)
		return false;
	while (part.at < part.end && wmk_scan_is_word(*part.at))
		part.at++;
	return part.at == part.end;
}

/* ── types ───────────────────────────────────────────────────────────────────────────────────────────── */

/* A size of -1 represents the size of the kernel's long. */
static const struct known_type {
	const char *name;
	int8_t size;
	bool is_signed;
} known_types[] = {
	{ "char", 1, true },
	{ "signed char", 1, true },
	{ "unsigned char", 1, false },
	{ "u8", 1, false },
	{ "s8", 1, true },
	{ "__u8", 1, false },
	{ "__s8", 1, true },
	{ "uint8_t", 1, false },
	{ "int8_t", 1, true },
	{ "bool", 1, false },
	{ "short", 2, true },
	{ "unsigned short", 2, false },
	{ "u16", 2, false },
	{ "s16", 2, true },
	{ "__u16", 2, false },
	{ "__s16", 2, true },
	{ "uint16_t", 2, false },
	{ "int16_t", 2, true },
	{ "umode_t", 2, false },
	{ "__be16", 2, false },
	{ "__le16", 2, false },
	{ "int", 4, true },
	{ "unsigned int", 4, false },
	{ "unsigned", 4, false },
	{ "uint", 4, false },
	{ "u32", 4, false },
	{ "s32", 4, true },
	{ "__u32", 4, false },
	{ "__s32", 4, true },
	{ "uint32_t", 4, false },
	{ "int32_t", 4, true },
	{ "__be32", 4, false },
	{ "__le32", 4, false },
	{ "pid_t", 4, true },
	{ "uid_t", 4, false },
	{ "gid_t", 4, false },
	{ "dev_t", 4, false },
	{ "key_t", 4, true },
	{ "key_serial_t", 4, true },
	{ "mqd_t", 4, true },
	{ "clockid_t", 4, true },
	{ "timer_t", 4, true },
	{ "qid_t", 4, false },
	{ "rwf_t", 4, true },
	{ "u64", 8, false },
	{ "s64", 8, true },
	{ "__u64", 8, false },
	{ "__s64", 8, true },
	{ "uint64_t", 8, false },
	{ "int64_t", 8, true },
	{ "long long", 8, true },
	{ "unsigned long long", 8, false },
	{ "loff_t", 8, true },
	{ "__be64", 8, false },
	{ "__le64", 8, false },
	{ "long", -1, true },
	{ "unsigned long", -1, false },
	{ "size_t", -1, false },
	{ "ssize_t", -1, true },
	{ "off_t", -1, true },
	{ "aio_context_t", -1, false },
	{ "cpumask_t", -1, false },
};

uint32_t wmk_kformat_type_size(const char *type, uint32_t long_size, bool *is_signed)
{
	if (strncmp(type, "const ", 6) == 0)
		type += 6;
	if (is_signed)
		*is_signed = false;
	if (strchr(type, '*'))
		return long_size;
	if (strncmp(type, "enum ", 5) == 0)
		return 4;
	for (size_t i = 0; i < WMK_ARRAY_LEN(known_types); i++)
		if (strcmp(type, known_types[i].name) == 0) {
			if (is_signed)
				*is_signed = known_types[i].is_signed;
			return known_types[i].size < 0 ? long_size : (uint32_t)known_types[i].size;
		}
	return 0;
}

static bool is_char(const char *type)
{
	return strcmp(type, "char") == 0 || strcmp(type, "const char") == 0;
}

static bool is_power(uint32_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/*
 * Determines size and number of the elements of `char x[16]`, `unsigned long args[6]`, `u8 x[2][3]`, `char
 * comm[TASK_COMM_LEN]`.
 */
static void shape_array(const struct parser *parser, struct wmk_kfield *field, struct wmk_scan brackets)
{
	const uint32_t known = wmk_kformat_type_size(field->type, parser->long_size, NULL);
	uint32_t product = 1, one;
	struct wmk_scan inside;

	while (product && wmk_scan_cut(&brackets, '[', &inside) && wmk_scan_cut(&brackets, ']', &inside))
		product = number(inside, &one) && one && one <= WMK_KFORMAT_REACH / product ? product * one : 0;
	field->shape = WMK_KSHAPE_ARRAY;
	if (product && field->size % product == 0 && is_power(field->size / product))
		field->elem = field->size / product;
	else if (known && field->size % known == 0)
		field->elem = known;
	else
		field->shape = WMK_KSHAPE_BYTES;
	if (field->shape == WMK_KSHAPE_ARRAY)
		field->count = field->size / field->elem;
	field->is_text = field->shape == WMK_KSHAPE_ARRAY && field->elem == 1 && is_char(field->type);
}

static void shape_field(const struct parser *parser, struct wmk_kfield *field, bool is_function,
			struct wmk_scan brackets)
{
	const bool is_struct = !strchr(field->type, '*') &&
			       (strncmp(field->type, "struct ", 7) == 0 || strncmp(field->type, "union ", 6) == 0);

	if (field->shape != WMK_KSHAPE_NUMBER) {
		field->elem = wmk_kformat_type_size(field->type, parser->long_size, NULL);
		field->is_text = is_char(field->type);
		return;
	}
	if (brackets.at < brackets.end && !field->size) {
		field->shape = WMK_KSHAPE_REST;
		field->elem = wmk_kformat_type_size(field->type, parser->long_size, NULL);
		field->is_text = is_char(field->type);
	} else if (brackets.at < brackets.end) {
		shape_array(parser, field, brackets);
	} else if (is_struct || !is_power(field->size)) {
		field->shape = WMK_KSHAPE_BYTES;
	} else {
		field->is_pointer = is_function || strchr(field->type, '*');
	}
}

/* ── fields ──────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Parses `<type> <name>`, `<type> <name>[<n>]`, `<type> (*<name>)(...)`, or `<type>[] <name>` for content outside of
 * the fixed part.
 */
static int take_declaration(struct parser *parser, struct wmk_scan part, struct wmk_kfield *field)
{
	struct wmk_scan name, brackets = { part.end, part.end };
	const char *function;
	bool is_function;

	function = memmem(part.at, wmk_scan_len(&part), "(*", 2);
	is_function = function != NULL;
	if (is_function) {
		struct wmk_scan rest = { function + 2, part.end };

		name = rest;
		wmk_scan_cut(&rest, ')', &name);
	} else {
		while (part.end > part.at && part.end[-1] == ']') {
			while (part.end > part.at && part.end[-1] != '[')
				part.end--;
			part.end -= part.end > part.at;
			brackets.at = part.end;
		}
		wmk_scan_trim(&part);
		name = part;
		for (name.at = part.end; name.at > part.at && wmk_scan_is_word(name.at[-1]);)
			name.at--;
		part.end = name.at;
	}
	wmk_scan_trim(&name);
	if (!is_name(name))
		return wrong(parser, part.at, "a type and a name");
	wmk_scan_trim(&part);
	if (field->shape != WMK_KSHAPE_NUMBER && part.end - part.at > 2 && part.end[-1] == ']')
		while (part.end > part.at && *--part.end != '[')
			;
	wmk_scan_trim(&part);
	field->name = keep(parser, name.at, wmk_scan_len(&name));
	field->type = keep(parser, part.at, wmk_scan_len(&part));
	if (!field->name || !field->type)
		return wmk_error(-E2BIG, "format of %.60s: the names and types exceed the allocated memory",
					 parser->system);
	shape_field(parser, field, is_function, brackets);
	return 0;
}

/* Parses `offset:8;	size:4;	signed:1;`. */
static int take_attributes(const struct parser *parser, struct wmk_scan line, struct wmk_kfield *field)
{
	bool has_offset = false, has_size = false, ok = true;
	uint32_t is_signed = 0;
	struct wmk_scan one;
	const char *at = line.at;

	while (ok && wmk_scan_cut(&line, ';', &one)) {
		wmk_scan_trim(&one);
		if (wmk_scan_take(&one, "offset:"))
			ok = has_offset = number(one, &field->offset);
		else if (wmk_scan_take(&one, "size:"))
			ok = has_size = number(one, &field->size);
		else if (wmk_scan_take(&one, "signed:"))
			ok = number(one, &is_signed) && is_signed <= 1;
	}
	field->is_signed = is_signed;
	if (!ok || !has_offset || !has_size)
		return wrong(parser, at, "offset:NUMBER; size:NUMBER; signed:0 or 1;");
	if (field->offset > WMK_KFORMAT_REACH || field->size > WMK_KFORMAT_REACH - field->offset)
		return wrong(parser, at, "an offset and size within 65536 bytes");
	if ((field->shape == WMK_KSHAPE_DYNAMIC || field->shape == WMK_KSHAPE_RELATIVE) && field->size != 4)
		return wrong(parser, at, "size:4 (position and length of the content)");
	return 0;
}

static int take_field(struct parser *parser, struct wmk_scan line)
{
	struct wmk_kfield *field = &parser->fields[parser->n];
	struct wmk_scan declaration;
	const char *at = line.at;

	if (parser->n == parser->most || !wmk_scan_cut(&line, ';', &declaration))
		return wrong(parser, at, "a declaration and ';'");
	wmk_scan_trim(&declaration);
	field->shape = wmk_scan_take(&declaration, "__data_loc ")  ? WMK_KSHAPE_DYNAMIC
		       : wmk_scan_take(&declaration, "__rel_loc ") ? WMK_KSHAPE_RELATIVE
							    : WMK_KSHAPE_NUMBER;
	int err = take_attributes(parser, line, field);

	if (err >= 0)
		err = take_declaration(parser, declaration, field);
	if (err < 0)
		return err;
	parser->n++;
	if (field->offset + field->size > parser->format->size)
		parser->format->size = field->offset + field->size;
	return 0;
}

static bool is_long(struct wmk_scan declaration)
{
	const size_t len = wmk_scan_len(&declaration);

	if (memchr(declaration.at, '[', len))
		return false;
	return memchr(declaration.at, '*', len) || wmk_scan_take(&declaration, "unsigned long ") ||
	       wmk_scan_take(&declaration, "long ");
}

/* Returns the size of the kernel's long: 4 if a field of that type, or a pointer, has 4 bytes; else 8. */
static uint32_t long_size_of(struct wmk_scan text)
{
	struct wmk_scan line, declaration, one;
	uint32_t size;

	while (wmk_scan_cut(&text, '\n', &line)) {
		wmk_scan_trim(&line);
		if (!wmk_scan_take(&line, "field:") || !wmk_scan_cut(&line, ';', &declaration) || !is_long(declaration))
			continue;
		while (wmk_scan_cut(&line, ';', &one)) {
			wmk_scan_trim(&one);
			if (wmk_scan_take(&one, "size:") && number(one, &size) && size == 4)
				return 4;
		}
	}
	return 8;
}

/* ── files ───────────────────────────────────────────────────────────────────────────────────────────── */

static int take_line(struct parser *parser, struct wmk_scan line)
{
	struct wmk_kformat *format = parser->format;

	wmk_scan_trim(&line);
	if (wmk_scan_take(&line, "field:"))
		return take_field(parser, line);
	if (wmk_scan_take(&line, "name:")) {
		wmk_scan_trim(&line);
		if (format->name || line.at == line.end || line.end - line.at > WMK_NAME_MAX)
			return wrong(parser, line.at, "one name, of at most 255 bytes");
		format->name = keep(parser, line.at, wmk_scan_len(&line));
	} else if (wmk_scan_take(&line, "ID:")) {
		if (parser->has_id || !number(line, &format->id) || format->id > UINT16_MAX)
			return wrong(parser, line.at, "one number of 16 bits");
		parser->has_id = true;
	}
	return 0;
}

static int take_lines(struct parser *parser)
{
	struct wmk_scan text = { parser->text, parser->end }, line;
	struct wmk_kformat *format = parser->format;
	const char *print = NULL;
	int err = 0;

	while (err >= 0 && !print && wmk_scan_line(&text, &line)) {
		if (wmk_scan_take(&line, "print fmt:"))
			print = line.at;
		else
			err = take_line(parser, line);
	}
	if (err < 0)
		return err;
	if (!format->name || !parser->has_id || !parser->n)
		return wrong(parser, parser->end, "`name:`, `ID:`, and at least one `field:`");
	while (format->n_common < parser->n && strncmp(parser->fields[format->n_common].name, "common_", 7) == 0)
		format->n_common++;
	format->n_fields = parser->n - format->n_common;
	if (print)
		wmk_klabels_find(print, (size_t)(parser->end - print), parser->fields, parser->n, &parser->room);
	return 0;
}

static uint32_t count(const char *text, size_t len, const char *what)
{
	const char *end = text + len;
	uint32_t n = 0;

	while ((text = memmem(text, (size_t)(end - text), what, strlen(what))) != NULL) {
		text += strlen(what);
		n++;
	}
	return n;
}

int wmk_kformat_parse(const char *system, const char *text, size_t len, struct wmk_kformat **format)
{
	const size_t system_len = strnlen(system, WMK_NAME_MAX + 1);

	if (len > WMK_KFORMAT_MAX || system_len > WMK_NAME_MAX)
		return wmk_error(-E2BIG,
				 "cannot parse a format of %zu bytes: the limit is %u bytes, and %u bytes for the name "
				 "of the event system",
				 len, WMK_KFORMAT_MAX, WMK_NAME_MAX);
	/*
	 * Bounds the memory for texts. Each text is a part of `text`; a NUL replaces the character behind this part. A
	 * pointer's type and its field's name may need one more byte, because no character separates them.
	 */
	const uint32_t n_fields = count(text, len, "field:"), n_labels = count(text, len, "{");
	const size_t texts = system_len + 1 + 2 * len + 2 * (size_t)n_fields + 1;
	struct wmk_kformat *made = calloc(1, sizeof(*made) + n_fields * sizeof(struct wmk_kfield) +
						     n_labels * sizeof(struct wmk_label) + texts);
	struct parser parser = { .system = system, .text = text, .end = text + len, .format = made, .most = n_fields };

	if (!made)
		return wmk_error(-ENOMEM, "cannot parse a format of %zu bytes: no memory", len);
	parser.fields = (struct wmk_kfield *)(made + 1);
	parser.room.next = (struct wmk_label *)(parser.fields + n_fields);
	parser.room.end = parser.room.next + n_labels;
	parser.room.text = (char *)parser.room.end;
	parser.room.text_end = parser.room.text + texts;
	made->fields = parser.fields;
	made->system = keep(&parser, system, system_len);
	parser.long_size = long_size_of((struct wmk_scan){ text, text + len });
	int err = take_lines(&parser);

	if (err < 0) {
		free(made);
		return err;
	}
	*format = made;
	return 0;
}
