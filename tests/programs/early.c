/* SPDX-License-Identifier: MIT */
/*
 * early.c - records as early as possible: in constructors and on the first line of main.
 *
 *     early           a record in the first constructor that a program may have, one in another, one in main
 *
 * All belong to one writer; in the trace they have the numbers 1, 2 and 3.
 */
#include "ledger.h"

static uint32_t writer;

/* Constructor priorities up to 101 are reserved for libwaymark and the compiler. */
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
