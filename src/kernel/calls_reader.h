/* SPDX-License-Identifier: MIT */
/*
 * calls_reader.h - the system calls of a kernel channel that BPF records, as packets of the trace: one stream for each
 * ring, beside those of its instance of tracefs, and of the same stream class.
 *
 *     wmk_kreader_event(reader, WMK_KCALLS_SYSTEM, "native_entry_257", id)      by number, as wmk_kcalls_event_name()
 *     has it
 *     wmk_kreader_filter(reader, WMK_KCALLS_SYSTEM, "native_entry_257", ...)    which of its records, as with other
 *     events; asked of the whole record
 *     wmk_kreader_calls(reader, &wanted)                                        which are recorded from now on; with
 *     the first of them BPF is loaded
 *     wmk_kcallstream_open(reader, ring, &stream) ...                           as wmk_kstream_... (reader.h)
 *
 * Records of a selected call without a declared event are left out. Each drain pass moves records from the ring into a
 * packet. A packet is returned when it is full enough, or with a flush. A consumer daemon that crashes loses the
 * records in the ring and in the packet.
 *
 * The instance says the rest. In overwrite mode (options/overwrite) packets are kept in this process, as many as the
 * buffer of a CPU has room for, until a flush: the oldest are replaced, and count as lost. Of an instance that records
 * one process (options/event-fork) BPF records that process, with those
 * that it starts unless the reader's only_pid leaves them out.
 *
 * A position is a number of records of the trace, so that the next consumer daemon knows how many there are. The same
 * thread as the reader. -errno with a cause chain.
 */
#ifndef WMK_KERNEL_CALLS_READER_H
#define WMK_KERNEL_CALLS_READER_H

#include "kernel/calls.h"
#include "kernel/own.h"
#include "kernel/reader.h"

#define WMK_KCALLS_SYSTEM "bpf/syscalls"   /* (no system of tracefs has a slash) */
#define WMK_KCALLS_WORDS (WMK_KCALLS_ABIS * WMK_KCALLS_NUMBERS / 64)   /* of a set of calls: bit `number` of the words of each abi */
#define WMK_KCALLS_EVENT_NAME 32u

struct wmk_kcallstream;

struct wmk_kcallpacket {
	uint64_t begin_ts, end_ts;       /* of its first and its last record */
	uint64_t position;               /* of its end */
	uint64_t records, lost;          /* up to its end */
	const uint8_t *data;             /* `len` bytes, until the release */
	size_t len;
	uint8_t *room;                   /* WMK_CTF_PACKET_ROOM writable bytes that end at `data` */
};

void wmk_kcalls_event_name(enum wmk_kabi abi, unsigned number, bool is_exit, char name[WMK_KCALLS_EVENT_NAME]);
/* -EINVAL: it is none. */
int wmk_kcalls_event_parse(const char *name, enum wmk_kabi *abi, unsigned *number, bool *is_exit);
/* What is known of a call: by the table, else by what the kernel says in `dir`, tracefs or an instance of it. Never fails: six numbers at least. */
void wmk_kcalls_describe_in(int dir, enum wmk_kabi abi, unsigned number, struct wmk_kcall *call);
/* Can it be had here? Loads and attaches all of it, and lets it go again. */
int wmk_kcalls_probe(void);

struct wmk_kcalls_wanted {
	const uint64_t *calls;           /* WMK_KCALLS_WORDS words */
	uint64_t bytes;                  /* of the ring of a CPU; used when it is made */
	bool narrowed;                   /* record the processes of `pids` alone; else all processes */
	const uint64_t *pids;            /* 0: none in its place */
	unsigned n_pids;
	/* streams also where no call is wanted now: the trace may have some that are to be resumed */
	bool resume;
};

/*
 * From here on these are recorded, and no others: exactly, when it returns. 1: there are streams now, as there were
 * none before; 0.
 */
int wmk_kreader_calls(struct wmk_kreader *reader, const struct wmk_kcalls_wanted *wanted);
/* 0: BPF is not loaded. */
unsigned wmk_kreader_rings(const struct wmk_kreader *reader);

int wmk_kcallstream_open(struct wmk_kreader *reader, unsigned ring, struct wmk_kcallstream **stream);
void wmk_kcallstream_close(struct wmk_kcallstream *stream);
/* 1: *packet is filled; 0: nothing now; -errno. flush: also one that is not full, of all that was there at the last wmk_kcallstream_mark(). */
int wmk_kcallstream_next(struct wmk_kcallstream *stream, bool flush, struct wmk_kcallpacket *packet);
void wmk_kcallstream_release(struct wmk_kcallstream *stream);
void wmk_kcallstream_mark(struct wmk_kcallstream *stream);
/* Another process had written up to `last` (all zeros: nothing), and what it had not is gone. */
void wmk_kcallstream_resume(struct wmk_kcallstream *stream, const struct wmk_ctf_packet *last);
/* Makes room in the ring in overwrite mode. 1: there was something; 0: nothing, or discard mode. */
int wmk_kcallstream_follow(struct wmk_kcallstream *stream);
/* *overwritten (may be NULL): of the lost records, those that newer ones replaced. */
uint64_t wmk_kcallstream_lost(struct wmk_kcallstream *stream, uint64_t *overwritten);
void wmk_kcallstream_clear(struct wmk_kcallstream *stream);
/* For poll(): readable when a part of the ring has been filled since the last look. */
int wmk_kcallstream_fd(const struct wmk_kcallstream *stream);
/* The same, for wmk_kcallstream_follow(); -1 in discard mode. */
int wmk_kcallstream_follow_fd(const struct wmk_kcallstream *stream);

#endif
