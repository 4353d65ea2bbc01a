/* SPDX-License-Identifier: MIT */
/*
 * record_snapshots.h - `waymark record --snapshot-on`: snapshots of a flight recorder, and when to record them.
 *
 *     USR2     this process receives SIGUSR2, which is then not forwarded
 *     loss     the session has lost a record, other than by overwriting; checked once per second
 *     crash    the program was ended by a signal
 *     exit     the program has ended
 *
 * USR2 and loss record at most one snapshot per 10 s; the others are counted.
 */
#ifndef WMK_CLI_RECORD_SNAPSHOTS_H
#define WMK_CLI_RECORD_SNAPSHOTS_H

#include "cli/daemon.h"
#include "cli/record.h"

#define WMK_RECORD_SNAPSHOT_WORDS "USR2 crash exit loss"

struct wmk_record_snapshot {
	char *path;
	const char *reason;
	uint64_t records, bytes, overwritten;
};

struct wmk_record_snapshots {
	unsigned on;                     /* bits of the words, in their order; 0: no flight recorder */
	const char *program;
	struct wmk_record_snapshot *made;
	unsigned n, refused, asked;      /* asked: signals that were handled */
	uint64_t last_ns;                /* of the last one by USR2 or loss; 0: none */
	uint64_t lost;                   /* as of the last check */
};

/* Read the words of the option. 0, or -EINVAL with a cause chain. */
int wmk_record_snapshots_begin(struct wmk_record_snapshots *snapshots, const struct wmk_record_args *args,
			       const char *program);
/* How long the caller may wait for signals; -1: without a limit. */
int wmk_record_snapshots_wait_ms(const struct wmk_record_snapshots *snapshots);
/*
 * After the wait, and once after the child has ended: what asks for a snapshot now; NULL: nothing. `connect` opens
 * daemon->ctl, if the counts of the session are needed.
 */
const char *wmk_record_snapshots_due(struct wmk_record_snapshots *snapshots, struct wmk_child *child,
				     struct wmk_daemon *daemon, int (*connect)(void *data), void *data);
/* daemon->ctl is open: record a snapshot, and print where it is. An error is a warning. */
void wmk_record_snapshots_take(struct wmk_record_snapshots *snapshots, const struct wmk_child *child,
			       struct wmk_daemon *daemon, const char *reason);
/* Print the summary. */
void wmk_record_snapshots_print(const struct wmk_record_snapshots *snapshots, const struct wmk_record_result *result);
void wmk_record_snapshots_end(struct wmk_record_snapshots *snapshots);

#endif
