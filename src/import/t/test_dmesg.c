/* SPDX-License-Identifier: MIT */
/* test_dmesg.c - parse the kernel's log in all styles of dmesg. */
#include "show.h"

static void dmesg_lines_of_each_style_are_parsed_and_others_are_unknown(void **state)
{
	static const struct expected table[] = {
		{ "[    1.234567] usb 1-1: new device",
		  "origin 1.234567000 dmesg:message{message='usb 1-1: new device'}" },
		{ "[12345.000001] x", "origin 12345.000001000 dmesg:message{message='x'}" },
		{ "<6>[    0.000000] x", "origin 0.000000000 dmesg:message{facility=0|severity=6|message='x'}" },
		{ "<30>[    0.000000] systemd[1]: x",
		  "origin 0.000000000 dmesg:message{facility=3|severity=6|message='systemd[1]: x'}" },
		{ "kern  :warn  : [    0.5] [Firmware Bug]: x",
		  "origin 0.500000000 dmesg:message{facility=0|severity=4|message='[Firmware Bug]: x'}" },
		{ "user  :notice: [Sun Nov 22 08:05:42 2026] x",
		  "epoch 1795334742.000000000L dmesg:message{facility=1|severity=5|message='x'}" },
		{ "[Sun Nov  1 08:05:42 2026] x", "epoch 1793520342.000000000L dmesg:message{message='x'}" },
		{ "2026-11-22T08:05:42,123456+00:00 x", "epoch 1795334742.123456000 dmesg:message{message='x'}" },
		{ "[    1.000000 <    0.500000>] x", "origin 1.000000000 dmesg:message{message='x'}" },
		{ "[    1.000000 <   -0.000007>] x", "origin 1.000000000 dmesg:message{message='x'}" },
		{ "[Nov22 08:05] x", "date 11-22 29100.000000000L dmesg:message{message='x'}" },
		{ "[  +0.000012] x", "step 0.000012000 dmesg:message{message='x'}" },
		{ "[  -0.000007] x", "step -1.999993000 dmesg:message{message='x'}" },
		{ "[  -1.000000] x", "step -1.000000000 dmesg:message{message='x'}" },
		{ "[    1.234567][  T123] x", "origin 1.234567000 t123 dmesg:message{message='x'}" },
		{ "[    1.234567] [    C1] x", "origin 1.234567000 c1 dmesg:message{message='x'}" },
		{ "[    1.234567] [Txx] x", "origin 1.234567000 dmesg:message{message='[Txx] x'}" },
		{ "[    1.234567]", "origin 1.234567000 dmesg:message{message=''}" },
		{ "[    1.234567 x", "unknown" },
		{ "               Please enable it", "unknown" },
		{ "[99999999999.0] x", "unknown" },
		{ "[1] x", "unknown" },
		{ "[+Nov22 08:05] x", "unknown" },
		{ "", "blank" },
	};

	(void)state;
	CHECK_LINES(wmk_import_dmesg_line, table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dmesg_lines_of_each_style_are_parsed_and_others_are_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
