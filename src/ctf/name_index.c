/* SPDX-License-Identifier: MIT */
/*
 * name_index.c - sorted arrays for binary search (see name_index.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ctf/name_index.h"

static int by_number(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* ── labels ──────────────────────────────────────────────────────────────────────────────────────────── */

static int compare_labels(const void *left, const void *right)
{
	const struct wmk_label *a = *(const struct wmk_label *const *)left,
			       *b = *(const struct wmk_label *const *)right;
	int order = strcmp(a->name, b->name);

	if (!order)
		order = by_number((uint64_t)a->from, (uint64_t)b->from);
	return order ? order : by_number((uint64_t)a->to, (uint64_t)b->to);
}

int wmk_ctf_label_index_make(struct wmk_ctf_label_index *by, const struct wmk_type *type)
{
	const uint32_t count = type->kind == WMK_TYPE_ENUM ? type->count : 0;
	uint32_t n = 0;

	by->labels = malloc(((size_t)count + 1) * sizeof(*by->labels));
	if (!by->labels)
		return wmk_error(-ENOMEM, "no memory for %u labels", count);
	for (uint32_t i = 0; i < count; i++)
		if (type->labels[i].name)
			by->labels[n++] = &type->labels[i];
	qsort(by->labels, n, sizeof(*by->labels), compare_labels);
	for (uint32_t i = 0; i < n; i++)
		if (!i || compare_labels(&by->labels[i], &by->labels[by->n - 1]))
			by->labels[by->n++] = by->labels[i];
	by->is_made = true;
	return 0;
}

uint32_t wmk_ctf_label_index_find(const struct wmk_ctf_label_index *by, const char *name)
{
	uint32_t low = 0, high = by->n;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (strcmp(by->labels[middle]->name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < by->n && !strcmp(by->labels[low]->name, name) ? low : by->n;
}

void wmk_ctf_label_index_free(struct wmk_ctf_label_index *by)
{
	free(by->labels);
	*by = (struct wmk_ctf_label_index){ NULL, 0, false };
}

/* ── choices ─────────────────────────────────────────────────────────────────────────────────────────── */

static int compare_choices(const void *left, const void *right)
{
	const struct wmk_ctf_choice *a = *(const struct wmk_ctf_choice *const *)left,
				    *b = *(const struct wmk_ctf_choice *const *)right;
	int order = by_number(a->op, b->op);

	if (!order)
		order = by_number(a->from, b->from);
	return order ? order : by_number(a->to, b->to);
}

int wmk_ctf_choice_index_make(struct wmk_ctf_choice_index *by, const struct wmk_ctf_op *variant)
{
	by->choices = malloc(((size_t)variant->n_choices + 1) * sizeof(*by->choices));
	if (!by->choices)
		return wmk_error(-ENOMEM, "no memory for the %u choices of a variant", variant->n_choices);
	by->n = variant->n_choices;
	for (uint32_t i = 0; i < by->n; i++)
		by->choices[i] = &variant->choices[i];
	qsort(by->choices, by->n, sizeof(*by->choices), compare_choices);
	return 0;
}

bool wmk_ctf_choice_index_has(const struct wmk_ctf_choice_index *by, uint32_t option, const struct wmk_label *label)
{
	const struct wmk_ctf_choice choice = { (uint64_t)label->from, (uint64_t)label->to, option }, *key = &choice;

	return by->n && bsearch(&key, by->choices, by->n, sizeof(*by->choices), compare_choices);
}

void wmk_ctf_choice_index_free(struct wmk_ctf_choice_index *by)
{
	free(by->choices);
	*by = (struct wmk_ctf_choice_index){ NULL, 0 };
}

/* ── members and options ─────────────────────────────────────────────────────────────────────────────── */

static int compare_named(const void *left, const void *right)
{
	const struct wmk_ctf_name_entry *a = left, *b = right;
	const int order = strcmp(a->name, b->name);

	return order ? order : by_number(a->rank, b->rank);
}

void wmk_ctf_name_entries_sort(struct wmk_ctf_name_entry *named, uint32_t n)
{
	qsort(named, n, sizeof(*named), compare_named);
}

const struct wmk_ctf_name_entry *wmk_ctf_name_entries_find(const struct wmk_ctf_name_entry *named, uint32_t n,
							   const char *name)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (strcmp(named[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && !strcmp(named[low].name, name) ? &named[low] : NULL;
}
