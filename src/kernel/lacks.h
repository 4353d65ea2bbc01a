/* SPDX-License-Identifier: MIT */
/*
 * lacks.h - what this kernel lacks of what Waymark uses, and why, in words for people.
 *
 *     wmk_klacks_find(tracefs, "waymark-<owner>--lacks", clock, true, &lacks)       everything is tried
 *     wmk_klacks_words(&lacks, WMK_KLACK_KPROBES, words, sizeof(words))             "the kernel's functions cannot be probed: it is built without ..."
 *
 * Each is tried as it will be used, in an instance that is made for it and removed again: kernels list what they refuse, and refuse by more than
 * options (lockdown, a container, a security module). Nothing that others record is touched. Ten milliseconds or so; with `arguments` the BPF program is loaded
 * too, and the kernel's verifier may think about it for a second: who knows already that it works leaves it out.
 * Any thread, one at a time in a process.
 */
#ifndef WMK_KERNEL_LACKS_H
#define WMK_KERNEL_LACKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"
#include "kernel/tracefs.h"

enum wmk_klack {
	/* No instance with the trace's clock can be made, or its records do not fit our namespaces. */
	WMK_KLACK_INSTANCE,
	WMK_KLACK_CALLS, WMK_KLACK_KPROBES, WMK_KLACK_UPROBES, WMK_KLACK_FUNCTIONS, WMK_KLACK_SUBBUFS, WMK_KLACK_MAPPING, WMK_KLACK_TYPES,
	WMK_KLACK_ARGUMENTS,     /* of system calls, by BPF */
	WMK_KLACKS
};

#define WMK_KLACK_WORDS 512u

struct wmk_klacks {
	int err[WMK_KLACKS];     /* 0: it is there, or could not be tried without another that is not; -errno */
	char instance[WMK_KLACK_WORDS], arguments[WMK_KLACK_WORDS];      /* causes that came with words */
};

/* -errno only when it cannot be tried at all. */
int wmk_klacks_find(const struct wmk_tracefs *tracefs, const char *instance_name, enum wmk_clock_kind clock, bool arguments, struct wmk_klacks *lacks);
/* The sentence for one of them. False: it is not lacking. */
bool wmk_klacks_words(const struct wmk_klacks *lacks, enum wmk_klack which, char *words, size_t size);

/* The part that is files alone, beneath any directories: of tracefs's root, of an instance; and the file of type information. For tests apart. */
void wmk_klacks_try_files(int root, int instance, const char *btf, struct wmk_klacks *lacks);

#endif
