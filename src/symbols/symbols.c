/* SPDX-License-Identifier: MIT */
/*
 * symbols.c - objects of processes over time (see symbols.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/utf8.h"
#include "read/hash_table.h"
#include "read/record_scope.h"
#include "symbols/kernel_symbols.h"
#include "symbols/objects.h"
#include "symbols/symbols.h"

/* An object of a process. */
struct file_mapping {
	int64_t pid;
	uint64_t base;
	struct wmk_object_file_id id;
	int64_t from, to;              /* ns: when it was loaded */
	struct wmk_object_file *object;     /* NULL: not searched yet */
};

/* An entry for the latest mapping at an address of a process; the key is the process and the address. */
struct latest_symbol_file {
	struct wmk_read_slot slot;
	uint32_t number;               /* plus 1; 0: none */
};

struct wmk_symbols {
	struct file_mapping *mappings;
	uint32_t n, cap;
	bool is_sorted;
	struct wmk_read_table latest;
	struct wmk_object_files objects;
	struct wmk_kernel_symbols kernel;
};

int wmk_symbols_create(struct wmk_symbols **symbols)
{
	*symbols = calloc(1, sizeof(**symbols));
	if (!*symbols)
		return wmk_error(-ENOMEM, "no memory for symbols");
	(*symbols)->latest.size = sizeof(struct latest_symbol_file);
	return 0;
}

void wmk_symbols_free(struct wmk_symbols *symbols)
{
	if (!symbols)
		return;
	for (uint32_t i = 0; i < symbols->n; i++)
		free(symbols->mappings[i].id.path);
	free(symbols->mappings);
	wmk_read_table_free(&symbols->latest);
	wmk_object_files_release(&symbols->objects);
	wmk_kernel_symbols_free(&symbols->kernel);
	free(symbols);
}

int wmk_symbols_kernel(struct wmk_symbols *symbols, const char *path)
{
	return wmk_kernel_symbols_load(&symbols->kernel, path);
}

/* ── records ─────────────────────────────────────────────────────────────────────────────────────────── */

/* The fields of an event about an object. */
struct file_fields {
	uint64_t base;
	struct wmk_object_file_id id;
	char path[4096];
};

enum symbol_event { OTHER, DUMPED, LOADED, BUILD_ID, UNLOADED };

static enum symbol_event kind_of(const char *name)
{
	static const struct {
		const char *name;
		enum symbol_event kind;
	} kinds[] = { { "lttng_ust_statedump:bin_info", DUMPED }, { "lttng_ust_statedump:build_id", BUILD_ID },
		      { "lttng_ust_lib:load", LOADED },		  { "lttng_ust_lib:build_id", BUILD_ID },
		      { "lttng_ust_lib:unload", UNLOADED } };

	for (unsigned i = 0; i < WMK_ARRAY_LEN(kinds); i++)
		if (!strcmp(name, kinds[i].name))
			return kinds[i].kind;
	return OTHER;
}

static void take(struct file_fields *fields, const struct wmk_ctf_item *item, bool is_id)
{
	const char *name = item->op->name;

	if (is_id) {
		if (item->op->code == WMK_CTF_INT && fields->id.build_id_len < WMK_BUILD_ID_SIZE)
			fields->id.build_id[fields->id.build_id_len++] = (uint8_t)item->value.u;
	} else if (!name) {
		return;
	} else if (!strcmp(name, "baddr")) {
		fields->base = item->value.u;
	} else if (!strcmp(name, "memsz")) {
		fields->id.size = item->value.u;
	} else if (!strcmp(name, "path") && item->op->code == WMK_CTF_STRING && item->len < sizeof(fields->path)) {
		memcpy(fields->path, item->text, item->len);
		fields->path[item->len] = '\0';
	} else if (!strcmp(name, "build_id") && item->op->code == WMK_CTF_BLOB && item->len <= WMK_BUILD_ID_SIZE) {
		memcpy(fields->id.build_id, item->text, item->len);
		fields->id.build_id_len = (uint8_t)item->len;
	}
}

static int read_fields(struct wmk_read_stream *stream, struct file_fields *fields)
{
	const struct wmk_ctf_program *program = wmk_read_scope_begin(stream, WMK_READ_PAYLOAD);
	struct wmk_ctf_walk *walk = &stream->record.walk;
	struct wmk_ctf_item item;
	bool is_id = false;

	if (!program->n_ops)
		return 0;
	wmk_ctf_walk_enter(walk, program);
	while (wmk_ctf_next(walk, &item)) {
		if (item.op->code == WMK_CTF_ARRAY)
			is_id = !item.is_end && item.op->name && !strcmp(item.op->name, "build_id");
		else if (!item.is_end)
			take(fields, &item, is_id);
	}
	return walk->err;
}

