/* SPDX-License-Identifier: MIT */
/*
 * reader.h - what a kernel channel has recorded, as packets of the trace: one stream for each CPU.
 *
 *     instance of tracefs ── per_cpu/cpuN ──pages (cpu.h, page.h)──► records ──copied (event.h)──► packet of the stream
 *                                                                      └── contexts: common fields, who is who (tasks.h)
 *
 *     wmk_kreader_open(&options, &reader);
 *     wmk_kreader_event(reader, "sched", "sched_switch", 0);     before the event is enabled: its records have this id in the trace
 *     wmk_kstream_open(reader, cpu, &stream);
 *     while (wmk_kstream_next(stream, flush, &packet) == 1) { write it; wmk_kstream_release(stream); }
 *
 * Records of events that it was not told of are counted and left out. A packet that is not released is given out again.
 *
 * Counts are in records of the kernel: `taken` are those that were taken out of its buffer. A packet says how many that were at its end, and
 * the trace keeps that number with it (wmk_ctf_packet.ring_position): so another process that goes on behind a dead one knows to the record
 * what is missing.
 *
 * One thread for a reader and its streams. -errno with a cause chain.
 */
#ifndef WMK_KERNEL_READER_H
#define WMK_KERNEL_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctf/writer.h"

struct wmk_kreader;
struct wmk_kstream;

struct wmk_kreader_options {
	int instance;                    /* of the instance's directory; duplicated */
	const uint8_t *contexts;         /* numbers (wmk_ctf_context()), in the order in which records have them */
	unsigned n_contexts;
	size_t packet_bytes;             /* of a packet's content at most; 0: 1 MiB */
};

struct wmk_kpacket {
	uint64_t begin_ts, end_ts;       /* of its first and its last record */
	uint64_t taken;                  /* from the kernel's buffer up to its end */
	uint64_t records;                /* in all packets up to its end */
	uint64_t lost;                   /* up to its end, as far as it is known */
	const uint8_t *data;             /* `len` bytes, until the release */
	size_t len;
	uint8_t *room;                   /* WMK_CTF_PACKET_ROOM writable bytes that end at `data` */
	uint32_t pressure;               /* percent of the kernel's buffer that was filled when it began */
};

int wmk_kreader_open(const struct wmk_kreader_options *options, struct wmk_kreader **reader);
/* All its streams are closed. */
void wmk_kreader_close(struct wmk_kreader *reader);
/* Said again, it is no error. -EEXIST: it has another id. -ENOENT: no such event. */
int wmk_kreader_event(struct wmk_kreader *reader, const char *system, const char *name, uint32_t id);
/* Numbers of CPUs are below this. */
unsigned wmk_kreader_cpus(const struct wmk_kreader *reader);
/* -ENODEV: there is no such CPU, or none yet. */
int wmk_kstream_open(struct wmk_kreader *reader, unsigned cpu, struct wmk_kstream **stream);
void wmk_kstream_close(struct wmk_kstream *stream);
/* 1: *packet is filled; 0: nothing now; -errno: it cannot be read, or holds nonsense. flush: also what is not a full page of the kernel's. */
int wmk_kstream_next(struct wmk_kstream *stream, bool flush, struct wmk_kpacket *packet);
void wmk_kstream_release(struct wmk_kstream *stream);
/* What `taken` will be when all that is there now has been taken. */
uint64_t wmk_kstream_head(struct wmk_kstream *stream);
/*
 * Another process had read up to `last`, a packet of the trace (all zeros: none): go on behind it. *records: in the trace up to there, as far as
 * that process knew. What it had taken and not written counts as lost, but for what the kernel gives once more.
 */
int wmk_kstream_resume(struct wmk_kstream *stream, const struct wmk_ctf_packet *last);
/* Records that the kernel has lost; *overwritten (may be NULL): of these, the oldest, which newer ones have replaced, as was asked for. */
uint64_t wmk_kstream_lost(struct wmk_kstream *stream, uint64_t *overwritten);
/* Throw away what there is; all counts begin at zero. */
int wmk_kstream_clear(struct wmk_kstream *stream);
/* For poll(): readable when a part of the buffer is filled. */
int wmk_kstream_fd(const struct wmk_kstream *stream);

#endif
