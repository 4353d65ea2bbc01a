/* SPDX-License-Identifier: MIT */
/*
 * disassembly.c - functions, each with and without sites (SITES); disassembly.py compares the code that the compiler
 * generates for them.
 */
#include <stddef.h>

#include <waymark/trace.h>

#ifdef SITES
#define SITE(...) waymark(__VA_ARGS__)
#define TEXT(...) waymark_logf(__VA_ARGS__)
#define SPAN(...) waymark_span(__VA_ARGS__)
#else
#define SITE(...) (void)0
#define TEXT(...) (void)0
#define SPAN(...) (void)0
#endif

int constant(void);
int argument(int x);
long several(long a, long b, const char *s);
void stored(int *to, int x);
int text(const char *s);
int called(int x);
void chosen(int *to, int x, int y);
int callee(int x);
int spanned(int x);

int constant(void)
{
	SITE(disassembly, constant);
	return 42;
}

int argument(int x)
{
	SITE(disassembly, argument, x);
	return x * 3 + 1;
}

/* Values that live across the site, in registers that calls clobber. */
long several(long a, long b, const char *s)
{
	SITE(disassembly, several, a, b, s);
	return a + b;
}

void stored(int *to, int x)
{
	SITE(disassembly, stored, to, x, "a text");
	*to = x;
}

int text(const char *s)
{
	TEXT(INFO, "said %s", s);
	return s[0];
}

/* The call at the end is a jump, with and without the site. */
int called(int x)
{
	SITE(disassembly, called, x);
	return callee(x + 1);
}

/* The site is on one of two paths. */
void chosen(int *to, int x, int y)
{
	if (x > y) {
		SITE(disassembly, chosen, x, y);
		to[0] = x;
		return;
	}
	to[1] = y;
}

/* (clang before 18 does not support spans in C: event_c.h) */
#if !defined(__clang__) || defined(__cplusplus) || __clang_major__ >= 18 || defined(WAYMARK_NO_PATCH)
int spanned(int x)
{
	SPAN(disassembly, spanned, x);
	return callee(x) + 1;
}
#endif
