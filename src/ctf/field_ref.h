/* SPDX-License-Identifier: MIT */
/*
 * field_ref.h - resolve references to lengths and selectors, and assign their registers. Internal to src/ctf: used by
 * compile.c, and by rewrite_label.c, which must not write metadata that exceeds the limits.
 */
#ifndef WMK_CTF_FIELD_REF_H
#define WMK_CTF_FIELD_REF_H

#include "ctf/labels.h"

/* A program under construction. */
struct wmk_ctf_program_draft {
	struct wmk_ctf_op *ops;    /* on the heap; moved to scratch memory when complete */
	const char **names;        /* names of the operations, as in the metadata */
	uint32_t n, cap;
	uint32_t open[WMK_CTF_TYPE_DEPTH + 1]; /* the operations that contain the next one */
	unsigned depth;
};

struct wmk_ctf_compiler {
	struct wmk_scratch scratch;
	const struct wmk_ctf_class *class;
	struct wmk_ctf_program_draft codes[WMK_SCOPES]; /* by scope; n is 0 if the class has no such structure */
	uint8_t registers[3];                 /* next free register of trace, stream, event */
	uint32_t n_all;
	struct wmk_ctf_enums enums;
	uint64_t n_choices;                    /* labels of all variants' selectors */
	/* members compared with a name; each 16 bytes of a name cost as much as one more member */
	uint64_t n_looked;
	const char *what;                      /* for errors: the structure that is being compiled, */
	uint32_t line, column;                 /* the place of its declaration if known, else 0, */
	const char *name;                      /* and the name of the metadata */
};

struct wmk_ctf_field_ref {
	uint8_t reg;
	const struct wmk_type *type;           /* type of the value, or of the first source */
	const struct wmk_ctf_source *sources;  /* as in struct wmk_ctf_op */
	uint32_t n_sources;
};

#define WMK_CTF_CHOICES_MAX (1u << 22) /* labels of all variants' selectors, and ranges */
/*
 * Limit of the name comparisons that one compiler makes. At this limit, searches return no result, and the compiler
 * rejects the metadata.
 */
#define WMK_CTF_LOOKED_MAX (1u << 30)  /* some seconds */

static inline bool wmk_ctf_search_limit_reached(const struct wmk_ctf_compiler *c)
{
	return c->n_looked > WMK_CTF_LOOKED_MAX;
}

/* Find a member of the structure (or an option of the variant) at `begin`, among the compiled operations. */
bool wmk_ctf_find_member(struct wmk_ctf_compiler *c, const struct wmk_ctf_program_draft *code, uint32_t begin,
			 const char *name, uint32_t *found);
/*
 * Resolve `ref` for the operation that the compiler adds next in this scope. `of` is the kind of reference in error
 * messages: "length" or "selector". The walk stores the value in the register when it reads the value. -EPROTO: the
 * value does not exist, does not come before the operation, or is not an integer. -E2BIG: no free register.
 */
int wmk_ctf_field_ref_resolve(struct wmk_ctf_compiler *c, unsigned scope, const struct wmk_ref *ref, const char *of,
		  struct wmk_ctf_field_ref *referred);
/*
 * Report an error at the position of `ref`, or of the current structure if `ref` is NULL or has no known position.
 * Returns -EPROTO.
 */
int __attribute__((format(printf, 3, 4)))
wmk_ctf_compile_error(const struct wmk_ctf_compiler *c, const struct wmk_ref *ref, const char *format, ...);

#endif
