/* SPDX-License-Identifier: MIT */
/* lib_swapped.c - two libraries of one size (NUMBER 1 and 2), without sites: one takes the place of the other. */

int swapped_number(void);
int swapped_number(void)
{
	return NUMBER;
}
