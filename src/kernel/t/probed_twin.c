/* SPDX-License-Identifier: MIT */
/*
 * probed_twin.c - a local function with the name of one in probed_library.c.
 */
int probed_calls_twin(int value);

static __attribute__((noinline, used)) int probed_twin(int value)
{
	return value + 2;
}

int probed_calls_twin(int value)
{
	return probed_twin(value);
}
