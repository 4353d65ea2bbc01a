/* SPDX-License-Identifier: MIT */
/*
 * grow_rig.h - for tests of traces that grow: a trace in a directory of its own, of one stream class, with packets that
 * are made here.
 */
#ifndef WMK_READ_T_GROW_RIG_H
#define WMK_READ_T_GROW_RIG_H

#include <stddef.h>
#include <stdint.h>

#include "read/trace.h"

#define RIG_PACKET 512u            /* bytes of a packet, at most */

struct grow_rig {
	char path[64];
	int dir, metadata;             /* descriptors */
};

/* With one event, of id 0. `is_locked`: as by somebody who writes it. Fails the test, as all of these. */
void rig_open(struct grow_rig *rig, bool is_locked);
void rig_unlock(struct grow_rig *rig);
void rig_close(struct grow_rig *rig);
/* Declare one more event. */
void rig_declare(struct grow_rig *rig, unsigned id);
/* A packet of `n` records of the event `id`, which are at `begin`, begin + 1, ... and count from `from`: its size. */
size_t rig_packet(uint8_t packet[RIG_PACKET], unsigned id, uint64_t begin, unsigned n, unsigned from);
/* Bytes at the end of a file, which is made where it is not there. */
void rig_append(struct grow_rig *rig, const char *file, const void *bytes, size_t len);
void rig_cut(struct grow_rig *rig, const char *file, size_t len);
/* What the stream's record counts. */
unsigned rig_count(struct wmk_read_stream *stream);

#endif
