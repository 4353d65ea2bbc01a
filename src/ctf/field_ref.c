/* SPDX-License-Identifier: MIT */
/*
 * field_ref.c - resolve references to values in registers (see field_ref.h).
 *
 * For CTF 1.8, section 7.3.2 of CTF 1.8.3 defines the search for a name without a scope. The search first covers the
 * preceding fields of the enclosing structures, the innermost structure first. The search then covers the preceding
 * root structures, the latest first.
 *
 * In CTF 2, a reference is a path (CTF2-SPEC-2.0, "Field location"), which consists of names that lead through
 * structures. In the path, an array stands for its current element, a variant for its selected option, and an optional
 * field for its content. If the referenced value is in the same array element, option or optional field as the
 * reference, the compiler knows the place of the value. If the path leads into a preceding variant or optional field,
 * the place is known only while a record is read:
 *
 *     VARIANT save=7 │ option 3: INT save=8 │ option 5: INT save=9 │ ...
 *     ARRAY ref=10, sources: register 8 if register 7 is 3, register 9 if it is 5
 *
 * The walk sets each register when it reads the value; register 7 receives the selected option. Before the walk reads
 * the array, register 10 receives the value of the selected source.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "ctf/build.h"
#include "ctf/field_ref.h"
#include "ctf/format_names.h"

#define FOUND_MAX 16u              /* places that a path may lead to */

static bool same_name(const struct wmk_ctf_compiler *c, const char *a, const char *b, bool exactly)
{
	if (!a || !b)
		return false;
	return exactly ? strcmp(a, b) == 0
		       : strcmp(wmk_ctf_shown_name(c->class, a), wmk_ctf_shown_name(c->class, b)) == 0;
}

bool wmk_ctf_find_member(struct wmk_ctf_compiler *c, const struct wmk_ctf_program_draft *code, uint32_t begin,
			 const char *name, uint32_t *found)
{
	const uint64_t each = 1 + (name ? strlen(name) / 16 : 0);

	c->n_looked += each;
	for (int exactly = 1; exactly >= 0; exactly--) {
		const uint32_t last = code->ops[begin].next > begin + 1 ? code->ops[begin].next : code->n;

		/*
		 * The loop ends at an open operation, which is the last member so far and has no `next`.
		 */
		for (uint32_t i = begin + 1; i && i < last && !wmk_ctf_search_limit_reached(c);
		     i = code->ops[i].next, c->n_looked += each)
			if (code->ops[i].code != WMK_CTF_END && same_name(c, code->names[i], name, exactly)) {
				*found = i;
				return true;
			}
	}
	return false;
}

int wmk_ctf_compile_error(const struct wmk_ctf_compiler *c, const struct wmk_ref *ref, const char *format, ...)
{
	const bool is_known = ref && ref->line;
	char words[WMK_ERROR_LEN], at[WMK_CTF_AT];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	wmk_ctf_at(at, c->name, is_known ? ref->line : c->line, is_known ? ref->column : c->column);
	return wmk_error(-EPROTO, "%s%s: %s", at, c->what, words);
}

static const char *ref_text(const struct wmk_ref *ref, char *text, size_t size)
{
	size_t len = (size_t)snprintf(text, size, "%s", wmk_tsdl_scope_names[ref->scope]);

	for (unsigned i = 0; i < ref->n && len < size - 1; i++) {
		int n = snprintf(text + len, size - len, "%s%s", len ? "." : "",
				 ref->names[i] ? ref->names[i] : "(out)");

		len += n < 0 ? 0 : (size_t)n;
	}
	return text;
}

/* ── CTF 1.8 ─────────────────────────────────────────────────────────────────────────────────────────── */

/* Follow the names of the path from the structure at index `begin`. */
static bool find_path(struct wmk_ctf_compiler *c, const struct wmk_ctf_program_draft *code, uint32_t begin,
		      const struct wmk_ref *ref, unsigned from, uint32_t *found)
{
	for (unsigned i = from; i < ref->n; i++) {
		if (code->ops[begin].code != WMK_CTF_STRUCT ||
		    !wmk_ctf_find_member(c, code, begin, ref->names[i], found))
			return false;
		begin = *found;
	}
	return ref->n > from;
}

static bool find_near(struct wmk_ctf_compiler *c, unsigned scope, const struct wmk_ref *ref, unsigned *in,
		      uint32_t *found)
{
	const struct wmk_ctf_program_draft *code = &c->codes[scope];

	*in = scope;
	for (unsigned i = code->depth; i-- > 0;)
		if (find_path(c, code, code->open[i], ref, 0, found))
			return true;
	for (*in = scope; (*in)-- > WMK_SCOPE_PACKET_HEADER;)
		if (c->codes[*in].n && find_path(c, &c->codes[*in], 0, ref, 0, found))
			return true;
	return false;
}

/* ── CTF 2 ───────────────────────────────────────────────────────────────────────────────────────────── */

/* An operation at which a path of CTF 2 may end. */
struct path_end {
	uint32_t op;
	unsigned n_passed;
	struct {
		uint32_t op, option;
	} passed[WMK_CTF_TYPE_DEPTH]; /* preceding variants and optional fields, and the option that must be selected */
};

