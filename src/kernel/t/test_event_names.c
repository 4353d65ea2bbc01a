/* SPDX-License-Identifier: MIT */
/*
 * test_event_names.c - the table of names: conversion to trace names, patterns, rules of fields, operations of
 * block devices.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/event/event_names.h"

static void name_is(const char *system, const char *kernel, const char *wanted)
{
	char name[WMK_NAME_MAX + 1];

	assert_true(wmk_kname_event(system, kernel, name));
	assert_string_equal(name, wanted);
}

static void event_names_become_those_of_lttng_modules(void **state)
{
	char name[WMK_NAME_MAX + 1], longest[300];

	(void)state;
	name_is("irq", "softirq_entry", "irq_softirq_entry");
	name_is("irq_vectors", "local_timer_entry", "x86_irq_vectors_local_timer_entry");
	name_is("irq_vectors", "x86_platform_ipi_exit", "x86_irq_vectors_ipi_exit");
	name_is("timer", "hrtimer_start", "timer_hrtimer_start");
	name_is("net", "netif_rx", "net_if_rx");
	name_is("kmem", "mm_page_alloc", "kmem_mm_page_alloc");
	name_is("sched", "sched_switch", "sched_switch");
	name_is("syscalls", "sys_enter_openat", "syscall_entry_openat");
	name_is("syscalls", "sys_enter_mmap", "syscall_entry_mmap");
	name_is("syscalls", "sys_exit_mmap", "syscall_exit_mmap");
	name_is("syscalls", "sys_exit_openat", "syscall_exit_openat");
	assert_true(wmk_kname_event("irq", "irq_handler_entry", name));
	assert_string_equal(name, "irq_handler_entry");
	assert_true(wmk_kname_event("mine", "softirq_entry", name));
	assert_string_equal(name, "softirq_entry");
	memset(longest, 'x', sizeof(longest));
	longest[299] = '\0';
	assert_false(wmk_kname_event("mine", longest, name));
	longest[255] = '\0';
	assert_true(wmk_kname_event("mine", longest, name));
	memcpy(longest, "sys_enter_", 10);
	assert_false(wmk_kname_event("syscalls", longest, name));
	longest[251] = '\0';
	assert_true(wmk_kname_event("syscalls", longest, name));
}

static void patterns_match_tracefs_names_and_lttng_names_of_events(void **state)
{
	static const char *const yes[] = { "softirq_entry",
					   "irq_softirq_entry",
					   "irq:softirq_entry",
					   "irq:irq_softirq_entry",
					   "irq:*",
					   "*softirq*",
					   "soft*",
					   "irq_s?ftirq_[a-f]ntry",
					   "*" };
	static const char *const no[] = {
		"softirq_exit", "irq", "sched:softirq_entry", "irq:soft", "entry", "", "IRQ:*"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		assert_true(wmk_kname_matches(yes[i], "irq", "softirq_entry"));
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		assert_false(wmk_kname_matches(no[i], "irq", "softirq_entry"));
	assert_true(wmk_kname_matches("syscall_entry_*", "syscalls", "sys_enter_read"));
	assert_false(wmk_kname_matches("syscall_exit_*", "syscalls", "sys_enter_read"));
}

static void rule_is(const char *system, const char *kernel, const char *field, const char *name, enum wmk_khow how,
		    int add)
{
	struct wmk_kfield_rule rule;

	wmk_kname_field(system, kernel, field, &rule);
	assert_string_equal(rule.name, name);
	assert_int_equal(rule.how, how);
	assert_int_equal(rule.add, add);
}

static void kernel_fields_are_renamed_and_converted_as_in_lttng_modules(void **state)
{
	(void)state;
	rule_is("sched", "sched_switch", "prev_pid", "prev_tid", WMK_KHOW_PLAIN, 0);
	rule_is("sched", "sched_switch", "next_prio", "next_prio", WMK_KHOW_ADD, -100);
	rule_is("sched", "sched_switch", "prev_comm", "prev_comm", WMK_KHOW_PLAIN, 0);
	rule_is("sched", "sched_switch", "pid", "pid", WMK_KHOW_PLAIN, 0);
	rule_is("sched", "sched_switch", "prev_", "prev_", WMK_KHOW_PLAIN, 0);
	rule_is("sched", "sched_waking", "pid", "tid", WMK_KHOW_PLAIN, 0);
	rule_is("sched", "sched_process_exec", "old_pid", "old_tid", WMK_KHOW_PLAIN, 0);
	rule_is("irq", "softirq_raise", "vec", "vec", WMK_KHOW_NUMBER, 0);
	rule_is("syscalls", "sys_enter_read", "__syscall_nr", "__syscall_nr", WMK_KHOW_DROPPED, 0);
	rule_is("syscalls", "sys_enter_mmap", "__syscall_nr", "__syscall_nr", WMK_KHOW_DROPPED, 0);
	rule_is("syscalls", "sys_enter_mmap", "off", "offset", WMK_KHOW_PLAIN, 0);
	rule_is("block", "block_bio_complete", "rwbs", "rwbs", WMK_KHOW_RWBS, 0);
	rule_is("kvm", "kvm_nested_vmexit", "exit_reason", "exit_code", WMK_KHOW_NUMBER, 0);
	rule_is("signal", "signal_generate", "pid", "pid", WMK_KHOW_PLAIN, 0);
	assert_true(wmk_kname_has_tid("block", "block_rq_issue"));
	assert_false(wmk_kname_has_tid("block", "block_rq_complete"));
	assert_false(wmk_kname_has_tid("signal", "signal_generate"));
}

static void letters_of_block_requests_become_bits(void **state)
{
	static const struct { const char *letters; unsigned bits;
	} cases[] = {
		{ "W", 1 },
		{ "R", 4 },
		{ "D", 2 },
		{ "DE", 2 + 128 },
		{ "F", 256 },
		{ "N", 0 },
		{ "", 0 },
		{ "WS", 1 + 32 },
		{ "RA", 4 + 8 },
		{ "RM", 4 + 64 },
		{ "FWFS", 1024 + 1 + 512 + 32 },
		{ "WFSM", 1 + 512 + 32 + 64 },
		{ "FF", 1024 + 256 },
		{ "FFF", 1024 + 256 + 512 },
		{ "FN", 1024 },
		{ "WU", 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(wmk_krwbs_bits(cases[i].letters, 10), cases[i].bits);
	assert_int_equal(wmk_krwbs_bits("WSM", 2), 1 + 32);
	for (unsigned i = 0; i < WMK_KRWBS_LABELS; i++)
		assert_int_equal(wmk_krwbs_labels[i].from, 1 << i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(event_names_become_those_of_lttng_modules),
		cmocka_unit_test(patterns_match_tracefs_names_and_lttng_names_of_events),
		cmocka_unit_test(kernel_fields_are_renamed_and_converted_as_in_lttng_modules),
		cmocka_unit_test(letters_of_block_requests_become_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
