/* SPDX-License-Identifier: MIT */
/*
 * recording.h - one recording in this process: a session, its rings, its consumers, and the trace.
 *
 *     applications ──registration──► wmk_shard (the caller's thread) ──► session ──event classes──► metadata ─┐
 *        │                                                                  │                                ├─► trace
 *        └──────records──────────────────────────────────────────────────► rings ──► consumers ──streams─────┘
 *
 * The recording uses the same libraries as the session daemon and the consumer daemon. The recording has a private
 * runtime directory, which is created with mode 0700 and removed at the end. Because of the private runtime directory,
 * the recording does not affect a running session daemon.
 *
 *     wmk_recording_open(&options, &rec);
 *     setenv("WAYMARK_RUNDIR", rec->rundir, 1), start the program
 *     poll wmk_shard_fd(rec->apps), wmk_shard_run_once(rec->apps, 0), ... until the program has ended
 *     wmk_recording_stop(rec, ms);          all records are in the trace, rec->stats holds the counts
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
 * The session has two channels: one for events of the applications, one for the state dump of libwaymark (loaded
 * objects). The state dump has a separate channel, so that a flight recorder does not overwrite it. The state dump is
 * needed to resolve addresses. The recording counts the records of the user channel and of the state dump channel
 * separately. If kernel events are recorded, a third channel holds the kernel events.
 */
enum { WMK_RECORDING_PROGRAM, WMK_RECORDING_STATEDUMP, WMK_RECORDING_KERNEL, WMK_RECORDING_CHANNELS };

struct wmk_recording_options {
	const char *name;                /* of the program: the name of the trace */
	const char *output;              /* the trace directory, absent or empty; NULL: the default directory */
	const char *const *patterns;
	unsigned n_patterns;
	const char *const *kernel;   /* patterns of kernel events; none: no kernel channel */
	unsigned n_kernel;
	uint32_t call_arguments;     /* enum wmk_ctl_call_arguments */
	bool program_only;           /* only kernel events of the program and its descendants */
	const char *filter;          /* NULL: every record */
	const char *kernel_filter;   /* the same for kernel records */
	/* contexts of both domains; each domain takes those that it supports */
	uint8_t contexts[WMK_WIRE_CONTEXTS_MAX];
	unsigned n_contexts;
	bool no_contexts;            /* no default contexts */
	uint32_t subbuf_size, n_subbufs; /* powers of two */
	uint32_t trace_format;           /* enum wmk_ctl_trace_format */
	uint32_t clock;                  /* enum wmk_ctl_clock */
	bool no_statedump;               /* neither loaded objects nor the state of the kernel */
	bool overwrite;                  /* the content of the rings is written only at the end */
	void (*on_app)(void *data, const struct wmk_app_info *info);   /* as in struct wmk_apps_ops, or NULL */
	void *data;
};

struct wmk_recording {
	const struct wmk_recording_options *options;   /* the caller's, until wmk_recording_close() */
	/*
	 * The caller sets `keep` if the trace must be kept. If `keep` is not set, wmk_recording_close() removes the
	 * trace.
	 */
	bool keep;
	bool made;                       /* this recording has created the trace directory */
	char rundir[64];                 /* empty: not created yet */
	char path[4096];                 /* of the trace */
	uint8_t uuid[16];
	bool traced;                     /* the session has begun its trace */
	struct wmk_store *store, *kernel_store;
	uint8_t kernel_uuid[16];
	struct wmk_kreader *kernel;
	struct wmk_tracing *tracing;
	struct wmk_session *session;
	struct wmk_shard *apps;
	struct wmk_consumer *consumers[WMK_RECORDING_CHANNELS];   /* NULL: no rings in this channel */
	struct wmk_consumer_stats stats; /* sum of all channels; valid after wmk_recording_stop() */
	char kernel_words[400];          /* a warning about kernel events; "": none */
	/* only `unrecorded` and `unrecorded_more` are set; valid after wmk_recording_stop() */
	struct wmk_ctl_session is;
	struct wmk_arena arena;
	uint64_t statedump_records;      /* part of the records: state dump of libwaymark and of the kernel */
	uint64_t kernel_records;         /* part of the records: kernel events without the state dump */
	int metadata_error;              /* the first -errno of an event class without metadata; 0: none */
	char metadata_words[320];
	char failure[320];               /* why not all records could be written at the end; "": all were written */
};

/*
 * Return the default trace directory for `program`. `number` distinguishes traces of the same second, and counts from
 * 1. Returns 0 or -errno with a cause chain.
 */
int wmk_recording_default_path(const char *program, time_t now, unsigned number, char *path, size_t size);
/*
 * Get the names of the given contexts that the domain (enum wmk_context_domain) supports. If the domain supports none
 * of the given contexts, get its default contexts, which identify process and thread. Returns the number of names, at
 * most WMK_WIRE_CONTEXTS_MAX.
 */
unsigned wmk_recording_contexts(const struct wmk_recording_options *options, unsigned domain, const char **names);
/* Remove runtime directories in `parent` that killed processes of this user have left. */
void wmk_recording_remove_left(const char *parent);
/* Remove the content of a trace directory; if `made` is true, also remove the directory. */
void wmk_recording_discard(const char *path, bool made);
int wmk_recording_open(const struct wmk_recording_options *options, struct wmk_recording **rec);
/*
 * Request running applications to stop recording, and wait up to `ms` for their confirmation. After the wait, the
 * function writes the content of the rings to the trace. Returns the number of applications that did not confirm.
 * Errors of the trace are stored in *rec.
 */
unsigned wmk_recording_stop(struct wmk_recording *rec, int ms);
void wmk_recording_close(struct wmk_recording *rec);

#endif
