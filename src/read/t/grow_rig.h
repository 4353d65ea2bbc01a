/* SPDX-License-Identifier: MIT */
/*
 * grow_rig.h - a trace for tests of growing traces: a directory, one stream class, and packets that are generated here.
 */
#ifndef WMK_READ_T_GROW_RIG_H
#define WMK_READ_T_GROW_RIG_H

#include <stddef.h>
#include <stdint.h>

#include "read/trace.h"

#define RIG_PACKET 512u            /* maximum size of a packet, in bytes */

struct grow_rig {
	char path[64];
	int dir, metadata;             /* descriptors */
};

/*
 * Create a trace with one event, of id 0. `is_locked`: locked like by a writer. All functions fail the test on error.
 */
void rig_open(struct grow_rig *rig, bool is_locked);
void rig_unlock(struct grow_rig *rig);
void rig_close(struct grow_rig *rig);
/* Declare one more event. */
void rig_declare(struct grow_rig *rig, unsigned id);
/* Make a packet of `n` records of event `id` at `begin`, begin + 1, ..., numbered from `from`. Returns its size. */
size_t rig_packet(uint8_t packet[RIG_PACKET], unsigned id, uint64_t begin, unsigned n, unsigned from);
/* Append bytes to a file, which is created if it does not exist. */
void rig_append(struct grow_rig *rig, const char *file, const void *bytes, size_t len);
void rig_cut(struct grow_rig *rig, const char *file, size_t len);
/* The number in the stream's record. */
unsigned rig_count(struct wmk_read_stream *stream);

#endif
