/* SPDX-License-Identifier: MIT */
/*
 * variant_select.c - find the option that a selector's value selects, or the label of a value, among so many that a
 * linear search per record would be slow (see compile.h).
 *
 *     choices    2 ... 5: A   4 ... 9: B   7: C        the first match counts
 *     index      0: -   2: A   6: B   10: -            each applies from its value up to the next one
 *
 * An offset is added to signed values, so that their unsigned order equals their numeric order.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "ctf/compile.h"

struct stretch {
	uint64_t from;
	uint32_t choice;           /* 1 + the index of the choice; 0: no choice */
};

/* The index of a variant is stored after its choices, in the same allocation. */
struct wmk_ctf_selector_index {
	uint32_t n;
	struct stretch stretches[]; /* ascending; the first begins at 0 */
};

static uint64_t move_of(bool is_signed)
{
	return is_signed ? (uint64_t)1 << 63 : 0;
}

size_t wmk_ctf_selector_index_size(uint32_t n)
{
	return sizeof(struct wmk_ctf_selector_index) + (2 * (size_t)n + 1) * sizeof(struct stretch);
}

size_t wmk_ctf_selector_index_used(const struct wmk_ctf_selector_index *chooser)
{
	return sizeof(*chooser) + chooser->n * sizeof(struct stretch);
}

size_t wmk_ctf_choices_size(uint32_t n)
{
	return n * sizeof(struct wmk_ctf_choice) + (n > WMK_CTF_CHOICES_FEW ? wmk_ctf_selector_index_size(n) : 0);
}

static int by_from(const void *left, const void *right)
{
	const struct stretch *a = left, *b = right;

	return a->from < b->from ? -1 : a->from > b->from;
}

/* Return the last interval that begins at or before the value. */
static uint32_t find(const struct wmk_ctf_selector_index *chooser, uint64_t value)
{
	uint32_t low = 0, high = chooser->n;

	while (high - low > 1) {
		const uint32_t middle = low + (high - low) / 2;

		if (chooser->stretches[middle].from <= value)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/*
 * Divide all values into intervals: an interval begins where a range begins, and after the last value of a range.
 * Intervals that begin at the same value are merged.
 */
static void make_stretches(struct wmk_ctf_selector_index *chooser, uint64_t move, const struct wmk_ctf_choice *choices,
			   uint32_t n_choices)
{
	struct stretch *stretches = chooser->stretches;
	uint32_t n = 0, kept = 1;

	stretches[n++] = (struct stretch){ 0, 0 };
	for (uint32_t i = 0; i < n_choices; i++) {
		stretches[n++] = (struct stretch){ choices[i].from ^ move, 0 };
		if ((choices[i].to ^ move) != UINT64_MAX)
			stretches[n++] = (struct stretch){ (choices[i].to ^ move) + 1, 0 };
	}
	qsort(stretches, n, sizeof(*stretches), by_from);
	for (uint32_t i = 1; i < n; i++)
		if (stretches[i].from != stretches[kept - 1].from)
			stretches[kept++] = stretches[i];
	chooser->n = kept;
}

/*
 * Find the first interval without a choice, starting at interval `at`. free_at[i] is i if stretch i has no choice; else
 * free_at[i] is the index of a later stretch. The search shortens these paths.
 */
static uint32_t first_free(uint32_t *free_at, uint32_t at)
{
	while (free_at[at] != at) {
		free_at[at] = free_at[free_at[at]];
		at = free_at[at];
	}
	return at;
}

int wmk_ctf_selector_index_make(struct wmk_ctf_selector_index *chooser, bool is_signed,
				const struct wmk_ctf_choice *choices, uint32_t n)
{
	const uint64_t move = move_of(is_signed);
	uint32_t *free_at;

	make_stretches(chooser, move, choices, n);
	free_at = malloc(((size_t)chooser->n + 1) * sizeof(*free_at));
	if (!free_at)
		return wmk_error(-ENOMEM, "no memory for %u choices", n);
	for (uint32_t i = 0; i <= chooser->n; i++)
		free_at[i] = i;
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t from = choices[i].from ^ move, to = choices[i].to ^ move;
		/* (a reversed range is empty) */
		const uint32_t last = find(chooser, to), behind = from > to ? 0 : last + 1;

		for (uint32_t at = first_free(free_at, find(chooser, from)); at < behind;
		     at = first_free(free_at, at)) {
			chooser->stretches[at].choice = i + 1;
			free_at[at] = at + 1;
		}
	}
	free(free_at);
	return 0;
}

int wmk_ctf_choices_make_index(const struct wmk_ctf_op *op, struct wmk_ctf_choice *choices)
{
	if (op->n_choices <= WMK_CTF_CHOICES_FEW)
		return 0;
	return wmk_ctf_selector_index_make((struct wmk_ctf_selector_index *)(choices + op->n_choices), op->is_signed,
					   choices, op->n_choices);
}

uint32_t wmk_ctf_selector_index_find(const struct wmk_ctf_selector_index *chooser, bool is_signed, uint64_t value)
{
	return chooser->stretches[find(chooser, value ^ move_of(is_signed))].choice;
}

const struct wmk_ctf_choice *wmk_ctf_variant_select_indexed(const struct wmk_ctf_op *op, uint64_t value)
{
	const uint32_t choice = wmk_ctf_selector_index_find(
		(const struct wmk_ctf_selector_index *)(op->choices + op->n_choices), op->is_signed, value);

	return choice ? &op->choices[choice - 1] : NULL;
}
