/* SPDX-License-Identifier: MIT */
/*
 * tsdl_type.c - parse TSDL's type specifiers and declarators (CTF 1.8.3, section 7.3): as in C, with structures,
 * variants, arrays with a length in another field, and aliases for any name of a type in C.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "ctf/tsdl_type.h"

#define DIMENSIONS_MAX 16u
#define NAME_MAX_BYTES 4096u         /* limit for all words of a type */
#define ELEMENTS_MAX ((uint64_t)1 << 31)

/* ── names ───────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Return the allocated size for a name of `len` bytes. Each allocated size is a power of two, so all copies together
 * take at most twice the size of the last copy.
 */
static size_t room_of(size_t len)
{
	size_t room = 32;

	while (room < len + 1)
		room *= 2;
	return room;
}

/* Append `mark` and a word to *name, which is NULL or an earlier result of this function. */
static void lengthen(struct wmk_tsdl *in, char **name, char mark, const char *word, size_t len)
{
	const size_t before = *name ? strlen(*name) : 0, all = before + (before != 0) + len;
	char *longer = *name;

	if (all > NAME_MAX_BYTES) {
		wmk_tsdl_error(in, NULL, -EPROTO, "the name exceeds %u bytes", NAME_MAX_BYTES);
		return;
	}
	if (!longer || room_of(before) < all + 1) {
		longer = wmk_ctf_alloc(in->to, room_of(all));
		if (!longer)
			return;
		memcpy(longer, before ? *name : "", before);
	}
	if (before)
		longer[before] = mark;
	memcpy(longer + all - len, word, len);
	longer[all] = '\0';
	*name = longer;
}

/* Append the next token, which is a word, to the name, and take the token. */
static void take_joined(struct wmk_tsdl *in, char **words, char mark)
{
	lengthen(in, words, mark, in->token.text, in->token.len);
	wmk_tsdl_next(in);
}

const char *wmk_tsdl_path(struct wmk_tsdl *in)
{
	char *text = NULL;

	do {
		if (in->token.kind == WMK_TSDL_IDENT)
			take_joined(in, &text, '.');
		else
			wmk_tsdl_wrong(in, NULL, "a name");
	} while (wmk_tsdl_take(in, '.') || wmk_tsdl_take(in, 'A'));
	return wmk_or_empty(text);
}

/* ── declarators ─────────────────────────────────────────────────────────────────────────────────────── */

struct dimension {
	const struct wmk_ref *ref; /* NULL: `count` */
	uint32_t count;
};

struct declarator {
	const char *name;          /* NULL: none */
	struct wmk_tsdl_token at;  /* the name, else the first token of the declarator */
	unsigned pointers;
	struct dimension dimensions[DIMENSIONS_MAX];
	unsigned n;
};

/* Parse what follows '[', including the ']'. */
static void parse_dimension(struct wmk_tsdl *in, struct declarator *to)
{
	struct dimension *dimension = &to->dimensions[to->n];
	const struct wmk_tsdl_token token = in->token;
	const char *path;
	int64_t length = 0;
	bool is_unsigned;

	if (to->n == DIMENSIONS_MAX) {
		wmk_tsdl_error(in, NULL, -EPROTO, "the array has more than %u dimensions", DIMENSIONS_MAX);
		return;
	}
	if (in->token.kind == WMK_TSDL_IDENT) {
		path = wmk_tsdl_path(in);
		if (strncmp(path, "env.", 4) == 0)
			length = wmk_tsdl_env_number(in, &token, path + 4);
		else
			dimension->ref = wmk_tsdl_ref(in, &token, path);
	} else {
		length = wmk_tsdl_number(in, &is_unsigned);
	}
	if (length < 0 || length > UINT32_MAX)
		wmk_tsdl_error(in, &token, -EPROTO, "an array must have 0 to %" PRIu32 " elements, not %" PRId64,
			       UINT32_MAX, length);
	dimension->count = (uint32_t)length;
	to->n++;
	wmk_tsdl_expect(in, ']', "after an array's length");
}

/*
 * Parse a declarator: pointers, an optional name and dimensions. Parentheses are allowed but have no effect, because
 * TSDL has no functions.
 */
