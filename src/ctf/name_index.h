/* SPDX-License-Identifier: MIT */
/*
 * name_index.h - labels, names and choices in an order in which one is found by halves: there are as many variants,
 * options and labels as a trace likes, and each is asked for with each. Internal to src/ctf; for who writes metadata in
 * the other version.
 *
 * All start from zeros, point to what they are made of, and are the owner's to free. Errors: -ENOMEM, with a cause.
 */
#ifndef WMK_CTF_NAME_INDEX_H
#define WMK_CTF_NAME_INDEX_H

#include "ctf/decode.h"

/*
 * The labels of a type that have a name, each name with each range once; nothing is in it where the type is no
 * enumeration.
 */
struct wmk_ctf_label_index {
	const struct wmk_label **labels; /* by name, those of one name together */
	uint32_t n;
	bool is_made;
};

int wmk_ctf_label_index_make(struct wmk_ctf_label_index *by, const struct wmk_type *type);
/* The first of that name; n: none has it. */
uint32_t wmk_ctf_label_index_find(const struct wmk_ctf_label_index *by, const char *name);
void wmk_ctf_label_index_free(struct wmk_ctf_label_index *by);

/* The choices of a variant, or optional. */
struct wmk_ctf_choice_index {
	const struct wmk_ctf_choice **choices;
	uint32_t n;
};

int wmk_ctf_choice_index_make(struct wmk_ctf_choice_index *by, const struct wmk_ctf_op *variant);
/* Do just the values of the label select that option, as one of its ranges? */
bool wmk_ctf_choice_index_has(const struct wmk_ctf_choice_index *by, uint32_t option, const struct wmk_label *label);
void wmk_ctf_choice_index_free(struct wmk_ctf_choice_index *by);

/* Members or options. */
struct wmk_ctf_name_entry {
	const char *name;
	uint32_t op;               /* the operation */
	uint32_t rank;             /* the how manieth it is there, from 0 on */
};

/* Those of one name stay in the order of their ranks. */
void wmk_ctf_name_entries_sort(struct wmk_ctf_name_entry *named, uint32_t n);
/* The first of that name; NULL: none has it. */
const struct wmk_ctf_name_entry *wmk_ctf_name_entries_find(const struct wmk_ctf_name_entry *named, uint32_t n,
							   const char *name);

#endif
