/* SPDX-License-Identifier: MIT */
/*
 * early.c - records as early as a program can: in its constructors and on the first line of main.
 *
 *     early           a record in the first constructor that a program may have, one in another, one in main
 *
 * All of one writer; in the trace they are numbers 1, 2 and 3.
 */
#include "ledger.h"

static uint32_t writer;

/* Constructors up to 101 are libwaymark's own and the compiler's. */
__attribute__((constructor(102))) static void first(void)
{
	writer = writer_new();
	writer_emit(writer);
}

__attribute__((constructor)) static void later(void)
{
	writer_emit(writer);
}

int main(void)
{
	writer_emit(writer);
	return 0;
}