static void parse_declarator(struct wmk_tsdl *in, struct declarator *to)
{
	if (!to->name)
		to->at = in->token;
	while (wmk_tsdl_take(in, '*')) {
		to->pointers++;
		while (wmk_tsdl_take_word(in, "const"))
			;
	}
	if (wmk_tsdl_take(in, '(')) {
		if (++in->depth > WMK_CTF_TYPE_DEPTH) {
			wmk_tsdl_error(in, NULL, -E2BIG, "more than %u levels of parentheses", WMK_CTF_TYPE_DEPTH);
			return;
		}
		parse_declarator(in, to);
		in->depth--;
		wmk_tsdl_expect(in, ')', "after a declarator");
	} else if (in->token.kind == WMK_TSDL_IDENT && !to->name) {
		to->at = in->token;
		to->name = wmk_tsdl_take_text(in);
	}
	while (wmk_tsdl_take(in, '['))
		parse_dimension(in, to);
}

/*
 * Find the type with the name `words`, followed by `pointers` times '*'. (The name is on the stack, because it is not
 * kept.)
 */
static void pointed(struct wmk_tsdl *in, const struct wmk_tsdl_token *at, const char *words, unsigned pointers,
		    struct wmk_type *type)
{
	const struct wmk_type *known;
	const size_t len = words ? strlen(words) : 0;
	char name[NAME_MAX_BYTES + 1];

	if (len > NAME_MAX_BYTES || pointers > (NAME_MAX_BYTES - len) / 2) {
		wmk_tsdl_error(in, at, -EPROTO, "the name exceeds %u bytes", NAME_MAX_BYTES);
		return;
	}
	memcpy(name, wmk_or_empty(words), len);
	for (unsigned i = 0; i < pointers; i++)
		memcpy(name + len + 2 * i, " *", 2);
	name[len + 2 * (size_t)pointers] = '\0';
	known = words ? wmk_tsdl_find(in, WMK_TSDL_ALIAS, name) : NULL;
	if (!known) {
		wmk_tsdl_error(in, at, -EPROTO, "unknown type '%.80s'", words ? name : "*");
		return;
	}
	*type = *known;
	/* (babeltrace2 shows addresses as hexadecimal, too) */
	if (type->kind == WMK_TYPE_INT)
		type->base = 16;
}

/* Apply the declarator to the type `base`, which begins at the token `at` and has the name `words`. */
static void apply(struct wmk_tsdl *in, const struct declarator *declarator, const struct wmk_type *base,
		  const struct wmk_tsdl_token *at, const char *words, struct wmk_type *type)
{
	uint64_t n_all = 1;

	*type = *base;
	if (declarator->pointers)
		pointed(in, at, words, declarator->pointers, type);
	else if (!base->kind && !base->align && words)
		wmk_tsdl_error(in, at, -EPROTO, "unknown type '%.80s'", words);
	for (unsigned i = declarator->n; i-- > 0;) {
		const struct dimension *dimension = &declarator->dimensions[i];
		struct wmk_type *elem = wmk_ctf_alloc(in->to, sizeof(*elem));

		if (!elem)
			return;
		*elem = *type;
		*type = (struct wmk_type){ .kind = dimension->ref ? WMK_TYPE_SEQUENCE : WMK_TYPE_ARRAY,
					   .count = dimension->count,
					   .elem = elem,
					   .ref = dimension->ref,
					   .align = elem->align };
		n_all = dimension->ref ? 1 : n_all * dimension->count;
		if (n_all > ELEMENTS_MAX)
			wmk_tsdl_error(in, &declarator->at, -E2BIG,
				       "the array has more than %" PRIu64 " elements in all dimensions together",
				       ELEMENTS_MAX);
		type->is_text = elem->kind == WMK_TYPE_INT && elem->is_text && elem->width == 8 && elem->align == 8;
	}
}

/* ── structures and variants ─────────────────────────────────────────────────────────────────────────── */

