/* SPDX-License-Identifier: MIT */
/* irq.h - the analysis `irq`: durations of interrupts and softirqs (docs/analyze.md). */
#ifndef WMK_ANALYZE_IRQ_H
#define WMK_ANALYZE_IRQ_H

#include "analyze/analysis.h"

extern const struct wmk_analyze_module wmk_analyze_irq;

#endif
