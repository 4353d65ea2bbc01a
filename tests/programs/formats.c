/* SPDX-License-Identifier: MIT */
/*
 * formats.c - each conversion of waymark_logf() and waymark_mark(). Standard output has the output of printf() for it.
 */
#include <stdint.h>
#include <stdio.h>
#include <waymark/trace.h>

#define BOTH(...) do { \
	waymark_logf(INFO, __VA_ARGS__); \
	printf(__VA_ARGS__); \
	puts(""); \
	waymark_mark(format, __VA_ARGS__); \
	printf(__VA_ARGS__); \
	puts(""); \
} while (0)

static void integers(int n, unsigned u, long long wide)
{
	BOTH("plain");
	BOTH("100%% of %d", n);
	BOTH("%d|%5d|%-5d|%05d|%+d|% d|%.4d", n, n, n, n, n, n, n);
	BOTH("%i %d", n, -n);
	BOTH("%u %o %x %X %#x %#o", u, u, u, u, u, u);
	BOTH("%lld %llx %lu", wide, (unsigned long long)wide, (unsigned long)wide);
	BOTH("%hhd %hhu %hd %hu", (signed char)n, (unsigned char)u, (short)n, (unsigned short)u);
	BOTH("%zu %jd %td", (size_t)7, (intmax_t)-7, (ptrdiff_t)8);
	BOTH("%*d|%-*d|%.*d|%*d", 7, n, 7, n, 4, n, -7, n);
	BOTH("%c%5c|%-3c|", 'a', 'b', 'c');
	BOTH("%p %p", (void *)0x1234, (void *)0);
}

static void reals_and_texts(double d, const char *s)
{
	const char unterminated[3] = { 'x', 'y', 'z' };

	BOTH("%f %.2f %8.3f|%-8.1f|%+.0f", d, d, d, d, d);
	BOTH("%e %G %g %a", d, d, d, d);
	BOTH("%f %f %.3f", 1e300, -0.0, 1.0 / 3);
	BOTH("%s cannot pay %.2f", s, d);
	BOTH("%8s|%-8s|%.2s|%8.2s|%.*s", s, s, s, s, 2, s);
	BOTH("%.3s and %s", unterminated, "");
	BOTH("\"quoted\" back\\slash {brace} %%s %s\ttab", s);
	BOTH("\xc3\xa9\xe2\x82\xac %s", "\xc3\xa9");
}

int main(void)
{
	integers(42, 0xbeef, -5000000000LL);
	reals_and_texts(4.5, "bob");
	return 0;
}
