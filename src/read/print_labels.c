/* SPDX-License-Identifier: MIT */
/*
 * print_labels.c - find the labels of an enumeration's values (see print_state.h).
 *
 * Usually, no two labels of an enumeration share a value. Labels that share no value are sorted by value, and a binary
 * search finds the label. If ranges overlap, the output shows each label of a value once, in the order of the labels in
 * the metadata. The required memory does not depend on the number of overlaps, because hostile metadata may contain
 * thousands of labels for each value. If there are only a few labels, a linear search finds the labels of a value. If
 * there are many labels, they are stored as a tree: the labels are sorted by the start of their ranges, and the middle
 * label of each part is the parent of the halves on both sides. Each label of the tree stores the greatest end in its
 * subtree (`reach`):
 *
 *     labels    1 ... 2   2 ... 9   4 ... 4   5 ... 7   8 ... 8        value 6: 4 ... 4, with 9, is the root;
 *     reach         2         9         9         7         8          2 ... 9, with 9, is above 1 ... 2, with 2, which
 *                                                                      ends before 6 and is skipped
 *
 * Overlapping or adjacent ranges with the same name are merged, so two ranges that match a value never have the same
 * name.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "read/print_state.h"

#define FEW 16u                      /* up to this number, a linear search is fastest */

struct named {
	const char *name;
	uint32_t index;            /* index in the type */
};

static int by_name(const void *left, const void *right)
{
	const struct named *a = left, *b = right;
	int order = strcmp(a->name, b->name);

	return order ? order : a->index < b->index ? -1 : a->index > b->index;
}

static int by_value(const void *left, const void *right)
{
	const struct wmk_print_label *a = left, *b = right;

	return a->from < b->from ? -1 : a->from > b->from;
}

