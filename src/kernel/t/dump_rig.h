/* SPDX-License-Identifier: MIT */
/*
 * dump_rig.h - for tests: prints a state dump as lines of text. Each payload is decoded by the program that src/ctf
 * compiles from the metadata of its class.
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
	size_t refuse_at;          /* not 0: the callback fails for the record of this number */
	struct wmk_kstatedump_counts counts;
};

void dump_rig_open(struct dump_rig *rig);
void dump_rig_close(struct dump_rig *rig);
/*
 * Makes a dump with `options`; clock and counts are the rig's. Replaces previous lines. Returns the result of
 * wmk_kstatedump().
 */
int dump_rig_run(struct dump_rig *rig, struct wmk_kstatedump_options options);
/* Return the number of lines that equal the text, or that begin with it. */
size_t dump_rig_count(const struct dump_rig *rig, const char *line);
size_t dump_rig_begin(const struct dump_rig *rig, const char *begin);
/* Fails the test and prints all lines unless exactly one line equals the text. */
void dump_rig_once(const struct dump_rig *rig, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
