/* SPDX-License-Identifier: MIT */
/*
 * probed_library.c - a function in a shared library, for test_live.
 */
long probed_library(long amount, const char *who);

__attribute__((visibility("default"))) long probed_library(long amount, const char *who)
{
	return amount * 3 + who[0];
}