static int by_rank(const void *left, const void *right)
{
	const struct wmk_print_label *a = left, *b = right;

	return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static int by_rank_and_value(const void *left, const void *right)
{
	const int order = by_rank(left, right);

	return order ? order : by_value(left, right);
}

static int by_rank_of(const void *left, const void *right)
{
	return by_rank(*(const struct wmk_print_label *const *)left, *(const struct wmk_print_label *const *)right);
}

static const char *label_name(const struct wmk_type *type, uint32_t i)
{
	return wmk_or_empty(type->labels[i].name);
}

/* labels[i] is still the type's label i: set its rank to the index of the first label of the same name. */
static int give_ranks(const struct wmk_type *type, struct wmk_print_labels *labels)
{
	struct named *names = calloc(labels->n, sizeof(*names));
	uint32_t first = 0;

	if (!names)
		return wmk_error(-ENOMEM, "no memory for %u labels", labels->n);
	for (uint32_t i = 0; i < labels->n; i++)
		names[i] = (struct named){ label_name(type, i), i };
	qsort(names, labels->n, sizeof(*names), by_name);
	for (uint32_t i = 0; i < labels->n; i++) {
		if (strcmp(names[i].name, names[first].name) != 0)
			first = i;
		labels->labels[names[i].index].rank = names[first].index;
	}
	free(names);
	return 0;
}

/* Return whether a label needs no quotes. */
static bool is_word(const char *name)
{
	const size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:/+-");

	return len && !name[len];
}

/*
 * Write the texts of all labels, one after the other. A text has quotes, unless `is_plain` is set and the label needs
 * no quotes.
 */
static int make_texts(const struct wmk_type *type, struct wmk_print_labels *labels)
{
	struct wmk_print_text text = { .max = SIZE_MAX };
	struct wmk_print_words words = { .out = &text };
	size_t at = 0;

	for (uint32_t i = 0; i < labels->n; i++) {
		if (labels->is_plain && is_word(label_name(type, i)))
			wmk_print_add(&words, label_name(type, i));
		else
			wmk_print_add_quoted(&words, label_name(type, i));
		labels->labels[i].len = (uint32_t)(text.len - at);
		at = text.len;
	}
	if (words.err < 0) {
		wmk_print_text_free(&text);
		return words.err;
	}
	labels->text = text.text;
	at = 0;
	for (uint32_t i = 0; i < labels->n; i++) {
		labels->labels[i].text = text.text + at;
		at += labels->labels[i].len;
	}
	return 0;
}

/* Remove empty ranges, and merge overlapping ranges with the same name. */
static void join(struct wmk_print_labels *labels)
{
	struct wmk_print_label *all = labels->labels;
	uint32_t n = 0;

	for (uint32_t i = 0; i < labels->n; i++)
		if (all[i].from <= all[i].to)
			all[n++] = all[i];
	labels->n = n;
	qsort(all, n, sizeof(*all), by_rank_and_value);
	n = 0;
	for (uint32_t i = 0; i < labels->n; i++) {
		if (!n || all[n - 1].rank != all[i].rank || all[n - 1].to < all[i].from)
			all[n++] = all[i];
		else if (all[n - 1].to < all[i].to)
			all[n - 1].to = all[i].to;
	}
	labels->n = n;
}

/*
 * Set `reach` of the labels with indexes from `low` to `high` - 1. Returns the greatest `reach` of the labels in this
 * interval. The interval must contain at least one label. The recursion depth is the logarithm of the number of labels.
 */
static uint64_t make_reach(struct wmk_print_labels *labels, uint32_t low, uint32_t high)
{
	const uint32_t middle = low + (high - low) / 2;
	const uint64_t left = middle > low ? make_reach(labels, low, middle) : 0;
	const uint64_t right = high > middle + 1 ? make_reach(labels, middle + 1, high) : 0;
	uint64_t reach = labels->labels[middle].to;

	reach = left > reach ? left : reach;
	reach = right > reach ? right : reach;
	labels->reach[middle] = reach;
	return reach;
}

/* Sort the labels in the order that the search requires. */
static int put_in_order(struct wmk_print_labels *labels)
{
	join(labels);
	qsort(labels->labels, labels->n, sizeof(labels->labels[0]), by_value);
	for (uint32_t i = 1; i < labels->n; i++)
		labels->overlap = labels->overlap || labels->labels[i].from <= labels->labels[i - 1].to;
	if (!labels->overlap)
		return 0;
	if (labels->n <= FEW) {
		qsort(labels->labels, labels->n, sizeof(labels->labels[0]), by_rank);
		return 0;
	}
	labels->reach = calloc(labels->n, sizeof(*labels->reach));
	labels->fits = calloc(labels->n, sizeof(const struct wmk_print_label *));
	if (!labels->reach || !labels->fits)
		return wmk_error(-ENOMEM, "no memory for %u labels", labels->n);
	make_reach(labels, 0, labels->n);
	return 0;
}

static void labels_free(struct wmk_print_labels *labels)
{
	free(labels->text);
	free(labels->reach);
	free(labels->fits);
	free(labels);
}

static int labels_make(const struct wmk_type *type, bool is_signed, bool is_plain, struct wmk_print_labels **made)
{
	const uint32_t n = type->labels ? type->count : 0;
	struct wmk_print_labels *labels = calloc(1, sizeof(*labels) + n * sizeof(labels->labels[0]));
	int err;

	if (!labels)
		return wmk_error(-ENOMEM, "no memory for %u labels", n);
	labels->n = n;
	labels->is_plain = is_plain;
	labels->move = is_signed ? (uint64_t)1 << 63 : 0;
	for (uint32_t i = 0; i < n; i++) {
		labels->labels[i].from = (uint64_t)type->labels[i].from ^ labels->move;
		labels->labels[i].to = (uint64_t)type->labels[i].to ^ labels->move;
		/*
		 * "(other)" is Waymark's label for all values without a label. The empty range of the label "(other)"
		 * matches no value, so values without a label are shown as numbers, which contain more information.
		 */
		if (is_plain && strcmp(label_name(type, i), "(other)") == 0) {
			labels->labels[i].from = 1;
			labels->labels[i].to = 0;
		}
	}
	err = n ? give_ranks(type, labels) : 0;
	if (err >= 0)
		err = make_texts(type, labels);
	if (err >= 0)
		err = put_in_order(labels);
	if (err < 0) {
		labels_free(labels);
		return err;
	}
	*made = labels;
	return 0;
}

/* A slot of the table. */
struct met_labels {
	struct wmk_read_slot slot; /* key: the address of the type's labels, and its signedness */
	struct wmk_print_labels *labels;
};

int wmk_print_labels_of(struct wmk_read_table *table, const struct wmk_type *type, bool is_signed, bool is_plain,
			const struct wmk_print_labels **found)
{
	struct met_labels *met;
	int err = 0;

	table->size = sizeof(*met);
	met = wmk_read_table_add(table, (uintptr_t)type->labels, is_signed);
	if (!met)
		return wmk_error(-ENOMEM, "no memory for the labels of %zu enumerations", table->n);
	if (!met->labels)
		err = labels_make(type, is_signed, is_plain, &met->labels);
	*found = met->labels;
	return err;
}

void wmk_print_labels_free(struct wmk_read_table *table)
{
	for (struct met_labels *met = NULL; (met = wmk_read_table_next(table, met));)
		if (met->labels)
			labels_free(met->labels);
	wmk_read_table_free(table);
}

static char *put_label(const struct wmk_print_labels *labels, const struct wmk_print_label *label,
		       struct wmk_print_text *out, char *p, bool first)
{
	p = wmk_print_room(out, p, (size_t)label->len + 2);
	if (!p)
		return NULL;
	if (!first && labels->is_plain) {
		*p++ = '|';
	} else if (!first) {
		memcpy(p, ", ", 2);
		p += 2;
	}
	memcpy(p, label->text, label->len);
	return p + label->len;
}

/* Return the last label with a range that begins at or before the value; NULL: no such label. */
static const struct wmk_print_label *find(const struct wmk_print_labels *labels, uint64_t value)
{
	uint32_t low = 0, high = labels->n;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (labels->labels[middle].from <= value)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &labels->labels[low - 1] : NULL;
}

/*
 * Search the labels with indexes from `low` to `high` - 1. Append matching labels to `fits`, which already contains `n`
 * labels. Returns the new number of labels in `fits`.
 */
static uint32_t find_fits(const struct wmk_print_labels *labels, uint32_t low, uint32_t high, uint64_t value,
			  uint32_t n)
{
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		const struct wmk_print_label *label = &labels->labels[middle];

		if (labels->reach[middle] < value)
			break;
		n = find_fits(labels, low, middle, value, n);
		if (label->from > value)
			break;
		if (label->to >= value)
			labels->fits[n++] = label;
		low = middle + 1;
	}
	return n;
}

