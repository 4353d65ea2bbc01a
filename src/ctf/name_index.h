/* SPDX-License-Identifier: MIT */
/*
 * name_index.h - sorted labels, names and choices for binary search. The number of variants, options and labels in a
 * trace is not limited, and linear searches would take quadratic time. Internal to src/ctf; the writers of metadata use
 * these functions.
 *
 * All structures of this header start zeroed and point into their source; the owner frees them. The functions return
 * -ENOMEM with a cause chain.
 */
#ifndef WMK_CTF_NAME_INDEX_H
#define WMK_CTF_NAME_INDEX_H

#include "ctf/decode.h"

/* The named labels of an enumeration: each name occurs once with each range; other types have no labels. */
struct wmk_ctf_label_index {
	const struct wmk_label **labels; /* sorted by name */
	uint32_t n;
	bool is_made;
};

int wmk_ctf_label_index_make(struct wmk_ctf_label_index *by, const struct wmk_type *type);
/* Return the index of the first label with that name, or n if no such label exists. */
uint32_t wmk_ctf_label_index_find(const struct wmk_ctf_label_index *by, const char *name);
void wmk_ctf_label_index_free(struct wmk_ctf_label_index *by);

/* An index of the choices of a variant or an optional field. */
struct wmk_ctf_choice_index {
	const struct wmk_ctf_choice **choices;
	uint32_t n;
};

int wmk_ctf_choice_index_make(struct wmk_ctf_choice_index *by, const struct wmk_ctf_op *variant);
/* Return whether a range of the option equals the range of the label. */
bool wmk_ctf_choice_index_has(const struct wmk_ctf_choice_index *by, uint32_t option, const struct wmk_label *label);
void wmk_ctf_choice_index_free(struct wmk_ctf_choice_index *by);

/* Members or options. */
struct wmk_ctf_name_entry {
	const char *name;
	uint32_t op;               /* its operation */
	uint32_t rank;             /* its position, from 0 */
};

/* Sort the entries by name, and entries with equal names by rank. */
void wmk_ctf_name_entries_sort(struct wmk_ctf_name_entry *named, uint32_t n);
/* Return the first entry with that name, or NULL if no such entry exists. */
const struct wmk_ctf_name_entry *wmk_ctf_name_entries_find(const struct wmk_ctf_name_entry *named, uint32_t n,
							   const char *name);

#endif
