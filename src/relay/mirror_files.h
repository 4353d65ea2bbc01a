/* SPDX-License-Identifier: MIT */
/*
 * mirror_files.h - the copied files of a session. A reader, also a live one (read/live.h), reads the copy as it would
 * read the directory of the relay. The copy includes growing files, directories that a rotation moves, the lock of a
 * writer on the metadata, and low-water times.
 *
 *     list of the relay ──► known files grow ──► directories move ──► new files ──► low-water times, locks
 *
 * Metadata is copied after the list and before streams. So the copied metadata declares all records within the listed
 * sizes of streams.
 */
#ifndef WMK_RELAY_MIRROR_FILES_H
#define WMK_RELAY_MIRROR_FILES_H

#include "relay/call.h"

struct wmk_mirror_file;

struct wmk_mirror_files {
	const char *host, *session;
	int dir;                             /* directory of the copy; closed by the owner */
	bool follow;
	struct wmk_mirror_file *files;
	uint32_t n, cap;
	uint32_t hint;                       /* position at which the next search begins */
	unsigned missed;                     /* consecutive lists that lack a known directory */
	unsigned aside;                      /* number of the next directory that is put aside */
	char *buffer;                        /* received bytes */
};

/*
 * Copy new data. 1: the copy agrees with one list of the relay; 0: the relay moved files meanwhile, call the function
 * again; -errno with a cause chain.
 */
int wmk_mirror_files_renew(struct wmk_mirror_files *files, struct wmk_relay_call *call);
/* Unlock all traces, as if they had ended, so that a live reader ends. */
void wmk_mirror_files_release(struct wmk_mirror_files *files);
void wmk_mirror_files_free(struct wmk_mirror_files *files);

#endif
