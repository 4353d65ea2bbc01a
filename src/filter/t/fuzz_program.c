/* SPDX-License-Identifier: MIT */
/*
 * fuzz_program.c - decode any bytes as a program: it is rejected, or runs to its end and accesses only its inputs.
 */
#include <stdlib.h>

#include "base/error.h"
#include "filter/filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1), *bytes;
	struct wmk_filter_values *values = calloc(1, sizeof(*values));
	struct wmk_filter_program *program;

	if (!copy || !values)
		abort();
	__builtin_memcpy(copy, data, size);
	if (wmk_filter_decode(copy, size, &program) == 0) {
		long n = wmk_filter_encode(program, &bytes);

		if (n != (long)size || __builtin_memcmp(bytes, data, size) != 0)
			abort();
		free(bytes);
		for (uint32_t i = 0; i < program->n_inputs; i++) {
			values->numbers[i] = i * UINT64_C(0x9e3779b97f4a7c15);
			values->texts[i] = i % 2 ? (struct wmk_filter_text){ "text", SIZE_MAX }
						 : (struct wmk_filter_text){ (const char *)copy, size };
		}
		values->lacking = size;
		wmk_filter_run(program, values);
		wmk_filter_program_free(program);
	}
	/* Run unverified instructions, too, as when the memory of a program is reused during the run. */
	const struct wmk_filter_code code = { (const struct wmk_filter_insn *)(const void *)copy, (const char *)copy,
					      (uint32_t)(size / 16), (uint32_t)size };

	values->given = size | 5;
	values->texts[0] = (struct wmk_filter_text){ "text", SIZE_MAX };
	for (unsigned i = 1; i < WMK_FILTER_INPUTS_MAX; i++)
		values->texts[i] = (struct wmk_filter_text){ (const char *)copy, size };
	wmk_filter_run_code(&code, values);
	wmk_error_clear();
	free(copy);
	free(values);
	return 0;
}
