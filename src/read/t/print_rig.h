/* SPDX-License-Identifier: MIT */
/*
 * print_rig.h - for tests of print.h: print a trace in memory, given by a class and bytes, to a string.
 */
#ifndef WMK_READ_T_PRINT_RIG_H
#define WMK_READ_T_PRINT_RIG_H

#include "read/print_state.h"

struct rig {
	struct wmk_ctf_class *class;   /* from parsed metadata; NULL: owned by the test */
	struct wmk_ctf_decoder *decoder;
	struct wmk_print *print;
	struct wmk_print_trace *trace;
	struct wmk_print_stream *stream;
	struct wmk_print_text out;
};

/* Prepare a trace of metadata in TSDL, or of `class`. `name`: of the trace. Fails the test on error. */
void rig_open(struct rig *rig, const char *metadata, const struct wmk_ctf_class *class,
	      const struct wmk_print_options *options, const char *name);
void rig_close(struct rig *rig);
/* Begin the packet in `bytes`. Returns the position of its records, in bits. Fails the test on error. */
uint64_t rig_packet(struct rig *rig, const struct wmk_ctf_bytes *bytes, struct wmk_ctf_record *record);
/* Print all records of a packet of `size` bytes. Fails the test on error. */
void rig_print(struct rig *rig, const char *bytes, size_t size);
/* The text that was printed since the last call. */
const char *rig_text(struct rig *rig);

#endif
