/* SPDX-License-Identifier: MIT */
/*
 * fit.c - check whether an expression can match in any of the known event classes. The session daemon checks an
 * expression once, when a client sends the expression. When a program is compiled later, an expression that does not
 * fit a class causes no error (WMK_FILTER_LAX in filter.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "filter/filter.h"

/*
 * State of a name: NOWHERE: no class has the name so far; MET: a class has the name; FITS: a class that fits the
 * expression has the name.
 */
enum { NOWHERE, MET, FITS };

int wmk_filter_fit_begin(struct wmk_filter_fit *fit, const struct wmk_filter_expr *expr)
{
	*fit = (struct wmk_filter_fit){ .expr = expr, .names = calloc(wmk_filter_n_names(expr) + 1, 1) };
	return fit->names ? 0 : wmk_error(-ENOMEM, "no memory for a filter");
}

static bool is_there(const struct wmk_filter_found *found)
{
	return found->text || found->no_operand || found->input.type != WMK_FILTER_ABSENT;
}

int wmk_filter_fit_try(struct wmk_filter_fit *fit, wmk_filter_lookup_fn *lookup, void *data, const char *class_name)
{
	struct wmk_filter_program *program;
	int err = wmk_filter_compile(&fit->expr, 1, lookup, data, WMK_FILTER_TYPES, &program);

	/* A program can exceed a limit for one class but not for another class. */
	if (err < 0 && err != -EINVAL && err != -E2BIG)
		return err;
	fit->tried++;
	fit->fits += err >= 0;
	for (unsigned i = 0; i < wmk_filter_n_names(fit->expr); i++) {
		struct wmk_filter_found found = { .text = NULL };

		lookup(data, wmk_filter_name_of(fit->expr, i), &found);
		if (is_there(&found) && fit->names[i] < FITS)
			fit->names[i] = err < 0 ? MET : FITS;
	}
	if (err >= 0) {
		wmk_filter_program_free(program);
		return 0;
	}
	wmk_error_add(err, "the filter does not fit the event '%.60s'", class_name);
	/* Keep the first cause. */
	if (!fit->why)
		fit->why = wmk_error_take();
	wmk_error_clear();
	return 0;
}

int wmk_filter_fit_end(struct wmk_filter_fit *fit, int *missing)
{
	bool is_wrong = fit->tried && !fit->fits;

	*missing = -1;
	for (unsigned i = 0; fit->tried && !is_wrong && i < wmk_filter_n_names(fit->expr); i++) {
		if (fit->names[i] == FITS || wmk_filter_name_is_tested(fit->expr, i))
			continue;
		if (fit->names[i] == NOWHERE)
			*missing = (int)i;
		is_wrong = true;
	}
	free(fit->names);
	fit->names = NULL;
	if (is_wrong && *missing < 0) {
		wmk_error_give(fit->why);
		fit->why = NULL;
	} else {
		/* Report no mismatch of a class, and leave the calling thread's cause chain unchanged. */
		wmk_error_drop(fit->why);
		fit->why = NULL;
	}
	return is_wrong ? -EINVAL : 0;
}
