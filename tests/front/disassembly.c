/* SPDX-License-Identifier: MIT */
/* disassembly.c - functions, each with and without sites (SITES); disassembly.py compares what the compiler made of them. */
#include <stddef.h>

#include <waymark/trace.h>

#ifdef SITES
#define SITE(...) waymark(__VA_ARGS__)
#else
#define SITE(...) (void)0
#endif

int constant(void);
int argument(int x);
long several(long a, long b, const char *s);
void stored(int *to, int x);

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

/* Values that live across the site in registers that calls clobber. */
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
