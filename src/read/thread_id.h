/* SPDX-License-Identifier: MIT */
/*
 * thread_id.h - who made a record, for forms that draw a line for each thread: process, thread and name as its contexts
 * tell them, the CPU as its packet does. Contexts are known by the names that tracers give them: vpid or pid, vtid or
 * tid, procname or comm.
 */
#ifndef WMK_READ_THREAD_ID_H
#define WMK_READ_THREAD_ID_H

#include "read/trace.h"

#define WMK_READ_NO_CPU 0xffffffffu
#define WMK_READ_NOWHERE 0x7fffffff   /* the number of the line of records that have neither a thread nor a CPU */

struct wmk_read_thread_id {
	bool has_pid, has_tid, has_cpu;
	int64_t pid, tid, cpu;     /* cpu: WMK_READ_NOWHERE where it is not known */
	char name[64];             /* "": not known */
};

/* Behind WMK_READ_PACKET: the CPU is known, and nobody else. */
int wmk_read_thread_id_of_packet(struct wmk_read_thread_id *who, struct wmk_read_stream *stream);
/* Behind WMK_READ_RECORD: the rest. A process without a thread is its own. */
int wmk_read_thread_id_of_record(struct wmk_read_thread_id *who, struct wmk_read_stream *stream);

/* What the line of its CPU is called: the text's length. */
size_t wmk_read_cpu_track_name(const struct wmk_read_thread_id *who, char *buf, size_t size);
/* The provider of "provider:name": its length; of a name without one, 0. */
size_t wmk_read_provider_len(const char *event_name);

#endif
