/* SPDX-License-Identifier: MIT */
/*
 * thread_id.h - identify the thread of a record, for forms that draw one track per thread. The process, the thread and
 * its name come from the context fields of the record; the CPU comes from the packet. The reader recognizes context
 * fields by the names that tracers use: vpid or pid, vtid or tid, procname or comm.
 */
#ifndef WMK_READ_THREAD_ID_H
#define WMK_READ_THREAD_ID_H

#include "read/trace.h"

#define WMK_READ_NO_CPU 0xffffffffu
#define WMK_READ_NOWHERE 0x7fffffff   /* track number of records with neither a thread nor a CPU */

struct wmk_read_thread_id {
	bool has_pid, has_tid, has_cpu;
	int64_t pid, tid, cpu;     /* cpu: WMK_READ_NOWHERE if unknown */
	char name[64];             /* "": unknown */
};

/* Set the CPU, and reset the thread; the caller calls this function after WMK_READ_PACKET. */
int wmk_read_thread_id_of_packet(struct wmk_read_thread_id *who, struct wmk_read_stream *stream);
/*
 * After WMK_READ_RECORD: sets the thread. If only the process or only the thread is known, the function uses the same
 * number for both.
 */
int wmk_read_thread_id_of_record(struct wmk_read_thread_id *who, struct wmk_read_stream *stream);

/* Format the name of the track of the CPU. Returns the length. */
size_t wmk_read_cpu_track_name(const struct wmk_read_thread_id *who, char *buf, size_t size);
/* Return the length of the provider in "provider:name"; 0: the name has no provider. */
size_t wmk_read_provider_len(const char *event_name);

#endif
