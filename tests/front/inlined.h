/* SPDX-License-Identifier: MIT */
/* inlined.h - sites in functions that several translation units, and several modules, get from one header. */
#ifndef WAYMARK_TESTS_FRONT_INLINED_H
#define WAYMARK_TESTS_FRONT_INLINED_H

#include <waymark/trace.h>

WAYMARK_LABELS(fruit, (APPLE, 0), (PEAR, 1), (linux, 3, 9));

WAYMARK_EVENT(front, shared, (const int *value, const char *text), wm_field(long, value, *value),
	      wm_field(const char *, text, text), wm_named("hex", wm_hex(*value)));

#ifdef __cplusplus
/* Not static: the linker keeps one copy of each, with its sites. */
inline int inline_function(int a)
{
	waymark(front, inlined, a);
	return a + 1;
}

template<class T> T template_function(T a)
{
	if (wm_enabled(front, templated))
		waymark(front, templated, a, wm_enum(fruit, 1));
	return a;
}

struct with_members {
	int member = 7;
	enum kind : unsigned char { small = 1, large = 200 } kind_ = large;
	static const int constant = 5;  /* without a definition */
	int method(int a)
	{
		waymark(front, method, member, this->member, kind_, constant, a);
		return [this, a] {
			waymark(front, lambda, this->member, a);
			return a;
		}();
	}
};

extern "C" {
#else
static inline int inline_function(int a)
{
	waymark(front, inlined, a);
	return a + 1;
}
#endif

int other_unit(int a);     /* other.c: all of the above, in another translation unit */
int in_library(int a);     /* library.c: the same in a shared library, if there is one */

#ifdef __cplusplus
}
#endif
#endif
