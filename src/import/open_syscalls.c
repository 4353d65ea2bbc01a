/* SPDX-License-Identifier: MIT */
/*
 * open_syscalls.c - system calls that have not returned (see open_syscalls.h).
 */
#include "import/open_syscalls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"

/* (thread numbers are often multiples of the number of buckets, so a hash distributes them) */
static unsigned head_of(int64_t thread)
{
	return (unsigned)(wmk_hash_fold((uint64_t)thread, UINT64_C(0x9e3779b97f4a7c15)) % WMK_IMPORT_OPEN_HEADS);
}

int64_t wmk_import_open_thread(const struct wmk_import_line *line)
{
	return line->has_tid ? line->tid : -1;
}

int wmk_import_open_add(struct wmk_import_open_syscalls *opens, const struct wmk_import_line *line,
			struct wmk_import_record *record, size_t args_at)
{
	struct wmk_import_open_syscall *open = calloc(1, sizeof(*open));
	const struct wmk_import_text name = wmk_import_head(line->values[0].text, sizeof(open->name) - 1);

	if (!open)
		return wmk_error(-ENOMEM, "no memory for an open system call");
	open->thread = wmk_import_open_thread(line);
	open->record = record;
	open->args_at = args_at;
	memcpy(open->name, name.at, name.len);
	open->next = opens->heads[head_of(open->thread)];
	opens->heads[head_of(open->thread)] = open;
	record->open = open;
	opens->n++;
	return 0;
}

struct wmk_import_open_syscall *wmk_import_open_find(const struct wmk_import_open_syscalls *opens, int64_t thread)
{
	struct wmk_import_open_syscall *open = opens->heads[head_of(thread)];

	while (open && open->thread != thread)
		open = open->next;
	return open;
}

static bool is_of(const struct wmk_import_open_syscall *open, struct wmk_import_text name)
{
	return open && wmk_import_text_is(wmk_import_head(name, sizeof(open->name) - 1), open->name);
}

static struct wmk_import_open_syscall *only_one(const struct wmk_import_open_syscalls *opens)
{
	unsigned head = 0;

	if (opens->n != 1)
		return NULL;
	while (!opens->heads[head])
		head++;
	return opens->heads[head];
}

struct wmk_import_open_syscall *wmk_import_open_resumed(const struct wmk_import_open_syscalls *opens,
						const struct wmk_import_line *line)
{
	const struct wmk_import_text name = line->values[0].text;
	struct wmk_import_open_syscall *open = wmk_import_open_find(opens, wmk_import_open_thread(line));

	if (is_of(open, name))
		return open;
	open = line->has_tid ? wmk_import_open_find(opens, -1) : only_one(opens);
	return is_of(open, name) ? open : NULL;
}

void wmk_import_open_remove(struct wmk_import_open_syscalls *opens, struct wmk_import_open_syscall *open)
{
	struct wmk_import_open_syscall **at = &opens->heads[head_of(open->thread)];

	while (*at != open)
		at = &(*at)->next;
	*at = open->next;
	opens->n--;
	open->record->open = NULL;
	free(open);
}
