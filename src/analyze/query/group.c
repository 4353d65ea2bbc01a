/* SPDX-License-Identifier: MIT */
/*
 * group.c - rows as groups (see group.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/group.h"
#include "base/error.h"

/*
 * A distinct row is stored as bytes. Each column is stored as a header with the kind of the value, followed by the
 * text. Rows with equal bytes are equal rows. Texts that stay valid as long as the traces are open are compared by
 * address. Equal texts at different addresses therefore give two rows, which are adjacent after sorting.
 */
struct packed {
	uint8_t kind, is_lasting;
	uint32_t len;              /* length of the text that follows, or that is at `text` */
	union {
		int64_t integer;
		double real;
		const char *text;  /* is_lasting */
	};
};

struct group_row {
	uint64_t hash;
	size_t at, size;           /* in `bytes` */
	uint64_t n;                /* number of equal rows */
};

struct wmk_query_group {
	const uint32_t *columns;
	uint32_t n_columns;
	const struct wmk_query_order *order;
	uint32_t n_order;
	char *bytes;
	size_t len, cap;
	struct group_row *rows;
	size_t n_rows, cap_rows;
	/* indices of rows plus 1; 0: free. The number of slots is a power of two, and at most half are used */
	size_t *table;
	size_t n_slots;
	/* the current row, and how often it has still to be returned */
	size_t current;
	uint64_t left;
	bool is_distinct, has_begun;
	/* values of the current row; while sorting, of the two rows that are compared */
	struct wmk_query_value *values;
};

static int no_memory(void)
{
	return wmk_error(-ENOMEM, "no memory for the groups of a query");
}

/* ── rows as bytes ───────────────────────────────────────────────────────────────────────────────────────────── */

/* Append the value to the bytes of the current row. */
static int pack(struct wmk_query_group *group, size_t *at, const struct wmk_query_value *value)
{
	const bool has_text = value->kind >= WMK_QUERY_TEXT;
	const size_t text = has_text && !value->is_lasting ? value->len : 0, size = sizeof(struct packed) + text;
	struct packed packed;

	if (value->len > UINT32_MAX)
		return wmk_error(-E2BIG, "cannot group rows: a string has more than 4 GiB");
	if (group->cap - *at < size) {
		const size_t cap = 2 * group->cap + size + 4096;
		char *bytes = realloc(group->bytes, cap);

		if (!bytes)
			return no_memory();
		group->bytes = bytes;
		group->cap = cap;
	}
	memset(&packed, 0, sizeof(packed));
	packed.kind = (uint8_t)value->kind;
	packed.is_lasting = value->is_lasting;
	packed.len = has_text ? (uint32_t)value->len : 0;
	if (value->kind == WMK_QUERY_INTEGER)
		packed.integer = value->integer;
	else if (value->kind == WMK_QUERY_REAL)
		packed.real = value->real;
	else if (value->is_lasting)
		packed.text = value->text;
	memcpy(group->bytes + *at, &packed, sizeof(packed));
	if (text)
		memcpy(group->bytes + *at + sizeof(packed), value->text, text);
	*at += size;
	return 0;
}

static void unpack(const struct wmk_query_group *group, const struct group_row *row, struct wmk_query_value *values)
{
	const char *at = group->bytes + row->at;

	for (uint32_t i = 0; i < group->n_columns; i++) {
		struct packed packed;

		memcpy(&packed, at, sizeof(packed));
		at += sizeof(packed);
		values[i] = (struct wmk_query_value){ .kind = packed.kind,
						      .is_lasting = packed.is_lasting,
						      .len = packed.len };
		if (packed.kind == WMK_QUERY_INTEGER)
			values[i].integer = packed.integer;
		else if (packed.kind == WMK_QUERY_REAL)
			values[i].real = packed.real;
		else
			values[i].text = packed.is_lasting ? packed.text : at;
		if (!packed.is_lasting)
			at += packed.len;
	}
}

/* ── the table ───────────────────────────────────────────────────────────────────────────────────────────────── */

