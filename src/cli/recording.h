/* SPDX-License-Identifier: MIT */
/*
 * recording.h - one recording in this process: buffers, trace, consumer, and the door at which programs register.
 *
 *     programs ──registration──► wmk_shard (the caller's thread) ──► session ──event classes──► metadata ─┐
 *        │                                                              │                                ├─► trace directory
 *        └──────records──────────────────────────────────────────────► rings ──► consumers ──streams─────┘
 *
 * The libraries are those that the daemons are made of. The runtime directory is private (made here, 0700, gone at the
 * end), so that a running daemon neither sees nor disturbs it.
 *
 *     wmk_recording_open(&options, &rec);
 *     setenv("WAYMARK_RUNDIR", rec->rundir, 1), start the program
 *     poll wmk_shard_fd(rec->apps), wmk_shard_run_once(rec->apps, 0), ... until the program has ended
 *     wmk_recording_stop(rec, ms);          everything that was recorded is in the trace, rec->stats holds the counts
 *     wmk_recording_close(rec);
 *
 * One thread. Errors are -errno with a cause chain.
 */
#ifndef WMK_CLI_RECORDING_H
#define WMK_CLI_RECORDING_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "consumer/consumer.h"
#include "session/apps/shard.h"
#include "store/store.h"

/*
 * One session with two channels: what the program records, and libwaymark's own events about it (loaded objects).
 * Apart, so that a flight recorder does not overwrite what makes its addresses readable, and each of its records says
 * whose it is. And a third, if the kernel is recorded too.
 */
enum { WMK_RECORDING_PROGRAM, WMK_RECORDING_STATEDUMP, WMK_RECORDING_KERNEL, WMK_RECORDING_CHANNELS };

struct wmk_recording_options {
	const char *name;                /* of the program: the trace's name */
	const char *output;              /* the trace's directory, absent or empty; NULL: the default place */
	const char *const *patterns;
	unsigned n_patterns;
	const char *const *kernel;   /* patterns of the kernel's events; none: it is not recorded */
	unsigned n_kernel;
	uint32_t call_arguments;     /* enum wmk_ctl_call_arguments */
	bool program_only;           /* of the kernel's events those of the program, and of what it starts */
	const char *filter;          /* NULL: every record */
	const char *kernel_filter;   /* likewise, of the kernel's */
	uint8_t contexts[WMK_WIRE_CONTEXTS_MAX];         /* those that a domain does not have are the other's */
	unsigned n_contexts;
	bool no_contexts;            /* nor those that a domain has by default */
	uint32_t subbuf_size, n_subbufs; /* powers of two */
	uint32_t trace_format;           /* enum wmk_ctl_trace_format */
	uint32_t clock;                  /* enum wmk_ctl_clock */
	bool no_statedump;               /* of the program's objects, of the kernel's state */
	bool overwrite;                  /* nothing is written until the end, then what the rings hold */
	void (*on_app)(void *data, const struct wmk_app_info *info);   /* as in struct wmk_apps_ops, or NULL */
	void *data;
};

struct wmk_recording {
	const struct wmk_recording_options *options;   /* the caller's, until wmk_recording_close() */
	/* set it when there is something to record: else closing removes what was written */
	bool keep;
	bool made;                       /* the trace's directory is ours, not an empty one that was there */
	char rundir[64];                 /* empty: not made yet */
	char path[4096];                 /* of the trace */
	uint8_t uuid[16];
	bool traced;                     /* the session has begun its trace */
	struct wmk_store *store, *kernel_store;
	uint8_t kernel_uuid[16];
	struct wmk_kreader *kernel;
	struct wmk_tracing *tracing;
	struct wmk_session *session;
	struct wmk_shard *apps;
	struct wmk_consumer *consumers[WMK_RECORDING_CHANNELS];   /* NULL: nothing was recorded there */
	struct wmk_consumer_stats stats; /* after wmk_recording_stop(), of all channels together */
	char kernel_words[400];          /* what the user should know of how the kernel is recorded; "": nothing */
	struct wmk_ctl_session is;       /* after wmk_recording_stop(): its `unrecorded` */
	struct wmk_arena arena;
	uint64_t statedump_records;      /* of these, libwaymark's own, and of the kernel's state */
	uint64_t kernel_records;         /* of these, the kernel's, its state not counted */
	int metadata_error;              /* the first -errno with which an event could not be declared; 0: none */
	char metadata_words[320];
	char failure[320];               /* why not everything could be written at the end, empty if it was */
};

/*
 * Where the trace of `program` goes by default; `number` counts those of one second, from 1. 0 or -errno with a cause
 * chain.
 */
int wmk_recording_default_path(const char *program, time_t now, unsigned number, char *path, size_t size);
/*
 * The names of those contexts that records of the domain (enum wmk_context_domain) can have; where none of these was
 * asked for, those that say which process and thread it was. Returns how many, WMK_WIRE_CONTEXTS_MAX at most.
 */
unsigned wmk_recording_contexts(const struct wmk_recording_options *options, unsigned domain, const char **names);
/* Remove runtime directories in `parent` that killed processes of this user have left. */
void wmk_recording_remove_left(const char *parent);
/* Remove what was written there; the directory itself when it was made for it. */
void wmk_recording_discard(const char *path, bool made);
int wmk_recording_open(const struct wmk_recording_options *options, struct wmk_recording **rec);
/*
 * Programs that still run are told to stop recording and have `ms` to confirm it; then what the rings hold is written.
 * Returns how many did not confirm; whatever went wrong with the trace is in *rec.
 */
unsigned wmk_recording_stop(struct wmk_recording *rec, int ms);
void wmk_recording_close(struct wmk_recording *rec);

#endif
