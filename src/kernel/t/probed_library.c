/* SPDX-License-Identifier: MIT */
/*
 * probed_library.c - functions in a shared library, for test_probes_live and test_elf: an exported one; a local one
 * with the name of another (in probed_twin.c); an indirect function (ifunc), which the loader selects.
 */
long probed_library(long amount, const char *who);
int probed_chosen(int value);

static __attribute__((noinline, used)) int probed_twin(int value)
{
	return value + 1;
}

static int chosen(int value)
{
	return probed_twin(value);
}

static __attribute__((used)) int (*choose(void))(int)
{
	return chosen;
}

__attribute__((visibility("default"), ifunc("choose"))) int probed_chosen(int value);

__attribute__((visibility("default"))) long probed_library(long amount, const char *who)
{
	return amount * 3 + who[0];
}
