/* SPDX-License-Identifier: MIT */
/*
 * record_snapshots.h - `waymark record --snapshot-on`: decides when to record snapshots of a flight recorder.
 *
 *     USR2     this process receives SIGUSR2, which is then not forwarded
 *     loss     the session has lost a record, other than by overwriting; checked once per second
 *     crash    the program was ended by a signal
 *     exit     the program has ended
 *
 * The triggers USR2 and loss record at most one snapshot per 10 s; omitted snapshots are counted.
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
	unsigned on;                     /* bits in the order of the words; 0: no flight recorder */
	const char *program;
	struct wmk_record_snapshot *made;
	unsigned n, refused, asked;      /* refused: omitted snapshots; asked: SIGUSR2 signals that were handled */
	uint64_t last_ns;                /* time of the last snapshot by USR2 or loss; 0: none */
	uint64_t lost;                   /* lost records at the last check */
};

/* Parse the words of the option --snapshot-on. Returns 0, or -EINVAL with a cause chain. */
int wmk_record_snapshots_begin(struct wmk_record_snapshots *snapshots, const struct wmk_record_args *args,
			       const char *program);
/* Return how long the caller may wait for signals; -1: without a limit. */
int wmk_record_snapshots_wait_ms(const struct wmk_record_snapshots *snapshots);
/*
 * Call this after each wait, and once more after the child has ended. Returns the reason to record a snapshot now, or
 * NULL if there is no reason. `connect` opens daemon->ctl if the function needs the record counts of the session.
 */
const char *wmk_record_snapshots_due(struct wmk_record_snapshots *snapshots, struct wmk_child *child,
				     struct wmk_daemon *daemon, int (*connect)(void *data), void *data);
/* Record a snapshot, and print its path. daemon->ctl must be open. An error is only printed as a warning. */
void wmk_record_snapshots_take(struct wmk_record_snapshots *snapshots, const struct wmk_child *child,
			       struct wmk_daemon *daemon, const char *reason);
/* Print the summary. */
void wmk_record_snapshots_print(const struct wmk_record_snapshots *snapshots, const struct wmk_record_result *result);
void wmk_record_snapshots_end(struct wmk_record_snapshots *snapshots);

#endif
