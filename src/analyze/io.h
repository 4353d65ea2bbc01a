/* SPDX-License-Identifier: MIT */
/* io.h - the analysis `io`: requests of block devices (docs/analyze.md). */
#ifndef WMK_ANALYZE_IO_H
#define WMK_ANALYZE_IO_H

#include "analyze/analysis.h"

extern const struct wmk_analyze_module wmk_analyze_io;

#endif
