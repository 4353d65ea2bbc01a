/* SPDX-License-Identifier: MIT */
/* types.c - types.h in C. */
#include <stdbool.h>
#include "types.h"

int main(int argc, char **argv)
{
	return types_main(argc, argv);
}
