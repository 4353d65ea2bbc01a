/* SPDX-License-Identifier: MIT */
/*
 * rewrite_tsdl.h - types in TSDL, of what was read. Internal to src/ctf; for rewrite_tsdl.c, which makes blocks of
 * them. The first error is kept in `err`.
 */
#ifndef WMK_CTF_REWRITE_TSDL_H
#define WMK_CTF_REWRITE_TSDL_H

#include "ctf/name_index.h"
#include "ctf/tsdl_idents.h"
#include "ctf/rewrite.h"
#include "ctf/text_buffer.h"

/* The options of a variant by their names: three orders of them, in one memory. */
struct wmk_tsdl_options {
	const struct wmk_ctf_op *variant; /* NULL: there are none here */
	struct wmk_ctf_name_entry *idents;  /* by what they are called in TSDL, which only one is */
	struct wmk_ctf_name_entry *shown;   /* by that without one '_' in front */
	/* by what they are called in CTF 2, n_changed of which readers would not find by that */
	struct wmk_ctf_name_entry *changed;
	uint32_t n, n_changed;
	struct wmk_ctf_choice_index ranges;
};

struct wmk_tsdl_writer {
	const struct wmk_ctf_decoder *decoder;
	const struct wmk_ctf_clock_class *clock; /* of the stream; or NULL */
	struct wmk_ctf_text_buffer *out;
	uint32_t lost;
	int err;
	bool has_same_clocks;
	unsigned n_types;          /* that have got a name */
	/* What is being written. */
	struct wmk_ctf_scope_programs parts;
	unsigned scope;
	bool is_clock_told;        /* what readers find the stream's clock by is there already */
	struct wmk_ctf_idents names[WMK_SCOPES];
	struct wmk_tsdl_options options; /* of the variant that was asked for last */
	/* what readers will count (field_ref.h): labels, and what is looked at to find what a name means */
	uint64_t n_labels, n_looked;
};

/* What a clock is called: where two would be called the same, all get their number. */
void wmk_tsdl_clock_ident(const struct wmk_tsdl_writer *w, const struct wmk_ctf_clock_class *clock,
			  char ident[WMK_CTF_IDENT]);
/* What is written next, and the names in the scopes from `first` to `last`, which may ask for each other's. */
void wmk_tsdl_begin(struct wmk_tsdl_writer *w, const struct wmk_ctf_stream_decoder *stream,
		    const struct wmk_ctf_event_decoder *event, unsigned first, unsigned last);
/* `name := struct { ... };` of a scope that there is. */
void wmk_tsdl_put_root(struct wmk_tsdl_writer *w, enum wmk_scope scope, const char *name);

/*
 * Labels (rewrite_label.c). A label as it is; one that selects an option of the variant `of` (NULL: of none) as that is
 * called, where that is another identifier. (It is the option's own already where the option's name was kept.)
 */
const char *wmk_tsdl_label_of(struct wmk_tsdl_writer *w, unsigned scope, const struct wmk_ctf_op *of,
			      const char *label);
/*
 * Does each option stand for the values of the label that is called as it? What no value selects says nothing. That
 * readers meet them is counted.
 */
bool wmk_tsdl_are_labels(struct wmk_tsdl_writer *w, unsigned scope, const struct wmk_ctf_op *variant,
			 const struct wmk_type *labels);
/* Readers will meet a label for each range of its options, called as that. */
void wmk_tsdl_count_options(struct wmk_tsdl_writer *w, unsigned scope, const struct wmk_ctf_op *variant);
/*
 * Readers will meet so many labels more, and look at so many names; of a long name that counts more. Too many: an
 * error.
 */
void wmk_tsdl_count_labels(struct wmk_tsdl_writer *w, uint64_t n_labels, uint64_t n_looked);
uint64_t wmk_tsdl_cost_of(const char *name);
void wmk_tsdl_options_free(struct wmk_tsdl_options *options);

#endif
