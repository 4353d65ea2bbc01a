/* SPDX-License-Identifier: MIT */
/*
 * mirror_files.h - the copied files of a session. A reader reads the copy in the same way as the directory of the
 * relay. A live reader (read/live.h) can also read the copy like the directory of the relay. The copy reproduces
 * growing files, directories that a rotation moves, the writer's lock on the metadata, and low-water times.
 *
 *     list of the relay ──► known files grow ──► directories move ──► new files ──► low-water times, locks
 *
 * The mirror copies the metadata after the relay has listed the files, and before it copies the streams. The copied
 * metadata therefore declares all records within the listed sizes of the streams.
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
/* Unlock all traces, as if their writers had finished, so that a live reader stops. */
void wmk_mirror_files_release(struct wmk_mirror_files *files);
void wmk_mirror_files_free(struct wmk_mirror_files *files);

#endif