static uint64_t hash_of(const char *bytes, size_t size)
{
	uint64_t hash = size, word;

	for (; size >= 8; bytes += 8, size -= 8) {
		memcpy(&word, bytes, 8);
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 32;
	}
	word = 0;
	memcpy(&word, bytes, size);
	hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

static size_t *slot_of(const struct wmk_query_group *group, uint64_t hash, const char *bytes, size_t size)
{
	size_t i = hash & (group->n_slots - 1);

	for (; group->table[i]; i = (i + 1) & (group->n_slots - 1)) {
		const struct group_row *row = &group->rows[group->table[i] - 1];

		if (row->hash == hash && row->size == size && memcmp(group->bytes + row->at, bytes, size) == 0)
			break;
	}
	return &group->table[i];
}

static int grow(struct wmk_query_group *group)
{
	const size_t n = group->n_slots ? 2 * group->n_slots : 1024;
	size_t *table = calloc(n, sizeof(*table));
	struct group_row *rows = realloc(group->rows, n / 2 * sizeof(*rows));

	if (rows)
		group->rows = rows;
	if (!table || !rows) {
		free(table);
		return no_memory();
	}
	free(group->table);
	group->table = table;
	group->n_slots = n;
	for (size_t i = 0; i < group->n_rows; i++) {
		size_t at = rows[i].hash & (n - 1);

		while (table[at])
			at = (at + 1) & (n - 1);
		table[at] = i + 1;
	}
	return 0;
}

/* Count the current record of the scan. */
static int add(struct wmk_query_group *group, struct wmk_query_scan *scan)
{
	size_t end = group->len, *slot;
	uint64_t hash;
	int err = 0;

	for (uint32_t i = 0; i < group->n_columns && err >= 0; i++) {
		const struct wmk_query_value value = wmk_query_scan_value(scan, group->columns[i]);

		err = pack(group, &end, &value);
	}
	if (err >= 0 && group->n_rows == group->n_slots / 2)
		err = grow(group);
	if (err < 0)
		return err;
	hash = hash_of(group->bytes + group->len, end - group->len);
	slot = slot_of(group, hash, group->bytes + group->len, end - group->len);
	if (!*slot) {
		group->rows[group->n_rows++] = (struct group_row){ .hash = hash,
								   .at = group->len,
								   .size = end - group->len };
		*slot = group->n_rows;
		group->len = end;
	}
	group->rows[*slot - 1].n++;
	return 0;
}

/* ── order ───────────────────────────────────────────────────────────────────────────────────────────────────── */

static int by_order(const void *left, const void *right, void *data)
{
	const struct wmk_query_group *group = data;
	struct wmk_query_value *a = group->values, *b = a + group->n_columns;

	unpack(group, left, a);
	unpack(group, right, b);
	for (uint32_t i = 0; i < group->n_order; i++) {
		uint32_t c = 0;
		int order;

		while (group->columns[c] != group->order[i].column)
			c++;
		order = wmk_query_value_compare(&a[c], &b[c]);
		if (order)
			return group->order[i].is_descending ? -order : order;
	}
	return 0;
}

int wmk_query_group_make(struct wmk_query_scan *scan, const uint32_t *columns, uint32_t n_columns,
			 const struct wmk_query_order *order, uint32_t n_order, bool distinct,
			 struct wmk_query_group **group)
{
	struct wmk_query_group *made = calloc(1, sizeof(*made));
	int got = 0, err = 0;

	if (!made)
		return no_memory();
	*made = (struct wmk_query_group){ .columns = columns,
					  .n_columns = n_columns,
					  .order = order,
					  .n_order = n_order,
					  .is_distinct = distinct,
					  .values = calloc(2 * n_columns + 1, sizeof(*made->values)) };
	if (!made->values)
		err = no_memory();
	while (err >= 0 && (got = wmk_query_scan_next(scan)) > 0)
		err = add(made, scan);
	if (err < 0 || got < 0) {
		wmk_query_group_free(made);
		return err < 0 ? err : got;
	}
	if (made->n_rows)
		qsort_r(made->rows, made->n_rows, sizeof(*made->rows), by_order, made);
	*group = made;
	return 0;
}

void wmk_query_group_free(struct wmk_query_group *group)
{
	if (!group)
		return;
	free(group->bytes);
	free(group->rows);
	free(group->table);
	free(group->values);
	free(group);
}

bool wmk_query_group_next(struct wmk_query_group *group)
{
	if (group->left) {
		group->left--;
		return true;
	}
	group->current += group->has_begun;
	group->has_begun = true;
	if (group->current >= group->n_rows)
		return false;
	unpack(group, &group->rows[group->current], group->values);
	group->left = group->is_distinct ? 0 : group->rows[group->current].n - 1;
	return true;
}

struct wmk_query_value wmk_query_group_value(const struct wmk_query_group *group, uint32_t column)
{
	for (uint32_t i = 0; i < group->n_columns; i++)
		if (group->columns[i] == column)
			return group->values[i];
	return (struct wmk_query_value){ .kind = WMK_QUERY_NULL };
}
