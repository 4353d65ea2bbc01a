/* SPDX-License-Identifier: MIT */
/*
 * rewrite_tsdl.h - write the types of a trace as TSDL. Internal to src/ctf; used by rewrite_tsdl.c, which writes the
 * blocks. The member `err` keeps the first error.
 */
#ifndef WMK_CTF_REWRITE_TSDL_H
#define WMK_CTF_REWRITE_TSDL_H

#include "ctf/name_index.h"
#include "ctf/tsdl_idents.h"
#include "ctf/rewrite.h"
#include "ctf/text_buffer.h"

/* The options of a variant, sorted by three kinds of names; the three arrays share one allocation. */
struct wmk_tsdl_options {
	const struct wmk_ctf_op *variant; /* NULL: empty */
	struct wmk_ctf_name_entry *idents;  /* by the names in TSDL, which are unique */
	struct wmk_ctf_name_entry *shown;   /* by the names in TSDL without one leading '_' */
	/* by the names in CTF 2: only the `n_changed` options for which readers of 1.8 see another name */
	struct wmk_ctf_name_entry *changed;
	uint32_t n, n_changed;
	struct wmk_ctf_choice_index ranges;
};

struct wmk_tsdl_writer {
	const struct wmk_ctf_decoder *decoder;
	const struct wmk_ctf_clock_class *clock; /* the stream's clock, or NULL */
	struct wmk_ctf_text_buffer *out;
	uint32_t lost;
	int err;
	bool has_same_clocks;
	unsigned n_types;          /* number of types with a generated name */
	/* state of what is being written */
	struct wmk_ctf_scope_programs parts;
	unsigned scope;
	bool is_clock_told;        /* a field that maps to the stream's clock is written */
	struct wmk_ctf_idents names[WMK_SCOPES];
	struct wmk_tsdl_options options; /* cache: options of the last variant */
	/* costs that a reader will count (field_ref.h): labels, and comparisons of names */
	uint64_t n_labels, n_looked;
};

/*
 * The identifier of a clock. If several clocks would have the same identifier, every clock identifier of the trace ends
 * with the number of its clock.
 */
void wmk_tsdl_clock_ident(const struct wmk_tsdl_writer *w, const struct wmk_ctf_clock_class *clock,
			  char ident[WMK_CTF_IDENT]);
/*
 * Start a stream or event: make the identifiers of the scopes from `first` to `last`.
 */
void wmk_tsdl_begin(struct wmk_tsdl_writer *w, const struct wmk_ctf_stream_decoder *stream,
		    const struct wmk_ctf_event_decoder *event, unsigned first, unsigned last);
/* Write `name := struct { ... };` for a scope that exists. */
void wmk_tsdl_put_root(struct wmk_tsdl_writer *w, enum wmk_scope scope, const char *name);

/*
 * Return the name of a label in TSDL (rewrite_label.c). If a label selects an option of the variant `of` (NULL: no
 * variant) and differs from the option's identifier, the identifier replaces the label. (If the option kept its
 * original name, the label already equals the identifier.)
 */
const char *wmk_tsdl_label_of(struct wmk_tsdl_writer *w, unsigned scope, const struct wmk_ctf_op *of,
			      const char *label);
/*
 * Return whether the variant's options are selected by their labels: the label with an option's name has exactly the
 * values that select the option. The function ignores options that no value selects. The function adds a reader's cost
 * of the variant to the costs in `w`.
 */
bool wmk_tsdl_are_labels(struct wmk_tsdl_writer *w, unsigned scope, const struct wmk_ctf_op *variant,
			 const struct wmk_type *labels);
/*
 * Add a reader's cost of a selector that has one label for each range of each option. In this selector, each label has
 * the name of its option.
 */
void wmk_tsdl_count_options(struct wmk_tsdl_writer *w, unsigned scope, const struct wmk_ctf_op *variant);
/*
 * Add to the total costs that a reader of the metadata has, which are stored in `w`. If the total costs exceed a limit
 * of readers, the error of `w` becomes -ENOTSUP. Each 16 bytes of a name add 1 to its cost.
 */
void wmk_tsdl_count_labels(struct wmk_tsdl_writer *w, uint64_t n_labels, uint64_t n_looked);
uint64_t wmk_tsdl_cost_of(const char *name);
void wmk_tsdl_options_free(struct wmk_tsdl_options *options);

#endif
