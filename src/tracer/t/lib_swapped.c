/* SPDX-License-Identifier: MIT */
/* lib_swapped.c - two libraries of the same size (NUMBER 1 and 2), without sites: one replaces the other. */

int swapped_number(void);
int swapped_number(void)
{
	return NUMBER;
}
