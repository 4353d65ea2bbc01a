/* SPDX-License-Identifier: MIT */
/*
 * print_rig.h - for tests of prints: a trace in memory, of a class and bytes, printed into a string.
 */
#ifndef WMK_READ_T_PRINT_RIG_H
#define WMK_READ_T_PRINT_RIG_H

#include "read/print_state.h"

struct rig {
	struct wmk_ctf_class *class;   /* what metadata was parsed; NULL: the test's own */
	struct wmk_ctf_decoder *decoder;
	struct wmk_print *print;
	struct wmk_print_trace *trace;
	struct wmk_print_stream *stream;
	struct wmk_print_text out;
};

/* A class of metadata in TSDL, or `class`. `name`: the trace's. Fails the test. */
void rig_open(struct rig *rig, const char *metadata, const struct wmk_ctf_class *class,
	      const struct wmk_print_options *options, const char *name);
void rig_close(struct rig *rig);
/* Begin the packet in `bytes`, all of it; returns where its records begin, in bits. Fails the test. */
uint64_t rig_packet(struct rig *rig, const struct wmk_ctf_bytes *bytes, struct wmk_ctf_record *record);
/* All records of a packet of `size` bytes. Fails the test. */
void rig_print(struct rig *rig, const char *bytes, size_t size);
/* What was printed since the last call, as a string. */
const char *rig_text(struct rig *rig);

#endif