struct ref_search {
	struct wmk_ctf_compiler *c;
	const struct wmk_ctf_program_draft *code;
	const struct wmk_ref *ref;
	struct path_end way;                /* current path */
	struct path_end found[FOUND_MAX];
	unsigned n;
	/* a path ends at another type than an integer; a path leads through a complete array */
	bool is_other, is_closed;
};

static bool is_integer(const struct wmk_ctf_op *op)
{
	return (op->code == WMK_CTF_INT && !op->type->is_bits) || op->code == WMK_CTF_ENUM || op->code == WMK_CTF_BOOL;
}

/*
 * Return the open operation that is directly inside the open operation `at`. 0: `at` is not open, or is the innermost
 * one.
 */
static uint32_t open_in(const struct wmk_ctf_program_draft *code, uint32_t at)
{
	for (unsigned i = 0; i + 1 < code->depth; i++)
		if (code->open[i] == at)
			return code->open[i + 1];
	return 0;
}

static int look(struct ref_search *s, uint32_t at, unsigned step);

/* Search in each option of a variant, or in the content of an optional field. */
static int look_inside(struct ref_search *s, uint32_t at, unsigned step)
{
	const struct wmk_ctf_op *ops = s->code->ops;
	struct path_end *way = &s->way;
	int err = 0;

	if (way->n_passed == WMK_CTF_TYPE_DEPTH)
		return -E2BIG;
	way->n_passed++;
	for (uint32_t i = at + 1; ops[i].code != WMK_CTF_END && err >= 0 && !wmk_ctf_search_limit_reached(s->c);
	     i = ops[i].next) {
		way->passed[way->n_passed - 1].op = at;
		way->passed[way->n_passed - 1].option = i;
		err = look(s, i, step);
	}
	way->n_passed--;
	return err;
}

/* Search from the operation `at` for the names of the path from index `step`. */
static int look(struct ref_search *s, uint32_t at, unsigned step)
{
	const struct wmk_ctf_op *op = &s->code->ops[at];
	const uint32_t open = open_in(s->code, at);
	uint32_t member;

	s->c->n_looked += 1 + s->code->depth / 16;
	switch (op->code) {
	case WMK_CTF_STRUCT:
		if (step < s->ref->n)
			return wmk_ctf_find_member(s->c, s->code, at, s->ref->names[step], &member)
				       ? look(s, member, step + 1)
				       : 0;
		break;
	case WMK_CTF_ARRAY:
		s->is_closed |= op->next != 0;
		return open ? look(s, open, step) : 0;
	case WMK_CTF_VARIANT:
	case WMK_CTF_OPTIONAL:
		if (open || !op->next)
			return open ? look(s, open, step) : 0;
		return look_inside(s, at, step);
	default:
		break;
	}
	if (step < s->ref->n)
		return 0;
	if (!is_integer(op)) {
		s->is_other = true;
		return 0;
	}
	if (s->n == FOUND_MAX)
		return -E2BIG;
	s->way.op = at;
	s->found[s->n++] = s->way;
	return 0;
}

/*
 * Return the number of open operations down to the innermost structure among the first `depth` operations; 0: none of
 * them is a structure.
 */
static unsigned innermost(const struct wmk_ctf_program_draft *code, unsigned depth)
{
	while (depth && code->ops[code->open[depth - 1]].code != WMK_CTF_STRUCT)
		depth--;
	return depth;
}

/*
 * Search from the innermost enclosing structure; each NULL at the start of the path moves the search to the next
 * enclosing structure.
 */
static int look_near(struct ref_search *s)
{
	unsigned depth = innermost(s->code, s->code->depth), step = 0;

	for (; depth && step < s->ref->n && !s->ref->names[step]; step++)
		depth = innermost(s->code, depth - 1);
	return depth && step < s->ref->n ? look(s, s->code->open[depth - 1], step) : 0;
}

/* ── registers ───────────────────────────────────────────────────────────────────────────────────────── */

static int take_register(struct wmk_ctf_compiler *c, unsigned scope, uint8_t *reg)
{
	static const uint8_t ends[] = { WMK_CTF_REGISTERS_STREAM, WMK_CTF_REGISTERS_EVENT, WMK_CTF_REGISTERS };
	const unsigned level = scope <= WMK_SCOPE_PACKET_HEADER ? 0 : scope <= WMK_SCOPE_COMMON_CONTEXT ? 1 : 2;

	if (*reg)
		return 0;
	if (c->registers[level] == ends[level])
		return wmk_error(-E2BIG, "%s: more than %u fields are used as lengths or selectors", c->what,
				 ends[level]);
	*reg = c->registers[level]++;
	return 0;
}

/* Assign registers to the value and to the variants and optional fields on its path. */
static int make_source(struct wmk_ctf_compiler *c, unsigned in, const struct path_end *end,
		       struct wmk_ctf_source *source)
{
	struct wmk_ctf_op *ops = c->codes[in].ops;
	struct wmk_ctf_passed *passed = wmk_scratch_alloc(&c->scratch, end->n_passed * sizeof(*passed));
	int err = passed ? take_register(c, in, &ops[end->op].save) : -ENOMEM;

