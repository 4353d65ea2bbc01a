/* SPDX-License-Identifier: MIT */
/* siteless.c - a program that includes the header and has no site: it links, registers an empty module, runs. */
#include <waymark/trace.h>

#include "harness.h"

WAYMARK_EVENT(front, unused, (int a), wm_field(int, a, a));

int main(void)
{
	return !(harness.n_modules == 1 && harness_sites(0) == 0);
}
