/* SPDX-License-Identifier: MIT */
/*
 * calls_inside.h - shared by reader.c, calls_set.c (which system calls of a channel are recorded by BPF) and calls_stream.c (what comes of them).
 */
#ifndef WMK_KERNEL_CALLS_INSIDE_H
#define WMK_KERNEL_CALLS_INSIDE_H

#include "kernel/calls_event.h"
#include "kernel/calls_reader.h"
#include "kernel/reader_inside.h"

#define WMK_KCALLSET_NO_ID UINT32_MAX

/* A call that the trace has events of. */
struct wmk_kcallset_call {
	struct wmk_kcall call;
	uint32_t ids[2];                 /* of its entry, of its exit */
	struct wmk_event_class *classes[2];    /* NULL until there is a filter, which reads by it */
	struct wmk_kreader_filters filters[2];
};

struct wmk_kcallset {
	struct wmk_kcalls *bpf;          /* NULL: not loaded yet */
	bool is_started;
	/* the instance records one process: its set of threads says which processes BPF records */
	bool is_of_process;
	/* overwrite mode: of packets of one ring that are kept until the stop; 0: discard mode */
	uint64_t kept_bytes;
	uint32_t own_version;            /* of the processes that it leaves alone */
	uint64_t wanted[WMK_KCALLS_WORDS];
	struct wmk_kcallset_call *calls[WMK_KCALLS_ABIS][WMK_KCALLS_NUMBERS];
};

int wmk_kcallset_event(struct wmk_kreader *reader, const char *name, uint32_t id);
/* Which records of the event are written from now on; program NULL: all. -ENOENT: the event has no id. */
int wmk_kcallset_filter(struct wmk_kreader *reader, const char *name, const void *program, size_t len);
void wmk_kcallset_free(struct wmk_kcallset *set);

/*
 * calls_follow.c: does the instance record one process (and those that it starts)? Then: follow all of them that
 * exist now.
 */
bool wmk_kcallset_is_of_process(const struct wmk_kreader *reader);
int wmk_kcallset_follow(const struct wmk_kreader *reader);

#endif
