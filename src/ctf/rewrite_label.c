/* SPDX-License-Identifier: MIT */
/*
 * rewrite_label.c - names of a selector's labels in TSDL, and the check whether the labels select the options of a
 * variant (see rewrite_tsdl.h).
 *
 * For each variant, a reader searches all labels of the selector. For each label, a reader compares the label with the
 * names of the options (compile.c, field_ref.c). rewrite_label.c counts the labels and comparisons that a reader
 * counts, so that written metadata never exceeds the limits of readers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ctf/field_ref.h"
#include "ctf/rewrite_tsdl.h"

void wmk_tsdl_count_labels(struct wmk_tsdl_writer *w, uint64_t n_labels, uint64_t n_looked)
{
	w->n_labels += n_labels;
	w->n_looked += n_looked;
	if ((w->n_labels > WMK_CTF_CHOICES_MAX || w->n_looked > WMK_CTF_LOOKED_MAX) && w->err >= 0)
		w->err = wmk_error(-ENOTSUP,
				   "the selectors of all variants together have too many labels, or their labels are "
				   "too long: readers of CTF 1.8 would reject them");
}

uint64_t wmk_tsdl_cost_of(const char *name)
{
	return 1 + strlen(name) / 16;
}

/* ── options by their names ──────────────────────────────────────────────────────────────────────────── */

void wmk_tsdl_options_free(struct wmk_tsdl_options *options)
{
	free(options->idents);
	wmk_ctf_choice_index_free(&options->ranges);
	*options = (struct wmk_tsdl_options){ .variant = NULL };
}

static const char *without_bar(const char *name)
{
	return name + (*name == '_');
}

/*
 * Return whether the option's identifier in TSDL differs from its name in CTF 2 by more than a leading '_'. If the
 * identifier differs, a label that equals the name in CTF 2 must change, because readers of TSDL find the option only
 * by a label that equals the identifier.
 */
static bool is_changed(const struct wmk_ctf_op *option, const char *ident)
{
	return option->name && strcmp(ident, option->name) != 0 &&
	       strcmp(without_bar(ident), without_bar(option->name)) != 0;
}

static int make_options(const struct wmk_tsdl_writer *w, struct wmk_tsdl_options *options, unsigned scope,
			const struct wmk_ctf_op *variant)
{
	const struct wmk_ctf_op *ops = w->parts.of[scope]->ops;
	uint32_t n = 0;

	for (uint32_t i = (uint32_t)(variant - ops) + 1; ops[i].code != WMK_CTF_END; i = ops[i].next)
		n++;
	options->idents = malloc((3 * (size_t)n + 1) * sizeof(*options->idents));
	if (!options->idents)
		return wmk_error(-ENOMEM, "no memory for the names of %u options", n);
	options->shown = options->idents + n;
	options->changed = options->shown + n;
	for (uint32_t i = (uint32_t)(variant - ops) + 1; ops[i].code != WMK_CTF_END; i = ops[i].next, options->n++) {
		const char *ident = wmk_ctf_idents_of(&w->names[scope], i);

		options->idents[options->n] = (struct wmk_ctf_name_entry){ ident, i, options->n };
		options->shown[options->n] = (struct wmk_ctf_name_entry){ without_bar(ident), i, options->n };
		if (is_changed(&ops[i], ident))
			options->changed[options->n_changed++] =
				(struct wmk_ctf_name_entry){ ops[i].name, i, options->n };
	}
	wmk_ctf_name_entries_sort(options->idents, options->n);
	wmk_ctf_name_entries_sort(options->shown, options->n);
	wmk_ctf_name_entries_sort(options->changed, options->n_changed);
	return wmk_ctf_choice_index_make(&options->ranges, variant);
}

/* Return the options of the variant, which are cached until another variant is requested. NULL: no memory. */
static const struct wmk_tsdl_options *options_of(struct wmk_tsdl_writer *w, unsigned scope,
						 const struct wmk_ctf_op *variant)
{
	int err;

	if (w->options.variant == variant)
		return &w->options;
	wmk_tsdl_options_free(&w->options);
	err = make_options(w, &w->options, scope, variant);
	if (err < 0) {
		wmk_tsdl_options_free(&w->options);
		w->err = w->err < 0 ? w->err : err;
		return NULL;
	}
	w->options.variant = variant;
	return &w->options;
}

