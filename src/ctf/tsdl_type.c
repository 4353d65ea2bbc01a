/* SPDX-License-Identifier: MIT */
/*
 * tsdl_type.c - TSDL's type specifiers and declarators (CTF 1.8.3, section 7.3): as in C, with structures, variants,
 * arrays whose length is another field, and aliases of any name that C could give a type.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "ctf/tsdl_type.h"

#define DIMENSIONS_MAX 16u
#define NAME_MAX_BYTES 4096u         /* of all words of a type */
#define ELEMENTS_MAX ((uint64_t)1 << 31)

/* ── names ───────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * What a name of `len` bytes has room for: it grows where it is, so that all copies of it together are no more than
 * twice the last.
 */
static size_t room_of(size_t len)
{
	size_t room = 32;

	while (room < len + 1)
		room *= 2;
	return room;
}

/* A name that only this has made, or NULL, and one word more behind a `mark`. */
static int lengthen(struct wmk_tsdl *in, char **name, char mark, const char *word, size_t len)
{
	const size_t before = *name ? strlen(*name) : 0, all = before + (before != 0) + len;
	char *longer = *name;

	if (all > NAME_MAX_BYTES)
		return wmk_tsdl_error(in, -EPROTO, "a name of more than %u bytes", NAME_MAX_BYTES);
	if (!longer || room_of(before) < all + 1) {
		longer = wmk_scratch_alloc(&in->to->scratch, room_of(all));
		if (!longer)
			return -ENOMEM;
		memcpy(longer, before ? *name : "", before);
	}
	if (before)
		longer[before] = mark;
	memcpy(longer + all - len, word, len);
	longer[all] = '\0';
	*name = longer;
	return 0;
}

/* Append the next token, a word, and take it. */
static int take_joined(struct wmk_tsdl *in, char **words)
{
	int err = lengthen(in, words, ' ', in->token.text, in->token.len);

	return err < 0 ? err : wmk_tsdl_next(in);
}

int wmk_tsdl_path(struct wmk_tsdl *in, const char **path)
{
	char *text = NULL;
	int got;

	do {
		if (in->token.kind != WMK_TSDL_IDENT)
			return wmk_tsdl_wrong(in, "a name");
		got = lengthen(in, &text, '.', in->token.text, in->token.len);
		if (got >= 0)
			got = wmk_tsdl_next(in);
		if (got < 0)
			return got;
		got = wmk_tsdl_take(in, '.');
		if (got == 0)
			got = wmk_tsdl_take(in, 'A');
	} while (got > 0);
	*path = text;
	return got;
}

/* ── declarators ─────────────────────────────────────────────────────────────────────────────────────── */

struct dimension {
	const struct wmk_ref *ref; /* NULL: `count` */
	uint32_t count;
};

struct declarator {
	const char *name;          /* NULL: none */
	struct wmk_tsdl_token at;  /* where it begins; of one with a name, that */
	unsigned pointers;
	struct dimension dimensions[DIMENSIONS_MAX];
	unsigned n;
};

/* Behind '[', with the ']'. */
static int parse_dimension(struct wmk_tsdl *in, struct declarator *to)
{
	struct dimension *dimension = &to->dimensions[to->n];
	struct wmk_tsdl_token token = in->token;
	int64_t length = 0;
	bool is_unsigned;
	int err;

	if (to->n == DIMENSIONS_MAX)
		return wmk_tsdl_error(in, -EPROTO, "an array of more than %u dimensions", DIMENSIONS_MAX);
	if (in->token.kind == WMK_TSDL_IDENT) {
		const char *path;

		err = wmk_tsdl_path(in, &path);
		if (err >= 0 && strncmp(path, "env.", 4) == 0)
			err = wmk_tsdl_env_number(in, &token, path + 4, &length);
		else if (err >= 0)
			err = wmk_tsdl_ref(in, &token, path, &dimension->ref);
	} else {
		err = wmk_tsdl_number(in, &length, &is_unsigned);
	}
	if (err < 0)
		return err;
	if (length < 0 || length > UINT32_MAX) {
		in->token = token;
		return wmk_tsdl_error(in, -EPROTO, "an array has 0 to %" PRIu32 " elements, not %" PRId64, UINT32_MAX,
				      length);
	}
	dimension->count = (uint32_t)length;
	to->n++;
	return wmk_tsdl_expect(in, ']', "behind an array's length");
}

