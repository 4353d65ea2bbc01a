/* SPDX-License-Identifier: MIT */
/*
 * missing_features.h - what this kernel lacks of what Waymark uses, and why, in words for people.
 *
 *     wmk_kmissing_find(tracefs, "waymark-<owner>--lacks", clock, true, &lacks)       everything is tried
 *     wmk_kmissing_text(&lacks, WMK_KFEATURE_KPROBES, words, sizeof(words))             "the kernel's functions cannot be probed: it is built without ..."
 *
 * Each is tried as it will be used, in an instance that is made for it and removed again: kernels list what they
 * refuse, and refuse by more than options (lockdown, a container, a security module). Nothing that others record is
 * touched. Ten milliseconds or so; with `arguments` the BPF program is loaded too, and the kernel's verifier may think
 * about it for a second: who knows already that it works leaves it out. Any thread, one at a time in a process.
 */
#ifndef WMK_KERNEL_MISSING_FEATURES_H
#define WMK_KERNEL_MISSING_FEATURES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"
#include "kernel/tracefs/tracefs.h"

enum wmk_kfeature {
	/* No instance with the trace's clock can be made, or its records do not fit our namespaces. */
	WMK_KFEATURE_INSTANCE,
	WMK_KFEATURE_SYSCALLS,
	WMK_KFEATURE_KPROBES,
	WMK_KFEATURE_UPROBES,
	WMK_KFEATURE_FUNCTIONS,
	WMK_KFEATURE_SUBBUFS,
	WMK_KFEATURE_MAPPING,
	WMK_KFEATURE_TYPES,
	WMK_KFEATURE_ARGUMENTS, /* of system calls, by BPF */
	WMK_KFEATURES
};

#define WMK_KMISSING_TEXT 512u

struct wmk_kmissing {
	int err[WMK_KFEATURES];     /* 0: it is there, or could not be tried without another that is not; -errno */
	char instance[WMK_KMISSING_TEXT], arguments[WMK_KMISSING_TEXT];      /* causes that came with words */
};

/* -errno only when it cannot be tried at all. */
int wmk_kmissing_find(const struct wmk_tracefs *tracefs, const char *instance_name, enum wmk_clock_kind clock,
		      bool arguments, struct wmk_kmissing *lacks);
/* The sentence for one of them. False: it is not lacking. */
bool wmk_kmissing_text(const struct wmk_kmissing *lacks, enum wmk_kfeature which, char *words, size_t size);

/*
 * The part that is files alone, beneath any directories: of tracefs's root, of an instance; and the file of type
 * information. For tests apart.
 */
void wmk_kmissing_try_files(int root, int instance, const char *btf, struct wmk_kmissing *lacks);

#endif
