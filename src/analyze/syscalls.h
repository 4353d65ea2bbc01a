/* SPDX-License-Identifier: MIT */
/* syscalls.h - the analysis `syscalls`: counts, errors and durations of system calls (docs/analyze.md). */
#ifndef WMK_ANALYZE_SYSCALLS_H
#define WMK_ANALYZE_SYSCALLS_H

#include "analyze/analysis.h"

extern const struct wmk_analyze_module wmk_analyze_syscalls;

#endif