/* Pointers, a name or none, dimensions; in parentheses too, which change nothing where there is no function. */
static int parse_declarator(struct wmk_tsdl *in, struct declarator *to)
{
	int got;

	if (!to->name)
		to->at = in->token;
	while ((got = wmk_tsdl_take(in, '*')) > 0) {
		to->pointers++;
		while ((got = wmk_tsdl_take_word(in, "const")) > 0)
			;
		if (got < 0)
			return got;
	}
	if (got == 0)
		got = wmk_tsdl_take(in, '(');
	if (got < 0)
		return got;
	if (got > 0) {
		if (++in->depth > WMK_CTF_TYPE_DEPTH)
			return wmk_tsdl_error(in, -E2BIG, "parentheses in more than %u levels", WMK_CTF_TYPE_DEPTH);
		got = parse_declarator(in, to);
		in->depth--;
		if (got >= 0)
			got = wmk_tsdl_expect(in, ')', "behind a declarator");
	} else if (in->token.kind == WMK_TSDL_IDENT && !to->name) {
		to->at = in->token;
		to->name = wmk_tsdl_word(in);
		got = to->name ? wmk_tsdl_next(in) : -ENOMEM;
	}
	if (got < 0)
		return got;
	while ((got = wmk_tsdl_take(in, '[')) > 0) {
		got = parse_dimension(in, to);
		if (got < 0)
			return got;
	}
	return got;
}

/* The type whose name is `words` and so many '*'. (Not on the scratch: a declarator is less than its type's name.) */
static int pointed(struct wmk_tsdl *in, const struct wmk_tsdl_token *at, const char *words, unsigned pointers,
		   struct wmk_type *type)
{
	const struct wmk_type *known;
	const size_t len = words ? strlen(words) : 0;
	char name[NAME_MAX_BYTES + 1];

	if (len > NAME_MAX_BYTES || pointers > (NAME_MAX_BYTES - len) / 2)
		return wmk_tsdl_error_at(in, at, "a name of more than %u bytes", NAME_MAX_BYTES);
	memcpy(name, words ? words : "", len);
	for (unsigned i = 0; i < pointers; i++)
		memcpy(name + len + 2 * i, " *", 2);
	name[len + 2 * (size_t)pointers] = '\0';
	known = words ? wmk_tsdl_find(in, WMK_TSDL_ALIAS, name) : NULL;
	if (!known)
		return wmk_tsdl_error_at(in, at, "there is no type '%.80s'", words ? name : "*");
	*type = *known;
	/* (addresses are hexadecimal to babeltrace, too) */
	if (type->kind == WMK_TYPE_INT)
		type->base = 16;
	return 0;
}

static int too_large(struct wmk_tsdl *in, const struct declarator *declarator)
{
	in->token = declarator->at;
	return wmk_tsdl_error(in, -E2BIG, "an array of more than %" PRIu64 " elements, in all its dimensions together",
			      ELEMENTS_MAX);
}

/* What `declarator` makes of `base`, which begins at the token and whose name is `words`. */
static int apply(struct wmk_tsdl *in, const struct declarator *declarator, const struct wmk_type *base,
		 const struct wmk_tsdl_token *at, const char *words,
		 struct wmk_type *type)
{
	uint64_t n_all = 1;
	int err;

	*type = *base;
	if (declarator->pointers) {
		err = pointed(in, at, words, declarator->pointers, type);
		if (err < 0)
			return err;
	} else if (!base->kind && !base->align && words) {
		return wmk_tsdl_error_at(in, at, "there is no type '%.80s'", words);
	}
	for (unsigned i = declarator->n; i-- > 0;) {
		const struct dimension *dimension = &declarator->dimensions[i];
		struct wmk_type *elem = wmk_scratch_alloc(&in->to->scratch, sizeof(*elem));

		if (!elem)
			return -ENOMEM;
		*elem = *type;
		*type = (struct wmk_type){ .kind = dimension->ref ? WMK_TYPE_SEQUENCE : WMK_TYPE_ARRAY, .count = dimension->count, .elem = elem,
					   .ref = dimension->ref, .align = elem->align };
		n_all = dimension->ref ? 1 : n_all * dimension->count;
		if (n_all > ELEMENTS_MAX)
			return too_large(in, declarator);
		type->is_text = elem->kind == WMK_TYPE_INT && elem->is_text && elem->width == 8 && elem->align == 8;
	}
	return 0;
}

/* ── structures and variants ─────────────────────────────────────────────────────────────────────────── */