/* Parse `specifier declarator, declarator;`. */
static void parse_fields(struct wmk_tsdl *in, struct wmk_ctf_list *fields)
{
	const struct wmk_tsdl_token at = in->token;
	const char *words;
	struct wmk_type base;

	wmk_tsdl_specifier(in, &base, &words);
	/* `struct name { ... };` declares a type, but no field. */
	if (!words && wmk_tsdl_take(in, ';'))
		return;
	if (base.kind == WMK_TYPE_VARIANT && !base.ref)
		wmk_tsdl_error(in, &at, -EPROTO, "the variant has no tag: expected variant <TAG> { ... }");
	do {
		struct declarator declarator = { .name = NULL };
		struct wmk_field *field = wmk_ctf_list_add(in->to, fields, sizeof(*field), WMK_CTF_EVENTS_MAX);

		parse_declarator(in, &declarator);
		if (!declarator.name)
			wmk_tsdl_wrong(in, NULL, "a field's name");
		if (in->to->err < 0)
			return;
		apply(in, &declarator, &base, &at, words, &field->type);
		wmk_tsdl_declare(in, &declarator.at, WMK_TSDL_FIELD, declarator.name, &field->type);
		field->name = declarator.name;
	} while (wmk_tsdl_take(in, ','));
	wmk_tsdl_expect(in, ';', "after a field");
}

/* Parse `{ fields }` of a structure or variant, in a scope of its own. */
static void parse_members(struct wmk_tsdl *in, struct wmk_type *type)
{
	struct wmk_ctf_list fields = { NULL, 0, 0 };

	wmk_tsdl_expect(in, '{', "before the fields");
	wmk_tsdl_enter(in);
	while (wmk_tsdl_before(in, '}')) {
		if (wmk_tsdl_is_word(in, "typedef") || wmk_tsdl_is_word(in, "typealias"))
			wmk_tsdl_declaration(in);
		else
			parse_fields(in, &fields);
	}
	wmk_tsdl_leave(in);
	type->members = fields.items;
	type->count = fields.n;
}

static void align_struct(struct wmk_type *type)
{
	for (uint32_t i = 0; i < type->count; i++)
		if (type->members[i].type.align > type->align)
			type->align = type->members[i].type.align;
}

void wmk_tsdl_known_tag(struct wmk_tsdl *in, char space, const char *what, const char *tag,
			const struct wmk_tsdl_token *at, struct wmk_type *type)
{
	const struct wmk_type *known = wmk_tsdl_find(in, space, tag);

	if (known) {
		*type = *known;
	} else if (in->to->err >= 0) {
		in->is_cut = in->token.kind == WMK_TSDL_END;
		wmk_tsdl_error(in, at, -EPROTO, "unknown '%s %.60s'", what, tag);
	}
}

/*
 * Parse the rest of the property `align` of a structure. If the value is not a power of two, it is ignored up to the
 * current alignment, and it is an error above the current alignment.
 */
static void parse_align(struct wmk_tsdl *in, struct wmk_type *type)
{
	struct wmk_tsdl_token token;
	uint32_t align = 1;

	wmk_tsdl_expect(in, '(', "after 'align'");
	token = in->token;
	if (token.kind == WMK_TSDL_NUMBER && token.number <= type->align &&
	    (!token.number || token.number & (token.number - 1))) {
		wmk_tsdl_warn(in, &token, "an alignment that is not a power of two: ignored");
		wmk_tsdl_next(in);
	} else {
		wmk_tsdl_alignment(in, &align);
	}
	if (align > type->align)
		type->align = align;
	wmk_tsdl_expect(in, ')', "after an alignment");
}

/* Parse what follows `struct`. */
static void parse_struct(struct wmk_tsdl *in, struct wmk_type *type)
{
	const struct wmk_tsdl_token at = in->token;
	const char *tag = at.kind == WMK_TSDL_IDENT ? wmk_tsdl_take_text(in) : NULL;

	*type = (struct wmk_type){ .kind = WMK_TYPE_STRUCT, .align = 1 };
	if (tag && !wmk_tsdl_is(in, '{')) {
		wmk_tsdl_known_tag(in, WMK_TSDL_STRUCT_TAG, "struct", tag, &at, type);
		return;
	}
	parse_members(in, type);
	align_struct(type);
	if (wmk_tsdl_take_word(in, "align"))
		parse_align(in, type);
	if (tag)
		wmk_tsdl_declare(in, &at, WMK_TSDL_STRUCT_TAG, tag, type);
}

