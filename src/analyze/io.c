/* SPDX-License-Identifier: MIT */
/*
 * io.c - the analysis `io` (see io.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/io.h"
#include "analyze/stats.h"
#include "base/array.h"
#include "base/error.h"

#define PENDING_MAX 65536u             /* maximum number of open requests; beyond it, the oldest is forgotten */

enum operation { READ, WRITE, DISCARD, FLUSH, OPERATIONS };
static const char *const operation_names[OPERATIONS] = { "read", "write", "discard", "flush" };

/* A block request that was inserted or issued, and is not yet complete. */
struct request {
	uint64_t dev, sector;
	int64_t inserted, issued;      /* ns; INT64_MIN: unknown */
	int64_t pid;
};

/*
 * A bio that was queued. A later bio with the same hash replaces the earlier bio in this table. The replaced bio has no
 * duration.
 */
struct bio {
	uint64_t dev, sector;
	int64_t queued;                /* ns */
};
#define BIOS 4096u

struct io {
	struct wmk_threads *threads;
	struct bio bios[BIOS];         /* by hash_of() */
	struct wmk_stats stacked;      /* by device, operation: bios of devices without requests */
	struct request *pending;
	uint32_t n_pending, cap_pending;
	struct wmk_texts names;        /* of devices */
	struct wmk_stats named;        /* by device: `count` is the number of the name plus 1 */
	struct wmk_stats devices, queues, merges; /* by device, operation */
	struct wmk_stats sizes;        /* by power of two of bytes, operation */
	struct wmk_stats processes;    /* by process, operation */
};

enum { DEV, OP, COUNT, ERRORS, MERGES, BYTES, RATE, TOTAL, QUEUE = TOTAL + WMK_DURATION_CELLS };
static const struct wmk_column columns[] = {
	{ "device", "device", WMK_COLUMN_TEXT, true },
	{ "operation", "operation", WMK_COLUMN_TEXT, true },
	{ "requests", "requests", WMK_COLUMN_COUNT, false },
	{ "errors", "errors", WMK_COLUMN_COUNT, false },
	{ "merges", "merges", WMK_COLUMN_COUNT, false },
	{ "bytes", "bytes", WMK_COLUMN_BYTES, false },
	{ "bytes_per_s", NULL, WMK_COLUMN_RATE, false },
	WMK_COLUMNS_DURATIONS,
	WMK_COLUMNS_QUANTILES("queue_", "queued"),
};
enum { FROM, SIZE_OP, SIZE_COUNT, SIZE_BYTES, SIZE_TOTAL };
static const struct wmk_column size_columns[] = {
	{ "from_bytes", "from", WMK_COLUMN_BYTES, true },
	{ "operation", "operation", WMK_COLUMN_TEXT, true },
	{ "requests", "requests", WMK_COLUMN_COUNT, false },
	{ "bytes", "bytes", WMK_COLUMN_BYTES, false },
	WMK_COLUMNS_DURATIONS,
};
enum { PID, PROCESS, PROCESS_OP, PROCESS_COUNT, PROCESS_BYTES, PROCESS_TOTAL };
static const struct wmk_column process_columns[] = {
	{ "pid", "process", WMK_COLUMN_ID, true },
	{ "process", "name", WMK_COLUMN_TEXT, true },
	{ "operation", "operation", WMK_COLUMN_TEXT, true },
	{ "requests", "requests", WMK_COLUMN_COUNT, false },
	{ "bytes", "bytes", WMK_COLUMN_BYTES, false },
	WMK_COLUMNS_DURATIONS,
};

static int create(struct wmk_analysis *analysis, void **state)
{
	struct io *io = calloc(1, sizeof(*io));

	*state = io;
	if (!io)
		return wmk_error(-ENOMEM, "no memory for an analysis");
	io->threads = wmk_analysis_threads(analysis);
	wmk_texts_begin(&io->names);
	wmk_stats_begin(&io->named);
	wmk_stats_begin(&io->stacked);
	wmk_stats_begin(&io->devices);
	wmk_stats_begin(&io->queues);
	wmk_stats_begin(&io->merges);
	wmk_stats_begin(&io->sizes);
	wmk_stats_begin(&io->processes);
	return 0;
}

/* ── records ─────────────────────────────────────────────────────────────────────────────────────────── */

/* rwbs is a text in the kernel ("WFS"), and bits in Waymark and LTTng. */
static unsigned operation_of(const struct wmk_record *record)
{
	const struct wmk_field_value *rwbs = &record->values[WMK_BLOCK_RWBS];

	if (rwbs->is_text)
		return memchr(rwbs->text, 'D', rwbs->len)   ? DISCARD
		       : memchr(rwbs->text, 'W', rwbs->len) ? WRITE
		       : memchr(rwbs->text, 'R', rwbs->len) ? READ
							    : FLUSH;
	return rwbs->number & 2 ? DISCARD : rwbs->number & 1 ? WRITE : rwbs->number & 4 ? READ : FLUSH;
}

