/* SPDX-License-Identifier: MIT */
/*
 * symbols.c - a tracepoint in an inlined function, and one in a function that is not inlined. Compiled with debug
 * information. t_symbols.py compares the symbols of these places with those of addr2line.
 */
#include <waymark/trace.h>

int symbols_lock[4];                   /* t_symbols.py: a futex in this variable */

static inline __attribute__((always_inline)) void price(int item)
{
	waymark(symbols, inlined, item);
}

static __attribute__((noinline)) void order(int item)
{
	price(item + 1);
	waymark(symbols, plain, item);
}

int main(void)
{
	for (int i = 0; i < 3; i++)
		order(symbols_lock[i] + i);
	return 0;
}