/* If a state dump lists an object that `symbols` already has, the function adds nothing. */
static int add(struct wmk_symbols *symbols, int64_t pid, int64_t from, const struct file_fields *fields)
{
	struct latest_symbol_file *latest = wmk_read_table_add(&symbols->latest, (uint64_t)pid, fields->base);
	struct file_mapping *all;

	if (latest && latest->number && !strcmp(symbols->mappings[latest->number - 1].id.path, fields->path) &&
	    symbols->mappings[latest->number - 1].to == INT64_MAX)
		return 0;
	all = latest ? wmk_array_room(symbols->mappings, symbols->n, &symbols->cap, sizeof(*all)) : NULL;
	if (!all)
		return wmk_error(-ENOMEM, "no memory for %u loaded objects", symbols->n);
	symbols->mappings = all;
	all += symbols->n;
	*all = (struct file_mapping){ .pid = pid, .base = fields->base, .from = from, .to = INT64_MAX,
				      .id = fields->id };
	all->id.path = strdup(fields->path);
	if (!all->id.path)
		return wmk_error(-ENOMEM, "no memory for %u loaded objects", symbols->n);
	latest->number = ++symbols->n;
	return 0;
}

static int collect(void *state, struct wmk_read_stream *stream, struct wmk_print_text *out)
{
	struct wmk_symbols *symbols = state;
	const enum symbol_event kind = kind_of(wmk_or_empty(stream->record.event->class->name));
	struct wmk_read_thread_id who = { .cpu = WMK_READ_NOWHERE };
	struct file_fields fields = { .base = 0 };
	struct latest_symbol_file *latest;
	int64_t pid;
	int err;

	(void)out;
	if (kind == OTHER)
		return 0;
	err = wmk_read_thread_id_of_record(&who, stream);
	if (err >= 0)
		err = read_fields(stream, &fields);
	pid = who.has_pid ? who.pid : -1;
	if (err < 0 || kind == DUMPED || kind == LOADED)
		return err < 0 ? err : add(symbols, pid, kind == LOADED ? stream->ns : INT64_MIN, &fields);
	latest = wmk_read_table_find(&symbols->latest, (uint64_t)pid, fields.base);
	if (!latest || !latest->number)
		return 0;
	if (kind == UNLOADED) {
		symbols->mappings[latest->number - 1].to = stream->ns;
	} else {
		struct wmk_object_file_id *id = &symbols->mappings[latest->number - 1].id;

		memcpy(id->build_id, fields.id.build_id, sizeof(id->build_id));
		id->build_id_len = fields.id.build_id_len;
	}
	return 0;
}

/* (the state of a stream is the state of the form) */
static int collect_stream(void *whole, const struct wmk_read_stream *stream, void **state)
{
	(void)stream;
	*state = whole;
	return 0;
}

static void free_stream(void *state)
{
	(void)state;
}

const struct wmk_read_exporter wmk_symbols_form = {
	.name = "symbols",
	.stream = collect_stream,
	.stream_free = free_stream,
	.record = collect,
};

/* ── search ──────────────────────────────────────────────────────────────────────────────────────────── */

static int by_place(const void *left, const void *right)
{
	const struct file_mapping *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->base > b->base) - (a->base < b->base);
}

/* The object at an address. */
static struct file_mapping *mapping_at(struct wmk_symbols *symbols, int64_t pid, int64_t ns, uint64_t address)
{
	uint32_t low = 0, high = symbols->n;

	if (!symbols->is_sorted && symbols->n)
		qsort(symbols->mappings, symbols->n, sizeof(*symbols->mappings), by_place);
	symbols->is_sorted = true;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		const struct file_mapping *is = &symbols->mappings[middle];

		if (is->pid < pid || (is->pid == pid && is->base <= address))
			low = middle + 1;
		else
			high = middle;
	}
	while (low-- && symbols->mappings[low].pid == pid) {
		struct file_mapping *is = &symbols->mappings[low];

		if (address - is->base < is->id.size && ns >= is->from && ns < is->to)
			return is;
	}
	return NULL;
}

unsigned wmk_symbols_find(void *data, int64_t pid, int64_t ns, uint64_t address, struct wmk_read_frame *frames,
			  unsigned max)
{
	struct wmk_symbols *symbols = data;
	struct file_mapping *mapping;

	if (address >> 63)
		return max && wmk_kernel_symbols_find(&symbols->kernel, address, frames);
	mapping = mapping_at(symbols, pid, ns, address);
	if (!mapping)
		return 0;
	if (!mapping->object)
		mapping->object = wmk_object_files_get(&symbols->objects, &mapping->id);
	return mapping->object ? wmk_object_file_find(mapping->object, address - mapping->base, frames, max) : 0;
}
