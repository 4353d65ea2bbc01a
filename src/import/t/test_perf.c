/* SPDX-License-Identifier: MIT */
/* test_perf.c - parse lines of `perf script`: samples, tracepoints, frames; names with blanks and colons. */
#include "show.h"

static void perf_lines_of_each_kind_are_parsed_and_others_are_unknown(void **state)
{
	static const struct expected table[] = {
		{ "true  3735 25547.597616:     250000 cpu-clock: ",
		  "origin 25547.597616000 t3735 (true) perf:cpu-clock{period=250000}" },
		{ "     tmux: server  12/13    [003]     1.000001:          1 cycles:u: ",
		  "origin 1.000001000 p12 t13 (tmux: server) c3 perf:cycles:u{period=1}" },
		{ "       perf-exec  7683/7683  [000] 25899.004736:     250000 cpu-clock:  ffffffff81690361 "
		  "__memcg_slab ([kernel.kallsyms])",
		  "origin 25899.004736000 p7683 t7683 (perf-exec) c0 "
		  "perf:cpu-clock{period=250000|ip=0xffffffff81690361|symbol='__memcg_slab ([kernel.kallsyms])'}" },
		{ "  a 1 2.5: x  7 [001] 3.000000: sched:sched_wakeup: pid=1",
		  "origin 3.000000000 t7 (a 1 2.5: x) c1 sched:sched_wakeup{pid=1}" },
		{ "true  3757 [001] 25548.793779: PERF_RECORD_COMM exec: true:3757/3757",
		  "origin 25548.793779000 t3757 (true) c1 perf:PERF_RECORD_COMM{text='exec: true:3757/3757'}" },
		{ "true  3757 [001] 25548.794344: PERF_RECORD_EXIT(3757:3757):(3755:3755)",
		  "origin 25548.794344000 t3757 (true) c1 perf:PERF_RECORD_EXIT{text='(3757:3757):(3755:3755)'}" },
		{ ":-1    -1 [000] 1.000000: 1 cycles: ", "origin 1.000000000 t-1 (:-1) c0 perf:cycles{period=1}" },
		{ "7 1.000000: 1 cycles:", "origin 1.000000000 t7 perf:cycles{period=1}" },
		{ "\tffffffff81690361 do_it+0x161 ([kernel.kallsyms])",
		  "frame {callchain='ffffffff81690361 do_it+0x161 ([kernel.kallsyms])'}" },
		{ "            7f01 [unknown] (/usr/bin/x y)", "frame {callchain='7f01 [unknown] (/usr/bin/x y)'}" },
		{ "            f (inlined)", "frame {callchain='f (inlined)'}" },
		{ "", "blank" },
		{ "# ========", "unknown" },
		{ "7f01 x", "unknown" },
		{ " zz x", "unknown" },
		{ "true 1 [001] 2.0: nothing", "unknown" },
	};

	(void)state;
	CHECK_LINES(wmk_import_perf_line, table);
}

static void perf_fields_become_numbers_or_texts(void **state)
{
	static const struct expected table[] = {
		{ "a 1 [000] 2.0: sched:sched_switch: prev_comm=a b prev_pid=1 prev_state=R+ ==> next_comm=007 "
		  "next_pid=-2",
		  "origin 2.000000000 t1 (a) c0 sched:sched_switch{prev_comm='a "
		  "b'|prev_pid=1|prev_state='R+'|next_comm='007'|next_pid=-2}" },
		{ "a 1 [000] 2.0: sched:sched_stat_runtime: comm=a runtime=20 [ns] cpu=003",
		  "origin 2.000000000 t1 (a) c0 sched:sched_stat_runtime{comm='a'|runtime=20|cpu=3}" },
		{ "a 1 [000] 2.0: syscalls:sys_enter_openat: dfd: 0xffffff9c, filename: 0x7ffd, flags: 0x00000000",
		  "origin 2.000000000 t1 (a) c0 syscalls:sys_enter_openat{dfd=0xffffff9c|filename=0x7ffd|flags=0x0}" },
		{ "a 1 [000] 2.0: raw_syscalls:sys_enter: NR 16 (f, 2400)",
		  "origin 2.000000000 t1 (a) c0 raw_syscalls:sys_enter{text='NR 16 (f, 2400)'}" },
		{ "a 1 [000] 2.0: x:y: a == b", "origin 2.000000000 t1 (a) c0 x:y{text='a == b'}" },
		{ "a 1 [000] 2.0: x:y: k=", "origin 2.000000000 t1 (a) c0 x:y{k=''}" },
		{ "a 1 [000] 2.0: x:y: k=0x10000000000000000 l=99999999999999999999 m=0x",
		  "origin 2.000000000 t1 (a) c0 x:y{k='0x10000000000000000'|l='99999999999999999999'|m='0x'}" },
		{ "a 1 [000] 2.0: x:y:", "origin 2.000000000 t1 (a) c0 x:y{}" },
	};

	(void)state;
	CHECK_LINES(wmk_import_perf_line, table);
}

static void perf_keys_beyond_the_limit_are_joined_in_the_last_value(void **state)
{
	static struct wmk_import_line line;
	char text[2048] = "a 1 [000] 2.0: x:y:";
	const struct wmk_import_text *last = &line.values[WMK_IMPORT_VALUES - 1].text;

	(void)state;
	for (unsigned i = 0; i < WMK_IMPORT_VALUES + 3; i++)
		snprintf(text + strlen(text), 16, " k%u=%u", i, i);
	wmk_import_perf_line(wmk_import_text_of(text), &line);
	assert_int_equal(line.n, WMK_IMPORT_VALUES);
	assert_int_equal(line.values[62].number, 62);
	assert_true(wmk_import_text_is(*last, "63 k64=64 k65=65 k66=66"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(perf_lines_of_each_kind_are_parsed_and_others_are_unknown),
		cmocka_unit_test(perf_fields_become_numbers_or_texts),
		cmocka_unit_test(perf_keys_beyond_the_limit_are_joined_in_the_last_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