/*
 * Find the option that readers select for a label: the option of that name, or otherwise the option with a name that
 * differs only by a leading '_'. NULL: none. The function adds the cost of the search to the costs in `w`.
 */
static const struct wmk_ctf_name_entry *option_called(struct wmk_tsdl_writer *w, const struct wmk_tsdl_options *options,
						 const char *name)
{
	const struct wmk_ctf_name_entry *found = wmk_ctf_name_entries_find(options->idents, options->n, name);
	/* (readers compare with the end of the variant, too) */
	uint64_t n_looked = found ? 1 + (uint64_t)found->rank : 2 + (uint64_t)options->n;

	if (!found) {
		found = wmk_ctf_name_entries_find(options->shown, options->n, without_bar(name));
		n_looked += found ? found->rank : options->n + 1;
	}
	wmk_tsdl_count_labels(w, 0, n_looked * wmk_tsdl_cost_of(name));
	return found;
}

/* ── labels ──────────────────────────────────────────────────────────────────────────────────────────── */

static const char *label_of(const struct wmk_tsdl_writer *w, const struct wmk_tsdl_options *options, unsigned scope,
			    const char *label)
{
	const struct wmk_ctf_name_entry *own = wmk_ctf_name_entries_find(options->idents, options->n, label);
	const struct wmk_ctf_name_entry *changed =
		wmk_ctf_name_entries_find(options->changed, options->n_changed, label);

	if (!changed || (own && wmk_ctf_idents_restored(&w->names[scope], own->op) & WMK_IDENT_RESTORED))
		return label;
	return wmk_ctf_idents_of(&w->names[scope], changed->op);
}

const char *wmk_tsdl_label_of(struct wmk_tsdl_writer *w, unsigned scope, const struct wmk_ctf_op *of, const char *label)
{
	const struct wmk_tsdl_options *options = of && w->decoder->class->major != 1 ? options_of(w, scope, of) : NULL;

	return options ? label_of(w, options, scope, label) : label;
}

/*
 * Return whether all values from `from` upward are too large for the selector. (rewrite_field.c gives such a value to
 * unlabelled options.)
 */
static bool is_of_nothing(uint64_t from, const struct wmk_type *labels)
{
	const uint64_t turn = labels->is_signed ? UINT64_C(1) << 63 : 0;

	return labels->width && labels->width < 64 &&
	       (from ^ turn) > (((UINT64_C(1) << (labels->width - labels->is_signed)) - 1) ^ turn);
}

bool wmk_tsdl_are_labels(struct wmk_tsdl_writer *w, unsigned scope, const struct wmk_ctf_op *variant,
			 const struct wmk_type *labels)
{
	const struct wmk_tsdl_options *options;
	uint32_t n = 0;

	if (variant->code != WMK_CTF_VARIANT || w->decoder->class->major == 1)
		return variant->code == WMK_CTF_VARIANT;
	wmk_tsdl_count_labels(w, labels->count, 0);
	options = w->err >= 0 ? options_of(w, scope, variant) : NULL;
	for (uint32_t l = 0; options && l < labels->count; l++) {
		const struct wmk_label *label = &labels->labels[l];
		const struct wmk_ctf_name_entry *option =
			option_called(w, options, label_of(w, options, scope, wmk_or_empty(label->name)));

		if (!option)
			continue;
		if (n == variant->n_choices || !wmk_ctf_choice_index_has(&options->ranges, option->op, label))
			return false;
		n += !is_of_nothing((uint64_t)label->from, labels);
	}
	for (uint32_t c = 0; c < variant->n_choices; c++)
		n += is_of_nothing(variant->choices[c].from, labels);
	return options && n == variant->n_choices;
}

void wmk_tsdl_count_options(struct wmk_tsdl_writer *w, unsigned scope, const struct wmk_ctf_op *variant)
{
	const struct wmk_tsdl_options *options = options_of(w, scope, variant);

	wmk_tsdl_count_labels(w, variant->n_choices, 0);
	for (uint32_t c = 0; options && c < variant->n_choices; c++)
		option_called(w, options, wmk_ctf_idents_of(&w->names[scope], variant->choices[c].op));
}
