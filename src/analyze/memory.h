/* SPDX-License-Identifier: MIT */
/* memory.h - the analysis `memory`: pages that the kernel allocates and frees, by process (docs/analyze.md). */
#ifndef WMK_ANALYZE_MEMORY_H
#define WMK_ANALYZE_MEMORY_H

#include "analyze/analysis.h"

extern const struct wmk_analyze_module wmk_analyze_memory;

#endif
