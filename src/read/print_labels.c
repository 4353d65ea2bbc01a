/* SPDX-License-Identifier: MIT */
/*
 * print_labels.c - the labels of an enumeration's values (see print_inside.h).
 *
 * Usually no two labels share a value: they are sorted by value, and found by halving. Where they do, a value shows each of its labels
 * once, in the order in which the names first come in the metadata; then all are looked at, so that no table grows with what labels have in
 * common: metadata that is made to hurt could have thousands over each value.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "read/hash.h"
#include "read/print_inside.h"

#define HEADS_MIN 64u

struct named {
	const char *name;
	uint32_t index;            /* in the type */
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

static const char *label_name(const struct wmk_type *type, uint32_t i)
{
	return type->labels[i].name ? type->labels[i].name : "";
}

/* labels[i] is the type's i yet: each gets the index of the first that has its name. */
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

/* The texts of all labels, with quotes, one behind the other. */
static int make_texts(const struct wmk_type *type, struct wmk_print_labels *labels)
{
	struct wmk_print_text text = { .max = SIZE_MAX };
	struct wmk_print_words words = { .out = &text };
	size_t at = 0;

	for (uint32_t i = 0; i < labels->n; i++) {
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

/* Sort them, by what finds them. */
static void put_in_order(struct wmk_print_labels *labels)
{
	uint32_t n = 0;

	/* One whose end is before its beginning labels nothing. */
	for (uint32_t i = 0; i < labels->n; i++)
		if (labels->labels[i].from <= labels->labels[i].to)
			labels->labels[n++] = labels->labels[i];
	labels->n = n;
	qsort(labels->labels, n, sizeof(labels->labels[0]), by_value);
	for (uint32_t i = 1; i < n; i++)
		labels->overlap = labels->overlap || labels->labels[i].from <= labels->labels[i - 1].to;
	if (labels->overlap)
		qsort(labels->labels, n, sizeof(labels->labels[0]), by_rank);
}

static void labels_free(struct wmk_print_labels *labels)
{
	free(labels->text);
	free(labels);
}

static int labels_make(const struct wmk_type *type, bool is_signed, struct wmk_print_labels **made)
{
	const uint32_t n = type->labels ? type->count : 0;
	struct wmk_print_labels *labels = calloc(1, sizeof(*labels) + n * sizeof(labels->labels[0]));
	int err;

	if (!labels)
		return wmk_error(-ENOMEM, "no memory for %u labels", n);
	labels->n = n;
	labels->of = type->labels;
	labels->move = is_signed ? (uint64_t)1 << 63 : 0;
	for (uint32_t i = 0; i < n; i++) {
		labels->labels[i].from = (uint64_t)type->labels[i].from ^ labels->move;
		labels->labels[i].to = (uint64_t)type->labels[i].to ^ labels->move;
	}
	err = n ? give_ranks(type, labels) : 0;
	if (err >= 0)
		err = make_texts(type, labels);
	if (err < 0) {
		labels_free(labels);
		return err;
	}
	put_in_order(labels);
	*made = labels;
	return 0;
}

static struct wmk_print_labels **head_of(const struct wmk_print_label_table *table, const struct wmk_label *of)
{
	return &table->heads[wmk_read_mix((uintptr_t)of) & (table->n_heads - 1)];
}

/* Twice as many heads: metadata may have millions of enumerations, and lists must stay short. */
static int table_grow(struct wmk_print_label_table *table)
{
	const struct wmk_print_label_table old = *table;
	const uint32_t n_heads = old.n_heads ? 2 * old.n_heads : HEADS_MIN;
	struct wmk_print_labels **heads = calloc(n_heads, sizeof(struct wmk_print_labels *));

	if (!heads)
		return wmk_error(-ENOMEM, "no memory for the labels of %u enumerations", old.n + 1);
	table->heads = heads;
	table->n_heads = n_heads;
	for (uint32_t i = 0; i < old.n_heads; i++) {
		for (struct wmk_print_labels *labels = old.heads[i], *next; labels; labels = next) {
			struct wmk_print_labels **head = head_of(table, labels->of);

			next = labels->next;
			labels->next = *head;
			*head = labels;
		}
	}
	free(old.heads);
	return 0;
}

int wmk_print_labels_of(struct wmk_print_label_table *table, const struct wmk_type *type, bool is_signed, const struct wmk_print_labels **found)
{
	struct wmk_print_labels *labels = table->n ? *head_of(table, type->labels) : NULL, **head;
	int err;

	while (labels && (labels->of != type->labels || (labels->move != 0) != is_signed))
		labels = labels->next;
	if (!labels) {
		err = table->n == table->n_heads ? table_grow(table) : 0;
		if (err >= 0)
			err = labels_make(type, is_signed, &labels);
		if (err < 0)
			return err;
		head = head_of(table, type->labels);
		labels->next = *head;
		*head = labels;
		table->n++;
	}
	*found = labels;
	return 0;
}

void wmk_print_labels_free(struct wmk_print_label_table *table)
{
	for (uint32_t i = 0; i < table->n_heads; i++) {
		for (struct wmk_print_labels *labels = table->heads[i], *next; labels; labels = next) {
			next = labels->next;
			labels_free(labels);
		}
	}
	free(table->heads);
	*table = (struct wmk_print_label_table){ .n = 0 };
}

static char *put_label(const struct wmk_print_label *label, struct wmk_print_text *out, char *p, bool first)
{
	p = wmk_print_room(out, p, (size_t)label->len + 2);
	if (!p)
		return NULL;
	if (!first) {
		memcpy(p, ", ", 2);
		p += 2;
	}
	memcpy(p, label->text, label->len);
	return p + label->len;
}

/* The last that begins at or before the value; NULL where none does. */
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

char *wmk_print_labels_put(const struct wmk_print_labels *labels, struct wmk_print_text *out, char *p, uint64_t value)
{
	const struct wmk_print_label *label, *shown = NULL;

	value ^= labels->move;
	if (!labels->overlap) {
		label = find(labels, value);
		if (label && value <= label->to)
			return put_label(label, out, p, true);
	}
	for (uint32_t i = 0; labels->overlap && i < labels->n && p; i++) {
		label = &labels->labels[i];
		if (value < label->from || value > label->to || (shown && shown->rank == label->rank))
			continue;
		p = put_label(label, out, p, !shown);
		shown = label;
	}
	if (shown || !p)
		return p;
	p = wmk_print_room(out, p, sizeof("<unknown>"));
	if (p)
		memcpy(p, "<unknown>", sizeof("<unknown>") - 1);
	return p ? p + sizeof("<unknown>") - 1 : NULL;
}