/* `specifier declarator, declarator;` */
static int parse_fields(struct wmk_tsdl *in, struct wmk_ctf_list *fields)
{
	const struct wmk_tsdl_token at = in->token;
	const char *words;
	struct wmk_type base;
	int err = wmk_tsdl_specifier(in, &base, &words), got;

	if (err < 0)
		return err;
	/* `struct name { ... };` declares a type and no field. */
	got = words ? 0 : wmk_tsdl_take(in, ';');
	if (got)
		return got < 0 ? got : 0;
	if (base.kind == WMK_TYPE_VARIANT && !base.ref)
		return wmk_tsdl_error_at(in, &at, "a variant without a tag: variant <TAG> { ... }");
	do {
		struct declarator declarator = { .name = NULL };
		struct wmk_field *field = wmk_ctf_list_add(in->to, fields, sizeof(*field), WMK_CTF_EVENTS_MAX);

		if (!field)
			return -ENOMEM;
		err = parse_declarator(in, &declarator);
		if (err >= 0 && !declarator.name)
			return wmk_tsdl_wrong(in, "a field's name");
		if (err >= 0)
			err = apply(in, &declarator, &base, &at, words, &field->type);
		if (err >= 0)
			err = wmk_tsdl_declare(in, &declarator.at, WMK_TSDL_FIELD, declarator.name, &field->type);
		if (err < 0)
			return err;
		field->name = declarator.name;
		got = wmk_tsdl_take(in, ',');
	} while (got > 0);
	return got < 0 ? got : wmk_tsdl_expect(in, ';', "behind a field");
}

/* `{ fields }` of a structure or variant, in a scope of its own. */
static int parse_members(struct wmk_tsdl *in, struct wmk_type *type)
{
	struct wmk_ctf_list fields = { NULL, 0, 0 };
	int err = wmk_tsdl_expect(in, '{', "before the fields"), got = 0;

	if (err >= 0)
		err = wmk_tsdl_enter(in);
	if (err < 0)
		return err;
	while (err >= 0 && (got = wmk_tsdl_take(in, '}')) == 0) {
		if (wmk_tsdl_is_word(in, "typedef") || wmk_tsdl_is_word(in, "typealias"))
			err = wmk_tsdl_declaration(in);
		else
			err = parse_fields(in, &fields);
	}
	wmk_tsdl_leave(in);
	type->members = fields.items;
	type->count = fields.n;
	return err < 0 ? err : got < 0 ? got : 0;
}

static void align_struct(struct wmk_type *type)
{
	for (uint32_t i = 0; i < type->count; i++)
		if (type->members[i].type.align > type->align)
			type->align = type->members[i].type.align;
}

/* A tag alone: the type that it was declared for. 1: that was it. */
static int known_tag(struct wmk_tsdl *in, char space, const char *what, const char *tag,
		     const struct wmk_tsdl_token *at, struct wmk_type *type)
{
	const struct wmk_type *known = wmk_tsdl_find(in, space, tag);

	if (known) {
		*type = *known;
		return 1;
	}
	in->is_cut = in->token.kind == WMK_TSDL_END;
	return wmk_tsdl_error_at(in, at, "there is no '%s %.60s'", what, tag);
}

/* Behind `align` of a structure: what is no power of two and less than its members have changes nothing. */
static int parse_align(struct wmk_tsdl *in, struct wmk_type *type)
{
	int err = wmk_tsdl_expect(in, '(', "behind 'align'");
	const struct wmk_tsdl_token token = in->token;
	uint32_t align = 1;

	if (err < 0)
		return err;
	const bool is_power = token.number && !(token.number & (token.number - 1));

	if (token.kind == WMK_TSDL_NUMBER && token.number <= type->align && !is_power) {
		err = wmk_tsdl_warn(in, &token, "an alignment that is no power of two is ignored");
		if (err >= 0)
			err = wmk_tsdl_next(in);
	} else {
		err = wmk_tsdl_alignment(in, &align);
	}
	if (align > type->align)
		type->align = align;
	return err < 0 ? err : wmk_tsdl_expect(in, ')', "behind an alignment");
}

/* Behind `struct`. */
static int parse_struct(struct wmk_tsdl *in, struct wmk_type *type)
{
	struct wmk_tsdl_token at = in->token;
	const char *tag = NULL;
	int err = 0, got;

	*type = (struct wmk_type){ .kind = WMK_TYPE_STRUCT, .align = 1 };
	if (in->token.kind == WMK_TSDL_IDENT) {
		tag = wmk_tsdl_word(in);
		err = tag ? wmk_tsdl_next(in) : -ENOMEM;
		if (err < 0)
			return err;
		if (!wmk_tsdl_is(in, '{')) {
			err = known_tag(in, WMK_TSDL_STRUCT_TAG, "struct", tag, &at, type);
			return err < 0 ? err : 0;
		}
	}
	err = parse_members(in, type);
	if (err < 0)
		return err;
	align_struct(type);
	got = wmk_tsdl_take_word(in, "align");
	if (got > 0)
		got = parse_align(in, type);
	if (got < 0)
		return got;
	return tag ? wmk_tsdl_declare(in, &at, WMK_TSDL_STRUCT_TAG, tag, type) : 0;
}

