/* SPDX-License-Identifier: MIT */
/*
 * perfetto_ftrace.h - write the kernel's scheduler records as ftrace events of a Perfetto trace, so that the viewer
 * draws CPUs, states of threads and wake-ups.
 *
 *     FtraceEventBundle ── cpu, lost_events
 *                       └─ event ── timestamp, pid (the thread that ran), sched_switch | sched_waking | ...
 *
 * The exporter finds fields by their names: it first tries the names of Waymark and LTTng, then the names of the
 * kernel. A record becomes an ftrace event if its CPU is known and it has all fields that the viewer needs. One thread.
 * Internal to src/read.
 */
#ifndef WMK_READ_PERFETTO_FTRACE_H
#define WMK_READ_PERFETTO_FTRACE_H

#include "read/proto.h"
#include "read/tracks.h"

struct wmk_ftrace_kind;

/*
 * Return the kind of the record; the caller calls this function after WMK_READ_RECORD. The result is NULL if the record
 * cannot become an ftrace event.
 */
const struct wmk_ftrace_kind *wmk_ftrace_kind_of(const struct wmk_read_stream *read,
						 const struct wmk_read_thread_id *who);
/*
 * Write the fields of an ftrace bundle that contains the record. `line` contains the thread of the record. Errors of
 * ctf/decode.h.
 */
int wmk_ftrace_put(struct wmk_proto *b, const struct wmk_ftrace_kind *kind, struct wmk_read_stream *read,
		   struct wmk_read_track *line, int64_t ns);
/*
 * 1: the record describes another thread (a fork, or a record of the state dump); 0: it describes no other thread.
 * Errors of ctf/decode.h.
 */
int wmk_ftrace_thread(struct wmk_read_stream *read, struct wmk_read_thread_id *who);
/* Read the name and version of the kernel from the environment of the trace. */
void wmk_ftrace_system(const struct wmk_read_trace *trace, struct wmk_read_tracks *whole);

#endif
