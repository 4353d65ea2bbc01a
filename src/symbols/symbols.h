/* SPDX-License-Identifier: MIT */
/*
 * symbols.h - symbols of the addresses of processes, from the records of loaded objects in their traces.
 *
 *     traces ──wmk_symbols_form──► objects of each process, with their times ──wmk_symbols_find()──► functions
 *                                                                └─objects.h: files, by build-id
 *
 * Two events describe loaded objects, in traces of Waymark and of LTTng: lttng_ust_statedump:bin_info in a state dump,
 * and lttng_ust_lib:load for a library that is loaded later. The traces are read once for the records of loaded
 * objects, before addresses are searched. One thread. Errors are -errno with a cause chain.
 */
#ifndef WMK_SYMBOLS_SYMBOLS_H
#define WMK_SYMBOLS_SYMBOLS_H

#include "read/exporter.h"
#include "read/symbolizer.h"

struct wmk_symbols;

int wmk_symbols_create(struct wmk_symbols **symbols);
void wmk_symbols_free(struct wmk_symbols *symbols);
/* Load the functions of the kernel from a file in the form of /proc/kallsyms. No file: no effect. -ENOMEM. */
int wmk_symbols_kernel(struct wmk_symbols *symbols, const char *path);
/*
 * The exporter that collects the loaded objects from the traces of a pipeline (read/pipeline.h). The option `whole` of
 * the pipeline is the struct wmk_symbols.
 */
extern const struct wmk_read_exporter wmk_symbols_form;
/* The function for wmk_read_symbolizer.find; `data` is a struct wmk_symbols. */
unsigned wmk_symbols_find(void *data, int64_t pid, int64_t ns, uint64_t address, struct wmk_read_frame *frames,
			  unsigned max);

#endif