/* `<path>` before or behind a variant's tag. */
static int parse_selector(struct wmk_tsdl *in, struct wmk_type *type)
{
	const char *path;
	int got = wmk_tsdl_take(in, '<');
	const struct wmk_tsdl_token token = in->token;

	if (got <= 0)
		return got;
	got = wmk_tsdl_path(in, &path);
	if (got >= 0)
		got = wmk_tsdl_ref(in, &token, path, &type->ref);
	return got < 0 ? got : wmk_tsdl_expect(in, '>', "behind a variant's selector");
}

/* Behind `variant`: [NAME] [<path>] [{ ... }]. */
static int parse_variant(struct wmk_tsdl *in, struct wmk_type *type)
{
	const struct wmk_tsdl_token word = in->word;
	const struct wmk_ref *ref;
	struct wmk_tsdl_token at = in->token;
	const char *tag = NULL;
	int err;

	*type = (struct wmk_type){ .kind = WMK_TYPE_VARIANT, .align = 1 };
	err = parse_selector(in, type);
	if (err >= 0 && in->token.kind == WMK_TSDL_IDENT) {
		at = in->token;
		tag = wmk_tsdl_word(in);
		err = tag ? wmk_tsdl_next(in) : -ENOMEM;
		if (err >= 0 && !type->ref)
			err = parse_selector(in, type);
	}
	if (err < 0)
		return err;
	if (tag && !wmk_tsdl_is(in, '{')) {
		ref = type->ref;
		err = known_tag(in, WMK_TSDL_VARIANT_TAG, "variant", tag, &at, type);
		if (ref)
			type->ref = ref;
		return err < 0 ? err : 0;
	}
	err = parse_members(in, type);
	if (err >= 0 && !type->count)
		return wmk_tsdl_error_at(in, &word, "a variant without members");
	return err < 0 || !tag ? err : wmk_tsdl_declare(in, &at, WMK_TSDL_VARIANT_TAG, tag, type);
}

/* ── specifiers ──────────────────────────────────────────────────────────────────────────────────────── */

static bool is_c_word(const struct wmk_tsdl *in)
{
	static const char *const words[] = { "const", "volatile", "signed",   "unsigned",  "char",
					     "short", "int",      "long",     "float",     "double",
					     "void",  "_Bool",    "_Complex", "_Imaginary" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (wmk_tsdl_is_word(in, words[i]))
			return true;
	return false;
}

/* `unsigned long`, `const my_type`: words of C, as many as there are, or with a qualifier at most one other name. */
static int parse_words(struct wmk_tsdl *in, char **words)
{
	bool qualified_only = true;
	int err;

	while (is_c_word(in)) {
		qualified_only = qualified_only && (wmk_tsdl_is_word(in, "const") || wmk_tsdl_is_word(in, "volatile"));
		err = take_joined(in, words);
		if (err < 0)
			return err;
	}
	if (!qualified_only)
		return 0;
	if (in->token.kind != WMK_TSDL_IDENT)
		return wmk_tsdl_wrong(in, "a type");
	return take_joined(in, words);
}

/* A type that is known by name. A name that only a '*' makes one is found later, in apply(): the type is left empty. */
static int known_alias(struct wmk_tsdl *in, struct wmk_type *type, const char **words)
{
	struct wmk_tsdl_token at = in->token;
	const struct wmk_type *known;
	char *name = NULL;
	int err = parse_words(in, &name);

	if (err < 0)
		return err;
	*words = name;
	known = wmk_tsdl_find(in, WMK_TSDL_ALIAS, *words);
	if (!known && strncmp(*words, "const ", 6) == 0)
		known = wmk_tsdl_find(in, WMK_TSDL_ALIAS, *words + 6);
	*type = known ? *known : (struct wmk_type){ 0 };
	if (known || wmk_tsdl_is(in, '*'))
		return 0;
	in->is_cut = in->token.kind == WMK_TSDL_END;
	in->token = at;
	return wmk_tsdl_error(in, -EPROTO, "there is no type '%.80s'", *words);
}

int wmk_tsdl_specifier(struct wmk_tsdl *in, struct wmk_type *type, const char **words)
{
	static const struct {
		const char *word;
		int (*parse)(struct wmk_tsdl *in, struct wmk_type *type);
	} kinds[] = { { "integer", wmk_tsdl_integer }, { "floating_point", wmk_tsdl_float },
		      { "string", wmk_tsdl_string },   { "enum", wmk_tsdl_enum },
		      { "struct", parse_struct },      { "variant", parse_variant } };
	int err, got = 0;

	*words = NULL;
	if (in->depth >= WMK_CTF_TYPE_DEPTH)
		return wmk_tsdl_error(in, -E2BIG, "types within types in more than %u levels", WMK_CTF_TYPE_DEPTH);
	const struct wmk_tsdl_token word = in->token;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		got = wmk_tsdl_take_word(in, kinds[i].word);
		if (got < 0)
			return got;
		if (got > 0) {
			in->depth++;
			in->word = word;
			err = kinds[i].parse(in, type);
			in->depth--;
			return err;
		}
	}
	return known_alias(in, type, words);
}

