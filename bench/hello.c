/* SPDX-License-Identifier: MIT */
/* hello.c - the smallest program with a site, to measure the cost of a start; built once for each tracer. */
#include <stdint.h>
#include TRACER_H

int main(int argc, char **argv)
{
	(void)argv;
	record_u32((uint32_t)argc);
	return 0;
}
