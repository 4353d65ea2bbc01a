/* SPDX-License-Identifier: MIT */
/*
 * missing_features.h - tests the kernel features that Waymark uses, and describes why a feature is missing.
 *
 *     wmk_kmissing_find(tracefs, "waymark-<owner>--lacks", clock, true, &lacks)       tries all features
 *     wmk_kmissing_text(&lacks, WMK_KFEATURE_KPROBES, words, sizeof(words))           "the kernel's functions cannot be
 *                                                                                     probed: it is built without ..."
 *
 * The test uses each feature in the same way as the tracer, in a tracefs instance that the test creates and removes. A
 * list of features would not suffice: a kernel can list a feature and deny its use (lockdown, a container, a security
 * module). The test does not affect the recordings of other processes. The test takes about 10 ms. With `arguments`,
 * the test also loads the BPF program; the kernel's verifier can run for about one second. The caller omits `arguments`
 * if the result is known already. Any thread may run the test, but only one thread of a process at a time.
 */
#ifndef WMK_KERNEL_MISSING_FEATURES_H
#define WMK_KERNEL_MISSING_FEATURES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"
#include "kernel/tracefs/tracefs.h"

enum wmk_kfeature {
	/*
	 * This feature is a tracefs instance that uses the trace's clock. The feature also counts as missing if this
	 * process runs outside of the initial PID namespace, because the process numbers of kernel records belong to
	 * the initial PID namespace.
	 */
	WMK_KFEATURE_INSTANCE,
	WMK_KFEATURE_SYSCALLS,
	WMK_KFEATURE_KPROBES,
	WMK_KFEATURE_UPROBES,
	WMK_KFEATURE_FUNCTIONS,
	WMK_KFEATURE_SUBBUFS,
	WMK_KFEATURE_MAPPING,
	WMK_KFEATURE_TYPES,
	WMK_KFEATURE_ARGUMENTS, /* arguments of system calls, by BPF */
	WMK_KFEATURES
};

#define WMK_KMISSING_TEXT 512u

struct wmk_kmissing {
	int err[WMK_KFEATURES];     /* 0: available, or untestable because another feature is missing; -errno */
	char instance[WMK_KMISSING_TEXT], arguments[WMK_KMISSING_TEXT];      /* texts of cause chains */
};

/* Returns -errno only if no feature can be tried. */
int wmk_kmissing_find(const struct wmk_tracefs *tracefs, const char *instance_name, enum wmk_clock_kind clock,
		      bool arguments, struct wmk_kmissing *lacks);
/* Writes the description of a missing feature. Returns false if the feature is available or was not tested. */
bool wmk_kmissing_text(const struct wmk_kmissing *lacks, enum wmk_kfeature which, char *words, size_t size);

/*
 * Runs the tests that need only files below two directories: `root` (the root of tracefs) and `instance` (-1: none).
 * `btf`: the file of type information. Public for unit tests.
 */
void wmk_kmissing_try_files(int root, int instance, const char *btf, struct wmk_kmissing *lacks);

#endif