int wmk_tsdl_type(struct wmk_tsdl *in, struct wmk_type *type)
{
	struct declarator declarator = { .name = NULL };
	const struct wmk_tsdl_token at = in->token;
	struct wmk_type base;
	const char *words;
	int err = wmk_tsdl_specifier(in, &base, &words);

	if (err >= 0)
		err = parse_declarator(in, &declarator);
	if (err >= 0 && declarator.name)
		return wmk_tsdl_error_at(in, &declarator.at, "a name is not expected here: '%.60s'", declarator.name);
	return err < 0 ? err : apply(in, &declarator, &base, &at, words, type);
}

/* ── declarations ────────────────────────────────────────────────────────────────────────────────────── */

bool wmk_tsdl_is_declaration(const struct wmk_tsdl *in)
{
	return wmk_tsdl_is_word(in, "typedef") || wmk_tsdl_is_word(in, "typealias") || wmk_tsdl_is_word(in, "struct") ||
	       wmk_tsdl_is_word(in, "variant") || wmk_tsdl_is_word(in, "enum");
}

static int parse_typedef(struct wmk_tsdl *in)
{
	const struct wmk_tsdl_token at = in->token;
	struct wmk_type base, type;
	const char *words;
	int err = wmk_tsdl_specifier(in, &base, &words), got;

	if (err < 0)
		return err;
	do {
		struct declarator declarator = { .name = NULL };

		err = parse_declarator(in, &declarator);
		if (err >= 0 && !declarator.name)
			return wmk_tsdl_wrong(in, "a name for the type");
		if (err >= 0)
			err = apply(in, &declarator, &base, &at, words, &type);
		if (err >= 0)
			err = wmk_tsdl_declare(in, &declarator.at, WMK_TSDL_ALIAS, declarator.name, &type);
		if (err < 0)
			return err;
		got = wmk_tsdl_take(in, ',');
	} while (got > 0);
	return got < 0 ? got : wmk_tsdl_expect(in, ';', "behind a typedef");
}

/* `typealias TYPE := NAME;`, where the name is what C would call the type: "unsigned long", "void *". */
static int parse_typealias(struct wmk_tsdl *in)
{
	char *words = NULL;
	struct wmk_type type;
	int err = wmk_tsdl_type(in, &type), got = 0;

	if (err >= 0)
		err = wmk_tsdl_expect(in, 'D', "behind the type of a typealias");
	const struct wmk_tsdl_token at = in->token;

	while (err >= 0 && in->token.kind == WMK_TSDL_IDENT)
		err = take_joined(in, &words);
	if (err >= 0 && !words)
		return wmk_tsdl_wrong(in, "a name for the type");
	while (err >= 0 && (got = wmk_tsdl_take(in, '*')) > 0) {
		err = lengthen(in, &words, ' ', "*", 1);
		while (err >= 0 && (got = wmk_tsdl_take_word(in, "const")) > 0)
			;
		if (err >= 0 && got < 0)
			err = got;
	}
	if (err < 0 || got < 0)
		return err < 0 ? err : got;
	err = wmk_tsdl_declare(in, &at, WMK_TSDL_ALIAS, words, &type);
	return err < 0 ? err : wmk_tsdl_expect(in, ';', "behind a typealias");
}

int wmk_tsdl_declaration(struct wmk_tsdl *in)
{
	struct wmk_type type;
	const char *words;
	int err, got = wmk_tsdl_take_word(in, "typedef");

	if (got)
		return got < 0 ? got : parse_typedef(in);
	got = wmk_tsdl_take_word(in, "typealias");
	if (got)
		return got < 0 ? got : parse_typealias(in);
	err = wmk_tsdl_specifier(in, &type, &words);
	return err < 0 ? err : wmk_tsdl_expect(in, ';', "behind the declaration of a type");
}
