/* SPDX-License-Identifier: MIT */
/*
 * reading.c - read traces for `view` and `convert` (see reading.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor_limit.h"
#include "base/error.h"
#include "cli/progress.h"
#include "cli/reading.h"
#include "symbols/kernel_symbols.h"

static void print_damage(void *data, int err)
{
	(void)err;
	wmk_progress_end(data);
	wmk_cli_failed();
}

static void print_warning(void *data, int err)
{
	char words[WMK_ERROR_DEPTH * WMK_ERROR_LEN];

	(void)err;
	wmk_progress_end(data);
	fflush(stdout);
	wmk_cli_warn("%s", wmk_error_text(words, sizeof(words)));
}

static void print_lost(void *data, const char *words)
{
	wmk_progress_end(data);
	fflush(stdout);
	fprintf(stderr, "waymark: %s\n", words);
}

int wmk_cli_read(const struct wmk_cli_which *which, const char *const *paths, unsigned n,
		 struct wmk_read_pipeline_options *options, FILE *out, struct wmk_pager *pager,
		 struct wmk_read_pipeline_result *done)
{
	struct wmk_progress progress;
	int err;

	options->begin = which->begin;
	options->end = which->end;
	options->filter = which->filter;
	options->damage = print_damage;
	options->lost = print_lost;
	options->warning = print_warning;
	/* (the size of a followed trace is unknown) */
	options->progress = options->follow ? NULL : wmk_progress_tell;
	options->data = &progress;
	wmk_descriptor_limit_raise();
	/* (decided before the pager starts: later, standard output is a pipe, and the pager controls the screen) */
	wmk_progress_begin(&progress, wmk_clock_monotonic(),
			   isatty(fileno(out)) && !(options->form && options->form->is_directory));
	if (pager)
		wmk_pager_begin(pager);
	err = wmk_read_pipeline_run(paths, n, options, out, done);
	wmk_progress_end(&progress);
	return err;
}

/* Ignore damage here, because damage is reported when the pipeline reads the records again. */
static void drop_damage(void *data, int err)
{
	(void)data;
	(void)err;
	wmk_error_clear();
}

int wmk_cli_symbols(const char *const *paths, unsigned n, struct wmk_symbols **symbols)
{
	struct wmk_read_pipeline_options options = { .form = &wmk_symbols_form, .damage = drop_damage,
						     .print = WMK_PRINT_OPTIONS };
	struct wmk_read_pipeline_result done;
	char path[4096];
	int err = wmk_symbols_create(symbols);

	if (err < 0)
		return err;
	for (unsigned i = 0; i < n && err >= 0; i++) {
		snprintf(path, sizeof(path), "%s/" WMK_KERNEL_SYMBOLS_FILE, paths[i]);
		err = wmk_symbols_kernel(*symbols, path);
	}
	if (err < 0)
		return err;
	options.whole = *symbols;
	wmk_descriptor_limit_raise();
	return wmk_read_pipeline_run(paths, n, &options, stdout, &done);
}

int wmk_cli_callstacks_open(const char *const *paths, unsigned n, struct wmk_cli_callstacks *made)
{
	const int err = wmk_cli_symbols(paths, n, &made->symbols);

	made->callstacks = calloc(1, sizeof(*made->callstacks));
	if (!made->callstacks)
		return wmk_error(-ENOMEM, "no memory for call stacks");
	made->symbolizer = (struct wmk_read_symbolizer){ .data = made->symbols, .find = wmk_symbols_find };
	made->callstacks->symbolizer = &made->symbolizer;
	wmk_read_stacks_begin(&made->callstacks->stacks);
	return err;
}

void wmk_cli_callstacks_close(struct wmk_cli_callstacks *made)
{
	if (made->callstacks)
		wmk_read_stacks_free(&made->callstacks->stacks);
	free(made->callstacks);
	wmk_symbols_free(made->symbols);
}
