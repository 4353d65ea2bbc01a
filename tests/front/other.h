/* SPDX-License-Identifier: MIT */
/*
 * other.h - the same inline functions and templates in another translation unit; FUNCTION is the name to define.
 * Included by C and C++ files.
 */
#include "inlined.h"

int FUNCTION(int a)
{
	waymark_front_shared(&a, "other");
	a = inline_function(a);
#ifdef __cplusplus
	a = template_function(a);
	with_members m;
	a = m.method(a);
#endif
	return a;
}
