/* SPDX-License-Identifier: MIT */
/*
 * who.h - who made a record, for forms that draw a line for each thread: process, thread and name as its contexts tell them, the CPU as its
 * packet does. Contexts are known by the names that tracers give them: vpid or pid, vtid or tid, procname or comm. And what such forms keep.
 */
#ifndef WMK_READ_WHO_H
#define WMK_READ_WHO_H

#include "read/form.h"

struct wmk_read_who {
	bool has_pid, has_tid, has_cpu;
	int64_t pid, tid, cpu;
	char name[64];             /* "": not known */
};

/* Behind WMK_READ_RECORD: the rest. A process without a thread is its own. */
int wmk_read_who_record(struct wmk_read_who *who, struct wmk_read_stream *stream);

/* Numbers that were met: all 0 is none. */
struct wmk_read_seen {
	uint64_t *slots;           /* a number + 1, or 0 */
	size_t n, cap;
};

/* 1: it is new, and is there now; 0: it was there; -ENOMEM. (UINT64_MAX is the one below it.) */
int wmk_read_seen_add(struct wmk_read_seen *seen, uint64_t number);

/* The whole of such a form: the lines that it has named. */
struct wmk_read_lines {
	struct wmk_read_seen seen;
	int64_t first;             /* ns: of the first record, once has_first */
	bool has_first;
};

/* A stream of it. */
struct wmk_read_line {
	struct wmk_read_lines *whole;
	struct wmk_read_who who;
	struct wmk_print_text packet;  /* the packet's context, as the form writes it */
};

/* For struct wmk_read_form: create, free, stream, stream_free. */
int wmk_read_lines_create(void **whole);
void wmk_read_lines_free(void *whole);
int wmk_read_line_open(void *whole, const struct wmk_read_stream *stream, void **state);
void wmk_read_line_close(void *state);
/* Behind WMK_READ_PACKET: the CPU is known, and nobody else. */
int wmk_read_line_packet(struct wmk_read_line *line, struct wmk_read_stream *stream);

/* The provider of "provider:name": its length; of a name without one, 0. */
size_t wmk_read_provider_len(const char *event_name);

#endif
