/* SPDX-License-Identifier: MIT */
/*
 * mirror_files.h - the copied files of a session. A reader, also a live one (read/live.h), sees in the copy what it
 * would see in the relay's directory: files grow, rotations move directories, the lock of a writer on the metadata, and
 * its low-water time.
 *
 *     list of the relay ──► known files grow ──► directories move ──► new files ──► low-water times, locks
 *
 * Metadata is copied after the list and before streams, so it declares what the listed sizes include.
 */
#ifndef WMK_RELAY_MIRROR_FILES_H
#define WMK_RELAY_MIRROR_FILES_H

#include "relay/call.h"

struct wmk_mirror_file;

struct wmk_mirror_files {
	const char *host, *session;
	int dir;                             /* of the copy; closed by the owner */
	bool follow;
	struct wmk_mirror_file *files;
	uint32_t n, cap;
	uint32_t hint;                       /* where the next search begins */
	unsigned missed;                     /* lists in a row without a known directory: it is being moved */
	unsigned aside;                      /* number of the next directory that is put aside */
	char *buffer;                        /* of received bytes */
};

/*
 * Copy what is new. 1: the copy agrees with one list of the relay; 0: files were moved meanwhile, call it again; -errno
 * with a cause chain.
 */
int wmk_mirror_files_renew(struct wmk_mirror_files *files, struct wmk_relay_call *call);
/* No trace is being written any more: a live reader ends. */
void wmk_mirror_files_release(struct wmk_mirror_files *files);
void wmk_mirror_files_free(struct wmk_mirror_files *files);

#endif
