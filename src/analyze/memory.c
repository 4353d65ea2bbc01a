/* SPDX-License-Identifier: MIT */
/* memory.c - the analysis `memory` (see memory.h). Each allocation or free of order n covers 2^n pages. */
#include <errno.h>
#include <stdlib.h>

#include "analyze/memory.h"
#include "base/array.h"
#include "base/error.h"
#include "read/hash_table.h"

#define ORDER_MAX 31

/* Page counts of one process (process number -1: unknown), or of one allocation order. */
struct pages {
	struct wmk_read_slot slot;
	uint64_t allocations, frees;   /* number of records */
	uint64_t allocated, freed;     /* pages */
	int64_t most;                  /* the greatest value of allocated - freed */
};

struct memory {
	struct wmk_threads *threads;
	struct wmk_read_table processes, orders;
};

enum { PID, PROCESS, ALLOCATIONS, ALLOCATED, FREES, FREED, CHANGE, MOST };
static const struct wmk_column columns[] = {
	{ "pid", "process", WMK_COLUMN_ID, true },
	{ "process", "name", WMK_COLUMN_TEXT, true },
	{ "allocations", "allocations", WMK_COLUMN_COUNT, false },
	{ "allocated_pages", "pages", WMK_COLUMN_COUNT, false },
	{ "frees", "frees", WMK_COLUMN_COUNT, false },
	{ "freed_pages", "pages", WMK_COLUMN_COUNT, false },
	{ "change_pages", "change", WMK_COLUMN_COUNT, false },
	{ "most_pages", "most", WMK_COLUMN_COUNT, false },
};
enum { ORDER, ORDER_ALLOCATIONS, ORDER_FREES };
static const struct wmk_column order_columns[] = {
	{ "pages", "pages", WMK_COLUMN_ID, true },
	{ "allocations", "allocations", WMK_COLUMN_COUNT, false },
	{ "frees", "frees", WMK_COLUMN_COUNT, false },
};

static int create(struct wmk_analysis *analysis, void **state)
{
	struct memory *memory = calloc(1, sizeof(*memory));

	*state = memory;
	if (!memory)
		return wmk_error(-ENOMEM, "no memory for an analysis");
	memory->threads = wmk_analysis_threads(analysis);
	memory->processes.size = memory->orders.size = sizeof(struct pages);
	return 0;
}

static int count(struct wmk_read_table *table, int64_t key, bool is_free, unsigned order)
{
	struct pages *pages = wmk_read_table_add(table, (uint64_t)key, 0);
	const uint64_t n = UINT64_C(1) << order;

	if (!pages)
		return wmk_error(-ENOMEM, "no memory for pages of processes");
	*(is_free ? &pages->frees : &pages->allocations) += 1;
	*(is_free ? &pages->freed : &pages->allocated) += n;
	if ((int64_t)(pages->allocated - pages->freed) > pages->most)
		pages->most = (int64_t)(pages->allocated - pages->freed);
	return 0;
}

static int record(void *state, const struct wmk_record *record)
{
	struct memory *memory = state;
	const struct wmk_field_value *order = &record->values[WMK_PAGE_ORDER];
	const bool is_free = record->event == WMK_EV_PAGE_FREE;
	struct wmk_analyze_thread *thread;
	int err = wmk_threads_note(memory->threads, record, &thread);

	if (err < 0 || !order->has || order->number < 0 || order->number > ORDER_MAX)
		return err;
	err = count(&memory->processes, thread ? wmk_threads_process(thread) : -1, is_free, (unsigned)order->number);
	return err < 0 ? err : count(&memory->orders, order->number, is_free, (unsigned)order->number);
}

static int result(void *state, struct wmk_result *result)
{
	const struct memory *memory = state;
	struct wmk_result_table *table =
		wmk_result_table(result, "processes", "Pages by process", columns, WMK_ARRAY_LEN(columns));

	table->sort = ALLOCATED;
	for (struct pages *pages = NULL; (pages = wmk_read_table_next(&memory->processes, pages));) {
		const int64_t pid = (int64_t)pages->slot.a;
		const struct wmk_analyze_thread *thread = wmk_threads_find(memory->threads, pid);
		struct wmk_cell *row = wmk_result_row(table);

		if (pid >= 0)
			wmk_cell_number(&row[PID], pid);
		wmk_cell_text(table, &row[PROCESS], thread ? thread->name : "");
		wmk_cell_number(&row[ALLOCATIONS], (int64_t)pages->allocations);
		wmk_cell_number(&row[ALLOCATED], (int64_t)pages->allocated);
		wmk_cell_number(&row[FREES], (int64_t)pages->frees);
		wmk_cell_number(&row[FREED], (int64_t)pages->freed);
		wmk_cell_number(&row[CHANGE], (int64_t)(pages->allocated - pages->freed));
		wmk_cell_number(&row[MOST], pages->most);
	}
	table = wmk_result_table(result, "orders", "By size", order_columns, WMK_ARRAY_LEN(order_columns));
	table->sort = ORDER;
	for (struct pages *pages = NULL; (pages = wmk_read_table_next(&memory->orders, pages));) {
		struct wmk_cell *row = wmk_result_row(table);

		wmk_cell_number(&row[ORDER], (int64_t)1 << pages->slot.a);
		wmk_cell_number(&row[ORDER_ALLOCATIONS], (int64_t)pages->allocations);
		wmk_cell_number(&row[ORDER_FREES], (int64_t)pages->frees);
	}
	return 0;
}

static void release(void *state)
{
	struct memory *memory = state;

	wmk_read_table_free(&memory->processes);
	wmk_read_table_free(&memory->orders);
	free(memory);
}

const struct wmk_analyze_module wmk_analyze_memory = {
	.name = "memory",
	.summary = "pages that the kernel allocates and frees, by process and by size",
	.options = "--preset=memory",
	.needs = { { WMK_EV(PAGE_ALLOC), false, "kmem_mm_page_alloc", NULL },
		   { WMK_EV(PAGE_FREE), true, "kmem_mm_page_free too", "freed pages are unknown" } },
	.events = WMK_EV(PAGE_ALLOC) | WMK_EV(PAGE_FREE),
	.has_threads = true,
	.create = create,
	.record = record,
	.result = result,
	.free = release,
};
