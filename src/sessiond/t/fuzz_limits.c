/* SPDX-License-Identifier: MIT */
/* fuzz_limits.c - arbitrary bytes as a limits file: accepted limits are within their bounds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sessiond/limits_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size ? size : 1);    /* exact size: the sanitizer detects overreads */
	struct wmk_limits l;

	if (!text)
		abort();
	memcpy(text, data, size);
	if (wmk_limits_parse("fuzz", text, size, &l) == 0 &&
	    (l.channels > 32 || l.sessions > 65536 || l.rules > 65536 || l.programs > 65536))
		abort();
	wmk_error_clear();
	free(text);
	return 0;
}