static struct request *pending(struct io *io, const struct wmk_record *record)
{
	const uint64_t dev = (uint64_t)record->values[WMK_BLOCK_DEV].number,
		       sector = (uint64_t)record->values[WMK_BLOCK_SECTOR].number;

	for (uint32_t i = io->n_pending; i--;)
		if (io->pending[i].dev == dev && io->pending[i].sector == sector)
			return &io->pending[i];
	return NULL;
}

static struct request *begin_request(struct io *io, const struct wmk_record *record)
{
	struct wmk_analyze_thread *thread;
	struct request *all = io->n_pending < PENDING_MAX ? wmk_array_room(io->pending, io->n_pending, &io->cap_pending,
									   sizeof(*all))
							  : io->pending;

	if (!all)
		wmk_error(-ENOMEM, "no memory for %u requests", io->n_pending);
	if (!all || wmk_threads_note(io->threads, record, &thread) < 0)
		return NULL;
	io->pending = all;
	if (io->n_pending == PENDING_MAX)
		memmove(all, all + 1, --io->n_pending * sizeof(*all));
	all += io->n_pending++;
	*all = (struct request){ .dev = (uint64_t)record->values[WMK_BLOCK_DEV].number,
				 .sector = (uint64_t)record->values[WMK_BLOCK_SECTOR].number,
				 .inserted = INT64_MIN, .issued = INT64_MIN,
				 .pid = thread ? thread->pid : -1 };
	return all;
}

static int count(struct wmk_stats *stats, uint64_t a, uint64_t b, uint64_t bytes, int64_t ns, bool has_failed)
{
	struct wmk_stat *stat = wmk_stats_get(stats, a, b);

	if (!stat)
		return -ENOMEM;
	stat->count++;
	stat->errors += has_failed;
	stat->bytes += bytes;
	return ns < 0 ? 0 : wmk_histogram_add(&stat->ns, (uint64_t)ns);
}

static int issue(struct io *io, const struct wmk_record *record)
{
	struct request *request = pending(io, record);

	if (!request)
		request = begin_request(io, record);
	if (!request)
		return -ENOMEM;
	request->issued = record->ns;
	if (request->inserted == INT64_MIN)
		return 0;
	return count(&io->queues, request->dev, operation_of(record), 0, record->ns - request->inserted, false);
}

static int insert(struct io *io, const struct wmk_record *record)
{
	struct request *request = pending(io, record);

	if (!request)
		request = begin_request(io, record);
	if (!request)
		return -ENOMEM;
	request->inserted = record->ns;
	return 0;
}

static int complete(struct io *io, const struct wmk_record *record)
{
	const uint64_t bytes = (uint64_t)record->values[WMK_BLOCK_SECTORS].number * 512;
	const struct wmk_field_value *error = &record->values[WMK_BLOCK_ERROR];
	const unsigned operation = operation_of(record);
	struct request *request = pending(io, record);
	const int64_t ns = request && request->issued != INT64_MIN ? record->ns - request->issued : -1;
	int err = count(&io->devices, (uint64_t)record->values[WMK_BLOCK_DEV].number, operation, bytes, ns,
			error->has && error->number != 0);

	if (err >= 0)
		err = count(&io->sizes, bytes ? (uint64_t)(63 - __builtin_clzll(bytes)) : 64, operation, bytes, ns,
			    false);
	if (err >= 0)
		err = count(&io->processes, request ? (uint64_t)request->pid : UINT64_MAX, operation, bytes, ns, false);
	if (request)
		*request = io->pending[--io->n_pending];
	return err;
}

static struct bio *bio_of(struct io *io, const struct wmk_record *record)
{
	const uint64_t hash = ((uint64_t)record->values[WMK_BLOCK_DEV].number * 31 +
			       (uint64_t)record->values[WMK_BLOCK_SECTOR].number) * UINT64_C(0x9e3779b97f4a7c15);

	return &io->bios[hash >> 52];
}

static void queue_bio(struct io *io, const struct wmk_record *record)
{
	*bio_of(io, record) = (struct bio){ (uint64_t)record->values[WMK_BLOCK_DEV].number,
					    (uint64_t)record->values[WMK_BLOCK_SECTOR].number, record->ns };
}

/*
 * On a request-based block device, the kernel advances the start of a bio to its end before the bio completes. The
 * completion record of a bio on a request-based device therefore has 0 sectors, and the bio is not counted.
 */
