/* SPDX-License-Identifier: MIT */
/*
 * dump_rig.h - for tests: a state dump as lines of text, each payload read by the decoder that src/ctf compiles from
 * the metadata of its class.
 *
 *     process_state{ tid=7 pid=7 ppid=1 name="sh" ... }
 */
#ifndef WMK_KERNEL_T_DUMP_RIG_H
#define WMK_KERNEL_T_DUMP_RIG_H

#include "ctf/decode.h"
#include "kernel/statedump/statedump.h"

#define DUMP_LINE 5000u

struct dump_rig {
	struct wmk_ctf_class *class;
	struct wmk_ctf_decoder *decoder;
	char **lines;
	size_t n, cap;
	uint64_t now;              /* the clock: counts up */
	uint64_t last_ts;
	size_t refuse_at;          /* not 0: the record of this number is refused */
	struct wmk_kstatedump_counts counts;
};

void dump_rig_open(struct dump_rig *rig);
void dump_rig_close(struct dump_rig *rig);
/* Dump by `options`, whose clock and counts are the rig's; lines of before are gone. Returns what it returned. */
int dump_rig_run(struct dump_rig *rig, struct wmk_kstatedump_options options);
/* How many lines there are of exactly these words, and how many that begin with them. */
size_t dump_rig_count(const struct dump_rig *rig, const char *line);
size_t dump_rig_begin(const struct dump_rig *rig, const char *begin);
/* Fails the test, and shows all lines, if it is not there exactly once. */
void dump_rig_once(const struct dump_rig *rig, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
