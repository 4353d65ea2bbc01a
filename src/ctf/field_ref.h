/* SPDX-License-Identifier: MIT */
/*
 * field_ref.h - where a length or a selector stands, and in which register its value is kept. Internal to src/ctf; for
 * compile.c, and for rewrite_label.c, which writes nothing that goes beyond the limits.
 */
#ifndef WMK_CTF_FIELD_REF_H
#define WMK_CTF_FIELD_REF_H

#include "ctf/labels.h"

/* A program while it is made. */
struct wmk_ctf_program_draft {
	struct wmk_ctf_op *ops;    /* the heap's; moved to the scratch when it is whole */
	const char **names;        /* of the operations, as the metadata has them */
	uint32_t n, cap;
	uint32_t open[WMK_CTF_TYPE_DEPTH + 1]; /* what the next operation is in */
	unsigned depth;
};

struct wmk_ctf_compiler {
	struct wmk_scratch scratch;
	const struct wmk_ctf_class *class;
	struct wmk_ctf_program_draft codes[WMK_SCOPES]; /* by scope; n 0 where there is none */
	uint8_t registers[3];                 /* next of trace, stream, event */
	uint32_t n_all;
	struct wmk_ctf_enums enums;
	uint64_t n_choices;                    /* labels of all variants' selectors */
	/* members that were looked at for what a name means, once more for each 16 bytes of it */
	uint64_t n_looked;
	const char *what;                      /* for errors: the structure that is compiled, ... */
	uint32_t line, column;                 /* ... where it is declared, as far as that is known, ... */
	const char *name;                      /* ... and the metadata */
};

struct wmk_ctf_field_ref {
	uint8_t reg;
	const struct wmk_type *type;           /* of the value; of one of them */
	const struct wmk_ctf_source *sources;  /* as in struct wmk_ctf_op */
	uint32_t n_sources;
};

#define WMK_CTF_CHOICES_MAX (1u << 22) /* labels of all variants' selectors, and ranges */
/* Names have been looked for too long: nothing is found any more, and the metadata is refused. */
#define WMK_CTF_LOOKED_MAX (1u << 30)  /* some seconds */

static inline bool wmk_ctf_search_limit_reached(const struct wmk_ctf_compiler *c)
{
	return c->n_looked > WMK_CTF_LOOKED_MAX;
}

/* The member of the structure (or option of the variant) at `begin`, of what has been compiled. */
bool wmk_ctf_find_member(struct wmk_ctf_compiler *c, const struct wmk_ctf_program_draft *code, uint32_t begin,
			 const char *name, uint32_t *found);
/*
 * What `ref` means, for the operation that is about to be made in this scope; `of`, for errors, is what it is. Its
 * register is set where the value is read. -EPROTO: it is not there, or not before, or no integer; -E2BIG: more
 * registers than there are.
 */
int wmk_ctf_field_ref_resolve(struct wmk_ctf_compiler *c, unsigned scope, const struct wmk_ref *ref, const char *of,
		  struct wmk_ctf_field_ref *referred);
/*
 * An error where `ref` stands; where that is not known, or for NULL, where that is declared which is compiled. -EPROTO.
 */
int __attribute__((format(printf, 3, 4)))
wmk_ctf_compile_error(const struct wmk_ctf_compiler *c, const struct wmk_ref *ref, const char *format, ...);

#endif
