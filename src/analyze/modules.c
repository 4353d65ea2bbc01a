/* SPDX-License-Identifier: MIT */
/*
 * modules.c - the table of analyses (see analysis.h).
 */
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/counters.h"
#include "analyze/fields.h"
#include "analyze/io.h"
#include "analyze/irq.h"
#include "analyze/locks.h"
#include "analyze/loss.h"
#include "analyze/memory.h"
#include "analyze/path.h"
#include "analyze/rates.h"
#include "analyze/sched.h"
#include "analyze/spans.h"
#include "analyze/syscalls.h"

const struct wmk_analyze_module *const wmk_analyze_modules[] = {
	&wmk_analyze_sched, &wmk_analyze_syscalls, &wmk_analyze_io, &wmk_analyze_irq,
	&wmk_analyze_memory, &wmk_analyze_spans, &wmk_analyze_locks, &wmk_analyze_path, &wmk_analyze_counters,
	&wmk_analyze_events, &wmk_analyze_fields, &wmk_analyze_loss, NULL
};

const struct wmk_analyze_module *wmk_analyze_module_find(const char *name)
{
	for (unsigned i = 0; wmk_analyze_modules[i]; i++)
		if (!strcmp(wmk_analyze_modules[i]->name, name))
			return wmk_analyze_modules[i];
	return NULL;
}
