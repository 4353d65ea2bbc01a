/* SPDX-License-Identifier: MIT */
/* size.c - see size.h. */
#include "base/array.h"
#include "base/size.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

int wmk_size_parse(const char *text, uint64_t *size)
{
	static const struct { char letter; unsigned shift; } units[] = {
		{ '\0', 0 }, { 'k', 10 }, { 'K', 10 }, { 'M', 20 }, { 'G', 30 },
	};
	char *end;
	uint64_t n;

	if (text[0] < '0' || text[0] > '9')
		return wmk_error(-EINVAL, "\"%.40s\" is not a number", text);
	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno)
		return wmk_error(-ERANGE, "%.40s is too large", text);
	for (unsigned i = 0; i < WMK_ARRAY_LEN(units); i++) {
		if (*end != units[i].letter || (*end && end[1]))
			continue;
		if (n > UINT64_MAX >> units[i].shift)
			return wmk_error(-ERANGE, "%.40s is too large", text);
		*size = n << units[i].shift;
		return 0;
	}
	return wmk_error(-EINVAL, "\"%.40s\" is not a size; write a number, or a number with k, M or G", text);
}
