/* SPDX-License-Identifier: MIT */
/* path.h - the analysis `path`: the critical paths of the slowest spans (docs/analyze.md). */
#ifndef WMK_ANALYZE_PATH_H
#define WMK_ANALYZE_PATH_H

#include "analyze/analysis.h"

#define WMK_PATHS_MAX 16u

extern const struct wmk_analyze_module wmk_analyze_path;

/*
 * Select the `n` slowest spans of the name (NULL: of any name). Call this before the pipeline. Default: the slowest
 * span.
 */
void wmk_path_choose(struct wmk_analysis *analysis, const char *span, unsigned n);

/*
 * Call this after the pipeline has ended: write the paths as folded stacks (read/stacks.h). In a stack, the frame of a
 * wait is followed by the frame of the thread that ended the wait. -ENOMEM; -errno: `out` cannot be written.
 */
int wmk_path_folded(struct wmk_analysis *analysis, FILE *out);

#endif
