/* SPDX-License-Identifier: MIT */
/*
 * calculate.h - operations on whole numbers in filter programs. The interpreter (run.c) and the branch table of
 * libwaymark (tracer/filter_table.h) call the functions of calculate.h. The functions are safe for all operands,
 * because the recording path calls the functions with unchecked values. For operands without a result, such as a
 * division by zero, the functions return false and do not calculate.
 */
#ifndef WMK_FILTER_CALCULATE_H
#define WMK_FILTER_CALCULATE_H

#include "filter/filter.h"

/* Division and shifts. False: no result. */
static inline bool wmk_filter_calculate_partial(unsigned op, uint64_t a, uint64_t b, uint64_t *result)
{
	const bool is_shift = op == WMK_FILTER_SHL || op == WMK_FILTER_SHR || op == WMK_FILTER_SHR_U;

	if (is_shift ? b > 63 : b == 0)
		return false;
	switch (op) {
	case WMK_FILTER_DIV: *result = b == UINT64_MAX ? -a : (uint64_t)((int64_t)a / (int64_t)b); break;
	case WMK_FILTER_MOD: *result = b == UINT64_MAX ? 0 : (uint64_t)((int64_t)a % (int64_t)b); break;
	case WMK_FILTER_DIV_U: *result = a / b; break;
	case WMK_FILTER_MOD_U: *result = a % b; break;
	case WMK_FILTER_SHL: *result = a << b; break;
	case WMK_FILTER_SHR: *result = (uint64_t)((int64_t)a >> b); break;
	default: *result = a >> b; break;
	}
	return true;
}

/* `op` is an integer operation from WMK_FILTER_ADD to WMK_FILTER_SHR_U. False: no result. */
static inline bool wmk_filter_calculate(unsigned op, uint64_t a, uint64_t b, uint64_t *result)
{
	switch (op) {
	case WMK_FILTER_ADD: *result = a + b; return true;
	case WMK_FILTER_SUB: *result = a - b; return true;
	case WMK_FILTER_MUL: *result = a * b; return true;
	case WMK_FILTER_AND: *result = a & b; return true;
	case WMK_FILTER_OR: *result = a | b; return true;
	case WMK_FILTER_XOR: *result = a ^ b; return true;
	default: return wmk_filter_calculate_partial(op, a, b, result);
	}
}

#endif
