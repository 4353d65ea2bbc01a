/* SPDX-License-Identifier: MIT */
/*
 * statedump_record.c - compose the payloads of the state dump and emit them (see statedump_record.h).
 */
#include "kernel/statedump/statedump_record.h"

#include <errno.h>

int wmk_kdump_missed(struct wmk_kdump *dump, long err)
{
	if (!wmk_kproc_is_gone((int)err))
		return (int)err;
	if (err == -EACCES || err == -EPERM)
		dump->counts.denied++;
	else
		dump->counts.gone++;
	return 0;
}

void wmk_kdump_put_text(struct wmk_kdump *dump, const char *text, size_t len)
{
	wmk_kdump_put(dump, text, strnlen(text, len < PATH_MAX ? len : PATH_MAX));
	wmk_kdump_put(dump, "", 1);
}

DIR *wmk_kdump_open_sys(const struct wmk_kdump *dump, const char *path)
{
	if (dump->sys >= 0)
		return wmk_kproc_opendir(dump->sys, path);
	errno = -dump->sys;
	return NULL;
}

int wmk_kdump_each_sys(struct wmk_kdump *dump, const char *path,
		       int (*one)(struct wmk_kdump *dump, DIR *dir, const char *name))
{
	DIR *dir = wmk_kdump_open_sys(dump, path);
	struct dirent *entry;
	int err = 0;

	if (!dir)
		return wmk_kdump_missed(dump, -errno);
	while (err == 0 && (entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.')
			err = one(dump, dir, entry->d_name);
	closedir(dir);
	return err;
}

int wmk_kdump_emit(struct wmk_kdump *dump, enum wmk_kstatedump_event event)
{
	const size_t len = dump->len;
	int err;

	dump->len = 0;
	err = dump->record(dump->data, event, dump->options->clock(dump->options->clock_data), dump->payload, len);
	dump->was_refused = err != 0;
	return err;
}