/* Parse `<path>` before or after a variant's tag. */
static void parse_selector(struct wmk_tsdl *in, struct wmk_type *type)
{
	struct wmk_tsdl_token token;

	if (!wmk_tsdl_take(in, '<'))
		return;
	token = in->token;
	type->ref = wmk_tsdl_ref(in, &token, wmk_tsdl_path(in));
	wmk_tsdl_expect(in, '>', "after a variant's selector");
}

/* Parse what follows `variant`: [NAME] [<path>] [{ ... }]. */
static void parse_variant(struct wmk_tsdl *in, struct wmk_type *type)
{
	const struct wmk_tsdl_token word = in->word;
	const struct wmk_ref *ref;
	struct wmk_tsdl_token at;
	const char *tag;

	*type = (struct wmk_type){ .kind = WMK_TYPE_VARIANT, .align = 1 };
	parse_selector(in, type);
	at = in->token;
	tag = at.kind == WMK_TSDL_IDENT ? wmk_tsdl_take_text(in) : NULL;
	if (tag && !type->ref)
		parse_selector(in, type);
	if (tag && !wmk_tsdl_is(in, '{')) {
		ref = type->ref;
		wmk_tsdl_known_tag(in, WMK_TSDL_VARIANT_TAG, "variant", tag, &at, type);
		type->ref = ref ? ref : type->ref;
		return;
	}
	parse_members(in, type);
	if (!type->count)
		wmk_tsdl_error(in, &word, -EPROTO, "the variant has no members");
	if (tag)
		wmk_tsdl_declare(in, &at, WMK_TSDL_VARIANT_TAG, tag, type);
}

/* ── specifiers ──────────────────────────────────────────────────────────────────────────────────────── */

static bool is_c_word(const struct wmk_tsdl *in)
{
	static const char *const words[] = { "const", "volatile", "signed",   "unsigned",  "char",
					     "short", "int",      "long",     "float",     "double",
					     "void",  "_Bool",    "_Complex", "_Imaginary" };

	for (size_t i = 0; i < WMK_ARRAY_LEN(words); i++)
		if (wmk_tsdl_is_word(in, words[i]))
			return true;
	return false;
}

/*
 * Parse a name such as `unsigned long` or `const my_type`: any number of C's type words, or qualifiers and the name of
 * a declared type.
 */
static void parse_words(struct wmk_tsdl *in, char **words)
{
	bool qualified_only = true;

	while (is_c_word(in)) {
		qualified_only = qualified_only && (wmk_tsdl_is_word(in, "const") || wmk_tsdl_is_word(in, "volatile"));
		take_joined(in, words, ' ');
	}
	if (qualified_only && in->token.kind == WMK_TSDL_IDENT)
		take_joined(in, words, ' ');
	else if (qualified_only)
		wmk_tsdl_wrong(in, NULL, "a type");
}

/*
 * Find a type by name. If a '*' follows an unknown name, the function leaves the type empty, and pointed() finds the
 * type later.
 */
static void known_alias(struct wmk_tsdl *in, struct wmk_type *type, const char **words)
{
	const struct wmk_tsdl_token at = in->token;
	const struct wmk_type *known;
	char *name = NULL;

	parse_words(in, &name);
	if (in->to->err < 0)
		return;
	*words = name;
	known = wmk_tsdl_find(in, WMK_TSDL_ALIAS, name);
	if (!known && strncmp(name, "const ", 6) == 0)
		known = wmk_tsdl_find(in, WMK_TSDL_ALIAS, name + 6);
	if (known) {
		*type = *known;
	} else if (!wmk_tsdl_is(in, '*')) {
		in->is_cut = in->token.kind == WMK_TSDL_END;
		wmk_tsdl_error(in, &at, -EPROTO, "unknown type '%.80s'", name);
	}
}

