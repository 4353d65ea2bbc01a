/* SPDX-License-Identifier: MIT */
/* loss.h - the analysis `loss`: where and when records were lost (docs/analyze.md). */
#ifndef WMK_ANALYZE_LOSS_H
#define WMK_ANALYZE_LOSS_H

#include "analyze/analysis.h"

extern const struct wmk_analyze_module wmk_analyze_loss;

#endif
