/* SPDX-License-Identifier: MIT */
/*
 * stats.c - counts and durations by key (see stats.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/stats.h"
#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"

struct text_slot {
	struct wmk_read_slot slot;
	uint32_t number;               /* number of the text plus 1 */
};

void wmk_stats_begin(struct wmk_stats *stats)
{
	*stats = (struct wmk_stats){ .table.size = sizeof(struct wmk_stat) };
}

struct wmk_stat *wmk_stats_get(struct wmk_stats *stats, uint64_t a, uint64_t b)
{
	struct wmk_stat *stat = wmk_read_table_add(&stats->table, a, b);

	if (!stat)
		wmk_error(-ENOMEM, "no memory for %zu rows of a result", stats->table.n);
	return stat;
}

struct wmk_stat *wmk_stats_next(const struct wmk_stats *stats, const struct wmk_stat *stat)
{
	return wmk_read_table_next(&stats->table, stat);
}

void wmk_stats_free(struct wmk_stats *stats)
{
	for (struct wmk_stat *stat = NULL; (stat = wmk_stats_next(stats, stat));)
		wmk_histogram_free(&stat->ns);
	wmk_read_table_free(&stats->table);
}

void wmk_cell_durations(struct wmk_cell *cells, const struct wmk_histogram *ns)
{
	if (!ns->n)
		return;
	wmk_cell_number(&cells[0], (int64_t)ns->sum);
	wmk_cell_number(&cells[1], (int64_t)(ns->sum / ns->n));
	wmk_cell_quantiles(&cells[2], ns);
}

void wmk_texts_begin(struct wmk_texts *texts)
{
	*texts = (struct wmk_texts){ .table.size = sizeof(struct text_slot) };
}

int wmk_texts_number(struct wmk_texts *texts, const char *text, size_t len, uint32_t *number)
{
	const uint64_t hash = wmk_hash_bytes(WMK_HASH_BEGIN, text, len);
	struct text_slot *slot;
	char **all;

	*number = UINT32_MAX;
	for (uint64_t nth = 0;; nth++) {
		slot = wmk_read_table_find(&texts->table, hash, nth);
		if (!slot)
			slot = texts->n < WMK_TEXTS_MAX ? wmk_read_table_add(&texts->table, hash, nth) : NULL;
		if (!slot)
			return texts->n < WMK_TEXTS_MAX ? wmk_error(-ENOMEM, "no memory for %u names", texts->n) : 0;
		if (!slot->number)
			break;
		const char *known = texts->texts[slot->number - 1];

		if (strlen(known) == len && !memcmp(known, text, len)) {
			*number = slot->number - 1;
			return 0;
		}
	}
	all = wmk_array_room(texts->texts, texts->n, &texts->cap, sizeof(*all));
	if (all)
		texts->texts = all;
	if (!all || !(all[texts->n] = strndup(text, len)))
		return wmk_error(-ENOMEM, "no memory for %u names", texts->n);
	slot->number = ++texts->n;
	*number = texts->n - 1;
	return 0;
}

void wmk_texts_free(struct wmk_texts *texts)
{
	for (uint32_t i = 0; i < texts->n; i++)
		free(texts->texts[i]);
	free(texts->texts);
	wmk_read_table_free(&texts->table);
}
