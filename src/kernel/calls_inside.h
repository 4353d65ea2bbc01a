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
};

struct wmk_kcallset {
	struct wmk_kcalls *bpf;          /* NULL: not loaded yet */
	uint32_t own_version;            /* of the processes that it leaves alone */
	uint64_t wanted[WMK_KCALLS_WORDS];
	struct wmk_kcallset_call *calls[WMK_KCALLS_ABIS][WMK_KCALLS_NUMBERS];
};

int wmk_kcallset_event(struct wmk_kreader *reader, const char *name, uint32_t id);
void wmk_kcallset_free(struct wmk_kcallset *set);

#endif