static int complete_bio(struct io *io, const struct wmk_record *record)
{
	const uint64_t dev = (uint64_t)record->values[WMK_BLOCK_DEV].number,
		       bytes = (uint64_t)record->values[WMK_BLOCK_SECTORS].number * 512;
	const struct wmk_field_value *error = &record->values[WMK_BLOCK_ERROR];
	struct bio *bio = bio_of(io, record);
	const bool is_known = bio->queued && bio->dev == dev &&
			      bio->sector == (uint64_t)record->values[WMK_BLOCK_SECTOR].number;
	const int64_t ns = is_known ? record->ns - bio->queued : -1;

	bio->queued = is_known ? 0 : bio->queued;
	return !bytes ? 0
		      : count(&io->stacked, dev, operation_of(record), bytes, ns, error->has && error->number != 0);
}

static int merge(struct io *io, const struct wmk_record *record)
{
	struct request *request = strcmp(record->class->name, "block_rq_merge") ? NULL : pending(io, record);

	/* The request was merged into another request, and has no completion of its own. */
	if (request)
		*request = io->pending[--io->n_pending];
	return count(&io->merges, (uint64_t)record->values[WMK_BLOCK_DEV].number, operation_of(record), 0, -1, false);
}

static int name_device(struct io *io, const struct wmk_record *record)
{
	const struct wmk_field_value *name = &record->values[WMK_DEVICE_NAME];
	struct wmk_stat *stat;
	uint32_t number;
	int err;

	if (!name->is_text)
		return 0;
	err = wmk_texts_number(&io->names, name->text, strnlen(name->text, name->len), &number);
	stat = err < 0 ? NULL : wmk_stats_get(&io->named, (uint64_t)record->values[WMK_DEVICE_DEV].number, 0);
	if (stat && number < UINT32_MAX)
		stat->count = (uint64_t)number + 1;
	return err < 0 ? err : stat ? 0 : -ENOMEM;
}

static int record(void *state, const struct wmk_record *record)
{
	struct io *io = state;

	switch (record->event) {
	case WMK_EV_BLOCK_INSERT:
		return insert(io, record);
	case WMK_EV_BLOCK_ISSUE:
		return issue(io, record);
	case WMK_EV_BLOCK_COMPLETE:
		return complete(io, record);
	case WMK_EV_BLOCK_MERGE:
		return merge(io, record);
	case WMK_EV_BIO_QUEUE:
		queue_bio(io, record);
		return 0;
	case WMK_EV_BIO_COMPLETE:
		return complete_bio(io, record);
	default:
		return name_device(io, record);
	}
}

/*
 * During the loss, the device may have completed the open requests, and new requests may have used the same sectors. So
 * forget all open requests.
 */
static void lost(void *state, const struct wmk_loss *loss)
{
	struct io *io = state;

	if (loss->events & (WMK_EV(BLOCK_ISSUE) | WMK_EV(BLOCK_COMPLETE)))
		io->n_pending = 0;
	if (loss->events & (WMK_EV(BIO_QUEUE) | WMK_EV(BIO_COMPLETE)))
		memset(io->bios, 0, sizeof(io->bios));
}

/* ── result ──────────────────────────────────────────────────────────────────────────────────────────── */

static void add_device(const struct io *io, struct wmk_result_table *table, const struct wmk_stat *stat)
{
	const double seconds = (double)(table->result->end - table->result->begin) / 1e9;
	const struct wmk_stat *named = wmk_read_table_find(&io->named.table, stat->slot.a, 0);
	const struct wmk_stat *queue = wmk_read_table_find(&io->queues.table, stat->slot.a, stat->slot.b);
	const struct wmk_stat *merges = wmk_read_table_find(&io->merges.table, stat->slot.a, stat->slot.b);
	struct wmk_cell *row = wmk_result_row(table);
	char number[32];

	snprintf(number, sizeof(number), "%u:%u", (unsigned)(stat->slot.a >> 20), (unsigned)(stat->slot.a & 0xfffff));
	wmk_cell_text(table, &row[DEV], named && named->count ? io->names.texts[named->count - 1] : number);
	wmk_cell_text(table, &row[OP], operation_names[stat->slot.b]);
	wmk_cell_number(&row[COUNT], (int64_t)stat->count);
	wmk_cell_number(&row[ERRORS], (int64_t)stat->errors);
	wmk_cell_number(&row[MERGES], merges ? (int64_t)merges->count : 0);
	wmk_cell_number(&row[BYTES], (int64_t)stat->bytes);
	if (seconds > 0)
		wmk_cell_real(&row[RATE], (double)stat->bytes / seconds);
	wmk_cell_durations(&row[TOTAL], &stat->ns);
	if (queue)
		wmk_cell_quantiles(&row[QUEUE], &queue->ns);
}