/* Print all labels that match the value, ordered by rank; `shown` is true if some of the labels are already printed. */
static char *put_overlapping(const struct wmk_print_labels *labels, struct wmk_print_text *out, char *p, uint64_t value,
			     bool *shown)
{
	const uint32_t n = labels->reach ? find_fits(labels, 0, labels->n, value, 0) : labels->n;

	if (labels->reach && n > 1)
		qsort(labels->fits, n, sizeof(const struct wmk_print_label *), by_rank_of);
	*shown = false;
	for (uint32_t i = 0; i < n && p; i++) {
		const struct wmk_print_label *label = labels->reach ? labels->fits[i] : &labels->labels[i];

		if (value < label->from || value > label->to)
			continue;
		p = put_label(labels, label, out, p, !*shown);
		*shown = true;
	}
	return p;
}

char *wmk_print_labels_put(const struct wmk_print_labels *labels, struct wmk_print_text *out, char *p, uint64_t value)
{
	const struct wmk_print_label *label;
	bool shown = false;

	value ^= labels->move;
	if (labels->overlap) {
		p = put_overlapping(labels, out, p, value, &shown);
	} else {
		label = find(labels, value);
		if (label && value <= label->to)
			return put_label(labels, label, out, p, true);
	}
	if (shown || !p)
		return p;
	if (labels->is_plain) {
		value ^= labels->move;
		p = wmk_print_room(out, p, WMK_PRINT_NUMBER);
		return !p ? NULL : labels->move ? wmk_print_s64(p, (int64_t)value) : wmk_print_u64(p, value);
	}
	p = wmk_print_room(out, p, sizeof("<unknown>"));
	if (p)
		memcpy(p, "<unknown>", sizeof("<unknown>") - 1);
	return p ? p + sizeof("<unknown>") - 1 : NULL;
}