	for (unsigned i = 0; i < end->n_passed && err >= 0; i++) {
		err = take_register(c, in, &ops[end->passed[i].op].save);
		passed[i] = (struct wmk_ctf_passed){ ops[end->passed[i].op].save, end->passed[i].option };
	}
	*source = (struct wmk_ctf_source){ .reg = ops[end->op].save,
					   .scope = (uint8_t)in,
					   .op = end->op,
					   .n_passed = end->n_passed,
					   .passed = passed };
	return err;
}

static int refer_to_all(struct wmk_ctf_compiler *c, unsigned scope, unsigned in, const struct ref_search *s,
			const char *of, struct wmk_ctf_field_ref *referred)
{
	struct wmk_ctf_source *sources = wmk_scratch_alloc(&c->scratch, s->n * sizeof(*sources));
	const struct wmk_ctf_op *ops = c->codes[in].ops, *first = &ops[s->found[0].op];
	int err = sources ? take_register(c, scope, &referred->reg) : -ENOMEM;

	for (unsigned i = 0; i < s->n && err >= 0; i++) {
		const struct wmk_ctf_op *op = &ops[s->found[i].op];

		/* (an enumeration counts as an integer: the fields that use the value have ranges of their own) */
		if ((op->code == WMK_CTF_BOOL) != (first->code == WMK_CTF_BOOL) || op->is_signed != first->is_signed)
			return wmk_ctf_compile_error(c, s->ref,
						     "the %s may refer to several fields, which have different types",
						     of);
		err = make_source(c, in, &s->found[i], &sources[i]);
	}
	referred->type = first->type;
	referred->sources = sources;
	referred->n_sources = s->n;
	return err;
}

/* Resolve a path of CTF 2. *found becomes the operation, or 0 if the value has sources, which are then in *referred. */
static int refer_by_way(struct wmk_ctf_compiler *c, unsigned scope, const struct wmk_ref *ref, const char *of,
			uint32_t *found, struct wmk_ctf_field_ref *referred)
{
	const unsigned in = ref->scope == WMK_SCOPE_NEAR ? scope : ref->scope;
	/* (not initialised here: it is too large to be cleared for each reference) */
	struct ref_search s;
	int err = 0;

	*found = 0;
	s.c = c;
	s.code = &c->codes[in];
	s.ref = ref;
	s.n = s.way.n_passed = 0;
	s.is_other = s.is_closed = false;
	if (ref->scope == WMK_SCOPE_NEAR)
		err = look_near(&s);
	else if (in <= scope && s.code->n)
		err = look(&s, 0, 0);
	if (err < 0)
		return wmk_error(err, "%s: the reference to a %s matches more than %u fields", c->what, of, FOUND_MAX);
	if (!s.n && s.is_closed)
		return wmk_ctf_compile_error(
			c, ref, "the %s is inside an earlier array: the reference does not select an element", of);
	if (!s.n)
		return s.is_other ? -EDOM : -ENOENT;
	if (s.n > 1 || s.found[0].n_passed)
		return refer_to_all(c, scope, in, &s, of, referred);
	*found = s.found[0].op;
	return 0;
}

int wmk_ctf_field_ref_resolve(struct wmk_ctf_compiler *c, unsigned scope, const struct wmk_ref *ref, const char *of,
		  struct wmk_ctf_field_ref *referred)
{
	unsigned in = ref->scope == WMK_SCOPE_NEAR ? scope : ref->scope;
	uint32_t found = 0;
	char text[80];
	int err = -ENOENT;

	*referred = (struct wmk_ctf_field_ref){ .reg = 0 };
	if (c->class->major != 1)
		err = refer_by_way(c, scope, ref, of, &found, referred);
	else if (ref->scope == WMK_SCOPE_NEAR
			 ? find_near(c, scope, ref, &in, &found)
			 : in <= scope && c->codes[in].n && find_path(c, &c->codes[in], 0, ref, 0, &found))
		err = is_integer(&c->codes[in].ops[found]) ? 0 : -EDOM;
	if (wmk_ctf_search_limit_reached(c))
		return wmk_ctf_compile_error(c, ref,
					     "the references between fields need too many comparisons: the limit was "
					     "reached at the %s '%s'",
					     of, ref_text(ref, text, sizeof(text)));
	if (err == -ENOENT)
		return wmk_ctf_compile_error(
			c, ref, "the %s '%s' does not exist, or does not come before the field that needs it", of,
			ref_text(ref, text, sizeof(text)));
	if (err == -EDOM)
		return wmk_ctf_compile_error(c, ref, "the %s '%s' is not an integer", of,
					     ref_text(ref, text, sizeof(text)));
	if (err < 0 || !found)
		return err;
	struct wmk_ctf_op *op = &c->codes[in].ops[found];

	err = take_register(c, in, &op->save);
	referred->reg = op->save;
	referred->type = op->type;
	return err;
}
