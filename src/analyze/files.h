/* SPDX-License-Identifier: MIT */
/*
 * files.h - the path of a process's file descriptor, from the state dump and from later openat() and close(). One
 * thread.
 */
#ifndef WMK_ANALYZE_FILES_H
#define WMK_ANALYZE_FILES_H

#include "analyze/events.h"
#include "analyze/stats.h"

#define WMK_NO_PATH UINT32_MAX

struct wmk_files {
	struct wmk_texts paths;
	struct wmk_read_table tables;  /* process ─► file table of the state dump */
	struct wmk_read_table dumped;  /* file table, descriptor ─► path */
	struct wmk_read_table opened;  /* process, descriptor ─► path; replaces the entry of `dumped` */
};

void wmk_files_begin(struct wmk_files *files);
/* Apply a record of a state dump. -ENOMEM with a cause chain. */
int wmk_files_dumped(struct wmk_files *files, const struct wmk_record *record);
/*
 * Call this when the process has opened the descriptor, or has closed the descriptor (WMK_NO_PATH). -ENOMEM with a
 * cause chain.
 */
int wmk_files_opened(struct wmk_files *files, int64_t pid, int64_t fd, uint32_t path);
/* The index of a path in `paths`, or WMK_NO_PATH. */
uint32_t wmk_files_path(const struct wmk_files *files, int64_t pid, int64_t fd);
void wmk_files_free(struct wmk_files *files);

#endif
