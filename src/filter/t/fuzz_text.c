/* SPDX-License-Identifier: MIT */
/*
 * fuzz_text.c - parse any text as a filter: it is rejected, or becomes a program that passes verification and gives the
 * same result after encoding and decoding.
 */
#include <stdlib.h>

#include "base/error.h"
#include "filter/t/rig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool answer(const struct wmk_filter_program *program)
{
	static const struct rig rig = { .s = -4,
					.t = 2,
					.u = UINT64_MAX,
					.d = 1.5,
					.name = "bob",
					.other = "alice",
					.state = 1,
					.list = { 3, 4 } };
	struct wmk_filter_values values;

	rig_fill(&rig, program, &values);
	return wmk_filter_run(program, &values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct wmk_filter_expr *expr;
	struct wmk_filter_program *program, *again;
	uint8_t *bytes;

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	if (wmk_filter_parse(text, &expr) == 0) {
		for (int strictness = WMK_FILTER_LAX; strictness <= WMK_FILTER_STRICT; strictness++) {
			if (wmk_filter_compile((const struct wmk_filter_expr *const *)&expr, 1, rig_lookup, NULL,
					       strictness, &program) < 0)
				continue;
			long n = wmk_filter_encode(program, &bytes);

			if (n < 0 || wmk_filter_decode(bytes, (size_t)n, &again) < 0 ||
			    answer(program) != answer(again))
				abort();
			free(bytes);
			wmk_filter_program_free(program);
			wmk_filter_program_free(again);
		}
		wmk_filter_expr_free(expr);
	}
	wmk_error_clear();
	free(text);
	return 0;
}