void wmk_tsdl_specifier(struct wmk_tsdl *in, struct wmk_type *type, const char **words)
{
	static const struct {
		const char *word;
		void (*parse)(struct wmk_tsdl *in, struct wmk_type *type);
	} kinds[] = { { "integer", wmk_tsdl_integer }, { "floating_point", wmk_tsdl_float },
		      { "string", wmk_tsdl_string },   { "enum", wmk_tsdl_enum },
		      { "struct", parse_struct },      { "variant", parse_variant } };
	const struct wmk_tsdl_token word = in->token;

	*words = NULL;
	*type = (struct wmk_type){ 0 };
	if (in->depth >= WMK_CTF_TYPE_DEPTH) {
		wmk_tsdl_error(in, NULL, -E2BIG, "more than %u levels of nested types", WMK_CTF_TYPE_DEPTH);
		return;
	}
	for (size_t i = 0; i < WMK_ARRAY_LEN(kinds); i++)
		if (wmk_tsdl_take_word(in, kinds[i].word)) {
			in->depth++;
			in->word = word;
			kinds[i].parse(in, type);
			in->depth--;
			return;
		}
	known_alias(in, type, words);
}

void wmk_tsdl_type(struct wmk_tsdl *in, struct wmk_type *type)
{
	struct declarator declarator = { .name = NULL };
	const struct wmk_tsdl_token at = in->token;
	struct wmk_type base;
	const char *words;

	wmk_tsdl_specifier(in, &base, &words);
	parse_declarator(in, &declarator);
	if (declarator.name)
		wmk_tsdl_error(in, &declarator.at, -EPROTO, "unexpected name '%.60s'", declarator.name);
	apply(in, &declarator, &base, &at, words, type);
}

/* ── declarations ────────────────────────────────────────────────────────────────────────────────────── */

bool wmk_tsdl_is_declaration(const struct wmk_tsdl *in)
{
	return wmk_tsdl_is_word(in, "typedef") || wmk_tsdl_is_word(in, "typealias") || wmk_tsdl_is_word(in, "struct") ||
	       wmk_tsdl_is_word(in, "variant") || wmk_tsdl_is_word(in, "enum");
}

static void parse_typedef(struct wmk_tsdl *in)
{
	const struct wmk_tsdl_token at = in->token;
	struct wmk_type base, type;
	const char *words;

	wmk_tsdl_specifier(in, &base, &words);
	do {
		struct declarator declarator = { .name = NULL };

		parse_declarator(in, &declarator);
		if (!declarator.name) {
			wmk_tsdl_wrong(in, NULL, "a name for the type");
			return;
		}
		apply(in, &declarator, &base, &at, words, &type);
		wmk_tsdl_declare(in, &declarator.at, WMK_TSDL_ALIAS, declarator.name, &type);
	} while (wmk_tsdl_take(in, ','));
	wmk_tsdl_expect(in, ';', "after a typedef");
}

/* Parse `typealias TYPE := NAME;`. The name may be any form of type name in C, such as "unsigned long" or "void *". */
static void parse_typealias(struct wmk_tsdl *in)
{
	struct wmk_tsdl_token at;
	struct wmk_type type;
	char *words = NULL;

	wmk_tsdl_type(in, &type);
	wmk_tsdl_expect(in, 'D', "after the type of a typealias");
	at = in->token;
	while (in->token.kind == WMK_TSDL_IDENT)
		take_joined(in, &words, ' ');
	if (!words) {
		wmk_tsdl_wrong(in, NULL, "a name for the type");
		return;
	}
	while (wmk_tsdl_take(in, '*')) {
		lengthen(in, &words, ' ', "*", 1);
		while (wmk_tsdl_take_word(in, "const"))
			;
	}
	wmk_tsdl_declare(in, &at, WMK_TSDL_ALIAS, words, &type);
	wmk_tsdl_expect(in, ';', "after a typealias");
}

void wmk_tsdl_declaration(struct wmk_tsdl *in)
{
	struct wmk_type type;
	const char *words;

	if (wmk_tsdl_take_word(in, "typedef")) {
		parse_typedef(in);
	} else if (wmk_tsdl_take_word(in, "typealias")) {
		parse_typealias(in);
	} else {
		wmk_tsdl_specifier(in, &type, &words);
		wmk_tsdl_expect(in, ';', "after the declaration of a type");
	}
}
