/* SPDX-License-Identifier: MIT */
/*
 * stats.h - counts and durations by key: a table with two numbers as key, and short names by number. One thread.
 */
#ifndef WMK_ANALYZE_STATS_H
#define WMK_ANALYZE_STATS_H

#include "analyze/histogram.h"
#include "analyze/result.h"
#include "read/hash_table.h"

struct wmk_stat {
	struct wmk_read_slot slot;     /* the key: slot.a, slot.b */
	uint64_t count, errors, bytes;
	struct wmk_histogram ns;
};

struct wmk_stats {
	struct wmk_read_table table;
};

void wmk_stats_begin(struct wmk_stats *stats);
/* Find or add a key. NULL with a cause chain: no memory. Valid until the next call. */
struct wmk_stat *wmk_stats_get(struct wmk_stats *stats, uint64_t a, uint64_t b);
/* Return the entry after `stat`, or the first entry if `stat` is NULL. NULL: the end. */
struct wmk_stat *wmk_stats_next(const struct wmk_stats *stats, const struct wmk_stat *stat);
void wmk_stats_free(struct wmk_stats *stats);

/* Set six cells: the sum, the average and four quantiles. If there are no durations, the cells stay empty. */
void wmk_cell_durations(struct wmk_cell *cells, const struct wmk_histogram *ns);
#define WMK_DURATION_CELLS 6u
#define WMK_COLUMNS_DURATIONS \
	{ "total_ns", "total", WMK_COLUMN_NS, false }, { "average_ns", "average", WMK_COLUMN_NS, false }, \
	WMK_COLUMNS_QUANTILES("", "median")

/* A set of texts, which are numbered from 0. */
#define WMK_TEXTS_MAX 65536u
struct wmk_texts {
	char **texts;
	uint32_t n, cap;
	struct wmk_read_table table;   /* hash of the text, number of collisions before it ─► number */
};
void wmk_texts_begin(struct wmk_texts *texts);
/*
 * Find or add a text of `len` bytes. UINT32_MAX means that the table is full (WMK_TEXTS_MAX). -ENOMEM with a cause
 * chain.
 */
int wmk_texts_number(struct wmk_texts *texts, const char *text, size_t len, uint32_t *number);
void wmk_texts_free(struct wmk_texts *texts);

#endif
