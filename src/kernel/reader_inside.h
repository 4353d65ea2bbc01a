/* SPDX-License-Identifier: MIT */
/*
 * reader_inside.h - shared by reader.c (a channel: its events, its contexts) and stream.c (one CPU of it: pages become packets).
 */
#ifndef WMK_KERNEL_READER_INSIDE_H
#define WMK_KERNEL_READER_INSIDE_H

#include "kernel/cpu.h"
#include "kernel/event.h"
#include "kernel/reader.h"
#include "kernel/statedump.h"
#include "kernel/who.h"

#define WMK_KREADER_TYPES 65536u       /* numbers of the kernel's events: 16 bits */

/* An event that records are wanted of. */
struct wmk_kreader_event {
	struct wmk_kevent *event;
	uint32_t id;
	bool of_all;                     /* whoever's it is: of scheduling, which is two threads' */
};

struct wmk_kreader {
	int instance;
	size_t packet_bytes;
	int32_t only_pid;
	unsigned n_cpus;
	struct wmk_kwho *who;
	struct wmk_kreader_event *events;
	unsigned n_events, cap_events;
	uint32_t dump_ids[WMK_KSTATEDUMP_EVENTS];      /* 1 + the id in the trace; 0: not known */
	uint32_t by_type[WMK_KREADER_TYPES];   /* 1 + where in `events`; 0: not wanted */
};

static inline const struct wmk_kreader_event *wmk_kreader_of_type(const struct wmk_kreader *reader, uint16_t type)
{
	return reader->by_type[type] ? &reader->events[reader->by_type[type] - 1] : NULL;
}

#endif
