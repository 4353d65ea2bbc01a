/* SPDX-License-Identifier: MIT */
/*
 * files.c - paths of file descriptors (see files.h).
 */
#include <errno.h>
#include <string.h>

#include "analyze/files.h"
#include "base/error.h"

struct number_slot {
	struct wmk_read_slot slot;
	/* value of `tables`: number of the file table; of the others: number of the path plus 1, 0: unknown */
	uint64_t number;
};

void wmk_files_begin(struct wmk_files *files)
{
	*files = (struct wmk_files){ .tables.size = sizeof(struct number_slot),
				     .dumped.size = sizeof(struct number_slot),
				     .opened.size = sizeof(struct number_slot) };
	wmk_texts_begin(&files->paths);
}

static int set(struct wmk_read_table *table, uint64_t a, uint64_t b, uint64_t number)
{
	struct number_slot *slot = wmk_read_table_add(table, a, b);

	if (!slot)
		return wmk_error(-ENOMEM, "no memory for %zu files", table->n);
	slot->number = number;
	return 0;
}

int wmk_files_dumped(struct wmk_files *files, const struct wmk_record *record)
{
	const struct wmk_field_value *values = record->values, *name = &values[WMK_FILE_NAME];
	uint32_t path;
	int err;

	if (record->event == WMK_EV_PROCESS_STATE)
		return !values[WMK_STATE_FILES].has
			       ? 0
			       : set(&files->tables, (uint64_t)values[WMK_STATE_PID].number, 0,
				     (uint64_t)values[WMK_STATE_FILES].number);
	if (!name->is_text)
		return 0;
	err = wmk_texts_number(&files->paths, name->text, strnlen(name->text, name->len), &path);
	return err < 0 ? err
		       : set(&files->dumped, (uint64_t)values[WMK_FILE_TABLE].number,
			     (uint64_t)values[WMK_FILE_FD].number, (uint64_t)path + 1);
}

int wmk_files_opened(struct wmk_files *files, int64_t pid, int64_t fd, uint32_t path)
{
	return set(&files->opened, (uint64_t)pid, (uint64_t)fd, path == WMK_NO_PATH ? 0 : (uint64_t)path + 1);
}

uint32_t wmk_files_path(const struct wmk_files *files, int64_t pid, int64_t fd)
{
	const struct number_slot *slot = wmk_read_table_find(&files->opened, (uint64_t)pid, (uint64_t)fd), *table;

	if (!slot) {
		table = wmk_read_table_find(&files->tables, (uint64_t)pid, 0);
		slot = table ? wmk_read_table_find(&files->dumped, table->number, (uint64_t)fd) : NULL;
	}
	return slot && slot->number && slot->number - 1 < UINT32_MAX ? (uint32_t)(slot->number - 1) : WMK_NO_PATH;
}

void wmk_files_free(struct wmk_files *files)
{
	wmk_texts_free(&files->paths);
	wmk_read_table_free(&files->tables);
	wmk_read_table_free(&files->dumped);
	wmk_read_table_free(&files->opened);
}
