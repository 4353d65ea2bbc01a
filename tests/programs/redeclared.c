/* SPDX-License-Identifier: MIT */
/*
 * redeclared.c - one event name with different fields; built twice (FLAVOUR 1 and 2), and declared twice in one
 * program.
 */
#include "ledger.h"

static void inner(uint32_t value)
{
	const char *what = "inner";
	waymark(shop, order, what, value);
}

int main(void)
{
	for (uint64_t i = 0; i < 10; i++) {
#if FLAVOUR == 1
		uint32_t id = (uint32_t)i, amount = 100 + id;
		waymark(shop, order, id, amount);
#else
		double amount = (double)i / 2;
		const char *id = "number";
		waymark(shop, order, id, amount);
#endif
		inner((uint32_t)i);
	}
	return 0;
}