static void add_devices(const struct io *io, struct wmk_result *result)
{
	struct wmk_result_table *table =
		wmk_result_table(result, "devices", "Block devices", columns, WMK_ARRAY_LEN(columns));

	table->sort = COUNT;
	for (struct wmk_stat *stat = NULL; (stat = wmk_stats_next(&io->devices, stat));)
		add_device(io, table, stat);
	for (struct wmk_stat *stat = NULL; (stat = wmk_stats_next(&io->stacked, stat));)
		if (!wmk_read_table_find(&io->devices.table, stat->slot.a, stat->slot.b))
			add_device(io, table, stat);
}

static void add_sizes(const struct io *io, struct wmk_result *result)
{
	struct wmk_result_table *table =
		wmk_result_table(result, "sizes", "By size of the request", size_columns, WMK_ARRAY_LEN(size_columns));

	table->sort = SIZE_COUNT;
	for (struct wmk_stat *stat = NULL; (stat = wmk_stats_next(&io->sizes, stat));) {
		struct wmk_cell *row = wmk_result_row(table);

		wmk_cell_number(&row[FROM], stat->slot.a < 63 ? (int64_t)1 << stat->slot.a : 0);
		wmk_cell_text(table, &row[SIZE_OP], operation_names[stat->slot.b]);
		wmk_cell_number(&row[SIZE_COUNT], (int64_t)stat->count);
		wmk_cell_number(&row[SIZE_BYTES], (int64_t)stat->bytes);
		wmk_cell_durations(&row[SIZE_TOTAL], &stat->ns);
	}
}

static void add_processes(const struct io *io, struct wmk_result *result)
{
	struct wmk_result_table *table = wmk_result_table(result, "processes", "By process", process_columns,
							  WMK_ARRAY_LEN(process_columns));

	table->sort = PROCESS_BYTES;
	for (struct wmk_stat *stat = NULL; (stat = wmk_stats_next(&io->processes, stat));) {
		const struct wmk_analyze_thread *thread = wmk_threads_find(io->threads, (int64_t)stat->slot.a);
		struct wmk_cell *row = wmk_result_row(table);

		if ((int64_t)stat->slot.a >= 0)
			wmk_cell_number(&row[PID], (int64_t)stat->slot.a);
		wmk_cell_text(table, &row[PROCESS], thread ? thread->name : "");
		wmk_cell_text(table, &row[PROCESS_OP], operation_names[stat->slot.b]);
		wmk_cell_number(&row[PROCESS_COUNT], (int64_t)stat->count);
		wmk_cell_number(&row[PROCESS_BYTES], (int64_t)stat->bytes);
		wmk_cell_durations(&row[PROCESS_TOTAL], &stat->ns);
	}
}

static int result(void *state, struct wmk_result *result)
{
	const struct io *io = state;

	add_devices(io, result);
	add_sizes(io, result);
	add_processes(io, result);
	return 0;
}

static void clear(void *state)
{
	struct io *io = state;
	struct wmk_stats *all[] = { &io->stacked, &io->devices, &io->queues, &io->merges, &io->sizes,
				    &io->processes };

	for (unsigned i = 0; i < WMK_ARRAY_LEN(all); i++) {
		wmk_stats_free(all[i]);
		wmk_stats_begin(all[i]);
	}
}

static void release(void *state)
{
	struct io *io = state;

	free(io->pending);
	wmk_texts_free(&io->names);
	wmk_stats_free(&io->named);
	wmk_stats_free(&io->stacked);
	wmk_stats_free(&io->devices);
	wmk_stats_free(&io->queues);
	wmk_stats_free(&io->merges);
	wmk_stats_free(&io->sizes);
	wmk_stats_free(&io->processes);
	free(io);
}

const struct wmk_analyze_module wmk_analyze_io = {
	.name = "io",
	.summary = "requests of block devices: count, bytes, merges and latency, by device, size and process",
	.options = "--preset=io",
	.needs = { { WMK_EV(BLOCK_COMPLETE), false, "block_rq_complete", NULL },
		   { WMK_EV(BLOCK_ISSUE), true, "block_rq_issue", "latencies are not known" } },
	.events = WMK_EV(BLOCK_INSERT) | WMK_EV(BLOCK_ISSUE) | WMK_EV(BLOCK_COMPLETE) | WMK_EV(BLOCK_MERGE) |
		  WMK_EV(BLOCK_DEVICE) | WMK_EV(BIO_QUEUE) | WMK_EV(BIO_COMPLETE),
	.has_threads = true,
	.create = create,
	.record = record,
	.lost = lost,
	.result = result,
	.clear = clear,
	.free = release,
};
